//! What the operands of a `when` look like: shapes, and the words that an author wrote for them.

use super::context::Context;
use super::shape::{Member, Shape};
use crate::event::Status;
use crate::ir::condition::Operand;
use crate::ir::kind::{Kind, UNCERTAIN};
use crate::ir::{ParamType, Task, TaskId, Value, spell};
use crate::source::Text;

/// One side of a comparison.
pub(super) enum Side<'a> {
    /// A value known now.
    Value(&'a Value),
    /// A value that this launch gives; another launch may give any of this shape.
    Given(&'a Value, Shape),
    /// A value that a run will know.
    Shape(Shape),
    /// A member that nobody declared; another rule reports it.
    Undeclared(Undeclared),
}

/// Where the members of an operand lead nowhere.
pub(super) struct Undeclared {
    /// The member that is not there.
    pub member: Text,
    /// What there is instead.
    pub declared: Vec<Text>,
    /// Whether it is a field of the result itself, not of a value in it.
    pub outermost: bool,
}

/// What `operand` is to `reader`.
pub(super) fn side<'a>(context: &Context<'_>, reader: &Task, operand: &'a Operand) -> Side<'a> {
    match operand {
        Operand::Literal(value) => Side::Value(value),
        Operand::Parameter { ty, value: Some(value), .. } => Side::Given(value, parameter(ty)),
        Operand::Parameter { ty, value: None, .. } => Side::Shape(parameter(ty)),
        Operand::Field(task, path) => match context.plan[*task].holes {
            true => Side::Shape(Shape::Anything),
            false => walk(&context.received(reader, *task), path),
        },
        Operand::Item(path) => match context.element(reader) {
            Some(element) => walk(&element, path),
            None => Side::Shape(Shape::Anything),
        },
        Operand::Status(_) | Operand::Outcome => {
            Side::Shape(Shape::Texts(Status::ALL.iter().map(|status| status.as_str().into()).collect()))
        }
        Operand::Answer(task, question) => Side::Shape(match labels(context, *task, question) {
            Some(labels) if !context.plan[*task].holes => Shape::Texts(labels),
            // Labels that could not be read may be any.
            Some(_) | None => Shape::Anything,
        }),
        Operand::LastLine(_) | Operand::NodeLastLine | Operand::PreferredLabel => Side::Shape(Shape::String),
        // A machine's context and its nodes' results are open, and a missing key reads as the empty string.
        Operand::Output(_) | Operand::Context(_) => Side::Shape(Shape::Anything),
    }
}

/// What `operand` is on an edge out of a node that puts out `output`. A missing key reads as the empty string,
/// and what nobody declared may still be there.
pub(super) fn on_edge<'a>(
    context: &Context<'_>,
    node: &Task,
    output: impl FnOnce() -> &'a Shape,
    operand: &'a Operand,
) -> Side<'a> {
    let Operand::Output(path) = operand else { return side(context, node, operand) };
    match walk(output(), path) {
        Side::Shape(shape) => Side::Shape(shape.or_empty_text()),
        Side::Undeclared(_) => Side::Shape(Shape::Anything),
        Side::Value(value) => Side::Value(value),
        Side::Given(value, shape) => Side::Given(value, shape),
    }
}

/// The labels that a question can be answered with, `"uncertain"` included where it can occur.
pub(super) fn labels(context: &Context<'_>, task: TaskId, question: &str) -> Option<Vec<Text>> {
    match &context.plan[task].kind {
        Kind::Route(route) => {
            let question = route.questions.iter().find(|known| known.name.value == question)?;
            let mut labels: Vec<Text> = question.labels.iter().map(|label| label.value.clone()).collect();
            if route.can_be_uncertain() && !labels.iter().any(|label| label == UNCERTAIN) {
                labels.push(UNCERTAIN.into());
            }
            Some(labels)
        }
        Kind::Gate(gate) => Some(gate.options.iter().map(|option| option.value.clone()).collect()),
        Kind::Command(_)
        | Kind::Evaluate(_)
        | Kind::Agent(_)
        | Kind::TopK(_)
        | Kind::Report(_)
        | Kind::Call(_)
        | Kind::Machine(_) => None,
    }
}

fn walk(shape: &Shape, path: &[Text]) -> Side<'static> {
    let mut at = shape;
    for (index, member) in path.iter().enumerate() {
        match at.member(member) {
            Member::Is(inner) => at = inner,
            Member::Unknown => return Side::Shape(Shape::Anything),
            Member::Undeclared => {
                return Side::Undeclared(Undeclared {
                    member: member.clone(),
                    declared: at.names().into_iter().map(Text::from).collect(),
                    outermost: index == 0,
                });
            }
        }
    }
    Side::Shape(at.clone())
}

fn parameter(ty: &ParamType) -> Shape {
    match ty {
        ParamType::String => Shape::String,
        ParamType::Integer => Shape::Integer,
        ParamType::Number => Shape::Number,
        ParamType::Boolean => Shape::Boolean,
        ParamType::Strings => Shape::List(Box::new(Shape::String)),
        ParamType::Union(texts) => Shape::Texts(texts.clone()),
    }
}

/// The task that an operand reads.
pub(super) fn task_of(operand: &Operand) -> Option<TaskId> {
    match operand {
        Operand::Field(task, _)
        | Operand::LastLine(task)
        | Operand::Status(task)
        | Operand::Answer(task, _) => Some(*task),
        Operand::Literal(_)
        | Operand::Parameter { .. }
        | Operand::Item(_)
        | Operand::Outcome
        | Operand::NodeLastLine
        | Operand::PreferredLabel
        | Operand::Output(_)
        | Operand::Context(_) => None,
    }
}

/// An operand as its author would write it.
pub(super) fn spell(context: &Context<'_>, operand: &Operand) -> String {
    match operand {
        Operand::Parameter { name, .. } => name.to_string(),
        Operand::Literal(_)
        | Operand::Field(..)
        | Operand::LastLine(_)
        | Operand::Status(_)
        | Operand::Answer(..)
        | Operand::Item(_)
        | Operand::Outcome
        | Operand::NodeLastLine
        | Operand::PreferredLabel
        | Operand::Output(_)
        | Operand::Context(_) => spell::operand(context.plan, operand),
    }
}
