//! Turns what the scheduler owes into work, and what came of it into events (EXECUTION §1).
//!
//! One loop: every event is appended, folded in and shown before anything that follows from it. Decides
//! nothing about tasks itself; unaware of where events are kept and how processes are run.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Interval, MissedTickBehavior};

use super::admission;
use super::answers;
use super::attempt::call::Terms;
use super::attempt::verify::{Of, Spoken, Subject, sit};
use super::attempt::{self, Answered, Command, Context, Job, Order, Orders, Report, Timer, passed};
use super::inputs::{self, inputs};
use super::ports::{Boxed, Clock, Log, LogFailed, Notice, Ports, Post, Reporter, Request};
use super::resume;
use super::reuse::Past;
use super::scheduler::{Action, Compare, Dispatch, Options, Scheduler, Unverified};
use super::states::RunPhase;
use crate::event::{
    Alive, AttemptStarted, Body, EndedBy, Event, Exit, GateAnswered, Interrupted, PlanAdmitted, ReuseDecided,
    RunResumed, RunStarted, Status, StopRequested, TaskSettled, VERSION, Warning,
};
use crate::history::{History, Mismatch, Row};
use crate::ir::{self, Millis, OnInterrupt, TaskId};
use crate::source::Text;
use crate::validate::ValidPlan;

/// How often a sitting says that it goes on, while attempts run (EXECUTION §10).
const ALIVE: Millis = Millis(10_000);

/// How often who shows the run may show how time passes.
const TICK: Duration = Duration::from_millis(100);

/// The signal of a terminal that is closed.
const HANG_UP: &str = "HUP";

/// What the operator chose for a sitting.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The run's name.
    pub run: Text,
    /// The program's version.
    pub version: Text,
    /// The pack's directory, absolute.
    pub pack: Utf8PathBuf,
    /// The fingerprint of the gates.
    pub gates: Text,
    /// What admission found: capabilities, the ceilings in force.
    pub admitted: PlanAdmitted,
    /// How many attempts may be in flight.
    pub jobs: usize,
    /// Whether a required failure ends what is in flight.
    pub kill_on_failure: bool,
    /// The largest stream, in bytes.
    pub log_limit: u64,
    /// For a resumed run: the task from which everything runs again.
    pub from: Option<Text>,
    /// The run whose results are taken over where they hold.
    pub reuse: Option<Arc<Past>>,
    /// Of a called plan: what it has of the runs around it.
    pub outer: Option<Outer>,
}

/// What a called plan has of the runs around it.
#[derive(Clone, Debug)]
pub struct Outer {
    /// The tokens of the attempts that call it, the outermost first.
    pub within: Text,
    /// Every variable that some task of theirs lists in `secrets`.
    pub secrets: Vec<Text>,
    /// The tasks that call it, the outermost first, each with a slash behind it.
    pub path: Text,
}

/// How a sitting came out.
#[derive(Debug)]
pub struct Outcome {
    /// All that happened, in this sitting and earlier ones.
    pub history: History,
    /// The signal that interrupted it.
    pub signal: Option<Text>,
    /// Why the log could not be written, if that ended it.
    pub log_failed: Option<LogFailed>,
}

/// Why a run could not be driven. What happens to tasks is in the outcome.
#[derive(Debug)]
pub enum RunError {
    /// The log, or an event of ours, does not fit the plan.
    Mismatch(Mismatch),
    /// The run cannot be resumed as asked: a clause.
    Resume(String),
    /// The event loop could not be set up.
    Runtime(std::io::Error),
    /// A bug: an attempt of this task was lost.
    Lost(Text),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch(mismatch) => f.write_str(&mismatch.message),
            Self::Resume(problem) => f.write_str(problem),
            Self::Runtime(error) => write!(f, "the event loop cannot be set up: {error}"),
            Self::Lost(task) => write!(f, "an attempt of `{task}` was lost by a bug in the executor"),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs `plan`, or goes on with a run whose log says `past`, until this sitting is over.
///
/// # Errors
/// If the past does not fit the plan, or the executor itself fails. A log that cannot be written is an
/// outcome: attempts have been ended then.
pub fn run(
    plan: ValidPlan,
    options: RunOptions,
    ports: Ports,
    past: Vec<Event>,
) -> Result<Outcome, RunError> {
    let clock = Arc::clone(&ports.clock);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(move || clock.idle())
        .build()
        .map_err(RunError::Runtime)?;
    let driving = nested(plan, options, ports, past);
    // On a thread of its own: a scheduler takes a thread for as busy as it has been, and this one has compiled a
    // plan. What it then starts would be kept away from where it runs, and wait although a processor is free.
    let outcome = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("driver".to_owned());
        let driver = thread.spawn_scoped(scope, || runtime.block_on(driving)).map_err(RunError::Runtime)?;
        driver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    // Nothing of ours is left but threads that read or copy files for attempts that are gone.
    runtime.shutdown_background();
    outcome
}

/// A sitting as [`run`] has it, within the event loop that there is: of a plan that is called.
pub(super) fn nested(
    plan: ValidPlan,
    options: RunOptions,
    ports: Ports,
    past: Vec<Event>,
) -> Boxed<'static, Result<Outcome, RunError>> {
    Box::pin(async move {
        let mut driver = Driver::new(plan, &options, ports);
        let driven = driver.sitting(&options, past).await;
        driver.close(driven).await
    })
}

