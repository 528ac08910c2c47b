//! Writes a case from a run that has ended: what its attempts did as stubs, what came of it as expectations.
//!
//! Pure. What a stub cannot say is left out, and told.

use std::fmt::Write as _;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::compare::Content;
use crate::event::{AttemptEnded, Body, Ceilings, EndedBy, Event, Grade, Raw, VerifierEnded, VerifierMode};
use crate::exec::note;
use crate::history::{History, State};
use crate::ir::dump;
use crate::report::status::{self, TaskStatus};

/// The largest file that a case holds as text.
const LARGEST: usize = 64 << 10;

/// A run to write a case from.
pub struct Recorded<'a> {
    /// The plan's file in the pack; none where the pack has but one.
    pub plan_file: Option<&'a str>,
    /// The compiled plan.
    pub plan: &'a dump::Document,
    /// The parameters that it was bound to.
    pub params: &'a Map<String, Value>,
    /// The ceilings that the operator gave.
    pub ceilings: Ceilings,
    /// Its events.
    pub events: &'a [Event],
    /// The fold of them.
    pub history: &'a History,
    /// The content of a captured file.
    pub content: &'a Content<'a>,
    /// A text without secrets; none where it has none.
    pub mask: &'a dyn Fn(&str) -> Option<String>,
    /// A result without secrets.
    pub show: &'a dyn Fn(&Raw) -> Raw,
}

/// A case, and what of the run it does not say.
#[derive(Debug)]
pub struct Written {
    /// The text of the case.
    pub text: String,
    /// What is left out, a clause each.
    pub left_out: Vec<String>,
}

/// What one attempt did: key and value, as TOML.
type Lines = Vec<(&'static str, String)>;

/// Writes the case.
///
/// # Errors
/// If the run has not ended, or a person ended it.
pub fn write(of: &Recorded<'_>) -> Result<Written, String> {
    if of.history.state() != State::Ended {
        return Err("it has not ended".to_owned());
    }
    if of.history.stop_requested {
        return Err("a person stopped it, which no case can say".to_owned());
    }
    let (stubs, answers, files) = (IndexMap::new(), IndexMap::new(), IndexMap::new());
    let mut record = Record { of, stubs, answers, files, left_out: Vec::new() };
    record.attempts();
    let mut out = format!("about = {}\n", quoted(&format!("As it was in the run {}.", of.history.run)));
    if let Some(file) = of.plan_file {
        let _ = writeln!(out, "plan = {}", quoted(file));
    }
    record.operator(&mut out);
    record.sections(&mut out);
    record.expect(&mut out);
    Ok(Written { text: out, left_out: record.left_out })
}

struct Record<'a> {
    of: &'a Recorded<'a>,
    /// What each task did, by round and attempt.
    stubs: IndexMap<String, Vec<Vec<Lines>>>,
    /// What people answered, one a round.
    answers: IndexMap<String, Vec<String>>,
    /// What was there before.
    files: IndexMap<String, String>,
    left_out: Vec<String>,
}

