//! Writes a case from a run that has ended: what its attempts did as stubs, what came of it as expectations.
//!
//! Pure. What a stub cannot say is left out, and told. What the run did not run has a stub that fails.

mod expect;
mod never;
mod toml;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use self::toml::{exact, key, quoted, value};
use super::compare::Content;
use crate::event::{
    AttemptEnded, Body, Ceilings, EndedBy, Event, GateAnswered, Grade, Raw, VerifierEnded, VerifierMode,
};
use crate::exec::note;
use crate::history::{History, State, split_name};
use crate::ir::{Millis, Usd, dump};
use crate::source::Text;

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
    /// How many attempts could be in flight, where that is known.
    pub jobs: Option<u64>,
    /// Whether a required failure ended what was in flight.
    pub kill_on_failure: bool,
    /// Its events.
    pub events: &'a [Event],
    /// The fold of them.
    pub history: &'a History,
    /// The content of a captured file.
    pub content: &'a Content<'a>,
    /// What the report task of this name has written, and where.
    pub report: &'a dyn Fn(&str) -> Option<(String, String)>,
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

/// What one attempt did.
#[derive(Clone, Debug, Default)]
struct Did {
    lines: Lines,
    /// What that spends.
    cost: Usd,
}

/// Keys of a stub and their values, as TOML.
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
    let mut record = Record {
        of,
        at: BTreeMap::new(),
        stubs: IndexMap::new(),
        answers: IndexMap::new(),
        files: IndexMap::new(),
        reused: BTreeSet::new(),
        left_out: Vec::new(),
    };
    record.attempts()?;
    record.settle();
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
    /// The round of each attempt, and which of that round it is.
    at: BTreeMap<u32, (u32, u32)>,
    /// What each task did, by round and attempt.
    stubs: IndexMap<String, Vec<Vec<Did>>>,
    /// What was answered, one a round.
    answers: IndexMap<String, Vec<Answer>>,
    /// What was there before.
    files: IndexMap<String, String>,
    /// Tasks and instances whose result was taken over from another run.
    reused: BTreeSet<Text>,
    left_out: Vec<String>,
}

