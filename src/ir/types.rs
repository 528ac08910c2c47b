//! Types of results: what `emits` promises (LANGUAGE §10).

use std::sync::Arc;

use crate::source::{Span, Spanned, Text};

/// What a passing result must carry.
#[derive(Clone, Debug, PartialEq)]
pub enum Emits {
    /// Presence only.
    Names(Vec<Spanned<Text>>),
    /// Names with types.
    Record(Vec<Field>),
    /// The whole result keeps a schema: `emits = schema("result.json")`.
    Schema(Schema),
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: Spanned<Text>,
    /// Whether it may be absent.
    pub optional: bool,
    /// Its type.
    pub ty: Type,
    /// Where the type is written.
    pub span: Span,
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// `string`.
    String,
    /// `integer`.
    Integer,
    /// `number`.
    Number,
    /// `boolean`.
    Boolean,
    /// `list` (no element type), or `[T]`.
    List(Option<Box<Type>>),
    /// `object`.
    Object,
    /// `{ id: string, why?: string }`.
    Record(Vec<Field>),
    /// `"low" | "high"`; one literal alone included.
    Union(Vec<Text>),
    /// Any of several types that are not all literals.
    Any(Vec<Type>),
    /// `schema("file.json")`.
    Schema(Schema),
}

/// A JSON Schema file of the pack, read at compile time.
#[derive(Clone, Debug)]
pub struct Schema {
    /// As written.
    pub path: Text,
    /// Its content.
    pub text: Arc<str>,
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Emits {
    /// The type that is promised for `field`: `Some(None)` where only presence is, or the schema says.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Option<&Field>> {
        match self {
            Self::Names(names) => names.iter().any(|n| n.value == name).then_some(None),
            Self::Record(fields) => fields.iter().find(|f| f.name.value == name).map(Some),
            Self::Schema(_) => Some(None),
        }
    }
}
