//! The store and the reports behind the ports of `exec`, for one sitting of a run.

use std::fs::File;
use std::io::Write;
use std::sync::{Arc, OnceLock};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::value::RawValue;

use super::say;
use crate::event::{Body, Event, FileSet, NamedFile, Raw, VerifierEnded};
use crate::exec::ports::{
    AttemptPaths, Files, Fingerprints, Log, LogFailed, Notice, Post, Reporter, Request, Source, Staged,
    Staging, Unopened,
};
use crate::history::History;
use crate::ir::Millis;
use crate::ir::kind::STDOUT;
use crate::report::people::People;
use crate::report::text;
use crate::source::Text;
use crate::store::capture::Store;
use crate::store::confine::{Refused, Root};
use crate::store::control::{self, Pending, Requests, Told};
use crate::store::frozen::Frozen;
use crate::store::inputs::Inputs;
use crate::store::log::{self, Writer};
use crate::store::mask::Mask;
use crate::store::named::Known;
use crate::store::{RunDir, reports, staging};

/// The log of a run, which keeps secrets out and requests until they are events.
pub(super) struct RunLog {
    pub(super) writer: Writer,
    pub(super) run: RunDir,
    pub(super) mask: Arc<Mask>,
    pub(super) requests: Pending,
}

impl From<log::Failed> for LogFailed {
    fn from(failed: log::Failed) -> Self {
        Self { path: failed.path, cause: failed.cause }
    }
}

impl Log for RunLog {
    fn connect(&mut self, post: Post) {
        self.writer.connect(move |notice| {
            post(match notice {
                log::Notice::Synced(seq) => Notice::Synced(seq),
                log::Notice::Failed(failed) => Notice::LogFailed(failed.into()),
            });
        });
    }

    fn append(&mut self, at: i64, t: Millis, mut body: Body) -> Result<Event, LogFailed> {
        self.mask.body(&mut body);
        let event = self.writer.append(at, t, body)?;
        if let Body::AttemptEnded(body) = &event.body {
            self.mask_streams([self.run.stdout(body.attempt), self.run.stderr(body.attempt)]);
        }
        if let Body::VerifierEnded(body) = &event.body {
            let name = VerifierEnded::stream(body.attempt, body.round, &body.verifier);
            let [stdout, stderr, _] = self.run.verification(&name);
            self.mask_streams([stdout, stderr]);
        }
        if let Body::StopRequested(_) = &event.body {
            self.requests.recorded(|request| matches!(request, control::Request::Stop { .. }));
        }
        if let Body::GateAnswered(answered) = &event.body {
            self.requests.recorded(|request| match request {
                control::Request::Answer { question, answer, by, .. } => {
                    (*question, answer, by) == (answered.question, &answered.answer, &answered.by)
                }
                control::Request::Stop { .. } => false,
            });
        }
        Ok(event)
    }

    fn refused(&mut self, request: &Request) {
        let Request::Answer { question, answer, by, .. } = request else { return };
        self.requests.recorded(|kept| match kept {
            control::Request::Answer { question: of, answer: said, by: who, .. } => {
                (of, said, who) == (question, answer, by)
            }
            control::Request::Stop { .. } => false,
        });
    }

    fn sync(&mut self, seq: u64) {
        self.writer.sync(seq);
    }

    fn synced(&self) -> u64 {
        self.writer.synced()
    }
}

impl RunLog {
    /// Rewrites streams that have ended without secrets.
    fn mask_streams(&self, paths: [Utf8PathBuf; 2]) {
        for path in paths {
            if let Err(error) = self.mask.stream(&path) {
                // It is private to its owner, and shown through the mask all the same.
                say(&format!("plan: cannot mask the secrets in `{path}`: {error}\n"));
            }
        }
    }
}

/// The files of a run.
pub(super) struct RunFiles {
    run: RunDir,
    store: Store,
    inputs: Inputs,
    staging: staging::Staging,
    frozen: Option<Arc<Frozen>>,
    /// The run whose results may be taken over.
    past: Option<RunDir>,
    known: Known,
    logs: OnceLock<()>,
    mask: Arc<Mask>,
    readers: Readers,
}

