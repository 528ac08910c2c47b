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
    /// A value that a launch gives, or that is made of one.
    Parameter {
        /// As written.
        name: Text,
        /// What it can be.
        ty: super::ParamType,
        /// What it is in this launch. A check need not know it; a plan that runs does.
        value: Option<super::Value>,
    },
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

/// What a condition, or a part of one, can come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Possible {
    /// Whether it can hold.
    pub holds: bool,
    /// Whether it can fail to hold.
    pub fails: bool,
}

impl Possible {
    /// It can hold, and it can fail to.
    pub const BOTH: Self = Self { holds: true, fails: true };

    /// What is known.
    #[must_use]
    pub const fn certain(holds: bool) -> Self {
        Self { holds, fails: !holds }
    }
}

/// What an operand is compared with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Against<'a> {
    /// The value, where it is known now; several for the labels of an `otherwise`.
    pub values: &'a [super::Value],
    /// The operand that a run will know, otherwise.
    pub other: Option<&'a Operand>,
    /// Whether it is compared by order.
    pub ordered: bool,
}

impl Condition {
    /// What it can come to, where `leaf` says that of a comparison, an operand alone or an `otherwise`.
    /// Parts are taken as independent: it may claim too much, never too little.
    pub fn possible(&self, leaf: &dyn Fn(&Self) -> Possible) -> Possible {
        match self {
            Self::And(parts) => parts.iter().fold(Possible::certain(true), |all, part| {
                let part = part.possible(leaf);
                Possible { holds: all.holds && part.holds, fails: all.fails || part.fails }
            }),
            Self::Or(parts) => parts.iter().fold(Possible::certain(false), |any, part| {
                let part = part.possible(leaf);
                Possible { holds: any.holds || part.holds, fails: any.fails && part.fails }
            }),
            Self::Not(part) => {
                let part = part.possible(leaf);
                Possible { holds: part.fails, fails: part.holds }
            }
            Self::Compare { .. } | Self::Holds { .. } | Self::Otherwise { .. } => leaf(self),
        }
    }

    /// Whether it can hold while `question` of `task` is answered with `label`, whatever else it reads:
    /// whether it covers the label (LANGUAGE §7).
    #[must_use]
    pub fn covers(&self, task: TaskId, question: &str, label: &str) -> bool {
        let asked = |operand: &Operand| match operand {
            Operand::Answer(of, name) => *of == task && name == question,
            _ => false,
        };
        self.possible(&|leaf| match leaf {
            Self::Compare { left, operator, right, .. } => match (left, left.value(), right, right.value()) {
                (_, _, _, Some(value)) if asked(left) => operator.compare_text(label, value),
                (_, Some(value), _, _) if asked(right) => operator.turned().compare_text(label, value),
                (Operand::Literal(left), _, Operand::Literal(right), _) => {
                    Possible::certain(operator.compare(left, right))
                }
                _ => Possible::BOTH,
            },
            Self::Holds { operand: Operand::Literal(super::Value::Boolean(holds)), .. } => {
                Possible::certain(*holds)
            }
            Self::Otherwise { task: of, question: name, labels, .. } if *of == task && name == question => {
                Possible::certain(labels.iter().any(|covered| covered == label))
            }
            Self::Holds { .. } | Self::Otherwise { .. } | Self::And(_) | Self::Or(_) | Self::Not(_) => {
                Possible::BOTH
            }
        })
        .holds
    }

