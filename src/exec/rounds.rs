//! Review rounds: when a reviewer sends its body back, when its review is over, and what is read of the round
//! before (LANGUAGE §9).
//!
//! Each round is asked for anew: nothing here remembers one. Unaware of queues and counters.

use super::readiness;
use super::scheduler::Scheduler;
use super::units::Unit;
use super::verdict;
use crate::event::{Body, RoundStarted, Status};
use crate::history::{Repair, Round, Row};
use crate::ir::{Stage, TaskId};

/// The review that sent a task back.
pub(super) struct Review<'a> {
    /// Who sent it back.
    pub(super) reviewer: TaskId,
    /// How the reviewer came out in the round before.
    pub(super) last: &'a Round,
    /// Which round of this review runs now, from 2.
    pub(super) round: u32,
    /// How many there may be.
    pub(super) max_rounds: u32,
}

/// The review because of which `task` runs again. None in the first round, and outside of bodies.
pub(super) fn review(s: &Scheduler, task: TaskId) -> Option<Review<'_>> {
    let reviewer = s.bodies().reviewer(task)?;
    let row = row(s, reviewer);
    let round = row.review_round();
    if round == 1 {
        return None;
    }
    Some(Review { reviewer, last: row.rounds.last()?, round, max_rounds: max_rounds(s, reviewer) })
}

/// The repair of the plan in which `task` runs again. None where it does not, and in later rounds of a review.
pub(super) fn repair(s: &Scheduler, task: TaskId) -> Option<&Repair> {
    let row = row(s, task);
    let repair = s.history.repair.as_ref()?;
    (row.repair == repair.round && row.first_round == row.round).then_some(repair)
}

/// The round that `task` is told: that of its review, or of the repair of the plan in which it runs again, as
/// `revision` has it; so that all of a body are told the same. In a log rounds are counted through.
pub(super) fn told(s: &Scheduler, task: TaskId) -> u32 {
    let review = review(s, task).map(|review| review.round);
    review.or(repair(s, task).map(|repair| repair.round)).unwrap_or(1)
}

/// Whether `reviewer` sends its body back if it settles, or has settled, as `status`: it failed, rounds
/// remain, and the run still goes on with them.
pub(super) fn sends_back(s: &Scheduler, reviewer: TaskId, status: Status) -> bool {
    let failed = match status {
        Status::Fail => true,
        Status::Pass
        | Status::Partial
        | Status::NotTaken
        | Status::Skipped
        | Status::Transport
        | Status::Blocked
        | Status::Truncated => false,
    };
    failed
        && row(s, reviewer).review_round() < max_rounds(s, reviewer)
        && !is_cut_short(s, reviewer)
        && !is_barred(s, reviewer)
}

/// Whether nothing that `reviewer` sends back could run any more. In the main graph that is a halt.
fn is_barred(s: &Scheduler, reviewer: TaskId) -> bool {
    if s.plan[reviewer].stage == Stage::Main {
        return false;
    }
    s.plan[reviewer].revise.iter().any(|target| {
        let ceiling = || !s.plan[target.value].always.value && s.limits.forbids(&s.used(), None).is_some();
        readiness::barred(s, Unit::whole(s.plan.graph().position(target.value))).is_some() || ceiling()
    })
}

/// Whether no further round of `reviewer` begins, whatever it says: the main graph has halted, or a signal
/// came while the epilogue ran, which starts over then.
pub(super) fn is_cut_short(s: &Scheduler, reviewer: TaskId) -> bool {
    match s.plan[reviewer].stage {
        Stage::Main => s.history.halted.is_some(),
        Stage::Epilogue => s.history.interrupted.is_some(),
    }
}

/// The round that is due, or the ceiling that forbids it.
pub(super) fn due(s: &Scheduler) -> Option<Body> {
    let interrupted = s.history.interrupted.is_some();
    let reviewer = s.sent_back().find(|_| !interrupted)?;
    let body = s.plan[reviewer].revise.iter().map(|target| target.value).chain([reviewer]);
    let most = body.filter_map(|id| s.plan[id].max_usd.map(|most| most.value)).max();
    if s.plan[reviewer].stage == Stage::Main
        && let Some(ceiling) = s.limits.forbids(&s.used(), most)
    {
        return Some(verdict::halted_by(ceiling).into());
    }
    let mut targets: Vec<TaskId> = s.plan[reviewer].revise.iter().map(|target| target.value).collect();
    targets.sort_unstable_by_key(|&id| s.plan.graph().position(id));
    let name = |id: TaskId| s.plan[id].name.value.clone();
    Some(
        RoundStarted {
            reviewer: Some(name(reviewer)),
            round: row(s, reviewer).round + 1,
            tasks: targets.into_iter().map(name).collect(),
            gates: Vec::new(),
        }
        .into(),
    )
}

fn row(s: &Scheduler, task: TaskId) -> &Row {
    &s.history.rows[task.index()]
}

fn max_rounds(s: &Scheduler, reviewer: TaskId) -> u32 {
    s.plan[reviewer].max_rounds.as_ref().map_or(1, |most| most.value)
}
