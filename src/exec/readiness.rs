//! Whether a pending task may run, in the order of EXECUTION §4: one small check a step.
//!
//! Unaware of queues: it is asked about one unit at a time, the first one first.

use super::admission;
use super::budget::Ceiling;
use super::conditions;
use super::fanout::{self, Produced};
use super::json;
use super::reuse;
use super::rounds;
use super::route;
use super::scheduler::Scheduler;
use super::settle;
use super::top_k;
use super::units::Unit;
use super::verdict;
use crate::event::{
    Blocked, BlockedReason, Body, Exit, GateAsked, Halted, InstancesNamed, Raw, Status, TaskSettled, utc,
};
use crate::history::{Answer, Row};
use crate::ir::{Join, Kind, OnInterrupt, Stage, TaskId};
use crate::source::Text;

/// What comes of looking at a unit.
pub(super) enum Decision {
    /// A decision to record.
    Record(Box<Body>),
    /// It runs.
    Dispatch,
    /// Another run may have its result.
    Compare,
    /// It would run, and every slot is taken: nothing behind it is looked at either.
    NoSlot,
    /// It would run, and its money is reserved by others.
    NoMoney,
}

impl Decision {
    fn record(body: impl Into<Body>) -> Self {
        Self::Record(Box::new(body.into()))
    }
}

/// The answers that an interrupted attempt can be given (EXECUTION §12).
pub const INTERRUPTED_OPTIONS: [&str; 4] = ["rerun", PASS, FAIL, SKIP];
/// It had passed, and its promises are kept.
pub const PASS: &str = "pass";
const FAIL: &str = "fail";
const SKIP: &str = "skip";

/// Whether what comes next of `unit` is an attempt, which takes a slot: not so for questions to people, and for
/// answers that settle.
pub(super) fn is_attempt(s: &Scheduler, unit: Unit) -> bool {
    let (row, task) = (s.row(unit), s.task(unit));
    if let Kind::Gate(_) = task.kind {
        return false;
    }
    if !row.cut_off || task.on_interrupt != OnInterrupt::Ask {
        return true;
    }
    row.answered.as_ref().is_some_and(|answered| !matches!(answered.answer.as_str(), FAIL | SKIP))
}

/// Whether a person said that the attempt of `unit` which was interrupted had passed.
pub(super) fn is_answered(s: &Scheduler, unit: Unit) -> bool {
    let row = s.row(unit);
    row.cut_off && row.answered.as_ref().is_some_and(|answered| answered.answer == PASS)
}

/// Looks at `unit`, whose dependencies are terminal (step 3).
pub(super) fn consider(s: &Scheduler, unit: Unit) -> Decision {
    if let Some(body) = barred_from(s, unit) {
        return Decision::Record(Box::new(body));
    }
    if is_attempt(s, unit) && !s.has_free_slot() {
        return Decision::NoSlot;
    }
    if unit.index().is_none()
        && let Some(settled) = not_runnable(s, unit)
    {
        return Decision::record(settled);
    }
    if let Some(body) = interrupted(s, unit) {
        return Decision::Record(Box::new(body));
    }
    if is_answered(s, unit) {
        return Decision::Dispatch; // Nothing runs, so that no ceiling forbids it.
    }
    if s.row(unit).attempts == 0 {
        let checks = [not_taken_join, not_taken_when, unmet_join];
        if let Some(settled) = checks.iter().find_map(|check| check(s, unit)) {
            return Decision::record(settled);
        }
        let asks = || asks(s, unit);
        if let Some(body) = expands(s, unit).or_else(asks).or_else(|| answered_by_engine(s, unit)) {
            return Decision::Record(Box::new(body));
        }
    }
    if reuse::is_open(s, unit) {
        return Decision::Compare;
    }
    if s.row(unit).takes_over() {
        return Decision::Dispatch; // It costs nothing.
    }
    affordable(s, unit)
}