    /// Calls `each` with every operand that a run will know and the values that it is compared with; none
    /// where it stands alone, or is compared with what a run will know.
    pub fn compared(&self, each: &mut dyn FnMut(&Operand, Against<'_>)) {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.compared(each)),
            Self::Not(part) => part.compared(each),
            Self::Compare { left, right, operator, .. } => {
                let ordered = match operator {
                    Comparison::Less
                    | Comparison::LessEqual
                    | Comparison::Greater
                    | Comparison::GreaterEqual => true,
                    Comparison::Equal | Comparison::NotEqual | Comparison::In | Comparison::NotIn => false,
                };
                let mut side = |operand: &Operand, other: &Operand| {
                    let values = other.value().map_or(&[][..], std::slice::from_ref);
                    let other = other.value().is_none().then_some(other);
                    each(operand, Against { values, other, ordered });
                };
                side(left, right);
                side(right, left);
            }
            Self::Holds { operand, .. } => each(operand, Against::default()),
            Self::Otherwise { task, question, labels, .. } => {
                let labels: Vec<_> = labels.iter().cloned().map(super::Value::String).collect();
                let against = Against { values: &labels, ..Against::default() };
                each(&Operand::Answer(*task, question.clone()), against);
            }
        }
    }

    /// Calls `each` with every operand and the place of the comparison that it stands in. An `otherwise`
    /// reads its question.
    pub fn reads(&self, each: &mut dyn FnMut(&Operand, Span)) {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.reads(each)),
            Self::Not(part) => part.reads(each),
            Self::Compare { left, right, span, .. } => {
                each(left, *span);
                each(right, *span);
            }
            Self::Holds { operand, span } => each(operand, *span),
            Self::Otherwise { task, question, span, .. } => {
                each(&Operand::Answer(*task, question.clone()), *span);
            }
        }
    }
}

impl Operand {
    /// The value that is known now: one in the plan, or one that this launch gives.
    #[must_use]
    pub const fn value(&self) -> Option<&super::Value> {
        match self {
            Self::Literal(value) => Some(value),
            Self::Parameter { value, .. } => value.as_ref(),
            Self::Field(..)
            | Self::LastLine(_)
            | Self::Status(_)
            | Self::Answer(..)
            | Self::Item(_)
            | Self::Outcome
            | Self::NodeLastLine
            | Self::PreferredLabel
            | Self::Output(_)
            | Self::Context(_) => None,
        }
    }
}

