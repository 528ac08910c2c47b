//! `plan::when::never_holds`: a comparison with a value that the declared type cannot have.

use std::cell::OnceCell;

use super::super::context::Context;
use super::super::machines::machines;
use super::super::reading::{self, Side};
use super::super::rule::Rule;
use super::super::shape::{self, Shape};
use crate::diag::{Code, Diagnostic, Diagnostics, Severity, suggest};
use crate::ir::condition::{Comparison, Operand};
use crate::ir::kind::EndPoint;
use crate::ir::{Condition, Value, spell};
use crate::source::Span;

/// Finds impossible comparisons.
pub static RULE: Rule = Rule {
    code: &NEVER_HOLDS,
    bad: r#"
command probe { run = "./probe.sh", emits = { verdict: "clean" | "vulnerable" } }
command fix   { depends_on = [probe], when = probe.verdict == "vulnerabel", run = "./fix.sh" }
"#,
    good: r#"
command probe { run = "./probe.sh", emits = { verdict: "clean" | "vulnerable" } }
command fix   { depends_on = [probe], when = probe.verdict == "vulnerable", run = "./fix.sh" }
"#,
    check,
};

static NEVER_HOLDS: Code = Code {
    id: "plan::when::never_holds",
    severity: Severity::Error,
    summary: "A comparison with a value that the declared type cannot have",
    explain: "The field, answer or status that is compared has a declared type, and the value is not of it: \
              the comparison comes out the same in every run. The same holds for a parameter, and on the edges \
              of a machine for `outcome` and for what the node declares. Most likely a literal is misspelled, or a \
              number is quoted. Only numbers with numbers and strings with strings are ordered by `<` and \
              its kin.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        if let Some(when) = &task.when {
            judge(context, &|operand| reading::side(context, task, operand), &when.value, found);
        }
    }
    for (_, machine) in machines(context) {
        let outputs: Vec<OnceCell<Shape>> = machine.nodes.iter().map(|_| OnceCell::new()).collect();
        for edge in &machine.edges {
            let (EndPoint::Node(from), Some(condition)) = (edge.from.value, &edge.condition) else {
                continue;
            };
            let (Some(node), Some(output)) = (machine.nodes.get(from as usize), outputs.get(from as usize))
            else {
                continue;
            };
            if node.task.holes {
                continue;
            }
            let output = || output.get_or_init(|| shape::output(&node.task));
            judge(
                context,
                &|operand| reading::on_edge(context, &node.task, output, operand),
                condition,
                found,
            );
        }
    }
}

/// Judges a condition, where `side` says what an operand is.
fn judge<'a>(
    context: &Context<'_>,
    side: &dyn Fn(&'a Operand) -> Side<'a>,
    condition: &'a Condition,
    found: &mut Diagnostics,
) {
    match condition {
        Condition::And(parts) | Condition::Or(parts) => {
            parts.iter().for_each(|part| judge(context, side, part, found));
        }
        Condition::Not(part) => judge(context, side, part, found),
        Condition::Holds { operand, span } => {
            if let Side::Shape(shape) = side(operand)
                && !shape.may_be_boolean()
            {
                found.push(not_a_condition(context, operand, &shape, *span));
            }
        }
        // Its labels come from the question itself.
        Condition::Otherwise { .. } => {}
        Condition::Compare { left, operator, right, span } => {
            // A launch's value against a run's is judged as it is, against the plan's by its type.
            let sides = match (side(left), side(right)) {
                (Side::Given(_, shape), value @ Side::Value(_)) => (Side::Shape(shape), value),
                (value @ Side::Value(_), Side::Given(_, shape)) => (value, Side::Shape(shape)),
                (Side::Given(value, _), other) => (Side::Value(value), other),
                (other, Side::Given(value, _)) => (other, Side::Value(value)),
                sides => sides,
            };
            found_in(context, (left, *operator, right), sides, *span)
                .into_iter()
                .for_each(|finding| found.push(finding));
        }
    }
}

