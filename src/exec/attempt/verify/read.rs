//! What a command that a verifier ran has printed (LANGUAGE §9).
//!
//! Read as the result of an attempt is, and more closely: an object over several lines is an answer as well,
//! and what looks like one and cannot be read is none. Unaware of what it has to say.

use super::call::{Printed, Ran};
use crate::exec::attempt::collect::{Found, collect};
use crate::exec::attempt::{json, stream};
use crate::exec::note;
use crate::exec::ports::{AttemptPaths, How};
use crate::source::Text;

/// Reads what a command left.
pub(super) async fn ran(how: How, paths: AttemptPaths) -> Ran {
    let collected = collect(paths.clone(), stream::size(&paths.stdout)).await;
    let meant = collected.last_line.trim_start().starts_with('{');
    let printed = match collected.found {
        Found::Nothing => Printed::Nothing,
        Found::Object(object) => Printed::Object(object.text().to_owned()),
        Found::Other(why) if meant => Printed::Unreadable(why),
        Found::Other(_) => match stream::tail(&paths.stdout) {
            Ok(tail) => answer(&String::from_utf8_lossy(&tail)),
            Err(error) => Printed::Unreadable(format!("standard output cannot be read: {error}")),
        },
        Found::Refused(why) => Printed::Unreadable(why),
    };
    // A detail that lacks a line is better than none.
    let line = stream::last_line(&paths.stderr).ok().flatten();
    let said = line.map(|line| Text::from(line.text().trim())).unwrap_or(collected.last_line);
    Ran { how, printed, said }
}

/// The latest answer in `text`: the object with which it ends, or the last one that says something about
/// `pass`. It is not taken back by what is printed after it. Where nothing in there looks like one, there is
/// none.
fn answer(text: &str) -> Printed {
    let text = text.trim_end();
    let mut latest = Printed::Nothing;
    let (mut at, mut ended) = (0, false);
    while let Some(start) = next_brace(text, at) {
        let rest = &text[start..];
        match first_value(rest) {
            Ok(length) => {
                let (object, ends) = (&rest[..length], start + length == text.len());
                ended = ends;
                match json::parse_object(object) {
                    Ok(Some(_)) if object.contains(char::REPLACEMENT_CHARACTER) => {
                        latest = unreadable(object, "it is not UTF-8");
                    }
                    Ok(Some(found)) if ends || found.get("pass").is_some() => {
                        latest = Printed::Object(found.text().to_owned());
                    }
                    Ok(_) => {}
                    Err(refusal) => latest = unreadable(object, refusal.clause()),
                }
                at = start + length;
            }
            Err(read) => {
                if rest[..read].contains("\"pass\"") {
                    latest = unreadable(rest, "it breaks off or is no JSON");
                }
                at = start + 1;
            }
        }
    }
    let last = text.rsplit('\n').next().unwrap_or_default();
    let closes = last.ends_with('}') && last.matches('}').count() > last.matches('{').count();
    match latest {
        Printed::Object(_) | Printed::Nothing if closes && !ended => {
            unreadable(last, "its beginning cannot be found")
        }
        Printed::Object(_) | Printed::Nothing | Printed::Unreadable(_) => latest,
    }
}

fn unreadable(what: &str, why: &str) -> Printed {
    Printed::Unreadable(format!("what it printed is no JSON object ({why}): {}", note::line(what.trim())))
}

/// Where, from `at`, an object may begin next: a brace that begins a line, or ends one.
fn next_brace(text: &str, at: usize) -> Option<usize> {
    memchr::memchr_iter(b'{', &text.as_bytes()[at..]).map(|found| at + found).find(|&brace| {
        let before = text[..brace].rsplit('\n').next().unwrap_or_default();
        let after = text[brace + 1..].split('\n').next().unwrap_or_default();
        before.trim().is_empty() || after.trim().is_empty()
    })
}

/// How long the JSON value is with which `text` begins, or how much of it was read before it was none.
fn first_value(text: &str) -> Result<usize, usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => Ok(values.byte_offset()),
        Some(Err(error)) => {
            let lines = text.split_inclusive('\n').take(error.line());
            Err(lines.map(str::len).sum())
        }
        None => Err(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match answer(text) {
            Printed::Nothing => "nothing".to_owned(),
            Printed::Object(text) => text,
            Printed::Unreadable(why) => format!("unreadable: {why}"),
        }
    }

    #[test]
    fn an_answer_may_take_several_lines() {
        for (text, expected) in [
            ("all is well\n", "nothing"),
            ("all {3} of them\n", "nothing"),
            ("[\n  1\n]\n", "nothing"),
            ("{\n  \"pass\": false\n}\n", r#"{"pass":false}"#),
            ("{\n  \"pass\": false }\n", r#"{"pass":false}"#),
            ("  {\n  \"a\": {\n \"pass\": true\n }\n }\n\n", r#"{"a":{"pass":true}}"#),
            ("hello\n{\n  \"pass\": false\n}\n", r#"{"pass":false}"#),
            ("Result: {\n  \"pass\": false\n}\n", r#"{"pass":false}"#),
            ("{\n  \"pass\": false\n}\nbye\n", r#"{"pass":false}"#),
            ("{\"pass\": false}\nbye\n", r#"{"pass":false}"#),
            ("{\"pass\": false}\n{\n\"pass\": true\n}\n", r#"{"pass":true}"#),
            ("{\n\"n\": 3\n}\n", r#"{"n":3}"#),
            ("{\n\"n\": 3\n}\nbye\n", "nothing"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn what_looks_like_an_answer_and_cannot_be_read_is_none() {
        for text in [
            "{\n  \"pass\": true,\n}\n",
            "{\n  \"pass\": false,\n}\nbye\n",
            "{\n  'pass': True\n}\n",
            "  \"pass\": true\n}\n",
            "{\"pass\": false}\n  \"pass\": true\n}\n",
            "{\"pass\": true}\n{\n  \"pass\": fal\n",
            "{\n  \"pass\": true,\n  \"pass\": false\n}\n",
            "{\n  \"pass\": true,\n  \"note\": \"\u{fffd}\"\n}\n",
            "fn main() {\n  1\n}\n",
        ] {
            assert!(shown(text).starts_with("unreadable: what it printed is no JSON object ("), "{text}");
        }
    }
}
