//! Writes the log: one line an event, chained, with a thread that has it on disk (EXECUTION §11).
//!
//! An event is written when [`Writer::append`] returns, and on disk when the thread says so; one sync
//! serves all that came together. A write or a sync that fails is never tried again. A log that others
//! removed, replaced or wrote to has failed as well: nobody could read it back.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};

use super::{Error, RunDir, lock::Lock, private_file, read};
use crate::event::{Body, Event, Interrupted};
use crate::ir::Millis;
use crate::source::Text;

/// How long anything may stay unsynced, less what a sync itself takes. Well under the 50 ms that are allowed
/// (EXECUTION §11): what a later dispatch depends on is then mostly on disk before it is asked for, and a slot
/// does not stand idle for it.
const UNSYNCED: Duration = Duration::from_millis(5);

/// What is kept back for the end on a full disk.
const SPARE: u64 = 1 << 20;

/// The log could not be written or synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Which file.
    pub path: Utf8PathBuf,
    /// Why.
    pub cause: String,
}

/// What the syncing thread tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Events up to this number are on disk.
    Synced(u64),
    /// A sync failed, or the log is not what was written.
    Failed(Failed),
}

/// Who writes the log of a run; holds its lock.
pub struct Writer {
    file: Arc<File>,
    path: Utf8PathBuf,
    spare: Utf8PathBuf,
    /// The number of the last event.
    seq: u64,
    /// The digest of the last line.
    head: Text,
    /// Where the last line ends.
    length: u64,
    /// The line that is written; kept for its room.
    line: String,
    failed: Option<Failed>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What writer and thread share.
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Where the last line ends, or the one that is being written will.
    reach: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct State {
    written: u64,
    /// Where the last line that was written ends.
    length: u64,
    wanted: u64,
    synced: u64,
    /// When the oldest event that is not on disk was written.
    since: Instant,
    closed: bool,
    failed: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // The state is plain numbers: a panic elsewhere cannot leave it half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the log's name still leads to the file that is written, and that holds `length` bytes and
    /// at most what is being written right now. Where nothing is, it is exact.
    fn is_ours(&self, file: &File, path: &Utf8Path, length: u64) -> Result<(), String> {
        let (named, open) = match (fs::metadata(path), file.metadata()) {
            (Ok(named), Ok(open)) => (named, open),
            (Err(error), _) if error.kind() == io::ErrorKind::NotFound => {
                return Err("somebody removed it during the run".to_owned());
            }
            (Err(error), _) | (_, Err(error)) => return Err(error.to_string()),
        };
        if (named.dev(), named.ino()) != (open.dev(), open.ino()) {
            return Err("somebody replaced it during the run".to_owned());
        }
        // Asked for after the file's size: whatever that counts of ours is reached.
        let reach = self.reach.load(Ordering::SeqCst);
        match named.len() {
            size if size < length => Err(format!("somebody cut it during the run: {size} of {length} bytes")),
            size if size > reach => {
                Err(format!("somebody wrote to it during the run: {size} bytes for {reach}"))
            }
            _ => Ok(()),
        }
    }
}

impl Writer {
    /// Begins the log of a new run, whose `run.json` has the digest `first`.
    ///
    /// # Errors
    /// If there is no room for the spare file.
    pub fn begin(run: &RunDir, lock: Lock, first: &str) -> Result<Self, Error> {
        Self::new(run, lock, 0, first.into(), 0)
    }

    /// Goes on with `log`, which was read under `lock`. A torn tail is cut off and kept beside the log.
    ///
    /// # Errors
    /// If that, or the spare file, cannot be written.
    pub fn resume(run: &RunDir, lock: Lock, log: &read::Log) -> Result<Self, Error> {
        let seq = log.events.len() as u64;
        if log.torn.is_some() {
            cut(run, lock.file(), log.bytes, seq + 1).map_err(Error::io("mend", &run.log()))?;
        }
        // What is there was read, but a crash may have left it in memory alone.
        lock.file().sync_all().map_err(Error::io("sync", &run.log()))?;
        Self::new(run, lock, seq, log.head.clone(), log.bytes)
    }

