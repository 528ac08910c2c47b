//! What reviews do to queues and counters: a body is held back until its reviewer has settled for good, and
//! its tasks are pending again in each round (EXECUTION §4).
//!
//! Whether there is another round, `rounds.rs` says.

use super::Scheduler;
use crate::event::{Event, TaskSettled};
use crate::exec::rounds;
use crate::exec::states::{On, Phase};
use crate::exec::units::Unit;
use crate::history::{Mismatch, Row};
use crate::ir::{Bodies, Stage, TaskId};
use crate::source::Text;

impl Scheduler {
    pub(in crate::exec) fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// The reviewers that have sent their bodies back, in declaration order.
    pub(in crate::exec) fn sent_back(&self) -> impl Iterator<Item = TaskId> {
        self.sent_back.iter().copied()
    }

    /// What it comes to that a task settles: one that is reviewed waits for its reviewer.
    pub(super) fn settles(&self, settled: &TaskSettled) -> On {
        let Some((task, None)) = self.history.locate(&settled.task) else { return On::Settled };
        let id = TaskId::from(task);
        let held = match self.bodies.reviewer(id) {
            None => false,
            Some(reviewer) if reviewer == id => rounds::sends_back(self, id, settled.status),
            Some(reviewer) => {
                let over = self.tasks[reviewer.index()].phase == Phase::Settled;
                !over && !rounds::is_cut_short(self, reviewer)
            }
        };
        if held { On::SettledInRound } else { On::Settled }
    }

    /// Whether a settled task may have to run again: when a sitting begins, from the history alone.
    pub(super) fn is_held(&self, id: TaskId) -> bool {
        let Some(reviewer) = self.bodies.reviewer(id) else { return false };
        match self.history.rows[reviewer.index()].status() {
            None => !rounds::is_cut_short(self, reviewer),
            Some(status) => rounds::sends_back(self, reviewer, status),
        }
    }

    /// `unit` has settled in this round: who waits for it inside its body is told. A reviewer's body is sent
    /// back.
    pub(super) fn tell_body(&mut self, unit: Unit) {
        let id = self.id(unit);
        self.remember_cause(unit);
        if self.bodies.reviewer(id) == Some(id) {
            self.sent_back.insert(id);
            return;
        }
        if self.bodies.binds(id) {
            self.count_failure(id);
        }
        for at in 0..self.plan.graph().dependents(id).len() {
            let dependent = self.plan.graph().dependents(id)[at];
            if self.bodies.together(id, dependent) {
                self.met(dependent);
            }
        }
    }

    /// The tasks of a body, in dependency order: those that are sent back, and then the reviewer.
    fn body(&self, reviewer: TaskId) -> Vec<TaskId> {
        let targets = self.plan[reviewer].revise.iter().map(|target| target.value);
        let mut body: Vec<TaskId> = targets.chain([reviewer]).collect();
        body.sort_unstable_by_key(|&id| self.plan.graph().position(id));
        body
    }

    /// The review of `reviewer` is over: what its body settled as in the last round stays.
    pub(super) fn end_review(&mut self, reviewer: TaskId, event: &Event) -> Result<(), Mismatch> {
        self.sent_back.remove(&reviewer);
        for id in self.body(reviewer) {
            if self.tasks[id.index()].phase != Phase::Revising {
                continue;
            }
            let name = self.plan[id].name.value.clone();
            let (unit, phase, then) = self.step(&name, On::Reviewed)?;
            *self.phase_mut(unit) = phase;
            for &then in then {
                self.then(unit, then, event)?;
            }
        }
        Ok(())
    }

    /// No further round begins in this stage.
    pub(super) fn end_reviews(&mut self, stage: Stage, event: &Event) -> Result<(), Mismatch> {
        let reviewer = |&id: &TaskId| self.plan[id].stage == stage && self.bodies.reviewer(id) == Some(id);
        let reviewers: Vec<TaskId> = self.plan.ids().filter(reviewer).collect();
        reviewers.into_iter().try_for_each(|reviewer| self.end_review(reviewer, event))
    }

    /// A round begins: `tasks`, and then `reviewer`, are pending again.
    pub(super) fn begin_round(&mut self, reviewer: &Text, tasks: &[Text]) -> Result<(), Mismatch> {
        let body: Vec<Unit> =
            tasks.iter().chain([reviewer]).map(|name| self.locate(name)).collect::<Result<_, _>>()?;
        for &unit in &body {
            let id = self.id(unit);
            let inside = self.plan[id].depends_on.iter().filter(|on| self.bodies.together(id, on.task));
            let unmet = u32::try_from(inside.count()).expect("a plan has fewer than 2^32 tasks");
            let state = &mut self.tasks[id.index()];
            (state.phase, state.unmet, state.counted) = (Phase::Pending, unmet, false);
            self.causes.remove(&unit);
            self.sent_back.remove(&id);
        }
        for unit in body {
            self.enqueue(unit);
        }
        Ok(())
    }

    /// Whether `dependent` has to wait for `of` still: it has not settled, or its review is not over and
    /// `dependent` stands outside of it.
    pub(super) fn holds_up(&self, of: TaskId, dependent: TaskId, row: &Row) -> bool {
        let revising = self.tasks[of.index()].phase == Phase::Revising;
        !row.is_settled() || (revising && !self.bodies.together(of, dependent))
    }
}
