//! Finds the file that a program's name stands for, as `execvp` would, and remembers it.
//!
//! A name that is resolved here is spawned by path, which keeps the standard library on its fast way of
//! starting processes although the environment is set from scratch.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustc_hash::FxHashMap;
use rustix::fs::{Access, access};

/// A search path, and a name that was looked for there.
type Wanted = (Box<OsStr>, Box<str>);

/// Programs that were found before.
#[derive(Debug, Default)]
pub(super) struct Programs {
    found: Mutex<FxHashMap<Wanted, PathBuf>>,
}

impl Programs {
    /// The file of `name`: itself below `cwd` if it has a slash, else the first in `search` that can be
    /// executed.
    pub(super) fn find(&self, name: &str, search: &OsStr, cwd: &Path) -> Result<PathBuf, String> {
        if name.contains('/') {
            return Ok(cwd.join(name));
        }
        let key = (Box::from(search), Box::from(name));
        let mut found = self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(path) = found.get(&key)
            && access(path, Access::EXEC_OK).is_ok()
        {
            return Ok(path.clone());
        }
        let path =
            search_in(name, search, cwd).ok_or_else(|| format!("no program `{name}` on the `PATH`"))?;
        // A directory of the search path that is relative depends on the working directory.
        if std::env::split_paths(search).all(|directory| directory.is_absolute()) {
            found.insert(key, path.clone());
        }
        Ok(path)
    }
}

fn search_in(name: &str, search: &OsStr, cwd: &Path) -> Option<PathBuf> {
    if name.is_empty() {
        return None;
    }
    std::env::split_paths(search)
        .map(|directory| cwd.join(directory).join(name))
        .find(|path| path.is_file() && access(path, Access::EXEC_OK).is_ok())
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
}
