//! What follows from an attempt that ended, and from instances that are all terminal (EXECUTION §5).
//!
//! Unaware of how an attempt was graded: its event says.

use super::fanout;
use super::note::note;
use super::readiness;
use super::scheduler::Scheduler;
use super::units::Unit;
use super::verdict;
use crate::event::{
    Blocked, BlockedReason, Body, Grade, RetryScheduled, Status, TaskSettled, VerifierEnded, VerifierMode,
};
use crate::history::Row;
use crate::ir::{Millis, Stage, Task};
use crate::source::Text;

/// The longest wait before another attempt, in seconds.
const LONGEST_WAIT: u64 = 30;

/// What follows from the last attempt of `unit`. None while the run is interrupted and another attempt would
/// follow: a resumed run schedules it.
pub(super) fn judge(s: &Scheduler, unit: Unit) -> Option<Body> {
    let (row, task) = (s.row(unit), s.task(unit));
    let last = row.last.as_ref()?;
    if let Some(note) = rejection(task, row) {
        let task = s.name(unit);
        return Some(
            TaskSettled { task, status: Status::Fail, note: Some(note), blocked: None, output: None }.into(),
        );
    }
    let status = match last.grade {
        Grade::Pass => Status::Pass,
        Grade::Partial => Status::Partial,
        Grade::Fail => Status::Fail,
        Grade::Skipped => Status::Skipped,
        Grade::Blocked => Status::Blocked,
        Grade::Interrupted => return None,
        Grade::Transport | Grade::Retry => {
            if row.attempts > task.retries {
                return Some(spent(s, unit, ""));
            }
            return another(s, unit);
        }
    };
    let blocked =
        (status == Status::Blocked).then_some(Blocked { reason: BlockedReason::Staging, task: None });
    let note = last.note.clone();
    Some(TaskSettled { task: s.name(unit), status, note, blocked, output: None }.into())
}

/// Who did not accept the last attempt, and what they said, in the order declared; none where everybody who
/// gates did.
fn rejection(task: &Task, row: &Row) -> Option<Text> {
    let place = |name: &Text| task.verify.iter().position(|check| check.name.value == *name);
    let mut rejections: Vec<_> = row.rejections().collect();
    rejections.sort_by_key(|said| place(&said.verifier));
    let said: Vec<String> = rejections.into_iter().map(objection).collect();
    let kept = row.last.as_ref().and_then(|last| last.if_rejected.as_ref());
    let problem = kept.and_then(|kept| kept.problem.as_deref());
    let clauses: Vec<&str> = said.iter().map(String::as_str).chain(problem).collect();
    (!said.is_empty()).then(|| note(&clauses.join("; ")))
}

/// A verdict that rejects, as a clause.
pub(super) fn objection(verdict: &VerifierEnded) -> String {
    let name = &verdict.verifier;
    if verdict.ended_by.is_some() {
        return format!("`{name}` was {}", verdict.detail.as_deref().unwrap_or("ended"));
    }
    let said = verdict.detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
    match verdict.mode {
        Some(VerifierMode::Rejected) | None => format!("`{name}` rejected it{said}"),
        Some(VerifierMode::Error) => format!("`{name}` failed{said}"),
        Some(VerifierMode::Crashed) => format!("`{name}` crashed{said}"),
        Some(VerifierMode::Timeout) => format!("`{name}` took too long{said}"),
        Some(VerifierMode::Missing) => format!("`{name}` lacks what it needs{said}"),
    }
}

/// Another attempt follows, unless something forbids it.
fn another(s: &Scheduler, unit: Unit) -> Option<Body> {
    let (row, task) = (s.row(unit), s.task(unit));
    if s.history.interrupted.is_some() && !task.always.value {
        return None;
    }
    if let Some(bar) = readiness::barred(s, unit) {
        return Some(spent(s, unit, &bar.note));
    }
    let most = task.max_usd.map(|most| most.value);
    if !task.always.value
        && let Some(ceiling) = s.limits.forbids(&s.used(), most)
    {
        return Some(if verdict::decided(s) {
            spent(s, unit, &format!("{ceiling} was reached"))
        } else {
            verdict::halted_by(ceiling).into()
        });
    }
    let after = 1u64.checked_shl(row.attempts.saturating_sub(1)).unwrap_or(u64::MAX).clamp(1, LONGEST_WAIT);
    let attempt = row.last.as_ref()?.attempt;
    Some(RetryScheduled { task: s.name(unit), attempt, after_ms: Millis(after * 1_000) }.into())
}

/// `unit` settles on its last attempt, which asked for another: none follows. `why` says what forbids it,
/// where it is not that its retries are spent.
pub(super) fn spent(s: &Scheduler, unit: Unit, why: &str) -> Body {
    let (row, task) = (s.row(unit), s.task(unit));
    let last = row.last.as_ref();
    let said = last.and_then(|last| last.note.as_deref());
    let (status, said) = match last.map(|last| last.grade) {
        Some(Grade::Retry) => {
            let status = if task.allow_partial { Status::Partial } else { Status::Fail };
            (status, said.unwrap_or("its result asked for another attempt"))
        }
        Some(
            Grade::Transport
            | Grade::Pass
            | Grade::Partial
            | Grade::Fail
            | Grade::Skipped
            | Grade::Blocked
            | Grade::Interrupted,
        )
        | None => (Status::Transport, said.unwrap_or("the infrastructure failed")),
    };
    let why = why.strip_prefix("not started: ").unwrap_or(why);
    let note: Text = match (why, row.attempts) {
        ("", 0 | 1) => said.into(),
        ("", attempts) => compact_str::format_compact!("{said} ({attempts} attempts)"),
        (why, _) => compact_str::format_compact!("{said} (not tried again: {why})"),
    };
    let task = s.name(unit);
    TaskSettled { task, status, note: Some(note), blocked: None, output: None }.into()
}

/// Who waits before another attempt that will not come settles on its last one, and nobody is asked about
/// what will not run.
pub(super) fn give_up(s: &Scheduler) -> Option<Body> {
    let interrupted = s.history.interrupted.is_some();
    let main = s.queues.of(Stage::Main);
    if s.history.halted.is_some() && !interrupted {
        let first = main.waiting().map(|(_, unit)| unit).next();
        let given_up = |&unit: &Unit| s.concluded() && !s.row(unit).cut_off;
        let first = first.or_else(|| main.first_again().filter(given_up));
        if let Some(unit) = first {
            let why = readiness::barred(s, unit).map(|bar| bar.note).unwrap_or_default();
            return Some(spent(s, unit, &why));
        }
    }
    if !interrupted
        && !s.concluded()
        && (s.history.halted.is_some() || s.rest.is_some())
        && let Some(body) = s.tally.asking.iter().find_map(|&unit| readiness::barred_from(s, unit))
    {
        return Some(body);
    }
    s.rest?;
    s.queues.of(Stage::Epilogue).waiting().find_map(|(_, unit)| {
        if interrupted && !s.task(unit).always.value {
            return None;
        }
        readiness::barred(s, unit).map(|bar| spent(s, unit, &bar.note))
    })
}

/// A mapped task settles: it passes if none of its instances failed (LANGUAGE §8).
pub(super) fn fold(s: &Scheduler, unit: Unit) -> Body {
    let note = fanout::fold_note(s.row(unit));
    let status = if note.is_some() { Status::Fail } else { Status::Pass };
    TaskSettled { task: s.name(unit), status, note, blocked: None, output: None }.into()
}
