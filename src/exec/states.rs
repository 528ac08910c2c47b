//! The states of a task and of a run, and every legal way from one to the next, as rows (EXECUTION §2).
//!
//! The scheduler walks these tables at every event: a pair without a row is a path that cannot be taken.
//! Conditions are settled before the look-up, so that rows need no guards. Unaware of why a step is taken.

use std::fmt::Write as _;

/// Where a task, or one instance of a mapped task, stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Waits for its dependencies, or for its turn.
    #[default]
    Pending,
    /// An attempt is in flight.
    Running,
    /// An attempt has passed, and not all of its verifiers have spoken.
    Verifying,
    /// An attempt has ended, and what follows from it is not decided yet.
    Ended,
    /// Waits before another attempt.
    Waiting,
    /// Waits for a person's answer.
    Asking,
    /// Its instances are named and not all of them are terminal.
    Expanding,
    /// Has settled in this round, and its reviewer has not settled for good.
    Revising,
    /// Has its status.
    Settled,
}

/// What happens to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum On {
    /// `attempt_started`.
    Started,
    /// `attempt_ended`, on its own result.
    AttemptEnded,
    /// `attempt_ended` of an attempt that passed and that verifiers have to look at.
    AttemptPassed,
    /// `attempt_ended` of an attempt that was interrupted, or one that a crash cut off.
    CutOff,
    /// `verifier_ended`, and others have yet to speak.
    Verified,
    /// `verifier_ended`, and it is the last one.
    AllVerified,
    /// `verifier_ended`, and it is the last one: the task was found done already, and is not.
    NotDone,
    /// `retry_scheduled`.
    RetryScheduled,
    /// `timer_fired` for its retry.
    RetryDue,
    /// `instances_named`.
    Named,
    /// `gate_asked`.
    Asked,
    /// `gate_answered`.
    Answered,
    /// `task_settled`.
    Settled,
    /// `task_settled` of a task that may have to run again: its review is not over.
    SettledInRound,
    /// Its review is over: what it settled as in the last round stays.
    Reviewed,
    /// `round_started` makes it pending again.
    SentBack,
    /// `run_resumed` makes it pending again.
    Again,
    /// `run_resumed` lets its last attempt stand, and asks those of its verifiers again that were cut off.
    Unheard,
}

/// What the scheduler does on a step of a task, in the order of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Then {
    /// Into the queue of what is considered, if nothing is left to wait for.
    Queue,
    /// Out of that queue.
    Unqueue,
    /// One slot less is free.
    TakeSlot,
    /// One slot more is free.
    FreeSlot,
    /// Its verifiers have to speak, in its slot.
    Verify,
    /// They have spoken: one slot more is free.
    Verified,
    /// Something has to follow from the attempt.
    Judge,
    /// Something has followed.
    Judged,
    /// Its wait begins.
    Wait,
    /// Its wait is over.
    Unwait,
    /// A person is asked.
    Ask,
    /// Nobody is asked any more.
    Unask,
    /// Its instances exist.
    Spread,
    /// Who waits for it is told.
    Tell,
    /// Who waits for it inside its body is told.
    TellBody,
    /// Who waits for it outside of its body is told.
    TellOthers,
}

