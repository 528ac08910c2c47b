//! `plan::revise::circle`: reviews that wait for each other.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::Bodies;

/// Finds reviewers each of which depends on work that another one reviews.
pub static RULE: Rule = Rule {
    code: &CIRCLE,
    bad: r#"
command text  { run = "./text.sh" }
command data  { run = "./data.sh" }
command style { depends_on = [text, data], revise = [text], max_rounds = 3, run = "./style.sh" }
command facts { depends_on = [text, data], revise = [data], max_rounds = 3, run = "./facts.sh" }
"#,
    good: r#"
command text  { run = "./text.sh" }
command data  { run = "./data.sh" }
command facts { depends_on = [data], revise = [data], max_rounds = 3, run = "./facts.sh" }
command style { depends_on = [text, data, facts], revise = [text], max_rounds = 3, run = "./style.sh" }
"#,
    check,
};

static CIRCLE: Code = Code {
    id: "plan::revise::circle",
    severity: Severity::Error,
    summary: "Reviewers that wait for each other",
    explain: "What depends on reviewed work from outside of its body waits until the reviewer has settled for \
              good. Two reviewers that both depend on work of the other one would wait for ever. Let one of \
              them review only what nobody else does, and the other one depend on it; or let one reviewer send \
              everything back.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    let circle = Bodies::new(context.plan, context.graph).circle(context.plan, context.graph);
    // One alone waits for a task that it does not name: another rule's finding.
    let [first, others @ ..] = &circle[..] else { return };
    if others.is_empty() || circle.iter().any(|&id| context.plan[id].holes) {
        return;
    }
    let targets = &context.plan[*first].revise;
    let span = targets[0].span.to(targets[targets.len() - 1].span);
    let names: Vec<String> = others.iter().map(|&id| format!("`{}`", context.name(id))).collect();
    let (name, others_named) = (context.name(*first), names.join(", "));
    let mut finding = CIRCLE
        .at(span, format!("`{name}` and {others_named} wait for each other's review"))
        .label("held back until its review is over")
        .help(format!("take what {others_named} reviews out of the `depends_on` of `{name}`"));
    for &other in others {
        let target = &context.plan[other].revise[0];
        finding = finding.related(target.span, format!("and this by `{}`", context.name(other)));
    }
    found.push(finding);
}
