//! What lowering learned about the text that a run has no use for, and a rule has: [`Facts`].
//!
//! A rule judges what it can see. Where lowering has reported an error, the value is a hole, and a rule
//! that would read it stays silent: one mistake, one finding.

use super::TaskId;
use crate::reference::Keyword;
use crate::source::{Spanned, Text};

/// What lowering learned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Fields whose value could not be read; their errors are in the diagnostics already. By task and
    /// field, as in `(a, "depends_on")`; a block that did not parse at all has the field `""`.
    pub holes: Vec<(TaskId, &'static str)>,
    /// Whether declarations are missing: a file that could not be imported, a loop over no list, a broken
    /// block without a name. Nothing is then unused, uncovered or unreachable for certain.
    pub incomplete: bool,
    /// Declarations that nothing refers to: `let`, `param`, `template`, `profile`, `session`, in source
    /// order. Only those of the entry file: a library need not be used in full.
    pub unused: Vec<(Keyword, Spanned<Text>)>,
}

impl Facts {
    /// Whether the value of `field` of `task` could not be read.
    #[must_use]
    pub fn hole(&self, task: TaskId, field: &str) -> bool {
        self.holes.iter().any(|&(id, name)| id == task && (name == field || name.is_empty()))
    }
}