/// A row: from, on, to, then.
pub type TaskRow = (Phase, On, Phase, &'static [Then]);

/// Every legal step of a task.
pub static TASK: &[TaskRow] = {
    use On::{
        Again, AllVerified, Answered, Asked, AttemptEnded, AttemptPassed, CutOff, Named, NotDone, RetryDue,
        RetryScheduled, Reviewed, SentBack, SettledInRound, Started, Unheard, Verified,
    };
    use Phase::{Asking, Ended, Expanding, Pending, Revising, Running, Verifying, Waiting};
    use Then::{
        FreeSlot, Judge, Judged, Queue, Spread, TakeSlot, Tell, TellBody, TellOthers, Unask, Unqueue, Unwait,
        Verify, Wait,
    };
    const DONE: Phase = Phase::Settled;
    &[
        (Pending, Started, Running, &[Unqueue, TakeSlot]),
        (Pending, Named, Expanding, &[Unqueue, Spread]),
        (Pending, Asked, Asking, &[Unqueue, Then::Ask]),
        (Pending, On::Settled, DONE, &[Unqueue, Tell]), // it never ran, or the engine itself answered
        (Running, AttemptEnded, Ended, &[FreeSlot, Judge]),
        (Running, AttemptPassed, Verifying, &[FreeSlot, Verify]),
        (Running, CutOff, Pending, &[FreeSlot]),
        (Verifying, Verified, Verifying, &[]),
        (Verifying, AllVerified, Ended, &[Then::Verified, Judge]),
        (Verifying, NotDone, Pending, &[Then::Verified, Queue]),
        (Ended, RetryScheduled, Waiting, &[Judged, Wait]),
        (Ended, On::Settled, DONE, &[Judged, Tell]),
        (Waiting, RetryDue, Pending, &[Unwait, Queue]),
        (Waiting, CutOff, Pending, &[Unwait]),
        (Waiting, On::Settled, DONE, &[Unwait, Tell]), // a halt came first
        (Asking, Answered, Pending, &[Unask, Queue]),
        (Asking, On::Settled, DONE, &[Unask, Tell]), // a halt came first
        (Expanding, On::Settled, DONE, &[Tell]),
        (Pending, SettledInRound, Revising, &[Unqueue, TellBody]),
        (Ended, SettledInRound, Revising, &[Judged, TellBody]),
        (Waiting, SettledInRound, Revising, &[Unwait, TellBody]),
        (Asking, SettledInRound, Revising, &[Unask, TellBody]),
        (Revising, SentBack, Pending, &[]), // and queued in dependency order, once all of them are
        (Revising, Reviewed, DONE, &[TellOthers]),
        (Pending, Again, Pending, &[]),
        (Verifying, Again, Pending, &[]),
        (Ended, Again, Pending, &[]),
        (Asking, Again, Pending, &[]),
        (Expanding, Again, Pending, &[]),
        (Revising, Again, Pending, &[]),
        (DONE, SentBack, Pending, &[]),
        (DONE, Again, Pending, &[]),
        (Revising, Unheard, Verifying, &[]),
        (DONE, Unheard, Verifying, &[]),
    ]
};

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RunPhase {
    /// It exists; whether anything refuses it is being looked at.
    #[default]
    Admitted,
    /// The main graph runs.
    Dispatching,
    /// It has halted: nothing of the main graph starts any more.
    Draining,
    /// The main graph is at rest and has its outcome: the epilogue runs.
    Concluding,
    /// A signal came: only clean-up starts.
    Interrupted,
    /// Only a person's answer can move it.
    Waiting,
    /// It has its exit and verdict.
    Ended,
}

/// What happens to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunOn {
    /// `run_started`.
    Started,
    /// `plan_admitted`.
    Admitted,
    /// `halted`.
    Halted,
    /// The main graph has come to rest, with its outcome known.
    AtRest,
    /// `interrupted`.
    Interrupted,
    /// `run_ended` with the exit `waiting`.
    Waits,
    /// `run_ended`.
    Ended,
    /// `run_resumed`, and no halt stands.
    Resumed,
    /// `run_resumed`, and a halt stands.
    ResumedHalted,
    /// `run_resumed`, and what had halted or ended is open again.
    Reopened,
}

/// A row: from, on, to.
pub type RunRow = (RunPhase, RunOn, RunPhase);

