//! Tokens and comments to groups of members: as much structure as a layout needs.
//!
//! Leaves the grammar to `syntax`: the tokens are known to be a plan.

use crate::source::Source;
use crate::syntax::ast::Comment;
use crate::syntax::{Tokens, kind};

/// Members between brackets, or those of a whole file.
#[derive(Debug, Default)]
pub(super) struct Members<'a> {
    pub list: Vec<Member<'a>>,
    /// The comment behind the opening bracket.
    pub opening: Option<&'a str>,
    /// Comments behind the last member.
    pub tail: Vec<Remark<'a>>,
}

/// A comment on a line of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remark<'a> {
    pub text: &'a str,
    /// Whether a blank line stands before it.
    pub blank: bool,
}

/// A declaration, a field, an entry, an element or an argument.
#[derive(Debug)]
pub(super) struct Member<'a> {
    /// The comments above it.
    pub above: Vec<Remark<'a>>,
    /// Whether a blank line stands between them and it, or before it if there are none.
    pub blank: bool,
    pub pieces: Vec<Piece<'a>>,
    /// The comment behind it.
    pub behind: Option<&'a str>,
}

/// A token, a whole f-string, or a bracketed group.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    /// As written; of a group, its brackets.
    pub text: &'a str,
    /// The kind of its first token.
    pub first: u8,
    /// The kind of its last token.
    pub last: u8,
    /// Whether a blank separates it from the piece before.
    pub spaced: bool,
    /// Whether a line break stands before it.
    pub breaks: bool,
    /// The comment behind the piece before it, on that line.
    pub remark: Option<&'a str>,
    /// Comments on lines of their own before it.
    pub above: Vec<&'a str>,
    pub group: Option<Group<'a>>,
}

/// A pair of brackets and what is between.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub members: Members<'a>,
    /// Whether it is `[T]`: a list of one type, and of no values, which takes no comma.
    pub type_list: bool,
    /// How wide it is on one line, in characters; `None` if it cannot be.
    pub flat: Option<usize>,
}

impl Piece<'_> {
    /// How wide it is on one line; `None` if it cannot be.
    pub(super) fn flat(&self) -> Option<usize> {
        if self.remark.is_some() || !self.above.is_empty() {
            return None;
        }
        match &self.group {
            Some(group) => group.flat,
            None if self.text.contains('\n') => None,
            None => Some(self.text.chars().count()),
        }
    }
}

/// The members of a whole file.
pub(super) fn file<'a>(source: &'a Source, tokens: &Tokens, comments: &[Comment]) -> Members<'a> {
    let mut reader = Reader { source, tokens, comments, token: 0, comment: 0, last: 0 };
    reader.members(false)
}

struct Reader<'a, 't> {
    source: &'a Source,
    tokens: &'t Tokens,
    comments: &'t [Comment],
    /// The next token.
    token: usize,
    /// The next comment.
    comment: usize,
    /// The end of the last token or comment.
    last: usize,
}

