//! What a route answers: labels from its source, or from a decision command (LANGUAGE §7).
//!
//! Unaware of who branches on the answers.

use serde_json::value::RawValue;

use super::fanout::raw;
use super::json;
use crate::event::Raw;
use crate::history::Row;
use crate::ir::kind::{Question, Route};
use crate::source::Text;

/// The label of an answer that is not confident enough.
const UNCERTAIN: &str = "uncertain";

/// The answers that the source's result carries.
///
/// # Errors
/// Which question has no answer among its labels: a note for the route, which fails.
pub(super) fn from_source(route: &Route, source: &str, row: &Row) -> Result<Raw, Text> {
    let output =
        row.output().ok_or_else(|| Text::from(format!("`{source}` has no result that could answer")))?;
    answers(route, |question| {
        let name = &question.name.value;
        let value = json::member(&output, name)
            .ok_or_else(|| Text::from(format!("`{source}` does not answer `{name}`")))?;
        let label = match json::type_of(value.get()) {
            "string" => json::string(value).map(Text::from),
            "boolean" if question.yes_no => Some(if value.get() == "true" { "yes" } else { "no" }.into()),
            _ => None,
        };
        let unknown = || {
            Text::from(format!(
                "`{source}` answers `{name}` with {}, which is none of {}",
                shown(value),
                labels(question)
            ))
        };
        label.filter(|label| is_label(question, label)).ok_or_else(unknown)
    })
}

/// The answers that a decision command printed: `{question: {label, confidence}}`. A confidence under
/// `min_confidence` is recorded as `"uncertain"`.
///
/// # Errors
/// What is wrong with them: a note for the route, which fails.
pub(super) fn decided(route: &Route, output: &RawValue) -> Result<Raw, Text> {
    answers(route, |question| {
        let name = &question.name.value;
        let value = json::member(output, name)
            .ok_or_else(|| Text::from(format!("the result does not answer `{name}`")))?;
        let label = json::member(value, "label").and_then(json::string).map(Text::from);
        let unknown = || {
            let found = json::member(value, "label").map_or_else(|| "no `label`".to_owned(), shown);
            Text::from(format!(
                "the result answers `{name}` with {found}, which is none of {}",
                labels(question)
            ))
        };
        let label = label.filter(|label| is_label(question, label)).ok_or_else(unknown)?;
        let Some(least) = route.min_confidence else { return Ok(label) };
        let confidence = json::member(value, "confidence").and_then(|value| value.get().parse::<f64>().ok());
        match confidence {
            Some(confidence) if confidence >= least => Ok(label),
            Some(_) => Ok(UNCERTAIN.into()),
            None => Err(Text::from(format!("the answer to `{name}` has no number as its `confidence`"))),
        }
    })
}

fn answers(route: &Route, mut answer: impl FnMut(&Question) -> Result<Text, Text>) -> Result<Raw, Text> {
    let mut members = Vec::with_capacity(route.questions.len());
    for question in &route.questions {
        let label = answer(question)?;
        members.push(format!("{}:{}", json::quoted(&question.name.value), json::quoted(&label)));
    }
    Ok(raw(&format!("{{{}}}", members.join(","))))
}

fn is_label(question: &Question, label: &str) -> bool {
    question.labels.iter().any(|known| known.value == label)
}

fn labels(question: &Question) -> String {
    let labels: Vec<String> = question.labels.iter().map(|label| format!("`{}`", label.value)).collect();
    labels.join(", ")
}

fn shown(value: &RawValue) -> String {
    const LONGEST: usize = 60;
    let text = value.get();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("`{}…`", &text[..at]),
        None => format!("`{text}`"),
    }
}