impl Record<'_> {
    /// What the operator said.
    fn operator(&mut self, out: &mut String) {
        let Ceilings { usd, time_ms, steps } = self.of.ceilings;
        if !self.of.history.caps.is_empty() {
            let caps: Vec<String> = self.of.history.caps.iter().map(|cap| quoted(cap)).collect();
            let _ = writeln!(out, "caps = [{}]", caps.join(", "));
        }
        if let Some(usd) = usd {
            let _ = writeln!(out, "max_usd = \"{usd}\"");
        }
        if let Some(time) = time_ms {
            let _ = writeln!(out, "max_time = \"{time}\"");
        }
        if let Some(steps) = steps {
            let _ = writeln!(out, "max_steps = {steps}");
        }
        if self.of.history.keep_going {
            out.push_str("keep_going = true\n");
        }
    }

    fn attempts(&mut self) {
        let of = self.of;
        let mut rounds = IndexMap::new();
        for event in of.events {
            match &event.body {
                Body::AttemptStarted(started) => drop(rounds.insert(started.attempt, started.round)),
                Body::AttemptEnded(ended) => {
                    let round = rounds.get(&ended.attempt).copied().unwrap_or(1);
                    self.attempt(ended, round);
                }
                Body::VerifierEnded(ended) if ended.identity == "run" => self.verifier(ended),
                Body::GateAnswered(answered) if self.kind(&answered.task) == "gate" => {
                    let answers = self.answers.entry(answered.task.to_string()).or_default();
                    answers.push(quoted(&answered.answer));
                }
                Body::VerifierEnded(_)
                | Body::RunStarted(_)
                | Body::PlanAdmitted(_)
                | Body::InstancesNamed(_)
                | Body::RetryScheduled(_)
                | Body::TimerFired(_)
                | Body::TaskSettled(_)
                | Body::RoundStarted(_)
                | Body::NodeEntered(_)
                | Body::GateAsked(_)
                | Body::GateAnswered(_)
                | Body::Warning(_)
                | Body::Halted(_)
                | Body::StopRequested(_)
                | Body::Interrupted(_)
                | Body::Alive(_)
                | Body::RunResumed(_)
                | Body::RunEnded(_)
                | Body::ReuseDecided(_) => {}
            }
        }
    }

    fn attempt(&mut self, ended: &AttemptEnded, round: u32) {
        match ended.grade {
            Grade::Interrupted | Grade::Blocked => return,
            Grade::Pass | Grade::Partial | Grade::Fail | Grade::Skipped | Grade::Transport | Grade::Retry => {
            }
        }
        if self.kind(&ended.task) == "report" {
            return;
        }
        let files = self.captured(ended);
        if ended.done_already {
            self.files.extend(files);
            return;
        }
        let mut lines = how(ended);
        if let Some(by) = ended.ended_by {
            match by {
                EndedBy::Timeout | EndedBy::TimeCeiling | EndedBy::Stop | EndedBy::Failure => {}
                EndedBy::LogLimit | EndedBy::Interruption => {
                    self.left_out.push(format!("`{}` printed more than the limit", ended.task));
                }
                EndedBy::CostCeiling | EndedBy::StepCeiling => {
                    self.left_out.push(format!("the plan that `{}` calls reached a ceiling", ended.task));
                }
            }
        } else {
            self.result(ended, &mut lines);
            if ended.duration_ms.0 > 0 {
                lines.push(("duration", format!("\"{}\"", ended.duration_ms)));
            }
            if !files.is_empty() {
                let files: Vec<String> =
                    files.iter().map(|(path, text)| format!("{} = {}", quoted(path), quoted(text))).collect();
                lines.push(("files", format!("{{ {} }}", files.join(", "))));
            }
        }
        self.push(ended.task.to_string(), round, lines);
    }

    /// The kind of a task, or of an instance.
    fn kind(&self, name: &str) -> &str {
        let (task, _) = crate::history::split_name(name);
        let task = self.of.plan.tasks.iter().find(|known| known.name == task);
        task.map_or("", |task| task.kind.as_str())
    }

    fn push(&mut self, name: String, round: u32, lines: Lines) {
        let rounds = self.stubs.entry(name).or_default();
        let index = round.max(1) as usize - 1;
        rounds.resize_with(rounds.len().max(index + 1), Vec::new);
        rounds[index].push(lines);
    }

    /// What it printed or wrote as its result.
    fn result(&mut self, ended: &AttemptEnded, lines: &mut Lines) {
        let output = ended.output.as_ref().map(|raw| (self.of.show)(raw));
        let last_line = (self.of.mask)(&ended.last_line).unwrap_or_else(|| ended.last_line.to_string());
        let is_object = serde_json::from_str::<Map<String, Value>>(&last_line).is_ok();
        let written = output.as_ref().map(|raw| {
            let object: Option<Value> = serde_json::from_str(raw.get()).ok();
            object.as_ref().and_then(value).ok_or_else(|| raw.get().to_owned())
        });
        // What passes without a result has an empty one; these kinds owe one.
        let owes = matches!(self.kind(&ended.task), "agent" | "evaluate" | "route");
        match written.filter(|table| owes || table.as_deref() != Ok("{}")) {
            Some(Ok(table)) => {
                lines.push(("output", table));
                if !last_line.is_empty() && !is_object {
                    lines.push(("stdout", quoted(&format!("{last_line}\n"))));
                }
            }
            // TOML has no `null`.
            Some(Err(json)) => lines.push(("stdout", quoted(&format!("{json}\n")))),
            None if last_line.is_empty() => {}
            None => lines.push(("stdout", quoted(&format!("{last_line}\n")))),
        }
    }

    /// The files that an attempt left, as text.
    fn captured(&mut self, ended: &AttemptEnded) -> Vec<(String, String)> {
        let mut files = Vec::new();
        for path in ended.files.iter().flat_map(|set| &set.paths) {
            let Some(set) = &ended.files else { continue };
            let text = (self.of.content)(set, path).and_then(|bytes| {
                if bytes.len() > LARGEST {
                    return Err(format!("`{path}` of `{}` is too large for a case", ended.task));
                }
                String::from_utf8(bytes).map_err(|_| format!("`{path}` of `{}` is no text", ended.task))
            });
            match text {
                Ok(text) => files.push((path.to_string(), (self.of.mask)(&text).unwrap_or(text))),
                Err(why) => self.left_out.push(why),
            }
        }
        files
    }

    fn verifier(&mut self, ended: &VerifierEnded) {
        let name = match &ended.task {
            Some(task) => format!("{task}/{}", ended.verifier),
            None => ended.verifier.to_string(),
        };
        let detail = ended.detail.as_deref().unwrap_or_default();
        let lines = match (ended.mode, exit(detail)) {
            (None, _) => Vec::new(),
            (Some(VerifierMode::Timeout), _) => vec![("hangs", "true".to_owned())],
            (Some(_), Some(lines)) => lines,
            (Some(VerifierMode::Rejected), None) => {
                vec![("output", format!("{{ pass = false, note = {} }}", quoted(detail)))]
            }
            (Some(VerifierMode::Missing | VerifierMode::Error | VerifierMode::Crashed), None) => {
                vec![("lost", quoted(detail))]
            }
        };
        self.push(name, ended.round, lines);
    }

    /// Parameters, files and stubs.
    fn sections(&self, out: &mut String) {
        if !self.of.params.is_empty() {
            out.push_str("\n[params]\n");
            for (name, given) in self.of.params {
                if let Some(given) = value(given) {
                    let _ = writeln!(out, "{} = {given}", key(name));
                }
            }
        }
        if !self.files.is_empty() {
            out.push_str("\n[files]\n");
            for (path, text) in &self.files {
                let _ = writeln!(out, "{} = {}", key(path), quoted(text));
            }
        }
        if !self.answers.is_empty() {
            out.push_str("\n[answers]\n");
            for (gate, answers) in &self.answers {
                let answers = match answers.as_slice() {
                    [one] => one.clone(),
                    several => format!("[{}]", several.join(", ")),
                };
                let _ = writeln!(out, "{} = {answers}", key(gate));
            }
        }
        for (name, rounds) in &self.stubs {
            let _ = writeln!(out, "\n[stub.{}]", key(name));
            match rounds.as_slice() {
                [one] => attempts(one, out),
                several => {
                    out.push_str("rounds = [\n");
                    for round in several {
                        let mut inner = String::new();
                        attempts(round, &mut inner);
                        let members: Vec<&str> = inner.lines().collect();
                        let _ = writeln!(out, "    {{ {} }},", inline(&members));
                    }
                    out.push_str("]\n");
                }
            }
        }
    }

    fn expect(&self, out: &mut String) {
        let document = status::document(self.of.history, false, self.of.show);
        out.push_str("\n[expect]\n");
        if let Some(exit) = document.exit {
            let _ = writeln!(out, "exit = \"{}\"", exit.as_str());
        }
        if let Some(verdict) = document.verdict {
            let _ = writeln!(out, "verdict = \"{}\"", verdict.as_str());
        }
        if !document.spent_usd.is_zero() {
            let _ = writeln!(out, "spent_usd = \"{}\"", document.spent_usd);
        }
        let gates: Vec<String> = document
            .verify
            .iter()
            .map(|(name, check)| format!("{} = \"{}\"", key(name), if check.pass { "pass" } else { "fail" }))
            .collect();
        if !gates.is_empty() {
            let _ = writeln!(out, "verify = {{ {} }}", gates.join(", "));
        }
        out.push_str("\n[expect.tasks]\n");
        for (name, task) in &document.tasks {
            let _ = writeln!(out, "{} = {}", key(name), self.task(task));
            for (element, instance) in &task.instances {
                let name = crate::history::instance_name(name, element);
                let _ = writeln!(out, "{} = {}", key(&name), self.task(instance));
            }
        }
    }

    fn task(&self, task: &TaskStatus) -> String {
        let mut members = vec![format!("status = \"{}\"", task.status)];
        if let Some(note) = &task.note {
            let note = (self.of.mask)(note).unwrap_or_else(|| note.to_string());
            members.push(format!("note = {}", quoted(&note)));
        }
        if task.attempts > 0 {
            members.push(format!("attempts = {}", task.attempts));
        }
        if !task.rounds.is_empty() {
            members.push(format!("rounds = {}", task.rounds.len() + 1));
        }
        if !task.files.is_empty() {
            let files: Vec<String> = task.files.iter().map(|path| quoted(path)).collect();
            members.push(format!("files = [{}]", files.join(", ")));
        }
        match members.as_slice() {
            [_] => format!("\"{}\"", task.status),
            members => format!("{{ {} }}", members.join(", ")),
        }
    }
}

