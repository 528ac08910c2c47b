//! `plan::machine::several_starts`: a machine that begins at several nodes.

use super::super::context::Context;
use super::super::machines::{machines, starts};
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};

/// Finds machines with several edges from `start`.
pub static RULE: Rule = Rule {
    code: &SEVERAL_STARTS,
    bad: r#"
machine m {
    command lint { run = "make lint" }
    command test { run = "make test" }
    start -> lint -> exit
    start -> test -> exit
}
"#,
    good: r#"
machine m {
    command lint { run = "make lint" }
    command test { run = "make test" }
    start -> lint -> test -> exit
}
"#,
    check,
};

static SEVERAL_STARTS: Code = Code {
    id: "plan::machine::several_starts",
    severity: Severity::Error,
    summary: "A machine with several edges from `start`",
    explain: "A machine runs one node at a time and begins at one of them, always the same: there is one edge \
              from `start`, without a condition. To choose, begin at a node whose result the edges after it \
              read.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (task, machine) in machines(context) {
        let mut edges = starts(machine);
        let Some(first) = edges.next() else { continue };
        for edge in edges {
            found.push(
                SEVERAL_STARTS
                    .at(edge.span, format!("machine `{}` has several starts", task.name.value))
                    .label("another edge from `start`")
                    .related(first.span, "the first")
                    .help("keep one, and branch at the node that it leads to"),
            );
        }
    }
}