/// Who is shown a report to `stdout`.
#[derive(Clone)]
pub(super) enum Readers {
    /// People, on standard output.
    People(Arc<std::sync::Mutex<People>>),
    /// People, on standard error: standard output is the events'.
    Aside,
    /// Nobody.
    Nobody,
}

impl RunFiles {
    /// The files of `run`, with `store` as what was captured before.
    pub(super) fn new(
        run: RunDir,
        store: Store,
        frozen: Option<Arc<Frozen>>,
        past: Option<RunDir>,
        mask: Arc<Mask>,
        readers: Readers,
    ) -> Self {
        let (inputs, staging) = (Inputs::new(&run), staging::Staging::new(&run));
        let (known, logs) = (Known::default(), OnceLock::new());
        Self { run, store, inputs, staging, frozen, past, known, logs, mask, readers }
    }

    fn make_logs(&self) {
        self.logs.get_or_init(|| {
            // Where this fails, opening a stream in it does, and says so.
            let _ = self.run.make_logs();
        });
    }

    /// What was captured.
    pub(super) fn store(&self) -> &Store {
        &self.store
    }
}

impl Files for RunFiles {
    fn attempt(&self, attempt: u32) -> AttemptPaths {
        self.make_logs();
        AttemptPaths {
            stdout: self.run.stdout(attempt),
            stderr: self.run.stderr(attempt),
            result: self.run.result(attempt),
        }
    }

    fn inputs(&self, json: &str) -> std::io::Result<Utf8PathBuf> {
        self.inputs.file(json)
    }

    fn forget_inputs(&self, json: &str) {
        self.inputs.forget(json);
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
        let root = Root::open(root).map_err(|error| Unopened::Failed(format!("cannot be read: {error}")))?;
        root.file(path).map_err(|refused| match refused {
            Refused::Missing => Unopened::Missing,
            Refused::Io(_) => Unopened::Failed(refused.to_string()),
            Refused::Link | Refused::Leaves | Refused::NotAFile => Unopened::Refused(refused.to_string()),
        })
    }

    fn masked(&self, json: &str) -> Raw {
        let json = RawValue::from_string(json.to_owned()).expect("inputs are JSON");
        self.mask.json(&json.into())
    }

    fn report(&self, attempt: u32, to: &str, rendered: &str) -> Result<(), String> {
        let masked = self.mask.text(rendered);
        let rendered = masked.as_deref().unwrap_or(rendered);
        if to != STDOUT {
            return reports::write(&self.run, attempt, to, rendered.as_bytes());
        }
        // Kept like what a process prints, so that `plan logs` has it.
        self.make_logs();
        let path = self.run.stdout(attempt);
        let kept = reports::keep(&path, rendered.as_bytes());
        kept.map_err(|error| format!("`{path}` cannot be written: {error}"))?;
        match &self.readers {
            Readers::People(people) => {
                let lost = |why| format!("it cannot be written to standard output: {why}");
                lock(people).report(rendered).map_err(lost)
            }
            Readers::Aside => {
                let lines: String = rendered.lines().map(|line| format!("{}\n", text::clean(line))).collect();
                let written = std::io::stderr().lock().write_all(lines.as_bytes());
                written.map_err(|error| format!("it cannot be written to standard error: {error}"))
            }
            Readers::Nobody => Ok(()),
        }
    }

    fn restore(&self) -> Result<Vec<Text>, String> {
        self.frozen.as_ref().map_or_else(|| Ok(Vec::new()), |frozen| frozen.restore())
    }

    fn restored(&self) -> Vec<Text> {
        self.frozen.as_ref().map_or_else(Vec::new, |frozen| frozen.restored())
    }

    fn named(&self, files: &[(Text, Utf8PathBuf)]) -> Vec<NamedFile> {
        let look = |(path, place): &(Text, Utf8PathBuf)| NamedFile {
            path: path.clone(),
            digest: self.known.digest(place),
            changed: false,
        };
        files.iter().map(look).collect()
    }

