//! For tests of the scheduler: plans put together by hand, and a driver that only plays.
//!
//! The driver keeps to the contract of the real one: every decision is recorded and applied, every dispatch
//! becomes `attempt_started`, attempts end on a script, time comes in events.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::inputs::{Inputs, inputs};
use super::resume::{Decision, Request, decide};
use super::scheduler::{Action, Dispatch, Options, Scheduler};
use crate::event::{
    AttemptEnded, AttemptStarted, Body, Ceilings, EndedBy, Event, Exit, FileSet, Grade, PlanAdmitted, Raw,
    RunEnded, RunResumed, RunStarted, Status, Verdict,
};
use crate::history::Row;
use crate::ir::condition::{Comparison, Condition, Operand};
use crate::ir::kind::Run;
use crate::ir::{
    Dependency, EmittedFile, Isolation, Join, Kind, Millis, OnFailure, OnInterrupt, Over, Plan, Shell, Stage,
    Task, TaskId, Usd, Value,
};
use crate::source::{Span, Spanned, Text};
use crate::validate::ValidPlan;

pub(super) fn spanned<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::default())
}

pub(super) fn usd(text: &str) -> Usd {
    Usd::parse(text).unwrap()
}

pub(super) fn json(text: &str) -> Raw {
    RawValue::from_string(text.to_owned()).unwrap().into()
}

/// A plan that is being put together.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) plan: Plan,
}

impl Builder {
    pub(super) fn new() -> Self {
        let mut builder = Self::default();
        builder.plan.name = "test".into();
        builder
    }

    pub(super) fn command(&mut self, name: &str) -> TaskBuilder<'_> {
        let run = spanned(Run::Shell("true".into()));
        self.task(name, Kind::Command(run))
    }

    pub(super) fn task(&mut self, name: &str, kind: Kind) -> TaskBuilder<'_> {
        self.plan.tasks.push(Task {
            name: spanned(name.into()),
            doc: None,
            span: Span::default(),
            origin: None,
            group: None,
            kind,
            depends_on: Vec::new(),
            join: spanned(Join::All),
            required: true,
            stage: Stage::Main,
            when: None,
            over: None,
            key: None,
            max_fanout: 256,
            keyed: Vec::new(),
            emits: None,
            emits_files: Vec::new(),
            done_when: None,
            may_complete: false,
            needs: Vec::new(),
            timeout: None,
            retries: 2,
            isolation: spanned(Isolation::None),
            env: Vec::new(),
            secrets: Vec::new(),
            shell: Shell::Bash,
            max_usd: None,
            allow_partial: false,
            always: spanned(false),
            cwd: None,
            on_interrupt: OnInterrupt::Rerun,
            revise: Vec::new(),
            max_rounds: None,
            verify: Vec::new(),
            holes: false,
        });
        TaskBuilder { plan: &mut self.plan }
    }

    pub(super) fn keep_going(mut self) -> Self {
        self.plan.header.on_failure = OnFailure::Continue;
        self
    }

    pub(super) fn done(self) -> ValidPlan {
        ValidPlan::of_test(self.plan)
    }
}

/// The task that was added last.
pub(super) struct TaskBuilder<'a> {
    plan: &'a mut Plan,
}

