//! The command line: its words, its exit codes, and the wiring of one command to the layers below.
//!
//! One command, one file. Unaware of rules and wording: commands ask a layer and print what it says.

mod answer;
mod calls;
mod check;
mod completions;
mod dry_run;
mod evidence;
mod explain;
mod fmt;
mod gc;
mod init;
mod logs;
mod orphans;
mod params;
mod plans;
mod reference;
mod requests;
mod run;
mod runs;
mod secrets;
mod show;
mod state;
mod status;
mod stop;
mod streams;
mod terminal;
mod test;
mod text;
mod values;
mod wiring;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// What the program is called with.
#[derive(Debug, Parser)]
#[command(
    name = "plan",
    version,
    about = "Checks and runs plans: what work has to happen, in what order, and what must hold before it counts",
    after_help = "Examples:\n  \
        plan init words                    a small pack to start from\n  \
        plan check words                   what is wrong with its plans\n  \
        plan run --plan words/words.plan   run one\n  \
        plan status                        how the last run went\n  \
        plan test words                    the cases of a pack\n  \
        plan reference command             what a plan may say\n\n\
        Exit codes: 0 valid, or nothing wrong; 1 it could not be done; 2 wrong usage; 3 the verdict is\n\
        invalid; 4 the run waits for an answer; 129, 130 and 143 interrupted, and\n\
        can be resumed.",
    disable_help_subcommand = true,
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The commands. A new one is a variant here, an arm in [`Command::run`], and a file.
#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Arguments),
    Run(Box<run::Arguments>),
    Show(show::Arguments),
    Params(params::Arguments),
    Test(test::Arguments),
    Fmt(fmt::Arguments),
    Init(init::Arguments),
    Runs(runs::Arguments),
    Status(status::Arguments),
    Logs(logs::Arguments),
    Answer(answer::Arguments),
    Stop(stop::Arguments),
    Evidence(evidence::Arguments),
    Gc(gc::Arguments),
    Explain(explain::Arguments),
    Reference(reference::Arguments),
    Completions(completions::Arguments),
}

impl Command {
    fn run(self) -> Answer {
        match self {
            Self::Check(arguments) => check::run(&arguments),
            Self::Show(arguments) => show::run(&arguments),
            Self::Params(arguments) => params::run(&arguments),
            Self::Test(arguments) => test::run(&arguments),
            Self::Fmt(arguments) => fmt::run(&arguments),
            Self::Init(arguments) => init::run(&arguments),
            Self::Run(arguments) => run::run(&arguments),
            Self::Runs(arguments) => runs::run(&arguments),
            Self::Status(arguments) => status::run(&arguments),
            Self::Logs(arguments) => logs::run(&arguments),
            Self::Answer(arguments) => answer::run(&arguments),
            Self::Stop(arguments) => stop::run(&arguments),
            Self::Evidence(arguments) => evidence::run(&arguments),
            Self::Gc(arguments) => gc::run(&arguments),
            Self::Explain(arguments) => explain::run(&arguments),
            Self::Reference(arguments) => reference::run(&arguments),
            Self::Completions(arguments) => completions::run(&arguments),
        }
    }
}

/// What a command comes to.
pub(crate) type Answer = Result<Exit, Failure>;

/// How a command ended, having said all that it had to say (EXECUTION §14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The verdict is valid, or the check found no error.
    Good,
    /// It could not be done, and why has been said.
    Refused,
    /// The run ended with an invalid verdict.
    Invalid,
    /// The run waits for a person's answer.
    Waits,
    /// A signal interrupted the run: its number.
    Interrupted(u8),
}

impl Exit {
    /// The code that the shell sees.
    const fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Refused => 1,
            Self::Invalid => 3,
            Self::Waits => 4,
            Self::Interrupted(signal) => 128 + signal,
        }
    }
}

/// Why a command could not do what it was asked, in one line. Its exit code is 1.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    /// A failure that says `message`: one clause, lower case, without a full stop.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads the command line, runs the command, and says how it ended.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, not mistakes: clap knows which stream and code they take.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            return match error.print() {
                Ok(()) => ExitCode::from(code),
                Err(_) => ExitCode::from(1),
            };
        }
    };
    let code = match cli.command.run() {
        Ok(exit) => exit.code(),
        Err(failure) => {
            say(&format!("plan: {failure}\n"));
            1
        }
    };
    ExitCode::from(code)
}

/// The command line as clap sees it, for completions and the manual.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Writes a command's product to standard output. A reader that has gone away has read enough.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_ref()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write to standard output: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Tells a person something on standard error. Nobody is left to tell where that fails.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
