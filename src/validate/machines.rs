//! What the rules of LANGUAGE §13 ask about a machine: its edges as a graph, and who can get where.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::context::Context;
use crate::ir::Task;
use crate::ir::kind::{Edge, EndPoint, Kind, Machine, Node};
use crate::source::{Spanned, Text};

/// Every machine that may be judged, with its task.
pub(super) fn machines<'a>(context: &Context<'a>) -> impl Iterator<Item = (&'a Task, &'a Machine)> + use<'a> {
    context.tasks().filter_map(|(_, task)| match &task.kind {
        Kind::Machine(machine) => Some((task, &**machine)),
        Kind::Command(_)
        | Kind::Evaluate(_)
        | Kind::Agent(_)
        | Kind::Route(_)
        | Kind::Gate(_)
        | Kind::TopK(_)
        | Kind::Report(_)
        | Kind::Call(_) => None,
    })
}

/// Whether an edge names something that does not exist: what it leads to is then unknown.
pub(super) fn has_unknown_ends(machine: &Machine) -> bool {
    machine.edges.iter().any(|edge| [edge.from.value, edge.to.value].contains(&EndPoint::Unknown))
}

/// The edges out of `start`.
pub(super) fn starts(machine: &Machine) -> impl Iterator<Item = &Edge> {
    machine.edges.iter().filter(|edge| edge.from.value == EndPoint::Start)
}

/// A machine's nodes by name.
pub(super) fn names(machine: &Machine) -> FxHashMap<&str, usize> {
    machine.nodes.iter().zip(0..).map(|(node, index)| (node.task.name.value.as_str(), index)).collect()
}

/// The retry targets that `node` may be left by, in the order in which they are tried.
pub(super) fn targets<'a>(machine: &'a Machine, node: &'a Node) -> [&'a Option<Spanned<Text>>; 4] {
    [&node.retry_target, &node.fallback_retry_target, &machine.retry_target, &machine.fallback_retry_target]
}

/// Edges among nodes, in a form to walk along.
pub(super) struct Ways {
    /// The nodes that edges from `start` lead to.
    first: Vec<usize>,
    next: Vec<Vec<usize>>,
    /// The nodes that an edge leads from to `exit`.
    exits: Vec<bool>,
    /// Whether an edge leads from `start` to `exit`.
    short: bool,
}

impl Ways {
    pub fn new(machine: &Machine) -> Self {
        let count = machine.nodes.len();
        let mut ways = Self {
            first: Vec::new(),
            next: vec![Vec::new(); count],
            exits: vec![false; count],
            short: false,
        };
        for edge in &machine.edges {
            match (edge.from.value, edge.to.value) {
                (EndPoint::Start, EndPoint::Node(to)) => ways.first.push(to as usize),
                (EndPoint::Start, EndPoint::Exit) => ways.short = true,
                (EndPoint::Node(from), EndPoint::Node(to)) => ways.next[from as usize].push(to as usize),
                (EndPoint::Node(from), EndPoint::Exit) => ways.exits[from as usize] = true,
                (EndPoint::Node(_) | EndPoint::Start, EndPoint::Start | EndPoint::Unknown)
                | (EndPoint::Exit | EndPoint::Unknown, _) => {}
            }
        }
        ways
    }

    /// Which nodes can run, and whether the exit can be reached; going back to a retry target is a way too.
    pub fn reach(&self, machine: &Machine) -> (Vec<bool>, bool) {
        let names = names(machine);
        let own = machine.nodes.iter().flat_map(|node| [&node.retry_target, &node.fallback_retry_target]);
        let all = own.chain([&machine.retry_target, &machine.fallback_retry_target]).flatten();
        let mut stack = self.first.clone();
        stack.extend(all.filter_map(|name| names.get(name.value.as_str()).copied()));
        let mut seen = vec![false; self.next.len()];
        let mut exit = self.short;
        while let Some(node) = stack.pop() {
            if !std::mem::replace(&mut seen[node], true) {
                exit |= self.exits[node];
                stack.extend(&self.next[node]);
            }
        }
        (seen, exit)
    }

