//! Stands in for processes in tests of packs: what a task would have done is written down (EXECUTION §15).
//!
//! Its time is the clock's, so that an hour passes in no time. Unaware of expectations; those are for who
//! runs the test.

use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use indexmap::IndexMap;
use serde::Deserialize;

use crate::exec::ports::{
    AttemptPaths, Boxed, Clock, Ended, How, NotStarted, Notice, Post, Process, Runner, Source, Start,
};
use crate::ir::Millis;
use crate::source::Text;

/// What tasks do, by the name of a task or of an instance.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Stubs(pub IndexMap<String, Stub>);

/// What a task does when it runs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stub {
    /// The exit code; 0 where nothing is said.
    pub exit: Option<i32>,
    /// The signal that ends it, instead of an exit code.
    pub signal: Option<i32>,
    /// What it prints.
    pub stdout: Option<String>,
    /// What it complains of.
    pub stderr: Option<String>,
    /// Its result.
    pub output: Option<toml::Table>,
    /// The status that its result declares.
    pub status: Option<String>,
    /// The note in its result.
    pub note: Option<String>,
    /// What its result says that it cost.
    pub cost: Option<f64>,
    /// Files that it writes, relative to the workspace.
    pub files: IndexMap<Utf8PathBuf, String>,
    /// How long it takes, as the language writes durations.
    pub duration: Option<Time>,
    /// Whether it runs until it is ended.
    pub hangs: bool,
    /// Whether it does not listen when it is asked to end.
    pub deaf: bool,
    /// Why it cannot be started.
    pub lost: Option<String>,
    /// Why it cannot be started, where that is because there is no such program.
    pub missing: Option<String>,
    /// What differs from attempt to attempt; the last one stands for all further ones.
    pub attempts: Vec<Stub>,
    /// What differs from round to round.
    pub rounds: Vec<Stub>,
}

/// What a stub can say, for who looks for the name that was meant.
pub static KEYS: &[&str] = &[
    "exit", "signal", "stdout", "stderr", "output", "status", "note", "cost", "files", "duration", "hangs",
    "deaf", "lost", "missing", "attempts", "rounds",
];

/// A duration as the language writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Time(pub Millis);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no duration such as `90s` or `1m30s`");
        let (mut rest, mut total) = (text.as_str(), 0_u64);
        if rest.is_empty() {
            return Err(wrong());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
            let count: u64 = rest[..digits].parse().map_err(|_| wrong())?;
            rest = &rest[digits..];
            let unit = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let size = match &rest[..unit] {
                "d" => 86_400_000,
                "h" => 3_600_000,
                "m" => 60_000,
                "s" => 1_000,
                "ms" => 1,
                _ => return Err(wrong()),
            };
            rest = &rest[unit..];
            total = count.checked_mul(size).and_then(|ms| total.checked_add(ms)).ok_or_else(wrong)?;
        }
        Ok(Self(Millis(total)))
    }
}

impl Stub {
    /// `self` with what `more` says instead.
    fn with(mut self, more: &Self) -> Self {
        macro_rules! take {
            ($($field:ident),*) => { $(if more.$field.is_some() { self.$field.clone_from(&more.$field); })* };
        }
        take!(exit, signal, stdout, stderr, output, status, note, cost, duration, lost, missing);
        // It ends in one way.
        if more.exit.is_some() {
            self.signal = None;
        } else if more.signal.is_some() {
            self.exit = None;
        }
        self.files.extend(more.files.clone());
        self.hangs |= more.hangs;
        self.deaf |= more.deaf;
        if !more.attempts.is_empty() {
            self.attempts.clone_from(&more.attempts);
        }
        self
    }

    fn result(&self) -> Option<String> {
        let extra = [
            ("status", self.status.clone().map(toml::Value::String)),
            ("note", self.note.clone().map(toml::Value::String)),
            ("cost_usd", self.cost.map(toml::Value::Float)),
        ];
        if self.output.is_none() && extra.iter().all(|(_, value)| value.is_none()) {
            return None;
        }
        let mut members: serde_json::Map<String, serde_json::Value> = serde_json::Map::new();
        members.extend(self.output.iter().flatten().map(|(name, value)| (name.clone(), json(value))));
        for (name, value) in extra {
            if let Some(value) = value {
                members.insert(name.to_owned(), json(&value));
            }
        }
        Some(serde_json::Value::Object(members).to_string())
    }
}

/// A TOML value as JSON; a time becomes a string.
pub(crate) fn json(value: &toml::Value) -> serde_json::Value {
    match value {
        toml::Value::String(text) => text.clone().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => (*number).into(),
        toml::Value::Boolean(value) => (*value).into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(values) => values.iter().map(json).collect(),
        toml::Value::Table(members) => serde_json::Value::Object(
            members.iter().map(|(name, value)| (name.clone(), json(value))).collect(),
        ),
    }
}