impl<'a> Reader<'a, '_> {
    /// Reads members up to the bracket that closes them, or to the end of the file.
    fn members(&mut self, types: bool) -> Members<'a> {
        let mut members = Members::default();
        loop {
            while matches!(self.tokens.kind(self.token), kind::BREAK | kind::COMMA) {
                self.step();
            }
            let behind = self.comment_behind();
            match members.list.last_mut() {
                Some(member) => member.behind = behind,
                None => members.opening = behind,
            }
            let above = self.comments_above();
            if closes(self.tokens.kind(self.token)) {
                members.tail = above;
                return members;
            }
            let blank = self.blank_before(self.start());
            let pieces = self.pieces(types);
            members.list.push(Member { above, blank, pieces, behind: None });
        }
    }

    /// Reads one member; `types` says whether it is a type.
    fn pieces(&mut self, types: bool) -> Vec<Piece<'a>> {
        let mut pieces: Vec<Piece<'a>> = Vec::new();
        loop {
            let first = self.tokens.kind(self.token);
            if closes(first) || matches!(first, kind::BREAK | kind::COMMA) {
                return pieces;
            }
            let (remark, above, breaks) = if pieces.is_empty() {
                (None, Vec::new(), false)
            } else {
                let breaks = self.between(self.start()).contains('\n');
                let remark = self.comment_behind();
                let above = self.comments_above().into_iter().map(|remark| remark.text).collect();
                (remark, above, breaks)
            };
            let spaced = pieces.last().is_some_and(|before| is_spaced(before.last, first));
            let start = self.start();
            let before = pieces.last().map(|before| before.last);
            let is_type = before.map_or(types, |before| matches!(before, kind::COLON | kind::BAR));
            let group = match first {
                kind::OPEN_BRACE | kind::OPEN_LIST | kind::OPEN_PAREN => {
                    Some(self.group(start, is_type && first == kind::OPEN_LIST))
                }
                kind::FORMAT => {
                    self.skip_format();
                    None
                }
                _ => {
                    self.step();
                    None
                }
            };
            let text = self.source.text().get(start..self.last).unwrap_or_default();
            let last = self.tokens.kind(self.token - 1);
            pieces.push(Piece { text, first, last, spaced, breaks, remark, above, group });
        }
    }

    fn group(&mut self, start: usize, type_list: bool) -> Group<'a> {
        let open = self.tokens.kind(self.token);
        self.step();
        let members = self.members(type_list);
        let end = self.start();
        self.step();
        let one_line = self.source.line_of(start) == self.source.line_of(end);
        let commented = members.opening.is_some() || !members.tail.is_empty();
        let flat = match members.list.as_slice() {
            [] if !commented => Some(2),
            list if one_line && !commented => {
                let brackets = if open == kind::OPEN_BRACE { 4 } else { 2 };
                let width = |member: &Member<'_>| {
                    let pieces = member.pieces.iter();
                    pieces.map(|piece| Some(piece.flat()? + usize::from(piece.spaced))).sum::<Option<usize>>()
                };
                list.iter().map(width).sum::<Option<usize>>().map(|sum| sum + brackets + 2 * (list.len() - 1))
            }
            _ => None,
        };
        Group { members, type_list, flat }
    }

    /// Goes behind the closing quotes of an f-string, whose expressions stay as they are written.
    fn skip_format(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.tokens.kind(self.token) {
                kind::FORMAT => depth += 1,
                kind::FORMAT_END => depth -= 1,
                _ => {}
            }
            self.step();
            if depth == 0 {
                return;
            }
        }
    }

    fn step(&mut self) {
        self.last = self.last.max(self.tokens.span(self.token).end as usize);
        self.token += 1;
    }

    /// Where the next token starts.
    fn start(&self) -> usize {
        self.tokens.span(self.token).start as usize
    }

    /// What stands between the last token or comment and `end`.
    fn between(&self, end: usize) -> &'a str {
        self.source.text().get(self.last..end).unwrap_or_default()
    }

    fn blank_before(&self, start: usize) -> bool {
        self.between(start).bytes().filter(|&b| b == b'\n').count() > 1
    }

    /// The comment that stands on the line of the last token, if it is before the next.
    fn comment_behind(&mut self) -> Option<&'a str> {
        self.comments.get(self.comment).filter(|comment| !comment.own_line)?;
        self.next_comment().map(|remark| remark.text)
    }

    fn comments_above(&mut self) -> Vec<Remark<'a>> {
        std::iter::from_fn(|| self.next_comment()).collect()
    }

    /// The next comment, if it stands before the next token.
    fn next_comment(&mut self) -> Option<Remark<'a>> {
        let comment = self.comments.get(self.comment)?;
        let range = comment.span.range();
        if self.token < self.tokens.len() && range.start > self.start() {
            return None;
        }
        let blank = self.blank_before(range.start);
        self.comment += 1;
        self.last = range.end;
        Some(Remark { text: self.source.text().get(range).unwrap_or_default().trim_end(), blank })
    }
}

/// Whether members end before the token; the end of the file is one.
fn closes(kind: u8) -> bool {
    matches!(kind, kind::CLOSE_BRACE | kind::CLOSE_LIST | kind::CLOSE_PAREN | 0)
}

/// Whether a blank stands between two tokens that nothing else separates.
fn is_spaced(before: u8, after: u8) -> bool {
    let glued = matches!(after, kind::COLON | kind::DOT | kind::OPTIONAL) || before == kind::DOT;
    let called = after == kind::OPEN_PAREN && before.is_ascii_uppercase();
    !glued && !called
}
