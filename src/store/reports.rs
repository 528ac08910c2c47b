//! What report tasks write below the run's directory (EXECUTION §11).
//!
//! A report is there completely or not, follows no symbolic link, and never lies where the run keeps files
//! of its own. Unaware of what is in it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use camino::Utf8Path;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::RunDir;
use crate::ir::kind::of_the_run;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

const NEW: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Writes `text` to `to`, a path below the directory of `run`, and has it on disk. `attempt` names what is
/// written beside it until it is whole.
///
/// # Errors
/// If the path is none that a report may take, or cannot be written: why, as one clause.
pub fn write(run: &RunDir, attempt: u32, to: &str, text: &[u8]) -> Result<(), String> {
    if let Some(own) = of_the_run(to) {
        return Err(format!("`{to}` is not written: `{own}` belongs to the run itself"));
    }
    let names: Vec<&str> = to.split('/').collect();
    if to.contains('\0') || names.iter().any(|name| matches!(*name, "" | "." | "..")) {
        return Err(format!("`{to}` is not written: it is no path below the run's directory"));
    }
    let Some((last, directories)) = names.split_last() else { return Ok(()) };
    place(run, attempt, directories, last, text).map_err(|error| format!("`{to}` cannot be written: {error}"))
}

/// Writes `text` as the whole of a stream. One of that name is left of a start that no log knows of.
///
/// # Errors
/// If it cannot be written.
pub fn keep(path: &Utf8Path, text: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600).open(path)?.write_all(text)
}

fn place(run: &RunDir, attempt: u32, directories: &[&str], last: &str, text: &[u8]) -> io::Result<()> {
    let mut directory = rustix::fs::open(run.path.as_std_path(), DIRECTORY, Mode::empty())?;
    for name in directories {
        directory = below(&directory, name)?;
    }
    let beside = format!(".new-report-{attempt}");
    match rustix::fs::unlinkat(&directory, &beside, rustix::fs::AtFlags::empty()) {
        // Left by a crash, or not there.
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let mut file = File::from(rustix::fs::openat(&directory, &beside, NEW, Mode::from_raw_mode(0o600))?);
    let placed = file
        .write_all(text)
        .and_then(|()| file.sync_data())
        .and_then(|()| Ok(rustix::fs::renameat(&directory, &beside, &directory, last)?))
        .and_then(|()| Ok(rustix::fs::fsync(&directory)?));
    if placed.is_err() {
        // What is wrong has been found already.
        let _ = rustix::fs::unlinkat(&directory, &beside, rustix::fs::AtFlags::empty());
    }
    placed
}

/// The directory `name` in `directory`, made where it is missing.
fn below(directory: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    match rustix::fs::mkdirat(directory.as_fd(), name, Mode::from_raw_mode(0o700)) {
        Ok(()) => rustix::fs::fsync(directory)?,
        Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(rustix::fs::openat(directory.as_fd(), name, DIRECTORY, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::store::StateDir;
    use crate::store::about::About;

    #[test]
    fn reports_are_placed_whole_and_confined() {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        let run = StateDir::new(root.join(".plan")).create(0, About::default(), b"{}").unwrap().0;
        write(&run, 1, "report.html", b"one").unwrap();
        write(&run, 2, "report.html", b"two").unwrap();
        write(&run, 3, "deep/er/page.md", b"three").unwrap();
        let read = |path: &str| std::fs::read_to_string(run.path.join(path)).unwrap();
        assert_eq!((read("report.html"), read("deep/er/page.md")), ("two".into(), "three".into()));
        symlink(root, run.path.join("out")).unwrap();
        std::fs::write(root.join("kept"), "kept").unwrap();
        symlink(root.join("kept"), run.path.join("link")).unwrap();
        write(&run, 4, "link", b"four").unwrap();
        assert_eq!(read("link"), "four");
        assert_eq!(std::fs::read_to_string(root.join("kept")).unwrap(), "kept", "no link is followed");
        let log = std::fs::read(run.log()).unwrap();
        for to in [
            "out/x",
            "../x",
            "/x",
            "a/../../x",
            "",
            "a//b",
            "deep",
            "report.html/x",
            "events.jsonl",
            "logs/1.out",
            "run.json/x",
            ".x",
        ] {
            let problem = write(&run, 5, to, b"five").unwrap_err();
            assert!(problem.starts_with(&format!("`{to}` ")), "{problem}");
        }
        assert!(!root.join("x").exists() && !root.join(".plan/runs/x").exists());
        assert_eq!(std::fs::read(run.log()).unwrap(), log);
        let left = std::fs::read_dir(&run.path).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(left.into_iter().all(|name| !name.to_string_lossy().starts_with(".new")));
    }
}
