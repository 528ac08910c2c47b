//! Watches a process until it has ended, and ends it where it must not go on (EXECUTION §5).
//!
//! Unaware of grades: it says who ended what, if anybody did.

use std::time::Duration;

use super::stream;
use super::{Order, Orders};
use crate::event::EndedBy;
use crate::exec::note;
use crate::exec::ports::{AttemptPaths, Clock, Process};
use crate::ir::Millis;

/// How long a tree has between being asked to end and being killed.
const GRACE: Millis = Millis(5_000);

/// How often streams are measured and descendants looked at.
const POLL: Duration = Duration::from_millis(100);

/// How often a tree that was asked to end is looked at once its root is gone.
const LINGER: Duration = Duration::from_millis(20);

/// What a process is watched by.
#[derive(Clone, Copy)]
pub(super) struct Limits<'a> {
    /// What time it is.
    pub clock: &'a dyn Clock,
    /// The largest stream.
    pub log: u64,
}

/// Why a process was ended, and the words for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stopped {
    /// Who ended it.
    pub by: EndedBy,
    /// One clause.
    pub note: String,
}

/// The sizes of both streams, and whether one has shrunk.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    measured: bool,
    /// How large standard output was last.
    pub stdout: u64,
    /// How large standard error was last.
    pub stderr: u64,
    /// Whether standard output has shrunk.
    pub stdout_shrank: bool,
    /// Whether standard error has.
    pub stderr_shrank: bool,
}

impl Sizes {
    /// Measures both streams; the name of one that is over `limit`.
    pub(super) fn measure(&mut self, paths: &AttemptPaths, limit: u64) -> Option<&'static str> {
        self.measured = true;
        let (stdout, stderr) = (stream::size(&paths.stdout), stream::size(&paths.stderr));
        self.stdout_shrank |= stdout < self.stdout;
        self.stderr_shrank |= stderr < self.stderr;
        (self.stdout, self.stderr) = (stdout, stderr);
        if stdout > limit {
            Some("standard output")
        } else if stderr > limit {
            Some("standard error")
        } else {
            None
        }
    }
    /// Measures once more, at the end. Standard error is left alone where nobody will look at it.
    pub(super) fn last(&mut self, paths: &AttemptPaths, failed: bool) {
        if self.measured || failed {
            self.measure(paths, u64::MAX);
        } else {
            self.stdout = stream::size(&paths.stdout);
        }
    }
}

/// Waits until the process and, if it was asked to end, its tree have ended. Says why it was ended;
/// nothing if it ended by itself, a moment before anybody asked included.
pub(super) async fn watch(
    limits: Limits<'_>,
    process: &mut Box<dyn Process>,
    timeout: Option<Millis>,
    paths: &AttemptPaths,
    sizes: &mut Sizes,
    orders: &mut Orders,
) -> Option<Stopped> {
    let clock = limits.clock;
    let deadline = timeout.map(|limit| (Millis(clock.now().0.saturating_add(limit.0)), limit));
    let mut deadline = deadline.map(|(at, limit)| (clock.until(at), limit));
    let mut stopped: Option<Stopped> = None;
    let mut grace = None;
    let mut killed = false;
    let mut looks = 0_u32;
    loop {
        let stop = tokio::select! {
            biased;
            () = process.ended() => break,
            order = orders.next() => match order {
                Order::End { by, note } => Stopped { by, note: note.to_string() },
                Order::Kill => {
                    killed = true;
                    Stopped { by: EndedBy::Interruption, note: "ended by a second signal".to_owned() }
                }
            },
            limit = passed(&mut deadline) => {
                deadline = None;
                Stopped { by: EndedBy::Timeout, note: format!("timed out after {limit}") }
            }
            () = wait(&mut grace) => {
                grace = None;
                process.kill();
                continue;
            }
            () = tokio::time::sleep(POLL) => {
                looks += 1;
                // The longer it runs, the less often: a tree that lives for hours need not be walked
                // ten times a second.
                if looks < 10 || looks.is_multiple_of(10) {
                    process.observe();
                }
                let over = sizes.measure(paths, limits.log).filter(|_| stopped.is_none());
                let Some(stream) = over else { continue };
                let limit = note::bytes(limits.log);
                Stopped { by: EndedBy::LogLimit, note: format!("{stream} outgrew the limit of {limit}") }
            }
        };
        if killed {
            process.kill();
        } else if stopped.is_none() {
            if !process.terminate() {
                // It had ended before we signalled it: it settles on its own result.
                process.ended().await;
                return None;
            }
            grace = Some(clock.until(Millis(clock.now().0 + GRACE.0)));
        }
        stopped.get_or_insert(stop);
    }
    while stopped.is_some() && !killed && !process.alone() {
        tokio::select! {
            biased;
            order = orders.next() => killed = matches!(order, Order::Kill),
            () = wait(&mut grace) => killed = true,
            () = tokio::time::sleep(LINGER) => {}
        }
    }
    stopped
}

/// What waits for a time.
pub(in crate::exec) type Timer = crate::exec::ports::Boxed<'static, ()>;

/// The time of `deadline`, or the limit that set it, once it has come; waits for ever where there is none.
pub(in crate::exec) async fn passed(deadline: &mut Option<(Timer, Millis)>) -> Millis {
    match deadline {
        Some((timer, limit)) => {
            timer.await;
            *limit
        }
        None => std::future::pending().await,
    }
}

/// Waits for `timer`, or for ever where there is none.
pub(super) async fn wait(timer: &mut Option<Timer>) {
    match timer {
        Some(timer) => timer.await,
        None => std::future::pending().await,
    }
}
