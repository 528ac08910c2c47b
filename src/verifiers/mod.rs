//! The verifiers that are built in, behind [`crate::exec::ports::Verifier`]: one file each.
//!
//! They look at work and say what they saw. Unaware of deadlines, of tasks and of what a verdict means;
//! nobody but the runner of `exec` can call them.

mod file;
mod run;

use std::sync::Arc;

use crate::exec::attempt::Schemas;
use crate::exec::ports::{Verifier, Verifiers};
use crate::ir;

/// Finds the built-in verifier of a `verify` block.
#[derive(Clone, Debug, Default)]
pub struct BuiltIn {
    schemas: Arc<Schemas>,
}

impl Verifiers for BuiltIn {
    fn find(&self, check: &ir::Verify) -> Option<Arc<dyn Verifier>> {
        Some(match &check.check {
            ir::Check::Run(run) => Arc::new(run::Run { run: run.value.clone(), shell: check.shell }),
            ir::Check::File { path, exists, contains, matches, schema, sha256 } => Arc::new(file::File {
                path: path.value.clone(),
                exists: *exists,
                contains: contains.clone(),
                matches: matches.clone(),
                schema: schema.clone(),
                sha256: sha256.clone(),
                schemas: Arc::clone(&self.schemas),
            }),
        })
    }
}
