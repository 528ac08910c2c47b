//! What a command that a verifier ran has printed (LANGUAGE §9).
//!
//! Read as the result of an attempt is. Unaware of what it has to say.

use super::call::{Printed, Ran};
use crate::exec::attempt::collect::{Found, collect};
use crate::exec::attempt::{json, stream};
use crate::exec::ports::{AttemptPaths, How};
use crate::source::Text;

/// Reads what a command left.
pub(super) async fn ran(how: How, paths: AttemptPaths) -> Ran {
    let collected = collect(paths.clone(), stream::size(&paths.stdout)).await;
    let meant = collected.last_line.trim_start().starts_with('{');
    let printed = match collected.found {
        Found::Nothing => Printed::Nothing,
        Found::Object(object) => Printed::Object(object.text().to_owned()),
        Found::Other(why) if meant => Printed::Unreadable(why),
        Found::Other(_) => answered(&paths).map_or(Printed::Nothing, Printed::Object),
        Found::Refused(why) => Printed::Unreadable(why),
    };
    // A detail that lacks a line is better than none.
    let line = stream::last_line(&paths.stderr).ok().flatten();
    let said = line.map(|line| Text::from(line.text().trim())).unwrap_or(collected.last_line);
    Ran { how, printed, said }
}

/// The latest line that answers: an answer is not taken back by what is printed after it.
fn answered(paths: &AttemptPaths) -> Option<String> {
    let last = stream::last_line(&paths.stdout).ok()??;
    let mut answer = None;
    let found = stream::earlier(&paths.stdout, &last, |line| {
        let text = String::from_utf8_lossy(line);
        let object = json::parse_object(&text).ok().flatten().filter(|object| object.get("pass").is_some());
        answer = object.map(|object| object.text().to_owned());
        answer.is_some()
    });
    found.ok().and(answer)
}