/// Every legal step of a run.
pub static RUN: &[RunRow] = {
    use RunOn::{AtRest, Halted, Reopened, Resumed, ResumedHalted, Started, Waits};
    use RunPhase::{Admitted, Concluding, Dispatching, Draining, Ended, Interrupted, Waiting};
    &[
        (Admitted, Started, Admitted),
        (Admitted, RunOn::Admitted, Dispatching),
        (Admitted, RunOn::Interrupted, Interrupted),
        (Dispatching, Halted, Draining),
        (Dispatching, AtRest, Concluding),
        (Dispatching, Waits, Waiting),
        (Dispatching, RunOn::Interrupted, Interrupted),
        (Draining, AtRest, Concluding),
        (Draining, Waits, Waiting), // it asks how an interrupted attempt ended, which is let finish
        (Draining, RunOn::Ended, Ended), // stuck: it never came to rest
        (Draining, RunOn::Interrupted, Interrupted),
        (Concluding, Waits, Waiting),
        (Concluding, RunOn::Interrupted, Interrupted),
        (Concluding, RunOn::Ended, Ended),
        (Interrupted, RunOn::Interrupted, Interrupted), // the second signal
        (Interrupted, AtRest, Interrupted),
        (Interrupted, Halted, Draining), // `plan stop` ends it for good
        // A sitting that crashed left no event of its end, so that any phase but the last can go on.
        (Dispatching, Resumed, Dispatching),
        (Concluding, Resumed, Dispatching), // and comes to rest anew
        (Interrupted, Resumed, Dispatching),
        (Waiting, Resumed, Dispatching),
        (Draining, ResumedHalted, Draining),
        (Concluding, ResumedHalted, Draining), // and comes to rest anew
        (Interrupted, ResumedHalted, Draining),
        (Waiting, ResumedHalted, Draining),
        (Dispatching, Reopened, Dispatching),
        (Draining, Reopened, Dispatching),
        (Concluding, Reopened, Dispatching),
        (Interrupted, Reopened, Dispatching),
        (Waiting, Reopened, Dispatching),
        (Ended, Reopened, Dispatching),
    ]
};

/// The step of a task from `phase` on `on`, if there is one.
#[must_use]
pub fn task_step(phase: Phase, on: On) -> Option<(Phase, &'static [Then])> {
    TASK.iter().find(|row| row.0 == phase && row.1 == on).map(|row| (row.2, row.3))
}

/// The step of a run from `phase` on `on`, if there is one.
#[must_use]
pub fn run_step(phase: RunPhase, on: RunOn) -> Option<RunPhase> {
    RUN.iter().find(|row| row.0 == phase && row.1 == on).map(|row| row.2)
}

impl Phase {
    /// Every phase, with its name on the page and what it means.
    const NAMES: &[(Self, &str, &str)] = &[
        (Self::Pending, "pending", "Waits for its dependencies, for its turn, or for a resumed run."),
        (Self::Running, "running", "An attempt is in flight."),
        (Self::Verifying, "verifying", "An attempt has passed, and not all of its verifiers have spoken."),
        (Self::Ended, "ended", "An attempt has ended, and what follows from it is not decided yet."),
        (Self::Waiting, "waiting", "Waits before another attempt."),
        (Self::Asking, "asking", "Waits for a person's answer."),
        (Self::Expanding, "expanding", "Its instances are named, and not all of them are terminal."),
        (Self::Revising, "revising", "Has settled in this round, and its reviewer has not settled for good."),
        (Self::Settled, "settled", "Has its status, from `pass` to `truncated`."),
    ];

    fn name(self) -> &'static str {
        name(Self::NAMES, self)
    }
}

impl On {
    /// Every event of a task, with its name on the page.
    const NAMES: &[(Self, &str, &str)] = &[
        (Self::Started, "attempt_started", ""),
        (Self::AttemptEnded, "attempt_ended", ""),
        (Self::AttemptPassed, "attempt_ended (to verify)", ""),
        (Self::CutOff, "interrupted", ""),
        (Self::Verified, "verifier_ended", ""),
        (Self::AllVerified, "verifier_ended (the last)", ""),
        (Self::NotDone, "verifier_ended (not done)", ""),
        (Self::RetryScheduled, "retry_scheduled", ""),
        (Self::RetryDue, "timer_fired", ""),
        (Self::Named, "instances_named", ""),
        (Self::Asked, "gate_asked", ""),
        (Self::Answered, "gate_answered", ""),
        (Self::Settled, "task_settled", ""),
        (Self::SettledInRound, "task_settled (in a round)", ""),
        (Self::Reviewed, "its review is over", ""),
        (Self::SentBack, "round_started", ""),
        (Self::Again, "run_resumed", ""),
        (Self::Unheard, "run_resumed (to verify)", ""),
    ];
}

