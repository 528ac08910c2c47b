//! What a verifier is called with, and what it may ask for (EXECUTION §9).
//!
//! A [`Call`] holds no lock and no part of the run: a verifier that hangs or panics with it in its hands
//! keeps nothing from anybody. Unaware of deadlines; those are the runner's, in the module above.

use std::fs::File;
use std::sync::{Arc, Weak};

use camino::Utf8PathBuf;
use tokio::sync::{mpsc, oneshot};

use crate::event::{FileSet, Raw};
use crate::exec::ports::{Files, How, Unopened};
use crate::source::Text;

/// The work that is looked at.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// The task; none for an acceptance gate of the plan.
    pub task: Option<Text>,
    /// Its attempt.
    pub attempt: Option<u32>,
    /// The round, from 1.
    pub round: u32,
    /// The directory that the work was done in.
    pub root: Utf8PathBuf,
    /// The pack's directory.
    pub pack: Utf8PathBuf,
    /// The result that the attempt gave.
    pub output: Option<Raw>,
    /// The files that it promised and that were captured.
    pub files: Option<FileSet>,
}

/// One call of a verifier. Only the runner makes one, so that only the runner can call a verifier.
pub struct Call {
    work: Work,
    /// Not a share in the run: a thread that never ends keeps nothing alive.
    files: Weak<dyn Files>,
    asks: mpsc::UnboundedSender<Ask>,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("work", &self.work).finish_non_exhaustive()
    }
}

/// A command that a verifier wants to have run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables on top of what every verifier gets.
    pub env: Vec<(Text, String)>,
}

/// What a verifier asks of the runner.
pub(super) struct Ask {
    pub(super) command: Command,
    pub(super) reply: oneshot::Sender<Result<Ran, NotRun>>,
}

/// A command has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub how: How,
    /// What it printed as its result.
    pub printed: Printed,
    /// The last line of its standard error, or else of its standard output.
    pub said: Text,
}

/// The result that a command printed, or wrote to `PLAN_RESULT_FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Printed {
    /// No JSON object.
    Nothing,
    /// A JSON object, as its text.
    Object(String),
    /// Something that was meant to be one and cannot be read: a clause that says why.
    Unreadable(String),
}

/// A command has not run, or not to its end. Each reason is a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRun {
    /// There is no such program.
    Missing(String),
    /// It could not be started, or was ended.
    Failed(String),
}

impl Call {
    pub(super) fn new(work: Work, files: &Arc<dyn Files>, asks: mpsc::UnboundedSender<Ask>) -> Self {
        Self { work, files: Arc::downgrade(files), asks }
    }

    /// What is looked at.
    #[must_use]
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// Runs a command in the directory of the work, in a clean environment, and ends all that it started
    /// when it has ended, or when this call is over.
    ///
    /// # Errors
    /// If it could not be started.
    pub async fn run(&self, command: Command) -> Result<Ran, NotRun> {
        let over = || NotRun::Failed("the call is over".to_owned());
        let (reply, answer) = oneshot::channel();
        self.asks.send(Ask { command, reply }).map_err(|_| over())?;
        answer.await.unwrap_or_else(|_| Err(over()))
    }

    /// Opens a file of the work: the captured copy of one that the task promises, else the one in the
    /// workspace, beneath its root and without a symbolic link in any component.
    ///
    /// # Errors
    /// If there is none that counts.
    pub fn open(&self, path: &str) -> Result<File, Unopened> {
        let files = self.files.upgrade().ok_or_else(|| Unopened::Failed("the run is over".to_owned()))?;
        match &self.work.files {
            Some(set) if set.paths.iter().any(|promised| promised == path) => {
                files.captured(set, path).map_err(Unopened::Failed)
            }
            _ => files.open(&self.work.root, path),
        }
    }
}
