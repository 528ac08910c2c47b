//! `plan::join::refused`: envelopes for a task whose inputs are fixed.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::{Join, Kind};

/// Finds `"settled"` joins of tasks that read plain outputs.
pub static RULE: Rule = Rule {
    code: &REFUSED,
    bad: r#"
command one  { required = false, run = "./one.sh", emits = { score: number } }
top_k   best { depends_on = [one], join = "settled", k = 1, direction = "higher" }
"#,
    good: r#"
command one  { required = false, run = "./one.sh", emits = { score: number } }
top_k   best { depends_on = [one], join = "passed", k = 1, direction = "higher" }
"#,
    check,
};

static REFUSED: Code = Code {
    id: "plan::join::refused",
    severity: Severity::Error,
    summary: "A `\"settled\"` join of a task that reads plain outputs",
    explain: "A `\"settled\"` join hands over envelopes, `{status, note, output, files}`, instead of outputs. \
              `top_k`, `report` and a `route` with a `source` read the outputs themselves, so they cannot use \
              it. `join = \"passed\"` waits for every dependency too, and receives those that passed.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (id, task) in context.tasks() {
        let what = match &task.kind {
            Kind::TopK(_) => "a `top_k` ranks plain outputs",
            Kind::Report(_) => "a `report` renders plain outputs",
            Kind::Route(route) if route.source.is_some() => "a `route` reads its answers from a plain output",
            Kind::Route(_)
            | Kind::Command(_)
            | Kind::Evaluate(_)
            | Kind::Agent(_)
            | Kind::Gate(_)
            | Kind::Call(_)
            | Kind::Machine(_) => continue,
        };
        if task.join.value == Join::Settled && !task.depends_on.is_empty() {
            found.push(
                REFUSED
                    .at(task.join.span, format!("`{}` cannot join `\"settled\"`", context.name(id)))
                    .label(what)
                    .help("use `join = \"passed\"`, which waits for every dependency as well"),
            );
        }
    }
}