/// Why the loop stopped early.
enum Trouble {
    Log(LogFailed),
    Run(RunError),
}

impl From<LogFailed> for Trouble {
    fn from(failed: LogFailed) -> Self {
        Self::Log(failed)
    }
}

impl From<Mismatch> for Trouble {
    fn from(mismatch: Mismatch) -> Self {
        Self::Run(RunError::Mismatch(mismatch))
    }
}

/// What the loop waits for.
enum Happened {
    Ended(Result<(tokio::task::Id, Landed), JoinError>),
    Spoken(Of, Spoken),
    Told(Notice),
    Time,
    Tick,
}

/// What ended.
enum Landed {
    Attempt(Box<Report>),
    Panel(Option<u32>),
}

struct Driver {
    scheduler: Scheduler,
    context: Arc<Context>,
    log: Box<dyn Log>,
    clock: Arc<dyn Clock>,
    reporter: Box<dyn Reporter>,
    notices: mpsc::UnboundedReceiver<Notice>,
    /// Kept, so that the receiver never ends, and since dropping a source silences it.
    sources: Vec<Box<dyn super::ports::Source>>,
    _post: Post,
    attempts: JoinSet<Landed>,
    flights: FxHashMap<u32, Flight>,
    /// Verifiers at work: those of an attempt, or of the plan.
    panels: FxHashMap<Option<u32>, Panel>,
    /// What they say, and whence they say it.
    spoken: mpsc::UnboundedReceiver<(Of, Spoken)>,
    tell: mpsc::UnboundedSender<(Of, Spoken)>,
    /// What marks the processes of attempts, and of their verifiers.
    tokens: FxHashMap<u32, Text>,
    /// The fingerprint of the gates.
    gates: Text,
    /// Attempts whose start waits for the log to be on disk up to an event.
    waiting: VecDeque<(u64, Job, Orders)>,
    /// What marks the processes of this sitting.
    seed: u64,
    signal: Option<Text>,
    killed: bool,
    alive: Millis,
    /// What waits for the next time that matters. It is kept, since that seldom changes.
    timer: Option<(Timer, Millis)>,
    ticks: Interval,
    /// Whether an attempt was given to the event loop that it has not begun yet.
    begins: bool,
    /// The event that ends the run, until it is on disk.
    end: Option<Event>,
}

/// An attempt that was started, as far as the log goes.
struct Flight {
    task: TaskId,
    name: Text,
    command: Command,
    asked: bool,
    handle: Option<tokio::task::Id>,
}

/// Verifiers at work.
struct Panel {
    /// The task; none for the plan.
    task: Option<TaskId>,
    command: Command,
    asked: bool,
    handle: tokio::task::Id,
}

