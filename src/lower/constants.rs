//! Declarations of every file, and its constants: lets and the defaults of parameters, each computed
//! after what it names.
//!
//! Leaves to `eval` what an expression means, and to `expand` everything that unrolls.

use rustc_hash::FxHashMap;

use super::names::{self, What};
use super::params::{self, Launch};
use super::value::Val;
use super::{Lower, files};
use crate::diag::{Code, Severity};
use crate::ir::{ParamId, SessionId};
use crate::load;
use crate::reference::Keyword;
use crate::source::{Span, Spanned, Text};
use crate::syntax::ast::{self, ExprKind, FPart, Head, Item};

/// Constants that need each other.
pub(crate) static CYCLE: Code = Code {
    id: "plan::let::cycle",
    severity: Severity::Error,
    summary: "A constant that needs itself",
    explain: "A `let` is computed once, from literals, files, parameters and other lets. It cannot need itself, \
              directly or through others.",
};

/// A `let`, or the default of a parameter.
pub(super) struct Constant<'a> {
    pub file: u32,
    pub name: &'a ast::Ident,
    pub expr: Option<&'a ast::Expr>,
    pub of: Of<'a>,
    pub value: Val,
}

/// What a constant is.
#[derive(Clone, Copy)]
pub(super) enum Of<'a> {
    Let,
    Param(ParamId, &'a ast::Param),
}

