//! One attempt of a `call` task: another plan runs as a run of its own, below that of its caller.
//!
//! Its verdict is the task's, and what it spends is the attempt's. Where its log and files are kept is the
//! business of the port; what happens in it is decided as in any run.

use std::sync::{Arc, Mutex, PoisonError};

use super::grade::Graded;
use super::watch::Stopped;
use super::{Context, Job, Order, Orders, Report, finish, json, keep_own, refused, reuse, stopped};
use crate::event::{Ceilings, EndedBy, Event, Exit, Grade, PlanAdmitted, Verdict};
use crate::exec::driver::{self, Outcome, Outer, RunError, RunOptions};
use crate::exec::ports::{
    Boxed, Called, Calling, Clock, Fingerprints, Notice, Ports, Post, Reporter, Request, Source,
};
use crate::exec::readiness::came_out as phrase;
use crate::history::{Cut, History, directory};
use crate::ir::{Kind, Millis, Task, Usd};
use crate::source::Text;
use crate::validate::ValidPlan;

/// What an attempt may do with the plan that it calls.
#[derive(Clone, Debug)]
pub(in crate::exec) struct Terms {
    /// What of the run's ceilings is left.
    pub left: Ceilings,
    /// How many attempts may be in flight.
    pub jobs: usize,
    /// The capabilities that the machine declares.
    pub caps: Vec<Text>,
    /// Whether the operator asked to go on after a required failure.
    pub keep_going: bool,
    /// Earlier attempts that were ended before the called plan was done.
    pub cut: Option<Cut>,
}

/// What of the operator's choices called plans share.
#[derive(Clone, Debug, Default)]
pub(in crate::exec) struct Shared {
    /// The program's version.
    pub version: Text,
    /// Whether a required failure ends what is in flight.
    pub kill_on_failure: bool,
}

/// Runs the plan, or goes on with it.
pub(super) async fn make(
    context: &Context,
    job: &Job,
    before: Arc<Fingerprints>,
    mut report: Report,
    mut orders: Orders,
) -> Report {
    let task = &context.plan[job.task];
    let (Some(plan), Some(terms), Kind::Call(call)) = (context.plan.child(job.task), &job.call, &task.kind)
    else {
        return refused(report, Grade::Blocked, "the plan that it calls is not there".to_owned());
    };
    let name = name(task, job);
    let limits = Limits::new(plan, terms, task.max_usd.map(|most| most.value));
    let path = call.plan.value.as_str();
    let calling =
        Calling { name: &name, resumes: terms.cut.is_some(), plan, path, ceilings: limits.ceilings };
    let Called { run, gates, log, files, calls, past, over } = match context.calls.open(&calling) {
        Ok(called) => called,
        Err(why) => return refused(report, Grade::Transport, why),
    };
    report.ended.call = Some(compact_str::format_compact!("calls/{name}"));
    let named = reuse::before(context, job);
    let relay = Relay::default();
    let started = context.clock.now();
    let ports = Ports {
        log,
        files,
        runner: Arc::clone(&context.runner),
        workspace: Arc::clone(&context.workspace),
        verifiers: Arc::clone(&context.verifiers),
        clock: Arc::new(Since { clock: Arc::clone(&context.clock), from: started }),
        reporter: Box::new(Silent),
        sources: vec![Box::new(relay.clone())],
        calls,
    };
    let options = options(context, job, plan, terms, limits.after(plan, &past), run, gates);
    let mut running = driver::nested(plan.clone(), options, ports, past);
    let timeout = task.timeout.map(|timeout| timeout.value);
    let mut timer: Boxed<'static, ()> = match timeout {
        Some(limit) => context.clock.until(Millis(started.0.saturating_add(limit.0))),
        None => Box::pin(std::future::pending()),
    };
    let mut stop: Option<Stopped> = None;
    let outcome = loop {
        tokio::select! {
            biased;
            outcome = &mut running => break outcome,
            order = orders.next() => relay.order(order, &mut stop),
            () = &mut timer, if stop.is_none() => {
                let note = format!("timed out after {}", timeout.unwrap_or_default());
                stop = Some(Stopped { by: EndedBy::Timeout, note });
                relay.post(Notice::Request(Request::Stop { by: None }));
            }
        }
    };
    report.ended.reads = reuse::reads(context, named);
    report.ended.duration_ms = Millis(context.clock.now().0.saturating_sub(started.0));
    if let Ok(outcome) = &outcome {
        let cut = terms.cut.map_or((Usd::ZERO, 0), |cut| (cut.spent, cut.steps));
        report.ended.cost_usd = outcome.history.spent.minus(cut.0);
        report.ended.steps = outcome.history.steps.saturating_sub(cut.1);
        over(&outcome.history);
    }
    let came = came_out(plan, outcome, &limits, stop);
    let graded = |grade, note: Option<String>, history: Option<&History>| Graded {
        grade,
        note,
        output: history.map(|history| result(plan, history)),
        absent: None,
    };
    match came {
        Came::Passed(history) => {
            finish(context, job, report, graded(Grade::Pass, None, Some(&history)), before).await
        }
        Came::Failed { why, ended_by, history } => {
            report.ended.ended_by = ended_by;
            let why = format!("{why} (calls/{name})");
            let history = history.as_ref().filter(|history| has_result(plan, history));
            finish(context, job, report, graded(Grade::Fail, Some(why), history), before).await
        }
        Came::Stopped(stop) => {
            let mut report = stopped(report, graded(Grade::Fail, None, None), stop);
            if report.ended.grade == Grade::Fail {
                keep_own(context, job, &before, &mut report).await;
            }
            report
        }
        Came::Lost(why) => refused(report, Grade::Transport, why),
    }
}

