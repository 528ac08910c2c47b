//! What a run comes to: when it halts, when its main graph is at rest, its exit and its verdict
//! (EXECUTION §2).
//!
//! The verdict is that of every required main task, never that of the last one. The first halt decides.
//! Unaware of single attempts.

use super::acceptance;
use super::budget::Ceiling;
use super::scheduler::Scheduler;
use super::states::Phase;
use crate::event::{Body, Exit, Halted, RunEnded, Verdict, Warning};
use crate::history::Stakes;
use crate::ir::Stage;
use crate::source::Text;

/// How a run comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its exit.
    pub exit: Exit,
    /// Its verdict.
    pub verdict: Verdict,
}

/// Whether exit and verdict are settled, whatever happens from here on.
pub(super) fn decided(s: &Scheduler) -> bool {
    s.history.halted.is_some() || (acceptance::settled(s) && acceptance::accepted(s))
}

/// The outcome, once it is decided and the main graph at rest.
pub(super) fn outcome(s: &Scheduler) -> Outcome {
    let required = s.plan.tasks.iter().map(|task| task.required && task.stage == Stage::Main);
    let gates = s.plan.gates.iter().map(|gate| gate.name.value.clone());
    let (exit, verdict) = s.history.outcome(&Stakes { required: required.collect(), gates: gates.collect() });
    Outcome { exit, verdict }
}

/// The halt that is due, if one is. The first one wins, so that nothing is once the outcome is decided.
///
/// While acceptance gates are asked nothing more is spent, so that money that is gone halts nothing then; a
/// repair asks for it again.
pub(super) fn halt(s: &Scheduler) -> Option<Halted> {
    if s.history.interrupted.is_some() {
        return stopped_while_interrupted(s);
    }
    if decided(s) {
        return None;
    }
    if s.gap.is_some() {
        return Some(Halted { exit: Exit::Truncated, task: None, note: s.gap.clone() });
    }
    if s.history.stop_requested {
        return Some(stopped());
    }
    let used = s.used();
    if let Some(ceiling) = s.limits.overrun(&used).filter(|_| !acceptance::settled(s)) {
        let note = compact_str::format_compact!("{ceiling} was passed, with ${} spent", used.spent);
        return Some(Halted { exit: ceiling.exit(), task: None, note: Some(note) });
    }
    if let Some(ceiling) = s.limits.time_up(&used) {
        return Some(halted_by(ceiling));
    }
    if let Some(exit) = s.tally.called {
        return s.limits.ceiling(exit).map(halted_by);
    }
    let at_rest = *s.tally.unsettled.of(Stage::Main) == 0;
    if let Some((_, id)) = s.tally.first_failure.filter(|_| at_rest || !s.keeps_going()) {
        let row = &s.history.rows[id.index()];
        let task = Some(row.name.clone());
        return Some(Halted { exit: Exit::Failed, task, note: row.note().cloned() });
    }
    let task = &s.plan[s.tally.completion?];
    let reason = said_reason(s, s.tally.completion?);
    Some(Halted { exit: Exit::Concluded, task: Some(task.name.value.clone()), note: reason })
}

fn stopped() -> Halted {
    Halted { exit: Exit::Stopped, task: None, note: None }
}

/// A stop that comes while an interrupted run cleans up ends the run for good, once nothing is in flight. What
/// was decided before stays so.
fn stopped_while_interrupted(s: &Scheduler) -> Option<Halted> {
    let in_flight = s.in_flight() > 0 || s.unverified().next().is_some();
    if !s.history.stop_requested || in_flight {
        return None;
    }
    if s.history.halted.is_none() && decided(s) {
        let note = Some("stopped by `plan stop` when its outcome was decided".into());
        return Some(Halted { exit: Exit::Completed, task: None, note });
    }
    Some(stopped())
}

/// The `reason` beside `complete: true`.
fn said_reason(s: &Scheduler, id: crate::ir::TaskId) -> Option<Text> {
    let output = s.history.rows[id.index()].last.as_ref()?.output.as_ref()?;
    Some(super::json::string(super::json::member(output, "reason")?)?.as_ref().into())
}

