//! What somebody wants of a run: asked of the process that works on it, or appended to a log that nobody else
//! writes (EXECUTION §11).
//!
//! What is wanted is the commands' business.

use std::time::{Duration, Instant};

use super::Failure;
use super::state::Opened;
use crate::event::Body;
use crate::source::Text;
use crate::store::control::{self, Request};
use crate::store::lock::Lock;
use crate::store::log::{Failed, Writer};
use crate::store::{Error, RunDir};

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

/// Who asks, as the system knows them; none where it does not.
pub(super) fn who() -> Option<Text> {
    std::env::var("USER").ok().filter(|user| !user.is_empty()).map(Text::from)
}

/// Who asks, by number where they have no name.
pub(super) fn somebody() -> Text {
    who().unwrap_or_else(|| compact_str::format_compact!("user {}", rustix::process::getuid().as_raw()))
}
