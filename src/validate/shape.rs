//! Shapes of values at compile time: what a result may look like, as far as types and schemas say
//! (LANGUAGE §10). Unaware of rules; says what is possible, never what is right.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use serde_json::Value as Json;

use crate::ir::kind::Kind;
use crate::ir::types::{self, Emits, Type};
use crate::ir::{Task, Value};
use crate::source::Text;

/// What a value may look like.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Nothing is known of it.
    Anything,
    Null,
    String,
    Integer,
    Number,
    Boolean,
    /// One of these texts.
    Texts(Vec<Text>),
    List(Box<Shape>),
    Object(Members),
    /// One of several.
    Either(Vec<Shape>),
}

/// The members of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Members {
    /// Those that are declared.
    pub named: IndexMap<Text, Shape, FxBuildHasher>,
    /// Whether there may be others, of which nothing is known.
    pub open: bool,
}

/// What is known of a member.
#[derive(Debug, PartialEq)]
pub(super) enum Member<'a> {
    /// It looks like this.
    Is(&'a Shape),
    /// It may be there.
    Unknown,
    /// Nobody declared it.
    Undeclared,
}

/// What one attempt of `task` puts out when it passes.
pub(super) fn output(task: &Task) -> Shape {
    let mut members = match task.emits.as_deref().map(|emits| &emits.value) {
        None => Members::default(),
        Some(Emits::Names(names)) => {
            let named = names.iter().map(|name| (name.value.clone(), Shape::Anything)).collect();
            Members { named, open: false }
        }
        Some(Emits::Record(fields)) => record(fields),
        Some(Emits::Schema(schema)) => match of_schema(schema, true) {
            Shape::Object(members) => members,
            Shape::Anything
            | Shape::Null
            | Shape::String
            | Shape::Integer
            | Shape::Number
            | Shape::Boolean
            | Shape::Texts(_)
            | Shape::List(_)
            | Shape::Either(_) => Members { open: true, ..Members::default() },
        },
    };
    // What an author declares of a score is the promise; where nothing is declared, grading asks for one.
    let scored = task.emits.is_none() || members.open;
    for (name, shape) in of_kind(&task.kind) {
        if name != "score" || scored {
            members.named.entry(name.into()).or_insert(shape);
        }
    }
    if let Kind::Call(call) = &task.kind {
        return match &call.child {
            // The child's own errors are reported; of its output nothing is known.
            None => Shape::Anything,
            Some(child) => match &child.header.result {
                None => Shape::Object(members),
                Some(result) if child[result.value].holes => Shape::Anything,
                Some(result) if child[result.value].over.is_some() => fold(),
                Some(result) => output(&child[result.value]),
            },
        };
    }
    Shape::Object(members)
}

/// What a kind puts out of itself (LANGUAGE §4, §7, §13).
fn of_kind(kind: &Kind) -> Vec<(&'static str, Shape)> {
    let object = || Shape::Object(Members { open: true, ..Members::default() });
    match kind {
        // A route's answers are no fields: conditions read them as such.
        Kind::Command(_) | Kind::Agent(_) | Kind::Route(_) | Kind::Report(_) | Kind::Call(_) => Vec::new(),
        Kind::Evaluate(evaluate) => {
            let mut own = vec![("pass", Shape::Boolean)];
            if evaluate.threshold.is_some() {
                own.push(("score", Shape::Number));
            }
            own
        }
        Kind::Gate(gate) => {
            let options = gate.options.iter().map(|option| option.value.clone()).collect();
            vec![("answer", Shape::Texts(options)), ("by", Shape::String), ("at", Shape::String)]
        }
        Kind::TopK(_) => {
            let row = |name: &str, shape| {
                let named = [("task".into(), Shape::String), (name.into(), shape)].into_iter().collect();
                Shape::List(Box::new(Shape::Object(Members { named, open: false })))
            };
            vec![("kept", row("score", Shape::Number)), ("left_out", row("why", Shape::String))]
        }
        Kind::Machine(_) => vec![
            ("trace", Shape::List(Box::new(Shape::String))),
            ("context", object()),
            ("gates", object()),
            ("last", object()),
        ],
    }
}

