//! What the log of a run does not have and its case needs: stubs for what did not run, so that a test of it runs
//! nothing for real, and what attempts printed.
//!
//! Unaware of expectations.

use indexmap::IndexMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::toml::quoted;
use super::{Did, Lines, Record};
use crate::ir::Usd;
use crate::ir::dump::{Document, Spec, TaskDocument, VerifyDocument};

/// What is said of what a test runs and the run did not.
const NEVER: &str = "it did not run when this case was recorded";

/// Gives everything that has no stub one that fails and says so. A fan-out has one besides those of its
/// instances: there may be another element some day.
pub(super) fn fill(record: &mut Record<'_>) {
    let plan = record.of.plan;
    for task in &plan.tasks {
        let reused = record.reused.iter().any(|name| crate::history::split_name(name).0 == task.name);
        for check in &task.verify {
            // What was taken over had been accepted.
            add(record, check.run.is_some(), format!("{}/{}", task.name, check.name), reused);
        }
        add(record, asks(task), format!("{}/done_when", task.name), false);
        add(record, starts(task), task.name.to_string(), false);
    }
    for VerifyDocument { name, run, .. } in &plan.gates {
        add(record, run.is_some(), name.to_string(), false);
    }
}

fn add(record: &mut Record<'_>, runs: bool, name: String, accepts: bool) {
    if runs && !record.stubs.contains_key(&name) {
        let lines = if accepts { Vec::new() } else { vec![("lost", quoted(NEVER))] };
        record.stubs.insert(name, vec![vec![Did { lines, cost: Usd::ZERO }]]);
    }
}

/// Whether a command says if the task is done already.
pub(super) fn asks(task: &TaskDocument) -> bool {
    task.done_when.as_ref().is_some_and(|when| when != "files")
}

/// Whether something is started for the task, or could be.
pub(super) fn starts(task: &TaskDocument) -> bool {
    match &task.spec {
        Spec::Run(_) | Spec::Evaluate { .. } | Spec::Agent(_) | Spec::Call { .. } | Spec::Machine(_) => true,
        Spec::Route { run, .. } => run.is_some(),
        Spec::None | Spec::Gate { .. } | Spec::TopK { .. } | Spec::Report { .. } => false,
    }
}

/// A result that is printed, with what a stub declares beside it: that would be a result of its own.
pub(super) fn declaring(json: &str, lines: &mut Lines) -> String {
    let Ok(mut members) = serde_json::from_str::<IndexMap<String, Box<RawValue>>>(json) else {
        return json.to_owned();
    };
    lines.retain(|(key, written)| {
        let member = match *key {
            "status" | "note" => *key,
            "cost" => "cost_usd",
            _ => return true,
        };
        let read = ::toml::from_str::<IndexMap<String, Value>>(&format!("of = {written}"));
        let raw = read.ok().and_then(|read| serde_json::value::to_raw_value(read.get("of")?).ok());
        members.extend(raw.map(|raw| (member.to_owned(), raw)));
        false
    });
    serde_json::to_string(&members).unwrap_or_else(|_| json.to_owned())
}

/// What a decision command printed, to be answered so: the log has the labels alone.
pub(super) fn decided(plan: &Document, route: &str, answers: &str) -> String {
    let task = plan.tasks.iter().find(|task| task.name == route);
    let Some(Spec::Route { questions, .. }) = task.map(|task| &task.spec) else { return answers.to_owned() };
    let Ok(answers) = serde_json::from_str::<Map<String, Value>>(answers) else { return answers.to_owned() };
    let decided = answers.into_iter().map(|(name, answer)| {
        let question = questions.iter().find(|question| question.name == name.as_str());
        let decided = match (question, &answer) {
            (Some(question), Value::String(label)) => match question.labels.first() {
                Some(first) if !question.labels.iter().any(|known| known == label.as_str()) => {
                    json!({ "label": first.as_str(), "confidence": 0 })
                }
                Some(_) | None => json!({ "label": label, "confidence": 1 }),
            },
            (Some(_) | None, _) => answer,
        };
        (name, decided)
    });
    Value::Object(decided.collect()).to_string()
}
