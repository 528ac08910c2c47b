//! Reads a block against its rows of the reference table: which fields it gives, and what they hold.
//!
//! What a row says of type, bounds and alternatives is checked here, once for all blocks.

use super::Lower;
use super::names::Scope;
use super::value::{Data, Val};
use crate::diag::{Code, Diagnostic, Severity, suggest};
use crate::ir::{Millis, ParamType, Usd};
use crate::reference::{Block, Field, Keyword, Kind, alternatives};
use crate::source::{Span, Spanned, Text};
use crate::syntax::ast::{self, ExprKind, Member};

/// A field that the block does not have.
pub(crate) static UNKNOWN: Code = Code {
    id: "plan::field::unknown",
    severity: Severity::Error,
    summary: "A field that the block does not have",
    explain: "Every block has its own fields; `plan reference` lists them. A field of another kind of task is no \
              field of this one.",
};

/// A field that is given twice.
pub(crate) static DUPLICATE: Code = Code {
    id: "plan::field::duplicate",
    severity: Severity::Error,
    summary: "A field or a key that is given twice",
    explain: "A block gives each of its fields once, and a map each of its keys.",
};

/// A field that has to be there.
pub(crate) static MISSING: Code = Code {
    id: "plan::field::missing",
    severity: Severity::Error,
    summary: "A field that has to be there",
    explain: "Some fields have no default: a command needs its `run`, an agent its `prompt`, a gate its `ask`.",
};

/// Fields that do not go together.
pub(crate) static TOGETHER: Code = Code {
    id: "plan::field::together",
    severity: Severity::Error,
    summary: "Fields that do not go together",
    explain: "Some fields need each other, as `threshold` needs `direction` and `revise` needs `max_rounds`; some \
              exclude each other, as `run` and `file` in a `verify` block, and `source` and `run` in a route.",
};

/// A field that cannot be a default.
pub(crate) static NO_DEFAULT: Code = Code {
    id: "plan::field::not_a_default",
    severity: Severity::Error,
    summary: "A field that cannot be a default",
    explain: "`defaults` and groups give what any task can have, but for `depends_on`, `when`, `over`, `key`, \
              `revise`, `emits`, `emits_files` and `done_when`, which belong to one task. Of an agent's fields they \
              give `harness`, `model` and `effort`.",
};

/// A value of the wrong type.
pub(crate) static MISMATCH: Code = Code {
    id: "plan::value::wrong_type",
    severity: Severity::Error,
    summary: "A value of the wrong type",
    explain: "Every field has a type. Nothing is converted: `\"2\"` is no integer, `30` is no duration, `\"false\"` \
              is no boolean.",
};

/// A value outside its bounds.
pub(crate) static OUT_OF_RANGE: Code = Code {
    id: "plan::value::out_of_range",
    severity: Severity::Error,
    summary: "A value outside its bounds",
    explain: "Numbers have bounds, which `plan reference` lists.",
};

/// A string that is none of the alternatives.
pub(crate) static NOT_ONE_OF: Code = Code {
    id: "plan::value::not_one_of",
    severity: Severity::Error,
    summary: "A string that is none of the alternatives",
    explain: "The field takes one of a few strings, in lower case.",
};

/// A value of the right type that cannot be used.
pub(crate) static UNUSABLE: Code = Code {
    id: "plan::value::unusable",
    severity: Severity::Error,
    summary: "A value that cannot be used",
    explain: "The value has the right type, and still cannot be what the field needs: an empty command, a file \
              name that ends with a slash, a variable's name with `=` in it, a pattern that does not compile.",
};

/// The fields that a block gives, by row.
pub(super) struct Fields<'a> {
    pub block: &'static Block,
    given: Vec<(&'static Field, &'a ast::Field)>,
    /// Whether a member did not parse, so that nothing is said about what is missing.
    broken: bool,
    /// Fields that one of the unknown ones was probably meant to be.
    meant: Vec<&'static str>,
    /// Where a missing field is reported.
    pub span: Span,
}

