//! Questions to people: which are open, which time answers, and that an old answer serves no new question
//! (LANGUAGE §4).
//!
//! Unaware of who answers, and of when a question is asked: `readiness.rs` says.

use super::Scheduler;
use crate::event::{Body, GateAnswered, Timer, TimerFired};
use crate::exec::units::Unit;
use crate::history::{Mismatch, Question};
use crate::ir::{Kind, Millis};
use crate::source::Text;

impl Scheduler {
    /// The open questions and whose they are, in the order in which tasks are considered.
    pub fn questions(&self) -> impl Iterator<Item = (Text, &Question)> {
        self.tally.asking.iter().filter_map(|&unit| Some((self.name(unit), self.row(unit).asked.as_ref()?)))
    }

    /// Whether there are any.
    #[must_use]
    pub fn asks_people(&self) -> bool {
        !self.tally.asking.is_empty()
    }

    pub(super) fn ask(&mut self, unit: Unit) {
        self.tally.asking.insert(unit);
        if let Some(at) = self.deadline(unit) {
            *self.until_mut(unit) = at;
            self.tally.deadlines.insert((at, unit));
        }
    }

    pub(super) fn unask(&mut self, unit: Unit) {
        self.tally.asking.remove(&unit);
        let at = *self.until_mut(unit);
        self.tally.deadlines.remove(&(at, unit));
    }

    /// When time answers what `unit` asks, in time of the whole run.
    fn deadline(&self, unit: Unit) -> Option<Millis> {
        let task = self.task(unit);
        let Kind::Gate(gate) = &task.kind else { return None };
        let (timeout, _) = (task.timeout?.value, gate.default.as_ref()?);
        let since = self.row(unit).asked.as_ref()?.since;
        Some(Millis(since.0.saturating_add(timeout.0)))
    }

    /// The default of a gate that nobody has answered in time.
    pub(super) fn timed_out(&self) -> Option<Body> {
        let &(at, unit) = self.tally.deadlines.first()?;
        if at > self.history.elapsed() || self.history.interrupted.is_some() {
            return None;
        }
        let Kind::Gate(gate) = &self.task(unit).kind else { return None };
        let answer = gate.default.as_ref()?.value.clone();
        let question = self.row(unit).asked.as_ref()?.number;
        let by = Text::const_new(GateAnswered::TIMEOUT);
        Some(GateAnswered { task: self.name(unit), question, answer, by, result: None }.into())
    }

    /// The next time that answers a question, in time of this sitting.
    pub(super) fn next_deadline(&self) -> Option<(Millis, TimerFired)> {
        let &(at, unit) = self.tally.deadlines.first().filter(|_| self.history.interrupted.is_none())?;
        let at = Millis(at.0.saturating_sub(self.history.elapsed_before.0));
        Some((at, TimerFired { timer: Timer::Gate, task: Some(self.name(unit)) }))
    }

    /// An answer is to the question that is open.
    pub(super) fn answers(&self, answered: &GateAnswered) -> Result<(), Mismatch> {
        let (name, given) = (&answered.task, answered.question);
        let open = self.history.row(name).and_then(|row| row.asked.as_ref());
        match open {
            Some(open) if open.number == given => Ok(()),
            Some(_) | None => Err(Mismatch {
                message: format!("the log answers question {given} of `{name}`, which is not open"),
            }),
        }
    }
}
