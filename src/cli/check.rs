//! `plan check FILE…`: everything that is wrong with plans, for people and for programs.

use std::path::PathBuf;

use rustc_hash::FxHashSet;

use super::{Answer, Exit, plans, print, say};
use crate::compile::{Bindings, Compiled, compile};
use crate::diag::Diagnostic;
use crate::diag::machine::Findings;
use crate::report::text::count;

/// Check plans without running them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    plan check audit.plan\n  \
    plan check packs/                         every .plan file below a directory\n  \
    plan check - < audit.plan                 standard input\n  \
    plan check --format json audit.plan       one JSON document\n  \
    plan check --format github packs/         annotations in a workflow of GitHub Actions\n\n\
    Required parameters need no value. The exit code is 1 if there is an error; warnings leave it 0.")]
pub(super) struct Arguments {
    /// Plan files, directories of them, or `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How the findings are written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How findings are written.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// For people, on standard error.
    Text,
    /// One JSON document.
    Json,
    /// A SARIF 2.1.0 log.
    Sarif,
    /// Workflow commands of GitHub Actions.
    Github,
}

/// Checks the files.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let mut all: Vec<Compiled> = Vec::new();
    for file in plans::files(&arguments.files)? {
        let (mut pack, entry) = plans::open(&file)?;
        all.push(compile(&mut pack, &entry, &Bindings::check()));
    }
    let findings = || Findings::new(all.iter().map(|one| (&one.sources, &one.diagnostics)));
    match arguments.format {
        Format::Text => tell(&all),
        Format::Json => print(findings().json())?,
        Format::Sarif => print(findings().sarif())?,
        Format::Github => print(findings().github())?,
    }
    let wrong = all.iter().any(|one| one.diagnostics.has_errors());
    Ok(if wrong { Exit::Refused } else { Exit::Good })
}

fn tell(all: &[Compiled]) {
    // What an imported file has wrong is told once.
    let mut told: FxHashSet<(String, u32, u32, &str)> = FxHashSet::default();
    for compiled in all {
        let fresh = |finding: &&Diagnostic| {
            let path = compiled.sources.get(finding.span.file).path().to_string();
            told.insert((path, finding.span.start, finding.span.end, finding.code.id))
        };
        let findings: Vec<&Diagnostic> = compiled.diagnostics.iter().filter(fresh).collect();
        plans::tell_some(&compiled.sources, &findings);
    }
    let tally = plans::tally(all.iter().map(|one| &one.diagnostics));
    say(&format!("checked {}: {tally}\n", count(all.len(), "file")));
}
