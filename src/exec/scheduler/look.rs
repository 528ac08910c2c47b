//! What decisions look at: the task, the row and the name behind a unit, and what it sees of others.

use super::Scheduler;
use crate::exec::budget::Used;
use crate::exec::fanout::aligned;
use crate::exec::states::Phase;
use crate::exec::units::Unit;
use crate::history::{Row, instance_name};
use crate::ir::{Millis, OnFailure, Task, TaskId};
use crate::source::Text;

impl Scheduler {
    pub(in crate::exec) fn id(&self, unit: Unit) -> TaskId {
        self.plan.graph().order()[unit.position as usize]
    }

    pub(in crate::exec) fn task(&self, unit: Unit) -> &Task {
        &self.plan[self.id(unit)]
    }

    pub(in crate::exec) fn row(&self, unit: Unit) -> &Row {
        let row = &self.history.rows[self.id(unit).index()];
        let instance = unit.index().and_then(|at| row.instances.as_ref()?.get_index(at));
        instance.map_or(row, |(_, row)| row)
    }

    pub(in crate::exec) fn name(&self, unit: Unit) -> Text {
        let task = &self.task(unit).name.value;
        match unit.index() {
            Some(_) => instance_name(task, &self.row(unit).name),
            None => task.clone(),
        }
    }

    /// What `unit` sees of `of`: an instance sees the same element's instance of an aligned task.
    pub(in crate::exec) fn seen(&self, of: TaskId, unit: Unit) -> &Row {
        self.row(self.seen_unit(of, unit))
    }

    pub(in crate::exec) fn seen_unit(&self, of: TaskId, unit: Unit) -> Unit {
        let index = unit.index().filter(|_| {
            self.history.rows[of.index()].instances.is_some() && aligned(self.task(unit), &self.plan[of])
        });
        Unit::part(self.plan.graph().position(of), index)
    }

    pub(in crate::exec) fn used(&self) -> Used {
        Used {
            spent: self.history.spent,
            cleanup: self.tally.cleanup,
            elapsed: self.history.elapsed(),
            steps: self.history.steps,
        }
    }

    /// Whether a required failure lets the rest go on.
    pub(in crate::exec) fn keeps_going(&self) -> bool {
        self.history.keep_going || self.plan.header.on_failure == OnFailure::Continue
    }

    pub(in crate::exec) fn phase_of(&self, unit: Unit) -> Phase {
        let state = &self.tasks[self.id(unit).index()];
        match unit.index() {
            Some(at) => state.spread.as_ref().map_or(Phase::Pending, |spread| spread.units[at].phase),
            None => state.phase,
        }
    }

    pub(super) fn phase_mut(&mut self, unit: Unit) -> &mut Phase {
        let id = self.id(unit);
        let state = &mut self.tasks[id.index()];
        match (unit.index(), &mut state.spread) {
            (Some(at), Some(spread)) => &mut spread.units[at].phase,
            _ => &mut state.phase,
        }
    }

    pub(super) fn until_mut(&mut self, unit: Unit) -> &mut Millis {
        let id = self.id(unit);
        let state = &mut self.tasks[id.index()];
        match (unit.index(), &mut state.spread) {
            (Some(at), Some(spread)) => &mut spread.units[at].until,
            _ => &mut state.until,
        }
    }
}