impl<'a> Lower<'a, '_> {
    /// Declares everything but tasks and groups, which unrolling makes.
    pub(super) fn collect(&mut self) {
        let modules = self.modules;
        self.names.reserve(modules.first().map_or(0, |module| module.ast.items.len()));
        for (file, module) in (0u32..).zip(modules) {
            for item in &module.ast.items {
                self.collect_item(file, item);
            }
        }
        for (file, module) in (0u32..).zip(modules) {
            let mut seen = FxHashMap::default();
            for import in files::imports(&module.ast) {
                self.import(file, import, &mut seen);
            }
        }
    }

    fn collect_item(&mut self, file: u32, item: &'a Item) {
        match item {
            Item::Param(param) if file == 0 => {
                let id = ParamId::from(self.param_values.len());
                self.declare(file, &param.name, What::Param(id));
                let placeholder = Val::hole(param.name.span);
                self.param_constants.push(u32::try_from(self.constants.len()).unwrap_or(u32::MAX));
                self.plan.params.push(params::skeleton(param));
                self.constants.push(Constant {
                    file,
                    name: &param.name,
                    expr: param.default.as_ref(),
                    of: Of::Param(id, param),
                    value: placeholder.clone(),
                });
                self.param_values.push(placeholder);
            }
            Item::Param(param) => self.declare(file, &param.name, What::Foreign),
            Item::Let(constant) => {
                let index = u32::try_from(self.constants.len()).unwrap_or(u32::MAX);
                self.declare(file, &constant.name, What::Let(index));
                self.constants.push(Constant {
                    file,
                    name: &constant.name,
                    expr: Some(&constant.value),
                    of: Of::Let,
                    value: Val::hole(constant.name.span),
                });
            }
            Item::Template(template) => {
                let index = u32::try_from(self.templates.len()).unwrap_or(u32::MAX);
                self.declare(file, &template.name, What::Template(index));
                self.templates.push((file, template));
            }
            Item::Block(block) => self.collect_block(file, block),
            Item::Broken(broken) => {
                let task = broken.keyword.is_some_and(|keyword| keyword.value.is_task());
                match &broken.name {
                    Some(name) if !task => self.declare(file, name, What::Broken),
                    Some(_) => {}
                    None => self.plan.facts.incomplete = true,
                }
            }
            Item::For(_) | Item::Use(_) | Item::Import(_) => {}
        }
    }

    fn collect_block(&mut self, file: u32, block: &'a ast::Block) {
        let Some(ast::Name::Ident(name)) = &block.name else {
            return;
        };
        match block.keyword.value {
            Keyword::Profile => {
                let index = u32::try_from(self.profiles.len()).unwrap_or(u32::MAX);
                self.declare(file, name, What::Profile(index));
                self.profiles.push((file, block));
            }
            Keyword::Session if file == 0 => {
                self.declare(file, name, What::Session(SessionId::from(self.sessions.len())));
                self.sessions.push(block);
            }
            Keyword::Verify if file == 0 => self.declare(file, name, What::Gate),
            Keyword::Resolve if file == 0 => self.declare(file, name, What::Resolve),
            Keyword::Session
            | Keyword::Verify
            | Keyword::Resolve
            | Keyword::Plan
            | Keyword::Param
            | Keyword::Let
            | Keyword::Group
            | Keyword::For
            | Keyword::Template
            | Keyword::Use
            | Keyword::Import
            | Keyword::Continue
            | Keyword::Question
            | Keyword::Command
            | Keyword::Evaluate
            | Keyword::Agent
            | Keyword::Route
            | Keyword::Gate
            | Keyword::TopK
            | Keyword::Report
            | Keyword::Call
            | Keyword::Machine => {}
        }
    }

    /// Brings the templates, lets and profiles of an imported file into scope.
    fn import(&mut self, file: u32, import: &ast::Import, seen: &mut FxHashMap<u32, Span>) {
        let path = load::resolve(self.modules[file as usize].base(), &import.path.value);
        let Some(from) = path.and_then(|path| self.modules.iter().position(|module| module.path == path))
        else {
            self.plan.facts.incomplete = true;
            return;
        };
        let from = u32::try_from(from).unwrap_or(u32::MAX);
        if let Some(&first) = seen.get(&from) {
            self.error(
                names::DUPLICATE
                    .at(import.path.span, format!("`{}` is imported twice", import.path.value))
                    .label("imported again")
                    .related(first, "imported here already"),
            );
            return;
        }
        seen.insert(from, import.path.span);
        if from == file {
            return;
        }
        let mut brought: Vec<(Text, What)> = Vec::new();
        for (index, constant) in (0u32..).zip(&self.constants) {
            if constant.file == from && matches!(constant.of, Of::Let) {
                brought.push((constant.name.value.clone(), What::Let(index)));
            }
        }
        let name = |block: &ast::Block| match &block.name {
            Some(ast::Name::Ident(name)) => name.value.clone(),
            Some(ast::Name::Template(_) | ast::Name::Text(_)) | None => Text::default(),
        };
        for (index, (at, block)) in (0u32..).zip(&self.profiles) {
            if *at == from {
                brought.push((name(block), What::Profile(index)));
            }
        }
        for (index, (at, template)) in (0u32..).zip(&self.templates) {
            if *at == from {
                brought.push((template.name.value.clone(), What::Template(index)));
            }
        }
        for (name, what) in brought {
            self.declare(file, &Spanned::new(name, import.path.span), what);
        }
    }

    /// Computes every constant after the ones that it names. What needs itself is an error and a hole.
    /// With `params_only`, those that parameters need.
    pub(super) fn constants(&mut self, launch: Launch<'_>, params_only: bool) {
        let mut launch = params::Binder::new(launch, self);
        let count = self.constants.len();
        let needs: Vec<Vec<(u32, Span)>> = (0..count).map(|index| self.needs(index)).collect();
        // A walk without recursion: a file may hold a chain of any length.
        let mut state = vec![State::New; count];
        let mut path: Vec<(u32, usize)> = Vec::new();
        for start in 0..count {
            let wanted = !params_only || matches!(self.constants[start].of, Of::Param(..));
            if !wanted || state[start] != State::New {
                continue;
            }
            path.push((u32::try_from(start).unwrap_or(u32::MAX), 0));
            state[start] = State::Open;
            while let Some((index, next)) = path.last_mut() {
                let at = *index as usize;
                let Some(&(needed, span)) = needs[at].get(*next) else {
                    path.pop();
                    if state[at] == State::Open {
                        self.compute(at, &mut launch);
                        state[at] = State::Done;
                    }
                    continue;
                };
                *next += 1;
                match state[needed as usize] {
                    State::New => {
                        state[needed as usize] = State::Open;
                        path.push((needed, 0));
                    }
                    State::Open => {
                        let from = path.iter().position(|&(index, _)| index == needed).unwrap_or(0);
                        let hops: Vec<u32> = path[from..].iter().map(|&(index, _)| index).collect();
                        self.circle(&hops, span, &needs);
                        hops.iter().for_each(|&hop| state[hop as usize] = State::Circular);
                    }
                    State::Circular | State::Done => {}
                }
            }
        }
        launch.finish(self);
    }

    /// The constants that a constant names, each with the place.
    fn needs(&self, index: usize) -> Vec<(u32, Span)> {
        let constant = &self.constants[index];
        let mut needs = Vec::new();
        if let Some(expr) = constant.expr {
            heads(expr, &mut |head| {
                if let Some(needed) = self.constant(constant.file, &head.value) {
                    needs.push((needed, head.span));
                }
            });
        }
        needs
    }

    fn constant(&self, file: u32, name: &str) -> Option<u32> {
        match self.names.get(file, name)?.what {
            What::Let(index) => Some(index),
            What::Param(id) => self.param_constants.get(id.index()).copied(),
            What::Profile(_)
            | What::Session(_)
            | What::Group(_)
            | What::Template(_)
            | What::Task(_)
            | What::Gate
            | What::Resolve
            | What::Foreign
            | What::Broken => None,
        }
    }

    fn circle(&mut self, hops: &[u32], closing: Span, needs: &[Vec<(u32, Span)>]) {
        let name = |index: u32| self.constants[index as usize].name;
        let Some((&first, rest)) = hops.split_first() else {
            return;
        };
        let to = |from: u32, to: u32| {
            let hop = needs[from as usize].iter().find(|&&(needed, _)| needed == to);
            hop.map_or(closing, |&(_, span)| span)
        };
        let mut found = if rest.is_empty() {
            CYCLE.at(closing, format!("`{}` needs itself", name(first).value)).label("needed here")
        } else {
            let second = rest[0];
            let message = format!("`{}` needs itself, through `{}`", name(first).value, name(second).value);
            CYCLE.at(to(first, second), message).label(format!("needs `{}`", name(second).value))
        };
        for (index, &hop) in rest.iter().enumerate() {
            let next = rest.get(index + 1).copied().unwrap_or(first);
            let message = format!("`{}` needs `{}`", name(hop).value, name(next).value);
            found = found.related(to(hop, next), message);
        }
        self.error(found);
    }

    fn compute(&mut self, index: usize, launch: &mut params::Binder<'_>) {
        let Constant { file, expr, of, name, .. } = self.constants[index];
        let scope = self.scope(file);
        let value = match of {
            Of::Let => expr.map_or_else(|| Val::hole(name.span), |expr| self.eval(expr, &scope)),
            Of::Param(id, param) => {
                let value = self.param(id, param, launch);
                self.param_values[id.index()] = value.clone();
                value
            }
        };
        self.constants[index].value = value;
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Circular,
    Done,
}

