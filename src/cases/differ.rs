//! Where two values differ: the innermost members of JSON, the words of a line.
//!
//! Pure.

use std::ops::Range;

use serde_json::Value;

/// A member that is not as it has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apart {
    /// Where in the value: `.a.b[0]`, empty for the whole.
    pub member: String,
    /// What it has to be.
    pub expected: String,
    /// What it is; `nothing` where it is not there.
    pub got: String,
}

/// What `want` says and `got` does not have. A table may have more members than it must, a list may not.
#[must_use]
pub fn members(want: &Value, got: Option<&Value>) -> Vec<Apart> {
    let mut apart = Vec::new();
    look(String::new(), want, got, &mut apart);
    apart
}

fn look(member: String, want: &Value, got: Option<&Value>, apart: &mut Vec<Apart>) {
    match (want, got) {
        (Value::Object(want), Some(Value::Object(got))) => {
            for (name, want) in want {
                look(format!("{member}.{name}"), want, got.get(name), apart);
            }
        }
        (Value::Array(wants), Some(Value::Array(gots))) if wants.len() == gots.len() => {
            for (index, (want, got)) in wants.iter().zip(gots).enumerate() {
                look(format!("{member}[{index}]"), want, Some(got), apart);
            }
        }
        (want, got) if got.is_some_and(|got| same(want, got)) => {}
        (want, got) => apart.push(Apart { member, expected: shown(Some(want)), got: shown(got) }),
    }
}

/// Whether two values are the same; `1` and `1.0` are.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Value::to_string)
}

/// The words of `got` that differ from `want`, from the first to the last, as bytes. None where the two have
/// no word at their beginnings or ends in common, and everything differs.
#[must_use]
pub fn words(want: &str, got: &str) -> Option<Range<usize>> {
    let (wants, gots) = (cut(want), cut(got));
    let alike = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let start = wants.iter().zip(&gots).take_while(alike).count();
    let most = wants.len().min(gots.len()) - start;
    let end = wants.iter().rev().zip(gots.iter().rev()).take(most).take_while(alike).count();
    let bytes = |words: &[&str]| words.iter().map(|word| word.len()).sum::<usize>();
    let range = bytes(&gots[..start])..got.len() - bytes(&gots[gots.len() - end..]);
    let mut common = got[..range.start].chars().chain(got[range.end..].chars());
    (common.any(char::is_alphanumeric) && !range.is_empty()).then_some(range)
}

/// Words and the blanks between them.
fn cut(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = first.is_alphanumeric();
        let end = match kind {
            true => rest.find(|char: char| !char.is_alphanumeric()).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        parts.push(&rest[..end]);
        rest = &rest[end..];
    }
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_named() {
        let want = json!({"a": 1, "b": {"c": [1, 2]}, "d": "x"});
        let got = json!({"a": 1.0, "b": {"c": [1, 3], "more": true}, "e": 1});
        let apart = members(&want, Some(&got));
        let shown: Vec<_> =
            apart.iter().map(|one| (one.member.as_str(), one.expected.as_str(), one.got.as_str())).collect();
        assert_eq!(shown, [(".b.c[1]", "2", "3"), (".d", "\"x\"", "nothing")]);
        assert_eq!(members(&json!([1]), Some(&json!([1, 2])))[0].got, "[1,2]");
    }

    #[test]
    fn the_words_that_changed_are_found() {
        let range = words("exit 1: no file at a.lock", "exit 1: no file at other.lock").unwrap();
        assert_eq!(&"exit 1: no file at other.lock"[range], "other");
        assert_eq!(words("pass", "fail"), None);
        assert_eq!(words("a b", "a b c").map(|range| &"a b c"[range]), Some(" c"));
        assert_eq!(words("a b c", "a c"), None, "words that are missing cannot be marked");
    }
}
