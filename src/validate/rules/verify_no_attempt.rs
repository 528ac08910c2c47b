//! `plan::verify::no_attempt`: a verifier that nobody would ask.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::kind::Kind;

/// Finds verifiers in tasks of which there is no attempt.
pub static RULE: Rule = Rule {
    code: &NO_ATTEMPT,
    bad: r#"
command change { run = "./change.sh", emits = { size: "small" | "large" } }
route which {
    depends_on = [change]
    source     = change
    question size   { labels = ["small", "large"], drop = ["small", "large"] }
    verify   recent { run = "test -s notes.md" }
}
"#,
    good: r#"
command change {
    run   = "./change.sh"
    emits = { size: "small" | "large" }
    verify recent { run = "test -s notes.md" }
}
route which {
    depends_on = [change]
    source     = change
    question size { labels = ["small", "large"], drop = ["small", "large"] }
}
"#,
    check,
};

static NO_ATTEMPT: Code = Code {
    id: "plan::verify::no_attempt",
    severity: Severity::Error,
    summary: "A verifier in a task that the engine answers itself",
    explain: "A verifier looks at an attempt. A `top_k`, and a `route` with a `source`, have none: what they come \
              to follows from their dependencies. Let those be checked, or the plan at its top level.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        match &task.kind {
            Kind::Route(route) if route.run.is_none() => {}
            // The reference says that a `top_k` holds none.
            Kind::TopK(_)
            | Kind::Route(_)
            | Kind::Command(_)
            | Kind::Evaluate(_)
            | Kind::Agent(_)
            | Kind::Gate(_)
            | Kind::Report(_)
            | Kind::Call(_)
            | Kind::Machine(_) => continue,
        }
        for check in &task.verify {
            let name = &task.name.value;
            found.push(
                NO_ATTEMPT
                    .at(check.name.span, format!("`{}` would never look at `{name}`", check.name.value))
                    .label("a `route` with a `source` has no attempt that could be checked")
                    .help("put it into the tasks that this one depends on, or at the top level"),
            );
        }
    }
}
