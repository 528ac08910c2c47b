//! A plan as a tree for people: `plan show`.
//!
//! Groups, tasks with their kind, what they wait for, and what their authors said of them. Unaware of runs.

use std::fmt::Write;

use super::text::{clean, count, cut};
use crate::ir::{GroupId, Header, Join, Kind, OnFailure, Plan, Stage, Task, TaskId, WorkspaceKind, spell};

/// Names in a list of dependencies; the rest is counted.
const NAMED: usize = 12;
/// The longest text of a field, in characters.
const LONGEST: usize = 100;

/// One line of the tree with what hangs below it.
struct Branch {
    line: String,
    notes: Vec<String>,
    branches: Vec<Branch>,
}

/// The tree, with a line end.
#[must_use]
pub fn text(plan: &Plan) -> String {
    let mut out = String::new();
    head(plan, &mut out);
    for (stage, title) in [(Stage::Main, "main"), (Stage::Epilogue, "epilogue")] {
        let tasks: Vec<TaskId> = plan.ids().filter(|&id| plan[id].stage == stage).collect();
        if !tasks.is_empty() {
            let _ = writeln!(out, "\n{title} ({})", count(tasks.len(), "task"));
            draw(&grow(plan, &tasks), "", &mut out);
        }
    }
    if !plan.gates.is_empty() {
        let _ = writeln!(out, "\naccepted when ({})", count(plan.gates.len(), "gate"));
        let branches: Vec<Branch> = plan.gates.iter().map(|gate| verify(plan, gate)).collect();
        draw(&branches, "", &mut out);
    }
    out
}

fn head(plan: &Plan, out: &mut String) {
    let _ = writeln!(out, "{}", clean(&plan.name));
    let indented = |text: &str, out: &mut String| {
        text.lines().for_each(|line| _ = writeln!(out, "  {}", clean(line)));
    };
    plan.doc.iter().for_each(|doc| indented(doc, out));
    let Header { goal, budget, result, workspace, frozen, on_failure, .. } = &plan.header;
    let mut rows: Vec<(&str, String)> = Vec::new();
    rows.extend(goal.iter().map(|goal| ("goal", cut(&clean(goal), LONGEST))));
    let ceilings = [
        budget.usd.map(|usd| format!("${}", usd.value)),
        budget.time.map(|time| time.value.to_string()),
        budget.steps.map(|steps| count(usize::try_from(steps.value).unwrap_or(usize::MAX), "step")),
    ];
    let ceilings: Vec<String> = ceilings.into_iter().flatten().collect();
    if !ceilings.is_empty() {
        rows.push(("budget", ceilings.join(", ")));
    }
    rows.extend(result.iter().map(|result| ("result", plan[result.value].name.value.to_string())));
    if *workspace == WorkspaceKind::Git {
        rows.push(("workspace", "git".into()));
    }
    if *on_failure == OnFailure::Continue {
        rows.push(("on_failure", "continue".into()));
    }
    if !frozen.is_empty() {
        rows.push(("frozen", names(frozen.iter().map(|glob| glob.value.as_str()))));
    }
    for param in &plan.params {
        let mut text = format!("{}: {}", param.name.value, spell::param_type(&param.ty));
        param.default.iter().for_each(|default| _ = write!(text, " = {}", spell::value(default)));
        param.doc.iter().for_each(|doc| _ = write!(text, "   # {}", cut(&clean(doc), LONGEST)));
        rows.push(("param", text));
    }
    for (name, value) in rows {
        let _ = writeln!(out, "  {name:<10} {}", clean(&value));
    }
}

/// The tasks as branches of their groups, in declaration order. A group stands where its first task does.
fn grow(plan: &Plan, tasks: &[TaskId]) -> Vec<Branch> {
    level(plan, tasks, None)
}

fn level(plan: &Plan, tasks: &[TaskId], around: Option<GroupId>) -> Vec<Branch> {
    let mut branches = Vec::new();
    let mut rest = tasks;
    while let Some((&first, others)) = rest.split_first() {
        match below(plan, plan[first].group, around) {
            None => {
                branches.push(task(plan, first));
                rest = others;
            }
            Some(group) => {
                let inside = |&&id: &&TaskId| below(plan, plan[id].group, around) == Some(group);
                let length = rest.iter().take_while(inside).count();
                let (own, later) = rest.split_at(length);
                let Some(named) = plan.groups.get(group.index()) else { break };
                branches.push(Branch {
                    line: format!("{}  group", clean(&named.name.value)),
                    notes: notes(named.doc.as_deref()),
                    branches: level(plan, own, Some(group)),
                });
                rest = later;
            }
        }
    }
    branches
}

/// The group directly below `around` that `group` is or stands in.
fn below(plan: &Plan, group: Option<GroupId>, around: Option<GroupId>) -> Option<GroupId> {
    let mut at = group?;
    if Some(at) == around {
        return None;
    }
    while let Some(parent) = plan.groups.get(at.index()).and_then(|group| group.parent) {
        if Some(parent) == around {
            return Some(at);
        }
        at = parent;
    }
    Some(at)
}

