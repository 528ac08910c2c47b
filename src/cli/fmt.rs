//! `plan fmt FILE…`: files in the one style, or whether they are.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Answer, Exit, Failure, plans, print, say};
use crate::diag::Diagnostics;
use crate::fmt;
use crate::report::text::count;
use crate::source::{Sources, decode};
use crate::syntax;

/// Bring plans into the one style
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    plan fmt audit.plan\n  \
    plan fmt packs/                  every .plan file below a directory\n  \
    plan fmt --check packs/          name the files that would change; exit code 1 if there are any\n  \
    plan fmt - < audit.plan          standard input to standard output\n\n\
    A file that does not parse is left as it is.")]
pub(super) struct Arguments {
    /// Plan files, directories of them, or `-` for standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Change nothing; name the files that would change.
    #[arg(long)]
    check: bool,
}

/// Formats the files.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let (mut wrong, mut differ) = (0, Vec::new());
    for path in plans::files(&arguments.files)? {
        let input = path.as_os_str() == "-";
        let bytes = if input { plans::standard_input()? } else { read(&path)? };
        let Some((old, new)) = formatted(&path, bytes)? else {
            wrong += 1;
            continue;
        };
        match (input, arguments.check) {
            (true, false) => print(&new)?,
            (false, false) if old != new => write(&path, &new)?,
            (_, true) if old != new => differ.push(path),
            (false, false) | (_, true) => {}
        }
    }
    for path in &differ {
        print(format!("{}\n", path.display()))?;
    }
    if !differ.is_empty() {
        say(&format!("`plan fmt` would change {}\n", count(differ.len(), "file")));
    }
    if wrong > 0 {
        say(&format!("left {} with errors alone\n", count(wrong, "file")));
    }
    Ok(if wrong > 0 || !differ.is_empty() { Exit::Refused } else { Exit::Good })
}

/// The text as it is and as it should be; none where it does not parse, which has then been told.
fn formatted(path: &Path, bytes: Vec<u8>) -> Result<Option<(String, String)>, Failure> {
    let (text, malformed) = decode(bytes);
    let mut sources = Sources::new();
    let file = sources.add(plans::utf8(path)?, text);
    let found = match malformed {
        Some(malformed) => {
            let mut found = Diagnostics::new();
            found.push(syntax::malformed(file, &malformed));
            found
        }
        None => match fmt::format(&sources, file) {
            Ok(new) => return Ok(Some((sources.get(file).text().to_owned(), new))),
            Err(found) => found,
        },
    };
    plans::tell(&sources, &found.finish());
    Ok(None)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}

/// Replaces the file, or the one that a link leads to, in one step: nobody sees half of it. Its mode stays.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let replace = || -> std::io::Result<()> {
        let target = fs::canonicalize(path)?;
        let mode = fs::metadata(&target)?.permissions().mode();
        let mut name = target.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        let beside = target.with_file_name(name);
        let written = fs::File::create_new(&beside).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.set_permissions(fs::Permissions::from_mode(mode))?;
            file.sync_all()?;
            fs::rename(&beside, &target)
        });
        if written.is_err() {
            // The reason is told; a left-over that cannot be removed would tell nothing more.
            let _ = fs::remove_file(&beside);
        }
        written
    };
    replace().map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}
