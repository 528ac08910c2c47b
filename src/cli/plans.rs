//! Plan files named on the command line: opening them, and telling a person what was found in them.

use std::fmt::Write;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};

use super::{Failure, say};
use crate::compile::{Bindings, Compiled, compile};
use crate::diag::render::{self, Look};
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::load::Pack;
use crate::report::text::count;
use crate::source::Sources;

/// Findings shown to a person at once; the rest is counted. The machine forms have them all.
const SHOWN: usize = 200;

/// The pack around a plan file, and the file's path in it. `-` is standard input, as a file of the
/// directory that the program runs in.
pub(super) fn open(path: &Path) -> Result<(Pack, Utf8PathBuf), Failure> {
    let path = utf8(path)?;
    let (mut pack, entry) = Pack::around(path);
    if path == "-" {
        pack.set(entry.clone(), standard_input()?);
    }
    Ok((pack, entry))
}

/// The path as text; plans name paths, and are text.
pub(super) fn utf8(path: &Path) -> Result<&Utf8Path, Failure> {
    Utf8Path::from_path(path).ok_or_else(|| Failure::new(format!("the path {} is not UTF-8", path.display())))
}

/// All of standard input.
pub(super) fn standard_input() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    match std::io::stdin().lock().read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Failure::new(format!("cannot read standard input: {error}"))),
    }
}

/// Compiles one plan and tells what was found.
pub(super) fn compiled(path: &Path, bindings: &Bindings) -> Result<Compiled, Failure> {
    let (mut pack, entry) = open(path)?;
    let compiled = compile(&mut pack, &entry, bindings);
    tell(&compiled.sources, &compiled.diagnostics);
    if compiled.diagnostics.has_errors() {
        let path = path.display();
        return Err(Failure::new(format!("{path} has {}", tally([&compiled.diagnostics]))));
    }
    Ok(compiled)
}

/// Draws findings on standard error.
pub(super) fn tell(sources: &Sources, diagnostics: &Diagnostics) {
    let all: Vec<&Diagnostic> = diagnostics.iter().collect();
    tell_some(sources, &all);
}

/// Draws some findings on standard error.
pub(super) fn tell_some(sources: &Sources, findings: &[&Diagnostic]) {
    let shown = &findings[..findings.len().min(SHOWN)];
    let mut text = render::text(sources, shown.iter().copied(), look());
    if shown.len() < findings.len() {
        let rest = findings.len() - shown.len();
        let _ = writeln!(text, "… and {rest} more; `plan check --format json` lists them all");
    }
    if !text.is_empty() {
        say(&text);
    }
}

/// `2 errors and 1 warning`; `nothing wrong` where there is nothing.
pub(super) fn tally<'a>(all: impl IntoIterator<Item = &'a Diagnostics>) -> String {
    let (mut errors, mut warnings) = (0, 0);
    for diagnostics in all {
        errors += diagnostics.count(Severity::Error);
        warnings += diagnostics.count(Severity::Warning);
    }
    match (errors, warnings) {
        (0, 0) => "nothing wrong".into(),
        (errors, 0) => count(errors, "error"),
        (0, warnings) => count(warnings, "warning"),
        (errors, warnings) => format!("{} and {}", count(errors, "error"), count(warnings, "warning")),
    }
}

/// How findings are drawn on standard error.
fn look() -> Look {
    let stream = std::io::stderr();
    let unset = |name: &str| std::env::var_os(name).is_none_or(|value| value.is_empty());
    let terminal = stream.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    let width = rustix::termios::tcgetwinsize(&stream).ok().map(|size| usize::from(size.ws_col));
    Look { colour: terminal && unset("NO_COLOR"), width: width.filter(|&width| terminal && width > 0) }
}

/// The plan files that `paths` name: each file, and what is in each directory, in order of name.
/// Directories whose name begins with a dot are left out, unless they are named.
pub(super) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    Ok(found(paths)?.into_iter().map(|(path, _)| path).collect())
}

/// The same files, and of each whether it was named itself.
pub(super) fn found(paths: &[PathBuf]) -> Result<Vec<(PathBuf, bool)>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() {
            all.push((path.clone(), true));
            continue;
        }
        let mut files = Vec::new();
        walk(path, &mut files)?;
        if files.is_empty() {
            return Err(Failure::new(format!("there is no `.plan` file in {}", path.display())));
        }
        all.extend(files.into_iter().map(|file| (file, false)));
    }
    Ok(all)
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let refused =
        |error: std::io::Error| Failure::new(format!("cannot read {}: {error}", directory.display()));
    let mut entries = std::fs::read_dir(directory)
        .and_then(|entries| entries.collect::<Result<Vec<_>, _>>())
        .map_err(refused)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        // A link may lead back up; what it leads to is checked where it lies.
        let kind = entry.file_type().map_err(refused)?;
        let (name, path) = (entry.file_name(), entry.path());
        if kind.is_dir() && !name.as_encoded_bytes().starts_with(b".") {
            walk(&path, files)?;
        } else if !kind.is_dir() && path.extension().is_some_and(|extension| extension == "plan") {
            files.push(path);
        }
    }
    Ok(())
}
