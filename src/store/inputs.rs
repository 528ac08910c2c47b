//! The inputs of attempts, as files named by digest and shared by equal inputs (EXECUTION §11).
//!
//! They can always be made again from the log, so that nothing of them is ever synced.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};

use super::{RunDir, ensure_directory};

/// Inode, size, and the times of its last modification and change: what a task cannot change unseen.
type Seen = (u64, u64, (i64, i64), (i64, i64));

/// Inputs of at most so many bytes are kept: a file takes as much room.
const SMALL: usize = 4096;

/// The inputs of one run.
#[derive(Debug)]
pub struct Inputs {
    directory: Utf8PathBuf,
    written: Mutex<HashMap<blake3::Hash, Seen>>,
    making: AtomicU64,
}

impl Inputs {
    /// The inputs of `run`.
    #[must_use]
    pub fn new(run: &RunDir) -> Self {
        Self {
            directory: run.path.join("inputs"),
            written: Mutex::new(HashMap::new()),
            making: AtomicU64::new(0),
        }
    }

    /// The file that holds `json`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn file(&self, json: &str) -> io::Result<Utf8PathBuf> {
        let digest = blake3::hash(json.as_bytes());
        let path = self.directory.join(format!("{digest}.json"));
        let known = self.written.lock().unwrap_or_else(PoisonError::into_inner).get(&digest).copied();
        let now = if let Some(known) = known {
            if seen(&path) == Some(known) {
                return Ok(path);
            }
            self.replace(&path, json)?
        } else {
            match self.make(&path, json) {
                Ok(made) => made,
                // An earlier sitting left it, in part where it was cut off.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let whole = super::regular::read(&path).is_ok_and(|there| there == json.as_bytes());
                    if whole { seen(&path) } else { self.replace(&path, json)? }
                }
                Err(error) => return Err(error),
            }
        };
        if let Some(now) = now {
            self.written.lock().unwrap_or_else(PoisonError::into_inner).insert(digest, now);
        }
        Ok(path)
    }

    /// Removes the file that holds `json`, where it is large. It is made again when it is asked for.
    pub fn forget(&self, json: &str) {
        if json.len() > SMALL {
            let digest = blake3::hash(json.as_bytes());
            self.written.lock().unwrap_or_else(PoisonError::into_inner).remove(&digest);
            // One that stays takes room, and nothing else.
            let _ = fs::remove_file(self.directory.join(format!("{digest}.json")));
        }
    }

    /// Writes a file that is not there. Nobody knows of it before it is whole.
    fn make(&self, path: &Utf8Path, json: &str) -> io::Result<Option<Seen>> {
        // Read-only: others may be reading the same file.
        let make = || OpenOptions::new().write(true).create_new(true).mode(0o400).open(path);
        let mut file = match make() {
            // The first of a run.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                ensure_directory(&self.directory)?;
                make()?
            }
            made => made?,
        };
        file.write_all(json.as_bytes())?;
        Ok(file.metadata().ok().as_ref().map(print))
    }

    /// Puts a file in the place of one that is not what it should be, which others may be reading.
    fn replace(&self, path: &Utf8Path, json: &str) -> io::Result<Option<Seen>> {
        let number = self.making.fetch_add(1, Ordering::Relaxed);
        let beside = self.directory.join(format!(".new-{number}"));
        match fs::remove_file(&beside) {
            // Left by a crash.
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let made = self.make(&beside, json)?;
        fs::rename(&beside, path)?;
        Ok(made)
    }
}

fn seen(path: &Utf8Path) -> Option<Seen> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file).as_ref().map(print)
}

fn print(metadata: &fs::Metadata) -> Seen {
    let modified = (metadata.mtime(), metadata.mtime_nsec());
    (metadata.ino(), metadata.size(), modified, (metadata.ctime(), metadata.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::super::{StateDir, about::About};
    use super::*;

    #[test]
    fn large_inputs_are_forgotten_and_made_again() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::new(Utf8Path::from_path(directory.path()).unwrap());
        let inputs = Inputs::new(&state.create(0, About::default(), b"{}").unwrap().0);
        let (small, large) = ("{}", format!("[\"{}\"]", "x".repeat(SMALL)));
        for json in [small, &large] {
            let path = inputs.file(json).unwrap();
            inputs.forget(json);
            assert_eq!(path.exists(), json == small);
            assert_eq!(fs::read_to_string(inputs.file(json).unwrap()).unwrap(), json);
        }
    }

    #[test]
    fn a_change_in_place_is_seen_whatever_time_it_is_given() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::new(Utf8Path::from_path(directory.path()).unwrap());
        let inputs = Inputs::new(&state.create(0, About::default(), b"{}").unwrap().0);
        let json = r#"{"cost":"1.10"}"#;
        let path = inputs.file(json).unwrap();
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        // Some file systems tell times apart by the tick of a clock alone.
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, r#"{"cost":"9.99"}"#).unwrap();
        fs::File::options().append(true).open(&path).unwrap().set_modified(before).unwrap();
        assert_eq!(fs::read_to_string(inputs.file(json).unwrap()).unwrap(), json);
    }

    #[test]
    fn equal_inputs_share_a_file_that_comes_back() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::new(Utf8Path::from_path(directory.path()).unwrap());
        let run = state.create(0, About::default(), b"{}").unwrap().0;
        let inputs = Inputs::new(&run);
        let path = inputs.file(r#"{"a":1}"#).unwrap();
        assert_eq!(inputs.file(r#"{"a":1}"#).unwrap(), path);
        assert_ne!(inputs.file("{}").unwrap(), path);
        assert_eq!(fs::read_dir(run.path.join("inputs")).unwrap().count(), 2);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "tampered").unwrap();
        assert_eq!(fs::read_to_string(inputs.file(r#"{"a":1}"#).unwrap()).unwrap(), r#"{"a":1}"#);
        // As after a crash: the name is there, the content is not.
        fs::remove_file(&path).unwrap();
        fs::write(&path, "").unwrap();
        let next = Inputs::new(&run);
        assert_eq!(fs::read_to_string(next.file(r#"{"a":1}"#).unwrap()).unwrap(), r#"{"a":1}"#);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o400);
    }
}
