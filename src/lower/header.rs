//! `plan`: the header's fields, but for `defaults`, which the tasks' fields read.

use camino::Utf8Path;

use super::Lower;
use super::common::{shell, small};
use super::fields::{self, Fields};
use super::files;
use super::names::Scope;
use crate::glob::Glob;
use crate::ir::{Budget, OnFailure, Reserve, WorkspaceKind};
use crate::load;
use crate::reference::table;
use crate::source::{Spanned, Text};
use crate::syntax::ast::{self, Name};

impl<'a> Lower<'a, '_> {
    pub(super) fn header(&mut self) {
        let Some(block) = self.header else {
            return;
        };
        let scope = self.scope(0);
        self.plan.doc = block.doc.clone();
        self.plan.span = block.span;
        match &block.name {
            Some(Name::Text(name)) if name.value.trim().is_empty() => {
                self.error(fields::UNUSABLE.at(name.span, "the plan's name is empty"));
            }
            Some(Name::Text(name)) => self.plan.name = name.value.clone(),
            Some(Name::Ident(_) | Name::Template(_)) | None => self.hole(),
        }
        let fields = self.fields(block, false);
        self.only_holds(block);
        if let Some(expr) = fields.get(&table::GOAL) {
            self.plan.header.goal = self.filled(&table::GOAL, expr, &scope).map(|goal| goal.value);
        }
        if let Some(expr) = fields.get(&table::BUDGET) {
            self.plan.header.budget = self.budget(expr, &scope);
        }
        if let Some(expr) = fields.get(&table::RESULT) {
            self.plan.header.result = self.task_named(&table::RESULT, expr, &scope);
        }
        if let Some(expr) = fields.get(&table::FROZEN) {
            let globs = self.distinct(&table::FROZEN, expr, &scope).unwrap_or_default();
            self.plan.header.frozen = globs.into_iter().filter(|glob| self.is_glob(glob)).collect();
        }
        if let Some(expr) = fields.get(&table::RESERVE) {
            self.plan.header.reserve = self.reserve(expr, &scope);
        }
        self.header_words(&fields, &scope);
        self.plan.header.max_repairs = match fields.get(&table::MAX_REPAIRS) {
            Some(expr) => self.integer(&table::MAX_REPAIRS, expr, &scope).map_or(3, |most| small(most.value)),
            None => 3,
        };
    }

    /// Whether files of the pack can match; says why not.
    fn is_glob(&mut self, glob: &Spanned<Text>) -> bool {
        let text = glob.value.as_str();
        let name = table::FROZEN.name;
        let unusable = |message: String| fields::UNUSABLE.at(glob.span, message).label("matches no file");
        let found = if load::resolve(Utf8Path::new(""), text).is_none() {
            files::outside(glob.span, text, "the pack")
        } else if text.split('/').any(|part| part == "..") {
            unusable(format!("`{name}` takes paths without `..`")).help("write the path from the pack's root")
        } else if let Some(directory) = text.strip_suffix('/') {
            unusable(format!("`{text}` is a directory, and `{name}` lists files"))
                .help(format!("write `\"{directory}/**\"` for all files in it"))
        } else if text.split_once('{').is_some_and(|(_, rest)| rest.contains('}')) {
            unusable(format!("`{text}` has braces, which choose nothing in a glob"))
                .help("list each of the alternatives")
        } else if !Glob::new(text).is_valid() {
            unusable(format!("`{text}` is no glob")).help("close each `[` with a `]`, as in `[a-z]`")
        } else {
            return true;
        };
        self.error(found);
        false
    }

    fn header_words(&mut self, fields: &Fields<'a>, scope: &Scope) {
        if let Some(expr) = fields.get(&table::WORKSPACE)
            && let Some(word) = self.word(&table::WORKSPACE, expr, scope)
        {
            let git = word.value == "git";
            self.plan.header.workspace = if git { WorkspaceKind::Git } else { WorkspaceKind::Direct };
        }
        if let Some(expr) = fields.get(&table::HEADER_SHELL)
            && let Some(word) = self.word(&table::HEADER_SHELL, expr, scope)
        {
            self.plan.header.shell = shell(word.value);
        }
        if let Some(expr) = fields.get(&table::ON_FAILURE)
            && let Some(word) = self.word(&table::ON_FAILURE, expr, scope)
        {
            let on = if word.value == "continue" { OnFailure::Continue } else { OnFailure::Halt };
            self.plan.header.on_failure = on;
        }
    }

    fn budget(&mut self, expr: &'a ast::Expr, scope: &Scope) -> Budget {
        let mut budget = Budget::default();
        for (row, value) in self.nested(&table::BUDGET, expr, scope).unwrap_or_default() {
            if std::ptr::eq(row, &raw const table::USD) {
                budget.usd = self.money(row, value, scope);
            } else if std::ptr::eq(row, &raw const table::TIME) {
                budget.time = self.duration(row, value, scope);
            } else {
                let steps = self.integer(row, value, scope);
                budget.steps = steps.map(|steps| steps.map(|steps| u64::try_from(steps).unwrap_or(0)));
            }
        }
        budget
    }

    fn reserve(&mut self, expr: &'a ast::Expr, scope: &Scope) -> Reserve {
        let mut reserve = Reserve { span: Some(expr.span), ..Reserve::default() };
        for (row, value) in self.nested(&table::RESERVE, expr, scope).unwrap_or_default() {
            if std::ptr::eq(row, &raw const table::RESERVE_USD) {
                reserve.usd =
                    self.money(row, value, scope).map(|usd: Spanned<_>| usd.value).unwrap_or_default();
            } else if let Some(time) = self.duration(row, value, scope) {
                reserve.time = time.value;
            }
        }
        reserve
    }
}
