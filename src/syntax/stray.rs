//! Characters that begin nothing, named so that even those that cannot be seen can be found.
//!
//! Unaware of tokens: it says what a character is, and what was probably meant.

use crate::diag::{Code, Diagnostic, Severity};
use crate::source::{FileId, Span};

pub(super) static UNEXPECTED_CHARACTER: Code = Code {
    id: "plan::syntax::unexpected_character",
    severity: Severity::Error,
    summary: "A character that means nothing outside a string",
    explain: "Outside strings and comments a plan is written in ASCII letters, digits and punctuation, with \
              blanks, tabs and line breaks; control characters other than a tab, no-break spaces and other \
              characters that cannot be seen are errors there. So are, in comments, control characters, characters \
              that turn the direction of a text, and blanks without width: what a reader sees has to be what \
              the program reads.",
};

/// Characters that look like one of ours, with what to write.
const ALIKE: [(char, &str); 14] = [
    ('\u{201c}', "\""),
    ('\u{201d}', "\""),
    ('\u{201e}', "\""),
    ('\u{2018}', "'"),
    ('\u{2019}', "'"),
    ('\u{2013}', "-"),
    ('\u{2014}', "-"),
    ('\u{2212}', "-"),
    ('\u{2192}', "->"),
    ('\u{2260}', "!="),
    ('\u{2264}', "<="),
    ('\u{2265}', ">="),
    ('\u{ff1d}', "="),
    ('\u{ff1a}', ":"),
];

/// A run of characters that begin nothing.
pub(super) struct Stray {
    /// In bytes.
    pub length: usize,
    /// Whether the rest of the line was meant as a comment.
    pub comment: bool,
    /// Whether it was meant as a string: in quotes, but in others.
    pub string: bool,
}

/// What stands at `at`, where no token begins.
pub(super) fn at(text: &str, at: usize) -> Stray {
    let rest = &text[at..];
    let comment = rest.starts_with("//") || rest.starts_with("/*");
    let Some(first) = rest.chars().next() else { return Stray { length: 1, comment, string: false } };
    if let '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{2018}' | '\u{2019}' = first {
        let quotes = ['\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}', '"', '\''];
        let behind = first.len_utf8();
        if let Some((inside, quote)) = rest[behind..].char_indices().find(|(_, c)| quotes.contains(c)) {
            return Stray { length: behind + inside + quote.len_utf8(), comment, string: true };
        }
    }
    if first == '`'
        && let Some(inside) = rest[1..].find('`')
    {
        return Stray { length: inside + 2, comment, string: true };
    }
    if first == '$' {
        // What a shell would put a value for.
        let name = match rest[1..].strip_prefix('{') {
            Some(inside) => inside.find('}').map(|end| end + 2),
            None => Some(rest[1..].bytes().take_while(|&b| b.is_ascii_alphanumeric() || b == b'_').count()),
        };
        if let Some(length) = name.filter(|&length| length > 0) {
            return Stray { length: length + 1, comment, string: true };
        }
    }
    let same = |c: char| if seen(first) && !first.is_ascii() { seen(c) && !c.is_ascii() } else { c == first };
    let length = rest.chars().take_while(|&c| same(c)).map(char::len_utf8).sum();
    Stray { length, comment, string: false }
}

