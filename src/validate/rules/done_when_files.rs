//! `plan::done_when::no_files`: done when all of no files exist.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::DoneWhen;

/// Finds `done_when = "files"` without `emits_files`.
pub static RULE: Rule = Rule {
    code: &NO_FILES,
    bad: r#"
command fetch { run = "./fetch.sh", done_when = "files" }
"#,
    good: r#"
command fetch { run = "./fetch.sh", done_when = "files", emits_files = ["data.csv"] }
"#,
    check,
};

static NO_FILES: Code = Code {
    id: "plan::done_when::no_files",
    severity: Severity::Error,
    summary: "`done_when = \"files\"` without `emits_files`",
    explain: "`\"files\"` passes the task without running it when every path in `emits_files` exists. Without \
              any path it would never run.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        let Some(done) = &task.done_when else { continue };
        if done.value == DoneWhen::Files && task.emits_files.is_empty() {
            found.push(
                NO_FILES
                    .at(done.span, format!("`{}` declares no files to be done by", task.name.value))
                    .label("looks at the paths in `emits_files`")
                    .help("add `emits_files = [\"path\"]`, or write a command, as in `done_when = \"test -s out.txt\"`"),
            );
        }
    }
}
