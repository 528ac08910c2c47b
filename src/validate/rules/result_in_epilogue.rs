//! `plan::stage::result_in_epilogue`: a run's result from a task that cannot decide it.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::{Stage, TaskId};
use crate::source::Spanned;

/// Finds `result` and `repair_from` that name an epilogue task.
pub static RULE: Rule = Rule {
    code: &RESULT_IN_EPILOGUE,
    bad: r#"
plan    "audit" { result = report }
command audit   { run = "./audit.sh" }
command report  { stage = "epilogue", run = "./report.sh" }
"#,
    good: r#"
plan    "audit" { result = audit }
command audit   { run = "./audit.sh" }
command report  { stage = "epilogue", run = "./report.sh" }
"#,
    check,
};

static RESULT_IN_EPILOGUE: Code = Code {
    id: "plan::stage::result_in_epilogue",
    severity: Severity::Error,
    summary: "A `result` or a `repair_from` in the epilogue",
    explain: "The run's result is the output of a main task, and a repair starts from one: the epilogue runs \
              when the verdict is decided, and cannot change it.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    if let Some(result) = &context.plan.header.result {
        judge(context, result, "result", "the run's result", found);
    }
    for gate in &context.plan.gates {
        if let Some(from) = &gate.repair_from {
            judge(context, from, "repair_from", "where a repair starts", found);
        }
    }
}

fn judge(context: &Context<'_>, named: &Spanned<TaskId>, field: &str, what: &str, found: &mut Diagnostics) {
    let task = &context.plan[named.value];
    if task.stage == Stage::Epilogue && !task.holes {
        let name = &task.name.value;
        found.push(
            RESULT_IN_EPILOGUE
                .at(named.span, format!("epilogue task `{name}` cannot be {what}"))
                .label(format!("`{field}` names a main task"))
                .related(task.name.span, "runs once the main graph has settled"),
        );
    }
}
