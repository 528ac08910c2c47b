//! Says how cases came out: lines for people, one JSON document, JUnit XML.
//!
//! Pure. The JSON document is serialised, and so a promise to whoever reads it.

use std::fmt::Write as _;

use serde::Serialize;

use super::compare::Difference;
use super::differ;
use crate::diag::Diagnostic;
use crate::report::text::{Paint, Tone, clean, count};
use crate::source::{Place, Sources, Span};

/// The version of the JSON document.
pub const SCHEMA: u32 = 1;

/// How all cases came out.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The version of this document.
    pub schema: u32,
    /// How many came out as expected.
    pub passed: usize,
    /// How many did not.
    pub failed: usize,
    /// How many could not be run.
    pub errors: usize,
    /// How long all of them took, in seconds.
    pub elapsed_s: f64,
    /// Each case, in order.
    pub cases: Vec<Tested>,
}

/// How one case came out.
#[derive(Clone, Debug, Serialize)]
pub struct Tested {
    /// The pack's directory, as it was named.
    pub pack: String,
    /// The case: the name of its file, without the extension.
    pub case: String,
    /// Its file.
    pub file: String,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// How it came out.
    pub outcome: Outcome,
    /// How long it took, in seconds.
    pub elapsed_s: f64,
    /// What did not come out as expected.
    pub differences: Vec<Told>,
    /// Why it could not be run.
    pub problems: Vec<Problem>,
}

/// How a case came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// As expected.
    Ok,
    /// Otherwise.
    Failed,
    /// It could not be run.
    Error,
}

/// An expectation that was not met.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    /// What was expected of what: `tasks.scan.status`.
    pub path: String,
    /// The line of the expectation, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub got: String,
    /// What explains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// Why a case could not be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The code of the finding, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// What is wrong, with its place.
    pub message: String,
}

impl Told {
    /// The difference, with its place.
    #[must_use]
    pub fn new(sources: &Sources, of: Difference) -> Self {
        let Place { line, column } = place(sources, of.span);
        let Difference { path, expected, got, because, .. } = of;
        Self { path, line, column, expected, got, because }
    }
}

impl Problem {
    /// A finding, on one line.
    #[must_use]
    pub fn finding(sources: &Sources, finding: &Diagnostic) -> Self {
        let Place { line, column } = place(sources, finding.span);
        let file = sources.get(finding.span.file).path();
        let help = finding.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        let message = format!("{file}:{line}:{column}: {}{help}", finding.message);
        Self { code: Some(finding.code.id), message }
    }

    /// Something that is wrong outside of every file.
    #[must_use]
    pub fn plain(message: String) -> Self {
        Self { code: None, message }
    }
}

fn place(sources: &Sources, span: Span) -> Place {
    sources.get(span.file).place(span.start as usize)
}

impl Report {
    /// The report of these cases.
    #[must_use]
    pub fn new(cases: Vec<Tested>, elapsed_s: f64) -> Self {
        let of = |outcome| cases.iter().filter(|case| case.outcome == outcome).count();
        let (passed, failed, errors) = (of(Outcome::Ok), of(Outcome::Failed), of(Outcome::Error));
        Self { schema: SCHEMA, passed, failed, errors, elapsed_s, cases }
    }