impl Stray {
    pub(super) fn finding(&self, file: FileId, text: &str, at: usize) -> Diagnostic {
        let run = &text[at..at + self.length];
        let first = run.chars().next().unwrap_or(' ');
        let span = Span::new(file, at, at + self.length);
        let single = run.chars().nth(1).is_none();
        let name_before = text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let found = |help: &str| {
            let finding = UNEXPECTED_CHARACTER.at(span, format!("unexpected `{}`", cut(run, 10)));
            finding.label("begins nothing").help(help)
        };
        if self.comment {
            let span = Span::new(file, at, at + 2);
            let finding = UNEXPECTED_CHARACTER.at(span, format!("unexpected `{}`", &text[at..at + 2]));
            return finding.label("begins nothing").help("comments start with `#`");
        }
        if self.string && first == '$' {
            return found("names are written without `$`; shell text goes in quotes");
        }
        if self.string {
            let span = Span::new(file, at, at + first.len_utf8());
            return unexpected(span, first).label("not a quote").help("strings are written in `\"` or `'`");
        }
        match run {
            "-" if name_before => {
                return UNEXPECTED_CHARACTER
                    .at(span, "a name cannot end in `-`")
                    .label("not followed by a letter, a digit or `_`");
            }
            "-" | "*" | "/" | "%" => return found("a plan has no arithmetic"),
            "!" => return found("write `not`"),
            "&" | "&&" => return found("write `and`"),
            ";" => return found("members are separated by line breaks or `,`"),
            "`" => return found("strings are written in `\"` or `'`"),
            "$" => return found("names are written without `$`; shell text goes in quotes"),
            "\\" => return found("line breaks need no `\\` in brackets and around operators"),
            _ => {}
        }
        let finding = unexpected(span, first);
        match ALIKE.iter().find(|(alike, _)| *alike == first) {
            Some((_, meant)) => finding.help(format!("write `{meant}`")),
            None if seen(first) && name_before && first.is_alphanumeric() => {
                finding.label("cannot be in a name").help("names are made of `A-Z a-z 0-9 _ -`")
            }
            None if first.is_whitespace() && single => finding.help("write a plain blank"),
            None if !seen(first) => finding.help("remove it"),
            None => finding,
        }
    }
}

/// A finding about a character that means nothing where it stands.
pub(super) fn unexpected(span: Span, character: char) -> Diagnostic {
    let name = name(character);
    let what = match (seen(character), character) {
        (true, _) => format!("unexpected {name}"),
        (false, '\u{feff}') => {
            format!("unexpected byte-order mark ({name}); only the first character may be one")
        }
        (false, c) if c.is_control() => format!("unexpected control character {name}"),
        (false, c) if c.is_whitespace() => format!("{name} is no blank"),
        (false, _) => format!("unexpected character {name}, which cannot be seen"),
    };
    let label = if seen(character) { "begins nothing" } else { "here" };
    UNEXPECTED_CHARACTER.at(span, what).label(label)
}

/// The first character in a comment that may not be there: controls other than a tab, and what makes a text
/// look like another one. What scripts and emoji need to be written is no such character.
pub(super) fn hidden_in(comment: &str) -> Option<(usize, char)> {
    // Bytes that such a character begins with.
    let suspicious = |b: u8| (b < 0x20 && b != b'\t') || matches!(b, 0x7f | 0xc2 | 0xe2 | 0xef);
    if !comment.bytes().any(suspicious) {
        return None;
    }
    comment.char_indices().find(|&(_, c)| (c.is_control() && c != '\t') || deceives(c))
}

/// Whether a character turns the direction of the text around it, breaks the line for some readers only, or
/// is a blank without width.
const fn deceives(character: char) -> bool {
    matches!(
        character,
        '\u{200b}' | '\u{2028}'..='\u{202e}' | '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
    )
}

/// The character as a message shows it: itself, or its number if it cannot be seen.
pub(super) fn show(character: char) -> String {
    if seen(character) { character.to_string() } else { format!("U+{:04X}", u32::from(character)) }
}

fn name(character: char) -> String {
    if seen(character) { format!("`{character}`") } else { show(character) }
}

/// Whether a reader can see the character, and tell that it is there.
fn seen(character: char) -> bool {
    let invisible = matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    !invisible && !character.is_control() && !character.is_whitespace()
}

/// `text`, cut behind `limit` characters.
pub(super) fn cut(text: &str, limit: usize) -> String {
    let shown = |c: char| if c == '\n' || c == '\t' || c.is_control() { ' ' } else { c };
    match text.char_indices().nth(limit) {
        Some((at, _)) => text[..at].chars().map(shown).chain(std::iter::once('…')).collect(),
        None => text.chars().map(shown).collect(),
    }
}
