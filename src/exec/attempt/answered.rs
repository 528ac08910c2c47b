//! An attempt that was interrupted, and of which a person says that it passed (EXECUTION §12): nothing runs,
//! and what is said is held to the task's promises as any result is.
//!
//! Unaware of how people answer, and of files.

use super::collect::{Collected, Found};
use super::declared::{Terms, declared};
use super::{Schemas, grade, json, promises};
use crate::event::{Grade, Raw};
use crate::exec::ports::How;
use crate::ir::Task;
use crate::source::Text;

/// What a person said of an attempt that had passed.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Who.
    pub by: Text,
    /// The result given with the answer.
    pub result: Option<Raw>,
}

/// The result, as if the attempt had left it.
pub(super) fn collected(answered: &Answered) -> Collected {
    Collected { found: found(answered.result.as_deref().map(|raw| raw.get())), last_line: Text::default() }
}

fn found(result: Option<&str>) -> Found {
    let Some(text) = result else { return Found::Nothing };
    match json::parse_object(text) {
        Ok(Some(object)) => Found::Object(object),
        Ok(None) => Found::Refused("the result is no JSON object".to_owned()),
        Err(refusal) => Found::Refused(format!("the result {}", refusal.clause())),
    }
}

/// The first promise about its result that `task` would break with it, as a clause; the files are for who can
/// look at them.
#[must_use]
pub fn broken_promise(task: &Task, result: Option<&str>) -> Option<String> {
    let name = &task.name.value;
    let graded = grade::grade(&task.kind, How::Code(0), found(result), None);
    let terms = Terms { name, allow_partial: task.allow_partial, retries_left: false };
    let graded = grade::answers(&task.kind, declared(graded, terms).0);
    match graded.grade {
        Grade::Pass | Grade::Partial => {}
        Grade::Fail
        | Grade::Skipped
        | Grade::Transport
        | Grade::Retry
        | Grade::Blocked
        | Grade::Interrupted => return Some(graded.note.unwrap_or_else(|| "it would not pass".to_owned())),
    }
    let empty = json::Object::empty();
    let result = graded.output.as_ref().unwrap_or(&empty);
    promises::fields(&Schemas::default(), &task.emits.as_ref()?.value, result).err()
}
