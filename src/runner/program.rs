//! Finds the file that a program's name stands for, as `execvp` would.
//!
//! A name that is resolved here is spawned by path, which keeps the standard library on its fast way of
//! starting processes although the environment is set. Only shells are remembered: any other program may
//! be installed by the run itself, in front of the one that was found before.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustc_hash::FxHashMap;
use rustix::fs::{Access, access};

/// Where the shells are, by search path and name.
#[derive(Debug, Default)]
pub(super) struct Programs {
    shells: Mutex<FxHashMap<Wanted, PathBuf>>,
}

/// A search path, and a name that was looked for there.
type Wanted = (Box<OsStr>, Box<str>);

impl Programs {
    /// The file of `name`: itself below `cwd` if it has a slash, else the first in `search` that can be
    /// executed.
    pub(super) fn find(&self, name: &str, search: &OsStr, cwd: &Path) -> Result<PathBuf, String> {
        if name.contains('/') {
            return Ok(cwd.join(name));
        }
        let lacking = || format!("no program `{name}` on the `PATH`");
        if !matches!(name, "sh" | "bash") {
            return search_in(name, search, cwd).ok_or_else(lacking);
        }
        let key = (Box::from(search), Box::from(name));
        let mut shells = self.shells.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(path) = shells.get(&key) {
            return Ok(path.clone());
        }
        let path = search_in(name, search, cwd).ok_or_else(lacking)?;
        // A directory of the search path that is relative depends on the working directory.
        if std::env::split_paths(search).all(|directory| directory.is_absolute()) {
            shells.insert(key, path.clone());
        }
        Ok(path)
    }
}

fn search_in(name: &str, search: &OsStr, cwd: &Path) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    let mut path = PathBuf::with_capacity(128);
    for directory in search.as_bytes().split(|&byte| byte == b':').map(OsStr::from_bytes) {
        path.clear();
        // Nothing between two colons is the working directory.
        if !directory.as_bytes().starts_with(b"/") {
            path.push(cwd);
        }
        path.push(directory);
        path.push(name);
        // Asked first, since most directories have no such name at all.
        if access(&path, Access::EXEC_OK).is_ok() && path.is_file() {
            return Some(path);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_searched_and_paths_are_not() {
        let programs = Programs::default();
        let search = OsStr::new("/nowhere:/usr/bin:/bin");
        let sh = programs.find("sh", search, Path::new("/")).unwrap();
        assert!(sh.ends_with("bin/sh"));
        assert_eq!(programs.find("sh", search, Path::new("/")).unwrap(), sh);
        assert_eq!(programs.find("./x", search, Path::new("/a")).unwrap(), Path::new("/a/./x"));
        assert!(programs.find("sh", OsStr::new("/nowhere"), Path::new("/")).is_err());
        assert!(programs.find("", search, Path::new("/")).is_err());
    }

    #[test]
    fn a_program_that_was_installed_in_front_is_found() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let (near, far) = (directory.path().join("near"), directory.path().join("far"));
        let install = |at: &Path| {
            std::fs::create_dir_all(at).unwrap();
            std::fs::write(at.join("tool"), "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(at.join("tool"), std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        let search = std::env::join_paths([&near, &far]).unwrap();
        let programs = Programs::default();
        install(&far);
        assert_eq!(programs.find("tool", &search, Path::new("/")).unwrap(), far.join("tool"));
        install(&near);
        assert_eq!(programs.find("tool", &search, Path::new("/")).unwrap(), near.join("tool"));
    }
}
