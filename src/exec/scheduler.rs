//! The pure state machine of a run: [`Scheduler::apply`] folds what happened, [`Scheduler::due`] says what
//! is owed now (EXECUTION §1).
//!
//! `apply` is the only writer; `due` decides from the state alone, by peeking at the queues that `apply`
//! keeps. No clock, no I/O, no randomness: time arrives in events. Why a task may run, and what a run comes
//! to, is decided in `readiness.rs`, `settle.rs`, `verdict.rs` and `budget.rs`.

mod effects;
mod look;
mod questions;
mod rebuild;
mod rest;
mod reviews;
mod spread;
mod timers;
mod verification;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;

pub use self::verification::Unverified;
use super::acceptance;
use super::admission::Runnable;
use super::budget::Limits;
use super::inputs::Cache;
use super::readiness::{self, Decision};
use super::reuse::{self, Past};
use super::rounds;
use super::settle;
use super::states::{self, On, Phase, RunOn, RunPhase, Then};
use super::units::{ByStage, Queue, TaskState, Unit};
use super::verdict;
use crate::event::{AttemptEnded, Body, Ceilings, Event, Exit, Timer, TimerFired, Warning};
use crate::history::{History, Mismatch};
use crate::ir::{Bodies, Millis, Stage, TaskId, Usd};
use crate::source::Text;
use crate::validate::ValidPlan;

/// What the operator chose for this sitting, and no event records.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many attempts may be in flight; at least one.
    pub jobs: usize,
    /// Whether a required failure ends what is in flight.
    pub kill_on_failure: bool,
}

/// What is owed now.
#[derive(Clone, Debug)]
pub enum Action {
    /// A decision: append it and apply it.
    Record(Box<Body>),
    /// Append `attempt_started`, apply it, and start the attempt once what it needs is on disk.
    Dispatch(Dispatch),
    /// Look whether the result of another run holds here, and append what was decided.
    Compare(Compare),
}

/// A task, or an instance, that may take over the result of another run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compare {
    /// The task.
    pub task: TaskId,
    /// The element of an instance.
    pub element: Option<Text>,
    /// The name of the task or instance.
    pub name: Text,
}

/// An attempt to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The task.
    pub task: TaskId,
    /// The element of an instance.
    pub element: Option<Text>,
    /// The name of the task or instance.
    pub name: Text,
    /// The attempt's number.
    pub attempt: u32,
    /// Which attempt of this task in this round, from 1.
    pub nth: u32,
    /// The round, from 1.
    pub round: u32,
    /// Up to which event everything has to be on disk before it starts.
    pub needs: u64,
    /// Whether `done_when` is asked first.
    pub ask_done: bool,
    /// Whether nothing runs, because a person said that it had passed when it was interrupted.
    pub answered: bool,
}

/// Counters that decisions read, so that none has to look at the whole plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Attempts in flight.
    pub(super) running: ByStage<usize>,
    /// Whole tasks that are not terminal.
    pub(super) unsettled: ByStage<usize>,
    /// Whose questions are open.
    pub(super) asking: BTreeSet<Unit>,
    /// Those of them that time answers, and when it does: in time of the whole run.
    pub(super) deadlines: BTreeSet<(Millis, Unit)>,
    /// Required main tasks that settled without holding.
    pub(super) failures: usize,
    /// The first of them.
    pub(super) first_failure: Option<(u64, TaskId)>,
    /// A main task that declared `complete`.
    pub(super) completion: Option<TaskId>,
    /// The ceiling that a called plan has reached.
    pub(super) called: Option<Exit>,
    /// Money that attempts in flight have reserved.
    pub(super) reserved: Usd,
    /// Money that `always` tasks spent.
    pub(super) cleanup: Usd,
}

