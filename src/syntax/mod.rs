//! Text to tree: [`parse`].
//!
//! `lexer` turns text into tokens, `split` cuts them into members, `parser` matches each with the grammar,
//! `build` makes the tree. Knows shapes only: which fields a block has, and what names mean, is `lower`'s
//! business. Parsing never fails: what is wrong is reported, and everything else is in the tree.

use crate::diag::{Code, Diagnostic, Diagnostics, Severity};
use crate::source::{FileId, Malformed, Sources, Span};

pub mod ast;
mod brackets;
mod build;
mod errors;
mod lexer;
mod numbers;
mod parser;
mod split;
mod strings;
mod stray;
mod tokens;

pub(crate) use tokens::{Tokens, kind};

/// What [`parse`] makes of a file.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// Everything that could be read.
    pub ast: ast::Ast,
    /// Every comment, in order.
    pub comments: Vec<ast::Comment>,
    /// What is wrong, in order of place.
    pub diagnostics: Diagnostics,
}

/// Parses one text of `sources`.
#[must_use]
pub fn parse(sources: &Sources, file: FileId) -> Parsed {
    let text = sources.get(file).text();
    if text.len() > LARGEST {
        let span = Span::new(file, 0, 0);
        let mut parsed = Parsed::default();
        parsed.diagnostics.push(
            TOO_LARGE
                .at(span, format!("the file is larger than {} MiB", LARGEST >> 20))
                .help("tasks that are alike are written once, in a `for` or a `template`"),
        );
        return parsed;
    }
    let lexed = lexer::lex(text, file);
    let (ast, findings) = parser::file(text, &lexed);
    let mut found = lexed.findings;
    if !findings.is_empty() {
        found.extend(findings);
        found.sort_by_key(|finding| finding.span.start);
        limit(&mut found);
    }
    let mut diagnostics = Diagnostics::new();
    for finding in found {
        diagnostics.push(finding);
    }
    Parsed { ast, comments: lexed.comments, diagnostics }
}

/// The tokens of one text of `sources`.
pub(crate) fn tokens(sources: &Sources, file: FileId) -> Tokens {
    lexer::lex(sources.get(file).text(), file).tokens
}

/// Cuts off what nobody would read.
fn limit(found: &mut Vec<Diagnostic>) {
    if found.len() > lexer::FINDINGS_LIMIT {
        let span = found[lexer::FINDINGS_LIMIT].span;
        found.truncate(lexer::FINDINGS_LIMIT);
        found.push(lexer::TOO_MANY_FINDINGS.at(span, "too many errors; the rest is not shown"));
    }
}

/// The largest text that is read, in bytes: many times what a hundred thousand tasks take.
const LARGEST: usize = 32 << 20;

pub(crate) static TOO_LARGE: Code = Code {
    id: "plan::syntax::too_large",
    severity: Severity::Error,
    summary: "A file that is larger than any plan",
    explain: "A file has at most 32 MiB and 10,000,000 words and signs, and one value, call or edge at most \
              1,000,000. Tasks that are alike are written once, in a `for` or a `template`; data belongs into \
              files that tasks read.",
};

static NOT_UTF_8: Code = Code {
    id: "plan::syntax::not_utf_8",
    severity: Severity::Error,
    summary: "A file that is not UTF-8",
    explain: "Plans are text in UTF-8. Save the file in that encoding, or have it converted, as in \
              `iconv -f UTF-16 -t UTF-8`.",
};

/// The finding for bytes that [`crate::source::decode`] could not read as UTF-8. There is no use in parsing
/// what it made of them.
#[must_use]
pub fn malformed(file: FileId, malformed: &Malformed) -> Diagnostic {
    match *malformed {
        Malformed::Utf16 => NOT_UTF_8
            .at(Span::new(file, 0, 0), "the file is in UTF-16, and a plan is in UTF-8")
            .label("begins as UTF-16 does")
            .help("save it as UTF-8"),
        Malformed::Byte { at, byte } => NOT_UTF_8
            .at(Span::new(file, at, at + '\u{fffd}'.len_utf8()), format!("byte 0x{byte:02X} is not UTF-8"))
            .label("not a character")
            .help("save the file as UTF-8"),
    }
}

/// Every finding of this layer, for the catalog.
pub static CODES: &[&Code] = &[
    &NOT_UTF_8,
    &TOO_LARGE,
    &stray::UNEXPECTED_CHARACTER,
    &strings::UNCLOSED_STRING,
    &strings::UNKNOWN_ESCAPE,
    &strings::MIXED_INDENTATION,
    &strings::UNCLOSED_EXPRESSION,
    &strings::STRAY_BRACE,
    &strings::EMPTY_EXPRESSION,
    &lexer::LONG_NAME,
    &lexer::MALFORMED_NUMBER,
    &brackets::UNCLOSED_BRACKET,
    &brackets::STRAY_BRACKET,
    &brackets::TOO_DEEP,
    &errors::UNEXPECTED_TOKEN,
    &errors::UNKNOWN_DECLARATION,
    &errors::OUTSIDE_A_BLOCK,
    &build::MAP_OR_RECORD,
    &build::CHAINED_COMPARISON,
    &build::EDGE_CLAUSE,
    &build::WEIGHT,
    &lexer::TOO_MANY_FINDINGS,
];
