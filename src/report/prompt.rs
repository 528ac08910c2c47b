//! Asks who sits at the terminal: one question at a time, and the line that is being typed (EXECUTION §14).
//!
//! Pure: bytes go in, lines and answers come out. Unaware of terminals, and of whether an answer counts.

use std::collections::{BTreeMap, BTreeSet};

use unicode_width::UnicodeWidthStr;

use super::text::{self, Paint, Tone};
use crate::history::Question;
use crate::source::Text;

/// What somebody said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// An answer, one of those that are offered.
    Answer {
        /// Whose question.
        task: Text,
        /// Its number.
        question: u64,
        /// The answer.
        answer: Text,
    },
    /// The end of input, which answers nothing.
    Left,
}

/// Questions, and what is typed.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// The open ones, by number, the oldest first.
    questions: BTreeMap<u64, (Text, Question)>,
    /// Those of them whose answer is being looked at.
    answered: BTreeSet<u64>,
    /// The one that is shown: what is typed is an answer to it.
    shown: Option<u64>,
    typed: String,
    /// What was wrong with the last line.
    complaint: String,
    /// Bytes of a character, or of an escape sequence, that is not complete yet.
    begun: Vec<u8>,
}

impl Prompt {
    /// `task` asks.
    pub fn ask(&mut self, task: &str, question: &Question) {
        self.questions.insert(question.number, (task.into(), question.clone()));
    }

    /// Nobody asks any more.
    pub fn unask(&mut self, question: u64) {
        self.questions.remove(&question);
        self.answered.remove(&question);
        if self.shown == Some(question) {
            self.clear();
        }
    }

    /// An answer was refused: the question is asked again.
    pub fn refuse(&mut self, question: u64, why: &str) {
        if self.questions.contains_key(&question) {
            self.clear();
            self.answered.remove(&question);
            self.shown = Some(question);
            self.complaint = why.to_owned();
        }
    }

    /// Nobody is asked here any more.
    pub fn leave(&mut self) {
        *self = Self::default();
    }

    /// The question to show, if none is shown: what was typed before it is there is no answer to it.
    #[must_use]
    pub fn next(&self) -> Option<u64> {
        let mut open = self.questions.keys().filter(|question| !self.answered.contains(question));
        open.next().copied().filter(|_| self.shown.is_none())
    }

    /// Shows a question.
    pub fn show(&mut self, question: u64) {
        self.clear();
        self.shown = Some(question).filter(|question| self.questions.contains_key(question));
    }

    /// Whether a question is shown.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    fn clear(&mut self) {
        self.shown = None;
        self.typed.clear();
        self.complaint.clear();
        self.begun.clear();
    }

    /// Bytes from the terminal. What comes behind an answer was not typed for what is asked next, and is
    /// dropped.
    pub fn press(&mut self, bytes: &[u8]) -> Option<Said> {
        for &byte in bytes {
            self.shown?;
            if !self.begun.is_empty() {
                self.go_on(byte);
                continue;
            }
            match byte {
                b'\r' | b'\n' => {
                    if let Some(said) = self.enter() {
                        return Some(said);
                    }
                }
                // Ctrl-D.
                4 if self.typed.is_empty() => {
                    self.leave();
                    return Some(Said::Left);
                }
                8 | 127 => drop(self.typed.pop()),
                // Ctrl-U and Ctrl-W.
                21 => self.typed.clear(),
                23 => {
                    let kept = self.typed.trim_end();
                    let kept = kept.rfind(char::is_whitespace).map_or(0, |at| at + 1);
                    self.typed.truncate(kept);
                }
                0x1b | 0x80.. => self.begun.push(byte),
                0..=31 => {}
                printed => self.typed.push(char::from(printed)),
            }
        }
        None
    }

    /// A byte of a character or of an escape sequence. Sequences do nothing: there is no cursor to move.
    fn go_on(&mut self, byte: u8) {
        self.begun.push(byte);
        let complete = match self.begun[..] {
            [0x1b, b'[', .., last] => self.begun.len() > 2 && (0x40..=0x7e).contains(&last),
            [0x1b, b'O', _] => true,
            [0x1b, b'[' | b'O'] => false,
            [0x1b, ..] => true,
            _ => match std::str::from_utf8(&self.begun) {
                Ok(character) => {
                    self.typed.push_str(character);
                    true
                }
                Err(error) => error.error_len().is_some(),
            },
        };
        if complete || self.begun.len() > 32 {
            self.begun.clear();
        }
    }

    /// The line is complete.
    fn enter(&mut self) -> Option<Said> {
        let number = self.shown?;
        let (task, question) = self.questions.get(&number)?;
        let line = self.typed.trim();
        match question.options.iter().find(|option| *option == line) {
            Some(answer) => {
                let said = Said::Answer { task: task.clone(), question: number, answer: answer.clone() };
                // It stays open until somebody says otherwise.
                self.answered.insert(number);
                self.clear();
                Some(said)
            }
            None => {
                self.complaint = match line {
                    "" => String::new(),
                    line => format!("`{line}` is none of the answers"),
                };
                self.typed.clear();
                None
            }
        }
    }

    /// The lines that show the question; behind the last one is the cursor. None is as wide as `width`.
    #[must_use]
    pub fn lines(&self, width: usize, paint: Paint) -> Vec<String> {
        let Some((task, question)) = self.shown.and_then(|number| self.questions.get(&number)) else {
            return Vec::new();
        };
        let width = width.saturating_sub(1);
        let others = match self.questions.len().saturating_sub(self.answered.len() + 1) {
            0 => String::new(),
            more => format!("  · {}", text::count(more, "more question")),
        };
        let options = question.options.join(", ");
        let asked = text::clean(&format!("{task}: {}  ({options}){others}", question.ask));
        let mut lines = vec![paint.with(Tone::Strong, &text::cut(&asked, width))];
        if !self.complaint.is_empty() {
            lines.push(paint.with(Tone::Odd, &text::cut(&text::clean(&self.complaint), width)));
        }
        lines.push(format!("> {}", tail(&self.typed, width.saturating_sub(3))));
        lines
    }
}

