//! Runs one case: the same scheduler and the same attempts as in `plan run`, with another runner, another
//! clock, and a log in memory.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use camino::{Utf8Path, Utf8PathBuf};
use indexmap::IndexMap;
use serde_json::Value;

use super::copy;
use crate::cases::compare::{self, Came, Saw};
use crate::cases::report::{Outcome, Problem, Tested, Told};
use crate::cases::{Case, JOBS, names, read};
use crate::cli::run::missing_shells;
use crate::cli::wiring::{Readers, RunFiles};
use crate::clock::Virtual;
use crate::compile::{Bindings, compile, declared};
use crate::diag::Diagnostics;
use crate::event::{Body, Event, PlanAdmitted};
use crate::exec::admission::{self, Machine, Operator};
use crate::exec::ports::{
    Boxed, Called, Calling, Calls, Clock, Log, LogFailed, NotStarted, Ports, Post, Process, Reporter, Runner,
    Start,
};
use crate::exec::{self, RunOptions};
use crate::history::History;
use crate::ir::kind::STDOUT;
use crate::ir::{Kind, Millis, Shell, dump};
use crate::load::Pack;
use crate::runner::{Endless, Local, Signals, StubPeople, StubRunner};
use crate::source::{FileId, Sources, Text};
use crate::store::capture::Store;
use crate::store::frozen::{self, Frozen};
use crate::store::{RunDir, staging};
use crate::validate::ValidPlan;
use crate::verifiers::BuiltIn;
use crate::workspace::Direct;

/// The most that one stream, and the captured files of a run, may take.
const LIMIT: u64 = 1 << 30;

/// A case of a pack.
pub(super) struct Found {
    /// The pack's directory, as it was named.
    pub(super) pack: Utf8PathBuf,
    /// The case's file.
    pub(super) file: Utf8PathBuf,
}

impl Found {
    /// The name of the case.
    pub(super) fn name(&self) -> &str {
        self.file.file_stem().unwrap_or_default()
    }
}

/// What was found in texts, to be drawn with their lines.
pub(super) type Findings = Vec<(Sources, Diagnostics)>;

/// How the run of a case went.
pub(super) enum Went {
    /// It is known how the case came out.
    Tested(Box<Tested>, Findings),
    /// A signal interrupted it.
    Interrupted(Text),
}

/// Why nobody can say how a case came out.
enum Trouble {
    Found(Sources, Diagnostics),
    Plain(String),
    Interrupted(Text),
}

impl From<String> for Trouble {
    fn from(problem: String) -> Self {
        Self::Plain(problem)
    }
}

