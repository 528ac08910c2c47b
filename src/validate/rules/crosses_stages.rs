//! `plan::dependency::crosses_stages`: a dependency from one stage into the other.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::Stage;

/// Finds dependencies between the main graph and the epilogue.
pub static RULE: Rule = Rule {
    code: &CROSSES_STAGES,
    bad: r#"
command build  { run = "make" }
command report { stage = "epilogue", depends_on = [build], run = "./report.sh" }
"#,
    good: r#"
command build  { run = "make" }
command report { stage = "epilogue", run = "./report.sh" }
"#,
    check,
};

static CROSSES_STAGES: Code = Code {
    id: "plan::dependency::crosses_stages",
    severity: Severity::Error,
    summary: "A dependency between the main graph and the epilogue",
    explain: "Epilogue tasks run once every main task has settled, and cannot change the verdict. So a main \
              task cannot wait for one, and an epilogue task need not name main tasks: it starts after all of \
              them in any case, and reads their results in its input `outcome`. An epilogue task may depend \
              on other epilogue tasks.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (id, task) in context.tasks() {
        let mut last = None;
        for dependency in &task.depends_on {
            let other = &context.plan[dependency.task];
            // A group stands at one place for many tasks: one finding there.
            if other.holes || other.stage == task.stage || last == Some(dependency.span) {
                continue;
            }
            last = Some(dependency.span);
            let (name, other_name) = (context.name(id), &other.name.value);
            let related = format!("`{other_name}` runs in the {}", stage(other.stage));
            found.push(match task.stage {
                Stage::Main => CROSSES_STAGES
                    .at(
                        dependency.span,
                        format!("main task `{name}` depends on epilogue task `{other_name}`"),
                    )
                    .label("runs only once every main task has settled")
                    .related(other.name.span, related)
                    .help(format!("give `{name}` `stage = \"epilogue\"` too, or drop the dependency")),
                Stage::Epilogue => CROSSES_STAGES
                    .at(
                        dependency.span,
                        format!("epilogue task `{name}` depends on main task `{other_name}`"),
                    )
                    .label("has always settled by then")
                    .related(other.name.span, related)
                    .help(format!(
                        "drop the dependency: the input `outcome` has the result of `{other_name}`"
                    )),
            });
        }
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Main => "main graph",
        Stage::Epilogue => "epilogue",
    }
}
