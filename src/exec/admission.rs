//! What is refused before anything is spent, and what cannot run here (EXECUTION §3).
//!
//! Compiling and binding parameters come before; a plan that is truncated is no refusal but a run that ends
//! at once. Unaware of the machine: it is told what the machine has.

use std::collections::BTreeSet;

use super::budget::Limits;
use crate::diag::{Code, Diagnostics, Severity};
use crate::event::{Ceilings, PlanAdmitted};
use crate::ir::kind::{Agent, Run};
use crate::ir::{
    Isolation, Join, Kind, Millis, OnInterrupt, Plan, Shell, Stage, Task, TaskId, Usd, WorkspaceKind,
};
use crate::source::{FileId, Span, Spanned, Text};
use crate::validate::ValidPlan;

/// The codes that this file raises.
pub static CODES: &[&Code] = &[
    &NOT_YET,
    &UNKNOWN_HARNESS,
    &NO_HARNESS,
    &NO_CEILING,
    &TIMEOUT_OVER_CEILING,
    &NOTHING_BUT_RESERVE,
    &NO_SHELL,
    &CANNOT_FREEZE,
    &FROZEN_NOTHING,
];

static NOT_YET: Code = Code {
    id: "plan::run::not_yet",
    severity: Severity::Error,
    summary: "Something that cannot run yet",
    explain: "The plan is well-formed, and `plan check` accepts it, but this version of the executor cannot run \
              what it names. Nothing was started.",
};

static UNKNOWN_HARNESS: Code = Code {
    id: "plan::run::unknown_harness",
    severity: Severity::Error,
    summary: "A harness that does not exist",
    explain: "An agent task names a harness that this machine does not have. A typo here would otherwise show \
              only when the task is reached, after money was spent.",
};

static NO_HARNESS: Code = Code {
    id: "plan::run::no_harness",
    severity: Severity::Error,
    summary: "An agent task without a harness",
    explain: "The harness of an agent task comes from the task, its session, profile, group or `defaults`. \
              None of them gives one.",
};

static NO_CEILING: Code = Code {
    id: "plan::run::no_ceiling",
    severity: Severity::Error,
    summary: "An agent task without a ceiling on money and time",
    explain: "A plan with an agent task must get both `usd` and `time`, from its header's `budget` or from \
              `--max-cost` and `--max-time`: what an agent spends is known only afterwards.",
};

static TIMEOUT_OVER_CEILING: Code = Code {
    id: "plan::run::timeout_over_ceiling",
    severity: Severity::Error,
    summary: "A timeout longer than the run may take",
    explain: "The ceiling on time is the lower of the header's `budget` and `--max-time`. A task that may take \
              longer than the whole run cannot be meant.",
};

static NOTHING_BUT_RESERVE: Code = Code {
    id: "plan::run::nothing_but_reserve",
    severity: Severity::Error,
    summary: "A reserve that leaves nothing",
    explain: "Where a task says `always`, the header's `reserve` is kept back from the ceilings (`{ time = 30s }` \
              where none is written). It has to leave the main graph something. Raise the ceiling, or lower the \
              reserve.",
};

static NO_SHELL: Code = Code {
    id: "plan::run::no_shell",
    severity: Severity::Error,
    summary: "A shell that does not exist",
    explain: "A `run` string is run by the shell that the plan names, `bash` unless it says `shell = \"sh\"`. This \
              machine does not have it.",
};

static CANNOT_FREEZE: Code = Code {
    id: "plan::run::cannot_freeze",
    severity: Severity::Error,
    summary: "A frozen file that cannot be stored",
    explain: "What `frozen` names is stored when a run is admitted, and restored from there. Only regular files \
              below the plan's directory can be; a symbolic link among them would protect nothing.",
};

static FROZEN_NOTHING: Code = Code {
    id: "plan::run::frozen_nothing",
    severity: Severity::Warning,
    summary: "A glob that freezes nothing",
    explain: "No file below the plan's directory matches the glob, so that it protects nothing. `*` and `?` stay \
              within one directory; `**` crosses any number of them.",
};