impl TaskBuilder<'_> {
    fn id(&self, name: &str) -> TaskId {
        let at = self.plan.tasks.iter().position(|task| task.name.value == name);
        TaskId::from(at.unwrap_or_else(|| panic!("no task is called {name}")))
    }

    fn get(&mut self) -> &mut Task {
        self.plan.tasks.last_mut().unwrap()
    }

    fn set(mut self, change: impl FnOnce(&mut Task)) -> Self {
        change(self.get());
        self
    }

    pub(super) fn after(mut self, names: &[&str]) -> Self {
        let ids: Vec<TaskId> = names.iter().map(|name| self.id(name)).collect();
        self.get().depends_on = ids.iter().map(|&task| Dependency { task, span: Span::default() }).collect();
        self
    }

    pub(super) fn after_ids(self, ids: impl IntoIterator<Item = usize>) -> Self {
        let dependency = |id| Dependency { task: TaskId::from(id), span: Span::default() };
        self.set(|task| task.depends_on = ids.into_iter().map(dependency).collect())
    }

    pub(super) fn join(self, join: Join) -> Self {
        self.set(|task| task.join = spanned(join))
    }

    pub(super) fn advisory(self) -> Self {
        self.set(|task| task.required = false)
    }

    pub(super) fn epilogue(self) -> Self {
        self.set(|task| task.stage = Stage::Epilogue)
    }

    pub(super) fn always(self) -> Self {
        self.epilogue().set(|task| task.always = spanned(true))
    }

    pub(super) fn over(mut self, producer: &str, field: &str) -> Self {
        let over = Over::Field(self.id(producer), field.into());
        self.get().over = Some(Box::new(spanned(over)));
        self
    }

    pub(super) fn revises(mut self, names: &[&str], max_rounds: u32) -> Self {
        let targets = names.iter().map(|name| spanned(self.id(name))).collect();
        self.get().revise = targets;
        self.set(|task| task.max_rounds = Some(spanned(max_rounds)))
    }

    pub(super) fn when(self, condition: Condition) -> Self {
        self.set(|task| task.when = Some(Box::new(spanned(condition))))
    }

    pub(super) fn needs(self, cap: &str) -> Self {
        self.set(|task| task.needs.push(cap.into()))
    }

    pub(super) fn retries(self, retries: u32) -> Self {
        self.set(|task| task.retries = retries)
    }

    pub(super) fn files(self, path: &str) -> Self {
        self.set(|task| task.emits_files.push(EmittedFile { path: spanned(path.into()), schema: None }))
    }

    pub(super) fn max_usd(self, most: &str) -> Self {
        self.set(|task| task.max_usd = Some(spanned(usd(most))))
    }

    pub(super) fn with(self, change: impl FnOnce(&mut Task)) -> Self {
        self.set(change)
    }
}

/// `task.field == "text"`.
pub(super) fn field_is(plan: &Builder, task: &str, field: &str, text: &str) -> Condition {
    let at = plan.plan.tasks.iter().position(|known| known.name.value == task).unwrap();
    compare(
        Operand::Field(TaskId::from(at), vec![field.into()]),
        Comparison::Equal,
        Value::String(text.into()),
    )
}

pub(super) fn compare(left: Operand, operator: Comparison, right: Value) -> Condition {
    Condition::Compare { left, operator, right: Operand::Literal(right), span: Span::default() }
}

/// How a played attempt comes out.
#[derive(Clone, Debug)]
pub(super) struct Played {
    pub(super) grade: Grade,
    pub(super) note: Option<Text>,
    pub(super) output: Option<Raw>,
    pub(super) last_line: Text,
    pub(super) cost: Usd,
    pub(super) takes: u64,
    pub(super) files: bool,
    pub(super) done_already: bool,
}

pub(super) fn pass() -> Played {
    Played {
        grade: Grade::Pass,
        note: None,
        output: Some(json("{}")),
        last_line: Text::default(),
        cost: Usd::ZERO,
        takes: 10,
        files: false,
        done_already: false,
    }
}

pub(super) fn says(output: &str) -> Played {
    Played { output: Some(json(output)), last_line: output.into(), ..pass() }
}

pub(super) fn fails(note: &str) -> Played {
    Played { grade: Grade::Fail, note: Some(note.into()), output: None, ..pass() }
}

pub(super) fn lost() -> Played {
    Played { grade: Grade::Transport, note: Some("exit 75".into()), output: None, ..pass() }
}

impl Played {
    pub(super) fn cost(mut self, text: &str) -> Self {
        self.cost = usd(text);
        self
    }

    pub(super) fn takes(mut self, ms: u64) -> Self {
        self.takes = ms;
        self
    }

    pub(super) fn files(mut self) -> Self {
        self.files = true;
        self
    }
}

type Script<'a> = Box<dyn FnMut(&Dispatch) -> Played + 'a>;

/// A run that is played.
pub(super) struct Sim<'a> {
    pub(super) scheduler: Scheduler,
    pub(super) events: Vec<Event>,
    pub(super) seen: BTreeMap<Text, String>,
    pub(super) staged: BTreeMap<Text, Vec<Text>>,
    script: Script<'a>,
    t: u64,
    in_flight: BTreeMap<(u64, u32), (TaskId, Text, Played)>,
    /// What happens from outside, and when.
    outside: Vec<(u64, Body)>,
    checks_inputs: bool,
}

/// What the plan gets at admission.
#[derive(Clone, Debug, Default)]
pub(super) struct Setup {
    pub(super) jobs: usize,
    pub(super) caps: Vec<Text>,
    pub(super) ceilings: Ceilings,
    pub(super) keep_going: bool,
    pub(super) kill_on_failure: bool,
}

