//! `plan stop RUN`: asks the process that runs a run to end it.

use super::orphans;
use super::requests::{self, Sent, send};
use super::state::{Opened, StateArguments};
use super::{Answer, Exit, Failure, print};
use crate::event::StopRequested;
use crate::history::State;
use crate::store::LATEST;
use crate::store::control::Request;

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
    let by = requests::who();
    let lock = match send(&run, &Request::Stop { by: by.clone() }, "was asked to stop")? {
        Sent::Free(lock) => lock,
        Sent::Taken => {
            print(format!("{} stops\n", run.name))?;
            return Ok(Exit::Good);
        }
    };
    let opened = Opened::new(&state, &run.name)?;
    match opened.history.state() {
        State::Ended => {
            // It may have been killed just after that.
            orphans::end(&opened);
            let exit = opened.history.ended.as_ref().map_or("", |end| end.exit.as_str());
            return Err(Failure::new(format!("`{}` has ended already: {exit}", run.name)));
        }
        State::Running | State::Interrupted | State::Waiting if opened.history.stop_requested => {
            orphans::end(&opened);
            print(format!("{} was not running, and its stop is recorded already\n", run.name))?;
            return Ok(Exit::Good);
        }
        State::Running | State::Interrupted | State::Waiting => {
            orphans::end(&opened);
            requests::append(&opened, lock, StopRequested { by })?;
        }
    }
    print(format!("{} was not running; its stop is recorded\n", run.name))?;
    Ok(Exit::Good)
}