/// What the operator asked for on the command line.
#[derive(Clone, Debug, Default)]
pub struct Operator {
    /// `--max-cost`.
    pub max_usd: Option<Usd>,
    /// `--max-time`.
    pub max_time: Option<Millis>,
    /// `--max-steps`.
    pub max_steps: Option<u64>,
    /// `--cap`, each time.
    pub caps: Vec<Text>,
    /// `--keep-going`.
    pub keep_going: bool,
    /// `--harness`.
    pub harness: Option<Text>,
}

/// What this machine has.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// The harnesses that exist.
    pub harnesses: Vec<Text>,
    /// The shells that do not.
    pub missing_shells: Vec<Shell>,
    /// How many files each glob in `frozen` matches, or what keeps them from being stored. Empty where that is
    /// no question any more.
    pub frozen: Vec<Result<usize, String>>,
    /// The tasks that the runner stands in for, as in a test of a pack: nothing has to be there for them.
    pub played: Vec<Text>,
}

/// Looks at everything that could refuse the run. An error among the findings does; otherwise the event says
/// what was admitted.
#[must_use]
pub fn admit(plan: &ValidPlan, operator: &Operator, machine: &Machine) -> (PlanAdmitted, Diagnostics) {
    let ceilings = ceilings(plan, operator, None);
    let mut found = Diagnostics::new();
    not_yet(plan, machine, REFUSED, &mut found);
    no_ceiling(plan, ceilings, &mut found);
    fit(plan, ceilings, &mut found);
    shells(plan, machine, &mut found);
    frozen(plan, machine, &mut found);
    harnesses(plan, operator, machine, &mut found);
    for child in called(plan) {
        not_yet(child, machine, REFUSED, &mut found);
        not_yet(child, machine, REFUSED_IN_CALLED, &mut found);
        no_ceiling(child, within(child, ceilings), &mut found);
        shells(child, machine, &mut found);
        harnesses(child, operator, machine, &mut found);
    }
    let admitted = PlanAdmitted {
        tasks: plan.tasks.len() as u64,
        caps: operator.caps.clone(),
        ceilings,
        keep_going: operator.keep_going,
    };
    (admitted, found)
}

/// Looks at what new ceilings of a resumed run could refuse.
#[must_use]
pub fn refit(plan: &ValidPlan, ceilings: Ceilings) -> Diagnostics {
    let mut found = Diagnostics::new();
    fit(plan, ceilings, &mut found);
    found
}

/// What has to fit under ceilings, in a plan and in those that it calls.
fn fit(plan: &ValidPlan, ceilings: Ceilings, found: &mut Diagnostics) {
    fn each(plan: &ValidPlan, ceilings: Ceilings, seen: &mut BTreeSet<FileId>, found: &mut Diagnostics) {
        long_timeouts(plan, ceilings, found);
        nothing_but_reserve(plan, ceilings, found);
        // What is kept back for clean-up is not left for a plan that the main graph calls.
        let limits = Limits::new(plan, ceilings);
        let main = Ceilings { usd: limits.usd(), time_ms: limits.time(), steps: ceilings.steps };
        for (id, child) in plan.children() {
            let left = if plan[id].always.value { ceilings } else { main };
            if seen.insert(child.span.file) {
                each(child, within(child, left), seen, found);
            }
        }
    }
    each(plan, ceilings, &mut BTreeSet::new(), found);
}

/// Every plan that is called, directly or not, each file once.
#[must_use]
pub fn called(plan: &ValidPlan) -> Vec<&ValidPlan> {
    fn collect<'a>(plan: &'a ValidPlan, seen: &mut BTreeSet<FileId>, found: &mut Vec<&'a ValidPlan>) {
        for (_, child) in plan.children() {
            if seen.insert(child.span.file) {
                found.push(child);
                collect(child, seen, found);
            }
        }
    }
    let mut found = Vec::new();
    collect(plan, &mut BTreeSet::new(), &mut found);
    found
}

