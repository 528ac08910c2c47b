//! `plan::over::not_a_list`: a fan-out over something that names no instances.

use super::super::context::Context;
use super::super::rule::Rule;
use super::super::shape::{Member, Shape};
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::Over;

/// Finds fan-outs over values that are not lists of strings, integers or objects.
pub static RULE: Rule = Rule {
    code: &NOT_A_LIST,
    bad: r#"
command list { run = "./list.sh", emits = { count: integer } }
command each { depends_on = [list], over = list.count, run = "./each.sh" }
"#,
    good: r#"
command list { run = "./list.sh", emits = { names: [string] } }
command each { depends_on = [list], over = list.names, run = "./each.sh" }
"#,
    check,
};

static NOT_A_LIST: Code = Code {
    id: "plan::over::not_a_list",
    severity: Severity::Error,
    summary: "A fan-out over something that names no instances",
    explain: "`over` runs one instance per element, named after it: the elements are strings, integers, or \
              objects with a `key` field that names them. Numbers with fractions, booleans and nested lists \
              name nothing.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        let Some(over) = &task.over else { continue };
        let (text, shape) = match &over.value {
            // Lowering takes a list parameter only.
            Over::Param(_) => continue,
            Over::Field(producer, field) if !context.plan[*producer].holes => {
                let text = format!("{}.{field}", context.name(*producer));
                match context.received(task, *producer).member(field) {
                    Member::Is(shape) => (text, shape.clone()),
                    Member::Unknown | Member::Undeclared => continue,
                }
            }
            Over::Field(..) => continue,
        };
        if !shape.may(&|shape| matches!(shape, Shape::List(element) if names(element))) {
            found.push(
                NOT_A_LIST
                    .at(over.span, format!("`{}` cannot fan out over `{text}`", task.name.value))
                    .label(format!("is {shape}, not a list of strings, integers or objects"))
                    .help("fan out over a list, as in `emits = { names: [string] }`"),
            );
        }
    }
}

/// Whether an element can name an instance, with a `key` where it is an object.
fn names(element: &Shape) -> bool {
    element.may(&|shape| match shape {
        Shape::String | Shape::Integer | Shape::Texts(_) | Shape::Object(_) => true,
        Shape::Anything
        | Shape::Null
        | Shape::Number
        | Shape::Boolean
        | Shape::List(_)
        | Shape::Either(_) => false,
    })
}
