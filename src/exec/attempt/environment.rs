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

/// Where an attempt finds its data.
pub(super) struct Places<'a> {
    /// The file with its inputs.
    pub inputs: &'a str,
    /// The directory of staged files.
    pub files: &'a str,
    /// Its streams and its result.
    pub paths: &'a AttemptPaths,
}

/// The program and its arguments.
pub(super) fn argv(context: &Context, shell: Shell, run: &Run) -> Vec<String> {
    run.argv(shell, &context.pack)
}

/// The variables on top of the operator's environment: the task's own, then ours, which win.
pub(super) fn variables(
    context: &Context,
    task: &Task,
    job: &Job,
    places: &Places<'_>,
) -> Vec<(Text, String)> {
    let mut variables: Vec<(Text, String)> = Vec::with_capacity(task.env.len() + 12);
    variables.extend(task.env.iter().map(|(name, value)| (name.clone(), value.to_string())));
    let mut set = |name: &'static str, value: String| variables.push((Text::const_new(name), value));
    set("PLAN_TASK", task.name.value.to_string());
    if let Some(element) = &job.element {
        set("PLAN_ITEM", element.to_string());
    }
    set("PLAN_ATTEMPT", job.nth.to_string());
    set("PLAN_ROUND", job.round.to_string());
    set("PLAN_RUN", context.run.to_string());
    set("PLAN_PACK", context.pack.to_string());
    set("PLAN_INPUTS_FILE", places.inputs.to_owned());
    if job.inputs.json.len() <= INPUTS {
        set("PLAN_INPUTS", job.inputs.json.clone());
    }
    set("PLAN_FILES", places.files.to_owned());
    set("PLAN_RESULT_FILE", places.paths.result.to_string());
    variables
}

/// The secrets of other tasks, which this one does not get.
pub(super) fn withheld(context: &Context, task: &Task) -> Vec<Text> {
    let own = |secret: &&Text| !task.secrets.iter().any(|own| own.value == **secret);
    context.secrets.iter().filter(own).cloned().collect()
}
