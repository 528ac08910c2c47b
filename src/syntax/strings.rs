//! Strings, after TOML: where they end, what they say, and what is wrong in them.
//!
//! The first half reads them as part of the text; the second turns what was written into what is meant.
//! Unaware of what a string is for.

use std::borrow::Cow;

use crate::diag::{Code, Severity};
use crate::source::Text;

use super::brackets::Frame;
use super::lexer::{Lexer, NESTING_LIMIT, word_end};
use super::tokens::kind;

pub(super) static UNCLOSED_STRING: Code = Code {
    id: "plan::syntax::unclosed_string",
    severity: Severity::Error,
    summary: "A string that is never closed",
    explain: "`\"…\"` and `'…'` end on their line. Text of more lines is written `\"\"\"…\"\"\"`, or \
              `'''…'''` without escapes.",
};

pub(super) static UNKNOWN_ESCAPE: Code = Code {
    id: "plan::syntax::unknown_escape",
    severity: Severity::Error,
    summary: "A backslash that means nothing",
    explain: "The escapes of `\"…\"` are `\\n`, `\\t`, `\\r`, `\\\"`, `\\\\` and `\\u{…}` with the hexadecimal \
              number of a character. Strings in single quotes have none, which suits shell text and patterns.",
};

pub(super) static MIXED_INDENTATION: Code = Code {
    id: "plan::syntax::mixed_indentation",
    severity: Severity::Error,
    summary: "A string whose lines are indented by tabs here and blanks there",
    explain: "A string of more lines loses the indentation that all of its lines have in common, the line of \
              the closing quotes included. Where one line begins with a tab and another with a blank there \
              is none, and what would be left is not what it looks like.",
};

pub(super) static UNCLOSED_EXPRESSION: Code = Code {
    id: "plan::syntax::unclosed_expression",
    severity: Severity::Error,
    summary: "A `{` in an f-string without its `}`",
    explain: "In `f\"…\"` a `{` begins an expression, which ends with `}` on the same line. A brace that is \
              meant as such is written twice: `{{`.",
};

pub(super) static STRAY_BRACE: Code = Code {
    id: "plan::syntax::stray_brace",
    severity: Severity::Error,
    summary: "A `}` in an f-string that ends no expression",
    explain: "In `f\"…\"` braces hold expressions. A brace that is meant as such is written twice: `}}`.",
};

pub(super) static EMPTY_EXPRESSION: Code = Code {
    id: "plan::syntax::empty_expression",
    severity: Severity::Error,
    summary: "`{}` in an f-string",
    explain: "In `f\"…\"` braces hold one expression. Braces that are meant as such are written `{{}}`.",
};

