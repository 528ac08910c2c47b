//! Which declarations nothing refers to.
//!
//! Only a fact here; `validate` says whether it is worth a word.

use super::Lower;
use super::constants::heads;
use crate::diag::Severity;
use crate::reference::Keyword;
use crate::source::Spanned;
use crate::syntax::ast::{self, Item, Member};

impl<'a> Lower<'a, '_> {
    pub(super) fn unused(&mut self) {
        if self.session.diagnostics.count(Severity::Error) > 0 {
            return;
        }
        let modules = self.modules;
        // What was never unrolled was never read, but names things all the same.
        for (file, module) in (0u32..).zip(modules) {
            for item in &module.ast.items {
                self.unread(file, item);
            }
        }
        let Some(entry) = modules.first() else {
            return;
        };
        for item in &entry.ast.items {
            let (keyword, name) = match item {
                Item::Param(param) => (Keyword::Param, &param.name),
                Item::Let(constant) => (Keyword::Let, &constant.name),
                Item::Template(template) => (Keyword::Template, &template.name),
                Item::Block(block) => match (&block.name, block.keyword.value) {
                    (Some(ast::Name::Ident(name)), keyword @ (Keyword::Profile | Keyword::Session)) => {
                        (keyword, name)
                    }
                    (Some(_) | None, _) => continue,
                },
                Item::For(_) | Item::Use(_) | Item::Import(_) | Item::Broken(_) => continue,
            };
            if self.names.get(0, &name.value).is_some_and(|decl| !decl.used.get()) {
                self.plan.facts.unused.push((keyword, Spanned::new(name.value.clone(), name.span)));
            }
        }
    }

    fn unread(&self, file: u32, item: &'a Item) {
        match item {
            Item::For(of) if !self.unrolled.contains(&of.span) => {
                self.names_in(file, &of.list);
                self.names_in_body(file, &of.body);
            }
            Item::For(of) => self.unread_body(file, &of.body),
            Item::Template(template) if !self.unrolled.contains(&template.span) => {
                self.names_in_body(file, &template.body);
            }
            Item::Template(template) => self.unread_body(file, &template.body),
            Item::Block(block) => self.unread_body(file, &block.body),
            Item::Let(_) | Item::Param(_) | Item::Use(_) | Item::Import(_) | Item::Broken(_) => {}
        }
    }

    fn unread_body(&self, file: u32, body: &'a ast::Body) {
        for member in &body.members {
            if let Member::Item(item) = member {
                self.unread(file, item);
            }
        }
    }

    fn names_in_body(&self, file: u32, body: &'a ast::Body) {
        for member in &body.members {
            match member {
                Member::Field(field) => self.names_in(file, &field.value),
                Member::Edge(edge) => edge.condition.iter().for_each(|expr| self.names_in(file, expr)),
                Member::Item(item) => match item {
                    Item::Block(block) => self.names_in_body(file, &block.body),
                    Item::For(of) => {
                        self.names_in(file, &of.list);
                        self.names_in_body(file, &of.body);
                    }
                    Item::Use(of) => {
                        self.mark(file, &of.template.value);
                        of.arguments.iter().for_each(|argument| self.names_in(file, &argument.value));
                    }
                    Item::Template(template) => self.names_in_body(file, &template.body),
                    Item::Param(_) | Item::Let(_) | Item::Import(_) | Item::Broken(_) => {}
                },
            }
        }
    }

    fn names_in(&self, file: u32, expr: &'a ast::Expr) {
        heads(expr, &mut |head| self.mark(file, &head.value));
    }

    fn mark(&self, file: u32, name: &str) {
        if let Some(decl) = self.names.get(file, name) {
            decl.used.set(true);
        }
    }
}
