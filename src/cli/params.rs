//! `plan params FILE`: what a plan may be launched with.

use std::path::PathBuf;

use super::{Answer, Exit, Failure, plans, print};
use crate::compile::declared;
use crate::lower::params::json_schema;

/// Print the JSON Schema of a plan's parameters
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    plan params audit.plan\n  \
    plan run --plan audit.plan --param severity=low\n\n\
    Only the parameters are read, not the rest of the file.")]
pub(super) struct Arguments {
    /// The plan file, or `-` for standard input.
    file: PathBuf,
}

/// Prints the schema.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let (mut pack, entry) = plans::open(&arguments.file)?;
    let declared = declared(&mut pack, &entry);
    plans::tell(&declared.sources, &declared.diagnostics);
    let Some(params) = declared.params else {
        let tally = plans::tally([&declared.diagnostics]);
        return Err(Failure::new(format!("{} has {tally}", arguments.file.display())));
    };
    let schema = serde_json::to_string_pretty(&json_schema(&declared.name, &params));
    print(schema.map_err(|error| Failure::new(format!("cannot write the schema: {error}")))? + "\n")?;
    Ok(Exit::Good)
}