    fn new(run: &RunDir, lock: Lock, seq: u64, head: Text, length: u64) -> Result<Self, Error> {
        let spare = run.path.join("spare");
        make_spare(&spare).map_err(Error::io("make", &spare))?;
        let now = Instant::now();
        let state = State {
            written: seq,
            length,
            wanted: seq,
            synced: seq,
            since: now,
            closed: false,
            failed: false,
        };
        let reach = AtomicU64::new(length);
        Ok(Self {
            file: Arc::new(lock.into_file()),
            path: run.log(),
            spare,
            seq,
            head,
            length,
            line: String::new(),
            failed: None,
            shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), reach }),
            thread: None,
        })
    }

    /// Starts the syncing thread, which tells `tell` how far it is.
    ///
    /// # Panics
    /// If the system has no thread to give.
    pub fn connect(&mut self, tell: impl Fn(Notice) + Send + 'static) {
        let (shared, file, path) = (Arc::clone(&self.shared), Arc::clone(&self.file), self.path.clone());
        let thread = std::thread::Builder::new().name("sync".to_owned());
        let work = move || keep_synced(&shared, &file, &path, &tell);
        self.thread = Some(thread.spawn(work).expect("a thread can be started"));
    }

    /// Writes an event and returns it with its number.
    ///
    /// # Errors
    /// If it could not be written. Nothing more is written then, but for an `interrupted` where a full
    /// disk was the reason and the spare file makes room for one.
    pub fn append(&mut self, at: i64, t: Millis, body: Body) -> Result<Event, Failed> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let event = Event { seq: self.seq + 1, at, t, body };
        match self.write(&event) {
            Ok(()) => Ok(event),
            Err(error) => {
                let failed = Failed { path: self.path.clone(), cause: error.to_string() };
                self.failed = Some(failed.clone());
                if error.kind() == io::ErrorKind::StorageFull {
                    // Best effort: without it the run reads as interrupted all the same.
                    let _ = self.write_end(at, t, &failed);
                }
                self.shared.state().failed = true;
                self.shared.changed.notify_all();
                Err(failed)
            }
        }
    }

    fn write(&mut self, event: &Event) -> io::Result<()> {
        let disk = self.shared.state().synced;
        self.line.clear();
        read::write_line(&mut self.line, event, disk, &self.head);
        let digest = read::digest(self.line.as_bytes());
        self.line.push('\n');
        let end = self.length + self.line.len() as u64;
        self.shared.reach.store(end, Ordering::SeqCst);
        (&*self.file).write_all(self.line.as_bytes())?;
        self.head = digest;
        self.length = end;
        self.seq = event.seq;
        let mut state = self.shared.state();
        let idle = state.written == state.synced;
        state.written = event.seq;
        state.length = end;
        if idle {
            state.since = Instant::now();
            drop(state);
            self.shared.changed.notify_all();
        }
        Ok(())
    }

    /// Uses the spare file's room to write why the log ends here.
    fn write_end(&mut self, at: i64, t: Millis, failed: &Failed) -> io::Result<()> {
        fs::remove_file(&self.spare)?;
        // The line that did not fit may be there in part.
        self.file.set_len(self.length)?;
        let by = format!("{}: {}", failed.path, failed.cause);
        let body = Interrupted { by: by.into() }.into();
        self.write(&Event { seq: self.seq + 1, at, t, body })?;
        self.file.sync_data()
    }

    /// Asks that everything up to `seq` be on disk soon.
    pub fn sync(&self, seq: u64) {
        let mut state = self.shared.state();
        if seq > state.wanted {
            state.wanted = seq;
            drop(state);
            self.shared.changed.notify_all();
        }
    }

    /// Up to which event everything is known to be on disk.
    #[must_use]
    pub fn synced(&self) -> u64 {
        self.shared.state().synced
    }

    /// The digest of the last line.
    #[must_use]
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Has everything on disk, and gives the lock back.
    ///
    /// # Errors
    /// If a sync fails, the log is not what was written, or anything had failed before.
    pub fn close(mut self) -> Result<(), Failed> {
        self.stop_thread();
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        let state = *self.shared.state();
        let failed = |cause: String| Failed { path: self.path.clone(), cause };
        if state.failed {
            return Err(failed("a sync failed before".to_owned()));
        }
        if state.synced < state.written {
            self.file.sync_data().map_err(|error| failed(error.to_string()))?;
        }
        self.shared.is_ours(&self.file, &self.path, self.length).map_err(failed)
    }

    fn stop_thread(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has left `synced` behind, and `close` makes up for it.
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop_thread();
        // It is only room; a run that does not go on needs none.
        let _ = fs::remove_file(&self.spare);
    }
}

