//! `plan::machine::no_start`: a machine that does not begin.

use super::super::context::Context;
use super::super::machines::{machines, starts};
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};

/// Finds machines without an edge from `start`.
pub static RULE: Rule = Rule {
    code: &NO_START,
    bad: r#"
machine m {
    command test { run = "make test" }
    test -> exit
}
"#,
    good: r#"
machine m {
    command test { run = "make test" }
    start -> test -> exit
}
"#,
    check,
};

static NO_START: Code = Code {
    id: "plan::machine::no_start",
    severity: Severity::Error,
    summary: "A machine without an edge from `start`",
    explain: "A machine begins at the node that its one edge from `start` leads to.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (task, machine) in machines(context) {
        if starts(machine).next().is_none() {
            let first = machine.nodes.first().map_or("first", |node| node.task.name.value.as_str());
            found.push(
                NO_START
                    .at(task.name.span, format!("machine `{}` has no start", task.name.value))
                    .label("no edge leads from `start`")
                    .help(format!("add `start -> {first}`")),
            );
        }
    }
}
