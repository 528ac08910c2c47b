//! The pure state machine of a run: [`Scheduler::apply`] folds what happened, [`Scheduler::due`] says what
//! is owed now (EXECUTION §1).
//!
//! `apply` is the only writer; `due` decides from the state alone, by peeking at the queues that `apply`
//! keeps. No clock, no I/O, no randomness: time arrives in events. Why a task may run, and what a run comes
//! to, is decided in `readiness.rs`, `settle.rs`, `verdict.rs` and `budget.rs`.

use std::collections::{BTreeSet, VecDeque};

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::admission::{self, Runnable};
use super::budget::{Limits, Used};
use super::fanout::{self, Produced, aligned};
use super::inputs::Cache;
use super::readiness::{self, Decision};
use super::settle;
use super::states::{self, On, Phase, RunOn, RunPhase, Then};
use super::units::{ByStage, Instance, Queue, Serial, Spread, TaskState, Unit};
use super::verdict;
use crate::event::{AttemptEnded, Body, EndedBy, Event, Exit, Grade, Status, Timer, TimerFired, Warning};
use crate::history::{History, Mismatch, Row, instance_name};
use crate::ir::{self, Isolation, Millis, Stage, Task, TaskId, Usd};
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
    Record(Body),
    /// Append `attempt_started`, apply it, and start the attempt once what it needs is on disk.
    Dispatch(Dispatch),
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
}

/// Counters that decisions read, so that none has to look at the whole plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Attempts in flight.
    pub(super) running: ByStage<usize>,
    /// Whole tasks that are not terminal.
    pub(super) unsettled: ByStage<usize>,
    /// Questions that are open.
    pub(super) asking: usize,
    /// Required main tasks that settled without holding.
    pub(super) failures: usize,
    /// The first of them.
    pub(super) first_failure: Option<(u64, TaskId)>,
    /// A main task that declared `complete`.
    pub(super) completion: Option<TaskId>,
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
    /// Attempts that ended and from which something has to follow.
    judge: BTreeSet<Unit>,
    /// Mapped tasks all of whose instances are terminal.
    folds: BTreeSet<Unit>,
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
}