impl<'a> Fields<'a> {
    /// The value of a field.
    pub(super) fn get(&self, row: &'static Field) -> Option<&'a ast::Expr> {
        self.field(row).map(|field| &field.value)
    }

    pub(super) fn field(&self, row: &'static Field) -> Option<&'a ast::Field> {
        self.given.iter().find(|(given, _)| std::ptr::eq(*given, row)).map(|&(_, field)| field)
    }

    /// Whether a field is certainly not there: nothing that is wrong with the block may have been it.
    pub(super) fn lacks(&self, row: &'static Field) -> bool {
        self.field(row).is_none() && !self.broken && !self.meant.contains(&row.name)
    }
}

/// What is said of a key that comes again.
pub(super) fn given_twice(again: &ast::Ident, first: Span) -> Diagnostic {
    DUPLICATE
        .at(again.span, format!("`{}` is given twice", again.value))
        .label("given again")
        .related(first, "given here already")
}

impl<'a> Lower<'a, '_> {
    /// Reads which fields a block gives. Nested blocks and edges are left to the caller.
    pub(super) fn fields(&mut self, block: &'a ast::Block, node: bool) -> Fields<'a> {
        let span = block.name.as_ref().map_or(block.keyword.span, ast::Name::span);
        self.body_fields(block.keyword.value, &block.body, span, node)
    }

    pub(super) fn body_fields(
        &mut self,
        keyword: Keyword,
        body: &'a ast::Body,
        span: Span,
        node: bool,
    ) -> Fields<'a> {
        let row = Block::of(keyword);
        let mut given: Vec<(&'static Field, &'a ast::Field)> = Vec::with_capacity(body.members.len());
        let mut broken = false;
        let mut meant = Vec::new();
        for member in &body.members {
            let field = match member {
                Member::Field(field) => field,
                Member::Item(ast::Item::Broken(_)) => {
                    broken = true;
                    continue;
                }
                Member::Item(_) | Member::Edge(_) => continue,
            };
            let Some(found) = row.field(&field.name.value, node) else {
                self.unknown_field(row, field, node);
                let rows = row.all_fields(node).map(|field| field.name);
                meant.extend(suggest::nearest(&field.name.value, rows));
                continue;
            };
            if let Some((_, first)) = given.iter().find(|(known, _)| std::ptr::eq(*known, found)) {
                self.error(given_twice(&field.name, first.name.span));
                continue;
            }
            given.push((found, field));
        }
        if broken {
            self.hole();
        }
        Fields { block: row, given, broken, meant, span }
    }

    fn unknown_field(&mut self, row: &'static Block, field: &ast::Field, node: bool) {
        let (name, keyword) = (field.name.value.as_str(), row.keyword.as_str());
        if keyword == "group" && Block::with_field(name).any(Keyword::is_task) {
            self.error(no_default(&field.name));
            return;
        }
        if node && row.field(name, false).is_some() {
            let found = UNKNOWN.at(field.name.span, format!("a node of a machine has no `{name}`"));
            self.error(found.label("the machine's edges say when a node runs"));
            return;
        }
        let owners: Vec<String> =
            Block::with_field(name).map(|owner| format!("`{}`", owner.as_str())).collect();
        if owners.is_empty() {
            let near = suggest::did_you_mean(name, row.all_fields(node).map(|field| field.name));
            let names: Vec<&str> = row.all_fields(node).map(|field| field.name).collect();
            let near = near.or_else(|| match names.len() {
                0 => Some(format!("a `{keyword}` has no fields")),
                1..=8 => Some(format!("its fields are {}", quoted(&names))),
                _ => None,
            });
            let message = format!("`{keyword}` has no field `{name}`");
            self.error(UNKNOWN.at(field.name.span, message).label("unknown field").maybe_help(near));
            return;
        }
        let owners = match owners.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
            Some(_) | None => owners.concat(),
        };
        let message = format!("`{name}` is a field of {owners}, not of `{keyword}`");
        let near = suggest::did_you_mean(name, row.all_fields(node).map(|field| field.name));
        self.error(UNKNOWN.at(field.name.span, message).label("unknown field here").maybe_help(near));
    }

    /// Reports a required field that is not there, unless a member that did not parse may have been it.
    pub(super) fn require(&mut self, fields: &Fields<'_>, row: &'static Field) -> bool {
        let there = fields.field(row).is_some();
        if fields.lacks(row) {
            let name = self.slice(fields.span).to_owned();
            let keyword = fields.block.keyword.as_str();
            let message = match fields.block.keyword {
                Keyword::Continue | Keyword::Plan => format!("`{keyword}` has no `{}`", row.name),
                _ => format!("{keyword} `{name}` has no `{}`", row.name),
            };
            let help = format!("give `{} = …`: {}", row.name, row.kind.describe());
            self.error(MISSING.at(fields.span, message).label(format!("needs `{}`", row.name)).help(help));
        } else if !there {
            self.hole();
        }
        there
    }

    /// The wrong type, at a value.
    pub(super) fn mismatch(&mut self, row: &Field, value: &Val) {
        let message = format!("`{}` takes {}, not {}", row.name, row.kind.describe(), value.describe());
        let found = MISMATCH.at(value.span, message).label(value.describe());
        self.error(found.maybe_help(cure(row.kind, value)));
    }

