//! What a `report` task writes: its template, rendered from what the task was given (LANGUAGE §4).
//!
//! Pure: a template sees its inputs and nothing else, no file, no clock, no other template. Where the text
//! goes is the business of `attempt/report.rs` and of the ports.

use indexmap::IndexMap;
use minijinja::{Error, ErrorKind, Value};
use serde_json::value::RawValue;

use super::decimal::Decimal;
use super::json;
use crate::ir::kind::Report;
use crate::template;

/// How much work one rendering may do, in the library's units: an instruction, or 64 bytes. It bounds the
/// time and, at 640 MB, the memory that a template which never ends can take.
const FUEL: u64 = 10_000_000;

/// The report's text.
///
/// # Errors
/// What is wrong, as one clause that names the template's line, and a missing name where that is it.
pub(super) fn render(report: &Report, inputs: &RawValue) -> Result<String, String> {
    let mut environment = template::environment();
    environment.set_fuel(Some(FUEL));
    // What is written decides how values are escaped: `.html` and `.xml` as markup, `.json` as JSON.
    let rendered = environment.render_named_str(&report.to.value, &report.text, value(inputs));
    rendered.map_err(|error| clause(report, &error))
}

/// What is wrong, and where; the library names what was missing.
fn clause(report: &Report, error: &Error) -> String {
    let template = &report.template.value;
    let place = match error.line() {
        Some(line) => format!("`{template}`, line {line}"),
        None => format!("`{template}`"),
    };
    match (error.kind(), error.detail()) {
        (ErrorKind::OutOfFuel, _) => format!("{place}: it takes more work than a report may"),
        (ErrorKind::UndefinedError | ErrorKind::SyntaxError, Some(detail)) => format!("{place}: {detail}"),
        (kind, Some(detail)) => format!("{place}: {kind}: {detail}"),
        (kind, None) => format!("{place}: {kind}"),
    }
}

/// JSON as a template sees it.
fn value(raw: &RawValue) -> Value {
    if let Some(members) = json::members(raw) {
        let members =
            members.into_iter().map(|(name, member)| (Value::from(name.into_owned()), value(member)));
        return Value::from(members.collect::<IndexMap<Value, Value>>());
    }
    if let Some(elements) = json::elements(raw) {
        return Value::from(elements.into_iter().map(value).collect::<Vec<_>>());
    }
    if let Some(text) = json::string(raw) {
        return Value::from(text.into_owned());
    }
    match raw.get().trim() {
        "null" => Value::from(()),
        "true" => Value::from(true),
        "false" => Value::from(false),
        digits => number(digits),
    }
}

/// A number. One that a template could only hold rounded is its digits, as text.
fn number(digits: &str) -> Value {
    if let Ok(integer) = digits.parse::<i64>() {
        return Value::from(integer);
    }
    if let Ok(integer) = digits.parse::<i128>() {
        return Value::from(integer);
    }
    match digits.parse::<f64>() {
        Ok(float) if Decimal::parse(&format!("{float:e}")) == Decimal::parse(digits) => Value::from(float),
        Ok(_) | Err(_) => Value::from(digits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::testing::spanned;

    fn rendered(to: &str, template: &str, inputs: &str) -> Result<String, String> {
        let report = Report {
            template: spanned("page.md".into()),
            text: template.into(),
            to: spanned(to.into()),
            result: None,
        };
        render(&report, &RawValue::from_string(inputs.to_owned()).unwrap())
    }

    #[test]
    fn results_are_rendered_in_their_order_and_with_their_digits() {
        let inputs = r#"{"a":{"z":1.5,"b":[1,"x",null,true],"k":12345678901234567890123,"p":0.10000000000000000001,"e":1e400}}"#;
        for (template, text) in [
            ("{{ a.z + 1 }} {{ a.b[1] }}\n", "2.5 x\n"),
            ("{% for name in a %}{{ name }} {% endfor %}", "z b k p e "),
            ("{{ a.k }} {{ a.p }} {{ a.e }}", "12345678901234567890123 0.10000000000000000001 1e400"),
            ("{{ a.b | length }}{% if a.b[3] %} yes{% endif %}", "4 yes"),
            ("{{ a.none is defined }} {{ a.none | default('-') }}", "False -"),
        ] {
            assert_eq!(rendered("page.md", template, inputs).as_deref(), Ok(text));
        }
    }

    #[test]
    fn what_is_written_decides_how_it_is_escaped() {
        for (to, text) in [("page.md", "<b>"), ("page.html", "&lt;b&gt;"), ("page.json", "\"<b>\"")] {
            let escaped = rendered(to, "{{ a }}", r#"{"a":"<b>"}"#).unwrap();
            assert_eq!(escaped.replace("\\u003c", "<").replace("\\u003e", ">"), text);
        }
    }

    #[test]
    fn a_missing_name_is_named() {
        for (template, clause) in [
            ("\n{{ absent }}", "`page.md`, line 2: `absent` is undefined"),
            ("{{ a.none }}", "`page.md`, line 1: `a.none` is undefined"),
            ("{% for x in a.none %}{% endfor %}", "`page.md`, line 1: `a.none` is undefined"),
            ("{% if absent %}{% endif %}", "`page.md`, line 1: `absent` is undefined"),
            ("{{ a.none.deeper }}", "`page.md`, line 1: `a.none` is undefined"),
        ] {
            assert_eq!(rendered("page.md", template, r#"{"a":{}}"#).unwrap_err(), clause);
        }
    }

    #[test]
    fn a_template_reaches_no_file_and_comes_to_an_end() {
        for template in [
            "{% include '/etc/hostname' %}",
            "{% import 'x' as y %}",
            "{% extends 'x' %}",
            "{{ open('/etc/hostname') }}",
            "{{ now() }}",
        ] {
            rendered("page.md", template, "{}").unwrap_err();
        }
        let endless = r#"{% for a in range(9999) %}{% set b = "x" * 1000000 %}{% endfor %}"#;
        let clause = rendered("page.md", endless, "{}").unwrap_err();
        assert!(clause.ends_with("it takes more work than a report may"), "{clause}");
    }
}
