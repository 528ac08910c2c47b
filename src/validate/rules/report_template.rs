//! `plan::report::template`: a template that cannot be read.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::kind::Kind;
use crate::template;

/// Finds reports whose template has a mistake that no result could mend.
pub static RULE: Rule = Rule {
    code: &TEMPLATE,
    bad: r#"
command audit { run = "./audit.sh", emits = { found: integer } }
report  page  { depends_on = [audit], template = "broken.md", to = "page.md" }
"#,
    good: r#"
command audit { run = "./audit.sh", emits = { found: integer } }
report  page  { depends_on = [audit], template = "page.md", to = "page.md" }
"#,
    check,
};

static TEMPLATE: Code = Code {
    id: "plan::report::template",
    severity: Severity::Error,
    summary: "A template that cannot be read",
    explain: "A report's template is Jinja: `{{ task.field }}` for a value, `{% if … %}` and `{% for … %}` with \
              their ends. It is read before anything runs, so that a run does not end without its report for \
              a missing `%}`.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        let Kind::Report(report) = &task.kind else { continue };
        let Some((line, what)) = template::wrong(&report.template.value, &report.text) else { continue };
        let place =
            line.map_or_else(|| "in this file".to_owned(), |line| format!("in line {line} of this file"));
        found.push(
            TEMPLATE.at(report.template.span, format!("the template cannot be read: {what}")).label(place),
        );
    }
}