    /// The wrong type, at an element of a value.
    fn element(&mut self, row: &Field, value: &Val, wanted: &str) {
        let message = format!("`{}` takes {wanted} as its elements, not {}", row.name, value.describe());
        self.error(MISMATCH.at(value.span, message).label(value.describe()));
    }

    /// The value of a field, with what came from a parameter refused unless the row takes it. None for a
    /// hole.
    pub(super) fn value(&mut self, row: &'static Field, expr: &ast::Expr, scope: &Scope) -> Option<Val> {
        let value = self.eval(expr, scope);
        if value.is_hole() {
            self.hole();
            return None;
        }
        match value.taint {
            Some(param) if !row.takes_external() => {
                self.reaches(param, expr.span, &format!("`{}`", row.name));
                None
            }
            Some(_) | None => Some(value),
        }
    }

    /// A string.
    pub(super) fn text(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Spanned<Text>> {
        if let ExprKind::String(text) = &expr.kind {
            return Some(Spanned::new(text.clone(), expr.span));
        }
        let value = self.value(row, expr, scope)?;
        let text = value.text();
        if text.is_none() {
            self.mismatch(row, &value);
        }
        Some(Spanned::new(text?, expr.span))
    }

    /// A string of one line at least.
    pub(super) fn filled(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Spanned<Text>> {
        let text = self.text(row, expr, scope)?;
        if text.value.trim().is_empty() {
            self.error(UNUSABLE.at(text.span, format!("`{}` is empty", row.name)));
            return None;
        }
        Some(text)
    }

    /// A regular expression.
    pub(super) fn pattern(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Spanned<Text>> {
        let pattern = self.text(row, expr, scope)?;
        match regex::Regex::new(&pattern.value) {
            Ok(_) => Some(pattern),
            Err(error) => {
                // The last line says what is wrong; the ones before draw the pattern.
                let error = error.to_string();
                let problem =
                    error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                let message = format!("`{}` is no regular expression", row.name);
                self.error(UNUSABLE.at(pattern.span, message).label(problem));
                None
            }
        }
    }

    /// A boolean.
    pub(super) fn boolean(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Spanned<bool>> {
        if let ExprKind::Boolean(value) = expr.kind {
            return Some(Spanned::new(value, expr.span));
        }
        let value = self.value(row, expr, scope)?;
        if let Data::Boolean(value) = value.data {
            return Some(Spanned::new(value, expr.span));
        }
        self.mismatch(row, &value);
        None
    }

    /// One of the row's words.
    pub(super) fn word(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Spanned<&'static str>> {
        let Kind::Words(words) = row.kind else {
            return None;
        };
        let value = self.value(row, expr, scope)?;
        let Some(text) = value.text() else {
            self.mismatch(row, &value);
            return None;
        };
        if let Some(word) = words.iter().find(|word| **word == text) {
            return Some(Spanned::new(word, expr.span));
        }
        let near = suggest::nearest(&text, words.iter().copied());
        let message = format!("`{}` takes {}, not `\"{text}\"`", row.name, alternatives(words));
        let found = NOT_ONE_OF.at(expr.span, message).label("none of them");
        self.error(found.maybe_help(near.map(|near| format!("did you mean `\"{near}\"`?"))));
        None
    }

    /// A whole number within the row's bounds.
    pub(super) fn integer(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Spanned<i64>> {
        let Kind::Integer { min, max } = row.kind else {
            return None;
        };
        let value = self.value(row, expr, scope)?;
        match &value.data {
            Data::Integer(number) if (min..=max).contains(number) => Some(Spanned::new(*number, expr.span)),
            Data::Integer(_) => {
                self.out_of_range(row, &value);
                None
            }
            Data::Unknown(ParamType::Integer) => None,
            Data::Number(_, _)
            | Data::Text(_)
            | Data::Parts(_)
            | Data::Boolean(_)
            | Data::Duration(_)
            | Data::List(_)
            | Data::Map(_)
            | Data::Schema(_)
            | Data::Pack(_)
            | Data::Unknown(_)
            | Data::Hole => {
                self.mismatch(row, &value);
                None
            }
        }
    }

    pub(super) fn out_of_range(&mut self, row: &Field, value: &Val) {
        let message = format!("`{}` takes {}, not {}", row.name, row.kind.describe(), value.show());
        self.error(OUT_OF_RANGE.at(value.span, message).label("out of range"));
    }

    /// A number within the row's bounds.
    pub(super) fn number(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Spanned<f64>> {
        let (min, max) = match row.kind {
            Kind::Number { min, max } => (min, max),
            _ => (f64::NEG_INFINITY, f64::INFINITY),
        };
        let value = self.value(row, expr, scope)?;
        let number = self.numeric(row, &value)?;
        if (min..=max).contains(&number) {
            return Some(Spanned::new(number, expr.span));
        }
        self.out_of_range(row, &value);
        None
    }

    /// An amount of money.
    pub(super) fn money(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Spanned<Usd>> {
        let value = self.value(row, expr, scope)?;
        self.numeric(row, &value)?;
        let text = match &value.data {
            Data::Number(_, text) => text.clone(),
            _ => value.show().into(),
        };
        let usd = Usd::parse(&text);
        if usd.is_none() {
            self.out_of_range(row, &value);
        }
        Some(Spanned::new(usd?, expr.span))
    }

    #[expect(clippy::cast_precision_loss, reason = "a bound is compared, not counted with")]
    fn numeric(&mut self, row: &Field, value: &Val) -> Option<f64> {
        match &value.data {
            Data::Integer(number) => Some(*number as f64),
            Data::Number(number, _) => Some(*number),
            Data::Unknown(ParamType::Integer | ParamType::Number) => None,
            Data::Text(_)
            | Data::Parts(_)
            | Data::Boolean(_)
            | Data::Duration(_)
            | Data::List(_)
            | Data::Map(_)
            | Data::Schema(_)
            | Data::Pack(_)
            | Data::Unknown(_)
            | Data::Hole => {
                self.mismatch(row, value);
                None
            }
        }
    }

    /// A duration above zero.
    pub(super) fn duration(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Spanned<Millis>> {
        let value = self.value(row, expr, scope)?;
        match value.data {
            Data::Duration(Millis(0)) => {
                self.error(OUT_OF_RANGE.at(expr.span, format!("`{}` is no time at all", row.name)));
                None
            }
            Data::Duration(millis) => Some(Spanned::new(millis, expr.span)),
            _ => {
                self.mismatch(row, &value);
                None
            }
        }
    }

    /// The elements of a list.
    pub(super) fn list(&mut self, row: &'static Field, expr: &ast::Expr, scope: &Scope) -> Option<Val> {
        let value = self.value(row, expr, scope)?;
        match &value.data {
            Data::List(_) | Data::Unknown(ParamType::Strings) => Some(value),
            Data::Text(_) | Data::Parts(_) if matches!(row.kind, Kind::TextOrTexts) => {
                let span = value.span;
                let taint = value.taint;
                Some(Val::from(Data::List(std::rc::Rc::new([value])), span, taint))
            }
            _ => {
                self.mismatch(row, &value);
                None
            }
        }
    }

    /// A list of strings.
    pub(super) fn texts(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Vec<Spanned<Text>>> {
        let list = self.list(row, expr, scope)?;
        let Data::List(items) = &list.data else {
            return Some(Vec::new());
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items.iter() {
            match item.text() {
                Some(text) => texts.push(Spanned::new(text, item.span)),
                None if item.is_hole() => self.hole(),
                None => self.element(row, item, "strings"),
            }
        }
        Some(texts)
    }

    /// A list of strings, none of them empty and none twice.
    pub(super) fn distinct(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Vec<Spanned<Text>>> {
        let texts = self.texts(row, expr, scope)?;
        let mut seen = rustc_hash::FxHashMap::default();
        let mut kept = Vec::with_capacity(texts.len());
        for text in texts {
            if text.value.is_empty() {
                self.error(UNUSABLE.at(text.span, format!("`{}` lists an empty string", row.name)));
            } else if let Some(first) = seen.insert(text.value.clone(), text.span) {
                let message = format!("`{}` lists `\"{}\"` twice", row.name, text.value);
                self.error(DUPLICATE.at(text.span, message).related(first, "listed here already"));
            } else {
                kept.push(text);
            }
        }
        Some(kept)
    }

    /// A map of strings, as variables of an environment.
    pub(super) fn environment(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Vec<(Text, Text)>> {
        let value = self.value(row, expr, scope)?;
        let Data::Map(pairs) = &value.data else {
            self.mismatch(row, &value);
            return None;
        };
        let mut variables = Vec::with_capacity(pairs.len());
        for (name, value) in pairs.iter() {
            if !is_variable(name) {
                self.error(no_variable(name, value.span));
                continue;
            }
            match value.text() {
                Some(text) if text.contains('\0') => {
                    self.error(UNUSABLE.at(value.span, "a variable cannot hold U+0000"));
                }
                Some(text) => variables.push((name.clone(), text)),
                None if value.is_hole() => self.hole(),
                None => {
                    let message =
                        format!("`{}` takes strings as its values, not {}", row.name, value.describe());
                    let found = MISMATCH.at(value.span, message).label(value.describe());
                    let written = self.slice(value.span).to_owned();
                    let help = matches!(
                        value.data,
                        Data::Integer(_) | Data::Number(..) | Data::Boolean(_) | Data::Unknown(_)
                    );
                    self.error(found.maybe_help(help.then(|| format!("write `f\"{{{written}}}\"`"))));
                }
            }
        }
        Some(variables)
    }

    /// A list of names of variables.
    pub(super) fn variables(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Vec<Spanned<Text>>> {
        let mut names = self.distinct(row, expr, scope)?;
        names.retain(|name| {
            let good = is_variable(&name.value);
            if !good {
                self.error(no_variable(&name.value, name.span));
            }
            good
        });
        Some(names)
    }

    /// The entries of a map that stands as written, each with its row.
    pub(super) fn nested(
        &mut self,
        row: &'static Field,
        expr: &'a ast::Expr,
        scope: &Scope,
    ) -> Option<Vec<(&'static Field, &'a ast::Expr)>> {
        let Kind::Map(keys) = row.kind else {
            return None;
        };
        let entries = self.entries(row, expr, scope)?;
        let mut found: Vec<(&'static Field, &'a ast::Expr)> = Vec::new();
        for entry in entries {
            let name = entry.key.value.as_str();
            let Some(key) = keys.iter().copied().find(|key| key.name == name) else {
                let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
                let near = suggest::did_you_mean(name, names.iter().copied());
                let near = near.unwrap_or_else(|| format!("its keys are {}", quoted(&names)));
                let message = format!("`{}` has no key `{name}`", row.name);
                self.error(UNKNOWN.at(entry.key.span, message).label("unknown key").help(near));
                continue;
            };
            found.push((key, &entry.value));
        }
        Some(found)
    }

    /// The entries of a map that stands as written, each key once.
    pub(super) fn entries(
        &mut self,
        row: &'static Field,
        expr: &'a ast::Expr,
        scope: &Scope,
    ) -> Option<Vec<&'a ast::Entry>> {
        let mut inner = expr;
        while let ExprKind::Paren(within) = &inner.kind {
            inner = within;
        }
        let ExprKind::Map(entries) = &inner.kind else {
            let value = self.value(row, expr, scope)?;
            if matches!(value.data, Data::Map(_)) {
                self.error(
                    UNUSABLE
                        .at(expr.span, format!("`{}` has to be written out", row.name))
                        .help(format!("write `{} = {{ … }}`", row.name)),
                );
            } else {
                self.mismatch(row, &value);
            }
            return None;
        };
        let mut seen = rustc_hash::FxHashMap::default();
        let mut kept = Vec::with_capacity(entries.len());
        for entry in entries {
            match seen.insert(&entry.key.value, entry.key.span) {
                Some(first) => self.error(given_twice(&entry.key, first)),
                None => kept.push(entry),
            }
        }
        Some(kept)
    }
}

/// Whether a variable of an environment can be called `name`.
fn is_variable(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().next().is_some_and(|first| !first.is_ascii_digit()) && name.bytes().all(word)
}

fn no_variable(name: &str, span: Span) -> Diagnostic {
    let plain = name.trim_start_matches('$').trim_matches(['{', '}']);
    let help = match name.starts_with('$') && is_variable(plain) {
        true => format!("write `{plain}`, the name alone"),
        false => "use letters, digits and `_`, beginning with no digit".to_owned(),
    };
    UNUSABLE.at(span, format!("`{name}` cannot name a variable")).help(help)
}

pub(super) fn no_default(name: &ast::Ident) -> Diagnostic {
    NO_DEFAULT
        .at(name.span, format!("`{}` cannot be a default", name.value))
        .label("belongs to one task")
        .help("give it in the tasks themselves")
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// What to type instead, where that can be told.
fn cure(wanted: Kind, value: &Val) -> Option<String> {
    match (wanted, &value.data) {
        (Kind::Duration, Data::Integer(number)) => Some(format!("give a unit, as in `{number}s`")),
        (Kind::Boolean, Data::Text(text)) if text == "true" || text == "false" => {
            Some(format!("write `{text}`, without quotes"))
        }
        (Kind::Integer { .. } | Kind::Number { .. } | Kind::Money, Data::Text(text))
            if text.parse::<f64>().is_ok() =>
        {
            Some(format!("write `{text}`, without quotes"))
        }
        (Kind::Texts | Kind::Globs | Kind::Files, Data::Text(_)) => {
            Some(format!("write `[{}]`", value.show()))
        }
        _ => None,
    }
}