impl Stubs {
    /// Whether something is written down for this task or instance.
    fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The stub of a task, an instance, or a verifier: `each[a]/sound` has that of `each/sound` where it has none
    /// of its own, and never that of `each`.
    fn find(&self, name: &str) -> Option<&Stub> {
        let whole = || {
            let (task, rest) = name.split_once('[')?;
            let (_, verifier) = rest.rsplit_once(']')?;
            self.0.get(&format!("{task}{verifier}"))
        };
        self.0.get(name).or_else(whole)
    }

    /// What this attempt does; none for a task without a stub.
    fn of(&self, start: &Start) -> Option<Stub> {
        let stub = self.find(&start.task)?;
        let nth = |of: &[Stub], number: u32| {
            let index = (number.max(1) as usize - 1).min(of.len().checked_sub(1)?);
            Some(of[index].clone())
        };
        let stub = match nth(&stub.rounds, start.round) {
            Some(round) => stub.clone().with(&round),
            None => stub.clone(),
        };
        Some(match nth(&stub.attempts, start.nth) {
            Some(attempt) => stub.with(&attempt),
            None => stub,
        })
    }
}

/// When a stub that hangs has been waited for in vain: a clock that jumps comes here only where nothing else is
/// left to happen. Far from the end of time, so that what is added to it stays in it.
const NEVER: Millis = Millis(u64::MAX / 4);

/// Listens for stubs that nothing will ever end, and has their run ended.
#[derive(Clone, Default)]
pub struct Endless(Arc<Mutex<Found>>);

#[derive(Default)]
struct Found {
    name: Option<Text>,
    post: Option<Post>,
}

impl Endless {
    /// The task or verifier that nothing would have ended.
    #[must_use]
    pub fn name(&self) -> Option<Text> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).name.clone()
    }

    /// Whether somebody has been told that nothing ends `name`.
    fn tell(&self, name: &Text) -> bool {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.name.get_or_insert_with(|| name.clone());
        if let Some(post) = &found.post {
            post(Notice::Signal("HANGS".into()));
        }
        found.post.is_some()
    }
}

impl Source for Endless {
    fn connect(&mut self, post: Post) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).post = Some(post);
    }
}

/// Runs stubs; a task without one goes to `others`, or passes at once where there are none.
pub struct StubRunner {
    /// What tasks do.
    pub stubs: Stubs,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where files are written.
    pub workspace: Utf8PathBuf,
    /// Who is told of stubs that nothing will ever end.
    pub endless: Endless,
    /// Who runs tasks without a stub.
    pub others: Option<Arc<dyn Runner>>,
}

impl Runner for StubRunner {
    fn start(&self, start: &Start) -> Result<Box<dyn Process>, NotStarted> {
        let stub = match (self.stubs.of(start), &self.others) {
            (Some(stub), _) => stub,
            (None, Some(others)) => return others.start(start),
            (None, None) => Stub::default(),
        };
        let outside = || stub.files.keys().find(|path| leaves(&self.workspace, path));
        let outside = outside().map(|path| format!("its stub writes `{path}`, which leaves the workspace"));
        if let Some(why) = stub.missing.clone() {
            return Err(NotStarted { missing: true, why });
        }
        if let Some(why) = stub.lost.clone().or(outside) {
            return Err(NotStarted { missing: false, why });
        }
        let started = self.clock.now();
        let takes = stub.duration.unwrap_or_default().0;
        let ends = if stub.hangs { NEVER } else { Millis(started.0.saturating_add(takes.0)) };
        Ok(Box::new(StubProcess {
            name: start.task.clone(),
            stub,
            endless: self.endless.clone(),
            clock: Arc::clone(&self.clock),
            workspace: self.workspace.clone(),
            paths: start.paths.clone(),
            started,
            ends,
            ended: None,
        }))
    }

    fn plays(&self, task: &str) -> bool {
        self.stubs.has(task)
    }

    fn sweep(&self, tokens: Vec<Text>) -> Boxed<'_, ()> {
        match &self.others {
            Some(others) => others.sweep(tokens),
            None => Box::pin(std::future::ready(())),
        }
    }
}

struct StubProcess {
    name: Text,
    stub: Stub,
    endless: Endless,
    clock: Arc<dyn Clock>,
    workspace: Utf8PathBuf,
    paths: AttemptPaths,
    started: Millis,
    ends: Millis,
    ended: Option<Ended>,
}

impl StubProcess {
    fn end(&mut self, how: How) {
        let duration = Millis(self.clock.now().0.saturating_sub(self.started.0));
        self.ended.get_or_insert(Ended { how, duration });
    }