/// How `unit` settles if it may not start any more: on its last attempt, if it had one.
pub(super) fn barred_from(s: &Scheduler, unit: Unit) -> Option<Body> {
    let bar = barred(s, unit)?;
    Some(if s.row(unit).attempts > 0 {
        settle::spent(s, unit, &bar.note)
    } else {
        bar.settled(s.name(unit)).into()
    })
}

/// Why a unit may not start any more.
pub(super) struct Bar {
    status: Status,
    blocked: Option<Blocked>,
    pub(super) note: Text,
}

impl Bar {
    fn new(reason: BlockedReason, task: Option<Text>, note: impl Into<Text>) -> Self {
        Self { status: Status::Blocked, blocked: Some(Blocked { reason, task }), note: note.into() }
    }

    fn settled(self, task: Text) -> TaskSettled {
        TaskSettled { task, status: self.status, note: Some(self.note), blocked: self.blocked, output: None }
    }
}

/// Step 1: the run has halted, or is being stopped.
pub(super) fn barred(s: &Scheduler, unit: Unit) -> Option<Bar> {
    let task = s.task(unit);
    match task.stage {
        Stage::Main => {
            let halted = s.history.halted.as_ref().filter(|halted| !finishes(s, unit, halted))?;
            Some(bar_of(s, halted))
        }
        Stage::Epilogue => {
            let halted = s.history.halted.as_ref();
            if let Some(halted) = halted.filter(|halted| halted.exit == Exit::Truncated) {
                return Some(bar_of(s, halted));
            }
            if task.always.value {
                return cleanup_bar(s);
            }
            if let Some(halted) = halted.filter(|halted| verdict::spares_no_epilogue(halted.exit)) {
                return Some(bar_of(s, halted));
            }
            if s.history.stop_requested {
                return Some(Bar::new(BlockedReason::Stopped, None, "not started: the run was stopped"));
            }
            s.limits.time_up(&s.used()).map(bar_of_ceiling)
        }
    }
}

/// Whether `unit` was in flight when a required failure, or an early end, halted the run, and was cut off
/// before it could finish: what is in flight then settles on its own result, so that it runs again.
fn finishes(s: &Scheduler, unit: Unit, halted: &Halted) -> bool {
    let lets_finish = match halted.exit {
        Exit::Failed => !s.options.kill_on_failure,
        Exit::Concluded => true,
        Exit::Completed
        | Exit::Unaccepted
        | Exit::CostCeiling
        | Exit::TimeCeiling
        | Exit::StepCeiling
        | Exit::Truncated
        | Exit::Stopped
        | Exit::Waiting
        | Exit::Stuck => false,
    };
    lets_finish && s.row(unit).cut_off
}

fn bar_of_ceiling(ceiling: Ceiling) -> Bar {
    let note = compact_str::format_compact!("not started: {ceiling} was reached");
    Bar::new(ceiling.reason(), None, note)
}

fn cleanup_bar(s: &Scheduler) -> Option<Bar> {
    if let Some(ceiling) = s.limits.forbids_cleanup(&s.used()) {
        let note = compact_str::format_compact!("not started: {ceiling} and the reserve are used up");
        return Some(Bar::new(ceiling.reason(), None, note));
    }
    if !s.reserve_is_up() {
        return None;
    }
    let reason = match s.history.halted.as_ref().map(|halted| halted.exit) {
        Some(Exit::CostCeiling) => BlockedReason::CostCeiling,
        Some(Exit::TimeCeiling) => BlockedReason::TimeCeiling,
        Some(Exit::StepCeiling) => BlockedReason::StepCeiling,
        Some(
            Exit::Completed
            | Exit::Concluded
            | Exit::Failed
            | Exit::Unaccepted
            | Exit::Truncated
            | Exit::Stopped
            | Exit::Waiting
            | Exit::Stuck,
        )
        | None => BlockedReason::Stopped,
    };
    let reserve = s.plan.header.reserve.time;
    Some(Bar::new(
        reason,
        None,
        compact_str::format_compact!("not started: the reserve of {reserve} is used up"),
    ))
}

