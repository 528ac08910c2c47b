//! `plan::workspace::isolation_needs_git`: a private copy of a directory that the engine does not own.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::{Isolation, WorkspaceKind};

/// Finds isolated tasks in a direct workspace.
pub static RULE: Rule = Rule {
    code: &ISOLATION_NEEDS_GIT,
    bad: r#"
command build { isolation = "worktree", run = "make" }
"#,
    good: r#"
plan    "build" { workspace = "git" }
command build   { isolation = "worktree", run = "make" }
"#,
    check,
};

static ISOLATION_NEEDS_GIT: Code = Code {
    id: "plan::workspace::isolation_needs_git",
    severity: Severity::Error,
    summary: "An isolated task in a `\"direct\"` workspace",
    explain: "`isolation = \"worktree\"` gives a task a private checkout of the engine's repository. A \
              `\"direct\"` workspace, the default, is the plan's own directory and has none: say \
              `workspace = \"git\"` in the header.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    if context.plan.header.workspace == WorkspaceKind::Git {
        return;
    }
    for (_, task) in context.tasks() {
        if task.isolation.value == Isolation::Worktree {
            found.push(
                ISOLATION_NEEDS_GIT
                    .at(task.isolation.span, format!("`{}` cannot be isolated", task.name.value))
                    .label("the workspace is `\"direct\"`")
                    .help("give the header `workspace = \"git\"`"),
            );
        }
    }
}
