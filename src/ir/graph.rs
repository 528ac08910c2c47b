//! Who waits for whom: edges both ways, a stable order, reachability. Linear in tasks and edges.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Plan, TaskId};

/// The dependency graph of a plan.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    dependents: Adjacency,
    dependencies: Adjacency,
    order: Vec<TaskId>,
    position: Vec<u32>,
}

/// Edges from each task, in one allocation.
#[derive(Clone, Debug, Default)]
struct Adjacency {
    starts: Vec<u32>,
    ends: Vec<TaskId>,
}

impl Adjacency {
    fn new(tasks: usize, each_edge: impl Fn(&mut dyn FnMut(TaskId, TaskId))) -> Self {
        let mut starts = vec![0u32; tasks + 1];
        each_edge(&mut |from, _| starts[from.index() + 1] += 1);
        for index in 0..tasks {
            starts[index + 1] += starts[index];
        }
        let mut next = starts.clone();
        let mut ends = vec![TaskId::default(); starts[tasks] as usize];
        each_edge(&mut |from, to| {
            let at = &mut next[from.index()];
            ends[*at as usize] = to;
            *at += 1;
        });
        Self { starts, ends }
    }

    fn of(&self, task: TaskId) -> &[TaskId] {
        let at = task.index();
        match (self.starts.get(at), self.starts.get(at + 1)) {
            (Some(&start), Some(&end)) => &self.ends[start as usize..end as usize],
            _ => &[],
        }
    }
}

impl Graph {
    /// The graph of `plan`. Tasks on a cycle are left out of the order.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let count = plan.tasks.len();
        let each = |edge: &mut dyn FnMut(TaskId, TaskId)| {
            for id in plan.ids() {
                plan[id].depends_on.iter().for_each(|dependency| edge(id, dependency.task));
            }
        };
        let dependencies = Adjacency::new(count, each);
        let dependents = Adjacency::new(count, |edge| each(&mut |from, to| edge(to, from)));
        let mut graph =
            Self { dependents, dependencies, order: Vec::with_capacity(count), position: Vec::new() };
        graph.sort(count);
        graph
    }

    fn sort(&mut self, count: usize) {
        let mut waits: Vec<usize> =
            (0..count).map(|id| self.dependencies.of(TaskId::from(id)).len()).collect();
        let mut ready: BinaryHeap<Reverse<TaskId>> =
            (0..count).filter(|&id| waits[id] == 0).map(|id| Reverse(TaskId::from(id))).collect();
        while let Some(Reverse(task)) = ready.pop() {
            self.order.push(task);
            for &next in self.dependents.of(task) {
                waits[next.index()] -= 1;
                if waits[next.index()] == 0 {
                    ready.push(Reverse(next));
                }
            }
        }
        self.position = vec![u32::MAX; count];
        for (position, task) in (0..).zip(&self.order) {
            self.position[task.index()] = position;
        }
    }

    /// Who waits for `task`, in declaration order.
    #[must_use]
    pub fn dependents(&self, task: TaskId) -> &[TaskId] {
        self.dependents.of(task)
    }

    /// Whom `task` waits for, in the order written.
    #[must_use]
    pub fn dependencies(&self, task: TaskId) -> &[TaskId] {
        self.dependencies.of(task)
    }

    /// The declaration-stable topological order (EXECUTION §4): of the tasks that could come next, always
    /// the one declared first. Tasks on a cycle, or behind one, are missing.
    #[must_use]
    pub fn order(&self) -> &[TaskId] {
        &self.order
    }

    /// Where `task` stands in the order; `u32::MAX` for one that is missing.
    #[must_use]
    pub fn position(&self, task: TaskId) -> u32 {
        self.position[task.index()]
    }

    /// Whether the order has every task.
    #[must_use]
    pub fn is_acyclic(&self) -> bool {
        self.order.len() == self.position.len()
    }

    /// Every task upstream of `task`, as flags by task index; `task` itself is not set.
    #[must_use]
    pub fn upstream(&self, task: TaskId) -> Vec<bool> {
        self.reach(task, &self.dependencies)
    }

    /// Every task downstream of `task`, as flags by task index; `task` itself is not set.
    #[must_use]
    pub fn downstream(&self, task: TaskId) -> Vec<bool> {
        self.reach(task, &self.dependents)
    }

    fn reach(&self, task: TaskId, edges: &Adjacency) -> Vec<bool> {
        let mut seen = vec![false; self.position.len()];
        let mut stack = edges.of(task).to_vec();
        while let Some(next) = stack.pop() {
            if !std::mem::replace(&mut seen[next.index()], true) {
                stack.extend_from_slice(edges.of(next));
            }
        }
        seen
    }
}
