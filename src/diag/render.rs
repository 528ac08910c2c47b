//! Findings as people read them in a terminal or a pipe. The only file that knows miette.
//!
//! miette gets an [`Excerpt`] of our own: the few lines around a finding's places, found through the line
//! index. Its own source types search the whole text for every place, and print every line whole.

use std::fmt;

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, SourceCode,
    SourceSpan, SpanContents,
};

use super::{Diagnostic, Severity};
use crate::source::{Source, Sources, Span};

/// Lines longer than this are cut around the place, so that a line of a megabyte stays readable.
const LONG_LINE: usize = 240;
/// What a cut line shows before the place, in characters.
const BEFORE: usize = 60;
/// What a cut line shows in all, in characters.
const SHOWN: usize = 160;
/// More places than this are counted, not shown; the machine forms have them all.
const PLACES: usize = 12;

/// How findings are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Whether colours are used.
    pub colour: bool,
    /// The width to wrap messages at; none where a line stays a line, as in a pipe.
    pub width: Option<usize>,
}

/// Draws findings in their order, a blank line between them.
pub fn text<'a>(
    sources: &Sources,
    diagnostics: impl IntoIterator<Item = &'a Diagnostic>,
    look: Look,
) -> String {
    let theme = if look.colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_urls(false);
    let handler = match look.width {
        Some(width) => handler.with_width(width.max(40)),
        None => handler.with_wrap_lines(false),
    };
    let mut out = String::new();
    for diagnostic in diagnostics {
        let drawn = Drawn::new(sources, diagnostic);
        // Writing to a string fails only where an excerpt is inconsistent; the message must not be lost.
        let before = out.len();
        let mut parts = std::iter::once(&drawn).chain(&drawn.elsewhere);
        if parts.any(|part| handler.render_report(&mut out, part).is_err()) {
            out.truncate(before);
            out.push_str(&one_line(sources, diagnostic));
        }
        out.push('\n');
    }
    out
}

/// A finding in one line: `file:line:column: severity: message [code]`.
#[must_use]
pub fn one_line(sources: &Sources, diagnostic: &Diagnostic) -> String {
    let source = sources.get(diagnostic.span.file);
    let place = source.place(diagnostic.span.start as usize);
    format!(
        "{}:{}:{}: {}: {} [{}]\n",
        visible(source.path().as_str()),
        place.line,
        place.column,
        diagnostic.code.severity.as_str(),
        visible(&diagnostic.message),
        diagnostic.code.id
    )
}

/// A finding, or another place of one, as miette wants it.
#[derive(Debug)]
struct Drawn {
    code: Option<&'static str>,
    severity: miette::Severity,
    message: String,
    help: Option<String>,
    excerpt: Excerpt,
    labels: Vec<LabeledSpan>,
    elsewhere: Vec<Drawn>,
}

/// A place and what is said of it.
struct Mark<'a> {
    span: Span,
    text: Option<&'a str>,
    primary: bool,
}

