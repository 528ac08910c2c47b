//! `plan::done_when::beside_emits`: a result of a task that may not run.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};

/// Finds `done_when` beside `emits`.
pub static RULE: Rule = Rule {
    code: &BESIDE_EMITS,
    bad: r#"
command fetch { run = "./fetch.sh", done_when = "test -s data.csv", emits = { rows: integer } }
"#,
    good: r#"
command fetch { run = "./fetch.sh", done_when = "test -s data.csv" }
command count { depends_on = [fetch], run = "./count.sh", emits = { rows: integer } }
"#,
    check,
};

static BESIDE_EMITS: Code = Code {
    id: "plan::done_when::beside_emits",
    severity: Severity::Error,
    summary: "`done_when` beside `emits`",
    explain: "A task that is done already passes without running, so it has no result, and could not keep what \
              `emits` promises. Files are taken from disk as usual: promise those, or read them in a task of \
              its own.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        if let (Some(done), Some(emits)) = (&task.done_when, &task.emits) {
            found.push(
                BESIDE_EMITS
                    .at(done.span, format!("`{}` promises a result but may not run", task.name.value))
                    .label("passes without a result when it is done already")
                    .related(emits.span, "promised here")
                    .help("drop `emits`, or read the files in a task that depends on this one"),
            );
        }
    }
}
