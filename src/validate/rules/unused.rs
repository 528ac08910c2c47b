//! `plan::name::unused`: a declaration that nothing refers to.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::{Check, Kind, Task};
use crate::reference::Keyword;

/// Finds unused declarations, in plans that are otherwise right.
pub static RULE: Rule = Rule {
    code: &UNUSED,
    bad: r#"
let lnags = ["go", "rust"]
command build { run = "make" }
"#,
    good: r#"
let langs = ["go", "rust"]
for lang in langs {
    command f"build-{lang}" { run = ["make", lang] }
}
"#,
    check,
};

static UNUSED: Code = Code {
    id: "plan::name::unused",
    severity: Severity::Warning,
    summary: "A declaration that nothing refers to",
    explain: "A `let`, `param`, `template`, `profile` or `session` that nothing names does nothing. A \
              parameter counts as used where some command could read it from the input `params`. A file \
              without tasks is taken for a library, of which other files use what they need.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    let plan = context.plan;
    // What is broken may have used them.
    if found.has_errors() || plan.facts.incomplete || plan.tasks.is_empty() {
        return;
    }
    let reads_params = plan.tasks.iter().any(sees_params) || !plan.gates.is_empty();
    for (keyword, name) in &plan.facts.unused {
        if *keyword == Keyword::Param && reads_params {
            continue;
        }
        found.push(
            UNUSED
                .at(name.span, format!("{} `{}` is never used", keyword.as_str(), name.value))
                .label("nothing refers to it")
                .help("use it, or remove it"),
        );
    }
}

/// Whether a task gets the input `params` (LANGUAGE §12).
fn sees_params(task: &Task) -> bool {
    let verified = task.verify.iter().any(|verify| matches!(verify.check, Check::Run(_)));
    verified
        || match &task.kind {
            Kind::Command(_) | Kind::Evaluate(_) => true,
            Kind::Route(route) => route.run.is_some(),
            // A node reads `{context, previous, params}`.
            Kind::Machine(_) => true,
            Kind::Agent(_) | Kind::Gate(_) | Kind::TopK(_) | Kind::Report(_) | Kind::Call(_) => false,
        }
}