impl Drawn {
    fn new(sources: &Sources, diagnostic: &Diagnostic) -> Self {
        let label = diagnostic.place_label();
        let primary = Mark { span: diagnostic.span, text: label.as_deref(), primary: true };
        let shown = &diagnostic.related[..diagnostic.related.len().min(PLACES)];
        let others: Vec<Mark<'_>> = shown
            .iter()
            .map(|related| Mark { span: related.span, text: Some(&related.message), primary: false })
            .collect();
        let left_out = diagnostic.related.len() - shown.len();
        let mut help = diagnostic.help.as_deref().map(visible);
        if left_out > 0 {
            let more = format!("{left_out} more places are not shown; `--format json` lists them");
            help = Some(help.map_or(more.clone(), |help| format!("{help}\n{more}")));
        }
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|mark| belongs(sources, &primary, mark));
        let marks: Vec<Mark<'_>> = std::iter::once(primary).chain(here).collect();
        let (excerpt, mut labels) = Excerpt::new(sources, &marks);
        // There is nothing to draw of a file that is not there, and the message names it.
        let source = sources.get(diagnostic.span.file);
        if source.text().is_empty() && diagnostic.message.contains(source.path().as_str()) {
            labels.clear();
        }
        Self {
            code: Some(diagnostic.code.id),
            severity: match diagnostic.code.severity {
                Severity::Error => miette::Severity::Error,
                Severity::Warning => miette::Severity::Warning,
            },
            message: visible(&diagnostic.message),
            help,
            excerpt,
            labels,
            elsewhere: elsewhere.iter().map(|mark| Self::elsewhere(sources, mark)).collect(),
        }
    }

    /// A place that cannot be drawn in the finding's own excerpt.
    fn elsewhere(sources: &Sources, mark: &Mark<'_>) -> Self {
        let alone = Mark { span: mark.span, text: None, primary: true };
        let (excerpt, labels) = Excerpt::new(sources, &[alone]);
        Self {
            code: None,
            severity: miette::Severity::Advice,
            message: visible(mark.text.unwrap_or_default()),
            help: None,
            excerpt,
            labels,
            elsewhere: Vec::new(),
        }
    }
}

/// Whether `mark` can be drawn beside `primary`: in its file, and not on a part of its line that is cut.
fn belongs(sources: &Sources, primary: &Mark<'_>, mark: &Mark<'_>) -> bool {
    if primary.span.file != mark.span.file {
        return false;
    }
    let source = sources.get(primary.span.file);
    let line = source.line_of(primary.span.start as usize);
    let mine = line_range(source, line);
    let at = mark.span.start as usize;
    let same_line = mine.contains(&at) || at == mine.end;
    !same_line || mine.len() <= LONG_LINE || window(source, &mine, primary.span).contains(&at)
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Drawn {}

impl miette::Diagnostic for Drawn {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.code.map(|code| Box::new(code) as Box<dyn fmt::Display>)
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_deref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.excerpt)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        (!self.labels.is_empty())
            .then(|| Box::new(self.labels.iter().cloned()) as Box<dyn Iterator<Item = LabeledSpan>>)
    }
}

/// The lines around a finding's places, cut to a width, with their own numbers.
#[derive(Debug)]
struct Excerpt {
    name: String,
    text: String,
    lines: Vec<Line>,
    /// Columns as people count, by the offset of a place in the excerpt.
    columns: Vec<(usize, usize)>,
}

#[derive(Debug)]
struct Line {
    /// From 1, in the file.
    number: usize,
    /// Where it starts in the excerpt.
    start: usize,
}

impl Excerpt {
    fn new(sources: &Sources, marks: &[Mark<'_>]) -> (Self, Vec<LabeledSpan>) {
        let source = sources.get(marks[0].span.file);
        let on_line = |mark: &Mark<'_>| source.line_of(mark.span.start as usize);
        let mut numbers: Vec<usize> = marks
            .iter()
            .map(on_line)
            .flat_map(|line| line.saturating_sub(1).max(1)..=(line + 1).min(last_line(source).max(line)))
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut excerpt = Self {
            name: visible(source.path().as_str()),
            text: String::new(),
            lines: Vec::with_capacity(numbers.len()),
            columns: Vec::with_capacity(marks.len()),
        };
        let mut labels = Vec::with_capacity(marks.len());
        for number in numbers {
            let here = marks.iter().filter(|mark| on_line(mark) == number);
            excerpt.push_line(source, number, here, &mut labels);
        }
        (excerpt, labels)
    }

    fn push_line<'a>(
        &mut self,
        source: &Source,
        number: usize,
        marks: impl Iterator<Item = &'a Mark<'a>> + Clone,
        labels: &mut Vec<LabeledSpan>,
    ) {
        let range = line_range(source, number);
        let chief = marks.clone().find(|mark| mark.primary).or_else(|| marks.clone().next());
        let at_start = Span { start: u32::try_from(range.start).unwrap_or(u32::MAX), ..Span::default() };
        let shown = window(source, &range, chief.map_or(at_start, |mark| mark.span));
        self.lines.push(Line { number, start: self.text.len() });
        if shown.start > range.start {
            self.text.push('…');
        }
        // Where each byte of the shown part that starts a character went.
        let mut offsets: Vec<(usize, usize)> = Vec::with_capacity(shown.len() + 1);
        for (at, char) in source.text()[shown.clone()].char_indices() {
            offsets.push((shown.start + at, self.text.len()));
            self.text.push(visible_char(char));
        }
        offsets.push((shown.end, self.text.len()));
        if shown.end < range.end {
            self.text.push('…');
        }
        self.text.push('\n');
        let moved = |at: usize| {
            let index = offsets.partition_point(|&(from, _)| from < at).min(offsets.len() - 1);
            offsets[index].1
        };
        for mark in marks {
            let start = moved(mark.span.start as usize);
            // A place of several lines is shown by its first.
            let end = moved(mark.span.end as usize).max(start);
            self.columns.push((start, source.place(mark.span.start as usize).column));
            let label = mark.text.map(visible);
            let span = SourceSpan::from((start, end - start));
            labels.push(if mark.primary {
                LabeledSpan::new_primary_with_span(label, span)
            } else {
                LabeledSpan::new_with_span(label, span)
            });
        }
    }

