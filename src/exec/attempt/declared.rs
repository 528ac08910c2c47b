//! The status that a result declares (LANGUAGE §12): it only narrows.
//!
//! Pure. Read only from an attempt that would pass otherwise.

use super::grade::{Graded, own_note};
use super::json::Json;
use crate::event::Grade;
use crate::exec::note;

/// What the task allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms<'a> {
    /// The task.
    pub name: &'a str,
    /// Whether `partial` holds.
    pub allow_partial: bool,
    /// Whether another attempt is allowed.
    pub retries_left: bool,
}

/// Applies the declared status. Second: a warning that names a value which means nothing.
pub(super) fn declared(graded: Graded, terms: Terms<'_>) -> (Graded, Option<String>) {
    let Some(object) = graded.output.as_ref().filter(|_| graded.grade == Grade::Pass) else {
        return (graded, None);
    };
    let own = own_note(object).map(|own| own.trim().to_owned());
    let status = match object.get("status") {
        None => return (Graded { note: own, ..graded }, None),
        Some(Json::String(status)) => status.as_str(),
        Some(other) => {
            let warning = format!("`status` in the result means nothing, being {}", other.describe());
            return (Graded { note: own, ..graded }, Some(warning));
        }
    };
    let name = terms.name;
    let (grade, stand_in) = match status {
        "pass" => (Grade::Pass, None),
        "fail" => (Grade::Fail, Some(format!("`{name}` declared itself failed"))),
        "skipped" => (Grade::Skipped, Some(format!("`{name}` declared itself skipped"))),
        "partial" if terms.allow_partial => {
            (Grade::Partial, Some(format!("`{name}` declared itself partial")))
        }
        "partial" => (Grade::Fail, Some(format!("`{name}` declared itself partial, which it may not be"))),
        "retry" if terms.retries_left => (Grade::Retry, Some(format!("`{name}` asked for another attempt"))),
        "retry" => {
            let spent = format!("`{name}` asked for another attempt, and its retries are spent");
            (if terms.allow_partial { Grade::Partial } else { Grade::Fail }, Some(spent))
        }
        other => {
            let other = super::json::quoted(&note::shown(other, 60));
            let warning = format!("`status` in the result means nothing, being {other}");
            return (Graded { note: own, ..graded }, Some(warning));
        }
    };
    (Graded { grade, note: own.or(stand_in), ..graded }, None)
}