/// Every name that an expression begins a reference with, f-strings included.
pub(super) fn heads<'e>(expr: &'e ast::Expr, found: &mut impl FnMut(&'e ast::Ident)) {
    let mut stack = vec![expr];
    while let Some(expr) = stack.pop() {
        match &expr.kind {
            ExprKind::Format(format) => stack.extend(parts(format)),
            ExprKind::Reference(reference) => match &reference.head {
                Head::Ident(ident) => found(ident),
                Head::Template(format) => stack.extend(parts(format)),
            },
            ExprKind::Call(_, arguments) => stack.extend(arguments.iter().map(|argument| &argument.value)),
            ExprKind::List(items) => stack.extend(items.iter().rev()),
            ExprKind::Map(entries) => stack.extend(entries.iter().rev().map(|entry| &entry.value)),
            ExprKind::Binary(left, _, right) => stack.extend([right.as_ref(), left.as_ref()]),
            ExprKind::Not(inner) | ExprKind::Paren(inner) => stack.push(inner),
            ExprKind::String(_)
            | ExprKind::Number(_)
            | ExprKind::Duration(_)
            | ExprKind::Boolean(_)
            | ExprKind::Record(_)
            | ExprKind::Broken => {}
        }
    }
}

fn parts(format: &ast::FString) -> impl Iterator<Item = &ast::Expr> {
    format.parts.iter().rev().filter_map(|part| match part {
        FPart::Expr(expr) => Some(expr),
        FPart::Text(_) => None,
    })
}
