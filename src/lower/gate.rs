//! `gate`: what a person is asked, and what may be answered.

use super::Lower;
use super::fields::{self, Fields};
use super::names::Scope;
use crate::ir::Kind;
use crate::ir::kind::Gate;
use crate::reference::table;
use crate::source::{Spanned, Text};

impl<'a> Lower<'a, '_> {
    pub(super) fn gate(&mut self, fields: &Fields<'a>, scope: &Scope) -> Kind {
        self.require(fields, &table::ASK);
        let ask = fields.get(&table::ASK).and_then(|expr| self.filled(&table::ASK, expr, scope));
        let options = match fields.get(&table::OPTIONS) {
            Some(expr) => {
                let before = self.trouble;
                let options = self.texts(&table::OPTIONS, expr, scope);
                for option in options.iter().flatten() {
                    let text = option.value.as_str();
                    if text.trim().is_empty() {
                        self.error(fields::UNUSABLE.at(option.span, "`options` lists an empty answer"));
                    } else if text.trim() != text || text.chars().any(char::is_control) {
                        let message = "`options` lists an answer that nobody can type";
                        let what = "has blanks around it, or characters that no line shows";
                        self.error(fields::UNUSABLE.at(option.span, message).label(what));
                    }
                }
                if options.as_ref().is_some_and(Vec::is_empty) && self.trouble == before {
                    let message = "`options` lists no answer";
                    self.error(fields::UNUSABLE.at(expr.span, message).help("drop it for a yes/no question"));
                }
                options.unwrap_or_default()
            }
            None => ["yes", "no"].map(|word| Spanned::new(Text::const_new(word), fields.span)).to_vec(),
        };
        let default = fields.get(&table::ANSWER).and_then(|expr| self.text(&table::ANSWER, expr, scope));
        Kind::Gate(Box::new(Gate { ask: ask.map(|ask| ask.value).unwrap_or_default(), options, default }))
    }
}