    /// Whether every way along edges from `start` to `exit` leads through a node; none are, if there is no
    /// way at all. Walks along one way, and sees from each node on it how far a detour leads: linear.
    pub fn unavoidable(&self) -> Vec<bool> {
        let count = self.next.len();
        let mut certain = vec![false; count];
        let Some(path) = self.shortest() else { return certain };
        // Where each node stands on the path: the start at 0, the exit behind the last node.
        let mut place = vec![None; count];
        path.iter().zip(1..).for_each(|(&node, at)| place[node] = Some(at));
        let end = path.len() + 1;
        let mut seen = vec![false; count];
        let mut furthest = 0;
        let mut explore = |mut stack: Vec<usize>, exit: bool, furthest: &mut usize| {
            if exit {
                *furthest = end;
            }
            while let Some(node) = stack.pop() {
                match place[node] {
                    Some(at) => *furthest = (*furthest).max(at),
                    None if !std::mem::replace(&mut seen[node], true) => {
                        if self.exits[node] {
                            *furthest = end;
                        }
                        stack.extend(&self.next[node]);
                    }
                    None => {}
                }
            }
        };
        explore(self.first.clone(), self.short, &mut furthest);
        for (&node, at) in path.iter().zip(1..) {
            certain[node] = furthest <= at;
            explore(self.next[node].clone(), self.exits[node], &mut furthest);
        }
        certain
    }

    /// The nodes on a shortest way from `start` to `exit`.
    fn shortest(&self) -> Option<Vec<usize>> {
        if self.short {
            return Some(Vec::new());
        }
        let mut from: Vec<Option<usize>> = vec![None; self.next.len()];
        let mut seen = vec![false; self.next.len()];
        let mut queue: VecDeque<usize> = VecDeque::new();
        for &node in &self.first {
            if !std::mem::replace(&mut seen[node], true) {
                queue.push_back(node);
            }
        }
        while let Some(node) = queue.pop_front() {
            if self.exits[node] {
                let mut path: Vec<usize> = std::iter::successors(Some(node), |&at| from[at]).collect();
                path.reverse();
                return Some(path);
            }
            for &next in &self.next[node] {
                if !std::mem::replace(&mut seen[next], true) {
                    from[next] = Some(node);
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ways with node 0 first; `(a, None)` is an edge to the exit.
    fn ways(count: usize, edges: &[(usize, Option<usize>)]) -> Ways {
        let mut ways =
            Ways { first: vec![0], next: vec![Vec::new(); count], exits: vec![false; count], short: false };
        for &(from, to) in edges {
            match to {
                Some(to) => ways.next[from].push(to),
                None => ways.exits[from] = true,
            }
        }
        ways
    }

    #[test]
    fn a_node_is_unavoidable_if_the_exit_is_out_of_reach_without_it() {
        // Every graph of four nodes with a few edges: compared with leaving each node out.
        let all: Vec<(usize, Option<usize>)> = (0..4)
            .flat_map(|from| (0..4).map(move |to| (from, Some(to))).chain([(from, None)]))
            .filter(|&(from, to)| to != Some(from))
            .collect();
        for bits in 0u32..1 << all.len() {
            let edges: Vec<_> = all
                .iter()
                .zip(0..)
                .filter(|(_, bit)| bits & (1 << bit) != 0)
                .map(|(&edge, _)| edge)
                .collect();
            let ways = ways(4, &edges);
            let reached = |without: Option<usize>| {
                let (mut stack, mut seen) = (vec![0], [false; 4]);
                while let Some(node) = stack.pop() {
                    if Some(node) != without && !std::mem::replace(&mut seen[node], true) {
                        if ways.exits[node] {
                            return true;
                        }
                        stack.extend(&ways.next[node]);
                    }
                }
                false
            };
            let expected: Vec<bool> = (0..4).map(|node| reached(None) && !reached(Some(node))).collect();
            assert_eq!(ways.unavoidable(), expected, "{edges:?}");
        }
    }
}
