//! Brackets while a text is read: which are open, which close, and what to make of one that does not.
//!
//! What comes out always balances: a bracket that is never closed gets an empty closing token, one that
//! closes nothing is left out, and each is reported once. Unaware of what stands between them.

use crate::diag::{Code, Severity};

use super::errors::UNEXPECTED_TOKEN;
use super::lexer::{Lexer, NESTING_LIMIT, offset};
use super::split::names_a_block;
use super::tokens::{is_keyword, is_word, kind, word_kind};

pub(super) static UNCLOSED_BRACKET: Code = Code {
    id: "plan::syntax::unclosed_bracket",
    severity: Severity::Error,
    summary: "A bracket that is never closed",
    explain: "Every `{`, `[` and `(` needs its `}`, `]` or `)`. The place shown is the opening one; where it \
              was missed is shown beside it. In a text whose brackets do not balance, a declaration at \
              the start of a line begins anew, and indentation tells which block a `}` belongs to.",
};

pub(super) static STRAY_BRACKET: Code = Code {
    id: "plan::syntax::stray_bracket",
    severity: Severity::Error,
    summary: "A bracket that closes nothing",
    explain: "A `}`, `]` or `)` closes the bracket of its kind that was opened last. This one has none: it \
              is one too many, or of the wrong kind.",
};

pub(super) static TOO_DEEP: Code = Code {
    id: "plan::syntax::too_deep",
    severity: Severity::Error,
    summary: "Brackets nested more than 128 deep",
    explain: "Blocks, lists, maps, parentheses and expressions in f-strings nest at most 128 deep. Give the \
              inner part a name with `let`.",
};

/// Something open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// `{ [ (`, or [`kind::FORMAT`] for an f-string, or [`kind::HOLE`] for an expression in one.
    pub kind: u8,
    /// Whether it is an f-string of more lines.
    pub long: bool,
    /// Its first byte.
    pub start: u32,
    /// Its token: how many there were before it.
    pub token: u32,
    /// How many findings there were before it.
    pub findings: u32,
    /// Whether it is not in the text, which has been reported.
    inserted: bool,
    /// The column of the first token of its line.
    indent: u32,
    /// One more than the index of the nearest frame outside it that a `}` would close; 0 for none.
    brace: u32,
    /// The same for `]`, up to the nearest brace.
    list: u32,
    /// The same for `)`.
    paren: u32,
}

