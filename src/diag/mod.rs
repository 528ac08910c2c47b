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
            turn: Turn::None,
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
    /// Which of them this one is.
    turn: Turn,
}

/// Which unrolling of a loop or a template raised a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Turn {
    /// None: its place stands for itself.
    #[default]
    None,
    /// One of them, by number.
    Of(u32),
    /// One that cannot be told.
    Some,
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
    /// What the findings to come are raised by.
    turn: Turn,
}

impl Diagnostics {
    /// Nothing found.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let turn = if diagnostic.turn == Turn::None { self.turn } else { diagnostic.turn };
        let mut diagnostic = Diagnostic { turn, ..diagnostic };
        // What is quoted may have had more lines; a message has one.
        let related = diagnostic.related.iter_mut().map(|related| &mut related.message);
        let texts = [Some(&mut diagnostic.message), diagnostic.label.as_mut(), diagnostic.help.as_mut()];
        for text in texts.into_iter().flatten().chain(related).filter(|text| text.contains('\n')) {
            *text = text.split('\n').map(str::trim).collect::<Vec<_>>().join(" ");
        }
        self.list.push(diagnostic);
    }

    /// Says which unrolling the findings to come are raised by. Gives what was said before.
    pub(crate) fn turn(&mut self, turn: Turn) -> Turn {
        std::mem::replace(&mut self.turn, turn)
    }

    /// How many findings there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Says of the findings from `start` on which stand in places that are unrolled.
    pub(crate) fn unrolled_from(&mut self, start: usize, unrolled: impl Fn(Span) -> bool) {
        for diagnostic in &mut self.list[start..] {
            if unrolled(diagnostic.span) {
                diagnostic.turn = Turn::Some;
            }
        }
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

    /// Sorts by place and merges findings of equal code and place that several expansions raised: one
    /// finding "in 3 expansions", not three (STYLE §3). What one expansion finds twice at a place, or what
    /// no expansion has to do with, are findings of their own unless they say the same.
    #[must_use]
    pub fn finish(mut self) -> Self {
        self.list.sort_by(|a, b| {
            (a.span.file, a.span.start, a.code.id).cmp(&(b.span.file, b.span.start, b.code.id))
        });
        let mut kept: Vec<Diagnostic> = Vec::with_capacity(self.list.len());
        // Where the findings of the current code and place start, and how many the current turn had.
        let (mut first, mut turn, mut count) = (0, Turn::None, 0);
        for later in self.list {
            let here = kept.get(first).is_some_and(|one| one.code == later.code && one.span == later.span);
            if !here {
                (first, turn, count) = (kept.len(), later.turn, 0);
            } else if turn != later.turn {
                (turn, count) = (later.turn, 0);
            }
            let group = &mut kept[first..];
            let said = group.iter().position(|one| one.says(&later));
            let same = said.or(match later.turn {
                Turn::None => None,
                // What one turn finds, the others find in the same order.
                Turn::Of(_) => (count < group.len() && group[count].turn != later.turn).then_some(count),
                Turn::Some => group.iter().position(|one| one.outline() == later.outline()),
            });
            count += 1;
            match same {
                Some(same) => {
                    let one = &mut group[same];
                    if later.turn == Turn::Some || one.turn != later.turn {
                        one.expansions += later.expansions;
                    }
                    // Counted for this turn: once more in it is no further expansion.
                    if let Turn::Of(_) = later.turn {
                        one.turn = later.turn;
                    }
                }
                None => kept.push(later),
            }
        }
        self.list = kept;
        self
    }
}

impl Diagnostic {
    /// Whether it says the same, at the same place.
    fn says(&self, other: &Self) -> bool {
        self.message == other.message && self.label == other.label && self.help == other.help
    }

    /// The message without what it quotes: what expansions of one place have in common.
    fn outline(&self) -> String {
        self.message.split('`').step_by(2).collect()
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    static CODE: Code = Code { id: "plan::a::b", severity: Severity::Error, summary: "", explain: "" };

    /// Each finding's message and how many expansions it stands for.
    fn merged(found: &[(Turn, usize, &str)]) -> Vec<(String, u32)> {
        let mut sink = Diagnostics::new();
        for &(turn, at, message) in found {
            sink.turn(turn);
            sink.push(CODE.at(Span::new(FileId(0), at, at + 1), message));
        }
        sink.finish().into_iter().map(|one| (one.message, one.expansions)).collect()
    }

    fn expected(found: &[(&str, u32)]) -> Vec<(String, u32)> {
        found.iter().map(|&(message, count)| (message.to_owned(), count)).collect()
    }

    #[test]
    fn findings_of_several_expansions_are_one() {
        let (one, two) = (Turn::Of(1), Turn::Of(2));
        let turns = [(one, 0, "`t-a` has no `k`"), (two, 0, "`t-b` has no `k`")];
        assert_eq!(merged(&turns), expected(&[("`t-a` has no `k`", 2)]));
        let rules = [(Turn::Some, 0, "`t-a` never runs"), (Turn::Some, 0, "`t-b` never runs")];
        assert_eq!(merged(&rules), expected(&[("`t-a` never runs", 2)]));
        let both = [(one, 0, "no k"), (one, 0, "no d"), (two, 0, "no k"), (two, 0, "no d")];
        assert_eq!(merged(&both), expected(&[("no k", 2), ("no d", 2)]));
        let named = [(one, 0, "`a`: k"), (one, 0, "`a`: d"), (two, 0, "`b`: k"), (two, 0, "`b`: d")];
        assert_eq!(merged(&named), expected(&[("`a`: k", 2), ("`a`: d", 2)]));
    }

    #[test]
    fn a_message_is_one_line() {
        let mut sink = Diagnostics::new();
        let found = CODE.at(Span::new(FileId(0), 0, 1), "no `{\n    x: string\n}`").help("a\nb");
        sink.push(found.related(Span::new(FileId(0), 0, 1), "c\nd"));
        let one = sink.iter().next().unwrap();
        assert_eq!(one.message, "no `{ x: string }`");
        assert_eq!((one.help.as_deref(), one.related[0].message.as_str()), (Some("a b"), "c d"));
    }

    #[test]
    fn different_findings_at_one_place_are_kept() {
        let found = [(Turn::None, 0, "no `k`"), (Turn::None, 0, "no `direction`")];
        assert_eq!(merged(&found), expected(&[("no `k`", 1), ("no `direction`", 1)]));
        let same = [(Turn::None, 0, "twice"), (Turn::None, 0, "twice"), (Turn::None, 1, "twice")];
        assert_eq!(merged(&same), expected(&[("twice", 1), ("twice", 1)]));
        let labels = [(Turn::Some, 0, "no branch takes \"yes\""), (Turn::Some, 0, "no branch takes \"no\"")];
        assert_eq!(merged(&labels).len(), 2);
    }
}
