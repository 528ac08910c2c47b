//! What happens in a run, one line an event, for people (EXECUTION §14).

use super::text::{self, Paint, Tone};
use crate::event::{Body, Event, Status, TaskSettled, VerifierMode};
use crate::history::{History, Row, split_name};
use crate::source::Text;

/// How much people want to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Nothing that holds.
    Quiet,
    /// What settles, and what is odd.
    #[default]
    Normal,
    /// Every start and every wait as well.
    Verbose,
}

/// The column of words before names: as wide as the longest status.
const WORD: usize = 9;

/// The line for `event`, which `history` has folded in. None where there is nothing to say.
#[must_use]
pub fn line(event: &Event, history: &History, detail: Detail, paint: Paint) -> Option<String> {
    let verbose = detail >= Detail::Verbose;
    if detail == Detail::Quiet {
        return None;
    }
    let odd = |word: &str, rest: &str| Some(say(paint.with(Tone::Odd, &pad(word)), rest));
    let dim = |word: &str, rest: &str| verbose.then(|| say(paint.with(Tone::Dim, &pad(word)), rest));
    match &event.body {
        Body::RunStarted(body) => {
            Some(format!("{}  {}", paint.with(Tone::Strong, &text::clean(&body.plan)), body.run))
        }
        Body::RunResumed(_) => Some(format!(
            "{}  {}  resumed",
            paint.with(Tone::Strong, &text::clean(&history.plan)),
            history.run
        )),
        Body::TaskSettled(body) => Some(settled(body, history, paint)),
        Body::InstancesNamed(body) => {
            dim("expand", &format!("{}  {}", body.task, text::count(body.keys.len(), "instance")))
        }
        Body::ReuseDecided(body) => {
            let why = body.why.as_ref()?;
            Some(say(paint.with(Tone::Dim, &pad("afresh")), &format!("{}  {why}", body.task)))
        }
        Body::AttemptStarted(body) if history.row(&body.task).is_some_and(Row::takes_over) => None,
        Body::AttemptStarted(body) => {
            let mut what = body.task.to_string();
            if body.round > 1 {
                what.push_str(&format!("  round {}", body.round));
            }
            if body.nth > 1 {
                what.push_str(&format!("  attempt {}", body.nth));
            }
            dim("start", &what)
        }
        Body::RetryScheduled(body) => {
            let why = history.row(&body.task).and_then(|row| row.last.as_ref()?.note.clone());
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            odd("retry", &format!("{}  in {}{why}", body.task, text::time(body.after_ms)))
        }
        Body::RoundStarted(body) => {
            let who = body.reviewer.as_ref().map_or(String::new(), |who| format!("{who}  "));
            odd("again", &format!("{who}round {}: {}", body.round, body.tasks.join(", ")))
        }
        Body::NodeEntered(body) => dim("node", &format!("{}/{}#{}", body.task, body.node, body.visit)),
        Body::GateAsked(body) => {
            let options = body.options.join(", ");
            odd("asks", &format!("{}  {}  ({options})", body.task, body.ask))
        }
        Body::GateAnswered(body) => {
            odd("answer", &format!("{}  {} (by {})", body.task, body.answer, body.by))
        }
        Body::VerifierEnded(body) if !body.pass => {
            let detail = body.detail.as_ref().map(|detail| format!("  {detail}")).unwrap_or_default();
            let of = body.task.as_ref().map(|task| format!("{task}  ")).unwrap_or_default();
            odd(body.mode.map_or("rejected", VerifierMode::as_str), &format!("{of}{}{detail}", body.verifier))
        }
        Body::VerifierEnded(body) => {
            let of = body.task.as_ref().map(|task| format!("{task}  ")).unwrap_or_default();
            dim("accepted", &format!("{of}{}", body.verifier))
        }
        Body::Warning(body) => {
            let of = body.task.as_ref().map(|task| format!("{task}  ")).unwrap_or_default();
            odd("warning", &format!("{of}{}", body.message))
        }
        Body::Halted(body) => {
            let note = body.note.clone().unwrap_or_else(|| body.exit.as_str().into());
            dim("halt", &note)
        }
        Body::StopRequested(body) => {
            odd("stop", &body.by.as_ref().map_or("requested".to_owned(), |by| format!("requested by {by}")))
        }
        Body::Interrupted(body) => odd("interrupt", &body.by),
        Body::PlanAdmitted(_)
        | Body::AttemptEnded(_)
        | Body::TimerFired(_)
        | Body::Alive(_)
        | Body::RunEnded(_) => None,
    }
}

fn settled(body: &TaskSettled, history: &History, paint: Paint) -> String {
    let word = paint.status(body.status, &pad(body.status.as_str()));
    let mut rest = vec![body.task.to_string()];
    if let Some(row) = history.row(&body.task) {
        match (&row.instances, &row.last) {
            (Some(instances), _) => rest.push(text::count(instances.len(), "instance")),
            (None, Some(last)) if last.done_already => rest.push("done already".to_owned()),
            (None, Some(last)) if last.reused.is_some() => rest.extend(text::reused(last)),
            (None, Some(last)) => {
                rest.push(text::time(last.duration_ms));
                rest.extend(text::money(row.cost));
            }
            (None, None) => {}
        }
    }
    rest.extend(body.note.as_ref().map(Text::to_string).or_else(|| answer(history.row(&body.task)?)));
    say(word, &rest.join("  "))
}

/// What a person, or time, answered.
#[must_use]
pub fn answer(row: &Row) -> Option<String> {
    row.answered.as_ref().map(|answered| format!("answered `{}` by {}", answered.answer, answered.by))
}

fn say(word: String, rest: &str) -> String {
    // A note may quote what a task wrote.
    format!("{word}  {}", text::clean(rest))
}

fn pad(word: &str) -> String {
    format!("{word:<WORD$}")
}

/// What a status says in a sentence after a task's name.
#[must_use]
pub const fn phrase(status: Status) -> &'static str {
    match status {
        Status::Pass => "passed",
        Status::Partial => "passed in part",
        Status::NotTaken => "was not taken",
        Status::Fail => "failed",
        Status::Skipped => "was skipped",
        Status::Transport => "could not be carried out",
        Status::Blocked => "did not run",
        Status::Truncated => "cannot run here",
    }
}

/// What a failing verifier did, in a sentence after its name.
#[must_use]
pub const fn phrase_of(mode: VerifierMode) -> &'static str {
    match mode {
        VerifierMode::Rejected => "rejected",
        VerifierMode::Error => "failed itself",
        VerifierMode::Crashed => "crashed",
        VerifierMode::Timeout => "was not done in time",
        VerifierMode::Missing => "is missing",
    }
}

/// Whether a name is that of an instance.
#[must_use]
pub fn is_instance(name: &str) -> bool {
    split_name(name).1.is_some()
}
