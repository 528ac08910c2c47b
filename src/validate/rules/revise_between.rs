//! `plan::revise::between`: work between what is sent back and its reviewer that would not be done again.

use rustc_hash::FxHashSet;

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::TaskId;

/// Finds tasks between a target and its reviewer that `revise` does not name.
pub static RULE: Rule = Rule {
    code: &BETWEEN,
    bad: r#"
command draft  { run = "./draft.sh" }
command polish { depends_on = [draft], run = "./polish.sh" }
command review { depends_on = [polish], revise = [draft], max_rounds = 3, run = "./review.sh" }
"#,
    good: r#"
command draft  { run = "./draft.sh" }
command polish { depends_on = [draft], run = "./polish.sh" }
command review { depends_on = [polish], revise = [draft, polish], max_rounds = 3, run = "./review.sh" }
"#,
    check,
};

static BETWEEN: Code = Code {
    id: "plan::revise::between",
    severity: Severity::Error,
    summary: "A task between a target and its reviewer that `revise` does not name",
    explain: "When a reviewer sends work back, the tasks in `revise` run again and then the reviewer does. A \
              task on the way from one to the other would not, and hand on what the last round made. Every \
              task between a target and the reviewer has to be named.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (id, task) in context.tasks().filter(|(_, task)| !task.revise.is_empty()) {
        // One finding names the first; the place would be the same for all.
        let Some(&first) = between(context, id).first() else { continue };
        let (name, other) = (context.name(id), &context.plan[first].name);
        let span = task.revise[0].span.to(task.revise[task.revise.len() - 1].span);
        found.push(
            BETWEEN
                .at(span, format!("`{name}` sends work back past `{}` without naming it", other.value))
                .label(format!("`{}` would not run again", other.value))
                .related(other.span, "stands between a target and the reviewer")
                .help(format!("add `{}` to `revise`", other.value)),
        );
    }
}

/// Tasks downstream of a target and upstream of the reviewer that are not named, in order.
pub(super) fn between(context: &Context<'_>, reviewer: TaskId) -> Vec<TaskId> {
    let graph = context.graph;
    let task = &context.plan[reviewer];
    let targets: Vec<TaskId> = task.revise.iter().map(|target| target.value).collect();
    if !context.ordered(reviewer) {
        return Vec::new();
    }
    let first = targets.iter().map(|&target| graph.position(target)).min().unwrap_or(u32::MAX);
    // Everything upstream of the reviewer that does not stand before its first target.
    let mut upstream: Vec<TaskId> = Vec::new();
    let mut seen = FxHashSet::default();
    let mut stack = vec![reviewer];
    while let Some(next) = stack.pop() {
        for &dependency in graph.dependencies(next) {
            if graph.position(dependency) >= first && seen.insert(dependency) {
                upstream.push(dependency);
                stack.push(dependency);
            }
        }
    }
    upstream.sort_unstable_by_key(|&id| graph.position(id));
    // Of those, what is downstream of a target.
    let mut downstream: FxHashSet<TaskId> = targets.iter().copied().collect();
    let mut between = Vec::new();
    for id in upstream {
        if graph.dependencies(id).iter().any(|dependency| downstream.contains(dependency)) {
            downstream.insert(id);
            if !targets.contains(&id) {
                between.push(id);
            }
        }
    }
    between
}
