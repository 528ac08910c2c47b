//! Directories of staged files: `PLAN_FILES` of an attempt, read-only (EXECUTION §7).
//!
//! From the store a set is copied once, checked against its digests; from that staging copy the files get
//! to an attempt as reflinks, or as hard links where the file system has none. The store's own files are
//! never linked, so that nothing that a task does reaches them. All of it can be made again, and is
//! removed when a sitting begins and ends.

use std::collections::HashMap;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};

use super::capture::{Entry, Store};
use super::{Error, RunDir, ensure_directory, private_file};
use crate::event::FileSet;
use crate::source::Text;

/// A set to stage, below a directory of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// The directory: one name.
    pub directory: &'a str,
    /// The set.
    pub set: &'a FileSet,
}

/// Staged files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// Where they are.
    pub directory: Utf8PathBuf,
    /// What had been changed and was made anew.
    pub warnings: Vec<Text>,
}

/// The staging directories of one sitting.
#[derive(Debug)]
pub struct Staging {
    directory: Utf8PathBuf,
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
struct Made {
    empty: Option<(Utf8PathBuf, (u64, i64, i64))>,
    /// Staging copies, by manifest.
    copies: HashMap<Text, Vec<Copied>>,
    /// Directories, by what is in them.
    directories: HashMap<blake3::Hash, Directory>,
    no_reflinks: bool,
    next: u32,
}

/// Device, inode, size, permissions, modification and change time.
type Print = (u64, u64, u64, u32, (i64, i64), (i64, i64));

/// The staging copy of one file.
#[derive(Clone, Debug)]
struct Copied {
    path: Utf8PathBuf,
    entry: Entry,
    print: Print,
}

#[derive(Debug)]
struct Directory {
    path: Utf8PathBuf,
    files: Vec<Placed>,
}

/// One file in a directory.
#[derive(Debug)]
struct Placed {
    path: Utf8PathBuf,
    /// Its staging copy: manifest, and place in it.
    copy: (Text, usize),
    /// None for a hard link: it is as its copy is.
    own: Option<Print>,
}

impl Staging {
    /// No staged files yet.
    #[must_use]
    pub fn new(run: &RunDir) -> Self {
        Self { directory: run.path.join("staged"), made: Mutex::new(Made::default()) }
    }

    /// Removes every staged file of `run`.
    ///
    /// # Errors
    /// If one cannot be removed.
    pub fn clear(run: &RunDir) -> Result<(), Error> {
        let directory = run.path.join("staged");
        remove_tree(&directory).map_err(Error::io("remove", &directory))
    }

    /// A directory with these sets.
    ///
    /// # Errors
    /// What is missing or is not what was captured, by name.
    pub fn stage(&self, store: &Store, wanted: &[Wanted<'_>]) -> Result<Staged, String> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let mut warnings = Vec::new();
        if wanted.is_empty() {
            let directory = self.empty(&mut made).map_err(|error| self.cannot(&error))?;
            return Ok(Staged { directory, warnings });
        }
        let mut key = blake3::Hasher::new();
        for wanted in wanted {
            key.update(wanted.directory.as_bytes()).update(b"\0").update(wanted.set.manifest.as_bytes());
        }
        let key = key.finalize();
        for wanted in wanted {
            made.ensure_copies(&self.directory, store, wanted.set, &mut warnings)?;
        }
        if let Some(directory) = made.directories.get(&key) {
            if made.is_intact(directory) {
                return Ok(Staged { directory: directory.path.clone(), warnings });
            }
            if warnings.is_empty() {
                warnings.push(changed(&directory.path));
            }
        }
        made.next += 1;
        let path = self.directory.join(made.next.to_string());
        let directory = made.place(&path, wanted).map_err(|error| self.cannot(&error))?;
        made.directories.insert(key, directory);
        Ok(Staged { directory: path, warnings })
    }

    fn cannot(&self, error: &io::Error) -> String {
        format!("cannot stage files in `{}`: {error}", self.directory)
    }

    /// The directory that is shared by all that have nothing staged.
    fn empty(&self, made: &mut Made) -> io::Result<Utf8PathBuf> {
        if let Some((path, seen)) = &made.empty
            && touched(path).is_some_and(|now| now == *seen)
        {
            return Ok(path.clone());
        }
        made.next += 1;
        ensure_directory(&self.directory)?;
        let path = self.directory.join(format!("none-{}", made.next));
        ensure_directory(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o500))?;
        made.empty = touched(&path).map(|seen| (path.clone(), seen));
        Ok(path)
    }
}

/// How a staged file may be used: read, and run where the captured one could be.
fn read_only(entry: &Entry) -> Permissions {
    Permissions::from_mode(if entry.mode & 0o111 == 0 { 0o400 } else { 0o500 })
}

/// When a directory was changed last, and that it is the same one: whoever puts something into it, or
/// takes something out, cannot leave these as they were.
fn touched(path: &Utf8Path) -> Option<(u64, i64, i64)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.ino(), metadata.ctime(), metadata.ctime_nsec()))
}

