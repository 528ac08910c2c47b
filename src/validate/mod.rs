//! Judges a compiled plan. Only [`validate`] makes a [`ValidPlan`], and only that can run (STYLE §7).
//!
//! Unaware of the file system, of tokio and of pest.

use std::ops::Deref;
use std::sync::Arc;

use crate::diag::Diagnostics;
use crate::ir::{Graph, Plan};

/// A plan that every rule accepted, with its graph.
#[derive(Clone, Debug)]
pub struct ValidPlan {
    plan: Arc<Plan>,
    graph: Arc<Graph>,
}

impl ValidPlan {
    /// Who waits for whom. Acyclic.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }
}

impl Deref for ValidPlan {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

/// Judges `plan`: findings go to `diagnostics`; a valid plan comes back unless anything found so far,
/// earlier layers included, is an error.
pub fn validate(plan: Plan, diagnostics: &mut Diagnostics) -> Option<ValidPlan> {
    let graph = Graph::new(&plan);
    (!diagnostics.has_errors() && graph.is_acyclic())
        .then(|| ValidPlan { plan: Arc::new(plan), graph: Arc::new(graph) })
}