/// The halt by a ceiling that is reached.
pub(super) fn halted_by(ceiling: Ceiling) -> Halted {
    let note = compact_str::format_compact!("{ceiling} was reached");
    Halted { exit: ceiling.exit(), task: None, note: Some(note) }
}

/// Whether the main graph is at rest, so that the epilogue may start (EXECUTION §4, step 3).
pub(super) fn at_rest(s: &Scheduler) -> bool {
    if s.history.interrupted.is_some() {
        return s.main_is_quiet();
    }
    let quiet =
        if s.concluded() { s.main_is_quiet() } else { *s.tally.unsettled.of(Stage::Main) == 0 && decided(s) };
    quiet && !s.asks_gates() && !acceptance::are_due(s)
}

/// Whether, after a halt with this exit, only `always` tasks of the epilogue run.
pub(super) const fn spares_no_epilogue(exit: Exit) -> bool {
    match exit {
        Exit::CostCeiling
        | Exit::TimeCeiling
        | Exit::StepCeiling
        | Exit::Truncated
        | Exit::Stopped
        | Exit::Stuck => true,
        Exit::Completed | Exit::Concluded | Exit::Failed | Exit::Unaccepted | Exit::Waiting => false,
    }
}

/// The halt after which only `always` tasks of the epilogue run, if there was one.
pub(super) fn only_always(s: &Scheduler) -> Option<Exit> {
    s.history.halted.as_ref().map(|halted| halted.exit).filter(|&exit| spares_no_epilogue(exit))
}

/// The end of the run or of this sitting, once nothing is left to do. A run that was interrupted has none.
pub(super) fn end(s: &Scheduler) -> Option<Body> {
    if s.history.interrupted.is_some() || !s.is_quiet() {
        return None;
    }
    let ended = |exit, verdict| Some(Body::from(RunEnded { exit, verdict }));
    if s.rest.is_some() && *s.tally.unsettled.of(Stage::Epilogue) == 0 {
        let Outcome { exit, verdict } = outcome(s);
        return ended(exit, Some(verdict));
    }
    if !s.tally.asking.is_empty() {
        // A question that time answers does not take a person.
        return if s.tally.deadlines.is_empty() { ended(Exit::Waiting, None) } else { None };
    }
    let note = stuck(s);
    if s.rest.is_some() {
        // The verdict is decided: this is visible, and changes nothing.
        let said = s.history.warnings.last().is_some_and(|warning| warning.message == note);
        if !said {
            return Some(Warning { task: None, message: note }.into());
        }
        let Outcome { exit, verdict } = outcome(s);
        return ended(exit, Some(verdict));
    }
    if s.history.halted.as_ref().is_some_and(|halted| halted.exit == Exit::Stuck) {
        return ended(Exit::Stuck, Some(Verdict::Invalid));
    }
    if s.history.halted.is_some() {
        let Outcome { exit, verdict } = outcome(s);
        return ended(exit, Some(verdict));
    }
    Some(Halted { exit: Exit::Stuck, task: None, note: Some(note) }.into())
}

/// What waits for what, in a run that is stuck.
fn stuck(s: &Scheduler) -> Text {
    const SHOWN: usize = 5;
    let pending = s.plan.ids().filter(|id| s.tasks[id.index()].phase != Phase::Settled);
    let said: Vec<String> = pending
        .take(SHOWN)
        .map(|id| {
            let task = &s.plan[id];
            let open = |of: &&crate::ir::Dependency| s.tasks[of.task.index()].phase != Phase::Settled;
            let reviewer = s.bodies().reviewer(id).filter(|_| s.tasks[id.index()].phase == Phase::Revising);
            if let Some(reviewer) = reviewer {
                let (name, reviewer) = (&task.name.value, &s.plan[reviewer].name.value);
                return format!("`{name}` waits for its reviewer `{reviewer}`");
            }
            match task.depends_on.iter().find(open) {
                Some(of) => format!("`{}` waits for `{}`", task.name.value, s.plan[of.task].name.value),
                None => format!("`{}` waits for nothing", task.name.value),
            }
        })
        .collect();
    compact_str::format_compact!("nothing runs and nothing is ready: {}", said.join("; "))
}
