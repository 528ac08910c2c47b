//! Conditions, with their names resolved: `when` over results, and the edges of a machine.
//!
//! Leaves to `validate` whether what is compared can ever be equal, and whether the task waits for it.

use super::Lower;
use super::names::{self, Scope, What};
use super::route::questions_of;
use super::value::Data;
use crate::diag::{Code, Severity, suggest};
use crate::ir::condition::{Comparison, Operand};
use crate::ir::{Condition, TaskId, Value};
use crate::reference::{Keyword, table};
use crate::source::{Span, Spanned, Text};
use crate::syntax::ast::{self, ExprKind, Head, Operator};

/// A condition that cannot be read.
pub(crate) static UNREADABLE: Code = Code {
    id: "plan::when::unreadable",
    severity: Severity::Error,
    summary: "A condition that cannot be read",
    explain: "A `when` compares `task.field`, `task.last_line`, `task.status`, `route.question` (or `route` alone, if \
              it has one question), and in a mapped task `item`, with values. An edge of a machine reads `outcome`, \
              `last_line`, `preferred_label`, `output.field` and `context.key`.\n\nOperators are `==`, `!=`, `<`, \
              `<=`, `>`, `>=`, `in`, `not in`, `and`, `or` and `not`.",
};

/// What a condition may read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// Results of tasks.
    Tasks,
    /// What a machine knows on an edge.
    Edge,
}

/// What an edge can read, as written.
const EDGE: [&str; 5] = ["outcome", "last_line", "preferred_label", "output", "context"];

