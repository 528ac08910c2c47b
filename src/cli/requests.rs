//! What somebody wants of a run: asked of the process that works on it, or appended to a log that nobody else
//! writes (EXECUTION §11).
//!
//! What is wanted is the commands' business.

use std::time::{Duration, Instant};

use super::state::Opened;
use super::{Failure, say};
use crate::event::{Body, Event, GateAnswered, StopRequested};
use crate::exec::answers;
use crate::exec::attempt::broken_promise;
use crate::history::{History, State};
use crate::source::Text;
use crate::store::control::{self, Request};
use crate::store::lock::Lock;
use crate::store::log::{Failed, Writer};
use crate::store::mask::Mask;
use crate::store::{Error, RunDir};
use crate::validate::ValidPlan;

/// How long a process may take to take a request up before we say so.
const PATIENCE: Duration = Duration::from_secs(10);

/// What became of a request.
pub(super) enum Sent {
    /// The process that works on the run has taken it up.
    Taken,
    /// Nobody works on the run, and nobody can now.
    Free(Lock),
}

/// Asks whoever works on `run`. `what` ends a sentence about the run that was asked.
pub(super) fn send(run: &RunDir, request: &Request, what: &str) -> Result<Sent, Failure> {
    match Lock::take(run) {
        Ok(lock) => return Ok(Sent::Free(lock)),
        Err(Error::Held { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let asked = control::ask(run, request)?;
    let since = Instant::now();
    while !asked.is_taken() {
        std::thread::sleep(Duration::from_millis(20));
        match Lock::take(run) {
            Ok(_) if asked.is_taken() => break,
            // It ended without having seen the request.
            Ok(lock) => {
                asked.withdraw()?;
                return Ok(Sent::Free(lock));
            }
            Err(Error::Held { .. }) if since.elapsed() < PATIENCE => {}
            Err(Error::Held { .. }) => {
                return Err(Failure::new(format!("`{}` {what}, and has not answered", run.name)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Sent::Taken)
}

/// Appends an event to the log of a run on which nobody works.
pub(super) fn append(opened: &Opened, lock: Lock, body: impl Into<Body>) -> Result<(), Failure> {
    let failed = |failed: Failed| Failure::new(format!("cannot write `{}`: {}", failed.path, failed.cause));
    let mut writer = Writer::resume(&opened.run, lock, &opened.log)?;
    let now = jiff::Timestamp::now().as_millisecond();
    // No time passes where nothing runs.
    writer.append(now, opened.history.t, body.into()).map_err(failed)?;
    writer.close().map_err(failed)
}

/// Makes events of what was asked of a process that died before it saw it (EXECUTION §11), in the log of a run
/// that is taken up: `past` and `history` are what it says so far.
pub(super) fn take_up(
    run: &RunDir,
    plan: &ValidPlan,
    mask: &Mask,
    writer: &mut Writer,
    past: &mut Vec<Event>,
    history: &mut History,
) -> Result<(), Failure> {
    let (left, unreadable) = control::left(run);
    unreadable.iter().for_each(|error| say(&format!("plan: {error}\n")));
    for (asked, request) in left {
        if let Some(mut body) = left_behind(plan, history, request) {
            mask.body(&mut body);
            let event = writer.append(jiff::Timestamp::now().as_millisecond(), history.t, body);
            let event = event.map_err(|failed| {
                Failure::new(format!("cannot write `{}`: {}", failed.path, failed.cause))
            })?;
            history.apply(&event).map_err(|mismatch| Failure::new(mismatch.message))?;
            past.push(event);
        }
        asked.withdraw()?;
    }
    Ok(())
}

/// The event of a request that nobody saw; none where it came too late, which is told.
fn left_behind(plan: &ValidPlan, history: &History, request: Request) -> Option<Body> {
    let ended = history.state() == State::Ended;
    match request {
        Request::Stop { .. } if ended => None,
        Request::Stop { by } => {
            say("plan: a stop that nobody took up is recorded; the run goes on after it\n");
            Some(StopRequested { by }.into())
        }
        Request::Answer { task, question, answer, by, result } => {
            let refused = answers::refusal(plan, history, &task, &answer, result.as_ref());
            let asked = history.row(&task).and_then(|row| row.asked.as_ref());
            let stale = asked.is_none_or(|asked| asked.number != question);
            let promises = answers::vouched(plan, history, &task, &answer);
            let broken = || broken_promise(promises?, result.as_ref().map(|raw| raw.get()));
            let stale = || stale.then(|| "the question is not open any more".to_owned());
            if let Some(why) = refused.or_else(stale).or_else(broken) {
                say(&format!("plan: an answer by {by} was refused: {why}\n"));
                return None;
            }
            Some(GateAnswered { task, question, answer, by, result }.into())
        }
    }
}

/// Who asks, as the system knows them; none where it does not.
pub(super) fn who() -> Option<Text> {
    std::env::var("USER").ok().filter(|user| !user.is_empty()).map(Text::from)
}

/// Who asks, by number where they have no name.
pub(super) fn somebody() -> Text {
    who().unwrap_or_else(|| compact_str::format_compact!("user {}", rustix::process::getuid().as_raw()))
}
