//! The status document: the same for a live, an interrupted and an ended run (EXECUTION §14).
//!
//! Serialised, and so a promise to whoever reads it.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

use super::text;
use crate::event::{Blocked, Exit, Raw, Status, Verdict, VerifierEnded, VerifierMode, Warning};
use crate::history::{History, Round, Row, State};
use crate::ir::{Millis, Usd};
use crate::source::Text;

/// The version of this document.
pub const SCHEMA: u32 = 1;

/// The status of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Document {
    /// The version of this document.
    pub schema: u32,
    /// The run's name.
    #[schemars(with = "String")]
    pub run: Text,
    /// The plan's name.
    #[schemars(with = "String")]
    pub plan: Text,
    /// Whether it runs, waits, was interrupted, or has ended.
    #[schemars(extend("enum" = STATES))]
    pub state: &'static str,
    /// How it ended, or that it waits.
    pub exit: Option<Exit>,
    /// Whether its work holds, once that is decided.
    pub verdict: Option<Verdict>,
    /// Whether the verdict is valid, which includes every required gate.
    pub accepted: bool,
    /// What was spent.
    pub spent_usd: Usd,
    /// How long its sittings took, in seconds.
    pub elapsed_s: f64,
    /// Attempts started.
    pub steps: u64,
    /// One row a task, in declaration order.
    #[schemars(with = "BTreeMap<String, TaskStatus>")]
    pub tasks: IndexMap<Text, TaskStatus>,
    /// The plan's acceptance gates.
    #[schemars(with = "BTreeMap<String, Check>")]
    pub verify: IndexMap<Text, Check>,
    /// Warnings, oldest first.
    pub warnings: Vec<Warning>,
}

/// The status of a task or of an instance.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TaskStatus {
    /// As it settled; else `pending` or `running`.
    #[schemars(extend("enum" = statuses()))]
    pub status: &'static str,
    /// One line for people.
    #[schemars(with = "Option<String>")]
    pub note: Option<Text>,
    /// Of a task that called a plan: where that has its run, below this run's directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub call: Option<Text>,
    /// Attempts that ended, interrupted ones left out; of a mapped task, those of its instances.
    pub attempts: u32,
    /// What they spent.
    pub cost_usd: Usd,
    /// The result, or the reading that a failure keeps.
    pub output: Option<Raw>,
    /// The files that it keeps; of a mapped task, those of its instances.
    #[schemars(with = "Vec<String>")]
    pub files: Vec<Text>,
    /// Why it never ran.
    pub blocked: Option<Blocked>,
    /// The instances of a mapped task, in the list's order.
    #[schemars(with = "BTreeMap<String, TaskStatus>")]
    pub instances: IndexMap<Text, TaskStatus>,
    /// Earlier rounds, oldest first.
    pub rounds: Vec<RoundStatus>,
    /// The latest verdict of each verifier.
    #[schemars(with = "BTreeMap<String, Check>")]
    pub verifiers: IndexMap<Text, Check>,
}

/// A round that is over.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RoundStatus {
    /// Which, from 1.
    pub round: u32,
    /// As it settled.
    #[schemars(with = "Status")]
    pub status: &'static str,
    /// One line for people.
    #[schemars(with = "Option<String>")]
    pub note: Option<Text>,
    /// How many attempts it took.
    pub attempts: u32,
    /// The result, or the reading that a failure keeps.
    pub output: Option<Raw>,
    /// The files that it kept, and has not dropped since.
    #[schemars(with = "Vec<String>")]
    pub files: Vec<Text>,
}

/// What a verifier said.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Check {
    /// Whether it accepted.
    pub pass: bool,
    /// How it failed.
    pub mode: Option<VerifierMode>,
    /// What it said.
    #[schemars(with = "Option<String>")]
    pub detail: Option<Text>,
}

/// The status of the run of which `history` tells. `held` says whether a process works on it, and `show`
/// makes a result fit to be shown.
#[must_use]
pub fn document(history: &History, held: bool, show: &dyn Fn(&Raw) -> Raw) -> Document {
    let state = state(history, held);
    let (exit, verdict) = history.ended.as_ref().map_or((None, None), |end| (Some(end.exit), end.verdict));
    let view = View { runs: state == State::Running, show };
    Document {
        schema: SCHEMA,
        run: history.run.clone(),
        plan: history.plan.clone(),
        state: word(state),
        exit,
        verdict,
        accepted: verdict == Some(Verdict::Valid),
        spent_usd: history.spent,
        elapsed_s: seconds(history.elapsed()),
        steps: history.steps,
        tasks: history.rows.iter().map(|row| (row.name.clone(), view.task(row))).collect(),
        verify: checks(history.verdicts()),
        warnings: history.warnings.clone(),
    }
}

