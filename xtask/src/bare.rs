//! What starting commands costs at least: a loop that starts `true`, keeps its streams in two files, waits,
//! and does nothing else but work for a given time after each end. What an executor may spend itself before it
//! is slower than another one shows beside it (`benches/overhead.py`).

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Runs `true` so many times, so many at once, with so many microseconds of own work after each.
pub fn run(tasks: &str, jobs: &str, micros: &str, directory: &str) -> Result<(), String> {
    let number = |text: &str| text.parse::<u32>().map_err(|_| format!("`{text}` is not a number"));
    let work = Duration::from_micros(u64::from(number(micros)?));
    bare(number(tasks)?, number(jobs)?, work, Path::new(directory)).map_err(|error| error.to_string())
}

fn bare(tasks: u32, jobs: u32, work: Duration, directory: &Path) -> std::io::Result<()> {
    let mut running: Vec<(Child, OwnedFd)> = Vec::new();
    let mut started = 0;
    loop {
        while started < tasks && running.len() < jobs as usize {
            running.push(start(started, directory)?);
            started += 1;
        }
        if running.is_empty() {
            return Ok(());
        }
        let mut handles: Vec<_> =
            running.iter().map(|(_, handle)| PollFd::new(handle, PollFlags::IN)).collect();
        poll(&mut handles, None)?;
        let ended = handles.iter().position(|handle| !handle.revents().is_empty());
        let Some(at) = ended else { continue };
        drop(handles);
        let (mut child, _) = running.swap_remove(at);
        if !child.wait()?.success() {
            return Err(std::io::Error::other("`true` failed"));
        }
        let since = Instant::now();
        while since.elapsed() < work {}
    }
}

fn start(number: u32, directory: &Path) -> std::io::Result<(Child, OwnedFd)> {
    let kept = |stream: &str| File::create(directory.join(format!("{number}.{stream}"))).map(Stdio::from);
    let mut command = Command::new("/usr/bin/true");
    let child =
        command.process_group(0).stdin(Stdio::null()).stdout(kept("out")?).stderr(kept("err")?).spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| std::io::Error::other("it has no process number"))?;
    Ok((child, pidfd_open(pid, PidfdFlags::empty())?))
}