fn bar_of(s: &Scheduler, halted: &Halted) -> Bar {
    let task = halted.task.clone();
    let named = || halted.task.as_deref().unwrap_or_default();
    match halted.exit {
        Exit::Failed => {
            let note = match s.history.row(named()).and_then(Row::status) {
                Some(status) => compact_str::format_compact!(
                    "not started: the required task `{}` {}",
                    named(),
                    came_out(status)
                ),
                None => compact_str::format_compact!("not started: the required task `{}` failed", named()),
            };
            Bar::new(BlockedReason::RequiredFailure, task, note)
        }
        Exit::Unaccepted => {
            Bar::new(BlockedReason::Unaccepted, None, "not started: a required gate does not hold")
        }
        Exit::Concluded => Bar::new(BlockedReason::Stopped, None, "not started: the run ended early"),
        Exit::CostCeiling => bar_of_exit(s, BlockedReason::CostCeiling, "the cost ceiling was reached"),
        Exit::TimeCeiling => bar_of_exit(s, BlockedReason::TimeCeiling, "the time ceiling was reached"),
        Exit::StepCeiling => {
            bar_of_exit(s, BlockedReason::StepCeiling, "the ceiling on attempts was reached")
        }
        Exit::Truncated => Bar {
            status: Status::Truncated,
            blocked: None,
            note: halted.note.clone().unwrap_or_else(|| "a required task cannot run here".into()),
        },
        Exit::Stopped | Exit::Completed | Exit::Waiting | Exit::Stuck => {
            Bar::new(BlockedReason::Stopped, None, "not started: the run was stopped")
        }
    }
}

fn bar_of_exit(s: &Scheduler, reason: BlockedReason, plain: &str) -> Bar {
    let note = s.history.halted.as_ref().and_then(|halted| halted.note.as_deref()).unwrap_or(plain);
    Bar::new(reason, None, compact_str::format_compact!("not started: {note}"))
}

/// How a task came out, as the end of a sentence that begins with its name.
pub(super) const fn came_out(status: Status) -> &'static str {
    match status {
        Status::Pass => "passed",
        Status::Partial => "passed in part",
        Status::NotTaken => "was not taken",
        Status::Fail => "failed",
        Status::Skipped => "was skipped",
        Status::Transport => "was lost to the infrastructure",
        Status::Blocked => "was blocked",
        Status::Truncated => "was truncated",
    }
}

/// Step 2: not runnable here.
fn not_runnable(s: &Scheduler, unit: Unit) -> Option<TaskSettled> {
    let id = s.id(unit);
    (!s.runnable.has(id)).then(|| TaskSettled {
        task: s.name(unit),
        status: Status::Skipped,
        note: Some(admission::why_not(&s.plan, &s.runnable, id)),
        blocked: None,
        output: None,
    })
}

/// An attempt that was cut off, of a task that asks what happened (EXECUTION §12).
fn interrupted(s: &Scheduler, unit: Unit) -> Option<Body> {
    let (row, task) = (s.row(unit), s.task(unit));
    if !row.cut_off || task.on_interrupt != OnInterrupt::Ask {
        return None;
    }
    let name = s.name(unit);
    let Some(answered) = &row.answered else {
        let ask = format!("an attempt of `{name}` was interrupted: run it again, or how did it end?");
        let options = INTERRUPTED_OPTIONS.iter().map(|&option| option.into()).collect();
        return Some(GateAsked { task: name, ask: ask.into(), options }.into());
    };
    let status = match answered.answer.as_str() {
        FAIL => Status::Fail,
        SKIP => Status::Skipped,
        _ => return None, // `rerun`, or `pass`, which is held to its promises first
    };
    let note = compact_str::format_compact!("answered `{}` by {}", answered.answer, answered.by);
    let output = answered.result.clone();
    Some(TaskSettled { task: name, status, note: Some(note), blocked: None, output }.into())
}