fn found_in(
    context: &Context<'_>,
    (left, operator, right): (&Operand, Comparison, &Operand),
    sides: (Side<'_>, Side<'_>),
    span: Span,
) -> Option<Diagnostic> {
    let membership = matches!(operator, Comparison::In | Comparison::NotIn);
    let ordering = matches!(
        operator,
        Comparison::Less | Comparison::LessEqual | Comparison::Greater | Comparison::GreaterEqual
    );
    match sides {
        (Side::Undeclared(_), _) | (_, Side::Undeclared(_)) => None,
        // Of two values that are known, a launch gives one, and another launch another one.
        (Side::Value(_) | Side::Given(..), Side::Value(_) | Side::Given(..)) => None,
        (Side::Given(..), Side::Shape(_)) | (Side::Shape(_), Side::Given(..)) => None,
        (Side::Shape(shape), Side::Value(Value::List(values))) if membership => {
            let odd: Vec<&Value> = values.iter().filter(|value| !shape.may_equal(value)).collect();
            (!odd.is_empty()).then(|| impossible(context, left, &shape, &odd, span))
        }
        (Side::Shape(shape), Side::Value(value)) if !membership => {
            one_value(context, left, &shape, value, ordering, span)
        }
        (Side::Value(value), Side::Shape(shape)) if !membership => {
            one_value(context, right, &shape, value, ordering, span)
        }
        (Side::Value(value), Side::Shape(list)) => {
            let possible = list.may(&|shape| match shape {
                Shape::List(element) => element.may_equal(value),
                Shape::Anything
                | Shape::Null
                | Shape::String
                | Shape::Integer
                | Shape::Number
                | Shape::Boolean
                | Shape::Texts(_)
                | Shape::Object(_)
                | Shape::Either(_) => false,
            });
            let (value, list_text) = (spell::value(value), reading::spell(context, right));
            (!possible).then(|| {
                NEVER_HOLDS
                    .at(span, format!("{value} can never be in `{list_text}`"))
                    .label(format!("`{list_text}` is {list}"))
            })
        }
        // `in` something that is no list: lowering asks for one.
        (Side::Shape(_), Side::Value(_)) => None,
        (Side::Shape(one), Side::Shape(other)) => {
            let possible = if membership {
                other.may(&|shape| matches!(shape, Shape::List(element) if element.may_meet(&one)))
            } else if ordering {
                let numbers = one.may_be_numeric() && other.may_be_numeric();
                let text = |shape: &Shape| shape.may(&|s| matches!(s, Shape::String | Shape::Texts(_)));
                numbers || text(&one) && text(&other)
            } else {
                one.may_meet(&other)
            };
            let (left, right) = (reading::spell(context, left), reading::spell(context, right));
            (!possible).then(|| {
                let message = format!("`{left} {} {right}` can never hold", operator.as_str());
                NEVER_HOLDS.at(span, message).label(format!("`{left}` is {one}, `{right}` is {other}"))
            })
        }
    }
}

fn one_value(
    context: &Context<'_>,
    operand: &Operand,
    shape: &Shape,
    value: &Value,
    ordering: bool,
    span: Span,
) -> Option<Diagnostic> {
    if !ordering {
        return (!shape.may_equal(value)).then(|| impossible(context, operand, shape, &[value], span));
    }
    (!shape.may_be_ordered_with(value)).then(|| {
        let (name, value) = (reading::spell(context, operand), spell::value(value));
        NEVER_HOLDS
            .at(span, format!("`{name}` can never be less or greater than {value}"))
            .label(format!("`{name}` is {shape}"))
    })
}

fn impossible(
    context: &Context<'_>,
    operand: &Operand,
    shape: &Shape,
    odd: &[&Value],
    span: Span,
) -> Diagnostic {
    let name = reading::spell(context, operand);
    let values: Vec<String> = odd.iter().map(|value| spell::value(value)).collect();
    let help = match (odd, shape) {
        ([Value::String(text)], Shape::Texts(texts)) => {
            suggest::nearest(text, texts.iter().map(|text| text.as_str()))
                .map(|near| format!("did you mean {near:?}?"))
        }
        ([Value::String(text)], shape) if shape.may_be_numeric() && text.parse::<f64>().is_ok() => {
            Some(format!("compare with a number, as in `{name} == {text}`"))
        }
        ([Value::String(_)], Shape::Boolean) => {
            Some(format!("compare with `true` or `false`, or write `{name}`"))
        }
        _ => None,
    };
    NEVER_HOLDS
        .at(span, format!("`{name}` can never be {}", values.join(" or ")))
        .label(format!("`{name}` is {shape}"))
        .maybe_help(help)
}

fn not_a_condition(context: &Context<'_>, operand: &Operand, shape: &Shape, span: Span) -> Diagnostic {
    let name = reading::spell(context, operand);
    let help = match shape {
        Shape::Texts(texts) if !texts.is_empty() => {
            Some(format!("compare it, as in `{name} == {:?}`", texts[0]))
        }
        Shape::String => Some(format!("compare it, as in `{name} == \"done\"`")),
        Shape::Integer | Shape::Number => Some(format!("compare it, as in `{name} > 0`")),
        Shape::Anything
        | Shape::Null
        | Shape::Boolean
        | Shape::Texts(_)
        | Shape::List(_)
        | Shape::Object(_)
        | Shape::Either(_) => None,
    };
    NEVER_HOLDS
        .at(span, format!("`{name}` alone can never hold"))
        .label(format!("`{name}` is {shape}, not a boolean"))
        .maybe_help(help)
}