/// The state of a run: one that nobody works on, and that has not ended, was interrupted; and one on which
/// somebody works is running, whatever has been asked of it.
#[must_use]
pub fn state(history: &History, held: bool) -> State {
    match history.state() {
        State::Running if !held => State::Interrupted,
        // It cleans up, and has not let go.
        State::Interrupted if held => State::Running,
        state @ (State::Running | State::Waiting | State::Interrupted | State::Ended) => state,
    }
}

/// The word for a state.
#[must_use]
pub const fn word(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::Waiting => "waiting",
        State::Interrupted => "interrupted",
        State::Ended => "ended",
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact for 285,000 years of milliseconds")]
fn seconds(time: Millis) -> f64 {
    time.0 as f64 / 1000.0
}

/// How rows are looked at.
struct View<'a> {
    /// Whether anything can be running.
    runs: bool,
    show: &'a dyn Fn(&Raw) -> Raw,
}

impl View<'_> {
    fn task(&self, row: &Row) -> TaskStatus {
        let instances = row.instances.iter().flatten();
        let instances: IndexMap<Text, TaskStatus> =
            instances.map(|(key, row)| (key.clone(), self.task(row))).collect();
        let cost = instances.values().fold(row.cost, |sum, instance| sum.plus(instance.cost_usd));
        let mut files = row.files().map(|set| set.paths.clone()).unwrap_or_default();
        for path in instances.values().flat_map(|instance| &instance.files) {
            if !files.contains(path) {
                files.push(path.clone());
            }
        }
        TaskStatus {
            status: self.status(row),
            note: note(row),
            call: row.last.as_ref().and_then(|last| last.call.clone()),
            attempts: row.attempts + instances.values().map(|instance| instance.attempts).sum::<u32>(),
            cost_usd: cost,
            output: row.output().map(|output| (self.show)(&output)),
            files,
            blocked: row.settled.as_ref().and_then(|settled| settled.blocked.clone()),
            instances,
            rounds: row.rounds.iter().map(|round| self.round(round)).collect(),
            verifiers: checks(row.verifiers.values()),
        }
    }

    fn status(&self, row: &Row) -> &'static str {
        match row.status() {
            Some(status) => status.as_str(),
            None if self.runs && is_running(row) => "running",
            None => "pending",
        }
    }

    fn round(&self, round: &Round) -> RoundStatus {
        RoundStatus {
            round: round.round,
            status: round.settled.status.as_str(),
            note: round.settled.note.clone(),
            attempts: round.attempts,
            output: round.output().map(|output| (self.show)(&output)),
            files: round.files().map(|set| set.paths.clone()).unwrap_or_default(),
        }
    }
}

/// The note of a task, after where its result was taken over from.
fn note(row: &Row) -> Option<Text> {
    let reused = row.last.as_ref().filter(|_| row.is_settled()).and_then(|last| text::reused(last));
    match (reused, row.note()) {
        (None, note) => note.cloned(),
        (Some(reused), None) => Some(reused.into()),
        (Some(reused), Some(note)) => Some(compact_str::format_compact!("{reused}: {note}")),
    }
}

/// The words for the states of a run.
const STATES: [&str; 4] =
    [word(State::Running), word(State::Waiting), word(State::Interrupted), word(State::Ended)];

/// The words for the states of a task.
fn statuses() -> Vec<&'static str> {
    ["pending", "running"].into_iter().chain(Status::ALL.map(Status::as_str)).collect()
}

/// Whether a task has begun: an attempt is in flight, is looked at by verifiers, or waits to be made again, or
/// instances are named.
pub(super) fn is_running(row: &Row) -> bool {
    row.running.is_some() || row.ended || row.retrying || row.instances.is_some()
}

fn checks<'a>(verdicts: impl Iterator<Item = &'a VerifierEnded>) -> IndexMap<Text, Check> {
    let check = |verdict: &VerifierEnded| Check {
        pass: verdict.pass,
        mode: verdict.mode,
        detail: verdict.detail.clone(),
    };
    verdicts.map(|verdict| (verdict.verifier.clone(), check(verdict))).collect()
}