impl Driver {
    fn new(plan: ValidPlan, options: &RunOptions, ports: Ports) -> Self {
        let Ports { mut log, files, runner, workspace, verifiers, clock, reporter, mut sources, calls } =
            ports;
        let (sender, notices) = mpsc::unbounded_channel();
        // The receiver is gone only when nobody listens any more.
        let post: Post = Arc::new(move |notice| drop(sender.send(notice)));
        log.connect(Arc::clone(&post));
        sources.iter_mut().for_each(|source| source.connect(Arc::clone(&post)));
        let context = Context {
            plan: plan.clone(),
            run: options.run.clone(),
            pack: options.pack.clone(),
            log_limit: options.log_limit,
            secrets: secrets(&plan, options.outer.as_ref()),
            files,
            runner,
            workspace,
            verifiers,
            clock: Arc::clone(&clock),
            schemas: attempt::Schemas::default(),
            calls,
            shared: attempt::call::Shared {
                version: options.version.clone(),
                kill_on_failure: options.kill_on_failure,
            },
            path: options.outer.as_ref().map(|outer| outer.path.clone()).unwrap_or_default(),
            within: options.outer.as_ref().map(|outer| outer.within.clone()),
        };
        let mut scheduler =
            Scheduler::new(plan, Options { jobs: options.jobs, kill_on_failure: options.kill_on_failure });
        if let Some(past) = &options.reuse {
            scheduler.reuse(Arc::clone(past));
        }
        let (tell, spoken) = mpsc::unbounded_channel();
        Self {
            scheduler,
            context: Arc::new(context),
            log,
            clock,
            reporter,
            notices,
            sources,
            _post: post,
            attempts: JoinSet::new(),
            flights: FxHashMap::default(),
            panels: FxHashMap::default(),
            spoken,
            tell,
            tokens: FxHashMap::default(),
            gates: options.gates.clone(),
            waiting: VecDeque::new(),
            seed: RandomState::new().hash_one(std::process::id()),
            signal: None,
            killed: false,
            alive: ALIVE,
            timer: None,
            ticks: ticks(),
            begins: false,
            end: None,
        }
    }

    /// From the first event of this sitting to its last.
    async fn sitting(&mut self, options: &RunOptions, past: Vec<Event>) -> Result<(), Trouble> {
        if past.is_empty() {
            self.record(RunStarted {
                run: options.run.clone(),
                plan: self.context.plan.name.clone(),
                log: VERSION,
                version: options.version.clone(),
            })?;
            self.record(options.admitted.clone())?;
        } else {
            let tokens = self.replay(past)?;
            self.context.runner.sweep(tokens).await;
            if self.scheduler.phase() == RunPhase::Admitted {
                // It was cut off before anything was decided.
                self.record(options.admitted.clone())?;
                return self.go_on().await;
            }
            match resumed(&self.context.plan, self.scheduler.history(), options) {
                Ok(Some(resumed)) => {
                    self.record(resumed)?;
                    for (task, question) in self.scheduler.questions() {
                        self.sources.iter_mut().for_each(|source| source.asked(&task, question));
                    }
                }
                // It has ended, and stays as it ended.
                Ok(None) => return Ok(()),
                Err(problem) => return Err(Trouble::Run(RunError::Resume(problem))),
            }
        }
        self.go_on().await
    }

    /// Folds the past in. Returns the tokens of what was cut off.
    fn replay(&mut self, past: Vec<Event>) -> Result<Vec<Text>, Trouble> {
        let mut tokens = FxHashMap::default();
        let mut open = FxHashSet::default();
        for event in &past {
            self.scheduler.apply(event)?;
            match &event.body {
                Body::AttemptStarted(body) => {
                    tokens.extend(body.token.clone().map(|token| (body.attempt, token)));
                    open.insert(body.attempt);
                }
                Body::AttemptEnded(body) => drop(open.remove(&body.attempt)),
                Body::RunStarted(_)
                | Body::PlanAdmitted(_)
                | Body::InstancesNamed(_)
                | Body::ReuseDecided(_)
                | Body::VerifierEnded(_)
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
                | Body::RunEnded(_) => {}
            }
        }
        let unverified: FxHashSet<u32> = self.scheduler.all_unverified().collect();
        let cut_off = |attempt: &u32| open.contains(attempt) || unverified.contains(attempt);
        let cut_off = tokens.iter().filter(|(attempt, _)| cut_off(attempt)).map(|(_, token)| token.clone());
        let gates =
            (!self.context.plan.gates.is_empty()).then(|| gates_token(&self.context.run, &self.context.pack));
        let cut_off = cut_off.chain(gates).collect();
        self.tokens = tokens;
        Ok(cut_off)
    }

