//! Which results of another run still hold in this one (EXECUTION §12, `--reuse`).
//!
//! Pure: it compares what both runs say of a task. What a file holds now is asked by the driver, and taking
//! a result over is an attempt's business.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use super::named::named;
use super::ports::Staged;
use super::readiness::came_out;
use super::scheduler::Scheduler;
use super::staging;
use super::units::Unit;
use crate::event::{AttemptEnded, FileSet, Grade, Status};
use crate::history::{History, Row};
use crate::ir::kind::Kind;
use crate::ir::{Join, Over, Plan, Stage, Task, TaskId, dump};
use crate::source::Text;

/// The run whose results may be taken over, held against the plan that runs now.
#[derive(Debug)]
pub struct Past {
    /// The run's name.
    pub run: Text,
    history: History,
    /// Why nothing of it can hold, whatever a task says.
    nothing: Option<Text>,
    /// Whether the frozen files are those of then.
    same_frozen: bool,
    /// What is different about each task of the plan that runs now; none where nothing is.
    changed: FxHashMap<Text, Option<Text>>,
    /// The first parameter that has another value, or is new or gone.
    param: Option<Text>,
    same_goal: bool,
    /// The sets of all its tasks, by the directory that they are staged under.
    sets: FxHashMap<Text, Text>,
    /// Its tasks that promised files, and do not promise the same ones now.
    other_files: FxHashSet<Text>,
    depends_on: FxHashMap<Text, Vec<Text>>,
}

/// What a whole run has to have in common with this one.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    /// Whether it worked in the same workspace.
    pub workspace: bool,
    /// Whether the same files, with the same content, were frozen.
    pub frozen: bool,
}

impl Past {
    /// The run of which `history` tells, whose plan was `then`, held against the plan `now`.
    #[must_use]
    pub fn new(history: History, then: &dump::Document, now: &dump::Document, common: Common) -> Self {
        let tasks: FxHashMap<&Text, &dump::TaskDocument> =
            then.tasks.iter().map(|task| (&task.name, task)).collect();
        let difference = |task: &dump::TaskDocument| match tasks.get(&task.name) {
            None => Some("the other run has no such task".into()),
            Some(before) => difference(before, task),
        };
        let promised = |task: &&dump::TaskDocument| !task.emits_files.is_empty();
        let now_promised: FxHashMap<&Text, &Vec<Text>> =
            now.tasks.iter().map(|task| (&task.name, &task.emits_files)).collect();
        let mut sets = Vec::new();
        for row in &history.rows {
            staging::all_sets(row, &row.name, &mut sets);
        }
        Self {
            run: history.run.clone(),
            nothing: (!common.workspace).then(|| "the other run worked in another workspace".into()),
            same_frozen: common.frozen,
            changed: now.tasks.iter().map(|task| (task.name.clone(), difference(task))).collect(),
            param: other_param(then, now),
            same_goal: then.header.goal == now.header.goal,
            sets: sets.into_iter().map(|Staged { directory, set }| (directory, set.manifest)).collect(),
            other_files: then
                .tasks
                .iter()
                .filter(promised)
                .filter(|task| now_promised.get(&task.name) != Some(&&task.emits_files))
                .map(|task| task.name.clone())
                .collect(),
            depends_on: then.tasks.iter().map(|task| (task.name.clone(), task.depends_on.clone())).collect(),
            history,
        }
    }

    /// What is different about the definition of a task, as a clause; none where nothing is.
    #[must_use]
    pub fn changed(&self, task: &str) -> Option<&Text> {
        self.changed.get(task)?.as_ref()
    }

    /// A task upstream of `task`, in the other run, that promised other files there.
    fn other_files_upstream(&self, task: &Text) -> Option<Text> {
        if self.other_files.is_empty() {
            return None;
        }
        let mut seen = FxHashSet::default();
        let mut stack = vec![task];
        while let Some(from) = stack.pop() {
            for of in self.depends_on.get(from).into_iter().flatten() {
                if self.other_files.contains(of) {
                    return Some(of.clone());
                }
                if seen.insert(of) {
                    stack.push(of);
                }
            }
        }
        None
    }
}

/// What is different between two definitions of a task, as a clause. What others say of it, and where it
/// stands, is none of its own.
fn difference(then: &dump::TaskDocument, now: &dump::TaskDocument) -> Option<Text> {
    let own =
        |task: &dump::TaskDocument| dump::TaskDocument { group: None, otherwise: Vec::new(), ..task.clone() };
    let (then, now) = (own(then), own(now));
    if then == now {
        return None;
    }
    let fields = |task| match serde_json::to_value(task) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => serde_json::Map::new(),
    };
    let (then, now) = (fields(then), fields(now));
    let other = now.keys().chain(then.keys()).find(|key| then.get(*key) != now.get(*key));
    let field = other.map_or("definition", |key| match key.as_str() {
        "spec" => spec_field(then.get(key), now.get(key)),
        "timeout_ms" => "timeout",
        "schemas" => "schema",
        "mapped" => "over",
        key => key,
    });
    Some(compact_str::format_compact!("its `{field}` has changed"))
}

