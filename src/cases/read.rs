//! Reads a case out of TOML: every key is a row here, and what is not a row is a finding.
//!
//! Unaware of the plan: whether its tasks have these names, `names` says.

use std::ops::Range;

use camino::{Utf8Component, Utf8Path};
use serde::Deserialize;
use serde_json::Value;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::{Case, Expectation, OfTask, Want};
use crate::diag::{Code, Diagnostics, Severity, suggest};
use crate::event::{BlockedReason, Exit, Status, Verdict};
use crate::ir::{Millis, Usd};
use crate::runner::answers::Several;
use crate::runner::stub::{self, Stub, Time};
use crate::source::{FileId, Sources, Span, Spanned, Text};

/// The codes that this file raises.
pub static CODES: &[&Code] = &[&NOT_TOML, &UNKNOWN_KEY, &WRONG_VALUE, &EXPECTS_NOTHING];

static NOT_TOML: Code = Code {
    id: "plan::case::not_toml",
    severity: Severity::Error,
    summary: "A case that is not TOML",
    explain: "What `plan test` runs are TOML files: `key = value` lines below `[table]` lines. A key with anything \
              but letters, digits, `-` and `_` is quoted: `\"check[left-pad]\" = \"pass\"`.",
};

static UNKNOWN_KEY: Code = Code {
    id: "plan::case::unknown_key",
    severity: Severity::Error,
    summary: "A key that a case does not have",
    explain: "A key that nobody reads would be an expectation that nobody checks, or a stub that does nothing. \
              docs/testing-packs.md lists the keys.",
};

static WRONG_VALUE: Code = Code {
    id: "plan::case::wrong_value",
    severity: Severity::Error,
    summary: "A value that a key of a case cannot have",
    explain: "Each key takes one kind of value: `status` a word that a task can settle with, `files` a list of \
              paths, `duration` a string such as `\"1m30s\"`.",
};

static EXPECTS_NOTHING: Code = Code {
    id: "plan::case::expects_nothing",
    severity: Severity::Error,
    summary: "A case that expects nothing",
    explain: "A case without an expectation cannot fail, and what cannot fail tests nothing. `[expect]` says how the \
              run ends (`exit`, `verdict`) and what comes of its tasks (`tasks = { build = \"pass\" }`).",
};

type At<'i> = toml::Spanned<DeValue<'i>>;

/// A key: its name, and what reads its value into `T`.
pub struct Key<T> {
    /// Its name.
    pub name: &'static str,
    read: for<'i> fn(&mut Reader<'_>, &mut T, &At<'i>),
}

/// What a case may say.
pub static CASE: &[Key<Case>] = &[
    Key { name: "about", read: |reader, case, value| case.about = reader.text(value) },
    Key {
        name: "plan",
        read: |reader, case, value| case.plan = reader.text(value).map(|text| reader.at(text, value)),
    },
    Key { name: "params", read: |reader, case, value| reader.params(case, value) },
    Key {
        name: "jobs",
        read: |reader, case, value| {
            case.jobs = reader.positive(value).and_then(|jobs| usize::try_from(jobs).ok());
        },
    },
    Key {
        name: "caps",
        read: |reader, case, value| {
            case.caps = reader.texts(value).into_iter().map(|cap| cap.value.into()).collect();
        },
    },
    Key { name: "max_usd", read: |reader, case, value| case.max_usd = reader.money(value) },
    Key { name: "max_time", read: |reader, case, value| case.max_time = reader.time(value) },
    Key { name: "max_steps", read: |reader, case, value| case.max_steps = reader.positive(value) },
    Key {
        name: "keep_going",
        read: |reader, case, value| case.keep_going = reader.boolean(value).unwrap_or_default(),
    },
    Key {
        name: "kill_on_failure",
        read: |reader, case, value| case.kill_on_failure = reader.boolean(value).unwrap_or_default(),
    },
    Key { name: "files", read: |reader, case, value| reader.files(case, value) },
    Key { name: "answers", read: |reader, case, value| reader.answers(case, value) },
    Key { name: "stub", read: |reader, case, value| reader.stubs(case, value) },
    Key {
        name: "expect",
        read: |reader, case, value| {
            let mut run = OfRun { key: "", out: Vec::new() };
            reader.table(value, "expect", EXPECT, &mut run, |run, key| run.key = key);
            case.expect = run.out;
        },
    },
];

