//! The pages that are rendered from tables. Each is committed; a test and CI compare it.

use std::fs;

/// Whether to write the pages or to compare them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Write what differs.
    Write,
    /// Fail on what differs.
    Check,
}

/// Renders every page.
///
/// # Errors
/// If a page cannot be read or written, or differs in [`Mode::Check`].
pub fn run(mode: Mode) -> Result<(), String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut stale = Vec::new();
    for page in plan::pages::PAGES {
        let path = format!("{root}/{}", page.path);
        let text = (page.render)();
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        match mode {
            Mode::Check => stale.push(page.path),
            Mode::Write => {
                fs::write(&path, text).map_err(|error| format!("{}: {error}", page.path))?;
                println!("wrote {}", page.path);
            }
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("stale: {}\nrun `cargo xtask docs` and commit what it writes", stale.join(", ")))
}
