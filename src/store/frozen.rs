//! Frozen files: found and stored when a run is admitted, and put back whenever something has changed them
//! (EXECUTION §8).
//!
//! They are a captured set like any other. Whether one was changed is seen by what the file system says of
//! it, and by its content where that cannot be relied on. Unaware of who changed it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::RunDir;
use super::capture::{Entry, Store};
use super::confine::Root;
use crate::event::FileSet;
use crate::glob::Glob;
use crate::source::Text;

/// How long after a change the file system's clock may say the same of another one, in nanoseconds.
const TICK: i128 = 100_000_000;

/// Directories that no glob reaches into.
const NEVER: &str = ".git";

/// The files below `pack` that `pattern` matches, sorted. What is below `state` is none of the pack's.
///
/// # Errors
/// What cannot be frozen, as one clause.
pub fn find(pack: &Utf8Path, state: &Utf8Path, pattern: &str) -> Result<Vec<Text>, String> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let literal = |part: &str| !part.contains(['*', '?', '[']);
    let parts: Vec<&str> = pattern.split('/').collect();
    let known = parts[..parts.len() - 1].iter().take_while(|part| literal(part)).count();
    let walk = Walk {
        pack,
        state: state.canonicalize_utf8().ok(),
        glob: Glob::new(pattern),
        deep: parts.iter().any(|part| part.contains("**")),
        most: parts.len(),
    };
    let mut found = Vec::new();
    walk.look(&parts[..known].join("/"), known + 1, &mut found)?;
    found.sort();
    Ok(found)
}

struct Walk<'a> {
    pack: &'a Utf8Path,
    state: Option<Utf8PathBuf>,
    glob: Glob,
    /// Whether it reaches to any depth; otherwise it has `most` components.
    deep: bool,
    most: usize,
}

impl Walk<'_> {
    /// Looks at what is in `directory`, whose entries have `depth` components.
    fn look(&self, directory: &str, depth: usize, found: &mut Vec<Text>) -> Result<(), String> {
        let path = self.pack.join(directory);
        let cannot = |error: io::Error| format!("`{path}` cannot be read: {error}");
        // The state directory may have been made since: asked for by what it is, not by its name.
        if self.state.is_some() && path.canonicalize_utf8().ok() == self.state {
            return Ok(());
        }
        let entries = match fs::read_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(cannot)?,
        };
        for entry in entries {
            let entry = entry.map_err(cannot)?;
            let kind = entry.file_type().map_err(cannot)?;
            let name = entry.file_name().into_string();
            let name = name.map_err(|name| format!("{name:?} in `{path}` is no text"))?;
            let inner = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            if kind.is_dir() {
                if name != NEVER && (self.deep || depth < self.most) {
                    self.look(&inner, depth + 1, found)?;
                }
            } else if self.glob.matches(&inner) {
                if !kind.is_file() {
                    return Err(format!("`{inner}` is no regular file"));
                }
                found.push(inner.into());
            }
        }
        Ok(())
    }
}

/// The fingerprint of the gates of a plan, and of the files that are frozen in its run.
#[must_use]
pub fn fingerprint(gates: &Text, frozen: Option<&FileSet>) -> Text {
    match frozen {
        None => gates.clone(),
        Some(set) => blake3::hash(format!("{gates}\n{}", set.manifest).as_bytes()).to_hex().as_str().into(),
    }
}

/// The frozen files of a run.
#[derive(Debug)]
pub struct Frozen {
    store: Utf8PathBuf,
    root: Utf8PathBuf,
    entries: Vec<Entry>,
    /// What each looked like when it was as it should be.
    seen: Mutex<Vec<Option<Seen>>>,
    /// What was put back so far, in order.
    restored: Mutex<Vec<Text>>,
    /// Numbers files that are being written.
    making: AtomicU64,
}

/// What the file system says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    device: u64,
    inode: u64,
    size: u64,
    changed: i128,
    mode: u32,
}

impl Seen {
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let changed = i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            changed,
            mode: metadata.mode() & 0o7777,
        })
    }

    /// Whether a change after this would show.
    fn is_old(&self) -> bool {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        let now = i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec);
        now > self.changed + TICK
    }
}

impl Frozen {
    /// The frozen files of `run`, which belong below `root`.
    ///
    /// # Errors
    /// What of them is missing, by name.
    pub fn new(run: &RunDir, root: &Utf8Path, set: &FileSet) -> Result<Self, String> {
        let store = Store::new(run.clone(), u64::MAX, []);
        if let Some(missing) = store.missing(set) {
            return Err(missing);
        }
        let entries = store.entries(set)?;
        let seen = Mutex::new(vec![None; entries.len()]);
        let store = run.path.join("store");
        Ok(Self {
            store,
            root: root.to_owned(),
            entries,
            seen,
            restored: Mutex::default(),
            making: AtomicU64::new(0),
        })
    }

