//! How a run came out, for people: the first cause first, what did not run and why, where to look, and
//! the verdict (EXECUTION §14).

mod gates;

use indexmap::IndexMap;

use super::lines::{Detail, phrase};
use super::text::{self, Paint, Tone};
use super::{Role, Roles};
use crate::event::{BlockedReason, Exit, FileSet, Status};
use crate::history::{History, Row, State, instance_name};
use crate::source::Text;

/// Most tasks that are listed under one heading, unless people want to read everything.
const MOST: usize = 12;

/// Where a person finds what is on disk.
pub struct Places<'a> {
    /// The streams of an attempt that have something in them.
    pub streams: &'a dyn Fn(u32) -> Vec<String>,
    /// The captured content of a path.
    pub file: &'a dyn Fn(&FileSet, &str) -> Option<String>,
    /// The streams of a verifier, by their name, that have something in them.
    pub verification: &'a dyn Fn(&str) -> Vec<String>,
    /// What a report task wrote into the run.
    pub report: &'a dyn Fn(&str) -> Option<String>,
    /// The run's directory.
    pub run: &'a str,
    /// What commands that are typed next need besides, with a blank in front: where the run is kept.
    pub state: &'a str,
}

/// How a summary is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// How much.
    pub detail: Detail,
    /// How coloured.
    pub paint: Paint,
}

/// A task, or an instance, that did not hold.
struct Failure<'a> {
    name: Text,
    row: &'a Row,
    role: Role,
    /// When it settled.
    seq: u64,
}

/// The summary of the run of which `history` tells, as lines.
#[must_use]
pub fn lines(
    history: &History,
    state: State,
    roles: &Roles,
    places: &Places<'_>,
    style: Style,
) -> Vec<String> {
    let summary = Summary { history, roles, places, style };
    let mut out = Vec::new();
    let failures = summary.failures();
    let first = summary.first_cause(&failures);
    if let Some(first) = first {
        summary.cause("first cause", &failures[first], &mut out);
    }
    let others = failures.iter().enumerate().filter(|&(at, _)| Some(at) != first).map(|(_, failure)| failure);
    summary.others(others, &mut out);
    summary.rejections(&mut out);
    summary.not_run(&mut out);
    summary.unsettled(state, &mut out);
    summary.counts(&mut out);
    summary.files(&mut out);
    if state != State::Ended && !history.stop_requested {
        summary.questions(&mut out);
    }
    summary.end(state, &mut out);
    out
}

struct Summary<'a> {
    history: &'a History,
    roles: &'a Roles,
    places: &'a Places<'a>,
    style: Style,
}

