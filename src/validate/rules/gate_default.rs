//! `plan::gate::default`: a default that never becomes the answer, since nothing times out.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};

/// Finds a `default` without a `timeout`.
pub static RULE: Rule = Rule {
    code: &DEFAULT,
    bad: r#"
gate ship { ask = "Ship it?", default = "no" }
"#,
    good: r#"
gate ship { ask = "Ship it?", timeout = 1h, default = "no" }
"#,
    check,
};

static DEFAULT: Code = Code {
    id: "plan::gate::default",
    severity: Severity::Warning,
    summary: "A gate with a `default` and no `timeout`",
    explain: "After its `timeout` a gate's `default` is the answer. Without a `timeout` that time never comes, and the \
              gate waits for a person.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (task, gate) in context.gates() {
        let name = &task.name.value;
        if let (Some(default), None) = (&gate.default, &task.timeout) {
            found.push(
                DEFAULT
                    .at(default.span, format!("gate `{name}` has a `default` and no `timeout`"))
                    .label("never becomes the answer")
                    .help("say after which time it does, as in `timeout = 1h`, or drop it"),
            );
        }
    }
}
