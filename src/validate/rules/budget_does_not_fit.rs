//! `plan::budget::does_not_fit`: one attempt that may take more than the whole run.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::kind::Kind;
use crate::ir::{Budget, Task, Verify};

/// Finds timeouts and costs of tasks that lie above the plan's ceilings.
pub static RULE: Rule = Rule {
    code: &DOES_NOT_FIT,
    bad: r#"
plan    "build" { budget = { time = 10m } }
command build   { timeout = 20m, run = "make" }
"#,
    good: r#"
plan    "build" { budget = { time = 30m } }
command build   { timeout = 20m, run = "make" }
"#,
    check,
};

static DOES_NOT_FIT: Code = Code {
    id: "plan::budget::does_not_fit",
    severity: Severity::Error,
    summary: "One attempt that may take more than the whole run",
    explain: "A `timeout` above the plan's time ceiling would never be reached: the ceiling ends the run \
              first. That of a verifier is held against it as well, where one is written. A task whose `max_usd` is above the cost ceiling could never start, since that much has \
              to be left. Raise the ceiling or lower the limit.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        judge(task, &context.plan.header.budget, found);
    }
    for gate in &context.plan.gates {
        look(gate, "gate", &context.plan.header.budget, found);
    }
}

/// A verifier, which the time ceiling ends as it ends tasks.
fn look(check: &Verify, what: &str, budget: &Budget, found: &mut Diagnostics) {
    let (Some(span), Some(ceiling)) = (check.timeout_at, &budget.time) else { return };
    if check.timeout <= ceiling.value {
        return;
    }
    let message = format!(
        "the {what} `{}` may take {}, the whole run {}",
        check.name.value, check.timeout, ceiling.value
    );
    found.push(
        DOES_NOT_FIT
            .at(span, message)
            .label("would never be reached")
            .related(ceiling.span, "the time ceiling of the run")
            .help("lower `timeout`, or raise `budget.time`"),
    );
}

fn judge(task: &Task, budget: &Budget, found: &mut Diagnostics) {
    let name = &task.name.value;
    task.verify.iter().for_each(|check| look(check, "verifier", budget, found));
    if let (Some(limit), Some(ceiling)) = (&task.timeout, &budget.time)
        && limit.value > ceiling.value
    {
        let message = format!("`{name}` may take {}, the whole run {}", limit.value, ceiling.value);
        found.push(
            DOES_NOT_FIT
                .at(limit.span, message)
                .label("would never be reached")
                .related(ceiling.span, "the time ceiling of the run")
                .help("lower `timeout`, or raise `budget.time`"),
        );
    }
    if let (Some(most), Some(ceiling)) = (&task.max_usd, &budget.usd)
        && most.value > ceiling.value
    {
        let message = format!("`{name}` may cost {}, the whole run {}", most.value, ceiling.value);
        found.push(
            DOES_NOT_FIT
                .at(most.span, message)
                .label("that much is never left, so it never starts")
                .related(ceiling.span, "the cost ceiling of the run")
                .help("lower `max_usd`, or raise `budget.usd`"),
        );
    }
    if let Kind::Machine(machine) = &task.kind {
        machine.nodes.iter().for_each(|node| judge(&node.task, budget, found));
    }
}
