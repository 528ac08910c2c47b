//! Stands beside a verifier's thread: keeps its deadline, and starts and ends its processes.
//!
//! Processes belong to the driver's runtime, never to the verifier's, so that one that hangs cannot keep
//! them. Unaware of what an outcome means.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::call::{Ask, NotRun, Ran};
use super::read;
use crate::event::EndedBy;
use crate::exec::attempt::watch::{Limits, Sizes, watch};
use crate::exec::attempt::{Order, Orders, orders};
use crate::exec::ports::{AttemptPaths, Clock, Files, NotStarted, Outcome, Process, Runner, Start};
use crate::ir::Millis;

/// Where the verifiers of one attempt, or of the plan, are called.
pub struct Scene {
    /// Where processes run.
    pub runner: Arc<dyn Runner>,
    /// Where streams and captured files are.
    pub files: Arc<dyn Files>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What a process is started with: its name, numbers, environment and working directory. The program,
    /// the streams and the token are filled in.
    pub start: Start,
    /// The name that its streams begin with.
    pub stream: String,
    /// How much a stream may hold.
    pub log_limit: u64,
}

/// How a call came to its end.
pub(super) enum End {
    /// The thread has ended, with or without an outcome.
    Told(Option<Outcome>),
    /// The deadline has passed.
    Late,
}

/// Tells a clock that jumps that real work is in flight, for as long as it lives.
struct Busy(Arc<dyn Clock>);

impl Busy {
    fn new(clock: &Arc<dyn Clock>) -> Self {
        clock.busy(true);
        Self(Arc::clone(clock))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy(false);
    }
}

impl Scene {
    /// The moment at which a call begins.
    pub(super) fn begin(&self) -> Millis {
        self.clock.now()
    }

    /// Waits for an outcome, for no longer than `limit` from `begun`, and serves what the verifier asks
    /// for. Returns once all that it started has ended.
    pub(super) async fn watch(
        &self,
        name: &str,
        limit: Millis,
        begun: Millis,
        mut asked: mpsc::UnboundedReceiver<Ask>,
        told: impl Future<Output = Option<Outcome>>,
        ends: &mut Orders,
    ) -> Result<End, EndedBy> {
        let _busy = Busy::new(&self.clock);
        let mut deadline = self.clock.until(Millis(begun.0.saturating_add(limit.0)));
        let mut told = pin!(told);
        let (command, _) = orders();
        let mut processes = JoinSet::new();
        let mut started = 0;
        let end = loop {
            tokio::select! {
                // In this order: an answer that comes with the deadline comes too late.
                biased;
                order = ends.next() => break Err(order),
                () = &mut deadline => break Ok(End::Late),
                outcome = &mut told => break Ok(End::Told(outcome)),
                Some(ask) = asked.recv() => {
                    started += 1;
                    self.serve(name, started, ask, &mut processes, Orders(command.subscribe()));
                }
                Some(_) = processes.join_next() => {}
            }
        };
        asked.close();
        let over = Order::End { by: EndedBy::Timeout, note: "the call is over".into() };
        let (end, order) = match end {
            Ok(end) => (Ok(end), over),
            Err(Order::End { by, note }) => (Err(by), Order::End { by, note }),
            Err(Order::Kill) => (Err(EndedBy::Interruption), Order::Kill),
        };
        // Those that are left end by themselves where there are none.
        let _ = command.send(Some(order));
        while !processes.is_empty() {
            tokio::select! {
                biased;
                _ = processes.join_next() => {}
                order = ends.next() => drop(command.send(Some(order))),
            }
        }
        end
    }

    fn serve(&self, name: &str, number: u32, ask: Ask, processes: &mut JoinSet<()>, orders: Orders) {
        let Ask { command, reply } = ask;
        let again = if number == 1 { String::new() } else { format!(".{number}") };
        let paths = self.files.verification(&format!("{}.{name}{again}", self.stream));
        let mut start = self.start.clone();
        start.argv = command.argv;
        start.env.push(("PLAN_RESULT_FILE".into(), paths.result.to_string()));
        start.env.extend(command.env);
        start.paths = paths.clone();
        start.token = format!("{}-{name}{again}", start.token).into();
        match self.runner.start(&start) {
            Ok(process) => {
                let mind = mind(Arc::clone(&self.clock), self.log_limit, process, paths, orders);
                processes.spawn(async move {
                    // The verifier may have given up on it.
                    let _ = reply.send(mind.await);
                });
            }
            Err(NotStarted { missing, why }) => {
                let _ = reply.send(Err(if missing { NotRun::Missing(why) } else { NotRun::Failed(why) }));
            }
        }
    }
}

/// Waits until a process has ended, by itself or because it has to, and everything that it started with
/// it; then reads what it printed.
async fn mind(
    clock: Arc<dyn Clock>,
    log_limit: u64,
    mut process: Box<dyn Process>,
    paths: AttemptPaths,
    mut orders: Orders,
) -> Result<Ran, NotRun> {
    let limits = Limits { clock: &*clock, log: log_limit };
    let stopped = watch(limits, &mut process, None, &paths, &mut Sizes::default(), &mut orders).await;
    let ended = process.finish().await;
    match stopped {
        Some(stopped) => Err(NotRun::Failed(stopped.note)),
        None => Ok(read::ran(ended.how, paths).await),
    }
}