    /// The loop.
    async fn go_on(&mut self) -> Result<(), Trouble> {
        loop {
            while let Some(action) = self.scheduler.due().filter(|_| !self.killed) {
                match action {
                    // Somebody is there who can still answer.
                    Action::Record(body) if waits(&body) && self.is_attended() => break,
                    Action::Record(body) => drop(self.record(self.without_secret_names(*body))?),
                    Action::Dispatch(dispatch) => self.dispatch(dispatch)?,
                    Action::Compare(compare) => self.compare(compare)?,
                }
            }
            self.seat_panels();
            self.end_what_must_end();
            self.start_what_may_start();
            if self.is_idle() && (self.killed || self.scheduler.is_over()) {
                return self.synced().await;
            }
            if std::mem::take(&mut self.begins) {
                // What can run runs before the next end is looked at: attempts that end together would go on
                // doing so, with nothing running while both are dealt with.
                tokio::task::yield_now().await;
            }
            match self.happens().await {
                Happened::Ended(ended) => self.ended(ended)?,
                Happened::Spoken(of, spoken) => self.spoken(of, spoken)?,
                Happened::Told(notice) => self.told(notice)?,
                Happened::Time => self.time_passed()?,
                Happened::Tick => {
                    let now = self.clock.now();
                    self.reporter.tick(self.scheduler.history(), now);
                }
            }
        }
    }

    /// An element's name is shown everywhere as it is: one that holds a secret is none, and its task fails.
    fn without_secret_names(&self, body: Body) -> Body {
        let Body::InstancesNamed(named) = &body else { return body };
        if self.context.secrets.is_empty() {
            return body;
        }
        let holds = |name: &Text| {
            let quoted = super::json::quoted(name);
            self.context.files.masked(&quoted).get() != quoted
        };
        let Some(at) = named.keys.iter().position(holds) else { return body };
        let note = compact_str::format_compact!(
            "element {at} of its list holds a secret, which would be the name of an instance: name the elements \
             with `key`"
        );
        let (task, status) = (named.task.clone(), Status::Fail);
        TaskSettled { task, status, note: Some(note), blocked: None, output: None }.into()
    }

    /// The one door: an event is appended, folded in and shown.
    fn record(&mut self, body: impl Into<Body>) -> Result<u64, Trouble> {
        let event = self.log.append(self.clock.utc(), self.clock.now(), body.into())?;
        let closes = self.closes(&event.body);
        self.scheduler.apply(&event)?;
        let seq = event.seq;
        if let Body::RunEnded(_) = event.body {
            // Nobody is told how the run ended before that is on disk.
            self.end = Some(event);
            return Ok(seq);
        }
        self.reporter.event(&event, self.scheduler.history());
        if let Some(question) = closes {
            self.sources.iter_mut().for_each(|source| source.closed(question));
        }
        if let Body::GateAsked(body) = &event.body
            && let Some(question) =
                self.scheduler.history().row(&body.task).and_then(|row| row.asked.as_ref())
        {
            self.sources.iter_mut().for_each(|source| source.asked(&body.task, question));
        }
        Ok(seq)
    }

    /// The open question that `body` closes.
    fn closes(&self, body: &Body) -> Option<u64> {
        let task = match body {
            Body::GateAnswered(body) => &body.task,
            Body::TaskSettled(body) if self.scheduler.asks_people() => &body.task,
            Body::TaskSettled(_)
            | Body::ReuseDecided(_)
            | Body::RunStarted(_)
            | Body::PlanAdmitted(_)
            | Body::InstancesNamed(_)
            | Body::AttemptStarted(_)
            | Body::AttemptEnded(_)
            | Body::VerifierEnded(_)
            | Body::RetryScheduled(_)
            | Body::TimerFired(_)
            | Body::RoundStarted(_)
            | Body::NodeEntered(_)
            | Body::GateAsked(_)
            | Body::Warning(_)
            | Body::Halted(_)
            | Body::StopRequested(_)
            | Body::Interrupted(_)
            | Body::Alive(_)
            | Body::RunResumed(_)
            | Body::RunEnded(_) => return None,
        };
        Some(self.scheduler.history().row(task)?.asked.as_ref()?.number)
    }

    /// Whether an open question may yet be answered by somebody who is there.
    fn is_attended(&self) -> bool {
        self.sources.iter().any(|source| source.attends())
    }

    /// Whether time passes that counts: something is in flight, or a question is open that time answers.
    fn is_alive(&self) -> bool {
        !self.is_idle() || self.scheduler.asks_people()
    }

    /// Whether nothing is in flight.
    fn is_idle(&self) -> bool {
        self.flights.is_empty() && self.panels.is_empty()
    }

