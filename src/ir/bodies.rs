//! Who sends whom back: the bodies of `revise` (LANGUAGE §9).
//!
//! A body is a reviewer and the tasks that it names. Unaware of the rounds that a run comes to.

use super::{Graph, Join, Plan, TaskId};

/// The bodies of a plan. In a valid plan a task is in one at most.
#[derive(Clone, Debug, Default)]
pub struct Bodies {
    /// By task: its reviewer, itself for a reviewer. Empty in a plan without reviews.
    reviewers: Vec<Option<TaskId>>,
    /// By task: whether its reviewer cannot run unless it passes.
    binding: Vec<bool>,
}

impl Bodies {
    /// The bodies of `plan`.
    #[must_use]
    pub fn new(plan: &Plan, graph: &Graph) -> Self {
        if plan.tasks.iter().all(|task| task.revise.is_empty()) {
            return Self::default();
        }
        let mut reviewers = vec![None; plan.tasks.len()];
        for reviewer in plan.ids().filter(|&id| !plan[id].revise.is_empty()) {
            reviewers[reviewer.index()] = Some(reviewer);
            for target in &plan[reviewer].revise {
                reviewers[target.value.index()] = Some(reviewer);
            }
        }
        let mut binding = vec![false; plan.tasks.len()];
        for &id in graph.order().iter().rev() {
            let Some(reviewer) = reviewers[id.index()] else { continue };
            binding[id.index()] = graph.dependents(id).iter().any(|&to| {
                let inside = reviewers[to.index()] == Some(reviewer);
                inside && plan[to].join.value == Join::All && (to == reviewer || binding[to.index()])
            });
        }
        Self { reviewers, binding }
    }

    /// Who sends `task` back, or `task` itself if it is a reviewer.
    #[must_use]
    pub fn reviewer(&self, task: TaskId) -> Option<TaskId> {
        self.reviewers.get(task.index()).copied().flatten()
    }

    /// Whether both are in one body.
    #[must_use]
    pub fn together(&self, one: TaskId, other: TaskId) -> bool {
        self.reviewer(one).is_some_and(|reviewer| self.reviewer(other) == Some(reviewer))
    }

    /// Whether an unbroken path of `"all"` joins leads from `task` to its reviewer: if it does not pass, the
    /// reviewer never runs, and nothing sends it back.
    #[must_use]
    pub fn binds(&self, task: TaskId) -> bool {
        self.binding.get(task.index()).copied().unwrap_or_default()
    }

    /// Reviewers that wait for each other, so that none of their bodies could begin; empty where there are
    /// none. What depends on a body from outside waits for its reviewer.
    #[must_use]
    pub fn circle(&self, plan: &Plan, graph: &Graph) -> Vec<TaskId> {
        if self.reviewers.is_empty() || !graph.is_acyclic() {
            return Vec::new();
        }
        let waits_for = |id: TaskId| {
            let reviewer = move |&of: &TaskId| self.reviewer(of).filter(|_| !self.together(of, id));
            let dependencies = graph.dependencies(id);
            dependencies.iter().filter_map(reviewer).chain(dependencies.iter().copied())
        };
        let mut before = vec![0_usize; plan.tasks.len()];
        let mut after: Vec<Vec<TaskId>> = vec![Vec::new(); plan.tasks.len()];
        for id in plan.ids() {
            for of in waits_for(id) {
                before[id.index()] += 1;
                after[of.index()].push(id);
            }
        }
        let mut free: Vec<TaskId> = plan.ids().filter(|id| before[id.index()] == 0).collect();
        while let Some(id) = free.pop() {
            for &to in &after[id.index()] {
                before[to.index()] -= 1;
                free.extend((before[to.index()] == 0).then_some(to));
            }
        }
        let stands = |id: &TaskId| before[id.index()] > 0;
        let Some(mut at) = plan.ids().find(stands) else { return Vec::new() };
        let (mut path, mut seen) = (Vec::new(), vec![false; plan.tasks.len()]);
        while !std::mem::replace(&mut seen[at.index()], true) {
            path.push(at);
            match waits_for(at).find(stands) {
                Some(of) => at = of,
                None => return Vec::new(),
            }
        }
        let mut circle: Vec<TaskId> = path.into_iter().skip_while(|&id| id != at).collect();
        circle.retain(|&id| self.reviewer(id) == Some(id));
        circle.sort_unstable();
        circle
    }
}
