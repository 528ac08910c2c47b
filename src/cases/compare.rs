//! Holds what a run came to against what was expected of it.
//!
//! Pure: what lies on disk comes through closures.

use indexmap::IndexMap;
use serde_json::Value;

use super::differ;
use super::{Case, Expectation, OfTask, Want};
use crate::event::FileSet;
use crate::history::{History, Row, split_name};
use crate::report::status::{self, Document, TaskStatus};
use crate::source::{Span, Spanned, Text};

/// What reads a captured file.
pub type Content<'a> = dyn Fn(&FileSet, &str) -> Result<Vec<u8>, String> + 'a;

/// What a run came to.
pub struct Came<'a> {
    /// The fold of its log.
    pub history: &'a History,
    /// Tasks and instances in the order in which their first attempts began.
    pub began: &'a [Text],
    /// What the last attempt of each saw.
    pub saw: &'a IndexMap<Text, Saw>,
    /// The content of a captured file.
    pub content: &'a Content<'a>,
    /// What the report task of this name has written.
    pub report: &'a dyn Fn(&str) -> Option<(String, String)>,
}

/// What an attempt saw.
#[derive(Clone, Debug, Default)]
pub struct Saw {
    /// Its inputs.
    pub inputs: Value,
    /// The files that were staged for it, below `PLAN_FILES`.
    pub staged: Vec<String>,
}

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What was expected of what: `tasks.scan.status`.
    pub path: String,
    /// Where the expectation is written.
    pub span: Span,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub got: String,
    /// What explains it: the note of the task.
    pub because: Option<String>,
}

/// Every expectation of `case` that was not met, in the order written.
#[must_use]
pub fn differences(case: &Case, came: &Came<'_>) -> Vec<Difference> {
    let document = status::document(came.history, false, &Clone::clone);
    let mut found = Vec::new();
    for expectation in &case.expect {
        let mut look = Look { came, document: &document, expectation, found: &mut found };
        look.look();
    }
    let stubs = case.stub_names.iter().map(|name| ("stub", name));
    let answers = case.answered.iter().map(|(name, _)| ("answers", name));
    for (key, name) in stubs.chain(answers) {
        if let Some(got) = no_instance(&document, &name.value) {
            let (path, expected) = (format!("{key}.{}", name.value), format!("an instance `{}`", name.value));
            found.push(Difference { path, span: name.span, expected, got, because: None });
        }
    }
    found
}

/// What instances there are, where `name` is of none of them: what is said of it is said of nobody.
fn no_instance(document: &Document, name: &str) -> Option<String> {
    let (task, element, _) = super::names::parts(name);
    let instances = &document.tasks.get(task)?.instances;
    if instances.is_empty() || instances.contains_key(element?) {
        return None;
    }
    Some(instances_of(task, instances.keys()))
}

fn instances_of<'a>(task: &str, instances: impl Iterator<Item = &'a Text>) -> String {
    let instances: Vec<String> = instances.map(|name| format!("`{name}`")).collect();
    match instances.len() {
        0 => format!("`{task}` has no instances"),
        _ => format!("`{task}` has the instances {}", instances.join(", ")),
    }
}

struct Look<'a> {
    came: &'a Came<'a>,
    document: &'a Document,
    expectation: &'a Expectation,
    found: &'a mut Vec<Difference>,
}