    fn line_at(&self, offset: usize) -> usize {
        self.lines.partition_point(|line| line.start <= offset).saturating_sub(1)
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        if span.offset() + span.len() > self.text.len() {
            return Err(MietteError::OutOfBounds);
        }
        let (mut first, mut last) = (self.line_at(span.offset()), self.line_at(span.offset() + span.len()));
        for _ in 0..before {
            let reaches = first > 0 && self.lines[first - 1].number + 1 == self.lines[first].number;
            first -= usize::from(reaches);
        }
        for _ in 0..after {
            let next = self.lines.get(last + 1).map(|line| line.number);
            last += usize::from(next == Some(self.lines[last].number + 1));
        }
        let start = self.lines[first].start;
        let end = self.lines.get(last + 1).map_or(self.text.len(), |line| line.start);
        let column = self.columns.iter().find(|&&(at, _)| at == span.offset()).map_or(1, |&(_, c)| c);
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            &self.text.as_bytes()[start..end],
            (start, end - start).into(),
            self.lines[first].number - 1,
            column - 1,
            last - first + 1,
        )))
    }
}

/// The last line that has anything on it.
fn last_line(source: &Source) -> usize {
    let count = source.line_count();
    count - usize::from(source.line_start(count) == source.text().len())
}

/// The bytes of a line, without its end and without a byte-order mark.
fn line_range(source: &Source, line: usize) -> std::ops::Range<usize> {
    let (mut start, next) = (source.line_start(line), source.line_start(line + 1));
    let text = &source.text()[start..next];
    let end = start + text.trim_end_matches(['\n', '\r']).len();
    if start == 0 && text.starts_with('\u{feff}') {
        start = '\u{feff}'.len_utf8().min(end);
    }
    start..end.max(start)
}

/// The part of a line to show so that `place` is in it.
fn window(source: &Source, line: &std::ops::Range<usize>, place: Span) -> std::ops::Range<usize> {
    if line.len() <= LONG_LINE {
        return line.clone();
    }
    let text = source.text();
    let mut at = (place.start as usize).clamp(line.start, line.end);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let start = text[line.start..at]
        .char_indices()
        .rev()
        .nth(BEFORE - 1)
        .map_or(line.start, |(from, _)| line.start + from);
    let end = text[start..line.end].char_indices().nth(SHOWN).map_or(line.end, |(to, _)| start + to);
    start..end
}

/// Text that cannot steer a terminal: control and direction characters are replaced by visible ones.
fn visible(text: &str) -> String {
    text.chars().map(|char| if char == '\n' { char } else { visible_char(char) }).collect()
}