fn changed(what: &Utf8Path) -> Text {
    format!("staged files had been changed and were made anew: `{what}`").into()
}

impl Made {
    /// Sees to it that the staging copy of `set` is there and as it was.
    fn ensure_copies(
        &mut self,
        staged: &Utf8Path,
        store: &Store,
        set: &FileSet,
        warnings: &mut Vec<Text>,
    ) -> Result<(), String> {
        if let Some(copies) = self.copies.get_mut(&set.manifest) {
            if copies.iter_mut().all(Copied::is_intact) {
                return Ok(());
            }
            warnings.push(changed(copies.first().map_or(staged, |copy| &copy.path)));
        }
        self.next += 1;
        let directory = staged.join(format!("copy-{}", self.next));
        let entries = store.entries(set)?;
        let prepare = || ensure_directory(staged).and_then(|()| ensure_directory(&directory));
        prepare().map_err(|error| format!("cannot make `{directory}`: {error}"))?;
        let mut copies = Vec::with_capacity(entries.len());
        for (index, entry) in entries.into_iter().enumerate() {
            let path = directory.join(index.to_string());
            let print = self.copy(store, &entry, &path)?;
            copies.push(Copied { path, entry, print });
        }
        self.copies.insert(set.manifest.clone(), copies);
        Ok(())
    }

    /// Makes the staging copy of one file, checked against its digest.
    fn copy(&mut self, store: &Store, entry: &Entry, path: &Utf8Path) -> Result<Print, String> {
        let mut from = store.open(entry)?;
        let mut copy = || -> io::Result<(blake3::Hash, Print)> {
            let mut to = private_file(path)?;
            let digest = if self.reflink(&from, &to) {
                hash(&mut from)?
            } else {
                let mut tee = Tee { to: &to, hasher: blake3::Hasher::new() };
                io::copy(&mut from, &mut tee)?;
                tee.hasher.finalize()
            };
            to.flush()?;
            to.set_permissions(read_only(entry))?;
            Ok((digest, print(&to.metadata()?)))
        };
        let result = copy();
        let (digest, print) =
            result.map_err(|error| format!("the captured `{}` cannot be copied: {error}", entry.path))?;
        if digest.to_hex().as_str() != entry.digest {
            return Err(format!("the captured `{}` is not what was captured", entry.path));
        }
        Ok(print)
    }

    /// Lets `to` share the blocks of `from`, where the file system can.
    fn reflink(&mut self, from: &File, to: &File) -> bool {
        if self.no_reflinks {
            return false;
        }
        let done = rustix::fs::ioctl_ficlone(to, from).is_ok();
        self.no_reflinks = !done;
        done
    }