impl Lexer<'_> {
    /// Reads a string without expressions.
    pub(super) fn string(&mut self) {
        let start = self.at;
        let quote = self.bytes[start];
        let found = self.findings.len();
        let long = self.bytes[start..].starts_with(&[quote; 3]);
        self.at += if long { 3 } else { 1 };
        let inside = self.at;
        // An expression of an f-string stays on its line, and so does every string in it.
        let limit = if self.hole.is_some() || !long { self.line_end(start) } else { self.bytes.len() };
        let closed = self.seek_quote(quote, long, limit);
        if !closed {
            if self.hole.is_some() {
                self.at = limit;
                self.abandon_expression();
                return;
            }
            self.unclosed_string(start, long);
            self.swallow(start);
            if long && let Some(cut) = self.cut_string(inside) {
                self.at = cut;
            }
        }
        let end = self.at;
        self.push(kind::STRING, start, end);
        if long {
            self.end_long(inside, if closed { end - 3 } else { end }, closed);
        }
        if !closed || self.findings.len() > found {
            self.mark_broken();
        }
    }

    /// Goes behind the closing quotes. False, at `limit`, if there are none.
    fn seek_quote(&mut self, quote: u8, long: bool, limit: usize) -> bool {
        loop {
            let rest = &self.bytes[self.at..limit];
            let found =
                if quote == b'"' { memchr::memchr2(quote, b'\\', rest) } else { memchr::memchr(quote, rest) };
            let Some(found) = found else {
                self.at = limit;
                return false;
            };
            self.at += found;
            if self.bytes[self.at] == b'\\' {
                self.escape();
                self.at = self.at.min(limit);
            } else if !long {
                self.at += 1;
                return true;
            } else if self.closes_long(quote) {
                return true;
            }
        }
    }

    /// Goes behind a run of quotes in a long string. Three close it; one or two before them belong to it.
    fn closes_long(&mut self, quote: u8) -> bool {
        let run = self.bytes[self.at..].iter().take(5).take_while(|&&b| b == quote).count();
        self.at += run;
        run >= 3
    }

    /// What a long string needs when it ends: lines are counted on, and its indentation is looked at.
    fn end_long(&mut self, inside: usize, end: usize, closed: bool) {
        let content = &self.text[inside..end];
        let Some(last) = memchr::memrchr(b'\n', content.as_bytes()) else { return };
        self.line_start = inside + last + 1;
        if closed && let Err(at) = indentation(content) {
            let at = inside + at;
            let blanks = self.bytes[at..].iter().take_while(|&&b| b == b' ' || b == b'\t').count();
            self.report(
                MIXED_INDENTATION
                    .at(self.span(at, at + blanks), "tabs and blanks leave the lines no common indentation")
                    .label("indented unlike the first line")
                    .help("indent every line of the string the same way"),
            );
        }
    }

    fn unclosed_string(&mut self, start: usize, long: bool) {
        let quote = char::from(self.bytes[start]);
        let quotes = if long { quote.to_string().repeat(3) } else { quote.to_string() };
        let help = if long {
            format!("close it with `{quotes}`")
        } else {
            format!(
                "close it with `{quotes}` on this line, or write `{q}…{q}`",
                q = quote.to_string().repeat(3)
            )
        };
        self.report(
            UNCLOSED_STRING
                .at(self.span(start, start + quotes.len()), "the string is never closed")
                .label("opened here")
                .help(help),
        );
    }

    /// Remembers that a string without end, from `start` to here, hides brackets that close others.
    fn swallow(&mut self, start: usize) {
        if self.bytes[start..self.at].iter().any(|b| matches!(b, b'}' | b']' | b')')) {
            self.swallowed = Some(start);
        }
    }

    /// Where the text goes on behind a long string that never ends: at the first line that begins like a
    /// declaration. Once per text, so that reading it stays linear.
    fn cut_string(&mut self, inside: usize) -> Option<usize> {
        if std::mem::replace(&mut self.cut, true) {
            return None;
        }
        let lines = memchr::memchr_iter(b'\n', &self.bytes[inside..]).map(|at| inside + at + 1);
        for line in lines {
            let end = word_end(self.bytes, line);
            if end > line && self.bytes[line].is_ascii_alphabetic() && self.begins_item(line, end) {
                return Some(line - 1);
            }
        }
        None
    }

    /// Reads a backslash and what it escapes.
    fn escape(&mut self) {
        let start = self.at;
        self.at += 1;
        let Some(character) = self.text[self.at..].chars().next() else { return };
        let end = self.at + character.len_utf8();
        match character {
            'n' | 't' | 'r' | '"' | '\\' => self.at = end,
            'u' => self.code_point(start, end),
            '\n' | '\r' => self.report(
                UNKNOWN_ESCAPE
                    .at(self.span(start, start + 1), "`\\` before a line break is no escape")
                    .help("write `\\\\` for a backslash; lines are joined by `+`"),
            ),
            _ => {
                self.at = end;
                let shown = super::stray::show(character);
                let help = match character {
                    '\'' => "a single quote needs no `\\`".to_owned(),
                    'x' => format!("write `\\u{{{}}}`", self.hexadecimal(end).unwrap_or("…")),
                    '0' | 'U' => "write the character as `\\u{…}`".to_owned(),
                    _ => format!("write `\\\\{shown}` for a backslash, or use single quotes"),
                };
                self.report(
                    UNKNOWN_ESCAPE
                        .at(self.span(start, end), format!("`\\{shown}` is no escape"))
                        .label("unknown")
                        .help(help),
                );
            }
        }
    }

    /// The two hexadecimal digits at `at`.
    fn hexadecimal(&self, at: usize) -> Option<&str> {
        self.text.get(at..at + 2).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
    }

    /// Reads `{…}` behind `\u`.
    fn code_point(&mut self, start: usize, brace: usize) {
        self.at = brace;
        let digits = self.bytes[brace..].get(1..).unwrap_or_default();
        let digits = digits.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        let end = brace + 1 + digits;
        if self.bytes.get(brace) != Some(&b'{') || self.bytes.get(end) != Some(&b'}') || digits == 0 {
            let finding = UNKNOWN_ESCAPE.at(self.span(start, brace), "`\\u` takes a number in braces");
            self.report(finding.label("as in `\\u{e9}`").help("write `\\u{…}` with hexadecimal digits"));
            return;
        }
        self.at = end + 1;
        let written = &self.text[brace + 1..end];
        if parse_code_point(written).is_none() {
            let shown = if digits <= 12 { written } else { "…" };
            self.report(
                UNKNOWN_ESCAPE
                    .at(self.span(start, end + 1), format!("`\\u{{{shown}}}` names no character"))
                    .label("no such character"),
            );
        }
    }

    /// Reads `f"` or `f"""`.
    pub(super) fn open_format(&mut self) {
        let start = self.at;
        let long = self.bytes[start + 1..].starts_with(b"\"\"\"");
        self.at += if long { 4 } else { 2 };
        self.open_frame(kind::FORMAT, start, long);
    }

    /// Reads on in an f-string: to its end, or to the next expression.
    pub(super) fn format_text(&mut self) {
        let Some(&frame) = self.frames.last() else { return };
        let start = self.at;
        loop {
            let Some(found) =
                self.bytes[self.at..].iter().position(|b| matches!(b, b'"' | b'\\' | b'\n' | b'{' | b'}'))
            else {
                self.at = self.bytes.len();
                break self.unclosed_format(start);
            };
            self.at += found;
            let here = self.at;
            let doubled = self.bytes.get(here + 1) == Some(&self.bytes[here]);
            match self.bytes[here] {
                b'"' if !frame.long => {
                    self.chunk(start, here);
                    self.at = here + 1;
                    break self.close_format(here);
                }
                b'"' => {
                    if self.closes_long(b'"') {
                        let quotes = self.at - 3;
                        self.chunk(start, quotes);
                        break self.close_format(quotes);
                    }
                }
                b'\\' => self.escape(),
                b'\n' if self.hole.is_some() => break self.abandon_expression(),
                b'\n' if !frame.long => {
                    self.at = self.line_end(start);
                    break self.unclosed_format(start);
                }
                b'\n' => {
                    self.at += 1;
                    self.line_start = self.at;
                }
                b'{' | b'}' if doubled => self.at += 2,
                _ if here < self.plain_until => self.at += 1,
                b'{' => {
                    self.chunk(start, here);
                    self.at = here + 1;
                    self.open_frame(kind::HOLE, here, false);
                    self.hole = self.hole.or(Some(self.frames.len() - 1));
                    break;
                }
                _ => {
                    self.at += 1;
                    self.report(
                        STRAY_BRACE
                            .at(self.span(here, here + 1), "`}` ends no expression")
                            .label("nothing is open here")
                            .help("write `}}` for a brace"),
                    );
                }
            }
        }
    }

    fn chunk(&mut self, start: usize, end: usize) {
        if start < end {
            self.push(kind::CHUNK, start, end);
        }
    }

    /// Takes the f-string away and adds its closing token, which covers `quotes` to here.
    fn close_format(&mut self, quotes: usize) {
        let Some(frame) = self.frames.pop() else { return };
        if self.frames.len() < NESTING_LIMIT {
            self.push(kind::FORMAT_END, quotes, self.at);
        }
        if frame.long {
            self.end_long(frame.start as usize + 4, quotes, true);
        }
        if self.findings.len() > frame.findings as usize && self.frames.len() < NESTING_LIMIT {
            self.broken.push(frame.token);
        }
    }

    /// Reports that the innermost f-string, whose last text begins at `chunk`, is never closed.
    fn unclosed_format(&mut self, chunk: usize) {
        let Some(&frame) = self.frames.last() else { return };
        if self.hole.is_some() {
            return self.abandon_expression();
        }
        self.unclosed_string(frame.start as usize + 1, frame.long);
        self.swallow(frame.start as usize);
        if frame.long
            && let Some(cut) = self.cut_string(frame.start as usize + 4)
        {
            self.forget_from(frame.token, frame.findings + 1);
            self.push(kind::FORMAT, frame.start as usize, frame.start as usize + 4);
            self.at = cut;
        } else {
            self.chunk(chunk, self.at);
        }
        let end = self.at;
        self.close_format(end);
    }

    /// Gives up on the outermost open expression, which does not end on its line: its `{` is reported and
    /// read as text, and so is every other on that line.
    pub(super) fn abandon_expression(&mut self) {
        let Some(hole) = self.hole.take() else { return };
        let frame = self.frames[hole];
        self.frames.truncate(hole);
        self.forget_from(frame.token, frame.findings);
        let start = frame.start as usize;
        self.breaks = false;
        self.at = start + 1;
        self.plain_until = self.line_end(start);
        self.report(
            UNCLOSED_EXPRESSION
                .at(self.span(start, start + 1), "`{` has no `}` on its line")
                .label("opened here")
                .help("close the expression with `}`, or write `{{` for a brace"),
        );
    }

    /// Reports that nothing stands between the braces of an expression, and forgets them.
    pub(super) fn empty_expression(&mut self, frame: Frame, end: usize) {
        self.forget_from(frame.token, frame.findings);
        self.report(
            EMPTY_EXPRESSION
                .at(self.span(frame.start as usize, end + 1), "the braces hold no expression")
                .label("nothing to put here")
                .help("write `{{}}` for braces"),
        );
    }

    /// Takes back the tokens from `token` on, and the findings from `findings` on.
    fn forget_from(&mut self, token: u32, findings: u32) {
        self.kinds.truncate(token as usize);
        self.places.truncate(token as usize);
        self.findings.truncate(findings as usize);
        while self.broken.last().is_some_and(|&broken| broken >= token) {
            self.broken.pop();
        }
    }
}

