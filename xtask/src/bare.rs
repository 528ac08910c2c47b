//! What starting commands costs at least: a loop that starts `true`, keeps its streams in two files, and waits.
//!
//! Besides it either works for a given time after each end, which shows how much an executor may spend itself
//! before it is slower than another one (`benches/overhead.py`), or makes the system calls that a durable log and
//! the checks of an attempt owe (EXECUTION §5, §11), which shows how much of that is left for deciding anything.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Runs `true` so many times, so many at once, with `work` for each: microseconds, or `owed`.
pub fn run(tasks: &str, jobs: &str, work: &str, directory: &str) -> Result<(), String> {
    let number = |text: &str| text.parse::<u32>().map_err(|_| format!("`{text}` is not a number"));
    let directory = Path::new(directory);
    let work = match work {
        "owed" => Owed::new(directory).map(Work::Owed).map_err(|error| error.to_string())?,
        micros => Work::Busy(Duration::from_micros(u64::from(number(micros)?))),
    };
    bare(number(tasks)?, number(jobs)?, &work, directory).map_err(|error| error.to_string())
}

enum Work {
    /// So much time after each end.
    Busy(Duration),
    /// The calls that a log and the checks of an attempt owe.
    Owed(Owed),
}

/// One attempt.
struct Running {
    number: u32,
    child: Child,
    handle: OwnedFd,
}

fn bare(tasks: u32, jobs: u32, work: &Work, directory: &Path) -> io::Result<()> {
    let mut running: Vec<Running> = Vec::new();
    let mut started = 0;
    loop {
        while started < tasks && running.len() < jobs as usize {
            if let Work::Owed(owed) = work {
                owed.before(started)?;
            }
            running.push(start(started, directory)?);
            started += 1;
        }
        if running.is_empty() {
            return Ok(());
        }
        let mut handles: Vec<_> =
            running.iter().map(|running| PollFd::new(&running.handle, PollFlags::IN)).collect();
        poll(&mut handles, None)?;
        let ended = handles.iter().position(|handle| !handle.revents().is_empty());
        let Some(at) = ended else { continue };
        drop(handles);
        let Running { number, mut child, .. } = running.swap_remove(at);
        if !child.wait()?.success() {
            return Err(io::Error::other("`true` failed"));
        }
        match work {
            Work::Busy(time) => {
                let since = Instant::now();
                while since.elapsed() < *time {}
            }
            Work::Owed(owed) => owed.after(number)?,
        }
    }
}

fn start(number: u32, directory: &Path) -> io::Result<Running> {
    let kept = |stream: &str| File::create(directory.join(format!("{number}.{stream}"))).map(Stdio::from);
    let mut command = Command::new("/usr/bin/true");
    let child =
        command.process_group(0).stdin(Stdio::null()).stdout(kept("out")?).stderr(kept("err")?).spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("it has no process number"))?;
    Ok(Running { number, child, handle: pidfd_open(pid, PidfdFlags::empty())? })
}

/// What is written and looked at for each attempt, whatever is decided.
struct Owed {
    log: File,
    children: File,
    directory: PathBuf,
}

impl Owed {
    fn new(directory: &Path) -> io::Result<Self> {
        let own = std::process::id();
        Ok(Self {
            log: OpenOptions::new().append(true).create(true).open(directory.join("events.jsonl"))?,
            children: File::open(format!("/proc/{own}/task/{own}/children"))?,
            directory: directory.to_owned(),
        })
    }

    /// The search for the program, the inputs, the directories that are there, and `attempt_started`.
    fn before(&self, number: u32) -> io::Result<()> {
        let found = ["/usr/local/bin/true", "/usr/bin/true"].iter().any(|path| Path::new(path).is_file());
        if !found {
            return Err(io::Error::other("there is no `true`"));
        }
        let mut inputs = File::create_new(self.directory.join(format!("{number}.json")))?;
        inputs.write_all(&[b' '; 200])?;
        for directory in [&*self.directory, Path::new(".")] {
            std::fs::symlink_metadata(directory)?;
        }
        self.line()
    }

    /// Orphans, the size of the output, a result file, `attempt_ended` and `task_settled`.
    fn after(&self, number: u32) -> io::Result<()> {
        self.children.read_at(&mut [0; 4096], 0)?;
        std::fs::symlink_metadata(self.directory.join(format!("{number}.out")))?;
        if File::open(self.directory.join(format!("{number}.result"))).is_ok() {
            return Err(io::Error::other("`true` wrote a result"));
        }
        self.line()?;
        self.line()
    }

    /// A line of the log, as long as most are.
    fn line(&self) -> io::Result<()> {
        (&self.log).write_all(&[b'.'; 350])
    }
}