fn keep_synced(shared: &Shared, file: &File, path: &Utf8Path, tell: &(impl Fn(Notice) + ?Sized)) {
    let mut state = shared.state();
    loop {
        let pending = state.written > state.synced;
        if state.failed || (state.closed && !pending) {
            return;
        }
        let due = state.since + UNSYNCED;
        let now = Instant::now();
        if pending && (state.closed || state.wanted > state.synced || now >= due) {
            let (target, length) = (state.written, state.length);
            drop(state);
            let synced = file.sync_data().map_err(|error| error.to_string());
            let result = synced.and_then(|()| shared.is_ours(file, path, length));
            state = shared.state();
            match result {
                Ok(()) => {
                    state.synced = target;
                    state.since = now;
                }
                Err(_) => state.failed = true,
            }
            drop(state);
            tell(match result {
                Ok(()) => Notice::Synced(target),
                Err(cause) => Notice::Failed(Failed { path: path.to_owned(), cause }),
            });
            state = shared.state();
            continue;
        }
        state = if pending {
            let waited = shared.changed.wait_timeout(state, due - now);
            waited.unwrap_or_else(PoisonError::into_inner).0
        } else {
            shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
        };
    }
}

/// Sets room aside. Where the system cannot, a full disk ends the run without a last word.
fn make_spare(path: &Utf8Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, SPARE) {
        Err(error @ rustix::io::Errno::NOSPC) => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Moves what follows the first `keep` bytes of the log into a file beside it. `line` is the first line
/// that goes.
fn cut(run: &RunDir, log: &File, keep: u64, line: u64) -> io::Result<()> {
    let mut tail = Vec::new();
    let mut reader = log;
    reader.seek(SeekFrom::Start(keep))?;
    io::Read::read_to_end(&mut reader, &mut tail)?;
    let mut beside = private_file(&free_name(&run.path.join(format!("events.cut-{line}"))))?;
    beside.write_all(&tail)?;
    beside.sync_all()?;
    log.set_len(keep)?;
    log.sync_all()
}

/// `path`, or the first of `path.2`, `path.3` … that is not there.
fn free_name(path: &Utf8Path) -> Utf8PathBuf {
    let numbered = (2u32..).map(|n| Utf8PathBuf::from(format!("{path}.{n}")));
    let mut names = std::iter::once(path.to_owned()).chain(numbered);
    names.find(|name| !name.exists()).expect("there are more names than files")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::super::{StateDir, about::About};
    use super::*;
    use crate::event::{Alive, RunStarted, VERSION};

    fn begin() -> (tempfile::TempDir, RunDir, Text, Writer) {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::new(Utf8Path::from_path(directory.path()).unwrap());
        let (run, _, lock) = state.create(0, About::default(), b"{}").unwrap();
        let first = About::read(&run).unwrap().1;
        let writer = Writer::begin(&run, lock, &first).unwrap();
        (directory, run, first, writer)
    }

    fn started() -> Body {
        RunStarted { run: "r".into(), plan: "p".into(), log: VERSION, version: "0".into() }.into()
    }

    #[test]
    fn what_was_written_is_read_and_gone_on_with() {
        let (_directory, run, first, mut writer) = begin();
        writer.append(5, Millis(0), started()).unwrap();
        for t in 1..4 {
            assert_eq!(writer.append(5, Millis(t), Alive {}.into()).unwrap().seq, t + 1);
        }
        assert!(run.path.join("spare").exists());
        writer.close().unwrap();
        assert!(!run.path.join("spare").exists());

        // A crash in the middle of a fifth line.
        let mut file = OpenOptions::new().append(true).open(run.log()).unwrap();
        file.write_all(b"{\"seq\":5,\"at\":\"20").unwrap();
        let log = read::log(&run, &first).unwrap();
        assert_eq!((log.events.len(), log.torn.is_some()), (4, true));

        let mut writer = Writer::resume(&run, Lock::take(&run).unwrap(), &log).unwrap();
        assert_eq!(fs::read(run.path.join("events.cut-5")).unwrap(), b"{\"seq\":5,\"at\":\"20");
        assert_eq!(writer.append(9, Millis(7), Alive {}.into()).unwrap().seq, 5);
        writer.close().unwrap();
        let log = read::log(&run, &first).unwrap();
        assert_eq!((log.events.len(), log.torn), (5, None));
        let last = fs::read_to_string(run.log()).unwrap().lines().last().unwrap().to_owned();
        assert!(last.contains(r#""disk":4,"#), "what was read back is on disk: {last}");
    }

    #[test]
    fn the_thread_syncs_on_demand_and_by_itself() {
        let (_directory, run, _, mut writer) = begin();
        let (send, receive) = mpsc::channel();
        writer.connect(move |notice| send.send(notice).unwrap());
        writer.append(5, Millis(0), started()).unwrap();
        writer.append(5, Millis(0), Alive {}.into()).unwrap();
        let asked = Instant::now();
        writer.sync(2);
        let mut seen = 0;
        while seen < 2 {
            match receive.recv_timeout(Duration::from_secs(5)).unwrap() {
                Notice::Synced(seq) => seen = seq,
                Notice::Failed(failed) => panic!("{failed:?}"),
            }
        }
        let on_demand = asked.elapsed();
        writer.append(5, Millis(0), Alive {}.into()).unwrap();
        assert_eq!(receive.recv_timeout(Duration::from_secs(5)).unwrap(), Notice::Synced(3));
        assert_eq!(writer.synced(), 3);
        writer.append(5, Millis(0), Alive {}.into()).unwrap();
        writer.close().unwrap();
        // A quiet machine syncs at once; a loaded one must not fail the test.
        assert!(on_demand < Duration::from_secs(5));
        assert!(!run.path.join("spare").exists());
    }

    #[test]
    fn a_failed_write_is_the_last() {
        let (_directory, run, first, mut writer) = begin();
        writer.append(5, Millis(0), started()).unwrap();
        // A descriptor that cannot be written to.
        writer.file = Arc::new(File::open(run.log()).unwrap());
        let failed = writer.append(5, Millis(0), Alive {}.into()).unwrap_err();
        assert_eq!(failed.path, run.log());
        writer.file = Arc::new(OpenOptions::new().append(true).open(run.log()).unwrap());
        assert_eq!(writer.append(5, Millis(0), Alive {}.into()).unwrap_err(), failed);
        assert_eq!(writer.close().unwrap_err(), failed);
        assert_eq!(read::log(&run, &first).unwrap().events.len(), 1);
    }

    #[test]
    fn the_spare_makes_room_for_the_end() {
        let (_directory, run, first, mut writer) = begin();
        writer.append(5, Millis(0), started()).unwrap();
        let failed = Failed { path: run.log(), cause: "No space left on device".to_owned() };
        // As after a line of which a part was written.
        (&*writer.file).write_all(b"{\"seq\":2,\"at").unwrap();
        writer.write_end(6, Millis(1), &failed).unwrap();
        let log = read::log(&run, &first).unwrap();
        assert_eq!(log.torn, None);
        assert!(matches!(&log.events[1].body, Body::Interrupted(body) if body.by.contains("No space")));
    }
}
