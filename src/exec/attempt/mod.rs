//! One attempt: the steps of EXECUTION §5, in order.
//!
//! prepare → start → watch → collect → grade → declared status → capture files → promises. What comes of
//! them is one event. Unaware of the scheduler and of other attempts.

mod answered;
pub(super) mod call;
mod capture;
mod collect;
mod declared;
mod environment;
mod grade;
pub(crate) mod json;
mod prepare;
mod promises;
mod report;
pub(super) mod reuse;
mod stream;
pub mod verify;
mod watch;

use std::sync::Arc;

use camino::Utf8PathBuf;
use tokio::sync::watch as signal;

pub use self::answered::{Answered, broken_promise};
use self::collect::Collected;
use self::declared::{Terms, declared};
use self::grade::Graded;
use self::prepare::Prepared;
pub(crate) use self::promises::Schemas;
use self::watch::{Sizes, Stopped};
pub(super) use self::watch::{Timer, passed};
use super::inputs::Inputs;
use super::note;
use super::ports::{
    AttemptPaths, Calls, Clock, Ended, Files, Fingerprints, How, Runner, Verifiers, Workspace,
};
use crate::event::{AttemptEnded, EndedBy, FileSet, Grade, Kept};
use crate::ir::kind::{self, Kind, Run};
use crate::ir::{Emits, Millis, Task, TaskId, Usd};
use crate::source::{Spanned, Text};
use crate::validate::ValidPlan;

/// What all attempts of a run share.
pub(super) struct Context {
    /// The plan.
    pub plan: ValidPlan,
    /// The run's name.
    pub run: Text,
    /// The pack's directory.
    pub pack: Utf8PathBuf,
    /// The largest stream.
    pub log_limit: u64,
    /// Every variable that some task lists in `secrets`.
    pub secrets: Vec<Text>,
    /// Inputs, streams and captured files.
    pub files: Arc<dyn Files>,
    /// Where processes run.
    pub runner: Arc<dyn Runner>,
    /// Where files live.
    pub workspace: Arc<dyn Workspace>,
    /// Who checks the work.
    pub verifiers: Arc<dyn Verifiers>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Compiled schemas.
    pub schemas: Schemas,
    /// Where runs of called plans are kept.
    pub calls: Arc<dyn Calls>,
    /// What of the operator's choices called plans share.
    pub shared: call::Shared,
    /// The tokens that mark all processes of a called plan: those of the attempts that call it.
    pub within: Option<Text>,
    /// What stands before the names of tasks outside of this plan, where it is called.
    pub path: Text,
}

impl Context {
    /// The name of a task as runners know it, who see all plans that call each other.
    fn outside(&self, name: &str) -> Text {
        compact_str::format_compact!("{}{name}", self.path)
    }

    /// The tokens that mark what belongs to the attempt with this one.
    fn inner(&self, token: &Text) -> Text {
        match &self.within {
            Some(outer) => compact_str::format_compact!("{outer}:{token}"),
            None => token.clone(),
        }
    }

    /// What a process is watched by.
    fn limits(&self) -> watch::Limits<'_> {
        watch::Limits { clock: &*self.clock, log: self.log_limit }
    }
}

/// One attempt to make.
pub(super) struct Job {
    /// The task.
    pub task: TaskId,
    /// Its element, for an instance.
    pub element: Option<Text>,
    /// `task`, or `task[element]`.
    pub name: Text,
    /// The attempt's number in the run.
    pub attempt: u32,
    /// Which attempt of this task in this round, from 1.
    pub nth: u32,
    /// The round, from 1.
    pub round: u32,
    /// What marks its processes.
    pub token: Text,
    /// Whether `done_when` is asked.
    pub ask_done: bool,
    /// What a person said, where nothing runs.
    pub answered: Option<Answered>,
    /// What it receives.
    pub inputs: Inputs,
    /// What an attempt that calls another plan may do.
    pub call: Option<call::Terms>,
    /// The attempt of another run whose result it takes over, and that run.
    pub taken: Option<(Arc<AttemptEnded>, Text)>,
}

/// What the driver wants of an attempt in flight, or of a verifier.
#[derive(Clone, Debug)]
pub enum Order {
    /// End it: terminate, then kill after the grace.
    End {
        /// Why.
        by: EndedBy,
        /// One clause for the note.
        note: Text,
    },
    /// End it at once.
    Kill,
}

/// Receives orders.
#[derive(Debug)]
pub struct Orders(signal::Receiver<Option<Order>>);

/// Gives orders.
pub type Command = signal::Sender<Option<Order>>;

/// A pair to give and to receive orders.
#[must_use]
pub fn orders() -> (Command, Orders) {
    let (command, orders) = signal::channel(None);
    (command, Orders(orders))
}