impl<'a> Sim<'a> {
    /// A run that is admitted, and nothing more.
    pub(super) fn new(plan: ValidPlan, setup: &Setup, script: impl FnMut(&Dispatch) -> Played + 'a) -> Self {
        let mut sim = Self::before(plan, setup, script);
        let (log, version) = (crate::event::VERSION, "0".into());
        let plan = sim.scheduler.plan().name.clone();
        let tasks = sim.scheduler.plan().tasks.len() as u64;
        sim.append(RunStarted { run: "r".into(), plan, log, version });
        let Setup { caps, ceilings, keep_going, .. } = setup.clone();
        sim.append(PlanAdmitted { tasks, caps, ceilings, keep_going });
        sim
    }

    fn before(plan: ValidPlan, setup: &Setup, script: impl FnMut(&Dispatch) -> Played + 'a) -> Self {
        let options = Options { jobs: setup.jobs.max(1), kill_on_failure: setup.kill_on_failure };
        Self {
            scheduler: Scheduler::new(plan, options),
            events: Vec::new(),
            seen: BTreeMap::new(),
            staged: BTreeMap::new(),
            script: Box::new(script),
            t: 0,
            in_flight: BTreeMap::new(),
            outside: Vec::new(),
            checks_inputs: true,
        }
    }

    /// Another sitting of the run with these events.
    pub(super) fn again(
        plan: ValidPlan,
        setup: &Setup,
        past: &[Event],
        resumed: impl FnOnce(&Scheduler) -> Body,
        script: impl FnMut(&Dispatch) -> Played + 'a,
    ) -> Self {
        let mut sim = Self::before(plan, setup, script);
        for event in past {
            sim.scheduler.apply(event).unwrap();
            sim.events.push(event.clone());
        }
        let body = resumed(&sim.scheduler);
        sim.append(body);
        sim
    }

    pub(super) fn without_inputs(mut self) -> Self {
        self.checks_inputs = false;
        self
    }

    pub(super) fn at(mut self, t: u64, body: impl Into<Body>) -> Self {
        self.outside.push((t, body.into()));
        self.outside.sort_by_key(|&(t, _)| t);
        self
    }

    pub(super) fn append(&mut self, body: impl Into<Body>) {
        let body = body.into();
        let seq = self.events.len() as u64 + 1;
        let event = Event { seq, at: 0, t: Millis(self.t), body };
        self.scheduler.apply(&event).unwrap_or_else(|wrong| panic!("{}: {event:?}", wrong.message));
        self.events.push(event);
    }

    /// Plays until the sitting is over.
    pub(super) fn run(mut self) -> Self {
        while self.step() {}
        self
    }

    /// Plays until `count` events are there.
    pub(super) fn run_to(mut self, count: usize) -> Self {
        while self.events.len() < count && self.step() {}
        self
    }

    fn step(&mut self) -> bool {
        if let Some(action) = self.scheduler.due() {
            match action {
                Action::Record(body) => self.append(*body),
                Action::Dispatch(dispatch) => self.dispatch(&dispatch),
                Action::Compare(compare) => panic!("no other run is open: {compare:?}"),
            }
            return true;
        }
        if self.scheduler.is_over() && self.in_flight.is_empty() {
            return false;
        }
        let ending = self
            .in_flight
            .iter()
            .find_map(|(&key, (task, _, _))| self.scheduler.ends(*task).map(|by| (key, by)));
        if let Some((key, by)) = ending {
            self.end(key, Some(by));
            return true;
        }
        let next = self.in_flight.keys().next().copied();
        let timer = self.scheduler.next_timer();
        let outside = self.outside.first().map(|&(t, _)| t);
        let ends = next.map_or(u64::MAX, |(at, _)| at);
        let fires = timer.as_ref().map_or(u64::MAX, |&(at, _)| at.0);
        if let Some(t) = outside.filter(|&t| t <= ends && t <= fires) {
            self.t = self.t.max(t);
            let (_, body) = self.outside.remove(0);
            self.append(body);
        } else if let Some(key) = next.filter(|_| ends <= fires) {
            self.t = self.t.max(ends);
            self.end(key, None);
        } else {
            let (at, fired) = timer.expect("a run that is not over waits for something");
            self.t = self.t.max(at.0);
            self.append(fired);
        }
        true
    }

