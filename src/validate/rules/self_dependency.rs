//! `plan::dependency::itself`: a task that waits for itself.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};

/// Finds tasks that list themselves.
pub static RULE: Rule = Rule {
    code: &ITSELF,
    bad: r#"
command again { depends_on = [again], run = "make" }
"#,
    good: r#"
command again { run = "make" }
"#,
    check,
};

static ITSELF: Code = Code {
    id: "plan::dependency::itself",
    severity: Severity::Error,
    summary: "A task that waits for itself",
    explain: "A task starts once everything in its `depends_on` has settled, so one that lists itself, or a \
              group that it stands in, never starts. Take it out of the list.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    if context.graph.is_acyclic() {
        return;
    }
    for id in context.plan.ids() {
        let task = &context.plan[id];
        for dependency in task.depends_on.iter().filter(|dependency| dependency.task == id) {
            let name = &task.name.value;
            found.push(
                ITSELF
                    .at(dependency.span, format!("`{name}` waits for itself"))
                    .label("it can never start")
                    .related(task.name.span, "declared here")
                    .help(format!("take `{name}` out of its own `depends_on`")),
            );
        }
    }
}