    /// Looks whether the result of another run holds here: by what both logs say, then by what the files
    /// hold that its command names.
    fn compare(&mut self, compare: Compare) -> Result<(), Trouble> {
        let Compare { task, element, name } = compare;
        let run = self.scheduler.reuses().cloned().unwrap_or_default();
        let found = self.scheduler.reusable(task, element.as_deref());
        let held =
            found.and_then(|ended| attempt::reuse::holds(&self.context, task, element.as_deref(), &ended));
        self.record(ReuseDecided { task: name, run, taken: held.is_ok(), why: held.err() })?;
        Ok(())
    }

    /// What an attempt that starts now may do with the plan that it calls.
    fn terms(&self, task: TaskId, name: &str) -> Terms {
        let history = self.scheduler.history();
        Terms {
            left: self.scheduler.left(task),
            jobs: self.scheduler.jobs_left(),
            caps: history.caps.clone(),
            keep_going: history.keep_going,
            cut: history.row(name).and_then(|row| row.cut),
        }
    }

    fn dispatch(&mut self, dispatch: Dispatch) -> Result<(), Trouble> {
        let Dispatch { task, element, name, attempt, nth, round, needs, ask_done, answered } = dispatch;
        let said = self.scheduler.history().row(&name).and_then(|row| row.answered.as_ref());
        let said = said.filter(|_| answered);
        let said = said.map(|said| Answered { by: said.by.clone(), result: said.result.clone() });
        let taken = self.scheduler.history().row(&name).is_some_and(Row::takes_over);
        let taken = taken.then(|| self.scheduler.reusable(task, element.as_deref()).ok()).flatten();
        let taken = taken.zip(self.scheduler.reuses().cloned());
        let call = self.context.plan.child(task).map(|_| self.terms(task, &name));
        let inputs = inputs(&self.scheduler, task, element.as_deref());
        let token = compact_str::format_compact!("{:016x}{attempt:x}", self.seed);
        if self.is_idle() {
            self.alive = Millis(self.clock.now().0 + ALIVE.0);
        }
        self.tokens.insert(attempt, token.clone());
        let started =
            AttemptStarted { attempt, task: name.clone(), nth, round, token: Some(token.clone()), answered };
        let seq = self.record(started)?;
        let needs = match self.context.plan[task].on_interrupt {
            OnInterrupt::Ask => seq,
            OnInterrupt::Rerun => needs,
        };
        let (command, orders) = attempt::orders();
        self.flights
            .insert(attempt, Flight { task, name: name.clone(), command, asked: false, handle: None });
        let job = Job {
            task,
            element,
            name,
            attempt,
            nth,
            round,
            token,
            ask_done,
            answered: said,
            inputs,
            call,
            taken,
        };
        if self.log.synced() >= needs {
            self.start(job, orders);
        } else {
            self.log.sync(needs);
            self.clock.hold(true);
            self.waiting.push_back((needs, job, orders));
        }
        Ok(())
    }

    fn start_what_may_start(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let synced = self.log.synced();
        for (needs, job, orders) in std::mem::take(&mut self.waiting) {
            if needs <= synced {
                self.clock.hold(false);
                self.start(job, orders);
            } else {
                self.waiting.push_back((needs, job, orders));
            }
        }
    }

    fn start(&mut self, job: Job, orders: Orders) {
        self.begins = true;
        let attempt = job.attempt;
        // In a place of its own: the event loop moves what it is given.
        let run = Box::pin(attempt::run(Arc::clone(&self.context), job, orders));
        let handle = self.attempts.spawn(async move { Landed::Attempt(Box::new(run.await)) });
        if let Some(flight) = self.flights.get_mut(&attempt) {
            flight.handle = Some(handle.id());
        }
    }

