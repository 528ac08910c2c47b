//! Doubles of the ports that tests of runs share: a log in memory, files in a directory, and nobody watching.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex};

use camino::{Utf8Path, Utf8PathBuf};
use plan::event::{Body, Event, FileSet, Raw};
use plan::exec::ports::{
    AttemptPaths, Called, Calling, Calls, Files, Fingerprints, Log, LogFailed, Notice, Post, Reporter,
    Staged, Staging, Unopened,
};
use plan::history::History;
use plan::ir::Millis;
use plan::ir::kind::STDOUT;
use plan::source::Text;
use plan::store::capture::Store;
use plan::store::confine::{Refused, Root};
use plan::store::inputs::Inputs;
use plan::store::{RunDir, reports, staging};
use serde_json::value::RawValue;

/// A log in memory, which fails when it has as many events as it may.
pub struct Memory {
    /// What was appended.
    pub events: Arc<Mutex<Vec<Event>>>,
    /// How many it takes.
    pub most: usize,
    /// Which syncs were asked for, where that is watched; only then they take their time.
    pub asked: Option<Arc<Mutex<Vec<u64>>>>,
    synced: u64,
    post: Option<Post>,
}

impl Memory {
    /// A log that goes on from `past`, and is on disk at once.
    pub fn new(past: Vec<Event>, most: usize) -> Self {
        Self { events: Arc::new(Mutex::new(past)), most, asked: None, synced: 0, post: None }
    }
}

impl Log for Memory {
    fn connect(&mut self, post: Post) {
        self.post = Some(post);
    }

    fn append(&mut self, at: i64, t: Millis, body: Body) -> Result<Event, LogFailed> {
        let mut events = self.events.lock().unwrap();
        if events.len() >= self.most {
            return Err(LogFailed { path: "events.jsonl".into(), cause: "enough".to_owned() });
        }
        let event = Event { seq: events.len() as u64 + 1, at, t, body };
        events.push(event.clone());
        Ok(event)
    }

    fn sync(&mut self, seq: u64) {
        if let Some(asked) = &self.asked {
            asked.lock().unwrap().push(seq);
            // As a thread would: the notice comes later, and with it all that was appended by now.
            self.synced = self.events.lock().unwrap().len() as u64;
            self.post.as_ref().unwrap()(Notice::Synced(self.synced));
        }
    }

    fn synced(&self) -> u64 {
        match &self.asked {
            Some(_) => self.synced,
            None => self.events.lock().unwrap().len() as u64,
        }
    }
}

/// Files of a run below a directory.
pub struct Kept {
    run: RunDir,
    store: Store,
    inputs: Inputs,
    staging: staging::Staging,
}

impl Kept {
    /// The files of `run`; its directory is made.
    pub fn new(run: &RunDir) -> Self {
        std::fs::create_dir_all(run.logs()).unwrap();
        staging::Staging::clear(run).unwrap();
        Self {
            store: Store::new(run.clone(), 1 << 30, []),
            inputs: Inputs::new(run),
            staging: staging::Staging::new(run),
            run: run.clone(),
        }
    }
}

impl Files for Kept {
    fn attempt(&self, attempt: u32) -> AttemptPaths {
        AttemptPaths {
            stdout: self.run.stdout(attempt),
            stderr: self.run.stderr(attempt),
            result: self.run.result(attempt),
        }
    }

    fn inputs(&self, json: &str) -> std::io::Result<Utf8PathBuf> {
        self.inputs.file(json)
    }

    fn stage(&self, sets: &[Staged]) -> Result<Staging, String> {
        let wanted = sets.iter().map(|set| staging::Wanted { directory: &set.directory, set: &set.set });
        let staged = self.staging.stage(&self.store, &wanted.collect::<Vec<_>>())?;
        Ok(Staging { directory: staged.directory, warnings: staged.warnings })
    }

    fn fingerprint(&self, root: &Utf8Path, paths: &[Text]) -> Fingerprints {
        Fingerprints(self.store.fingerprint(root, paths))
    }

    fn capture_pass(&self, root: &Utf8Path, paths: &[Text]) -> Result<FileSet, String> {
        self.store.capture_all(root, paths)
    }

    fn capture_fail(
        &self,
        root: &Utf8Path,
        paths: &[Text],
        before: &Fingerprints,
    ) -> Result<Option<FileSet>, String> {
        self.store.capture_changed(root, paths, &before.0)
    }

    fn read(&self, set: &FileSet, path: &str) -> Result<Vec<u8>, String> {
        self.store.read(set, path)
    }

    fn captured(&self, set: &FileSet, path: &str) -> Result<File, String> {
        self.store.captured(set, path)
    }

    fn open(&self, root: &Utf8Path, path: &str) -> Result<File, Unopened> {
        let root = Root::open(root).map_err(|error| Unopened::Failed(error.to_string()))?;
        root.file(path).map_err(|refused| match refused {
            Refused::Missing => Unopened::Missing,
            Refused::Io(_) => Unopened::Failed(refused.to_string()),
            Refused::Link | Refused::Leaves | Refused::NotAFile => Unopened::Refused(refused.to_string()),
        })
    }

    fn masked(&self, json: &str) -> Raw {
        RawValue::from_string(json.to_owned()).unwrap().into()
    }

    fn report(&self, attempt: u32, to: &str, text: &str) -> Result<(), String> {
        match to {
            STDOUT => std::fs::write(self.run.stdout(attempt), text).map_err(|error| error.to_string()),
            to => reports::write(&self.run, attempt, to, text.as_bytes()),
        }
    }

    fn verification(&self, name: &str) -> AttemptPaths {
        let [stdout, stderr, result] = self.run.verification(name);
        AttemptPaths { stdout, stderr, result }
    }
}

/// Runs of called plans: their logs are in memory, and last as long as this.
#[derive(Clone)]
pub struct Below {
    run: RunDir,
    /// What has happened in them, by name.
    pub logs: Logs,
}

/// Logs by the names of their runs.
pub type Logs = Arc<Mutex<BTreeMap<Text, Arc<Mutex<Vec<Event>>>>>>;

impl Below {
    /// Below `run`.
    pub fn new(run: &RunDir) -> Self {
        Self { run: run.clone(), logs: Arc::default() }
    }
}

impl Calls for Below {
    fn open(&self, calling: &Calling<'_>) -> Result<Called, String> {
        let run = self.run.called(calling.name);
        let mut logs = self.logs.lock().unwrap();
        let past = logs.get(&run.name).filter(|_| calling.resumes);
        let past = past.map(|events| events.lock().unwrap().clone()).unwrap_or_default();
        let log = Memory::new(past.clone(), usize::MAX);
        logs.insert(run.name.clone(), Arc::clone(&log.events));
        Ok(Called {
            run: run.name.clone(),
            gates: "gates".into(),
            log: Box::new(log),
            files: Arc::new(Kept::new(&run)),
            calls: Arc::new(Self { run, logs: Arc::clone(&self.logs) }),
            past,
            over: Box::new(|_| {}),
        })
    }
}

/// Watches nothing.
pub struct Nobody;

impl Reporter for Nobody {
    fn event(&mut self, _event: &Event, _history: &History) {}
}
