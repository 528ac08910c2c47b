//! Takes the files that a task declares, and keeps them: content once by digest in `store/`, one manifest
//! a set in `files/` (EXECUTION §7).
//!
//! A set is there completely or not at all: written beside, synced, renamed. What a set is for, and
//! whether its task passed, is others' business.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::confine::{Refused, Root};
use super::{Error, RunDir, ensure_directory, private_file};
use crate::event::FileSet;
use crate::source::Text;

/// What a path looked like: device, inode, size, change time, modification time, and its content where
/// that was cheap.
pub type Fingerprint = [u64; 8];

/// Files up to this size are told apart by their content as well.
const CHEAP: u64 = 256 * 1024;

/// One file of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path, as declared.
    pub path: Text,
    /// The digest of its content, which names it in `store/`.
    pub digest: Text,
    /// How many bytes.
    pub bytes: u64,
    /// Its permissions.
    pub mode: u32,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    files: Vec<Entry>,
}

impl Manifest {
    /// The set that it is of, and its text.
    fn set(&self) -> (FileSet, Vec<u8>) {
        let text = serde_json::to_vec(self).expect("every field can be written");
        let manifest = blake3::hash(&text).to_hex().as_str().into();
        let paths = self.files.iter().map(|entry| entry.path.clone()).collect();
        (FileSet { manifest, paths, bytes: self.files.iter().map(|entry| entry.bytes).sum() }, text)
    }
}

/// The captured files of one run.
#[derive(Debug)]
pub struct Store {
    run: RunDir,
    limit: u64,
    charged: Mutex<Charged>,
    /// Numbers files that are being written.
    making: AtomicU64,
}

/// What counts against the limit: each set once, however often it was captured.
#[derive(Debug, Default)]
struct Charged {
    bytes: u64,
    sets: HashSet<Text>,
}

/// A file written beside, not yet under its name.
struct Made {
    beside: Utf8PathBuf,
    entry: Entry,
}

