//! Findings for programs: the JSON document of `plan check`, SARIF 2.1.0, and GitHub's workflow commands.
//!
//! All three say the same: each finding with its place, resolved once in [`Findings::new`].

use std::fmt::Write;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{Diagnostic, Diagnostics, Severity};
use crate::source::{Place, Source, Sources, Span};

/// The version of the JSON document.
const SCHEMA: u32 = 1;

/// The findings of one or more compilations, each place resolved.
#[derive(Debug, Serialize)]
pub struct Findings {
    schema: u32,
    errors: usize,
    warnings: usize,
    diagnostics: Vec<Finding>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Finding {
    code: &'static str,
    severity: &'static str,
    message: String,
    help: Option<String>,
    #[serde(flatten)]
    place: Located,
    label: Option<String>,
    related: Vec<Related>,
    #[serde(skip)]
    summary: &'static str,
}

#[derive(Debug, PartialEq, Serialize)]
struct Related {
    #[serde(flatten)]
    place: Located,
    message: String,
}

#[derive(Debug, PartialEq, Serialize)]
struct Located {
    file: String,
    line: usize,
    column: usize,
    span: Bytes,
    #[serde(skip)]
    end: (usize, usize),
}

#[derive(Debug, PartialEq, Serialize)]
struct Bytes {
    start: u32,
    end: u32,
}

impl Findings {
    /// Resolves the findings of each compilation. What two of them share, an imported file's, counts once.
    pub fn new<'a>(compilations: impl IntoIterator<Item = (&'a Sources, &'a Diagnostics)>) -> Self {
        let mut all = Self { schema: SCHEMA, errors: 0, warnings: 0, diagnostics: Vec::new() };
        for (sources, diagnostics) in compilations {
            let earlier = all.diagnostics.len();
            let mut places = Places { sources, last: None };
            for diagnostic in diagnostics.iter() {
                let finding = Finding::new(&mut places, diagnostic);
                if all.diagnostics[..earlier].contains(&finding) {
                    continue;
                }
                match diagnostic.code.severity {
                    Severity::Error => all.errors += 1,
                    Severity::Warning => all.warnings += 1,
                }
                all.diagnostics.push(finding);
            }
        }
        // A file that is both named and imported has its findings in one go.
        let mut files: FxHashMap<String, usize> = FxHashMap::default();
        for finding in &all.diagnostics {
            let next = files.len();
            files.entry(finding.place.file.clone()).or_insert(next);
        }
        all.diagnostics
            .sort_by_key(|finding| (files.get(&finding.place.file).copied(), finding.place.span.start));
        all
    }

    /// The document of EXECUTION §14, with what was looked at when plans were played, by file.
    #[must_use]
    pub fn json_explored(&self, explored: Vec<(String, String)>) -> String {
        let explored = explored.into_iter().map(|(file, said)| (file, said.into()));
        let explored: serde_json::Map<String, serde_json::Value> = explored.collect();
        let mut document = serde_json::to_value(self).expect("strings and numbers are always JSON");
        document["explored"] = explored.into();
        to_json(&document)
    }

    /// The document of EXECUTION §14.
    #[must_use]
    pub fn json(&self) -> String {
        to_json(self)
    }

