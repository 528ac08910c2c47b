//! What files that a command names hold, so that a later run can tell whether they still do.
//!
//! Content is read once for every state that the file system tells apart. Unaware of commands.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};

use camino::Utf8Path;

use crate::source::Text;

/// Files above this size are told apart by their size and by when they were changed.
const LARGE: u64 = 64 << 20;

/// How much of a digest is kept.
const DIGITS: usize = 32;

/// What is known of files.
#[derive(Debug, Default)]
pub struct Known(Mutex<HashMap<[i64; 6], Text>>);

impl Known {
    /// What tells the content of the regular file at `path` apart. None where there is none that can be
    /// read.
    #[must_use]
    pub fn digest(&self, path: &Utf8Path) -> Option<Text> {
        let metadata = fs::metadata(path).ok().filter(Metadata::is_file)?;
        if metadata.len() > LARGE {
            let (size, seconds, nanos) = (metadata.len(), metadata.mtime(), metadata.mtime_nsec());
            return Some(compact_str::format_compact!("{size} bytes of {seconds}.{nanos:09}"));
        }
        let state = state(&metadata);
        if let Some(known) = self.known().get(&state) {
            return Some(known.clone());
        }
        let mut hasher = blake3::Hasher::new();
        io::copy(&mut File::open(path).ok()?, &mut hasher).ok()?;
        let digest: Text = hasher.finalize().to_hex()[..DIGITS].into();
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
