//! `plan run --dry-run`: what would run, in the order in which it would be considered.

use camino::Utf8Path;
use serde_json::json;

use super::state::shown;
use crate::event::Ceilings;
use crate::exec::admission::{self, Operator, Runnable};
use crate::exec::reuse::{Past, can_hold, never};
use crate::ir::{Stage, Task, TaskId};
use crate::report::text;
use crate::source::Text;
use crate::validate::ValidPlan;

/// What would run.
pub(super) struct DryRun<'a> {
    plan: &'a ValidPlan,
    runnable: Runnable,
    ceilings: Ceilings,
    workspace: &'a Utf8Path,
    /// The run whose results are taken over where they hold.
    past: Option<&'a Past>,
    /// Why nothing would run.
    pub(super) gap: Option<String>,
}

impl<'a> DryRun<'a> {
    /// A run of `plan` by `operator` in `workspace`, which takes over from `past`.
    pub(super) fn new(
        plan: &'a ValidPlan,
        operator: &Operator,
        workspace: &'a Utf8Path,
        past: Option<&'a Past>,
    ) -> Self {
        let runnable = admission::runnable(plan, &operator.caps);
        let ceilings = admission::ceilings(plan, operator, None);
        let gap = admission::gap(plan, &runnable);
        let gap = gap.map(|gap| gap.trim_start_matches("nothing ran: ").to_owned());
        Self { plan, runnable, ceilings, workspace, past, gap }
    }

    fn tasks(&self) -> impl Iterator<Item = (TaskId, &Task)> {
        self.plan.graph().order().iter().map(|&id| (id, &self.plan[id]))
    }

    fn after(&self, task: &Task) -> Vec<&str> {
        task.depends_on.iter().map(|dependency| self.plan[dependency.task].name.value.as_str()).collect()
    }

    fn why_not(&self, id: TaskId) -> Option<String> {
        (!self.runnable.has(id)).then(|| admission::why_not(self.plan, &self.runnable, id).to_string())
    }

    /// One JSON document.
    pub(super) fn json(&self) -> String {
        let task = |(id, task): (TaskId, &Task)| {
            json!({
                "name": task.name.value.as_str(),
                "kind": task.kind.as_str(),
                "after": self.after(task),
                "required": task.required,
                "stage": task.stage.as_str(),
                "fans_out": task.over.is_some(),
                "conditional": task.when.is_some(),
                "skipped": self.why_not(id),
                "changed": self.past.filter(|_| can_hold(task)).and_then(|past| afresh(past, task)),
            })
        };
        let tasks: Vec<_> = self.tasks().map(task).collect();
        let document = json!({
            "schema": 1,
            "plan": self.plan.name.as_str(),
            "tasks": tasks,
            "ceilings": self.ceilings,
            "workspace": self.workspace.as_str(),
            "truncated": self.gap,
        });
        format!("{document}\n")
    }

    /// Lines for people.
    pub(super) fn text(&self) -> String {
        let plan = self.plan;
        let mut out = format!("{}  {}\n", plan.name, text::count(plan.tasks.len(), "task"));
        for (id, task) in self.tasks() {
            let mut words = vec![format!("  {:<9} {}", task.kind.as_str(), task.name.value)];
            if !task.depends_on.is_empty() {
                words.push(format!("after {}", self.after(task).join(", ")));
            }
            words.extend((!task.required).then(|| "advisory".to_owned()));
            words.extend((task.stage == Stage::Epilogue).then(|| "epilogue".to_owned()));
            words.extend(task.over.is_some().then(|| "fans out".to_owned()));
            words.extend(task.when.is_some().then(|| "if its condition holds".to_owned()));
            if let Some(past) = self.past.filter(|_| can_hold(task)) {
                words.push(match afresh(past, task) {
                    Some(why) => format!("afresh: {why}"),
                    None => "reused if what it sees is the same".to_owned(),
                });
            }
            words.extend(self.why_not(id));
            out.push_str(&words.join("  "));
            out.push('\n');
        }
        let attempts = |steps| text::count(usize::try_from(steps).unwrap_or(usize::MAX), "attempt");
        let limits = [
            self.ceilings.usd.map(|usd| format!("${usd}")),
            self.ceilings.time_ms.map(|time| time.to_string()),
            self.ceilings.steps.map(attempts),
        ];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        if !limits.is_empty() {
            out.push_str(&format!("at most {}\n", limits.join(", ")));
        }
        if let Some(gap) = &self.gap {
            out.push_str(&format!("nothing would run: {gap}\n"));
        }
        out.push_str(&format!("in {}; nothing was started\n", shown(self.workspace)));
        out
    }
}

/// Why a task runs whatever it sees, as a clause.
fn afresh(past: &Past, task: &Task) -> Option<Text> {
    // The elements are not known yet: any stands for all.
    past.changed(&task.name.value).cloned().or_else(|| never(task, task.over.as_ref().map(|_| "element")))
}
