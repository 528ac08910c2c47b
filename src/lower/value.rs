//! Values while a plan is compiled: [`Val`], which knows where it stands and which parameter it came from.
//!
//! Unaware of names and files: `eval` makes these, `fields` reads them.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::ir::kind::PromptPart;
use crate::ir::types::Schema;
use crate::ir::{self, Millis, ParamId, ParamType};
use crate::source::{Span, Text};

/// A value, where it stands, and the parameter that it came from.
#[derive(Clone, Debug)]
pub(crate) struct Val {
    pub data: Data,
    pub span: Span,
    /// The parameter, for a value that is external (LANGUAGE §3). A list or a map that holds external
    /// values is external as a whole.
    pub taint: Option<ParamId>,
    /// Whether it is the parameter's value itself, not one made from it.
    pub whole: bool,
    /// How large it is, all that it holds included.
    pub weight: Weight,
}

/// How large a value is. Values share what they hold, so that a few lines can name one that no walk ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    /// Values in it, at every depth, itself included.
    pub values: u32,
    /// Bytes of its strings.
    pub bytes: u32,
    /// How deep its lists and maps nest.
    pub depth: u32,
    /// Whether it has a hole in it.
    pub broken: bool,
}

impl Weight {
    fn of(data: &Data) -> Self {
        let text = |text: &str| u32::try_from(text.len()).unwrap_or(u32::MAX);
        let mut weight = Self { values: 1, ..Self::default() };
        match data {
            Data::Text(value) | Data::Number(_, value) | Data::Pack(value) => weight.bytes = text(value),
            Data::Parts(parts) => {
                let bytes = parts.iter().map(length).fold(0, usize::saturating_add);
                weight.bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            }
            Data::List(list) => list.iter().for_each(|item| weight.hold(item.weight)),
            Data::Map(map) => {
                for (key, value) in map.iter() {
                    weight.bytes = weight.bytes.saturating_add(text(key));
                    weight.hold(value.weight);
                }
            }
            Data::Integer(_) | Data::Boolean(_) | Data::Duration(_) | Data::Schema(_) | Data::Unknown(_) => {}
            Data::Hole => weight.broken = true,
        }
        weight
    }

    fn hold(&mut self, inner: Self) {
        self.values = self.values.saturating_add(inner.values);
        self.bytes = self.bytes.saturating_add(inner.bytes);
        self.depth = self.depth.max(inner.depth.saturating_add(1));
        self.broken |= inner.broken;
    }
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Text(Text),
    /// A string in parts: long texts that are shared, and external ones that a prompt fences.
    Parts(Rc<[PromptPart]>),
    Integer(i64),
    Number(f64, Text),
    Boolean(bool),
    Duration(Millis),
    List(Rc<[Val]>),
    Map(Rc<[(Text, Val)]>),
    /// `schema("file.json")`.
    Schema(Schema),
    /// `pack("scan.sh")`, relative to the pack's root.
    Pack(Text),
    /// What a required parameter will be, if that is no string; a check has no value for it.
    Unknown(ParamType),
    /// A value that could not be read; its error is in the diagnostics.
    Hole,
}

impl Val {
    pub(super) fn new(data: Data, span: Span) -> Self {
        Self::from(data, span, None)
    }

    /// A value made from others, of which `taint` came from outside.
    pub(super) fn from(data: Data, span: Span, taint: Option<ParamId>) -> Self {
        Self { weight: Weight::of(&data), data, span, taint, whole: false }
    }

    pub(super) fn hole(span: Span) -> Self {
        Self::new(Data::Hole, span)
    }

    /// The value of a parameter, as the program or its default gave it.
    pub(super) fn external(value: ir::Value, param: ParamId, name: &Text, span: Span) -> Self {
        let data = match value {
            ir::Value::String(text) => {
                let part = PromptPart::External { param: name.clone(), value: Some(text) };
                Data::Parts(Rc::new([part]))
            }
            ir::Value::Integer(value) => Data::Integer(value),
            ir::Value::Number(value, text) => Data::Number(value, text),
            ir::Value::Boolean(value) => Data::Boolean(value),
            ir::Value::Duration(value) => Data::Duration(value),
            ir::Value::List(list) => {
                Data::List(list.into_iter().map(|item| Self::external(item, param, name, span)).collect())
            }
            ir::Value::Map(map) => {
                let entry = |(key, value)| (key, Self::external(value, param, name, span));
                Data::Map(map.into_iter().map(entry).collect())
            }
        };
        Self { whole: true, ..Self::from(data, span, Some(param)) }
    }

