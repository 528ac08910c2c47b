//! What time brings: which attempts have to be ended now, and for what the scheduler waits.
//!
//! Unaware of the clock: the time is that of the last event.

use super::Scheduler;
use crate::event::{EndedBy, Exit, Timer, TimerFired};
use crate::exec::states::RunPhase;
use crate::ir::{Millis, Stage, TaskId};

impl Scheduler {
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

    /// Whether, and why, acceptance gates that are being asked have to be ended now.
    #[must_use]
    pub fn ends_gates(&self) -> Option<EndedBy> {
        let used = self.used();
        let whole = self.limits.whole_time().is_some_and(|time| used.elapsed >= time);
        if self.history.interrupted.is_some() {
            Some(EndedBy::Interruption)
        } else if whole || self.limits.time_up(&used).is_some() {
            Some(EndedBy::TimeCeiling)
        } else {
            self.history.stop_requested.then_some(EndedBy::Stop)
        }
    }

    /// What of the time ceiling is kept back from `task`, where it was reached before all of it was over.
    pub(in crate::exec) fn kept_back(&self, task: Option<TaskId>) -> Option<Millis> {
        let always = task.is_some_and(|task| self.plan[task].always.value);
        let whole = self.limits.whole_time().is_some_and(|time| self.used().elapsed >= time);
        let kept = self.limits.kept_time();
        (!always && !whole && kept.0 > 0).then_some(kept)
    }

    /// Until when, in time of this sitting, clean-up has to be done.
    fn cleanup_until(&self) -> Option<Millis> {
        self.cleanup_since.map(|since| Millis(since.0 + self.plan.header.reserve.time.0))
    }

    pub(in crate::exec) fn reserve_is_up(&self) -> bool {
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
        let works = self.in_flight() > 0 || self.unverified().next().is_some();
        let reserve = self.cleanup_until().filter(|&until| self.history.t < until && works);
        let reserve = reserve.map(|until| (until, TimerFired { timer: Timer::Reserve, task: None }));
        let whole = whole.filter(|_| works);
        let gate = self.next_deadline();
        retry.chain(main).chain(whole).chain(reserve).chain(gate).min_by_key(|&(at, _)| at)
    }
}
