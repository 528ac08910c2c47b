//! `plan::over::not_a_dependency`: a fan-out over a task that is not waited for.

use super::super::context::Context;
use super::super::rule::Rule;
use super::when_not_upstream::across;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::{Over, TaskId};
use crate::source::Span;

/// Finds `over` and `keyed` that name a task which is not in `depends_on`.
pub static RULE: Rule = Rule {
    code: &NOT_A_DEPENDENCY,
    bad: r#"
command list { run = "./list.sh", emits = { names: [string] } }
command each { over = list.names, run = "./each.sh" }
"#,
    good: r#"
command list { run = "./list.sh", emits = { names: [string] } }
command each { depends_on = [list], over = list.names, run = "./each.sh" }
"#,
    check,
};

static NOT_A_DEPENDENCY: Code = Code {
    id: "plan::over::not_a_dependency",
    severity: Severity::Error,
    summary: "A fan-out over a task that is not waited for",
    explain: "`over = task.field` and `keyed = [task.field]` read the output of a dependency, so the task has \
              to stand in `depends_on`.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (id, task) in context.tasks() {
        if let Some(over) = &task.over {
            match &over.value {
                Over::Field(producer, _) => judge(context, id, *producer, over.span, "over", found),
                Over::Param(_) => {}
            }
        }
        for keyed in &task.keyed {
            judge(context, id, keyed.value.0, keyed.span, "keyed", found);
        }
    }
}

fn judge(
    context: &Context<'_>,
    id: TaskId,
    producer: TaskId,
    span: Span,
    field: &str,
    found: &mut Diagnostics,
) {
    if context.lists(id, producer) {
        return;
    }
    let (name, other) = (context.name(id), context.name(producer));
    let stages = (context.plan[id].stage, context.plan[producer].stage);
    let help = match stages.0 == stages.1 {
        true => format!("add `{other}` to the `depends_on` of `{name}`"),
        false => across(stages.0, other),
    };
    found.push(
        NOT_A_DEPENDENCY
            .at(span, format!("`{field}` of `{name}` reads `{other}`, which it does not depend on"))
            .label("not in `depends_on`")
            .related(context.plan[producer].name.span, "declared here")
            .help(help),
    );
}
