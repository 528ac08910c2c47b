//! `plan::route::who_answers`: a route that nobody answers, or two do, or that asks nothing.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::kind::Kind;

/// Finds routes without exactly one of `source` and `run`, and routes without questions.
pub static RULE: Rule = Rule {
    code: &WHO_ANSWERS,
    bad: r#"
route queue { question bucket { ask = "Which queue?", labels = ["outage", "billing"] } }
"#,
    good: r#"
route queue { run = "./decide.sh", question bucket { ask = "Which queue?", labels = ["outage", "billing"] } }
"#,
    check,
};

static WHO_ANSWERS: Code = Code {
    id: "plan::route::who_answers",
    severity: Severity::Error,
    summary: "A route without exactly one source of answers, or without a question",
    explain: "A route asks one or more `question`s, and either a dependency answers them, `source = read`, or \
              a command does, `run = \"./decide.sh\"`: one of the two.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        let Kind::Route(route) = &task.kind else { continue };
        let name = &task.name.value;
        match (&route.source, &route.run) {
            (Some(source), Some(run)) => found.push(
                WHO_ANSWERS
                    .at(run.span, format!("route `{name}` is answered by `run` and by `source`"))
                    .label("a second answer")
                    .related(source.span, "the first")
                    .help("drop one of the two"),
            ),
            (None, None) => found.push(
                WHO_ANSWERS
                    .at(task.name.span, format!("nothing answers route `{name}`"))
                    .label("has neither `source` nor `run`")
                    .help("name the dependency that answers, `source = …`, or a command, `run = \"…\"`"),
            ),
            (Some(_), None) | (None, Some(_)) => {}
        }
        if route.questions.is_empty() {
            found.push(
                WHO_ANSWERS
                    .at(task.name.span, format!("route `{name}` asks nothing"))
                    .label("has no `question`")
                    .help("add one, as in `question go { ask = \"Go on?\" }`"),
            );
        }
    }
}
