//! One namespace a file: declarations, look-ups, and what is said where a name is wrong.
//!
//! Unaware of values and fields: it knows what a name stands for, not what that holds.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Lower;
use super::value::Val;
use crate::diag::{Code, Diagnostic, Severity, Turn, suggest};
use crate::ir::{Frame, GroupId, Origin, ParamId, SessionId, TaskId};
use crate::reference::table;
use crate::source::{Span, Spanned, Text};

/// A name that nothing has.
pub(crate) static UNKNOWN: Code = Code {
    id: "plan::name::unknown",
    severity: Severity::Error,
    summary: "A name that nothing has",
    explain: "A name has to be declared in the same file, or imported. Tasks, groups, parameters, lets, profiles \
              and templates share one namespace, so a name stands for one thing only.\n\nCheck the spelling; \
              the nearest name that would fit is in the help.",
};

/// A name that is given twice.
pub(crate) static DUPLICATE: Code = Code {
    id: "plan::name::duplicate",
    severity: Severity::Error,
    summary: "A name that is given twice",
    explain: "Everything that a file declares shares one namespace, and a name is declared once. Names of loop \
              variables, template arguments, questions, nodes and nested `verify` blocks belong to their block: \
              other blocks may use them again, but none may repeat a name that is visible there.\n\nInside \
              `for` and `template`, build the name of a task with an f-string: `command f\"build-{lang}\" { … }`.",
};

/// A name that the engine keeps for itself.
pub(crate) static RESERVED: Code = Code {
    id: "plan::name::reserved",
    severity: Severity::Error,
    summary: "A name that is reserved",
    explain: "Some names mean something in the inputs of a task (`item`, `outcome`, `revision`, …) or in its \
              result (`status`, `complete`, `reason`, `last_line`). Tasks, groups and parameters cannot be \
              called like the former; `emits` and questions cannot list the latter.",
};

/// A name that is no identifier.
pub(crate) static INVALID: Code = Code {
    id: "plan::name::invalid",
    severity: Severity::Error,
    summary: "A name that is no identifier",
    explain: "A name is made of letters, digits, `_` and `-`, starts with a letter or `_`, and has at most 64 \
              characters; a `-` needs a letter, a digit or `_` after it. A name that an f-string yields has to \
              keep the same rules.",
};

/// A name of something else.
pub(crate) static WRONG_SORT: Code = Code {
    id: "plan::name::wrong_sort",
    severity: Severity::Error,
    summary: "A name of something else than what stands here",
    explain: "The name is declared, but as another sort of thing: a `let` where a task is wanted, a task where a \
              value is wanted, and so on. The result of a task is not known while a plan is compiled; it is in \
              the inputs of the tasks that depend on it.",
};

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Param(ParamId),
    /// An index into [`Lower::constants`].
    Let(u32),
    /// An index into [`Lower::profiles`].
    Profile(u32),
    Session(SessionId),
    Group(GroupId),
    /// An index into [`Lower::templates`].
    Template(u32),
    Task(TaskId),
    Gate,
    Resolve,
    /// Declared in an imported file, which does not bring it along.
    Foreign,
    /// Declared by a block that did not parse.
    Broken,
}

impl What {
    /// Whether the templates of a library can name it in the plan that uses them.
    fn is_seen_by_libraries(self) -> bool {
        match self {
            Self::Task(_) | Self::Group(_) | Self::Session(_) | Self::Broken => true,
            Self::Param(_)
            | Self::Let(_)
            | Self::Profile(_)
            | Self::Template(_)
            | Self::Gate
            | Self::Resolve
            | Self::Foreign => false,
        }
    }

    /// What it is, with its article.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Param(_) => "a parameter",
            Self::Let(_) => "a `let`",
            Self::Profile(_) => "a profile",
            Self::Session(_) => "a session",
            Self::Group(_) => "a group",
            Self::Template(_) => "a template",
            Self::Task(_) => "a task",
            Self::Gate => "an acceptance gate",
            Self::Resolve => "a `resolve` block",
            Self::Foreign => "a parameter of an imported file",
            Self::Broken => "a block with an error",
        }
    }
}