    /// Makes a directory with `wanted`, whose staging copies are there.
    fn place(&mut self, path: &Utf8Path, wanted: &[Wanted<'_>]) -> io::Result<Directory> {
        ensure_directory(path)?;
        let mut files = Vec::new();
        for wanted in wanted {
            let below = path.join(wanted.directory);
            ensure_directory(&below)?;
            let mut copies = self.copies.remove(&wanted.set.manifest).unwrap_or_default();
            let placed = copies.iter_mut().enumerate().try_for_each(|(index, copy)| {
                let target = below.join(copy.entry.path.as_str());
                if let Some(parent) = target.parent() {
                    fs::create_dir_all(parent)?;
                }
                let own = self.place_file(copy, &target)?;
                files.push(Placed { path: target, copy: (wanted.set.manifest.clone(), index), own });
                io::Result::Ok(())
            });
            self.copies.insert(wanted.set.manifest.clone(), copies);
            placed?;
        }
        protect(path)?;
        Ok(Directory { path: path.to_owned(), files })
    }

    fn place_file(&mut self, copy: &mut Copied, target: &Utf8Path) -> io::Result<Option<Print>> {
        if !self.no_reflinks || fs::hard_link(&copy.path, target).is_err() {
            let mut from = super::regular::open(&copy.path)?;
            let mut to = private_file(target)?;
            if !self.reflink(&from, &to) {
                // Too many links, or none at all on this file system.
                io::copy(&mut from, &mut to)?;
            }
            to.set_permissions(read_only(&copy.entry))?;
            return Ok(Some(print(&to.metadata()?)));
        }
        // Linking has changed the change time, and nothing else may have.
        let now = print(&fs::symlink_metadata(&copy.path)?);
        if (now.0, now.1, now.2, now.3, now.4) == copy.parts() {
            copy.print = now;
        }
        Ok(None)
    }

    /// Whether a directory has what was placed there, and nothing else.
    fn is_intact(&self, directory: &Directory) -> bool {
        let same = directory.files.iter().all(|placed| {
            let expected = match (&placed.own, self.copies.get(&placed.copy.0)) {
                (Some(own), _) => Some(*own),
                (None, Some(copies)) => copies.get(placed.copy.1).map(|copy| copy.print),
                (None, None) => None,
            };
            fs::symlink_metadata(&placed.path).is_ok_and(|found| Some(print(&found)) == expected)
        });
        same && count(&directory.path).is_ok_and(|files| files == directory.files.len())
    }
}

impl Copied {
    /// All of its print but the change time.
    fn parts(&self) -> (u64, u64, u64, u32, (i64, i64)) {
        (self.print.0, self.print.1, self.print.2, self.print.3, self.print.4)
    }

    /// Whether it is as it was made. Where only its change time tells something, its content decides: a
    /// link of it may have been removed.
    fn is_intact(&mut self) -> bool {
        let Ok(found) = fs::symlink_metadata(&self.path) else { return false };
        let found = print(&found);
        if found == self.print {
            return true;
        }
        let same = (found.0, found.1, found.2, found.3, found.4) == self.parts()
            && super::regular::open(&self.path)
                .and_then(|mut file| hash(&mut file))
                .is_ok_and(|digest| digest.to_hex().as_str() == self.entry.digest);
        if same {
            self.print = found;
        }
        same
    }
}

fn print(metadata: &fs::Metadata) -> Print {
    (
        metadata.dev(),
        metadata.ino(),
        metadata.size(),
        metadata.mode(),
        (metadata.mtime(), metadata.mtime_nsec()),
        (metadata.ctime(), metadata.ctime_nsec()),
    )
}

fn hash(file: &mut File) -> io::Result<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0; 128 * 1024];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(count) => drop(hasher.update(&chunk[..count])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes and hashes.
struct Tee<'a> {
    to: &'a File,
    hasher: blake3::Hasher,
}

impl Write for Tee<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.to.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// How many files are below `directory`.
fn count(directory: &Utf8Path) -> io::Result<usize> {
    let mut files = 0;
    for entry in directory.read_dir_utf8()? {
        let entry = entry?;
        files += if entry.file_type()?.is_dir() { count(entry.path())? } else { 1 };
    }
    Ok(files)
}

/// Makes a directory and those below it read-only.
fn protect(directory: &Utf8Path) -> io::Result<()> {
    for entry in directory.read_dir_utf8()? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            protect(entry.path())?;
        }
    }
    fs::set_permissions(directory, Permissions::from_mode(0o500))
}