/// What the run of the called plan is called: the same for all attempts that go on with it, since those
/// that were interrupted are not counted.
fn name(task: &Task, job: &Job) -> Text {
    let mut name = directory(&task.name.value, job.element.as_deref());
    if job.round > 1 {
        name.push_str(&format!(".round{}", job.round));
    }
    if job.nth > 1 {
        name.push_str(&format!(".{}", job.nth));
    }
    name
}

/// How a sitting of the called plan is driven.
fn options(
    context: &Context,
    job: &Job,
    plan: &ValidPlan,
    terms: &Terms,
    ceilings: Ceilings,
    run: Text,
    gates: Text,
) -> RunOptions {
    RunOptions {
        run,
        version: context.shared.version.clone(),
        pack: context.pack.clone(),
        gates,
        admitted: PlanAdmitted {
            tasks: plan.tasks.len() as u64,
            caps: terms.caps.clone(),
            ceilings,
            keep_going: terms.keep_going,
        },
        jobs: terms.jobs,
        kill_on_failure: context.shared.kill_on_failure,
        log_limit: context.log_limit,
        from: None,
        reuse: None,
        outer: Some(Outer {
            within: context.inner(&job.token),
            secrets: context.secrets.clone(),
            path: context.outside(&compact_str::format_compact!("{}/", job.name)),
        }),
    }
}

/// The ceilings of a called plan, and which of them are those of its caller's run.
struct Limits {
    ceilings: Ceilings,
    usd: bool,
    time: bool,
    steps: bool,
}

impl Limits {
    /// The lower of what is left and of the plan's own budget. What earlier sittings of it spent is not left
    /// any more, and counts in it all the same.
    fn new(plan: &ValidPlan, terms: &Terms, most: Option<Usd>) -> Self {
        let budget = &plan.header.budget;
        let (spent, steps) = terms.cut.map_or((Usd::ZERO, 0), |cut| (cut.spent, cut.steps));
        let own = budget.usd.map(|usd| usd.value);
        let own = own.into_iter().chain(most.map(|most| most.plus(spent))).min();
        let (usd, usd_left) = lower(terms.left.usd.map(|left| left.plus(spent)), own);
        let (time_ms, time_left) = lower(terms.left.time_ms, budget.time.map(|time| time.value));
        let left = terms.left.steps.map(|left| left + steps);
        let (steps, steps_left) = lower(left, budget.steps.map(|steps| steps.value));
        Self { ceilings: Ceilings { usd, time_ms, steps }, usd: usd_left, time: time_left, steps: steps_left }
    }

