//! `plan explain [CODE]`: what a code means, and what to do.

use super::text::{columns, wrapped};
use super::{Answer, Exit, Failure, print};
use crate::catalog;
use crate::diag::Severity;

/// Explain a diagnostic, or list all of them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    plan explain plan::join::no_dependencies\n  \
    plan explain no_dependencies              the end of a code is enough\n  \
    plan explain                              list all codes")]
pub(super) struct Arguments {
    /// The code, as a diagnostic shows it; all are listed without one.
    code: Option<String>,
}

/// Prints the explanation, or the list.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let Some(word) = &arguments.code else {
        print(list())?;
        return Ok(Exit::Good);
    };
    let entry = catalog::find(word).map_err(|near| {
        Failure::new(match near.as_slice() {
            [] => format!("no diagnostic is called `{word}`; `plan explain` lists them all"),
            [one] => format!("no diagnostic is called `{word}`; did you mean `{one}`?"),
            several => format!("`{word}` may be {}", several.join(" or ")),
        })
    })?;
    let mut page = format!("{} ({})\n", entry.code.id, entry.code.severity.as_str());
    page.push_str(&format!("{}\n\n{}", entry.code.summary, wrapped(entry.code.explain)));
    if let Some(rule) = entry.rule {
        page.push_str(&format!("\nRaises it:\n\n{}", indented(rule.bad)));
        page.push_str(&format!("\nDoes not:\n\n{}", indented(rule.good)));
    }
    print(page)?;
    Ok(Exit::Good)
}

fn list() -> String {
    let rows: Vec<[String; 3]> = catalog::entries()
        .into_iter()
        .map(|entry| {
            let severity = match entry.code.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            [entry.code.id.to_owned(), severity.to_owned(), entry.code.summary.to_owned()]
        })
        .collect();
    columns(&rows)
}

fn indented(example: &str) -> String {
    example.trim().lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect()
}
