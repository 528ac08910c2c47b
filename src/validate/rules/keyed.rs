//! `plan::over::keyed`: entries by element, for a task without elements or of something without keys.

use super::super::context::Context;
use super::super::rule::Rule;
use super::super::shape::{Member, Shape};
use crate::diag::{Code, Diagnostics, Severity};

/// Finds `keyed` of tasks that do not fan out, and of fields that are no objects.
pub static RULE: Rule = Rule {
    code: &KEYED,
    bad: r#"
command plan_b { run = "./list.sh", emits = { names: [string], notes: object } }
command each   { depends_on = [plan_b], keyed = [plan_b.notes], run = "./each.sh" }
"#,
    good: r#"
command plan_b { run = "./list.sh", emits = { names: [string], notes: object } }
command each   { depends_on = [plan_b], over = plan_b.names, keyed = [plan_b.notes], run = "./each.sh" }
"#,
    check,
};

static KEYED: Code = Code {
    id: "plan::over::keyed",
    severity: Severity::Error,
    summary: "`keyed` without instances, or of a value that has no keys",
    explain: "`keyed` lists objects whose keys are elements of the fan-out; an instance sees its own entry \
              only. So the task needs `over`, and the field has to be an object.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        let name = &task.name.value;
        if let (Some(keyed), None) = (task.keyed.first(), &task.over) {
            found.push(
                KEYED
                    .at(keyed.span, format!("`{name}` has `keyed` but fans out over nothing"))
                    .label("there is no element to look up")
                    .help("add `over`, or drop `keyed`"),
            );
            continue;
        }
        for keyed in &task.keyed {
            let (producer, field) = &keyed.value;
            if context.plan[*producer].holes {
                continue;
            }
            if let Member::Is(shape) = context.received(task, *producer).member(field)
                && !shape.may(&|shape| matches!(shape, Shape::Object(_)))
            {
                let text = format!("{}.{field}", context.name(*producer));
                found.push(
                    KEYED
                        .at(keyed.span, format!("`{text}` has no entries by element"))
                        .label(format!("is {shape}, not an object"))
                        .help(format!("declare it as an object, as in `{field}: object`")),
                );
            }
        }
    }
}
