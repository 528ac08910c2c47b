//! Findings about a plan, as plain data that terminal, JSON and editors all read (STYLE §5).
//!
//! A [`Code`] is a fact in a table; a [`Diagnostic`] is one finding with its places. Unaware of how
//! anything is drawn: `render.rs` alone knows that.

pub mod machine;
pub mod render;
pub mod suggest;

use crate::source::Span;

/// How bad a finding is. An error: the plan cannot run as written. A warning: it can, but likely should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The plan cannot run as written.
    Error,
    /// The plan can run, but likely should not.
    Warning,
}

impl Severity {
    /// The word in machine output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A kind of finding. Owned by the file that raises it; `catalog.rs` lists them all. Ids are permanent.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Code {
    /// `plan::<area>::<problem>`.
    pub id: &'static str,
    /// How bad findings of this kind are.
    pub severity: Severity,
    /// One line for lists.
    pub summary: &'static str,
    /// What `plan explain` prints: why it is a problem, and what to do. Markdown.
    pub explain: &'static str,
}

impl Code {
    /// A finding of this kind at `span`. The message is one clause, lower case, without a full stop.
    #[must_use]
    pub fn at(&'static self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code: self,
            span,
            message: message.into(),
            label: None,
            help: None,
            related: Vec::new(),
            expansions: 1,
        }
    }
}

/// Another place that makes a finding wrong: the first declaration, a hop of a cycle, a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// The place; another file than the finding's is fine.
    pub span: Span,
    /// What is there.
    pub message: String,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of finding.
    pub code: &'static Code,
    /// Where.
    pub span: Span,
    /// What is, in one clause that is true on its own line.
    pub message: String,
    /// Why here.
    pub label: Option<String>,
    /// The next thing to type.
    pub help: Option<String>,
    /// The other places.
    pub related: Vec<Related>,
    /// How many expansions of one source place raised it.
    pub expansions: u32,
}

impl Diagnostic {
    /// Says why the finding is at this place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Says what to type next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// As [`Diagnostic::help`], where there may be none to give.
    #[must_use]
    pub fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }

    /// The label, with the number of expansions that raised the finding where it is not one.
    #[must_use]
    pub fn place_label(&self) -> Option<String> {
        match (&self.label, self.expansions) {
            (label, 0 | 1) => label.clone(),
            (Some(label), count) => Some(format!("{label}, in {count} expansions")),
            (None, count) => Some(format!("in {count} expansions")),
        }
    }

    /// Shows another place.
    #[must_use]
    pub fn related(mut self, span: Span, message: impl Into<String>) -> Self {
        self.related.push(Related { span, message: message.into() });
        self
    }
}

/// The sink that every layer reports into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Nothing found.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Adds all of another layer's findings.
    pub fn extend(&mut self, other: Self) {
        self.list.extend(other.list);
    }

    /// Whether any finding is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.code.severity == Severity::Error)
    }

    /// How many findings are of this severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.list.iter().filter(|d| d.code.severity == severity).count()
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The findings, in the order they were pushed unless [`Diagnostics::finish`] sorted them.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// Sorts by place and merges findings of equal code, place and severity: one finding "in 3
    /// expansions", not three (STYLE §3).
    #[must_use]
    pub fn finish(mut self) -> Self {
        self.list.sort_by(|a, b| {
            (a.span.file, a.span.start, a.code.id).cmp(&(b.span.file, b.span.start, b.code.id))
        });
        self.list.dedup_by(|later, kept| {
            let same = later.code == kept.code && later.span == kept.span;
            if same {
                kept.expansions += later.expansions;
            }
            same
        });
        self
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}
