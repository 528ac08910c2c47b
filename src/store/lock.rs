//! One writer: who holds the lock of a run may write its log (EXECUTION §11).
//!
//! The lock is `flock` on the log's own descriptor. Children do not inherit it, and it falls with its
//! holder, so that nothing ever has to be unlocked by hand.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::time::Duration;

use camino::Utf8Path;
use rustix::fs::FlockOperation;

use super::{Error, RunDir, regular};

/// A held lock, and the log that it guards, opened for appending.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// Its command line, where it can be read.
    pub command: Option<String>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.command {
            Some(command) => write!(f, "process {} ({command})", self.pid),
            None => write!(f, "process {}", self.pid),
        }
    }
}

impl Lock {
    /// Makes an empty log and locks it.
    pub(super) fn create(path: &Utf8Path, run: &str) -> Result<Self, Error> {
        let open = || options().create_new(true).mode(0o600).open(path);
        let file = open().map_err(Error::io("make", path))?;
        match try_lock(&file, FlockOperation::NonBlockingLockExclusive).map_err(Error::io("lock", path))? {
            true => Ok(Self { file }),
            false => Err(Error::Held { run: run.into(), holder: None }),
        }
    }

    /// Takes the lock of `run`.
    ///
    /// # Errors
    /// If another process holds it: [`Error::Held`].
    pub fn take(run: &RunDir) -> Result<Self, Error> {
        let path = run.log();
        let file = regular::open_as(&mut options(), &path).map_err(Error::io("open", &path))?;
        // Who only looks whether the lock is held, holds it for an instant himself.
        for wait in [1, 5, 20, 50, 0] {
            let taken = try_lock(&file, FlockOperation::NonBlockingLockExclusive);
            if taken.map_err(Error::io("lock", &path))? {
                return Ok(Self { file });
            }
            std::thread::sleep(Duration::from_millis(wait));
        }
        Err(Error::Held { run: run.name.clone(), holder: holder(&file) })
    }

    /// The same lock once more: it is held until both are gone.
    ///
    /// # Errors
    /// If the system has no descriptor to give.
    pub fn share(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()? })
    }

    /// The log, opened for appending. The lock lives as long as it.
    #[must_use]
    pub(super) fn into_file(self) -> File {
        self.file
    }

    /// The log.
    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

/// Whether some process holds the lock of `run`.
///
/// # Errors
/// If the log cannot be opened.
pub fn is_held(run: &RunDir) -> Result<bool, Error> {
    let path = run.log();
    let file = regular::open(&path).map_err(Error::io("open", &path))?;
    let free = try_lock(&file, FlockOperation::NonBlockingLockShared).map_err(Error::io("lock", &path))?;
    Ok(!free)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    options
}

fn try_lock(file: &File, operation: FlockOperation) -> io::Result<bool> {
    loop {
        match rustix::fs::flock(file, operation) {
            Ok(()) => return Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(false),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Who holds the lock on `file`, as `/proc/locks` has it: a help for people, never for a decision.
fn holder(file: &File) -> Option<Holder> {
    let metadata = file.metadata().ok()?;
    let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    let place = format!("{major:02x}:{minor:02x}:{}", metadata.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let pid = locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&place.as_str()))
            .then(|| words[4].parse().ok())
            .flatten()
    })?;
    let command = fs::read(format!("/proc/{pid}/cmdline")).ok().and_then(|bytes| {
        let words: Vec<_> = bytes.split(|&b| b == 0).filter(|word| !word.is_empty()).collect();
        (!words.is_empty()).then(|| String::from_utf8_lossy(&words.join(&b' ')).into_owned())
    });
    Some(Holder { pid, command })
}

#[cfg(test)]
mod tests {
    use super::super::{StateDir, about::About};
    use super::*;

    #[test]
    fn one_holds_it_and_another_is_told_who() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::new(Utf8Path::from_path(directory.path()).unwrap());
        let (run, _, lock) = state.create(0, About::default(), b"{}").unwrap();
        assert!(is_held(&run).unwrap());
        match Lock::take(&run) {
            Err(Error::Held { holder, .. }) => {
                // Without `/proc` nobody can say who.
                assert!(holder.is_none_or(|holder| holder.pid == std::process::id()));
            }
            other => panic!("{other:?}"),
        }
        drop(lock);
        assert!(!is_held(&run).unwrap());
        let again = Lock::take(&run).unwrap();
        assert!(rustix::io::fcntl_getfd(again.file()).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    }
}