/// The state of a run, and what is owed in it.
#[derive(Debug)]
pub struct Scheduler {
    pub(super) plan: ValidPlan,
    pub(super) options: Options,
    pub(super) history: History,
    pub(super) run: RunPhase,
    pub(super) tasks: Vec<TaskState>,
    pub(super) queues: ByStage<Queue>,
    pub(super) tally: Tally,
    pub(super) limits: Limits,
    pub(super) runnable: Runnable,
    /// Which required main tasks cannot run here, while nothing was dispatched.
    pub(super) gap: Option<Text>,
    /// Attempts that passed and whose verifiers have not all spoken.
    verify: BTreeSet<Unit>,
    /// Whether acceptance gates were asked and have not all spoken.
    asking_gates: bool,
    /// Attempts that ended and from which something has to follow.
    judge: BTreeSet<Unit>,
    /// Mapped tasks all of whose instances are terminal.
    folds: BTreeSet<Unit>,
    bodies: Bodies,
    /// Reviewers that have sent their bodies back, and whose round has not begun.
    sent_back: BTreeSet<TaskId>,
    /// The first cause behind each blocked unit.
    pub(super) causes: FxHashMap<Unit, Unit>,
    /// Warnings to record.
    notices: VecDeque<Warning>,
    /// Whether the main graph has come to rest, and the event at which it did.
    pub(super) rest: Option<u64>,
    /// From when clean-up has to keep to the reserve.
    pub(super) cleanup_since: Option<Millis>,
    epilogue: Vec<TaskId>,
    pub(super) cache: Cache,
    /// The run whose results may be taken over.
    pub(super) past: Option<Arc<Past>>,
}

impl Scheduler {
    /// The run of `plan` before its first event.
    #[must_use]
    pub fn new(plan: ValidPlan, options: Options) -> Self {
        let names = plan.tasks.iter().map(|task| task.name.value.clone());
        let history = History::of(plan.name.clone(), names);
        let epilogue = plan.ids().filter(|&id| plan[id].stage == Stage::Epilogue).collect();
        let cache = Cache::new(&plan);
        let bodies = Bodies::new(&plan, plan.graph());
        Self {
            options: Options { jobs: options.jobs.max(1), ..options },
            history,
            run: RunPhase::default(),
            tasks: vec![TaskState::default(); plan.tasks.len()],
            queues: ByStage::default(),
            tally: Tally::default(),
            limits: Limits::default(),
            runnable: Runnable::default(),
            gap: None,
            verify: BTreeSet::new(),
            asking_gates: false,
            judge: BTreeSet::new(),
            folds: BTreeSet::new(),
            bodies,
            sent_back: BTreeSet::new(),
            causes: FxHashMap::default(),
            notices: VecDeque::new(),
            rest: None,
            cleanup_since: None,
            epilogue,
            cache,
            past: None,
            plan,
        }
    }

    /// Lets results of another run be taken over, where they hold.
    pub fn reuse(&mut self, past: Arc<Past>) {
        self.past = Some(past);
    }

    /// The run whose results may be taken over.
    pub(super) fn reuses(&self) -> Option<&Text> {
        self.past.as_ref().map(|past| &past.run)
    }

    /// What that run has for a task or an instance.
    ///
    /// # Errors
    /// Why that does not hold here, as one clause.
    pub(super) fn reusable(&self, task: TaskId, element: Option<&str>) -> Result<Arc<AttemptEnded>, Text> {
        reuse::result(self, task, element)
    }

    /// The plan that runs.
    #[must_use]
    pub fn plan(&self) -> &ValidPlan {
        &self.plan
    }

    /// What happened so far.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// What happened, once nothing more is to be decided.
    #[must_use]
    pub fn into_history(self) -> History {
        self.history
    }

    /// Where the run stands.
    #[must_use]
    pub fn phase(&self) -> RunPhase {
        self.run
    }