    /// The ceilings of a run in which this has happened: what it took before is no part of what is left.
    fn after(&self, plan: &ValidPlan, past: &[Event]) -> Ceilings {
        let mut history = history(plan);
        let fits = past.iter().all(|event| history.apply(event).is_ok());
        let time_ms = match self.ceilings.time_ms {
            // What does not fit is refused when it is taken up.
            Some(time) if fits && self.time => Some(Millis(time.0.saturating_add(history.elapsed().0))),
            time => time,
        };
        Ceilings { time_ms, ..self.ceilings }
    }

    /// Whether, and how, a called plan that ended so has reached a ceiling of its caller's run.
    fn reached(&self, exit: Exit) -> Option<EndedBy> {
        match exit {
            Exit::CostCeiling => self.usd.then_some(EndedBy::CostCeiling),
            Exit::TimeCeiling => self.time.then_some(EndedBy::TimeCeiling),
            Exit::StepCeiling => self.steps.then_some(EndedBy::StepCeiling),
            Exit::Completed
            | Exit::Concluded
            | Exit::Failed
            | Exit::Unaccepted
            | Exit::Truncated
            | Exit::Stopped
            | Exit::Waiting
            | Exit::Stuck => None,
        }
    }
}

/// The lower one, and whether it is the first.
fn lower<T: Ord + Copy>(left: Option<T>, own: Option<T>) -> (Option<T>, bool) {
    match (left, own) {
        (Some(left), Some(own)) if own < left => (Some(own), false),
        (Some(left), _) => (Some(left), true),
        (None, own) => (own, false),
    }
}

fn history(plan: &ValidPlan) -> History {
    History::of(plan.name.clone(), plan.tasks.iter().map(|task| task.name.value.clone()))
}

/// What a sitting of the called plan comes to for the attempt.
enum Came {
    Passed(History),
    Failed {
        why: String,
        ended_by: Option<EndedBy>,
        history: Option<History>,
    },
    /// We ended it.
    Stopped(Stopped),
    /// It could not be carried out.
    Lost(String),
}

fn came_out(
    plan: &ValidPlan,
    outcome: Result<Outcome, RunError>,
    limits: &Limits,
    stop: Option<Stopped>,
) -> Came {
    let failed = |why| Came::Failed { why, ended_by: None, history: None };
    let (history, log_failed) = match outcome {
        Ok(outcome) => (outcome.history, outcome.log_failed),
        Err(error) => return failed(format!("the plan that it calls cannot be run: {error}")),
    };
    if let Some(problem) = log_failed {
        return match stop {
            Some(stop) => Came::Stopped(stop),
            None => Came::Lost(format!("`{}` cannot be written: {}", problem.path, problem.cause)),
        };
    }
    let Some(ended) = history.ended.clone() else {
        let by = || Stopped { by: EndedBy::Interruption, note: "ended by a signal to the run".to_owned() };
        return Came::Stopped(stop.unwrap_or_else(by));
    };
    let why = why(plan, &history, ended.exit);
    match (ended.verdict, stop) {
        (Some(Verdict::Valid), _) => Came::Passed(history),
        // It had ended by itself before it was told to.
        (Some(Verdict::Invalid), Some(stop)) if ended.exit == Exit::Stopped => Came::Stopped(stop),
        (Some(Verdict::Invalid), _) => match limits.reached(ended.exit) {
            Some(by) => {
                let why = format!("`{}` has used up what was left under the run's ceilings", plan.name);
                Came::Failed { why, ended_by: Some(by), history: Some(history) }
            }
            None => Came::Failed { why, ended_by: None, history: Some(history) },
        },
        (None, _) => failed("the plan that it calls waits for a person's answer".to_owned()),
    }
}

