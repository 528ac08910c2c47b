//! Text to text in the one style: [`format()`].
//!
//! Works on tokens and comments, so that nothing an author wrote gets lost, and changes blanks, line breaks
//! and commas only. Unaware of what anything means.

use crate::diag::Diagnostics;
use crate::source::{FileId, Sources};
use crate::syntax;

mod layout;
mod tree;

/// The text of `file` in the one style: four blanks a level, `=` aligned in consecutive lines, at most one
/// blank line in a row, line ends `\n`. What stood on one line stays there if it fits; strings stay as they
/// are written.
///
/// # Errors
/// What is wrong with the text, which is then not to be touched.
pub fn format(sources: &Sources, file: FileId) -> Result<String, Diagnostics> {
    let parsed = syntax::parse(sources, file);
    if parsed.diagnostics.has_errors() {
        return Err(parsed.diagnostics);
    }
    let source = sources.get(file);
    let tokens = syntax::tokens(sources, file);
    let members = tree::file(source, &tokens, &parsed.comments);
    Ok(layout::file(&members))
}
