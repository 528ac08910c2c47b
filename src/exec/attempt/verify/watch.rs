//! Stands beside a verifier's thread: keeps its deadline, and starts and ends its processes.
//!
//! Processes belong to the driver's runtime, never to the verifier's, so that one that hangs cannot keep
//! them. Unaware of what an outcome means.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::call::{Ask, NotRun, Ran};
use super::read;
use crate::event::{EndedBy, VerifierEnded};
use crate::exec::attempt::environment::RESULT_FILE;
use crate::exec::attempt::watch::{Limits, Sizes, watch};
use crate::exec::attempt::{Order, Orders, orders};
use crate::exec::ports::{AttemptPaths, Clock, Files, NotStarted, Outcome, Process, Runner, Start};
use crate::ir::Millis;
use crate::source::Text;

/// Where the verifiers of one attempt, or of the plan, are called.
pub struct Scene {
    /// Where processes run.
    pub runner: Arc<dyn Runner>,
    /// Where streams and captured files are.
    pub files: Arc<dyn Files>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What a process is started with: the task or nothing, numbers, environment and working directory. The
    /// program and the streams are filled in, and task and token become those of the verifier.
    pub start: Start,
    /// The attempt, none for the plan, and the round.
    pub of: (Option<u32>, u32),
    /// How much a stream may hold.
    pub log_limit: u64,
}

/// How a call came to its end.
pub(super) enum End {
    /// The thread has ended, with or without an outcome.
    Told(Option<Outcome>),
    /// The deadline has passed.
    Late,
    /// It had to end, for this reason and in these words.
    Ordered(EndedBy, Text),
}

/// Tells a clock that jumps that a verifier is at work, for as long as it lives.
struct AtWork(Arc<dyn Clock>);

impl AtWork {
    fn new(clock: &Arc<dyn Clock>) -> Self {
        clock.hold(true);
        Self(Arc::clone(clock))
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.hold(false);
    }
}

impl Scene {
    /// The moment at which a call begins.
    pub(super) fn begin(&self) -> Millis {
        self.clock.now()
    }

    /// Waits for an outcome, for no longer than `limit` from `begun`, and serves what the verifier asks
    /// for. Returns once all that it started has ended.
    pub(super) async fn watch(
        &self,
        name: &str,
        limit: Millis,
        begun: Millis,
        mut asked: mpsc::UnboundedReceiver<Ask>,
        told: impl Future<Output = Option<Outcome>>,
        ends: &mut Orders,
    ) -> End {
        let _at_work = AtWork::new(&self.clock);
        // A clock that jumps stands still meanwhile, and a verifier that hangs has to end all the same.
        let mut really = pin!(tokio::time::sleep(Duration::from_millis(limit.0)));
        let mut deadline = self.clock.until(Millis(begun.0.saturating_add(limit.0)));
        let mut told = pin!(told);
        let (command, _) = orders();
        let mut processes = JoinSet::new();
        let mut started = 0;
        let end = loop {
            tokio::select! {
                // In this order: an answer that comes with the deadline comes too late.
                biased;
                order = ends.next() => break Err(order),
                () = &mut deadline => break Ok(End::Late),
                () = &mut really => break Ok(End::Late),
                outcome = &mut told => break Ok(End::Told(outcome)),
                Some(ask) = asked.recv() => {
                    started += 1;
                    self.serve(name, started, ask, &mut processes, Orders(command.subscribe()));
                }
                Some(_) = processes.join_next() => {}
            }
        };
        asked.close();
        let over = Order::End { by: EndedBy::Timeout, note: "the call is over".into() };
        let (end, order) = match end {
            Ok(end) => (end, over),
            Err(Order::End { by, note }) => (End::Ordered(by, note.clone()), Order::End { by, note }),
            Err(Order::Kill) => (End::Ordered(EndedBy::Interruption, Text::default()), Order::Kill),
        };
        // Those that are left end by themselves where there are none.
        let _ = command.send(Some(order));
        while !processes.is_empty() {
            tokio::select! {
                biased;
                _ = processes.join_next() => {}
                order = ends.next() => drop(command.send(Some(order))),
            }
        }
        end
    }

