//! Words for people: clean, no wider than there is room for, coloured where that is wanted.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::event::Status;
use crate::ir::{Millis, Usd};

/// Whether words are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint(pub bool);

/// What a colour says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It holds.
    Good,
    /// It does not.
    Bad,
    /// Something to know.
    Odd,
    /// Beside the point.
    Dim,
    /// The point.
    Strong,
}

impl Paint {
    /// `text` in the colour for `tone`.
    #[must_use]
    pub fn with(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Odd => "33",
            Tone::Dim => "2",
            Tone::Strong => "1",
        };
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// `text` in the colour for a status.
    #[must_use]
    pub fn status(self, status: Status, text: &str) -> String {
        let tone = match status {
            Status::Pass => Tone::Good,
            Status::Partial => Tone::Odd,
            Status::NotTaken => Tone::Dim,
            Status::Fail | Status::Transport => Tone::Bad,
            Status::Skipped | Status::Blocked | Status::Truncated => Tone::Odd,
        };
        self.with(tone, text)
    }
}

/// `text` on one line, without what would move a cursor or colour a terminal: escape sequences are gone,
/// other control characters are blanks.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\x1b' => match characters.next() {
                // Parameters, then one letter.
                Some('[') => drop(characters.find(|c| ('\x40'..='\x7e').contains(c))),
                // A string, up to a bell or an escape of its own.
                Some(']' | 'P' | '_' | '^' | 'X') => {
                    if characters.find(|&c| c == '\x07' || c == '\x1b') == Some('\x1b') {
                        characters.next_if_eq(&'\\');
                    }
                }
                Some(_) | None => {}
            },
            character if is_direction_mark(character) => {}
            character if character.is_control() => out.push(' '),
            character => out.push(character),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Direction marks could show a line as something that it does not say.
const fn is_direction_mark(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` cut to `width` columns, with an ellipsis where something is missing.
#[must_use]
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let Some(room) = width.checked_sub(1) else { return String::new() };
    let (mut out, mut used) = (String::new(), 0);
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > room {
            break;
        }
        out.push(character);
    }
    out.push('…');
    out
}

/// `word` as a shell takes it for one word.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,@%+=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let hidden = |c: char| c.is_control() || is_direction_mark(c);
    if word.chars().any(hidden) {
        let escaped = word.chars().map(|c| match c {
            '\n' => "\\n".to_owned(),
            '\t' => "\\t".to_owned(),
            '\r' => "\\r".to_owned(),
            '\'' | '\\' => format!("\\{c}"),
            c if hidden(c) => c.to_string().bytes().map(|byte| format!("\\{byte:03o}")).collect(),
            c => c.to_string(),
        });
        return format!("$'{}'", escaped.collect::<String>());
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A time for people: `0.3s`, `12.0s`, `3m05s`, `2h07m`.
#[must_use]
pub fn time(time: Millis) -> String {
    let seconds = time.0 / 1000;
    match seconds {
        0..60 => format!("{seconds}.{}s", time.0 % 1000 / 100),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Where a result was taken over from. None where it was not.
#[must_use]
pub fn reused(last: &crate::event::AttemptEnded) -> Option<String> {
    last.reused.as_ref().map(|run| format!("reused from {run}"))
}

/// Money for people. None where there is none.
#[must_use]
pub fn money(usd: Usd) -> Option<String> {
    (!usd.is_zero()).then(|| format!("${usd}"))
}

/// `1 task`, `2 tasks`.
#[must_use]
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(clean("\x1b[2J\x1b[31mred\x1b[0m\tx\r\n"), "red x");
        assert_eq!(clean("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1bc"), "ab");
        assert_eq!(clean("a\u{202e}b\x1b["), "ab");
    }

    #[test]
    fn a_word_is_one_to_a_shell() {
        let words = ["yes", "not yet", "approve[a]", "it's", ""].map(shell_word);
        assert_eq!(words, ["yes", "'not yet'", "'approve[a]'", r"'it'\''s'", "''"]);
        // A line shows none of these, so that they are written as `bash` reads them.
        let words = ["g[x\ny]", "it's\ta\\b", "\u{1b}[2J", "\u{202e}é"].map(shell_word);
        assert_eq!(words, [r"$'g[x\ny]'", r"$'it\'s\ta\\b'", r"$'\033[2J'", r"$'\342\200\256é'"]);
    }

    #[test]
    fn what_is_too_wide_is_cut() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("漢字仮名", 5), "漢字…");
        assert_eq!(cut("漢字仮名", 4), "漢…");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn times_read_easily() {
        let shown: Vec<_> = [340, 12_000, 185_000, 7_620_000].map(|ms| time(Millis(ms))).into();
        assert_eq!(shown, ["0.3s", "12.0s", "3m05s", "2h07m"]);
    }
}
