//! What happens, in which order: plans with stubs beside them, run in virtual time (EXECUTION §15).
//!
//! `x.plan` is run with the stubs in `x.toml`; `x.snap` is the log. Every log is then cut after each of
//! its events, as by a crash there, and resumed: it has to come to the same rows and the same verdict, and
//! no settled task may run twice.

mod common;
#[path = "common/schemas.rs"]
mod schemas;

use std::path::Path;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use indexmap::IndexMap;
use plan::clock::Virtual;
use plan::event::{Body, Event};
use plan::exec::admission::{self, Machine, Operator};
use plan::exec::ports::{Clock, Notice, Ports, Post, Request, Source};
use plan::exec::{self, Outcome, RunOptions};
use plan::history::{History, Row};
use plan::ir::Usd;
use plan::runner::stub::Time;
use plan::runner::{Answers, StubPeople, StubRunner, Stubs};
use plan::source::Text;
use plan::store::RunDir;
use plan::validate::ValidPlan;
use plan::verifiers::BuiltIn;
use plan::workspace::Direct;
use serde::Deserialize;

use common::{Below, Kept, Memory, Nobody};

/// `x.toml`: what the operator says, what the workspace holds, and what tasks do.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Case {
    /// How many attempts may be in flight.
    jobs: usize,
    caps: Vec<Text>,
    params: IndexMap<String, String>,
    max_usd: Option<String>,
    max_time: Option<Time>,
    max_steps: Option<u64>,
    keep_going: bool,
    kill_on_failure: bool,
    /// Files that are there before.
    files: IndexMap<Utf8PathBuf, String>,
    /// Signals to the executor.
    signals: Vec<Signal>,
    /// When `plan stop` comes.
    stop: Option<Time>,
    /// What tasks do; one without a stub passes at once.
    stub: Stubs,
    /// What people answer; a gate without an answer waits.
    answers: Answers,
    /// Why its log is not cut and resumed, if it is not: time and signals of a second sitting differ.
    uncut: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signal {
    at: Time,
    name: Text,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            jobs: 2,
            caps: Vec::new(),
            params: IndexMap::new(),
            max_usd: None,
            max_time: None,
            max_steps: None,
            keep_going: false,
            kill_on_failure: false,
            files: IndexMap::new(),
            signals: Vec::new(),
            stop: None,
            stub: Stubs::default(),
            answers: Answers::default(),
            uncut: None,
        }
    }
}

/// A case's plan, and a workspace and a store of its own.
struct Bench {
    case: Case,
    plan: ValidPlan,
    directory: tempfile::TempDir,
}

impl Bench {
    fn new(path: &Path) -> Self {
        let path = Utf8Path::from_path(path).unwrap();
        let case = match std::fs::read_to_string(path.with_extension("toml")) {
            Ok(text) => toml::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}")),
            Err(_) => Case::default(),
        };
        let plan = compiled(path, &case);
        Self { case, plan, directory: tempfile::tempdir().unwrap() }
    }

    fn root(&self) -> &Utf8Path {
        Utf8Path::from_path(self.directory.path()).unwrap()
    }

    /// A fresh workspace and store.
    fn fresh(&self) -> Sitting<'_> {
        let number = std::fs::read_dir(self.root()).unwrap().count();
        let workspace = self.root().join(format!("{number}/workspace"));
        for (path, content) in &self.case.files {
            let path = workspace.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        std::fs::create_dir_all(&workspace).unwrap();
        let run = RunDir { name: "run".into(), path: self.root().join(format!("{number}/run")) };
        Sitting { bench: self, workspace, calls: Below::new(&run), run }
    }
}

fn compiled(path: &Utf8Path, case: &Case) -> ValidPlan {
    let arguments: Vec<String> = case.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let bindings = plan::lower::params::Bindings::launch(None, &arguments).unwrap();
    let (mut pack, entry) = plan::load::Pack::around(path);
    let compiled = plan::compile::compile(&mut pack, &entry, &bindings);
    let found: Vec<String> = compiled.diagnostics.iter().map(|found| found.message.clone()).collect();
    compiled.plan.unwrap_or_else(|| panic!("{path}: {found:?}"))
}

struct Sitting<'a> {
    bench: &'a Bench,
    workspace: Utf8PathBuf,
    run: RunDir,
    calls: Below,
}

