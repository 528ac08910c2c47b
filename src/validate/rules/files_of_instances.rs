//! `plan::files::of_instances`: instances that take turns at one path.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::Isolation;

/// Finds mapped tasks that promise files without isolation.
pub static RULE: Rule = Rule {
    code: &OF_INSTANCES,
    bad: r#"
command list { run = "./list.sh", emits = { names: [string] } }
command each { depends_on = [list], over = list.names, run = "./each.sh", emits_files = ["out.txt"] }
"#,
    good: r#"
plan    "files" { workspace = "git" }
command list    { run = "./list.sh", emits = { names: [string] } }
command each {
    depends_on  = [list]
    over        = list.names
    isolation   = "worktree"
    run         = "./each.sh"
    emits_files = ["out.txt"]
}
"#,
    check,
};

static OF_INSTANCES: Code = Code {
    id: "plan::files::of_instances",
    severity: Severity::Warning,
    summary: "Instances that take turns at one path",
    explain: "Every instance of a task that fans out promises the same paths. Unless each has a workspace of \
              its own, they run one at a time, so that none takes another's file. `isolation = \"worktree\"` \
              in a plan with `workspace = \"git\"` lets them run side by side; so does a result instead of a \
              file.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        let (Some(over), Some(file)) = (&task.over, task.emits_files.first()) else { continue };
        if task.isolation.value == Isolation::None {
            found.push(
                OF_INSTANCES
                    .at(file.path.span, format!("the instances of `{}` run one at a time", task.name.value))
                    .label("each of them writes this path")
                    .related(over.span, "fans out here")
                    .help("isolate them with `isolation = \"worktree\"`, or put the content into the result"),
            );
        }
    }
}
