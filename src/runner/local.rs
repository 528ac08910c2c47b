//! Runs processes on this machine.
//!
//! Started the fast way (`posix_spawn`: nothing runs between fork and exec), in a group of their own,
//! awaited by descriptor without being reaped, so that their numbers stay theirs until all that they left
//! running has been ended.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use nix::sys::signal::{SIGCHLD, SigSet};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use tokio::io::unix::AsyncFd;

use super::cgroup::{Cgroup, Register};
use super::proc::TOKEN;
use super::program::Programs;
use super::signals::is_ignored;
use super::spawn::{Spawner, Wanted};
use super::sweep::{PAUSE, Sweep};
use super::tree::{Root, Trees};
use crate::exec::ports::{Boxed, Ended, How, NotStarted, Process, Runner, Start};
use crate::ir::Millis;
use crate::source::Text;

/// How long a tree has between being asked to end and being killed (EXECUTION §5).
pub(super) const GRACE: Duration = Duration::from_secs(5);

/// How long we wait for killed processes to be gone; one that the kernel holds on to is given up.
pub(super) const GONE: Duration = Duration::from_secs(5);

/// Runs processes on this machine.
pub struct Local {
    /// Starts them, with the operator's environment without `PLAN_*`; or why nothing can be started.
    spawner: Result<Spawner, String>,
    /// Where the operator's programs are.
    search: Option<OsString>,
    /// The tokens of the runs that this run is inside of.
    chain: Option<String>,
    programs: Programs,
    trees: Arc<Trees>,
    /// Has seen to it that processes stay until we ask how they ended.
    kept: Once,
    within: Mutex<Within>,
    /// What the control groups of the run's sittings are written down in.
    register: Option<Register>,
    /// What could not be ended.
    left: Mutex<Vec<String>>,
}

/// What all that is started is in, besides this process.
#[derive(Default)]
enum Within {
    /// No group of ours.
    #[default]
    Nothing,
    /// One that a thread is making: the kernel takes some milliseconds for it.
    Making(JoinHandle<Option<Cgroup>>),
    /// This one.
    Group(Cgroup),
}

impl Local {
    /// A runner for processes that inherit `environment`.
    pub fn new(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        // Descriptors tell us of ends. The signal would wake whichever thread happens to sleep, for nothing; where
        // it cannot be blocked, it does.
        let _ = SigSet::from_iter([SIGCHLD]).thread_block();
        let (mut base, mut chain) = (Vec::new(), None);
        for (name, value) in environment {
            // Of two with one name the first counts, as for whoever asks for it: the other may be a secret.
            if base.iter().any(|(known, _)| *known == name) {
                continue;
            }
            if !name.as_encoded_bytes().starts_with(b"PLAN_") {
                base.push((name, value));
            } else if name == TOKEN {
                chain = value.into_string().ok();
            }
        }
        Self {
            search: base.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()),
            spawner: Spawner::new(base),
            chain,
            programs: Programs::default(),
            trees: Arc::new(Trees::new()),
            kept: Once::new(),
            within: Mutex::default(),
            register: None,
            left: Mutex::default(),
        }
    }

    /// A runner for a whole run, marked by `mark`, whose processes are all in a control group of their own where
    /// the system lets us make one. `register` is the file of the run that says which.
    ///
    /// Everything that this process starts from now on is part of the run, and ends with [`Local::end`].
    pub fn contained(
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        mark: &str,
        register: &Utf8Path,
    ) -> Self {
        let register = Register::new(register.as_std_path(), mark);
        let mut local = Self::new(environment);
        local.register = Some(register.clone());
        let making = std::thread::Builder::new().name("cgroup".to_owned());
        let making = making.spawn(move || Cgroup::enter(register));
        // Without a thread there is no group either, as on systems that have none.
        *local.within() = making.map_or(Within::Nothing, Within::Making);
        local
    }

    /// The run is over: ends whatever is left of it. Returns what could not be ended, now or when the run was taken
    /// up, as clauses.
    pub fn end(&self) -> Vec<String> {
        self.settle();
        let group = std::mem::take(&mut *self.within());
        let mut left = std::mem::take(&mut *self.left());
        if let Within::Group(group) = group {
            left.extend(group.end().err());
        }
        left
    }

    /// Ends what carries no token of the groups that earlier sittings had.
    fn end_earlier(&self) {
        // Both write to the register.
        self.settle();
        if let Some(register) = &self.register {
            self.left().extend(register.end_left());
        }
    }

    fn left(&self) -> MutexGuard<'_, Vec<String>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn within(&self) -> MutexGuard<'_, Within> {
        // It is replaced as a whole.
        self.within.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the group: what is started before it is there would not be in it.
    fn settle(&self) {
        let mut within = self.within();
        *within = match std::mem::take(&mut *within) {
            // A panic in there is a group that was not made.
            Within::Making(making) => making.join().ok().flatten().map_or(Within::Nothing, Within::Group),
            settled => settled,
        };
    }

    /// Whoever started us may ignore `CHLD`: what ends is then gone, and how it ended is lost. A handler, which is
    /// never called, undoes that.
    fn keep_ended(&self) {
        let kind = tokio::signal::unix::SignalKind::child();
        self.kept.call_once(|| {
            self.settle();
            if is_ignored(kind) {
                // Where it cannot be undone, every attempt says that its exit was lost.
                let _ = tokio::signal::unix::signal(kind);
            }
        });
    }

    fn search_path<'a>(&'a self, start: &'a Start) -> &'a OsStr {
        let own = start.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| OsStr::new(value));
        own.or(self.search.as_deref()).unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"))
    }

    fn spawn(&self, start: &Start) -> Result<Pid, NotStarted> {
        let name = start.argv.first().map_or("", String::as_str);
        let program = self.programs.find(name, self.search_path(start), start.cwd.as_std_path());
        let program = program.map_err(|why| NotStarted { missing: true, why })?;
        let spawner = self.spawner.as_ref().map_err(|why| failed(format!("cannot start `{name}`: {why}")))?;
        let outer = [self.chain.as_deref(), start.within.as_deref()];
        let tokens: Vec<&str> = outer.into_iter().flatten().chain([start.token.as_str()]).collect();
        let tokens = tokens.join(":");
        let env = start.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let env: Vec<_> = env.chain([(TOKEN, tokens.as_str())]).collect();
        let withheld: Vec<_> = start.withheld.iter().map(Text::as_str).collect();
        let wanted = Wanted {
            program: &program,
            argv: &start.argv,
            env: &env,
            withheld: &withheld,
            cwd: start.cwd.as_std_path(),
            stdout: stream(&start.paths.stdout)?,
            stderr: stream(&start.paths.stderr)?,
        };
        spawner.spawn(wanted).map_err(|error| cannot_start(start, name, &error))
    }
}