/// The number of bytes of indentation that the lines of a long string have in common, its first line break
/// aside. `Err` is the start of the first line that begins with another blank than the lines before it.
fn indentation(content: &str) -> Result<usize, usize> {
    let skipped = content.len() - without_first_break(content).len();
    let mut common: Option<&str> = None;
    let mut odd = None;
    let mut start = skipped;
    let mut lines = content[skipped..].split('\n').peekable();
    while let Some(line) = lines.next() {
        let blanks = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        let last = lines.peek().is_none();
        let blank = !last && line.trim_end_matches('\r').len() == blanks.len();
        if !blank {
            if blanks.is_empty() {
                return Ok(0);
            }
            let shared = common.map_or(blanks.len(), |common| {
                common.bytes().zip(blanks.bytes()).take_while(|(a, b)| a == b).count()
            });
            common = Some(&blanks[..shared]);
            if shared == 0 && odd.is_none() {
                odd = Some(start);
            }
        }
        start += line.len() + 1;
    }
    odd.map_or(Ok(common.map_or(0, str::len)), Err)
}

fn without_first_break(content: &str) -> &str {
    content.strip_prefix("\r\n").or_else(|| content.strip_prefix('\n')).unwrap_or(content)
}

/// What a string says, given how it was written, quotes included. A string with a finding says something
/// like it.
pub(super) fn meaning(written: &str) -> Text {
    let quote = written.as_bytes().first().copied().unwrap_or(b'"');
    let long = written.as_bytes().starts_with(&[quote; 3]);
    let quotes = if long { 3 } else { 1 };
    let content = written.get(quotes..written.len().max(2 * quotes) - quotes).unwrap_or_default();
    let escapes = quote == b'"';
    if !long {
        return unescaped(content, escapes && content.contains('\\'), false).into();
    }
    let mut said = String::with_capacity(content.len());
    let common = indentation(content).unwrap_or(0);
    lines_without(&mut said, without_first_break(content), common, true, |line| {
        unescaped(line, escapes, false)
    });
    said.into()
}

