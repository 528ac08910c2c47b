//! `plan::join::settled_over_required`: a join that waits for failures it will never see.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::{Bodies, Join, OnFailure, Stage};

/// Finds main tasks that join `"settled"` on required ones while a failure halts the run.
pub static RULE: Rule = Rule {
    code: &SETTLED_OVER_REQUIRED,
    bad: r#"
command probe { run = "./probe.sh" }
command look  { depends_on = [probe], join = "settled", run = "./look.sh" }
"#,
    good: r#"
command probe { required = false, run = "./probe.sh" }
command look  { depends_on = [probe], join = "settled", run = "./look.sh" }
"#,
    check,
};

static SETTLED_OVER_REQUIRED: Code = Code {
    id: "plan::join::settled_over_required",
    severity: Severity::Warning,
    summary: "A `\"settled\"` join on a required task of a plan that halts on failure",
    explain: "A `\"settled\"` join runs whatever became of its dependencies. But while `on_failure` is \
              `\"halt\"`, a required task that fails stops the run first, and the join never sees it fail. \
              Make the dependency advisory with `required = false`, look at the failure from a task with \
              `stage = \"epilogue\"`, or say `on_failure = \"continue\"` in the header.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    if context.plan.header.on_failure == OnFailure::Continue {
        return;
    }
    let bodies = Bodies::new(context.plan, context.graph);
    for (id, task) in context.tasks() {
        if task.join.value != Join::Settled || task.stage != Stage::Main {
            continue;
        }
        let required = task.depends_on.iter().find(|dependency| {
            let other = &context.plan[dependency.task];
            // While it is under review, a failure stops nothing.
            let reviewed = bodies.together(id, dependency.task) && !bodies.binds(dependency.task);
            other.required && !other.holes && other.stage == Stage::Main && !reviewed
        });
        if let Some(dependency) = required {
            let (name, other) = (context.name(id), context.name(dependency.task));
            found.push(
                SETTLED_OVER_REQUIRED
                    .at(task.join.span, format!("`{name}` will never see required `{other}` fail"))
                    .label("a required failure stops the run first")
                    .related(dependency.span, format!("`{other}` is required"))
                    .help(format!(
                        "give `{other}` `required = false`, or the header `on_failure = \"continue\"`"
                    )),
            );
        }
    }
}