/// Every variable that some task lists in `secrets`, in a plan and in those that it calls.
#[must_use]
pub fn secrets(plan: &ValidPlan) -> BTreeSet<Text> {
    let tasks = [plan].into_iter().chain(called(plan)).flat_map(|plan| &plan.tasks);
    tasks.flat_map(|task| &task.secrets).map(|secret| secret.value.clone()).collect()
}

/// The globs in `frozen`, of a plan and of those that it calls.
pub fn frozen_globs(plan: &ValidPlan) -> impl Iterator<Item = &Spanned<Text>> {
    [plan].into_iter().chain(called(plan)).flat_map(|plan| &plan.header.frozen)
}

/// The ceilings of a called plan: the lower of its own and of its caller's.
fn within(child: &Plan, ceilings: Ceilings) -> Ceilings {
    fn lower<T: Ord + Copy>(own: Option<Spanned<T>>, outer: Option<T>) -> Option<T> {
        own.map(|own| own.value).into_iter().chain(outer).min()
    }
    let budget = &child.header.budget;
    Ceilings {
        usd: lower(budget.usd, ceilings.usd),
        time_ms: lower(budget.time, ceilings.time_ms),
        steps: lower(budget.steps, ceilings.steps),
    }
}

/// The ceilings in force: the lower of plan and operator. What the operator does not say anew for a resumed
/// run stays as it was in `past`.
#[must_use]
pub fn ceilings(plan: &Plan, operator: &Operator, past: Option<Ceilings>) -> Ceilings {
    fn lower<T: Ord + Copy>(plan: Option<T>, said: Option<T>, past: Option<T>) -> Option<T> {
        match said {
            Some(said) => Some(plan.map_or(said, |plan| plan.min(said))),
            None => past.or(plan),
        }
    }
    let (budget, past) = (&plan.header.budget, past.unwrap_or_default());
    Ceilings {
        usd: lower(budget.usd.map(|usd| usd.value), operator.max_usd, past.usd),
        time_ms: lower(budget.time.map(|time| time.value), operator.max_time, past.time_ms),
        steps: lower(budget.steps.map(|steps| steps.value), operator.max_steps, past.steps),
    }
}

/// One thing that cannot run yet: what it is called, and where the plan has it.
struct NotYet {
    what: &'static str,
    /// Whether a runner can stand in for it.
    playable: bool,
    places: fn(&Plan) -> Vec<(Span, Text)>,
}

static REFUSED: &[NotYet] = &[
    NotYet { what: "`agent` tasks", playable: true, places: |plan| of_kind(plan, "agent") },
    NotYet { what: "`machine` tasks", playable: true, places: |plan| of_kind(plan, "machine") },
    NotYet {
        what: "`emits`, `emits_files`, `done_when` and `verify` of a `gate`",
        playable: false,
        places: |plan| tasks(plan, promises_as_gate),
    },
    NotYet {
        what: "`isolation = \"worktree\"`",
        playable: false,
        places: |plan| tasks(plan, |task| task.isolation.value == Isolation::Worktree),
    },
    NotYet {
        what: "`workspace = \"git\"`",
        playable: false,
        places: |plan| match plan.header.workspace {
            WorkspaceKind::Git => vec![(plan.span, plan.name.clone())],
            WorkspaceKind::Direct => Vec::new(),
        },
    },
    NotYet {
        what: "`resolve`",
        playable: false,
        places: |plan| {
            plan.resolves.iter().map(|resolve| (resolve.name.span, resolve.name.value.clone())).collect()
        },
    },
    NotYet {
        what: "`continue`",
        playable: false,
        places: |plan| {
            plan.continuation.iter().map(|block| (block.span, Text::const_new("continue"))).collect()
        },
    },
];

/// What cannot run in a plan that is called: nobody could answer there.
static REFUSED_IN_CALLED: &[NotYet] = &[
    NotYet { what: "`gate` tasks in a called plan", playable: false, places: |plan| of_kind(plan, "gate") },
    NotYet {
        what: "`on_interrupt = \"ask\"` in a called plan",
        playable: false,
        places: |plan| tasks(plan, |task| task.on_interrupt == OnInterrupt::Ask),
    },
];