    /// Puts back what is not as it was frozen, and names it.
    ///
    /// # Errors
    /// What could not be put back, as one clause.
    pub fn restore(&self) -> Result<Vec<Text>, String> {
        self.restore_as("the frozen ")
    }

    /// Every file that was put back so far, in order.
    #[must_use]
    pub fn restored(&self) -> Vec<Text> {
        self.restored.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// As [`Frozen::restore`], of files that are called `what`.
    ///
    /// # Errors
    /// What could not be put back, as one clause.
    pub fn restore_as(&self, what: &str) -> Result<Vec<Text>, String> {
        let root =
            Root::open(&self.root).map_err(|error| format!("`{}` cannot be read: {error}", self.root))?;
        // A panic elsewhere leaves at most less than was known.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = Vec::new();
        for (entry, seen) in self.entries.iter().zip(seen.iter_mut()) {
            if !is_whole(&root, entry, seen) {
                let put = self.put(entry);
                put.map_err(|error| format!("{what}`{}` cannot be restored: {error}", entry.path))?;
                *seen = None;
                self.restored.lock().unwrap_or_else(PoisonError::into_inner).push(entry.path.clone());
                changed.push(entry.path.clone());
            }
        }
        Ok(changed)
    }

    /// Writes one file anew, beside and then over what is there.
    fn put(&self, entry: &Entry) -> io::Result<()> {
        let path = Utf8Path::new(entry.path.as_str());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut directory = rustix::fs::open(self.root.as_std_path(), flags, Mode::empty())?;
        for part in path.parent().into_iter().flat_map(Utf8Path::components) {
            directory = enter(&directory, part.as_str())?;
        }
        let name = path.file_name().ok_or_else(|| io::Error::other("it has no name"))?;
        let number = self.making.fetch_add(1, Ordering::Relaxed);
        let beside = format!(".plan-frozen-{}-{number}", std::process::id());
        let written = self.write(entry, &directory, &beside).and_then(|()| {
            match rustix::fs::renameat(&directory, &beside, &directory, name) {
                Err(Errno::ISDIR | Errno::NOTEMPTY | Errno::EXIST) => {
                    super::staging::remove_tree(&self.root.join(path))?;
                    Ok(rustix::fs::renameat(&directory, &beside, &directory, name)?)
                }
                renamed => Ok(renamed?),
            }
        });
        if written.is_err() {
            // It may never have been there.
            let _ = rustix::fs::unlinkat(&directory, &beside, AtFlags::empty());
        }
        written
    }

    fn write(&self, entry: &Entry, directory: &OwnedFd, name: &str) -> io::Result<()> {
        let mut content = Vec::new();
        super::regular::open(&self.store.join(entry.digest.as_str()))?.read_to_end(&mut content)?;
        if blake3::hash(&content).to_hex().as_str() != entry.digest {
            return Err(io::Error::other("what was stored of it has changed"));
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = || rustix::fs::openat(directory, name, flags, Mode::RUSR | Mode::WUSR);
        let opened = match open() {
            Err(Errno::ACCESS) => {
                // A task has locked the directory.
                let own = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(directory));
                fs::set_permissions(own, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
                open()?
            }
            opened => opened?,
        };
        let mut file = File::from(opened);
        file.write_all(&content)?;
        rustix::fs::fchmod(file.as_fd(), Mode::from_raw_mode(entry.mode))?;
        Ok(())
    }
}

/// Whether a file is as it was frozen.
fn is_whole(root: &Root, entry: &Entry, seen: &mut Option<Seen>) -> bool {
    let Ok(mut file) = root.file(&entry.path) else { return false };
    let Ok(now) = Seen::of(&file) else { return false };
    if *seen == Some(now) {
        return true;
    }
    let mut hasher = blake3::Hasher::new();
    let whole = now.mode == entry.mode
        && now.size == entry.bytes
        && io::copy(&mut file, &mut hasher).is_ok()
        && hasher.finalize().to_hex().as_str() == entry.digest;
    *seen = Some(now).filter(|now| whole && now.is_old());
    whole
}

/// Opens the directory `name`; whatever else is there gives way to one.
fn enter(directory: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || rustix::fs::openat(directory, name, flags, Mode::empty());
    match open() {
        Err(Errno::NOTDIR | Errno::LOOP) => rustix::fs::unlinkat(directory, name, AtFlags::empty())?,
        Err(Errno::NOENT) => {}
        opened => return Ok(opened?),
    }
    rustix::fs::mkdirat(directory, name, Mode::from_raw_mode(0o755))?;
    Ok(open()?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::super::{StateDir, about::About};
    use super::*;

    struct Case {
        _directory: tempfile::TempDir,
        root: Utf8PathBuf,
        run: RunDir,
    }

    impl Case {
        fn new(files: &[&str]) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let root = Utf8Path::from_path(directory.path()).unwrap().join("pack");
            for path in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, format!("original {path}")).unwrap();
            }
            let run = StateDir::new(root.join(".plan")).create(0, About::default(), b"{}").unwrap().0;
            Self { _directory: directory, root, run }
        }

        fn found(&self, pattern: &str) -> Result<Vec<Text>, String> {
            find(&self.root, &self.root.join(".plan"), pattern)
        }

        fn freeze(&self, pattern: &str) -> Frozen {
            let store = Store::new(self.run.clone(), u64::MAX, []);
            let set = store.capture_all(&self.root, &self.found(pattern).unwrap()).unwrap();
            Frozen::new(&self.run, &self.root, &set).unwrap()
        }

        fn is_original(&self, path: &str) -> bool {
            let path = self.root.join(path);
            fs::read_to_string(&path).is_ok_and(|text| text == format!("original {path}"))
        }
    }