    fn dispatch(&mut self, dispatch: &Dispatch) {
        let Dispatch { task, ref name, attempt, nth, round, .. } = *dispatch;
        assert!(dispatch.needs <= self.events.len() as u64);
        let answered = dispatch.answered;
        self.append(AttemptStarted { attempt, task: name.clone(), nth, round, token: None, answered });
        if self.checks_inputs {
            let Inputs { json, staged, .. } = inputs(&self.scheduler, task, dispatch.element.as_deref());
            serde_json::from_str::<serde_json::Value>(&json).expect("inputs are JSON");
            self.seen.insert(name.clone(), json);
            self.staged.insert(name.clone(), staged.into_iter().map(|set| set.directory).collect());
        }
        let played = (self.script)(dispatch);
        let ends = self.t + if played.done_already { 0 } else { played.takes };
        self.in_flight.insert((ends, attempt), (task, name.clone(), played));
    }

    fn end(&mut self, key: (u64, u32), by: Option<EndedBy>) {
        let (_, name, played) = self.in_flight.remove(&key).unwrap();
        let (grade, note) = match by {
            None => (played.grade, played.note),
            Some(EndedBy::Interruption) => (Grade::Interrupted, None),
            Some(by) => (Grade::Fail, Some(format!("ended by {by:?}").into())),
        };
        let manifest = name.clone();
        let ended = AttemptEnded {
            attempt: key.1,
            task: name,
            grade,
            note,
            output: played.output.filter(|_| by.is_none()),
            last_line: played.last_line,
            cost_usd: played.cost,
            files: played.files.then(|| FileSet { manifest, paths: vec!["f".into()], bytes: 1 }),
            if_rejected: None,
            duration_ms: Millis(played.takes),
            done_already: played.done_already,
            reused: None,
            steps: 0,
            call: None,
            reads: Vec::new(),
            ended_by: by,
        };
        self.append(ended);
    }

    pub(super) fn row(&self, name: &str) -> &Row {
        self.scheduler.history().row(name).unwrap_or_else(|| panic!("no row is called {name}"))
    }

    pub(super) fn status(&self, name: &str) -> Option<Status> {
        self.row(name).status()
    }

    pub(super) fn note(&self, name: &str) -> String {
        self.row(name).note().map(ToString::to_string).unwrap_or_default()
    }

    /// Exit and verdict of the run.
    pub(super) fn ended(&self) -> (Exit, Option<Verdict>) {
        let RunEnded { exit, verdict } = *self.scheduler.history().ended.as_ref().expect("the run ended");
        (exit, verdict)
    }

    pub(super) fn outcome(&self) -> &'static str {
        self.ended().0.as_str()
    }

    /// The names of what settled, in order.
    pub(super) fn settled(&self) -> Vec<&str> {
        let settled = self.events.iter().filter_map(|event| match &event.body {
            Body::TaskSettled(body) => Some(body.task.as_str()),
            _ => None,
        });
        settled.collect()
    }

    /// Everything that decides a status document, but for time.
    pub(super) fn rows(&self) -> Vec<String> {
        fn line(name: &str, row: &Row) -> String {
            let settled = row.settled.as_ref();
            let blocked = settled.and_then(|settled| settled.blocked.clone());
            let output = row.output().map(|output| output.get().to_owned());
            let rounds: Vec<_> = row.rounds.iter().map(|round| (round.round, round.settled.status)).collect();
            let (status, note, attempts) = (row.status(), row.note(), row.attempts);
            format!("{name}: {status:?} {note:?} {blocked:?} {output:?} {attempts} {rounds:?}")
        }
        let rows = &self.scheduler.history().rows;
        let mut all = Vec::new();
        for row in rows {
            all.push(line(&row.name, row));
            for (key, instance) in row.instances.iter().flatten() {
                all.push(line(&format!("{}[{key}]", row.name), instance));
            }
        }
        all
    }
}

/// So many attempts side by side.
pub(super) fn jobs(jobs: usize) -> Setup {
    Setup { jobs, ..Setup::default() }
}

/// A resume with what the run was set up with.
pub(super) fn request(setup: &Setup) -> Request {
    let Setup { caps, ceilings, keep_going, .. } = setup.clone();
    Request { from: None, caps, ceilings, keep_going }
}

/// What resuming comes to, where it is not refused.
pub(super) fn resumes(scheduler: &Scheduler, request: &Request) -> RunResumed {
    match decide(scheduler.plan(), scheduler.history(), request) {
        Decision::Resumes(resumed) => resumed,
        other => panic!("{other:?}"),
    }
}

/// Another sitting of the run with these events, played to its end.
pub(super) fn resume<'a>(
    plan: &ValidPlan,
    setup: &Setup,
    past: &[Event],
    request: &Request,
    script: impl FnMut(&Dispatch) -> Played + 'a,
) -> Sim<'a> {
    Sim::again(plan.clone(), setup, past, |scheduler| resumes(scheduler, request).into(), script).run()
}