impl<'a> Summary<'a> {
    /// What ran and does not hold, in the order it settled; instances instead of their task.
    fn failures(&self) -> Vec<Failure<'a>> {
        let mut failures = Vec::new();
        for row in &self.history.rows {
            let role = self.roles.get(&row.name);
            let before = failures.len();
            for (key, instance) in row.instances.iter().flatten() {
                add_failure(instance_name(&row.name, key), instance, role, &mut failures);
            }
            // A fan-out can fail without an instance: its list was refused.
            if failures.len() == before {
                add_failure(row.name.clone(), row, role, &mut failures);
            }
        }
        failures.sort_by_key(|failure| failure.seq);
        failures
    }

    /// The failure that decided the run; else the first required one.
    fn first_cause(&self, failures: &[Failure<'_>]) -> Option<usize> {
        let task = self.history.halted.as_ref().and_then(|halted| halted.task.as_ref());
        let halting = task.and_then(|task| {
            failures.iter().position(|failure| failure.name == *task || is_of(&failure.name, task))
        });
        halting.or_else(|| failures.iter().position(|failure| failure.role == Role::Required))
    }

    fn cause(&self, heading: &str, failure: &Failure<'_>, out: &mut Vec<String>) {
        let status = failure.row.status().map_or("", phrase);
        let note = failure.row.note().map(|note| format!(": {note}")).unwrap_or_default();
        let what = text::clean(&format!("`{}` {status}{}{note}", failure.name, round(failure.row)));
        out.push(format!("{}: {what}", self.style.paint.with(Tone::Bad, heading)));
        self.evidence(failure.row, "  ", out);
    }

    /// Where to look for what a task left.
    fn evidence(&self, row: &Row, indent: &str, out: &mut Vec<String>) {
        let Some(last) = &row.last else { return };
        for stream in (self.places.streams)(last.attempt) {
            out.push(text::clean(&format!("{indent}log   {stream}")));
        }
        row.rejections().for_each(|said| self.verifier_logs(said, out));
        if let Some(call) = &last.call {
            out.push(text::clean(&format!("{indent}run   {}/{call}", self.places.run)));
        }
        if let Some(set) = row.files() {
            self.set(set, indent, out);
        }
    }

    fn set(&self, set: &FileSet, before: &str, out: &mut Vec<String>) {
        for path in &set.paths {
            let place = (self.places.file)(set, path).map(|place| format!("  {place}")).unwrap_or_default();
            out.push(text::clean(&format!("{before}file  {path}{place}")));
        }
    }

    fn others<'b>(&self, failures: impl Iterator<Item = &'b Failure<'b>>, out: &mut Vec<String>) {
        self.list("also", failures.collect(), out, |failure, out| {
            let kind = match failure.role {
                Role::Required => "",
                Role::Advisory => " (advisory)",
                Role::Epilogue => " (epilogue)",
            };
            let note = failure.row.note().map(|note| format!(": {note}")).unwrap_or_default();
            let status = failure.row.status().map_or("", phrase);
            let what = format!("  `{}`{kind} {status}{}{note}", failure.name, round(failure.row));
            out.push(text::clean(&what));
            self.evidence(failure.row, "    ", out);
        });
    }

    /// Tasks that never ran, by what is to blame: tasks before instances, of which the rest is counted.
    fn not_run(&self, out: &mut Vec<String>) {
        let mut by_cause: IndexMap<String, (Vec<String>, Vec<String>)> = IndexMap::new();
        let whole = self.style.detail >= Detail::Verbose;
        for row in &self.history.rows {
            if never_ran(row) {
                by_cause.entry(self.root_cause(row)).or_default().0.push(not_run_line(&row.name, "", row));
            }
            let mut alike: IndexMap<String, Vec<(Text, &Row)>> = IndexMap::new();
            for (key, instance) in row.instances.iter().flatten().filter(|(_, instance)| never_ran(instance))
            {
                let found = (instance_name(&row.name, key), instance);
                alike.entry(self.root_cause(instance)).or_default().push(found);
            }
            for (cause, instances) in alike {
                let shown = if whole { instances.len() } else { 1 };
                let rest = match instances.len() - shown {
                    0 => String::new(),
                    rest => format!(" and {rest} more of `{}`", row.name),
                };
                let lines = instances.iter().take(shown).map(|(name, row)| not_run_line(name, &rest, row));
                by_cause.entry(cause).or_default().1.extend(lines);
            }
        }
        for (cause, (tasks, instances)) in by_cause {
            let all = tasks.into_iter().chain(instances).collect();
            self.list(&format!("did not run, {cause}"), all, out, |line, out| out.push(line));
        }
    }

    /// What is at the bottom of a task's not running.
    fn root_cause(&self, row: &Row) -> String {
        let mut row = row;
        // Each hop goes to a dependency, so that there are fewer than tasks.
        for _ in 0..=self.history.rows.len() {
            let Some(blocked) = row.settled.as_ref().and_then(|settled| settled.blocked.as_ref()) else {
                break;
            };
            let next = blocked.task.as_ref().and_then(|task| Some((task, self.history.row(task)?)));
            match (blocked.reason, next) {
                (BlockedReason::Dependency, Some((_, next))) if is_behind(next) => row = next,
                (BlockedReason::Dependency, Some((_, next))) if blocked_part(next).is_some() => {
                    row = blocked_part(next).unwrap_or(next);
                }
                (BlockedReason::Dependency | BlockedReason::RequiredFailure, Some((task, next))) => {
                    let status = next.status().map_or("has not settled", phrase);
                    return format!("because `{task}` {status}");
                }
                (reason, _) => return reason_phrase(reason).to_owned(),
            }
        }
        match row.status() {
            Some(Status::Truncated) => "because the plan cannot run here".to_owned(),
            Some(
                Status::Pass
                | Status::Partial
                | Status::NotTaken
                | Status::Fail
                | Status::Skipped
                | Status::Transport
                | Status::Blocked,
            )
            | None => "because it cannot run here".to_owned(),
        }
    }

    /// A heading, and below it what `show` makes of each entry that there is room for.
    fn list<T>(
        &self,
        heading: &str,
        entries: Vec<T>,
        out: &mut Vec<String>,
        show: impl Fn(T, &mut Vec<String>),
    ) {
        let most = if self.style.detail >= Detail::Verbose { usize::MAX } else { MOST };
        let count = entries.len();
        if count == 0 {
            return;
        }
        out.push(format!("{}:", self.style.paint.with(Tone::Odd, &text::clean(heading))));
        entries.into_iter().take(most).for_each(|entry| show(entry, out));
        if count > most {
            let Places { state, .. } = self.places;
            let all = format!("plan status {} --verbose{state}", self.history.run);
            out.push(format!("  … and {} more: `{all}` lists them", count - most));
        }
    }

    /// How many of the tasks that do not decide the verdict do not hold.
    fn counts(&self, out: &mut Vec<String>) {
        let mut parts = Vec::new();
        for (role, word) in [(Role::Advisory, "advisory"), (Role::Epilogue, "epilogue")] {
            let rows = self.history.rows.iter().filter(|row| self.roles.get(&row.name) == role);
            let (mut all, mut bad) = (0, 0);
            for row in rows {
                all += 1;
                bad += usize::from(row.status().is_some_and(|status| !status.holds()));
            }
            if bad > 0 {
                parts.push(format!("{bad} of {}", text::count(all, &format!("{word} task"))));
            }
        }
        if !parts.is_empty() {
            out.push(self.style.paint.with(Tone::Odd, &format!("does not hold: {}", parts.join(", "))));
        }
        if !self.history.warnings.is_empty() {
            let count = text::count(self.history.warnings.len(), "warning");
            out.push(self.style.paint.with(Tone::Odd, &count));
        }
    }

    /// The files of tasks that hold.
    fn files(&self, out: &mut Vec<String>) {
        let mut kept = Vec::new();
        for row in &self.history.rows {
            let parts = row.instances.iter().flatten();
            let parts =
                parts.filter_map(|(key, part)| Some((instance_name(&row.name, key), held_files(part)?)));
            kept.extend(parts.chain(held_files(row).map(|set| (row.name.clone(), set))));
        }
        self.list("captured", kept, out, |(name, set), out| self.set(set, &format!("  `{name}`  "), out));
        let rows = self.history.rows.iter();
        let told = rows.filter(|row| row.status().is_some_and(Status::passes));
        let told = told.filter_map(|row| Some((&row.name, (self.places.report)(&row.name)?))).collect();
        self.list("reports", told, out, |(name, place), out| {
            out.push(text::clean(&format!("  `{name}`  {place}")));
        });
    }

    /// How much was taken over, and from which run.
    fn reused(&self) -> Option<String> {
        let rows = self.history.rows.iter();
        let all = rows.flat_map(|row| row.instances.iter().flat_map(IndexMap::values).chain([row]));
        let mut taken = all.filter_map(|row| row.last.as_ref()?.reused.as_ref());
        let run = taken.next()?;
        Some(format!("{} reused from {run}", 1 + taken.count()))
    }

    /// What people are asked, and what they type to answer.
    fn questions(&self, out: &mut Vec<String>) {
        const OPTIONS: usize = 5;
        let (run, state) = (&self.history.run, self.places.state);
        self.list("asked", self.history.questions().collect(), out, |(name, question), out| {
            out.push(text::clean(&format!("  `{name}`: {}", question.ask)));
            let word = |word: &str| text::shell_word(word);
            for option in question.options.iter().take(OPTIONS) {
                out.push(text::clean(&format!(
                    "    plan answer {run} {} {}{state}",
                    word(&name),
                    word(option)
                )));
            }
            if question.options.len() > OPTIONS {
                let others: Vec<String> = question.options[OPTIONS..].iter().map(|one| word(one)).collect();
                out.push(text::clean(&format!("    or {}", others.join(", "))));
            }
        });
    }

    fn end(&self, state: State, out: &mut Vec<String>) {
        let history = self.history;
        let (mut all, mut held) = (0, 0);
        for row in &history.rows {
            all += 1;
            held += usize::from(row.status().is_some_and(Status::holds));
        }
        let mut parts = vec![format!("{held} of {} held", text::count(all, "task"))];
        parts.push(text::count(usize::try_from(history.steps).unwrap_or(usize::MAX), "attempt"));
        parts.extend(self.reused());
        parts.push(text::time(history.elapsed()));
        parts.extend(text::money(history.spent));
        let (word, tone, verdict) = match (state, &history.ended) {
            (State::Ended | State::Waiting, Some(end)) => {
                let verdict = end.verdict.map_or("none yet", |verdict| verdict.as_str());
                let tone = match end.exit {
                    Exit::Completed | Exit::Concluded if verdict == "valid" => Tone::Good,
                    Exit::Waiting => Tone::Odd,
                    Exit::Completed
                    | Exit::Concluded
                    | Exit::Failed
                    | Exit::Unaccepted
                    | Exit::CostCeiling
                    | Exit::TimeCeiling
                    | Exit::StepCeiling
                    | Exit::Truncated
                    | Exit::Stopped
                    | Exit::Stuck => Tone::Bad,
                };
                (end.exit.as_str(), tone, verdict)
            }
            (State::Running, _) => ("running", Tone::Strong, "none yet"),
            (State::Interrupted, _) if history.stop_requested => {
                ("stopped while nobody ran it", Tone::Bad, "none yet")
            }
            (State::Interrupted | State::Ended | State::Waiting, _) => ("interrupted", Tone::Odd, "none yet"),
        };
        let stopped = Text::const_new("stopped by `plan stop`");
        let note =
            history.halted.as_ref().filter(|halted| halted.task.is_none()).and_then(|halted| {
                halted.note.as_ref().or((halted.exit == Exit::Stopped).then_some(&stopped))
            });
        if let Some(note) = note {
            out.insert(0, format!("{}: {}", self.style.paint.with(Tone::Bad, "halted"), text::clean(note)));
        }
        let words = format!("{word}, verdict {verdict}");
        out.push(format!("{} · {}", self.style.paint.with(tone, &words), parts.join(" · ")));
        out.push(format!("{}  {}", history.run, self.places.run));
        // A run that was called is gone on with by whoever called it.
        let root = history.run.split('/').next().unwrap_or_default();
        let resume = format!("`plan run --resume {root}{}`", self.places.state);
        match state {
            State::Interrupted if history.stop_requested => out.push(format!("{resume} opens it again")),
            State::Interrupted => out.push(format!("go on with {resume}")),
            State::Waiting => {
                let answered = self.history.questions().next().is_none();
                let first = if answered { "it is answered: " } else { "answer, then " };
                out.push(format!("{first}go on with {resume}"));
            }
            State::Running | State::Ended => {}
        }
    }
}

