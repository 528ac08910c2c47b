//! Queues and counters anew from the history: at admission, and when a sitting begins.
//!
//! Nothing is in flight then, and nothing waits.

use indexmap::IndexMap;

use super::Scheduler;
use super::effects::says_complete;
use super::verification::phase_of_ended;
use crate::event::Status;
use crate::exec::admission;
use crate::exec::budget::Limits;
use crate::exec::fanout::aligned;
use crate::exec::states::Phase;
use crate::exec::units::{ByStage, TaskState, Unit};
use crate::history::{Mismatch, Row};
use crate::ir::{Stage, Task, TaskId, Usd};

impl Scheduler {
    /// Everything but the history, anew from the history: at admission and when a sitting begins.
    pub(super) fn rebuild(&mut self) -> Result<(), Mismatch> {
        self.limits = Limits::new(&self.plan, self.history.ceilings);
        self.runnable = admission::runnable(&self.plan, &self.history.caps);
        let dispatched = self.history.last_attempt > 0;
        self.gap = if dispatched { None } else { admission::gap(&self.plan, &self.runnable) };
        self.tasks = vec![TaskState::default(); self.plan.tasks.len()];
        self.queues = ByStage::default();
        self.tally = super::Tally::default();
        self.verify.clear();
        self.asking_gates = false;
        self.judge.clear();
        self.folds.clear();
        self.sent_back.clear();
        self.causes.clear();
        self.notices.clear();
        self.rest = None;
        self.cleanup_since = None;
        self.cache.forget();
        for at in 0..self.plan.tasks.len() {
            let id = self.plan.graph().order()[at];
            self.rebuild_task(id)?;
        }
        for id in self.plan.ids() {
            if self.plan[id].stage == Stage::Main {
                self.enqueue_all(id);
            }
        }
        Ok(())
    }

    /// One task, after everything upstream of it.
    fn rebuild_task(&mut self, id: TaskId) -> Result<(), Mismatch> {
        let unit = Unit::whole(self.plan.graph().position(id));
        let row = &self.history.rows[id.index()];
        let held = row.is_settled() && self.is_held(id);
        let phase = if held { Phase::Revising } else { phase_of_row(&self.plan[id], row) };
        let (named, settled, cost) = (row.instances.is_some(), row.is_settled(), cost_of(row));
        let ran = row.ran || row.instances.iter().flat_map(IndexMap::values).any(|row| row.ran);
        let task = &self.plan[id];
        let (stage, always) = (task.stage, task.always.value);
        let rewinds = task.done_when.is_some() && ran;
        self.tasks[id.index()].phase = phase;
        self.tasks[id.index()].unmet = self.unmet_of_task(id);
        if named {
            self.spread_again(unit)?;
        }
        if settled {
            self.remember_cause(unit);
        }
        if settled && !held {
            self.count_failure(id);
            self.find_completion(id);
        } else {
            *self.tally.unsettled.of_mut(stage) += 1;
        }
        if held && self.bodies.binds(id) {
            self.count_failure(id);
        }
        if held && self.bodies.reviewer(id) == Some(id) {
            self.sent_back.insert(id);
        }
        if always {
            self.tally.cleanup = self.tally.cleanup.plus(cost);
        }
        if rewinds {
            self.rewind(id);
        }
        let row = &self.history.rows[id.index()];
        let rows = row.instances.iter().flat_map(IndexMap::values).chain([row]);
        let last: Vec<_> =
            rows.filter_map(|row| row.last.clone()).filter(|last| last.call.is_some()).collect();
        last.iter().for_each(|last| self.look_for_ceiling(id, last));
        self.note_phase(unit, phase);
        Ok(())
    }

    fn find_completion(&mut self, id: TaskId) {
        let task = &self.plan[id];
        let row = &self.history.rows[id.index()];
        let passed = row.status().is_some_and(Status::passes);
        let says = || match &row.instances {
            Some(instances) => instances.values().any(says_complete),
            None => says_complete(row),
        };
        if task.may_complete && task.stage == Stage::Main && passed && says() {
            self.tally.completion.get_or_insert(id);
        }
    }

    fn note_phase(&mut self, unit: Unit, phase: Phase) {
        match phase {
            Phase::Verifying => {
                self.verify.insert(unit);
            }
            Phase::Ended => {
                self.judge.insert(unit);
            }
            Phase::Asking => self.ask(unit),
            Phase::Pending
            | Phase::Running
            | Phase::Waiting
            | Phase::Expanding
            | Phase::Revising
            | Phase::Settled => {}
        }
    }

    fn unmet_of_task(&self, id: TaskId) -> u32 {
        let task = &self.plan[id];
        let unmet = task.depends_on.iter().filter(|dependency| {
            let row = &self.history.rows[dependency.task.index()];
            let named = row.instances.is_some() && aligned(task, &self.plan[dependency.task]);
            self.holds_up(dependency.task, id, row) && !named
        });
        u32::try_from(unmet.count()).expect("a plan has fewer than 2^32 tasks")
    }

    fn spread_again(&mut self, unit: Unit) -> Result<(), Mismatch> {
        let id = self.id(unit);
        let mut spread = self.new_spread(unit)?;
        let rows = self.history.rows[id.index()].instances.iter().flat_map(IndexMap::values);
        for (instance, row) in spread.units.iter_mut().zip(rows) {
            instance.phase = phase_of_row(&self.plan[id], row);
            spread.unsettled -= usize::from(row.is_settled());
            spread.passed += usize::from(row.status().is_some_and(Status::passes));
        }
        let open = spread.unsettled == 0 && self.tasks[id.index()].phase == Phase::Expanding;
        if open {
            self.folds.insert(unit);
        }
        let phases: Vec<Phase> = spread.units.iter().map(|instance| instance.phase).collect();
        self.tasks[id.index()].spread = Some(spread);
        for (at, phase) in phases.into_iter().enumerate() {
            let part = Unit::part(unit.position, Some(at));
            self.remember_cause(part);
            self.note_phase(part, phase);
        }
        Ok(())
    }
}

/// The phase that a row tells of, when a sitting begins: nothing is in flight, and nothing waits.
fn phase_of_row(task: &Task, row: &Row) -> Phase {
    if row.is_settled() {
        Phase::Settled
    } else if row.instances.is_some() {
        Phase::Expanding
    } else if row.asked.is_some() {
        Phase::Asking
    } else if row.ended {
        phase_of_ended(task, row)
    } else {
        Phase::Pending
    }
}

fn cost_of(row: &Row) -> Usd {
    let instances = row.instances.iter().flat_map(IndexMap::values);
    instances.fold(row.cost, |sum, row| sum.plus(row.cost))
}
