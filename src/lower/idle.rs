//! Bodies that nothing unrolls: templates that nobody uses, loops over empty lists.
//!
//! No value in them is known, so that only what stands written is looked at: which fields a block has, and
//! which declarations it may hold.

use super::Lower;
use crate::reference::{Block, Keyword};
use crate::source::Span;
use crate::syntax::ast::{self, Item, Member};

impl<'a> Lower<'a, '_> {
    /// Looks at every body that was not unrolled.
    pub(super) fn idle_bodies(&mut self) {
        if self.overfull {
            return;
        }
        let modules = self.modules;
        for (file, module) in (0u32..).zip(modules) {
            for item in &module.ast.items {
                self.seek_idle(file, item);
            }
        }
    }

    /// Looks for such bodies in what was unrolled itself.
    fn seek_idle(&mut self, file: u32, item: &'a Item) {
        match item {
            Item::Template(template) if !self.unrolled.contains(&template.span) => {
                self.idle_template(file, template);
            }
            Item::For(of) if !self.unrolled.contains(&of.span) => {
                self.idle_body(file, &of.body, Keyword::For);
            }
            Item::Template(template) => self.seek_idle_in(file, &template.body),
            Item::For(of) => self.seek_idle_in(file, &of.body),
            Item::Block(block) if block.keyword.value == Keyword::Group => {
                self.seek_idle_in(file, &block.body);
            }
            Item::Block(_)
            | Item::Param(_)
            | Item::Let(_)
            | Item::Use(_)
            | Item::Import(_)
            | Item::Broken(_) => {}
        }
    }

    fn seek_idle_in(&mut self, file: u32, body: &'a ast::Body) {
        for member in &body.members {
            if let Member::Item(item) = member {
                self.seek_idle(file, item);
            }
        }
    }

    fn idle_template(&mut self, file: u32, template: &'a ast::Template) {
        for (index, (argument, _)) in template.arguments.iter().enumerate() {
            let first = template.arguments[..index].iter().find(|(known, _)| known.value == argument.value);
            let taken = self.names.own(file, &argument.value).map(|decl| (decl.span, decl.first.describe()));
            if let Some((first, _)) = first {
                self.duplicate(&argument.value, (first.span, "an argument"), (argument.span, "an argument"));
            } else if let Some(taken) = taken {
                self.repeats(argument, taken);
            }
        }
        self.idle_body(file, &template.body, Keyword::Template);
    }

    fn idle_body(&mut self, file: u32, body: &'a ast::Body, inside: Keyword) {
        for member in &body.members {
            match member {
                Member::Item(item) => self.idle_item(file, item, inside),
                Member::Field(field) => self.field_of_unrolling(field, inside),
                Member::Edge(edge) => self.misplaced_edge(edge),
            }
        }
    }

    fn idle_item(&mut self, file: u32, item: &'a Item, inside: Keyword) {
        match item {
            Item::Block(block) => {
                let keyword = block.keyword.value;
                if keyword.is_task() {
                    self.idle_task(block, false);
                } else if !Block::of(inside).holds.contains(&keyword) {
                    self.misplaced_in(keyword, block.keyword.span, inside);
                } else {
                    self.fields(block, false);
                    self.idle_body(file, &block.body, keyword);
                }
            }
            Item::For(of) => self.idle_body(file, &of.body, Keyword::For),
            Item::Use(of) => {
                if self.names.get(file, &of.template.value).is_none() {
                    self.unknown_template(&of.template, file);
                }
            }
            Item::Param(param) => self.misplaced_in(Keyword::Param, param.name.span, inside),
            Item::Let(constant) => self.misplaced_in(Keyword::Let, constant.name.span, inside),
            Item::Template(template) => self.misplaced_in(Keyword::Template, template.name.span, inside),
            Item::Import(import) => self.misplaced_in(Keyword::Import, import.path.span, inside),
            Item::Broken(_) => {}
        }
    }

    /// A task, or a block in one.
    fn idle_task(&mut self, block: &'a ast::Block, node: bool) {
        let fields = self.fields(block, node);
        for row in Block::of(block.keyword.value).all_fields(node).filter(|row| row.required) {
            self.require(&fields, row);
        }
        self.only_holds(block);
        let row = Block::of(block.keyword.value);
        for member in &block.body.members {
            if let Member::Item(Item::Block(inner)) = member
                && row.holds.contains(&inner.keyword.value)
            {
                self.idle_task(inner, row.keyword == Keyword::Machine && inner.keyword.value.is_task());
            }
        }
    }

    /// Reports a name of a block's own that repeats a visible one, declared at a place as something.
    pub(super) fn repeats(&mut self, name: &ast::Ident, (first, sort): (Span, &str)) {
        self.error(
            super::names::DUPLICATE
                .at(name.span, format!("`{}` is declared twice", name.value))
                .label("repeats a name that is visible here")
                .related(first, format!("`{}` is {sort} already", name.value)),
        );
    }
}