    /// Calls the verifiers that have to speak and are not at work yet.
    fn seat_panels(&mut self) {
        if self.killed {
            return;
        }
        let seated = |unverified: &Unverified| self.panels.contains_key(&Some(unverified.attempt));
        let unverified: Vec<_> = self.scheduler.unverified().filter(|one| !seated(one)).collect();
        for Unverified { task, element, name, attempt } in unverified {
            let Some(row) = self.scheduler.history().row(&name) else { continue };
            let last = row.last.as_deref();
            let silent = |check: &&ir::Verify| !row.verifiers.contains_key(&check.name.value);
            let checks: Vec<_> =
                self.context.plan[task].verify.iter().filter(silent).cloned().map(Arc::new).collect();
            let subject = Subject {
                of: Some((attempt, name)),
                task: self.context.plan[task].name.value.clone(),
                nth: row.attempts.max(1),
                round: row.round,
                token: self.tokens.get(&attempt).cloned().unwrap_or_default(),
                output: last.and_then(|last| last.output.clone()),
                files: last.and_then(|last| last.files.clone()),
                inputs: inputs::of_attempt(&self.scheduler, task, element.as_deref()),
                element,
            };
            self.seat(Some(task), subject, checks);
        }
        if self.panels.contains_key(&None) {
            return;
        }
        let gates: Vec<_> = self.scheduler.silent_gates().cloned().map(Arc::new).collect();
        if !gates.is_empty() {
            let round = self.scheduler.history().plan_round();
            let subject = Subject {
                of: None,
                task: Text::default(),
                element: None,
                nth: 1,
                round,
                token: gates_token(&self.context.run, &self.context.pack),
                output: None,
                files: None,
                inputs: inputs::of_gates(&self.scheduler),
            };
            self.seat(None, subject, gates);
        }
    }

    fn seat(&mut self, task: Option<TaskId>, subject: Subject, checks: Vec<Arc<ir::Verify>>) {
        if self.is_idle() {
            self.alive = Millis(self.clock.now().0 + ALIVE.0);
        }
        let (command, _) = attempt::orders();
        let checks = checks.into_iter().map(|check| (check, attempt::listen(&command))).collect();
        let key = subject.of.as_ref().map(|(attempt, _)| *attempt);
        let sitting = sit(Arc::clone(&self.context), subject, checks, self.tell.clone());
        let handle = self.attempts.spawn(async move {
            sitting.await;
            Landed::Panel(key)
        });
        self.panels.insert(key, Panel { task, command, asked: false, handle: handle.id() });
    }

    fn end_what_must_end(&mut self) {
        for panel in self.panels.values_mut().filter(|panel| !panel.asked) {
            let ends = match panel.task {
                Some(task) => self.scheduler.ends(task),
                None => self.scheduler.ends_gates(),
            };
            if let Some(by) = ends {
                panel.asked = true;
                let note = end_note(by, &self.scheduler, panel.task);
                // Fails only if all of them are done.
                let _ = panel.command.send(Some(Order::End { by, note }));
            }
        }
        for flight in self.flights.values_mut().filter(|flight| !flight.asked) {
            if let Some(by) = self.scheduler.ends(flight.task) {
                flight.asked = true;
                let note = end_note(by, &self.scheduler, Some(flight.task));
                // Fails only if the attempt has ended, and then its report is on its way.
                let _ = flight.command.send(Some(Order::End { by, note }));
            }
        }
    }

    async fn happens(&mut self) -> Happened {
        let next = self.next_time();
        if next != self.timer.as_ref().map(|(_, at)| *at) {
            self.timer = next.map(|at| (self.clock.until(at), at));
        }
        let alive = self.is_alive();
        // Signals and times come first: attempts that end all the time must not keep them waiting.
        tokio::select! {
            biased;
            Some(notice) = self.notices.recv() => Happened::Told(notice),
            _ = passed(&mut self.timer) => {
                self.timer = None;
                Happened::Time
            }
            // Before the end of those who said it.
            Some((of, spoken)) = self.spoken.recv() => Happened::Spoken(of, spoken),
            Some(ended) = self.attempts.join_next_with_id() => Happened::Ended(ended),
            _ = self.ticks.tick(), if alive => Happened::Tick,
        }
    }

    fn next_time(&self) -> Option<Millis> {
        let timer = self.scheduler.next_timer().filter(|_| !self.killed).map(|(at, _)| at);
        let alive = (self.is_alive() && !self.clock.jumps()).then_some(self.alive);
        timer.into_iter().chain(alive).min()
    }

    fn time_passed(&mut self) -> Result<(), Trouble> {
        let now = self.clock.now();
        if self.is_alive() && now >= self.alive {
            self.alive = Millis(now.0 + ALIVE.0);
            self.record(Alive {})?;
        }
        if let Some((at, fired)) = self.scheduler.next_timer().filter(|_| !self.killed)
            && now >= at
        {
            self.record(fired)?;
        }
        Ok(())
    }

