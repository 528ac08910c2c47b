//! `plan::revise::past_reviewer`: work that goes on from a draft whatever its reviewer says.

use super::super::context::Context;
use super::super::rule::Rule;
use super::revise_between::between;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::Bodies;

/// Finds dependents of a target that do not depend on its reviewer.
pub static RULE: Rule = Rule {
    code: &PAST_REVIEWER,
    bad: r#"
command draft   { run = "./draft.sh" }
command review  { depends_on = [draft], revise = [draft], max_rounds = 3, run = "./review.sh" }
command publish { depends_on = [draft], run = "./publish.sh" }
"#,
    good: r#"
command draft   { run = "./draft.sh" }
command review  { depends_on = [draft], revise = [draft], max_rounds = 3, run = "./review.sh" }
command publish { depends_on = [draft, review], run = "./publish.sh" }
"#,
    check,
};

static PAST_REVIEWER: Code = Code {
    id: "plan::revise::past_reviewer",
    severity: Severity::Warning,
    summary: "A task that depends on reviewed work but not on its reviewer",
    explain: "A task outside the body waits until the reviewer has settled for good and then reads the last \
              round. But unless it depends on the reviewer as well, it runs even if the reviewer never \
              accepted that round.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    let mut suspects = Vec::new();
    let bodies = Bodies::new(context.plan, context.graph);
    let circle = bodies.circle(context.plan, context.graph);
    for (reviewer, task) in context.tasks().filter(|(_, task)| !task.revise.is_empty()) {
        let unnamed = between(context, reviewer);
        for target in &task.revise {
            for &dependent in context.graph.dependents(target.value) {
                let inside = dependent == reviewer
                    || task.revise.iter().any(|target| target.value == dependent)
                    // A second reviewer of the same task is another rule's finding.
                    || context.plan[dependent].revise.iter().any(|own| own.value == target.value)
                    || unnamed.contains(&dependent)
                    // It could not depend on the reviewer, which is another rule's finding.
                    || (circle.contains(&reviewer)
                        && bodies.reviewer(dependent).is_some_and(|other| circle.contains(&other)));
                if !inside && !context.plan[dependent].holes {
                    suspects.push((reviewer, dependent, target));
                }
            }
        }
    }
    let pairs: Vec<_> = suspects.iter().map(|&(reviewer, dependent, _)| (reviewer, dependent)).collect();
    let targets: Vec<_> = suspects.iter().map(|&(reviewer, _, target)| (target.value, reviewer)).collect();
    let (waits, reviewed) = (context.upstream(&pairs), context.upstream(&targets));
    for (((reviewer, dependent, target), waits), reviewed) in suspects.into_iter().zip(waits).zip(reviewed) {
        // What the reviewer does not depend on, it does not review: another rule's finding.
        if !reviewed {
            continue;
        }
        let dependency = context.plan[dependent].depends_on.iter().find(|known| known.task == target.value);
        let (false, Some(dependency)) = (waits, dependency) else { continue };
        let (name, draft, review) =
            (context.name(dependent), context.name(target.value), context.name(reviewer));
        found.push(
            PAST_REVIEWER
                .at(
                    dependency.span,
                    format!("`{name}` depends on `{draft}` but not on its reviewer `{review}`"),
                )
                .label("runs even if the reviewer rejects it")
                .related(target.span, format!("`{review}` sends it back"))
                .help(format!("add `{review}` to the `depends_on` of `{name}`")),
        );
    }
}
