//! Taking over the result of another run, and remembering what a later run has to hold one against.
//!
//! Whether a result holds as far as logs tell is decided elsewhere; here are files.

use std::sync::Arc;

use camino::Utf8PathBuf;

use super::Context;
use crate::event::{AttemptEnded, NamedFile};
use crate::exec::reuse::{place, words};
use crate::ir::Task;
use crate::source::Text;

/// What the files hold that the commands of `task` name.
pub(super) fn named(context: &Context, task: &Task) -> Vec<NamedFile> {
    look(context, words(task))
}

fn look(context: &Context, words: Vec<Text>) -> Vec<NamedFile> {
    let (root, pack) = (context.workspace.root(), &context.pack);
    let places: Vec<(Text, Utf8PathBuf)> = words
        .into_iter()
        .map(|word| {
            let path = place(&word, root, pack);
            (word, path)
        })
        .collect();
    if places.is_empty() { Vec::new() } else { context.files.named(&places) }
}

/// Those of `before` that are as they were: what an attempt wrote itself it did not read. A word that is no
/// file says nothing unless it looks like one.
pub(super) fn left_alone(context: &Context, task: &Task, before: Vec<NamedFile>) -> Vec<NamedFile> {
    if before.is_empty() {
        return before;
    }
    let after = named(context, task);
    let path_like = |file: &NamedFile| file.digest.is_some() || file.path.contains(['/', '.']);
    before.into_iter().filter(|file| path_like(file) && after.contains(file)).collect()
}

/// Whether the files are as they were that an attempt of another run was given, and what it left is there.
///
/// # Errors
/// What is not, as one clause.
pub(in crate::exec) fn holds(context: &Context, ended: &AttemptEnded) -> Result<(), Text> {
    let now = look(context, ended.reads.iter().map(|file| file.path.clone()).collect());
    let large = |file: &NamedFile| file.digest.as_ref().is_some_and(|digest| digest.starts_with("more than"));
    if let Some((then, now)) = ended.reads.iter().zip(&now).find(|(then, now)| then != now || large(now)) {
        let path = &then.path;
        if let Some(many) = now.digest.as_ref().filter(|_| large(now)) {
            return Err(compact_str::format_compact!("`{path}` has {many}, too many to be compared"));
        }
        return Err(match (&then.digest, &now.digest) {
            (Some(_), Some(_)) => compact_str::format_compact!("`{path}` has changed"),
            (Some(_), None) => compact_str::format_compact!("`{path}` is missing"),
            (None, _) => compact_str::format_compact!("`{path}` was not there then"),
        });
    }
    match &ended.files {
        Some(set) => context.files.offers(set).map_err(Text::from),
        None => Ok(()),
    }
}

/// Takes the files over. Says what of the workspace had to be put back.
pub(super) async fn take_over(context: &Context, from: &AttemptEnded) -> Result<Vec<String>, String> {
    let Some(set) = from.files.clone() else { return Ok(Vec::new()) };
    let (files, root) = (Arc::clone(&context.files), context.workspace.root().to_owned());
    let taking = tokio::task::spawn_blocking(move || files.take_over(&root, &set));
    let changed = taking.await.unwrap_or_else(|error| Err(error.to_string()))?;
    let put_back = |path: &Text| format!("`{path}` was another one, and is as the other run left it");
    Ok(changed.iter().map(put_back).collect())
}

/// The end of an attempt that took over that of `from`.
pub(super) fn fill(ended: &mut AttemptEnded, from: &AttemptEnded, run: &Text) {
    ended.grade = from.grade;
    ended.note.clone_from(&from.note);
    ended.output.clone_from(&from.output);
    ended.last_line.clone_from(&from.last_line);
    ended.files.clone_from(&from.files);
    ended.reads.clone_from(&from.reads);
    ended.reused = Some(run.clone());
}
