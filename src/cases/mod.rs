//! Cases of packs: what a file below `tests/` says, held against what a run came to (EXECUTION §15).
//!
//! Reads cases, looks their names up in the plan, compares, and writes one from a run. Unaware of files and of
//! how a run is driven: `cli` does both.

pub mod compare;
pub mod differ;
pub mod names;
pub mod read;
pub mod record;
pub mod report;

use camino::Utf8PathBuf;
use indexmap::IndexMap;
use serde_json::{Map, Value};

use crate::ir::{Millis, Usd};
use crate::runner::{Answers, Stubs};
use crate::source::{Span, Spanned, Text};

/// One case, as it is written.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// What it is about, in one sentence.
    pub about: Option<String>,
    /// The plan's file, in the pack.
    pub plan: Option<Spanned<String>>,
    /// The launch parameters.
    pub params: Map<String, Value>,
    /// Where each of them is named.
    pub param_names: Vec<Spanned<Text>>,
    /// How many attempts may be in flight; [`JOBS`] where nothing is said.
    pub jobs: Option<usize>,
    /// The capabilities that the machine declares.
    pub caps: Vec<Text>,
    /// The operator's ceiling on money.
    pub max_usd: Option<Usd>,
    /// The operator's ceiling on time.
    pub max_time: Option<Millis>,
    /// The operator's ceiling on attempts.
    pub max_steps: Option<u64>,
    /// Whether the run goes on after a required failure.
    pub keep_going: bool,
    /// Whether a required failure ends what is in flight.
    pub kill_on_failure: bool,
    /// Files that are in the workspace besides the pack's own, or instead of them.
    pub files: IndexMap<Utf8PathBuf, String>,
    /// What tasks do.
    pub stubs: Stubs,
    /// Where each stub is named.
    pub stub_names: Vec<Spanned<Text>>,
    /// What people answer.
    pub answers: Answers,
    /// Whom they answer, and each answer.
    pub answered: Vec<(Spanned<Text>, Spanned<Text>)>,
    /// What must come of it.
    pub expect: Vec<Expectation>,
}

/// How many attempts may be in flight where a case does not say: the same everywhere.
pub const JOBS: usize = 4;

/// One thing that must come of a run.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// Its key, as `tasks.scan.status`.
    pub path: String,
    /// Where it is written.
    pub span: Span,
    /// What it is.
    pub want: Want,
}

/// What must come of a run.
#[derive(Clone, Debug)]
pub enum Want {
    /// How it ends.
    Exit(Text),
    /// Whether its work holds.
    Verdict(Text),
    /// Whether it is accepted.
    Accepted(bool),
    /// What it spends.
    Spent(Usd),
    /// How many attempts it starts.
    Steps(u64),
    /// In which order tasks begin.
    Order(Vec<Spanned<Text>>),
    /// Who never begins.
    DidNotRun(Vec<Spanned<Text>>),
    /// What a warning says.
    Warning(String),
    /// Whether an acceptance gate holds.
    Gate(Spanned<Text>, bool),
    /// What comes of a task or an instance.
    Task(Spanned<Text>, OfTask),
}

/// What must come of a task or an instance.
#[derive(Clone, Debug)]
pub enum OfTask {
    /// How it settles.
    Status(Text),
    /// Its note, all of it.
    Note(String),
    /// Part of its note.
    NoteContains(String),
    /// How many attempts it takes.
    Attempts(u32),
    /// How many rounds it takes.
    Rounds(u32),
    /// What they spend.
    Cost(Usd),
    /// Why it never ran.
    Blocked(Text),
    /// What its result has; more may be there.
    Output(Value),
    /// The files that it keeps.
    Files(Vec<String>),
    /// What a kept file, or the report of a `report` task, says somewhere.
    Contains(String, String),
    /// What its last attempt saw; more may be there.
    Inputs(Value),
    /// The files that were staged for its last attempt.
    Staged(Vec<String>),
    /// Whether a verifier accepts its last attempt.
    Verifier(Spanned<Text>, bool),
}
