//! What an expression is worth while a plan is compiled.
//!
//! There is no arithmetic, no clock, and no result of a task: strings, lists, files and parameters only.

use std::rc::Rc;

use super::Lower;
use super::names::{self, Scope, What};
use super::value::{Builder, Data, Val};
use crate::diag::{Code, Severity, suggest};
use crate::ir::kind::PromptPart;
use crate::ir::{Millis, ParamType};
use crate::reference::table;
use crate::source::{Span, Text};
use crate::syntax::ast::{self, ExprKind, FPart, Head, Operator};

/// A function that does not exist.
pub(crate) static UNKNOWN_FUNCTION: Code = Code {
    id: "plan::value::unknown_function",
    severity: Severity::Error,
    summary: "A function that does not exist",
    explain: "The functions are `file()`, `skill()`, `schema()` and `pack()`, each with one path, and \
              `otherwise()` in a `when`.",
};

/// A function with the wrong arguments.
pub(crate) static ARGUMENTS: Code = Code {
    id: "plan::value::arguments",
    severity: Severity::Error,
    summary: "A function with arguments that it does not take",
    explain: "`file()`, `skill()`, `schema()` and `pack()` take one string, a path relative to the file that \
              names it. `otherwise()` takes a question of a route.",
};

/// Something that has no value while a plan is compiled.
pub(crate) static NO_VALUE: Code = Code {
    id: "plan::value::not_a_value",
    severity: Severity::Error,
    summary: "Something that has no value while a plan is compiled",
    explain: "Values are strings, numbers, durations, booleans, lists and maps, what `file()`, `skill()`, \
              `schema()` and `pack()` give, parameters and lets. Comparisons stand in `when` and on the edges of \
              a machine only.",
};

/// Something that an f-string or `+` cannot join.
pub(crate) static NO_TEXT: Code = Code {
    id: "plan::value::not_joinable",
    severity: Severity::Error,
    summary: "Something that cannot be put into a string or a list",
    explain: "In an f-string, strings, numbers and booleans render; anything else is an error. `+` joins strings \
              with strings, and lists with lists.",
};

/// A member of something that has none.
pub(crate) static NO_MEMBER: Code = Code {
    id: "plan::value::no_member",
    severity: Severity::Error,
    summary: "A key that a map lacks",
    explain: "`x.key` reads a map's member. The map has to have that key, and `x` has to be a map.",
};

/// A value that grew too large.
pub(crate) static TOO_LARGE: Code = Code {
    id: "plan::value::too_large",
    severity: Severity::Error,
    summary: "A value that is too large",
    explain: "A string that is built while a plan is compiled has at most 16 MiB. A list or a map holds at most \
              1,000,000 values and 256 MiB of strings, what its elements hold included, and nests at most 256 \
              deep. Constants that double each other reach any size in a few lines.",
};

const LONGEST_TEXT: usize = 16 * 1024 * 1024;
const MOST_VALUES: u32 = 1_000_000;
const MOST_BYTES: u32 = 256 * 1024 * 1024;
/// What walks a value may recurse this deep.
const DEEPEST: u32 = 256;

impl Lower<'_, '_> {
    /// The value of `expr`; a hole where it has none, which is reported.
    pub(super) fn eval(&mut self, expr: &ast::Expr, scope: &Scope) -> Val {
        let span = expr.span;
        match &expr.kind {
            ExprKind::String(text) => Val::new(Data::Text(text.clone()), span),
            ExprKind::Format(format) => self.format(format, scope),
            ExprKind::Number(number) => Val::new(
                match number.integer {
                    Some(integer) => Data::Integer(integer),
                    None => Data::Number(number.value, number.text.clone()),
                },
                span,
            ),
            ExprKind::Duration(millis) => Val::new(Data::Duration(Millis(*millis)), span),
            ExprKind::Boolean(value) => Val::new(Data::Boolean(*value), span),
            ExprKind::Reference(reference) => self.reference(reference, span, scope),
            ExprKind::Call(name, arguments) => self.call_function(name, arguments, span, scope),
            ExprKind::List(items) => {
                let items: Vec<Val> = items.iter().map(|item| self.eval(item, scope)).collect();
                let taint = items.iter().find_map(|item| item.taint);
                self.held(Val::from(Data::List(items.into()), span, taint))
            }
            ExprKind::Map(entries) => self.map(entries, span, scope),
            ExprKind::Paren(inner) => Val { span, ..self.eval(inner, scope) },
            ExprKind::Binary(_, operator, _) if operator.value == Operator::Add => self.sum(expr, scope),
            ExprKind::Binary(_, operator, _) => {
                self.error(
                    NO_VALUE
                        .at(span, "a comparison has no value here")
                        .label(format!("`{}` stands in `when` and on edges only", self.slice(operator.span))),
                );
                Val::hole(span)
            }
            ExprKind::Not(_) => {
                self.error(
                    NO_VALUE
                        .at(span, "a comparison has no value here")
                        .label("`not` stands in `when` and on edges only"),
                );
                Val::hole(span)
            }
            ExprKind::Record(_) => {
                self.error(
                    NO_VALUE
                        .at(span, "a record of types has no value")
                        .label("types stand in `emits` and after `param name:`")
                        .help("write `=` instead of `:` for a map"),
                );
                Val::hole(span)
            }
            ExprKind::Broken => {
                self.hole();
                Val::hole(span)
            }
        }
    }