/// Another receiver of the orders that `command` gives.
pub(super) fn listen(command: &Command) -> Orders {
    Orders(command.subscribe())
}

impl Orders {
    /// The next order; waits for ever if none comes.
    async fn next(&mut self) -> Order {
        loop {
            if self.0.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            if let Some(order) = self.0.borrow_and_update().clone() {
                return order;
            }
        }
    }

    /// An order that has come already.
    fn pending(&mut self) -> Option<Order> {
        if self.0.has_changed().unwrap_or(false) { self.0.borrow_and_update().clone() } else { None }
    }
}

/// What came of an attempt.
pub(super) struct Report {
    /// The event.
    pub ended: AttemptEnded,
    /// What else is worth knowing, to be logged before it.
    pub warnings: Vec<String>,
}

/// Makes one attempt.
pub(super) async fn run(context: Arc<Context>, job: Job, orders: Orders) -> Report {
    let report = make(&context, &job, orders).await;
    if job.element.is_some() {
        // Each instance has inputs of its own, and the whole list may be in them.
        context.files.forget_inputs(&job.inputs.json);
    }
    report
}

async fn make(context: &Context, job: &Job, mut orders: Orders) -> Report {
    let task = &context.plan[job.task];
    let mut report = Report { ended: blank(job), warnings: Vec::new() };
    if let Some((from, run)) = &job.taken {
        match reuse::take_over(context, from).await {
            Ok(warnings) => {
                report.warnings = warnings;
                reuse::fill(&mut report.ended, from, run);
                return report;
            }
            // It can still be made.
            Err(why) => report.warnings.push(format!("its result cannot be taken over: {why}")),
        }
    }
    let work = match (&task.kind, command(task)) {
        (_, Some(run)) => Work::Process(Some(run)),
        (Kind::Report(page), None) => Work::Report(page),
        (Kind::Agent(_) | Kind::Call(_) | Kind::Machine(_), None)
            if context.runner.plays(&context.outside(&job.name)) =>
        {
            Work::Process(None)
        }
        (Kind::Call(_), None) => Work::Call,
        (kind, None) => {
            return refused(report, Grade::Blocked, format!("a {} cannot be run here", kind.as_str()));
        }
    };
    let paths = context.files.attempt(job.attempt);
    let prepared = match prepare::prepare(context, job, &paths) {
        Ok(prepared) => prepared,
        Err(problem) => return refused(report, Grade::Blocked, problem),
    };
    report.warnings.extend(prepared.warnings.iter().map(Text::to_string));
    if let Some(files) = prepare::done_already(context, job, &prepared, &mut orders).await {
        report.ended.grade = Grade::Pass;
        report.ended.output = Some(json::Object::empty().raw());
        report.ended.files = files;
        report.ended.done_already = true;
        return report;
    }
    if let Some(order) = orders.pending() {
        let (by, note) = match order {
            Order::End { by, note } => (by, note.to_string()),
            Order::Kill => (EndedBy::Interruption, "ended by a second signal".to_owned()),
        };
        let graded = Graded { grade: Grade::Fail, note: None, output: None, absent: None };
        return stopped(report, graded, Stopped { by, note });
    }
    let Prepared { mut start, before, .. } = prepared;
    if let Some(said) = &job.answered {
        let ended = Ended { how: How::Code(0), duration: Millis(0) };
        let left = Left { ended, collected: answered::collected(said), detail: None, stop: None, before };
        // Who says that it passed says so of the files as they are.
        report.ended.reads = reuse::reads(context, reuse::before(context, job));
        let mut report = settle(context, job, report, left).await;
        report.ended.note.get_or_insert_with(|| note::note(&format!("answered `pass` by {}", said.by)));
        return report;
    }
    let run = match work {
        Work::Process(run) => run,
        Work::Report(page) => return report::make(context, job, page, before, report, orders).await,
        Work::Call => return call::make(context, job, before, report, orders).await,
    };
    if let Some(run) = run {
        start.argv = environment::argv(context, task.shell, &run.value);
    }
    let named = reuse::before(context, job);
    let mut process = match context.runner.start(&start) {
        Ok(process) => process,
        Err(problem) => return refused(report, Grade::Transport, problem.why),
    };
    let real = process.is_real();
    if real {
        context.clock.busy(true);
    }
    let timeout = task.timeout.map(|timeout| timeout.value);
    let mut sizes = Sizes::default();
    let stop = watch::watch(context.limits(), &mut process, timeout, &paths, &mut sizes, &mut orders).await;
    let ended = process.finish().await;
    report.ended.duration_ms = ended.duration;
    report.ended.reads = reuse::reads(context, named);
    sizes.last(&paths, ended.how != How::Code(0));
    for (shrank, stream) in
        [(sizes.stdout_shrank, "standard output"), (sizes.stderr_shrank, "standard error")]
    {
        if shrank {
            report.warnings.push(format!("its {stream} has shrunk: something was cut off"));
        }
    }
    context.clock.hold(true);
    let collected = collect::collect(paths.clone(), sizes.stdout).await;
    context.clock.hold(false);
    let detail = last_words(ended, &paths, sizes.stderr, stop.as_ref());
    let left = Left { ended, collected, detail, stop, before };
    let mut report = settle(context, job, report, left).await;
    match context.files.restore() {
        Ok(changed) => {
            let warnings = changed.iter().map(|path| note::restored(path, "while it ran").to_string());
            report.warnings.extend(warnings);
        }
        // Before anything else runs it is tried again.
        Err(problem) => report.warnings.push(problem),
    }
    if real {
        context.clock.busy(false);
    }
    report
}