impl Comparison {
    /// As written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::In => "in",
            Self::NotIn => "not in",
        }
    }

    /// The comparison that says the same with its sides exchanged; `in` has none and stays.
    #[must_use]
    pub const fn turned(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            Self::Equal => Self::Equal,
            Self::NotEqual => Self::NotEqual,
            Self::In => Self::In,
            Self::NotIn => Self::NotIn,
        }
    }

    /// What comes of `left OPERATOR right`, both known.
    #[must_use]
    pub fn compare(self, left: &super::Value, right: &super::Value) -> bool {
        use super::Value;
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (left, right) => match (left.number(), right.number()) {
                (Some(left), Some(right)) => left.partial_cmp(&right),
                (Some(_) | None, _) => None,
            },
        };
        let equal = |left: &Value, right: &Value| match (left.number(), right.number()) {
            (Some(left), Some(right)) => left == right,
            (Some(_) | None, _) => left == right,
        };
        let listed = || match right {
            Value::List(values) => values.iter().any(|value| equal(left, value)),
            Value::String(_)
            | Value::Integer(_)
            | Value::Number(..)
            | Value::Boolean(_)
            | Value::Duration(_)
            | Value::Map(_) => false,
        };
        match self {
            Self::Equal => equal(left, right),
            Self::NotEqual => !equal(left, right),
            Self::Less => order.is_some_and(std::cmp::Ordering::is_lt),
            Self::LessEqual => order.is_some_and(std::cmp::Ordering::is_le),
            Self::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
            Self::GreaterEqual => order.is_some_and(std::cmp::Ordering::is_ge),
            Self::In => listed(),
            Self::NotIn => !listed(),
        }
    }

    /// What comes of `text OPERATOR value`.
    #[must_use]
    pub fn compare_text(self, text: &str, value: &super::Value) -> Possible {
        use super::Value;
        let equal = |value: &Value| matches!(value, Value::String(other) if other == text);
        let ordering = match value {
            Value::String(other) => Some(text.cmp(other.as_str())),
            Value::Integer(_)
            | Value::Number(..)
            | Value::Boolean(_)
            | Value::Duration(_)
            | Value::List(_)
            | Value::Map(_) => None,
        };
        let listed = match value {
            Value::List(values) => values.iter().any(equal),
            Value::String(_)
            | Value::Integer(_)
            | Value::Number(..)
            | Value::Boolean(_)
            | Value::Duration(_)
            | Value::Map(_) => false,
        };
        Possible::certain(match self {
            Self::Equal => equal(value),
            Self::NotEqual => !equal(value),
            Self::Less => ordering.is_some_and(std::cmp::Ordering::is_lt),
            Self::LessEqual => ordering.is_some_and(std::cmp::Ordering::is_le),
            Self::Greater => ordering.is_some_and(std::cmp::Ordering::is_gt),
            Self::GreaterEqual => ordering.is_some_and(std::cmp::Ordering::is_ge),
            Self::In => listed,
            Self::NotIn => !listed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::*;

    fn answer(operator: Comparison, label: &str) -> Condition {
        Condition::Compare {
            left: Operand::Answer(TaskId(0), "q".into()),
            operator,
            right: Operand::Literal(Value::String(label.into())),
            span: Span::default(),
        }
    }

    fn known(left: i64, operator: Comparison, right: i64) -> Condition {
        let value = |number| Operand::Literal(Value::Integer(number));
        Condition::Compare { left: value(left), operator, right: value(right), span: Span::default() }
    }

    #[test]
    fn values_are_compared_as_a_run_compares_them() {
        use Comparison::{Equal, GreaterEqual, In, Less, NotEqual, NotIn};
        let text = |text: &str| Value::String(text.into());
        let list = || Value::List(vec![text("a"), Value::Integer(1)]);
        for (left, operator, right, holds) in [
            (text("a"), Equal, text("a"), true),
            (text("1"), Equal, Value::Integer(1), false),
            (Value::Integer(1), Equal, Value::Number(1.0, "1.0".into()), true),
            (Value::Integer(1), NotEqual, Value::Boolean(true), true),
            (Value::Integer(1), Less, Value::Number(1.5, "1.5".into()), true),
            (text("b"), GreaterEqual, text("a"), true),
            (text("b"), Less, Value::Integer(3), false),
            (Value::Integer(1), In, list(), true),
            (text("b"), In, list(), false),
            (text("b"), NotIn, list(), true),
        ] {
            assert_eq!(operator.compare(&left, &right), holds, "{left:?} {operator:?} {right:?}");
        }
    }

    #[test]
    fn a_condition_covers_what_it_can_hold_with() {
        let x = || answer(Comparison::Equal, "x");
        let free = || Condition::Holds { operand: Operand::LastLine(TaskId(1)), span: Span::default() };
        for (condition, with_x, with_y) in [
            (x(), true, false),
            (Condition::Not(Box::new(x())), false, true),
            (answer(Comparison::NotEqual, "x"), false, true),
            (Condition::And(vec![x(), free()]), true, false),
            (Condition::Or(vec![x(), free()]), true, true),
            (Condition::Not(Box::new(Condition::Or(vec![x(), free()]))), false, true),
            (Condition::And(vec![x(), answer(Comparison::Equal, "y")]), false, false),
            (Condition::And(vec![x(), known(1, Comparison::Equal, 2)]), false, false),
            (Condition::And(vec![x(), known(1, Comparison::Less, 2)]), true, false),
            (Condition::Or(vec![x(), known(1, Comparison::NotEqual, 1)]), true, false),
        ] {
            assert_eq!(condition.covers(TaskId(0), "q", "x"), with_x, "{condition:?}");
            assert_eq!(condition.covers(TaskId(0), "q", "y"), with_y, "{condition:?}");
        }
    }
}