    /// The value of a parameter that has none yet.
    pub(super) fn unknown(ty: ParamType, param: ParamId, name: &Text, span: Span) -> Self {
        let data = match ty {
            ParamType::String | ParamType::Union(_) => {
                Data::Parts(Rc::new([PromptPart::External { param: name.clone(), value: None }]))
            }
            ParamType::Integer | ParamType::Number | ParamType::Boolean | ParamType::Strings => {
                Data::Unknown(ty)
            }
        };
        Self { whole: true, ..Self::from(data, span, Some(param)) }
    }

    /// What it is, with its article, for messages.
    pub(super) fn describe(&self) -> &'static str {
        match &self.data {
            Data::Text(_) | Data::Parts(_) => "a string",
            Data::Integer(_) => "an integer",
            Data::Number(..) => "a number",
            Data::Boolean(_) => "a boolean",
            Data::Duration(_) => "a duration",
            Data::List(_) => "a list",
            Data::Map(_) => "a map",
            Data::Schema(_) => "a schema",
            Data::Pack(_) => "a file of the pack",
            Data::Unknown(ty) => match ty {
                ParamType::String | ParamType::Union(_) => "a string",
                ParamType::Integer => "an integer",
                ParamType::Number => "a number",
                ParamType::Boolean => "a boolean",
                ParamType::Strings => "a list",
            },
            Data::Hole => "nothing",
        }
    }

    pub(super) fn is_hole(&self) -> bool {
        matches!(self.data, Data::Hole)
    }

    /// Whether it is a string that this check has no value for, in part or as a whole.
    pub(super) fn is_unknown(&self) -> bool {
        match &self.data {
            Data::Unknown(_) => true,
            Data::Parts(parts) => {
                parts.iter().any(|part| matches!(part, PromptPart::External { value: None, .. }))
            }
            Data::Text(_)
            | Data::Integer(_)
            | Data::Number(..)
            | Data::Boolean(_)
            | Data::Duration(_)
            | Data::List(_)
            | Data::Map(_)
            | Data::Schema(_)
            | Data::Pack(_)
            | Data::Hole => false,
        }
    }

    /// The string that it is; for one that is unknown, the parameters' names in angle brackets.
    pub(super) fn text(&self) -> Option<Text> {
        match &self.data {
            Data::Text(text) => Some(text.clone()),
            Data::Parts(parts) => Some(flat(parts)),
            Data::Unknown(_)
            | Data::Integer(_)
            | Data::Number(..)
            | Data::Boolean(_)
            | Data::Duration(_)
            | Data::List(_)
            | Data::Map(_)
            | Data::Schema(_)
            | Data::Pack(_)
            | Data::Hole => None,
        }
    }

    /// The value as plain data; none where it has a hole, is unknown, or is no plain value.
    pub(super) fn plain(&self) -> Option<ir::Value> {
        if self.is_unknown() {
            return None;
        }
        Some(match &self.data {
            Data::Text(_) | Data::Parts(_) => ir::Value::String(self.text()?),
            Data::Integer(value) => ir::Value::Integer(*value),
            Data::Number(value, text) => ir::Value::Number(*value, text.clone()),
            Data::Boolean(value) => ir::Value::Boolean(*value),
            Data::Duration(value) => ir::Value::Duration(*value),
            Data::List(list) => ir::Value::List(list.iter().map(Self::plain).collect::<Option<_>>()?),
            Data::Map(map) => {
                let entry = |(key, value): &(Text, Self)| Some((key.clone(), value.plain()?));
                ir::Value::Map(map.iter().map(entry).collect::<Option<IndexMap<_, _>>>()?)
            }
            Data::Schema(_) | Data::Pack(_) | Data::Unknown(_) | Data::Hole => return None,
        })
    }

    /// The type that it has where its value is unknown.
    pub(super) fn unknown_type(&self) -> ParamType {
        match &self.data {
            Data::Unknown(ty) => ty.clone(),
            Data::Integer(_) => ParamType::Integer,
            Data::Number(..) => ParamType::Number,
            Data::Boolean(_) => ParamType::Boolean,
            Data::List(_) => ParamType::Strings,
            Data::Text(_)
            | Data::Parts(_)
            | Data::Duration(_)
            | Data::Map(_)
            | Data::Schema(_)
            | Data::Pack(_)
            | Data::Hole => ParamType::String,
        }
    }

    /// The value as the language writes it, cut short, for messages and traces.
    pub(super) fn show(&self) -> String {
        let mut text = String::new();
        self.show_in(&mut text);
        if text.chars().count() > SHOWN {
            text = text.chars().take(SHOWN - 1).chain(['…']).collect();
        }
        text
    }

    /// Writes no more than what is shown, however large the value is.
    fn show_in(&self, out: &mut String) {
        let full = |out: &String| out.chars().count() > SHOWN;
        match &self.data {
            Data::Text(text) => quote(text, out),
            Data::Parts(parts) => {
                let mut some = String::new();
                for part in parts.iter() {
                    match part {
                        PromptPart::Text(text) => some.extend(text.chars().take(SHOWN)),
                        PromptPart::External { .. } => some.push_str(&flat(std::slice::from_ref(part))),
                    }
                    if some.len() > 4 * SHOWN {
                        break;
                    }
                }
                quote(&some, out);
            }
            Data::Integer(value) => out.push_str(&value.to_string()),
            Data::Number(_, text) => out.push_str(text),
            Data::Boolean(value) => out.push_str(&value.to_string()),
            Data::Duration(value) => out.push_str(&value.to_string()),
            Data::List(list) => {
                out.push('[');
                for (at, item) in list.iter().enumerate().take(8) {
                    if full(out) {
                        return;
                    }
                    out.push_str(if at == 0 { "" } else { ", " });
                    item.show_in(out);
                }
                out.push(']');
            }
            Data::Map(map) => {
                out.push_str("{ ");
                for (at, (key, value)) in map.iter().enumerate().take(8) {
                    if full(out) {
                        return;
                    }
                    out.push_str(if at == 0 { "" } else { ", " });
                    out.push_str(key);
                    out.push_str(" = ");
                    value.show_in(out);
                }
                out.push_str(" }");
            }
            Data::Schema(schema) => out.push_str(&format!("schema({:?})", schema.path.as_str())),
            Data::Pack(path) => out.push_str(&format!("pack({path:?})")),
            Data::Unknown(_) | Data::Hole => out.push('…'),
        }
    }
}

