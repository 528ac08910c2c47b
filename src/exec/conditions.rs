//! Whether a `when` holds, given what upstream tasks came to (LANGUAGE §7).
//!
//! Values are read from raw results, so that numbers are compared as they were written. An absent field, and
//! any field of a task that did not pass, makes its comparison false.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::value::RawValue;

use super::decimal::Decimal;
use super::json;
use super::scheduler::Scheduler;
use super::units::Unit;
use crate::event::Status;
use crate::ir::condition::{Comparison, Condition, Operand};
use crate::ir::{TaskId, Value};
use crate::source::Text;

/// Whether `condition` holds for `unit`.
pub(super) fn holds(s: &Scheduler, unit: Unit, condition: &Condition) -> bool {
    match condition {
        Condition::And(all) => all.iter().all(|one| holds(s, unit, one)),
        Condition::Or(any) => any.iter().any(|one| holds(s, unit, one)),
        Condition::Not(one) => !holds(s, unit, one),
        Condition::Compare { left, operator, right, .. } => {
            let (Some(left), Some(right)) = (read(s, unit, left), read(s, unit, right)) else { return false };
            compare(&left, *operator, &right)
        }
        Condition::Holds { operand, .. } => {
            matches!(read(s, unit, operand), Some(Read::Boolean(true)))
        }
        Condition::Otherwise { task, question, labels, .. } => {
            let answer = answer(s, unit, *task, question);
            answer.is_some_and(|answer| labels.iter().any(|label| *label == answer))
        }
    }
}

/// A value that a condition reads.
#[derive(Debug)]
enum Read<'a> {
    Null,
    Boolean(bool),
    Number(Decimal),
    String(Cow<'a, str>),
    List(Vec<Read<'a>>),
    /// An object: equal to nothing.
    Object,
}

fn read<'a>(s: &'a Scheduler, unit: Unit, operand: &'a Operand) -> Option<Read<'a>> {
    match operand {
        Operand::Literal(value) | Operand::Parameter { value: Some(value), .. } => literal(value),
        Operand::Field(task, path) => {
            let row = s.seen(*task, unit);
            if !row.status()?.passes() {
                return None;
            }
            // The row keeps its output alive; a fold has no fields that a condition can name.
            let output = row.last.as_ref().and_then(|last| last.output.as_ref());
            let output = row.settled.as_ref().and_then(|settled| settled.output.as_ref()).or(output)?;
            Some(raw(json::at(output, path)?))
        }
        Operand::LastLine(task) => {
            let row = s.seen(*task, unit);
            if !row.status()?.passes() {
                return None;
            }
            let line = row.last.as_ref().map_or("", |last| last.last_line.as_str());
            Some(Read::String(Cow::Borrowed(line)))
        }
        Operand::Status(task) => {
            let status = s.seen(*task, unit).status().unwrap_or(Status::Blocked);
            Some(Read::String(Cow::Borrowed(status.as_str())))
        }
        Operand::Answer(task, question) => answer(s, unit, *task, question).map(Read::String),
        Operand::Item(path) => {
            let spread = s.tasks[s.id(unit).index()].spread.as_ref()?;
            let element = spread.elements.get(unit.index()?)?;
            Some(raw(json::at(&element.json, path)?))
        }
        // Of a parameter without a value no plan runs; the others are read on a machine's edges only.
        Operand::Parameter { value: None, .. }
        | Operand::Outcome
        | Operand::NodeLastLine
        | Operand::PreferredLabel
        | Operand::Output(_)
        | Operand::Context(_) => None,
    }
}

/// What a route, or a gate, answered to `question`.
fn answer<'a>(s: &'a Scheduler, unit: Unit, task: TaskId, question: &Text) -> Option<Cow<'a, str>> {
    let row = s.seen(task, unit);
    if !row.status()?.passes() {
        return None;
    }
    let own = row.settled.as_ref().and_then(|settled| settled.output.as_ref());
    let output = own.or_else(|| row.last.as_ref()?.output.as_ref())?;
    json::string(json::member(output, question)?)
}

fn literal(value: &Value) -> Option<Read<'_>> {
    Some(match value {
        Value::String(text) => Read::String(Cow::Borrowed(text)),
        Value::Integer(number) => Read::Number(Decimal::parse(&number.to_string())?),
        Value::Number(_, digits) => Read::Number(Decimal::parse(&digits.replace('_', ""))?),
        Value::Boolean(flag) => Read::Boolean(*flag),
        Value::Duration(millis) => Read::String(Cow::Owned(millis.to_string())),
        Value::List(values) => Read::List(values.iter().filter_map(literal).collect()),
        Value::Map(_) => Read::Object,
    })
}

fn raw(value: &RawValue) -> Read<'_> {
    match json::type_of(value.get()) {
        "object" => Read::Object,
        "list" => Read::List(json::elements(value).unwrap_or_default().into_iter().map(raw).collect()),
        "string" => Read::String(json::string(value).unwrap_or_default()),
        "boolean" => Read::Boolean(value.get().trim() == "true"),
        "null" => Read::Null,
        _ => Decimal::parse(value.get().trim()).map_or(Read::Null, Read::Number),
    }
}

fn compare(left: &Read<'_>, operator: Comparison, right: &Read<'_>) -> bool {
    let ordered = |wanted: &[Ordering]| order(left, right).is_some_and(|order| wanted.contains(&order));
    match operator {
        Comparison::Equal => equal(left, right),
        Comparison::NotEqual => !equal(left, right),
        Comparison::Less => ordered(&[Ordering::Less]),
        Comparison::LessEqual => ordered(&[Ordering::Less, Ordering::Equal]),
        Comparison::Greater => ordered(&[Ordering::Greater]),
        Comparison::GreaterEqual => ordered(&[Ordering::Greater, Ordering::Equal]),
        Comparison::In => contains(right, left),
        Comparison::NotIn => matches!(right, Read::List(_)) && !contains(right, left),
    }
}

fn contains(list: &Read<'_>, value: &Read<'_>) -> bool {
    match list {
        Read::List(values) => values.iter().any(|one| equal(one, value)),
        Read::Null | Read::Boolean(_) | Read::Number(_) | Read::String(_) | Read::Object => false,
    }
}

/// Values of different types are unequal.
fn equal(left: &Read<'_>, right: &Read<'_>) -> bool {
    match (left, right) {
        (Read::Null, Read::Null) => true,
        (Read::Boolean(left), Read::Boolean(right)) => left == right,
        (Read::Number(left), Read::Number(right)) => left == right,
        (Read::String(left), Read::String(right)) => left == right,
        (Read::List(left), Read::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        _ => false,
    }
}

/// Values of different types are not ordered, and of equal types only numbers and strings are.
fn order(left: &Read<'_>, right: &Read<'_>) -> Option<Ordering> {
    match (left, right) {
        (Read::Number(left), Read::Number(right)) => Some(left.cmp(right)),
        (Read::String(left), Read::String(right)) => Some(left.cmp(right)),
        _ => None,
    }
}
