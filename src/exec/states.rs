//! The states of a task and of a run, and every legal way from one to the next, as rows (EXECUTION §2).
//!
//! The scheduler walks these tables at every event: a pair without a row is a path that cannot be taken.
//! Conditions are settled before the look-up, so that rows need no guards. Unaware of why a step is taken.

/// Where a task, or one instance of a mapped task, stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Waits for its dependencies, or for its turn.
    #[default]
    Pending,
    /// An attempt is in flight.
    Running,
    /// An attempt has ended, and what follows from it is not decided yet.
    Ended,
    /// Waits before another attempt.
    Waiting,
    /// Waits for a person's answer.
    Asking,
    /// Its instances are named and not all of them are terminal.
    Expanding,
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
    /// `attempt_ended` of an attempt that was interrupted, or one that a crash cut off.
    CutOff,
    /// `verifier_ended`.
    Verified,
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
    /// `run_resumed` makes it pending again.
    Again,
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
}

/// A row: from, on, to, then.
pub type TaskRow = (Phase, On, Phase, &'static [Then]);

/// Every legal step of a task.
pub static TASK: &[TaskRow] = {
    use On::{
        Again, Answered, Asked, AttemptEnded, CutOff, Named, RetryDue, RetryScheduled, Started, Verified,
    };
    use Phase::{Asking, Ended, Expanding, Pending, Running, Waiting};
    use Then::{FreeSlot, Judge, Judged, Queue, Spread, TakeSlot, Tell, Unask, Unqueue, Unwait, Wait};
    const DONE: Phase = Phase::Settled;
    &[
        (Pending, Started, Running, &[Unqueue, TakeSlot]),
        (Pending, Named, Expanding, &[Unqueue, Spread]),
        (Pending, Asked, Asking, &[Unqueue, Then::Ask]),
        (Pending, On::Settled, DONE, &[Unqueue, Tell]), // it never ran, or the engine itself answered
        (Running, AttemptEnded, Ended, &[FreeSlot, Judge]),
        (Running, CutOff, Pending, &[FreeSlot]),
        (Ended, Verified, Ended, &[]),
        (Ended, RetryScheduled, Waiting, &[Judged, Wait]),
        (Ended, On::Settled, DONE, &[Judged, Tell]),
        (Waiting, RetryDue, Pending, &[Unwait, Queue]),
        (Waiting, CutOff, Pending, &[Unwait]),
        (Waiting, On::Settled, DONE, &[Unwait, Tell]), // a halt came first
        (Asking, Answered, Pending, &[Unask, Queue]),
        (Asking, On::Settled, DONE, &[Unask, Tell]), // a halt came first
        (Expanding, On::Settled, DONE, &[Tell]),
        (Pending, Again, Pending, &[]),
        (Ended, Again, Pending, &[]),
        (Asking, Again, Pending, &[]),
        (Expanding, Again, Pending, &[]),
        (DONE, Again, Pending, &[]),
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
        (Draining, RunOn::Ended, Ended), // stuck: it never came to rest
        (Draining, RunOn::Interrupted, Interrupted),
        (Concluding, Waits, Waiting),
        (Concluding, RunOn::Interrupted, Interrupted),
        (Concluding, RunOn::Ended, Ended),
        (Interrupted, RunOn::Interrupted, Interrupted), // the second signal
        (Interrupted, AtRest, Interrupted),
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