/// What `[expect]` may say.
pub static EXPECT: &[Key<OfRun>] = &[
    Key {
        name: "exit",
        read: |reader, run, value| {
            let words: Vec<&str> = Exit::ALL.iter().map(|exit| exit.as_str()).collect();
            run.want(reader, value, |reader, value| reader.word(value, &words).map(Want::Exit));
        },
    },
    Key {
        name: "verdict",
        read: |reader, run, value| {
            let words = [Verdict::Valid.as_str(), Verdict::Invalid.as_str()];
            run.want(reader, value, |reader, value| reader.word(value, &words).map(Want::Verdict));
        },
    },
    Key {
        name: "accepted",
        read: |reader, run, value| {
            run.want(reader, value, |reader, value| reader.boolean(value).map(Want::Accepted));
        },
    },
    Key {
        name: "spent_usd",
        read: |reader, run, value| {
            run.want(reader, value, |reader, value| reader.money(value).map(Want::Spent));
        },
    },
    Key {
        name: "steps",
        read: |reader, run, value| {
            run.want(reader, value, |reader, value| reader.whole(value).map(Want::Steps));
        },
    },
    Key {
        name: "order",
        read: |reader, run, value| {
            run.want(reader, value, |reader, value| {
                let names = reader.names(value);
                let again = |at: usize| names[..at].iter().any(|before| before.value == names[at].value);
                if let Some(at) = (0..names.len()).find(|&at| again(at)) {
                    let message = format!("`{}` is there twice, and begins first but once", names[at].value);
                    reader.found.push(WRONG_VALUE.at(names[at].span, message).label("expects nothing"));
                    return None;
                }
                (names.len() > 1).then_some(Want::Order(names)).or_else(|| {
                    reader.wrong(value, "`order` takes at least two tasks", "nothing to put in order")
                })
            });
        },
    },
    Key {
        name: "did_not_run",
        read: |reader, run, value| {
            run.want(reader, value, |reader, value| {
                let names = reader.names(value);
                (!names.is_empty()).then_some(Want::DidNotRun(names)).or_else(|| {
                    reader.wrong(value, "`did_not_run` takes at least one task", "expects nothing")
                })
            });
        },
    },
    Key {
        name: "warnings",
        read: |reader, run, value| {
            for text in reader.texts(value) {
                let path = "warnings".to_owned();
                run.out.push(Expectation { path, span: text.span, want: Want::Warning(text.value) });
            }
        },
    },
    Key {
        name: "verify",
        read: |reader, run, value| {
            for (gate, value) in reader.members(value, "verify") {
                let Some(holds) = reader.verdict(value) else { continue };
                let (path, span) = (format!("verify.{}", gate.value), reader.span(value.span()));
                run.out.push(Expectation { path, span, want: Want::Gate(gate, holds) });
            }
        },
    },
    Key {
        name: "tasks",
        read: |reader, run, value| {
            for (name, value) in reader.members(value, "tasks") {
                reader.task(name, value, &mut run.out);
            }
        },
    },
];