/// Whether nothing of it ran, for a reason that is no decision of the plan's.
fn never_ran(row: &Row) -> bool {
    match row.status() {
        Some(Status::Blocked) => !is_refused(row),
        Some(Status::Truncated) => true,
        Some(Status::Skipped) => row.last.is_none() && row.answered.is_none(),
        Some(Status::Pass | Status::Partial | Status::NotTaken | Status::Fail | Status::Transport) | None => {
            false
        }
    }
}

fn not_run_line(name: &str, rest: &str, row: &Row) -> String {
    let note = row.note().map(|note| format!(": {note}")).unwrap_or_default();
    text::clean(&format!("  `{name}`{rest}{note}"))
}

fn add_failure<'a>(name: Text, row: &'a Row, role: Role, failures: &mut Vec<Failure<'a>>) {
    let Some(settled) = &row.settled else { return };
    let counts = match settled.status {
        Status::Fail | Status::Transport => true,
        // A person said so, or it itself.
        Status::Skipped => row.last.is_some() || row.answered.is_some(),
        Status::Blocked => is_refused(row),
        Status::Pass | Status::Partial | Status::NotTaken | Status::Truncated => false,
    };
    if counts {
        failures.push(Failure { name, row, role, seq: settled.seq });
    }
}

/// Whether it was its turn, and it could not be prepared.
fn is_refused(row: &Row) -> bool {
    let reason =
        row.settled.as_ref().and_then(|settled| settled.blocked.as_ref()).map(|blocked| blocked.reason);
    reason == Some(BlockedReason::Staging)
}

