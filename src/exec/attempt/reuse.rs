//! Taking over the result of another run, and remembering what a later run has to hold one against.
//!
//! Whether a result holds as far as logs tell is decided elsewhere; here are files.

use std::sync::Arc;

use camino::Utf8PathBuf;
use rustc_hash::FxHashMap;

use super::{Context, Job};
use crate::event::{AttemptEnded, NamedFile};
use crate::exec::named::{Named, named, place};
use crate::ir::TaskId;
use crate::source::Text;

/// What the files that a task's commands name held before they ran.
pub(super) struct Before {
    words: Named,
    inputs: Vec<NamedFile>,
    checks: Vec<NamedFile>,
}

/// What the files hold that the commands of `job`'s task name.
pub(super) fn before(context: &Context, job: &Job) -> Before {
    let words = named(&context.plan[job.task], job.element.as_deref());
    let (inputs, checks) = (look(context, &words.inputs), look(context, &words.checks));
    Before { words, inputs, checks }
}

fn look(context: &Context, words: &[Text]) -> Vec<NamedFile> {
    let (root, pack) = (context.workspace.root(), &context.pack);
    let places: Vec<(Text, Utf8PathBuf)> =
        words.iter().map(|word| (word.clone(), place(word, root, pack))).collect();
    if places.is_empty() { Vec::new() } else { context.files.named(&places) }
}

/// What an attempt read, as far as its task's commands name it. What changed while it ran, whoever changed
/// it, is not known to be what it read. Words that are no files are left out.
pub(super) fn reads(context: &Context, before: Before) -> Vec<NamedFile> {
    let Before { words, inputs, checks } = before;
    let now = look(context, &words.inputs);
    let inputs = inputs.into_iter().zip(now).map(|(before, now)| {
        let changed = before != now;
        NamedFile { changed, ..before }
    });
    // What a verifier names is looked at again by it.
    let now = look(context, &words.checks);
    let checks = checks.into_iter().zip(now).filter(|(before, now)| before == now).map(|(before, _)| before);
    inputs
        .filter(|file| file.changed || file.digest.is_some())
        .chain(checks.filter(|file| file.digest.is_some()))
        .collect()
}

/// Whether the files are as they were that an attempt of another run was given, and what it left is there.
///
/// # Errors
/// What is not, as one clause.
pub(in crate::exec) fn holds(
    context: &Context,
    task: TaskId,
    element: Option<&str>,
    ended: &AttemptEnded,
) -> Result<(), Text> {
    if let Some(file) = ended.reads.iter().find(|file| file.changed) {
        return Err(compact_str::format_compact!("`{}` changed while it ran there", file.path));
    }
    let then: FxHashMap<&Text, &NamedFile> = ended.reads.iter().map(|file| (&file.path, file)).collect();
    let mut words: Vec<Text> = ended.reads.iter().map(|file| file.path.clone()).collect();
    words.extend(
        named(&context.plan[task], element).inputs.into_iter().filter(|word| !then.contains_key(word)),
    );
    for now in look(context, &words) {
        let path = &now.path;
        if let Some(why) = now.digest.as_ref().and_then(|digest| digest.strip_prefix(NamedFile::UNCOMPARED)) {
            return Err(compact_str::format_compact!("`{path}` cannot be compared: {why}"));
        }
        match (then.get(path).and_then(|file| file.digest.as_ref()), &now.digest) {
            (then, now) if then == now.as_ref() => {}
            (Some(_), Some(_)) => return Err(compact_str::format_compact!("`{path}` has changed")),
            (Some(_), None) => return Err(compact_str::format_compact!("`{path}` is missing")),
            (None, _) => return Err(compact_str::format_compact!("`{path}` was not there then")),
        }
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
