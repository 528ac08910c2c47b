//! `plan::when::otherwise_of_nothing`: an `otherwise` that no label is left for.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::Condition;

/// Finds `otherwise` conditions without a label.
pub static RULE: Rule = Rule {
    code: &OTHERWISE_OF_NOTHING,
    bad: r#"
route   go   { run = "./decide.sh", question now { ask = "Now?" } }
command yes  { depends_on = [go], when = go.now == "yes", run = "./now.sh" }
command no   { depends_on = [go], when = go.now == "no", run = "./later.sh" }
command rest { depends_on = [go], when = otherwise(go.now), run = "./rest.sh" }
"#,
    good: r#"
route   go   { run = "./decide.sh", question now { ask = "Now?" } }
command yes  { depends_on = [go], when = go.now == "yes", run = "./now.sh" }
command rest { depends_on = [go], when = otherwise(go.now), run = "./rest.sh" }
"#,
    check,
};

static OTHERWISE_OF_NOTHING: Code = Code {
    id: "plan::when::otherwise_of_nothing",
    severity: Severity::Warning,
    summary: "An `otherwise` that no label is left for",
    explain: "`otherwise(x)` holds for every label of `x` that no other `when` covers, and never for \
              `\"uncertain\"`. Here other conditions cover all of them, so the task never runs.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (id, task) in context.tasks() {
        if let Some(when) = &task.when {
            visit(context, context.name(id), &when.value, found);
        }
    }
}

fn visit(context: &Context<'_>, name: &str, condition: &Condition, found: &mut Diagnostics) {
    match condition {
        Condition::And(parts) | Condition::Or(parts) => {
            parts.iter().for_each(|part| visit(context, name, part, found));
        }
        Condition::Not(part) => visit(context, name, part, found),
        Condition::Otherwise { task, question, labels, span } => {
            // A branch that could not be read may cover any label.
            let certain =
                || !context.plan.facts.incomplete && !context.plan.tasks.iter().any(|task| task.holes);
            if labels.is_empty() && certain() {
                let asked = format!("{}.{question}", context.name(*task));
                found.push(
                    OTHERWISE_OF_NOTHING
                        .at(*span, format!("no label of `{asked}` is left for `{name}`"))
                        .label("other conditions cover all of them")
                        .help(format!("remove `{name}`, or the branch that takes its label")),
                );
            }
        }
        Condition::Compare { .. } | Condition::Holds { .. } => {}
    }
}
