//! The files of a pack, by path: [`World`], and [`Pack`], the one that people and editors use.
//!
//! A path is relative to the pack's root and `/`-separated; none leaves the root, symbolic links included.
//! Unaware of what is in the files: `lower` reads plans, prompts and schemas out of them.

use std::io::Read;

use camino::{Utf8Path, Utf8PathBuf};
use rustc_hash::FxHashMap;

/// The largest file that a compilation reads.
const LARGEST: u64 = 256 * 1024 * 1024;

/// Where `lower` gets files from.
pub trait World {
    /// The bytes of the file at `path`, which is normalised and relative to the pack's root.
    ///
    /// # Errors
    /// If there is no such file, or it may not be read.
    fn read(&mut self, path: &Utf8Path) -> Result<Vec<u8>, Unreadable>;

    /// The path as people should read it in messages.
    fn shown(&self, path: &Utf8Path) -> Utf8PathBuf;
}

/// Why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// There is none.
    Missing,
    /// A symbolic link leads out of the pack.
    Outside,
    /// It is a directory, a pipe or a device.
    NotAFile,
    /// It has more than 256 MiB.
    TooLarge,
    /// The system refused; why.
    Refused(String),
}

/// A directory with plans and what they name. Texts that an editor holds come before what is on disk.
#[derive(Clone, Debug, Default)]
pub struct Pack {
    /// The directory, as named; none for a pack that is in memory only.
    root: Option<Utf8PathBuf>,
    buffers: FxHashMap<Utf8PathBuf, Vec<u8>>,
}

impl Pack {
    /// The pack around a plan file, and the plan's path in it.
    #[must_use]
    pub fn around(plan: &Utf8Path) -> (Self, Utf8PathBuf) {
        let root = plan.parent().unwrap_or(Utf8Path::new("")).to_owned();
        let entry = plan.file_name().unwrap_or(plan.as_str());
        (Self { root: Some(root), buffers: FxHashMap::default() }, entry.into())
    }

    /// A pack of buffers only.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Holds `text` for `path` (relative to the root) instead of what is on disk.
    pub fn set(&mut self, path: impl Into<Utf8PathBuf>, text: impl Into<Vec<u8>>) {
        self.buffers.insert(path.into(), text.into());
    }
}

impl World for Pack {
    fn read(&mut self, path: &Utf8Path) -> Result<Vec<u8>, Unreadable> {
        if let Some(buffer) = self.buffers.get(path) {
            return Ok(buffer.clone());
        }
        let Some(root) = &self.root else {
            return Err(Unreadable::Missing);
        };
        let root = if root.as_str().is_empty() { Utf8Path::new(".") } else { root };
        let outer = root.as_std_path().canonicalize().map_err(refused)?;
        let full = root.join(path).as_std_path().canonicalize().map_err(refused)?;
        if !full.starts_with(&outer) {
            return Err(Unreadable::Outside);
        }
        // Looked at before it is opened: opening a named pipe would wait for a writer.
        if !std::fs::metadata(&full).map_err(refused)?.is_file() {
            return Err(Unreadable::NotAFile);
        }
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&full).map_err(refused)?;
        file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(refused)?;
        if bytes.len() as u64 > LARGEST { Err(Unreadable::TooLarge) } else { Ok(bytes) }
    }

    fn shown(&self, path: &Utf8Path) -> Utf8PathBuf {
        match &self.root {
            Some(root) if !root.as_str().is_empty() => root.join(path),
            Some(_) | None => path.to_owned(),
        }
    }
}

fn refused(error: std::io::Error) -> Unreadable {
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => Unreadable::Missing,
        _ => Unreadable::Refused(error.to_string()),
    }
}

/// `path`, as written in a file of the directory `base`, relative to the root and normalised; none where
/// it is absolute, empty, or leads out of the root.
#[must_use]
pub fn resolve(base: &Utf8Path, path: &str) -> Option<Utf8PathBuf> {
    if path.is_empty() || path.starts_with('/') || path.contains('\0') {
        return None;
    }
    let mut parts: Vec<&str> = base.as_str().split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(Utf8PathBuf::from(parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_root() {
        let at = |base: &str, path: &str| resolve(Utf8Path::new(base), path).map(Utf8PathBuf::into_string);
        assert_eq!(at("", "a/./b//c"), Some("a/b/c".into()));
        assert_eq!(at("lib", "../prompts/a.md"), Some("prompts/a.md".into()));
        for (base, path) in
            [("", "../a"), ("lib", "../../a"), ("", "/a"), ("", ""), ("", "a/../../b"), ("", "a\0")]
        {
            assert_eq!(at(base, path), None, "{base} {path}");
        }
    }

    #[test]
    fn buffers_come_first_and_links_may_not_leave() {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap();
        std::fs::create_dir(root.join("pack")).unwrap();
        std::fs::write(root.join("outside"), "x").unwrap();
        std::fs::write(root.join("pack/inside"), "y").unwrap();
        std::os::unix::fs::symlink("../outside", root.join("pack/leaves")).unwrap();
        std::os::unix::fs::symlink("inside", root.join("pack/stays")).unwrap();
        let (mut pack, entry) = Pack::around(&root.join("pack/a.plan"));
        assert_eq!(entry, "a.plan");
        let mut read = |path: &str| pack.read(Utf8Path::new(path));
        assert_eq!(read("inside"), Ok(b"y".to_vec()));
        assert_eq!(read("stays"), Ok(b"y".to_vec()));
        assert_eq!(read("leaves"), Err(Unreadable::Outside));
        assert_eq!(read("nowhere"), Err(Unreadable::Missing));
        assert_eq!(read(""), Err(Unreadable::NotAFile));
        pack.set("inside", "z");
        assert_eq!(pack.read(Utf8Path::new("inside")), Ok(b"z".to_vec()));
    }
}