/// Why a called plan failed: its exit, and the first cause.
fn why(plan: &ValidPlan, history: &History, exit: Exit) -> String {
    let halted = history.halted.as_ref();
    let note = halted.and_then(|halted| halted.note.as_deref());
    let task = halted.and_then(|halted| halted.task.as_deref());
    let status = task.and_then(|task| history.row(task)?.status());
    let what = match (task, status) {
        (Some(task), Some(status)) => format!("`{task}` of `{}` {}", plan.name, phrase(status)),
        (Some(task), None) => format!("`{}` ended `{}` because of `{task}`", plan.name, exit.as_str()),
        (None, _) => format!("`{}` ended `{}`", plan.name, exit.as_str()),
    };
    note.map_or(what.clone(), |note| format!("{what}: {note}"))
}

/// Whether the called plan has a result.
fn has_result(plan: &ValidPlan, history: &History) -> bool {
    plan.header.result.is_some_and(|task| history.rows[task.value.index()].output().is_some())
}

/// The result of a called plan; the empty object without one.
fn result(plan: &ValidPlan, history: &History) -> json::Object {
    let output = plan.header.result.and_then(|task| history.rows[task.value.index()].output());
    let object = output.and_then(|output| json::parse_object(output.get()).ok().flatten());
    object.unwrap_or_else(json::Object::empty)
}

/// A clock whose sitting begins later.
struct Since {
    clock: Arc<dyn Clock>,
    from: Millis,
}

impl Clock for Since {
    fn now(&self) -> Millis {
        Millis(self.clock.now().0.saturating_sub(self.from.0))
    }

    fn utc(&self) -> i64 {
        self.clock.utc()
    }

    fn until(&self, t: Millis) -> Boxed<'static, ()> {
        self.clock.until(Millis(t.0.saturating_add(self.from.0)))
    }

    fn busy(&self, busy: bool) {
        self.clock.busy(busy);
    }

    fn hold(&self, hold: bool) {
        self.clock.hold(hold);
    }

    fn jumps(&self) -> bool {
        self.clock.jumps()
    }
}

/// Passes on what is wanted of the called plan, as soon as it listens.
#[derive(Clone, Default)]
struct Relay(Arc<Mutex<Line>>);

#[derive(Default)]
struct Line {
    post: Option<Post>,
    /// What was wanted before it listened.
    early: Vec<Notice>,
    /// Whether it was told to end by a signal.
    signalled: bool,
}

impl Relay {
    fn line(&self) -> std::sync::MutexGuard<'_, Line> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post(&self, notice: Notice) {
        let mut line = self.line();
        line.signalled |= matches!(notice, Notice::Signal(_));
        match &line.post {
            Some(post) => post(notice),
            None => line.early.push(notice),
        }
    }

    fn signal(&self) {
        self.post(Notice::Signal(Text::const_new("TERM")));
    }

    /// Ends the called plan as an attempt would be ended. The first reason is the one that counts.
    fn order(&self, order: Order, stop: &mut Option<Stopped>) {
        match order {
            Order::End { by, note } => {
                match by {
                    EndedBy::Interruption => self.signal(),
                    EndedBy::Timeout
                    | EndedBy::TimeCeiling
                    | EndedBy::CostCeiling
                    | EndedBy::StepCeiling
                    | EndedBy::Stop
                    | EndedBy::Failure
                    | EndedBy::LogLimit => self.post(Notice::Request(Request::Stop { by: None })),
                }
                stop.get_or_insert_with(|| Stopped { by, note: note.to_string() });
            }
            Order::Kill => {
                if !self.line().signalled {
                    self.signal();
                }
                self.signal();
                let note = "ended by a second signal".to_owned();
                stop.get_or_insert(Stopped { by: EndedBy::Interruption, note });
            }
        }
    }
}

impl Source for Relay {
    fn connect(&mut self, post: Post) {
        let mut line = self.line();
        for notice in std::mem::take(&mut line.early) {
            post(notice);
        }
        line.post = Some(post);
    }
}

/// Shows nothing: to its caller's run a called plan is one task.
struct Silent;

impl Reporter for Silent {
    fn event(&mut self, _event: &Event, _history: &History) {}
}