/// Whether a gate has what only attempts keep: a person's answer is all that it comes to.
fn promises_as_gate(task: &Task) -> bool {
    let promises = task.emits.is_some()
        || !task.emits_files.is_empty()
        || task.done_when.is_some()
        || !task.verify.is_empty();
    promises && matches!(task.kind, Kind::Gate(_))
}

fn of_kind(plan: &Plan, kind: &str) -> Vec<(Span, Text)> {
    tasks(plan, |task| task.kind.as_str() == kind)
}

fn tasks(plan: &Plan, has: impl Fn(&Task) -> bool) -> Vec<(Span, Text)> {
    let named = |task: &Task| (task.name.span, task.name.value.clone());
    plan.tasks.iter().filter(|task| has(task)).map(named).collect()
}

fn not_yet(plan: &Plan, machine: &Machine, table: &[NotYet], found: &mut Diagnostics) {
    for refused in table {
        let mut places = (refused.places)(plan);
        if refused.playable {
            places.retain(|(_, name)| !machine.played.contains(name));
        }
        let Some((first, _)) = places.first() else { continue };
        let names: Vec<String> = places.iter().map(|(_, name)| format!("`{name}`")).collect();
        let mut finding = NOT_YET
            .at(*first, format!("{} cannot run yet: {}", refused.what, names.join(", ")))
            .label("this version cannot run it");
        for (span, name) in places.iter().skip(1) {
            finding = finding.related(*span, format!("`{name}` as well"));
        }
        found.push(finding);
    }
}

/// Every agent task, and every agent node of a machine, but for those of `played` tasks.
fn agents<'p>(plan: &'p Plan, played: &'p [Text]) -> impl Iterator<Item = (Span, &'p Text, &'p Agent)> {
    plan.tasks.iter().filter(|task| !played.contains(&task.name.value)).flat_map(|task| {
        let mut found = Vec::new();
        match &task.kind {
            Kind::Agent(agent) => found.push((task.name.span, &task.name.value, agent.as_ref())),
            Kind::Machine(machine) => {
                found.extend(machine.nodes.iter().filter_map(|node| match &node.task.kind {
                    Kind::Agent(agent) => Some((node.task.name.span, &node.task.name.value, agent.as_ref())),
                    Kind::Command(_)
                    | Kind::Evaluate(_)
                    | Kind::Route(_)
                    | Kind::Gate(_)
                    | Kind::TopK(_)
                    | Kind::Report(_)
                    | Kind::Call(_)
                    | Kind::Machine(_) => None,
                }));
            }
            Kind::Command(_)
            | Kind::Evaluate(_)
            | Kind::Route(_)
            | Kind::Gate(_)
            | Kind::TopK(_)
            | Kind::Report(_)
            | Kind::Call(_) => {}
        }
        found
    })
}

fn frozen(plan: &ValidPlan, machine: &Machine, found: &mut Diagnostics) {
    for (glob, matched) in frozen_globs(plan).zip(&machine.frozen) {
        match matched {
            Ok(0) => found.push(
                FROZEN_NOTHING
                    .at(glob.span, format!("`{}` matches no file", glob.value))
                    .label("freezes nothing"),
            ),
            Ok(_) => {}
            Err(why) => found.push(
                CANNOT_FREEZE
                    .at(glob.span, format!("`{}` cannot be frozen: {why}", glob.value))
                    .label("has to be stored before anything runs"),
            ),
        }
    }
}

fn no_ceiling(plan: &Plan, ceilings: Ceilings, found: &mut Diagnostics) {
    let Some((span, name, _)) = agents(plan, &[]).next() else { return };
    for (missing, field, flag) in
        [(ceilings.usd.is_none(), "usd", "--max-cost"), (ceilings.time_ms.is_none(), "time", "--max-time")]
    {
        if missing {
            found.push(
                NO_CEILING
                    .at(span, format!("the plan has the agent task `{name}` and no ceiling on `{field}`"))
                    .label("what it spends is known only afterwards")
                    .help(format!("give `budget = {{ {field} = … }}` in the header, or {flag}")),
            );
        }
    }
}