/// What `[expect.tasks.NAME]` may say.
pub static TASK: &[Key<One>] = &[
    Key {
        name: "status",
        read: |reader, one, value| {
            let words = statuses();
            one.want(reader, value, |reader, value| reader.word(value, &words).map(OfTask::Status));
        },
    },
    Key {
        name: "note",
        read: |reader, one, value| {
            one.want(reader, value, |reader, value| reader.text(value).map(OfTask::Note));
        },
    },
    Key {
        name: "note_contains",
        read: |reader, one, value| {
            one.want(reader, value, |reader, value| reader.text(value).map(OfTask::NoteContains));
        },
    },
    Key {
        name: "attempts",
        read: |reader, one, value| {
            one.want(reader, value, |reader, value| {
                reader.whole(value).and_then(|count| u32::try_from(count).ok()).map(OfTask::Attempts)
            });
        },
    },
    Key {
        name: "rounds",
        read: |reader, one, value| {
            one.want(reader, value, |reader, value| {
                reader.positive(value).and_then(|count| u32::try_from(count).ok()).map(OfTask::Rounds)
            });
        },
    },
    Key {
        name: "cost_usd",
        read: |reader, one, value| {
            one.want(reader, value, |reader, value| reader.money(value).map(OfTask::Cost));
        },
    },
    Key {
        name: "blocked",
        read: |reader, one, value| {
            let words = BlockedReason::ALL.map(BlockedReason::as_str);
            one.want(reader, value, |reader, value| reader.word(value, &words).map(OfTask::Blocked));
        },
    },
    Key {
        name: "output",
        read: |reader, one, value| {
            one.want(reader, value, |reader, value| reader.object(value).map(OfTask::Output));
        },
    },
    Key {
        name: "files",
        read: |reader, one, value| {
            one.want(reader, value, |reader, value| Some(OfTask::Files(reader.strings(value))));
        },
    },
    Key {
        name: "contains",
        read: |reader, one, value| {
            for (path, value) in reader.members(value, "contains") {
                let texts = match value.get_ref() {
                    DeValue::String(_) => {
                        let text = reader.text(value).into_iter();
                        text.map(|text| reader.at(text, value)).collect()
                    }
                    DeValue::Array(_) => reader.texts(value),
                    DeValue::Integer(_)
                    | DeValue::Float(_)
                    | DeValue::Boolean(_)
                    | DeValue::Datetime(_)
                    | DeValue::Table(_) => {
                        let _: Option<()> = reader.kind(value, "a string or a list of strings");
                        continue;
                    }
                };
                for text in texts {
                    let want = OfTask::Contains(path.value.to_string(), text.value);
                    one.push(text.span, Some(&path.value), want);
                }
            }
        },
    },
    Key {
        name: "inputs",
        read: |reader, one, value| {
            one.want(reader, value, |reader, value| reader.object(value).map(OfTask::Inputs));
        },
    },
    Key {
        name: "staged",
        read: |reader, one, value| {
            one.want(reader, value, |reader, value| Some(OfTask::Staged(reader.strings(value))));
        },
    },
    Key {
        name: "verifiers",
        read: |reader, one, value| {
            for (name, value) in reader.members(value, "verifiers") {
                let Some(accepts) = reader.verdict(value) else { continue };
                let span = reader.span(value.span());
                one.push(span, Some(&name.value.clone()), OfTask::Verifier(name, accepts));
            }
        },
    },
];

/// The words for how a task stands at the end: `pending` where only a person can move it.
fn statuses() -> Vec<&'static str> {
    Status::ALL.map(Status::as_str).into_iter().chain(["pending"]).collect()
}

/// What is expected of a run, while it is read.
pub struct OfRun {
    key: &'static str,
    out: Vec<Expectation>,
}

impl OfRun {
    fn want(
        &mut self,
        reader: &mut Reader<'_>,
        value: &At<'_>,
        read: impl FnOnce(&mut Reader<'_>, &At<'_>) -> Option<Want>,
    ) {
        let (path, span) = (self.key.to_owned(), reader.span(value.span()));
        self.out.extend(read(reader, value).map(|want| Expectation { path, span, want }));
    }
}

/// What is expected of a task, while it is read.
pub struct One {
    name: Spanned<Text>,
    key: &'static str,
    out: Vec<Expectation>,
}

impl One {
    fn want(
        &mut self,
        reader: &mut Reader<'_>,
        value: &At<'_>,
        read: impl FnOnce(&mut Reader<'_>, &At<'_>) -> Option<OfTask>,
    ) {
        let span = reader.span(value.span());
        if let Some(want) = read(reader, value) {
            self.push(span, None, want);
        }
    }

    fn push(&mut self, span: Span, member: Option<&str>, want: OfTask) {
        let mut path = format!("tasks.{}.{}", self.name.value, self.key);
        if let Some(member) = member {
            path.push('.');
            path.push_str(member);
        }
        self.out.push(Expectation { path, span, want: Want::Task(self.name.clone(), want) });
    }
}

