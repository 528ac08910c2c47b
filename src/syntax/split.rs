//! Cuts tokens into members: at what separates them, and where a block is over.
//!
//! Knows brackets and keywords only; what a member means is the parser's business.

use std::ops::Range;

use super::tokens::{Tokens, is_word, kind};

/// One member, as a range of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub start: usize,
    pub end: usize,
    /// The `{` of its body, whose `}` is its last token.
    pub body: Option<usize>,
    /// Whether nothing separates it from the member before.
    pub joined: bool,
}

/// Cuts the tokens from `start` to `end`, which hold members and what separates them. A comma that separates
/// nothing is a member of its own.
pub(super) fn members(tokens: &Tokens, start: usize, end: usize) -> Vec<Cut> {
    let kinds = &tokens.kinds.as_bytes()[..end];
    let mut cuts = Vec::new();
    let (mut at, mut joined) = (start, false);
    while at < end {
        match kinds[at] {
            kind::BREAK => (at, joined) = (at + 1, false),
            kind::COMMA if joined => (at, joined) = (at + 1, false),
            kind::COMMA => {
                cuts.push(Cut { start: at, end: at + 1, body: None, joined: false });
                at += 1;
            }
            _ => {
                let cut = member(kinds, at, joined);
                (at, joined) = (cut.end, true);
                cuts.push(cut);
            }
        }
    }
    cuts
}

fn member(kinds: &[u8], start: usize, joined: bool) -> Cut {
    let named = names_a_block(kinds[start]);
    let (mut at, mut depth, mut open) = (start, 0usize, start);
    while let Some(&byte) = kinds.get(at) {
        if opens(byte) {
            if depth == 0 {
                open = at;
            }
            depth += 1;
        } else if closes(byte) {
            depth = depth.saturating_sub(1);
            let body = depth == 0 && byte == kind::CLOSE_BRACE && kinds[open] == kind::OPEN_BRACE;
            let over = matches!(kinds.get(at + 1), None | Some(&(kind::BREAK | kind::COMMA)));
            if body && (over || named) {
                return Cut { start, end: at + 1, body: Some(open), joined };
            }
        } else if depth == 0
            && (matches!(byte, kind::BREAK | kind::COMMA) || begins_another(kinds, start, at))
        {
            return Cut { start, end: at, body: None, joined };
        }
        at += 1;
    }
    Cut { start, end: at, body: None, joined }
}

/// Cuts the elements between two tokens into runs of at least `size` tokens, each with the comma behind it.
pub(super) fn runs(
    tokens: &Tokens,
    start: usize,
    end: usize,
    size: usize,
) -> impl Iterator<Item = Range<usize>> + use<'_> {
    let kinds = &tokens.kinds.as_bytes()[..end];
    let mut at = start;
    std::iter::from_fn(move || {
        let first = at;
        let mut depth = 0usize;
        while let Some(&byte) = kinds.get(at) {
            at += 1;
            depth = if opens(byte) { depth + 1 } else { depth - usize::from(closes(byte) && depth > 0) };
            if depth == 0 && byte == kind::COMMA && at - first >= size {
                break;
            }
        }
        (first < at).then_some(first..at)
    })
}

/// The token that closes the bracket `open`; the last token, if none does.
pub(super) fn closing(tokens: &Tokens, open: usize) -> usize {
    let mut depth = 0usize;
    for (at, &byte) in tokens.kinds.as_bytes().iter().enumerate().skip(open) {
        if opens(byte) {
            depth += 1;
        } else if closes(byte) {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at;
            }
        }
    }
    tokens.len()
}

fn opens(kind: u8) -> bool {
    matches!(kind, kind::OPEN_BRACE | kind::OPEN_LIST | kind::OPEN_PAREN | kind::FORMAT | kind::HOLE)
}

fn closes(kind: u8) -> bool {
    matches!(
        kind,
        kind::CLOSE_BRACE | kind::CLOSE_LIST | kind::CLOSE_PAREN | kind::FORMAT_END | kind::HOLE_END
    )
}

/// Whether the token, inside a field and outside brackets, is the name of the next field: one that nothing
/// separates from the value before.
fn begins_another(kinds: &[u8], start: usize, at: usize) -> bool {
    kinds[start] == kind::FIELD
        && kinds[at] == kind::FIELD
        && at > start + 2
        && (closes(kinds[at - 1])
            || is_word(kinds[at - 1]) && kinds[at - 1] != kind::FIELD
            || matches!(kinds[at - 1], kind::STRING | kind::NUMBER | kind::DURATION | kind::BOOLEAN))
}

/// Whether a member that begins so has one pair of braces at most, its body.
pub(super) fn names_a_block(kind: u8) -> bool {
    matches!(
        kind,
        kind::PLAN | kind::CONTINUE | kind::TASK | kind::VERIFY | kind::BLOCK | kind::GROUP | kind::QUESTION
    )
}

/// Whether the tokens of a cut look like a block with a keyword that does not exist.
pub(super) fn looks_like_block(tokens: &Tokens, cut: Cut) -> bool {
    is_word(tokens.kind(cut.start))
        && cut.body.is_some_and(|body| {
            let head = tokens.kinds.as_bytes().get(cut.start + 1..body).unwrap_or_default();
            match head {
                [] => true,
                [name] => is_word(*name) || *name == kind::STRING,
                [first, .., last] => *first == kind::FORMAT && *last == kind::FORMAT_END,
            }
        })
}