/// How an attempt ended, from its grade and its note: the exit itself is not in the log.
fn how(ended: &AttemptEnded) -> Lines {
    match ended.ended_by {
        Some(EndedBy::Timeout | EndedBy::TimeCeiling | EndedBy::Stop | EndedBy::Failure) => {
            return vec![("hangs", "true".to_owned())];
        }
        Some(EndedBy::LogLimit | EndedBy::Interruption | EndedBy::CostCeiling | EndedBy::StepCeiling) => {
            return vec![("exit", "1".to_owned())];
        }
        None => {}
    }
    let note = ended.note.as_deref().unwrap_or_default();
    match ended.grade {
        Grade::Fail => exit(note).unwrap_or_default(),
        Grade::Transport => exit(note).unwrap_or_else(|| vec![("lost", quoted(note))]),
        Grade::Pass
        | Grade::Partial
        | Grade::Skipped
        | Grade::Retry
        | Grade::Blocked
        | Grade::Interrupted => Vec::new(),
    }
}

/// What `exit 3: no room`, or `ended by SIGKILL`, says. None where it says neither.
fn exit(words: &str) -> Option<Lines> {
    let (how, said) = words.split_once(": ").map_or((words, None), |(how, said)| (how, Some(said)));
    let mut lines = Vec::new();
    if let Some(code) = how.strip_prefix("exit ").and_then(|code| code.parse::<i32>().ok()) {
        lines.push(("exit", code.to_string()));
    } else {
        let name = how.strip_prefix("ended by ")?;
        let signal = (1..=64).find(|&number| note::signal(number) == name)?;
        lines.push(("signal", signal.to_string()));
    }
    lines.extend(said.map(|said| ("stderr", quoted(&format!("{said}\n")))));
    Some(lines)
}

