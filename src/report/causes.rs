//! Why what did not hold did not: for each blocked task the first cause behind it, and the failures that
//! stand behind no other, first things first.

use crate::event::Status;
use crate::history::{History, Row, split_name};

/// The first causes of a run.
#[derive(Clone, Debug, Default)]
pub struct Causes {
    /// By row: the row that is the first cause of its being blocked. None for what is not blocked, or is
    /// blocked by no task.
    pub behind: Vec<Option<usize>>,
    /// The rows that do not hold and have no other row to blame: what halted the run first, the others in the
    /// order in which they settled.
    pub first: Vec<usize>,
}

/// Finds the first causes. Linear in the number of rows.
#[must_use]
pub fn causes(history: &History) -> Causes {
    let rows = &history.rows;
    let mut behind: Vec<Option<usize>> = vec![None; rows.len()];
    let mut known = vec![false; rows.len()];
    let mut path = Vec::new();
    for from in 0..rows.len() {
        let mut at = from;
        let cause = loop {
            if known[at] {
                break behind[at].or(Some(at));
            }
            known[at] = true;
            match blamed(history, &rows[at]) {
                // A row blames what settled before it, so that this ends; a log that says otherwise has the
                // last row of its circle for a cause.
                Some(next) => path.push(std::mem::replace(&mut at, next)),
                None => break Some(at),
            }
        };
        for blocked in path.drain(..) {
            behind[blocked] = cause;
        }
    }
    let mut first: Vec<usize> = (0..rows.len())
        .filter(|&at| behind[at].is_none() && rows[at].status().is_some_and(|status| !status.holds()))
        .collect();
    let halting = history.halted.as_ref().and_then(|halted| halted.task.as_ref());
    let halting = halting.and_then(|name| history.index_of(split_name(name).0));
    first.sort_by_key(|&at| {
        let settled = rows[at].settled.as_ref().map_or(u64::MAX, |settled| settled.seq);
        (Some(at) != halting, settled)
    });
    Causes { behind, first }
}

/// The row that a blocked one blames.
fn blamed(history: &History, row: &Row) -> Option<usize> {
    let settled = row.settled.as_ref()?;
    match settled.status {
        Status::Blocked => history.index_of(split_name(settled.blocked.as_ref()?.task.as_ref()?).0),
        Status::Pass
        | Status::Partial
        | Status::NotTaken
        | Status::Fail
        | Status::Skipped
        | Status::Transport
        | Status::Truncated => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Blocked, BlockedReason, Event, Exit, Halted, TaskSettled};
    use crate::ir::Millis;

    fn settled(task: &str, status: Status, behind: Option<&str>) -> crate::event::Body {
        let blocked = (status == Status::Blocked)
            .then(|| Blocked { reason: BlockedReason::Dependency, task: behind.map(Into::into) });
        TaskSettled { task: task.into(), status, note: None, blocked, output: None }.into()
    }

    fn folded(names: &[&str], bodies: Vec<crate::event::Body>) -> History {
        let mut history = History::of("p".into(), names.iter().map(|&name| name.into()));
        for (seq, body) in (1..).zip(bodies) {
            history.apply(&Event { seq, at: 0, t: Millis(0), body }).expect("a task of the plan");
        }
        history
    }

    #[test]
    fn the_first_cause_stands_behind_all_that_follow() {
        let halted = Halted { exit: Exit::Failed, task: Some("b".into()), note: None };
        let history = folded(
            &["d", "c", "b", "a", "ok", "late"],
            vec![
                settled("a", Status::Fail, None),
                settled("b", Status::Transport, None),
                halted.into(),
                settled("ok", Status::Pass, None),
                settled("c", Status::Blocked, Some("b")),
                settled("d", Status::Blocked, Some("c")),
                settled("late", Status::Blocked, None),
            ],
        );
        let causes = causes(&history);
        assert_eq!(causes.behind, [Some(2), Some(2), None, None, None, None]);
        assert_eq!(causes.first, [2, 3, 5]);
    }

    #[test]
    fn a_circle_ends() {
        let history = folded(
            &["a", "b"],
            vec![settled("a", Status::Blocked, Some("b")), settled("b", Status::Blocked, Some("a"))],
        );
        assert_eq!(causes(&history).behind.len(), 2);
    }
}
