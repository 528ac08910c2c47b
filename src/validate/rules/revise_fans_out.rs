//! `plan::revise::fans_out`: a round of a task that has instances.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};

/// Finds reviewers and targets that fan out.
pub static RULE: Rule = Rule {
    code: &FANS_OUT,
    bad: r#"
command list   { run = "./list.sh", emits = { names: [string] } }
command each   { depends_on = [list], over = list.names, run = "./each.sh" }
command review { depends_on = [each], revise = [each], max_rounds = 3, run = "./review.sh" }
"#,
    good: r#"
command list   { run = "./list.sh", emits = { names: [string] } }
command all    { depends_on = [list], run = "./all.sh" }
command review { depends_on = [all], revise = [all], max_rounds = 3, run = "./review.sh" }
"#,
    check,
};

static FANS_OUT: Code = Code {
    id: "plan::revise::fans_out",
    severity: Severity::Error,
    summary: "A reviewer, or what it sends back, fans out",
    explain: "A round runs each task of the body once. A task that fans out has instances instead, so it can \
              neither be sent back nor review.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        if let (Some(first), Some(over)) = (task.revise.first(), &task.over) {
            found.push(
                FANS_OUT
                    .at(first.span, format!("reviewer `{}` fans out", task.name.value))
                    .label("its instances cannot review one after the other")
                    .related(over.span, "fans out here")
                    .help("drop `over`, or `revise`"),
            );
        }
        for target in &task.revise {
            let other = &context.plan[target.value];
            if let (Some(over), false) = (&other.over, other.holes) {
                let (name, other) = (&task.name.value, &other.name.value);
                found.push(
                    FANS_OUT
                        .at(target.span, format!("`{name}` cannot send back `{other}`, which fans out"))
                        .label("has instances, not rounds")
                        .related(over.span, "fans out here")
                        .help(format!("drop the `over` of `{other}`, or take it out of `revise`")),
                );
            }
        }
    }
}