/// A declaration.
#[derive(Debug)]
pub(super) struct Decl {
    pub what: What,
    /// The first place that declares the name.
    pub span: Span,
    /// What that place declares.
    pub first: What,
    pub used: Cell<bool>,
}

/// The names of every file of a plan; the entry file is the first.
#[derive(Debug, Default)]
pub(super) struct Names {
    files: Vec<FxHashMap<Text, Decl>>,
}

impl Names {
    pub(super) fn new(files: usize) -> Self {
        Self { files: (0..files).map(|_| FxHashMap::default()).collect() }
    }

    pub(super) fn reserve(&mut self, names: usize) {
        if let Some(entry) = self.files.first_mut() {
            entry.reserve(names);
        }
    }

    /// What `name` stands for in a file. A library sees the tasks, groups and sessions of the plan that
    /// uses its templates.
    pub(super) fn get(&self, file: u32, name: &str) -> Option<&Decl> {
        let own = self.own(file, name);
        if own.is_some() || file == 0 {
            return own;
        }
        self.files.first()?.get(name).filter(|decl| decl.what.is_seen_by_libraries())
    }

    /// Declares a name. Gives the place of the earlier declaration if there is one, which stays what the
    /// name stands for.
    pub(super) fn declare(&mut self, file: u32, name: &Text, span: Span, what: What) -> Option<(Span, What)> {
        match self.files[file as usize].entry(name.clone()) {
            std::collections::hash_map::Entry::Occupied(earlier) => {
                let decl = earlier.into_mut();
                let known = (decl.span, decl.first);
                // Declarations do not come in the order of the text.
                if span.file == decl.span.file && span.start < decl.span.start {
                    (decl.span, decl.first) = (span, what);
                }
                Some(known)
            }
            std::collections::hash_map::Entry::Vacant(place) => {
                place.insert(Decl { what, span, first: what, used: Cell::new(false) });
                None
            }
        }
    }

    /// What `name` stands for in a file itself.
    pub(super) fn own(&self, file: u32, name: &str) -> Option<&Decl> {
        self.files.get(file as usize)?.get(name)
    }

    /// How many names a file can see.
    fn count(&self, file: u32) -> usize {
        let entry = if file == 0 { 0 } else { self.files.first().map_or(0, FxHashMap::len) };
        entry + self.files.get(file as usize).map_or(0, FxHashMap::len)
    }

    /// The names of a file that are of a wanted sort.
    pub(super) fn candidates(&self, file: u32, wanted: impl Fn(What) -> bool) -> impl Iterator<Item = &str> {
        let own = self.files.get(file as usize).into_iter();
        let own = own.flat_map(|names| names.iter());
        let entry = self.files.first().into_iter().filter(move |_| file != 0);
        let entry = entry.flat_map(|names| names.iter()).filter(|(_, decl)| decl.what.is_seen_by_libraries());
        own.chain(entry).filter(move |(_, decl)| wanted(decl.what)).map(|(name, _)| name.as_str())
    }
}

/// Where an expression is read: its file, and the loop variables and template arguments around it.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub file: u32,
    pub locals: Option<Rc<Local>>,
    /// How it was unrolled.
    pub unrolled: Option<Rc<Unrolled>>,
}

/// One expansion, and the ones around it. Nothing of it is put into words before a task needs them.
#[derive(Debug)]
pub(super) struct Unrolled {
    /// Which of all expansions it is.
    pub number: u32,
    /// The `for` or `use`.
    pub span: Span,
    /// What is quoted of it.
    pub head: Span,
    /// The loop variable, with its value.
    pub variable: Option<(Text, Val)>,
    pub outer: Option<Rc<Unrolled>>,
    /// The words, once they were needed.
    pub origin: OnceCell<Arc<Origin>>,
}

/// A loop variable or a template argument, and the ones around it.
#[derive(Debug)]
pub(super) struct Local {
    pub name: Spanned<Text>,
    pub value: Val,
    pub outer: Option<Rc<Local>>,
}

impl Scope {
    pub(super) fn local(&self, name: &str) -> Option<&Local> {
        let mut next = self.locals.as_deref();
        while let Some(local) = next {
            if local.name.value == name {
                return Some(local);
            }
            next = local.outer.as_deref();
        }
        None
    }