/// How the texts of one f-string are read.
pub(super) struct FormatText {
    long: bool,
    common: usize,
    first: bool,
}

impl FormatText {
    /// Of the f-string that was written so, its `f` and quotes included.
    pub(super) fn new(written: &str) -> Self {
        let long = written.starts_with("f\"\"\"");
        let content = if long { written.get(4..written.len().max(7) - 3).unwrap_or_default() } else { "" };
        Self { long, common: indentation(content).unwrap_or(0), first: true }
    }

    /// What the next text says. Whether it is the first in its string, before any expression, matters.
    pub(super) fn meaning(&mut self, chunk: &str, opens: bool) -> Text {
        if !self.long {
            return unescaped(chunk, true, true).into();
        }
        let starts_line = std::mem::take(&mut self.first) && opens;
        let chunk = if starts_line { without_first_break(chunk) } else { chunk };
        let mut said = String::with_capacity(chunk.len());
        lines_without(&mut said, chunk, self.common, starts_line, |line| unescaped(line, true, true));
        said.into()
    }
}

/// Adds the lines of `content`, each without the first `common` bytes of its indentation. Line ends become
/// `\n`, so that a text means the same under either convention.
fn lines_without<'a>(
    said: &mut String,
    content: &'a str,
    common: usize,
    starts_line: bool,
    read: impl Fn(&'a str) -> Cow<'a, str>,
) {
    let mut lines = content.split('\n').enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        let drop = if index > 0 || starts_line { common.min(blanks) } else { 0 };
        let line = &line[drop..];
        if index > 0 {
            said.push('\n');
        }
        let ends = lines.peek().is_some();
        said.push_str(&read(if ends { line.strip_suffix('\r').unwrap_or(line) } else { line }));
    }
}

