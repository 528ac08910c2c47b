//! The tree of one file: shapes only. Which fields a block has, and what they mean, the reference table
//! and `lower` say. A block that did not parse stays as [`Item::Broken`], so that names still resolve.

use crate::reference::Keyword;
use crate::source::{Span, Spanned, Text};

/// A name or a word, with its place.
pub type Ident = Spanned<Text>;

/// One file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ast {
    /// Everything at the top level, in source order.
    pub items: Vec<Item>,
}

/// A declaration, at the top level or inside a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A block with a keyword: header, task, profile, session, group, resolve, continue, verify, question.
    Block(Box<Block>),
    /// `param name: type = default { … }`.
    Param(Box<Param>),
    /// `let name = expression`.
    Let(Box<Let>),
    /// `for x in list { … }`.
    For(Box<For>),
    /// `template name(args) { … }`.
    Template(Box<Template>),
    /// `use name(args)`.
    Use(Use),
    /// `import "path.plan"`.
    Import(Import),
    /// What did not parse. Its error is in the diagnostics already.
    Broken(Broken),
}

/// `KEYWORD name { … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The doc comment above it, its lines without `##` and joined.
    pub doc: Option<Text>,
    /// What kind of block.
    pub keyword: Spanned<Keyword>,
    /// Its name; `continue` has none.
    pub name: Option<Name>,
    /// What is between the braces.
    pub body: Body,
    /// From the keyword to the closing brace.
    pub span: Span,
}

/// How a block is named.
#[derive(Clone, Debug, PartialEq)]
pub enum Name {
    /// `build`.
    Ident(Ident),
    /// `f"build-{lang}"`.
    Template(FString),
    /// `"nightly audit"`, of the header only.
    Text(Spanned<Text>),
}

impl Name {
    /// Where the name stands.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Self::Ident(ident) => ident.span,
            Self::Template(template) => template.span,
            Self::Text(text) => text.span,
        }
    }
}

/// What is between a block's braces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// In source order.
    pub members: Vec<Member>,
    /// With both braces.
    pub span: Span,
}

impl Body {
    /// Whether a member did not parse: what is missing may have stood there, so nothing is said about it.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.members.iter().any(|member| matches!(member, Member::Item(Item::Broken(_))))
    }
}

/// One member of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Member {
    /// `name = value`.
    Field(Field),
    /// A nested declaration.
    Item(Item),
    /// `a -> b -> c if …`.
    Edge(Box<Edge>),
}

/// `name = value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The field.
    pub name: Ident,
    /// Its value.
    pub value: Expr,
}

/// `param name: type = default { … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The doc comment above it.
    pub doc: Option<Text>,
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub ty: TypeExpr,
    /// Its default; without one it is required.
    pub default: Option<Expr>,
    /// `doc`, `pattern`, `min`, `max`.
    pub body: Option<Body>,
    /// The whole declaration.
    pub span: Span,
}

/// `let name = value`.
#[derive(Clone, Debug, PartialEq)]
pub struct Let {
    /// Its name.
    pub name: Ident,
    /// Its value.
    pub value: Expr,
    /// The whole declaration.
    pub span: Span,
}

/// `for x in list { … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// The loop variable.
    pub variable: Ident,
    /// What it runs over.
    pub list: Expr,
    /// What is unrolled.
    pub body: Body,
    /// The whole loop.
    pub span: Span,
}

/// `template name(args) { … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// The doc comment above it.
    pub doc: Option<Text>,
    /// Its name.
    pub name: Ident,
    /// Its arguments, each with a default where it has one.
    pub arguments: Vec<(Ident, Option<Expr>)>,
    /// What a `use` unrolls.
    pub body: Body,
    /// The whole declaration.
    pub span: Span,
}

/// `use name(args)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    /// The template.
    pub template: Ident,
    /// What it gets.
    pub arguments: Vec<Argument>,
    /// The whole item.
    pub span: Span,
}

/// `value` or `name = value`, in a `use` or a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The name, where one is given.
    pub name: Option<Ident>,
    /// The value.
    pub value: Expr,
}

