//! `plan::machine::out_of_exit`: an edge from where the machine ends.

use super::super::context::Context;
use super::super::machines::machines;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::kind::EndPoint;

/// Finds edges out of `exit`.
pub static RULE: Rule = Rule {
    code: &OUT_OF_EXIT,
    bad: r#"
machine m {
    command test { run = "make test" }
    start -> test -> exit
    exit  -> test
}
"#,
    good: r#"
machine m {
    command test { run = "make test", goal_gate = true, retry_target = test }
    start -> test -> exit
}
"#,
    check,
};

static OUT_OF_EXIT: Code = Code {
    id: "plan::machine::out_of_exit",
    severity: Severity::Error,
    summary: "An edge out of `exit`",
    explain: "`exit` is where a machine ends, not a node. What goes back from there is a goal gate that does \
              not hold: its `retry_target` says where to.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, machine) in machines(context) {
        for edge in machine.edges.iter().filter(|edge| edge.from.value == EndPoint::Exit) {
            found.push(
                OUT_OF_EXIT
                    .at(edge.from.span, "an edge leads out of `exit`")
                    .label("the machine has ended")
                    .help("give a node `goal_gate = true` and a `retry_target` to go back from the exit"),
            );
        }
    }
}