    /// One JSON document.
    #[must_use]
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string(self).expect("every field can be written");
        text.push('\n');
        text
    }

    /// JUnit XML: a suite for each pack, a test case for each case.
    #[must_use]
    pub fn junit(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let (tests, failed, errors) = (self.cases.len(), self.failed, self.errors);
        let _ = writeln!(
            out,
            "<testsuites name=\"plan test\" tests=\"{tests}\" failures=\"{failed}\" errors=\"{errors}\" time=\"{:.3}\">",
            self.elapsed_s
        );
        let mut packs: Vec<&str> = Vec::new();
        for case in &self.cases {
            if !packs.contains(&case.pack.as_str()) {
                packs.push(&case.pack);
            }
        }
        for pack in packs {
            let cases: Vec<&Tested> = self.cases.iter().filter(|case| case.pack == pack).collect();
            let of = |outcome| cases.iter().filter(|case| case.outcome == outcome).count();
            let time: f64 = cases.iter().map(|case| case.elapsed_s).sum();
            let (failed, errors) = (of(Outcome::Failed), of(Outcome::Error));
            let _ = writeln!(
                out,
                "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"{errors}\" skipped=\"0\" time=\"{time:.3}\">",
                xml(pack),
                cases.len()
            );
            cases.iter().for_each(|case| case.junit(&mut out));
            out.push_str("  </testsuite>\n");
        }
        out.push_str("</testsuites>\n");
        out
    }

    /// The counts, for people.
    #[must_use]
    pub fn tally(&self, paint: Paint) -> String {
        let mut parts = vec![format!("{} passed", self.passed)];
        if self.failed > 0 || self.errors == 0 {
            parts.push(format!("{} failed", self.failed));
        }
        if self.errors > 0 {
            parts.push(format!("{} could not be run", self.errors));
        }
        let tone = if self.failed + self.errors == 0 { Tone::Good } else { Tone::Bad };
        let parts = paint.with(tone, &parts.join(", "));
        format!("{}: {parts} · {:.1}s\n", count(self.cases.len(), "case"), self.elapsed_s)
    }
}

impl Tested {
    /// The case on a line, and below it what did not come out as expected.
    #[must_use]
    pub fn lines(&self, paint: Paint) -> String {
        let word = match self.outcome {
            Outcome::Ok => paint.with(Tone::Good, "ok    "),
            Outcome::Failed => paint.with(Tone::Bad, "FAILED"),
            Outcome::Error => paint.with(Tone::Bad, "ERROR "),
        };
        let mut out = format!("{word}  {}  {}\n", clean(&self.pack), clean(&self.case));
        if let Some(about) = self.about.as_ref().filter(|_| self.outcome != Outcome::Ok) {
            let _ = writeln!(out, "        {}", paint.with(Tone::Dim, &clean(about)));
        }
        for told in &self.differences {
            let _ = writeln!(
                out,
                "\n  {}:{}  {}",
                self.file,
                told.line,
                paint.with(Tone::Strong, &clean(&told.path))
            );
            told.lines(&mut out, paint);
        }
        // Findings are drawn with their lines.
        for problem in self.problems.iter().filter(|problem| problem.code.is_none()) {
            let _ = writeln!(out, "\n  {}", clean(&problem.message));
        }
        if self.outcome != Outcome::Ok {
            out.push('\n');
        }
        out
    }

    fn junit(&self, out: &mut String) {
        let _ = write!(
            out,
            "    <testcase name=\"{}\" classname=\"{}\" file=\"{}\" time=\"{:.3}\"",
            xml(&self.case),
            xml(&self.pack),
            xml(&self.file),
            self.elapsed_s
        );
        let (tag, message, text) = match self.outcome {
            Outcome::Ok => {
                out.push_str("/>\n");
                return;
            }
            Outcome::Failed => {
                let mut text = String::new();
                for told in &self.differences {
                    let _ = writeln!(text, "{}:{}  {}", self.file, told.line, told.path);
                    told.lines(&mut text, Paint(false));
                }
                let first = self.differences.first();
                let message =
                    first.map(|told| format!("{}: expected {}, got {}", told.path, told.expected, told.got));
                ("failure", message.unwrap_or_default(), text)
            }
            Outcome::Error => {
                let all: Vec<&str> = self.problems.iter().map(|problem| problem.message.as_str()).collect();
                ("error", all.first().copied().unwrap_or_default().to_owned(), all.join("\n"))
            }
        };
        let _ = writeln!(
            out,
            ">\n      <{tag} message=\"{}\">{}</{tag}>\n    </testcase>",
            xml(&message),
            xml(&text)
        );
    }
}

