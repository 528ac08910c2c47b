//! `plan::join::no_dependencies`: a join over nothing.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::Join;

/// Finds joins of tasks without dependencies.
pub static RULE: Rule = Rule {
    code: &NO_DEPENDENCIES,
    bad: r#"
command triage { join = "settled", run = "./triage.py" }
"#,
    good: r#"
command audit  { required = false, run = "./audit.sh" }
command triage { depends_on = [audit], join = "settled", run = "./triage.py" }
"#,
    check,
};

static NO_DEPENDENCIES: Code = Code {
    id: "plan::join::no_dependencies",
    severity: Severity::Error,
    summary: "A join over no dependencies",
    explain: "`\"passed\"` and `\"settled\"` say what a task needs of its dependencies. Without any, \
              `\"passed\"` could never be met, and `\"settled\"` would say nothing: most likely `depends_on` \
              was forgotten.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (id, task) in context.tasks() {
        let label = match task.join.value {
            Join::All => continue,
            Join::Passed => "waits for one that passes",
            Join::Settled => "waits for every dependency",
        };
        if task.depends_on.is_empty() {
            let listed = &context.plan.facts.lists_nothing;
            let empty = listed.binary_search_by_key(&id, |(task, _)| *task).ok().map(|at| listed[at].1);
            let (place, why) = match empty {
                Some(list) => (list, "there is no task in this"),
                None => (task.name.span, "declared without `depends_on`"),
            };
            found.push(
                NO_DEPENDENCIES
                    .at(task.join.span, format!("`{}` has no dependency to join", context.name(id)))
                    .label(label)
                    .related(place, why)
                    .help("name at least one task, as in `depends_on = [audit]`, or drop `join`"),
            );
        }
    }
}
