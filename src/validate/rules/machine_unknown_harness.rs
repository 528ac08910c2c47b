//! `plan::machine::unknown_harness`: a turn that nobody here can do.

use super::super::context::Context;
use super::super::machines::machines;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity, suggest};
use crate::ir::kind::Kind;
use crate::reference::HARNESSES;

/// Finds nodes whose harness this version does not know.
pub static RULE: Rule = Rule {
    code: &UNKNOWN_HARNESS,
    bad: r#"
plan "fix" { budget = { usd = 1.0, time = 10m } }
machine m {
    agent fix { harness = "cluade", prompt = "Fix it." }
    start -> fix -> exit
}
"#,
    good: r#"
plan "fix" { budget = { usd = 1.0, time = 10m } }
machine m {
    agent fix { prompt = "Fix it." }
    start -> fix -> exit
}
"#,
    check,
};

static UNKNOWN_HARNESS: Code = Code {
    id: "plan::machine::unknown_harness",
    severity: Severity::Warning,
    summary: "A node with a harness that is not known",
    explain: "An agent's turn is done by a harness that this program has an adapter for. A run refuses a \
              harness that does not exist before anything starts.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, machine) in machines(context) {
        for node in &machine.nodes {
            let Kind::Agent(agent) = &node.task.kind else { continue };
            let Some(harness) = &agent.settings.harness else { continue };
            if HARNESSES.contains(&harness.value.as_str()) {
                continue;
            }
            let near = suggest::nearest(&harness.value, HARNESSES.iter().copied());
            found.push(
                UNKNOWN_HARNESS
                    .at(harness.span, format!("no harness is called {:?}", harness.value))
                    .label(format!("node `{}` would be refused by a run", node.task.name.value))
                    .maybe_help(near.map(|near| format!("did you mean {near:?}?"))),
            );
        }
    }
}