impl Lexer<'_> {
    /// Reads an opening bracket.
    pub(super) fn open(&mut self, bracket: u8) {
        let start = self.at;
        self.at += 1;
        self.open_frame(bracket, start, false);
    }

    /// Adds the opening token that covers `start` to here, and its frame.
    pub(super) fn open_frame(&mut self, kind: u8, start: usize, long: bool) {
        if self.frames.len() < NESTING_LIMIT {
            self.push(kind, start, self.at);
        } else if !self.deep {
            self.deep = true;
            self.report(
                TOO_DEEP
                    .at(self.span(start, self.at), format!("nested more than {NESTING_LIMIT} deep"))
                    .label("too deep"),
            );
        }
        let index = offset(self.frames.len());
        let (brace, list, paren) = match self.frames.last() {
            None => (0, 0, 0),
            Some(outer) => match outer.kind {
                kind::OPEN_BRACE | kind::HOLE => (index, 0, 0),
                kind::OPEN_LIST => (outer.brace, index, outer.paren),
                kind::OPEN_PAREN => (outer.brace, outer.list, index),
                _ => (0, 0, 0),
            },
        };
        self.frames.push(Frame {
            kind,
            long,
            start: offset(start),
            token: offset(self.kinds.len().saturating_sub(usize::from(self.frames.len() < NESTING_LIMIT))),
            findings: offset(self.findings.len()),
            inserted: false,
            indent: self.indent,
            brace,
            list,
            paren,
        });
    }

    /// Reads a closing bracket.
    pub(super) fn close(&mut self, bracket: u8) {
        let start = self.at;
        if self.recovering && self.fresh && bracket == kind::CLOSE_BRACE {
            self.recover_before_brace(offset(start - self.line_start));
        }
        let Some(&top) = self.frames.last() else {
            return self.stray_bracket(bracket);
        };
        if self.recovering && bracket == kind::CLOSE_BRACE && self.closes_too_early(top) {
            return self.stray_bracket(bracket);
        }
        let index = self.frames.len() - 1;
        let target = match (bracket, top.kind) {
            (kind::CLOSE_BRACE, kind::OPEN_BRACE | kind::HOLE)
            | (kind::CLOSE_LIST, kind::OPEN_LIST)
            | (kind::CLOSE_PAREN, kind::OPEN_PAREN) => Some(index),
            (kind::CLOSE_BRACE, _) => (top.brace as usize).checked_sub(1),
            (_, kind::OPEN_BRACE | kind::HOLE) => None,
            (kind::CLOSE_LIST, _) => (top.list as usize).checked_sub(1),
            _ => (top.paren as usize).checked_sub(1),
        };
        match (target, top.kind) {
            (Some(target), _) => {
                if target < index {
                    self.leave_open(target + 1);
                }
                self.at = start + 1;
                self.close_top(start);
            }
            (None, kind::OPEN_LIST | kind::OPEN_PAREN) if bracket != kind::CLOSE_BRACE => {
                self.unbalanced = true;
                let wanted = char::from(closing(top.kind));
                let opened = self.span(top.start as usize, top.start as usize + 1);
                self.report(
                    STRAY_BRACKET
                        .at(
                            self.span(start, start + 1),
                            format!("expected `{wanted}`, found `{}`", char::from(bracket)),
                        )
                        .label(format!("write `{wanted}`"))
                        .related(opened, format!("`{}` is opened here", char::from(top.kind))),
                );
                self.at = start + 1;
                self.close_top(start);
            }
            (None, _) => self.stray_bracket(bracket),
        }
    }

    fn stray_bracket(&mut self, bracket: u8) {
        self.unbalanced = true;
        let span = self.span(self.at, self.at + 1);
        self.at += 1;
        self.report(
            STRAY_BRACKET
                .at(span, format!("`{}` closes nothing", char::from(bracket)))
                .label("one too many")
                .help("remove it"),
        );
    }

    /// Takes the innermost frame away and adds its closing token, which covers `start` to here.
    fn close_top(&mut self, start: usize) {
        let Some(frame) = self.frames.pop() else { return };
        self.breaks = false;
        if frame.kind == kind::HOLE {
            if self.hole == Some(self.frames.len()) {
                self.hole = None;
            }
            if !self.deep && self.kinds.len() == frame.token as usize + 1 {
                self.empty_expression(frame, start);
                return;
            }
        }
        if self.frames.len() < NESTING_LIMIT {
            let kind = if frame.kind == kind::HOLE { kind::HOLE_END } else { closing(frame.kind) };
            self.push(kind, start, self.at);
        }
    }

    /// Reports that the innermost frame is never closed, and closes all down to `keep` with empty tokens.
    pub(super) fn leave_open(&mut self, keep: usize) {
        self.unbalanced = true;
        let Some(&top) = self.frames.last() else { return };
        let opening = |frame: Frame| (frame.start as usize, frame.start as usize + 1);
        let swallowed = self.swallowed.is_some_and(|at| at >= top.start as usize);
        if !self.deep && !swallowed && !top.inserted {
            let (start, end) = opening(top);
            let close = char::from(closing(top.kind));
            let (_, before) = self.places.last().copied().unwrap_or_default();
            let here = self.span(before as usize, before as usize);
            let mut finding = UNCLOSED_BRACKET
                .at(self.span(start, end), format!("`{}` is never closed", char::from(top.kind)))
                .label(format!("has no `{close}`"))
                .related(here, format!("`{close}` is missing here at the latest"));
            for frame in self.frames[keep..self.frames.len() - 1].iter().rev().take(4) {
                let (start, end) = opening(*frame);
                finding = finding.related(
                    self.span(start, end),
                    format!("nor has this one its `{}`", char::from(closing(frame.kind))),
                );
            }
            self.report(finding);
        }
        while self.frames.len() > keep {
            let Some(frame) = self.frames.pop() else { break };
            let (_, end) = self.places.last().copied().unwrap_or_default();
            if self.frames.len() < NESTING_LIMIT {
                self.kinds.push(closing(frame.kind));
                self.places.push((end, end));
            }
        }
    }

    /// Before the first word of a line, in a text whose brackets do not balance: closes what the word
    /// shows to have been left open.
    pub(super) fn recover_before_word(&mut self, start: usize, end: usize) {
        if self.frames.is_empty() || self.hole.is_some() {
            return;
        }
        let column = offset(start - self.line_start);
        let field = self.is_assigned(end);
        if column == 0 && !field && self.begins_item(start, end) {
            self.leave_open(0);
            return;
        }
        let Some(top) = self.frames.last() else { return };
        // `name =` never stands in a list, and in an argument list only behind a comma or a parenthesis.
        let last = self.kinds.last().copied();
        let argument = top.kind == kind::OPEN_PAREN && matches!(last, Some(kind::COMMA | kind::OPEN_PAREN));
        if field && matches!(top.kind, kind::OPEN_LIST | kind::OPEN_PAREN) && !argument {
            self.leave_open(top.brace as usize);
        }
        // A member further out than the line that opened its block is of the block around it.
        while field
            && let [.., _, top] = self.frames[..]
            && top.kind == kind::OPEN_BRACE
            && column <= top.indent
        {
            self.leave_open(self.frames.len() - 1);
        }
    }

    /// Before the first word of a line: a field or a declaration further in than a line that was the head of a
    /// block shows that its `{` is missing. It is put there once the text is read again.
    pub(super) fn recover_after_head(&mut self, start: usize, end: usize) {
        let head = self.kinds.get(self.line_token..).unwrap_or_default();
        let named = match head {
            [kind::PLAN, kind::STRING] | [kind::CONTINUE] => true,
            [kind::FOR, _, kind::IN, .., last] | [kind::TEMPLATE, _, kind::OPEN_PAREN, .., last] => {
                *last != kind::OPEN_BRACE
            }
            [first, name] => names_a_block(*first) && is_word(*name),
            [first, kind::FORMAT, .., kind::FORMAT_END] => names_a_block(*first),
            _ => false,
        };
        let deeper = offset(start - self.line_start) > self.indent;
        let inside = self.frames.last().is_none_or(|frame| frame.kind == kind::OPEN_BRACE);
        if !named || !deeper || !inside || !(self.is_assigned(end) || self.begins_item(start, end)) {
            return;
        }
        self.unbalanced = true;
        if !self.recovering {
            return;
        }
        let Some(&(_, behind)) = self.places.last() else { return };
        let behind = behind as usize;
        self.report(
            UNEXPECTED_TOKEN
                .at(self.span(behind, behind), "expected `{`, found the end of the line")
                .label("expected `{`")
                .help("the `{` of a block stands on the line of its name"),
        );
        let at = std::mem::replace(&mut self.at, behind);
        (self.fresh, self.breaks) = (false, false);
        self.open_frame(kind::OPEN_BRACE, behind, false);
        if let Some(frame) = self.frames.last_mut() {
            frame.inserted = true;
        }
        (self.at, self.fresh, self.breaks) = (at, true, true);
    }

    /// Before a word within a line that ends at `end`, in a text whose brackets do not balance: `name =` never
    /// stands in a list, so that the list was left open, and what separates the two is outside it.
    pub(super) fn recover_before_field(&mut self, end: usize) {
        let Some(top) = self.frames.last() else { return };
        if top.kind != kind::OPEN_LIST || self.hole.is_some() || !self.is_assigned(end) {
            return;
        }
        let keep = top.brace as usize;
        let comma = self.kinds.pop_if(|last| *last == kind::COMMA).and_then(|_| self.places.pop());
        self.leave_open(keep);
        match comma {
            Some((start, end)) => self.push(kind::COMMA, start as usize, end as usize),
            None => self.push_break(),
        }
    }

    /// Before a `}` that begins its line: a block opened further in was left open.
    fn recover_before_brace(&mut self, column: u32) {
        while let [.., outer, top] = self.frames[..]
            && top.kind == kind::OPEN_BRACE
            && outer.kind == kind::OPEN_BRACE
            && column < top.indent
            && outer.indent <= column
        {
            self.leave_open(self.frames.len() - 1);
        }
    }

    /// Whether a `}` ends its line, but not the block that it would close, which goes on below: it is one
    /// too many.
    fn closes_too_early(&self, top: Frame) -> bool {
        if self.fresh || top.kind != kind::OPEN_BRACE || top.start as usize >= self.line_start {
            return false;
        }
        let rest = &self.bytes[self.at + 1..];
        let ends = self.after_blanks(self.at + 1).first().is_none_or(|b| matches!(b, b'\n' | b'\r' | b'#'));
        let Some(next) = rest.iter().position(|&b| b == b'\n').filter(|_| ends) else { return false };
        let line = &rest[next + 1..];
        let blanks = line.iter().take_while(|&&b| b == b' ' || b == b'\t').count();
        let continues = line.get(blanks).is_some_and(|b| !b.is_ascii_whitespace());
        continues && offset(blanks) > top.indent
    }

    /// Whether the word begins a member of its own, and so is no value: `=` follows it, or it is a keyword
    /// and a name or a string follows.
    pub(super) fn begins_member(&self, start: usize, end: usize) -> bool {
        if self.frames.last().is_some_and(|frame| frame.kind != kind::OPEN_BRACE) {
            return false;
        }
        let rest = self.after_blanks(end);
        let named = rest.first().is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'"'));
        self.is_assigned(end) || (named && is_keyword(word_kind(&self.text[start..end])))
    }

    /// Whether `=`, and not `==`, follows on the same line.
    fn is_assigned(&self, at: usize) -> bool {
        let rest = self.after_blanks(at);
        rest.starts_with(b"=") && !rest.starts_with(b"==")
    }

    /// Whether a declaration seems to begin with the word: a keyword, or any word that a name and a `{`
    /// follow; and no `=` or `->`.
    pub(super) fn begins_item(&self, start: usize, end: usize) -> bool {
        let rest = self.after_blanks(end);
        if rest.starts_with(b"->") || (rest.starts_with(b"=") && !rest.starts_with(b"==")) {
            return false;
        }
        if is_keyword(word_kind(&self.text[start..end])) {
            return true;
        }
        let at = self.bytes.len() - rest.len();
        let name = super::lexer::word_end(self.bytes, at);
        name > at && self.after_blanks(name).starts_with(b"{")
    }

    fn after_blanks(&self, at: usize) -> &[u8] {
        let rest = &self.bytes[at..];
        let blanks = rest.iter().take_while(|&&b| b == b' ' || b == b'\t').count();
        &rest[blanks..]
    }
}

fn closing(kind: u8) -> u8 {
    match kind {
        kind::OPEN_LIST => kind::CLOSE_LIST,
        kind::OPEN_PAREN => kind::CLOSE_PAREN,
        _ => kind::CLOSE_BRACE,
    }
}
