//! What a run needs from outside, as traits: who writes, who runs, what time it is.
//!
//! The driver and the attempts call these; `store`, `runner`, `workspace` and `cli` stand behind them,
//! and tests put stubs there. Unaware of tokio: a future is a plain boxed one, and whatever happens
//! elsewhere is posted as a [`Notice`].

use std::fs::File;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use crate::event::{Body, Ceilings, Event, FileSet, NamedFile, Raw, VerifierMode};
use crate::history::{History, Question};
use crate::ir::{self, Millis};
use crate::source::Text;
use crate::validate::ValidPlan;

pub use super::attempt::verify::{Call, Command, NotRun, Printed, Ran, Work};

/// Everything that a run needs from outside.
pub struct Ports {
    /// Where events go.
    pub log: Box<dyn Log>,
    /// Inputs, streams and captured files.
    pub files: Arc<dyn Files>,
    /// Where processes run.
    pub runner: Arc<dyn Runner>,
    /// Where files live.
    pub workspace: Arc<dyn Workspace>,
    /// Who checks its work.
    pub verifiers: Arc<dyn Verifiers>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Who shows the run.
    pub reporter: Box<dyn Reporter>,
    /// Where signals and requests come from.
    pub sources: Vec<Box<dyn Source>>,
    /// Where runs of called plans are kept.
    pub calls: Arc<dyn Calls>,
}

/// A boxed future.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How a port tells the driver of something; may be called from any thread.
pub type Post = Arc<dyn Fn(Notice) + Send + Sync>;

/// What a port tells the driver.
#[derive(Clone, Debug)]
pub enum Notice {
    /// Events up to this number are on disk.
    Synced(u64),
    /// The log could not be written or synced; it is never tried again (EXECUTION §11).
    LogFailed(LogFailed),
    /// A signal to the executor: `INT` or `TERM`.
    Signal(Text),
    /// Somebody put a request into `control/`, or answers a question.
    Request(Request),
    /// Somebody who was there to answer has gone: see [`Source::attends`].
    Left,
}

/// The log could not be written: the path and the cause, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFailed {
    /// Which file.
    pub path: Utf8PathBuf,
    /// Why.
    pub cause: String,
}

/// A request to the process that runs a run.
#[derive(Clone, Debug)]
pub enum Request {
    /// `plan stop`.
    Stop {
        /// Who asked.
        by: Option<Text>,
    },
    /// `plan answer`.
    Answer {
        /// The gate or task.
        task: Text,
        /// The number of the question.
        question: u64,
        /// The answer.
        answer: Text,
        /// Who answered.
        by: Text,
        /// A result given with it.
        result: Option<Raw>,
    },
}

/// Whence signals, requests in `control/`, or answers come.
pub trait Source: Send {
    /// Tells where to post [`Notice::Signal`] and [`Notice::Request`]. Called once, inside the driver's
    /// runtime, before anything is dispatched; the source stops when it is dropped.
    fn connect(&mut self, post: Post);

    /// A question is open: `task` asks it. Whoever knows the answer posts a [`Request::Answer`], now or later.
    fn asked(&mut self, _task: &str, _question: &Question) {}

    /// The question with this number is not open any more.
    fn closed(&mut self, _question: u64) {}

    /// An answer to the question with this number was refused, and `why`. It is still open, unless
    /// [`Source::closed`] has said otherwise.
    fn refused(&mut self, _question: u64, _why: &str) {}

    /// Whether an answer to an open question may yet come from here, so that the run waits for it instead of
    /// ending its sitting. Who does not attend any more posts [`Notice::Left`].
    fn attends(&self) -> bool {
        false
    }
}

/// Where events go (EXECUTION §11).
pub trait Log: Send {
    /// Tells where to post [`Notice::Synced`] and [`Notice::LogFailed`].
    fn connect(&mut self, post: Post);

    /// Writes an event and returns it with its number. It is not on disk yet.
    ///
    /// # Errors
    /// If it could not be written; nothing more may be appended then.
    fn append(&mut self, at: i64, t: Millis, body: Body) -> Result<Event, LogFailed>;

    /// A request becomes no event: it was refused, and a warning says so.
    fn refused(&mut self, _request: &Request) {}

    /// Asks that everything up to `seq` be on disk soon.
    fn sync(&mut self, seq: u64);

    /// Up to which event everything is known to be on disk.
    fn synced(&self) -> u64;
}

/// Inputs, streams and captured files below the run directory (EXECUTION §7, §11).
pub trait Files: Send + Sync {
    /// The paths of an attempt's streams and result. Creates nothing but the directory that they are in.
    fn attempt(&self, attempt: u32) -> AttemptPaths;

