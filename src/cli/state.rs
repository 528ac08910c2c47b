//! Runs on disk, as every command that looks at one takes and opens them.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::{Failure, secrets};
use crate::event::{Body, Event, Raw, Warning};
use crate::history::{History, Stakes, State};
use crate::ir::dump;
use crate::report::status;
use crate::report::text::shell_word;
use crate::source::Text;
use crate::store::about::About;
use crate::store::mask::Mask;
use crate::store::{self, RunDir, StateDir, lock, read};

/// Where runs are kept.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct StateArguments {
    /// Where runs are kept; by default `.plan` in the current directory
    #[arg(long, value_name = "DIR", default_value = ".plan")]
    state_dir: Utf8PathBuf,
}

impl StateArguments {
    /// The state directory.
    pub(super) fn open(&self) -> StateDir {
        StateDir::new(self.state_dir.clone())
    }
}

/// What a command needs to find `run` again, with a blank in front; nothing where that is the default.
pub(super) fn option(run: &RunDir) -> String {
    let runs = run.path.parent().filter(|runs| runs.ends_with("runs"));
    // A called run is looked at through the run that calls it.
    let kept = runs.and_then(Utf8Path::parent).map(shown).filter(|kept| kept != ".plan");
    kept.map_or_else(String::new, |kept| format!(" --state-dir {}", shell_word(&kept)))
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        Self::new(error.to_string())
    }
}

/// A run, read.
pub(super) struct Opened {
    /// Where it is.
    pub(super) run: RunDir,
    /// What it was launched with.
    pub(super) about: About,
    /// The compiled plan.
    pub(super) plan: dump::Document,
    /// Its log.
    pub(super) log: read::Log,
    /// The fold of its log.
    pub(super) history: History,
    /// Whether a process works on it.
    pub(super) held: bool,
    /// Its secrets, as far as this environment knows them.
    pub(super) mask: Mask,
    /// Those of its secrets that this environment does not know: what may hold them is not shown.
    pub(super) withheld: Vec<Text>,
}

impl Opened {
    /// Reads the run that `wanted` means. Changes nothing.
    pub(super) fn new(state: &StateDir, wanted: &str) -> Result<Self, Failure> {
        let run = state.resolve_called(wanted)?;
        // In this order: who held it and let go has written the end by then.
        let held = lock::is_held(&run)?;
        let (about, digest) = About::read(&run)?;
        Self::of(&run, about, &digest, held)
    }

    /// Reads `run`, of which `about` is known, with its digest.
    pub(super) fn of(run: &RunDir, about: About, digest: &str, held: bool) -> Result<Self, Failure> {
        let text = run.read_plan(&about)?;
        let log = read::log(run, digest)?;
        Self::fold(run.clone(), about, &text, log, held)
    }

    /// Folds what was read.
    pub(super) fn fold(
        run: RunDir,
        about: About,
        plan: &[u8],
        log: read::Log,
        held: bool,
    ) -> Result<Self, Failure> {
        let names = names_of_secrets(plan);
        let unreadable = |error| Failure::new(format!("cannot use `{}`: {error}", run.plan()));
        let plan: dump::Document = serde_json::from_slice(plan).map_err(unreadable)?;
        let mut history = history_of(&run, &plan, &log.events)?;
        if history.run.is_empty() {
            history.run = run.name.clone();
        }
        let withheld = secrets::unknown(&about);
        Ok(Self { run, about, plan, log, history, held, mask: mask_of(&names), withheld })
    }

    /// Whether it runs, waits, was interrupted, or has ended.
    pub(super) fn state(&self) -> State {
        status::state(&self.history, self.held)
    }

    /// A result as it may be shown: nothing of it where a secret could not be masked.
    pub(super) fn show(&self, raw: &Raw) -> Raw {
        match &self.withheld[..] {
            [] => self.mask.json(raw),
            _ => serde_json::value::RawValue::NULL.to_owned().into(),
        }
    }

    /// Says that results are not shown, and what to do about it, where that is so.
    pub(super) fn withholds(&self) -> Option<String> {
        let what = || format!("results are withheld: {}", secrets::set_them(&self.withheld));
        (!self.withheld.is_empty()).then(what)
    }

    /// Whether the streams of `attempt` can be shown: those of one that has ended were masked then.
    pub(super) fn shows_streams(&self, attempt: u32) -> bool {
        let ended =
            |event: &Event| matches!(&event.body, Body::AttemptEnded(body) if body.attempt == attempt);
        self.withheld.is_empty() || self.log.events.iter().any(ended)
    }

    /// The status document. The time of a run that goes on does not stand still between its events.
    pub(super) fn document(&self) -> status::Document {
        let show = |raw: &Raw| self.show(raw);
        let mut document = status::document(&self.history, self.held, &show);
        if let Some(message) = self.withholds() {
            document.warnings.push(Warning { task: None, message: message.into() });
        }
        if self.state() == State::Running {
            let written = self.run.log().metadata().and_then(|metadata| metadata.modified());
            let since = written.ok().and_then(|at| at.elapsed().ok()).unwrap_or_default();
            document.elapsed_s = (u128::from(self.history.elapsed().0) + since.as_millis()) as f64 / 1000.0;
        }
        document
    }
}

/// The fold of the log of `run`, which must not say what nothing in it bears out.
pub(super) fn history_of(run: &RunDir, plan: &dump::Document, events: &[Event]) -> Result<History, Failure> {
    let (mut history, stakes) = (History::new(plan), Stakes::of(plan));
    for event in events {
        if let Some(why) = history.contradiction(&stakes, &event.body) {
            return Err(store::Error::Damaged { path: run.log(), line: event.seq, why }.into());
        }
        history.apply(event).map_err(|mismatch| Failure::new(mismatch.message))?;
    }
    Ok(history)
}

/// The names of the variables that some task of a compiled plan lists as secrets.
fn names_of_secrets(plan: &[u8]) -> BTreeSet<Text> {
    let mut names = BTreeSet::new();
    if let Ok(value) = serde_json::from_slice::<Value>(plan) {
        collect_secrets(&value, &mut names);
    }
    names
}

fn collect_secrets(value: &Value, names: &mut BTreeSet<Text>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("secrets", Value::Array(list)) => {
                        names.extend(list.iter().filter_map(Value::as_str).map(Text::from));
                    }
                    _ => collect_secrets(value, names),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect_secrets(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The mask of those of `names` that this environment has. A value that is too short to be masked was
/// refused when the run was launched, so that it is none of the run's.
fn mask_of(names: &BTreeSet<Text>) -> Mask {
    let values = names.iter().filter_map(|name| Some((name.as_str(), std::env::var(name).ok()?)));
    let values: Vec<_> =
        values.filter(|(name, value)| Mask::new([(*name, value.as_str())]).is_ok()).collect();
    Mask::new(values.iter().map(|(name, value)| (*name, value.as_str()))).unwrap_or_default()
}

/// `path` as a person in the current directory would type it.
pub(super) fn shown(path: &Utf8Path) -> String {
    let here = std::env::current_dir().ok().and_then(|here| Utf8PathBuf::from_path_buf(here).ok());
    let relative = here.as_deref().and_then(|here| path.strip_prefix(here).ok());
    match relative {
        Some(relative) if relative.as_str().is_empty() => ".".to_owned(),
        relative => relative.unwrap_or(path).to_string(),
    }
}
