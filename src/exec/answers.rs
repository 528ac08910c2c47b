//! Which answers count: those to a question that is open, and one of what it offers (LANGUAGE §4, EXECUTION
//! §12).
//!
//! Pure. Who answers, and how the answer gets here, is for others.

pub use super::readiness::PASS;
use crate::diag::suggest;
use crate::event::Raw;
use crate::history::{History, Question, Row, split_name};
use crate::ir::{Kind, Task, TaskId};
use crate::source::Text;
use crate::validate::ValidPlan;

/// The question that `name` asks.
///
/// # Errors
/// If nobody asks on its behalf: why, as a clause.
pub fn open<'h>(history: &'h History, name: &str) -> Result<&'h Question, String> {
    let Some(row) = history.row(name) else { return Err(unknown(history, name)) };
    row.asked.as_ref().ok_or_else(|| closed(history, name, row))
}

/// Why `answer` is none to what `name` asks, as a clause; none where it counts, but for the promises of a task
/// of which it says that it passed.
#[must_use]
pub fn refusal(
    plan: &ValidPlan,
    history: &History,
    name: &str,
    answer: &str,
    result: Option<&Raw>,
) -> Option<String> {
    let offered = open(history, name).and_then(|question| offered(question, name, answer));
    let is_gate = task(plan, history, name).is_some_and(|task| matches!(task.kind, Kind::Gate(_)));
    offered.and_then(|()| takes_result(is_gate, name, answer, result)).err()
}

/// The task whose promises `answer` has to keep: it says that an interrupted attempt of it passed.
#[must_use]
pub fn vouched<'p>(plan: &'p ValidPlan, history: &History, name: &str, answer: &str) -> Option<&'p Task> {
    task(plan, history, name).filter(|task| answer == PASS && !matches!(task.kind, Kind::Gate(_)))
}

fn task<'p>(plan: &'p ValidPlan, history: &History, name: &str) -> Option<&'p Task> {
    Some(&plan[TaskId::from(history.index_of(split_name(name).0)?)])
}

/// Whether `answer` is one of those to `question`.
///
/// # Errors
/// If it is not: a clause that lists them.
pub fn offered(question: &Question, name: &str, answer: &str) -> Result<(), String> {
    if question.options.iter().any(|option| option == answer) {
        return Ok(());
    }
    let options: Vec<String> = question.options.iter().map(|option| format!("`{option}`")).collect();
    Err(format!("`{answer}` is no answer to `{name}`, which takes {}", or(&options)))
}

/// Whether a result may be given with `answer`.
///
/// # Errors
/// If it may not: why, as a clause.
pub fn takes_result(is_gate: bool, name: &str, answer: &str, result: Option<&Raw>) -> Result<(), String> {
    match result {
        Some(_) if is_gate => Err(format!("`{name}` is a gate, and takes no result")),
        Some(_) if answer != PASS => {
            Err(format!("a result goes with `{PASS}` only, and not with `{answer}`"))
        }
        Some(_) | None => Ok(()),
    }
}

fn unknown(history: &History, name: &str) -> String {
    let (task, element) = split_name(name);
    if let (Some(at), Some(element)) = (history.index_of(task), element) {
        let keys = history.rows[at].instances.iter().flat_map(indexmap::IndexMap::keys);
        let near = suggest::nearest(element, keys.map(Text::as_str));
        let near = near.map(|near| format!("; did you mean `{task}[{near}]`?")).unwrap_or_default();
        return format!("`{task}` has no instance `{element}`{near}");
    }
    let near = suggest::nearest(task, history.rows.iter().map(|row| row.name.as_str()));
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("no task is called `{task}`{near}")
}

/// Why `name`, which there is, asks nothing.
fn closed(history: &History, name: &str, row: &Row) -> String {
    if let Some(answered) = &row.answered {
        return format!("`{name}` was answered already: `{}` by {}", answered.answer, answered.by);
    }
    if let Some(status) = row.status() {
        return format!("`{name}` asks nothing: it has settled as `{}`", status.as_str());
    }
    if let Some((key, _)) = row.instances.iter().flatten().find(|(_, instance)| instance.asked.is_some()) {
        return format!("`{name}` has instances, which ask one by one: name one, as `{name}[{key}]`");
    }
    let asks: Vec<String> = history.questions().map(|(name, _)| format!("`{name}`")).collect();
    match asks.is_empty() {
        true => format!("`{name}` asks nothing yet, and nor does anything else"),
        false => format!("`{name}` asks nothing yet; asked is {}", or(&asks)),
    }
}

/// `a`, `b` or `c`; of many only the first.
fn or(names: &[String]) -> String {
    const SHOWN: usize = 8;
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] if names.len() <= SHOWN => format!("{} or {last}", first.join(", ")),
        many => format!("{} or one of {} more", many[..SHOWN].join(", "), many.len() - SHOWN),
    }
}
