//! `plan::files::overlap`: one path, promised by tasks that may run at the same time.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::context::Context;
use super::super::reading;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::condition::Operand;
use crate::ir::kind::Kind;
use crate::ir::{Isolation, Plan, Stage, Task, TaskId, WorkspaceKind};
use crate::source::{Span, Text};

/// Finds tasks that could write one declared path at the same time.
pub static RULE: Rule = Rule {
    code: &OVERLAP,
    bad: r#"
command a { run = "./a.sh", emits_files = ["out/report.md"] }
command b { run = "./b.sh", emits_files = ["out/report.md"] }
"#,
    good: r#"
command a { run = "./a.sh", emits_files = ["out/report.md"] }
command b { depends_on = [a], run = "./b.sh", emits_files = ["out/report.md"] }
"#,
    check,
};

static OVERLAP: Code = Code {
    id: "plan::files::overlap",
    severity: Severity::Error,
    summary: "One path, promised by two tasks that may run at the same time",
    explain: "In a `\"direct\"` workspace tasks run side by side in one directory. Two that promise the same \
              path and are not ordered by dependencies could write it at the same time, and each would take \
              the other's bytes for its own. Let one depend on the other, or give each a path of its own. \
              Tasks whose conditions can never hold together may share a path.",
};

/// Paths with more writers than this are judged by neighbours in order only, conditions aside.
const PAIRS: usize = 64;

/// A task that promises a path, and the place where it does.
#[derive(Clone, Copy)]
struct Writer<'a> {
    task: TaskId,
    path: &'a Text,
    span: Span,
}

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    // In an engine-owned repository tasks without isolation run one at a time.
    if context.plan.header.workspace != WorkspaceKind::Direct {
        return;
    }
    let mut pairs = Vec::new();
    for writers in by_path(context.plan).into_values() {
        pairs.extend(suspects(context, writers));
    }
    let questions: Vec<_> = pairs.iter().map(|(one, other)| (one.task, other.task)).collect();
    let answers = context.upstream(&questions);
    // One finding at each writer: against the first that it can meet.
    let mut told: FxHashSet<(TaskId, Span)> = FxHashSet::default();
    for ((one, other), ordered) in pairs.into_iter().zip(answers) {
        if ordered || !told.insert((other.task, other.span)) {
            continue;
        }
        let (first, second) = if one.span < other.span { (one, other) } else { (other, one) };
        let (name, other_name, path) = (context.name(second.task), context.name(first.task), second.path);
        let help =
            format!("let one depend on the other, as in `depends_on = [{other_name}]`, or use another path");
        found.push(
            OVERLAP
                .at(second.span, format!("`{name}` and `{other_name}` may write `{path}` at the same time"))
                .label(format!("promised by `{name}`"))
                .related(first.span, format!("promised by `{other_name}`"))
                .help(help),
        );
    }
}

/// Who promises each path: main graph and epilogue apart, since they never run together.
fn by_path(plan: &Plan) -> FxHashMap<(Stage, &Text), Vec<Writer<'_>>> {
    let mut writers: FxHashMap<(Stage, &Text), Vec<Writer<'_>>> = FxHashMap::default();
    for task in plan.ids() {
        if plan[task].holes {
            continue;
        }
        let mut own = Vec::new();
        paths(&plan[task], &mut own);
        for (path, span) in own {
            let list = writers.entry((plan[task].stage, path)).or_default();
            // A machine runs one node at a time, and a called plan is judged by itself.
            if list.last().is_none_or(|last| last.task != task) {
                list.push(Writer { task, path, span });
            }
        }
    }
    writers.retain(|_, list| list.len() > 1);
    writers
}

/// The paths that a task may write in the common workspace, those of its nodes or its plan included.
fn paths<'a>(task: &'a Task, into: &mut Vec<(&'a Text, Span)>) {
    if task.isolation.value == Isolation::Worktree {
        return;
    }
    into.extend(task.emits_files.iter().map(|file| (&file.path.value, file.path.span)));
    match &task.kind {
        Kind::Machine(machine) => machine.nodes.iter().for_each(|node| paths(&node.task, into)),
        Kind::Call(call) => {
            let start = into.len();
            let tasks = call.child.iter().flat_map(|child| &child.tasks);
            tasks.for_each(|task| paths(task, into));
            // The place in this plan is where the other one is called.
            into[start..].iter_mut().for_each(|(_, span)| *span = call.plan.span);
        }
        Kind::Command(_)
        | Kind::Evaluate(_)
        | Kind::Agent(_)
        | Kind::Route(_)
        | Kind::Gate(_)
        | Kind::TopK(_)
        | Kind::Report(_) => {}
    }
}

/// The pairs of writers that have to be ordered. A path is written in order if each writer is upstream of
/// the next; conditions that exclude each other make a finer look necessary.
fn suspects<'a>(context: &Context<'_>, mut writers: Vec<Writer<'a>>) -> Vec<(Writer<'a>, Writer<'a>)> {
    writers.retain(|writer| context.ordered(writer.task));
    writers.sort_by_key(|writer| context.graph.position(writer.task));
    let conditional = writers.iter().any(|writer| context.plan[writer.task].when.is_some());
    if !conditional || writers.len() > PAIRS {
        return writers.windows(2).map(|pair| (pair[0], pair[1])).collect();
    }
    let mut pairs = Vec::new();
    for (index, &other) in writers.iter().enumerate() {
        for &one in &writers[..index] {
            if !exclusive(context, one.task, other.task) {
                pairs.push((one, other));
            }
        }
    }
    pairs
}

/// Whether the conditions of two tasks can never hold together, by some question that both read.
fn exclusive(context: &Context<'_>, one: TaskId, other: TaskId) -> bool {
    let (Some(one), Some(other)) = (&context.plan[one].when, &context.plan[other].when) else { return false };
    let mut asked: Vec<(TaskId, Text)> = Vec::new();
    one.value.reads(&mut |operand, _| {
        if let Operand::Answer(task, question) = operand {
            asked.push((*task, question.clone()));
        }
    });
    asked.iter().any(|(task, question)| {
        reading::labels(context, *task, question).is_some_and(|labels| {
            labels.iter().all(|label| {
                !(one.value.covers(*task, question, label) && other.value.covers(*task, question, label))
            })
        })
    })
}
