//! `plan stop RUN`: asks the process that runs a run to end it.

use std::time::{Duration, Instant};

use super::state::{Opened, StateArguments};
use super::{Answer, Exit, Failure, print};
use crate::event::StopRequested;
use crate::history::State;
use crate::source::Text;
use crate::store::control::{self, Request};
use crate::store::lock::Lock;
use crate::store::log::Writer;
use crate::store::{Error, LATEST, about::About, read};

/// How long a process may take to take a request up before we say so.
const PATIENCE: Duration = Duration::from_secs(10);

/// Stop a run: attempts in flight are ended, nothing more starts but clean-up that is always due
#[derive(Debug, clap::Args)]
#[command(after_help = "A stopped run can be resumed with `plan run --resume RUN`.\n\n\
    Examples:\n  plan stop\n  plan stop 20261130T1546")]
pub(super) struct Arguments {
    /// The run: its name, a unique prefix of it, or `latest`
    #[arg(default_value = LATEST)]
    run: String,
    #[command(flatten)]
    state: StateArguments,
}

/// Asks, or records the request where nobody is there to be asked.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let state = arguments.state.open();
    let run = state.resolve(&arguments.run)?;
    let by: Option<Text> = std::env::var("USER").ok().filter(|user| !user.is_empty()).map(Text::from);
    match Lock::take(&run) {
        Ok(lock) => record(&state, &run, lock, by),
        Err(Error::Held { .. }) => {
            let asked = control::ask(&run, &Request::Stop { by: by.clone() })?;
            let since = Instant::now();
            while !asked.is_taken() {
                std::thread::sleep(Duration::from_millis(20));
                match Lock::take(&run) {
                    Ok(_) if asked.is_taken() => break,
                    // It ended without having seen the request.
                    Ok(lock) => {
                        asked.withdraw()?;
                        return record(&state, &run, lock, by);
                    }
                    Err(Error::Held { .. }) if since.elapsed() < PATIENCE => {}
                    Err(Error::Held { .. }) => {
                        return Err(Failure::new(format!(
                            "`{}` was asked to stop, and has not answered",
                            run.name
                        )));
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            print(format!("{} stops\n", run.name))?;
            Ok(Exit::Good)
        }
        Err(error) => Err(error.into()),
    }
}

/// Appends the request to a log that nobody else writes.
fn record(
    state: &crate::store::StateDir,
    run: &crate::store::RunDir,
    lock: Lock,
    by: Option<Text>,
) -> Answer {
    let opened = Opened::new(state, &run.name)?;
    match opened.history.state() {
        State::Ended => {
            let exit = opened.history.ended.as_ref().map_or("", |end| end.exit.as_str());
            return Err(Failure::new(format!("`{}` has ended already: {exit}", run.name)));
        }
        State::Running | State::Interrupted | State::Waiting if opened.history.stop_requested => {}
        State::Running | State::Interrupted | State::Waiting => {
            let digest = About::read(run)?.1;
            let log = read::log(run, &digest)?;
            let mut writer = Writer::resume(run, lock, &log)?;
            let now = jiff::Timestamp::now().as_millisecond();
            let failed = |failed: crate::store::log::Failed| {
                Failure::new(format!("cannot write `{}`: {}", failed.path, failed.cause))
            };
            // No time passes where nothing runs.
            let t = opened.history.t;
            writer.append(now, t, StopRequested { by }.into()).map_err(failed)?;
            writer.close().map_err(failed)?;
        }
    }
    print(format!("{} was not running; its stop is recorded\n", run.name))?;
    Ok(Exit::Good)
}
