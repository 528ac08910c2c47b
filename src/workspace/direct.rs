//! Tasks run in one directory, side by side, and nothing is rolled back.

use camino::{Utf8Path, Utf8PathBuf};

use crate::exec::ports::Workspace;

/// The plan file's directory, or `--workspace DIR`.
#[derive(Clone, Debug)]
pub struct Direct {
    root: Utf8PathBuf,
}

impl Direct {
    /// Tasks run in `root`, an absolute path.
    #[must_use]
    pub fn new(root: Utf8PathBuf) -> Self {
        Self { root }
    }
}

impl Workspace for Direct {
    fn root(&self) -> &Utf8Path {
        &self.root
    }
}