/// What a dependent receives of a mapped task (LANGUAGE §8).
pub(super) fn fold() -> Shape {
    let keys = || Shape::List(Box::new(Shape::String));
    Shape::Object(Members {
        named: [
            ("instances".into(), Shape::Object(Members { open: true, ..Members::default() })),
            ("passed".into(), keys()),
            ("failed".into(), keys()),
            ("not_taken".into(), keys()),
        ]
        .into_iter()
        .collect(),
        open: false,
    })
}

fn record(fields: &[types::Field]) -> Members {
    let named = fields.iter().map(|field| (field.name.value.clone(), of_type(&field.ty))).collect();
    Members { named, open: false }
}

/// The shape that a declared type has.
pub(super) fn of_type(ty: &Type) -> Shape {
    match ty {
        Type::String => Shape::String,
        Type::Integer => Shape::Integer,
        Type::Number => Shape::Number,
        Type::Boolean => Shape::Boolean,
        Type::List(None) => Shape::List(Box::new(Shape::Anything)),
        Type::List(Some(element)) => Shape::List(Box::new(of_type(element))),
        Type::Object => Shape::Object(Members { open: true, ..Members::default() }),
        Type::Record(fields) => Shape::Object(record(fields)),
        Type::Union(texts) => Shape::Texts(texts.clone()),
        Type::Any(types) => Shape::Either(types.iter().map(of_type).collect()),
        Type::Schema(schema) => of_schema(schema, false),
    }
}

/// The shape that a JSON Schema allows, as far as its plainest keywords say. A result is an object whether
/// its schema says so or not.
fn of_schema(schema: &types::Schema, result: bool) -> Shape {
    match serde_json::from_str::<Json>(&schema.text) {
        Ok(root) => SchemaReader { root: &root, left: MOST }.shape(&root, 0, result),
        // Whoever read the file has reported it.
        Err(_) => Shape::Anything,
    }
}

/// References may be circular, and shapes are for the first few levels of a result.
const DEPTH: usize = 16;

/// The most schemas that are looked at of one file, references followed.
const MOST: usize = 10_000;

/// Keywords besides `properties` that may allow further members.
const OPENS: [&str; 8] =
    ["patternProperties", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "$dynamicRef", "$ref"];

struct SchemaReader<'a> {
    root: &'a Json,
    left: usize,
}

impl<'a> SchemaReader<'a> {
    fn shape(&mut self, schema: &Json, depth: usize, result: bool) -> Shape {
        let Some(schema) = schema.as_object() else { return Shape::Anything };
        if depth > DEPTH || self.left == 0 {
            return Shape::Anything;
        }
        self.left -= 1;
        if let Some(target) = schema.get("$ref").and_then(Json::as_str) {
            let root: &'a Json = self.root;
            let target = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
            let Some(target) = target else { return Shape::Anything };
            let shape = self.shape(target, depth + 1, result);
            // What stands beside it may name further members.
            let beside = ["properties", "unevaluatedProperties", "additionalProperties"];
            let more = OPENS.iter().filter(|keyword| **keyword != "$ref").chain(&beside);
            return match shape {
                Shape::Object(members) if more.into_iter().any(|keyword| schema.contains_key(*keyword)) => {
                    Shape::Object(Members { open: true, ..members })
                }
                shape => shape,
            };
        }
        let text = |value: &Json| value.as_str().map(Text::from);
        if let Some(text) = schema.get("const").and_then(text) {
            return Shape::Texts(vec![text]);
        }
        if let Some(values) = schema.get("enum").and_then(Json::as_array) {
            let texts: Option<Vec<Text>> = values.iter().map(text).collect();
            return texts.map_or(Shape::Anything, Shape::Texts);
        }
        match schema.get("type") {
            Some(Json::String(name)) => self.named(name, schema, depth),
            Some(Json::Array(names)) if !names.is_empty() => {
                let names = names.iter().filter_map(Json::as_str);
                Shape::Either(names.map(|name| self.named(name, schema, depth)).collect())
            }
            // Without a type it says nothing of values of other types than its keywords are about.
            None if result => Shape::Object(self.members(schema, depth)),
            _ => Shape::Anything,
        }
    }

