//! What the scheduler schedules: whole tasks and instances, each a [`Unit`], and the queues they stand in.
//!
//! Every operation costs at most the logarithm of a queue's length. Unaware of why a unit is queued.

use std::collections::BTreeSet;

use super::fanout::Element;
use super::states::Phase;
use crate::history::Row;
use crate::ir::{Millis, Stage};

/// A whole task, or one instance of a mapped one. Ordered as they are considered (EXECUTION §4): by
/// position in the topological order, then by place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit {
    /// The task's position in the topological order.
    pub(super) position: u32,
    /// 0 for the whole task; an instance's place in the list, from 1.
    slot: u32,
}

impl Unit {
    /// The whole task at `position`.
    pub(super) const fn whole(position: u32) -> Self {
        Self { position, slot: 0 }
    }

    /// Its instance at `index`, or the whole task.
    pub(super) fn part(position: u32, index: Option<usize>) -> Self {
        let slot =
            index.map_or(0, |at| u32::try_from(at + 1).expect("a fan-out has at most 10,000 instances"));
        Self { position, slot }
    }

    /// The instance's place in the list, from 0.
    pub(super) fn index(self) -> Option<usize> {
        (self.slot as usize).checked_sub(1)
    }
}

/// The queues of one stage.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// Nothing is left to wait for, and what comes is no attempt: it needs no slot.
    free: BTreeSet<Unit>,
    /// Nothing is left to wait for, and the attempt reserves no money.
    plain: BTreeSet<Unit>,
    /// Nothing is left to wait for but, perhaps, money that others have reserved.
    priced: BTreeSet<Unit>,
    /// Those of the two whose retry is due: they ran before.
    again: BTreeSet<Unit>,
    /// Those of all that were in flight when the last sitting was cut off.
    cut_off: BTreeSet<Unit>,
    /// Who waits before another attempt, and until when.
    waits: BTreeSet<(Millis, Unit)>,
}

/// What stands in the way of what is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Nothing: it is no attempt.
    Free,
    /// A slot.
    Plain,
    /// A slot, and money.
    Priced,
}

impl Queue {
    pub(super) fn push(&mut self, unit: Unit, lane: Lane, row: &Row) {
        match lane {
            Lane::Free => &mut self.free,
            Lane::Plain => &mut self.plain,
            Lane::Priced => &mut self.priced,
        }
        .insert(unit);
        if row.attempts > 0 {
            self.again.insert(unit);
        }
        if row.cut_off {
            self.cut_off.insert(unit);
        }
    }

    pub(super) fn remove(&mut self, unit: Unit) {
        for set in [&mut self.plain, &mut self.priced, &mut self.free] {
            if set.remove(&unit) {
                break;
            }
        }
        self.again.remove(&unit);
        self.cut_off.remove(&unit);
    }

    /// The first of each lane, the earliest first.
    pub(super) fn heads(&self) -> impl Iterator<Item = Unit> + use<> {
        let mut heads = [&self.free, &self.plain, &self.priced].map(|lane| lane.first().copied());
        heads.sort_unstable();
        heads.into_iter().flatten()
    }

    /// The first behind `unit`, and not of its task, that reserves money.
    pub(super) fn next_priced(&self, unit: Unit) -> Option<Unit> {
        self.priced.range(Unit::whole(unit.position + 1)..).next().copied()
    }

    /// The first whose retry is due.
    pub(super) fn first_again(&self) -> Option<Unit> {
        self.again.first().copied()
    }

    /// The first that was in flight when the last sitting was cut off.
    pub(super) fn first_cut_off(&self) -> Option<Unit> {
        self.cut_off.first().copied()
    }

    pub(super) fn wait(&mut self, until: Millis, unit: Unit) {
        self.waits.insert((until, unit));
    }

    /// Ends the wait of `unit`, which waits until `until`.
    pub(super) fn unwait(&mut self, until: Millis, unit: Unit) {
        self.waits.remove(&(until, unit));
    }

    /// Who waits, the shortest wait first.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (Millis, Unit)> {
        self.waits.iter().copied()
    }

    pub(super) fn waiting_count(&self) -> usize {
        self.waits.len()
    }

    pub(super) fn retain(&mut self, keep: impl Fn(Unit) -> bool) {
        for set in [&mut self.free, &mut self.plain, &mut self.priced, &mut self.again, &mut self.cut_off] {
            set.retain(|&unit| keep(unit));
        }
    }
}

/// One value for each stage.
#[derive(Clone, Debug, Default)]
pub(super) struct ByStage<T> {
    main: T,
    epilogue: T,
}

impl<T> ByStage<T> {
    pub(super) fn of(&self, stage: Stage) -> &T {
        match stage {
            Stage::Main => &self.main,
            Stage::Epilogue => &self.epilogue,
        }
    }

    pub(super) fn of_mut(&mut self, stage: Stage) -> &mut T {
        match stage {
            Stage::Main => &mut self.main,
            Stage::Epilogue => &mut self.epilogue,
        }
    }
}

/// What the scheduler keeps of one task besides its row.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskState {
    pub(super) phase: Phase,
    /// Dependencies that are not terminal. Of an aligned one it is enough that its instances are named.
    pub(super) unmet: u32,
    /// Until when it waits before another attempt.
    pub(super) until: Millis,
    /// Whether a task with `done_when` upstream has run (LANGUAGE §11).
    pub(super) rewound: bool,
    /// Whether it was counted among what failed, if it did.
    pub(super) counted: bool,
    /// Its instances, once they are named.
    pub(super) spread: Option<Box<Spread>>,
}

/// The instances of a mapped task.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    pub(super) elements: Vec<Element>,
    pub(super) units: Vec<Instance>,
    /// How many are not terminal.
    pub(super) unsettled: usize,
    /// How many passed.
    pub(super) passed: usize,
    /// The greatest settle of a dependency that all instances share.
    pub(super) needs: u64,
    /// Whether they wait for instances of aligned tasks.
    pub(super) has_own: bool,
    /// For instances that run one at a time: who is ready and has to let others go first.
    pub(super) serial: Option<Serial>,
}

/// One instance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Instance {
    pub(super) phase: Phase,
    /// Instances of aligned tasks that are not terminal.
    pub(super) unmet: u32,
    /// Until when it waits before another attempt.
    pub(super) until: Millis,
}

/// Instances that promise files in one workspace run one at a time (LANGUAGE §10).
#[derive(Clone, Debug, Default)]
pub(super) struct Serial {
    pub(super) ready: BTreeSet<Unit>,
    /// The one that stands in the queue, or is in flight.
    pub(super) turn: Option<Unit>,
}