/// An answer to a gate.
struct Answer {
    text: Text,
    by: Text,
    after: Millis,
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
        if self.of.kill_on_failure || self.of.events.iter().any(ended_by_failure) {
            out.push_str("kill_on_failure = true\n");
        }
        if let Some(jobs) = self.of.jobs {
            let _ = writeln!(out, "jobs = {jobs}");
        }
    }

    fn attempts(&mut self) -> Result<(), String> {
        let of = self.of;
        let mut so_far = History::new(of.plan);
        let mut asked: BTreeMap<u64, (u32, Millis)> = BTreeMap::new();
        for event in of.events {
            so_far.apply(event).map_err(|mismatch| mismatch.message)?;
            match &event.body {
                Body::AttemptStarted(started) => {
                    self.at.insert(started.attempt, (started.round, started.nth));
                    self.forget(&started.task, started.round, started.nth);
                }
                Body::AttemptEnded(ended) => self.attempt(ended),
                Body::VerifierEnded(ended) if ended.identity == "run" => self.verifier(ended),
                Body::GateAsked(_) => drop(asked.insert(event.seq, (so_far.sittings, event.t))),
                Body::GateAnswered(answered) if self.kind(&answered.task) == "gate" => {
                    let round = so_far.row(&answered.task).map_or(1, |row| row.round);
                    let since =
                        asked.get(&answered.question).filter(|(sitting, _)| *sitting == so_far.sittings);
                    let after = since.map_or(0, |(_, t)| event.t.0.saturating_sub(t.0));
                    self.answer(answered, round, Millis(after / 1000 * 1000));
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
        Ok(())
    }

    /// What was done by this attempt of an earlier sitting, and after it, does not count any more.
    fn forget(&mut self, name: &str, round: u32, nth: u32) {
        let (round, nth) = (round.max(1) as usize, nth.max(1) as usize);
        self.reused.remove(name);
        let inner = format!("{name}/");
        for (_, rounds) in self.stubs.iter_mut().filter(|(key, _)| *key == name || key.starts_with(&inner)) {
            rounds.truncate(round);
            if let Some(attempts) = rounds.get_mut(round - 1) {
                attempts.truncate(nth - 1);
            }
        }
    }

    /// Drops what is of tasks and instances that, in the end, did nothing: `--from` opened them again.
    fn settle(&mut self) {
        let history = self.of.history;
        self.stubs.retain(|key, rounds| {
            let (task, element, _) = super::names::parts(key);
            let name = element
                .map_or_else(|| Text::from(task), |element| crate::history::instance_name(task, element));
            let did = |row: &crate::history::Row| row.last.is_some() || !row.rounds.is_empty();
            let gate = history.gates.contains_key(key.as_str());
            rounds.iter().any(|attempts| !attempts.is_empty())
                && (gate || history.row(&name).is_some_and(did))
        });
        let asked =
            |gate: &str| history.row(gate).is_some_and(|row| row.is_settled() || !row.rounds.is_empty());
        // What nobody has answered, the default answers again once its time has come.
        let somebody = |answers: &[Answer]| answers.iter().any(|given| given.by != GateAnswered::TIMEOUT);
        self.answers.retain(|gate, answers| asked(gate) && somebody(answers));
        never::fill(self);
    }

    fn answer(&mut self, answered: &GateAnswered, round: u32, after: Millis) {
        let answers = self.answers.entry(answered.task.to_string()).or_default();
        answers.truncate(round.max(1) as usize - 1);
        answers.push(Answer { text: answered.answer.clone(), by: answered.by.clone(), after });
    }

    fn attempt(&mut self, ended: &AttemptEnded) {
        match ended.grade {
            Grade::Interrupted | Grade::Blocked => return,
            Grade::Pass | Grade::Partial | Grade::Fail | Grade::Skipped | Grade::Transport | Grade::Retry => {
            }
        }
        let kind = self.kind(&ended.task).to_owned();
        if kind == "report" {
            return;
        }
        let (round, nth) = self.at.get(&ended.attempt).copied().unwrap_or((1, 1));
        if self.asks(&ended.task) {
            let lines = vec![("exit", if ended.done_already { "0" } else { "1" }.to_owned())];
            self.put(format!("{}/done_when", ended.task), round, nth, Did { lines, cost: Usd::ZERO });
        }
        let files = self.captured(ended);
        if ended.done_already {
            self.files.extend(files);
            return;
        }
        if ended.reused.is_some() {
            self.reused.insert(ended.task.clone());
        }
        let mut did = Did { lines: how(ended), cost: Usd::ZERO };
        if kind == "call" && did.lines.is_empty() && ended.grade == Grade::Fail {
            // What the called plan came to is no exit: the task says itself why it failed.
            let note = ended.note.as_deref().unwrap_or_default();
            did.lines.push(("status", quoted("fail")));
            did.lines.push(("note", quoted(&(self.of.mask)(note).unwrap_or_else(|| note.to_owned()))));
        }
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
            did.cost = ended.cost_usd;
            if kind == "call" && !did.cost.is_zero() {
                did.lines.push(("cost", did.cost.to_string()));
            }
            self.result(ended, &kind, &mut did.lines);
            if ended.duration_ms.0 > 0 {
                did.lines.push(("duration", format!("\"{}\"", ended.duration_ms)));
            }
            if !files.is_empty() {
                let files: Vec<String> =
                    files.iter().map(|(path, text)| format!("{} = {}", quoted(path), quoted(text))).collect();
                did.lines.push(("files", format!("{{ {} }}", files.join(", "))));
            }
        }
        self.put(ended.task.to_string(), round, nth, did);
    }

    /// Whether a command says if the task is done already.
    fn asks(&self, name: &str) -> bool {
        let (task, _) = split_name(name);
        let task = self.of.plan.tasks.iter().find(|known| known.name == task);
        task.is_some_and(never::asks)
    }

    /// The kind of a task, or of an instance.
    fn kind(&self, name: &str) -> &str {
        let (task, _) = split_name(name);
        let task = self.of.plan.tasks.iter().find(|known| known.name == task);
        task.map_or("", |task| task.kind.as_str())
    }

    fn put(&mut self, name: String, round: u32, nth: u32, did: Did) {
        let rounds = self.stubs.entry(name).or_default();
        let (round, nth) = (round.max(1) as usize, nth.max(1) as usize);
        rounds.resize_with(rounds.len().max(round), Vec::new);
        let attempts = &mut rounds[round - 1];
        attempts.resize_with(attempts.len().max(nth), Did::default);
        attempts[nth - 1] = did;
    }

    /// What it printed or wrote as its result.
    fn result(&mut self, ended: &AttemptEnded, kind: &str, lines: &mut Lines) {
        let output = ended.output.as_ref().map(|raw| (self.of.show)(raw));
        let output = output.map(|raw| match kind {
            "route" => never::decided(self.of.plan, split_name(&ended.task).0, raw.get()),
            _ => raw.get().to_owned(),
        });
        let last_line = (self.of.mask)(&ended.last_line).unwrap_or_else(|| ended.last_line.to_string());
        let is_object = serde_json::from_str::<Map<String, Value>>(&last_line).is_ok();
        let written = output.map(|json| exact(&json).ok_or(json));
        // What passes without a result has an empty one; these kinds owe one.
        let owes = matches!(kind, "agent" | "evaluate" | "route");
        match written.filter(|table| owes || table.as_deref() != Ok("{}")) {
            Some(Ok(table)) => {
                lines.push(("output", table));
                if !last_line.is_empty() && !is_object {
                    lines.push(("stdout", quoted(&format!("{last_line}\n"))));
                }
            }
            // TOML has no `null`, and would lose digits.
            Some(Err(json)) => {
                let json = never::declaring(&json, lines);
                lines.push(("stdout", quoted(&format!("{json}\n"))));
                if !last_line.is_empty() && !is_object {
                    self.left_out.push(format!("what `{}` printed besides its result", ended.task));
                }
            }
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
            (Some(VerifierMode::Missing), None) => vec![("missing", quoted(detail))],
            (Some(VerifierMode::Error | VerifierMode::Crashed), None) => vec![("lost", quoted(detail))],
        };
        let at = ended.attempt.and_then(|attempt| self.at.get(&attempt).copied());
        let (round, nth) = at.unwrap_or((ended.round, 1));
        if ended.task.is_none() {
            self.forget(&name, round, nth);
        }
        self.put(name, round, nth, Did { lines, cost: Usd::ZERO });
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
                let answers: Vec<String> = answers.iter().map(Answer::written).collect();
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
}

impl Answer {
    fn written(&self) -> String {
        let mut members =
            vec![format!("answer = {}", quoted(&self.text)), format!("by = {}", quoted(&self.by))];
        if self.after.0 > 0 {
            members.push(format!("after = \"{}\"", self.after));
        }
        format!("{{ {} }}", members.join(", "))
    }
}

fn ended_by_failure(event: &Event) -> bool {
    matches!(&event.body, Body::AttemptEnded(ended) if ended.ended_by == Some(EndedBy::Failure))
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
fn attempts(attempts: &[Did], out: &mut String) {
    let member = |(name, value): &(&str, String)| format!("{name} = {value}");
    match attempts {
        [one] => one.lines.iter().for_each(|line| out.push_str(&format!("{}\n", member(line)))),
        [] => {}
        several => {
            let each: Vec<String> = several
                .iter()
                .map(|did| {
                    let members: Vec<String> = did.lines.iter().map(member).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

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