/// What cases share.
pub(super) struct Bench {
    /// One for all of them: it tells the processes of one attempt from those of another.
    local: Arc<Local>,
    missing_shells: Vec<Shell>,
    /// Files that are left out of the copies.
    without: Vec<Text>,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self {
            local: Arc::new(Local::new(std::env::vars_os())),
            missing_shells: missing_shells(),
            without: Vec::new(),
        }
    }

    /// With copies that lack these files.
    pub(super) fn without(self, files: &[Text]) -> Self {
        Self { without: files.to_vec(), ..self }
    }

    /// Runs a case and compares.
    pub(super) fn test(&self, found: &Found) -> Went {
        let begun = Instant::now();
        let mut tested = Tested {
            pack: found.pack.to_string(),
            case: found.name().to_owned(),
            file: found.file.to_string(),
            about: None,
            outcome: Outcome::Ok,
            elapsed_s: 0.0,
            differences: Vec::new(),
            problems: Vec::new(),
        };
        let mut findings = Findings::new();
        match self.differences(found, &mut tested.about) {
            Ok(differences) => {
                tested.outcome = if differences.is_empty() { Outcome::Ok } else { Outcome::Failed };
                tested.differences = differences;
            }
            Err(Trouble::Interrupted(by)) => return Went::Interrupted(by),
            Err(Trouble::Plain(problem)) => {
                tested.outcome = Outcome::Error;
                tested.problems.push(Problem::plain(problem));
            }
            Err(Trouble::Found(sources, found)) => {
                tested.outcome = Outcome::Error;
                tested.problems = found.iter().map(|finding| Problem::finding(&sources, finding)).collect();
                findings.push((sources, found));
            }
        }
        tested.elapsed_s = begun.elapsed().as_secs_f64();
        Went::Tested(Box::new(tested), findings)
    }

    fn differences(&self, found: &Found, about: &mut Option<String>) -> Result<Vec<Told>, Trouble> {
        let text =
            std::fs::read(&found.file).map_err(|error| format!("cannot read `{}`: {error}", found.file))?;
        let text = String::from_utf8(text).map_err(|_| format!("`{}` is not UTF-8", found.file))?;
        let mut sources = Sources::new();
        let file = sources.add(found.file.clone(), text);
        let (case, wrong) = read::read(&sources, file);
        let Some(case) = case else { return Err(Trouble::Found(sources, wrong)) };
        about.clone_from(&case.about);
        let plan = compiled(found, &case, &sources, file)?;
        let directory = tempfile::Builder::new().prefix("plan-test-").tempdir();
        let directory =
            directory.map_err(|error| format!("cannot make a directory for the copy: {error}"))?;
        let ran = self.sit(found, &case, plan, directory.path());
        // What was staged cannot be written to, and so not be removed either.
        let cleared = ran.as_ref().map_or(Ok(()), |(run, _)| staging::Staging::clear(run));
        cleared.map_err(|error| error.to_string())?;
        copy::remove(directory)?;
        let differences = ran?.1;
        Ok(differences.into_iter().map(|difference| Told::new(&sources, difference)).collect())
    }

    /// Runs the case below `directory`.
    fn sit(
        &self,
        found: &Found,
        case: &Case,
        plan: ValidPlan,
        directory: &std::path::Path,
    ) -> Result<(RunDir, Vec<compare::Difference>), Trouble> {
        let directory = Utf8Path::from_path(directory)
            .ok_or_else(|| "the temporary directory is not UTF-8".to_owned())?;
        let directory = directory.canonicalize_utf8().map_err(|error| error.to_string())?;
        let own = found
            .pack
            .canonicalize_utf8()
            .map_err(|error| format!("cannot use `{}`: {error}", found.pack))?;
        let pack = directory.join(own.file_name().unwrap_or("pack"));
        let run = RunDir { name: "test".into(), path: directory.join(".plan/run") };
        copy::pack(&own, &pack)?;
        copy::leave_out(&pack, &self.without)?;
        copy::files(&pack, &case.files)?;
        std::fs::create_dir_all(run.logs())
            .map_err(|error| format!("cannot make `{}`: {error}", run.path))?;
        let (admitted, paths) = self.admit(case, &plan, &pack, &run)?;
        let store = Store::new(run.clone(), LIMIT, []);
        let set = (!paths.is_empty()).then(|| store.capture_all(&pack, &paths)).transpose()?;
        let frozen = set.as_ref().map(|set| Frozen::new(&run, &pack, set)).transpose()?.map(Arc::new);
        let document = dump::document(&plan);
        let options = RunOptions {
            run: run.name.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            pack: pack.clone(),
            gates: frozen::fingerprint(&dump::gates_fingerprint(&document), set.as_ref()),
            admitted,
            jobs: case.jobs.unwrap_or(JOBS),
            kill_on_failure: case.kill_on_failure,
            log_limit: LIMIT,
            from: None,
            reuse: None,
            outer: None,
        };
        let clock: Arc<dyn Clock> = Arc::new(Virtual::new());
        let below = Below { run: run.clone(), frozen: frozen.clone(), gates: options.gates.clone() };
        let files =
            Arc::new(RunFiles::new(run.clone(), store, frozen, None, Arc::default(), Readers::Nobody));
        let (began, saw) = (Shared::default(), Shared::default());
        let endless = Endless::default();
        let stubs = StubRunner {
            stubs: case.stubs.clone(),
            clock: Arc::clone(&clock),
            workspace: pack.clone(),
            endless: endless.clone(),
            others: Some(Arc::clone(&self.local) as Arc<dyn Runner>),
        };
        let ports = Ports {
            log: Box::new(Memory::default()),
            files: files.clone(),
            runner: Arc::new(Watched { runner: stubs, saw: Arc::clone(&saw) }),
            workspace: Arc::new(Direct::new(pack)),
            verifiers: Arc::new(BuiltIn::default()),
            clock: Arc::clone(&clock),
            reporter: Box::new(Beginnings(Arc::clone(&began))),
            sources: vec![
                Box::new(Signals::default()),
                Box::new(endless.clone()),
                Box::new(StubPeople::new(case.answers.clone(), clock)),
            ],
            calls: Arc::new(below),
        };
        let outcome =
            exec::run(plan.clone(), options, ports, Vec::new()).map_err(|error| error.to_string())?;
        if let Some(name) = endless.name() {
            return Err(Trouble::Plain(format!(
                "nothing will ever end `{name}`, whose stub hangs: give it, or the plan, a limit on time"
            )));
        }
        if let Some(signal) = outcome.signal {
            return Err(Trouble::Interrupted(signal));
        }
        let (began, saw) = (take(&began), take(&saw));
        let came = Came {
            history: &outcome.history,
            began: &began,
            saw: &saw,
            content: &|set, path| files.store().read(set, path),
            report: &|task| report(&run, &plan, &outcome.history, task),
        };
        let differences = compare::differences(case, &came);
        Ok((run, differences))
    }

    /// Admits the plan as `plan run` would, and finds the files to freeze.
    fn admit(
        &self,
        case: &Case,
        plan: &ValidPlan,
        pack: &Utf8Path,
        run: &RunDir,
    ) -> Result<(PlanAdmitted, Vec<Text>), Trouble> {
        let operator = Operator {
            max_usd: case.max_usd,
            max_time: case.max_time,
            max_steps: case.max_steps,
            caps: case.caps.clone(),
            keep_going: case.keep_going,
            harness: None,
        };
        let globs = admission::frozen_globs(plan);
        let frozen: Vec<_> = globs.map(|glob| frozen::find(pack, &run.path, &glob.value)).collect();
        let machine = Machine {
            missing_shells: self.missing_shells.clone(),
            frozen: frozen.iter().map(|found| found.as_ref().map(Vec::len).map_err(Clone::clone)).collect(),
            played: names::played(case, plan),
            ..Machine::default()
        };
        let (admitted, found) = admission::admit(plan, &operator, &machine);
        if let Some(first) = found.iter().find(|_| found.has_errors()) {
            let playable = plan.tasks.iter().any(|task| {
                matches!(task.kind, Kind::Agent(_) | Kind::Machine(_))
                    && !machine.played.contains(&task.name.value)
            });
            let help = if playable { "; a test can give agents and machines a stub" } else { "" };
            return Err(Trouble::Plain(format!("the plan is refused: {}{help}", first.message)));
        }
        let paths: std::collections::BTreeSet<Text> = frozen.into_iter().flatten().flatten().collect();
        Ok((admitted, paths.into_iter().collect()))
    }
}

