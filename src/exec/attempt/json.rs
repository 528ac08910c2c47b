//! Reads JSON strictly (EXECUTION §5): one reading for everybody, or none.
//!
//! Names that occur twice, lone surrogates, `NaN`, infinities and deep nesting are refused: two consumers
//! would read them differently. Numbers are never turned into floats; they stay the digits that a task
//! wrote. Unaware of what a result has to hold.

use std::fmt::Write as _;

use serde_json::value::RawValue;

use crate::event::Raw;
use crate::source::Text;

/// How deep values may nest.
const DEPTH: usize = 128;

/// A value, with numbers as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    /// `null`.
    Null,
    /// `true`, `false`.
    Boolean(bool),
    /// A number's text.
    Number(Text),
    /// A string, escapes resolved.
    String(String),
    /// A list.
    Array(Vec<Json>),
    /// An object's members, in the order written.
    Object(Vec<(String, Json)>),
}

/// An object and its text, without blanks between tokens, so that it fits on a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// The members, in the order written.
    pub members: Vec<(String, Json)>,
    text: String,
}

/// Why a text was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is no JSON at all: a clause about where.
    Syntax(String),
    /// It is JSON that two readers would read differently, or not at all: a clause about what.
    Unsound(String),
}

impl Refusal {
    /// The clause.
    pub(crate) fn clause(&self) -> &str {
        match self {
            Self::Syntax(clause) | Self::Unsound(clause) => clause,
        }
    }
}

/// Reads `text`, which is one value and blanks around it.
pub(crate) fn parse(text: &str) -> Result<Json, Refusal> {
    Ok(parse_compact(text)?.0)
}

/// Reads an object; `Ok(None)` for any other value.
pub(crate) fn parse_object(text: &str) -> Result<Option<Object>, Refusal> {
    match parse_compact(text)? {
        (Json::Object(members), text) => Ok(Some(Object { members, text })),
        (Json::Null | Json::Boolean(_) | Json::Number(_) | Json::String(_) | Json::Array(_), _) => Ok(None),
    }
}

fn parse_compact(text: &str) -> Result<(Json, String), Refusal> {
    let mut reader = Reader { text, at: 0, compact: String::with_capacity(text.len()) };
    reader.blanks();
    let value = reader.value(1)?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.unexpected());
    }
    Ok((value, reader.compact))
}

impl Object {
    /// The object without members.
    pub(crate) fn empty() -> Self {
        Self { members: Vec::new(), text: "{}".to_owned() }
    }

    /// The member called `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        self.members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }

    /// The member called `name`, if it is a string.
    pub(crate) fn string(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Json::String(text) => Some(text),
            Json::Null | Json::Boolean(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// The same with `name` being `value`, at its place or at the end.
    pub(crate) fn with(&self, name: &str, value: Json) -> Self {
        if self.get(name) == Some(&value) {
            return self.clone();
        }
        let mut members = self.members.clone();
        match members.iter_mut().find(|(member, _)| member == name) {
            Some((_, old)) => *old = value,
            None => members.push((name.to_owned(), value)),
        }
        let mut text = String::with_capacity(self.text.len() + name.len() + 16);
        write_object(&mut text, &members);
        Self { members, text }
    }

    /// Its text, as events carry it.
    pub(crate) fn raw(&self) -> Raw {
        RawValue::from_string(self.text.clone()).expect("the text was read as JSON").into()
    }

    /// Its text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl Json {
    /// What it is, for notes: `a string`, `3.5`, `null`.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Boolean(value) => value.to_string(),
            Self::Number(digits) => crate::exec::note::shown(digits, 40),
            Self::String(text) => format!("the string {}", quoted(&crate::exec::note::shown(text, 60))),
            Self::Array(_) => "a list".to_owned(),
            Self::Object(_) => "an object".to_owned(),
        }
    }

    /// Its text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        write(&mut text, self);
        text
    }
}

/// `text` as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("text can be written")
}

fn write(into: &mut String, value: &Json) {
    match value {
        Json::Null => into.push_str("null"),
        // Writing to a string cannot fail.
        Json::Boolean(value) => drop(write!(into, "{value}")),
        Json::Number(digits) => into.push_str(digits),
        Json::String(text) => into.push_str(&quoted(text)),
        Json::Array(values) => {
            into.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    into.push(',');
                }
                write(into, value);
            }
            into.push(']');
        }
        Json::Object(members) => write_object(into, members),
    }
}