fn visible_char(char: char) -> char {
    match char {
        '\t' => char,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(char)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{feff}' => '\u{fffd}',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Code;

    static CODE: Code =
        Code { id: "plan::test::odd", severity: Severity::Error, summary: "Odd", explain: "It is odd." };
    const LOOK: Look = Look { colour: false, width: None };

    fn span(sources: &Sources, file: u32, text: &str) -> Span {
        let file = crate::source::FileId(file);
        let at = sources.get(file).text().find(text).unwrap();
        Span::new(file, at, at + text.len())
    }

    #[test]
    fn places_are_drawn_with_their_lines() {
        let mut sources = Sources::new();
        sources.add("audit.plan", "\u{feff}command triage {\r\n    join = \"settled\"\r\n}\r\n");
        sources.add("lib/more.plan", "let x = 1\n");
        let finding = CODE
            .at(span(&sources, 0, "\"settled\""), "`triage` has no dependency to join")
            .label("waits for every dependency")
            .related(span(&sources, 0, "triage"), "declared without `depends_on`")
            .related(span(&sources, 1, "x"), "and here")
            .help("name at least one task");
        insta::assert_snapshot!(text(&sources, [&finding], LOOK), @r#"
        plan::test::odd

          × `triage` has no dependency to join
           ╭─[audit.plan:2:12]
         1 │ command triage {
           ·         ───┬──
           ·            ╰── declared without `depends_on`
         2 │     join = "settled"
           ·            ────┬────
           ·                ╰── waits for every dependency
         3 │ }
           ╰────
          help: name at least one task
          ☞ and here
           ╭─[lib/more.plan:1:5]
         1 │ let x = 1
           ·     ─
           ╰────
        "#);
        assert_eq!(
            one_line(&sources, &finding),
            "audit.plan:2:12: error: `triage` has no dependency to join [plan::test::odd]\n"
        );
    }

    #[test]
    fn a_long_line_is_cut_around_the_place_and_control_characters_are_shown() {
        let mut sources = Sources::new();
        let long = format!("let a = [{}here, {}there]\n\u{1b}[31m", "é, ".repeat(500), "x, ".repeat(90_000));
        sources.add("long.plan", long);
        let finding = CODE
            .at(span(&sources, 0, "here"), "no \u{7}")
            .label("this")
            .related(span(&sources, 0, "there"), "that");
        let xs = "x, ".repeat(31);
        insta::assert_snapshot!(text(&sources, [&finding], LOOK).replace(&xs, "(31 x)"), @r"
        plan::test::odd

          × no ␇
           ╭─[long.plan:1:1510]
         1 │ …é, é, é, é, é, é, é, é, é, é, é, é, é, é, é, é, é, é, é, é, here, (31 x)x…
           ·                                                              ──┬─
           ·                                                                ╰── this
         2 │ ␛[31m
           ╰────
          ☞ that
           ╭─[long.plan:1:271516]
         1 │ …x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, there]
           ·                                                              ─────
         2 │ ␛[31m
           ╰────
        ");
    }

    #[test]
    fn places_at_the_edges_are_drawn() {
        for whole in ["", "\n", "a", "a\n", "\r\n", "\u{feff}", "a\n\nb", "é"] {
            let mut sources = Sources::new();
            let file = sources.add("x.plan", whole);
            for start in 0..=whole.len() {
                for end in start..=whole.len() {
                    let finding = CODE.at(Span::new(file, start, end), "odd").label("here");
                    let drawn = text(&sources, [&finding], LOOK);
                    assert!(drawn.contains("╭─[x.plan:"), "{whole:?} {start}..{end}: {drawn}");
                }
            }
        }
    }

    #[test]
    fn a_thousand_findings_take_no_time_to_speak_of() {
        let mut sources = Sources::new();
        let file = sources.add("big.plan", "command a { run = \"true\" }\n".repeat(25_000));
        let findings: Vec<_> =
            (0..1_000).map(|n| CODE.at(Span::new(file, n * 600, n * 600 + 4), "odd")).collect();
        let start = std::time::Instant::now();
        assert!(text(&sources, &findings, LOOK).len() > 100_000);
        assert!(start.elapsed().as_secs() < 2);
    }
}
