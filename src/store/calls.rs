//! Runs of called plans: each is a run of its own in `calls/` of its caller's.
//!
//! They are made as whole as any other, and found by the name that their caller gives.

use std::fs;
use std::io;

use camino::Utf8PathBuf;

use super::about::About;
use super::lock::Lock;
use super::{Error, RunDir, ensure_directory, private_directory, staging, sync_directory, write_whole};
use crate::history::directory;
use crate::source::Text;

/// What stands between a run and one of a plan that it calls.
pub(super) const CALLS: &str = "/calls/";

/// What the directory of `task[element]`, or of a later attempt at it, is called.
fn in_directory(name: &str) -> Text {
    let Some((task, rest)) = name.split_once('[') else { return name.into() };
    let Some((element, later)) = rest.rsplit_once(']') else { return name.into() };
    compact_str::format_compact!("{}{later}", directory(task, Some(element)))
}

impl RunDir {
    fn calls(&self) -> Utf8PathBuf {
        self.path.join("calls")
    }

    /// The run of a called plan that goes by `name`, whether it is there or not.
    #[must_use]
    pub fn called(&self, name: &str) -> Self {
        Self {
            name: compact_str::format_compact!("{}/calls/{name}", self.name),
            path: self.calls().join(name),
        }
    }

    /// The run of a called plan that goes by `wanted`, or of one that is called there, and so on.
    pub(super) fn find_called(&self, wanted: &str) -> Option<Self> {
        // An element may have the separator in it.
        let ends = wanted.match_indices(CALLS).map(|(at, _)| at).chain([wanted.len()]);
        ends.into_iter().find_map(|end| {
            let (name, inner) = (&wanted[..end], wanted[end..].strip_prefix(CALLS));
            let run = [name.into(), in_directory(name)].into_iter().find_map(|name: Text| {
                let run = self.called(&name);
                let there = !name.contains('/') && !name.starts_with('.') && run.about().exists();
                there.then_some(run)
            })?;
            inner.map_or(Some(run.clone()), |inner| run.find_called(inner))
        })
    }

    /// Makes the run of a called plan. What is there under that name is none that anybody goes on with.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn create_called(
        &self,
        name: &str,
        mut about: About,
        plan: &[u8],
    ) -> Result<(Self, About, Lock), Error> {
        let calls = self.calls();
        ensure_directory(&calls).map_err(Error::io("make", &calls))?;
        let run = self.called(name);
        let making = calls.join(format!(".new-{name}"));
        for left in [&making, &run.path] {
            match staging::remove_tree(left) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed.map_err(Error::io("remove", left))?,
            }
        }
        private_directory(&making).map_err(Error::io("make", &making))?;
        about.run = run.name.clone();
        let lock = write_whole(&making, &mut about, plan, &run.name)?;
        fs::rename(&making, &run.path).map_err(Error::io("make", &run.path))?;
        sync_directory(&calls)?;
        Ok((run, about, lock))
    }
}
