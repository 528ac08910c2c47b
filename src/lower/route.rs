//! `route`: who answers, and the questions.

use super::Lower;
use super::fields::{self, Fields};
use super::names::{self, Scope};
use super::types::reserved_field;
use crate::ir::Kind;
use crate::ir::kind::{Question, Route, UNCERTAIN};
use crate::reference::{Keyword, table};
use crate::source::{Spanned, Text};
use crate::syntax::ast::{self, Item, Member, Name};

impl<'a> Lower<'a, '_> {
    pub(super) fn route(&mut self, block: &'a ast::Block, fields: &Fields<'a>, scope: &Scope) -> Kind {
        let source = match fields.get(&table::SOURCE) {
            Some(expr) => self.task_named(&table::SOURCE, expr, scope),
            None => None,
        };
        let run =
            fields.get(&table::ROUTE_RUN).and_then(|expr| self.run_value(&table::ROUTE_RUN, expr, scope));
        let min_confidence = fields
            .get(&table::MIN_CONFIDENCE)
            .and_then(|expr| self.number(&table::MIN_CONFIDENCE, expr, scope));
        if let Some(confidence) = fields.field(&table::MIN_CONFIDENCE)
            && fields.lacks(&table::ROUTE_RUN)
        {
            let found = fields::TOGETHER.at(confidence.name.span, "`min_confidence` needs `run`");
            self.error(found.label("a `source` has no confidence"));
        }
        let mut questions: Vec<Question> = Vec::new();
        for question in questions_of(block) {
            let before = self.trouble;
            let read = self.question(question, scope);
            if let Some(first) = questions.iter().find(|known| known.name.value == read.name.value) {
                let first = first.name.span;
                self.duplicate(&read.name.value, (first, "a question"), (read.name.span, "a question"));
            } else if self.trouble == before || !read.labels.is_empty() {
                questions.push(read);
            }
        }
        let min_confidence = min_confidence.map(|number| number.value);
        Kind::Route(Box::new(Route { source, run, min_confidence, questions }))
    }

    fn question(&mut self, block: &'a ast::Block, scope: &Scope) -> Question {
        let fields = self.fields(block, false);
        self.only_holds(block);
        let name = match &block.name {
            Some(Name::Ident(name)) => name.clone(),
            Some(Name::Template(_) | Name::Text(_)) | None => {
                self.hole();
                Spanned::new(Text::default(), block.keyword.span)
            }
        };
        if table::RESERVED_FIELDS.contains(&name.value.as_str()) {
            self.error(reserved_field(&name, "a question cannot be called"));
        }
        self.own_name(&name, scope);
        let ask =
            fields.get(&table::QUESTION_ASK).and_then(|expr| self.filled(&table::QUESTION_ASK, expr, scope));
        let (labels, yes_no) = match fields.get(&table::LABELS) {
            Some(expr) => (self.labels(expr, scope), false),
            None => (["yes", "no"].map(|word| Spanned::new(Text::const_new(word), name.span)).to_vec(), true),
        };
        let drop = fields.get(&table::DROP).and_then(|expr| self.texts(&table::DROP, expr, scope));
        let drop = drop.unwrap_or_default();
        Question { name, ask: ask.map(|ask| ask.value), labels, yes_no, drop }
    }

    fn labels(&mut self, expr: &'a ast::Expr, scope: &Scope) -> Vec<Spanned<Text>> {
        let before = self.trouble;
        let Some(labels) = self.texts(&table::LABELS, expr, scope) else {
            return Vec::new();
        };
        if labels.is_empty() && self.trouble == before {
            let message = "`labels` lists no answer";
            self.error(fields::UNUSABLE.at(expr.span, message).help("drop it for a yes/no question"));
        }
        for label in &labels {
            if label.value.trim().is_empty() {
                self.error(fields::UNUSABLE.at(label.span, "`labels` lists an empty label"));
            }
            if label.value == UNCERTAIN {
                let found =
                    names::RESERVED.at(label.span, "`\"uncertain\"` is reserved, and cannot be a label");
                self.error(found.label("what an answer below `min_confidence` becomes"));
            }
        }
        labels
    }
}

/// The question blocks of a route.
pub(super) fn questions_of(block: &ast::Block) -> impl Iterator<Item = &ast::Block> {
    block.body.members.iter().filter_map(|member| match member {
        Member::Item(Item::Block(block)) if block.keyword.value == Keyword::Question => Some(&**block),
        Member::Item(_) | Member::Field(_) | Member::Edge(_) => None,
    })
}
