//! What a task sees: one entry a dependency as its join says, and the reserved entries that apply
//! (EXECUTION §6).
//!
//! Results travel as the text that their task wrote, digit for digit. Which files are staged is decided in
//! `staging.rs`; writing any of it down is the driver's business.

use std::fmt::Write as _;
use std::sync::Arc;

use super::fanout::{raw, value_json};
use super::json;
use super::ports::Staged;
use super::rounds::{self, Review};
use super::scheduler::Scheduler;
use super::settle;
use super::staging::{self, Upstream};
use super::units::Unit;
use super::verdict;
use crate::event::{Grade, Raw, Status};
use crate::history::{Repair, Round, Row, directory};
use crate::ir::{Join, Kind, Plan, Stage, Task, TaskId};
use crate::source::Text;

/// The longest note in an envelope, in characters.
const LONGEST_NOTE: usize = 2_000;

/// What a task is given.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The inputs object.
    pub json: String,
    /// The file sets that are staged for it.
    pub staged: Vec<Staged>,
    /// The round that it is told: of its review, or of the repair of the plan; 1 outside of both.
    pub round: u32,
}

/// What `task`, or its instance of `element`, is given now. Its dependencies are terminal.
///
/// # Panics
/// If `task` is mapped and has no such element.
#[must_use]
pub fn inputs(s: &Scheduler, task: TaskId, element: Option<&str>) -> Inputs {
    let (object, staged) = read_by(s, unit_of(s, task, element), reads_params(&s.plan[task].kind));
    Inputs { json: object.end(), staged, round: rounds::told(s, task) }
}

/// What a verifier of `task`, or of its instance of `element`, is given: what the task was given, its
/// parameters, and the envelope and the files of the attempt that has passed, under the task's own name.
pub(super) fn of_attempt(s: &Scheduler, task: TaskId, element: Option<&str>) -> Inputs {
    let unit = unit_of(s, task, element);
    let (mut object, mut staged) = read_by(s, unit, true);
    let name = &s.plan[task].name.value;
    if let Some(last) = &s.row(unit).last {
        let status = if last.grade == Grade::Partial { Status::Partial } else { Status::Pass };
        let output = last.output.as_deref().map(serde_json::value::RawValue::get);
        let files = last.files.is_some();
        object.member(name, &envelope_of(status, last.note.as_deref(), output, files));
        let directory = directory(name, element);
        // A reviewer that is verified is asked about what it wrote now, not about its last review.
        staged.retain(|set: &Staged| set.directory != directory);
        staged.extend(last.files.clone().map(|set| Staged { directory, set }));
    }
    Inputs { json: object.end(), staged, round: rounds::told(s, task) }
}

/// What an acceptance gate of the plan is given: the parameters, and the envelopes and files of all main
/// tasks that have settled.
pub(super) fn of_gates(s: &Scheduler) -> Inputs {
    let mut object = Object::new();
    let mut staged = Vec::new();
    for id in s.plan.ids() {
        let (task, row): (&Task, &Row) = (&s.plan[id], &s.history.rows[id.index()]);
        if task.stage == Stage::Main && row.is_settled() {
            object.member(&task.name.value, &envelope(row, task.over.is_some()));
            staging::all_sets(row, &task.name.value, &mut staged);
        }
    }
    if !s.plan.params.is_empty() {
        object.member("params", &params(&s.plan));
    }
    Inputs { json: object.end(), staged, round: s.history.plan_round() }
}

pub(super) fn unit_of(s: &Scheduler, task: TaskId, element: Option<&str>) -> Unit {
    let row = &s.history.rows[task.index()];
    let index = element.map(|name| {
        let instances = row.instances.as_ref().expect("an instance is dispatched after it was named");
        instances.get_index_of(name).expect("an instance that is dispatched has a row")
    });
    Unit::part(s.plan.graph().position(task), index)
}

