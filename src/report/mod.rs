//! Shows runs: a fold of their events for people, and for programs (EXECUTION §14).
//!
//! Unaware of where events are kept and of how a run is decided: it gets a [`crate::history::History`],
//! and closures for what lies on disk.

pub mod causes;
pub mod drawing;
pub mod example;
pub mod frame;
pub mod html;
pub mod lines;
pub mod markdown;
pub mod outline;
pub mod people;
pub mod prompt;
pub mod schema;
pub mod status;
pub mod summary;
pub mod text;

use rustc_hash::FxHashMap;

use crate::history::split_name;
use crate::ir::dump;
use crate::source::Text;

/// What a task's failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It fails the run.
    Required,
    /// It blocks what depends on it.
    Advisory,
    /// It is an epilogue task: it changes no verdict.
    Epilogue,
}

/// The roles of a plan's tasks.
#[derive(Clone, Debug, Default)]
pub struct Roles(FxHashMap<Text, Role>);

impl Roles {
    /// The roles in `plan`.
    #[must_use]
    pub fn of(plan: &dump::Document) -> Self {
        let role = |task: &dump::TaskDocument| match (task.stage.as_str(), task.required) {
            ("epilogue", _) => Role::Epilogue,
            (_, true) => Role::Required,
            (_, false) => Role::Advisory,
        };
        Self(plan.tasks.iter().map(|task| (task.name.clone(), role(task))).collect())
    }

    /// The role of a task, or of an instance.
    #[must_use]
    pub fn get(&self, name: &str) -> Role {
        self.0.get(split_name(name).0).copied().unwrap_or(Role::Required)
    }
}