/// Which field of a task's kind is another one.
fn spec_field<'a>(then: Option<&'a Value>, now: Option<&'a Value>) -> &'a str {
    let inner = |spec: Option<&'a Value>| spec?.as_object()?.iter().next();
    match (inner(then), inner(now)) {
        (Some((_, Value::Object(then))), Some((kind, Value::Object(now)))) => {
            match now.keys().chain(then.keys()).find(|key| then.get(*key) != now.get(*key)) {
                Some(key) if key == "child" => "plan",
                Some(key) if key == "digest" => "template",
                Some(key) => key,
                None => kind,
            }
        }
        (_, Some((kind, _))) => kind,
        (_, None) => "definition",
    }
}

/// The first parameter that is not as it was.
fn other_param(then: &dump::Document, now: &dump::Document) -> Option<Text> {
    let value = |plan: &dump::Document, name: &Text| {
        plan.params
            .iter()
            .find(|param| param.name == *name)
            .map(|param| (param.ty.clone(), param.value.clone()))
    };
    let mut names = now.params.iter().chain(&then.params).map(|param| &param.name);
    names.find(|name| value(then, name) != value(now, name)).cloned()
}

/// Whether the result of another run has to be looked at before `unit` runs.
pub(super) fn is_open(s: &Scheduler, unit: Unit) -> bool {
    let (task, row) = (s.task(unit), s.row(unit));
    s.past.is_some()
        && task.stage == Stage::Main
        && task.over.is_some() == unit.index().is_some()
        && row.round == 1
        && row.reuse.is_none()
        && row.last.is_none()
        && !(row.afresh || row.ran || row.cut_off)
        && s.history.interrupted.is_none()
        && has_result(&task.kind)
}

/// Whether the result of `task` in another run can hold in this one at all.
#[must_use]
pub fn can_hold(task: &Task) -> bool {
    task.stage == Stage::Main && task.done_when.is_none() && has_result(&task.kind)
}

/// Whether a task of this kind has a result that was worked for. The engine's own answers are made again,
/// a report is of its run, and a person is asked in each.
fn has_result(kind: &Kind) -> bool {
    match kind {
        Kind::Command(_) | Kind::Evaluate(_) | Kind::Agent(_) | Kind::Call(_) | Kind::Machine(_) => true,
        Kind::Route(route) => route.run.is_some(),
        Kind::Gate(_) | Kind::TopK(_) | Kind::Report(_) => false,
    }
}

/// Why no result of `task`, or of its instance of `element`, can ever be shown to hold, as a clause.
#[must_use]
pub fn never(task: &Task, element: Option<&str>) -> Option<Text> {
    let verifies =
        |plan: &Plan| !plan.gates.is_empty() || plan.tasks.iter().any(|task| !task.verify.is_empty());
    let asks = |plan: &Plan| {
        let asks = |task: &Task| matches!(task.kind, Kind::Gate(_)) || task.done_when.is_some();
        plan.tasks.iter().any(asks)
    };
    if of_child(task, &verifies) {
        return Some("verifiers of the plan that it calls have to look again".into());
    }
    if of_child(task, &asks) {
        return Some("the plan that it calls asks anew: it has a gate or a `done_when`".into());
    }
    let unknown = named(task, element).unknown?;
    let command = match &task.kind {
        Kind::Call(_) => "a command of the plan that it calls",
        Kind::Machine(_) => "a command of its nodes",
        Kind::Command(_)
        | Kind::Evaluate(_)
        | Kind::Route(_)
        | Kind::Agent(_)
        | Kind::Gate(_)
        | Kind::TopK(_)
        | Kind::Report(_) => "its command",
    };
    Some(compact_str::format_compact!("{command} has {unknown}, which may name any file"))
}

/// Whether this is so of a plan that `task` calls, or of one that is called there.
fn of_child(task: &Task, holds: &dyn Fn(&Plan) -> bool) -> bool {
    match &task.kind {
        Kind::Call(call) => call
            .child
            .as_ref()
            .is_none_or(|child| holds(child) || child.tasks.iter().any(|task| of_child(task, holds))),
        Kind::Machine(machine) => machine.nodes.iter().any(|node| of_child(&node.task, holds)),
        Kind::Command(_)
        | Kind::Evaluate(_)
        | Kind::Route(_)
        | Kind::Agent(_)
        | Kind::Gate(_)
        | Kind::TopK(_)
        | Kind::Report(_) => false,
    }
}

