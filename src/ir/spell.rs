//! Values, types and conditions as their author would write them, for messages and drawings.

use super::condition::{Condition, Operand};
use super::kind::{Arg, Edge, EndPoint, Machine, Run};
use super::types::{Emits, Field};
use super::{Over, ParamType, Plan, Type, Value};
use crate::source::Text;

/// A value.
#[must_use]
pub fn value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Integer(number) => number.to_string(),
        Value::Number(_, digits) => digits.to_string(),
        Value::Boolean(boolean) => boolean.to_string(),
        Value::Duration(duration) => duration.to_string(),
        Value::List(values) => format!("[{}]", values.iter().map(self::value).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(name, entry)| format!("{} = {}", key(name), self::value(entry)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// A string in its quotes.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other if other.is_control() => out.push_str(&format!("\\u{{{:x}}}", u32::from(other))),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// One side of a comparison.
#[must_use]
pub fn operand(plan: &Plan, operand: &Operand) -> String {
    let name = |task: &super::TaskId| plan[*task].name.value.as_str();
    match operand {
        Operand::Literal(literal) => value(literal),
        Operand::Parameter { value: Some(known), .. } => value(known),
        Operand::Parameter { name, value: None, .. } => name.to_string(),
        Operand::Field(task, path) => joined(name(task), path),
        Operand::LastLine(task) => format!("{}.last_line", name(task)),
        Operand::Status(task) => format!("{}.status", name(task)),
        Operand::Answer(task, question) => format!("{}.{question}", name(task)),
        Operand::Item(path) => joined("item", path),
        Operand::Outcome => "outcome".into(),
        Operand::NodeLastLine => "last_line".into(),
        Operand::PreferredLabel => "preferred_label".into(),
        Operand::Output(path) => joined("output", path),
        Operand::Context(path) => joined("context", path),
    }
}

/// A condition.
#[must_use]
pub fn condition(plan: &Plan, condition: &Condition) -> String {
    written(plan, condition, 0)
}

/// An edge of a machine.
#[must_use]
pub fn edge(plan: &Plan, machine: &Machine, edge: &Edge) -> String {
    let clauses = clauses(plan, edge);
    let (from, to) = (end(machine, edge.from.value), end(machine, edge.to.value));
    let space = if clauses.is_empty() { "" } else { " " };
    format!("{from} -> {to}{space}{clauses}")
}

/// What an edge says besides its ends.
#[must_use]
pub fn clauses(plan: &Plan, edge: &Edge) -> String {
    let mut said: Vec<String> = Vec::new();
    said.extend(edge.condition.as_ref().map(|condition| format!("if {}", self::condition(plan, condition))));
    said.extend(edge.label.as_ref().map(|label| format!("label {}", quoted(label))));
    if edge.weighted {
        said.push(format!("weight {}", edge.weight));
    }
    if edge.default {
        said.push("default".to_owned());
    }
    said.join(" ")
}

/// The name of an end of an edge.
fn end(machine: &Machine, end: EndPoint) -> &str {
    match end {
        EndPoint::Start => "start",
        EndPoint::Exit => "exit",
        EndPoint::Node(at) => {
            machine.nodes.get(at as usize).map_or("?", |node| node.task.name.value.as_str())
        }
        EndPoint::Unknown => "?",
    }
}

/// How tightly the surrounding text binds: 0 not at all, 1 `or`, 2 `and`, 3 `not`.
fn written(plan: &Plan, condition: &Condition, within: u8) -> String {
    let several = |parts: &[Condition], word: &str, own: u8| {
        let text: Vec<String> = parts.iter().map(|part| written(plan, part, own)).collect();
        let text = text.join(word);
        if within > own { format!("({text})") } else { text }
    };
    match condition {
        Condition::Or(parts) => several(parts, " or ", 1),
        Condition::And(parts) => several(parts, " and ", 2),
        Condition::Not(part) => format!("not {}", written(plan, part, 3)),
        Condition::Compare { left, operator, right, .. } => {
            format!("{} {} {}", operand(plan, left), operator.as_str(), operand(plan, right))
        }
        Condition::Holds { operand: read, .. } => operand(plan, read),
        Condition::Otherwise { task, question, .. } => {
            format!("otherwise({}.{question})", plan[*task].name.value)
        }
    }
}

/// The list of a fan-out.
#[must_use]
pub fn over(plan: &Plan, over: &Over) -> String {
    match over {
        Over::Field(task, field) => format!("{}.{field}", plan[*task].name.value),
        Over::Param(param) => {
            plan.params.get(param.index()).map_or_else(String::new, |param| param.name.value.to_string())
        }
    }
}

/// A type.
#[must_use]
pub fn ty(ty: &Type) -> String {
    match ty {
        Type::String => "string".into(),
        Type::Integer => "integer".into(),
        Type::Number => "number".into(),
        Type::Boolean => "boolean".into(),
        Type::List(None) => "list".into(),
        Type::List(Some(element)) => format!("[{}]", self::ty(element)),
        Type::Object => "object".into(),
        Type::Record(fields) => record(fields),
        Type::Union(texts) => union(texts),
        Type::Any(types) => types.iter().map(self::ty).collect::<Vec<_>>().join(" | "),
        Type::Schema(schema) => format!("schema({})", quoted(&schema.path)),
    }
}

/// What a result promises.
#[must_use]
pub fn emits(emits: &Emits) -> String {
    match emits {
        Emits::Names(names) => {
            let names: Vec<String> = names.iter().map(|name| quoted(&name.value)).collect();
            format!("[{}]", names.join(", "))
        }
        Emits::Record(fields) => record(fields),
        Emits::Schema(schema) => format!("schema({})", quoted(&schema.path)),
    }
}

/// The type of a parameter.
#[must_use]
pub fn param_type(ty: &ParamType) -> String {
    match ty {
        ParamType::String => "string".into(),
        ParamType::Integer => "integer".into(),
        ParamType::Number => "number".into(),
        ParamType::Boolean => "boolean".into(),
        ParamType::Strings => "[string]".into(),
        ParamType::Union(texts) => union(texts),
    }
}

/// A command.
#[must_use]
pub fn run(run: &Run) -> String {
    match run {
        Run::Shell(text) => quoted(text),
        Run::List(arguments) => {
            let arguments: Vec<String> = arguments
                .iter()
                .map(|argument| match argument {
                    Arg::Text(text) => quoted(text),
                    Arg::Pack(path) => format!("pack({})", quoted(path)),
                })
                .collect();
            format!("[{}]", arguments.join(", "))
        }
    }
}

fn record(fields: &[Field]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|field| {
            let mark = if field.optional { "?" } else { "" };
            format!("{}{mark}: {}", key(&field.name.value), ty(&field.ty))
        })
        .collect();
    if fields.is_empty() { "{}".into() } else { format!("{{ {} }}", fields.join(", ")) }
}

/// A key, in quotes where it is no identifier.
fn key(name: &str) -> String {
    let plain = name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        && !name.ends_with('-');
    if plain { name.to_owned() } else { quoted(name) }
}

fn union(texts: &[Text]) -> String {
    texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(" | ")
}

fn joined(head: &str, path: &[Text]) -> String {
    path.iter().fold(head.to_owned(), |text, member| format!("{text}.{member}"))
}
