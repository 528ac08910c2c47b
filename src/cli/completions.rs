//! `plan completions SHELL`: a script that completes the words of the command line.

use clap_complete::Shell;

use super::{Answer, Exit, print};

/// Print a script that completes the words of the command line
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    plan completions bash > ~/.local/share/bash-completion/completions/plan\n  \
    plan completions zsh  > ~/.zfunc/_plan\n  \
    plan completions fish > ~/.config/fish/completions/plan.fish")]
pub(super) struct Arguments {
    /// The shell that reads the script.
    shell: Shell,
}

/// Prints the script.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::command(), "plan", &mut script);
    print(script)?;
    Ok(Exit::Good)
}
