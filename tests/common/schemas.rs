//! Holds what is written to the published schemas, with everything forbidden that they do not name: what is
//! written is described, all of it.

use std::sync::LazyLock;

use jsonschema::Validator;
use plan::report::schema;
use serde_json::Value;

static EVENT: LazyLock<Validator> = LazyLock::new(|| closed(schema::event()));
static STATUS: LazyLock<Validator> = LazyLock::new(|| closed(schema::status()));

/// Why an event, as a log or `--format json` writes it, is not as published.
pub fn event(line: &Value) -> Result<(), String> {
    EVENT.validate(line).map_err(|error| format!("{line}: {error}"))
}

/// Why a status document is not as published.
pub fn status(document: &Value) -> Result<(), String> {
    STATUS.validate(document).map_err(|error| format!("{}: {error}", error.instance_path()))
}

fn closed(mut schema: Value) -> Validator {
    schema["unevaluatedProperties"] = false.into();
    for part in schema["$defs"].as_object_mut().into_iter().flat_map(|parts| parts.values_mut()) {
        if part.get("properties").is_some() {
            part["additionalProperties"] = false.into();
        }
    }
    jsonschema::validator_for(&schema).expect("a schema")
}
