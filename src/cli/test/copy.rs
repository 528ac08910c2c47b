//! A copy of a pack, for one case: whatever happens in it, the pack stays as it is.
//!
//! What the pack's own `.gitignore` files leave out is left out, so that nothing of an earlier run is in it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use camino::{Utf8Path, Utf8PathBuf};
use ignore::WalkBuilder;
use indexmap::IndexMap;

use crate::source::Text;

/// Never part of a pack: the history of its repository, and runs.
const NEVER: [&str; 2] = [".git", ".plan"];

/// Copies the pack to `to`, which does not exist yet.
///
/// # Errors
/// What could not be copied, as one clause.
pub(super) fn pack(from: &Utf8Path, to: &Utf8Path) -> Result<(), String> {
    let mut walk = WalkBuilder::new(from);
    walk.standard_filters(false)
        .git_ignore(true)
        .require_git(false)
        .filter_entry(|entry| !NEVER.iter().any(|never| entry.file_name() == *never));
    for entry in walk.build() {
        let entry = entry.map_err(|error| format!("cannot copy the pack: {error}"))?;
        let path = Utf8Path::from_path(entry.path())
            .ok_or_else(|| format!("cannot copy the pack: {} is not UTF-8", entry.path().display()))?;
        let into = to.join(path.strip_prefix(from).unwrap_or(Utf8Path::new("")));
        let Some(kind) = entry.file_type() else { continue };
        let copied = if kind.is_dir() {
            fs::create_dir_all(&into)
        } else if kind.is_symlink() {
            fs::read_link(path).and_then(|target| symlink(target, &into))
        } else if kind.is_file() {
            fs::copy(path, &into).map(drop)
        } else {
            Ok(())
        };
        copied.map_err(|error| format!("cannot copy `{path}`: {error}"))?;
    }
    Ok(())
}

/// Removes files from the copy, where they are there.
///
/// # Errors
/// What could not be removed, as one clause.
pub(super) fn leave_out(root: &Utf8Path, files: &[Text]) -> Result<(), String> {
    for path in files {
        let full = root.join(path.as_str());
        let inside = full.parent().and_then(|above| above.canonicalize_utf8().ok());
        if inside.is_some_and(|inside| inside.starts_with(root)) && full.symlink_metadata().is_ok() {
            fs::remove_file(&full).map_err(|error| format!("cannot leave out `{path}`: {error}"))?;
        }
    }
    Ok(())
}

/// Writes the files of a case into the copy.
///
/// # Errors
/// What could not be written, as one clause.
pub(super) fn files(root: &Utf8Path, files: &IndexMap<Utf8PathBuf, String>) -> Result<(), String> {
    for (path, text) in files {
        let full = root.join(path);
        let write = || {
            if let Some(above) = full.parent() {
                fs::create_dir_all(above)?;
                if !above.canonicalize_utf8()?.starts_with(root) {
                    return Err(std::io::Error::other("a symbolic link leads out of the pack"));
                }
            }
            // A link is replaced, not followed.
            match fs::remove_file(&full) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            fs::write(&full, text)
        };
        write().map_err(|error| format!("cannot write `{path}`, a file of the case: {error}"))?;
    }
    Ok(())
}

/// Removes the copy, with directories in it that a task has made read-only.
///
/// # Errors
/// What could not be removed, as one clause.
pub(super) fn remove(copy: tempfile::TempDir) -> Result<(), String> {
    let path = copy.keep();
    if fs::remove_dir_all(&path).is_ok() {
        return Ok(());
    }
    for entry in WalkBuilder::new(&path).standard_filters(false).build().flatten() {
        if entry.file_type().is_some_and(|kind| kind.is_dir()) {
            // Where this fails, removing does, and says so.
            let _ = fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o700));
        }
    }
    fs::remove_dir_all(&path).map_err(|error| format!("cannot remove the copy {}: {error}", path.display()))
}
