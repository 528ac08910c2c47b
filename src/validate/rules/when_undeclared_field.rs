//! `plan::when::undeclared_field`: a condition on a field that no result promises.

use super::super::context::Context;
use super::super::reading::{self, Side};
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity, suggest};
use crate::ir::condition::Operand;
use crate::ir::{Kind, Task, TaskId};

/// Finds fields in conditions that are not in `emits`.
pub static RULE: Rule = Rule {
    code: &UNDECLARED_FIELD,
    bad: r#"
command probe { run = "./probe.sh", emits = { score: number } }
command act   { depends_on = [probe], when = probe.scroe > 1, run = "./act.sh" }
"#,
    good: r#"
command probe { run = "./probe.sh", emits = { score: number } }
command act   { depends_on = [probe], when = probe.score > 1, run = "./act.sh" }
"#,
    check,
};

static UNDECLARED_FIELD: Code = Code {
    id: "plan::when::undeclared_field",
    severity: Severity::Error,
    summary: "A condition that reads a field which no result promises",
    explain: "A condition reads fields that the task it names declares in `emits`, and `status` and \
              `last_line`, which every task has. A field that is not declared may never be there, and \
              comparing an absent field is false. Declare it, with a type where you can: then comparisons \
              are checked too. Of a task that fans out, others read `passed`, `failed`, `not_taken` and \
              `instances`; only tasks mapped over the same list read its instances' own fields.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        let Some(when) = &task.when else { continue };
        when.value.reads(&mut |operand, span| {
            let Side::Undeclared(undeclared) = reading::side(context, task, operand) else { return };
            let member = &undeclared.member;
            let near = suggest::nearest(member, undeclared.declared.iter().map(|name| name.as_str()));
            let help = near.map(|near| format!("did you mean `{near}`?"));
            found.push(match operand {
                Operand::Field(read, _) if undeclared.outermost => {
                    let other = &context.plan[*read];
                    let message = format!("`{}` declares no field `{member}`", other.name.value);
                    UNDECLARED_FIELD
                        .at(span, message)
                        .label("cannot be read")
                        .related(place(other), declared(other))
                        .maybe_help(help.or_else(|| advice(context, task, *read, member)))
                }
                Operand::Field(..)
                | Operand::Item(_)
                | Operand::Literal(_)
                | Operand::Unknown(_)
                | Operand::LastLine(_)
                | Operand::Status(_)
                | Operand::Answer(..)
                | Operand::Outcome
                | Operand::NodeLastLine
                | Operand::PreferredLabel
                | Operand::Output(_)
                | Operand::Context(_) => {
                    let whole = reading::spell(context, operand);
                    let message = format!("`{whole}` has no `{member}` in its declared type");
                    UNDECLARED_FIELD.at(span, message).label("cannot be read").maybe_help(help)
                }
            });
        });
    }
}

fn place(task: &Task) -> crate::source::Span {
    task.emits.as_ref().map_or(task.name.span, |emits| emits.span)
}

fn declared(task: &Task) -> &'static str {
    if task.emits.is_some() { "its fields are declared here" } else { "declared without `emits`" }
}

fn advice(context: &Context<'_>, reader: &Task, read: TaskId, member: &str) -> Option<String> {
    let other = &context.plan[read];
    let name = &other.name.value;
    if other.over.is_some() && !context.aligned(reader, other) {
        return Some(format!(
            "`{name}` fans out: read `{name}.passed` or `{name}.failed`, or map this task over the same list"
        ));
    }
    match &other.kind {
        Kind::Command(_) | Kind::Evaluate(_) | Kind::Agent(_) => Some(match other.emits {
            Some(_) => format!("add `{member}` to the `emits` of `{name}`"),
            None => format!("declare it: give `{name}` `emits = {{ {member}: string }}`"),
        }),
        Kind::Call(_) => Some("a `call` puts out the `result` of the plan that it runs".into()),
        Kind::Route(_) | Kind::Gate(_) | Kind::TopK(_) | Kind::Report(_) | Kind::Machine(_) => None,
    }
}
