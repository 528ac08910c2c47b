//! Which captured file sets are staged for whom, and under which names (EXECUTION §7).
//!
//! A passing task's set reaches every descendant; a failing one's only a task that joins `"settled"` on it
//! directly, and the epilogue through `outcome`. Unaware of where content lies.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::fanout::aligned;
use super::ports::Staged;
use super::rounds;
use super::scheduler::Scheduler;
use super::units::Unit;
use crate::event::Status;
use crate::history::{Row, directory};
use crate::ir::{Join, TaskId};
use crate::validate::ValidPlan;

/// The file sets that are staged for `unit`, in the order of their tasks; `outcome` are those that an
/// epilogue task gets besides.
pub(super) fn staged(s: &Scheduler, unit: Unit, outcome: Option<&[Staged]>) -> Vec<Staged> {
    let mut sets = Sets::default();
    if s.cache.upstream.any {
        passing_upstream(s, unit, &mut sets);
        if s.task(unit).join.value == Join::Settled {
            for dependency in &s.task(unit).depends_on {
                sets.add(s, s.seen_unit(dependency.task, unit), |_| true);
            }
        }
    }
    let mut all: Vec<Staged> = sets.0.into_values().collect();
    all.extend(of_review(s, unit));
    all.extend(outcome.unwrap_or_default().iter().cloned());
    all
}

/// The evidence of the review that sent `unit` back.
fn of_review(s: &Scheduler, unit: Unit) -> Option<Staged> {
    let review = rounds::review(s, s.id(unit))?;
    let set = review.last.files()?.clone();
    Some(Staged { directory: directory(&s.plan[review.reviewer].name.value, None), set })
}

/// Sets by the unit that wrote them.
#[derive(Default)]
struct Sets(BTreeMap<Unit, Staged>);

impl Sets {
    /// Adds the set of `from`, or those of all its instances, where its status is one of the wanted.
    fn add(&mut self, s: &Scheduler, from: Unit, wanted: impl Fn(Status) -> bool) {
        let (task, row) = (&s.task(from).name.value, s.row(from));
        let mut put = |unit: Unit, row: &Row, element: Option<&str>| {
            if let (Some(set), Some(status)) = (row.files(), row.status())
                && wanted(status)
            {
                let directory = directory(task, element);
                self.0.insert(unit, Staged { directory, set: set.clone() });
            }
        };
        match (&row.instances, from.index()) {
            (Some(instances), None) => {
                for (at, (element, row)) in instances.iter().enumerate() {
                    put(Unit::part(from.position, Some(at)), row, Some(element));
                }
            }
            (_, Some(_)) => put(from, row, Some(&row.name)),
            (None, None) => put(from, row, None),
        }
    }
}

fn passing_upstream(s: &Scheduler, unit: Unit, sets: &mut Sets) {
    let id = s.id(unit);
    let own = unit.index().map(|_| s.cache.upstream.of_instances(&s.plan, id));
    let starts = own.as_ref().map_or_else(|| s.cache.upstream.nearest(id), |own| &own.whole);
    let mut seen = rustc_hash::FxHashSet::default();
    let mut stack: Vec<TaskId> = starts.to_vec();
    while let Some(from) = stack.pop() {
        if seen.insert(from) {
            sets.add(s, Unit::whole(s.plan.graph().position(from)), Status::passes);
            stack.extend_from_slice(s.cache.upstream.nearest(from));
        }
    }
    for &from in own.iter().flat_map(|own| &own.same) {
        sets.add(s, s.seen_unit(from, unit), Status::passes);
    }
}

/// Whether a row, or any of its instances, keeps a set. Who gets an envelope of it gets the set staged.
pub(super) fn has_files(row: &Row) -> bool {
    match &row.instances {
        Some(instances) => instances.values().any(|row| row.files().is_some()),
        None => row.files().is_some(),
    }
}

/// Every set that a task and its instances keep, whatever they settled as.
pub(super) fn all_sets(row: &Row, task: &str, into: &mut Vec<Staged>) {
    match &row.instances {
        Some(instances) => {
            for (element, row) in instances {
                let set = row.files().cloned();
                into.extend(set.map(|set| Staged { directory: directory(task, Some(element)), set }));
            }
        }
        None => {
            let set = row.files().cloned();
            into.extend(set.map(|set| Staged { directory: directory(task, None), set }));
        }
    }
}

/// For each task the nearest tasks upstream that promise files: the steps of a walk that passes over all
/// others. Lists are shared where they are equal.
#[derive(Debug, Default)]
pub(super) struct Upstream {
    /// Whether any task promises files.
    any: bool,
    nearest: Vec<Arc<[TaskId]>>,
    instances: Vec<OnceCell<Arc<Own>>>,
}

/// What an instance of a mapped task is downstream of.
#[derive(Debug, Default)]
struct Own {
    /// Tasks of which it sees all.
    whole: Vec<TaskId>,
    /// Aligned tasks that promise files, of which it sees its own element.
    same: Vec<TaskId>,
}

impl Upstream {
    pub(super) fn new(plan: &ValidPlan) -> Self {
        let promises = |id: TaskId| !plan[id].emits_files.is_empty();
        if !plan.ids().any(promises) {
            return Self::default();
        }
        let none: Arc<[TaskId]> = Arc::new([]);
        let mut nearest = vec![Arc::clone(&none); plan.tasks.len()];
        for &id in plan.graph().order() {
            let dependencies = plan.graph().dependencies(id);
            nearest[id.index()] = match dependencies {
                [one] if !promises(*one) => Arc::clone(&nearest[one.index()]),
                _ => {
                    let mut list: Vec<TaskId> = Vec::new();
                    for &of in dependencies {
                        if promises(of) {
                            list.push(of);
                        } else {
                            list.extend_from_slice(&nearest[of.index()]);
                        }
                    }
                    list.sort_unstable();
                    list.dedup();
                    let equal =
                        dependencies.iter().map(|of| &nearest[of.index()]).find(|near| ***near == *list);
                    equal.cloned().unwrap_or_else(|| list.into())
                }
            };
        }
        let instances = vec![OnceCell::new(); plan.tasks.len()];
        Self { any: true, nearest, instances }
    }

    fn nearest(&self, id: TaskId) -> &[TaskId] {
        self.nearest.get(id.index()).map_or(&[], |list| &list[..])
    }

    fn of_instances(&self, plan: &ValidPlan, id: TaskId) -> Arc<Own> {
        let find = || {
            let mut own = Own::default();
            let mut seen = rustc_hash::FxHashSet::default();
            let mut stack = vec![id];
            while let Some(from) = stack.pop() {
                for &of in plan.graph().dependencies(from) {
                    let promises = !plan[of].emits_files.is_empty();
                    if aligned(&plan[id], &plan[of]) {
                        if seen.insert(of) {
                            stack.push(of);
                            own.same.extend(promises.then_some(of));
                        }
                    } else if promises {
                        own.whole.push(of);
                    } else {
                        own.whole.extend_from_slice(self.nearest(of));
                    }
                }
            }
            Arc::new(own)
        };
        self.instances.get(id.index()).map_or_else(find, |cell| Arc::clone(cell.get_or_init(find)))
    }
}