fn blank(job: &Job) -> AttemptEnded {
    AttemptEnded {
        attempt: job.attempt,
        task: job.name.clone(),
        grade: Grade::Blocked,
        note: None,
        output: None,
        last_line: Text::default(),
        cost_usd: Usd::ZERO,
        files: None,
        if_rejected: None,
        duration_ms: Millis(0),
        done_already: false,
        reused: None,
        steps: 0,
        call: None,
        reads: Vec::new(),
        ended_by: None,
    }
}

fn refused(mut report: Report, grade: Grade, problem: String) -> Report {
    report.ended.grade = grade;
    report.ended.note = Some(note::note(&problem));
    report
}

/// What an attempt does between its preparation and its promises.
enum Work<'a> {
    /// It runs a command; none where the runner stands in for the task.
    Process(Option<&'a Spanned<Run>>),
    /// It renders a template and writes what comes of it.
    Report(&'a kind::Report),
    /// It runs another plan.
    Call,
}

/// The command that a task runs itself.
fn command(task: &Task) -> Option<&Spanned<Run>> {
    match &task.kind {
        Kind::Command(run) => Some(run),
        Kind::Evaluate(evaluate) => Some(&evaluate.run),
        Kind::Route(route) => route.run.as_ref(),
        Kind::Agent(_)
        | Kind::Gate(_)
        | Kind::TopK(_)
        | Kind::Report(_)
        | Kind::Call(_)
        | Kind::Machine(_) => None,
    }
}

/// What is there to judge once the process has ended.
struct Left {
    ended: Ended,
    collected: Collected,
    /// What a failing process said last.
    detail: Option<String>,
    /// Why we ended it.
    stop: Option<Stopped>,
    /// What the declared files looked like before.
    before: Arc<Fingerprints>,
}

/// From the ended process to the event: grade, declared status, files, promises.
async fn settle(context: &Context, job: &Job, mut report: Report, left: Left) -> Report {
    let task = &context.plan[job.task];
    let Left { ended, collected, detail, stop, before } = left;
    report.ended.last_line = collected.last_line;
    let graded = grade::grade(&task.kind, ended.how, collected.found, detail.as_deref());
    match grade::cost(graded.output.as_ref()) {
        Ok(cost) => report.ended.cost_usd = cost,
        Err(problem) => report.warnings.push(problem),
    }
    if let Some(stop) = stop {
        let mut report = stopped(report, graded, stop);
        if report.ended.grade == Grade::Fail {
            keep_own(context, job, &before, &mut report).await;
        }
        return report;
    }
    let terms =
        Terms { name: &job.name, allow_partial: task.allow_partial, retries_left: job.nth <= task.retries };
    let (graded, warning) = declared(graded, terms);
    report.warnings.extend(warning);
    let graded = grade::answers(&task.kind, graded);
    finish(context, job, report, graded, before).await
}

/// From what an attempt came to by itself to the event: its files and promises.
async fn finish(
    context: &Context,
    job: &Job,
    mut report: Report,
    graded: Graded,
    before: Arc<Fingerprints>,
) -> Report {
    let (graded, files) = match graded.grade {
        Grade::Pass | Grade::Partial => keep_promises(context, job, graded).await,
        Grade::Fail
        | Grade::Skipped
        | Grade::Transport
        | Grade::Retry
        | Grade::Blocked
        | Grade::Interrupted => (graded, None),
    };
    report.ended.grade = graded.grade;
    report.ended.note = graded.note.as_deref().map(note::note);
    report.ended.if_rejected = kept_if_rejected(context, job, &before, files.as_ref()).await;
    report.ended.files = files;
    report.ended.output = match graded.grade {
        Grade::Pass | Grade::Partial => Some(graded.output.unwrap_or_else(json::Object::empty).raw()),
        Grade::Fail | Grade::Skipped | Grade::Retry => graded.output.map(|object| object.raw()),
        Grade::Transport | Grade::Blocked | Grade::Interrupted => None,
    };
    match report.ended.grade {
        Grade::Fail => keep_own(context, job, &before, &mut report).await,
        Grade::Transport => report.ended.last_line = Text::default(),
        Grade::Pass
        | Grade::Partial
        | Grade::Skipped
        | Grade::Retry
        | Grade::Blocked
        | Grade::Interrupted => {}
    }
    report
}

/// What a process that failed said last on standard error.
fn last_words(ended: Ended, paths: &AttemptPaths, stderr: u64, stop: Option<&Stopped>) -> Option<String> {
    if ended.how == How::Code(0) || stop.is_some() || stderr == 0 {
        return None;
    }
    // A note that lacks a detail is better than none.
    let line = stream::last_line(&paths.stderr).ok().flatten()?;
    Some(line.text().trim().to_owned())
}

/// An attempt that we ended: it was in flight, whatever its exit.
fn stopped(mut report: Report, graded: Graded, stop: Stopped) -> Report {
    report.ended.ended_by = Some(stop.by);
    report.ended.note = Some(note::note(&stop.note));
    match stop.by {
        EndedBy::Interruption => {
            report.ended.grade = Grade::Interrupted;
            report.ended.last_line = Text::default();
        }
        EndedBy::Timeout
        | EndedBy::TimeCeiling
        | EndedBy::CostCeiling
        | EndedBy::StepCeiling
        | EndedBy::Stop
        | EndedBy::Failure
        | EndedBy::LogLimit => {
            report.ended.grade = Grade::Fail;
            report.ended.output = graded.output.map(|object| object.raw());
        }
    }
    report
}

/// The declared files, then the fields: the first broken promise fails the attempt.
async fn keep_promises(context: &Context, job: &Job, graded: Graded) -> (Graded, Option<FileSet>) {
    let task = &context.plan[job.task];
    let files = if task.emits_files.is_empty() {
        None
    } else {
        match capture::all(context, job).await {
            Ok(set) => Some(set),
            Err(problem) => return (graded.fail(problem), None),
        }
    };
    for (file, schema) in task.emits_files.iter().filter_map(|file| Some((file, file.schema.as_ref()?))) {
        let Some(set) = &files else { break };
        let path = &file.path.value;
        let kept = match capture::read(context, set, path).await {
            Ok(bytes) => file_keeps(context, schema, path, &bytes),
            Err(problem) => Err(problem),
        };
        if let Err(problem) = kept {
            return (graded.fail(problem), None);
        }
    }
    if let Some(emits) = &task.emits
        && let Err(problem) = fields_kept(context, &emits.value, &graded)
    {
        return (graded.fail(problem), None);
    }
    (graded, files)
}

fn file_keeps(
    context: &Context,
    schema: &crate::ir::types::Schema,
    path: &str,
    bytes: &[u8],
) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| format!("`{path}` is no JSON: it is not UTF-8"))?;
    json::parse(text).map_err(|refusal| format!("`{path}` is no JSON: {}", refusal.clause()))?;
    context.schemas.check(schema, text).map_err(|broken| format!("`{path}` {broken}"))
}

