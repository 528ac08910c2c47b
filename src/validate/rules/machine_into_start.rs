//! `plan::machine::into_start`: an edge back into `start`.

use super::super::context::Context;
use super::super::machines::{machines, starts};
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::kind::EndPoint;

/// Finds edges into `start`.
pub static RULE: Rule = Rule {
    code: &INTO_START,
    bad: r#"
machine m {
    command test { run = "make test" }
    start -> test -> exit
    test  -> start if outcome == "fail"
}
"#,
    good: r#"
machine m {
    command test { run = "make test" }
    start -> test -> exit
    test  -> test if outcome == "fail"
}
"#,
    check,
};

static INTO_START: Code = Code {
    id: "plan::machine::into_start",
    severity: Severity::Error,
    summary: "An edge into `start`",
    explain: "`start` is where a machine begins, not a node. To begin again, lead the edge to the node that \
              follows `start`.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, machine) in machines(context) {
        let first = starts(machine).find_map(|edge| match edge.to.value {
            EndPoint::Node(node) => machine.nodes.get(node as usize),
            EndPoint::Start | EndPoint::Exit | EndPoint::Unknown => None,
        });
        for edge in machine.edges.iter().filter(|edge| edge.to.value == EndPoint::Start) {
            found.push(
                INTO_START
                    .at(edge.to.span, "an edge leads into `start`")
                    .label("is no node")
                    .maybe_help(first.map(|node| format!("lead it to `{}`", node.task.name.value))),
            );
        }
    }
}
