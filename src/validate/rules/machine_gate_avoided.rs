//! `plan::machine::gate_avoided`: a goal gate that need not be visited.

use super::super::context::Context;
use super::super::machines::{Ways, has_unknown_ends, machines, starts};
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};

/// Finds goal gates that some way to the exit leaves out.
pub static RULE: Rule = Rule {
    code: &GATE_AVOIDED,
    bad: r#"
machine m {
    command build { run = "make" }
    command test  { run = "make test", goal_gate = true, retry_target = build }
    start -> build
    build -> test if last_line == "changed"
    build -> exit
    test  -> exit
}
"#,
    good: r#"
machine m {
    command build { run = "make" }
    command test  { run = "make test", goal_gate = true, retry_target = build }
    start -> build -> test -> exit
}
"#,
    check,
};

static GATE_AVOIDED: Code = Code {
    id: "plan::machine::gate_avoided",
    severity: Severity::Warning,
    summary: "A goal gate that some path avoids",
    explain: "The exit audits the goal gates that were visited. A way to `exit` that leaves one out passes \
              without it.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, machine) in machines(context) {
        if starts(machine).next().is_none() || has_unknown_ends(machine) {
            continue;
        }
        let ways = Ways::new(machine);
        let (reached, exit) = ways.reach(machine);
        // Going back is for a gate that does not hold; the ways that count are edges.
        let certain = ways.unavoidable();
        let gates =
            machine.nodes.iter().zip(reached.into_iter().zip(certain)).filter(|(node, _)| node.goal_gate);
        for (node, (reached, certain)) in gates {
            // A machine without an exit, and a node that never runs, are other rules' findings.
            if !exit || !reached || certain {
                continue;
            }
            let name = &node.task.name.value;
            found.push(
                GATE_AVOIDED
                    .at(node.task.name.span, format!("some path to `exit` avoids the goal gate `{name}`"))
                    .label("is audited only if it was visited")
                    .help(format!("lead every path through `{name}`")),
            );
        }
    }
}