    /// The expansion that it is read in.
    pub(super) fn turn(&self) -> Turn {
        self.unrolled.as_ref().map_or(Turn::None, |unrolled| Turn::Of(unrolled.number))
    }

    /// The same place with one more local name.
    pub(super) fn with(&self, name: Spanned<Text>, value: Val) -> Self {
        let local = Local { name, value, outer: self.locals.clone() };
        Self { locals: Some(Rc::new(local)), ..self.clone() }
    }
}

/// Whether `text` is an identifier (LANGUAGE §2), its length aside.
pub(super) fn is_identifier(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    let starts = bytes.first().is_some_and(|&byte| byte.is_ascii_alphabetic() || byte == b'_');
    starts
        && bytes.iter().enumerate().all(|(at, &byte)| {
            word(byte) || (byte == b'-' && bytes.get(at + 1).is_some_and(|&next| word(next)))
        })
        && !table::WORDS.contains(&text)
}

impl Lower<'_, '_> {
    /// How a scope came about, in words: outermost expansion first.
    pub(super) fn origin(&self, scope: &Scope) -> Option<Arc<Origin>> {
        let unrolled = scope.unrolled.as_deref()?;
        let origin = unrolled.origin.get_or_init(|| {
            let around = std::iter::successors(Some(unrolled), |unrolled| unrolled.outer.as_deref());
            let mut trace: Vec<Frame> = around.map(|unrolled| self.frame(unrolled)).collect();
            trace.reverse();
            Arc::new(Origin { trace })
        });
        Some(Arc::clone(origin))
    }

    fn frame(&self, unrolled: &Unrolled) -> Frame {
        let head = one_line(self.slice(unrolled.head));
        let text = match &unrolled.variable {
            Some((name, value)) => format!("from `{head}`, `{name} = {}`", value.show()),
            None => format!("from `{}`", head.chars().take(60).collect::<String>()),
        };
        Frame { span: unrolled.span, text: text.into() }
    }

    /// Declares a name of a file; reports it if it is taken, or may not be had.
    pub(super) fn declare(&mut self, file: u32, name: &Spanned<Text>, what: What) {
        let reserved = match what {
            What::Param(_) | What::Group(_) | What::Task(_) => is_reserved(&name.value),
            What::Let(_)
            | What::Profile(_)
            | What::Session(_)
            | What::Template(_)
            | What::Gate
            | What::Resolve
            | What::Foreign
            | What::Broken => false,
        };
        if reserved {
            self.error(reserved_name(name, what.describe()));
        }
        if let Some((first, sort)) = self.names.declare(file, &name.value, name.span, what) {
            self.duplicate(&name.value, (first, sort.describe()), (name.span, what.describe()));
        }
    }

    /// Reports a name that two places give; the later one is at fault.
    pub(super) fn duplicate(&mut self, name: &str, one: (Span, &str), other: (Span, &str)) {
        let place = |(span, _): (Span, &str)| (span.file, span.start);
        let ((first, sort), (later, _)) =
            if place(one) <= place(other) { (one, other) } else { (other, one) };
        let unrolled = first == later;
        let found = DUPLICATE.at(later, format!("`{name}` is declared twice")).label("declared again");
        self.error(if unrolled {
            found.related(first, "each time it is unrolled").help(BUILD_IT)
        } else {
            found.related(first, format!("`{name}` is {sort} already"))
        });
    }