fn long_timeouts(plan: &Plan, ceilings: Ceilings, found: &mut Diagnostics) {
    let Some(ceiling) = ceilings.time_ms else { return };
    for task in &plan.tasks {
        if let Some(timeout) = task.timeout.filter(|timeout| timeout.value > ceiling) {
            let name = &task.name.value;
            found.push(
                TIMEOUT_OVER_CEILING
                    .at(timeout.span, format!("`{name}` may take {}, and the run {ceiling}", timeout.value))
                    .label("longer than the time ceiling")
                    .help(format!("write `timeout = {ceiling}` or less, or raise the ceiling")),
            );
        }
    }
}

fn nothing_but_reserve(plan: &Plan, ceilings: Ceilings, found: &mut Diagnostics) {
    let Some(always) = plan.tasks.iter().find(|task| task.always.value) else { return };
    let reserve = &plan.header.reserve;
    let span = reserve.span.unwrap_or(always.always.span);
    let name = &always.name.value;
    if let Some(time) = ceilings.time_ms.filter(|&time| time <= reserve.time) {
        found.push(
            NOTHING_BUT_RESERVE
                .at(
                    span,
                    format!("the reserve of {} leaves nothing of the time ceiling of {time}", reserve.time),
                )
                .label("kept back for `always` tasks")
                .related(always.always.span, format!("`{name}` runs in any case"))
                .help("write a shorter `reserve = { time = … }` in the header"),
        );
    }
    if let Some(usd) = ceilings.usd.filter(|&usd| usd <= reserve.usd && !reserve.usd.is_zero()) {
        found.push(
            NOTHING_BUT_RESERVE
                .at(
                    span,
                    format!("the reserve of ${} leaves nothing of the cost ceiling of ${usd}", reserve.usd),
                )
                .label("kept back for `always` tasks")
                .related(always.always.span, format!("`{name}` runs in any case")),
        );
    }
}

fn shells(plan: &Plan, machine: &Machine, found: &mut Diagnostics) {
    for &shell in &machine.missing_shells {
        let program = shell.argv()[0];
        if let Some(task) = plan.tasks.iter().find(|task| task.shell == shell && needs_shell(&task.kind)) {
            let name = &task.name.value;
            found.push(
                NO_SHELL
                    .at(
                        task.name.span,
                        format!("`{name}` needs `{program}`, which this machine does not have"),
                    )
                    .label("its `run` is a string for the shell"),
            );
        }
    }
}

fn needs_shell(kind: &Kind) -> bool {
    let is_string = |run: &Run| match run {
        Run::Shell(_) => true,
        Run::List(_) => false,
    };
    match kind {
        Kind::Command(run) => is_string(&run.value),
        Kind::Evaluate(evaluate) => is_string(&evaluate.run.value),
        Kind::Route(route) => route.run.as_ref().is_some_and(|run| is_string(&run.value)),
        Kind::Agent(_)
        | Kind::Gate(_)
        | Kind::TopK(_)
        | Kind::Report(_)
        | Kind::Call(_)
        | Kind::Machine(_) => false,
    }
}

fn harnesses(plan: &Plan, operator: &Operator, machine: &Machine, found: &mut Diagnostics) {
    for (span, name, agent) in agents(plan, &machine.played) {
        let session = agent.session.and_then(|id| plan.sessions.get(id.value.index()));
        let settings = session.map_or(&agent.settings, |session| &session.agent);
        let written = settings.harness.as_ref().or(agent.settings.harness.as_ref());
        let harness = written.map(|harness| (harness.span, &harness.value));
        let Some((place, harness)) = harness.or_else(|| operator.harness.as_ref().map(|name| (span, name)))
        else {
            found.push(
                NO_HARNESS
                    .at(span, format!("nothing says which harness runs `{name}`"))
                    .label("needs a harness")
                    .help("give `harness = \"…\"` in the task or in `defaults`"),
            );
            continue;
        };
        if !machine.harnesses.contains(harness) {
            let known: Vec<String> = machine.harnesses.iter().map(|name| format!("`{name}`")).collect();
            let mut finding = UNKNOWN_HARNESS
                .at(place, format!("no harness is called `{harness}`"))
                .label(format!("`{name}` would run with it"));
            if !known.is_empty() {
                finding = finding.help(format!("this machine has {}", known.join(", ")));
            }
            found.push(finding);
        }
    }
}