impl Then {
    /// Every effect, with its name on the page.
    const NAMES: &[(Self, &str, &str)] = &[
        (Self::Queue, "queue it", ""),
        (Self::Unqueue, "unqueue it", ""),
        (Self::TakeSlot, "take a slot", ""),
        (Self::FreeSlot, "free the slot", ""),
        (Self::Verify, "keep a slot for its verifiers", ""),
        (Self::Verified, "free their slot", ""),
        (Self::Judge, "judge the attempt", ""),
        (Self::Judged, "done judging", ""),
        (Self::Wait, "begin the wait", ""),
        (Self::Unwait, "end the wait", ""),
        (Self::Ask, "ask", ""),
        (Self::Unask, "stop asking", ""),
        (Self::Spread, "make its instances", ""),
        (Self::Tell, "tell who waits for it", ""),
        (Self::TellBody, "tell who waits for it in its body", ""),
        (Self::TellOthers, "tell who waits for it outside", ""),
    ];
}

impl RunPhase {
    /// Every phase of a run, with its name on the page and what it means.
    const NAMES: &[(Self, &str, &str)] = &[
        (Self::Admitted, "admitted", "It exists, and whether anything refuses it is being looked at."),
        (Self::Dispatching, "dispatching", "The main graph runs."),
        (Self::Draining, "draining", "It has halted: nothing of the main graph starts any more."),
        (Self::Concluding, "concluding", "The main graph is at rest with its outcome: the epilogue runs."),
        (Self::Interrupted, "interrupted", "A signal came: only clean-up starts."),
        (Self::Waiting, "waiting", "Only a person's answer can move it."),
        (Self::Ended, "ended", "It has its exit and verdict."),
    ];

    fn name(self) -> &'static str {
        name(Self::NAMES, self)
    }
}

impl RunOn {
    /// Every event of a run, with its name on the page.
    const NAMES: &[(Self, &str, &str)] = &[
        (Self::Started, "run_started", ""),
        (Self::Admitted, "plan_admitted", ""),
        (Self::Halted, "halted", ""),
        (Self::AtRest, "at rest", ""),
        (Self::Interrupted, "interrupted", ""),
        (Self::Waits, "run_ended (waiting)", ""),
        (Self::Ended, "run_ended", ""),
        (Self::Resumed, "run_resumed", ""),
        (Self::ResumedHalted, "run_resumed (halted)", ""),
        (Self::Reopened, "run_resumed (open again)", ""),
    ];
}

fn name<T: Copy + PartialEq>(names: &'static [(T, &'static str, &'static str)], of: T) -> &'static str {
    names.iter().find(|row| row.0 == of).map_or("?", |row| row.1)
}

/// The tables as a page: `docs/states.md`.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::from(
        "<!-- Generated by `cargo xtask docs` from `src/exec/states.rs`. Do not edit. -->\n\n# States\n\n\
         Every legal step of a task and of a run. The scheduler walks these tables at every event, live and in \
         a replay; an event without a row is refused.\n",
    );
    let task: Vec<Step> =
        TASK.iter().map(|row| (row.0.name(), name(On::NAMES, row.1), row.2.name(), row.3)).collect();
    section(
        &mut page,
        "A task",
        "A whole task, or one instance of a mapped one. An instance is never `expanding`, \
         and never `revising`. That a review is over is no event of its own: the reviewer has settled for good, or the \
         run has halted.",
        Phase::NAMES.iter().map(|row| (row.1, row.2)),
        &task,
    );
    let run: Vec<Step> = RUN
        .iter()
        .map(|row| (row.0.name(), name(RunOn::NAMES, row.1), row.2.name(), &[] as &[Then]))
        .collect();
    section(
        &mut page,
        "A run",
        "`at rest` is no event of its own: it is known after the event that brought the main graph to rest.",
        RunPhase::NAMES.iter().map(|row| (row.1, row.2)),
        &run,
    );
    page
}