#[expect(deprecated, reason = "the safe constructor is sound for a descriptor that it owns")]
fn awaitable(handle: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(handle, tokio::io::Interest::READABLE)
}

impl Drop for Local {
    fn drop(&mut self) {
        // Nobody is left who could be told.
        self.end();
    }
}

fn stream(path: &Utf8Path) -> Result<File, NotStarted> {
    let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    opened.map_err(|error| failed(format!("cannot open `{path}`: {error}")))
}

fn failed(why: String) -> NotStarted {
    NotStarted { missing: false, why }
}

fn cannot_start(start: &Start, name: &str, error: &io::Error) -> NotStarted {
    if start.cwd.is_dir() {
        // Not found is the program, or the one that its first line names.
        let missing = error.kind() == io::ErrorKind::NotFound;
        NotStarted { missing, why: format!("cannot start `{name}`: {error}") }
    } else {
        failed(format!("cannot start `{name}`: no directory `{}`", start.cwd))
    }
}

impl Runner for Local {
    fn start(&self, start: &Start) -> Result<Box<dyn Process>, NotStarted> {
        self.keep_ended();
        let started = Instant::now();
        let pid = self.spawn(start)?;
        self.trees.started(pid);
        let root = Root { pid, token: start.token.clone() };
        let handle = rustix::process::pidfd_open(pid, PidfdFlags::NONBLOCK).map_err(io::Error::from);
        match handle.and_then(awaitable) {
            Ok(handle) => Ok(Box::new(LocalProcess {
                root,
                handle,
                trees: Arc::clone(&self.trees),
                started,
                ran: None,
            })),
            Err(error) => {
                // It runs, and we cannot wait for it: no descriptors are left.
                self.trees.signal(&root, &[Signal::KILL]);
                let _ = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED);
                self.trees.clear(&root);
                self.trees.over(&root);
                Err(failed(format!("cannot wait for the process: {error}")))
            }
        }
    }

    fn sweep(&self, tokens: Vec<Text>) -> Boxed<'_, ()> {
        Box::pin(async move {
            let mut sweep = Sweep::new(tokens);
            while !sweep.step() {
                tokio::time::sleep(PAUSE).await;
            }
            self.end_earlier();
        })
    }
}

struct LocalProcess {
    root: Root,
    handle: AsyncFd<OwnedFd>,
    trees: Arc<Trees>,
    started: Instant,
    ran: Option<Duration>,
}

impl Process for LocalProcess {
    fn ended(&mut self) -> Boxed<'_, ()> {
        Box::pin(async {
            // The descriptor is readable once the process has ended, and stays so. An error here would be
            // one of our own event loop; waiting for the process below is right then as well.
            let _ = self.handle.readable().await;
            self.ran.get_or_insert_with(|| self.started.elapsed());
        })
    }

    fn observe(&mut self) {
        self.trees.observe(&self.root);
    }

    fn alone(&mut self) -> bool {
        self.trees.observe(&self.root).is_empty()
    }

    fn terminate(&mut self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let ended = rustix::process::waitid(WaitId::Pid(self.root.pid), look);
        if matches!(ended, Ok(Some(_))) {
            return false;
        }
        // A stopped process would sleep through the first one alone.
        self.trees.signal(&self.root, &[Signal::TERM, Signal::CONT]);
        true
    }

    fn kill(&mut self) {
        self.trees.signal(&self.root, &[Signal::KILL]);
    }

    fn finish(self: Box<Self>) -> Boxed<'static, Ended> {
        Box::pin(async move {
            let ran = self.ran.unwrap_or_else(|| self.started.elapsed());
            let begun = Instant::now();
            let mut pause = Duration::from_micros(100);
            while self.trees.clear(&self.root) && begun.elapsed() < GONE {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            let status = loop {
                match rustix::process::waitid(
                    WaitId::PidFd(self.handle.get_ref().as_fd()),
                    WaitIdOptions::EXITED,
                ) {
                    Err(rustix::io::Errno::INTR) => {}
                    other => break other.ok().flatten(),
                }
            };
            self.trees.over(&self.root);
            let how = match status {
                Some(status) => match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => How::Code(code),
                    (None, Some(signal)) => How::Signal(signal),
                    (None, None) => How::Lost,
                },
                None => How::Lost,
            };
            let millis = u64::try_from(ran.as_millis()).unwrap_or(u64::MAX);
            Ended { how, duration: Millis(millis) }
        })
    }
}