    /// The string that an f-string yields.
    pub(super) fn format(&mut self, format: &ast::FString, scope: &Scope) -> Val {
        let mut built = Builder::default();
        let mut broken = false;
        for part in &format.parts {
            match part {
                FPart::Text(text) => built.push_str(text),
                FPart::Expr(expr) => {
                    let value = self.eval(expr, scope);
                    if value.is_hole() {
                        broken = true;
                    } else if !built.push(&value, |param| self.param_name(param)) {
                        broken = true;
                        self.error(
                            NO_TEXT
                                .at(expr.span, format!("{} does not render in a string", value.describe()))
                                .label("strings, numbers and booleans do"),
                        );
                    }
                }
            }
        }
        if broken {
            return Val::hole(format.span);
        }
        self.sized(built, format.span)
    }

    fn sized(&mut self, built: Builder, span: Span) -> Val {
        if built.size() > LONGEST_TEXT {
            self.error(TOO_LARGE.at(span, "this string has more than 16 MiB"));
            return Val::hole(span);
        }
        built.finish(span)
    }

    /// `a + b + c`, without recursion along the left: such a chain may have any length.
    fn sum(&mut self, expr: &ast::Expr, scope: &Scope) -> Val {
        let mut terms = Vec::new();
        let mut left = expr;
        while let ExprKind::Binary(rest, operator, term) = &left.kind
            && operator.value == Operator::Add
        {
            terms.push(term.as_ref());
            left = rest;
        }
        terms.push(left);
        let values: Vec<Val> = terms.into_iter().rev().map(|term| self.eval(term, scope)).collect();
        if values.iter().any(Val::is_hole) {
            return Val::hole(expr.span);
        }
        let is_list = |value: &Val| matches!(value.data, Data::List(_) | Data::Unknown(ParamType::Strings));
        let is_text = |value: &Val| value.text().is_some();
        let lists = is_list(&values[0]);
        let fits = |value: &Val| if lists { is_list(value) } else { is_text(value) };
        if let Some(other) = values.iter().find(|value| !fits(value)) {
            let (first, found) = (values[0].describe(), other.describe());
            let message = if lists || is_text(&values[0]) {
                format!("`+` cannot join {first} and {found}")
            } else {
                format!("`+` cannot join {found}")
            };
            self.error(NO_TEXT.at(other.span, message).label("`+` joins strings, or lists"));
            return Val::hole(expr.span);
        }
        if lists { self.join_lists(&values, expr.span) } else { self.join_texts(&values, expr.span) }
    }

    fn join_texts(&mut self, values: &[Val], span: Span) -> Val {
        let mut built = Builder::default();
        for value in values {
            if built.size() <= LONGEST_TEXT {
                built.push(value, |param| self.param_name(param));
            }
        }
        self.sized(built, span)
    }

    fn join_lists(&mut self, values: &[Val], span: Span) -> Val {
        let taint = values.iter().find_map(|value| value.taint);
        let mut joined = Vec::new();
        for value in values {
            match &value.data {
                // One too many is enough to refuse it.
                Data::List(items) => {
                    let room = (MOST_VALUES as usize + 1).saturating_sub(joined.len());
                    joined.extend(items.iter().take(room).cloned());
                }
                Data::Unknown(ty) => return Val::from(Data::Unknown(ty.clone()), span, taint),
                Data::Text(_)
                | Data::Parts(_)
                | Data::Integer(_)
                | Data::Number(..)
                | Data::Boolean(_)
                | Data::Duration(_)
                | Data::Map(_)
                | Data::Schema(_)
                | Data::Pack(_)
                | Data::Hole => return Val::hole(span),
            }
        }
        self.held(Val::from(Data::List(joined.into()), span, taint))
    }