/// `import "path.plan"`.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The path as written.
    pub path: Spanned<Text>,
    /// The whole item.
    pub span: Span,
}

/// Text that did not parse, with what could still be told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// The keyword, if it began with one.
    pub keyword: Option<Spanned<Keyword>>,
    /// The name that it would have declared.
    pub name: Option<Ident>,
    /// All of it.
    pub span: Span,
}

/// `a -> b -> c if … label "…" weight 2 default`.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// Two nodes or more.
    pub nodes: Vec<Ident>,
    /// `if …`.
    pub condition: Option<Expr>,
    /// `label "…"`.
    pub label: Option<Spanned<Text>>,
    /// `weight N`.
    pub weight: Option<Spanned<i64>>,
    /// `default`.
    pub default: Option<Span>,
    /// The whole edge.
    pub span: Span,
}

/// An expression with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it is.
    pub span: Span,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A string, its escapes read and its common indentation gone.
    String(Text),
    /// `f"…"`.
    Format(FString),
    /// `3`, `-0.5`.
    Number(Number),
    /// `1h30m`, in milliseconds.
    Duration(u64),
    /// `true`, `false`.
    Boolean(bool),
    /// `name`, `task.field`, `f"build-{x}".field`.
    Reference(Reference),
    /// `file("a.md")`, `otherwise(route.question)`.
    Call(Ident, Vec<Argument>),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `{ key = value }`; `{}` is an empty map.
    Map(Vec<Entry>),
    /// `{ key: type }`.
    Record(Vec<RecordField>),
    /// `left operator right`.
    Binary(Box<Expr>, Spanned<Operator>, Box<Expr>),
    /// `not x`.
    Not(Box<Expr>),
    /// `(x)`.
    Paren(Box<Expr>),
    /// A value that did not parse; its error is in the diagnostics already.
    Broken,
}

/// A number, with the digits that were written.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// As written, without underscores.
    pub text: Text,
    /// The value.
    pub value: f64,
    /// The value, where it was written as a whole number that fits.
    pub integer: Option<i64>,
}

/// An operator between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `or`
    Or,
    /// `and`
    And,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `in`
    In,
    /// `not in`
    NotIn,
    /// `+`
    Add,
}

/// `head.member.member`.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// What is named first.
    pub head: Head,
    /// The members after it.
    pub path: Vec<Ident>,
}

/// What a reference starts with.
#[derive(Clone, Debug, PartialEq)]
pub enum Head {
    /// A name.
    Ident(Ident),
    /// An unrolled task's name.
    Template(FString),
}

/// An f-string.
#[derive(Clone, Debug, PartialEq)]
pub struct FString {
    /// Text and expressions in turn.
    pub parts: Vec<FPart>,
    /// With its quotes.
    pub span: Span,
}

/// One part of an f-string.
#[derive(Clone, Debug, PartialEq)]
pub enum FPart {
    /// Text, its escapes and doubled braces read.
    Text(Text),
    /// `{expression}`.
    Expr(Expr),
}

/// `key = value` in a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: Ident,
    /// Its value.
    pub value: Expr,
}

/// `key?: type` in a record.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordField {
    /// The field.
    pub key: Ident,
    /// Whether `?` says that it may be absent.
    pub optional: bool,
    /// Its type.
    pub ty: TypeExpr,
}

/// A type with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeKind,
    /// Where it is.
    pub span: Span,
}

/// What a type is. Names are read in `lower`.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `string`, `integer`, ….
    Name(Text),
    /// `"low"`.
    Literal(Text),
    /// `[T]`.
    List(Box<TypeExpr>),
    /// `{ id: string }`.
    Record(Vec<RecordField>),
    /// `schema("file.json")`.
    Call(Ident, Vec<Argument>),
    /// `A | B`.
    Union(Vec<TypeExpr>),
    /// A type that did not parse.
    Broken,
}

/// A comment, kept beside the tree for the formatter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// From its `#` to before the line end.
    pub span: Span,
    /// Whether it is `##`.
    pub doc: bool,
    /// Whether nothing but blanks stands before it on its line.
    pub own_line: bool,
}