/// The plan of a case, bound to its parameters, with every name of the case looked up in it.
fn compiled(found: &Found, case: &Case, sources: &Sources, file: FileId) -> Result<ValidPlan, Trouble> {
    let here = |wrong: Diagnostics| Trouble::Found(sources.clone(), wrong);
    let plans = plans(&found.pack)?;
    if plans.is_empty() {
        return Err(Trouble::Plain(format!("`{}` has no `.plan` file", found.pack)));
    }
    let name = names::plan(case, &plans, file).map_err(|wrong| {
        let mut found = Diagnostics::new();
        found.push(*wrong);
        here(found)
    })?;
    let (mut world, entry) = Pack::around(&found.pack.join(name));
    for (path, text) in &case.files {
        world.set(path.clone(), text.as_bytes());
    }
    let known = declared(&mut world, &entry);
    if let Some(params) = known.params {
        let params: Vec<Text> = params.into_iter().map(|param| param.name.value).collect();
        let wrong = names::params(case, &params);
        if wrong.has_errors() {
            return Err(here(wrong));
        }
    }
    let values = Value::Object(case.params.clone()).to_string();
    let bindings =
        Bindings::launch(Some(("params.json", &values)), &[] as &[&str]).map_err(Trouble::Plain)?;
    let compiled = compile(&mut world, &entry, &bindings);
    let Some(plan) = compiled.plan else {
        return Err(Trouble::Found(compiled.sources, compiled.diagnostics));
    };
    let wrong = names::check(case, &plan);
    if wrong.has_errors() {
        return Err(here(wrong));
    }
    Ok(plan)
}

/// The plan files of a pack, in order of name.
pub(super) fn plans(pack: &Utf8Path) -> Result<Vec<String>, String> {
    let cannot = |error: std::io::Error| format!("cannot read `{pack}`: {error}");
    let mut plans = Vec::new();
    for entry in pack.read_dir_utf8().map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        if entry.path().extension() == Some("plan") && entry.path().is_file() {
            plans.push(entry.file_name().to_owned());
        }
    }
    plans.sort();
    Ok(plans)
}

