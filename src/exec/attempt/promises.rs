//! Holds a passing result against what its task promises (LANGUAGE §10).
//!
//! Pure but for the cache of compiled schemas. Unaware of statuses: it finds the first broken promise.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use super::json::{Json, Object, quoted};
use crate::exec::note;
use crate::ir::types::{Emits, Field, Schema, Type};

/// A schema that was compiled, or what is wrong with it.
type Compiled = Result<Arc<jsonschema::Validator>, String>;

/// Compiled schemas, by their text.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    compiled: Mutex<FxHashMap<Arc<str>, Compiled>>,
}

impl Schemas {
    fn validator(&self, schema: &Schema) -> Result<Arc<jsonschema::Validator>, String> {
        let mut compiled = self.compiled.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let entry = compiled.entry(Arc::clone(&schema.text)).or_insert_with(|| {
            let value = serde_json::from_str(&schema.text).map_err(|error| error.to_string())?;
            let built = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&value);
            built.map(Arc::new).map_err(|error| error.to_string())
        });
        entry.clone().map_err(|error| format!("breaks `{}`, which is no schema: {error}", schema.path))
    }

    /// The first way in which `text`, which is JSON, breaks `schema`: a clause that goes after what it is.
    pub(crate) fn check(&self, schema: &Schema, text: &str) -> Result<(), String> {
        let validator = self.validator(schema)?;
        let value = serde_json::from_str(text).map_err(|error| format!("cannot be read: {error}"))?;
        validator.validate(&value).map_err(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { String::new() } else { format!("`{place}`: ") };
            format!("breaks `{}`: {place}{}", schema.path, note::shown(&error.to_string(), 200))
        })
    }
}

/// The first broken promise about fields.
pub(super) fn fields(schemas: &Schemas, emits: &Emits, result: &Object) -> Result<(), String> {
    match emits {
        Emits::Names(names) => {
            lacks(names.iter().map(|name| name.value.as_str()).filter(|name| result.get(name).is_none()))
        }
        Emits::Record(fields) => {
            let required = fields.iter().filter(|field| !field.optional);
            lacks(required.map(|field| field.name.value.as_str()).filter(|name| result.get(name).is_none()))?;
            record(schemas, fields, &result.members, "")
        }
        Emits::Schema(schema) => {
            schemas.check(schema, result.text()).map_err(|broken| format!("the result {broken}"))
        }
    }
}

/// The names that a task promises, for a note about a result that is not there.
pub(super) fn promised(emits: &Emits) -> String {
    match emits {
        Emits::Names(names) => note::names(names.iter().map(|name| name.value.as_str())),
        Emits::Record(fields) => {
            let required = fields.iter().filter(|field| !field.optional);
            note::names(required.map(|field| field.name.value.as_str()))
        }
        Emits::Schema(schema) => format!("`{}`", schema.path),
    }
}

fn lacks<'a>(missing: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let missing = note::names(missing);
    if missing.is_empty() { Ok(()) } else { Err(format!("the result lacks {missing}, which it promises")) }
}

fn record(schemas: &Schemas, fields: &[Field], members: &[(String, Json)], path: &str) -> Result<(), String> {
    for field in fields {
        let name = &field.name.value;
        let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        match members.iter().find(|(member, _)| member == name.as_str()) {
            Some((_, value)) => keeps(schemas, &field.ty, value, &path)?,
            None if field.optional => {}
            None => return Err(format!("the result lacks `{path}`, which it promises")),
        }
    }
    Ok(())
}

fn keeps(schemas: &Schemas, ty: &Type, value: &Json, path: &str) -> Result<(), String> {
    let wrong = || Err(format!("`{path}` has to be {}, and is {}", describe(ty), value.describe()));
    match (ty, value) {
        (Type::String, Json::String(_))
        | (Type::Number, Json::Number(_))
        | (Type::Boolean, Json::Boolean(_))
        | (Type::List(None), Json::Array(_))
        | (Type::Object, Json::Object(_)) => Ok(()),
        (Type::Integer, Json::Number(digits)) if is_integer(digits) => Ok(()),
        (Type::List(Some(inner)), Json::Array(values)) => {
            let each = |(index, value)| keeps(schemas, inner, value, &format!("{path}[{index}]"));
            values.iter().enumerate().try_for_each(each)
        }
        (Type::Record(fields), Json::Object(members)) => record(schemas, fields, members, path),
        (Type::Union(labels), Json::String(text)) if labels.iter().any(|label| label == text.as_str()) => {
            Ok(())
        }
        (Type::Any(types), value) => {
            if types.iter().any(|ty| keeps(schemas, ty, value, path).is_ok()) {
                Ok(())
            } else {
                wrong()
            }
        }
        (Type::Schema(schema), value) => {
            schemas.check(schema, &value.text()).map_err(|broken| format!("`{path}` {broken}"))
        }
        (
            Type::String
            | Type::Integer
            | Type::Number
            | Type::Boolean
            | Type::List(_)
            | Type::Object
            | Type::Record(_)
            | Type::Union(_),
            Json::Null
            | Json::Boolean(_)
            | Json::Number(_)
            | Json::String(_)
            | Json::Array(_)
            | Json::Object(_),
        ) => wrong(),
    }
}

/// Written as a whole number: `3.0` is a float to most of those who will read it.
fn is_integer(digits: &str) -> bool {
    digits.bytes().all(|byte| matches!(byte, b'-' | b'0'..=b'9'))
}

/// A type in words.
fn describe(ty: &Type) -> String {
    match ty {
        Type::String => "a string".to_owned(),
        Type::Integer => "an integer".to_owned(),
        Type::Number => "a number".to_owned(),
        Type::Boolean => "a boolean".to_owned(),
        Type::List(_) => "a list".to_owned(),
        Type::Object | Type::Record(_) => "an object".to_owned(),
        Type::Union(labels) => alternatives(labels.iter().map(|label| quoted(label))),
        Type::Any(types) => alternatives(types.iter().map(describe)),
        Type::Schema(schema) => format!("what `{}` says", schema.path),
    }
}

fn alternatives(words: impl Iterator<Item = String>) -> String {
    let mut words: Vec<String> = words.collect();
    match words.pop() {
        Some(last) if !words.is_empty() => format!("{} or {last}", words.join(", ")),
        last => last.unwrap_or_default(),
    }
}
