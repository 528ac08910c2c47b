//! When the main graph comes to rest, and the epilogue's turn comes.
//!
//! What the run has come to by then, `verdict.rs` says.

use super::Scheduler;
use crate::exec::states::{Phase, RunOn, RunPhase};
use crate::exec::units::Unit;
use crate::exec::verdict;
use crate::history::Mismatch;
use crate::ir::{Millis, Stage, TaskId};

impl Scheduler {
    /// A signal came: only clean-up starts, and what will not run now counts as blocked for it.
    pub(super) fn only_cleanup(&mut self, now: Millis) {
        for at in 0..self.epilogue.len() {
            let id = self.epilogue[at];
            if self.plan[id].always.value {
                let waits = self.plan[id].depends_on.iter().filter(|dependency| {
                    let of = dependency.task;
                    self.plan[of].always.value && self.tasks[of.index()].phase != Phase::Settled
                });
                self.tasks[id.index()].unmet = u32::try_from(waits.count()).unwrap_or(u32::MAX);
            }
        }
        if self.rest.is_some() {
            let (plan, order) = (self.plan.clone(), self.plan.graph().order());
            self.queues
                .of_mut(Stage::Epilogue)
                .retain(|unit| plan[order[unit.position as usize]].always.value);
            self.cleanup_since.get_or_insert(now);
            self.enqueue_epilogue();
        }
    }

    /// Once the main graph is at rest, the epilogue's turn comes (EXECUTION §4, step 3).
    pub(super) fn come_to_rest(&mut self, now: Millis) -> Result<(), Mismatch> {
        match self.run {
            RunPhase::Admitted | RunPhase::Waiting | RunPhase::Ended => return Ok(()),
            RunPhase::Dispatching | RunPhase::Draining | RunPhase::Concluding | RunPhase::Interrupted => {}
        }
        if self.rest.is_some() || !verdict::at_rest(self) {
            return Ok(());
        }
        self.walk(RunOn::AtRest)?;
        self.rest = Some(self.history.seq);
        if verdict::only_always(self).is_some() || self.history.interrupted.is_some() {
            self.cleanup_since = Some(now);
        }
        self.enqueue_epilogue();
        Ok(())
    }

    /// Whether the main graph waits for nothing that ran and has not settled.
    pub(in crate::exec) fn main_is_quiet(&self) -> bool {
        let queue = self.queues.of(Stage::Main);
        let order = self.plan.graph().order();
        let main = |unit: &Unit| self.plan[order[unit.position as usize]].stage == Stage::Main;
        *self.tally.running.of(Stage::Main) == 0
            && (self.history.interrupted.is_some()
                || (queue.waiting_count() == 0
                    && queue.first_again().is_none()
                    && queue.first_cut_off().is_none()
                    && !self.tally.asking.iter().any(|unit| main(unit) && self.row(*unit).cut_off)
                    && !self.verify.iter().any(main)
                    && !self.judge.iter().any(main)
                    && !self.folds.iter().any(main)))
    }

    /// Whether nothing is in flight and nothing follows from what has happened.
    pub(in crate::exec) fn is_quiet(&self) -> bool {
        let waits = |stage| self.queues.of(stage).waiting_count();
        self.in_flight() == 0
            && self.verify.is_empty()
            && !self.asking_gates
            && self.judge.is_empty()
            && self.folds.is_empty()
            && waits(Stage::Main) + waits(Stage::Epilogue) == 0
    }

    fn enqueue_epilogue(&mut self) {
        for at in 0..self.epilogue.len() {
            self.enqueue_all(self.epilogue[at]);
        }
    }

    pub(super) fn enqueue_all(&mut self, id: TaskId) {
        let position = self.plan.graph().position(id);
        let instances = self.tasks[id.index()].spread.as_ref().map_or(0, |spread| spread.units.len());
        self.enqueue(Unit::whole(position));
        for at in 0..instances {
            self.enqueue(Unit::part(position, Some(at)));
        }
    }
}