/// Removes a directory with what is below it, read-only directories included.
pub(super) fn remove_tree(directory: &Utf8Path) -> io::Result<()> {
    match fs::set_permissions(directory, Permissions::from_mode(0o700)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        set => set?,
    }
    for entry in directory.read_dir_utf8()? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_tree(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_dir(directory)
}

#[cfg(test)]
mod tests {
    use super::super::{StateDir, about::About};
    use super::*;

    struct Case {
        _directory: tempfile::TempDir,
        run: RunDir,
        store: Store,
        staging: Staging,
        set: FileSet,
    }

    impl Case {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let root = Utf8Path::from_path(directory.path()).unwrap();
            let run = StateDir::new(root.join(".plan")).create(0, About::default(), b"{}").unwrap().0;
            let store = Store::new(run.clone(), 1000, []);
            fs::create_dir(root.join("out")).unwrap();
            fs::write(root.join("out/a"), "A").unwrap();
            fs::set_permissions(root.join("out/a"), Permissions::from_mode(0o755)).unwrap();
            fs::write(root.join("b"), "B").unwrap();
            let set = store.capture_all(root, &["out/a".into(), "b".into()]).unwrap();
            let staging = Staging::new(&run);
            Self { _directory: directory, run, store, staging, set }
        }

        fn stage(&self, directories: &[&str]) -> Staged {
            let wanted: Vec<_> =
                directories.iter().map(|&directory| Wanted { directory, set: &self.set }).collect();
            self.staging.stage(&self.store, &wanted).unwrap()
        }
    }

    fn mode(path: &Utf8Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn nothing_staged_is_one_shared_empty_directory() {
        let case = Case::new();
        let first = case.stage(&[]);
        assert_eq!(case.stage(&[]), first);
        assert_eq!(fs::read_dir(&first.directory).unwrap().count(), 0);
        assert_eq!(mode(&first.directory), 0o500);
    }

    #[test]
    fn sets_are_staged_read_only_and_apart_from_the_store() {
        let case = Case::new();
        let staged = case.stage(&["p", "m[x%20y]"]);
        assert_eq!(staged.warnings, Vec::<Text>::new());
        for directory in ["p", "m[x%20y]"] {
            let below = staged.directory.join(directory);
            assert_eq!(fs::read_to_string(below.join("out/a")).unwrap(), "A");
            assert_eq!(
                ["", "out", "out/a", "b"].map(|path| mode(&below.join(path))),
                [0o500, 0o500, 0o500, 0o400]
            );
            let content = case.store.path_of(&case.set, "b").unwrap();
            let inode = |path: &Utf8Path| fs::metadata(path).unwrap().ino();
            assert_ne!(inode(&content), inode(&below.join("b")));
        }
        assert_eq!(case.stage(&["p", "m[x%20y]"]), staged, "equal ones share a directory");
        assert_ne!(case.stage(&["p"]).directory, staged.directory);
        assert_eq!(case.stage(&["p", "m[x%20y]"]), staged, "and another's links change nothing");
        Staging::clear(&case.run).unwrap();
        assert!(!case.run.path.join("staged").exists());
    }

    /// What a task with enough rights may do.
    fn tamper(path: &Utf8Path, how: impl FnOnce()) {
        let parent = path.parent().unwrap();
        fs::set_permissions(parent, Permissions::from_mode(0o700)).unwrap();
        how();
        fs::set_permissions(parent, Permissions::from_mode(0o500)).unwrap();
    }

    #[test]
    fn what_was_changed_is_made_anew_with_a_warning() {
        let case = Case::new();
        let mut last = case.stage(&["p"]);
        let ways: [fn(&Utf8Path); 4] = [
            |path| {
                fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
                fs::write(path, "X").unwrap();
            },
            |path| fs::remove_file(path).unwrap(),
            |path| {
                fs::remove_file(path).unwrap();
                fs::write(path, "B").unwrap();
            },
            |path| fs::write(path.with_file_name("extra"), "").unwrap(),
        ];
        for (number, way) in ways.iter().enumerate() {
            let path = last.directory.join("p/b");
            tamper(&path, || way(&path));
            let next = case.stage(&["p"]);
            assert_eq!(next.warnings.len(), 1, "way {number}");
            assert_ne!(next.directory, last.directory, "way {number}");
            assert_eq!(fs::read_to_string(next.directory.join("p/b")).unwrap(), "B", "way {number}");
            assert_eq!(count(&next.directory).unwrap(), 2, "way {number}");
            last = next;
        }
        assert_eq!(case.stage(&["p"]), Staged { warnings: Vec::new(), ..last });
    }

    #[test]
    fn content_that_is_gone_or_changed_is_refused_by_name() {
        let case = Case::new();
        let content = case.store.path_of(&case.set, "out/a").unwrap();
        fs::write(&content, "Z").unwrap();
        let wanted = [Wanted { directory: "p", set: &case.set }];
        let why = case.staging.stage(&case.store, &wanted).unwrap_err();
        assert!(why.contains("`out/a` is not what was captured"), "{why}");
        fs::remove_file(&content).unwrap();
        let why = Staging::new(&case.run).stage(&case.store, &wanted).unwrap_err();
        assert!(why.contains("out/a"), "{why}");
    }
}
