//! `plan::join::required_behind_advisory`: required work that an advisory failure would block.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::Join;

/// Finds required tasks that need an advisory one to pass.
pub static RULE: Rule = Rule {
    code: &REQUIRED_BEHIND_ADVISORY,
    bad: r#"
command probe   { required = false, run = "./probe.sh" }
command deliver { depends_on = [probe], run = "./deliver.sh" }
"#,
    good: r#"
command probe   { required = false, run = "./probe.sh" }
command deliver { depends_on = [probe], join = "settled", run = "./deliver.sh" }
"#,
    check,
};

static REQUIRED_BEHIND_ADVISORY: Code = Code {
    id: "plan::join::required_behind_advisory",
    severity: Severity::Error,
    summary: "A required task that needs an advisory one to pass",
    explain: "`required = false` says that a task may fail without failing the run. A required task that joins \
              `\"all\"` on it could not run then, and would fail the run after all. Join `\"settled\"` to run \
              whatever became of it, or `\"passed\"` beside other dependencies; make the dependency required; \
              or make the dependent advisory as well.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (id, task) in context.tasks() {
        if !task.required || task.join.value != Join::All {
            continue;
        }
        let mut last = None;
        // Further up a path the first required task behind an advisory one has the finding.
        for dependency in &task.depends_on {
            let other = &context.plan[dependency.task];
            if other.required || other.holes || last == Some(dependency.span) {
                continue;
            }
            last = Some(dependency.span);
            let (name, other_name) = (context.name(id), &other.name.value);
            found.push(
                REQUIRED_BEHIND_ADVISORY
                    .at(dependency.span, format!("required `{name}` needs advisory `{other_name}` to pass"))
                    .label("its failure would block a required task")
                    .related(other.name.span, "advisory: `required = false`")
                    .help(
                        "use `join = \"settled\"` to run whatever became of it, or drop `required = false`",
                    ),
            );
        }
    }
}