fn task(plan: &Plan, id: TaskId) -> Branch {
    let task = &plan[id];
    let mut facts: Vec<String> = Vec::new();
    if !task.required {
        facts.push("advisory".into());
    }
    if task.always.value {
        facts.push("always".into());
    }
    if let Some(over) = &task.over {
        facts.push(format!("over {}", spell::over(plan, &over.value)));
    }
    if !task.depends_on.is_empty() {
        let names = names(task.depends_on.iter().map(|dependency| plan[dependency.task].name.value.as_str()));
        facts.push(match task.join.value {
            Join::All => format!("after {names}"),
            Join::Passed => format!("after those that pass of {names}"),
            Join::Settled => format!("whatever becomes of {names}"),
        });
    }
    if let Some(when) = &task.when {
        facts.push(format!("when {}", spell::condition(plan, &when.value)));
    }
    let mut notes = notes(task.doc.as_deref());
    if let Some(emits) = &task.emits {
        notes.push(format!("emits {}", cut(&clean(&spell::emits(&emits.value)), LONGEST)));
    }
    if !task.emits_files.is_empty() {
        notes
            .push(format!("files {}", clean(&names(task.emits_files.iter().map(|f| f.path.value.as_str())))));
    }
    if !task.revise.is_empty() {
        let targets = names(task.revise.iter().map(|target| plan[target.value].name.value.as_str()));
        let rounds = task.max_rounds.map_or(0, |rounds| rounds.value);
        notes.push(format!("sends back {targets}, {rounds} rounds at most"));
    }
    let mut branches: Vec<Branch> = task.verify.iter().map(|check| verify(plan, check)).collect();
    if let Kind::Machine(machine) = &task.kind {
        branches.extend(machine.nodes.iter().map(|node| Branch {
            line: format!("{}  {}", clean(&node.task.name.value), described(&node.task, node_facts(node))),
            notes: self::notes(node.task.doc.as_deref()),
            branches: Vec::new(),
        }));
        branches.extend(machine.edges.iter().map(|edge| Branch {
            line: clean(&spell::edge(plan, machine, edge)),
            notes: Vec::new(),
            branches: Vec::new(),
        }));
    }
    if let Kind::Route(route) = &task.kind {
        branches.extend(route.questions.iter().map(|question| {
            let labels: Vec<&str> = question.labels.iter().map(|label| label.value.as_str()).collect();
            let ask = question.ask.as_deref().map(|ask| format!("  {}", clean(ask))).unwrap_or_default();
            Branch {
                line: format!(
                    "{}  question: {}{ask}",
                    clean(&question.name.value),
                    clean(&labels.join(" | "))
                ),
                notes: Vec::new(),
                branches: Vec::new(),
            }
        }));
    }
    Branch { line: format!("{}  {}", clean(&task.name.value), described(task, facts)), notes, branches }
}

fn node_facts(node: &crate::ir::kind::Node) -> Vec<String> {
    if node.goal_gate { vec!["goal gate".into()] } else { Vec::new() }
}

fn described(task: &Task, facts: Vec<String>) -> String {
    let mut text = task.kind.as_str().to_owned();
    for fact in facts {
        text.push_str(" · ");
        text.push_str(&clean(&fact));
    }
    text
}

fn verify(plan: &Plan, verify: &crate::ir::Verify) -> Branch {
    let how = match &verify.check {
        crate::ir::Check::Run(run) => spell::run(&run.value),
        crate::ir::Check::File { path, .. } => format!("file {}", path.value),
    };
    let mut line = format!("{}  verify: {}", clean(&verify.name.value), cut(&clean(&how), LONGEST));
    if !verify.required {
        line.push_str(" · recorded only");
    }
    if let Some(from) = &verify.repair_from {
        let _ = write!(line, " · repaired from {}", plan[from.value].name.value);
    }
    Branch { line, notes: notes(verify.doc.as_deref()), branches: Vec::new() }
}

fn notes(doc: Option<&str>) -> Vec<String> {
    doc.iter().flat_map(|doc| doc.lines()).map(clean).collect()
}

fn names<'a>(all: impl ExactSizeIterator<Item = &'a str>) -> String {
    let left_out = all.len().saturating_sub(NAMED);
    let mut shown: Vec<String> = all.take(NAMED).map(str::to_owned).collect();
    if left_out > 0 {
        shown.push(format!("{left_out} more"));
    }
    shown.join(", ")
}

fn draw(branches: &[Branch], indent: &str, out: &mut String) {
    for (index, branch) in branches.iter().enumerate() {
        let last = index + 1 == branches.len();
        let (fork, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let _ = writeln!(out, "{indent}{fork}{}", branch.line);
        let below = format!("{indent}{below}");
        let guide = if branch.branches.is_empty() { "   " } else { "│  " };
        for note in &branch.notes {
            let _ = writeln!(out, "{}", format!("{below}{guide}{note}").trim_end());
        }
        draw(&branch.branches, &below, out);
    }
}
