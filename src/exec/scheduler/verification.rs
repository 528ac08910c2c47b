//! Verifiers, as far as the scheduler sees them: whose have to speak, and what a verdict comes to
//! (EXECUTION §9).
//!
//! Unaware of how they are called.

use super::Scheduler;
use crate::event::{AttemptEnded, Grade, VerifierEnded};
use crate::exec::acceptance;
use crate::exec::states::{On, Phase};
use crate::history::{Mismatch, Row};
use crate::ir::{self, Task, TaskId};
use crate::source::Text;

/// An attempt that passed, and whose verifiers have not all spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unverified {
    /// The task.
    pub task: TaskId,
    /// The element of an instance.
    pub element: Option<Text>,
    /// The name of the task or instance.
    pub name: Text,
    /// The attempt's number.
    pub attempt: u32,
}

impl Scheduler {
    /// The attempts whose verifiers have to be called, or are being called. After an interruption only those
    /// of clean-up; a resumed run makes up for the others.
    pub fn unverified(&self) -> impl Iterator<Item = Unverified> {
        let interrupted = self.history.interrupted.is_some();
        let units = self.verify.iter().filter(move |&&unit| !interrupted || self.task(unit).always.value);
        units.filter_map(|&unit| {
            let row = self.row(unit);
            Some(Unverified {
                task: self.id(unit),
                element: unit.index().map(|_| row.name.clone()),
                name: self.name(unit),
                attempt: row.last.as_ref()?.attempt,
            })
        })
    }

    /// The numbers of all attempts whose verifiers have not all spoken.
    pub(in crate::exec) fn all_unverified(&self) -> impl Iterator<Item = u32> {
        self.verify.iter().filter_map(|&unit| Some(self.row(unit).last.as_ref()?.attempt))
    }

    /// The acceptance gates that have to be asked, or are being asked: those that have not spoken. None after
    /// an interruption; a resumed run makes up for it.
    pub fn silent_gates(&self) -> impl Iterator<Item = &ir::Verify> {
        let asks = self.asks_gates() && self.history.interrupted.is_none();
        acceptance::silent(self).filter(move |_| asks)
    }

    /// Whether gates were asked and have not all spoken.
    pub(in crate::exec) fn asks_gates(&self) -> bool {
        self.asking_gates
    }

    /// Once their time has come gates are asked, until all of them have spoken.
    pub(super) fn look_at_gates(&mut self) {
        self.asking_gates =
            acceptance::are_due(self) || (self.asking_gates && acceptance::silent(self).next().is_some());
    }

    /// A round makes settled tasks pending again.
    pub(super) fn can_go_back<'a>(&self, tasks: impl IntoIterator<Item = &'a Text>) -> Result<(), Mismatch> {
        tasks.into_iter().try_for_each(|name| self.step(name, On::SentBack).map(drop))
    }

    /// What the end of an attempt comes to.
    pub(super) fn ended(&self, ended: &AttemptEnded) -> On {
        match ended.grade {
            Grade::Interrupted => On::CutOff,
            Grade::Pass | Grade::Partial if self.has_verifiers(&ended.task) => On::AttemptPassed,
            Grade::Pass
            | Grade::Partial
            | Grade::Fail
            | Grade::Skipped
            | Grade::Transport
            | Grade::Retry
            | Grade::Blocked => On::AttemptEnded,
        }
    }

    fn has_verifiers(&self, name: &str) -> bool {
        self.history.locate(name).is_some_and(|(task, _)| !self.plan.tasks[task].verify.is_empty())
    }

    /// What a verdict on the last attempt of `name` comes to.
    pub(super) fn verified(&self, name: &str, verdict: &VerifierEnded) -> On {
        let Some((task, _)) = self.history.locate(name) else { return On::Verified };
        let Some(row) = self.history.row(name) else { return On::Verified };
        let spoken = |check: &ir::Verify| {
            let check = &check.name.value;
            *check == verdict.verifier || row.verifiers.contains_key(check)
        };
        if !self.plan.tasks[task].verify.iter().all(spoken) {
            return On::Verified;
        }
        let did_not_run = row.last.as_ref().is_some_and(|last| last.did_not_run());
        if did_not_run && (verdict.rejects() || row.rejections().next().is_some()) {
            On::NotDone
        } else {
            On::AllVerified
        }
    }
}

/// The phase of a row whose last attempt has ended, and from which nothing followed yet.
pub(super) fn phase_of_ended(task: &Task, row: &Row) -> Phase {
    let last = row.last.as_deref();
    let not_done = row.not_done && last.is_some_and(AttemptEnded::did_not_run);
    let passed = last.is_some_and(|last| match last.grade {
        Grade::Pass | Grade::Partial => true,
        Grade::Fail
        | Grade::Skipped
        | Grade::Transport
        | Grade::Retry
        | Grade::Blocked
        | Grade::Interrupted => false,
    });
    let spoken = |check: &ir::Verify| row.verifiers.contains_key(&check.name.value);
    match task.verify.iter().all(spoken) {
        false if passed => Phase::Verifying,
        true if not_done => Phase::Pending,
        true | false => Phase::Ended,
    }
}
