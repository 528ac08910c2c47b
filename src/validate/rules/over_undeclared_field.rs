//! `plan::over::undeclared_field`: a fan-out over a field that no result promises.

use super::super::context::Context;
use super::super::rule::Rule;
use super::super::shape::Member;
use crate::diag::{Code, Diagnostics, Severity, suggest};
use crate::ir::{Over, Task, TaskId};
use crate::source::Span;

/// Finds `over` and `keyed` that read fields which are not in `emits`.
pub static RULE: Rule = Rule {
    code: &UNDECLARED_FIELD,
    bad: r#"
command list { run = "./list.sh", emits = { names: [string] } }
command each { depends_on = [list], over = list.nmaes, run = "./each.sh" }
"#,
    good: r#"
command list { run = "./list.sh", emits = { names: [string] } }
command each { depends_on = [list], over = list.names, run = "./each.sh" }
"#,
    check,
};

static UNDECLARED_FIELD: Code = Code {
    id: "plan::over::undeclared_field",
    severity: Severity::Error,
    summary: "A fan-out over a field that no result promises",
    explain: "`over = task.field` and `keyed = [task.field]` read a field that the task declares in `emits`: \
              then a passing result is sure to have it. Declare it, as in `emits = { names: [string] }`. A \
              task that fans out hands on `{instances, passed, failed, not_taken}`.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        if let Some(over) = &task.over {
            match &over.value {
                Over::Field(producer, field) => judge(context, task, *producer, field, over.span, found),
                Over::Param(_) => {}
            }
        }
        for keyed in &task.keyed {
            judge(context, task, keyed.value.0, &keyed.value.1, keyed.span, found);
        }
    }
}

fn judge(
    context: &Context<'_>,
    task: &Task,
    producer: TaskId,
    field: &str,
    span: Span,
    found: &mut Diagnostics,
) {
    let other = &context.plan[producer];
    if other.holes {
        return;
    }
    let received = context.received(task, producer);
    if received.member(field) != Member::Undeclared {
        return;
    }
    let name = &other.name.value;
    let place = other.emits.as_ref().map_or(other.name.span, |emits| emits.span);
    let what =
        if other.emits.is_some() { "its fields are declared here" } else { "declared without `emits`" };
    let near = suggest::did_you_mean(field, received.names());
    if other.over.is_some() && !context.aligned(task, other) {
        let own = context.output(producer).member(field) != Member::Undeclared;
        let message = match own {
            true => format!("`{name}` fans out, and `{field}` is a field of its instances"),
            false => format!("`{name}` fans out, and has no `{field}`"),
        };
        found.push(
            UNDECLARED_FIELD
                .at(span, message)
                .label("cannot be read")
                .related(other.over.as_ref().map_or(other.name.span, |over| over.span), "fans out here")
                .help(near.unwrap_or_else(|| {
                    format!(
                        "a task that fans out hands on `{name}.passed`, `{name}.failed`, `{name}.not_taken` and \
                         `{name}.instances`"
                    )
                })),
        );
        return;
    }
    let add = match &other.emits {
        Some(_) => format!("add `{field}` to the `emits` of `{name}`"),
        None => format!("give `{name}` `emits = {{ {field}: [string] }}`"),
    };
    found.push(
        UNDECLARED_FIELD
            .at(span, format!("`{name}` declares no field `{field}`"))
            .label("cannot be read")
            .related(place, what)
            .help(near.unwrap_or(add)),
    );
}
