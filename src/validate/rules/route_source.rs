//! `plan::route::source`: answers from a task that is not waited for, or that has none to give.

use super::super::context::Context;
use super::super::rule::Rule;
use super::super::shape::{Member, Shape};
use crate::diag::{Code, Diagnostics, Severity, suggest};
use crate::ir::kind::Kind;

/// Finds route sources that are no dependencies, or declare no usable answer.
pub static RULE: Rule = Rule {
    code: &SOURCE,
    bad: r#"
command read  { run = "./read.sh", emits = { colour: string } }
route   queue { depends_on = [read], source = read, question bucket { ask = "Which?", labels = ["a", "b"] } }
"#,
    good: r#"
command read  { run = "./read.sh", emits = { bucket: "a" | "b" } }
route   queue { depends_on = [read], source = read, question bucket { ask = "Which?", labels = ["a", "b"] } }
"#,
    check,
};

static SOURCE: Code = Code {
    id: "plan::route::source",
    severity: Severity::Error,
    summary: "A route whose source has no answer to give",
    explain: "The `source` of a route is one of its dependencies. Its output carries one label under the name \
              of each question, or a boolean for a question without labels; any other value fails the route. \
              So the source has to declare a field of that name in `emits`, with a type that can be one of \
              the labels.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (id, task) in context.tasks() {
        let Kind::Route(route) = &task.kind else { continue };
        let Some(source) = &route.source else { continue };
        let (name, other) = (&task.name.value, &context.plan[source.value]);
        let other_name = &other.name.value;
        if !context.lists(id, source.value) {
            found.push(
                SOURCE
                    .at(source.span, format!("route `{name}` does not depend on its source `{other_name}`"))
                    .label("not in `depends_on`")
                    .related(other.name.span, "declared here")
                    .help(format!("add `{other_name}` to the `depends_on` of `{name}`")),
            );
            continue;
        }
        if other.holes {
            continue;
        }
        let output = context.received(task, source.value);
        for question in &route.questions {
            let asked = &question.name.value;
            let place = other.emits.as_ref().map_or(other.name.span, |emits| emits.span);
            match output.member(asked) {
                Member::Unknown => {}
                Member::Undeclared => found.push(
                    SOURCE
                        .at(question.name.span, format!("source `{other_name}` declares no field `{asked}`"))
                        .label("nothing would answer this question")
                        .related(
                            place,
                            match other.emits {
                                Some(_) => "its fields are declared here",
                                None => "declared without `emits`",
                            },
                        )
                        .help(suggest::did_you_mean(asked, output.names()).unwrap_or_else(|| {
                            format!("give `{other_name}` a field `{asked}` in its `emits`")
                        })),
                ),
                Member::Is(shape) => {
                    let labels = question.labels.iter().map(|label| label.value.clone()).collect();
                    let answers = Shape::Texts(labels);
                    if shape.may_meet(&answers) || question.yes_no && shape.may_be_boolean() {
                        continue;
                    }
                    found.push(
                        SOURCE
                            .at(
                                question.name.span,
                                format!("`{other_name}.{asked}` can never be a label of `{asked}`"),
                            )
                            .label(format!("its labels are {answers}"))
                            .related(place, format!("`{asked}` is declared as {shape}")),
                    );
                }
            }
        }
    }
}
