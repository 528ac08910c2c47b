//! Makes an attempt ready (EXECUTION §5): inputs, staged files, fingerprints, and whether it is done
//! already (LANGUAGE §11).
//!
//! A refusal here is `blocked` with the reason; nothing has run then.

use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::environment::{Places, argv, variables, withheld};
use super::watch::{Sizes, watch};
use super::{Context, Job, Orders, capture, note};
use crate::event::FileSet;
use crate::exec::ports::{AttemptPaths, Fingerprints, How, Start};
use crate::ir::{DoneWhen, kind::Run};
use crate::source::Text;

/// An attempt that may start.
pub(super) struct Prepared {
    /// What to start, but for the command line.
    pub start: Start,
    /// What its declared files looked like.
    pub before: Arc<Fingerprints>,
    /// What had to be made anew.
    pub warnings: Vec<Text>,
}

/// Writes the inputs, stages files, and fingerprints the declared paths.
pub(super) fn prepare(context: &Context, job: &Job, paths: &AttemptPaths) -> Result<Prepared, String> {
    let task = &context.plan[job.task];
    if job.element.as_ref().is_some_and(|element| element.contains('\0')) {
        return Err("its element holds a NUL, which no variable can".to_owned());
    }
    let inputs = context.files.inputs(&job.inputs.json);
    let inputs = inputs.map_err(|error| format!("its inputs cannot be written: {error}"))?;
    let staging = context.files.stage(&job.inputs.staged)?;
    let restored = context.files.restore()?;
    let root = context.workspace.root();
    let cwd = match &task.cwd {
        Some(cwd) => working_directory(root, &cwd.value)?,
        None => root.to_owned(),
    };
    let declared = capture::paths(context, job);
    let before = if declared.is_empty() {
        Fingerprints::default()
    } else {
        context.files.fingerprint(root, &declared)
    };
    let places = Places { inputs: inputs.as_str(), files: staging.directory.as_str() };
    let start = Start {
        task: context.outside(&job.name),
        attempt: job.attempt,
        nth: job.nth,
        round: job.round,
        argv: Vec::new(),
        env: variables(context, task, job, &places, paths),
        withheld: withheld(context, task),
        cwd,
        paths: paths.clone(),
        token: job.token.clone(),
        within: context.within.clone(),
    };
    let mut warnings = staging.warnings;
    warnings.extend(restored.iter().map(|path| note::restored(path, "before it ran")));
    Ok(Prepared { start, before: Arc::new(before), warnings })
}

/// The directory `written`, which is in the workspace, symbolic links included.
fn working_directory(root: &Utf8Path, written: &str) -> Result<Utf8PathBuf, String> {
    let path = root.join(written);
    let inside = || Some(path.canonicalize_utf8().ok()?.starts_with(root.canonicalize_utf8().ok()?));
    match (path.is_dir(), inside()) {
        (true, Some(true)) => Ok(path),
        (true, _) => Err(format!("its working directory `{written}` leaves the workspace")),
        (false, _) => Err(format!("its working directory `{written}` is missing")),
    }
}

/// Whether the task is done already: the files that it then has.
pub(super) async fn done_already(
    context: &Context,
    job: &Job,
    prepared: &Prepared,
    orders: &mut Orders,
) -> Option<Option<FileSet>> {
    let task = &context.plan[job.task];
    let done_when = task.done_when.as_ref().filter(|_| job.ask_done)?;
    let done = match &done_when.value {
        DoneWhen::Files => prepared.before.0.iter().all(Option::is_some),
        DoneWhen::Command(command) => asks(context, job, prepared, command, orders).await,
    };
    if !done {
        return None;
    }
    if task.emits_files.is_empty() {
        return Some(None);
    }
    // What cannot be taken is not there: the task runs.
    capture::all(context, job).await.ok().map(Some)
}

/// Whether the command exits 0. Its output goes where the task's standard error goes, so that none of it
/// is taken for a result.
async fn asks(context: &Context, job: &Job, prepared: &Prepared, command: &str, orders: &mut Orders) -> bool {
    let task = &context.plan[job.task];
    let mut start = prepared.start.clone();
    // Who stands in for the task does not answer for this.
    start.task = compact_str::format_compact!("{}/done_when", context.outside(&job.name));
    start.argv = argv(context, task.shell, &Run::Shell(command.into()));
    start.paths.stdout.clone_from(&start.paths.stderr);
    let Ok(mut process) = context.runner.start(&start) else { return false };
    let real = process.is_real();
    if real {
        context.clock.busy(true);
    }
    let timeout = task.timeout.map(|timeout| timeout.value);
    let stopped =
        watch(context.limits(), &mut process, timeout, &start.paths, &mut Sizes::default(), orders).await;
    let ended = process.finish().await;
    if real {
        context.clock.busy(false);
    }
    stopped.is_none() && ended.how == How::Code(0)
}