/// Reads the case that `file` holds. None where it is no case; what is wrong with it has been found then.
#[must_use]
pub fn read(sources: &Sources, file: FileId) -> (Option<Case>, Diagnostics) {
    let mut found = Diagnostics::new();
    let mut reader = Reader { file, found: &mut found };
    let table = match DeTable::parse(sources.get(file).text()) {
        Ok(table) => table,
        Err(error) => {
            let span = reader.span(error.span().unwrap_or_default());
            let message = format!("this is not TOML: {}", error.message());
            reader.found.push(NOT_TOML.at(span, message));
            return (None, found.finish());
        }
    };
    let mut case = Case::default();
    let whole = toml::Spanned::new(table.span(), DeValue::Table(table.into_inner()));
    reader.table(&whole, "a case", CASE, &mut case, |_, _| {});
    if case.expect.is_empty() && !reader.found.has_errors() {
        let start = Span::new(file, 0, 0);
        reader.found.push(
            EXPECTS_NOTHING
                .at(start, "this case expects nothing")
                .help("say how the run ends: `expect = { verdict = \"valid\" }`"),
        );
    }
    let case = (!found.has_errors()).then_some(case);
    (case, found.finish())
}

/// Where a value is read.
pub struct Reader<'a> {
    file: FileId,
    found: &'a mut Diagnostics,
}