/// The end of `text` that has room in `width` columns.
fn tail(text: &str, width: usize) -> &str {
    let mut from = text;
    while from.width() > width {
        let mut rest = from.chars();
        rest.next();
        from = rest.as_str();
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Millis;

    fn question(number: u64, options: &[&str]) -> Question {
        let options = options.iter().map(|&option| option.into()).collect();
        Question { number, since: Millis(0), round: 1, ask: "Ship it?".into(), options }
    }

    fn prompt() -> Prompt {
        let mut prompt = Prompt::default();
        prompt.ask("ship", &question(7, &["now", "not yet"]));
        prompt.ask("tell", &question(9, &["yes", "no"]));
        prompt
    }

    fn answer(task: &str, question: u64, answer: &str) -> Said {
        Said::Answer { task: task.into(), question, answer: answer.into() }
    }

    #[test]
    fn what_is_typed_answers_what_is_shown() {
        let mut prompt = prompt();
        assert_eq!(prompt.press(b"now\n"), None, "nothing is shown yet");
        assert_eq!(prompt.next(), Some(7));
        prompt.show(7);
        assert_eq!(prompt.next(), None);
        assert_eq!(prompt.press(b" not yet \nyes\n"), Some(answer("ship", 7, "not yet")));
        assert!(!prompt.is_shown());
        assert_eq!(prompt.next(), Some(9), "the next one, while the first is looked at");
        prompt.unask(7);
        prompt.show(9);
        assert_eq!(prompt.press(b"yes\r"), Some(answer("tell", 9, "yes")));
    }

    #[test]
    fn another_line_is_asked_for_again() {
        let mut prompt = prompt();
        prompt.show(7);
        assert_eq!(prompt.press(b"maybe\n"), None);
        let lines = prompt.lines(80, Paint(false));
        assert_eq!(
            lines,
            ["ship: Ship it?  (now, not yet)  · 1 more question", "`maybe` is none of the answers", "> "]
        );
        assert_eq!(prompt.press(b"\n"), None);
        assert_eq!(prompt.lines(20, Paint(false)), ["ship: Ship it?  (n…", "> "]);
        // Corrections, an arrow key, and a character in two parts.
        assert_eq!(prompt.press("nott\x08 \x1b[Cyet x\x17\u{15}é".as_bytes()), None);
        assert_eq!(prompt.lines(80, Paint(false))[1], "> é");
        assert_eq!(prompt.press(&[127, 0xc3]), None);
        assert_eq!(prompt.press(&[0xa9, 127]), None);
        assert_eq!(prompt.press(b"now\n"), Some(answer("ship", 7, "now")));
        prompt.refuse(7, "no");
        assert_eq!(prompt.lines(80, Paint(false))[1..], ["no", "> "]);
    }

    #[test]
    fn the_end_of_input_answers_nothing() {
        let mut prompt = prompt();
        prompt.show(7);
        assert_eq!(prompt.press(b"now\x04"), None, "only at the beginning of a line");
        assert_eq!(prompt.press(b"\x15\x04now\n"), Some(Said::Left));
        assert_eq!((prompt.next(), prompt.press(b"now\n")), (None, None));
    }

    #[test]
    fn no_line_is_too_wide() {
        let mut prompt = prompt();
        prompt.show(7);
        prompt.press("漢字仮名".repeat(20).as_bytes());
        for width in 0..60 {
            for line in prompt.lines(width, Paint(true)) {
                assert!(text::clean(&line).width() < width.max(2), "{width}: {line}");
            }
        }
    }
}
