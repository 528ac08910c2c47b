//! References to tasks and groups: in `depends_on`, `over`, `keyed`, `revise`, `result` and their like.
//!
//! Leaves to `validate` whether such an edge makes sense; here a name becomes an id.

use super::Lower;
use super::fields;
use super::names::{self, Scope, What};
use super::value::{Data, Val};
use crate::diag::{Code, Severity};
use crate::ir::{Dependency, Over, ParamType, TaskId};
use crate::reference::{Field, Kind, table};
use crate::source::{Span, Spanned, Text};
use crate::syntax::ast::{self, ExprKind, Head};

/// A task that is listed twice.
pub(crate) static TWICE: Code = Code {
    id: "plan::depends_on::twice",
    severity: Severity::Error,
    summary: "A task that is listed twice",
    explain: "A list of tasks names each task or group once. Naming a group and one of its tasks is fine.",
};

/// What a name of a task may also be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Task,
    TaskOrGroup,
}

impl Wanted {
    fn fits(self, what: What) -> bool {
        match what {
            What::Task(_) => true,
            What::Group(_) => self == Self::TaskOrGroup,
            What::Param(_)
            | What::Let(_)
            | What::Profile(_)
            | What::Session(_)
            | What::Template(_)
            | What::Gate
            | What::Resolve
            | What::Foreign
            | What::Broken => false,
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Task => "a task",
            Self::TaskOrGroup => "a task or a group",
        }
    }
}

/// A task or group that was named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    Task(TaskId),
    Group(usize),
}