impl Store {
    /// The captured files of `run`, of which `past` were there before. They may have `limit` bytes in all.
    #[must_use]
    pub fn new<'a>(run: RunDir, limit: u64, past: impl IntoIterator<Item = &'a FileSet>) -> Self {
        let mut charged = Charged::default();
        for set in past {
            if charged.sets.insert(set.manifest.clone()) {
                charged.bytes += set.bytes;
            }
        }
        Self { run, limit, charged: Mutex::new(charged), making: AtomicU64::new(0) }
    }

    fn content(&self, digest: &str) -> Utf8PathBuf {
        self.run.path.join("store").join(digest)
    }

    fn manifest(&self, digest: &str) -> Utf8PathBuf {
        self.run.path.join("files").join(format!("{digest}.json"))
    }

    /// Where a person finds the captured content of `path`.
    #[must_use]
    pub fn path_of(&self, set: &FileSet, path: &str) -> Option<Utf8PathBuf> {
        let entry = self.entries(set).ok()?.into_iter().find(|entry| entry.path == path)?;
        Some(self.content(&entry.digest))
    }

    /// What `paths` beneath `root` look like now. None for one that is not there or does not count.
    ///
    /// A change within the same tick of the file system's clock would not show, so this waits for that
    /// tick to pass: a few milliseconds, and only where a declared file was written just now.
    #[must_use]
    pub fn fingerprint(&self, root: &Utf8Path, paths: &[Text]) -> Vec<Option<Fingerprint>> {
        if paths.is_empty() {
            return Vec::new();
        }
        let Ok(root) = Root::open(root) else { return vec![None; paths.len()] };
        let prints: Vec<_> = paths.iter().map(|path| root.file(path).ok().and_then(fingerprint)).collect();
        if let Some(newest) = prints.iter().flatten().map(|print| print[3]).max() {
            wait_past(newest);
        }
        prints
    }

    /// Takes every one of `paths` beneath `root`.
    ///
    /// # Errors
    /// The first path that is not there, or that passes the limit, as one clause.
    pub fn capture_all(&self, root: &Utf8Path, paths: &[Text]) -> Result<FileSet, String> {
        let root = Root::open(root).map_err(|error| format!("the workspace cannot be read: {error}"))?;
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            files.push((path, root.file(path).map_err(|refused| format!("`{path}` {refused}"))?));
        }
        self.publish(files)
    }

    /// What [`Store::capture_all`] would come to, without keeping anything.
    ///
    /// # Errors
    /// The first path that is not there, as one clause.
    pub fn foresee(root: &Utf8Path, paths: &[Text]) -> Result<FileSet, String> {
        let root = Root::open(root).map_err(|error| format!("the workspace cannot be read: {error}"))?;
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let mut file = root.file(path).map_err(|refused| format!("`{path}` {refused}"))?;
            let mut hasher = blake3::Hasher::new();
            let read =
                io::copy(&mut file, &mut hasher).and_then(|bytes| Ok((bytes, file.metadata()?.mode())));
            let (bytes, mode) = read.map_err(|error| format!("`{path}` cannot be read: {error}"))?;
            let digest = hasher.finalize().to_hex().as_str().into();
            files.push(Entry { path: path.clone(), digest, bytes, mode: mode & 0o7777 });
        }
        Ok(Manifest { files }.set().0)
    }

    /// Takes those of `paths` that differ from `before`, whole or not at all. None where none does.
    ///
    /// # Errors
    /// What keeps the set from being whole, as one clause.
    pub fn capture_changed(
        &self,
        root: &Utf8Path,
        paths: &[Text],
        before: &[Option<Fingerprint>],
    ) -> Result<Option<FileSet>, String> {
        let root = Root::open(root).map_err(|error| format!("the workspace cannot be read: {error}"))?;
        let (mut files, mut problems) = (Vec::new(), Vec::new());
        let nothing = std::iter::repeat(&None);
        for (path, before) in paths.iter().zip(before.iter().chain(nothing)) {
            match root.file(path) {
                Ok(file) => {
                    let now = file.try_clone().ok().and_then(fingerprint);
                    if now.is_none() || now != *before {
                        files.push((path, file));
                    }
                }
                Err(refused) => problems.push((path, refused)),
            }
        }
        if files.is_empty() && problems.iter().all(|(_, refused)| matches!(refused, Refused::Missing)) {
            return Ok(None);
        }
        match problems.first() {
            Some((path, refused)) => Err(format!("its files are not kept: `{path}` {refused}")),
            None => self.publish(files).map(Some).map_err(|why| format!("its files are not kept: {why}")),
        }
    }

    /// Copies `files` and publishes them as one set.
    fn publish(&self, files: Vec<(&Text, File)>) -> Result<FileSet, String> {
        let mut made = Vec::with_capacity(files.len());
        let result = self.make(files, &mut made).and_then(|()| self.name(&made));
        // What was renamed is not there any more under this name.
        made.iter().for_each(|made| drop(fs::remove_file(&made.beside)));
        result
    }

    /// Writes the content of `files` beside where it belongs.
    fn make(&self, files: Vec<(&Text, File)>, made: &mut Vec<Made>) -> Result<(), String> {
        let (store, sets) = (self.run.path.join("store"), self.run.path.join("files"));
        for directory in [&store, &sets] {
            ensure_directory(directory).map_err(|error| format!("cannot make `{directory}`: {error}"))?;
        }
        // What others have taken counts once the set has a name: captured again, it would cost nothing.
        let mut room = self.limit;
        for (path, file) in files {
            let number = self.making.fetch_add(1, Ordering::Relaxed);
            let beside = store.join(format!(".new-{number}"));
            let copied = copy(file, &beside, room);
            // Whatever is there now is removed once the set is published or given up.
            let entry = Entry { path: path.clone(), digest: Text::default(), bytes: 0, mode: 0 };
            made.push(Made { beside, entry });
            let entry = &mut made.last_mut().expect("just pushed").entry;
            match copied {
                Ok(Some((digest, bytes, mode))) => {
                    (entry.digest, entry.bytes, entry.mode) = (digest, bytes, mode);
                    room -= bytes;
                }
                Ok(None) => return Err(self.too_much(path)),
                Err(error) => return Err(format!("`{path}` cannot be copied: {error}")),
            }
        }
        Ok(())
    }

    fn too_much(&self, path: &str) -> String {
        format!(
            "`{path}` would take the captured files over their limit of {} bytes (`--files-limit`)",
            self.limit
        )
    }

    /// Gives what was made its names: content, then the manifest.
    fn name(&self, made: &[Made]) -> Result<FileSet, String> {
        let manifest = Manifest { files: made.iter().map(|made| made.entry.clone()).collect() };
        let (set, text) = manifest.set();
        let (digest, bytes) = (set.manifest.clone(), set.bytes);
        let mut charged = self.charged();
        let new = !charged.sets.contains(&digest);
        if new && charged.bytes + bytes > self.limit {
            return Err(self.too_much(made.last().map_or("", |made| made.entry.path.as_str())));
        }
        let write = || -> io::Result<()> {
            let mut known = true;
            for made in made {
                let content = self.content(&made.entry.digest);
                if !content.exists() {
                    fs::rename(&made.beside, &content)?;
                    known = false;
                }
            }
            let path = self.manifest(&digest);
            if !path.exists() {
                let number = self.making.fetch_add(1, Ordering::Relaxed);
                let beside = self.run.path.join("files").join(format!(".new-{number}"));
                let mut file = private_file(&beside)?;
                file.write_all(&text)?;
                file.sync_data()?;
                fs::rename(&beside, &path)?;
                File::open(self.run.path.join("files"))?.sync_all()?;
            }
            if !known {
                File::open(self.run.path.join("store"))?.sync_all()?;
            }
            Ok(())
        };
        write().map_err(|error| format!("the captured files cannot be kept: {error}"))?;
        if new {
            charged.bytes += bytes;
            charged.sets.insert(digest.clone());
        }
        drop(charged);
        Ok(set)
    }

    fn charged(&self) -> std::sync::MutexGuard<'_, Charged> {
        self.charged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files of a set.
    ///
    /// # Errors
    /// If its manifest is missing or is not what its name says.
    pub fn entries(&self, set: &FileSet) -> Result<Vec<Entry>, String> {
        let path = self.manifest(&set.manifest);
        let text =
            super::regular::read(&path).map_err(|error| format!("`{path}` cannot be read: {error}"))?;
        if blake3::hash(&text).to_hex().as_str() != set.manifest {
            return Err(format!("`{path}` is not what was captured"));
        }
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|error| format!("`{path}`: {error}"))?;
        Ok(manifest.files)
    }

    /// Opens the content of `entry`; the caller checks it against its digest while reading.
    ///
    /// # Errors
    /// If it is missing.
    pub(super) fn open(&self, entry: &Entry) -> Result<File, String> {
        let path = self.content(&entry.digest);
        super::regular::open(&path)
            .map_err(|error| format!("the captured `{}` cannot be read: {error}", entry.path))
    }

    /// The captured content of `path`.
    ///
    /// # Errors
    /// If it is missing or does not have its digest.
    pub fn read(&self, set: &FileSet, path: &str) -> Result<Vec<u8>, String> {
        let entries = self.entries(set)?;
        let entry = entries.iter().find(|entry| entry.path == path);
        let entry = entry.ok_or_else(|| format!("`{path}` is not in the set"))?;
        let mut content = Vec::new();
        self.open(entry)?
            .read_to_end(&mut content)
            .map_err(|error| format!("the captured `{path}` cannot be read: {error}"))?;
        if blake3::hash(&content).to_hex().as_str() != entry.digest {
            return Err(format!("the captured `{path}` is not what was captured"));
        }
        Ok(content)
    }

    /// The captured content of `path`, opened once all of it has been held against its digest.
    ///
    /// # Errors
    /// If it is missing or does not have its digest.
    pub fn captured(&self, set: &FileSet, path: &str) -> Result<File, String> {
        let entries = self.entries(set)?;
        let entry = entries.iter().find(|entry| entry.path == path);
        let entry = entry.ok_or_else(|| format!("`{path}` is not in the set"))?;
        let mut file = self.open(entry)?;
        let mut hasher = blake3::Hasher::new();
        hasher
            .update_reader(&mut file)
            .and_then(|_| file.rewind())
            .map_err(|error| format!("the captured `{path}` cannot be read: {error}"))?;
        if hasher.finalize().to_hex().as_str() != entry.digest {
            return Err(format!("the captured `{path}` is not what was captured"));
        }
        Ok(file)
    }

    /// What of `set` is missing, by name. Content is not read.
    #[must_use]
    pub fn missing(&self, set: &FileSet) -> Option<String> {
        match self.entries(set) {
            Err(why) => Some(why),
            Ok(entries) => entries.iter().find_map(|entry| {
                let path = self.content(&entry.digest);
                let there = fs::metadata(&path).is_ok_and(|metadata| metadata.len() == entry.bytes);
                (!there).then(|| format!("the captured `{}` is missing: `{path}`", entry.path))
            }),
        }
    }

    /// Removes every set but those of `keep`, content that none of them has, and what a crash left half
    /// made.
    ///
    /// # Errors
    /// If a file cannot be removed, or a set that is kept cannot be read.
    pub fn keep_only(&self, keep: &[&FileSet]) -> Result<(), Error> {
        let mut manifests = HashSet::new();
        let mut contents = HashSet::new();
        for set in keep {
            let refused = |why| Error::Unreadable { path: self.manifest(&set.manifest), why };
            contents.extend(self.entries(set).map_err(refused)?.into_iter().map(|entry| entry.digest));
            manifests.insert(format!("{}.json", set.manifest));
        }
        remove_others(&self.run.path.join("files"), |name| manifests.contains(name))?;
        remove_others(&self.run.path.join("store"), |name| contents.contains(name))
    }
}

