//! The `plan` program: hands the command line to [`plan::cli`] and its answer to the shell.

use std::process::ExitCode;

fn main() -> ExitCode {
    plan::cli::main()
}