    fn ended(&mut self, ended: Result<(tokio::task::Id, Landed), JoinError>) -> Result<(), Trouble> {
        let report = match ended {
            Ok((_, Landed::Attempt(report))) => report,
            Ok((_, Landed::Panel(of))) => {
                self.panels.remove(&of);
                return Ok(());
            }
            Err(error) => {
                let lost = self.flights.values().find(|flight| flight.handle == Some(error.id()));
                let panel = self.panels.values().find(|panel| panel.handle == error.id());
                let task = panel.and_then(|panel| panel.task).map(|task| &self.context.plan[task].name.value);
                let name = lost.map(|flight| &flight.name).or(task).cloned().unwrap_or_default();
                return Err(Trouble::Run(RunError::Lost(name)));
            }
        };
        self.flights.remove(&report.ended.attempt);
        for message in report.warnings {
            let task = Some(report.ended.task.clone());
            self.record(Warning { task, message: message.into() })?;
        }
        self.record(report.ended)?;
        Ok(())
    }

    /// A verifier has spoken.
    fn spoken(&mut self, of: Of, spoken: Spoken) -> Result<(), Trouble> {
        match spoken {
            Spoken::Verdict(verdict) => {
                self.record(verdict.event(of.attempt, of.round, self.gates.clone()))?
            }
            Spoken::Warning(message) => {
                self.record(Warning { task: of.attempt.map(|(_, task)| task), message })?
            }
        };
        Ok(())
    }

    fn told(&mut self, notice: Notice) -> Result<(), Trouble> {
        match notice {
            Notice::Synced(_) | Notice::Left => {}
            Notice::LogFailed(failed) => return Err(failed.into()),
            Notice::Signal(name) => self.signalled(name)?,
            Notice::Request(Request::Stop { by }) => drop(self.record(StopRequested { by })?),
            Notice::Request(request @ Request::Answer { .. }) => self.answered(request)?,
        }
        Ok(())
    }

    /// An answer counts if it is one of those to the question that is open.
    fn answered(&mut self, request: Request) -> Result<(), Trouble> {
        let Request::Answer { task, question, answer, by, result } = &request else { return Ok(()) };
        let history = self.scheduler.history();
        let refusal = answers::refusal(&self.context.plan, history, task, answer, result.as_ref());
        let asked = history.row(task).and_then(|row| row.asked.as_ref());
        let stale = || asked.is_none_or(|asked| asked.number != *question);
        let broken = || {
            let task = answers::vouched(&self.context.plan, history, task, answer)?;
            attempt::broken_promise(task, result.as_ref().map(|raw| raw.get()))
        };
        let refusal = refusal
            .or_else(|| stale().then(|| format!("the question that `{by}` answers is not open any more")))
            .or_else(broken);
        match refusal {
            Some(why) => {
                self.log.refused(&request);
                self.sources.iter_mut().for_each(|source| source.refused(*question, &why));
                let message = compact_str::format_compact!("an answer by {by} was refused: {why}");
                self.record(Warning { task: None, message })?;
            }
            None => {
                let Request::Answer { task, question, answer, by, result } = request else { return Ok(()) };
                self.record(GateAnswered { task, question, answer, by, result })?;
            }
        }
        Ok(())
    }

    /// The first signal stops dispatch and ends attempts; the second kills. A terminal that is closed may say so
    /// more than once: that is never the second.
    fn signalled(&mut self, name: Text) -> Result<(), Trouble> {
        if self.signal.is_none() {
            self.signal = Some(name.clone());
            self.record(Interrupted { by: name })?;
        } else if name != HANG_UP {
            self.kill();
        }
        Ok(())
    }

    fn kill(&mut self) {
        self.killed = true;
        let panels = self.panels.values().map(|panel| &panel.command);
        for command in self.flights.values().map(|flight| &flight.command).chain(panels) {
            let _ = command.send(Some(Order::Kill));
        }
    }

    /// Waits until all that was appended is on disk.
    async fn synced(&mut self) -> Result<(), Trouble> {
        let seq = self.scheduler.history().seq;
        self.log.sync(seq);
        while self.log.synced() < seq {
            match self.notices.recv().await {
                Some(Notice::LogFailed(failed)) => return Err(failed.into()),
                Some(Notice::Synced(_) | Notice::Signal(_) | Notice::Request(_) | Notice::Left) => {}
                None => return Ok(()),
            }
        }
        if let Some(end) = self.end.take() {
            self.reporter.event(&end, self.scheduler.history());
        }
        Ok(())
    }