/// The dependencies that a check of `unit` is about: those that all instances share are looked at once, for
/// the whole task; an instance's own are the aligned ones.
fn looked_at(s: &Scheduler, unit: Unit) -> impl Iterator<Item = (TaskId, &Row)> {
    let task = s.task(unit);
    let shared_only = task.over.is_some() && unit.index().is_none();
    let own_only = unit.index().is_some() && task.join.value != Join::Passed;
    // Without aligned dependencies there is nothing that the whole task has not been asked about.
    let has_own = s.tasks[s.id(unit).index()].spread.as_ref().is_some_and(|spread| spread.has_own);
    let nothing = unit.index().is_some() && !has_own;
    task.depends_on.iter().filter(move |_| !nothing).filter_map(move |dependency| {
        let of = dependency.task;
        let own = fanout::aligned(task, &s.plan[of]) && s.history.rows[of.index()].instances.is_some();
        let left_out = if own { shared_only } else { own_only };
        (!left_out).then(|| (of, s.seen(of, unit)))
    })
}

/// Whether a mapped task has dependencies that are looked at for each instance.
fn has_own(s: &Scheduler, unit: Unit) -> bool {
    let task = s.task(unit);
    task.over.is_some() && unit.index().is_none() && looked_at(s, unit).count() < task.depends_on.len()
}

/// The status that a dependency has for a join; after an interruption one that will not run now counts as
/// blocked.
fn status(row: &Row) -> Status {
    row.status().unwrap_or(Status::Blocked)
}

/// Step 4: it joins `"all"` on a task that was not taken, or `"passed"` on nothing but such tasks.
fn not_taken_join(s: &Scheduler, unit: Unit) -> Option<TaskSettled> {
    let mut rows = looked_at(s, unit);
    let missed = |row: &Row| status(row) == Status::NotTaken;
    let because = match s.task(unit).join.value {
        Join::All => rows.find(|(_, row)| missed(row)),
        Join::Passed if has_own(s, unit) => None,
        Join::Passed => {
            let first = rows.next().filter(|(_, row)| missed(row));
            first.filter(|_| rows.all(|(_, row)| missed(row)))
        }
        Join::Settled => None,
    };
    let (of, _) = because?;
    let of = s.name(s.seen_unit(of, unit));
    let note = match s.task(unit).join.value {
        Join::All | Join::Settled => compact_str::format_compact!("`{of}` was not taken"),
        Join::Passed if s.task(unit).depends_on.len() == 1 => {
            compact_str::format_compact!("`{of}` was not taken")
        }
        Join::Passed => "none of its dependencies was taken".into(),
    };
    Some(not_taken(s, unit, note))
}

fn not_taken(s: &Scheduler, unit: Unit, note: Text) -> TaskSettled {
    let task = s.name(unit);
    TaskSettled { task, status: Status::NotTaken, note: Some(note), blocked: None, output: None }
}

/// Step 5: its `when` does not hold. Of a mapped task this is decided for each instance.
fn not_taken_when(s: &Scheduler, unit: Unit) -> Option<TaskSettled> {
    let task = s.task(unit);
    if task.over.is_some() && unit.index().is_none() {
        return None;
    }
    let when = &task.when.as_ref()?.value;
    (!conditions::holds(s, unit, when)).then(|| not_taken(s, unit, "its `when` does not hold".into()))
}

