//! `plan::budget::reserve_leaves_nothing`: a reserve as large as the ceiling.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostic, Diagnostics, Severity};
use crate::ir::Task;
use crate::source::Span;

/// Finds ceilings that the reserve uses up.
pub static RULE: Rule = Rule {
    code: &RESERVE_LEAVES_NOTHING,
    bad: r#"
plan "build" {
    budget  = { time = 5m }
    reserve = { time = 5m }
}
command build { run = "make" }
command tidy  { stage = "epilogue", always = true, run = "./tidy.sh" }
"#,
    good: r#"
plan "build" {
    budget  = { time = 5m }
    reserve = { time = 1m }
}
command build { run = "make" }
command tidy  { stage = "epilogue", always = true, run = "./tidy.sh" }
"#,
    check,
};

static RESERVE_LEAVES_NOTHING: Code = Code {
    id: "plan::budget::reserve_leaves_nothing",
    severity: Severity::Error,
    summary: "A reserve that leaves the main graph nothing",
    explain: "Where there are `always` tasks, the header's `reserve`, by default `{ time = 30s }`, is kept \
              back from the ceilings for them. What is left has to be more than nothing, or no main task \
              could start.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    let header = &context.plan.header;
    let Some((_, tidy)) = context.tasks().find(|(_, task)| task.always.value) else { return };
    if let Some(time) = &header.budget.time
        && header.reserve.time >= time.value
    {
        let amounts = (header.reserve.time.to_string(), time.value.to_string());
        found.push(finding("time", amounts, (header.reserve.span, time.span), tidy));
    }
    if let Some(usd) = &header.budget.usd
        && header.reserve.usd >= usd.value
        && !header.reserve.usd.is_zero()
    {
        let amounts = (header.reserve.usd.to_string(), usd.value.to_string());
        found.push(finding("usd", amounts, (header.reserve.span, usd.span), tidy));
    }
}

fn finding(
    name: &str,
    (reserve, budget): (String, String),
    (written, ceiling): (Option<Span>, Span),
    tidy: &Task,
) -> Diagnostic {
    let message = format!("the reserve of {reserve} leaves nothing of the {name} ceiling of {budget}");
    let diagnostic = match written {
        Some(span) => RESERVE_LEAVES_NOTHING
            .at(span, message)
            .label("kept back for `always` tasks")
            .related(ceiling, "the ceiling"),
        None => RESERVE_LEAVES_NOTHING
            .at(ceiling, message)
            .label(format!("{reserve} are kept back for `always` tasks by default")),
    };
    diagnostic
        .related(tidy.always.span, format!("`{}` uses the reserve", tidy.name.value))
        .help(format!("raise `budget.{name}`, or keep less back, as in `reserve = {{ {name} = … }}`"))
}