    /// The file that holds these inputs; equal inputs share one.
    ///
    /// # Errors
    /// If it cannot be written.
    fn inputs(&self, json: &str) -> std::io::Result<Utf8PathBuf>;

    /// These inputs are needed no more, unless they are asked for again. Who has room keeps them.
    fn forget_inputs(&self, _json: &str) {}

    /// A directory with these sets, read-only; one shared empty directory where there are none.
    ///
    /// # Errors
    /// If content is missing or does not have its digest: the note names it.
    fn stage(&self, sets: &[Staged]) -> Result<Staging, String>;

    /// What the declared paths look like before an attempt.
    fn fingerprint(&self, root: &Utf8Path, paths: &[Text]) -> Fingerprints;

    /// Takes the declared paths after an attempt that passed: all of them, or a problem that names what
    /// is missing or what bound is passed. `root` confines: no symbolic link in any component.
    ///
    /// # Errors
    /// The problem, as one clause for the note.
    fn capture_pass(&self, root: &Utf8Path, paths: &[Text]) -> Result<FileSet, String>;

    /// Takes the declared paths after an attempt that failed: those that it wrote itself, whole or not at
    /// all. `Ok(None)` where it wrote none.
    ///
    /// # Errors
    /// The problem, as one clause that is added to the note.
    fn capture_fail(
        &self,
        root: &Utf8Path,
        paths: &[Text],
        before: &Fingerprints,
    ) -> Result<Option<FileSet>, String>;

    /// The captured content of one path of a set.
    ///
    /// # Errors
    /// If it is missing or does not have its digest.
    fn read(&self, set: &FileSet, path: &str) -> Result<Vec<u8>, String>;

    /// Opens the captured content of one path of a set, once all of it has been held against its digest.
    ///
    /// # Errors
    /// If it is missing or does not have its digest.
    fn captured(&self, set: &FileSet, path: &str) -> Result<File, String>;

    /// Opens a file beneath `root` as capture would: a regular one, with no symbolic link in any component.
    ///
    /// # Errors
    /// If none counts.
    fn open(&self, root: &Utf8Path, path: &str) -> Result<File, Unopened>;

    /// The inputs of a report without secrets: what it renders is kept and shown.
    fn masked(&self, json: &str) -> Raw;

    /// Writes a report to `to`, a path below the run's directory or [`ir::kind::STDOUT`]. It is there
    /// completely or not, and on disk, when this returns.
    ///
    /// # Errors
    /// If it cannot be written: why, as one clause.
    fn report(&self, attempt: u32, to: &str, text: &str) -> Result<(), String>;

    /// Puts back the frozen files that were changed, and names them (EXECUTION §8). Nothing where none is.
    ///
    /// # Errors
    /// What could not be put back, as one clause.
    fn restore(&self) -> Result<Vec<Text>, String> {
        Ok(Vec::new())
    }

    /// Every frozen file that was put back so far in this sitting, in order: whoever looked meanwhile may have
    /// seen another.
    fn restored(&self) -> Vec<Text> {
        Vec::new()
    }

    /// What the files at these places hold, each under the name that it goes by. Those that nobody can tell
    /// anything of are left out; by default all.
    fn named(&self, _files: &[(Text, Utf8PathBuf)]) -> Vec<NamedFile> {
        Vec::new()
    }

    /// Whether the run whose results may be taken over still has this set.
    ///
    /// # Errors
    /// Why not, as one clause.
    fn offers(&self, _set: &FileSet) -> Result<(), String> {
        Err("no other run is open".to_owned())
    }

    /// Takes a set of that run over into this one, and puts its files back below `root` where they are not
    /// as it has them. Names those that were there and differed.
    ///
    /// # Errors
    /// What could not be taken over, as one clause.
    fn take_over(&self, _root: &Utf8Path, set: &FileSet) -> Result<Vec<Text>, String> {
        self.offers(set).map(|()| Vec::new())
    }

    /// The paths of a verifier's streams and result, by a name of its own. Creates nothing.
    fn verification(&self, name: &str) -> AttemptPaths;
}

/// Why a file cannot be looked at. Each clause goes after the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unopened {
    /// Nothing is there.
    Missing,
    /// What is there does not count: a link, a directory, a pipe, a path that leaves its root.
    Refused(String),
    /// It cannot be read.
    Failed(String),
}