    /// Ends what is in flight where the loop stopped early, and says how the sitting came out.
    async fn close(mut self, driven: Result<(), Trouble>) -> Result<Outcome, RunError> {
        let (log_failed, error) = match driven {
            Ok(()) => (None, None),
            Err(Trouble::Log(failed)) => (Some(failed), None),
            Err(Trouble::Run(error)) => (None, Some(error)),
        };
        if log_failed.is_some() || error.is_some() {
            self.end_unlogged().await;
        }
        match error {
            Some(error) => Err(error),
            None => {
                let mut history = self.scheduler.into_history();
                if log_failed.is_some() {
                    // An end that is not in the log is none.
                    history.ended = None;
                }
                Ok(Outcome { history, signal: self.signal, log_failed })
            }
        }
    }

    /// Ends attempts whose end nobody can write down any more.
    async fn end_unlogged(&mut self) {
        self.waiting.clear();
        let note = Text::const_new("the log cannot be written");
        let panels = self.panels.values().map(|panel| &panel.command);
        for command in self.flights.values().map(|flight| &flight.command).chain(panels) {
            let order = Order::End { by: EndedBy::Interruption, note: note.clone() };
            let _ = command.send(Some(order));
        }
        while !self.attempts.is_empty() {
            tokio::select! {
                biased;
                _ = self.attempts.join_next() => {}
                Some(Notice::Signal(name)) = self.notices.recv() => {
                    self.signal.get_or_insert(name);
                    self.kill();
                }
            }
        }
    }
}

/// Late ones are not made up for.
fn ticks() -> Interval {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// The event that opens another sitting; none where the run has ended.
fn resumed(plan: &ValidPlan, history: &History, options: &RunOptions) -> Result<Option<RunResumed>, String> {
    let PlanAdmitted { caps, ceilings, keep_going, .. } = options.admitted.clone();
    match resume::decide(
        plan,
        history,
        &resume::Request { from: options.from.clone(), caps, ceilings, keep_going },
    ) {
        resume::Decision::Reported => Ok(None),
        resume::Decision::Refused(why) => Err(why.join("; ")),
        resume::Decision::Resumes(resumed) => Ok(Some(resumed)),
    }
}

/// Whether `body` ends the sitting because only a person can move the run.
fn waits(body: &Body) -> bool {
    matches!(body, Body::RunEnded(end) if end.exit == Exit::Waiting)
}

/// The token that marks the processes of acceptance gates. No event names it, so that it is that of the run.
#[must_use]
pub fn gates_token(run: &str, pack: &Utf8Path) -> Text {
    let digest = blake3::hash(format!("{run}\n{pack}").as_bytes()).to_hex();
    digest[..24].into()
}

/// Every variable that some task lists in `secrets`, those of called and of calling plans included.
fn secrets(plan: &ValidPlan, outer: Option<&Outer>) -> Vec<Text> {
    let mut all = admission::secrets(plan);
    all.extend(outer.iter().flat_map(|outer| &outer.secrets).cloned());
    all.into_iter().collect()
}

/// Why an attempt was ended, as its note says it.
fn end_note(by: EndedBy, scheduler: &Scheduler, task: Option<TaskId>) -> Text {
    match by {
        EndedBy::TimeCeiling => match (scheduler.history().ceilings.time_ms, scheduler.kept_back(task)) {
            (Some(limit), None) => compact_str::format_compact!("ended by the time ceiling of {limit}"),
            (Some(limit), Some(kept)) => compact_str::format_compact!(
                "ended by the time ceiling of {limit}, of which {kept} are kept back"
            ),
            (None, _) => "ended when the time kept for clean-up was over".into(),
        },
        EndedBy::CostCeiling => "ended by the cost ceiling".into(),
        EndedBy::StepCeiling => "ended by the ceiling on attempts".into(),
        EndedBy::Stop => "ended by `plan stop`".into(),
        EndedBy::Failure => "ended because the run failed".into(),
        EndedBy::Interruption => "ended by a signal to the run".into(),
        EndedBy::Timeout => "timed out".into(),
        EndedBy::LogLimit => "printed too much".into(),
    }
}