/// Removes the files of `directory` that are not to be kept, and the directory once it is empty.
fn remove_others(directory: &Utf8Path, keep: impl Fn(&str) -> bool) -> Result<(), Error> {
    let entries = match directory.read_dir_utf8() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read.map_err(Error::io("read", directory))?,
    };
    let mut empty = true;
    for entry in entries {
        let entry = entry.map_err(Error::io("read", directory))?;
        if keep(entry.file_name()) {
            empty = false;
        } else {
            fs::remove_file(entry.path()).map_err(Error::io("remove", entry.path()))?;
        }
    }
    if empty {
        fs::remove_dir(directory).map_err(Error::io("remove", directory))?;
    }
    Ok(())
}

/// Copies `from` to a new file at `to`, synced: its digest, size and mode. None where it has more than
/// `room` bytes.
fn copy(mut from: File, to: &Utf8Path, room: u64) -> io::Result<Option<(Text, u64, u32)>> {
    let metadata = from.metadata()?;
    if metadata.len() > room {
        return Ok(None);
    }
    // Whoever looked at it before has read it to its end.
    from.rewind()?;
    let mut to = private_file(to)?;
    let mut hasher = blake3::Hasher::new();
    let mut chunk = vec![0; 128 * 1024];
    let mut bytes = 0;
    loop {
        let count = match from.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if count == 0 {
            break;
        }
        bytes += count as u64;
        // It may grow while it is copied.
        if bytes > room {
            return Ok(None);
        }
        hasher.update(&chunk[..count]);
        to.write_all(&chunk[..count])?;
    }
    to.sync_data()?;
    Ok(Some((hasher.finalize().to_hex().as_str().into(), bytes, metadata.mode() & 0o7777)))
}

