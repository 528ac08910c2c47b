//! Removes runs that nobody needs any more: `plan gc`.
//!
//! Which those are, the caller says; a run that a process works on is never removed.

use std::fs;
use std::io;

use super::{Error, RunDir, StateDir, lock::Lock, staging};

/// Removes `run` with all that it has.
///
/// # Errors
/// If a process works on it, or a file cannot be removed.
pub fn remove(state: &StateDir, run: &RunDir) -> Result<(), Error> {
    let lock = match Lock::take(run) {
        // It died before it had a log: nobody can be working on it.
        Err(Error::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => None,
        taken => Some(taken?),
    };
    // Under a name that no reader looks at, so that nobody sees half a run.
    let going = state.runs_path().join(format!(".gone-{}", run.name));
    fs::rename(&run.path, &going).map_err(Error::io("remove", &run.path))?;
    drop(lock);
    staging::remove_tree(&going).map_err(Error::io("remove", &going))
}

/// Removes what makers and removers of runs left when they died. How many directories that were.
///
/// # Errors
/// If one cannot be removed.
pub fn remove_remains(state: &StateDir, before: std::time::SystemTime) -> Result<usize, Error> {
    let runs = state.runs_path();
    let entries = match runs.read_dir_utf8() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        read => read.map_err(Error::io("read", &runs))?,
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry.map_err(Error::io("read", &runs))?;
        // One that is being made this instant is young.
        let old = entry.metadata().and_then(|metadata| metadata.modified()).is_ok_and(|time| time < before);
        if old && (entry.file_name().starts_with(".new-") || entry.file_name().starts_with(".gone-")) {
            staging::remove_tree(entry.path()).map_err(Error::io("remove", entry.path()))?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use camino::Utf8Path;

    use super::super::about::About;
    use super::*;

    #[test]
    fn a_run_goes_whole_unless_somebody_works_on_it() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::new(Utf8Path::from_path(directory.path()).unwrap());
        let (run, _, lock) = state.create(0, About::default(), b"{}").unwrap();
        assert!(matches!(remove(&state, &run), Err(Error::Held { .. })));
        drop(lock);
        remove(&state, &run).unwrap();
        assert_eq!(fs::read_dir(state.runs_path()).unwrap().count(), 0);
        fs::create_dir(state.runs_path().join(".new-x")).unwrap();
        let now = SystemTime::now();
        assert_eq!(remove_remains(&state, now - Duration::from_secs(60)).unwrap(), 0);
        assert_eq!(remove_remains(&state, now + Duration::from_secs(60)).unwrap(), 1);
    }
}