impl<'a> Lower<'a, '_> {
    /// The condition of a task.
    pub(super) fn when(&mut self, expr: &ast::Expr, scope: &Scope) -> Option<Condition> {
        self.condition(expr, scope, Reads::Tasks)
    }

    /// The condition of an edge.
    pub(super) fn edge_condition(&mut self, expr: &ast::Expr, scope: &Scope) -> Option<Condition> {
        self.condition(expr, scope, Reads::Edge)
    }

    fn condition(&mut self, expr: &ast::Expr, scope: &Scope, reads: Reads) -> Option<Condition> {
        match &expr.kind {
            ExprKind::Paren(inner) => self.condition(inner, scope, reads),
            ExprKind::Not(inner) => Some(Condition::Not(Box::new(self.condition(inner, scope, reads)?))),
            ExprKind::Binary(left, operator, right) => match comparison(operator.value) {
                Some(comparison) => {
                    let left = self.operand(left, scope, reads, false);
                    let listed = matches!(comparison, Comparison::In | Comparison::NotIn);
                    let list = right.span;
                    let right = self.operand(right, scope, reads, listed);
                    if let Some(value) = right.as_ref().and_then(Operand::value)
                        && listed
                        && !matches!(value, Value::List(_))
                    {
                        let found = UNREADABLE.at(list, "`in` looks for a value in a list");
                        self.error(found.label("no list").help("write `[…]` at its right"));
                        return None;
                    }
                    Some(Condition::Compare {
                        left: left?,
                        operator: comparison,
                        right: right?,
                        span: expr.span,
                    })
                }
                None if operator.value == Operator::Add => self.holds(expr, scope, reads),
                None => self.chain(expr, operator.value, scope, reads),
            },
            ExprKind::Call(name, arguments) if name.value == "otherwise" && reads == Reads::Tasks => {
                self.otherwise_call(name, arguments, expr.span, scope)
            }
            ExprKind::String(_)
            | ExprKind::Format(_)
            | ExprKind::Number(_)
            | ExprKind::Duration(_)
            | ExprKind::Boolean(_)
            | ExprKind::Reference(_)
            | ExprKind::Call(..)
            | ExprKind::List(_)
            | ExprKind::Map(_)
            | ExprKind::Record(_)
            | ExprKind::Broken => self.holds(expr, scope, reads),
        }
    }

    /// `a and b and c`, or with `or`: without recursion along the left, since it may have any length.
    fn chain(
        &mut self,
        expr: &ast::Expr,
        operator: Operator,
        scope: &Scope,
        reads: Reads,
    ) -> Option<Condition> {
        let mut parts = Vec::new();
        let mut left = expr;
        while let ExprKind::Binary(rest, found, part) = &left.kind
            && found.value == operator
        {
            parts.push(part.as_ref());
            left = rest;
        }
        parts.push(left);
        let read: Vec<Option<Condition>> =
            parts.into_iter().rev().map(|part| self.condition(part, scope, reads)).collect();
        let read = read.into_iter().collect::<Option<Vec<Condition>>>()?;
        Some(if operator == Operator::Or { Condition::Or(read) } else { Condition::And(read) })
    }

    /// An operand that stands alone.
    fn holds(&mut self, expr: &ast::Expr, scope: &Scope, reads: Reads) -> Option<Condition> {
        let operand = self.operand(expr, scope, reads, false)?;
        if let Some(value) = operand.value()
            && !matches!(value, Value::Boolean(_))
        {
            let found = UNREADABLE.at(expr.span, "a value alone is no condition");
            self.error(found.label("not a boolean").help("compare it, as in `task.field == \"value\"`"));
            return None;
        }
        Some(Condition::Holds { operand, span: expr.span })
    }

    fn operand(&mut self, expr: &ast::Expr, scope: &Scope, reads: Reads, listed: bool) -> Option<Operand> {
        let mut inner = expr;
        while let ExprKind::Paren(within) = &inner.kind {
            inner = within;
        }
        if let ExprKind::Reference(reference) = &inner.kind
            && let Some(read) = self.read(reference, inner.span, scope, reads)
        {
            return read;
        }
        if let ExprKind::Call(name, _) = &inner.kind
            && name.value == "otherwise"
        {
            let message = match reads {
                Reads::Tasks => "`otherwise()` is a condition, and cannot be compared",
                Reads::Edge => "an edge cannot read `otherwise()`",
            };
            self.error(UNREADABLE.at(inner.span, message));
            return None;
        }
        if let ExprKind::Binary(_, operator, _) = &inner.kind
            && operator.value != Operator::Add
        {
            let found = UNREADABLE.at(inner.span, "a condition cannot be compared");
            self.error(found.help("join conditions with `and`, `or` and `not`"));
            return None;
        }
        let value = self.eval(expr, scope);
        if value.is_hole() {
            self.hole();
            return None;
        }
        let external = value.taint.map(|param| {
            let whole = value.whole.then(|| self.plan.params[param.index()].ty.clone());
            (Text::from(self.slice(expr.span)), whole.unwrap_or_else(|| value.unknown_type()))
        });
        if let Some((name, ty)) = &external
            && value.is_unknown()
        {
            return Some(Operand::Parameter { name: name.clone(), ty: ty.clone(), value: None });
        }
        let known = match value.plain() {
            Some(known @ (Value::List(_) | Value::Map(_))) if !listed => Err(known),
            Some(Value::Map(map)) => Err(Value::Map(map)),
            Some(known) => Ok(known),
            None => {
                if let Some((name, ty)) = external
                    && matches!(value.data, Data::List(_))
                {
                    return Some(Operand::Parameter { name, ty, value: None });
                }
                let message = format!("{} cannot be compared", value.describe());
                self.error(UNREADABLE.at(expr.span, message));
                return None;
            }
        };
        match known {
            Ok(known) => Some(match external {
                Some((name, ty)) => Operand::Parameter { name, ty, value: Some(known) },
                None => Operand::Literal(known),
            }),
            Err(_) => {
                let message = format!("{} cannot be compared", value.describe());
                let found = UNREADABLE.at(expr.span, message);
                self.error(
                    found.maybe_help(
                        matches!(value.data, Data::List(_))
                            .then(|| "use `in` with a list at its right".to_owned()),
                    ),
                );
                None
            }
        }
    }

    /// What a reference reads; none if it stands for a value known already.
    #[expect(
        clippy::option_option,
        reason = "the outer says whether it was one, the inner whether it could be read"
    )]
    fn read(
        &mut self,
        reference: &ast::Reference,
        span: Span,
        scope: &Scope,
        reads: Reads,
    ) -> Option<Option<Operand>> {
        if let Head::Ident(head) = &reference.head {
            if reads == Reads::Edge && EDGE.contains(&head.value.as_str()) {
                return Some(self.edge_operand(head, &reference.path));
            }
            if scope.local(&head.value).is_some() {
                return None;
            }
            let decl = self.names.get(scope.file, &head.value).map(|decl| decl.what);
            match decl {
                Some(What::Let(_) | What::Param(_)) => return None,
                Some(_) => {}
                None if head.value == "item" && reads == Reads::Tasks => {
                    let path = reference.path.iter().map(|member| member.value.clone()).collect();
                    return Some(Some(Operand::Item(path)));
                }
                None if reads == Reads::Edge => {
                    self.unreadable_edge(head);
                    return Some(None);
                }
                None => {}
            }
        }
        if reads == Reads::Edge {
            let written = self.slice(span).to_owned();
            let found = UNREADABLE.at(span, format!("an edge cannot read `{written}`"));
            self.error(found.label("no result of the node that just ran").help(
                "an edge reads `outcome`, `last_line`, `preferred_label`, `output.field` and `context.key`",
            ));
            return Some(None);
        }
        Some(self.task_operand(reference, span, scope))
    }

    fn unreadable_edge(&mut self, head: &ast::Ident) {
        let near = suggest::did_you_mean(&head.value, EDGE).unwrap_or_else(|| {
            "an edge reads `outcome`, `last_line`, `preferred_label`, `output.field` and `context.key`".into()
        });
        let message = format!("an edge cannot read `{}`", head.value);
        self.error(UNREADABLE.at(head.span, message).label("names nothing here").help(near));
    }

    fn edge_operand(&mut self, head: &ast::Ident, path: &[ast::Ident]) -> Option<Operand> {
        let members: Vec<Text> = path.iter().map(|member| member.value.clone()).collect();
        let plain = match head.value.as_str() {
            "outcome" => Operand::Outcome,
            "last_line" => Operand::NodeLastLine,
            "preferred_label" => Operand::PreferredLabel,
            word => {
                if members.is_empty() {
                    let found = UNREADABLE.at(head.span, format!("`{word}` alone cannot be compared"));
                    self.error(found.help(format!("name a member, as in `{word}.key`")));
                    return None;
                }
                return Some(if word == "output" {
                    Operand::Output(members)
                } else {
                    Operand::Context(members)
                });
            }
        };
        if let Some(member) = path.first() {
            self.error(UNREADABLE.at(member.span, format!("`{}` has no members", head.value)));
            return None;
        }
        Some(plain)
    }

    fn task_operand(&mut self, reference: &ast::Reference, span: Span, scope: &Scope) -> Option<Operand> {
        let name = self.head_name(&reference.head, scope)?;
        let task = self.task_read(&name, scope)?;
        let Some((first, rest)) = reference.path.split_first() else {
            return self.whole_task(task, &name, span);
        };
        let alone = |operand| if rest.is_empty() { Some(operand) } else { None };
        let read = match first.value.as_str() {
            "status" => alone(Operand::Status(task)),
            "last_line" => alone(Operand::LastLine(task)),
            field if self.asks(task, field) => alone(Operand::Answer(task, field.into())),
            _ => {
                let path = reference.path.iter().map(|member| member.value.clone()).collect();
                return Some(Operand::Field(task, path));
            }
        };
        if read.is_none() {
            let found = UNREADABLE.at(span, format!("`{}` has no members", first.value));
            self.error(found.label("is a plain value"));
        }
        read
    }

    /// The task that a condition reads.
    fn task_read(&mut self, name: &Spanned<Text>, scope: &Scope) -> Option<TaskId> {
        let Some(decl) = self.names.get(scope.file, &name.value) else {
            let near = self.nearest(&name.value, scope.file, |what| {
                matches!(what, What::Task(_) | What::Let(_) | What::Param(_))
            });
            let message = format!("no task is called `{}`", name.value);
            self.error(names::UNKNOWN.at(name.span, message).label("names nothing").maybe_help(near));
            return None;
        };
        decl.used.set(true);
        let (what, first) = (decl.what, decl.span);
        match what {
            What::Task(task) => Some(task),
            What::Broken => {
                self.hole();
                None
            }
            What::Param(_)
            | What::Let(_)
            | What::Profile(_)
            | What::Session(_)
            | What::Group(_)
            | What::Template(_)
            | What::Gate
            | What::Resolve
            | What::Foreign => {
                let message = format!("`{}` is {}, and has no result", name.value, what.describe());
                self.error(names::WRONG_SORT.at(name.span, message).related(first, "declared here"));
                None
            }
        }
    }

    /// A task's name alone: a route with a single question.
    fn whole_task(&mut self, task: TaskId, name: &Spanned<Text>, span: Span) -> Option<Operand> {
        let block = self.pending[task.index()].block;
        let route = block.filter(|block| block.keyword.value == Keyword::Route);
        let Some(route) = route else {
            if block.is_none() {
                self.hole();
                return None;
            }
            let found = UNREADABLE.at(span, format!("`{}` alone says nothing of its result", name.value));
            let gate = block.is_some_and(|block| block.keyword.value == Keyword::Gate);
            self.error(match gate {
                true => found.label("a gate").help(format!("read its answer, `{}.answer`", name.value)),
                false => found
                    .label("a task")
                    .help(format!("read a field, `{0}.last_line` or `{0}.status`", name.value)),
            });
            return None;
        };
        let mut questions = questions_of(route).filter_map(|question| match &question.name {
            Some(ast::Name::Ident(name)) => Some(&name.value),
            Some(ast::Name::Template(_) | ast::Name::Text(_)) | None => None,
        });
        match (questions.next(), questions.next()) {
            (Some(only), None) => Some(Operand::Answer(task, only.clone())),
            (Some(first), Some(_)) => {
                let message = format!("`{}` asks several questions", name.value);
                let found = UNREADABLE.at(span, message).label("which one?");
                self.error(found.help(format!("name it, as in `{}.{first}`", name.value)));
                None
            }
            (None, _) => {
                self.hole();
                None
            }
        }
    }

    /// Whether a task answers a question of that name.
    fn asks(&self, task: TaskId, question: &str) -> bool {
        let Some(block) = self.pending[task.index()].block else {
            return false;
        };
        match block.keyword.value {
            Keyword::Route => questions_of(block).any(|asked| match &asked.name {
                Some(ast::Name::Ident(name)) => name.value == question,
                Some(ast::Name::Template(_) | ast::Name::Text(_)) | None => false,
            }),
            Keyword::Gate => question == "answer",
            Keyword::Plan
            | Keyword::Param
            | Keyword::Let
            | Keyword::Profile
            | Keyword::Session
            | Keyword::Group
            | Keyword::For
            | Keyword::Template
            | Keyword::Use
            | Keyword::Import
            | Keyword::Verify
            | Keyword::Resolve
            | Keyword::Continue
            | Keyword::Question
            | Keyword::Command
            | Keyword::Evaluate
            | Keyword::Agent
            | Keyword::TopK
            | Keyword::Report
            | Keyword::Call
            | Keyword::Machine => false,
        }
    }

    /// `otherwise(route.question)`. Its labels are filled in once every condition is known.
    fn otherwise_call(
        &mut self,
        name: &ast::Ident,
        arguments: &[ast::Argument],
        span: Span,
        scope: &Scope,
    ) -> Option<Condition> {
        let form = table::FUNCTIONS.iter().find(|row| row.name == name.value).map_or("", |row| row.form);
        let [ast::Argument { name: None, value }] = arguments else {
            let found = UNREADABLE.at(span, "`otherwise()` takes one question");
            self.error(found.help(format!("write `{form}`")));
            return None;
        };
        let ExprKind::Reference(reference) = &value.kind else {
            if !matches!(value.kind, ExprKind::Broken) {
                let found = UNREADABLE.at(value.span, "`otherwise()` takes a question of a route");
                self.error(found.label("no question").help(format!("write `{form}`")));
            }
            self.hole();
            return None;
        };
        match self.task_operand(reference, value.span, scope)? {
            Operand::Answer(task, question) => {
                Some(Condition::Otherwise { task, question, labels: Vec::new(), span })
            }
            Operand::Field(task, _) | Operand::LastLine(task) | Operand::Status(task) => {
                if self.pending[task.index()].block.is_none() {
                    self.hole();
                    return None;
                }
                let written = self.slice(value.span).to_owned();
                let message = format!("`{written}` is no question of a route");
                let asked = self.questions(task);
                let near = reference
                    .path
                    .first()
                    .and_then(|member| suggest::did_you_mean(&member.value, asked.iter().map(Text::as_str)));
                self.error(UNREADABLE.at(value.span, message).label("no question").maybe_help(near));
                None
            }
            Operand::Literal(_)
            | Operand::Parameter { .. }
            | Operand::Item(_)
            | Operand::Outcome
            | Operand::NodeLastLine
            | Operand::PreferredLabel
            | Operand::Output(_)
            | Operand::Context(_) => None,
        }
    }

    fn questions(&self, task: TaskId) -> Vec<Text> {
        let names = |block: &ast::Block| match &block.name {
            Some(ast::Name::Ident(name)) => Some(name.value.clone()),
            Some(ast::Name::Template(_) | ast::Name::Text(_)) | None => None,
        };
        let block = self.pending[task.index()].block;
        block.into_iter().flat_map(questions_of).filter_map(names).collect()
    }
}

fn comparison(operator: Operator) -> Option<Comparison> {
    Some(match operator {
        Operator::Equal => Comparison::Equal,
        Operator::NotEqual => Comparison::NotEqual,
        Operator::Less => Comparison::Less,
        Operator::LessEqual => Comparison::LessEqual,
        Operator::Greater => Comparison::Greater,
        Operator::GreaterEqual => Comparison::GreaterEqual,
        Operator::In => Comparison::In,
        Operator::NotIn => Comparison::NotIn,
        Operator::Or | Operator::And | Operator::Add => return None,
    })
}