fn fingerprint(mut file: File) -> Option<Fingerprint> {
    let metadata = file.metadata().ok()?;
    let time = |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos) as u64;
    let mut print = [
        metadata.dev(),
        metadata.ino(),
        metadata.size(),
        time(metadata.ctime(), metadata.ctime_nsec()),
        time(metadata.mtime(), metadata.mtime_nsec()),
        u64::from(metadata.mode()),
        0,
        0,
    ];
    if metadata.size() <= CHEAP {
        let mut content = Vec::new();
        file.read_to_end(&mut content).ok()?;
        let digest = blake3::hash(&content);
        let part = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| digest.as_bytes()[at + i]));
        (print[6], print[7]) = (part(0), part(8));
    }
    Some(print)
}

/// Waits until the file system's clock is past `nanos`, for a tick or two at most: the clock of another
/// machine may be ahead for good.
fn wait_past(nanos: u64) {
    let limit = Instant::now() + Duration::from_millis(20);
    loop {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        let now = now.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec) as u64;
        if now > nanos || Instant::now() >= limit {
            return;
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{StateDir, about::About};
    use super::*;

    struct Case {
        _directory: tempfile::TempDir,
        root: Utf8PathBuf,
        run: RunDir,
    }

    impl Case {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let root = Utf8Path::from_path(directory.path()).unwrap().join("pack");
            fs::create_dir(&root).unwrap();
            let state = StateDir::new(root.join(".plan"));
            let run = state.create(0, About::default(), b"{}").unwrap().0;
            Self { _directory: directory, root, run }
        }

        fn store(&self, limit: u64) -> Store {
            Store::new(self.run.clone(), limit, [])
        }

        fn write(&self, path: &str, content: &str) {
            fs::write(self.root.join(path), content).unwrap();
        }

        fn names(&self, directory: &str) -> usize {
            fs::read_dir(self.run.path.join(directory)).map_or(0, Iterator::count)
        }
    }

    fn texts(paths: &[&str]) -> Vec<Text> {
        paths.iter().map(|&path| path.into()).collect()
    }

    #[test]
    fn a_passing_set_is_whole_and_kept_once_by_content() {
        let case = Case::new();
        let store = case.store(100);
        case.write("a", "same");
        case.write("b", "same");
        let set = store.capture_all(&case.root, &texts(&["a", "b"])).unwrap();
        assert_eq!((set.paths.len(), set.bytes), (2, 8));
        assert_eq!((case.names("files"), case.names("store")), (1, 1));
        case.write("a", "other");
        assert_eq!(store.read(&set, "a").unwrap(), b"same");
        let missing = store.capture_all(&case.root, &texts(&["a", "c"])).unwrap_err();
        assert_eq!(missing, "`c` is missing");
        assert_eq!((case.names("files"), case.names("store")), (1, 1), "nothing half made is left");
    }

    #[test]
    fn a_failing_set_is_what_the_attempt_wrote() {
        let case = Case::new();
        let store = case.store(100);
        let paths = texts(&["a", "b"]);
        case.write("a", "before");
        let before = store.fingerprint(&case.root, &paths);
        assert_eq!(store.capture_changed(&case.root, &paths, &before).unwrap(), None);
        // The same content, written again: it is the attempt's.
        case.write("a", "before");
        let withheld = store.capture_changed(&case.root, &paths, &before).unwrap_err();
        assert!(withheld.contains("`b` is missing"), "{withheld}");
        case.write("b", "new");
        let set = store.capture_changed(&case.root, &paths, &before).unwrap().unwrap();
        assert_eq!(set.paths, paths);
        let before = store.fingerprint(&case.root, &paths);
        case.write("b", "NEW");
        let set = store.capture_changed(&case.root, &paths, &before).unwrap().unwrap();
        assert_eq!(set.paths, texts(&["b"]), "what was there before is no evidence");
    }

    #[test]
    fn the_limit_counts_what_is_kept() {
        let case = Case::new();
        let store = case.store(10);
        case.write("a", "1234567");
        case.write("b", "89012");
        let before = [None, None];
        let withheld = store.capture_changed(&case.root, &texts(&["a", "b"]), &before).unwrap_err();
        assert!(withheld.contains("limit of 10 bytes"), "{withheld}");
        let set = store.capture_all(&case.root, &texts(&["a"])).unwrap();
        store.capture_all(&case.root, &texts(&["a"])).expect("captured again, it costs nothing");
        assert!(store.capture_all(&case.root, &texts(&["b"])).unwrap_err().contains("`b`"));
        let resumed = Store::new(case.run.clone(), 10, [&set]);
        assert!(resumed.capture_all(&case.root, &texts(&["b"])).is_err());
    }

    #[test]
    fn what_is_gone_or_changed_is_named() {
        let case = Case::new();
        let store = case.store(100);
        case.write("a", "one");
        case.write("b", "two");
        let kept = store.capture_all(&case.root, &texts(&["a"])).unwrap();
        let gone = store.capture_all(&case.root, &texts(&["b"])).unwrap();
        assert_eq!(store.missing(&gone), None);
        store.keep_only(&[&kept]).unwrap();
        assert!(store.missing(&gone).unwrap().contains(gone.manifest.as_str()));
        assert_eq!((store.missing(&kept), case.names("store")), (None, 1));
        let content = store.path_of(&kept, "a").unwrap();
        fs::write(&content, "0ne").unwrap();
        assert!(store.read(&kept, "a").unwrap_err().contains("is not what was captured"));
        fs::remove_file(&content).unwrap();
        assert!(store.missing(&kept).unwrap().contains("`a`"));
        store.keep_only(&[]).unwrap();
        assert!(!case.run.path.join("files").exists() && !case.run.path.join("store").exists());
    }
}