/// How many characters of a value are shown.
const SHOWN: usize = 40;

/// A quoted string of which no more is read than what is shown.
fn quote(text: &str, out: &mut String) {
    let some: String = text.chars().take(SHOWN).collect();
    out.push_str(&format!("{some:?}"));
}

/// A string that is built from pieces. Stays one plain text until a piece is external, or is shared.
#[derive(Default)]
pub(super) struct Builder {
    text: String,
    parts: Vec<PromptPart>,
    taint: Option<ParamId>,
    size: usize,
}

impl Builder {
    pub(super) fn push_str(&mut self, text: &str) {
        self.size += text.len();
        self.text.push_str(text);
    }

    /// Adds a string, a number or a boolean. `false` for anything else.
    pub(super) fn push(&mut self, value: &Val, name: impl Fn(ParamId) -> Text) -> bool {
        self.taint = self.taint.or(value.taint);
        if let Data::Parts(parts) = &value.data {
            self.flush();
            self.size += parts.iter().map(length).sum::<usize>();
            self.parts.extend_from_slice(parts);
            return true;
        }
        let text: Text = match &value.data {
            Data::Text(text) => text.clone(),
            Data::Integer(value) => compact_str::format_compact!("{value}"),
            Data::Number(_, text) => text.clone(),
            Data::Boolean(value) => compact_str::format_compact!("{value}"),
            Data::Unknown(ParamType::Strings) => return false,
            Data::Unknown(_) => Text::const_new(""),
            Data::Parts(_)
            | Data::Duration(_)
            | Data::List(_)
            | Data::Map(_)
            | Data::Schema(_)
            | Data::Pack(_)
            | Data::Hole => return false,
        };
        match value.taint {
            None => self.push_str(&text),
            Some(param) => {
                self.flush();
                self.size += text.len();
                let known = !matches!(value.data, Data::Unknown(_));
                self.parts.push(PromptPart::External { param: name(param), value: known.then_some(text) });
            }
        }
        true
    }

    /// How many bytes it has.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn finish(mut self, span: Span) -> Val {
        let data = if self.parts.is_empty() {
            Data::Text(self.text.into())
        } else {
            self.flush();
            Data::Parts(self.parts.into())
        };
        Val::from(data, span, self.taint)
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.parts.push(PromptPart::Text(Arc::from(std::mem::take(&mut self.text))));
        }
    }
}

fn length(part: &PromptPart) -> usize {
    match part {
        PromptPart::Text(text) => text.len(),
        PromptPart::External { value, .. } => value.as_ref().map_or(0, |text| text.len()),
    }
}

fn flat(parts: &[PromptPart]) -> Text {
    let mut text = Text::with_capacity(parts.iter().map(length).sum());
    for part in parts {
        match part {
            PromptPart::Text(part) => text.push_str(part),
            PromptPart::External { value: Some(value), .. } => text.push_str(value),
            PromptPart::External { param, value: None } => {
                text.push('<');
                text.push_str(param);
                text.push('>');
            }
        }
    }
    text
}
