//! `plan::revise::max_rounds`: rounds without a bound, or a bound without rounds.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};

/// Finds `revise` and `max_rounds` that stand alone.
pub static RULE: Rule = Rule {
    code: &MAX_ROUNDS,
    bad: r#"
command draft  { run = "./draft.sh" }
command review { depends_on = [draft], revise = [draft], run = "./review.sh" }
"#,
    good: r#"
command draft  { run = "./draft.sh" }
command review { depends_on = [draft], revise = [draft], max_rounds = 3, run = "./review.sh" }
"#,
    check,
};

static MAX_ROUNDS: Code = Code {
    id: "plan::revise::max_rounds",
    severity: Severity::Error,
    summary: "`revise` without `max_rounds`, or the other way round",
    explain: "What a plan repeats is bounded. `max_rounds`, from 2 to 5, counts the rounds of a reviewer, the \
              first included, and belongs to `revise`.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        let name = &task.name.value;
        match (task.revise.first(), &task.max_rounds) {
            (Some(first), None) => found.push(
                MAX_ROUNDS
                    .at(first.span, format!("reviewer `{name}` has no `max_rounds`"))
                    .label("would send work back without a bound")
                    .help("say how many rounds there may be, as in `max_rounds = 3`"),
            ),
            (None, Some(rounds)) => found.push(
                MAX_ROUNDS
                    .at(rounds.span, format!("`{name}` has `max_rounds` but reviews nothing"))
                    .label("there are no rounds to count")
                    .help("name what it sends back, as in `revise = [draft]`, or drop `max_rounds`"),
            ),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
}
