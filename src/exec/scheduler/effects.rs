//! What a step of a task does to queues and counters: slots, turns, waits, and who is told that a task has
//! settled.
//!
//! Which step it is, the tables say.

use indexmap::IndexMap;

use super::Scheduler;
use crate::event::{AttemptEnded, Body, EndedBy, Event, Exit, Status, Warning};
use crate::exec::budget::Used;
use crate::exec::fanout::aligned;
use crate::exec::json;
use crate::exec::readiness;
use crate::exec::states::{Phase, Then};
use crate::exec::units::{Lane, Unit};
use crate::exec::verdict;
use crate::history::{Mismatch, Row};
use crate::ir::{Millis, Stage, TaskId, Usd};

impl Scheduler {
    pub(super) fn then(&mut self, unit: Unit, then: Then, event: &Event) -> Result<(), Mismatch> {
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
                if self.phase_of(unit) != Phase::Verifying {
                    self.pass_turn(unit);
                }
            }
            Then::Verify => {
                self.verify.insert(unit);
            }
            Then::Verified => {
                self.verify.remove(&unit);
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
            Then::Ask => {
                self.ask(unit);
                // Others do not wait for a person.
                self.pass_turn(unit);
            }
            Then::Unask => self.unask(unit),
            Then::Spread => self.spread(unit)?,
            Then::Tell => self.tell(unit, event)?,
            Then::TellBody => self.tell_body(unit),
            Then::TellOthers => self.tell_others(unit),
        }
        Ok(())
    }

    fn price(&self, unit: Unit) -> Usd {
        self.task(unit).max_usd.map_or(Usd::ZERO, |most| most.value)
    }

    /// Into the queue, if it is pending with nothing left to wait for, and its stage is looked at.
    pub(super) fn enqueue(&mut self, unit: Unit) {
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
        let row = &self.history.rows[self.id(unit).index()];
        let instance = unit.index().and_then(|at| row.instances.as_ref()?.get_index(at));
        let stage = self.task(unit).stage;
        let lane = match readiness::is_attempt(self, unit) {
            false => Lane::Free,
            true if self.task(unit).max_usd.is_some() => Lane::Priced,
            true => Lane::Plain,
        };
        self.queues.of_mut(stage).push(unit, lane, instance.map_or(row, |(_, row)| row));
    }

    /// Of instances that run one at a time: the next one's turn, if nobody has it.
    pub(super) fn next_turn(&mut self, id: TaskId) {
        let spread = self.tasks[id.index()].spread.as_mut();
        let Some(serial) = spread.and_then(|spread| spread.serial.as_mut()) else { return };
        if serial.turn.is_none()
            && let Some(unit) = serial.ready.pop_first()
        {
            serial.turn = Some(unit);
            self.push(unit);
        }
    }

    pub(super) fn pass_turn(&mut self, unit: Unit) {
        let id = self.id(unit);
        let spread = self.tasks[id.index()].spread.as_mut();
        let Some(serial) = spread.and_then(|spread| spread.serial.as_mut()) else { return };
        if serial.turn == Some(unit) {
            serial.turn = None;
        }
        serial.ready.remove(&unit);
        self.next_turn(id);
    }

    /// Who is aligned with `id` waits for its instances one by one from here on.
    pub(super) fn tell_aligned(&mut self, id: TaskId) {
        for at in 0..self.plan.graph().dependents(id).len() {
            let dependent = self.plan.graph().dependents(id)[at];
            if aligned(&self.plan[dependent], &self.plan[id]) {
                self.met(dependent);
            }
        }
    }

    pub(super) fn met(&mut self, dependent: TaskId) {
        let state = &mut self.tasks[dependent.index()];
        state.unmet = state.unmet.saturating_sub(1);
        if state.unmet == 0 {
            self.enqueue(Unit::whole(self.plan.graph().position(dependent)));
        }
    }

    /// `unit` has settled: everybody who waits for it is told.
    pub(super) fn tell(&mut self, unit: Unit, event: &Event) -> Result<(), Mismatch> {
        let id = self.id(unit);
        if self.bodies.reviewer(id) == Some(id) {
            self.end_review(id, event)?;
        }
        self.remember_cause(unit);
        self.look_for_complete(unit);
        match unit.index() {
            Some(at) => self.tell_of_instance(unit, id, at),
            None => self.tell_of_task(unit, id, |_, _| true),
        }
        Ok(())
    }

    /// The review of `unit` is over: everybody outside of its body who waits for it is told.
    pub(super) fn tell_others(&mut self, unit: Unit) {
        let id = self.id(unit);
        self.look_for_complete(unit);
        self.tell_of_task(unit, id, |this, dependent| !this.bodies.together(id, dependent));
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

    fn tell_of_task(&mut self, unit: Unit, id: TaskId, waits: impl Fn(&Self, TaskId) -> bool) {
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
            if waits(self, dependent) && !(named && aligned(&self.plan[dependent], &self.plan[id])) {
                self.met(dependent);
            }
        }
    }

    /// Counts a required main task that does not hold, once.
    pub(super) fn count_failure(&mut self, id: TaskId) {
        let task = &self.plan[id];
        let Some(settled) = &self.history.rows[id.index()].settled else { return };
        let fails = task.required && task.stage == Stage::Main && !settled.status.holds();
        if fails && !std::mem::replace(&mut self.tasks[id.index()].counted, true) {
            self.tally.failures += 1;
            let this = (settled.seq, id);
            self.tally.first_failure = Some(self.tally.first_failure.map_or(this, |first| first.min(this)));
        }
    }

    pub(super) fn remember_cause(&mut self, unit: Unit) {
        if let Some(cause) = self.cause_of_parts(unit) {
            self.causes.insert(unit, cause);
        }
        let blocked = self.row(unit).settled.as_ref().and_then(|settled| settled.blocked.as_ref());
        let Some(name) = blocked.and_then(|blocked| blocked.task.as_ref()) else { return };
        let Some((task, index)) = self.history.locate(name) else { return };
        let direct = Unit::part(self.plan.graph().position(TaskId::from(task)), index);
        let cause = self.causes.get(&direct).copied().unwrap_or(direct);
        self.causes.insert(unit, cause);
    }

    /// Of a mapped task that fails for nothing but instances that were blocked: the cause behind the first.
    fn cause_of_parts(&self, unit: Unit) -> Option<Unit> {
        let row = self.row(unit);
        let parts = row.instances.as_ref().filter(|_| unit.index().is_none() && row.is_settled())?;
        let statuses = parts.values().enumerate().filter_map(|(at, part)| Some((at, part.status()?)));
        let mut bad = statuses.filter(|(_, status)| !status.holds());
        let (first, _) = bad.next().filter(|&(_, status)| status == Status::Blocked)?;
        let all = bad.all(|(_, status)| status == Status::Blocked);
        self.causes.get(&Unit::part(unit.position, Some(first))).copied().filter(|_| all)
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

    pub(super) fn attempt_ended(&mut self, body: &AttemptEnded, spent_before: Usd) {
        let Some((task, _)) = self.history.locate(&body.task) else { return };
        let id = TaskId::from(task);
        if self.plan[id].always.value {
            self.tally.cleanup = self.tally.cleanup.plus(body.cost_usd);
        }
        if self.plan[id].done_when.is_some() && !body.did_not_run() {
            self.rewind(id);
        }
        self.look_for_ceiling(id, body);
        let before = Used { spent: spent_before, ..self.used() };
        if verdict::decided(self)
            && self.limits.overrun(&before).is_none()
            && let Some(ceiling) = self.limits.overrun(&self.used())
        {
            self.too_late(&ceiling.to_string());
        }
    }

    /// A ceiling that a called plan has reached is this run's.
    pub(super) fn look_for_ceiling(&mut self, id: TaskId, ended: &AttemptEnded) {
        let exit = match ended.ended_by {
            Some(EndedBy::CostCeiling) => Exit::CostCeiling,
            Some(EndedBy::StepCeiling) => Exit::StepCeiling,
            // Of anything else the clock says so itself.
            Some(EndedBy::TimeCeiling) if ended.call.is_some() => Exit::TimeCeiling,
            Some(
                EndedBy::TimeCeiling
                | EndedBy::Timeout
                | EndedBy::Stop
                | EndedBy::Failure
                | EndedBy::LogLimit
                | EndedBy::Interruption,
            )
            | None => return,
        };
        if self.plan[id].stage == Stage::Main {
            self.tally.called.get_or_insert(exit);
        }
    }

    /// A ceiling that falls after the outcome is decided is an event, and changes nothing.
    pub(super) fn too_late(&mut self, ceiling: &str) {
        let message = compact_str::format_compact!(
            "{ceiling} was passed after the outcome was decided, which stays as it is"
        );
        self.notices.push_back(Warning { task: None, message });
    }

    /// Nothing downstream of `id` asks its `done_when` any more.
    pub(super) fn rewind(&mut self, id: TaskId) {
        let mut stack = vec![id];
        while let Some(from) = stack.pop() {
            for &to in self.plan.graph().dependents(from) {
                if !std::mem::replace(&mut self.tasks[to.index()].rewound, true) {
                    stack.push(to);
                }
            }
        }
    }
}

pub(super) fn says_complete(row: &Row) -> bool {
    let Some(output) = row.last.as_ref().and_then(|last| last.output.as_ref()) else { return false };
    output.get().contains("\"complete\"")
        && json::member(output, "complete").is_some_and(|value| value.get() == "true")
}
