//! `plan show FILE`: what a plan compiles to.

use std::path::PathBuf;

use super::{Answer, Exit, Failure, plans, print};
use crate::compile::Bindings;
use crate::ir::dump;
use crate::report::{drawing, outline};

/// Show what a plan compiles to: a tree, a graph, or the compiled plan
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    plan show audit.plan\n  \
    plan show --format mermaid audit.plan     for Markdown pages\n  \
    plan show --format dot audit.plan | dot -Tsvg > audit.svg\n  \
    plan show --format json audit.plan        the compiled plan")]
pub(super) struct Arguments {
    /// The plan file, or `-` for standard input.
    file: PathBuf,
    /// How it is shown.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How a plan is shown.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// A tree of groups and tasks.
    Text,
    /// The compiled plan as one JSON document.
    Json,
    /// A Mermaid flowchart.
    Mermaid,
    /// A DOT digraph.
    Dot,
}

/// Shows the plan.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let compiled = plans::compiled(&arguments.file, &Bindings::check())?;
    let Some(plan) = compiled.plan else {
        return Err(Failure::new("the plan could not be compiled, and nothing says why"));
    };
    print(match arguments.format {
        Format::Text => outline::text(&plan),
        Format::Json => {
            let document = serde_json::to_string_pretty(&dump::document(&plan));
            document.map_err(|error| Failure::new(format!("cannot write the plan down: {error}")))? + "\n"
        }
        Format::Mermaid => drawing::mermaid(&plan),
        Format::Dot => drawing::dot(&plan),
    })?;
    Ok(Exit::Good)
}