/// What a report task has written, and where.
pub(super) fn report(
    run: &RunDir,
    plan: &ValidPlan,
    history: &History,
    task: &str,
) -> Option<(String, String)> {
    let Kind::Report(page) = &plan.tasks.iter().find(|known| known.name.value == task)?.kind else {
        return None;
    };
    let to = page.to.value.as_str();
    let path = match to {
        STDOUT => run.stdout(history.row(task)?.last.as_ref()?.attempt),
        to => run.path.join(to),
    };
    Some((to.to_owned(), std::fs::read_to_string(path).ok()?))
}

type Shared<T> = Arc<Mutex<T>>;

fn take<T: Default>(shared: &Shared<T>) -> T {
    std::mem::take(&mut *shared.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A log that is gone with the case.
#[derive(Default)]
struct Memory {
    seq: u64,
}

/// Runs of called plans: nobody takes one up.
struct Below {
    run: RunDir,
    frozen: Option<Arc<Frozen>>,
    gates: Text,
}

impl Calls for Below {
    fn open(&self, calling: &Calling<'_>) -> Result<Called, String> {
        let run = self.run.called(calling.name);
        let made = std::fs::create_dir_all(run.logs());
        made.map_err(|error| format!("cannot make `{}`: {error}", run.path))?;
        let (frozen, gates) = (self.frozen.clone(), self.gates.clone());
        let store = Store::new(run.clone(), LIMIT, []);
        let files = RunFiles::new(run.clone(), store, frozen.clone(), None, Arc::default(), Readers::Nobody);
        Ok(Called {
            run: run.name.clone(),
            gates: gates.clone(),
            log: Box::new(Memory::default()),
            files: Arc::new(files),
            past: Vec::new(),
            over: {
                let run = run.clone();
                // What was staged cannot be written to, and so not be removed with the rest.
                Box::new(move |_| drop(staging::Staging::clear(&run)))
            },
            calls: Arc::new(Self { run, frozen, gates }),
        })
    }
}

impl Log for Memory {
    fn connect(&mut self, _post: Post) {}

    fn append(&mut self, at: i64, t: Millis, body: Body) -> Result<Event, LogFailed> {
        self.seq += 1;
        Ok(Event { seq: self.seq, at, t, body })
    }

    fn sync(&mut self, _seq: u64) {}

    fn synced(&self) -> u64 {
        self.seq
    }
}

/// Notes who begins, in order.
struct Beginnings(Shared<Vec<Text>>);

impl Reporter for Beginnings {
    fn event(&mut self, event: &Event, _history: &History) {
        if let Body::AttemptStarted(started) = &event.body {
            let mut began = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !began.contains(&started.task) {
                began.push(started.task.clone());
            }
        }
    }
}

/// Notes what attempts see.
struct Watched {
    runner: StubRunner,
    saw: Shared<IndexMap<Text, Saw>>,
}

impl Runner for Watched {
    fn start(&self, start: &Start) -> Result<Box<dyn Process>, NotStarted> {
        // A verifier is started within its attempt.
        if start.within.is_none() {
            let saw = saw(start).map_err(|why| NotStarted { missing: false, why })?;
            self.saw.lock().unwrap_or_else(PoisonError::into_inner).insert(start.task.clone(), saw);
        }
        self.runner.start(start)
    }

    fn plays(&self, task: &str) -> bool {
        self.runner.plays(task)
    }

    fn sweep(&self, tokens: Vec<Text>) -> Boxed<'_, ()> {
        self.runner.sweep(tokens)
    }
}

/// What is there for an attempt that starts.
fn saw(start: &Start) -> Result<Saw, String> {
    let of = |name: &str| start.env.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let mut saw = Saw::default();
    if let Some(path) = of("PLAN_INPUTS_FILE") {
        let text = std::fs::read(path).map_err(|error| format!("its inputs cannot be read: {error}"))?;
        saw.inputs =
            serde_json::from_slice(&text).map_err(|error| format!("its inputs cannot be read: {error}"))?;
    }
    if let Some(root) = of("PLAN_FILES") {
        let root = Utf8Path::new(root);
        list(root, root, &mut saw.staged)
            .map_err(|error| format!("what was staged cannot be read: {error}"))?;
        saw.staged.sort();
    }
    Ok(saw)
}

/// The files below `directory`, by their paths below `root`.
fn list(root: &Utf8Path, directory: &Utf8Path, into: &mut Vec<String>) -> std::io::Result<()> {
    for entry in directory.read_dir_utf8()? {
        let path = entry?.into_path();
        if path.is_dir() {
            list(root, &path, into)?;
        } else {
            into.push(path.strip_prefix(root).unwrap_or(&path).to_string());
        }
    }
    Ok(())
}
