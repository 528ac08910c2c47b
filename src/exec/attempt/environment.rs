//! The command line and the variables of an attempt (EXECUTION §6).
//!
//! Pure. What a task inherits of the operator's environment, the runner knows.

use super::{Context, Job};
use crate::exec::ports::AttemptPaths;
use crate::ir::kind::Run;
use crate::ir::{Shell, Task};
use crate::source::Text;

/// The largest inputs that are also handed over in a variable.
const INPUTS: usize = 64 << 10;

/// The variable that says where the result may be written.
pub(super) const RESULT_FILE: Text = Text::const_new("PLAN_RESULT_FILE");

/// Where an attempt, or a verifier, finds its data.
pub(super) struct Places<'a> {
    /// The file with its inputs.
    pub inputs: &'a str,
    /// The directory of staged files.
    pub files: &'a str,
}

/// Who it is.
pub(super) struct Who<'a> {
    /// The task, or the acceptance gate.
    pub task: &'a str,
    /// The element, of an instance.
    pub element: Option<&'a str>,
    /// Which attempt of it in this round, from 1.
    pub nth: u32,
    /// The round, from 1.
    pub round: u32,
    /// Its inputs.
    pub inputs: &'a str,
}

/// The program and its arguments.
pub(super) fn argv(context: &Context, shell: Shell, run: &Run) -> Vec<String> {
    run.argv(shell, &context.pack)
}

/// The variables of a task on top of the operator's environment: its own, then ours, which win.
pub(super) fn variables(
    context: &Context,
    task: &Task,
    job: &Job,
    places: &Places<'_>,
    paths: &AttemptPaths,
) -> Vec<(Text, String)> {
    let mut variables: Vec<(Text, String)> = Vec::with_capacity(task.env.len() + 12);
    variables.extend(task.env.iter().map(|(name, value)| (name.clone(), value.to_string())));
    let who = Who {
        task: &task.name.value,
        element: job.element.as_deref(),
        nth: job.nth,
        round: job.inputs.round,
        inputs: &job.inputs.json,
    };
    ours(context, &who, places, &mut variables);
    variables.push((RESULT_FILE, paths.result.to_string()));
    variables
}

/// The variables that say who and where it is.
pub(super) fn ours(
    context: &Context,
    who: &Who<'_>,
    places: &Places<'_>,
    variables: &mut Vec<(Text, String)>,
) {
    let mut set = |name: &'static str, value: String| variables.push((Text::const_new(name), value));
    set("PLAN_TASK", who.task.to_owned());
    if let Some(element) = who.element {
        set("PLAN_ITEM", element.to_owned());
    }
    set("PLAN_ATTEMPT", who.nth.to_string());
    set("PLAN_ROUND", who.round.to_string());
    set("PLAN_RUN", context.run.to_string());
    set("PLAN_PACK", context.pack.to_string());
    set("PLAN_INPUTS_FILE", places.inputs.to_owned());
    if who.inputs.len() <= INPUTS {
        set("PLAN_INPUTS", who.inputs.to_owned());
    }
    set("PLAN_FILES", places.files.to_owned());
}

/// The secrets of other tasks, which this one does not get.
pub(super) fn withheld(context: &Context, task: &Task) -> Vec<Text> {
    let own = |secret: &&Text| !task.secrets.iter().any(|own| own.value == **secret);
    context.secrets.iter().filter(own).cloned().collect()
}
