//! `plan::dependency::cycle`: tasks that wait for each other.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::TaskId;
use crate::source::Span;

/// Finds circles of dependencies.
pub static RULE: Rule = Rule {
    code: &CYCLE,
    bad: r#"
command build   { depends_on = [publish], run = "make" }
command publish { depends_on = [build], run = "make publish" }
"#,
    good: r#"
command build   { run = "make" }
command publish { depends_on = [build], run = "make publish" }
"#,
    check,
};

static CYCLE: Code = Code {
    id: "plan::dependency::cycle",
    severity: Severity::Error,
    summary: "Tasks that wait for each other",
    explain: "A task starts once everything in its `depends_on` has settled. Tasks whose dependencies lead \
              back to themselves would wait for ever. Take the dependency out that is not needed. A group \
              stands for all of its tasks, so naming a group may close a circle too. Work that has to be \
              repeated until it is good is not a circle of dependencies: use `revise`, a top-level `verify` \
              with `repair_from`, or a `machine`.",
};

/// Circles in one knot of tasks that are reported; each has to be cut, and more would hide the others.
const PER_KNOT: usize = 8;
/// Names in a message; the places of all of them are shown beside it.
const NAMED: usize = 6;

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    if context.graph.is_acyclic() {
        return;
    }
    let mut cut: FxHashSet<(TaskId, TaskId)> = FxHashSet::default();
    for knot in knots(context, &cut) {
        // Circles that share no dependency with each other: each is one mistake.
        let mut open = vec![knot];
        let mut reported = 0;
        while let Some(knot) = open.pop() {
            if reported == PER_KNOT {
                break;
            }
            let circle = shortest(context, &knot, &cut);
            report(context, &circle, found);
            reported += 1;
            cut.extend(hops(&circle));
            let mut rest = within(context, &knot, &cut);
            rest.reverse();
            open.extend(rest);
        }
    }
}

fn report(context: &Context<'_>, circle: &[TaskId], found: &mut Diagnostics) {
    let mut names: Vec<String> = circle.iter().map(|&id| format!("`{}`", context.name(id))).collect();
    names.push(names[0].clone());
    if names.len() > NAMED + 1 {
        let left_out = names.len() - NAMED - 1;
        names.splice(NAMED - 1..names.len() - 2, [format!("… {left_out} more …")]);
    }
    let message = format!("dependencies go in a circle: {}", names.join(" → "));
    let mut hops = hops(circle);
    let Some((first, next)) = hops.next() else { return };
    let mut diagnostic = CYCLE
        .at(place(context, first, next), message)
        .label(format!("`{}` waits for `{}`", context.name(first), context.name(next)))
        .help("remove one of these dependencies");
    for (from, to) in hops {
        let text = format!("`{}` waits for `{}`", context.name(from), context.name(to));
        diagnostic = diagnostic.related(place(context, from, to), text);
    }
    found.push(diagnostic);
}

/// Each task of a circle with the one that it waits for.
fn hops(circle: &[TaskId]) -> impl Iterator<Item = (TaskId, TaskId)> + '_ {
    circle.iter().zip(circle.iter().cycle().skip(1)).map(|(&from, &to)| (from, to))
}

/// Where `from` names `to`.
fn place(context: &Context<'_>, from: TaskId, to: TaskId) -> Span {
    let task = &context.plan[from];
    let named = task.depends_on.iter().find(|dependency| dependency.task == to);
    named.map_or(task.name.span, |dependency| dependency.span)
}

/// The sets of two or more tasks of the whole plan that all wait for each other, by their first task.
fn knots(context: &Context<'_>, cut: &FxHashSet<(TaskId, TaskId)>) -> Vec<Vec<TaskId>> {
    let left: Vec<TaskId> = context.plan.ids().filter(|&id| !context.ordered(id)).collect();
    within(context, &left, cut)
}

/// The same, of some tasks only. Tarjan's algorithm with a stack of its own, since a circle may be long.
fn within(context: &Context<'_>, tasks: &[TaskId], cut: &FxHashSet<(TaskId, TaskId)>) -> Vec<Vec<TaskId>> {
    const NEW: usize = usize::MAX;
    let index: FxHashMap<TaskId, usize> = tasks.iter().copied().zip(0..).collect();
    let mut number = vec![NEW; tasks.len()];
    let mut low = vec![NEW; tasks.len()];
    let mut open = vec![false; tasks.len()];
    let mut count = 0;
    let mut path: Vec<usize> = Vec::new();
    let mut knots: Vec<Vec<TaskId>> = Vec::new();
    for root in 0..tasks.len() {
        let mut stack = if number[root] == NEW { vec![(root, 0)] } else { Vec::new() };
        while let Some((at, next)) = stack.pop() {
            if next == 0 {
                (number[at], low[at], open[at]) = (count, count, true);
                count += 1;
                path.push(at);
            }
            let task = tasks[at];
            if let Some(&dependency) = context.graph.dependencies(task).get(next) {
                stack.push((at, next + 1));
                let Some(&to) = index.get(&dependency) else { continue };
                if to == at || cut.contains(&(task, dependency)) {
                    continue;
                }
                if number[to] == NEW {
                    stack.push((to, 0));
                } else if open[to] {
                    low[at] = low[at].min(number[to]);
                }
                continue;
            }
            if let Some(&(parent, _)) = stack.last() {
                low[parent] = low[parent].min(low[at]);
            }
            if low[at] == number[at] {
                let start = path.iter().rposition(|&member| member == at).unwrap_or(0);
                let members = path.split_off(start);
                members.iter().for_each(|&member| open[member] = false);
                if members.len() > 1 {
                    let mut knot: Vec<TaskId> = members.iter().map(|&member| tasks[member]).collect();
                    knot.sort_unstable();
                    knots.push(knot);
                }
            }
        }
    }
    knots.sort_unstable();
    knots
}

/// A shortest circle through the first task of a knot, along dependencies.
fn shortest(context: &Context<'_>, knot: &[TaskId], cut: &FxHashSet<(TaskId, TaskId)>) -> Vec<TaskId> {
    let members: FxHashSet<TaskId> = knot.iter().copied().collect();
    let start = knot[0];
    let mut from: FxHashMap<TaskId, TaskId> = FxHashMap::default();
    let mut queue = VecDeque::from([start]);
    while let Some(task) = queue.pop_front() {
        for &next in context.graph.dependencies(task) {
            if next == task || !members.contains(&next) || cut.contains(&(task, next)) {
                continue;
            }
            if next == start {
                let mut circle = vec![task];
                while let Some(&before) = circle.last().and_then(|last| from.get(last)) {
                    circle.push(before);
                }
                circle.reverse();
                return circle;
            }
            if next != start && !from.contains_key(&next) {
                from.insert(next, task);
                queue.push_back(next);
            }
        }
    }
    // Not reached: a knot has a circle through each of its tasks.
    vec![start]
}
