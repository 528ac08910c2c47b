//! What a run comes to, from its rows alone: who ends a run and who reads how it ended ask the same question
//! (EXECUTION §2).
//!
//! Unaware of when a run ends.

use super::{History, Row};
use crate::event::{Body, Exit, RunEnded, Status, Verdict};
use crate::ir::dump;
use crate::source::Text;

/// What the verdict of a run hangs on.
#[derive(Clone, Debug, Default)]
pub struct Stakes {
    /// By row: whether the task is of the main graph and required.
    pub required: Vec<bool>,
    /// The plan's acceptance gates.
    pub gates: Vec<Text>,
}

impl Stakes {
    /// The stakes of `plan`.
    #[must_use]
    pub fn of(plan: &dump::Document) -> Self {
        let required = plan.tasks.iter().map(|task| task.required && task.stage == "main");
        Self {
            required: required.collect(),
            gates: plan.gates.iter().map(|gate| gate.name.clone()).collect(),
        }
    }
}

impl History {
    /// Exit and verdict, as what has happened has them.
    #[must_use]
    pub fn outcome(&self, stakes: &Stakes) -> (Exit, Verdict) {
        let exit = self.halted.as_ref().map_or(Exit::Completed, |halted| halted.exit);
        let holds = |exit| self.required_hold(stakes, exit) && self.is_accepted(stakes);
        let verdict = match exit {
            Exit::Completed | Exit::Concluded if holds(exit) => Verdict::Valid,
            Exit::Completed
            | Exit::Concluded
            | Exit::Failed
            | Exit::Unaccepted
            | Exit::CostCeiling
            | Exit::TimeCeiling
            | Exit::StepCeiling
            | Exit::Truncated
            | Exit::Stopped
            | Exit::Waiting
            | Exit::Stuck => Verdict::Invalid,
        };
        (exit, verdict)
    }

    /// After an early end, what never ran withholds nothing.
    fn required_hold(&self, stakes: &Stakes, exit: Exit) -> bool {
        let required = self.rows.iter().zip(&stakes.required).filter(|&(_, &required)| required);
        required
            .map(|(row, _)| row.status())
            .all(|status| status.map_or(exit == Exit::Concluded, Status::holds))
    }

    fn is_accepted(&self, stakes: &Stakes) -> bool {
        stakes.gates.iter().all(|gate| self.gates.get(gate).is_some_and(|said| !said.rejects()))
    }

    /// What is wrong with `body` as the next event: it says how the run ended, and what has happened says
    /// otherwise. The last line of a log is the only one that no other line vouches for.
    #[must_use]
    pub fn contradiction(&self, stakes: &Stakes, body: &Body) -> Option<String> {
        if let Body::RunEnded(end) = body {
            return self.wrong_end(stakes, end);
        }
        let Body::Halted(halted) = body else { return None };
        let row = halted.task.as_ref().and_then(|task| self.row(task));
        let held = row.and_then(Row::status).map(Status::holds);
        let wrong = match halted.exit {
            Exit::Failed => held != Some(false),
            Exit::Concluded => held != Some(true),
            Exit::Completed
            | Exit::Unaccepted
            | Exit::CostCeiling
            | Exit::TimeCeiling
            | Exit::StepCeiling
            | Exit::Truncated
            | Exit::Stopped
            | Exit::Waiting
            | Exit::Stuck => false,
        };
        let of = halted.task.as_deref().unwrap_or("nothing");
        let exit = halted.exit.as_str();
        wrong.then(|| format!("says that the run came to `{exit}` by `{of}`, which did not come to that"))
    }

    fn wrong_end(&self, stakes: &Stakes, end: &RunEnded) -> Option<String> {
        if end.exit == Exit::Waiting && end.verdict.is_none() {
            let asks = self.questions().next().is_some();
            return (!asks).then(|| "says that a person is asked, and nobody is".to_owned());
        }
        let (exit, verdict) = self.outcome(stakes);
        (end.exit != exit || end.verdict != Some(verdict)).then(|| {
            let said = end.verdict.map_or("without a verdict", Verdict::as_str);
            let (told, due, holds) = (end.exit.as_str(), exit.as_str(), verdict.as_str());
            format!("says that the run ended `{told}`, {said}, and what happened comes to `{due}`, {holds}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, Halted, TaskSettled};
    use crate::ir::Millis;

    #[test]
    fn an_end_that_is_not_the_one_due_is_refused() {
        let mut history = History::of("p".into(), ["a", "b"].map(Text::from));
        let stakes = Stakes { required: vec![true, false], gates: Vec::new() };
        let settled = |task: &str, status| {
            let (task, note, blocked, output) = (task.into(), None, None, None);
            Body::from(TaskSettled { task, status, note, blocked, output })
        };
        let halted = |task: &str, exit| Body::from(Halted { exit, task: Some(task.into()), note: None });
        let ended = |exit, verdict| Body::from(RunEnded { exit, verdict });
        let contradicts = |history: &History, body: &Body| history.contradiction(&stakes, body).is_some();
        assert!(contradicts(&history, &ended(Exit::Completed, Some(Verdict::Valid))), "nothing has settled");
        assert!(contradicts(&history, &ended(Exit::Waiting, None)), "nobody is asked");
        for (seq, body) in (1..).zip([settled("b", Status::Fail), settled("a", Status::Fail)]) {
            history.apply(&Event { seq, at: 0, t: Millis(0), body }).unwrap();
        }
        assert!(contradicts(&history, &halted("a", Exit::Concluded)));
        assert!(!contradicts(&history, &halted("a", Exit::Failed)));
        let body = halted("a", Exit::Failed);
        history.apply(&Event { seq: 3, at: 0, t: Millis(0), body }).unwrap();
        assert!(!contradicts(&history, &ended(Exit::Failed, Some(Verdict::Invalid))));
        for (exit, verdict) in [
            (Exit::Failed, Some(Verdict::Valid)),
            (Exit::Failed, None),
            (Exit::Completed, Some(Verdict::Valid)),
            (Exit::Stopped, Some(Verdict::Invalid)),
        ] {
            assert!(contradicts(&history, &ended(exit, verdict)), "{exit:?} {verdict:?}");
        }
    }
}