/// What `unit` reads, and what is staged for it.
fn read_by(s: &Scheduler, unit: Unit, reads_params: bool) -> (Object, Vec<Staged>) {
    let task = s.id(unit);
    let outcome = (s.plan[task].stage == Stage::Epilogue).then(|| s.cache.outcome(s));
    let staged = staging::staged(s, unit, outcome.as_deref().map(|outcome| &outcome.staged[..]));
    let mut object = Object::new();
    for dependency in &s.plan[task].depends_on {
        let name = &s.plan[dependency.task].name.value;
        if let Some(value) = entry(s, unit, dependency.task) {
            object.member(name, &value);
        }
    }
    if let Kind::Report(report) = &s.plan[task].kind
        && let Some(about) = &report.result
        && let Some(value) = entry(s, unit, about.value)
    {
        object.member("result", &value);
    }
    if let Some(element) = unit.index().and_then(|at| s.tasks[task.index()].spread.as_ref()?.elements.get(at))
    {
        object.member("item", element.json.get());
    }
    if !s.plan.params.is_empty() && reads_params {
        object.member("params", &params(&s.plan));
    }
    if let Some(outcome) = &outcome {
        object.member("outcome", &outcome.json);
    }
    if let Some(review) = rounds::review(s, task) {
        object.member("revision", &of_review(s, &review));
    } else if let Some(repair) = rounds::repair(s, task) {
        object.member("revision", &of_repair(s, repair));
    }
    (object, staged)
}

/// Why a reviewer sent its body back: its envelope of the round before.
fn of_review(s: &Scheduler, review: &Review<'_>) -> String {
    let Round { settled, .. } = review.last;
    let output = review.last.output();
    let output = output.as_deref().map(serde_json::value::RawValue::get);
    let files = review.last.files().is_some();
    format!(
        "{{\"round\":{},\"max_rounds\":{},\"reviewer\":{},\"review\":{}}}",
        review.round,
        review.max_rounds,
        json::quoted(&s.plan[review.reviewer].name.value),
        envelope_of(settled.status, settled.note.as_deref(), output, files)
    )
}

/// Why the plan went back: one entry for each acceptance gate that did not hold.
fn of_repair(s: &Scheduler, repair: &Repair) -> String {
    let mut review = Object::new();
    for (name, said) in &repair.gates {
        let note = settle::objection(said);
        let mut output = Object::new();
        output.member("pass", "false");
        output
            .member("mode", &said.mode.map_or_else(|| "null".to_owned(), |mode| json::quoted(mode.as_str())));
        let detail = said.detail.as_deref().map_or_else(|| "null".to_owned(), json::quoted);
        output.member("detail", &detail);
        review.member(name, &envelope_of(Status::Fail, Some(&note), Some(&output.end()), false));
    }
    let names: Vec<String> = repair.gates.keys().map(|name| json::quoted(name)).collect();
    format!(
        "{{\"round\":{},\"max_rounds\":{},\"reviewer\":[{}],\"review\":{}}}",
        repair.round,
        s.plan.header.max_repairs + 1,
        names.join(","),
        review.end()
    )
}

/// A JSON object that is being written.
struct Object(String);

impl Object {
    fn new() -> Self {
        Self("{".to_owned())
    }