/// Step 6: its join cannot be met.
fn unmet_join(s: &Scheduler, unit: Unit) -> Option<TaskSettled> {
    let task = s.task(unit);
    let because = match task.join.value {
        Join::All => looked_at(s, unit).find(|(_, row)| !status(row).passes()),
        Join::Passed if has_own(s, unit) => None,
        Join::Passed => {
            let met = looked_at(s, unit).any(|(of, row)| passes_in_part(s, unit, of, row));
            let unmet = || looked_at(s, unit).find(|(_, row)| status(row) != Status::NotTaken);
            if met { None } else { unmet() }
        }
        Join::Settled => None,
    };
    let (of, row) = because?;
    let direct = s.seen_unit(of, unit);
    let name = s.name(direct);
    let cause = s.causes.get(&direct).map(|&cause| (s.name(cause), s.row(cause)));
    let mut note = compact_str::format_compact!("`{name}` {}", came_out(status(row)));
    if let Some((cause, row)) = cause {
        note.push_str(&format!(", because `{cause}` {}", came_out(status(row))));
        note.push_str(&shortened(row));
    } else {
        note.push_str(&shortened(row));
    }
    if task.join.value == Join::Passed && task.depends_on.len() > 1 {
        note = compact_str::format_compact!("nothing that it depends on passed: {note}");
    }
    let blocked = Some(Blocked { reason: BlockedReason::Dependency, task: Some(name) });
    Some(TaskSettled { task: s.name(unit), status: Status::Blocked, note: Some(note), blocked, output: None })
}

/// The note of what stands behind, as the end of a sentence.
fn shortened(row: &Row) -> String {
    const LONGEST: usize = 200;
    match row.note() {
        None => String::new(),
        Some(note) => {
            let line = note.lines().next().unwrap_or_default();
            match line.char_indices().nth(LONGEST) {
                Some((at, _)) => format!(": {}…", &line[..at]),
                None => format!(": {line}"),
            }
        }
    }
}

/// For a `"passed"` join a mapped dependency counts as passing if one of its instances passed.
fn passes_in_part(s: &Scheduler, unit: Unit, of: TaskId, row: &Row) -> bool {
    let whole = s.seen_unit(of, unit).index().is_none();
    let spread = s.tasks[of.index()].spread.as_ref().filter(|_| whole);
    match spread {
        Some(spread) => spread.passed > 0 || status(row).passes(),
        None => status(row).passes(),
    }
}

/// A mapped task names its instances, or its list is no good.
fn expands(s: &Scheduler, unit: Unit) -> Option<Body> {
    let task = s.task(unit);
    if task.over.is_none() || unit.index().is_some() {
        return None;
    }
    let produced = |producer| Produced::of(s.seen(producer, unit));
    let name = s.name(unit);
    Some(match fanout::elements(&s.plan, task, produced) {
        Ok(elements) => {
            let keys = elements.into_iter().map(|element| element.name).collect();
            InstancesNamed { task: name, keys }.into()
        }
        Err(wrong) => {
            let (status, note) = (Status::Fail, Some(wrong));
            TaskSettled { task: name, status, note, blocked: None, output: None }.into()
        }
    })
}

/// A gate asks a person.
fn asks(s: &Scheduler, unit: Unit) -> Option<Body> {
    let Kind::Gate(gate) = &s.task(unit).kind else { return None };
    if s.row(unit).answered.is_some() {
        return None;
    }
    let options = gate.options.iter().map(|option| option.value.clone()).collect();
    Some(GateAsked { task: s.name(unit), ask: gate.ask.clone(), options }.into())
}

/// What the engine itself answers, without an attempt; of a gate, what a person answered.
fn answered_by_engine(s: &Scheduler, unit: Unit) -> Option<Body> {
    let answer = match &s.task(unit).kind {
        Kind::Route(kind) => {
            let source = kind.source.as_ref()?.value;
            route::from_source(kind, &s.plan[source].name.value, s.seen(source, unit))
        }
        Kind::TopK(kind) => top_k::rank(s, unit, kind),
        Kind::Gate(_) => Ok(said(s.row(unit).answered.as_ref()?)),
        Kind::Command(_)
        | Kind::Evaluate(_)
        | Kind::Agent(_)
        | Kind::Report(_)
        | Kind::Call(_)
        | Kind::Machine(_) => return None,
    };
    let (status, note, output) = match answer {
        Ok(output) => (Status::Pass, None, Some(output)),
        Err(wrong) => (Status::Fail, Some(wrong), None),
    };
    Some(TaskSettled { task: s.name(unit), status, note, blocked: None, output }.into())
}

