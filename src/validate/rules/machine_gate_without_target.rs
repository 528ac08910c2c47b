//! `plan::machine::gate_without_target`: a goal gate that nothing goes back from.

use super::super::context::Context;
use super::super::machines::{machines, names, targets};
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};

/// Finds goal gates for which no retry target exists.
pub static RULE: Rule = Rule {
    code: &GATE_WITHOUT_TARGET,
    bad: r#"
machine m {
    command test { run = "make test", goal_gate = true }
    start -> test -> exit
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

static GATE_WITHOUT_TARGET: Code = Code {
    id: "plan::machine::gate_without_target",
    severity: Severity::Warning,
    summary: "A goal gate without any retry target",
    explain: "If a goal gate does not hold when the machine reaches its exit, the machine goes back to a retry \
              target: the gate's or the machine's. Without any it fails at once, `goal_unsatisfied`.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, machine) in machines(context) {
        let known = names(machine);
        for node in machine.nodes.iter().filter(|node| node.goal_gate) {
            let mut set = targets(machine, node).into_iter().flatten();
            if set.any(|name| known.contains_key(name.value.as_str())) {
                continue;
            }
            let name = &node.task.name.value;
            found.push(
                GATE_WITHOUT_TARGET
                    .at(node.task.name.span, format!("goal gate `{name}` has nothing to go back to"))
                    .label("fails the machine at its exit if it does not hold")
                    .help("add a `retry_target` to it or to the machine"),
            );
        }
    }
}