fn write_object(into: &mut String, members: &[(String, Json)]) {
    into.push('{');
    for (index, (name, value)) in members.iter().enumerate() {
        if index > 0 {
            into.push(',');
        }
        into.push_str(&quoted(name));
        into.push(':');
        write(into, value);
    }
    into.push('}');
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    compact: String,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Takes an ASCII character over.
    fn take(&mut self, byte: u8) {
        self.compact.push(char::from(byte));
        self.at += 1;
    }

    fn unexpected(&self) -> Refusal {
        let found = self.text[self.at..].chars().next();
        let place = self.text[..self.at].chars().count() + 1;
        Refusal::Syntax(match found {
            Some(found) => format!("{} at column {place}", crate::exec::note::character(found)),
            None => "it ends too early".to_owned(),
        })
    }

    fn value(&mut self, depth: usize) -> Result<Json, Refusal> {
        if depth > DEPTH {
            return Err(Refusal::Unsound(format!("deeper than {DEPTH} levels")));
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Boolean(true)),
            Some(b'f') => self.word("false", Json::Boolean(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(b'N' | b'I') => Err(self.no_number()),
            _ => Err(self.unexpected()),
        }
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, Refusal> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.unexpected());
        }
        self.at += word.len();
        self.compact.push_str(word);
        Ok(value)
    }

    /// `NaN` and `Infinity`, which some writers produce and strict readers refuse.
    fn no_number(&self) -> Refusal {
        let rest = &self.text[self.at..];
        match ["NaN", "Infinity"].into_iter().find(|word| rest.starts_with(word)) {
            Some(word) => Refusal::Unsound(format!("`{word}` is no JSON number")),
            None => self.unexpected(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, Refusal> {
        self.take(b'{');
        let mut members: Vec<(String, Json)> = Vec::new();
        let mut names = rustc_hash::FxHashSet::default();
        self.blanks();
        if self.peek() == Some(b'}') {
            self.take(b'}');
            return Ok(Json::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected());
            }
            let name = self.string()?;
            if !names.insert(name.clone()) {
                let name = crate::exec::note::shown(&name, 60);
                return Err(Refusal::Unsound(format!("the name {} twice in one object", quoted(&name))));
            }
            self.blanks();
            if self.peek() != Some(b':') {
                return Err(self.unexpected());
            }
            self.take(b':');
            self.blanks();
            members.push((name, self.value(depth + 1)?));
            self.blanks();
            match self.peek() {
                Some(b',') => self.take(b','),
                Some(b'}') => {
                    self.take(b'}');
                    return Ok(Json::Object(members));
                }
                _ => return Err(self.unexpected()),
            }
            self.blanks();
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, Refusal> {
        self.take(b'[');
        let mut values = Vec::new();
        self.blanks();
        if self.peek() == Some(b']') {
            self.take(b']');
            return Ok(Json::Array(values));
        }
        loop {
            values.push(self.value(depth + 1)?);
            self.blanks();
            match self.peek() {
                Some(b',') => self.take(b','),
                Some(b']') => {
                    self.take(b']');
                    return Ok(Json::Array(values));
                }
                _ => return Err(self.unexpected()),
            }
            self.blanks();
        }
    }

    fn number(&mut self) -> Result<Json, Refusal> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
            if self.peek() == Some(b'I') {
                return Err(self.no_number());
            }
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(self.unexpected()),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        let digits = &self.text[start..self.at];
        // A reader with floats would take it for an infinity.
        if !digits.parse::<f64>().is_ok_and(f64::is_finite) {
            let digits = crate::exec::note::shown(digits, 40);
            return Err(Refusal::Unsound(format!("the number {digits} is out of range")));
        }
        self.compact.push_str(digits);
        Ok(Json::Number(digits.into()))
    }

    fn digits(&mut self) -> Result<(), Refusal> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected()) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, Refusal> {
        let start = self.at;
        self.at += 1;
        let mut value = String::new();
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let plain = rest.iter().position(|&byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            let plain = plain.unwrap_or(rest.len());
            value.push_str(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    self.compact.push_str(&self.text[start..self.at]);
                    return Ok(value);
                }
                Some(b'\\') => value.push(self.escape()?),
                _ => return Err(self.unexpected()),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Refusal> {
        self.at += 1;
        let plain = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode_escape(&mut self) -> Result<char, Refusal> {
        let lone = || Refusal::Unsound("a lone surrogate".to_owned());
        let first = self.four_digits()?;
        let code = match first {
            0xD800..=0xDBFF => {
                if !self.text[self.at..].starts_with("\\u") {
                    return Err(lone());
                }
                self.at += 1;
                match self.four_digits()? {
                    second @ 0xDC00..=0xDFFF => 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00),
                    _ => return Err(lone()),
                }
            }
            other => other,
        };
        char::from_u32(code).ok_or_else(lone)
    }

    /// The four digits after the `u` that we stand on.
    fn four_digits(&mut self) -> Result<u32, Refusal> {
        self.at += 1;
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.unexpected())?;
            self.at += 1;
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> String {
        parse_object(text).unwrap().unwrap().text().to_owned()
    }

    #[test]
    fn objects_stay_as_written_but_for_blanks() {
        for (text, compact) in [
            (" { } ", "{}"),
            (
                "{\n  \"a\" : [ 1.50, -0, 1E+2 ,123456789012345678901234567890],\r\n\t\"b\": \"\\u0041 \\/\" }",
                "{\"a\":[1.50,-0,1E+2,123456789012345678901234567890],\"b\":\"\\u0041 \\/\"}",
            ),
            (
                "{\"é\":\"\\ud83d\\ude00\",\"n\":null,\"t\":true,\"f\":false}",
                "{\"é\":\"\\ud83d\\ude00\",\"n\":null,\"t\":true,\"f\":false}",
            ),
        ] {
            assert_eq!(object(text), compact);
            assert_eq!(object(compact), compact);
        }
        assert_eq!(parse("\"\\ud83d\\ude00\\n\""), Ok(Json::String("😀\n".to_owned())));
    }

    #[test]
    fn other_values_are_no_objects() {
        for text in ["[1]", "7", "\"x\"", "null", "true"] {
            assert_eq!(parse_object(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn what_is_no_json() {
        for text in [
            "",
            " ",
            "oops",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,}",
            "{,}",
            "[1,]",
            "{a:1}",
            "{'a':1}",
            "{\"a\": 4,5}",
            "01",
            "1.",
            ".5",
            "+1",
            "-",
            "1e",
            "0x1",
            "\"\t\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"a",
            "{} {}",
            "tru",
            "nul",
            "\u{feff}{}",
            "{\"a\":1}x",
            "Nope",
            "Inf",
        ] {
            assert!(matches!(parse(text), Err(Refusal::Syntax(_))), "{text:?}: {:?}", parse(text));
        }
    }

    #[test]
    fn what_two_readers_would_read_differently() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(&deep(128)).is_ok());
        for text in [
            "{\"a\":1,\"a\":2}",
            "{\"a\":1,\"\\u0061\":2}",
            "{\"b\":[{\"a\":1,\"a\":1}]}",
            "{\"a\":NaN}",
            "[Infinity]",
            "[-Infinity]",
            "{\"a\":1e999}",
            "\"\\ud800\"",
            "\"\\udc00\"",
            "\"\\ud800\\u0041\"",
            "\"\\ud800x\"",
            &deep(129),
            &"[".repeat(100_000),
        ] {
            assert!(matches!(parse(text), Err(Refusal::Unsound(_))), "{text:?}");
        }
    }

    #[test]
    fn a_member_is_replaced_at_its_place() {
        let object = parse_object(r#"{"score": 0.10, "pass": "x", "n": "é\n"}"#).unwrap().unwrap();
        let with = object.with("pass", Json::Boolean(true));
        assert_eq!(with.text(), r#"{"score":0.10,"pass":true,"n":"é\n"}"#);
        assert_eq!(
            with.with("more", Json::Null).text(),
            r#"{"score":0.10,"pass":true,"n":"é\n","more":null}"#
        );
        assert_eq!(Object::empty().with("pass", Json::Boolean(false)).text(), r#"{"pass":false}"#);
    }
}