    fn named(&mut self, name: &str, schema: &serde_json::Map<String, Json>, depth: usize) -> Shape {
        match name {
            "null" => Shape::Null,
            "string" => Shape::String,
            "integer" => Shape::Integer,
            "number" => Shape::Number,
            "boolean" => Shape::Boolean,
            "array" => {
                let element = schema.get("items").map(|items| self.shape(items, depth + 1, false));
                Shape::List(Box::new(element.unwrap_or(Shape::Anything)))
            }
            "object" => Shape::Object(self.members(schema, depth)),
            _ => Shape::Anything,
        }
    }

    fn members(&mut self, schema: &serde_json::Map<String, Json>, depth: usize) -> Members {
        let properties = schema.get("properties").and_then(Json::as_object);
        let named = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| (Text::from(name.as_str()), self.shape(schema, depth + 1, false)))
            .collect();
        let allows = |keyword| schema.get(keyword).is_some_and(|more| more != &Json::Bool(false));
        let open = properties.is_none()
            || allows("additionalProperties")
            || allows("unevaluatedProperties")
            || OPENS.iter().any(|keyword| schema.contains_key(*keyword));
        Members { named, open }
    }
}

impl Shape {
    /// What is known of a member.
    pub fn member(&self, name: &str) -> Member<'_> {
        match self {
            Self::Object(members) => match members.named.get(name) {
                Some(shape) => Member::Is(shape),
                None if members.open => Member::Unknown,
                None => Member::Undeclared,
            },
            Self::Anything => Member::Unknown,
            Self::Either(shapes) => {
                let mut found = Member::Undeclared;
                for shape in shapes {
                    match (shape.member(name), &found) {
                        (Member::Is(inner), Member::Undeclared) => found = Member::Is(inner),
                        (Member::Is(_) | Member::Unknown, _) => return Member::Unknown,
                        (Member::Undeclared, _) => {}
                    }
                }
                found
            }
            Self::Null
            | Self::String
            | Self::Integer
            | Self::Number
            | Self::Boolean
            | Self::Texts(_)
            | Self::List(_) => Member::Undeclared,
        }
    }

    /// This, or the empty text.
    pub fn or_empty_text(self) -> Self {
        let empty = || Text::const_new("");
        match self {
            Self::Anything => Self::Anything,
            Self::Texts(mut texts) => {
                texts.push(empty());
                Self::Texts(texts)
            }
            Self::Either(mut shapes) => {
                shapes.push(Self::Texts(vec![empty()]));
                Self::Either(shapes)
            }
            other @ (Self::Null
            | Self::String
            | Self::Integer
            | Self::Number
            | Self::Boolean
            | Self::List(_)
            | Self::Object(_)) => Self::Either(vec![other, Self::Texts(vec![empty()])]),
        }
    }

    /// The declared members' names, for suggestions.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Object(members) => members.named.keys().map(Text::as_str).collect(),
            Self::Either(shapes) => shapes.iter().flat_map(Self::names).collect(),
            Self::Anything
            | Self::Null
            | Self::String
            | Self::Integer
            | Self::Number
            | Self::Boolean
            | Self::Texts(_)
            | Self::List(_) => Vec::new(),
        }
    }

    /// Whether it can look like one that `test` accepts. Nothing known: it can.
    pub fn may(&self, test: &dyn Fn(&Self) -> bool) -> bool {
        match self {
            Self::Anything => true,
            Self::Either(shapes) => shapes.iter().any(|shape| shape.may(test)),
            Self::Null
            | Self::String
            | Self::Integer
            | Self::Number
            | Self::Boolean
            | Self::Texts(_)
            | Self::List(_)
            | Self::Object(_) => test(self),
        }
    }

    /// Whether it can be a number that is ranked or held against a bound.
    pub fn may_be_numeric(&self) -> bool {
        self.may(&|shape| matches!(shape, Self::Integer | Self::Number))
    }

    /// Whether it can be true or false.
    pub fn may_be_boolean(&self) -> bool {
        self.may(&|shape| matches!(shape, Self::Boolean))
    }

    /// Whether it can equal this value.
    pub fn may_equal(&self, value: &Value) -> bool {
        self.may(&|shape| match value {
            Value::String(text) => match shape {
                Self::Texts(texts) => texts.contains(text),
                other => matches!(other, Self::String),
            },
            Value::Integer(_) => matches!(shape, Self::Integer | Self::Number),
            Value::Number(number, _) => {
                matches!(shape, Self::Number) || matches!(shape, Self::Integer) && number.fract() == 0.0
            }
            Value::Boolean(_) => matches!(shape, Self::Boolean),
            Value::List(_) => matches!(shape, Self::List(_)),
            Value::Map(_) => matches!(shape, Self::Object(_)),
            // A result is JSON, which has no durations.
            Value::Duration(_) => false,
        })
    }

    /// Whether it can stand in an order with this value: numbers with numbers, texts with texts.
    pub fn may_be_ordered_with(&self, value: &Value) -> bool {
        self.may(&|shape| match value {
            Value::String(_) => matches!(shape, Self::String | Self::Texts(_)),
            Value::Integer(_) | Value::Number(..) => matches!(shape, Self::Integer | Self::Number),
            Value::Boolean(_) | Value::List(_) | Value::Map(_) | Value::Duration(_) => false,
        })
    }

    /// Whether a value of this shape can equal one of the other.
    pub fn may_meet(&self, other: &Self) -> bool {
        self.may(&|one| {
            other.may(&|two| match (one, two) {
                (Self::Texts(ours), Self::Texts(theirs)) => ours.iter().any(|text| theirs.contains(text)),
                (Self::Texts(_) | Self::String, Self::Texts(_) | Self::String)
                | (Self::Integer | Self::Number, Self::Integer | Self::Number)
                | (Self::List(_), Self::List(_))
                | (Self::Object(_), Self::Object(_)) => true,
                (one, two) => one == two,
            })
        })
    }
}

