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

use rustc_hash::{FxHashMap, FxHashSet};

use crate::event::Exit;
use crate::history::{History, Row, instance_name, split_name};
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

/// The roles of a plan's tasks, and who looks at their work.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    tasks: FxHashMap<Text, Role>,
    /// The tasks that have verifiers.
    verified: FxHashSet<Text>,
    /// The plan's acceptance gates.
    gates: Vec<Text>,
}

impl Roles {
    /// The roles in `plan`.
    #[must_use]
    pub fn of(plan: &dump::Document) -> Self {
        let role = |task: &dump::TaskDocument| match (task.stage.as_str(), task.required) {
            ("epilogue", _) => Role::Epilogue,
            (_, true) => Role::Required,
            (_, false) => Role::Advisory,
        };
        let verified = plan.tasks.iter().filter(|task| !task.verify.is_empty());
        Self {
            tasks: plan.tasks.iter().map(|task| (task.name.clone(), role(task))).collect(),
            verified: verified.map(|task| task.name.clone()).collect(),
            gates: plan.gates.iter().map(|gate| gate.name.clone()).collect(),
        }
    }

    /// The role of a task, or of an instance.
    #[must_use]
    pub fn get(&self, name: &str) -> Role {
        self.tasks.get(split_name(name).0).copied().unwrap_or(Role::Required)
    }

    /// The tasks and instances whose attempt is over, and whose verifiers are asked now.
    #[must_use]
    pub fn under_verification(&self, history: &History) -> Vec<Text> {
        let mut names = Vec::new();
        for row in history.rows.iter().filter(|row| self.verified.contains(&row.name)) {
            let parts = row.instances.iter().flatten().filter(|(_, part)| part.ended);
            names.extend(parts.map(|(key, _)| instance_name(&row.name, key)));
            names.extend(row.ended.then(|| row.name.clone()));
        }
        names
    }

    /// The acceptance gates that are asked now: the main graph is at rest, and nothing has decided the run.
    #[must_use]
    pub fn gates_asked(&self, history: &History) -> Vec<Text> {
        let concluded = history.halted.as_ref().map(|halted| halted.exit == Exit::Concluded);
        let rests = |row: &Row| match self.get(&row.name) {
            Role::Epilogue => !row.is_settled() && !status::is_running(row),
            Role::Required | Role::Advisory if concluded.is_some() => {
                !status::is_running(row) || row.is_settled()
            }
            Role::Required | Role::Advisory => row.is_settled(),
        };
        let over = history.ended.is_some() || history.interrupted.is_some() || history.stop_requested;
        if over || concluded == Some(false) || !history.admitted || !history.rows.iter().all(rests) {
            return Vec::new();
        }
        self.gates.iter().filter(|gate| !history.gates.contains_key(*gate)).cloned().collect()
    }
}