/// The output of a gate.
fn said(answered: &Answer) -> Raw {
    let members = [("answer", answered.answer.as_str()), ("by", &answered.by), ("at", &utc(answered.at))];
    let members = members.map(|(name, value)| format!("\"{name}\":{}", json::quoted(value)));
    fanout::raw(&format!("{{{}}}", members.join(",")))
}

/// Steps 7 and 8: a ceiling is reached, or it runs.
fn affordable(s: &Scheduler, unit: Unit) -> Decision {
    let task = s.task(unit);
    if task.always.value {
        return Decision::Dispatch; // Step 1 has asked for the reserve.
    }
    let most = task.max_usd.map(|most| most.value);
    let used = s.used();
    if let Some(ceiling) = s.limits.forbids(&used, most) {
        return if verdict::decided(s) {
            if s.row(unit).attempts > 0 {
                Decision::Record(Box::new(settle::spent(s, unit, &bar_of_ceiling(ceiling).note)))
            } else {
                Decision::record(bar_of_ceiling(ceiling).settled(s.name(unit)))
            }
        } else {
            Decision::record(halted_short(s, unit, ceiling))
        };
    }
    match most {
        Some(most) if !s.limits.fits(&used, s.tally.reserved, most) => Decision::NoMoney,
        Some(_) | None => Decision::Dispatch,
    }
}

/// The halt by a ceiling that `unit` cannot start below: what of it is left is too little where something is.
fn halted_short(s: &Scheduler, unit: Unit, ceiling: Ceiling) -> Halted {
    let mut halted = verdict::halted_by(ceiling);
    let left = s.limits.usd().map(|usd| usd.minus(s.used().spent)).filter(|left| !left.is_zero());
    if let (Ceiling::Cost(..), Some(left), Some(most)) = (ceiling, left, s.task(unit).max_usd) {
        let (name, most) = (s.name(unit), most.value);
        halted.note = halted.note.map(|note| {
            compact_str::format_compact!("{note}: ${left} is left, and `{name}` may cost ${most}")
        });
    }
    halted
}

/// Up to which event everything has to be on disk before `unit` starts: the settles that it depends on, the
/// review that sent it back, and for an epilogue those of the main graph.
pub(super) fn needs(s: &Scheduler, unit: Unit) -> u64 {
    let id = s.id(unit);
    let rest = match s.task(unit).stage {
        Stage::Main => 0,
        Stage::Epilogue => s.rest.unwrap_or_default(),
    };
    let shared = match &s.tasks[id.index()].spread {
        Some(spread) => spread.needs.max(own_needs(s, unit)),
        None => shared_needs(s, id),
    };
    let review = rounds::review(s, id).map_or(0, |review| review.last.settled.seq);
    rest.max(shared).max(review)
}

/// The greatest settle of the dependencies that the whole task waited for.
pub(super) fn shared_needs(s: &Scheduler, id: TaskId) -> u64 {
    let rows = s.plan[id].depends_on.iter().map(|dependency| &s.history.rows[dependency.task.index()]);
    rows.filter_map(|row| row.settled.as_ref()).map(|settled| settled.seq).max().unwrap_or_default()
}

fn own_needs(s: &Scheduler, unit: Unit) -> u64 {
    let task = s.task(unit);
    let own = task.depends_on.iter().filter(|dependency| fanout::aligned(task, &s.plan[dependency.task]));
    let rows = own.map(|dependency| s.seen(dependency.task, unit));
    rows.filter_map(|row| row.settled.as_ref()).map(|settled| settled.seq).max().unwrap_or_default()
}