impl Told {
    fn lines(&self, out: &mut String, paint: Paint) {
        let several = self.expected.contains('\n') || self.got.contains('\n');
        if several {
            block(out, "expected", &self.expected);
            block(out, "got", &self.got);
        } else {
            let (expected, got) = (clean(&self.expected), clean(&self.got));
            let _ = writeln!(out, "    expected  {expected}");
            match differ::words(&expected, &got) {
                Some(range) if paint.0 => {
                    let (before, rest) = got.split_at(range.start);
                    let (changed, after) = rest.split_at(range.len());
                    let _ = writeln!(out, "    got       {before}{}{after}", paint.with(Tone::Bad, changed));
                }
                Some(range) => {
                    let indent = " ".repeat(14 + got[..range.start].chars().count());
                    let marks = "^".repeat(got[range].chars().count());
                    let _ = writeln!(out, "    got       {got}\n{indent}{marks}");
                }
                None => {
                    let _ = writeln!(out, "    got       {got}");
                }
            }
        }
        if let Some(because) = &self.because {
            let _ = writeln!(out, "    because   {}", clean(because));
        }
    }
}

/// Several lines, set apart.
fn block(out: &mut String, title: &str, text: &str) {
    let _ = writeln!(out, "    {title}");
    for line in text.lines() {
        let _ = writeln!(out, "      | {}", clean(line));
    }
}

/// Text in XML: what XML cannot hold at all is a replacement character.
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' | '\r' => out.push(' '),
            char if char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tested(outcome: Outcome) -> Tested {
        let told = |path: &str, expected: &str, got: &str| Told {
            path: path.to_owned(),
            line: 7,
            column: 3,
            expected: expected.to_owned(),
            got: got.to_owned(),
            because: None,
        };
        Tested {
            pack: "packs/a<b".to_owned(),
            case: "lost".to_owned(),
            file: "packs/a/tests/lost.toml".to_owned(),
            about: None,
            outcome,
            elapsed_s: 0.25,
            differences: match outcome {
                Outcome::Failed => vec![
                    told("tasks.scan.note", "exit 1: no file at a.lock", "exit 1: no file at other.lock"),
                    told("exit", "completed", "failed"),
                ],
                Outcome::Ok | Outcome::Error => Vec::new(),
            },
            problems: match outcome {
                Outcome::Error => vec![Problem::plain("it \u{1b}[31mcannot & will not".to_owned())],
                Outcome::Ok | Outcome::Failed => Vec::new(),
            },
        }
    }

    #[test]
    fn a_failure_shows_the_line_and_the_word() {
        let lines = tested(Outcome::Failed).lines(Paint(false));
        assert_eq!(
            lines,
            "FAILED  packs/a<b  lost\n\n  packs/a/tests/lost.toml:7  tasks.scan.note\n    \
             expected  exit 1: no file at a.lock\n    got       exit 1: no file at other.lock\n                                 ^^^^^\n\n  \
             packs/a/tests/lost.toml:7  exit\n    expected  completed\n    got       failed\n\n"
        );
    }

    #[test]
    fn junit_counts_and_escapes() {
        let cases = [Outcome::Ok, Outcome::Failed, Outcome::Error].map(tested).to_vec();
        let report = Report::new(cases, 1.5);
        assert_eq!((report.passed, report.failed, report.errors), (1, 1, 1));
        let xml = report.junit();
        assert!(
            xml.contains("<testsuite name=\"packs/a&lt;b\" tests=\"3\" failures=\"1\" errors=\"1\""),
            "{xml}"
        );
        assert!(xml.contains("<failure message=\"tasks.scan.note: expected exit 1"), "{xml}");
        assert!(xml.contains("\u{fffd}[31mcannot &amp; will not</error>"), "{xml}");
        assert_eq!(report.tally(Paint(false)), "3 cases: 1 passed, 1 failed, 1 could not be run · 1.5s\n");
    }
}
