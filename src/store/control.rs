//! Requests to the process that runs a run: files put into `control/` by rename (EXECUTION §11).
//!
//! Who holds the lock reads them, and removes each once it is an event, so that a crash loses none.
//! What a request means is the executor's business.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use super::{Error, RunDir, ensure_directory, private_file, random, regular};
use crate::event::Raw;
use crate::source::Text;

/// How often the directory is looked at.
const EVERY: Duration = Duration::from_millis(100);

/// The most that a request may have: a result of 1 MiB, escaped, and what is around it.
const LARGEST: u64 = 8 << 20;

/// What somebody wants of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// `plan stop`.
    Stop {
        /// Who asked.
        by: Option<Text>,
    },
    /// `plan answer`.
    Answer {
        /// The gate or task.
        task: Text,
        /// The number of the question.
        question: u64,
        /// The answer.
        answer: Text,
        /// Who answered.
        by: Text,
        /// A result given with it.
        result: Option<Raw>,
    },
}

/// A request that was put down.
#[derive(Debug)]
pub struct Asked {
    path: Utf8PathBuf,
}

impl Asked {
    /// Whether it has been taken up.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        !self.path.exists()
    }

    /// Takes it back.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn withdraw(self) -> Result<(), Error> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("remove", &self.path)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Puts a request down for whoever runs `run`.
///
/// # Errors
/// If it cannot be written.
pub fn ask(run: &RunDir, request: &Request) -> Result<Asked, Error> {
    let directory = run.path.join("control");
    ensure_directory(&directory).map_err(Error::io("make", &directory))?;
    // Sorted by time, and no two alike.
    let stamp = jiff::Timestamp::now().as_millisecond();
    let name = format!("{stamp:015}-{:08x}.json", u32::from_le_bytes(random()?));
    let (beside, path) = (directory.join(format!(".{name}")), directory.join(&name));
    let text = serde_json::to_string(request).expect("every field can be written");
    let write = || -> io::Result<()> {
        private_file(&beside)?.write_all(text.as_bytes())?;
        fs::rename(&beside, &path)
    };
    write().map_err(Error::io("write", &path))?;
    Ok(Asked { path })
}

/// What was put down for a process that died before it saw it, oldest first; and what is no request.
#[must_use]
pub fn left(run: &RunDir) -> (Vec<(Asked, Request)>, Vec<Error>) {
    let directory = run.path.join("control");
    let mut state = State::default();
    let told = read_new(&directory, &mut state);
    let unreadable = told.into_iter().filter_map(|told| match told {
        Told::Request(_) => None,
        Told::Unreadable(error) => Some(error),
    });
    let asked =
        state.pending.into_iter().map(|(name, request)| (Asked { path: directory.join(name) }, request));
    (asked.collect(), unreadable.collect())
}

/// What the holder of the lock is told.
#[derive(Debug)]
pub enum Told {
    /// A request.
    Request(Request),
    /// A file that is none; it is removed.
    Unreadable(Error),
}

