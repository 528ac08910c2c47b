//! `plan check FILE…`: everything that is wrong with plans, for people and for programs.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Answer, Exit, Failure, plans, print, say};
use crate::compile::{Bindings, Compiled, compile, declared};
use crate::diag::Diagnostic;
use crate::diag::machine::Findings;
use crate::explore::explore;
use crate::report::text::count;

/// Check plans without running them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    plan check audit.plan\n  \
    plan check packs/                         every .plan file below a directory\n  \
    plan check - < audit.plan                 standard input\n  \
    plan check --format json audit.plan       one JSON document\n  \
    plan check --format github packs/         annotations in a workflow of GitHub Actions\n  \
    plan check --explore audit.plan           play it: what never runs, what is missing when something fails\n\n\
    Required parameters need no value. The exit code is 1 if there is an error; warnings leave it 0.")]
pub(super) struct Arguments {
    /// Plan files, directories of them, or `-` for standard input. Of a directory, a file that another one
    /// imports is checked with that one.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// How the findings are written.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Play each plan without errors, at most so many ways that it can go, and find tasks that never run, gates
    /// that are never asked, plans that never end valid, and epilogue tasks that are missing when something
    /// fails
    #[arg(long, value_name = "WAYS", num_args = 0..=1, require_equals = true, default_missing_value = "20000")]
    explore: Option<NonZeroUsize>,
    /// With `--explore`: the value of a parameter, as for `plan run`; may be given several times
    #[arg(long = "param", value_name = "NAME=VALUE", requires = "explore")]
    params: Vec<String>,
    /// Say only what is wrong.
    #[arg(short, long)]
    quiet: bool,
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
    // A value is for the plans that have its parameter, at least for one.
    let mut unused = arguments.params.clone();
    Bindings::launch(None, &unused).map_err(Failure::new)?;
    let mut compiled: Vec<(PathBuf, bool, Compiled)> = Vec::new();
    // What is imported is part of the packs of those that import it, which may lie further up.
    let mut imported: FxHashSet<PathBuf> = FxHashSet::default();
    for (file, named) in plans::found(&arguments.files)? {
        let (mut pack, entry) = plans::open(&file)?;
        let mut params: Vec<&String> = Vec::new();
        if !arguments.params.is_empty() {
            let known = declared(&mut pack, &entry).params.unwrap_or_default();
            let is_of = |param: &String| known.iter().any(|known| known.name.value == name_of(param));
            params.extend(arguments.params.iter().filter(|param| is_of(param)));
            unused.retain(|param| !is_of(param));
        }
        let bindings = Bindings::launch(None, &params).map_err(Failure::new)?.checking();
        let one = compile(&mut pack, &entry, &bindings);
        let root = file.parent().unwrap_or(Path::new(""));
        // One that is gone by now is nobody's.
        imported.extend(one.imported.iter().filter_map(|path| root.join(path).canonicalize().ok()));
        compiled.push((file, named, one));
    }
    if let Some(param) = unused.first() {
        return Err(Failure::new(format!("no plan has a parameter `{}`", name_of(param))));
    }
    let checked = compiled.len();
    compiled
        .retain(|(file, named, _)| *named || !file.canonicalize().is_ok_and(|file| imported.contains(&file)));
    let mut explored: Vec<(PathBuf, String)> = Vec::new();
    let mut blind = false;
    let mut all: Vec<Compiled> = Vec::with_capacity(compiled.len());
    for (file, _, mut one) in compiled {
        if let Some(most) = arguments.explore {
            let said = play(&mut one, most.get());
            blind |= said.is_err();
            explored.push((file, said.unwrap_or_else(|why| why)));
        }
        all.push(one);
    }
    let findings = || Findings::new(all.iter().map(|one| (&one.sources, &one.diagnostics)));
    match arguments.format {
        Format::Text => {
            tell(&all, checked, arguments.quiet);
            tell_explored(&explored);
        }
        Format::Json if arguments.explore.is_some() => {
            let said = explored.iter().map(|(file, said)| (file.display().to_string(), said.clone()));
            print(findings().json_explored(said.collect()))?;
        }
        Format::Json => print(findings().json())?,
        // Neither of these has a place for how much was looked at.
        Format::Sarif => {
            print(findings().sarif())?;
            tell_explored(&explored);
        }
        Format::Github => {
            print(findings().github())?;
            tell_explored(&explored);
        }
    }
    let wrong = blind || all.iter().any(|one| one.diagnostics.has_errors());
    Ok(if wrong { Exit::Refused } else { Exit::Good })
}

/// The parameter of `NAME=VALUE`.
fn name_of(param: &str) -> &str {
    param.split_once('=').map_or(param, |(name, _)| name)
}

fn tell_explored(explored: &[(PathBuf, String)]) {
    for (file, said) in explored {
        say(&format!("{}: {said}\n", file.display()));
    }
}

/// Plays a plan; says how much was looked at.
///
/// # Errors
/// Why nothing was.
fn play(compiled: &mut Compiled, most: usize) -> Result<String, String> {
    let Some(plan) = &compiled.plan else { return Err("not explored: it has errors".to_owned()) };
    let unknown = plan.params.iter().filter(|param| param.value.is_none() && param.default.is_none());
    let unknown: Vec<String> = unknown.map(|param| format!("--param {}=…", param.name.value)).collect();
    if !unknown.is_empty() {
        return Err(format!("not explored: it needs {}", unknown.join(" ")));
    }
    let mut found = std::mem::take(&mut compiled.diagnostics);
    let explored = explore(plan, most, &mut found);
    compiled.diagnostics = found.finish();
    Ok(explored.sentence())
}

fn tell(all: &[Compiled], checked: usize, quiet: bool) {
    // What an imported file has wrong is told once, and with the rest of what is wrong with that file.
    let mut files: FxHashMap<String, usize> = FxHashMap::default();
    let mut told: FxHashSet<(usize, u32, u32, &str, &str)> = FxHashSet::default();
    let mut findings: Vec<(usize, u32, usize, &Diagnostic)> = Vec::new();
    for (index, compiled) in all.iter().enumerate() {
        for finding in compiled.diagnostics.iter() {
            let path = compiled.sources.get(finding.span.file).path().to_string();
            let next = files.len();
            let file = *files.entry(path).or_insert(next);
            let span = finding.span;
            if told.insert((file, span.start, span.end, finding.code.id, &finding.message)) {
                findings.push((file, span.start, index, finding));
            }
        }
    }
    findings.sort_by_key(|&(file, start, ..)| (file, start));
    for some in findings.chunk_by(|(_, _, one, _), (_, _, other, _)| one == other) {
        let Some((_, _, index, _)) = some.first() else { continue };
        let some: Vec<&Diagnostic> = some.iter().map(|(.., finding)| *finding).collect();
        plans::tell_some(&all[*index].sources, &some);
    }
    if !quiet {
        let tally = plans::tally(all.iter().map(|one| &one.diagnostics));
        say(&format!("checked {}: {tally}\n", count(checked, "file")));
    }
}
