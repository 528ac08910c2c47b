//! The plan's acceptance gates: when they are asked, whether the work is accepted, and how often the plan goes
//! back for them (LANGUAGE §9).
//!
//! Unaware of how a gate looks at the work.

use super::scheduler::Scheduler;
use super::settle;
use super::verdict;
use crate::event::{Body, Exit, Halted, RoundStarted, VerifierEnded};
use crate::ir::{self, Stage, TaskId};
use crate::source::Text;

/// The gates that have not spoken since the work was done.
pub(super) fn silent(s: &Scheduler) -> impl Iterator<Item = &ir::Verify> {
    s.plan.gates.iter().filter(|gate| !s.history.gates.contains_key(&gate.name.value))
}

/// Whether every gate has spoken, and every required one accepted.
pub(super) fn accepted(s: &Scheduler) -> bool {
    silent(s).next().is_none() && rejections(s).next().is_none()
}

/// The required gates that do not hold, in the order declared.
fn rejections(s: &Scheduler) -> impl Iterator<Item = (&ir::Verify, &VerifierEnded)> {
    let spoken = |gate: &'_ ir::Verify| s.history.gates.get(&gate.name.value);
    s.plan.gates.iter().filter_map(move |gate| Some((gate, spoken(gate)?)).filter(|(_, said)| said.rejects()))
}

/// Whether the gates have to be asked: the main graph has settled and holds, or the run ended early and well
/// and nothing of it is in flight.
pub(super) fn are_due(s: &Scheduler) -> bool {
    if s.history.interrupted.is_some() || s.tally.failures > 0 || silent(s).next().is_none() {
        return false;
    }
    if s.concluded() { s.main_is_quiet() } else { s.history.halted.is_none() && settled(s) }
}

/// Whether every main task has settled, every required one holds, and none ended the run early.
pub(super) fn settled(s: &Scheduler) -> bool {
    *s.tally.unsettled.of(Stage::Main) == 0 && s.tally.failures == 0 && s.tally.completion.is_none()
}

/// What follows from gates that do not hold: the plan goes back for them, or ends. None while some have not
/// spoken, and where they hold.
pub(super) fn follows(s: &Scheduler) -> Option<Body> {
    if silent(s).next().is_some() {
        return None;
    }
    let rejections: Vec<_> = rejections(s).collect();
    if rejections.is_empty() {
        return None;
    }
    let note = || {
        let said: Vec<String> = rejections.iter().map(|(_, said)| settle::objection(said)).collect();
        super::note::note(&said.join("; "))
    };
    let from: Option<Vec<TaskId>> =
        rejections.iter().map(|(gate, _)| gate.repair_from.map(|from| from.value)).collect();
    let Some(from) = from.filter(|_| s.history.repairs() < s.plan.header.max_repairs) else {
        return Some(Halted { exit: Exit::Unaccepted, task: None, note: Some(note()) }.into());
    };
    if let Some(ceiling) = s.limits.forbids(&s.used(), None) {
        return Some(verdict::halted_by(ceiling).into());
    }
    let gates = rejections.iter().map(|(gate, _)| gate.name.value.clone()).collect();
    let round = s.history.plan_round() + 1;
    Some(RoundStarted { reviewer: None, round, tasks: again(s, &from), gates }.into())
}

/// These tasks and every task downstream of them, in declaration order.
fn again(s: &Scheduler, from: &[TaskId]) -> Vec<Text> {
    let mut all = vec![false; s.plan.tasks.len()];
    for &id in from {
        all[id.index()] = true;
        for (all, below) in all.iter_mut().zip(s.plan.graph().downstream(id)) {
            *all |= below;
        }
    }
    s.plan.ids().filter(|id| all[id.index()]).map(|id| s.plan[id].name.value.clone()).collect()
}
