//! `plan::report::result`: a report about a task that it does not wait for.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::kind::Kind;

/// Finds reports whose `result` is no dependency.
pub static RULE: Rule = Rule {
    code: &RESULT,
    bad: r#"
command audit { run = "./audit.sh", emits = { found: integer } }
report  page  { template = "page.md", to = "page.md", result = audit }
"#,
    good: r#"
command audit { run = "./audit.sh", emits = { found: integer } }
report  page  { depends_on = [audit], template = "page.md", to = "page.md", result = audit }
"#,
    check,
};

static RESULT: Code = Code {
    id: "plan::report::result",
    severity: Severity::Error,
    summary: "A report about a task that it does not depend on",
    explain: "A report renders the results of its dependencies; the task in `result` is one of them.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (id, task) in context.tasks() {
        let Kind::Report(report) = &task.kind else { continue };
        let Some(result) = &report.result else { continue };
        if !context.lists(id, result.value) {
            let (name, other) = (&task.name.value, &context.plan[result.value].name);
            found.push(
                RESULT
                    .at(result.span, format!("report `{name}` does not depend on `{}`", other.value))
                    .label("not in `depends_on`")
                    .related(other.span, "declared here")
                    .help(format!("add `{}` to the `depends_on` of `{name}`", other.value)),
            );
        }
    }
}
