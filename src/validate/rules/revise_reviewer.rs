//! `plan::revise::reviewer_as_target`: a reviewer that another one sends back.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};

/// Finds targets that review themselves.
pub static RULE: Rule = Rule {
    code: &REVIEWER_AS_TARGET,
    bad: r#"
command text  { run = "./text.sh" }
command inner { depends_on = [text], revise = [text], max_rounds = 3, run = "./inner.sh" }
command outer { depends_on = [inner], revise = [inner], max_rounds = 3, run = "./outer.sh" }
"#,
    good: r#"
command text  { run = "./text.sh" }
command inner { depends_on = [text], run = "./inner.sh" }
command outer { depends_on = [inner], revise = [text, inner], max_rounds = 3, run = "./outer.sh" }
"#,
    check,
};

static REVIEWER_AS_TARGET: Code = Code {
    id: "plan::revise::reviewer_as_target",
    severity: Severity::Error,
    summary: "A reviewer that another reviewer sends back",
    explain: "Rounds do not nest: a reviewer has rounds of its own and is nobody's target. Let the later \
              reviewer send everything back, or use a `machine`.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (id, task) in context.tasks() {
        for target in task.revise.iter().filter(|target| target.value != id) {
            let other = &context.plan[target.value];
            let Some(own) = other.revise.first() else { continue };
            let (name, other) = (&task.name.value, &other.name.value);
            found.push(
                REVIEWER_AS_TARGET
                    .at(target.span, format!("`{name}` sends back `{other}`, which is a reviewer itself"))
                    .label("has rounds of its own")
                    .related(own.span, format!("`{other}` sends work back here"))
                    .help(format!(
                        "drop the `revise` of `{other}`, and name what it sent back in that of `{name}`"
                    )),
            );
        }
    }
}