    /// Whether this sitting is over: the run ended or waits for a person, or it was interrupted and nothing
    /// is left to clean up.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match self.run {
            RunPhase::Ended | RunPhase::Waiting => true,
            RunPhase::Interrupted => {
                self.in_flight() == 0
                    && self.unverified().next().is_none()
                    && self.next_timer().is_none()
                    && self.due().is_none()
            }
            RunPhase::Admitted | RunPhase::Dispatching | RunPhase::Draining | RunPhase::Concluding => false,
        }
    }

    /// What is owed now, if anything.
    #[must_use]
    pub fn due(&self) -> Option<Action> {
        match self.run {
            RunPhase::Admitted | RunPhase::Waiting | RunPhase::Ended => return None,
            RunPhase::Dispatching | RunPhase::Draining | RunPhase::Concluding | RunPhase::Interrupted => {}
        }
        if let Some(warning) = self.notices.front() {
            return Some(Action::Record(Box::new(warning.clone().into())));
        }
        if let Some(halted) = verdict::halt(self) {
            return Some(Action::Record(Box::new(halted.into())));
        }
        if self.history.halted.is_none()
            && self.history.interrupted.is_none()
            && let Some(body) = acceptance::follows(self).filter(|_| acceptance::settled(self))
        {
            return Some(Action::Record(Box::new(body)));
        }
        if let Some(body) = rounds::due(self) {
            return Some(Action::Record(Box::new(body)));
        }
        let judged = || self.judge.iter().find_map(|&unit| settle::judge(self, unit));
        let folded = || self.folds.first().map(|&unit| settle::fold(self, unit));
        let given_up = || settle::give_up(self).or_else(|| self.timed_out());
        if let Some(body) = judged().or_else(folded).or_else(given_up) {
            return Some(Action::Record(Box::new(body)));
        }
        self.consider().or_else(|| verdict::end(self).map(|body| Action::Record(Box::new(body))))
    }

    /// The first of what is ready, if it may be considered (EXECUTION §4).
    fn consider(&self) -> Option<Action> {
        let mut full = false;
        for stage in [Stage::Main, Stage::Epilogue] {
            let queue = self.queues.of(stage);
            let early = (stage == Stage::Main && self.concluded()).then(|| queue.first_cut_off());
            let heads = queue.heads().filter(|_| early.is_none()).chain(early.flatten());
            let mut heads = heads.filter(|_| self.considers(stage)).peekable();
            // Who waits for money keeps nobody behind from what needs less.
            let mut beside: Option<Unit> = None;
            loop {
                let unit = match (heads.peek().copied(), beside) {
                    (Some(head), Some(other)) if other < head => beside.take().unwrap_or(head),
                    (Some(head), _) => {
                        heads.next();
                        head
                    }
                    (None, Some(other)) => {
                        beside = None;
                        other
                    }
                    (None, None) => break,
                };
                if full && readiness::is_attempt(self, unit) {
                    continue;
                }
                match readiness::consider(self, unit) {
                    Decision::Record(body) => return Some(Action::Record(body)),
                    Decision::Dispatch => return Some(Action::Dispatch(self.dispatch(unit))),
                    Decision::Compare => {
                        let element = unit.index().map(|_| self.row(unit).name.clone());
                        let compare = Compare { task: self.id(unit), element, name: self.name(unit) };
                        return Some(Action::Compare(compare));
                    }
                    Decision::NoSlot => full = true,
                    Decision::NoMoney => beside = queue.next_priced(unit),
                }
            }
        }
        None
    }

    /// Whether pending tasks of `stage` are looked at at all.
    fn considers(&self, stage: Stage) -> bool {
        match stage {
            Stage::Main => self.history.interrupted.is_none(),
            Stage::Epilogue => self.rest.is_some(),
        }
    }

    /// Whether the run ended early and well: what never ran stays as it is.
    pub(super) fn concluded(&self) -> bool {
        self.history.halted.as_ref().is_some_and(|halted| halted.exit == Exit::Concluded)
    }

    fn dispatch(&self, unit: Unit) -> Dispatch {
        let (id, task) = (self.id(unit), self.task(unit));
        let row = self.row(unit);
        Dispatch {
            task: id,
            element: unit.index().map(|_| row.name.clone()),
            name: self.name(unit),
            attempt: self.history.last_attempt + 1,
            nth: row.attempts + 1,
            round: row.round,
            needs: readiness::needs(self, unit),
            ask_done: task.done_when.is_some()
                && row.round == 1
                && !row.not_done
                && !self.tasks[id.index()].rewound,
            answered: readiness::is_answered(self, unit),
        }
    }

    /// Whether one more attempt may be in flight. With one job a wait before another attempt keeps the slot,
    /// so that the order is the declaration-stable one exactly.
    pub(super) fn has_free_slot(&self) -> bool {
        let waits = |stage| self.queues.of(stage).waiting_count();
        let held = if self.options.jobs == 1 { waits(Stage::Main) + waits(Stage::Epilogue) } else { 0 };
        self.in_flight() + self.verify.len() + held < self.options.jobs
    }

    /// How many attempts a plan may have in flight that an attempt calls which starts now.
    pub(super) fn jobs_left(&self) -> usize {
        self.options.jobs.saturating_sub(self.in_flight() + self.verify.len()).max(1)
    }

    /// What of the ceilings is left for an attempt of `task` that starts now, itself not counted.
    pub(super) fn left(&self, task: TaskId) -> Ceilings {
        self.limits.left(&self.used(), self.tally.reserved, self.plan[task].always.value)
    }

    /// How many attempts are in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.tally.running.of(Stage::Main) + self.tally.running.of(Stage::Epilogue)
    }

    /// Folds one event in. The only writer of the state.
    ///
    /// # Errors
    /// If the event names a task that the plan does not have, or is a step that no table allows.
    pub fn apply(&mut self, event: &Event) -> Result<(), Mismatch> {
        let mut step = None;
        match &event.body {
            Body::RunStarted(_) => self.walk(RunOn::Started)?,
            Body::PlanAdmitted(_) => self.walk(RunOn::Admitted)?,
            Body::InstancesNamed(body) => step = Some(self.step(&body.task, On::Named)?),
            Body::AttemptStarted(body) => step = Some(self.step(&body.task, On::Started)?),
            Body::AttemptEnded(body) => {
                step = Some(self.step(&body.task, self.ended(body))?);
            }
            Body::VerifierEnded(body) => {
                if let Some(task) = &body.task {
                    step = Some(self.step(task, self.verified(task, body))?);
                }
            }
            Body::RetryScheduled(body) => step = Some(self.step(&body.task, On::RetryScheduled)?),
            Body::TimerFired(TimerFired { timer: Timer::Retry, task: Some(task) }) => {
                step = Some(self.step(task, On::RetryDue)?);
            }
            Body::TaskSettled(body) => step = Some(self.step(&body.task, self.settles(body))?),
            Body::GateAsked(body) => step = Some(self.step(&body.task, On::Asked)?),
            Body::GateAnswered(body) => {
                self.answers(body)?;
                step = Some(self.step(&body.task, On::Answered)?);
            }
            Body::Halted(_) => self.walk(RunOn::Halted)?,
            Body::Interrupted(_) => self.walk(RunOn::Interrupted)?,
            Body::RunResumed(body) => {
                let open = body.reopened || body.from.is_some();
                let on = match self.history.halted {
                    _ if open => RunOn::Reopened,
                    Some(_) => RunOn::ResumedHalted,
                    None => RunOn::Resumed,
                };
                self.walk(on)?;
                body.again.iter().try_for_each(|name| self.can_start_over(name))?;
                body.unheard.iter().try_for_each(|name| self.step(name, On::Unheard).map(drop))?;
            }
            Body::RunEnded(body) => {
                self.walk(if body.exit == Exit::Waiting { RunOn::Waits } else { RunOn::Ended })?;
            }
            Body::RoundStarted(body) => self.can_go_back(body.tasks.iter().chain(&body.reviewer))?,
            Body::NodeEntered(_) => {
                let message = format!("`{}` is an event that this version cannot replay", event.body.kind());
                return Err(Mismatch { message });
            }
            Body::ReuseDecided(body) => drop(self.locate(&body.task)?),
            Body::TimerFired(_) | Body::Warning(_) | Body::StopRequested(_) | Body::Alive(_) => {}
        }
        let spent_before = self.history.spent;
        let interrupted = self.history.interrupted.is_some();
        self.history.apply(event)?;
        if let Some((unit, phase, then)) = step {
            *self.phase_mut(unit) = phase;
            for &then in then {
                self.then(unit, then, event)?;
            }
        }
        match &event.body {
            Body::PlanAdmitted(_) | Body::RunResumed(_) => self.rebuild()?,
            Body::RoundStarted(body) => match &body.reviewer {
                Some(reviewer) => self.begin_round(reviewer, &body.tasks)?,
                None => self.rebuild()?,
            },
            Body::AttemptEnded(body) => self.attempt_ended(body, spent_before),
            Body::TimerFired(TimerFired { timer: Timer::Ceiling, .. }) if verdict::decided(self) => {
                if let Some(ceiling) = self.limits.time_up(&self.used()) {
                    self.too_late(&ceiling.to_string());
                }
            }
            Body::Warning(body) if self.is_noticed(body) => drop(self.notices.pop_front()),
            Body::StopRequested(_) if self.rest.is_some() => self.cleanup_since = Some(event.t),
            Body::Halted(_) => {
                if interrupted {
                    self.rebuild()?; // Nothing is in flight, and what did not matter to clean-up does again.
                }
                self.end_reviews(Stage::Main, event)?;
            }
            Body::Interrupted(_) => {
                self.end_reviews(Stage::Epilogue, event)?;
                self.only_cleanup(event.t);
            }
            Body::RunStarted(_)
            | Body::InstancesNamed(_)
            | Body::ReuseDecided(_)
            | Body::AttemptStarted(_)
            | Body::VerifierEnded(_)
            | Body::RetryScheduled(_)
            | Body::TimerFired(_)
            | Body::TaskSettled(_)
            | Body::NodeEntered(_)
            | Body::GateAsked(_)
            | Body::GateAnswered(_)
            | Body::Warning(_)
            | Body::StopRequested(_)
            | Body::Alive(_)
            | Body::RunEnded(_) => {}
        }
        self.look_at_gates();
        self.come_to_rest(event.t)
    }

    /// Whether this warning is the one that was due.
    fn is_noticed(&self, warning: &Warning) -> bool {
        let due = self.notices.front().map(|due| (&due.task, &due.message));
        due == Some((&warning.task, &warning.message))
    }

    fn step(&self, name: &str, on: On) -> Result<(Unit, Phase, &'static [Then]), Mismatch> {
        let unit = self.locate(name)?;
        let phase = self.phase_of(unit);
        let Some((to, then)) = states::task_step(phase, on) else {
            let message = format!("`{name}` is {phase:?}, and the log says {on:?}, which no task does then");
            return Err(Mismatch { message });
        };
        Ok((unit, to, then))
    }

    /// A task that a resumed run makes pending again: what was in flight or waited is cut off first.
    fn can_start_over(&self, name: &str) -> Result<(), Mismatch> {
        let unit = self.locate(name)?;
        let phase = self.phase_of(unit);
        let cut = states::task_step(phase, On::CutOff).map_or(phase, |(cut, _)| cut);
        match states::task_step(cut, On::Again) {
            Some(_) => Ok(()),
            None => {
                let message = format!("`{name}` is {phase:?}, and the log makes it pending again");
                Err(Mismatch { message })
            }
        }
    }

    fn locate(&self, name: &str) -> Result<Unit, Mismatch> {
        let Some((task, index)) = self.history.locate(name) else {
            let message = format!("the log names the task `{name}`, which the plan lacks");
            return Err(Mismatch { message });
        };
        Ok(Unit::part(self.plan.graph().position(TaskId::from(task)), index))
    }

    fn walk(&mut self, on: RunOn) -> Result<(), Mismatch> {
        let Some(to) = states::run_step(self.run, on) else {
            let message =
                format!("the run is {:?}, and the log says {on:?}, which no run does then", self.run);
            return Err(Mismatch { message });
        };
        self.run = to;
        Ok(())
    }
}
