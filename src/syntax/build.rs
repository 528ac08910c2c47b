//! What the grammar found, to the tree. Everything here was matched already; what a rule of the grammar
//! could not say, such as that a map is no record, is reported here.

use std::iter::Peekable;

use pest::iterators::{Pair, Pairs};

use crate::diag::{Code, Diagnostic, Severity};
use crate::reference::Keyword;
use crate::source::{Span, Spanned, Text};

use super::ast::{
    Argument, Block, Body, Comment, Edge, Entry, Expr, ExprKind, FPart, FString, Field, For, Head, Ident,
    Import, Item, Let, Member, Name, Operator, Param, RecordField, Reference, Template, TypeExpr, TypeKind,
    Use,
};
use super::parser::Rule;
use super::tokens::{Doc, Tokens, is_word, kind};
use super::{numbers, strings};

pub(super) static MAP_OR_RECORD: Code = Code {
    id: "plan::syntax::map_or_record",
    severity: Severity::Error,
    summary: "`=` and `:` between one pair of braces",
    explain: "A map gives values, `{ key = value }`; a record gives types, `{ key: type }`, and a field of it \
              may be optional, `{ key?: type }`. Braces hold one or the other.",
};

pub(super) static CHAINED_COMPARISON: Code = Code {
    id: "plan::syntax::chained_comparison",
    severity: Severity::Error,
    summary: "A comparison with more than two sides",
    explain: "A comparison has two sides. `a < b < c` is written `a < b and b < c`.",
};

pub(super) static EDGE_CLAUSE: Code = Code {
    id: "plan::syntax::edge_clause",
    severity: Severity::Error,
    summary: "An edge that says something twice, or `default` with a condition",
    explain: "An edge of a machine takes `if condition`, `label \"…\"`, `weight N` and `default`, each once. \
              `default` is for when no condition holds, so it has none itself.",
};

pub(super) static WEIGHT: Code = Code {
    id: "plan::syntax::weight",
    severity: Severity::Error,
    summary: "The weight of an edge that is no whole number",
    explain: "The weight of an edge is a whole number such as `2` or `-1`; an edge without one weighs 0.",
};

/// Turns the pairs of one match into the tree. `base` is the first token of what was matched.
pub(super) struct Builder<'a> {
    pub text: &'a str,
    pub tokens: &'a Tokens,
    pub comments: &'a [Comment],
    pub docs: &'a [Doc],
    pub broken: &'a [u32],
    pub findings: Vec<Diagnostic>,
    pub base: usize,
}

/// What a `{ … }` holds, one by one.
pub(super) enum Braced {
    Entry(Entry),
    Field(RecordField),
}

type P<'t> = Pair<'t, Rule>;

/// The arguments that a template takes, each with its default.
type Parameters = Vec<(Ident, Option<Expr>)>;

/// The operands and operators of one value.
type Operands<'t> = Peekable<Pairs<'t, Rule>>;

impl<'a> Builder<'a> {
    fn first(&self, pair: &P<'_>) -> usize {
        self.base + pair.as_span().start()
    }

    fn span_of(&self, pair: &P<'_>) -> Span {
        let span = pair.as_span();
        self.range(self.base + span.start(), self.base + span.end())
    }

    /// From the first of some tokens to the last.
    pub(super) fn range(&self, start: usize, end: usize) -> Span {
        self.tokens.span(start).to(self.tokens.span(end.max(start + 1) - 1))
    }

