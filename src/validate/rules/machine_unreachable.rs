//! `plan::machine::unreachable`: a node that never runs.

use super::super::context::Context;
use super::super::machines::{Ways, has_unknown_ends, machines, starts};
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};

/// Finds nodes that no way from the start leads to.
pub static RULE: Rule = Rule {
    code: &UNREACHABLE,
    bad: r#"
machine m {
    command test   { run = "make test" }
    command island { run = "make island" }
    start  -> test -> exit
    island -> exit
}
"#,
    good: r#"
machine m {
    command test   { run = "make test" }
    command island { run = "make island" }
    start -> test -> island -> exit
}
"#,
    check,
};

static UNREACHABLE: Code = Code {
    id: "plan::machine::unreachable",
    severity: Severity::Error,
    summary: "A node that cannot be reached",
    explain: "No edges lead from the machine's `start` to this node, and no retry target names it, so it never \
              runs. Lead an edge to it, or remove it.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, machine) in machines(context) {
        if starts(machine).next().is_none() || has_unknown_ends(machine) {
            continue;
        }
        let (reached, _) = Ways::new(machine).reach(machine);
        for (node, _) in machine.nodes.iter().zip(reached).filter(|(_, reached)| !reached) {
            let name = &node.task.name.value;
            found.push(
                UNREACHABLE
                    .at(node.task.name.span, format!("node `{name}` cannot be reached"))
                    .label("no edge or retry target leads here from `start`")
                    .help(format!("lead an edge to `{name}`, or remove it")),
            );
        }
    }
}