    #[test]
    fn globs_find_files_of_the_pack() {
        let case = Case::new(&["check.sh", "rules/a.txt", "rules/b.md", "rules/deep/c.txt", ".git/config"]);
        let found = |pattern| case.found(pattern).unwrap().join(" ");
        assert_eq!(found("check.sh"), "check.sh");
        assert_eq!(found("./rules/*.txt"), "rules/a.txt");
        assert_eq!(found("rules/**"), "rules/a.txt rules/b.md rules/deep/c.txt");
        assert_eq!(found("**/*.txt"), "rules/a.txt rules/deep/c.txt");
        assert_eq!(found("*/*/c.txt"), "rules/deep/c.txt");
        assert_eq!(found("none/*"), "");
        assert_eq!(found("**"), "check.sh rules/a.txt rules/b.md rules/deep/c.txt", "neither runs nor git");
        symlink("a.txt", case.root.join("rules/link")).unwrap();
        assert_eq!(case.found("rules/*"), Err("`rules/link` is no regular file".to_owned()));
        assert_eq!(found("rules/*.txt"), "rules/a.txt");
    }

    #[test]
    fn whatever_was_changed_is_put_back() {
        let all = ["a", "b", "c", "d", "e", "f", "g/h", "i/j/k", "l/m", "n/o"];
        let case = Case::new(&all);
        let frozen = case.freeze("**");
        assert_eq!(frozen.restore().unwrap(), [""; 0]);
        let at = |path: &str| case.root.join(path);
        fs::write(at("a"), "changed").unwrap();
        fs::remove_file(at("b")).unwrap();
        fs::set_permissions(at("c"), fs::Permissions::from_mode(0o777)).unwrap();
        fs::remove_file(at("d")).unwrap();
        symlink("a", at("d")).unwrap();
        fs::remove_file(at("e")).unwrap();
        fs::create_dir_all(at("e/full/of")).unwrap();
        fs::write(at("e/full/of/files"), "x").unwrap();
        let same_size = fs::read_to_string(at("f")).unwrap().replace("original", "0riginal");
        fs::write(at("f"), same_size).unwrap();
        fs::remove_dir_all(at("g")).unwrap();
        fs::rename(at("i"), at("elsewhere")).unwrap();
        symlink("elsewhere", at("i")).unwrap();
        fs::remove_dir_all(at("l")).unwrap();
        fs::write(at("l"), "a file").unwrap();
        let changed = frozen.restore().unwrap();
        assert_eq!(changed, all[..9], "all but n/o");
        for path in all {
            assert!(case.is_original(path), "{path}");
        }
        assert_eq!(fs::metadata(at("c")).unwrap().permissions().mode() & 0o777, 0o644);
        assert!(case.root.join("elsewhere/j/k").exists(), "what is no business of ours stays");
        assert_eq!(frozen.restore().unwrap(), [""; 0]);
        let left: Vec<_> =
            fs::read_dir(&case.root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".plan-frozen")), "{left:?}");
    }

    #[test]
    fn a_change_right_after_is_seen() {
        let case = Case::new(&["a"]);
        let frozen = case.freeze("a");
        for round in 0..200 {
            let same_size = fs::read_to_string(case.root.join("a")).unwrap().replace("original", "0riginal");
            fs::write(case.root.join("a"), same_size).unwrap();
            assert_eq!(frozen.restore().unwrap(), ["a"], "round {round}");
        }
    }

    #[test]
    fn what_was_stored_is_not_trusted_blindly() {
        let case = Case::new(&["a"]);
        let frozen = case.freeze("a");
        fs::write(case.root.join("a"), "changed").unwrap();
        for entry in fs::read_dir(case.run.path.join("store")).unwrap() {
            fs::write(entry.unwrap().path(), "forged").unwrap();
        }
        let error = frozen.restore().unwrap_err();
        assert_eq!(error, "the frozen `a` cannot be restored: what was stored of it has changed");
    }

    #[test]
    fn the_fingerprint_covers_content() {
        let set = |manifest: &str| FileSet { manifest: manifest.into(), paths: Vec::new(), bytes: 0 };
        let gates = Text::from("g");
        assert_eq!(fingerprint(&gates, None), "g");
        assert_ne!(fingerprint(&gates, Some(&set("1"))), fingerprint(&gates, Some(&set("2"))));
    }
}
