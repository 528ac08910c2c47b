//! Judges a compiled plan. Only [`validate`] makes a [`ValidPlan`], and only that can run (STYLE §7).
//!
//! Unaware of the file system, of tokio and of pest.

mod context;
mod machines;
mod reading;
pub mod rule;
pub mod rules;
mod shape;

use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::diag::Diagnostics;
use crate::ir::{Graph, Kind, Plan, TaskId};
use crate::source::{Span, Text};
use context::Context;

/// A plan that every rule accepted, with its graph.
#[derive(Clone, Debug)]
pub struct ValidPlan {
    plan: Arc<Plan>,
    graph: Arc<Graph>,
    /// The plans that its tasks call, by task.
    children: Arc<[(TaskId, ValidPlan)]>,
}

impl ValidPlan {
    /// Who waits for whom. Acyclic.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The plan that `task` calls.
    #[must_use]
    pub fn child(&self, task: TaskId) -> Option<&Self> {
        let at = self.children.binary_search_by_key(&task, |(id, _)| *id).ok()?;
        Some(&self.children[at].1)
    }

    /// The plans that its tasks call, and who calls them.
    pub fn children(&self) -> impl Iterator<Item = (TaskId, &Self)> {
        self.children.iter().map(|(id, child)| (*id, child))
    }

    /// A plan that a test of the executor put together by hand; no rule has looked at it.
    #[cfg(test)]
    pub(crate) fn of_test(plan: Plan) -> Self {
        let graph = Graph::new(&plan);
        Self::assembled(Arc::new(plan), graph).expect("a plan has no cycle")
    }

    /// A plan that was judged, with its children. None where one of them has a cycle.
    fn assembled(plan: Arc<Plan>, graph: Graph) -> Option<Self> {
        if !graph.is_acyclic() {
            return None;
        }
        let mut children = Vec::new();
        for id in plan.ids() {
            if let Kind::Call(call) = &plan[id].kind
                && let Some(child) = &call.child
            {
                children.push((id, Self::assembled(Arc::clone(child), Graph::new(child))?));
            }
        }
        Some(Self { plan, graph: Arc::new(graph), children: children.into() })
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
    judge(&plan, &graph, diagnostics);
    judge_children(&plan, &mut FxHashSet::default(), diagnostics);
    if diagnostics.has_errors() { None } else { ValidPlan::assembled(Arc::new(plan), graph) }
}

fn judge(plan: &Plan, graph: &Graph, diagnostics: &mut Diagnostics) {
    let context = Context::new(plan, graph);
    let first = diagnostics.len();
    for rule in rules::RULES {
        (rule.check)(&context, diagnostics);
    }
    if diagnostics.len() > first {
        let unrolled: FxHashSet<Span> =
            plan.tasks.iter().filter(|task| task.origin.is_some()).map(|task| task.span).collect();
        let mut unrolled: Vec<Span> = unrolled.into_iter().collect();
        unrolled.sort_unstable_by_key(|span| (span.file, span.start));
        // Blocks of tasks do not overlap.
        diagnostics.unrolled_from(first, |span| {
            let behind =
                unrolled.partition_point(|block| (block.file, block.start) <= (span.file, span.start));
            behind
                .checked_sub(1)
                .is_some_and(|at| unrolled[at].file == span.file && span.start < unrolled[at].end)
        });
    }
}

/// Judges the plans that are called, each once.
fn judge_children<'a>(plan: &'a Plan, seen: &mut FxHashSet<&'a Text>, diagnostics: &mut Diagnostics) {
    for task in &plan.tasks {
        match &task.kind {
            Kind::Call(call) => {
                if let Some(child) = &call.child
                    && seen.insert(&call.plan.value)
                {
                    judge(child, &Graph::new(child), diagnostics);
                    judge_children(child, seen, diagnostics);
                }
            }
            Kind::Command(_)
            | Kind::Evaluate(_)
            | Kind::Agent(_)
            | Kind::Route(_)
            | Kind::Gate(_)
            | Kind::TopK(_)
            | Kind::Report(_)
            | Kind::Machine(_) => {}
        }
    }
}
