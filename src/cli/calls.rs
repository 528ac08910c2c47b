//! Runs of called plans on disk, behind the port of `exec`: below their caller's, with its mask and its frozen
//! files.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8PathBuf;

use super::run::mask_cut_off;
use super::say;
use super::wiring::{Readers, RunFiles, RunLog};
use crate::event::{Event, FileSet};
use crate::exec::ports::{Called, Calling, Calls};
use crate::history::{History, Stakes};
use crate::ir::dump;
use crate::store::about::{self, About};
use crate::store::capture::Store;
use crate::store::control::Requests;
use crate::store::frozen::{self, Frozen};
use crate::store::lock::Lock;
use crate::store::log::Writer;
use crate::store::mask::Mask;
use crate::store::{self, RunDir, read, resume, staging};

/// The runs of the plans that a run calls.
pub(super) struct RunCalls {
    /// The caller's run.
    pub(super) run: RunDir,
    pub(super) shared: Arc<Shared>,
}

/// What all of them share.
pub(super) struct Shared {
    pub(super) mask: Arc<Mask>,
    pub(super) files_limit: u64,
    pub(super) readers: Readers,
    pub(super) frozen: Option<Arc<Frozen>>,
    /// What is frozen.
    pub(super) frozen_set: Option<FileSet>,
    pub(super) pack: Utf8PathBuf,
    pub(super) random: crate::source::Text,
    /// What tells secrets apart, with that as the salt.
    pub(super) secrets: BTreeMap<crate::source::Text, Option<crate::source::Text>>,
}

/// A run that was opened.
struct Opened {
    run: RunDir,
    lock: Lock,
    writer: Writer,
    store: Store,
    past: Vec<Event>,
}

impl Calls for RunCalls {
    fn open(&self, calling: &Calling<'_>) -> Result<Called, String> {
        let document = dump::document(calling.plan);
        let gates = dump::gates_fingerprint(&document);
        let gates = frozen::fingerprint(&gates, self.shared.frozen_set.as_ref());
        let run = self.run.called(calling.name);
        let opened = if calling.resumes && run.about().exists() {
            self.take_up(run, &document)
        } else {
            self.begin(calling, &document, gates.clone())
        };
        let Opened { run, lock, writer, store, past } =
            opened.map_err(|error| format!("the run of the plan that it calls cannot be used: {error}"))?;
        let shared = &self.shared;
        let requests = Requests::new(&run).pending();
        let mask = Arc::clone(&shared.mask);
        let log = RunLog { writer, run: run.clone(), mask: Arc::clone(&mask), requests };
        let (frozen, readers) = (shared.frozen.clone(), shared.readers.clone());
        let files = Arc::new(RunFiles::new(run.clone(), store, frozen, None, mask, readers));
        let calls = Self { run: run.clone(), shared: Arc::clone(shared) };
        let kept = Arc::clone(&files);
        Ok(Called {
            run: run.name.clone(),
            gates,
            log: Box::new(log),
            files,
            calls: Arc::new(calls),
            past,
            over: Box::new(move |history| {
                let keep = resume::live_sets(history);
                let cleared = staging::Staging::clear(&run).and_then(|()| kept.store().keep_only(&keep));
                if let Err(error) = cleared {
                    // A resume does it again.
                    say(&format!("plan: {error}\n"));
                }
                drop(lock);
            }),
        })
    }
}

impl RunCalls {
    fn begin(
        &self,
        calling: &Calling<'_>,
        document: &dump::Document,
        gates: crate::source::Text,
    ) -> Result<Opened, store::Error> {
        let bytes = serde_json::to_vec(document).expect("every field can be written");
        let params = calling.plan.params.iter();
        let params = params
            .filter_map(|param| Some((param.name.value.to_string(), dump::json(param.value.as_ref()?))));
        let about = About {
            schema: about::SCHEMA,
            plan: calling.plan.name.clone(),
            plan_file: self.shared.pack.join(calling.path).into_string(),
            plan_digest: dump::plan_digest(document),
            gates,
            params: params.collect(),
            ceilings: calling.ceilings,
            version: env!("CARGO_PKG_VERSION").into(),
            random: self.shared.random.clone(),
            secrets: self.shared.secrets.clone(),
            ..About::default()
        };
        let (run, _, lock) = self.run.create_called(calling.name, about, &bytes)?;
        let (_, digest) = About::read(&run)?;
        let shared = lock.share().map_err(store::Error::io("lock", &run.log()))?;
        let writer = Writer::begin(&run, lock, &digest)?;
        let store = Store::new(run.clone(), self.shared.files_limit, []);
        Ok(Opened { run, lock: shared, writer, store, past: Vec::new() })
    }

    fn take_up(&self, run: RunDir, document: &dump::Document) -> Result<Opened, store::Error> {
        let unusable = |why: String| store::Error::Unreadable { path: run.path.clone(), why };
        let lock = Lock::take(&run)?;
        let (about, digest) = About::read(&run)?;
        if about.plan_digest != dump::plan_digest(document) {
            return Err(unusable("it is of another plan".to_owned()));
        }
        let log = read::log(&run, &digest)?;
        let (mut history, stakes) = (History::new(document), Stakes::of(document));
        for event in &log.events {
            if let Some(why) = history.contradiction(&stakes, &event.body) {
                return Err(store::Error::Damaged { path: run.log(), line: event.seq, why });
            }
            history.apply(event).map_err(|mismatch| unusable(mismatch.message))?;
        }
        let sets = resume::live_sets(&history);
        let store = Store::new(run.clone(), self.shared.files_limit, sets.iter().copied());
        if let Some(missing) = sets.iter().find_map(|set| store.missing(set)) {
            return Err(unusable(missing));
        }
        let shared = lock.share().map_err(store::Error::io("lock", &run.log()))?;
        let writer = Writer::resume(&run, lock, &log)?;
        run.forget_attempts_after(history.last_attempt)?;
        staging::Staging::clear(&run)?;
        store.keep_only(&sets)?;
        mask_cut_off(&run, &log.events, &self.shared.mask);
        Ok(Opened { run: run.clone(), lock: shared, writer, store, past: log.events })
    }
}