/// Whether something else is to blame for it.
fn is_behind(row: &Row) -> bool {
    row.status() == Some(Status::Blocked) && !is_refused(row)
}

/// Of a mapped task that fails for nothing but instances that were blocked, the first of them.
fn blocked_part(row: &Row) -> Option<&Row> {
    let parts = row.instances.as_ref()?.values();
    let mut bad = parts.filter(|part| part.status().is_some_and(|status| !status.holds()));
    let first = bad.next().filter(|part| is_behind(part))?;
    bad.all(is_behind).then_some(first)
}

/// The files of a row that holds.
fn held_files(row: &Row) -> Option<&FileSet> {
    row.files().filter(|_| row.status().is_some_and(Status::passes))
}

/// In which round, where it is not the first.
fn round(row: &Row) -> String {
    if row.round > 1 { format!(" in round {}", row.round) } else { String::new() }
}

fn is_of(instance: &str, task: &str) -> bool {
    instance.strip_prefix(task).is_some_and(|rest| rest.starts_with('['))
}

const fn reason_phrase(reason: BlockedReason) -> &'static str {
    match reason {
        BlockedReason::Dependency => "because of a dependency",
        BlockedReason::RequiredFailure => "because a required task failed",
        BlockedReason::CostCeiling => "because of the ceiling on cost",
        BlockedReason::TimeCeiling => "because of the ceiling on time",
        BlockedReason::StepCeiling => "because of the ceiling on attempts",
        BlockedReason::Stopped => "because the run was stopped",
        BlockedReason::Staging => "because it could not be prepared",
        BlockedReason::Unaccepted => "because a gate does not hold",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{
        AttemptEnded, AttemptStarted, Blocked, Body, Event, Grade, Halted, InstancesNamed, RunEnded,
        RunStarted, TaskSettled, Verdict,
    };
    use crate::ir::{Millis, Usd};
    use crate::report::lines;

    /// A run with a required failure, an advisory fan-out with a failing instance, tasks that were blocked
    /// one behind the other, and an epilogue.
    fn events() -> Vec<Body> {
        let started = |attempt, task: &str| {
            Body::from(AttemptStarted {
                attempt,
                task: task.into(),
                nth: 1,
                round: 1,
                token: None,
                answered: false,
            })
        };
        let ended = |attempt, task: &str, grade, note: Option<&str>, files| {
            Body::from(AttemptEnded {
                attempt,
                task: task.into(),
                grade,
                note: note.map(Text::from),
                output: None,
                last_line: Text::default(),
                cost_usd: Usd::parse("0.25").unwrap(),
                files,
                if_rejected: None,
                duration_ms: Millis(1_200),
                done_already: false,
                reused: None,
                steps: 0,
                call: None,
                reads: Vec::new(),
                ended_by: None,
            })
        };
        let settled = |task: &str, status, note: Option<&str>, blocked| {
            let note = note.map(Text::from);
            Body::from(TaskSettled { task: task.into(), status, note, blocked, output: None })
        };
        let behind = |reason, task: &str| Some(Blocked { reason, task: Some(task.into()) });
        let set = FileSet { manifest: "m".into(), paths: vec!["out/\u{1b}[2Jr\n.txt".into()], bytes: 3 };
        vec![
            RunStarted { run: "r1".into(), plan: "\u{1b}[31mp\nq".into(), log: 1, version: "0".into() }
                .into(),
            started(1, "scan"),
            ended(1, "scan", Grade::Pass, None, Some(set)),
            settled("scan", Status::Pass, None, None),
            InstancesNamed { task: "audit".into(), keys: vec!["a".into(), "b".into()] }.into(),
            started(2, "audit[a]"),
            started(3, "build"),
            ended(2, "audit[a]", Grade::Fail, Some("exit 1: \x1b[31mred"), None),
            settled("audit[a]", Status::Fail, Some("exit 1: \x1b[31mred"), None),
            ended(3, "build", Grade::Fail, Some("exit 2"), None),
            settled("build", Status::Fail, Some("exit 2"), None),
            Halted { exit: Exit::Failed, task: Some("build".into()), note: None }.into(),
            settled(
                "audit[b]",
                Status::Blocked,
                Some("`build` failed"),
                behind(BlockedReason::RequiredFailure, "build"),
            ),
            settled("audit", Status::Fail, Some("1 of 2 failed"), None),
            settled(
                "test",
                Status::Blocked,
                Some("needs `build`"),
                behind(BlockedReason::Dependency, "build"),
            ),
            settled("ship", Status::Blocked, Some("needs `test`"), behind(BlockedReason::Dependency, "test")),
            started(4, "report"),
            ended(4, "report", Grade::Fail, Some("exit 9"), None),
            settled("report", Status::Fail, Some("exit 9"), None),
            RunEnded { exit: Exit::Failed, verdict: Some(Verdict::Invalid) }.into(),
        ]
    }

    fn told() -> (History, Vec<String>) {
        let tasks = ["scan", "audit", "build", "test", "ship", "report"].map(Text::from);
        let mut history = History::of("p".into(), tasks);
        let mut told = Vec::new();
        for (seq, body) in (1..).zip(events()) {
            let event = Event { seq, at: 0, t: Millis(seq * 100), body };
            history.apply(&event).unwrap();
            told.extend(lines::line(&event, &history, Detail::Normal, Paint(false)));
        }
        (history, told)
    }

    #[test]
    fn lines_tell_what_settles() {
        assert_eq!(
            told().1,
            [
                "p q  r1",
                "pass       scan  1.2s  $0.25",
                "fail       audit[a]  1.2s  $0.25  exit 1: red",
                "fail       build  1.2s  $0.25  exit 2",
                "blocked    audit[b]  `build` failed",
                "fail       audit  2 instances  1 of 2 failed",
                "blocked    test  needs `build`",
                "blocked    ship  needs `test`",
                "fail       report  1.2s  $0.25  exit 9"
            ]
        );
    }

    #[test]
    fn the_first_cause_comes_first() {
        let mut roles = Roles::default();
        roles.tasks.insert("audit".into(), Role::Advisory);
        roles.tasks.insert("report".into(), Role::Epilogue);
        let places = Places {
            streams: &|attempt| vec![format!("logs/{attempt}.err")],
            file: &|_, path| Some(format!("store/{}", path.len())),
            verification: &|name| vec![format!("logs/{name}.err")],
            report: &|_| None,
            run: ".plan/runs/r1",
            state: "",
        };
        let (history, _) = told();
        let shown = lines(&history, State::Ended, &roles, &places, Style::default());
        assert_eq!(
            shown,
            [
                "first cause: `build` failed: exit 2",
                "  log   logs/3.err",
                "also:",
                "  `audit[a]` (advisory) failed: exit 1: red",
                "    log   logs/2.err",
                "  `report` (epilogue) failed: exit 9",
                "    log   logs/4.err",
                "did not run, because `build` failed:",
                "  `test`: needs `build`",
                "  `ship`: needs `test`",
                "  `audit[b]`: `build` failed",
                "does not hold: 1 of 1 advisory task, 1 of 1 epilogue task",
                "captured:",
                "  `scan`  file  out/r .txt  store/14",
                "failed, verdict invalid · 1 of 6 tasks held · 4 attempts · 2.0s · $1.0",
                "r1  .plan/runs/r1"
            ]
        );
    }
}