    /// A list or a map, unless it holds too much: nothing that walks it would end.
    fn held(&mut self, value: Val) -> Val {
        let what = value.describe().trim_start_matches("a ");
        let why = if value.weight.values > MOST_VALUES + 1 {
            format!("this {what} holds more than 1,000,000 values, those of its elements included")
        } else if value.weight.bytes > MOST_BYTES {
            format!("this {what} holds more than 256 MiB of strings")
        } else if value.weight.depth > DEEPEST {
            format!("this {what} nests more than {DEEPEST} deep")
        } else {
            return value;
        };
        if value.weight.broken {
            // What is missing in it may have been too large itself, which is said there.
            self.hole();
        } else {
            self.error(TOO_LARGE.at(value.span, why));
        }
        Val::hole(value.span)
    }

    fn map(&mut self, entries: &[ast::Entry], span: Span, scope: &Scope) -> Val {
        let mut pairs: Vec<(Text, Val)> = Vec::with_capacity(entries.len());
        let mut seen = rustc_hash::FxHashMap::default();
        for entry in entries {
            if let Some(first) = seen.insert(&entry.key.value, entry.key.span) {
                self.error(super::fields::given_twice(&entry.key, first));
                continue;
            }
            pairs.push((entry.key.value.clone(), self.eval(&entry.value, scope)));
        }
        let taint = pairs.iter().find_map(|(_, value)| value.taint);
        self.held(Val::from(Data::Map(pairs.into()), span, taint))
    }

    fn reference(&mut self, reference: &ast::Reference, span: Span, scope: &Scope) -> Val {
        let head = match &reference.head {
            Head::Ident(ident) => ident,
            Head::Template(format) => {
                self.error(
                    names::WRONG_SORT
                        .at(format.span, "the result of a task is not known while a plan is compiled")
                        .label("names a task"),
                );
                return Val::hole(span);
            }
        };
        let Some(mut value) = self.named(head, scope) else {
            return Val::hole(span);
        };
        for member in &reference.path {
            value = self.member(&value, member);
        }
        Val { span, ..value }
    }

    /// The value that a name stands for; none where it stands for none, which is reported.
    fn named(&mut self, name: &ast::Ident, scope: &Scope) -> Option<Val> {
        if let Some(local) = scope.local(&name.value) {
            return Some(local.value.clone());
        }
        let Some(decl) = self.names.get(scope.file, &name.value) else {
            self.unknown_value(name, scope);
            return None;
        };
        decl.used.set(true);
        let (what, first) = (decl.what, decl.span);
        let value = match what {
            What::Let(index) => &self.constants[index as usize].value,
            What::Param(id) => &self.param_values[id.index()],
            What::Broken => {
                self.hole();
                return None;
            }
            What::Profile(_)
            | What::Session(_)
            | What::Group(_)
            | What::Template(_)
            | What::Task(_)
            | What::Gate
            | What::Resolve
            | What::Foreign => {
                let message = format!("`{}` is {}, and has no value here", name.value, what.describe());
                let found = names::WRONG_SORT.at(name.span, message);
                let found = found.label("a value has to stand here").related(first, "declared here");
                self.error(match what {
                    What::Task(_) => found.help(
                        "results are not known while a plan is compiled; they are in the inputs of the tasks \
                         that depend on this one",
                    ),
                    What::Param(_)
                    | What::Let(_)
                    | What::Profile(_)
                    | What::Session(_)
                    | What::Group(_)
                    | What::Template(_)
                    | What::Gate
                    | What::Resolve
                    | What::Foreign
                    | What::Broken => found,
                });
                return None;
            }
        };
        if value.is_hole() {
            // Its own place has the error.
            self.trouble += 1;
            return None;
        }
        Some(value.clone())
    }

