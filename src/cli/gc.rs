//! `plan gc`: removes runs that ended long ago.

use std::time::{Duration, SystemTime};

use super::state::{Opened, StateArguments};
use super::{Answer, Exit, orphans, print, runs, say, values};
use crate::history::State;
use crate::ir::Millis;
use crate::report::text;
use crate::store::lock::Lock;
use crate::store::{Error, RunDir, StateDir, prune};

/// How old what a dead process left half made must be.
const REMAINS: Duration = Duration::from_secs(3600);

/// Remove runs that have ended, but for the newest ones
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A run that a process works on is never removed, and one that can be resumed only with \
    --unfinished.\n\nExamples:\n  \
    plan gc\n  \
    plan gc --keep 3 --older-than 7d\n  \
    plan gc --dry-run"
)]
pub(super) struct Arguments {
    /// How many of the newest runs stay
    #[arg(long, value_name = "N", default_value_t = 20)]
    keep: usize,
    /// Only runs whose log is older than this go
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    older_than: Option<Millis>,
    /// Remove runs that were interrupted or wait for an answer as well
    #[arg(long)]
    unfinished: bool,
    /// Only say what would go
    #[arg(long, short = 'n')]
    dry_run: bool,
    #[command(flatten)]
    state: StateArguments,
}

/// Removes what may go.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let state = arguments.state.open();
    let runs = state.runs()?;
    let going = runs.len().saturating_sub(arguments.keep);
    let mut removed = 0;
    let latest = state.latest().filter(|_| arguments.keep > 0);
    for run in &runs[..going] {
        if latest.as_ref() == Some(run) || !may_go(run, arguments) {
            continue;
        }
        if !arguments.dry_run {
            end_orphans(&state, run);
            match prune::remove(&state, run) {
                Err(Error::Held { .. }) => continue,
                Err(error) => {
                    say(&format!("plan: {error}\n"));
                    continue;
                }
                Ok(()) => {}
            }
        }
        removed += 1;
        print(format!("{} {}\n", if arguments.dry_run { "would remove" } else { "removed" }, run.name))?;
    }
    if !arguments.dry_run {
        prune::remove_remains(&state, SystemTime::now() - REMAINS)?;
        state.mend_latest()?;
    }
    let left = runs.len() - if arguments.dry_run { 0 } else { removed };
    print(format!("{} left\n", text::count(left, "run")))?;
    Ok(Exit::Good)
}

/// Ends what a run has left running that was never ended, or killed just after that: it works on what is about to
/// go.
fn end_orphans(state: &StateDir, run: &RunDir) {
    let Ok(_lock) = Lock::take(run) else { return };
    // One that cannot be read tells of none.
    if let Ok(opened) = Opened::new(state, &run.name)
        && (opened.history.state() != State::Ended || run.cgroups().symlink_metadata().is_ok())
    {
        orphans::end(&opened);
    }
}

fn may_go(run: &RunDir, arguments: &Arguments) -> bool {
    let finished = match runs::list(run).state {
        "ended" => true,
        "running" => return false,
        _ => arguments.unfinished,
    };
    let old = arguments.older_than.is_none_or(|age| {
        let written = run.log().metadata().and_then(|metadata| metadata.modified());
        written.is_ok_and(|time| time.elapsed().is_ok_and(|elapsed| elapsed.as_millis() > age.0.into()))
    });
    finished && old
}
