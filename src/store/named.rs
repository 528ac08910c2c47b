//! What files that a command names hold, so that a later run can tell whether they still do.
//!
//! Content is read once for every state that the file system tells apart. A directory is told apart by all that
//! is in it, a pattern by what it matches. Unaware of commands.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};

use crate::event::NamedFile;
use crate::glob::Glob;
use crate::source::Text;

/// What is above this size, one file or what comes last in a directory, is told apart by its size and by when it
/// was changed.
const LARGE: u64 = 64 << 20;

/// The most files of one directory that are looked at.
const MOST: usize = 2_000;

/// Directories that no command means: what is in them changes with every run.
const NEVER: [&str; 2] = [".git", ".plan"];

/// How much of a digest is kept.
const DIGITS: usize = 32;

/// What is known of files.
#[derive(Debug, Default)]
pub struct Known(Mutex<HashMap<[i64; 6], Text>>);

impl Known {
    /// What tells apart what is at `path`: a regular file, a directory, or what a pattern matches there. None
    /// where nothing is that can be read.
    #[must_use]
    pub fn digest(&self, path: &Utf8Path) -> Option<Text> {
        let pattern = |part: &str| part.contains(['*', '?']);
        let first = path.components().position(|part| pattern(part.as_str()));
        let Some(first) = first else {
            return self.file(path, LARGE).or_else(|| self.directory(path, None));
        };
        let above: Utf8PathBuf = path.components().take(first).collect();
        // Only a pattern in the last place says what of a directory it matches.
        let last = path.components().count() == first + 1;
        let glob = path.file_name().filter(|_| last).map(Glob::new);
        self.directory(&above, glob.as_ref())
    }

    /// What tells the content of a directory apart; with a pattern, of the files directly in it that it
    /// matches, if there are any.
    fn directory(&self, path: &Utf8Path, glob: Option<&Glob>) -> Option<Text> {
        let mut files = Vec::new();
        if !path.is_dir() {
            return None;
        }
        let uncompared = |why: &str| Some([NamedFile::UNCOMPARED, why].concat().into());
        match list(path, "", glob, &mut files) {
            Ok(true) => {}
            Ok(false) => return uncompared("it has a link to a directory"),
            Err(error) => return uncompared(&format!("it cannot be read: {error}")),
        }
        if files.len() > MOST {
            return uncompared(&format!("it has more than {MOST} files"));
        }
        if files.is_empty() && glob.is_some() {
            return None;
        }
        files.sort_unstable();
        let mut hasher = blake3::Hasher::new();
        let mut room = LARGE;
        for name in &files {
            let digest = self.file(&path.join(name), room).unwrap_or_default();
            let size = fs::metadata(path.join(name))
                .map_or(0, |found| if found.is_file() { found.len() } else { 0 });
            room = room.saturating_sub(size);
            hasher.update(format!("{}\0{name}\0{digest}\n", name.len()).as_bytes());
        }
        Some(hasher.finalize().to_hex()[..DIGITS].into())
    }

    /// What tells a regular file apart: its content, where that has at most `room` bytes.
    fn file(&self, path: &Utf8Path, room: u64) -> Option<Text> {
        let metadata = fs::metadata(path).ok().filter(Metadata::is_file)?;
        if metadata.len() > room {
            let (size, seconds, nanos) = (metadata.len(), metadata.mtime(), metadata.mtime_nsec());
            let mode = metadata.mode() & 0o111;
            return Some(compact_str::format_compact!("{size} bytes of {seconds}.{nanos:09}, {mode:o}"));
        }
        let state = state(&metadata);
        if let Some(known) = self.known().get(&state) {
            return Some(known.clone());
        }
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut File::open(path).ok()?, &mut hasher).ok()?;
        let mut digest: Text = hasher.finalize().to_hex()[..DIGITS].into();
        if metadata.mode() & 0o111 != 0 {
            digest.push_str(" executable");
        }
        // A change within the same tick of the file system's clock would not show.
        let age = std::time::SystemTime::now().duration_since(metadata.modified().ok()?);
        if age.is_ok_and(|age| age.as_secs() > 1) {
            self.known().insert(state, digest.clone());
        }
        Some(digest)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<[i64; 6], Text>> {
        // A panic elsewhere leaves at most less than was known.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The names of what is below `path`, at most a few more than are looked at; directories end in a slash. False
/// where there is more behind a link.
fn list(path: &Utf8Path, inside: &str, glob: Option<&Glob>, files: &mut Vec<String>) -> io::Result<bool> {
    for entry in path.join(inside).read_dir_utf8()? {
        let entry = entry?;
        let name = entry.file_name();
        if NEVER.contains(&name) || glob.is_some_and(|glob| !glob.matches(name)) {
            continue;
        }
        let inner = if inside.is_empty() { name.to_owned() } else { format!("{inside}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_symlink() && entry.path().is_dir() {
            return Ok(false);
        }
        if kind.is_dir() {
            files.push(format!("{inner}/"));
            if !list(path, &inner, None, files)? {
                return Ok(false);
            }
        } else {
            files.push(inner);
        }
        if files.len() > MOST {
            break;
        }
    }
    Ok(true)
}

#[expect(clippy::cast_possible_wrap, reason = "only told apart, never counted with")]
fn state(metadata: &Metadata) -> [i64; 6] {
    [
        metadata.dev() as i64,
        metadata.ino() as i64,
        metadata.size() as i64,
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime().wrapping_mul(1_000_000_000).wrapping_add(metadata.ctime_nsec()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_told_apart_by_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        let (known, digest) = (Known::default(), |path: &str| Known::default().digest(&root.join(path)));
        fs::create_dir_all(root.join("data/deep")).unwrap();
        let write = |path: &str, text: &str| fs::write(root.join(path), text).unwrap();
        write("data/deep/a.txt", "a");
        write("b.txt", "b");
        assert_eq!(digest("none"), None);
        assert_eq!(digest("*.md"), None);
        let before = ["data", "data/deep/a.txt", "data/*/a.txt", "data/deep/*", "*.txt"].map(digest);
        assert!(before.iter().all(Option::is_some), "{before:?}");
        assert_eq!(known.digest(&root.join("b.txt")), digest("b.txt"));
        write("data/deep/a.txt", "A");
        let after = ["data", "data/deep/a.txt", "data/*/a.txt", "data/deep/*", "*.txt"].map(digest);
        let same: Vec<bool> = before.iter().zip(&after).map(|(before, after)| before == after).collect();
        assert_eq!(same, [false, false, false, false, true]);
        write("data/deep/a.txt", "a");
        fs::create_dir(root.join("data/.git")).unwrap();
        write("data/.git/x", "x");
        assert_eq!(digest("data"), before[0], "content counts, not time, and no repository");
        write("c.txt", "");
        assert_ne!(digest("*.txt"), before[4]);
    }
}
