//! `when`, resolved and typed (LANGUAGE §7), and the conditions of a machine's edges (§13).

use super::TaskId;
use crate::source::{Span, Text};

/// A condition. `otherwise` is already spelled out as the labels that it holds for.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// All hold.
    And(Vec<Condition>),
    /// One holds.
    Or(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// A comparison.
    Compare {
        /// What is read.
        left: Operand,
        /// How.
        operator: Comparison,
        /// What it is compared with.
        right: Operand,
        /// Where.
        span: Span,
    },
    /// A boolean operand alone.
    Holds {
        /// What is read.
        operand: Operand,
        /// Where.
        span: Span,
    },
    /// `otherwise(route.question)`: every label that no other `when` covers, never `"uncertain"`.
    Otherwise {
        /// The route or gate.
        task: TaskId,
        /// The question; `answer` for a gate.
        question: Text,
        /// The labels that it holds for.
        labels: Vec<Text>,
        /// Where.
        span: Span,
    },
}

/// How two operands are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `in`
    In,
    /// `not in`
    NotIn,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A value known at compile time; a list only at the right of `in`.
    Literal(super::Value),
    /// A value that this check has none for, since it comes from a required parameter. Never in a plan that
    /// runs.
    Unknown(super::ParamType),
    /// `task.field`, with members of it.
    Field(TaskId, Vec<Text>),
    /// `task.last_line`.
    LastLine(TaskId),
    /// `task.status`.
    Status(TaskId),
    /// `route.question`, or `gate.answer`.
    Answer(TaskId, Text),
    /// `item`, `item.field`.
    Item(Vec<Text>),
    /// On a machine's edge: `outcome`.
    Outcome,
    /// On a machine's edge: `last_line` of the node that just ran.
    NodeLastLine,
    /// On a machine's edge: `preferred_label`.
    PreferredLabel,
    /// On a machine's edge: `output.field`.
    Output(Vec<Text>),
    /// On a machine's edge: `context.key`.
    Context(Vec<Text>),
}