    /// A SARIF 2.1.0 log with one run.
    #[must_use]
    pub fn sarif(&self) -> String {
        let mut rules: Vec<&Finding> = Vec::new();
        let results: Vec<serde_json::Value> = self
            .diagnostics
            .iter()
            .map(|finding| {
                let rule = rules.iter().position(|known| known.code == finding.code).unwrap_or_else(|| {
                    rules.push(finding);
                    rules.len() - 1
                });
                finding.sarif(rule)
            })
            .collect();
        let rules: Vec<serde_json::Value> = rules
            .iter()
            .map(|finding| {
                serde_json::json!({
                    "id": finding.code,
                    "shortDescription": {"text": finding.summary},
                    "defaultConfiguration": {"level": finding.severity},
                })
            })
            .collect();
        to_json(&serde_json::json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {"name": "plan", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "results": results,
            }],
        }))
    }

    /// One workflow command a finding, as GitHub Actions reads them.
    #[must_use]
    pub fn github(&self) -> String {
        let mut out = String::new();
        for finding in &self.diagnostics {
            let Located { file, line, column, end, .. } = &finding.place;
            let mut message = finding.message.clone();
            if let Some(help) = &finding.help {
                let _ = write!(message, "\nhelp: {help}");
            }
            // An end column means a range within one line to GitHub.
            let range = if end.0 == *line { format!(",endColumn={}", end.1) } else { String::new() };
            let _ = writeln!(
                out,
                "::{} file={},line={line},endLine={},col={column}{range},title={}::{}",
                finding.severity,
                property(file),
                end.0,
                property(finding.code),
                escaped(&message),
            );
        }
        out
    }
}

impl Finding {
    fn new(places: &mut Places<'_>, diagnostic: &Diagnostic) -> Self {
        Self {
            code: diagnostic.code.id,
            severity: diagnostic.code.severity.as_str(),
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
            place: places.locate(diagnostic.span),
            label: diagnostic.place_label(),
            related: diagnostic
                .related
                .iter()
                .map(|related| Related {
                    place: places.locate(related.span),
                    message: related.message.clone(),
                })
                .collect(),
            summary: diagnostic.code.summary,
        }
    }

    fn sarif(&self, rule: usize) -> serde_json::Value {
        let text = match &self.help {
            Some(help) => format!("{}\nhelp: {help}", self.message),
            None => self.message.clone(),
        };
        let related: Vec<serde_json::Value> = self
            .related
            .iter()
            .map(|related| {
                let mut location = related.place.sarif();
                location["message"] = serde_json::json!({"text": related.message});
                location
            })
            .collect();
        serde_json::json!({
            "ruleId": self.code,
            "ruleIndex": rule,
            "level": self.severity,
            "message": {"text": text},
            "locations": [self.place.sarif()],
            "relatedLocations": related,
        })
    }
}

impl Located {
    fn sarif(&self) -> serde_json::Value {
        serde_json::json!({
            "physicalLocation": {
                "artifactLocation": {"uri": uri(&self.file)},
                "region": {
                    "startLine": self.line,
                    "startColumn": self.column,
                    "endLine": self.end.0,
                    "endColumn": self.end.1,
                    "byteOffset": self.span.start,
                    "byteLength": self.span.end - self.span.start,
                },
            },
        })
    }
}

/// Lines and columns of places that mostly come in order: counting goes on from the last place, so that
/// a long line with many findings is read once.
struct Places<'a> {
    sources: &'a Sources,
    last: Option<(Span, Place)>,
}

impl Places<'_> {
    fn locate(&mut self, span: Span) -> Located {
        let source = self.sources.get(span.file);
        let place = self.place(source, span);
        let end = self.place(source, span.after());
        self.last = Some((span, place));
        Located {
            file: source.path().to_string(),
            line: place.line,
            column: place.column,
            span: Bytes { start: span.start, end: span.end },
            end: (end.line, end.column),
        }
    }

    fn place(&mut self, source: &Source, span: Span) -> Place {
        let at = span.start as usize;
        let place = match self.last {
            Some((last, place))
                if last.file == span.file
                    && last.start as usize <= at
                    && source.line_of(at) == place.line
                    && source.text().is_char_boundary(at.min(source.text().len())) =>
            {
                let between = source.text().get(last.start as usize..at).unwrap_or("");
                Place { line: place.line, column: place.column + between.chars().count() }
            }
            _ => source.place(at),
        };
        self.last = Some((Span { start: span.start, ..span }, place));
        place
    }
}

fn to_json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).expect("strings and numbers are always JSON");
    text.push('\n');
    text
}

/// A path as a relative URI reference: what a URI cannot hold is percent-encoded.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            other => {
                let _ = write!(out, "%{other:02X}");
            }
        }
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}
