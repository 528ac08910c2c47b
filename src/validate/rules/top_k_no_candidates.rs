//! `plan::top_k::no_candidates`: a ranking of nothing.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::Kind;

/// Finds `top_k` tasks without dependencies.
pub static RULE: Rule = Rule {
    code: &NO_CANDIDATES,
    bad: r#"
top_k best { k = 1, direction = "higher" }
"#,
    good: r#"
command one  { run = "./one.sh", emits = { score: number } }
top_k   best { depends_on = [one], k = 1, direction = "higher" }
"#,
    check,
};

static NO_CANDIDATES: Code = Code {
    id: "plan::top_k::no_candidates",
    severity: Severity::Error,
    summary: "A `top_k` without dependencies",
    explain: "A `top_k` keeps the best of its dependencies, or of the instances of a mapped one. Without any \
              it would always fail.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        if matches!(task.kind, Kind::TopK(_)) && task.depends_on.is_empty() {
            found.push(
                NO_CANDIDATES
                    .at(task.name.span, format!("`{}` has nothing to rank", task.name.value))
                    .label("declared without `depends_on`")
                    .help("name the candidates, as in `depends_on = [first, second]`"),
            );
        }
    }
}
