//! `top_k`: how many to keep, and which.

use super::Lower;
use super::command::direction;
use super::fields::Fields;
use super::names::Scope;
use crate::ir::Kind;
use crate::ir::kind::{Direction, TopK};
use crate::reference::table;
use crate::source::Spanned;

impl<'a> Lower<'a, '_> {
    pub(super) fn top_k(&mut self, fields: &Fields<'a>, scope: &Scope) -> Kind {
        self.require(fields, &table::KEEP);
        self.require(fields, &table::RANKING);
        let k = fields.get(&table::KEEP).and_then(|expr| self.integer(&table::KEEP, expr, scope));
        let ranking = fields.get(&table::RANKING).and_then(|expr| self.word(&table::RANKING, expr, scope));
        Kind::TopK(TopK {
            k: k.map_or(Spanned::new(1, fields.span), |k| k.map(|k| u64::try_from(k).unwrap_or(1))),
            direction: ranking.map_or(Direction::Higher, |word| direction(word.value)),
        })
    }
}
