//! `plan::machine::no_such_target`: a retry target that is no node.

use super::super::context::Context;
use super::super::machines::{machines, names};
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity, suggest};

/// Finds retry targets that name nothing.
pub static RULE: Rule = Rule {
    code: &NO_SUCH_TARGET,
    bad: r#"
machine m {
    retry_target = biuld
    command build { run = "make" }
    command test  { run = "make test", goal_gate = true, retry_target = build }
    start -> build -> test -> exit
}
"#,
    good: r#"
machine m {
    retry_target = build
    command build { run = "make" }
    command test  { run = "make test", goal_gate = true }
    start -> build -> test -> exit
}
"#,
    check,
};

static NO_SUCH_TARGET: Code = Code {
    id: "plan::machine::no_such_target",
    severity: Severity::Warning,
    summary: "A retry target that does not exist",
    explain: "A `retry_target` or `fallback_retry_target` that names no node of the machine is passed over: \
              the next one that is set and exists is taken.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, machine) in machines(context) {
        let known = names(machine);
        let own = [&machine.retry_target, &machine.fallback_retry_target].into_iter();
        let nodes = machine.nodes.iter().flat_map(|node| [&node.retry_target, &node.fallback_retry_target]);
        for name in own.chain(nodes).flatten() {
            if known.contains_key(name.value.as_str()) {
                continue;
            }
            let nodes = machine.nodes.iter().map(|node| node.task.name.value.as_str());
            found.push(
                NO_SUCH_TARGET
                    .at(name.span, format!("no node is called `{}`", name.value))
                    .label("is passed over")
                    .maybe_help(suggest::did_you_mean(&name.value, nodes)),
            );
        }
    }
}