impl std::fmt::Display for Shape {
    /// As in "is a list of strings".
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Anything => f.write_str("of no declared type"),
            Self::Null => f.write_str("null"),
            Self::String => f.write_str("a string"),
            Self::Integer => f.write_str("an integer"),
            Self::Number => f.write_str("a number"),
            Self::Boolean => f.write_str("a boolean"),
            Self::Texts(texts) => {
                for (index, text) in texts.iter().enumerate() {
                    write!(f, "{}{text:?}", if index == 0 { "" } else { " | " })?;
                }
                Ok(())
            }
            Self::List(element) => match &**element {
                Self::Anything => f.write_str("a list"),
                Self::String | Self::Texts(_) => f.write_str("a list of strings"),
                Self::Integer => f.write_str("a list of integers"),
                Self::Number => f.write_str("a list of numbers"),
                Self::Boolean => f.write_str("a list of booleans"),
                Self::Object(_) => f.write_str("a list of objects"),
                Self::List(_) => f.write_str("a list of lists"),
                Self::Null | Self::Either(_) => f.write_str("a list of mixed elements"),
            },
            Self::Object(_) => f.write_str("an object"),
            Self::Either(shapes) => {
                for (index, shape) in shapes.iter().enumerate() {
                    write!(f, "{}{shape}", if index == 0 { "" } else { " or " })?;
                }
                Ok(())
            }
        }
    }
}
