//! `plan::over::key`: a fan-out whose instances get no name, or not by this field.

use super::super::context::Context;
use super::super::rule::Rule;
use super::super::shape::{Member, Shape};
use crate::diag::{Code, Diagnostics, Severity, suggest};
use crate::ir::Task;
use crate::source::Spanned;

/// Finds fan-outs over objects without a usable `key`, and `key` where there are no objects.
pub static RULE: Rule = Rule {
    code: &KEY,
    bad: r#"
command list { run = "./list.sh", emits = { hosts: [{ name: string, port: integer }] } }
command each { depends_on = [list], over = list.hosts, run = "./each.sh" }
"#,
    good: r#"
command list { run = "./list.sh", emits = { hosts: [{ name: string, port: integer }] } }
command each { depends_on = [list], over = list.hosts, key = "name", run = "./each.sh" }
"#,
    check,
};

static KEY: Code = Code {
    id: "plan::over::key",
    severity: Severity::Error,
    summary: "A fan-out whose instances `key` does not name",
    explain: "Instances are named after their elements. A string or an integer names itself. An object is \
              named by one of its fields, a string or an integer, which `key` chooses: as in `key = \"id\"`. \
              Over strings or integers `key` says nothing, and without `over` neither.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        let name = &task.name.value;
        let Some(over) = &task.over else {
            if let Some(key) = &task.key {
                let message = format!("`{name}` has a `key` but fans out over nothing");
                found.push(
                    KEY.at(key.span, message).label("names no instance").help("add `over`, or drop `key`"),
                );
            }
            continue;
        };
        let Some(element) = context.element(task) else { continue };
        let objects = element.may(&|shape| matches!(shape, Shape::Object(_)));
        let plain = element.may(&|shape| matches!(shape, Shape::String | Shape::Integer | Shape::Texts(_)));
        match &task.key {
            None if objects && !plain => found.push(
                KEY.at(over.span, format!("`{name}` fans out over objects without a `key`"))
                    .label("nothing names the instances")
                    .help(suggestion(&element)),
            ),
            Some(key) if plain && !objects => found.push(
                KEY.at(key.span, format!("`{name}` has a `key` but its elements are no objects"))
                    .label("a string or an integer names itself")
                    .related(over.span, format!("the elements are {}", plural(&element)))
                    .help("drop `key`"),
            ),
            Some(key) => judge(task, key, &element, found),
            None => {}
        }
    }
}

fn judge(task: &Task, key: &Spanned<crate::source::Text>, element: &Shape, found: &mut Diagnostics) {
    let name = &task.name.value;
    match element.member(&key.value) {
        Member::Unknown => {}
        Member::Undeclared if element.names().is_empty() => {}
        Member::Undeclared => {
            let near = suggest::did_you_mean(&key.value, element.names());
            found.push(
                KEY.at(key.span, format!("the elements of `{name}` have no field `{}`", key.value))
                    .label("names no instance")
                    .maybe_help(near),
            );
        }
        Member::Is(shape) => {
            let usable =
                shape.may(&|shape| matches!(shape, Shape::String | Shape::Integer | Shape::Texts(_)));
            if !usable {
                let message = format!("the field `{}` cannot name an instance", key.value);
                found.push(
                    KEY.at(key.span, message)
                        .label(format!("is {shape}, not a string or an integer"))
                        .help(suggestion(element)),
                );
            }
        }
    }
}

/// A `key` that would do.
fn suggestion(element: &Shape) -> String {
    let usable = element.names().into_iter().find(|name| match element.member(name) {
        Member::Is(shape) => shape.may(&|shape| matches!(shape, Shape::String | Shape::Integer)),
        Member::Unknown | Member::Undeclared => false,
    });
    format!("say which field names an instance, as in `key = {:?}`", usable.unwrap_or("id"))
}

fn plural(element: &Shape) -> &'static str {
    if element.may(&|shape| matches!(shape, Shape::Integer)) { "integers" } else { "strings" }
}