    fn unknown_value(&mut self, name: &ast::Ident, scope: &Scope) {
        let locals: Vec<Text> = {
            let mut names = Vec::new();
            let mut next = scope.locals.as_deref();
            while let Some(local) = next {
                names.push(local.name.value.clone());
                next = local.outer.as_deref();
            }
            names
        };
        let near = suggest::did_you_mean(&name.value, locals.iter().map(Text::as_str));
        let near = near.or_else(|| {
            self.nearest(&name.value, scope.file, |what| matches!(what, What::Let(_) | What::Param(_)))
        });
        let found = names::UNKNOWN
            .at(name.span, format!("no value is called `{}`", name.value))
            .label("neither a parameter nor a `let`");
        let using = self.names.own(0, &name.value).filter(|_| scope.file != 0);
        self.error(match using.map(|decl| (decl.what, decl.span)) {
            Some((What::Param(_) | What::Let(_), span)) => found
                .related(span, format!("the plan that imports this file has a `{}`", name.value))
                .help("give the template an argument for it"),
            Some(_) | None => found.maybe_help(near),
        });
    }

    fn member(&mut self, value: &Val, member: &ast::Ident) -> Val {
        match &value.data {
            Data::Map(pairs) => {
                if let Some((_, found)) = pairs.iter().find(|(key, _)| *key == member.value) {
                    return found.clone();
                }
                let near = suggest::did_you_mean(&member.value, pairs.iter().map(|(key, _)| key.as_str()));
                self.error(
                    NO_MEMBER
                        .at(member.span, format!("the map has no key `{}`", member.value))
                        .maybe_help(near),
                );
            }
            Data::Hole => {}
            Data::Text(_)
            | Data::Parts(_)
            | Data::Integer(_)
            | Data::Number(..)
            | Data::Boolean(_)
            | Data::Duration(_)
            | Data::List(_)
            | Data::Schema(_)
            | Data::Pack(_)
            | Data::Unknown(_) => self.error(
                NO_MEMBER
                    .at(member.span, format!("{} has no member `{}`", value.describe(), member.value))
                    .label("only a map has members"),
            ),
        }
        Val::hole(member.span)
    }

    fn call_function(
        &mut self,
        name: &ast::Ident,
        arguments: &[ast::Argument],
        span: Span,
        scope: &Scope,
    ) -> Val {
        let data = match name.value.as_str() {
            "file" => self
                .path_argument(name, arguments, span, scope)
                .and_then(|(path, at)| self.pack_text(&path, at, scope))
                .map(|text| Data::Parts(Rc::new([PromptPart::Text(text)]))),
            "skill" => self
                .path_argument(name, arguments, span, scope)
                .and_then(|(path, at)| self.skill(&path, at, scope))
                .map(|text| Data::Parts(Rc::new([PromptPart::Text(text)]))),
            "schema" => self
                .path_argument(name, arguments, span, scope)
                .and_then(|(path, at)| self.pack_schema(&path, at, scope))
                .map(Data::Schema),
            "pack" => self
                .path_argument(name, arguments, span, scope)
                .and_then(|(path, at)| self.pack_path(&path, at, scope))
                .map(|path| Data::Pack(path.as_str().into())),
            "otherwise" => {
                self.error(NO_VALUE.at(span, "`otherwise()` stands in a `when` only"));
                None
            }
            _ => {
                self.unknown_function(name);
                None
            }
        };
        data.map_or_else(
            || {
                self.hole();
                Val::hole(span)
            },
            |data| Val::new(data, span),
        )
    }

    pub(super) fn unknown_function(&mut self, name: &ast::Ident) {
        let near = suggest::did_you_mean(&name.value, table::FUNCTIONS.iter().map(|row| row.name));
        self.error(
            UNKNOWN_FUNCTION.at(name.span, format!("there is no function `{}`", name.value)).maybe_help(near),
        );
    }

    /// The one argument of `file()` and its like: a path that no parameter had a part in.
    pub(super) fn path_argument(
        &mut self,
        name: &ast::Ident,
        arguments: &[ast::Argument],
        span: Span,
        scope: &Scope,
    ) -> Option<(Text, Span)> {
        let [ast::Argument { name: None, value }] = arguments else {
            self.error(
                ARGUMENTS
                    .at(span, format!("`{}()` takes one path", name.value))
                    .help(format!("write `{}(\"path\")`", name.value)),
            );
            return None;
        };
        let path = self.eval(value, scope);
        if path.is_hole() {
            return None;
        }
        if let Some(param) = path.taint {
            self.reaches(param, value.span, "a path");
            return None;
        }
        let Some(text) = path.text() else {
            self.error(
                ARGUMENTS.at(value.span, format!("`{}()` takes a path, not {}", name.value, path.describe())),
            );
            return None;
        };
        Some((text, value.span))
    }
}
