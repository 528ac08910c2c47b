//! A mapped task gets its instances.
//!
//! Whether its list is good, and how it is named, `fanout.rs` says.

use indexmap::IndexMap;

use super::Scheduler;
use crate::exec::fanout::{self, Produced, aligned};
use crate::exec::readiness;
use crate::exec::states::Phase;
use crate::exec::units::{Instance, Serial, Spread, Unit};
use crate::history::Mismatch;
use crate::ir::{Isolation, TaskId};

impl Scheduler {
    /// `instances_named` has named the instances of a mapped task.
    pub(super) fn spread(&mut self, unit: Unit) -> Result<(), Mismatch> {
        let id = self.id(unit);
        let spread = self.new_spread(unit)?;
        let count = spread.units.len();
        self.tasks[id.index()].spread = Some(spread);
        if count == 0 {
            self.folds.insert(unit);
        }
        for at in 0..count {
            self.enqueue(Unit::part(unit.position, Some(at)));
        }
        self.tell_aligned(id);
        Ok(())
    }

    pub(super) fn new_spread(&self, unit: Unit) -> Result<Box<Spread>, Mismatch> {
        let (id, task) = (self.id(unit), self.task(unit));
        let produced = |producer| Produced::of(self.seen(producer, unit));
        let elements = fanout::elements(&self.plan, task, produced).map_err(|wrong| Mismatch {
            message: format!("the log names instances of `{}`, and {wrong}", task.name.value),
        })?;
        let row = &self.history.rows[id.index()];
        let named = row.instances.as_ref().map_or(0, IndexMap::len);
        if named != elements.len() {
            let (name, listed) = (&row.name, elements.len());
            let message = format!("the log names {named} instances of `{name}`, and its list has {listed}");
            return Err(Mismatch { message });
        }
        let serial = !task.emits_files.is_empty() && task.isolation.value == Isolation::None;
        let units = (0..elements.len())
            .map(|at| Instance { unmet: self.unmet_of_instance(id, at), ..Instance::default() })
            .collect();
        Ok(Box::new(Spread {
            unsettled: elements.len(),
            passed: 0,
            needs: readiness::shared_needs(self, id),
            has_own: task.depends_on.iter().any(|dependency| {
                let of = dependency.task;
                aligned(task, &self.plan[of]) && self.history.rows[of.index()].instances.is_some()
            }),
            serial: serial.then(Serial::default),
            elements,
            units,
        }))
    }

    /// How many aligned instances the instance at `at` waits for.
    fn unmet_of_instance(&self, id: TaskId, at: usize) -> u32 {
        let task = &self.plan[id];
        let waits = task.depends_on.iter().filter(|dependency| {
            let of = dependency.task;
            let spread = self.tasks[of.index()].spread.as_ref();
            aligned(task, &self.plan[of])
                && spread.is_some_and(|spread| {
                    spread.units.get(at).is_some_and(|unit| unit.phase != Phase::Settled)
                })
        });
        u32::try_from(waits.count()).expect("a plan has fewer than 2^32 tasks")
    }
}
