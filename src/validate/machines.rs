//! What the rules of LANGUAGE §13 ask about a machine: its edges as a graph, and who can get where.

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

/// The node that a retry target names.
pub(super) fn target(machine: &Machine, name: &Option<Spanned<Text>>) -> Option<usize> {
    let name = name.as_ref()?;
    machine.nodes.iter().position(|node| node.task.name.value == name.value)
}

/// The retry targets that `node` may be left by, in the order in which they are tried.
pub(super) fn targets<'a>(machine: &'a Machine, node: &'a Node) -> [&'a Option<Spanned<Text>>; 4] {
    [&node.retry_target, &node.fallback_retry_target, &machine.retry_target, &machine.fallback_retry_target]
}

/// Which nodes can run, and whether the exit can be reached, without passing through `avoid`. With
/// `targets`, going back to a retry target counts as a way.
pub(super) fn reach(machine: &Machine, avoid: Option<usize>, targets: bool) -> (Vec<bool>, bool) {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); machine.nodes.len()];
    let mut exits = vec![false; machine.nodes.len()];
    let mut stack: Vec<usize> = Vec::new();
    let mut exit = false;
    for edge in &machine.edges {
        match (edge.from.value, edge.to.value) {
            (EndPoint::Start, EndPoint::Node(to)) => stack.push(to as usize),
            (EndPoint::Start, EndPoint::Exit) => exit = true,
            (EndPoint::Node(from), EndPoint::Node(to)) => next[from as usize].push(to as usize),
            (EndPoint::Node(from), EndPoint::Exit) => exits[from as usize] = true,
            (EndPoint::Node(_) | EndPoint::Start, EndPoint::Start | EndPoint::Unknown)
            | (EndPoint::Exit | EndPoint::Unknown, _) => {}
        }
    }
    if targets {
        // A gate that does not hold may send the machine back from its exit, and a node that failed from
        // where it stands.
        for node in &machine.nodes {
            let own = [&node.retry_target, &node.fallback_retry_target];
            stack.extend(own.iter().filter_map(|name| target(machine, name)));
        }
        let all = [&machine.retry_target, &machine.fallback_retry_target];
        stack.extend(all.iter().filter_map(|name| target(machine, name)));
    }
    let mut seen = vec![false; machine.nodes.len()];
    while let Some(node) = stack.pop() {
        if Some(node) == avoid || std::mem::replace(&mut seen[node], true) {
            continue;
        }
        exit |= exits[node];
        stack.extend(&next[node]);
    }
    (seen, exit)
}