impl Reader<'_> {
    fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.file, range.start, range.end)
    }

    fn at<T>(&self, of: T, value: &At<'_>) -> Spanned<T> {
        Spanned::new(of, self.span(value.span()))
    }

    /// Every member of a table with a row in `keys`, in the order written.
    fn table<T>(
        &mut self,
        value: &At<'_>,
        what: &str,
        keys: &[Key<T>],
        into: &mut T,
        next: impl Fn(&mut T, &'static str),
    ) {
        let shown = if what.starts_with("a ") { what.to_owned() } else { format!("`{what}`") };
        for (name, value) in self.members(value, what) {
            match keys.iter().find(|key| name.value == key.name) {
                Some(key) => {
                    next(into, key.name);
                    (key.read)(self, into, value);
                }
                None => self.unknown(&name, &shown, keys.iter().map(|key| key.name)),
            }
        }
    }

    fn unknown<'k>(&mut self, name: &Spanned<Text>, what: &str, keys: impl Iterator<Item = &'k str> + Clone) {
        let near = suggest::did_you_mean(&name.value, keys.clone());
        let all =
            || format!("{what} has {}", keys.map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", "));
        self.found.push(
            UNKNOWN_KEY
                .at(name.span, format!("{what} has no key `{}`", name.value))
                .label("nobody reads this")
                .help(near.unwrap_or_else(all)),
        );
    }

    /// The members of a table, in the order written.
    fn members<'t, 'i>(&mut self, value: &'t At<'i>, what: &str) -> Vec<(Spanned<Text>, &'t At<'i>)> {
        let Some(table) = value.get_ref().as_table() else {
            let _: Option<()> = self.kind(value, &format!("a table, as every `{what}` is"));
            return Vec::new();
        };
        let mut members: Vec<_> = table
            .iter()
            .map(|(key, value)| {
                (Spanned::new(Text::from(key.get_ref().as_ref()), self.span(key.span())), value)
            })
            .collect();
        members.sort_by_key(|(name, _)| name.span.start);
        members
    }

    fn wrong<T>(&mut self, value: &At<'_>, message: impl Into<String>, label: &str) -> Option<T> {
        let span = self.span(value.span());
        self.found.push(WRONG_VALUE.at(span, message).label(label));
        None
    }

    /// The value is not of the kind that is needed.
    fn kind<T>(&mut self, value: &At<'_>, needed: &str) -> Option<T> {
        let is = value.get_ref().type_str();
        let article = if is.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        self.wrong(value, format!("this has to be {needed}, and is {article} {is}"), "of the wrong kind")
    }

    fn text(&mut self, value: &At<'_>) -> Option<String> {
        match value.get_ref().as_str() {
            Some(text) => Some(text.to_owned()),
            None => self.kind(value, "a string"),
        }
    }

    fn boolean(&mut self, value: &At<'_>) -> Option<bool> {
        value.get_ref().as_bool().or_else(|| self.kind(value, "`true` or `false`"))
    }

    /// A whole number.
    fn whole(&mut self, value: &At<'_>) -> Option<u64> {
        let integer = value.get_ref().as_integer();
        let number = integer.and_then(|text| u64::from_str_radix(text.as_str(), text.radix()).ok());
        number.or_else(|| self.kind(value, "a number from 0"))
    }

    fn positive(&mut self, value: &At<'_>) -> Option<u64> {
        match self.whole(value)? {
            0 => self.wrong(value, "this has to be at least 1", "nothing could run"),
            number => Some(number),
        }
    }

    /// An amount, as a number or, where it has to be exact to the eye, as a string.
    fn money(&mut self, value: &At<'_>) -> Option<Usd> {
        let written = match value.get_ref() {
            DeValue::String(text) => Some(text.as_ref()),
            DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str()),
            DeValue::Float(number) => Some(number.as_str()),
            DeValue::Integer(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => None,
        };
        let usd = written.and_then(Usd::parse);
        usd.or_else(|| self.kind(value, "an amount of US dollars, as `0.25`"))
    }

    fn time(&mut self, value: &At<'_>) -> Option<Millis> {
        match Time::try_from(self.text(value)?) {
            Ok(time) => Some(time.0),
            Err(wrong) => self.wrong(value, wrong, "no duration"),
        }
    }

    fn texts(&mut self, value: &At<'_>) -> Vec<Spanned<String>> {
        let Some(list) = value.get_ref().as_array() else {
            let _: Option<()> = self.kind(value, "a list of strings");
            return Vec::new();
        };
        list.iter().filter_map(|value| self.text(value).map(|text| self.at(text, value))).collect()
    }

    fn strings(&mut self, value: &At<'_>) -> Vec<String> {
        self.texts(value).into_iter().map(|text| text.value).collect()
    }

    fn names(&mut self, value: &At<'_>) -> Vec<Spanned<Text>> {
        self.texts(value).into_iter().map(|name| name.map(Text::from)).collect()
    }

    /// One of `words`.
    fn word(&mut self, value: &At<'_>, words: &[&str]) -> Option<Text> {
        let word = self.text(value)?;
        if words.contains(&word.as_str()) {
            return Some(word.into());
        }
        let all = || {
            format!("one of {}", words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "))
        };
        let help = suggest::did_you_mean(&word, words.iter().copied()).unwrap_or_else(all);
        let span = self.span(value.span());
        self.found.push(
            WRONG_VALUE.at(span, format!("nothing ever is `{word}` here")).label("no such word").help(help),
        );
        None
    }

    /// `"pass"` or `"fail"`, of a verifier.
    fn verdict(&mut self, value: &At<'_>) -> Option<bool> {
        self.word(value, &["pass", "fail"]).map(|word| word == "pass")
    }

    /// Any value, as JSON.
    fn json(&mut self, value: &At<'_>) -> Option<Value> {
        match toml::Value::deserialize(ValueDeserializer::from(value.clone())) {
            Ok(value) => Some(stub::json(&value)),
            Err(error) => self.wrong(value, error.message().to_owned(), "unreadable"),
        }
    }

    fn object(&mut self, value: &At<'_>) -> Option<Value> {
        if value.get_ref().is_table() { self.json(value) } else { self.kind(value, "a table") }
    }

    fn params(&mut self, case: &mut Case, value: &At<'_>) {
        for (name, value) in self.members(value, "params") {
            if let Some(json) = self.json(value) {
                case.params.insert(name.value.to_string(), json);
                case.param_names.push(name);
            }
        }
    }

    fn files(&mut self, case: &mut Case, value: &At<'_>) {
        for (path, value) in self.members(value, "files") {
            let Some(text) = self.text(value) else { continue };
            if self.inside(&path) {
                case.files.insert(path.value.as_str().into(), text);
            }
        }
    }

    /// Whether a path stays in the workspace.
    fn inside(&mut self, path: &Spanned<Text>) -> bool {
        let inside = !path.value.is_empty()
            && Utf8Path::new(path.value.as_str())
                .components()
                .all(|part| matches!(part, Utf8Component::Normal(_) | Utf8Component::CurDir));
        if !inside {
            let message = format!("`{}` is no path in the workspace", path.value);
            self.found.push(WRONG_VALUE.at(path.span, message).label("leaves the workspace"));
        }
        inside
    }

    fn stubs(&mut self, case: &mut Case, value: &At<'_>) {
        for (name, value) in self.members(value, "stub") {
            let before = self.found.count(Severity::Error);
            self.known_in_stub(value);
            if self.found.count(Severity::Error) > before {
                continue;
            }
            match Stub::deserialize(ValueDeserializer::from(value.clone())) {
                Ok(stub) => {
                    case.stubs.0.insert(name.value.to_string(), stub);
                    case.stub_names.push(name);
                }
                Err(error) => {
                    let span = self.span(error.span().unwrap_or_else(|| value.span()));
                    self.found.push(WRONG_VALUE.at(span, error.message().to_owned()).label("in this stub"));
                }
            }
        }
    }

    fn answers(&mut self, case: &mut Case, value: &At<'_>) {
        for (gate, value) in self.members(value, "answers") {
            let before = self.found.count(Severity::Error);
            self.answer(case, &gate, value);
            if self.found.count(Severity::Error) > before {
                continue;
            }
            match Several::deserialize(ValueDeserializer::from(value.clone())) {
                Ok(answers) => drop(case.answers.0.insert(gate.value.to_string(), answers)),
                Err(error) => {
                    let _: Option<()> = self.wrong(value, error.message().to_owned(), "no answer");
                }
            }
        }
    }

    /// One answer: its text, a table with more to say, or a list of these, one a round.
    fn answer(&mut self, case: &mut Case, gate: &Spanned<Text>, value: &At<'_>) {
        match value.get_ref() {
            DeValue::String(text) => {
                case.answered.push((gate.clone(), self.at(text.as_ref().into(), value)));
            }
            DeValue::Array(list) => list.iter().for_each(|value| self.answer(case, gate, value)),
            DeValue::Table(_) => {
                for (name, value) in self.members(value, "answers") {
                    match name.value.as_str() {
                        "answer" => self.answer(case, gate, value),
                        "by" => drop(self.text(value)),
                        "after" => drop(self.time(value)),
                        _ => self.unknown(&name, "an answer", ["answer", "by", "after"].into_iter()),
                    }
                }
            }
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {
                let _: Option<()> = self.kind(value, "an answer, as a string");
            }
        }
    }

    /// Looks for keys that stubs do not have, in attempts and rounds as well.
    fn known_in_stub(&mut self, value: &At<'_>) {
        let mut end: Option<Text> = None;
        for (name, value) in self.members(value, "stub") {
            if matches!(name.value.as_str(), "exit" | "signal" | "hangs" | "lost" | "missing")
                && value.get_ref().as_bool() != Some(false)
                && let Some(before) = end.replace(name.value.clone())
            {
                let message = format!("a stub ends in one way: `{before}` and `{}` are two", name.value);
                self.found.push(WRONG_VALUE.at(name.span, message).label("says again how it ends"));
            }
            match name.value.as_str() {
                "exit" => self.between(value, 0, 255, "an exit code is from 0 to 255"),
                "signal" => self.between(value, 1, 64, "a signal is from 1 to 64"),
                "attempts" | "rounds" => {
                    for value in value.get_ref().as_array().into_iter().flat_map(|list| list.iter()) {
                        self.known_in_stub(value);
                    }
                }
                "files" => {
                    for (path, _) in self.members(value, "files") {
                        self.inside(&path);
                    }
                }
                key if stub::KEYS.contains(&key) => {}
                _ => self.unknown(&name, "a stub", stub::KEYS.iter().copied()),
            }
        }
    }

    /// A whole number of a range; what is no such number, is told where it is read.
    fn between(&mut self, value: &At<'_>, least: i64, most: i64, otherwise: &str) {
        let integer = value.get_ref().as_integer();
        let number = integer.map(|text| i64::from_str_radix(text.as_str(), text.radix()).ok());
        if number.is_some_and(|number| number.is_none_or(|number| number < least || number > most)) {
            let _: Option<()> = self.wrong(value, otherwise, "nothing ends so");
        }
    }

    /// What is expected of one task: its status alone, or a table.
    fn task(&mut self, name: Spanned<Text>, value: &At<'_>, out: &mut Vec<Expectation>) {
        let path = format!("tasks.{}", name.value);
        if value.get_ref().is_str() {
            let words = statuses();
            let span = self.span(value.span());
            let want = self.word(value, &words).map(OfTask::Status);
            out.extend(want.map(|want| Expectation { path, span, want: Want::Task(name, want) }));
            return;
        }
        if value.get_ref().as_table().is_some_and(DeTable::is_empty) {
            let _: Option<()> =
                self.wrong(value, format!("this expects nothing of `{}`", name.value), "empty");
        }
        let mut one = One { name, key: "", out: Vec::new() };
        self.table(value, &path, TASK, &mut one, |one, key| one.key = key);
        out.append(&mut one.out);
    }
}