impl Look<'_> {
    fn look(&mut self) {
        let document = self.document;
        match &self.expectation.want {
            Want::Exit(exit) => {
                let got = document.exit.map_or("none", |exit| exit.as_str());
                let first = self.first_cause();
                self.equal(exit, got, first);
            }
            Want::Verdict(verdict) => {
                let got = document.verdict.map_or("none", |verdict| verdict.as_str());
                let first = self.first_cause();
                self.equal(verdict, got, first);
            }
            Want::Accepted(accepted) => {
                let first = self.first_cause();
                self.equal(&accepted.to_string(), &document.accepted.to_string(), first);
            }
            Want::Spent(usd) => self.equal(&format!("${usd}"), &format!("${}", document.spent_usd), None),
            Want::Steps(steps) => self.equal(&steps.to_string(), &document.steps.to_string(), None),
            Want::Order(names) => self.order(names),
            Want::DidNotRun(names) => {
                for name in names {
                    if let Some(got) = no_instance(self.document, &name.value) {
                        self.differ(name.span, format!("an instance `{}`", name.value), got, None);
                    } else if self.began(&name.value).is_some() {
                        self.differ(
                            name.span,
                            format!("`{}` did not run", name.value),
                            "it ran".to_owned(),
                            None,
                        );
                    }
                }
            }
            Want::Warning(part) => {
                if !document.warnings.iter().any(|warning| warning.message.contains(part.as_str())) {
                    let got: Vec<&str> =
                        document.warnings.iter().map(|warning| warning.message.as_str()).collect();
                    let got = if got.is_empty() { "no warning".to_owned() } else { got.join("; ") };
                    self.not(format!("a warning with `{part}`"), got, None);
                }
            }
            Want::Gate(gate, holds) => match document.verify.get(&gate.value) {
                Some(check) => {
                    let detail = check.detail.as_ref().map(Text::to_string);
                    self.equal(verdict(*holds), verdict(check.pass), detail);
                }
                None => self.not(verdict(*holds).to_owned(), "it was not asked".to_owned(), None),
            },
            Want::Task(name, of) => self.task(name, of),
        }
    }

    /// The first task that does not hold, and its note: why a run ended otherwise.
    fn first_cause(&self) -> Option<String> {
        let failed =
            self.document.tasks.iter().find(|(_, task)| matches!(task.status, "fail" | "transport"))?;
        let note = failed.1.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
        Some(format!("`{}` settled {}{note}", failed.0, failed.1.status))
    }

    /// Where in the order of beginnings a task, or one of its instances, stands first.
    fn began(&self, name: &str) -> Option<usize> {
        self.came.began.iter().position(|began| began == name || split_name(began).0 == name)
    }

    fn order(&mut self, names: &[Spanned<Text>]) {
        let mut last: Option<(usize, &Text)> = None;
        for name in names {
            let place = self.began(&name.value);
            let Some(place) = place else {
                self.differ(name.span, format!("`{}` begins", name.value), "it never began".to_owned(), None);
                continue;
            };
            if let Some((before, other)) = last
                && place < before
            {
                let order: Vec<&str> = self.came.began.iter().map(Text::as_str).collect();
                let expected = format!("`{other}` begins before `{}`", name.value);
                self.differ(name.span, expected, format!("they began as {}", order.join(", ")), None);
            }
            last = Some((place, &name.value));
        }
    }

    fn task(&mut self, name: &Spanned<Text>, of: &OfTask) {
        let (task, element) = split_name(&name.value);
        let whole = self.document.tasks.get(task);
        let found = match element {
            None => whole,
            Some(element) => whole.and_then(|whole| whole.instances.get(element)),
        };
        let (Some(status), Some(row)) = (found, self.came.history.row(&name.value)) else {
            let instances = whole.into_iter().flat_map(|whole| whole.instances.keys());
            let got = instances_of(task, instances);
            self.not(format!("an instance `{}`", element.unwrap_or_default()), got, None);
            return;
        };
        self.of_task(name, of, status, row);
    }

    fn of_task(&mut self, name: &Spanned<Text>, of: &OfTask, status: &TaskStatus, row: &Row) {
        let note = status.note.as_ref().map(Text::to_string);
        match of {
            OfTask::Status(want) => self.equal(want, status.status, note),
            OfTask::Note(want) => self.equal(want, note.as_deref().unwrap_or("no note"), None),
            OfTask::NoteContains(part) => {
                if !note.as_ref().is_some_and(|note| note.contains(part.as_str())) {
                    self.not(format!("… {part} …"), note.unwrap_or_else(|| "no note".to_owned()), None);
                }
            }
            OfTask::Attempts(want) => self.equal(&want.to_string(), &status.attempts.to_string(), note),
            OfTask::Rounds(want) => self.equal(&want.to_string(), &row.round.to_string(), note),
            OfTask::Cost(want) => self.equal(&format!("${want}"), &format!("${}", status.cost_usd), None),
            OfTask::Blocked(want) => {
                let got =
                    status.blocked.as_ref().map_or("it is not blocked", |blocked| blocked.reason.as_str());
                self.equal(want, got, note);
            }
            OfTask::Output(want) => {
                let got = status.output.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok());
                self.members(want, got.as_ref(), note);
            }
            OfTask::Files(want) => {
                let got: Vec<String> = status.files.iter().map(Text::to_string).collect();
                self.paths(want, got, note);
            }
            OfTask::Contains(path, part) => self.contains(name, path, part, row),
            OfTask::Inputs(want) => match self.came.saw.get(&name.value) {
                Some(saw) => self.members(want, Some(&saw.inputs), None),
                None => self.not("what it saw".to_owned(), "it never ran".to_owned(), note),
            },
            OfTask::Staged(want) => match self.came.saw.get(&name.value) {
                Some(saw) => self.paths(want, saw.staged.clone(), None),
                None => self.not("what it saw".to_owned(), "it never ran".to_owned(), note),
            },
            OfTask::Verifier(verifier, accepts) => match status.verifiers.get(&verifier.value) {
                Some(check) => {
                    let detail = check.detail.as_ref().map(Text::to_string);
                    self.equal(verdict(*accepts), verdict(check.pass), detail);
                }
                None => self.not(verdict(*accepts).to_owned(), "it was not asked".to_owned(), note),
            },
        }
    }

    fn contains(&mut self, name: &Spanned<Text>, path: &str, part: &str, row: &Row) {
        let captured = row.files().filter(|set| set.paths.iter().any(|kept| kept == path));
        let text = match captured {
            Some(set) => match (self.came.content)(set, path) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(why) => return self.not(format!("… {part} …"), why, None),
            },
            None => match (self.came.report)(&name.value).filter(|(to, _)| to == path) {
                Some((_, text)) => text,
                None => return self.not(format!("… {part} …"), "no such file is kept".to_owned(), None),
            },
        };
        if !text.contains(part) {
            self.not(format!("… {part} …"), excerpt(&text), None);
        }
    }

    fn members(&mut self, want: &Value, got: Option<&Value>, because: Option<String>) {
        for apart in differ::members(want, got) {
            let path = format!("{}{}", self.expectation.path, apart.member);
            let (span, because) = (self.expectation.span, because.clone());
            let (expected, got) = (apart.expected, apart.got);
            self.found.push(Difference { path, span, expected, got, because });
        }
    }

    /// Paths, in whatever order.
    fn paths(&mut self, want: &[String], mut got: Vec<String>, because: Option<String>) {
        let mut want = want.to_vec();
        want.sort();
        got.sort();
        if want != got {
            let shown =
                |paths: &[String]| if paths.is_empty() { "none".to_owned() } else { paths.join(", ") };
            self.not(shown(&want), shown(&got), because);
        }
    }

    fn equal(&mut self, want: &str, got: &str, because: Option<String>) {
        if want != got {
            self.not(want.to_owned(), got.to_owned(), because);
        }
    }

    fn not(&mut self, expected: String, got: String, because: Option<String>) {
        self.differ(self.expectation.span, expected, got, because);
    }

    fn differ(&mut self, span: Span, expected: String, got: String, because: Option<String>) {
        let path = self.expectation.path.clone();
        self.found.push(Difference { path, span, expected, got, because });
    }
}

fn verdict(pass: bool) -> &'static str {
    if pass { "pass" } else { "fail" }
}

/// The beginning of a text, for a person to see what it is.
fn excerpt(text: &str) -> String {
    const MOST: usize = 400;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}… ({} characters)", &text[..at], text.chars().count()),
        None if text.is_empty() => "an empty file".to_owned(),
        None => text.to_owned(),
    }
}