fn fields_kept(context: &Context, emits: &Emits, graded: &Graded) -> Result<(), String> {
    let empty = json::Object::empty();
    let result = graded.output.as_ref().unwrap_or(&empty);
    promises::fields(&context.schemas, emits, result).map_err(|problem| match &graded.absent {
        Some(absent) => format!("it promises {}: {absent}", promises::promised(emits)),
        None => problem,
    })
}

/// What an attempt that passed so far keeps of its files if a verifier rejects it, where that is not all.
async fn kept_if_rejected(
    context: &Context,
    job: &Job,
    before: &Arc<Fingerprints>,
    files: Option<&FileSet>,
) -> Option<Kept> {
    let gated = context.plan[job.task].verify.iter().any(|check| check.required);
    let files = files.filter(|_| gated)?;
    match capture::own(context, job, before).await {
        Ok(Some(own)) if own == *files => None,
        Ok(own) => Some(Kept { files: own, problem: None }),
        Err(problem) => Some(Kept { files: None, problem: Some(note::note(&problem)) }),
    }
}

/// A failing attempt keeps the files that it wrote itself; a problem with them is added to the note.
async fn keep_own(context: &Context, job: &Job, before: &Arc<Fingerprints>, report: &mut Report) {
    if context.plan[job.task].emits_files.is_empty() {
        return;
    }
    match capture::own(context, job, before).await {
        Ok(files) => report.ended.files = files,
        Err(problem) => {
            let note = report.ended.note.take().unwrap_or_default();
            // A pass that failed for a missing file has said so.
            let said = !note.is_empty() && problem.ends_with(note.as_str());
            let added = if said { note.to_string() } else { format!("{note}; {problem}") };
            report.ended.note = Some(note::note(&added));
        }
    }
}
