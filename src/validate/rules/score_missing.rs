//! `plan::score::not_numeric`: ranking or grading without a numeric `score`.

use super::super::context::Context;
use super::super::rule::Rule;
use super::super::shape::Member;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::{Kind, Task, TaskId};

/// Finds candidates of a `top_k`, and graded tasks, whose `score` is no number.
pub static RULE: Rule = Rule {
    code: &NOT_NUMERIC,
    bad: r#"
command one  { run = "./one.sh", emits = { points: number } }
top_k   best { depends_on = [one], k = 1, direction = "higher" }
"#,
    good: r#"
command one  { run = "./one.sh", emits = { score: number } }
top_k   best { depends_on = [one], k = 1, direction = "higher" }
"#,
    check,
};

static NOT_NUMERIC: Code = Code {
    id: "plan::score::not_numeric",
    severity: Severity::Error,
    summary: "Ranking or grading without a numeric `score`",
    explain: "A `top_k` ranks its dependencies by the field `score` of their results, and an `evaluate` with a \
              `threshold` is graded by it. Each has to declare it as a number: `emits = { score: number }`.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (id, task) in context.tasks() {
        match &task.kind {
            Kind::TopK(_) => {
                for dependency in &task.depends_on {
                    let other = &context.plan[dependency.task];
                    if other.holes || numeric(context, dependency.task) {
                        continue;
                    }
                    let (name, candidate) = (context.name(id), &other.name.value);
                    let (place, what) = declared(other);
                    found.push(
                        NOT_NUMERIC
                            .at(dependency.span, format!("`{name}` cannot rank `{candidate}` by a `score`"))
                            .label("promises no numeric `score`")
                            .related(place, what)
                            .help(format!("give `{candidate}` `emits = {{ score: number }}`")),
                    );
                }
            }
            Kind::Evaluate(evaluate) => {
                let Some(threshold) = &evaluate.threshold else { continue };
                if task.emits.is_none() || numeric(context, id) {
                    continue;
                }
                let (place, _) = declared(task);
                let name = &task.name.value;
                let message = match context.output(id).member("score") {
                    Member::Undeclared => format!("`{name}` is graded by a `score` that it does not declare"),
                    Member::Is(_) | Member::Unknown => {
                        format!("`{name}` is graded by a `score` that is no number")
                    }
                };
                found.push(
                    NOT_NUMERIC
                        .at(place, message)
                        .label("promises no numeric `score`")
                        .related(threshold.span, "the score is held against this bound")
                        .help("declare it, as in `emits = { score: number }`, or drop `threshold`"),
                );
            }
            Kind::Command(_)
            | Kind::Agent(_)
            | Kind::Route(_)
            | Kind::Gate(_)
            | Kind::Report(_)
            | Kind::Call(_)
            | Kind::Machine(_) => {}
        }
    }
}

/// Whether one result of a task can have a numeric score. A mapped task's instances are ranked one by one.
fn numeric(context: &Context<'_>, id: TaskId) -> bool {
    match context.output(id).member("score") {
        Member::Is(shape) => shape.may_be_numeric(),
        Member::Unknown => true,
        Member::Undeclared => false,
    }
}

fn declared(task: &Task) -> (crate::source::Span, &'static str) {
    match &task.emits {
        Some(emits) => (emits.span, "its fields are declared here"),
        None => (task.name.span, "declared without `emits`"),
    }
}
