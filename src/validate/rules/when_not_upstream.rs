//! `plan::when::not_upstream`: a condition on a task that may not have settled.

use super::super::context::Context;
use super::super::reading;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::Stage;

/// Finds conditions that read tasks which the reader does not depend on.
pub static RULE: Rule = Rule {
    code: &NOT_UPSTREAM,
    bad: r#"
command measure  { run = "./measure.sh", emits = { score: number } }
command consumer { when = measure.score > 0, run = "./use.sh" }
"#,
    good: r#"
command measure  { run = "./measure.sh", emits = { score: number } }
command consumer { depends_on = [measure], when = measure.score > 0, run = "./use.sh" }
"#,
    check,
};

static NOT_UPSTREAM: Code = Code {
    id: "plan::when::not_upstream",
    severity: Severity::Error,
    summary: "A condition that reads a task which the reader does not depend on",
    explain: "A condition is decided once everything in `depends_on` has settled. It may read any task that \
              its own task depends on, directly or through others; another one need not have a result by \
              then. List the task in `depends_on`.",
};

/// What to do where a condition, or a fan-out, reads the other stage.
pub(super) fn across(reader: Stage, read: &str) -> String {
    match reader {
        Stage::Epilogue => {
            format!("read it in the task itself: the input `outcome` has the result of `{read}`")
        }
        Stage::Main => format!("a main task cannot wait for `{read}`, which runs in the epilogue"),
    }
}

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    let mut reads = Vec::new();
    for (id, task) in context.tasks() {
        if let Some(when) = &task.when {
            when.value.reads(&mut |operand, span| {
                if let Some(read) = reading::task_of(operand) {
                    reads.push((read, id, span));
                }
            });
        }
    }
    let pairs: Vec<_> = reads.iter().map(|&(read, id, _)| (read, id)).collect();
    for ((read, id, span), upstream) in reads.into_iter().zip(context.upstream(&pairs)) {
        if upstream {
            continue;
        }
        let (name, other) = (context.name(id), context.name(read));
        let itself = read == id;
        let message = match itself {
            true => format!("`{name}` decides whether it runs by its own result"),
            false => format!("`{name}` reads `{other}`, which it does not depend on"),
        };
        let diagnostic = NOT_UPSTREAM.at(span, message).label("may not have a result by then");
        let stages = (context.plan[id].stage, context.plan[read].stage);
        found.push(match itself {
            true => diagnostic.help("read a task that it depends on"),
            false if stages.0 != stages.1 => diagnostic
                .related(context.plan[read].name.span, "declared here")
                .help(across(stages.0, other)),
            false => diagnostic
                .related(context.plan[read].name.span, "declared here")
                .help(format!("add `{other}` to the `depends_on` of `{name}`")),
        });
    }
}
