//! Looking into a result without giving up its digits: members of raw JSON objects and lists.
//!
//! Unaware of what a result means. Text that is not JSON has no members.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::source::Text;

/// What kind of JSON value a text is, as people call it.
pub(super) fn type_of(raw: &str) -> &'static str {
    match raw.trim_start().bytes().next() {
        Some(b'{') => "object",
        Some(b'[') => "list",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ => "number",
    }
}

/// The member `name` of an object.
pub(super) fn member<'a>(raw: &'a RawValue, name: &str) -> Option<&'a RawValue> {
    struct Find<'n>(&'n str);

    impl<'de> Visitor<'de> for Find<'_> {
        type Value = Option<&'de RawValue>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = None;
            while let Some(key) = map.next_key::<Key<'_>>()? {
                if key.0 == self.0 {
                    found = Some(map.next_value()?);
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(found)
        }
    }

    if type_of(raw.get()) != "object" {
        return None;
    }
    serde_json::Deserializer::from_str(raw.get()).deserialize_map(Find(name)).ok().flatten()
}

/// The member at the end of `path`; the value itself for an empty one.
pub(super) fn at<'a>(raw: &'a RawValue, path: &[Text]) -> Option<&'a RawValue> {
    path.iter().try_fold(raw, |value, name| member(value, name))
}

/// The members of an object, in order.
pub(super) fn members(raw: &RawValue) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    struct All;

    impl<'de> Visitor<'de> for All {
        type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::new();
            while let Some((key, value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                all.push((key.0, value));
            }
            Ok(all)
        }
    }

    if type_of(raw.get()) != "object" {
        return None;
    }
    serde_json::Deserializer::from_str(raw.get()).deserialize_map(All).ok()
}

/// The elements of a list.
pub(super) fn elements(raw: &RawValue) -> Option<Vec<&RawValue>> {
    if type_of(raw.get()) != "list" {
        return None;
    }
    serde_json::from_str(raw.get()).ok()
}

/// The text of a string.
pub(super) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    if type_of(raw.get()) != "string" {
        return None;
    }
    serde_json::from_str::<Key<'_>>(raw.get()).ok().map(|key| key.0)
}

/// A string as JSON text.
pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string can be written")
}

/// A string that is borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn digits_and_escapes_survive() {
        let value = raw(r#"{"a\n":{"b":1.10}, "c":[ 1e5 , "x\"" ]}"#);
        assert_eq!(at(&value, &["a\n".into(), "b".into()]).unwrap().get(), "1.10");
        let list = elements(member(&value, "c").unwrap()).unwrap();
        assert_eq!(list[0].get(), "1e5");
        assert_eq!(string(list[1]).unwrap(), "x\"");
        assert_eq!(members(&value).unwrap().len(), 2);
        assert!(member(&value, "d").is_none());
        assert!(member(&raw("[1]"), "d").is_none());
        assert!(elements(&raw("{}")).is_none());
        assert!(string(&raw("1")).is_none());
    }

    #[test]
    fn every_kind_of_value_has_a_name() {
        for (text, name) in [
            ("{}", "object"),
            ("[]", "list"),
            ("\"\"", "string"),
            ("true", "boolean"),
            ("null", "null"),
            ("-1", "number"),
        ] {
            assert_eq!(type_of(text), name);
        }
    }
}
