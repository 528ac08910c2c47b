//! Text that others wrote, made harmless inside markup: names, notes, results and logs.

use std::fmt::{self, Display, Formatter, Write};

/// Shows as its text, in an element as well as in a quoted attribute. What would not show, or would change
/// how the rest reads, becomes visible.
#[derive(Clone, Copy)]
pub(super) struct Safe<'a>(pub(super) &'a str);

impl Display for Safe<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut from = 0;
        for (at, c) in self.0.char_indices() {
            let entity = match c {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                '"' => "&quot;",
                '\'' => "&#39;",
                _ if is_hidden(c) => "",
                _ => continue,
            };
            f.write_str(&self.0[from..at])?;
            from = at + c.len_utf8();
            if entity.is_empty() {
                write!(f, "\u{27e8}{:02x}\u{27e9}", u32::from(c))?;
            } else {
                f.write_str(entity)?;
            }
        }
        f.write_str(&self.0[from..])
    }
}

/// Control characters but for line breaks and tabs, and the marks that turn the direction of what follows.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{feff}')
        || (c.is_control() && c != '\n' && c != '\t')
}

/// A stream of a program as a page can show it: without colours and cursor movements, and of a line that
/// was written over again and again only what stood there last.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut line = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.peek() {
                Some('[') => {
                    // A control sequence ends with a byte from `@` to `~`.
                    chars.next();
                    while chars.next_if(|c| !('@'..='~').contains(c)).is_some() {}
                    chars.next();
                }
                Some(']') => {
                    // A title or a link ends with BEL or with the string terminator.
                    while let Some(c) = chars.next_if(|&c| c != '\n') {
                        if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                Some(_) | None => {
                    chars.next_if(|&c| c != '\n');
                }
            },
            '\r' => match chars.peek() {
                Some('\n') | None => {}
                Some(_) => out.truncate(line),
            },
            '\n' => {
                out.push('\n');
                line = out.len();
            }
            '\u{8}' => {
                if out.len() > line {
                    out.pop();
                }
            }
            _ => out.push(c),
        }
    }
    out
}

/// The JSON text `raw` with a line for each member, its numbers and strings digit for digit. What is no JSON
/// comes out as something that is no JSON either.
pub(super) fn pretty(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len() + raw.len() / 4);
    let mut depth = 0usize;
    let mut chars = raw.chars().peekable();
    let indent = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                out.push(c);
                while let Some(c) = chars.next() {
                    out.push(c);
                    match c {
                        '\\' => out.extend(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '{' | '[' => {
                out.push(c);
                while chars.next_if(|c| c.is_ascii_whitespace()).is_some() {}
                if let Some(close) = chars.next_if(|&c| c == '}' || c == ']') {
                    out.push(close);
                } else {
                    depth += 1;
                    indent(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                indent(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                indent(&mut out, depth);
            }
            ':' => out.push_str(": "),
            _ if c.is_ascii_whitespace() => {}
            _ => out.push(c),
        }
    }
    out
}

/// `text`, or its first `most` bytes and what is left out.
pub(super) fn cut(text: &str, most: usize) -> (&str, usize) {
    if text.len() <= most {
        return (text, 0);
    }
    let mut at = most;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    (&text[..at], text.len() - at)
}

/// A number of bytes, for people.
pub(super) fn bytes(count: u64) -> String {
    let mut text = String::new();
    let _ = match count {
        0..1024 => write!(text, "{count} B"),
        1024..1_048_576 => write!(text, "{}.{} KiB", count >> 10, ((count & 1023) * 10) >> 10),
        _ => write!(text, "{}.{} MiB", count >> 20, ((count & 1_048_575) * 10) >> 20),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_hidden_characters_show() {
        let hostile = "</script><img src=x onerror='a&b'>\"\u{202e}\u{1b}\0\ttab\n";
        assert_eq!(
            Safe(hostile).to_string(),
            "&lt;/script&gt;&lt;img src=x onerror=&#39;a&amp;b&#39;&gt;&quot;⟨202e⟩⟨1b⟩⟨00⟩\ttab\n"
        );
        assert_eq!(Safe("plain — text").to_string(), "plain — text");
    }

    #[test]
    fn streams_lose_their_colours() {
        assert_eq!(plain("\u{1b}[1;31merror\u{1b}[0m: x\r\nnext"), "error: x\nnext");
        assert_eq!(plain("10%\r50%\r100%\ndone\r"), "100%\ndone");
        assert_eq!(plain("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\!"), "link!");
        assert_eq!(plain("ab\u{8}c\u{1b}"), "ac");
        assert_eq!(plain("\u{1b}[31"), "");
    }

    #[test]
    fn json_keeps_its_digits() {
        let raw = r#"{"a":1.50e+3,"b":[ ],"c":["x, {y}\"",true],"d":{}}"#;
        let expected = "{\n  \"a\": 1.50e+3,\n  \"b\": [],\n  \"c\": [\n    \"x, {y}\\\"\",\n    true\n  ],\n  \"d\": {}\n}";
        assert_eq!(pretty(raw), expected);
        assert_eq!(pretty("\"a"), "\"a");
    }

    #[test]
    fn cuts_fall_between_characters() {
        assert_eq!(cut("aé", 2), ("a", 2));
        assert_eq!(cut("aé", 3), ("aé", 0));
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(3 << 20), "3.0 MiB");
    }
}