/// Where an attempt's streams and result are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttemptPaths {
    /// Standard output.
    pub stdout: Utf8PathBuf,
    /// Standard error.
    pub stderr: Utf8PathBuf,
    /// Where the result may be written.
    pub result: Utf8PathBuf,
}

/// A set to stage, and the name of its directory below `PLAN_FILES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// `task`, or `task[element]` with the element encoded.
    pub directory: Text,
    /// The set.
    pub set: FileSet,
}

/// Staged files.
#[derive(Clone, Debug)]
pub struct Staging {
    /// `PLAN_FILES`.
    pub directory: Utf8PathBuf,
    /// What had to be made anew.
    pub warnings: Vec<Text>,
}

/// What declared paths looked like before an attempt; what it holds is the store's business.
#[derive(Clone, Debug, Default)]
pub struct Fingerprints(pub Vec<Option<[u64; 8]>>);

/// Where a process runs.
pub trait Runner: Send + Sync {
    /// Starts a process in a group of its own, standard input from nothing, both streams opened for
    /// appending.
    ///
    /// # Errors
    /// If it cannot be started: transport (EXECUTION §5).
    fn start(&self, start: &Start) -> Result<Box<dyn Process>, NotStarted>;

    /// Whether it stands in for `task`, or this instance: it does then what the task would have done, whatever
    /// its kind, and needs no command line for it.
    fn plays(&self, _task: &str) -> bool {
        false
    }

    /// Ends what attempts with these tokens left running when their executor died (EXECUTION §12):
    /// terminates, then kills after the grace.
    fn sweep(&self, _tokens: Vec<Text>) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Why a process could not be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotStarted {
    /// Whether there is no such program.
    pub missing: bool,
    /// Why, as one clause.
    pub why: String,
}

impl std::fmt::Display for NotStarted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

/// What to start.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The task, `task[element]` for an instance.
    pub task: Text,
    /// The attempt's number.
    pub attempt: u32,
    /// Which attempt of this task in this round, from 1.
    pub nth: u32,
    /// The round, from 1.
    pub round: u32,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The variables on top of the operator's environment.
    pub env: Vec<(Text, String)>,
    /// Variables of the operator's environment that it does not get, besides `PLAN_*`.
    pub withheld: Vec<Text>,
    /// Its working directory.
    pub cwd: Utf8PathBuf,
    /// Its streams and its result.
    pub paths: AttemptPaths,
    /// The random token that marks its processes.
    pub token: Text,
    /// A token that marks them besides: whoever sweeps that one ends these too.
    pub within: Option<Text>,
}

/// A process that was started.
pub trait Process: Send {
    /// Waits until the process itself has ended, without reaping it.
    fn ended(&mut self) -> Boxed<'_, ()>;

    /// Called now and then while it runs: remembers its descendants, so that they are known by ancestry
    /// when it has ended.
    fn observe(&mut self) {}

    /// Whether nothing that it started is left running.
    fn alone(&mut self) -> bool {
        true
    }

    /// Whether it takes real time, as a process does; a stub's time is the clock's.
    fn is_real(&self) -> bool {
        true
    }

    /// Asks the whole tree to end. False if the process itself had ended before.
    fn terminate(&mut self) -> bool;

    /// Ends the whole tree at once.
    fn kill(&mut self);

    /// Once the process itself has ended: ends what it left running, reaps it, and says how it ended.
    fn finish(self: Box<Self>) -> Boxed<'static, Ended>;
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub how: How,
    /// How long it ran.
    pub duration: Millis,
}

/// Exit code or signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It exited.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// Nobody can say: something else in this program took its status.
    Lost,
}

impl How {
    /// How it ended, in the words of a note.
    pub(crate) fn words(self) -> String {
        match self {
            Self::Code(code) => format!("exit {code}"),
            Self::Signal(number) => format!("ended by {}", super::note::signal(number)),
            Self::Lost => "its exit was lost".to_owned(),
        }
    }
}

/// Where files live (EXECUTION §8).
pub trait Workspace: Send + Sync {
    /// The directory that a task runs in, before its `cwd`.
    fn root(&self) -> &Utf8Path;
}

/// What time it is. Unsuspended and monotonic: a suspended machine spends none (EXECUTION §5).
pub trait Clock: Send + Sync {
    /// Time since the sitting began.
    fn now(&self) -> Millis;

    /// Milliseconds since 1970 in UTC, for people.
    fn utc(&self) -> i64;

    /// Waits until [`Clock::now`] is at least `t`.
    fn until(&self, t: Millis) -> Boxed<'static, ()>;