/// Which tasks can run here, given the capabilities that the machine declares.
#[derive(Clone, Debug, Default)]
pub struct Runnable {
    /// By task; empty where every task can.
    flags: Vec<bool>,
    caps: Vec<Text>,
}

impl Runnable {
    /// Whether `task` can run here.
    #[must_use]
    pub fn has(&self, task: TaskId) -> bool {
        self.flags.get(task.index()).copied().unwrap_or(true)
    }

    fn lacks<'p>(&self, plan: &'p Plan, task: TaskId) -> impl Iterator<Item = &'p Text> {
        plan[task].needs.iter().filter(|need| !self.caps.contains(need))
    }
}

/// Which tasks can run: their `needs` are declared and their join can be met.
#[must_use]
pub fn runnable(plan: &ValidPlan, caps: &[Text]) -> Runnable {
    let mut all = Runnable { flags: Vec::new(), caps: caps.to_vec() };
    let called = |id: TaskId| called_gap(plan, id, caps).is_none();
    if plan.tasks.iter().all(|task| task.needs.iter().all(|need| caps.contains(need)))
        && plan.children().all(|(id, _)| called(id))
    {
        return all;
    }
    let mut flags = vec![true; plan.tasks.len()];
    for &id in plan.graph().order() {
        let task = &plan[id];
        let mut dependencies = task.depends_on.iter().map(|dependency| flags[dependency.task.index()]);
        let joined = match task.join.value {
            Join::All => dependencies.all(|runs| runs),
            Join::Passed => task.depends_on.is_empty() || dependencies.any(|runs| runs),
            Join::Settled => true,
        };
        flags[id.index()] = joined && task.needs.iter().all(|need| caps.contains(need)) && called(id);
    }
    all.flags = flags;
    all
}

/// Why the plan that `task` calls cannot run here; none where it can, and where it calls none.
fn called_gap(plan: &ValidPlan, task: TaskId, caps: &[Text]) -> Option<Text> {
    let child = plan.child(task)?;
    gap(child, &runnable(child, caps))
}

/// Why a required main task cannot run here, every one named; none where all can.
#[must_use]
pub fn gap(plan: &ValidPlan, runnable: &Runnable) -> Option<Text> {
    let gaps = plan.ids().filter(|&id| {
        let task = &plan[id];
        task.required && task.stage == Stage::Main && !runnable.has(id)
    });
    let said: Vec<String> = gaps.map(|id| why_not(plan, runnable, id).into()).collect();
    (!said.is_empty()).then(|| format!("nothing ran: {}", said.join("; ")).into())
}

/// Why `task` cannot run here.
#[must_use]
pub fn why_not(plan: &ValidPlan, runnable: &Runnable, task: TaskId) -> Text {
    let lacks: Vec<String> = runnable.lacks(plan, task).map(|need| format!("`{need}`")).collect();
    let name = &plan[task].name.value;
    if !lacks.is_empty() {
        return format!("`{name}` needs {}, which this machine does not declare", lacks.join(", ")).into();
    }
    if let Some(gap) = called_gap(plan, task, &runnable.caps) {
        let gap = gap.trim_start_matches("nothing ran: ");
        return format!("`{name}` calls a plan that cannot run here: {gap}").into();
    }
    let of = plan[task].depends_on.iter().find(|dependency| !runnable.has(dependency.task));
    match of {
        Some(of) => {
            format!("`{name}` depends on `{}`, which cannot run here", plan[of.task].name.value).into()
        }
        None => format!("`{name}` cannot run here").into(),
    }
}