    /// Reports a task that two expansions of one block name alike.
    pub(super) fn unrolled_twice(&mut self, name: &Spanned<Text>, one: &Scope, other: &Scope) {
        let trace = |scope: &Scope| {
            let around = std::iter::successors(scope.unrolled.clone(), |unrolled| unrolled.outer.clone());
            let mut trace: Vec<Rc<Unrolled>> = around.collect();
            trace.reverse();
            trace
        };
        let built = self.slice(name.span).starts_with('f');
        let found = DUPLICATE
            .at(name.span, format!("`{}` is declared twice", name.value))
            .label("yields the same name again");
        let (one, other) = (trace(one), trace(other));
        let differ = one.iter().zip(&other).find(|(one, other)| one.number != other.number);
        let Some((one, other)) = differ else {
            self.error(found.help(BUILD_IT));
            return;
        };
        let found = match (&one.variable, &other.variable) {
            (Some((variable, first)), Some((_, second))) if one.head == other.head => {
                let (first, second) = (first.show(), second.show());
                let message = match first == second {
                    true => format!("`{variable} = {first}` comes twice"),
                    false => format!("with `{variable} = {first}`, and with `{variable} = {second}`"),
                };
                let found = found.related(one.head, message);
                match (built, first == second) {
                    (false, _) => found.help(BUILD_IT),
                    (true, true) => found.help("list each element once"),
                    (true, false) => found.help(format!("use `{{{variable}}}` in the name")),
                }
            }
            _ => {
                let found = found.related(one.head, "comes from here").related(other.head, "and from here");
                match built {
                    true => found.help("give an argument that is in the name another value"),
                    false => {
                        found.help("build the name with an f-string, as in `command f\"build-{argument}\"`")
                    }
                }
            }
        };
        self.error(found);
    }

    /// Reports a name of a block's own, as of a loop variable, that repeats a visible one.
    pub(super) fn own_name(&mut self, name: &Spanned<Text>, scope: &Scope) {
        if let Some(local) = scope.local(&name.value) {
            let first = local.name.span;
            self.duplicate(&name.value, (first, "a name around it"), (name.span, ""));
        } else if let Some(decl) = self.names.own(scope.file, &name.value) {
            // What a library's own names repeat in the plan that uses it is none of its business.
            let (first, sort) = (decl.span, decl.first.describe());
            self.repeats(name, (first, sort));
        }
    }

    /// The nearest name of a wanted sort, while there are few wrong ones: each look goes over all names.
    pub(super) fn nearest(&mut self, name: &str, file: u32, wanted: impl Fn(What) -> bool) -> Option<String> {
        let names = self.names.count(file);
        if names > self.session.comparisons {
            return None;
        }
        self.session.comparisons -= names;
        let near = suggest::did_you_mean(name, self.names.candidates(file, &wanted));
        near.or_else(|| {
            // Where there are few, they are all worth a look; of tasks there are always some.
            if wanted(What::Task(TaskId::default())) {
                return None;
            }
            let mut all: Vec<&str> = self.names.candidates(file, wanted).take(4).collect();
            all.sort_unstable();
            let quoted: Vec<String> = all.iter().map(|name| format!("`{name}`")).collect();
            match quoted.as_slice() {
                [] | [_, _, _, _, ..] => None,
                [one] => Some(format!("there is only {one}")),
                [first, second] => Some(format!("there are {first} and {second}")),
                [first, second, third] => Some(format!("there are {first}, {second} and {third}")),
            }
        })
    }
}

/// What to do about a name that is the same in each expansion.
const BUILD_IT: &str = "build the name with an f-string, as in `command f\"build-{x}\"`";

/// A text over lines on one: what stands in brackets as close to them as on one line.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).fold(String::new(), |mut whole, line| {
        let apart = !whole.ends_with(['(', '[']) && !line.starts_with([')', ']']);
        if apart && !whole.is_empty() {
            whole.push(' ');
        }
        whole.push_str(line);
        whole
    })
}

/// Whether no task, group or parameter may be called `name`.
pub(super) fn is_reserved(name: &str) -> bool {
    table::RESERVED_NAMES.iter().any(|row| row.name == name)
}

fn reserved_name(name: &Spanned<Text>, sort: &str) -> Diagnostic {
    let meaning = table::RESERVED_NAMES.iter().find(|row| row.name == name.value).map_or("", |row| row.doc);
    RESERVED
        .at(name.span, format!("`{}` is reserved, and cannot name {sort}", name.value))
        .label(lower_first(meaning.trim_end_matches('.')))
        .help(format!("choose another name, as in `{}_1`", name.value))
}

/// `Text` as the start of a label.
fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn identifiers_are_words_with_inner_dashes() {
        for good in ["a", "_", "a-b", "A_1-2", "x--y"] {
            let doubled = good.contains("--");
            assert_eq!(super::is_identifier(good), !doubled, "{good}");
        }
        for bad in ["", "1a", "-a", "a-", "a b", "m[x]", "é", "true", "in"] {
            assert!(!super::is_identifier(bad), "{bad}");
        }
    }
}