/// The keys of a stub, or its attempts.
fn attempts(attempts: &[Lines], out: &mut String) {
    let member = |(name, value): &(&str, String)| format!("{name} = {value}");
    match attempts {
        [one] => one.iter().for_each(|line| out.push_str(&format!("{}\n", member(line)))),
        [] => {}
        several => {
            let each: Vec<String> = several
                .iter()
                .map(|lines| {
                    let members: Vec<String> = lines.iter().map(member).collect();
                    format!("{{ {} }}", members.join(", "))
                })
                .collect();
            let _ = writeln!(out, "attempts = [{}]", each.join(", "));
        }
    }
}

fn inline(members: &[&str]) -> String {
    members.join(", ")
}

/// A key of TOML.
fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if bare { name.to_owned() } else { quoted(name) }
}

/// A string of TOML, on one line.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            char if char.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(char));
            }
            char => out.push(char),
        }
    }
    out.push('"');
    out
}

/// A value as TOML; none where TOML cannot say it: `null`, and numbers beyond its own.
fn value(of: &Value) -> Option<String> {
    Some(match of {
        Value::Null => return None,
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.to_string(),
            (None, Some(float)) if !number.is_u64() => format!("{float:?}"),
            (None, _) => return None,
        },
        Value::String(text) => quoted(text),
        Value::Array(values) => {
            let values: Option<Vec<String>> = values.iter().map(value).collect();
            format!("[{}]", values?.join(", "))
        }
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let members: Option<Vec<String>> =
                members.iter().map(|(name, of)| Some(format!("{} = {}", key(name), value(of)?))).collect();
            format!("{{ {} }}", members?.join(", "))
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for of in [
            json!({"a b": [1, -2, 1.5, true, "x\"\\\n\u{1}é"], "c": {}, "d": {"e": 1e300}}),
            json!([]),
            json!(9_007_199_254_740_993_i64),
        ] {
            let text = format!("v = {}", value(&of).unwrap());
            let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(crate::runner::stub::json(&table["v"]), of, "{text}");
        }
        for of in [json!(null), json!({"a": [null]}), json!(u64::MAX)] {
            assert_eq!(value(&of), None);
        }
    }

    #[test]
    fn exits_are_read_out_of_notes() {
        let shown = |words: &str| {
            let lines = exit(words)?;
            Some(lines.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join("; "))
        };
        assert_eq!(shown("exit 3: no: room").as_deref(), Some("exit = 3; stderr = \"no: room\\n\""));
        assert_eq!(shown("ended by SIGKILL").as_deref(), Some("signal = 9"));
        assert_eq!(shown("`out.txt` is missing"), None);
        assert_eq!(shown("it promises `a`: it printed nothing"), None);
    }
}
