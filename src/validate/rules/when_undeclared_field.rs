//! `plan::when::undeclared_field`: a condition on a field that no result promises.

use super::super::context::Context;
use super::super::reading::{self, Side};
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity, suggest};
use crate::ir::condition::Operand;
use crate::ir::{Condition, Kind, Task, TaskId, Value};
use crate::source::Span;

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
                    let message = match &other.kind {
                        Kind::Route(_) => format!("`{}` asks no question `{member}`", other.name.value),
                        Kind::Command(_)
                        | Kind::Evaluate(_)
                        | Kind::Agent(_)
                        | Kind::Gate(_)
                        | Kind::TopK(_)
                        | Kind::Report(_)
                        | Kind::Call(_)
                        | Kind::Machine(_) => format!("`{}` declares no field `{member}`", other.name.value),
                    };
                    let (place, what) = declared(other);
                    let ty = wanted(&when.value, span).unwrap_or("string");
                    UNDECLARED_FIELD
                        .at(span, message)
                        .label("cannot be read")
                        .related(place, what)
                        .maybe_help(help.or_else(|| advice(context, task, *read, member, ty)))
                }
                Operand::Field(..)
                | Operand::Item(_)
                | Operand::Literal(_)
                | Operand::Parameter { .. }
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

/// Where a task says what it puts out, and how.
fn declared(task: &Task) -> (Span, &'static str) {
    match (&task.emits, &task.kind) {
        (Some(emits), _) => (emits.span, "its fields are declared here"),
        (None, Kind::Command(_) | Kind::Evaluate(_) | Kind::Agent(_)) => {
            (task.name.span, "declared without `emits`")
        }
        (None, Kind::Route(_)) => (task.name.span, "its answers are read by the names of its questions"),
        (None, Kind::Gate(_)) => (task.name.span, "puts out `answer`, `by` and `at`"),
        (None, Kind::TopK(_)) => (task.name.span, "puts out `kept` and `left_out`"),
        (None, Kind::Machine(_)) => (task.name.span, "puts out `trace`, `context`, `gates` and `last`"),
        (None, Kind::Report(_)) => (task.name.span, "a report puts out nothing"),
        (None, Kind::Call(_)) => (task.name.span, "puts out the `result` of the plan that it runs"),
    }
}

/// The type that a comparison, which stands at `span`, takes its undeclared side for.
fn wanted(condition: &Condition, span: Span) -> Option<&'static str> {
    match condition {
        Condition::And(parts) | Condition::Or(parts) => parts.iter().find_map(|part| wanted(part, span)),
        Condition::Not(part) => wanted(part, span),
        Condition::Holds { span: here, .. } => (*here == span).then_some("boolean"),
        Condition::Compare { left, right, span: here, .. } if *here == span => {
            let value = left.value().or_else(|| right.value())?;
            let value = match value {
                Value::List(values) => values.first()?,
                other => other,
            };
            match value {
                Value::Integer(_) | Value::Number(..) => Some("number"),
                Value::Boolean(_) => Some("boolean"),
                Value::String(_) => Some("string"),
                Value::Duration(_) | Value::List(_) | Value::Map(_) => None,
            }
        }
        Condition::Compare { .. } | Condition::Otherwise { .. } => None,
    }
}

fn advice(context: &Context<'_>, reader: &Task, read: TaskId, member: &str, ty: &str) -> Option<String> {
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
            None => format!("declare it: give `{name}` `emits = {{ {member}: {ty} }}`"),
        }),
        Kind::Call(_) => Some("a `call` puts out the `result` of the plan that it runs".into()),
        Kind::Route(route) => {
            let questions: Vec<&str> =
                route.questions.iter().map(|question| question.name.value.as_str()).collect();
            let all: Vec<String> = questions.iter().map(|question| format!("`{name}.{question}`")).collect();
            let near = suggest::nearest(member, questions).map(|near| format!("did you mean `{near}`?"));
            near.or_else(|| (!all.is_empty()).then(|| format!("read {}", all.join(" or "))))
        }
        Kind::Gate(_) => Some(format!("read its answer, `{name}.answer`")),
        Kind::TopK(_) | Kind::Report(_) | Kind::Machine(_) => None,
    }
}
