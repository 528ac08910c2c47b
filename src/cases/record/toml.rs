//! Values as TOML, on one line.
//!
//! Unaware of what they mean.

use std::fmt::Write as _;

use serde_json::Value;

/// A key of TOML.
pub(super) fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if bare { name.to_owned() } else { quoted(name) }
}

/// A string of TOML, on one line.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            char if char.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(char));
            }
            char => out.push(char),
        }
    }
    out.push('"');
    out
}

/// A value as TOML; none where TOML cannot say it: `null`, and numbers beyond its own.
pub(super) fn value(of: &Value) -> Option<String> {
    Some(match of {
        Value::Null => return None,
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.to_string(),
            (None, Some(float)) if !number.is_u64() => format!("{float:?}"),
            (None, _) => return None,
        },
        Value::String(text) => quoted(text),
        Value::Array(values) => {
            let values: Option<Vec<String>> = values.iter().map(value).collect();
            format!("[{}]", values?.join(", "))
        }
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let members: Option<Vec<String>> =
                members.iter().map(|(name, of)| Some(format!("{} = {}", key(name), value(of)?))).collect();
            format!("{{ {} }}", members?.join(", "))
        }
    })
}

/// A value from its text, as TOML; none where TOML cannot say it digit for digit.
pub(super) fn exact(json: &str) -> Option<String> {
    if !numbers(json).all(is_exact) {
        return None;
    }
    value(&serde_json::from_str(json).ok()?)
}

/// Whether a number reads back as it is written.
fn is_exact(number: &str) -> bool {
    let read = serde_json::from_str::<Value>(number).map(|read| read.to_string());
    read.is_ok_and(|read| read == number)
}

/// The numbers in the text of a value, outside of its strings.
fn numbers(json: &str) -> impl Iterator<Item = &str> {
    let (mut string, mut escaped) = (false, false);
    json.split(move |char: char| {
        let inside = string;
        match char {
            _ if escaped => escaped = false,
            '\\' if string => escaped = true,
            '"' => string = !string,
            _ => {}
        }
        inside || !matches!(char, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')
    })
    .filter(|word| word.contains(|char: char| char.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for of in [
            json!({"a b": [1, -2, 1.5, true, "x\"\\\n\u{1}é"], "c": {}, "d": {"e": 1e300}}),
            json!([]),
            json!(9_007_199_254_740_993_i64),
        ] {
            let text = format!("v = {}", value(&of).unwrap());
            let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(crate::runner::stub::json(&table["v"]), of, "{text}");
        }
        for of in [json!(null), json!({"a": [null]}), json!(u64::MAX)] {
            assert_eq!(value(&of), None);
        }
    }

    #[test]
    fn what_would_lose_digits_is_not_written() {
        for json in [r#"{"a": 0.30}"#, "[1e2]", r#"{"a": [1, 12345678901234567890123]}"#, "[1.0e0]", "null"] {
            assert_eq!(exact(json), None, "{json}");
        }
        for json in [r#"{"0.30": "1e2 \" 0.30"}"#, "[1, -2, 0.5, true]", r#"{"sense": true}"#] {
            assert!(exact(json).is_some(), "{json}");
        }
    }
}