    fn offers(&self, set: &FileSet) -> Result<(), String> {
        let past = self.past.as_ref().ok_or("the other run is not there")?;
        match Store::new(past.clone(), u64::MAX, []).missing(set) {
            Some(missing) => Err(missing),
            None => Ok(()),
        }
    }

    fn take_over(&self, root: &Utf8Path, set: &FileSet) -> Result<Vec<Text>, String> {
        let past = self.past.as_ref().ok_or("the other run is not there")?;
        let there = |path: &Text| root.join(path.as_str()).symlink_metadata().is_ok();
        let there: Vec<Text> = set.paths.iter().filter(|path| there(path)).cloned().collect();
        let mut changed = Frozen::new(past, root, set)?.restore_as("")?;
        changed.retain(|path| there.contains(path));
        match self.store.capture_all(root, &set.paths)? {
            taken if taken == *set => Ok(changed),
            _ => Err("a file has changed while it was taken over".to_owned()),
        }
    }

    fn verification(&self, name: &str) -> AttemptPaths {
        self.make_logs();
        let [stdout, stderr, result] = self.run.verification(name);
        AttemptPaths { stdout, stderr, result }
    }
}

/// The requests in `control/`.
pub(super) struct Control(pub(super) Requests);

impl Source for Control {
    fn connect(&mut self, post: Post) {
        self.0.connect(move |told| match told {
            Told::Request(request) => post(Notice::Request(match request {
                control::Request::Stop { by } => Request::Stop { by },
                control::Request::Answer { task, question, answer, by, result } => {
                    Request::Answer { task, question, answer, by, result }
                }
            })),
            Told::Unreadable(error) => say(&format!("plan: {error}\n")),
        });
    }
}

/// Who shows a run while it happens.
pub(super) enum Shown {
    /// People.
    People(Arc<std::sync::Mutex<People>>),
    /// Programs: one event a line.
    Events(Arc<Mask>, Lost),
}

/// Why some of the events were not written to standard output, where that is so.
pub(super) type Lost = Arc<OnceLock<String>>;

impl Reporter for Shown {
    fn event(&mut self, event: &Event, history: &History) {
        match self {
            Self::People(people) => lock(people).event(event, history),
            Self::Events(mask, lost) => {
                let mut out = std::io::stdout().lock();
                let line = if mask.is_empty() {
                    event.fields()
                } else {
                    let mut shown = event.clone();
                    mask.results(&mut shown.body);
                    shown.fields()
                };
                match out.write_all(format!("{{{line}}}\n").as_bytes()).and_then(|()| out.flush()) {
                    // A reader that has gone away has read enough.
                    Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                        lost.get_or_init(|| error.to_string());
                    }
                    Ok(()) | Err(_) => {}
                }
            }
        }
    }

    fn tick(&mut self, history: &History, now: Millis) {
        match self {
            Self::People(people) => lock(people).tick(history, now),
            Self::Events(..) => {}
        }
    }
}

/// The people, after a panic as well: what is drawn is no state that anything depends on.
pub(super) fn lock(people: &std::sync::Mutex<People>) -> std::sync::MutexGuard<'_, People> {
    people.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The last line that an attempt has written to standard output so far, or else to standard error.
pub(super) fn tail(run: &RunDir, mask: &Mask, attempt: u32) -> String {
    let last = |path: &Utf8Path| {
        let text = read_end(path).ok()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
        Some(mask.text(line).unwrap_or_else(|| line.to_owned()))
    };
    last(&run.stdout(attempt)).or_else(|| last(&run.stderr(attempt))).unwrap_or_default()
}

/// The last kilobytes of a file.
fn read_end(path: &Utf8Path) -> std::io::Result<Vec<u8>> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = crate::store::regular::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(4096)))?;
    let mut text = Vec::new();
    file.take(4096).read_to_end(&mut text)?;
    Ok(text)
}
