//! Text to tokens: every byte is part of a token, a comment or a blank, or of a finding.
//!
//! Line breaks become tokens where they separate, which the innermost bracket decides; brackets always
//! balance in what comes out (`brackets.rs`). Unaware of declarations and expressions.

use std::ops::Range;

use crate::diag::{Code, Diagnostic, Severity};
use crate::source::{FileId, Span};

use super::TOO_LARGE;
use super::ast::Comment;
use super::brackets::Frame;
use super::tokens::{Doc, Tokens, is_keyword, is_word, kind, word_kind};
use super::{numbers, stray};

/// How deep brackets may nest, f-strings and their expressions included.
pub(super) const NESTING_LIMIT: usize = 128;

/// The longest name, in characters.
const NAME_LIMIT: usize = 64;

/// The most tokens of one text.
const TOKENS_LIMIT: usize = 10_000_000;

/// After so many findings in one text, reading on tells nobody anything.
pub(super) const FINDINGS_LIMIT: usize = 10_000;

pub(super) static LONG_NAME: Code = Code {
    id: "plan::syntax::long_name",
    severity: Severity::Error,
    summary: "A name longer than 64 characters",
    explain: "Names are shown in lists, logs and file names, and have at most 64 characters: letters, \
              digits, `_` and `-`.",
};

pub(super) static MALFORMED_NUMBER: Code = Code {
    id: "plan::syntax::malformed_number",
    severity: Severity::Error,
    summary: "Something that begins like a number and is none",
    explain: "Numbers are written `3`, `1_000`, `-0.5` or `1e-3`. A duration is whole numbers with the \
              units `d h m s ms`, falling and each at most once: `250ms`, `90s`, `1h30m`, `2d`. Anything \
              else that begins with a digit, such as a version, goes in quotes.",
};

pub(super) static TOO_MANY_FINDINGS: Code = Code {
    id: "plan::syntax::too_many_findings",
    severity: Severity::Error,
    summary: "More findings than anyone reads",
    explain: "The text has so many errors that it is hardly a plan. Findings behind this place are not \
              reported.",
};

/// What [`lex`] makes of a text.
pub(super) struct Lexed {
    pub tokens: Tokens,
    pub comments: Vec<Comment>,
    pub docs: Vec<Doc>,
    /// Tokens with a finding inside, in order: their values are unknown.
    pub broken: Vec<u32>,
    pub findings: Vec<Diagnostic>,
}

/// Reads all of `text`. Where brackets do not balance it is read once more, with an eye on indentation
/// and on declarations at the start of a line, to find the bracket that is wrong.
pub(super) fn lex(text: &str, file: FileId) -> Lexed {
    let mut lexer = Lexer::new(text, file, false);
    lexer.run();
    if lexer.unbalanced {
        lexer = Lexer::new(text, file, true);
        lexer.run();
    }
    lexer.finish()
}

pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) file: FileId,
    /// The next byte to read.
    pub(super) at: usize,
    /// Whether the first reading found brackets that do not balance.
    pub(super) recovering: bool,
    pub(super) unbalanced: bool,
    pub(super) kinds: Vec<u8>,
    pub(super) places: Vec<(u32, u32)>,
    pub(super) broken: Vec<u32>,
    pub(super) findings: Vec<Diagnostic>,
    /// Every open bracket, f-string and f-string expression.
    pub(super) frames: Vec<Frame>,
    /// The outermost open f-string expression, as an index into `frames`.
    pub(super) hole: Option<usize>,
    /// Up to here no `{` of an f-string opens an expression: one on this line was not closed.
    pub(super) plain_until: usize,
    /// Whether a long string that never ends has been cut already.
    pub(super) cut: bool,
    /// Where a string that never ends has swallowed closing brackets.
    pub(super) swallowed: Option<usize>,
    /// Whether the nesting limit has been reported.
    pub(super) deep: bool,
    /// Where the current line starts.
    pub(super) line_start: usize,
    /// The column of the first token of the current line.
    pub(super) indent: u32,
    /// The first token of the current line, or of the last that had one.
    pub(super) line_token: usize,
    /// Whether no token has been seen on the current line.
    pub(super) fresh: bool,
    /// Whether a line break has been seen since the last token.
    pub(super) breaks: bool,
    comments: Vec<Comment>,
    docs: Vec<Doc>,
    /// The latest run of `##` lines, as indices into `comments`.
    doc: Option<(u32, u32)>,
    /// Line breaks since the last comment.
    lines: u32,
    full: bool,
    /// Part of a line, up to its end: what [`Lexer::line_end`] found last, so that a long line is not looked
    /// through for each of its tokens.
    line: Range<usize>,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str, file: FileId, recovering: bool) -> Self {
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self {
            text,
            bytes: text.as_bytes(),
            file,
            at: start,
            recovering,
            unbalanced: false,
            kinds: Vec::with_capacity(text.len() / 8),
            places: Vec::with_capacity(text.len() / 8),
            broken: Vec::new(),
            findings: Vec::new(),
            frames: Vec::new(),
            hole: None,
            plain_until: 0,
            cut: false,
            swallowed: None,
            deep: false,
            line_start: start,
            indent: 0,
            line_token: 0,
            fresh: true,
            breaks: false,
            comments: Vec::new(),
            docs: Vec::new(),
            doc: None,
            lines: 0,
            full: false,
            line: 0..0,
        }
    }

    fn run(&mut self) {
        while !self.full {
            if self.kinds.len() > TOKENS_LIMIT || self.frames.len() > TOKENS_LIMIT / 10 {
                let here = self.span(self.at, self.at);
                self.full = true;
                self.deep = true;
                self.findings.push(TOO_LARGE.at(here, "the file has more than 10,000,000 words and signs"));
            } else if self.frames.last().is_some_and(|frame| frame.kind == kind::FORMAT) {
                self.format_text();
            } else if !self.code() {
                break;
            }
        }
        if !self.frames.is_empty() {
            self.leave_open(0);
        }
    }

    fn finish(mut self) -> Lexed {
        self.broken.sort_unstable();
        self.findings.sort_by_key(|finding| finding.span.start);
        Lexed {
            tokens: Tokens {
                file: self.file,
                kinds: String::from_utf8(self.kinds).expect("kinds are ASCII"),
                places: self.places,
            },
            comments: self.comments,
            docs: self.docs,
            broken: self.broken,
            findings: self.findings,
        }
    }

    /// Reads one token, comment or line break outside a string. False at the end of the text.
    fn code(&mut self) -> bool {
        while let Some(b' ' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
        let start = self.at;
        let Some(&byte) = self.bytes.get(start) else {
            if self.hole.is_some() {
                self.abandon_expression();
                return true;
            }
            return false;
        };
        let next = self.bytes.get(start + 1).copied();
        match (byte, next) {
            (b'a'..=b'z' | b'A'..=b'Z' | b'_', _) => self.word(),
            (b'\n', _) => self.line_break(),
            (b'\r', Some(b'\n')) => self.at += 1,
            (b'#', _) => self.comment(),
            (b'"' | b'\'', _) => self.string(),
            (b'0'..=b'9', _) | (b'-', Some(b'0'..=b'9')) => self.number(),
            (b'=' | b'!' | b'<' | b'>', Some(b'=')) => self.punctuation(kind::COMPARE, 2),
            (b'<' | b'>', _) => self.punctuation(kind::COMPARE, 1),
            (b'-', Some(b'>')) => {
                self.mark_word(kind::NODE);
                self.punctuation(kind::ARROW, 2);
            }
            (b'=', _) => {
                self.mark_word(kind::FIELD);
                self.punctuation(kind::ASSIGN, 1);
            }
            (b':' | b',' | b'.' | b'?' | b'|' | b'+', _) => self.punctuation(byte, 1),
            (b'{' | b'[' | b'(', _) => self.open(byte),
            (b'}' | b']' | b')', _) => self.close(byte),
            _ => self.stray(),
        }
        true
    }

    /// The word before `=` or `->` says so: the first token then decides what a member is. A line break may
    /// stand before `->`, not before `=`.
    fn mark_word(&mut self, mark: u8) {
        if let Some(last) = self.kinds.last_mut()
            && is_word(*last)
            && (!self.breaks || mark == kind::NODE)
            && self.frames.len() <= NESTING_LIMIT
        {
            *last = mark;
        }
    }

    fn punctuation(&mut self, kind: u8, length: usize) {
        let start = self.at;
        self.at += length;
        self.push(kind, start, self.at);
    }

    /// Adds a token, and before it the line break that separates it from the one before.
    pub(super) fn push(&mut self, kind: u8, start: usize, end: usize) {
        if self.frames.len() > NESTING_LIMIT {
            return;
        }
        if self.breaks {
            self.breaks = false;
            let before = self.kinds.last().copied();
            let separates = self.frames.last().is_none_or(|frame| frame.kind == kind::OPEN_BRACE);
            if separates && before.is_some_and(|kind| !blank_after(kind)) && !blank_before(kind) {
                self.push_break();
            }
        }
        if self.fresh {
            self.fresh = false;
            self.line_token = self.kinds.len();
            self.indent = offset(start - self.line_start);
            if let Some((first, last)) = self.doc.take() {
                self.docs.push(Doc { token: offset(self.kinds.len()), first, last });
            }
        }
        self.kinds.push(kind);
        self.places.push((offset(start), offset(end)));
    }

    /// Adds a line break that separates.
    pub(super) fn push_break(&mut self) {
        if self.frames.len() <= NESTING_LIMIT {
            let (_, end) = self.places.last().copied().unwrap_or_default();
            self.kinds.push(kind::BREAK);
            self.places.push((end, end));
        }
    }

    /// Notes that the last token holds a finding.
    pub(super) fn mark_broken(&mut self) {
        if self.frames.len() <= NESTING_LIMIT
            && let Some(last) = self.kinds.len().checked_sub(1)
        {
            self.broken.push(offset(last));
        }
    }

    pub(super) fn report(&mut self, finding: Diagnostic) {
        if self.findings.len() + 1 < FINDINGS_LIMIT {
            self.findings.push(finding);
        } else if !self.full {
            self.full = true;
            self.findings.push(TOO_MANY_FINDINGS.at(finding.span, "too many errors; the rest is not read"));
        }
    }

    pub(super) fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start, end)
    }

    /// The end of the line that holds the byte at `at`, its line break excluded.
    pub(super) fn line_end(&mut self, at: usize) -> usize {
        if !self.line.contains(&at) {
            self.line = at..self.find_line_end(at);
        }
        self.line.end
    }

    fn find_line_end(&self, at: usize) -> usize {
        let end = memchr::memchr(b'\n', &self.bytes[at..]).map_or(self.bytes.len(), |n| at + n);
        if end > at && self.bytes[end - 1] == b'\r' && end < self.bytes.len() { end - 1 } else { end }
    }

    fn line_break(&mut self) {
        if self.hole.is_some() {
            self.abandon_expression();
            return;
        }
        self.at += 1;
        self.line_start = self.at;
        self.fresh = true;
        self.breaks = true;
        self.lines += 1;
    }

    fn comment(&mut self) {
        if self.hole.is_some() {
            self.abandon_expression();
            return;
        }
        let (start, end) = (self.at, self.line_end(self.at));
        let doc = self.bytes[start..end].starts_with(b"##");
        let index = offset(self.comments.len());
        self.comments.push(Comment { span: self.span(start, end), doc, own_line: self.fresh });
        if doc && self.fresh {
            self.doc = match self.doc {
                Some((first, last)) if last + 1 == index && self.lines == 1 => Some((first, index)),
                _ => Some((index, index)),
            };
        }
        self.lines = 0;
        self.at = end;
        if let Some((at, character)) = stray::hidden_in(&self.text[start..end]) {
            let at = start + at;
            self.report(stray::unexpected(self.span(at, at + character.len_utf8()), character));
        }
    }

    fn word(&mut self) {
        let start = self.at;
        let end = word_end(self.bytes, start);
        let word = &self.text[start..end];
        if word == "f" && self.bytes.get(end) == Some(&b'"') {
            self.open_format();
            return;
        }
        if word == "f" && self.bytes.get(end) == Some(&b'\'') {
            self.report(
                stray::UNEXPECTED_CHARACTER
                    .at(self.span(end, end + 1), "an f-string is written with `\"`")
                    .label("a literal string takes no expressions")
                    .help("write `f\"…\"` or `f\"\"\"…\"\"\"`"),
            );
            self.at = end;
            self.string();
            self.mark_broken();
            return;
        }
        self.at = end;
        if word.len() > NAME_LIMIT {
            let count = word.len();
            self.report(
                LONG_NAME
                    .at(
                        self.span(start, end),
                        format!("a name has at most 64 characters, this one has {count}"),
                    )
                    .label("too long"),
            );
        }
        if self.fresh {
            if self.recovering {
                self.recover_before_word(start, end);
            }
            self.recover_after_head(start, end);
            if self.kinds.last().is_some_and(|last| asks_for_a_value(*last)) && self.begins_member(start, end)
            {
                self.push_break();
            }
        } else if self.recovering {
            self.recover_before_field(end);
        }
        self.push(word_kind(word), start, end);
    }

    fn number(&mut self) {
        let start = self.at;
        let end = numbers::end(self.bytes, start);
        self.at = end;
        match numbers::classify(&self.text[start..end]) {
            Ok(kind) => self.push(kind, start, end),
            Err(problem) => {
                let written = &self.text[start..end];
                let finding = match self.expects_a_name() {
                    true => MALFORMED_NUMBER
                        .at(self.span(start, end), format!("`{}` is no name", stray::cut(written, 40)))
                        .help("a name begins with a letter or `_`"),
                    false => {
                        MALFORMED_NUMBER.at(self.span(start, end), problem.message).maybe_help(problem.help)
                    }
                };
                self.report(finding);
                self.push(problem.kind, start, end);
                self.mark_broken();
            }
        }
    }

    /// Whether a word of the language stands before, on the same line, that a name has to follow.
    fn expects_a_name(&self) -> bool {
        let keyword = self.kinds.last().is_some_and(|&last| is_keyword(last) && last != kind::CONTINUE);
        keyword && !self.breaks
    }

    /// What begins no token is reported and left out; the tokens around it are read as if it were blank.
    fn stray(&mut self) {
        let start = self.at;
        let stray = stray::at(&self.text[..self.line_end(start)], start);
        let mut finding = stray.finding(self.file, self.text, start);
        if self.bytes[start] == b'-' && self.expects_a_name() {
            finding = finding.help("a name begins with a letter or `_`");
        }
        self.at = if stray.comment { self.line_end(start) } else { start + stray.length };
        self.report(finding);
        if stray.string {
            self.push(kind::STRING, start, self.at);
            self.mark_broken();
        }
    }
}

