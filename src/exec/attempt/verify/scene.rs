//! Sets the scene for verifiers: what they see of a run, in a clean environment (EXECUTION §9).
//!
//! Nothing of the task's own environment and none of its secrets is in there. Unaware of who looks.

use std::sync::Arc;

use super::{Scene, Work};
use crate::event::{FileSet, Raw};
use crate::exec::attempt::Context;
use crate::exec::attempt::environment::{Places, Who, ours};
use crate::exec::inputs::Inputs;
use crate::exec::ports::Start;
use crate::source::Text;

/// What is to be looked at: an attempt of a task, or the plan's work as a whole.
pub(in crate::exec) struct Subject {
    /// The task or instance, and its attempt; none for the plan.
    pub of: Option<(u32, Text)>,
    /// The task's name without an element.
    pub task: Text,
    /// The element of an instance.
    pub element: Option<Text>,
    /// Which attempt of it in this round, from 1.
    pub nth: u32,
    /// The round, from 1.
    pub round: u32,
    /// The token that its processes are swept by.
    pub token: Text,
    /// The result that the attempt gave.
    pub output: Option<Raw>,
    /// The files that it promised and that were captured.
    pub files: Option<FileSet>,
    /// What a verifier is given.
    pub inputs: Inputs,
}

/// Where verifiers work, and on what.
pub(super) struct Set {
    /// Where.
    pub scene: Scene,
    /// On what.
    pub work: Work,
    /// What had to be made anew.
    pub warnings: Vec<Text>,
}

/// Writes the inputs and stages the files.
pub(super) fn set(context: &Context, subject: &Subject) -> Result<Set, String> {
    let inputs = context.files.inputs(&subject.inputs.json);
    let inputs = inputs.map_err(|error| format!("its inputs cannot be written: {error}"))?;
    let staging = context.files.stage(&subject.inputs.staged)?;
    let root = context.workspace.root();
    let who = Who {
        task: &subject.task,
        element: subject.element.as_deref(),
        nth: subject.nth,
        round: subject.inputs.round,
        inputs: &subject.inputs.json,
    };
    let places = Places { inputs: inputs.as_str(), files: staging.directory.as_str() };
    let mut env = Vec::new();
    ours(context, &who, &places, &mut env);
    let (attempt, name) = subject.of.clone().unzip();
    let start = Start {
        task: name.as_deref().map(|name| context.outside(name)).unwrap_or_default(),
        attempt: attempt.unwrap_or_default(),
        nth: subject.nth,
        round: subject.round,
        env,
        withheld: context.secrets.clone(),
        cwd: root.to_owned(),
        token: subject.token.clone(),
        within: Some(context.inner(&subject.token)),
        ..Start::default()
    };
    let scene = Scene {
        runner: Arc::clone(&context.runner),
        files: Arc::clone(&context.files),
        clock: Arc::clone(&context.clock),
        start,
        of: (attempt, subject.round),
        log_limit: context.log_limit,
    };
    let work = Work {
        task: name,
        attempt,
        round: subject.round,
        root: root.to_owned(),
        pack: context.pack.clone(),
        output: subject.output.clone(),
        files: subject.files.clone(),
    };
    Ok(Set { scene, work, warnings: staging.warnings })
}
