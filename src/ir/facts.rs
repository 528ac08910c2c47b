//! What lowering learned about the text that a run has no use for, and a rule has: [`Facts`].

use crate::reference::Keyword;
use crate::source::{Span, Spanned, Text};

use super::TaskId;

/// What lowering learned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Whether declarations are missing: a file that could not be imported, a loop over no list, a broken
    /// block without a name. Nothing is then unused, uncovered or unreachable for certain.
    pub incomplete: bool,
    /// Declarations that nothing refers to: `let`, `param`, `template`, `profile`, `session`, in source
    /// order. Only those of the entry file: a library need not be used in full.
    pub unused: Vec<(Keyword, Spanned<Text>)>,
    /// Tasks whose `depends_on` lists groups without tasks only, with the place of the list; in order.
    pub lists_nothing: Vec<(TaskId, Span)>,
}