/// `text` with its escapes read, and its doubled braces halved.
fn unescaped(text: &str, escapes: bool, braces: bool) -> Cow<'_, str> {
    let special = |c: char| (escapes && c == '\\') || (braces && (c == '{' || c == '}'));
    if !text.contains(special) {
        return Cow::Borrowed(text);
    }
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(special) {
        said.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(brace) = rest.strip_prefix("{{").map(|_| '{').or(rest.strip_prefix("}}").map(|_| '}')) {
            said.push(brace);
            rest = &rest[2..];
            continue;
        }
        let Some(behind) = rest.strip_prefix('\\') else {
            said.push_str(&rest[..1]);
            rest = &rest[1..];
            continue;
        };
        let mut characters = behind.chars();
        match characters.next() {
            Some('n') => said.push('\n'),
            Some('t') => said.push('\t'),
            Some('r') => said.push('\r'),
            Some('u') => {
                let written = behind[1..].strip_prefix('{').and_then(|digits| digits.split_once('}'));
                if let Some((digits, after)) = written {
                    said.extend(parse_code_point(digits));
                    rest = after;
                    continue;
                }
            }
            Some(other) => said.push(other),
            None => {}
        }
        rest = characters.as_str();
    }
    said.push_str(rest);
    Cow::Owned(said)
}

fn parse_code_point(digits: &str) -> Option<char> {
    u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_say_what_was_meant() {
        for (written, said) in [
            (r#""a\tb\u{21}\\\"""#, "a\tb!\\\""),
            (r"'a\tb'", r"a\tb"),
            ("\"\"\"one line\"\"\"", "one line"),
            ("\"\"\"\n    a\n      b\n    \"\"\"", "a\n  b\n"),
            ("\"\"\"\n    a\n    b\"\"\"", "a\nb"),
            ("\"\"\"\n    a\n\n    b\n  \"\"\"", "  a\n\n  b\n"),
            ("\"\"\"\n    a\n\n  \n    b\n    \"\"\"", "a\n\n\nb\n"),
            ("\"\"\"\r\n\ta\r\n\t\tb\r\n\t\"\"\"", "a\n\tb\n"),
            ("\"\"\"first\n  second\n  \"\"\"", "first\n  second\n  "),
            ("\"\"\"\n  \\n\\ta\n  \"\"\"", "\n\ta\n"),
            ("'''\n  \\n\n  '''", "\\n\n"),
            ("\"\"\"\"two\"\"\"\"\"", "\"two\"\""),
            ("\"\"\"\n\"\"\"", ""),
            ("\"\"\"\"\"\"", ""),
            ("\"\"", ""),
        ] {
            assert_eq!(meaning(written), said, "{written}");
        }
    }

    #[test]
    fn tabs_and_blanks_have_nothing_in_common() {
        assert_eq!(indentation("\n  a\n\tb\n  "), Err(5));
        assert_eq!(indentation("\n  a\n\tb\n"), Ok(0), "the closing quotes stand at the start of their line");
        assert_eq!(indentation("\n\t a\n\t\tb\n\t"), Ok(1));
        assert_eq!(indentation("\n  a\n\t\n  b\n  "), Ok(2), "a blank line does not count");
        assert_eq!(indentation("  a\n    b\n   "), Ok(2));
    }

    #[test]
    fn f_strings_lose_their_indentation_around_expressions() {
        let mut texts = FormatText::new("f\"\"\"\n    of {name}\n      and {{more}}\n    \"\"\"");
        assert_eq!(texts.meaning("\n    of ", true), "of ");
        assert_eq!(texts.meaning("\n      and {{more}}\n    ", false), "\n  and {more}\n");
        let mut texts = FormatText::new("f\"-{x}\\n\"");
        assert_eq!(texts.meaning("-", true), "-");
        assert_eq!(texts.meaning("\\n", false), "\n");
    }
}