impl<'a> Lower<'a, '_> {
    /// The tasks that `id` waits for: groups spread, each task once.
    pub(super) fn depends_on(&mut self, id: TaskId, expr: &'a ast::Expr, scope: &Scope) -> Vec<Dependency> {
        let row = &table::DEPENDS_ON;
        let Some(items) = self.written_list(row, expr, scope) else {
            return Vec::new();
        };
        let mut found: Vec<Dependency> = Vec::with_capacity(items.len());
        let mut groups: Vec<(usize, Span)> = Vec::new();
        for item in items {
            match self.named_task(row, item, scope, Wanted::TaskOrGroup) {
                Some(Named::Task(task)) => {
                    if self.stamps[task.index()] == id.0 {
                        // It may stand there for its group, which is no mistake.
                        if let Some(first) = direct(&found, task, &groups, &self.members) {
                            self.twice(row, item.span, first);
                        }
                        continue;
                    }
                    self.stamps[task.index()] = id.0;
                    found.push(Dependency { task, span: item.span });
                }
                Some(Named::Group(group)) => {
                    if let Some(&(_, first)) = groups.iter().find(|(known, _)| *known == group) {
                        self.twice(row, item.span, first);
                        continue;
                    }
                    groups.push((group, item.span));
                    for task in self.members[group].clone().map(TaskId) {
                        if self.stamps[task.index()] != id.0 {
                            self.stamps[task.index()] = id.0;
                            found.push(Dependency { task, span: item.span });
                        }
                    }
                }
                None => {}
            }
        }
        found
    }

    fn twice(&mut self, row: &Field, again: Span, first: Span) {
        let name = self.slice(again).to_owned();
        self.error(
            TWICE
                .at(again, format!("`{}` lists `{name}` twice", row.name))
                .label("listed again")
                .related(first, "listed here already"),
        );
    }

    /// The elements of a list that stands as written.
    fn written_list(
        &mut self,
        row: &'static Field,
        expr: &'a ast::Expr,
        scope: &Scope,
    ) -> Option<&'a [ast::Expr]> {
        match &unwrapped(expr).kind {
            ExprKind::List(items) => Some(items),
            ExprKind::Broken => {
                self.hole();
                None
            }
            ExprKind::Reference(_) => {
                // One name where a list belongs: say so, and whether there is such a name.
                let wanted = if matches!(row.kind, Kind::Tasks) { Wanted::TaskOrGroup } else { Wanted::Task };
                if self.named_task(row, expr, scope, wanted).is_some() {
                    let name = self.slice(expr.span).to_owned();
                    let message = format!("`{}` takes {}, not one name", row.name, row.kind.describe());
                    let found = fields::MISMATCH.at(expr.span, message).label("no list");
                    self.error(found.help(format!("write `{} = [{name}]`", row.name)));
                }
                None
            }
            ExprKind::String(_)
            | ExprKind::Format(_)
            | ExprKind::Number(_)
            | ExprKind::Duration(_)
            | ExprKind::Boolean(_)
            | ExprKind::Call(..)
            | ExprKind::Map(_)
            | ExprKind::Record(_)
            | ExprKind::Binary(..)
            | ExprKind::Not(_)
            | ExprKind::Paren(_) => {
                if let Some(value) = self.value(row, expr, scope) {
                    self.mismatch(row, &value);
                }
                None
            }
        }
    }

    /// `a`, or `[a, b]`: tasks, each once.
    pub(super) fn tasks_named(
        &mut self,
        row: &'static Field,
        expr: &'a ast::Expr,
        scope: &Scope,
    ) -> Vec<Spanned<TaskId>> {
        let items = match &unwrapped(expr).kind {
            ExprKind::List(items) => items.as_slice(),
            _ => std::slice::from_ref(expr),
        };
        if items.is_empty() {
            self.error(fields::UNUSABLE.at(expr.span, format!("`{}` lists no task", row.name)));
        }
        let mut found: Vec<Spanned<TaskId>> = Vec::new();
        for item in items {
            let Some(task) = self.task_named(row, item, scope) else {
                continue;
            };
            match found.iter().find(|known| known.value == task.value).map(|known| known.span) {
                Some(first) => self.twice(row, item.span, first),
                None => found.push(task),
            }
        }
        found
    }

    /// One task.
    pub(super) fn task_named(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Spanned<TaskId>> {
        match self.named_task(row, expr, scope, Wanted::Task)? {
            Named::Task(task) => Some(Spanned::new(task, expr.span)),
            Named::Group(_) => None,
        }
    }

    fn named_task(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
        wanted: Wanted,
    ) -> Option<Named> {
        match &unwrapped(expr).kind {
            ExprKind::Reference(reference) => {
                let name = self.head_name(&reference.head, scope)?;
                if let Some(member) = reference.path.first() {
                    let message = format!("`{}` takes {}, not a field of one", row.name, wanted.describe());
                    let found = fields::MISMATCH.at(expr.span, message);
                    self.error(found.label(format!("`.{}` is too much", member.value)));
                    return None;
                }
                self.task_called(&name, scope, wanted)
            }
            ExprKind::Format(format) => {
                let name = self.unrolled(format, scope)?;
                self.task_called(&name, scope, wanted)
            }
            ExprKind::Broken => {
                self.hole();
                None
            }
            ExprKind::String(text) => {
                let near = self.names.get(scope.file, text).filter(|decl| wanted.fits(decl.what));
                let help = near.map(|_| format!("write `{text}`, without quotes"));
                let message = format!("`{}` takes {}, not a string", row.name, wanted.describe());
                self.error(fields::MISMATCH.at(expr.span, message).label("a string").maybe_help(help));
                None
            }
            ExprKind::List(items) => {
                let message = format!("`{}` takes {}, not a list", row.name, wanted.describe());
                let found = fields::MISMATCH.at(expr.span, message).label("a list");
                let help = match items.as_slice() {
                    [only] => Some(format!("write `{}`", self.slice(only.span))),
                    _ => None,
                };
                self.error(found.maybe_help(help));
                None
            }
            ExprKind::Number(_)
            | ExprKind::Duration(_)
            | ExprKind::Boolean(_)
            | ExprKind::Call(..)
            | ExprKind::Map(_)
            | ExprKind::Record(_)
            | ExprKind::Binary(..)
            | ExprKind::Not(_)
            | ExprKind::Paren(_) => {
                let value = self.eval(expr, scope);
                if !value.is_hole() {
                    let message =
                        format!("`{}` takes {}, not {}", row.name, wanted.describe(), value.describe());
                    self.error(fields::MISMATCH.at(expr.span, message).label(value.describe()));
                }
                None
            }
        }
    }

    /// The name that a reference begins with.
    pub(super) fn head_name(&mut self, head: &Head, scope: &Scope) -> Option<Spanned<Text>> {
        match head {
            Head::Ident(ident) => Some(ident.clone()),
            Head::Template(format) => self.unrolled(format, scope),
        }
    }

    /// The name that an f-string yields.
    fn unrolled(&mut self, format: &ast::FString, scope: &Scope) -> Option<Spanned<Text>> {
        let value = self.format(format, scope);
        if let Some(param) = value.taint {
            self.reaches(param, format.span, "a name");
            return None;
        }
        if value.is_hole() {
            self.hole();
        }
        Some(Spanned::new(value.text()?, format.span))
    }

    fn task_called(&mut self, name: &Spanned<Text>, scope: &Scope, wanted: Wanted) -> Option<Named> {
        if let Some(local) = scope.local(&name.value) {
            let text = local.value.text().unwrap_or_default();
            let declared = local.name.span;
            let message = format!("`{}` is a value, not {}", name.value, wanted.describe());
            let found = names::WRONG_SORT.at(name.span, message).related(declared, "declared here");
            let known = self.names.get(0, &text).is_some_and(|decl| wanted.fits(decl.what));
            let help = format!("write `f\"{{{}}}\"` for the task of that name", name.value);
            self.error(found.maybe_help(known.then_some(help)));
            return None;
        }
        let Some(decl) = self.names.get(scope.file, &name.value) else {
            let near = self.nearest(&name.value, scope.file, |what| wanted.fits(what));
            let message = match wanted {
                Wanted::Task => format!("no task is called `{}`", name.value),
                Wanted::TaskOrGroup => format!("no task or group is called `{}`", name.value),
            };
            self.error(names::UNKNOWN.at(name.span, message).label("names nothing").maybe_help(near));
            return None;
        };
        decl.used.set(true);
        let (what, declared) = (decl.what, decl.span);
        match what {
            What::Task(task) => Some(Named::Task(task)),
            What::Group(group) if wanted == Wanted::TaskOrGroup => Some(Named::Group(group.index())),
            What::Broken => {
                self.hole();
                None
            }
            What::Group(_)
            | What::Param(_)
            | What::Let(_)
            | What::Profile(_)
            | What::Session(_)
            | What::Template(_)
            | What::Gate
            | What::Resolve
            | What::Foreign => {
                let message = format!("`{}` is {}, not {}", name.value, what.describe(), wanted.describe());
                self.error(names::WRONG_SORT.at(name.span, message).related(declared, "declared here"));
                None
            }
        }
    }

    /// `task.field`, as `over` and `keyed` have it.
    fn task_field(&mut self, row: &'static Field, expr: &ast::Expr, scope: &Scope) -> Option<(TaskId, Text)> {
        let ExprKind::Reference(reference) = &unwrapped(expr).kind else {
            if let Some(value) = self.value(row, expr, scope) {
                self.mismatch(row, &value);
            }
            return None;
        };
        let name = self.head_name(&reference.head, scope)?;
        let Named::Task(task) = self.task_called(&name, scope, Wanted::Task)? else {
            return None;
        };
        match reference.path.as_slice() {
            [field] => Some((task, field.value.clone())),
            [] => {
                let message = format!("`{}` takes a field of a task, not the task", row.name);
                let help = format!("name the field, as in `{}.items`", name.value);
                self.error(fields::MISMATCH.at(expr.span, message).label("a task").help(help));
                None
            }
            [_, deeper, ..] => {
                let message = format!("`{}` takes a field of a task, not a member of one", row.name);
                self.error(fields::MISMATCH.at(deeper.span, message).label("too deep"));
                None
            }
        }
    }

    /// A list of `task.field`.
    pub(super) fn task_fields(
        &mut self,
        row: &'static Field,
        expr: &'a ast::Expr,
        scope: &Scope,
    ) -> Option<Vec<Spanned<(TaskId, Text)>>> {
        let ExprKind::List(items) = &unwrapped(expr).kind else {
            if let ExprKind::Reference(_) = &expr.kind {
                let name = self.slice(expr.span).to_owned();
                let message = format!("`{}` takes {}", row.name, row.kind.describe());
                let found = fields::MISMATCH.at(expr.span, message).label("no list");
                self.error(found.help(format!("write `{} = [{name}]`", row.name)));
            } else if let Some(value) = self.value(row, expr, scope) {
                self.mismatch(row, &value);
            }
            return None;
        };
        let read = |item: &ast::Expr, lower: &mut Self| {
            lower.task_field(row, item, scope).map(|found| Spanned::new(found, item.span))
        };
        Some(items.iter().filter_map(|item| read(item, self)).collect())
    }

    /// What a task fans out over.
    pub(super) fn over(&mut self, expr: &ast::Expr, scope: &Scope) -> Option<Over> {
        let row = &table::OVER;
        if let ExprKind::Reference(reference) = &unwrapped(expr).kind
            && let Head::Ident(head) = &reference.head
        {
            let local = scope.local(&head.value).is_some();
            let what = self.names.get(scope.file, &head.value).map(|decl| decl.what);
            if local || matches!(what, Some(What::Let(_) | What::Param(_))) {
                let value = self.value(row, expr, scope)?;
                return self.over_value(row, &value);
            }
        }
        self.task_field(row, expr, scope).map(|(task, field)| Over::Field(task, field))
    }

    /// A list parameter, or a constant that is one.
    fn over_value(&mut self, row: &'static Field, value: &Val) -> Option<Over> {
        match (&value.data, value.taint) {
            (Data::List(_) | Data::Unknown(ParamType::Strings), Some(param)) if value.whole => {
                Some(Over::Param(param))
            }
            (Data::List(_), None) => {
                let message = "`over` takes a result or a list parameter, not a list that is known already";
                let help = "unroll it with `for x in list { … }`";
                self.error(fields::MISMATCH.at(value.span, message).label("a list").help(help));
                None
            }
            _ => {
                self.mismatch(row, value);
                None
            }
        }
    }
}

/// Where `task` is listed by its own name, if it is.
fn direct(
    found: &[Dependency],
    task: TaskId,
    groups: &[(usize, Span)],
    members: &[std::ops::Range<u32>],
) -> Option<Span> {
    let span = found.iter().find(|dependency| dependency.task == task)?.span;
    let by_group = groups.iter().any(|&(group, at)| at == span && members[group].contains(&task.0));
    (!by_group).then_some(span)
}

fn unwrapped(expr: &ast::Expr) -> &ast::Expr {
    let mut inner = expr;
    while let ExprKind::Paren(within) = &inner.kind {
        inner = within;
    }
    inner
}