    /// Does what the task would have done.
    fn act(&self) -> io::Result<()> {
        for (path, content) in &self.stub.files {
            let path = self.workspace.join(path);
            if let Some(above) = path.parent() {
                std::fs::create_dir_all(above)?;
            }
            std::fs::write(path, content)?;
        }
        append(&self.paths.stdout, self.stub.stdout.as_deref())?;
        append(&self.paths.stderr, self.stub.stderr.as_deref())?;
        match self.stub.result() {
            Some(result) => std::fs::write(&self.paths.result, result),
            None => Ok(()),
        }
    }
}

/// Whether what is written to `path` would land outside of `root`, by whatever link.
fn leaves(root: &Utf8Path, path: &Utf8Path) -> bool {
    let Ok(real) = root.canonicalize_utf8() else { return false };
    let full = root.join(path);
    let is_link = full.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let there = full.ancestors().skip(usize::from(!is_link)).find_map(|above| above.canonicalize_utf8().ok());
    there.is_none_or(|there| !there.starts_with(&real)) || (is_link && !full.exists())
}

/// Adds `text` to a stream; one without any is not even made.
fn append(path: &Utf8Path, text: Option<&str>) -> io::Result<()> {
    let Some(text) = text else { return Ok(()) };
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(text.as_bytes())
}

impl Process for StubProcess {
    fn ended(&mut self) -> Boxed<'_, ()> {
        Box::pin(async {
            if self.ended.is_some() {
                return;
            }
            self.clock.until(self.ends).await;
            if self.stub.hangs {
                if self.endless.tell(&self.name) {
                    return std::future::pending().await;
                }
                return self.end(How::Lost);
            }
            let how = match (self.stub.signal, self.act()) {
                (_, Err(_)) => How::Lost,
                (Some(signal), Ok(())) => How::Signal(signal),
                (None, Ok(())) => How::Code(self.stub.exit.unwrap_or(0)),
            };
            self.end(how);
        })
    }

    fn is_real(&self) -> bool {
        false
    }

    fn terminate(&mut self) -> bool {
        if self.ended.is_some() {
            return false;
        }
        if !self.stub.deaf {
            self.end(How::Signal(15));
        }
        true
    }

    fn kill(&mut self) {
        self.end(How::Signal(9));
    }

    fn finish(mut self: Box<Self>) -> Boxed<'static, Ended> {
        Box::pin(async move {
            self.ended().await;
            self.ended.unwrap_or(Ended { how: How::Lost, duration: Millis(0) })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_the_language_writes_them() {
        let read = |text: &str| Time::try_from(text.to_owned()).map(|time| time.0.0);
        assert_eq!(read("1h30m"), Ok(5_400_000));
        assert_eq!(read("250ms"), Ok(250));
        for wrong in ["", "30", "s", "1x", "-1s", "99999999999999999999s"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn all_keys_are_listed() {
        let error = toml::from_str::<Stub>("x = 1").unwrap_err().to_string();
        let listed: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
        assert_eq!(listed, KEYS);
    }

    #[test]
    fn an_attempt_takes_what_it_does_not_say_from_its_task() {
        let text = r#"
            a = { exit = 1, stdout = "x", attempts = [{ exit = 75 }, { status = "skipped", cost = 0.5 }] }
            "a[one]" = { output = { n = 1 } }
        "#;
        let stubs: Stubs = toml::from_str(text).unwrap();
        let of = |task: &str, nth| {
            let start = Start {
                task: task.into(),
                attempt: 1,
                nth,
                round: 1,
                argv: Vec::new(),
                env: Vec::new(),
                withheld: Vec::new(),
                cwd: "/".into(),
                paths: AttemptPaths { stdout: "/".into(), stderr: "/".into(), result: "/".into() },
                token: "t".into(),
                within: None,
            };
            stubs.of(&start)
        };
        let first = of("a[two]", 1).unwrap();
        assert_eq!((first.exit, first.stdout.as_deref(), first.result()), (Some(75), Some("x"), None));
        let third = of("a", 3).unwrap();
        assert_eq!(third.exit, Some(1));
        assert_eq!(third.result().unwrap(), r#"{"status":"skipped","cost_usd":0.5}"#);
        let ends: Stubs = toml::from_str("a = { signal = 9 }\n'a/v' = { exit = 2 }").unwrap();
        assert_eq!(ends.find("a[x/y]").unwrap().signal, Some(9));
        assert_eq!(ends.find("a[x]/v").unwrap().exit, Some(2));
        assert!(ends.find("a[x]/w").is_none());
        let other = ends.0["a"].clone().with(&ends.0["a/v"]);
        assert_eq!((other.exit, other.signal), (Some(2), None));
        assert_eq!(of("a[one]", 1).unwrap().result().unwrap(), r#"{"n":1}"#);
        assert!(of("b", 1).is_none());
        assert!(toml::from_str::<Stubs>("a = { exti = 1 }").is_err());
    }
}
