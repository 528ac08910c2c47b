//! A list becomes instances: its elements, their names, and what is wrong with it (LANGUAGE §8).
//!
//! Unaware of queues and of the order in which instances run.

use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use super::json;
use crate::event::Raw;
use crate::history::{Row, Settled};
use crate::ir::{Over, Plan, Task, TaskId, Value};
use crate::source::Text;

/// The longest name of an element, in bytes.
const MAX_NAME: usize = 1024;

/// One element of a list.
#[derive(Clone, Debug)]
pub struct Element {
    /// The name of its instance.
    pub name: Text,
    /// What the instance reads as `item`.
    pub json: Raw,
}

/// Whether `task` and `other` are mapped over the same list: an instance's dependency on `other` is then
/// `other`'s instance of the same element.
#[must_use]
pub fn aligned(task: &Task, other: &Task) -> bool {
    match (&task.over, &other.over) {
        (Some(over), Some(of)) => over.value == of.value,
        _ => false,
    }
}

/// The elements that `task` fans out over, given the row of the list's producer.
///
/// # Errors
/// What is wrong with the list: a clause for the note of the task, which fails.
pub(super) fn elements(
    plan: &Plan,
    task: &Task,
    producer: impl FnOnce(TaskId) -> Produced,
) -> Result<Vec<Element>, Text> {
    let over = &task.over.as_ref().expect("only a mapped task has a list").value;
    let (list, called) = match over {
        Over::Param(id) => {
            let param = &plan.params[id.index()];
            let value = param.value.as_ref().or(param.default.as_ref());
            let values = if let Some(Value::List(values)) = value { values.as_slice() } else { &[] };
            (raw(&ir_list(values)), Text::from(param.name.value.as_str()))
        }
        Over::Field(id, field) => {
            let of = &plan[*id].name.value;
            let output = match producer(*id) {
                Produced::Output(output) => output,
                Produced::Nothing(status) => {
                    return Err(compact_str::format_compact!(
                        "no list to fan out over: `{of}` settled `{status}`"
                    ));
                }
            };
            let called = compact_str::format_compact!("{of}.{field}");
            let Some(list) = json::member(&output, field) else {
                return Err(compact_str::format_compact!("`{called}` is missing, so that there is no list"));
            };
            (list.to_owned().into(), called)
        }
    };
    let Some(list) = json::elements(&list) else {
        let found = json::type_of(list.get());
        return Err(compact_str::format_compact!("`{called}` is not a list but {}", article(found)));
    };
    named(&list, task, &called)
}

/// What the producer of a list has to offer.
pub(super) enum Produced {
    /// Its output.
    Output(Raw),
    /// It settled as this without passing.
    Nothing(&'static str),
}

impl Produced {
    pub(super) fn of(row: &Row) -> Self {
        match &row.settled {
            Some(Settled { status, .. }) if status.passes() => {
                Self::Output(row.output().unwrap_or_else(|| raw("{}")))
            }
            Some(Settled { status, .. }) => Self::Nothing(status.as_str()),
            None => Self::Nothing("pending"),
        }
    }
}

fn named(list: &[&RawValue], task: &Task, called: &str) -> Result<Vec<Element>, Text> {
    let most = task.max_fanout as usize;
    if list.len() > most {
        return Err(compact_str::format_compact!(
            "`{called}` has {} elements, more than `max_fanout = {most}`",
            list.len()
        ));
    }
    let mut seen: FxHashMap<Text, usize> = FxHashMap::default();
    let mut all = Vec::with_capacity(list.len());
    for (at, value) in list.iter().enumerate() {
        let name = name_of(value, task)
            .map_err(|wrong| compact_str::format_compact!("element {at} of `{called}` {wrong}"))?;
        if let Some(first) = seen.insert(name.clone(), at) {
            return Err(compact_str::format_compact!(
                "`{called}` names {} twice, as elements {first} and {at}",
                json::quoted(&shown(&name))
            ));
        }
        all.push(Element { name, json: (*value).to_owned().into() });
    }
    Ok(all)
}

/// The name of one element, or what is wrong with it.
fn name_of(value: &RawValue, task: &Task) -> Result<Text, Text> {
    match (json::type_of(value.get()), &task.key) {
        ("object", Some(key)) => match json::member(value, &key.value) {
            Some(inner) => plain_name(inner)
                .map_err(|wrong| compact_str::format_compact!("has a key `{}` that {wrong}", key.value)),
            None => Err(compact_str::format_compact!("has no key `{}`", key.value)),
        },
        ("object", None) => Err("is an object, and the task has no `key` that names it".into()),
        _ => plain_name(value),
    }
}

fn plain_name(value: &RawValue) -> Result<Text, Text> {
    let text = value.get();
    match json::type_of(text) {
        "string" => {
            let name = json::string(value).unwrap_or_default();
            if name.is_empty() {
                Err("is an empty string".into())
            } else if name.len() > MAX_NAME {
                Err(compact_str::format_compact!("is {} bytes long, more than {MAX_NAME}", name.len()))
            } else {
                Ok(name.as_ref().into())
            }
        }
        "number" => match text {
            "-0" => Ok("0".into()),
            _ if text.len() <= MAX_NAME && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()) => {
                Ok(text.into())
            }
            _ => Err("is a number that is not an integer".into()),
        },
        found => Err(compact_str::format_compact!(
            "is {}, not a string, an integer or an object with a `key`",
            article(found)
        )),
    }
}

fn article(found: &str) -> Text {
    match found {
        "null" => "null".into(),
        "object" => "an object".into(),
        _ => compact_str::format_compact!("a {found}"),
    }
}

/// A name short enough for a note.
fn shown(name: &str) -> String {
    match name.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}

/// The note of a mapped task some of whose instances failed; none where none did.
pub(super) fn fold_note(row: &Row) -> Option<Text> {
    const SHOWN: usize = 5;
    let instances = row.instances.as_ref()?;
    let failed: Vec<&str> = instances
        .iter()
        .filter(|(_, row)| row.status().is_some_and(|status| !status.holds()))
        .map(|(key, _)| key.as_str())
        .collect();
    if failed.is_empty() {
        return None;
    }
    let names: Vec<String> = failed.iter().take(SHOWN).map(|name| shown(name)).collect();
    let more = failed.len().saturating_sub(SHOWN);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(compact_str::format_compact!(
        "{} of {} instances failed: {}{more}",
        failed.len(),
        instances.len(),
        names.join(", ")
    ))
}

fn ir_list(values: &[Value]) -> String {
    let texts: Vec<String> = values.iter().map(value_json).collect();
    format!("[{}]", texts.join(","))
}

/// A value known at compile time as JSON, its digits kept.
pub(super) fn value_json(value: &Value) -> String {
    match value {
        Value::String(text) => json::quoted(text),
        Value::Integer(number) => number.to_string(),
        Value::Number(_, digits) => digits.replace('_', ""),
        Value::Boolean(flag) => flag.to_string(),
        Value::Duration(millis) => json::quoted(&millis.to_string()),
        Value::List(values) => ir_list(values),
        Value::Map(map) => {
            let members: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}:{}", json::quoted(key), value_json(value)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
    }
}

pub(super) fn raw(text: &str) -> Raw {
    RawValue::from_string(text.to_owned()).expect("what we write is JSON").into()
}
