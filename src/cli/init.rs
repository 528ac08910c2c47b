//! `plan init DIR`: a small pack that checks and runs, to start from.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

use super::{Answer, Exit, Failure, print};

/// Write a small pack to start from: a plan, its scripts, its tests, a README
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    plan init words              a pack in the new directory `words`\n  \
    plan init .                  in this directory, unless one of its files is there already")]
pub(super) struct Arguments {
    /// The directory; it is made if it is not there.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// What the pack consists of: path, text, and whether it can be run. `NAME` stands for the pack's name.
const FILES: [(&str, &str, bool); 9] = [
    ("NAME.plan", include_str!("init/plan.plan"), false),
    ("README.md", include_str!("init/README.md"), false),
    ("scripts/list.sh", include_str!("init/list.sh"), true),
    ("scripts/count.sh", include_str!("init/count.sh"), true),
    ("scripts/report.sh", include_str!("init/report.sh"), true),
    ("tests/good.toml", include_str!("init/good.toml"), false),
    ("tests/short.toml", include_str!("init/short.toml"), false),
    ("texts/first.txt", include_str!("init/first.txt"), false),
    ("texts/second.txt", include_str!("init/second.txt"), false),
];

/// Writes the pack.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let directory = &arguments.directory;
    let refused = |path: &Path, error: std::io::Error| {
        Failure::new(format!("cannot write {}: {error}", path.display()))
    };
    fs::create_dir_all(directory).map_err(|error| refused(directory, error))?;
    let name = name(directory);
    let path = |file: &str| directory.join(file.replace("NAME", &name));
    // All or nothing: what is there already stays as it is.
    if let Some(there) =
        FILES.iter().map(|(file, ..)| path(file)).find(|path| path.symlink_metadata().is_ok())
    {
        return Err(Failure::new(format!("{} is there already; nothing was written", there.display())));
    }
    for (file, text, executable) in FILES {
        let path = path(file);
        let write = || {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            let mut written = fs::File::create_new(&path)?;
            written.write_all(text.replace("NAME", &name).as_bytes())?;
            if executable {
                let readable =
                    Mode::from_raw_mode(std::os::unix::fs::MetadataExt::mode(&written.metadata()?));
                // Whoever may read it may run it.
                let runnable = Mode::from_raw_mode((readable.as_raw_mode() & 0o444) >> 2);
                rustix::fs::fchmod(&written, readable | runnable)?;
            }
            Ok(())
        };
        write().map_err(|error| refused(&path, error))?;
    }
    let plan = path("NAME.plan");
    print(format!("wrote a pack to {}; try `plan run --plan {}`\n", directory.display(), plan.display()))?;
    Ok(Exit::Good)
}

/// The directory's own name, as far as a plan and a path can have it.
fn name(directory: &Path) -> String {
    let full = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let own = full.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String = own
        .chars()
        .map(|char| if char.is_ascii_alphanumeric() || "-_.".contains(char) { char } else { '-' })
        .collect();
    let plain = plain.trim_matches(['-', '.']);
    if plain.is_empty() { "pack".to_owned() } else { plain.to_owned() }
}
