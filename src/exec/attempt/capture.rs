//! Takes the declared files of an attempt (EXECUTION §7).
//!
//! Unaware of how they are stored; off the driver's thread, since files may be large.

use std::sync::Arc;

use super::{Context, Job};
use crate::event::FileSet;
use crate::exec::ports::Fingerprints;
use crate::source::Text;

/// After a pass: every declared path, or the problem.
pub(super) async fn all(context: &Context, job: &Job) -> Result<FileSet, String> {
    let paths = paths(context, job);
    let (files, root) = (Arc::clone(&context.files), context.workspace.root().to_owned());
    blocking(context, move || files.capture_pass(&root, &paths)).await
}

/// After a failure: what the attempt wrote itself, or the problem.
pub(super) async fn own(
    context: &Context,
    job: &Job,
    before: &Arc<Fingerprints>,
) -> Result<Option<FileSet>, String> {
    let paths = paths(context, job);
    let (files, root, before) =
        (Arc::clone(&context.files), context.workspace.root().to_owned(), Arc::clone(before));
    blocking(context, move || files.capture_fail(&root, &paths, &before)).await
}

/// One captured file.
pub(super) async fn read(context: &Context, set: &FileSet, path: &Text) -> Result<Vec<u8>, String> {
    let (files, set, path) = (Arc::clone(&context.files), set.clone(), path.clone());
    blocking(context, move || files.read(&set, &path)).await
}

/// The declared paths.
pub(super) fn paths(context: &Context, job: &Job) -> Vec<Text> {
    context.plan[job.task].emits_files.iter().map(|file| file.path.value.clone()).collect()
}

async fn blocking<T: Send + 'static>(
    context: &Context,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    context.clock.hold(true);
    let done = tokio::task::spawn_blocking(work).await;
    context.clock.hold(false);
    done.unwrap_or_else(|error| Err(format!("its files cannot be taken: {error}")))
}