    fn serve(&self, name: &str, number: u32, ask: Ask, processes: &mut JoinSet<()>, orders: Orders) {
        let Ask { command, reply } = ask;
        let again = if number == 1 { String::new() } else { format!(".{number}") };
        let (attempt, round) = self.of;
        let paths =
            self.files.verification(&format!("{}{again}", VerifierEnded::stream(attempt, round, name)));
        // A call that a crash cut off may have been here before.
        for path in [&paths.stdout, &paths.stderr, &paths.result] {
            let _ = std::fs::remove_file(path);
        }
        // Others may work in this directory at the same time, and a stream that is not there any more says
        // nothing.
        let printed = Made::new(&paths.stdout);
        let mut start = self.start.clone();
        start.task = match start.task.as_str() {
            "" => {
                start.env.push((Text::const_new("PLAN_TASK"), name.to_owned()));
                name.into()
            }
            task => compact_str::format_compact!("{task}/{name}"),
        };
        start.argv = command.argv;
        start.env.extend(command.env);
        start.env.push((RESULT_FILE, paths.result.to_string()));
        start.paths = paths.clone();
        start.token = format!("{}-{name}{again}", start.token).into();
        match self.runner.start(&start) {
            Ok(process) => {
                let clock = Arc::clone(&self.clock);
                // The verifier waits meanwhile: a process takes real time, and a stub the clock's.
                let real = process.is_real();
                if real {
                    clock.busy(true);
                }
                clock.hold(false);
                let mind = mind(Arc::clone(&clock), self.log_limit, process, paths, orders);
                processes.spawn(async move {
                    let mut ran = mind.await;
                    if real
                        && ran.is_ok()
                        && let Some(why) = printed.lost()
                    {
                        ran = Err(NotRun::Failed(why));
                    }
                    clock.hold(true);
                    if real {
                        clock.busy(false);
                    }
                    // The verifier may have given up on it.
                    let _ = reply.send(ran);
                });
            }
            Err(NotStarted { missing, why }) => {
                let _ = reply.send(Err(if missing { NotRun::Missing(why) } else { NotRun::Failed(why) }));
            }
        }
    }
}

/// A stream that was made, and is still held.
struct Made {
    path: Utf8PathBuf,
    file: io::Result<File>,
}

impl Made {
    fn new(path: &Utf8Path) -> Self {
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path);
        Self { path: path.to_owned(), file }
    }

    /// Why what was printed cannot be read; none where it can.
    fn lost(&self) -> Option<String> {
        let held = match &self.file {
            Ok(file) => file.metadata(),
            Err(error) => return Some(format!("its standard output cannot be kept: {error}")),
        };
        let identity = |metadata: &std::fs::Metadata| (metadata.dev(), metadata.ino());
        match (std::fs::symlink_metadata(&self.path), held) {
            (Ok(there), Ok(held)) if identity(&there) == identity(&held) => None,
            (Ok(_), Ok(_)) => Some("its standard output was replaced while it ran".to_owned()),
            (Err(error), _) if error.kind() == io::ErrorKind::NotFound => {
                Some("its standard output was removed while it ran".to_owned())
            }
            (Err(error), _) | (_, Err(error)) => Some(format!("its standard output cannot be read: {error}")),
        }
    }
}

/// Waits until a process has ended, by itself or because it has to, and everything that it started with
/// it; then reads what it printed.
async fn mind(
    clock: Arc<dyn Clock>,
    log_limit: u64,
    mut process: Box<dyn Process>,
    paths: AttemptPaths,
    mut orders: Orders,
) -> Result<Ran, NotRun> {
    let limits = Limits { clock: &*clock, log: log_limit };
    let mut sizes = Sizes::default();
    let stopped = watch(limits, &mut process, None, &paths, &mut sizes, &mut orders).await;
    let ended = process.finish().await;
    sizes.last(&paths, false);
    match stopped {
        Some(stopped) => Err(NotRun::Failed(stopped.note)),
        None if sizes.stdout_shrank => Err(NotRun::Failed(
            "its standard output has shrunk while it ran: what it said cannot be read".to_owned(),
        )),
        None => Ok(read::ran(ended.how, paths).await),
    }
}
