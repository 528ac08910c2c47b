//! `plan::stage::always_in_main`: clean-up in the main graph.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::Stage;

/// Finds main tasks that say `always`.
pub static RULE: Rule = Rule {
    code: &ALWAYS_IN_MAIN,
    bad: r#"
command tidy { always = true, run = "./tidy.sh" }
"#,
    good: r#"
command tidy { stage = "epilogue", always = true, run = "./tidy.sh" }
"#,
    check,
};

static ALWAYS_IN_MAIN: Code = Code {
    id: "plan::stage::always_in_main",
    severity: Severity::Error,
    summary: "`always` on a main task",
    explain: "`always = true` runs an epilogue task after a ceiling or a stop too, on what the header's \
              `reserve` kept back. A main task is work that a ceiling or a stop ends.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        if task.always.value && task.stage == Stage::Main {
            found.push(
                ALWAYS_IN_MAIN
                    .at(task.always.span, format!("`{}` is no epilogue task", task.name.value))
                    .label("only an epilogue task can run after a ceiling or a stop")
                    .help("add `stage = \"epilogue\"`, or drop `always`"),
            );
        }
    }
}
