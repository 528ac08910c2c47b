//! The front end in one call: files to a plan that can run, and everything that was found on the way.
//!
//! Only order is decided here: what each stage finds is its own.

use camino::{Utf8Path, Utf8PathBuf};

use crate::diag::Diagnostics;
use crate::ir;
use crate::load::World;
use crate::lower::{self, Session, params};
use crate::source::Sources;
use crate::validate::{self, ValidPlan};

pub use crate::lower::params::{Bindings, Given};

/// What a compilation gives.
#[derive(Debug)]
pub struct Compiled {
    /// Every text that was read.
    pub sources: Sources,
    /// The plan, if nothing found is an error.
    pub plan: Option<ValidPlan>,
    /// Everything found, in order of place.
    pub diagnostics: Diagnostics,
    /// The files that were imported, by their paths from the root of the pack.
    pub imported: Vec<Utf8PathBuf>,
}

/// Compiles the plan at `entry`, a path from the root of `world`.
pub fn compile(world: &mut dyn World, entry: &Utf8Path, bindings: &Bindings) -> Compiled {
    let mut session = Session::new(world);
    let plan = lower::lower(&mut session, entry, params::Launch::Top(bindings));
    let Session { sources, mut diagnostics, imported, .. } = session;
    let mut imported: Vec<Utf8PathBuf> = imported.into_iter().collect();
    imported.sort_unstable();
    let plan = validate::validate(plan, &mut diagnostics);
    Compiled { sources, plan, diagnostics: diagnostics.finish(), imported }
}

/// What a plan may be launched with: its name and parameters, without looking at the rest of the file.
#[derive(Debug)]
pub struct Declared {
    /// Every text that was read.
    pub sources: Sources,
    /// The plan's name.
    pub name: crate::source::Text,
    /// Its parameters; none if one of them has an error.
    pub params: Option<Vec<ir::Param>>,
    /// Everything found, in order of place.
    pub diagnostics: Diagnostics,
}

/// Reads the parameters of the plan at `entry`.
pub fn declared(world: &mut dyn World, entry: &Utf8Path) -> Declared {
    let mut session = Session::new(world);
    let plan = lower::declared(&mut session, entry);
    let Session { sources, diagnostics, .. } = session;
    let params = (!diagnostics.has_errors()).then_some(plan.params);
    Declared { sources, name: plan.name, params, diagnostics: diagnostics.finish() }
}