    /// Tells a clock that jumps to its next timer that real work is in flight (`true`) or is over
    /// (`false`): it jumps only while none is (EXECUTION §15). Calls nest.
    fn busy(&self, _busy: bool) {}

    /// Tells a clock that jumps that something of ours is in flight which takes no time of the run's
    /// (`true`), or is over (`false`): no jump meanwhile. Calls nest.
    fn hold(&self, _hold: bool) {}

    /// The driver's thread has nothing more to do until something happens: the moment to jump.
    fn idle(&self) {}

    /// Whether it jumps. Nothing is said then for the sake of time alone, or it would jump from one such moment
    /// to the next for ever.
    fn jumps(&self) -> bool {
        false
    }
}

/// Where runs of called plans are kept: each is a run of its own, below that of its caller.
pub trait Calls: Send + Sync {
    /// Begins the run of a called plan, or takes it up.
    ///
    /// # Errors
    /// Why it cannot be worked with, as one clause.
    fn open(&self, calling: &Calling<'_>) -> Result<Called, String>;
}

/// A plan that is called.
#[derive(Clone, Copy, Debug)]
pub struct Calling<'a> {
    /// What its run is called below that of its caller: by the task, and by the attempt and the round of it.
    pub name: &'a str,
    /// Whether it has a run that is taken up, if it is there.
    pub resumes: bool,
    /// The plan.
    pub plan: &'a ValidPlan,
    /// Its path, as its caller writes it.
    pub path: &'a str,
    /// The ceilings that it has.
    pub ceilings: Ceilings,
}

/// The run of a called plan.
pub struct Called {
    /// Its name.
    pub run: Text,
    /// The fingerprint of its gates.
    pub gates: Text,
    /// Its log.
    pub log: Box<dyn Log>,
    /// Its files.
    pub files: Arc<dyn Files>,
    /// Where runs of plans are kept that it calls in turn.
    pub calls: Arc<dyn Calls>,
    /// What has happened in it.
    pub past: Vec<Event>,
    /// Called with all that has happened, once nothing more does in this sitting.
    pub over: Box<dyn FnOnce(&History) + Send>,
}

/// Who shows a run while it happens.
pub trait Reporter: Send {
    /// An event was written and folded in.
    fn event(&mut self, event: &Event, history: &History);

    /// Time passed without an event; the driver calls this about ten times a second while attempts run.
    fn tick(&mut self, _history: &History, _now: Millis) {}
}

/// Checks finished work (EXECUTION §9): an identity, and one operation.
///
/// The framework makes it fail closed, not its author. Only the framework can call one, since nobody else
/// can make a [`Call`]; it does so on a thread and in a runtime of its own, so that a verifier may block,
/// hang or panic. Passing takes an [`Outcome`] that says so, in time: whatever else happens is a failing
/// verdict.
pub trait Verifier: Send + Sync {
    /// What it is, for the record: `run`, `file`, or an embedder's own name and version.
    fn identity(&self) -> Text;

    /// Looks at the work. What it needs from outside, processes first of all, it asks of `call`, so that
    /// nothing of it outlives its verdict.
    fn verify<'a>(&'a self, call: &'a Call) -> Boxed<'a, Outcome>;
}

/// What a verifier says. There is no third thing to say, and nothing turns an `Err` into one of these:
/// whoever has one has to write down which of the two it means.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The work holds.
    Pass {
        /// One line for people; may be empty.
        detail: Text,
    },
    /// It does not, or nobody can say.
    Fail {
        /// How it failed.
        mode: VerifierMode,
        /// One line for people.
        detail: Text,
    },
}

impl Outcome {
    /// The work holds.
    pub fn pass(detail: impl Into<Text>) -> Self {
        Self::Pass { detail: detail.into() }
    }

    /// It was looked at, and does not hold.
    pub fn rejected(detail: impl Into<Text>) -> Self {
        Self::Fail { mode: VerifierMode::Rejected, detail: detail.into() }
    }

    /// The verifier itself failed.
    pub fn error(detail: impl Into<Text>) -> Self {
        Self::Fail { mode: VerifierMode::Error, detail: detail.into() }
    }

    /// What is needed to look at it is not there.
    pub fn missing(detail: impl Into<Text>) -> Self {
        Self::Fail { mode: VerifierMode::Missing, detail: detail.into() }
    }
}

/// Who checks what a `verify` block says.
pub trait Verifiers: Send + Sync {
    /// The verifier for this block. None makes a failing verdict, `missing`.
    fn find(&self, check: &ir::Verify) -> Option<Arc<dyn Verifier>>;
}