    fn member(&mut self, name: &str, json: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&json::quoted(name));
        self.0.push(':');
        self.0.push_str(json);
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// The entry of the dependency `of`; none where the join leaves it out.
fn entry(s: &Scheduler, unit: Unit, of: TaskId) -> Option<String> {
    let task = s.task(unit);
    let row = s.seen(of, unit);
    let whole = s.seen_unit(of, unit).index().is_none();
    match task.join.value {
        Join::All => Some(output(s, unit, of, row)),
        Join::Passed => {
            let folds = whole && row.instances.is_some();
            (folds || row.status().is_some_and(Status::passes)).then(|| output(s, unit, of, row))
        }
        Join::Settled => {
            let narrowed = row.output().map(|output| keyed(s, unit, of, &output));
            Some(envelope_with(row, whole && s.plan[of].over.is_some(), narrowed.as_deref()))
        }
    }
}

fn output(s: &Scheduler, unit: Unit, of: TaskId, row: &Row) -> String {
    // A task that passed without a result passed with the empty one.
    keyed(s, unit, of, &row.output().unwrap_or_else(|| raw("{}")))
}

/// `output` of the task `of`, in which every field that `unit` has as `keyed` is only the entry of its own
/// element, and null where there is none.
fn keyed(s: &Scheduler, unit: Unit, of: TaskId, output: &Raw) -> String {
    let fields: Vec<&Text> = s
        .task(unit)
        .keyed
        .iter()
        .filter(|keyed| keyed.value.0 == of && unit.index().is_some())
        .map(|keyed| &keyed.value.1)
        .collect();
    let members = if fields.is_empty() { None } else { json::members(output) };
    let Some(members) = members else { return output.get().to_owned() };
    let mut object = Object::new();
    for (name, value) in members {
        if fields.iter().any(|field| **field == name) {
            object.member(&name, json::member(value, &s.row(unit).name).map_or("null", |own| own.get()));
        } else {
            object.member(&name, value.get());
        }
    }
    object.end()
}

/// `{status, note, output, files}`, and `per_instance` where `mapped`.
fn envelope(row: &Row, mapped: bool) -> String {
    let output = row.output();
    envelope_with(row, mapped, output.as_deref().map(serde_json::value::RawValue::get))
}

fn envelope_with(row: &Row, mapped: bool, output: Option<&str>) -> String {
    let status = row.status().unwrap_or(Status::Blocked);
    let mut text = envelope_of(status, row.note().map(Text::as_str), output, staging::has_files(row));
    if mapped {
        text.pop();
        let mut object = Object::new();
        for (name, row) in row.instances.iter().flatten() {
            if row.is_settled() {
                object.member(name, &envelope(row, false));
            }
        }
        text.push_str(",\"per_instance\":");
        text.push_str(&object.end());
        text.push('}');
    }
    text
}

fn envelope_of(status: Status, note: Option<&str>, output: Option<&str>, files: bool) -> String {
    let status = status.as_str();
    let note = note.map_or_else(|| "null".to_owned(), |note| json::quoted(&cut(note)));
    let output = output.unwrap_or("null");
    format!("{{\"status\":\"{status}\",\"note\":{note},\"output\":{output},\"files\":{files}}}")
}

/// A note, cut at 2,000 characters, with its length where it was longer.
fn cut(note: &str) -> String {
    match note.char_indices().nth(LONGEST_NOTE) {
        Some((at, _)) => format!("{}… ({} characters)", &note[..at], note.chars().count()),
        None => note.to_owned(),
    }
}

fn reads_params(kind: &Kind) -> bool {
    match kind {
        Kind::Command(_) | Kind::Evaluate(_) | Kind::Route(_) => true,
        Kind::Agent(_)
        | Kind::Gate(_)
        | Kind::TopK(_)
        | Kind::Report(_)
        | Kind::Call(_)
        | Kind::Machine(_) => false,
    }
}

/// The launch parameters, typed.
fn params(plan: &Plan) -> String {
    let mut object = Object::new();
    for param in &plan.params {
        let value = param.value.as_ref().or(param.default.as_ref());
        object.member(&param.name.value, &value.map_or_else(|| "null".to_owned(), value_json));
    }
    object.end()
}

/// What an epilogue task learns of the main graph.
#[derive(Debug)]
pub(super) struct Outcome {
    /// `{exit, verdict, tasks: {name: envelope}}` over the settled main tasks.
    json: String,
    /// Their captured sets.
    staged: Vec<Staged>,
}

impl Outcome {
    fn new(s: &Scheduler) -> Self {
        let mut json = "{\"exit\":".to_owned();
        if s.history.interrupted.is_some() {
            json.push_str("\"interrupted\",\"verdict\":null");
        } else {
            let verdict::Outcome { exit, verdict } = verdict::outcome(s);
            let written = write!(json, "\"{}\",\"verdict\":\"{}\"", exit.as_str(), verdict.as_str());
            written.expect("writing to a string does not fail");
        }
        let mut tasks = Object::new();
        let mut staged = Vec::new();
        for id in s.plan.ids() {
            let (task, row): (&Task, &Row) = (&s.plan[id], &s.history.rows[id.index()]);
            if task.stage == Stage::Main && row.is_settled() {
                tasks.member(&task.name.value, &envelope(row, task.over.is_some()));
                staging::all_sets(row, &task.name.value, &mut staged);
            }
        }
        json.push_str(",\"tasks\":");
        json.push_str(&tasks.end());
        json.push('}');
        Self { json, staged }
    }
}

/// What is computed once and read by many dispatches.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) upstream: Upstream,
    outcome: std::cell::RefCell<Option<(OutcomeKey, Arc<Outcome>)>>,
}

/// When the main graph came to rest, and whether a signal has come since.
type OutcomeKey = (Option<u64>, bool);

impl Cache {
    pub(super) fn new(plan: &crate::validate::ValidPlan) -> Self {
        Self { upstream: Upstream::new(plan), outcome: std::cell::RefCell::default() }
    }

    /// Forgets what depends on events.
    pub(super) fn forget(&mut self) {
        self.outcome.take();
    }

    fn outcome(&self, s: &Scheduler) -> Arc<Outcome> {
        let key = (s.rest, s.history.interrupted.is_some());
        let mut kept = self.outcome.borrow_mut();
        match &*kept {
            Some((known, outcome)) if *known == key => Arc::clone(outcome),
            _ => {
                let outcome = Arc::new(Outcome::new(s));
                *kept = Some((key, Arc::clone(&outcome)));
                outcome
            }
        }
    }
}
