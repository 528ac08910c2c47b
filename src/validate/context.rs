//! What rules ask about a plan more than once: names, order, the shapes of outputs.
//!
//! Everything here is linear in the plan or nearly so: a check has 60 ms for 10,000 tasks.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::shape::{self, Shape};
use crate::ir::kind::{Gate, Kind};
use crate::ir::{Graph, Join, Over, Plan, Task, TaskId};

/// A plan under judgement.
pub(super) struct Context<'a> {
    pub plan: &'a Plan,
    pub graph: &'a Graph,
    outputs: RefCell<FxHashMap<TaskId, Rc<Shape>>>,
}

impl<'a> Context<'a> {
    pub fn new(plan: &'a Plan, graph: &'a Graph) -> Self {
        Self { plan, graph, outputs: RefCell::default() }
    }

    /// Every task that may be judged, in declaration order: not those whose errors were reported already.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskId, &'a Task)> + use<'a> {
        let plan = self.plan;
        plan.ids().map(move |id| (id, &plan[id])).filter(|(_, task)| !task.holes)
    }

    /// Every gate, those of machines included.
    pub fn gates(&self) -> Vec<(&'a Task, &'a Gate)> {
        let mut gates = Vec::new();
        let mut add = |task: &'a Task| match &task.kind {
            Kind::Gate(gate) => gates.push((task, gate.as_ref())),
            Kind::Command(_)
            | Kind::Evaluate(_)
            | Kind::Agent(_)
            | Kind::Route(_)
            | Kind::TopK(_)
            | Kind::Report(_)
            | Kind::Call(_)
            | Kind::Machine(_) => {}
        };
        for (_, task) in self.tasks() {
            add(task);
            if let Kind::Machine(machine) = &task.kind {
                machine.nodes.iter().for_each(|node| add(&node.task));
            }
        }
        gates
    }

    /// The name of a task.
    pub fn name(&self, id: TaskId) -> &'a str {
        &self.plan[id].name.value
    }

    /// Whether `id` lists `dependency` in its `depends_on`.
    pub fn lists(&self, id: TaskId, dependency: TaskId) -> bool {
        self.graph.dependencies(id).contains(&dependency)
    }

    /// Whether `id` stands in the order: it is on no cycle, and behind none.
    pub fn ordered(&self, id: TaskId) -> bool {
        self.graph.position(id) != u32::MAX
    }

    /// The shape of what one attempt of `id` puts out.
    pub fn output(&self, id: TaskId) -> Rc<Shape> {
        if let Some(known) = self.outputs.borrow().get(&id) {
            return Rc::clone(known);
        }
        let shape = Rc::new(shape::output(&self.plan[id]));
        self.outputs.borrow_mut().insert(id, Rc::clone(&shape));
        shape
    }

    /// The shape of what `reader` receives from `id`: the fold of a mapped task, unless both are mapped
    /// over the same list.
    pub fn received(&self, reader: &Task, id: TaskId) -> Rc<Shape> {
        if self.plan[id].over.is_none() || self.aligned(reader, &self.plan[id]) {
            self.output(id)
        } else {
            Rc::new(shape::fold())
        }
    }

    /// Whether two tasks are mapped over the same list (LANGUAGE §8).
    pub fn aligned(&self, one: &Task, other: &Task) -> bool {
        match (&one.over, &other.over) {
            (Some(one), Some(other)) => one.value == other.value,
            (Some(_), None) | (None, Some(_)) | (None, None) => false,
        }
    }

    /// The shape of an element of the list that `task` is mapped over.
    pub fn element(&self, task: &Task) -> Option<Shape> {
        match &task.over.as_ref()?.value {
            Over::Param(_) => Some(Shape::String),
            Over::Field(producer, field) => {
                if self.plan[*producer].holes {
                    return Some(Shape::Anything);
                }
                Some(match self.received(task, *producer).member(field) {
                    shape::Member::Is(Shape::List(element)) => (**element).clone(),
                    shape::Member::Is(_) | shape::Member::Unknown | shape::Member::Undeclared => {
                        Shape::Anything
                    }
                })
            }
        }
    }

    /// For each pair, whether the first is upstream of the second. Pairs with a cycle in their way count
    /// as ordered: the cycle is the finding.
    pub fn upstream(&self, pairs: &[(TaskId, TaskId)]) -> Vec<bool> {
        self.reaches(pairs, |_| true)
    }

    /// For each pair, whether a path of `"all"` joins leads from the second up to the first.
    pub fn upstream_by_all(&self, pairs: &[(TaskId, TaskId)]) -> Vec<bool> {
        self.reaches(pairs, |task| self.plan[task].join.value == Join::All)
    }

    /// Sweeps the order once for every 64 distinct first tasks, a bit each, over the stretch between them
    /// and their second tasks.
    fn reaches(&self, pairs: &[(TaskId, TaskId)], follows: impl Fn(TaskId) -> bool) -> Vec<bool> {
        let position = |task: TaskId| self.graph.position(task) as usize;
        let order = self.graph.order();
        let mut answers = vec![true; pairs.len()];
        let mut open: Vec<usize> = (0..pairs.len())
            .filter(|&index| self.ordered(pairs[index].0) && self.ordered(pairs[index].1))
            .collect();
        open.sort_by_key(|&index| position(pairs[index].0));
        let mut bits = vec![0u64; if open.is_empty() { 0 } else { order.len() }];
        let mut rest = open.as_slice();
        while let Some(&first) = rest.first() {
            let mut sources: Vec<TaskId> = Vec::with_capacity(64);
            let taken = rest.iter().take_while(|&&index| {
                let source = pairs[index].0;
                if sources.last() == Some(&source) {
                    return true;
                }
                let room = sources.len() < 64;
                if room {
                    sources.push(source);
                }
                room
            });
            let count = taken.count();
            let (batch, later) = rest.split_at(count);
            rest = later;
            let start = position(pairs[first].0);
            let end = batch.iter().map(|&index| position(pairs[index].1)).max().unwrap_or(start);
            let mut next = 0;
            for at in start..=end.max(start) {
                let task = order[at];
                let mut seen = 0;
                if follows(task) {
                    for &dependency in self.graph.dependencies(task) {
                        let from = position(dependency);
                        if from >= start {
                            seen |= bits[from];
                        }
                    }
                }
                // A source's own bit is for those that depend on it, never for itself: a cycle is no order.
                if sources.get(next) == Some(&task) {
                    seen |= 1 << next;
                    next += 1;
                }
                bits[at] = seen;
            }
            for &index in batch {
                let (source, reader) = pairs[index];
                let bit = sources.iter().position(|&known| known == source).unwrap_or(0);
                let at = position(reader);
                answers[index] = source != reader && at > start && at <= end && bits[at] & (1 << bit) != 0;
            }
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::compile::{Bindings, compile};
    use crate::load::Pack;

    #[test]
    fn reachability_agrees_with_a_search_from_each_task() {
        // Edges that skip about, and enough tasks for several batches.
        let mut text = String::new();
        for task in 0..200usize {
            let near = [task.checked_sub(3), task.checked_sub(7)];
            let far = (task % 5 == 0 && task > 0).then(|| task.saturating_sub(11));
            let mut edges: Vec<String> =
                near.into_iter().chain([far]).flatten().map(|to| format!("t{to}")).collect();
            edges.dedup();
            let join = if task % 3 == 0 && !edges.is_empty() { ", join = \"passed\"" } else { "" };
            let edges = edges.join(", ");
            let _ = writeln!(text, "command t{task} {{ depends_on = [{edges}]{join}, run = \"true\" }}");
        }
        let mut pack = Pack::in_memory();
        pack.set("p.plan", text);
        let plan = compile(&mut pack, "p.plan".into(), &Bindings::check()).plan.expect("it is sound");
        let context = Context::new(&plan, plan.graph());
        let pairs: Vec<_> = plan.ids().flat_map(|a| plan.ids().map(move |b| (a, b))).collect();
        let by_all = |from: TaskId, to: TaskId| {
            let (mut stack, mut seen) = (vec![to], vec![false; plan.tasks.len()]);
            while let Some(task) = stack.pop() {
                if plan[task].join.value != Join::All {
                    continue;
                }
                for &next in plan.graph().dependencies(task) {
                    if next == from {
                        return true;
                    }
                    if !std::mem::replace(&mut seen[next.index()], true) {
                        stack.push(next);
                    }
                }
            }
            false
        };
        let answers = context.upstream(&pairs).into_iter().zip(context.upstream_by_all(&pairs));
        for (&(from, to), (upstream, all)) in pairs.iter().zip(answers) {
            assert_eq!(upstream, plan.graph().upstream(to)[from.index()], "{from:?} {to:?}");
            assert_eq!(all, by_all(from, to), "{from:?} {to:?}");
        }
    }
}