/// A byte offset or an index, as it is stored. Texts of 4 GiB are refused before they get here.
pub(super) fn offset(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Where the word that starts at `start` ends: a `-` continues it only before a letter, a digit or `_`.
pub(super) fn word_end(bytes: &[u8], start: usize) -> usize {
    let continues = |at: usize| bytes.get(at).is_some_and(|&b| b.is_ascii_alphanumeric() || b == b'_');
    let mut at = start;
    while continues(at) || (bytes.get(at) == Some(&b'-') && at > start && continues(at + 1)) {
        at += 1;
    }
    at
}

/// After these a value has to stand, and no member can begin.
fn asks_for_a_value(kind: u8) -> bool {
    matches!(kind, kind::ASSIGN | kind::COMPARE | kind::PLUS | kind::AND | kind::OR | kind::NOT | kind::IN)
}

/// After these a line break is a blank.
fn blank_after(kind: u8) -> bool {
    matches!(
        kind,
        kind::ASSIGN
            | kind::COLON
            | kind::COMMA
            | kind::OPEN_BRACE
            | kind::COMPARE
            | kind::PLUS
            | kind::AND
            | kind::OR
            | kind::NOT
            | kind::IN
            | kind::BAR
            | kind::ARROW
            | kind::BREAK
    )
}

/// Before these a line break is a blank.
fn blank_before(kind: u8) -> bool {
    matches!(
        kind,
        kind::COMMA
            | kind::CLOSE_BRACE
            | kind::COMPARE
            | kind::PLUS
            | kind::AND
            | kind::OR
            | kind::NOT
            | kind::IN
            | kind::BAR
            | kind::ARROW
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexed(text: &str) -> Lexed {
        lex(text, FileId(0))
    }

    fn kinds(text: &str) -> String {
        let lexed = lexed(text);
        assert!(lexed.findings.is_empty(), "{:?}", lexed.findings);
        lexed.tokens.kinds
    }

    /// Codes and places of what is wrong.
    fn findings(text: &str) -> Vec<(&'static str, &str)> {
        let lexed = lexed(text);
        let shown = lexed.findings.iter().map(|finding| {
            (finding.code.id.strip_prefix("plan::syntax::").unwrap(), &text[finding.span.range()])
        });
        shown.collect()
    }

    #[test]
    fn each_token_is_a_byte() {
        assert_eq!(kinds("command a { run = \"x\", n = 1 }"), "KN{M=s,M=r}");
        assert_eq!(kinds("param p: \"a\" | [b] = 1h { min = 2 }"), "AN:s|[N]=u{M=r}");
        assert_eq!(kinds("a -> label -> b if not x == true label 'l' weight -2 default"), "E-E-NfnNctJsWrD");
        assert_eq!(kinds("when = a.b in [1] and c not in d or e"), "M=N.Ni[r]aNniNoN");
        assert_eq!(kinds("plan = 1\nplan \"x\" {}"), "M=r;Ps{}");
        assert_eq!(kinds("emits = { why?: string }"), "M={N?:N}");
        assert_eq!(kinds("f\"a{x}b{{{y.z}\" f\"\"\"{f\"{q}\"}\"\"\" f \"\""), "'_<N>_<N.N>\"'<'<N>\">\"Ns");
    }

    #[test]
    fn the_innermost_bracket_decides_what_a_line_break_is() {
        assert_eq!(kinds("a = 1\nb = 2\r\n\n\nc = 3\n"), "M=r;M=r;M=r");
        assert_eq!(kinds("a = [\n1\n,\n2\n]\nb = (\n1\n)"), "M=[r,r];M=(r)");
        assert_eq!(kinds("a = [{\nb = 1\nc = 2\n}\n]"), "M=[{M=r;M=r}]");
        assert_eq!(kinds("a {\n\nb = 1 # c\n# d\n}\ne"), "N{M=r};N");
        assert_eq!(kinds("a = 1\n, b = 2,\nc = 3"), "M=r,M=r,M=r");
        for text in ["a =\n1", "a\n+ 1", "a +\n1", "a\nand b", "a or\nb", "a\n== b", "a in\nb", "a\nnot in b"]
        {
            assert!(!kinds(text).contains(';'), "{text}");
        }
        for text in ["a ->\nb", "a\n-> b", "x: a |\nb", "x: a\n| b", "x:\na"] {
            assert!(!kinds(text).contains(';'), "{text}");
        }
        for text in ["a\n-> b", "a # c\n# d\n-> b", "a ->\nb"] {
            assert_eq!(kinds(text), "E-N", "{text}");
        }
        assert_eq!(kinds("a = 1\nb\n-> c\n-> d"), "M=r;E-E-N");
        for text in [
            "a\n{}",
            "a\n= 1",
            "a\n.b",
            "a\n(b)",
            "a =\nb = 1",
            "a =\ncommand c {}",
            "a = b !=\nc = 1",
            "a = b and\nc = 1",
        ] {
            assert!(kinds(text).contains(';'), "{text}");
        }
    }

    #[test]
    fn a_dash_continues_a_name_before_a_letter_a_digit_or_an_underscore() {
        assert_eq!(kinds("a-b a-1 a-_ a->b a -1"), "NNNE-NNr");
        assert_eq!(findings("a- b"), [("unexpected_character", "-")]);
        assert_eq!(findings("a--b"), [("unexpected_character", "--")]);
        let long = "x".repeat(65);
        assert_eq!(findings(&long), [("long_name", long.as_str())]);
        assert_eq!(findings(&long[..64]), []);
    }

    #[test]
    fn numbers_and_durations_are_told_apart() {
        assert_eq!(kinds("3 1_000 -0.5 1e-3 2E+5 0 0.25"), "rrrrrrr");
        assert_eq!(kinds("250ms 90s 1h30m 2d 1d2h3m4s5ms 1_000ms 05m"), "uuuuuuu");
        for text in [
            "007", "1.", "1.2.3", "1__0", "1_", "1e400", "0x1F", "5x", "1.5h", "30m1h", "1h1h", "-5s",
            "2fast",
        ] {
            assert_eq!(findings(text), [("malformed_number", text)]);
        }
    }

    #[test]
    fn strings_end_where_their_quotes_say() {
        assert_eq!(kinds(r#""a\"b" '\' "" '' """a"b""c""""" '''it's''' x"#), "ssssssN");
        assert_eq!(kinds("\"\"\"\n a\n \\\"\"\"\n\"\"\" x"), "sN");
        assert_eq!(findings("a = \"b\nc = 1"), [("unclosed_string", "\"")]);
        assert_eq!(findings("a = '''b\nc = 1"), [("unclosed_string", "'''")]);
        assert_eq!(findings("a = f\"b\nc = 1"), [("unclosed_string", "\"")]);
        assert_eq!(findings(r#""\q \x41 \u{D800} \u{} \u{e9} \n""#).len(), 4);
        assert_eq!(findings("'\\q'"), []);
    }

    #[test]
    fn an_expression_in_an_f_string_ends_on_its_line() {
        assert_eq!(kinds(r#"f"{a["}"]}" f"{{}}" f"{{{a}}}""#), "'<N[s]>\"'_\"'_<N>_\"");
        assert_eq!(findings(r#"{ T = f"open {name" }"#), [("unclosed_expression", "{")]);
        assert_eq!(findings("f\"\"\"a {\nb}\n\"\"\""), [("unclosed_expression", "{"), ("stray_brace", "}")]);
        assert_eq!(findings("f\"a } b\""), [("stray_brace", "}")]);
        assert_eq!(findings("f\"a { } b\""), [("empty_expression", "{ }")]);
        assert_eq!(findings("f\"{a # b}\""), [("unclosed_expression", "{")]);
    }

    #[test]
    fn brackets_always_balance() {
        for text in
            ["{", "}", "[)", "a { b = [1\n c = 2 }", "(]", "{[}", "f\"{(}\"", "a {\ncommand b {}", "]{[("]
        {
            let lexed = lexed(text);
            assert!(!lexed.findings.is_empty(), "{text}");
            let mut open = Vec::new();
            for kind in lexed.tokens.kinds.chars() {
                match kind {
                    '{' | '[' | '(' | '<' | '\'' => open.push(kind),
                    '}' => assert_eq!(open.pop(), Some('{'), "{text}"),
                    ']' => assert_eq!(open.pop(), Some('['), "{text}"),
                    ')' => assert_eq!(open.pop(), Some('('), "{text}"),
                    '>' => assert_eq!(open.pop(), Some('<'), "{text}"),
                    '"' => assert_eq!(open.pop(), Some('\''), "{text}"),
                    _ => {}
                }
            }
            assert!(open.is_empty(), "{text}");
        }
    }

    #[test]
    fn characters_that_begin_nothing_are_left_out() {
        for (text, left) in
            [("a\u{a0}= 1", "M=r"), ("a = 1\u{7}", "M=r"), ("a\n\u{feff}\n", "N"), ("a $ b", "NN")]
        {
            let lexed = lexed(text);
            assert_eq!((lexed.findings.len(), lexed.tokens.kinds.as_str()), (1, left), "{text:?}");
        }
        assert_eq!(kinds("\u{feff}a"), "N");
        assert_eq!(findings("# a\u{7}b\tc"), [("unexpected_character", "\u{7}")]);
        assert_eq!(findings("a\rb"), [("unexpected_character", "\r")]);
        assert_eq!(findings("\"\u{7}\""), []);
    }

    #[test]
    fn comments_are_kept_beside_the_tokens() {
        let text = "# one\n## two\n## three\na { # four\n## five\n\n# six\nb = 1\n}";
        let lexed = lexed(text);
        let own: Vec<bool> = lexed.comments.iter().map(|comment| comment.own_line).collect();
        assert_eq!(own, [true, true, true, false, true, true]);
        let docs: Vec<_> = lexed.docs.iter().map(|doc| (doc.token, doc.first, doc.last)).collect();
        assert_eq!(docs, [(0, 1, 2), (2, 4, 4)]);
    }
}