/// From, on, to, then.
type Step = (&'static str, &'static str, &'static str, &'static [Then]);

fn section(
    page: &mut String,
    title: &str,
    about: &str,
    phases: impl Iterator<Item = (&'static str, &'static str)>,
    steps: &[Step],
) {
    let first = steps.first().map_or("", |step| step.0);
    let _ = write!(page, "\n## {title}\n\n{about}\n\n| State | Meaning |\n| --- | --- |\n");
    for (name, meaning) in phases {
        let _ = writeln!(page, "| `{name}` | {meaning} |");
    }
    let _ = write!(page, "\n```mermaid\nstateDiagram-v2\n    [*] --> {first}\n");
    for (from, on, to, _) in steps {
        let _ = writeln!(page, "    {from} --> {to}: {on}");
    }
    page.push_str("```\n\n");
    let then = steps.iter().any(|step| !step.3.is_empty());
    page.push_str(if then {
        "| From | On | To | Then |\n| --- | --- | --- | --- |\n"
    } else {
        "| From | On | To |\n| --- | --- | --- |\n"
    });
    for (from, on, to, effects) in steps {
        let _ = write!(page, "| `{from}` | {on} | `{to}` |");
        if then {
            let named: Vec<&str> = effects.iter().map(|&effect| name(Then::NAMES, effect)).collect();
            let _ = write!(page, " {} |", named.join(", "));
        }
        page.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_step_is_listed_twice() {
        for (at, row) in TASK.iter().enumerate() {
            assert!(!TASK[..at].iter().any(|other| (other.0, other.1) == (row.0, row.1)), "{row:?}");
        }
        for (at, row) in RUN.iter().enumerate() {
            assert!(!RUN[..at].iter().any(|other| (other.0, other.1) == (row.0, row.1)), "{row:?}");
        }
    }

    #[test]
    fn every_state_is_reached_and_left() {
        for &(phase, name, _) in Phase::NAMES {
            let reached =
                phase == Phase::default() || TASK.iter().any(|row| row.2 == phase && row.0 != phase);
            assert!(reached && TASK.iter().any(|row| row.0 == phase && row.2 != phase), "{name}");
        }
        for &(phase, name, _) in RunPhase::NAMES {
            let reached =
                phase == RunPhase::default() || RUN.iter().any(|row| row.2 == phase && row.0 != phase);
            assert!(reached && RUN.iter().any(|row| row.0 == phase && row.2 != phase), "{name}");
        }
    }

    #[test]
    fn everything_on_the_page_has_a_name() {
        let page = markdown();
        assert!(!page.contains('?'), "{page}");
        for &(on, name, _) in On::NAMES {
            assert!(TASK.iter().any(|row| row.1 == on), "{name}");
        }
        for &(on, name, _) in RunOn::NAMES {
            assert!(RUN.iter().any(|row| row.1 == on), "{name}");
        }
        for &(then, name, _) in Then::NAMES {
            assert!(TASK.iter().any(|row| row.3.contains(&then)), "{name}");
        }
    }

    #[test]
    fn slots_and_questions_balance() {
        // What a step takes, every way out of the state that it leads to gives back, and nothing else does.
        for (takes, gives, phase) in [
            (Then::TakeSlot, Then::FreeSlot, Phase::Running),
            (Then::Verify, Then::Verified, Phase::Verifying),
            (Then::Judge, Then::Judged, Phase::Ended),
            (Then::Wait, Then::Unwait, Phase::Waiting),
            (Then::Ask, Then::Unask, Phase::Asking),
        ] {
            for row in TASK {
                let (enters, leaves) = (row.2 == phase && row.0 != phase, row.0 == phase && row.2 != phase);
                // A resumed run counts everything anew.
                assert_eq!(row.3.contains(&takes), enters && row.1 != On::Unheard, "{row:?}");
                assert_eq!(
                    row.3.contains(&gives),
                    leaves && row.1 != On::Again && row.1 != On::Unheard,
                    "{row:?}"
                );
            }
        }
    }
}