impl Scheduler {
    /// The run of `plan` before its first event.
    #[must_use]
    pub fn new(plan: ValidPlan, options: Options) -> Self {
        let names = plan.tasks.iter().map(|task| task.name.value.clone());
        let history = History::of(plan.name.clone(), names);
        let epilogue = plan.ids().filter(|&id| plan[id].stage == Stage::Epilogue).collect();
        let cache = Cache::new(&plan);
        Self {
            options: Options { jobs: options.jobs.max(1), ..options },
            history,
            run: RunPhase::default(),
            tasks: vec![TaskState::default(); plan.tasks.len()],
            queues: ByStage::default(),
            tally: Tally::default(),
            limits: Limits::default(),
            runnable: Runnable::default(),
            judge: BTreeSet::new(),
            folds: BTreeSet::new(),
            causes: FxHashMap::default(),
            notices: VecDeque::new(),
            rest: None,
            cleanup_since: None,
            epilogue,
            cache,
            plan,
        }
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
                self.in_flight() == 0 && self.next_timer().is_none() && self.due().is_none()
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
            return Some(Action::Record(warning.clone().into()));
        }
        if let Some(halted) = verdict::halt(self) {
            return Some(Action::Record(halted.into()));
        }
        let judged = || self.judge.iter().find_map(|&unit| settle::judge(self, unit));
        let folded = || self.folds.first().map(|&unit| settle::fold(self, unit));
        if let Some(body) = judged().or_else(folded).or_else(|| settle::give_up(self)) {
            return Some(Action::Record(body));
        }
        self.consider().or_else(|| verdict::end(self).map(Action::Record))
    }

    /// The first of what is ready, if it may be considered (EXECUTION §4).
    fn consider(&self) -> Option<Action> {
        for stage in [Stage::Main, Stage::Epilogue] {
            if !self.considers(stage) {
                continue;
            }
            for unit in self.queues.of(stage).heads() {
                match readiness::consider(self, unit) {
                    Decision::Record(body) => return Some(Action::Record(*body)),
                    Decision::Dispatch => return Some(Action::Dispatch(self.dispatch(unit))),
                    Decision::NoSlot => return None,
                    Decision::NoMoney => {}
                }
            }
        }
        None
    }

    /// Whether pending tasks of `stage` are looked at at all.
    fn considers(&self, stage: Stage) -> bool {
        match stage {
            Stage::Main => self.history.interrupted.is_none() && !self.concluded(),
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
            ask_done: task.done_when.is_some() && row.round == 1 && !self.tasks[id.index()].rewound,
        }
    }

    /// Whether one more attempt may be in flight. With one job a wait before another attempt keeps the slot,
    /// so that the order is the declaration-stable one exactly.
    pub(super) fn has_free_slot(&self) -> bool {
        let waits = |stage| self.queues.of(stage).waiting_count();
        let held = if self.options.jobs == 1 { waits(Stage::Main) + waits(Stage::Epilogue) } else { 0 };
        self.in_flight() + held < self.options.jobs
    }

    /// How many attempts are in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.tally.running.of(Stage::Main) + self.tally.running.of(Stage::Epilogue)
    }

    /// Whether, and why, an attempt of `task` that is in flight has to be ended now.
    #[must_use]
    pub fn ends(&self, task: TaskId) -> Option<EndedBy> {
        let task = &self.plan[task];
        let used = self.used();
        let whole = self.limits.whole_time().is_some_and(|time| used.elapsed >= time);
        if whole || (task.always.value && self.reserve_is_up()) {
            return Some(EndedBy::TimeCeiling);
        }
        if task.always.value {
            return None;
        }
        let failed = || self.history.halted.as_ref().is_some_and(|halted| halted.exit == Exit::Failed);
        if self.history.interrupted.is_some() {
            Some(EndedBy::Interruption)
        } else if self.limits.time_up(&used).is_some() {
            Some(EndedBy::TimeCeiling)
        } else if self.history.stop_requested {
            Some(EndedBy::Stop)
        } else if self.options.kill_on_failure && task.stage == Stage::Main && failed() {
            Some(EndedBy::Failure)
        } else {
            None
        }
    }

    /// Until when, in time of this sitting, clean-up has to be done.
    fn cleanup_until(&self) -> Option<Millis> {
        self.cleanup_since.map(|since| Millis(since.0 + self.plan.header.reserve.time.0))
    }

    pub(super) fn reserve_is_up(&self) -> bool {
        self.cleanup_until().is_some_and(|until| self.history.t >= until)
    }

    /// The next time that the scheduler waits for, in time of this sitting, and the event that says that it
    /// has come.
    #[must_use]
    pub fn next_timer(&self) -> Option<(Millis, TimerFired)> {
        match self.run {
            RunPhase::Admitted | RunPhase::Waiting | RunPhase::Ended => return None,
            RunPhase::Dispatching | RunPhase::Draining | RunPhase::Concluding | RunPhase::Interrupted => {}
        }
        let interrupted = self.history.interrupted.is_some();
        let retry = [Stage::Main, Stage::Epilogue].into_iter().filter_map(|stage| {
            let mut waits = self.queues.of(stage).waiting();
            let (at, unit) = waits.find(|&(_, unit)| !interrupted || self.task(unit).always.value)?;
            Some((at, TimerFired { timer: Timer::Retry, task: Some(self.name(unit)) }))
        });
        let ceiling = |limit: Option<Millis>, timer| {
            let at = Millis(limit?.0.saturating_sub(self.history.elapsed_before.0));
            (self.history.t < at).then_some((at, TimerFired { timer, task: None }))
        };
        let main = ceiling(self.limits.time().filter(|_| !interrupted), Timer::Ceiling);
        let whole = self.limits.whole_time().filter(|&time| self.limits.time() != Some(time) || interrupted);
        let whole = ceiling(whole, Timer::Reserve);
        let reserve = self.cleanup_until().filter(|&until| self.history.t < until && self.in_flight() > 0);
        let reserve = reserve.map(|until| (until, TimerFired { timer: Timer::Reserve, task: None }));
        let whole = whole.filter(|_| self.in_flight() > 0);
        retry.chain(main).chain(whole).chain(reserve).min_by_key(|&(at, _)| at)
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
                let on = if body.grade == Grade::Interrupted { On::CutOff } else { On::AttemptEnded };
                step = Some(self.step(&body.task, on)?);
            }
            Body::VerifierEnded(body) => {
                if let Some(task) = &body.task {
                    step = Some(self.step(task, On::Verified)?);
                }
            }
            Body::RetryScheduled(body) => step = Some(self.step(&body.task, On::RetryScheduled)?),
            Body::TimerFired(TimerFired { timer: Timer::Retry, task: Some(task) }) => {
                step = Some(self.step(task, On::RetryDue)?);
            }
            Body::TaskSettled(body) => step = Some(self.step(&body.task, On::Settled)?),
            Body::GateAsked(body) => step = Some(self.step(&body.task, On::Asked)?),
            Body::GateAnswered(body) => step = Some(self.step(&body.task, On::Answered)?),
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
            }
            Body::RunEnded(body) => {
                self.walk(if body.exit == Exit::Waiting { RunOn::Waits } else { RunOn::Ended })?;
            }
            Body::RoundStarted(_) | Body::NodeEntered(_) => {
                let message = format!("`{}` is an event that this version cannot replay", event.body.kind());
                return Err(Mismatch { message });
            }
            Body::TimerFired(_) | Body::Warning(_) | Body::StopRequested(_) | Body::Alive(_) => {}
        }
        let spent_before = self.history.spent;
        self.history.apply(event)?;
        if let Some((unit, phase, then)) = step {
            *self.phase_mut(unit) = phase;
            for &then in then {
                self.then(unit, then, event)?;
            }
        }
        match &event.body {
            Body::PlanAdmitted(_) | Body::RunResumed(_) => self.rebuild()?,
            Body::AttemptEnded(body) => self.attempt_ended(body, spent_before),
            Body::TimerFired(TimerFired { timer: Timer::Ceiling, .. }) if verdict::decided(self) => {
                if let Some(ceiling) = self.limits.time_up(&self.used()) {
                    self.too_late(&ceiling.to_string());
                }
            }
            Body::Warning(body) => {
                if self
                    .notices
                    .front()
                    .is_some_and(|first| (&first.task, &first.message) == (&body.task, &body.message))
                {
                    self.notices.pop_front();
                }
            }
            Body::StopRequested(_) if self.rest.is_some() => self.cleanup_since = Some(event.t),
            Body::Interrupted(_) => self.only_cleanup(event.t),
            _ => {}
        }
        self.come_to_rest(event.t)
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

    fn then(&mut self, unit: Unit, then: Then, event: &Event) -> Result<(), Mismatch> {
        let stage = self.task(unit).stage;
        match then {
            Then::Queue => self.enqueue(unit),
            Then::Unqueue => self.queues.of_mut(stage).remove(unit),
            Then::TakeSlot => {
                *self.tally.running.of_mut(stage) += 1;
                self.tally.reserved = self.tally.reserved.plus(self.price(unit));
            }
            Then::FreeSlot => {
                *self.tally.running.of_mut(stage) -= 1;
                self.tally.reserved = self.tally.reserved.minus(self.price(unit));
                self.pass_turn(unit);
            }
            Then::Judge => {
                self.judge.insert(unit);
            }
            Then::Judged => {
                self.judge.remove(&unit);
            }
            Then::Wait => {
                if let Body::RetryScheduled(body) = &event.body {
                    let until = Millis(event.t.0 + body.after_ms.0);
                    *self.until_mut(unit) = until;
                    self.queues.of_mut(stage).wait(until, unit);
                }
            }
            Then::Unwait => {
                let until = *self.until_mut(unit);
                self.queues.of_mut(stage).unwait(until, unit);
            }
            Then::Ask => self.tally.asking += 1,
            Then::Unask => self.tally.asking -= 1,
            Then::Spread => self.spread(unit)?,
            Then::Tell => self.tell(unit),
        }
        Ok(())
    }

    fn price(&self, unit: Unit) -> Usd {
        self.task(unit).max_usd.map_or(Usd::ZERO, |most| most.value)
    }

    /// Into the queue, if it is pending with nothing left to wait for, and its stage is looked at.
    fn enqueue(&mut self, unit: Unit) {
        let (id, stage) = (self.id(unit), self.task(unit).stage);
        let open = match stage {
            Stage::Main => true,
            Stage::Epilogue => {
                self.rest.is_some() && (self.history.interrupted.is_none() || self.task(unit).always.value)
            }
        };
        let state = &mut self.tasks[id.index()];
        let (phase, unmet) = match unit.index() {
            None => (state.phase, state.unmet),
            Some(at) => state.spread.as_ref().map_or((Phase::Settled, 1), |spread| {
                let instance = &spread.units[at];
                (instance.phase, instance.unmet)
            }),
        };
        if !open || phase != Phase::Pending || unmet > 0 {
            return;
        }
        if unit.index().is_some()
            && let Some(serial) = state.spread.as_mut().and_then(|spread| spread.serial.as_mut())
        {
            serial.ready.insert(unit);
            self.next_turn(id);
            return;
        }
        self.push(unit);
    }

    fn push(&mut self, unit: Unit) {
        let (priced, again) = (self.task(unit).max_usd.is_some(), self.row(unit).attempts > 0);
        let stage = self.task(unit).stage;
        self.queues.of_mut(stage).push(unit, priced, again);
    }

    /// Of instances that run one at a time: the next one's turn, if nobody has it.
    fn next_turn(&mut self, id: TaskId) {
        let spread = self.tasks[id.index()].spread.as_mut();
        let Some(serial) = spread.and_then(|spread| spread.serial.as_mut()) else { return };
        if serial.turn.is_none()
            && let Some(unit) = serial.ready.pop_first()
        {
            serial.turn = Some(unit);
            self.push(unit);
        }
    }

    fn pass_turn(&mut self, unit: Unit) {
        let id = self.id(unit);
        let spread = self.tasks[id.index()].spread.as_mut();
        let Some(serial) = spread.and_then(|spread| spread.serial.as_mut()) else { return };
        if serial.turn == Some(unit) {
            serial.turn = None;
        }
        serial.ready.remove(&unit);
        self.next_turn(id);
    }

    /// `instances_named` has named the instances of a mapped task.
    fn spread(&mut self, unit: Unit) -> Result<(), Mismatch> {
        let id = self.id(unit);
        let spread = self.new_spread(unit)?;
        let count = spread.units.len();
        self.tasks[id.index()].spread = Some(spread);
        if count == 0 {
            self.folds.insert(unit);
        }
        for at in 0..count {
            self.enqueue(Unit::part(unit.position, Some(at)));
        }
        self.tell_aligned(id);
        Ok(())
    }

    fn new_spread(&self, unit: Unit) -> Result<Box<Spread>, Mismatch> {
        let (id, task) = (self.id(unit), self.task(unit));
        let produced = |producer| Produced::of(self.seen(producer, unit));
        let elements = fanout::elements(&self.plan, task, produced).map_err(|wrong| Mismatch {
            message: format!("the log names instances of `{}`, and {wrong}", task.name.value),
        })?;
        let row = &self.history.rows[id.index()];
        let named = row.instances.as_ref().map_or(0, IndexMap::len);
        if named != elements.len() {
            let (name, listed) = (&row.name, elements.len());
            let message = format!("the log names {named} instances of `{name}`, and its list has {listed}");
            return Err(Mismatch { message });
        }
        let serial = !task.emits_files.is_empty() && task.isolation.value == Isolation::None;
        let units = (0..elements.len())
            .map(|at| Instance { unmet: self.unmet_of_instance(id, at), ..Instance::default() })
            .collect();
        Ok(Box::new(Spread {
            unsettled: elements.len(),
            passed: 0,
            needs: readiness::shared_needs(self, id),
            has_own: task.depends_on.iter().any(|dependency| {
                let of = dependency.task;
                aligned(task, &self.plan[of]) && self.history.rows[of.index()].instances.is_some()
            }),
            serial: serial.then(Serial::default),
            elements,
            units,
        }))
    }

    /// How many aligned instances the instance at `at` waits for.
    fn unmet_of_instance(&self, id: TaskId, at: usize) -> u32 {
        let task = &self.plan[id];
        let waits = task.depends_on.iter().filter(|dependency| {
            let of = dependency.task;
            let spread = self.tasks[of.index()].spread.as_ref();
            aligned(task, &self.plan[of])
                && spread.is_some_and(|spread| {
                    spread.units.get(at).is_some_and(|unit| unit.phase != Phase::Settled)
                })
        });
        u32::try_from(waits.count()).expect("a plan has fewer than 2^32 tasks")
    }

    /// Who is aligned with `id` waits for its instances one by one from here on.
    fn tell_aligned(&mut self, id: TaskId) {
        for at in 0..self.plan.graph().dependents(id).len() {
            let dependent = self.plan.graph().dependents(id)[at];
            if aligned(&self.plan[dependent], &self.plan[id]) {
                self.met(dependent);
            }
        }
    }

    fn met(&mut self, dependent: TaskId) {
        let state = &mut self.tasks[dependent.index()];
        state.unmet = state.unmet.saturating_sub(1);
        if state.unmet == 0 {
            self.enqueue(Unit::whole(self.plan.graph().position(dependent)));
        }
    }

    /// `unit` has settled: everybody who waits for it is told.
    fn tell(&mut self, unit: Unit) {
        let id = self.id(unit);
        self.remember_cause(unit);
        self.look_for_complete(unit);
        match unit.index() {
            Some(at) => self.tell_of_instance(unit, id, at),
            None => self.tell_of_task(unit, id),
        }
    }

    fn tell_of_instance(&mut self, unit: Unit, id: TaskId, at: usize) {
        let passed = self.row(unit).status().is_some_and(Status::passes);
        if let Some(spread) = &mut self.tasks[id.index()].spread {
            spread.unsettled -= 1;
            spread.passed += usize::from(passed);
            if spread.unsettled == 0 {
                self.folds.insert(Unit::whole(unit.position));
            }
        }
        self.pass_turn(unit);
        for to in 0..self.plan.graph().dependents(id).len() {
            let dependent = self.plan.graph().dependents(id)[to];
            if !aligned(&self.plan[dependent], &self.plan[id]) {
                continue;
            }
            let spread = self.tasks[dependent.index()].spread.as_mut();
            if let Some(instance) = spread.and_then(|spread| spread.units.get_mut(at)) {
                instance.unmet = instance.unmet.saturating_sub(1);
                self.enqueue(Unit::part(self.plan.graph().position(dependent), Some(at)));
            }
        }
    }

    fn tell_of_task(&mut self, unit: Unit, id: TaskId) {
        self.folds.remove(&unit);
        let task = &self.plan[id];
        let (stage, always) = (task.stage, task.always.value);
        *self.tally.unsettled.of_mut(stage) -= 1;
        self.count_failure(id);
        if self.history.interrupted.is_some() && !always {
            return; // Clean-up does not wait for it any more.
        }
        let named = self.tasks[id.index()].spread.is_some();
        for at in 0..self.plan.graph().dependents(id).len() {
            let dependent = self.plan.graph().dependents(id)[at];
            if !(named && aligned(&self.plan[dependent], &self.plan[id])) {
                self.met(dependent);
            }
        }
    }

    fn count_failure(&mut self, id: TaskId) {
        let task = &self.plan[id];
        let Some(settled) = &self.history.rows[id.index()].settled else { return };
        if task.required && task.stage == Stage::Main && !settled.status.holds() {
            self.tally.failures += 1;
            let this = (settled.seq, id);
            self.tally.first_failure = Some(self.tally.first_failure.map_or(this, |first| first.min(this)));
        }
    }

    fn remember_cause(&mut self, unit: Unit) {
        let blocked = self.row(unit).settled.as_ref().and_then(|settled| settled.blocked.as_ref());
        let Some(name) = blocked.and_then(|blocked| blocked.task.as_ref()) else { return };
        let Some((task, index)) = self.history.locate(name) else { return };
        let direct = Unit::part(self.plan.graph().position(TaskId::from(task)), index);
        let cause = self.causes.get(&direct).copied().unwrap_or(direct);
        self.causes.insert(unit, cause);
    }

    /// `complete: true` ends the run early, or is warned about (LANGUAGE §12).
    fn look_for_complete(&mut self, unit: Unit) {
        let (id, task) = (self.id(unit), self.task(unit));
        let may = task.may_complete && task.stage == Stage::Main;
        if task.over.is_some() && unit.index().is_none() {
            let row = &self.history.rows[id.index()];
            let mut instances = row.instances.iter().flat_map(IndexMap::values);
            if may && row.status().is_some_and(Status::passes) && instances.any(says_complete) {
                self.tally.completion.get_or_insert(id);
            }
            return;
        }
        let row = self.row(unit);
        if !says_complete(row) {
            return;
        }
        let passed = row.status().is_some_and(Status::passes);
        if may && passed {
            if unit.index().is_none() {
                self.tally.completion.get_or_insert(id);
            }
            return;
        }
        let why = if task.stage == Stage::Epilogue {
            "the epilogue cannot end a run early"
        } else if passed {
            "the task lacks `may_complete = true`"
        } else {
            "the task did not pass"
        };
        let message = compact_str::format_compact!("`complete: true` is ignored, because {why}");
        self.notices.push_back(Warning { task: Some(self.name(unit)), message });
    }

    fn attempt_ended(&mut self, body: &AttemptEnded, spent_before: Usd) {
        let Some((task, _)) = self.history.locate(&body.task) else { return };
        let id = TaskId::from(task);
        if self.plan[id].always.value {
            self.tally.cleanup = self.tally.cleanup.plus(body.cost_usd);
        }
        if self.plan[id].done_when.is_some() && !body.done_already {
            self.rewind(id);
        }
        let before = Used { spent: spent_before, ..self.used() };
        if verdict::decided(self)
            && self.limits.overrun(&before).is_none()
            && let Some(ceiling) = self.limits.overrun(&self.used())
        {
            self.too_late(&ceiling.to_string());
        }
    }

    /// A ceiling that falls after the outcome is decided is an event, and changes nothing.
    fn too_late(&mut self, ceiling: &str) {
        let message = compact_str::format_compact!(
            "{ceiling} was passed after the outcome was decided, which stays as it is"
        );
        self.notices.push_back(Warning { task: None, message });
    }

    /// Nothing downstream of `id` asks its `done_when` any more.
    fn rewind(&mut self, id: TaskId) {
        let mut stack = vec![id];
        while let Some(from) = stack.pop() {
            for &to in self.plan.graph().dependents(from) {
                if !std::mem::replace(&mut self.tasks[to.index()].rewound, true) {
                    stack.push(to);
                }
            }
        }
    }

    /// A signal came: only clean-up starts, and what will not run now counts as blocked for it.
    fn only_cleanup(&mut self, now: Millis) {
        for at in 0..self.epilogue.len() {
            let id = self.epilogue[at];
            if self.plan[id].always.value {
                let waits = self.plan[id].depends_on.iter().filter(|dependency| {
                    let of = dependency.task;
                    self.plan[of].always.value && self.tasks[of.index()].phase != Phase::Settled
                });
                self.tasks[id.index()].unmet = u32::try_from(waits.count()).unwrap_or(u32::MAX);
            }
        }
        if self.rest.is_some() {
            let (plan, order) = (self.plan.clone(), self.plan.graph().order());
            self.queues
                .of_mut(Stage::Epilogue)
                .retain(|unit| plan[order[unit.position as usize]].always.value);
            self.cleanup_since.get_or_insert(now);
            self.enqueue_epilogue();
        }
    }

    /// Once the main graph is at rest, the epilogue's turn comes (EXECUTION §4, step 3).
    fn come_to_rest(&mut self, now: Millis) -> Result<(), Mismatch> {
        match self.run {
            RunPhase::Admitted | RunPhase::Waiting | RunPhase::Ended => return Ok(()),
            RunPhase::Dispatching | RunPhase::Draining | RunPhase::Concluding | RunPhase::Interrupted => {}
        }
        if self.rest.is_some() || !verdict::at_rest(self) {
            return Ok(());
        }
        self.walk(RunOn::AtRest)?;
        self.rest = Some(self.history.seq);
        if verdict::only_always(self).is_some() || self.history.interrupted.is_some() {
            self.cleanup_since = Some(now);
        }
        self.enqueue_epilogue();
        Ok(())
    }

    /// Whether the main graph waits for nothing that ran and has not settled.
    pub(super) fn main_is_quiet(&self) -> bool {
        let queue = self.queues.of(Stage::Main);
        let order = self.plan.graph().order();
        let main = |unit: &Unit| self.plan[order[unit.position as usize]].stage == Stage::Main;
        *self.tally.running.of(Stage::Main) == 0
            && (self.history.interrupted.is_some()
                || (queue.waiting_count() == 0
                    && queue.first_again().is_none()
                    && !self.judge.iter().any(main)
                    && !self.folds.iter().any(main)))
    }

    /// Whether nothing is in flight and nothing follows from what has happened.
    pub(super) fn is_quiet(&self) -> bool {
        let waits = |stage| self.queues.of(stage).waiting_count();
        self.in_flight() == 0
            && self.judge.is_empty()
            && self.folds.is_empty()
            && waits(Stage::Main) + waits(Stage::Epilogue) == 0
    }

    fn enqueue_epilogue(&mut self) {
        for at in 0..self.epilogue.len() {
            self.enqueue_all(self.epilogue[at]);
        }
    }

    fn enqueue_all(&mut self, id: TaskId) {
        let position = self.plan.graph().position(id);
        let instances = self.tasks[id.index()].spread.as_ref().map_or(0, |spread| spread.units.len());
        self.enqueue(Unit::whole(position));
        for at in 0..instances {
            self.enqueue(Unit::part(position, Some(at)));
        }
    }

    /// Everything but the history, anew from the history: at admission and when a sitting begins.
    fn rebuild(&mut self) -> Result<(), Mismatch> {
        self.limits = Limits::new(&self.plan, self.history.ceilings);
        self.runnable = admission::runnable(&self.plan, &self.history.caps);
        self.tasks = vec![TaskState::default(); self.plan.tasks.len()];
        self.queues = ByStage::default();
        self.tally = Tally::default();
        self.judge.clear();
        self.folds.clear();
        self.causes.clear();
        self.notices.clear();
        self.rest = None;
        self.cleanup_since = None;
        self.cache.forget();
        for at in 0..self.plan.tasks.len() {
            let id = self.plan.graph().order()[at];
            self.rebuild_task(id)?;
        }
        for id in self.plan.ids() {
            if self.plan[id].stage == Stage::Main {
                self.enqueue_all(id);
            }
        }
        Ok(())
    }

    /// One task, after everything upstream of it.
    fn rebuild_task(&mut self, id: TaskId) -> Result<(), Mismatch> {
        let unit = Unit::whole(self.plan.graph().position(id));
        let row = &self.history.rows[id.index()];
        let phase = phase_of_row(row);
        let (named, settled, cost) = (row.instances.is_some(), row.is_settled(), cost_of(row));
        let ran = row.ran || row.instances.iter().flat_map(IndexMap::values).any(|row| row.ran);
        let task = &self.plan[id];
        let (stage, always) = (task.stage, task.always.value);
        let rewinds = task.done_when.is_some() && ran;
        self.tasks[id.index()].phase = phase;
        self.tasks[id.index()].unmet = self.unmet_of_task(id);
        if named {
            self.spread_again(unit)?;
        }
        if settled {
            self.count_failure(id);
            self.remember_cause(unit);
            self.find_completion(id);
        } else {
            *self.tally.unsettled.of_mut(stage) += 1;
        }
        if always {
            self.tally.cleanup = self.tally.cleanup.plus(cost);
        }
        if rewinds {
            self.rewind(id);
        }
        self.note_phase(unit, phase);
        Ok(())
    }

    fn find_completion(&mut self, id: TaskId) {
        let task = &self.plan[id];
        let row = &self.history.rows[id.index()];
        let passed = row.status().is_some_and(Status::passes);
        let says = || match &row.instances {
            Some(instances) => instances.values().any(says_complete),
            None => says_complete(row),
        };
        if task.may_complete && task.stage == Stage::Main && passed && says() {
            self.tally.completion.get_or_insert(id);
        }
    }

    fn note_phase(&mut self, unit: Unit, phase: Phase) {
        match phase {
            Phase::Ended => {
                self.judge.insert(unit);
            }
            Phase::Asking => self.tally.asking += 1,
            Phase::Pending | Phase::Running | Phase::Waiting | Phase::Expanding | Phase::Settled => {}
        }
    }

    fn unmet_of_task(&self, id: TaskId) -> u32 {
        let task = &self.plan[id];
        let unmet = task.depends_on.iter().filter(|dependency| {
            let row = &self.history.rows[dependency.task.index()];
            let named = row.instances.is_some() && aligned(task, &self.plan[dependency.task]);
            !row.is_settled() && !named
        });
        u32::try_from(unmet.count()).expect("a plan has fewer than 2^32 tasks")
    }

    fn spread_again(&mut self, unit: Unit) -> Result<(), Mismatch> {
        let id = self.id(unit);
        let mut spread = self.new_spread(unit)?;
        let rows = self.history.rows[id.index()].instances.iter().flat_map(IndexMap::values);
        for (instance, row) in spread.units.iter_mut().zip(rows) {
            instance.phase = phase_of_row(row);
            spread.unsettled -= usize::from(row.is_settled());
            spread.passed += usize::from(row.status().is_some_and(Status::passes));
        }
        let open = spread.unsettled == 0 && self.tasks[id.index()].phase == Phase::Expanding;
        if open {
            self.folds.insert(unit);
        }
        let phases: Vec<Phase> = spread.units.iter().map(|instance| instance.phase).collect();
        self.tasks[id.index()].spread = Some(spread);
        for (at, phase) in phases.into_iter().enumerate() {
            let part = Unit::part(unit.position, Some(at));
            self.remember_cause(part);
            self.note_phase(part, phase);
        }
        Ok(())
    }

    // What decisions look at.

    pub(super) fn id(&self, unit: Unit) -> TaskId {
        self.plan.graph().order()[unit.position as usize]
    }

    pub(super) fn task(&self, unit: Unit) -> &Task {
        &self.plan[self.id(unit)]
    }

    pub(super) fn row(&self, unit: Unit) -> &Row {
        let row = &self.history.rows[self.id(unit).index()];
        let instance = unit.index().and_then(|at| row.instances.as_ref()?.get_index(at));
        instance.map_or(row, |(_, row)| row)
    }

    pub(super) fn name(&self, unit: Unit) -> Text {
        let task = &self.task(unit).name.value;
        match unit.index() {
            Some(_) => instance_name(task, &self.row(unit).name),
            None => task.clone(),
        }
    }

    /// What `unit` sees of `of`: an instance sees the same element's instance of an aligned task.
    pub(super) fn seen(&self, of: TaskId, unit: Unit) -> &Row {
        self.row(self.seen_unit(of, unit))
    }

    pub(super) fn seen_unit(&self, of: TaskId, unit: Unit) -> Unit {
        let index = unit.index().filter(|_| {
            self.history.rows[of.index()].instances.is_some() && aligned(self.task(unit), &self.plan[of])
        });
        Unit::part(self.plan.graph().position(of), index)
    }

    pub(super) fn used(&self) -> Used {
        Used {
            spent: self.history.spent,
            cleanup: self.tally.cleanup,
            elapsed: self.history.elapsed(),
            steps: self.history.steps,
        }
    }

    /// Whether a required failure lets the rest go on.
    pub(super) fn keeps_going(&self) -> bool {
        self.history.keep_going || self.plan.header.on_failure == ir::OnFailure::Continue
    }

    pub(super) fn phase_of(&self, unit: Unit) -> Phase {
        let state = &self.tasks[self.id(unit).index()];
        match unit.index() {
            Some(at) => state.spread.as_ref().map_or(Phase::Pending, |spread| spread.units[at].phase),
            None => state.phase,
        }
    }

    fn phase_mut(&mut self, unit: Unit) -> &mut Phase {
        let id = self.id(unit);
        let state = &mut self.tasks[id.index()];
        match (unit.index(), &mut state.spread) {
            (Some(at), Some(spread)) => &mut spread.units[at].phase,
            _ => &mut state.phase,
        }
    }

    fn until_mut(&mut self, unit: Unit) -> &mut Millis {
        let id = self.id(unit);
        let state = &mut self.tasks[id.index()];
        match (unit.index(), &mut state.spread) {
            (Some(at), Some(spread)) => &mut spread.units[at].until,
            _ => &mut state.until,
        }
    }
}

/// The phase that a row tells of, when a sitting begins: nothing is in flight, and nothing waits.
fn phase_of_row(row: &Row) -> Phase {
    if row.is_settled() {
        Phase::Settled
    } else if row.instances.is_some() {
        Phase::Expanding
    } else if row.asked.is_some() {
        Phase::Asking
    } else if row.ended {
        Phase::Ended
    } else {
        Phase::Pending
    }
}

fn cost_of(row: &Row) -> Usd {
    let instances = row.instances.iter().flat_map(IndexMap::values);
    instances.fold(row.cost, |sum, row| sum.plus(row.cost))
}

fn says_complete(row: &Row) -> bool {
    let Some(output) = row.last.as_ref().and_then(|last| last.output.as_ref()) else { return false };
    output.get().contains("\"complete\"")
        && super::json::member(output, "complete").is_some_and(|value| value.get() == "true")
}