impl Sitting<'_> {
    /// Runs on from `past`, and crashes when the log has `most` events.
    fn go(&self, past: Vec<Event>, most: usize, disturbed: bool) -> (Outcome, Vec<Event>) {
        let case = &self.bench.case;
        let clock = Virtual::new();
        let operator = Operator {
            max_usd: case.max_usd.as_deref().map(|usd| Usd::parse(usd).unwrap()),
            max_time: case.max_time.map(|time| time.0),
            max_steps: case.max_steps,
            caps: case.caps.clone(),
            keep_going: case.keep_going,
            harness: None,
        };
        let (admitted, refused) = admission::admit(&self.bench.plan, &operator, &Machine::default());
        assert!(!refused.has_errors());
        let options = RunOptions {
            run: "run".into(),
            version: "0".into(),
            pack: self.workspace.clone(),
            gates: "gates".into(),
            admitted,
            jobs: case.jobs,
            kill_on_failure: case.kill_on_failure,
            log_limit: 1 << 30,
            from: None,
            reuse: None,
            outer: None,
        };
        let log = Memory::new(past.clone(), most);
        let events = Arc::clone(&log.events);
        let files = Kept::new(&self.run);
        let clock: Arc<dyn Clock> = Arc::new(clock);
        let runner = StubRunner {
            endless: plan::runner::Endless::default(),
            stubs: case.stub.clone(),
            clock: Arc::clone(&clock),
            workspace: self.workspace.clone(),
            others: None,
        };
        let people = StubPeople::new(case.answers.clone(), Arc::clone(&clock));
        let mut sources: Vec<Box<dyn Source>> = vec![Box::new(people)];
        if disturbed {
            sources.push(Box::new(Disturbances { case: case.clone(), clock: Arc::clone(&clock) }));
        }
        let ports = Ports {
            log: Box::new(log),
            files: Arc::new(files),
            runner: Arc::new(runner),
            workspace: Arc::new(Direct::new(self.workspace.clone())),
            verifiers: Arc::new(BuiltIn::default()),
            clock,
            reporter: Box::new(Nobody),
            sources,
            calls: Arc::new(self.calls.clone()),
        };
        let outcome = exec::run(self.bench.plan.clone(), options, ports, past).unwrap();
        let events = events.lock().unwrap().clone();
        (outcome, events)
    }
}

/// Signals and requests at their times.
struct Disturbances {
    case: Case,
    clock: Arc<dyn Clock>,
}

impl Source for Disturbances {
    fn connect(&mut self, post: Post) {
        let signals = self.case.signals.iter().map(|signal| (signal.at, Notice::Signal(signal.name.clone())));
        let stop = self.case.stop.map(|at| (at, Notice::Request(Request::Stop { by: Some("a".into()) })));
        for (at, notice) in signals.chain(stop) {
            let (clock, post) = (Arc::clone(&self.clock), Arc::clone(&post));
            tokio::spawn(async move {
                clock.until(at.0).await;
                post(notice);
            });
        }
    }
}

/// The log without what differs from run to run.
fn shown(events: &[Event]) -> String {
    let mut out = String::new();
    for event in events.iter().filter(|event| !matches!(event.body, Body::Alive(_))) {
        let mut fields = Vec::new();
        event.body.write_json(&mut fields).unwrap();
        let mut body: serde_json::Value = serde_json::from_slice(&fields).unwrap();
        let fields = body.as_object_mut().unwrap();
        for name in ["token", "run", "version", "log"] {
            fields.shift_remove(name);
        }
        if let Some(files) = fields.get_mut("files") {
            *files = files["paths"].take();
        }
        out.push_str(&format!("{:>8}  {:<16} {body}\n", event.t.to_string(), event.body.kind()));
    }
    out
}

/// What a resumed run has to come to as well (EXECUTION §12).
fn end(history: &History) -> String {
    fn row(out: &mut String, name: &str, row: &Row) {
        let status = row.status().map_or("pending", |status| status.as_str());
        let note = row.note().map_or("-", |note| note.as_str());
        let output = row.output().map_or_else(|| "-".to_owned(), |output| timeless(output.get()));
        let files = row.files().map_or_else(String::new, |files| files.paths.join(" "));
        let attempts = row.attempts;
        out.push_str(&format!(
            "{name} {status} attempts={attempts} note={note} output={output} files={files}\n"
        ));
        for round in &row.rounds {
            let (status, note) = (round.settled.status.as_str(), &round.settled.note);
            let output = round.output().map_or_else(|| "-".to_owned(), |output| output.get().to_owned());
            let files = round.files().map_or_else(String::new, |files| files.paths.join(" "));
            let (number, attempts) = (round.round, round.attempts);
            out.push_str(&format!(
                "  {number} {status} attempts={attempts} note={note:?} output={output} files={files}\n"
            ));
        }
        for (key, instance) in row.instances.iter().flatten() {
            end_row(out, &format!("{name}[{key}]"), instance);
        }
    }
    let mut out = String::new();
    for one in &history.rows {
        row(&mut out, &one.name, one);
    }
    let ended = history.ended.as_ref().map(|ended| (ended.exit.as_str(), ended.verdict));
    out.push_str(&format!("{ended:?} spent {}\n", history.spent));
    out
}

