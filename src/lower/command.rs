//! `command` and `evaluate`: what is run, and how it is graded.

use super::Lower;
use super::fields::{self, Fields};
use super::names::Scope;
use super::value::Data;
use crate::ir::Kind;
use crate::ir::kind::{Arg, Direction, Evaluate, Run};
use crate::reference::{Field, table};
use crate::source::Spanned;
use crate::syntax::ast::{self, ExprKind};

impl<'a> Lower<'a, '_> {
    /// The command of a block that has to have one.
    pub(super) fn command(
        &mut self,
        fields: &Fields<'a>,
        row: &'static Field,
        scope: &Scope,
    ) -> Spanned<Run> {
        let nothing = Spanned::new(Run::List(Vec::new()), fields.span);
        if row.required && !self.require(fields, row) {
            return nothing;
        }
        match fields.get(row) {
            Some(expr) => self.run_value(row, expr, scope).unwrap_or(nothing),
            None => nothing,
        }
    }

    /// A command: a string, or a list of strings and files of the pack.
    pub(super) fn run_value(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Spanned<Run>> {
        if let ExprKind::String(text) = &expr.kind
            && !text.trim_ascii().is_empty()
            && !text.contains('\0')
        {
            return Some(Spanned::new(Run::Shell(text.clone()), expr.span));
        }
        let value = self.value(row, expr, scope)?;
        if let Some(text) = value.text() {
            if text.trim_ascii().is_empty() {
                self.error(fields::UNUSABLE.at(expr.span, format!("`{}` is empty", row.name)));
                return None;
            }
            if text.contains('\0') {
                self.error(fields::UNUSABLE.at(expr.span, "a command cannot hold U+0000"));
                return None;
            }
            return Some(Spanned::new(Run::Shell(text), expr.span));
        }
        let Data::List(items) = &value.data else {
            self.mismatch(row, &value);
            return None;
        };
        let mut list = Vec::with_capacity(items.len());
        for item in items.iter() {
            match (&item.data, item.text()) {
                (Data::Pack(path), _) => list.push(Arg::Pack(path.clone())),
                (_, Some(text)) if text.contains('\0') => {
                    self.error(fields::UNUSABLE.at(item.span, "an argument cannot hold U+0000"));
                }
                (_, Some(text)) => list.push(Arg::Text(text)),
                (Data::Hole, _) => self.hole(),
                (_, None) => {
                    let message =
                        format!("`{}` takes strings as its elements, not {}", row.name, item.describe());
                    self.error(fields::MISMATCH.at(item.span, message).label(item.describe()));
                }
            }
        }
        let nameless = items.first().is_none_or(|first| first.text().is_some_and(|text| text.is_empty()));
        if nameless {
            let message = format!("`{}` names no program", row.name);
            self.error(fields::UNUSABLE.at(expr.span, message).label("the first element is the program"));
            return None;
        }
        Some(Spanned::new(Run::List(list), expr.span))
    }

    pub(super) fn evaluate(&mut self, fields: &Fields<'a>, scope: &Scope) -> Kind {
        let run = self.command(fields, &table::RUN, scope);
        let threshold =
            fields.get(&table::THRESHOLD).and_then(|expr| self.number(&table::THRESHOLD, expr, scope));
        let direction =
            fields.get(&table::DIRECTION).and_then(|expr| self.word(&table::DIRECTION, expr, scope));
        for (one, other, example) in [
            (&table::THRESHOLD, &table::DIRECTION, "direction = \"higher\""),
            (&table::DIRECTION, &table::THRESHOLD, "threshold = 0.5"),
        ] {
            if let Some(field) = fields.field(one)
                && fields.lacks(other)
            {
                self.error(
                    fields::TOGETHER
                        .at(field.name.span, format!("`{}` needs `{}`", one.name, other.name))
                        .label("set together")
                        .help(format!("add `{example}`")),
                );
            }
        }
        let direction = direction.map(|word| word.map(self::direction));
        Kind::Evaluate(Evaluate { run, threshold, direction })
    }
}

pub(super) fn direction(word: &str) -> Direction {
    if word == "lower" { Direction::Lower } else { Direction::Higher }
}
