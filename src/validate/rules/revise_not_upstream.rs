//! `plan::revise::not_upstream`: a reviewer of work that it does not see.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};

/// Finds targets that the reviewer does not depend on.
pub static RULE: Rule = Rule {
    code: &NOT_UPSTREAM,
    bad: r#"
command draft  { run = "./draft.sh" }
command review { revise = [draft], max_rounds = 3, run = "./review.sh" }
"#,
    good: r#"
command draft  { run = "./draft.sh" }
command review { depends_on = [draft], revise = [draft], max_rounds = 3, run = "./review.sh" }
"#,
    check,
};

static NOT_UPSTREAM: Code = Code {
    id: "plan::revise::not_upstream",
    severity: Severity::Error,
    summary: "A reviewer that does not depend on what it sends back",
    explain: "A reviewer sends back tasks that it depends on, directly or through others: they run again, and \
              then it judges them again.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    let targets: Vec<_> = context
        .tasks()
        .flat_map(|(id, task)| task.revise.iter().map(move |target| (target.value, id, target.span)))
        .collect();
    let pairs: Vec<_> = targets.iter().map(|&(target, id, _)| (target, id)).collect();
    for ((target, id, span), upstream) in targets.into_iter().zip(context.upstream(&pairs)) {
        if upstream {
            continue;
        }
        let (name, other) = (context.name(id), context.name(target));
        let message = match target == id {
            true => format!("`{name}` cannot send itself back"),
            false => format!("`{name}` sends back `{other}`, which it does not depend on"),
        };
        let help = match target == id {
            true => "name the tasks whose work it reviews".to_owned(),
            false => format!("add `{other}` to the `depends_on` of `{name}`"),
        };
        found.push(NOT_UPSTREAM.at(span, message).label("not upstream of the reviewer").help(help));
    }
}