/// The requests to one run, as the holder of its lock sees them.
pub struct Requests {
    directory: Utf8PathBuf,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Requests that were told, for whoever makes events of them.
#[derive(Clone)]
pub struct Pending {
    directory: Utf8PathBuf,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Those that were told and are no event yet, by file name: oldest first.
    pending: BTreeMap<String, Request>,
    /// What is no request and cannot be removed: it is told once.
    refused: BTreeSet<String>,
    closed: bool,
}

impl State {
    fn knows(&self, name: &str) -> bool {
        self.pending.contains_key(name) || self.refused.contains(name)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Requests {
    /// The requests to `run`.
    #[must_use]
    pub fn new(run: &RunDir) -> Self {
        let directory = run.path.join("control");
        let shared = Shared { state: Mutex::default(), changed: Condvar::new() };
        Self { directory, shared: Arc::new(shared), thread: None }
    }

    /// Starts a thread that tells `tell` of every request.
    ///
    /// # Panics
    /// If the system has no thread to give.
    pub fn connect(&mut self, tell: impl Fn(Told) + Send + 'static) {
        let (shared, directory) = (Arc::clone(&self.shared), self.directory.clone());
        let work = move || {
            let mut state = shared.state();
            while !state.closed {
                let told = read_new(&directory, &mut state);
                drop(state);
                told.into_iter().for_each(&tell);
                let waiting = shared.changed.wait_timeout_while(shared.state(), EVERY, |state| !state.closed);
                state = waiting.unwrap_or_else(PoisonError::into_inner).0;
            }
        };
        let thread = std::thread::Builder::new().name("control".to_owned()).spawn(work);
        self.thread = Some(thread.expect("a thread can be started"));
    }

    /// Those that are told and no event yet.
    #[must_use]
    pub fn pending(&self) -> Pending {
        Pending { directory: self.directory.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl Pending {
    /// Removes the oldest request of which `is` holds: it is an event now.
    pub fn recorded(&self, is: impl Fn(&Request) -> bool) {
        let mut state = self.shared.state();
        let found = state.pending.iter().find(|(_, request)| is(request)).map(|(name, _)| name.clone());
        if let Some(name) = found {
            state.pending.remove(&name);
            // One that stays is told again by a resumed run: a stop that is recorded twice is one, and an answer
            // to a question that is not open any more is refused.
            let _ = fs::remove_file(self.directory.join(name));
        }
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Reads the requests that are not known yet, oldest first.
fn read_new(directory: &camino::Utf8Path, state: &mut State) -> Vec<Told> {
    let Ok(entries) = directory.read_dir_utf8() else { return Vec::new() };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_owned()));
    let mut names: Vec<_> = names.filter(|name| !name.starts_with('.') && !state.knows(name)).collect();
    names.sort();
    let mut told = Vec::new();
    for name in names {
        let path = directory.join(&name);
        let error = match read(&path) {
            // Taken back.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => Error::io("read", &path)(error),
            Ok(text) => match serde_json::from_slice::<Request>(&text) {
                Ok(request) => {
                    state.pending.insert(name, request.clone());
                    told.push(Told::Request(request));
                    continue;
                }
                Err(error) => Error::Unreadable { path: path.clone(), why: error.to_string() },
            },
        };
        told.push(Told::Unreadable(error));
        if fs::remove_file(&path).is_err() {
            state.refused.insert(name);
        }
    }
    told
}

/// What a file holds, which may be anything: a task can reach the directory.
fn read(path: &camino::Utf8Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    regular::open(path)?.take(LARGEST + 1).read_to_end(&mut text)?;
    match text.len() as u64 {
        0..=LARGEST => Ok(text),
        _ => Err(io::Error::other("it is too large for a request")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::super::{StateDir, about::About};
    use super::*;

    #[test]
    fn a_request_stays_until_it_is_an_event() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::new(camino::Utf8Path::from_path(directory.path()).unwrap());
        let run = state.create(0, About::default(), b"{}").unwrap().0;
        let dead = ask(&run, &Request::Stop { by: Some("a dead process's".into()) }).unwrap();
        for (left, request) in left(&run).0 {
            assert!(matches!(request, Request::Stop { by: Some(by) } if by == "a dead process's"));
            assert!(!dead.is_taken(), "until it is an event");
            left.withdraw().unwrap();
        }
        assert!(dead.is_taken());
        let mut requests = Requests::new(&run);
        let (send, receive) = mpsc::channel();
        requests.connect(move |told| send.send(told).unwrap());
        let asked = ask(&run, &Request::Stop { by: Some("me".into()) }).unwrap();
        let wait = Duration::from_secs(10);
        match receive.recv_timeout(wait).unwrap() {
            Told::Request(Request::Stop { by }) => assert_eq!(by.as_deref(), Some("me")),
            other => panic!("{other:?}"),
        }
        assert!(!asked.is_taken());
        requests.pending().recorded(|request| matches!(request, Request::Answer { .. }));
        assert!(!asked.is_taken());
        requests.pending().recorded(|request| matches!(request, Request::Stop { .. }));
        assert!(asked.is_taken());
        fs::write(run.path.join("control/x.json"), "{}").unwrap();
        assert!(matches!(receive.recv_timeout(wait).unwrap(), Told::Unreadable(_)));
        // A task can put anything there: it keeps nobody waiting, and is told once.
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let pipe = run.path.join("control/pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, pipe.as_std_path(), mode).unwrap();
        assert!(matches!(receive.recv_timeout(wait).unwrap(), Told::Unreadable(_)));
        fs::create_dir(run.path.join("control/directory")).unwrap();
        assert!(matches!(receive.recv_timeout(wait).unwrap(), Told::Unreadable(_)));
        let asked = ask(&run, &Request::Stop { by: None }).unwrap();
        assert!(matches!(receive.recv_timeout(wait).unwrap(), Told::Request(Request::Stop { by: None })));
        requests.pending().recorded(|request| matches!(request, Request::Stop { .. }));
        assert!(asked.is_taken() && !pipe.exists());
        drop(requests);
        assert!(receive.try_recv().is_err());
    }
}
