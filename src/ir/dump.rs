//! The compiled plan as a stable document: `plan.json`, `plan show --format json`, the plan's digest.
//!
//! A serialised type is a promise: this file and `event.rs` make them, `ir` itself makes none. Places in
//! the source are left out, so that moving a block or a comment changes no digest.

use serde::{Deserialize, Serialize};

use super::Plan;
use crate::source::Text;

/// The version of this document.
pub const SCHEMA: u32 = 1;

/// A plan, written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The plan's name.
    pub name: Text,
    /// Tasks, in declaration order.
    pub tasks: Vec<TaskDocument>,
    /// Names of the tasks in declaration-stable topological order.
    pub order: Vec<Text>,
}

/// A task, written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskDocument {
    /// Its name.
    pub name: Text,
    /// Its kind, as the keyword.
    pub kind: Text,
    /// `main` or `epilogue`.
    pub stage: Text,
    /// Whether its failure fails the run.
    pub required: bool,
    /// The group that it stands in.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group: Option<Text>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub depends_on: Vec<Text>,
    /// `all`, `passed` or `settled`.
    pub join: Text,
    /// Whether it fans out.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub mapped: bool,
}

/// Writes `plan` down.
#[must_use]
pub fn document(plan: &Plan) -> Document {
    let graph = super::Graph::new(plan);
    Document {
        schema: SCHEMA,
        name: plan.name.clone(),
        tasks: plan.tasks.iter().map(|task| task_document(plan, task)).collect(),
        order: graph.order().iter().map(|&id| plan[id].name.value.clone()).collect(),
    }
}

fn task_document(plan: &Plan, task: &super::Task) -> TaskDocument {
    TaskDocument {
        name: task.name.value.clone(),
        kind: task.kind.as_str().into(),
        stage: task.stage.as_str().into(),
        required: task.required,
        group: task.group.map(|group| plan.groups[group.index()].name.value.clone()),
        depends_on: task.depends_on.iter().map(|dep| plan[dep.task].name.value.clone()).collect(),
        join: task.join.value.as_str().into(),
        mapped: task.over.is_some(),
    }
}