    /// The text of a token.
    pub(super) fn written(&self, token: usize) -> &'a str {
        self.text.get(self.tokens.span(token).range()).unwrap_or_default()
    }

    pub(super) fn is_broken(&self, token: usize) -> bool {
        !self.broken.is_empty() && self.broken.binary_search(&super::lexer::offset(token)).is_ok()
    }

    pub(super) fn ident(&self, token: usize) -> Ident {
        Spanned::new(self.written(token).into(), self.tokens.span(token))
    }

    pub(super) fn keyword(&self, token: usize) -> Option<Spanned<Keyword>> {
        Keyword::parse(self.written(token)).map(|keyword| Spanned::new(keyword, self.tokens.span(token)))
    }

    /// A name, or a string that stands for one.
    fn text(&self, token: usize) -> Spanned<Text> {
        let written = self.written(token);
        let value =
            if self.tokens.kind(token) == kind::STRING { strings::meaning(written) } else { written.into() };
        Spanned::new(value, self.tokens.span(token))
    }

    /// The doc comment above a token.
    pub(super) fn doc(&self, token: usize) -> Option<Text> {
        if self.docs.is_empty() {
            return None;
        }
        let token = super::lexer::offset(token);
        let found = self.docs.binary_search_by_key(&token, |doc| doc.token).ok()?;
        let doc = self.docs[found];
        let lines = self.comments[doc.first as usize..=doc.last as usize].iter().map(|comment| {
            let line = self.text.get(comment.span.range()).unwrap_or_default();
            let line = line.strip_prefix("##").unwrap_or(line);
            line.strip_prefix(' ').unwrap_or(line).trim_end()
        });
        Some(lines.collect::<Vec<_>>().join("\n").into())
    }

    // ---- Declarations -----------------------------------------------------------------------------

    /// A whole item, of whichever sort.
    pub(super) fn member(&mut self, pair: P<'_>) -> Option<Member> {
        match pair.as_rule() {
            Rule::field => self.field(pair).map(Member::Field),
            Rule::edge => Some(Member::Edge(Box::new(self.edge(pair)))),
            _ => self.item(pair).map(Member::Item),
        }
    }

    fn item(&mut self, pair: P<'_>) -> Option<Item> {
        match pair.as_rule() {
            Rule::block => self.block(pair).map(Box::new).map(Item::Block),
            Rule::param => self.param(pair).map(Box::new).map(Item::Param),
            Rule::constant => self.constant(pair).map(Box::new).map(Item::Let),
            Rule::unroll => self.unroll(pair).map(Box::new).map(Item::For),
            Rule::template => self.template(pair).map(Box::new).map(Item::Template),
            Rule::apply => Some(Item::Use(self.apply(pair))),
            Rule::import => Some(self.import(&pair)),
            _ => None,
        }
    }

    fn block(&mut self, pair: P<'_>) -> Option<Block> {
        let (at, span) = (self.first(&pair), self.span_of(&pair));
        let keyword = self.keyword(at)?;
        let mut inner = pair.into_inner();
        let name = self.block_name(&mut inner);
        let body = self.body(&mut inner, span);
        Some(Block { doc: self.doc(at), keyword, name, body, span })
    }

    /// The name of a block, if `inner` begins with one.
    pub(super) fn block_name(&mut self, inner: &mut Pairs<'_, Rule>) -> Option<Name> {
        let pair = inner.peek()?;
        let at = self.first(&pair);
        let name = match pair.as_rule() {
            Rule::title => Name::Text(self.text(at)),
            Rule::name => Name::Ident(self.ident(at)),
            Rule::format => Name::Template(self.format(pair).0),
            _ => return None,
        };
        inner.next();
        Some(name)
    }

    /// The rest of `inner`, from the opening brace to the end of `whole`.
    fn body(&mut self, inner: &mut Pairs<'_, Rule>, whole: Span) -> Body {
        let mut body = Body::default();
        for pair in inner {
            match pair.as_rule() {
                Rule::open => body.span = self.tokens.span(self.first(&pair)).to(whole),
                _ => body.members.extend(self.member(pair)),
            }
        }
        body
    }

    fn field(&mut self, pair: P<'_>) -> Option<Field> {
        let name = self.ident(self.first(&pair));
        let value = pair.into_inner().nth(1)?;
        Some(Field { name, value: self.value(value) })
    }

    fn param(&mut self, pair: P<'_>) -> Option<Param> {
        let (at, span) = (self.first(&pair), self.span_of(&pair));
        let mut inner = pair.into_inner();
        let name = self.ident(self.first(&inner.next()?));
        let ty = self.type_of(inner.nth(1)?);
        let mut default = None;
        if inner.peek().is_some_and(|pair| pair.as_rule() == Rule::assign) {
            default = inner.nth(1).map(|value| self.value(value));
        }
        let body = inner.peek().is_some().then(|| self.body(&mut inner, span));
        Some(Param { doc: self.doc(at), name, ty, default, body, span })
    }

    fn constant(&mut self, pair: P<'_>) -> Option<Let> {
        let span = self.span_of(&pair);
        let mut inner = pair.into_inner();
        let name = self.ident(self.first(&inner.next()?));
        let value = self.value(inner.nth(1)?);
        Some(Let { name, value, span })
    }

    fn unroll(&mut self, pair: P<'_>) -> Option<For> {
        let span = self.span_of(&pair);
        let mut inner = pair.into_inner();
        let (variable, list) = self.unroll_head(&mut inner)?;
        Some(For { variable, list, body: self.body(&mut inner, span), span })
    }

    /// The variable and the list of a loop.
    pub(super) fn unroll_head(&mut self, inner: &mut Pairs<'_, Rule>) -> Option<(Ident, Expr)> {
        let variable = self.ident(self.first(&inner.next()?));
        let list = self.value(inner.nth(1)?);
        Some((variable, list))
    }

    fn template(&mut self, pair: P<'_>) -> Option<Template> {
        let (at, span) = (self.first(&pair), self.span_of(&pair));
        let mut inner = pair.into_inner();
        let (name, arguments) = self.template_head(&mut inner)?;
        Some(Template { doc: self.doc(at), name, arguments, body: self.body(&mut inner, span), span })
    }

    /// The name and the arguments of a template.
    pub(super) fn template_head(&mut self, inner: &mut Pairs<'_, Rule>) -> Option<(Ident, Parameters)> {
        let name = self.ident(self.first(&inner.next()?));
        let mut arguments = Vec::new();
        for pair in inner {
            match pair.as_rule() {
                Rule::close_paren => break,
                Rule::parameter => {
                    let name = self.ident(self.first(&pair));
                    let default = pair.into_inner().nth(2).map(|value| self.value(value));
                    arguments.push((name, default));
                }
                _ => {}
            }
        }
        Some((name, arguments))
    }

    fn apply(&mut self, pair: P<'_>) -> Use {
        let (at, span) = (self.first(&pair), self.span_of(&pair));
        let mut inner = pair.into_inner();
        inner.next();
        Use { template: self.ident(at + 1), arguments: self.arguments(inner), span }
    }

    fn import(&mut self, pair: &P<'_>) -> Item {
        let (at, span) = (self.first(pair), self.span_of(pair));
        if self.is_broken(at + 1) {
            return Item::Broken(super::ast::Broken { keyword: self.keyword(at), name: None, span });
        }
        Item::Import(Import { path: self.text(at + 1), span })
    }

    fn edge(&mut self, pair: P<'_>) -> Edge {
        let span = self.span_of(&pair);
        let nodes = vec![self.ident(self.first(&pair))];
        let mut edge = Edge { nodes, condition: None, label: None, weight: None, default: None, span };
        for pair in pair.into_inner() {
            let (at, here) = (self.first(&pair), self.span_of(&pair));
            let word = self.tokens.span(at);
            let twice = match pair.as_rule() {
                Rule::name => {
                    edge.nodes.push(self.ident(at));
                    false
                }
                Rule::condition => {
                    let value = pair.into_inner().next().map(|value| self.value(value));
                    std::mem::replace(&mut edge.condition, value).is_some()
                }
                Rule::label => {
                    let label = self.text(at + 1);
                    let label = (!self.is_broken(at + 1)).then_some(label);
                    std::mem::replace(&mut edge.label, label).is_some()
                }
                Rule::weight => {
                    let weight = self.weight(at + 1);
                    edge.weight.replace(weight).is_some()
                }
                Rule::default => edge.default.replace(here).is_some(),
                _ => false,
            };
            if twice {
                let clause = self.written(at);
                self.findings.push(
                    EDGE_CLAUSE
                        .at(word, format!("`{clause}` stands twice on one edge"))
                        .help("keep one of them"),
                );
            }
        }
        if let (Some(condition), Some(default)) = (&edge.condition, edge.default) {
            self.findings.push(
                EDGE_CLAUSE
                    .at(default, "a `default` edge has no condition")
                    .label("taken when no condition holds")
                    .related(condition.span, "the condition")
                    .help("remove one of them"),
            );
        }
        edge
    }

    /// What an edge weighs; one that is wrong is said to be, and weighs nothing.
    fn weight(&mut self, token: usize) -> Spanned<i64> {
        let span = self.tokens.span(token);
        let integer = numbers::number(self.written(token)).and_then(|number| number.integer);
        if integer.is_none() && !self.is_broken(token) {
            let all = self.written(token);
            let written = super::stray::cut(all, 30);
            let whole = all.bytes().all(|b| b.is_ascii_digit() || b == b'-' || b == b'_');
            self.findings.push(WEIGHT.at(
                span,
                match whole {
                    true => format!("`{written}` is too large for a weight"),
                    false => format!("a weight is a whole number, not `{written}`"),
                },
            ));
        }
        Spanned::new(integer.unwrap_or_default(), span)
    }

    // ---- Expressions ------------------------------------------------------------------------------

    /// A value.
    pub(super) fn value(&mut self, pair: P<'_>) -> Expr {
        let first = self.first(&pair);
        let not = (self.tokens.kind(first) == kind::NOT).then_some(first);
        let mut inner = pair.into_inner().peekable();
        let first = self.all(&mut inner, not);
        self.chain(&mut inner, first, kind::OR, Operator::Or, Self::all)
    }

    fn all(&mut self, inner: &mut Operands<'_>, not: Option<usize>) -> Expr {
        let first = self.clause(inner, not);
        self.chain(inner, first, kind::AND, Operator::And, Self::clause)
    }

    /// A comparison, behind the token `not` if there is one.
    fn clause(&mut self, inner: &mut Operands<'_>, not: Option<usize>) -> Expr {
        let clause = self.comparison(inner);
        match not {
            None => clause,
            Some(not) => {
                let span = self.tokens.span(not).to(clause.span);
                Expr { span, kind: ExprKind::Not(Box::new(clause)) }
            }
        }
    }

    fn comparison(&mut self, inner: &mut Operands<'_>) -> Expr {
        let left = self.sum(inner);
        let Some((operator, span)) = self.compares(inner) else { return left };
        let right = self.sum(inner);
        let mut chained = false;
        while let Some((_, span)) = self.compares(inner) {
            if !chained {
                self.findings.push(
                    CHAINED_COMPARISON
                        .at(span, "a comparison has two sides")
                        .label("a third one")
                        .help("write `a < b and b < c`"),
                );
            }
            chained = true;
            self.sum(inner);
        }
        if chained {
            return Expr { kind: ExprKind::Broken, span: left.span.to(right.span) };
        }
        binary(left, Spanned::new(operator, span), right)
    }

    /// The operator of a comparison, if one comes next.
    fn compares(&mut self, inner: &mut Operands<'_>) -> Option<(Operator, Span)> {
        let pair = inner.peek()?;
        let at = self.first(pair);
        let operator = match self.tokens.kind(at) {
            kind::IN => Operator::In,
            kind::NOT => Operator::NotIn,
            kind::COMPARE => match self.written(at) {
                "==" => Operator::Equal,
                "!=" => Operator::NotEqual,
                "<" => Operator::Less,
                "<=" => Operator::LessEqual,
                ">" => Operator::Greater,
                _ => Operator::GreaterEqual,
            },
            _ => return None,
        };
        let span = self.span_of(pair);
        inner.next();
        Some((operator, span))
    }

    fn sum(&mut self, inner: &mut Operands<'_>) -> Expr {
        let first = self.operand(inner, None);
        self.chain(inner, first, kind::PLUS, Operator::Add, Self::operand)
    }

    /// `first` and what one operator joins to it. It groups as well one way as another: the tree is balanced,
    /// so that no text makes it deep.
    fn chain<'t>(
        &mut self,
        inner: &mut Operands<'t>,
        first: Expr,
        kind: u8,
        operator: Operator,
        operand: impl Fn(&mut Self, &mut Operands<'t>, Option<usize>) -> Expr,
    ) -> Expr {
        let mut rest = Vec::new();
        while let Some(pair) = inner.peek() {
            let at = self.first(pair);
            if self.tokens.kind(at) != kind {
                break;
            }
            let not = (pair.as_span().end() - pair.as_span().start() > 1).then_some(at + 1);
            inner.next();
            rest.push((Spanned::new(operator, self.tokens.span(at)), operand(self, inner, not)));
        }
        let count = rest.len();
        if count == 0 { first } else { balanced(first, &mut rest.into_iter(), count) }
    }

    fn operand(&mut self, inner: &mut Operands<'_>, _: Option<usize>) -> Expr {
        let Some(pair) = inner.next() else {
            return Expr { kind: ExprKind::Broken, span: self.range(self.base, self.base) };
        };
        let span = self.span_of(&pair);
        let kind = match pair.as_rule() {
            Rule::atom if is_word(self.tokens.kind(self.first(&pair))) => self.term(pair),
            Rule::atom => self.scalar(self.first(&pair)),
            Rule::list => {
                let values = pair.into_inner().filter(|pair| pair.as_rule() == Rule::value);
                ExprKind::List(values.map(|pair| self.value(pair)).collect())
            }
            Rule::braces => {
                let mut entries = Vec::new();
                for pair in pair.into_inner().filter(|pair| pair.as_rule() == Rule::entry) {
                    entries.extend(self.entry(pair));
                }
                self.braces(entries)
            }
            Rule::group => match pair.into_inner().next() {
                Some(value) => ExprKind::Paren(Box::new(self.value(value))),
                None => ExprKind::Broken,
            },
            Rule::format => {
                let broken = self.is_broken(self.first(&pair));
                match self.format(pair) {
                    _ if broken => ExprKind::Broken,
                    (format, path) if path.is_empty() => ExprKind::Format(format),
                    (format, path) => ExprKind::Reference(Reference { head: Head::Template(format), path }),
                }
            }
            _ => ExprKind::Broken,
        };
        Expr { kind, span }
    }

    fn scalar(&self, token: usize) -> ExprKind {
        if self.is_broken(token) {
            return ExprKind::Broken;
        }
        let written = self.written(token);
        let read = match self.tokens.kind(token) {
            kind::STRING => Some(ExprKind::String(strings::meaning(written))),
            kind::NUMBER => numbers::number(written).map(ExprKind::Number),
            kind::DURATION => numbers::duration(written).map(ExprKind::Duration),
            _ => Some(ExprKind::Boolean(written == "true")),
        };
        read.unwrap_or(ExprKind::Broken)
    }

    fn term(&mut self, pair: P<'_>) -> ExprKind {
        let head = self.ident(self.first(&pair));
        let inner = pair.into_inner();
        match inner.peek().map(|pair| pair.as_rule()) {
            Some(Rule::argument | Rule::close_paren) => ExprKind::Call(head, self.arguments(inner)),
            _ => {
                let path = inner.map(|pair| self.ident(self.first(&pair))).collect();
                ExprKind::Reference(Reference { head: Head::Ident(head), path })
            }
        }
    }

    fn arguments(&mut self, inner: Pairs<'_, Rule>) -> Vec<Argument> {
        let mut arguments = Vec::new();
        for pair in inner.filter(|pair| pair.as_rule() == Rule::argument) {
            let at = self.first(&pair);
            let named = self.tokens.kind(at) == kind::FIELD && self.tokens.kind(at + 1) == kind::ASSIGN;
            let name = named.then(|| self.ident(at));
            if let Some(value) = pair.into_inner().next() {
                arguments.push(Argument { name, value: self.value(value) });
            }
        }
        arguments
    }

    /// An f-string, and the members behind it.
    fn format(&mut self, pair: P<'_>) -> (FString, Vec<Ident>) {
        let first = self.first(&pair);
        let mut last = first;
        let mut parts = Vec::new();
        let mut path = Vec::new();
        let mut chunks = Vec::new();
        for pair in pair.into_inner() {
            let at = self.first(&pair);
            match pair.as_rule() {
                Rule::chunk => {
                    chunks.push((parts.len(), at));
                    parts.push(FPart::Text(Text::default()));
                    last = at;
                }
                Rule::hole => {
                    last = self.base + pair.as_span().end() - 1;
                    let value = pair.into_inner().next().map(|value| self.value(value));
                    parts.extend(value.map(FPart::Expr));
                }
                Rule::name => path.push(self.ident(at)),
                _ => {}
            }
        }
        let span = self.tokens.span(first).to(self.tokens.span(last + 1));
        let mut texts = strings::FormatText::new(self.text.get(span.range()).unwrap_or_default());
        for (part, at) in chunks {
            parts[part] = FPart::Text(texts.meaning(self.written(at), part == 0));
        }
        parts.retain(|part| !matches!(part, FPart::Text(text) if text.is_empty()));
        if self.is_broken(first) {
            parts = vec![FPart::Expr(Expr { kind: ExprKind::Broken, span })];
        }
        (FString { parts, span }, path)
    }

    /// An entry of a map, or a field of a record.
    pub(super) fn entry(&mut self, pair: P<'_>) -> Option<Braced> {
        let key = self.text(self.first(&pair));
        let mut inner = pair.into_inner();
        let next = inner.next()?;
        let optional = next.as_rule() == Rule::optional;
        let last = inner.last()?;
        Some(match last.as_rule() {
            Rule::value => Braced::Entry(Entry { key, value: self.value(last) }),
            _ => Braced::Field(RecordField { key, optional, ty: self.type_of(last) }),
        })
    }

    /// A map or a record, as the first entry says.
    pub(super) fn braces(&mut self, entries: Vec<Braced>) -> ExprKind {
        let mut map = Vec::new();
        let mut record = Vec::new();
        let is_map = !matches!(entries.first(), Some(Braced::Field(_)));
        let mut odd = None;
        for entry in entries {
            match entry {
                Braced::Entry(entry) if is_map => map.push(entry),
                Braced::Field(field) if !is_map => record.push(field),
                Braced::Entry(Entry { key, .. }) | Braced::Field(RecordField { key, .. }) => {
                    odd = odd.or(Some(key));
                }
            }
        }
        if let Some(key) = odd {
            let (has, wants, sort) = if is_map { (":", "=", "map") } else { ("=", ":", "record") };
            let name = &key.value;
            self.findings.push(
                MAP_OR_RECORD
                    .at(key.span, format!("`{name}` has `{has}` in a {sort}"))
                    .label(format!("the first key has `{wants}`"))
                    .help("maps take `key = value`, records `key: type`"),
            );
            return ExprKind::Broken;
        }
        if is_map { ExprKind::Map(map) } else { ExprKind::Record(record) }
    }

    // ---- Types ------------------------------------------------------------------------------------

    /// A type.
    pub(super) fn type_of(&mut self, pair: P<'_>) -> TypeExpr {
        let span = self.span_of(&pair);
        let mut types = Vec::new();
        for pair in pair.into_inner().filter(|pair| pair.as_rule() != Rule::bar) {
            types.push(self.single_type(pair));
        }
        match (types.pop(), types.is_empty()) {
            (Some(only), true) => only,
            (Some(last), false) => {
                types.push(last);
                TypeExpr { kind: TypeKind::Union(types), span }
            }
            (None, _) => TypeExpr { kind: TypeKind::Broken, span },
        }
    }

    fn single_type(&mut self, pair: P<'_>) -> TypeExpr {
        let (at, span) = (self.first(&pair), self.span_of(&pair));
        let kind = match pair.as_rule() {
            Rule::type_term if pair.clone().into_inner().peek().is_none() => {
                TypeKind::Name(self.written(at).into())
            }
            Rule::type_term => TypeKind::Call(self.ident(at), self.arguments(pair.into_inner())),
            Rule::type_text if self.is_broken(at) => TypeKind::Broken,
            Rule::type_text => TypeKind::Literal(strings::meaning(self.written(at))),
            Rule::type_list => match pair.into_inner().next() {
                Some(of) => TypeKind::List(Box::new(self.type_of(of))),
                None => TypeKind::Broken,
            },
            Rule::record => {
                let mut fields = Vec::new();
                for pair in pair.into_inner().filter(|pair| pair.as_rule() == Rule::record_field) {
                    if let Some(Braced::Field(field)) = self.entry(pair) {
                        fields.push(field);
                    }
                }
                TypeKind::Record(fields)
            }
            _ => TypeKind::Broken,
        };
        TypeExpr { kind, span }
    }
}

fn binary(left: Expr, operator: Spanned<Operator>, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary(Box::new(left), operator, Box::new(right)), span }
}

/// The tree of `first` and the `count` operands after it.
fn balanced(first: Expr, rest: &mut std::vec::IntoIter<(Spanned<Operator>, Expr)>, count: usize) -> Expr {
    if count == 0 {
        return first;
    }
    // The left half gets the odd one, so that few operands group from the left as they are read.
    let right_count = (count - 1) / 2;
    let left = balanced(first, rest, count - 1 - right_count);
    match rest.next() {
        Some((operator, operand)) => {
            let right = balanced(operand, rest, right_count);
            binary(left, operator, right)
        }
        None => left,
    }
}
