//! `plan::report::to`: reports that write the same file.

use rustc_hash::FxHashMap;

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::kind::Kind;

/// Finds reports that write what another one writes.
pub static RULE: Rule = Rule {
    code: &TO,
    bad: r#"
command audit { run = "./audit.sh", emits = { found: integer } }
report  page  { depends_on = [audit], template = "page.md", to = "page.md" }
report  again { depends_on = [audit], template = "page.md", to = "page.md" }
"#,
    good: r#"
command audit { run = "./audit.sh", emits = { found: integer } }
report  page  { depends_on = [audit], template = "page.md", to = "page.md" }
report  again { depends_on = [audit], template = "page.md", to = "again.md" }
"#,
    check,
};

static TO: Code = Code {
    id: "plan::report::to",
    severity: Severity::Warning,
    summary: "Two reports that write the same file",
    explain: "The later of them replaces what the earlier one wrote. That is meant only where `when` lets one \
              of them run; give each its own path otherwise.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    let mut first = FxHashMap::default();
    for (_, task) in context.tasks() {
        let Kind::Report(report) = &task.kind else { continue };
        if report.to.value == "stdout" || task.when.is_some() {
            continue;
        }
        let Some(other) = first.insert(&report.to.value, report.to.span) else { continue };
        let (name, to) = (&task.name.value, &report.to.value);
        found.push(
            TO.at(report.to.span, format!("report `{name}` writes `{to}`, as another one does"))
                .label("replaces what is there")
                .related(other, "written here before")
                .help("give each report a path of its own"),
        );
    }
}
