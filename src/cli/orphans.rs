//! What a run whose executor died has left running, ended by who stops or removes the run.

use camino::Utf8Path;
use rustc_hash::FxHashMap;

use super::say;
use super::state::Opened;
use crate::event::Body;
use crate::exec;
use crate::runner;
use crate::source::Text;

/// Ends what the attempts and verifiers of a run left running. Nobody may be working on it.
pub(super) fn end(opened: &Opened) {
    let mut open: FxHashMap<&str, &Text> = FxHashMap::default();
    for event in &opened.log.events {
        if let Body::AttemptStarted(body) = &event.body {
            open.extend(body.token.as_ref().map(|token| (body.task.as_str(), token)));
        } else if let Body::TaskSettled(body) = &event.body {
            // Until then its verifiers may be at work.
            open.remove(body.task.as_str());
        }
    }
    let pack = Utf8Path::new(&opened.about.plan_file).parent().unwrap_or(Utf8Path::new("/"));
    let gates = (!opened.plan.gates.is_empty()).then(|| exec::gates_token(&opened.run.name, pack));
    let tokens = open.into_values().cloned().chain(gates).collect();
    let left = runner::sweep(tokens, opened.about.mark(), &opened.run.cgroups());
    left.iter().for_each(|problem| say(&format!("plan: {problem}\n")));
}