/// What the other run has for `task`, or its instance of `element`, as far as its log tells.
///
/// # Errors
/// Why it does not hold here: one clause.
pub(super) fn result(s: &Scheduler, task: TaskId, element: Option<&str>) -> Result<Arc<AttemptEnded>, Text> {
    let past = s.past.as_ref().ok_or("there is no other run")?;
    let unit = super::inputs::unit_of(s, task, element);
    let (name, of) = (&s.plan[task].name.value, &s.plan[task]);
    let no = |why: &'static str| Err(Text::const_new(why));
    if let Some(nothing) = &past.nothing {
        return Err(nothing.clone());
    }
    if of.done_when.is_some() {
        return no("its `done_when` is asked instead");
    }
    if let Some(never) = never(of, element) {
        return Err(never);
    }
    if let Some(changed) = past.changed.get(name).and_then(Option::as_ref) {
        return Err(changed.clone());
    }
    if let Some(param) = past.param.as_ref().filter(|_| sees_params(of)) {
        return Err(compact_str::format_compact!("the parameter `{param}` has changed"));
    }
    if !past.same_frozen && (!of.verify.is_empty() || of_child(of, &|plan| !plan.header.frozen.is_empty())) {
        return no("the frozen files have changed");
    }
    if let Kind::Agent(agent) = &of.kind {
        if agent.session.is_some() {
            return no("its session is a conversation of the other run");
        }
        if !past.same_goal {
            return no("the plan's `goal` has changed");
        }
    }
    let Some(row) = past.history.row(&s.name(unit)) else { return no("the other run has no such instance") };
    if row.answered.is_some() {
        return no("a person answered for it there");
    }
    let last = match (row.status(), &row.last) {
        (None, _) => return no("it had not settled there"),
        (Some(status), _) if !status.passes() => {
            return Err(compact_str::format_compact!("it {} there", came_out(status)));
        }
        (Some(_), Some(last)) if matches!(last.grade, Grade::Pass | Grade::Partial) => last,
        (Some(_), _) => return no("nothing of it passed there"),
    };
    if row.round > 1 {
        return no("it was sent back there");
    }
    same_inputs(s, past, unit)?;
    Ok(Arc::clone(last))
}

/// Whether a task reads the launch parameters, or is mapped over one.
fn sees_params(task: &Task) -> bool {
    let mapped = task.over.as_ref().is_some_and(|over| match &over.value {
        Over::Param(_) => true,
        Over::Field(..) => false,
    });
    let reads = match &task.kind {
        Kind::Command(_) | Kind::Evaluate(_) | Kind::Route(_) | Kind::Machine(_) => true,
        Kind::Agent(_) | Kind::Gate(_) | Kind::TopK(_) | Kind::Report(_) | Kind::Call(_) => false,
    };
    mapped || reads || !task.verify.is_empty()
}

/// Whether what `unit` receives is what it received in the other run.
fn same_inputs(s: &Scheduler, past: &Past, unit: Unit) -> Result<(), Text> {
    let task = s.task(unit);
    for dependency in &task.depends_on {
        let seen = s.seen_unit(dependency.task, unit);
        let name = s.name(seen);
        let then = past.history.row(&name);
        if !then.is_some_and(|then| same(task.join.value, then, s.row(seen))) {
            return Err(compact_str::format_compact!("the result of `{name}` is another one"));
        }
    }
    for Staged { directory, set } in staging::staged(s, unit, None) {
        if past.sets.get(&directory) != Some(&set.manifest) {
            return Err(compact_str::format_compact!("the files of `{directory}` are others"));
        }
    }
    match past.other_files_upstream(&task.name.value) {
        Some(of) => Err(compact_str::format_compact!("the files of `{of}` are others")),
        None => Ok(()),
    }
}

/// Whether two rows look the same through a join.
fn same(join: Join, then: &Row, now: &Row) -> bool {
    let text = |row: &Row| row.output().map(|output| output.get().to_owned());
    let status = |row: &Row| match join {
        Join::All | Join::Passed => {
            row.status().map(|status| if status.passes() { Status::Pass } else { status })
        }
        Join::Settled => row.status(),
    };
    let note = |row: &Row| row.note().filter(|_| join == Join::Settled).cloned();
    status(then) == status(now)
        && note(then) == note(now)
        && text(then) == text(now)
        && then.files().map(manifest) == now.files().map(manifest)
        && instances(then).count() == instances(now).count()
        && instances(then)
            .zip(instances(now))
            .all(|((then_key, then), (now_key, now))| then_key == now_key && same(join, then, now))
}

fn manifest(set: &FileSet) -> &Text {
    &set.manifest
}

fn instances(row: &Row) -> impl Iterator<Item = (&Text, &Row)> {
    row.instances.iter().flatten()
}