/// A gate's output without when it was answered: a second sitting has a clock of its own.
fn timeless(output: &str) -> String {
    match output.split_once(",\"at\":\"") {
        Some((said, at)) if said.starts_with("{\"answer\":") => format!("{said}{}", &at[at.len() - 1..]),
        _ => output.to_owned(),
    }
}

fn end_row(out: &mut String, name: &str, row: &Row) {
    let status = row.status().map_or("pending", |status| status.as_str());
    out.push_str(&format!("{name} {status} attempts={} note={:?}\n", row.attempts, row.note()));
}

/// Log and status are as the published schemas say.
fn published(history: &History, events: &[Event]) {
    for event in events {
        let line = serde_json::from_str(&format!("{{{}}}", event.fields())).unwrap();
        schemas::event(&line).unwrap();
    }
    let status = plan::report::status::document(history, false, &Clone::clone);
    schemas::status(&serde_json::to_value(status).unwrap()).unwrap();
}

#[test]
fn logs() {
    insta::glob!("run/**/*.plan", |path| {
        let bench = Bench::new(path);
        let sitting = bench.fresh();
        let (outcome, events) = sitting.go(Vec::new(), usize::MAX, true);
        published(&outcome.history, &events);
        let mut log = shown(&events);
        for (name, events) in &*sitting.calls.logs.lock().unwrap() {
            log.push_str(&format!("{name}\n{}", shown(&events.lock().unwrap())));
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(path.parent().unwrap());
        settings.set_prepend_module_to_snapshot(false);
        settings.set_snapshot_suffix("");
        settings.set_omit_expression(true);
        settings.remove_input_file();
        settings.remove_info();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        settings.bind(|| insta::assert_snapshot!(name, log));
    });
}

#[test]
fn every_log_is_the_same_every_time() {
    insta::glob!("run/**/*.plan", |path| {
        let bench = Bench::new(path);
        let first = shown(&bench.fresh().go(Vec::new(), usize::MAX, true).1);
        let second = shown(&bench.fresh().go(Vec::new(), usize::MAX, true).1);
        assert_eq!(first, second, "{}", path.display());
    });
}

#[test]
fn a_log_that_is_cut_anywhere_resumes_to_the_same_end() {
    let mut paths = Vec::new();
    insta::glob!("run/**/*.plan", |path| paths.push(path.to_owned()));
    // Each second one: neighbours cost about the same.
    std::thread::scope(|scope| {
        for half in 0..2 {
            let paths = paths.iter().skip(half).step_by(2);
            scope.spawn(move || paths.for_each(|path| cut_anywhere(path)));
        }
    });
}

fn cut_anywhere(path: &Path) {
    let bench = Bench::new(path);
    if bench.case.uncut.is_some() {
        return;
    }
    let (whole, events) = bench.fresh().go(Vec::new(), usize::MAX, false);
    for cut in 1..events.len() {
        let sitting = bench.fresh();
        let (_, past) = sitting.go(Vec::new(), cut, false);
        assert_eq!(past.len(), cut);
        let settled = settled(&past);
        let (resumed, all) = sitting.go(past, usize::MAX, false);
        let place = format!("{}, cut after {cut}", path.display());
        assert_eq!(end(&resumed.history), end(&whole.history), "{place}\n{}", shown(&all));
        for event in &all[cut..] {
            if let Body::AttemptStarted(started) = &event.body {
                let round = (started.task.clone(), started.round);
                assert!(!settled.contains(&round), "{place}: `{}` ran again", started.task);
            }
        }
    }
}

/// Who has settled, in which round.
fn settled(events: &[Event]) -> Vec<(Text, u32)> {
    let mut rounds = IndexMap::new();
    let mut settled = Vec::new();
    for event in events {
        match &event.body {
            Body::AttemptStarted(started) => drop(rounds.insert(started.task.clone(), started.round)),
            Body::TaskSettled(body) => {
                settled.push((body.task.clone(), rounds.get(&body.task).copied().unwrap_or(1)));
            }
            _ => {}
        }
    }
    settled
}
