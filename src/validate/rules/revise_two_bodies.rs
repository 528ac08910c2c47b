//! `plan::revise::two_bodies`: a task that two reviewers send back.

use rustc_hash::FxHashMap;

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::TaskId;
use crate::source::Span;

/// Finds targets of several reviewers.
pub static RULE: Rule = Rule {
    code: &TWO_BODIES,
    bad: r#"
command draft { run = "./draft.sh" }
command style { depends_on = [draft], revise = [draft], max_rounds = 3, run = "./style.sh" }
command facts { depends_on = [draft], revise = [draft], max_rounds = 3, run = "./facts.sh" }
"#,
    good: r#"
command draft { run = "./draft.sh" }
command style { depends_on = [draft], run = "./style.sh" }
command facts { depends_on = [draft, style], revise = [draft, style], max_rounds = 3, run = "./facts.sh" }
"#,
    check,
};

static TWO_BODIES: Code = Code {
    id: "plan::revise::two_bodies",
    severity: Severity::Error,
    summary: "A task that two reviewers send back",
    explain: "A round belongs to one reviewer, which counts it and decides when it is the last. A task can be \
              sent back by one reviewer only: let one review after the other and send both back, or let one \
              task do both reviews.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    let mut first: FxHashMap<TaskId, (TaskId, Span)> = FxHashMap::default();
    for (id, task) in context.tasks() {
        for target in &task.revise {
            let (reviewer, span) = *first.entry(target.value).or_insert((id, target.span));
            if reviewer == id {
                continue;
            }
            let (name, other, shared) =
                (context.name(id), context.name(reviewer), context.name(target.value));
            found.push(
                TWO_BODIES
                    .at(target.span, format!("`{shared}` is sent back by `{other}` and by `{name}`"))
                    .label("already has a reviewer")
                    .related(span, format!("sent back by `{other}`"))
                    .help(format!("take `{shared}` out of one of the two `revise` lists")),
            );
        }
    }
}
