//! What it means to take a run up again: it is only reported, refused by name, or goes on with some tasks
//! pending again (EXECUTION §12).
//!
//! Pure. Whether the log belongs to this plan, with these parameters and gates, is asked before.

use super::admission;
use super::budget::{Limits, Used};
use crate::diag::suggest;
use crate::event::{BlockedReason, Ceilings, EndedBy, Exit, Grade, RunResumed, Status};
use crate::history::{History, Row, State, instance_name, split_name};
use crate::ir::{Bodies, Join, Kind, Millis, OnFailure, Stage, Task, TaskId};
use crate::source::Text;
use crate::validate::ValidPlan;

/// What the operator asks for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `--from TASK`.
    pub from: Option<Text>,
    /// The capabilities that the machine declares now; what it declared before, where none is given.
    pub caps: Vec<Text>,
    /// The ceilings in force from here: see [`admission::ceilings`].
    pub ceilings: Ceilings,
    /// Whether to go on after a required failure; once asked for, this stays so.
    pub keep_going: bool,
}

/// What comes of it.
#[derive(Clone, Debug)]
pub enum Decision {
    /// The run has ended, and is only reported as it ended.
    Reported,
    /// It cannot be: one clause each.
    Refused(Vec<String>),
    /// Another sitting begins with this event.
    Resumes(RunResumed),
}

/// Decides on taking up the run that `history` tells of.
#[must_use]
pub fn decide(plan: &ValidPlan, history: &History, request: &Request) -> Decision {
    if !history.admitted {
        return Decision::Refused(vec!["the run was never admitted, so that nothing can be resumed".into()]);
    }
    let caps = if request.caps.is_empty() { history.caps.clone() } else { request.caps.clone() };
    let halt = Halt::of(plan, history, request);
    let (again, reopened) = match &request.from {
        Some(from) => match from_task(plan, history, from) {
            Ok(id) if let Some(why) = unaffordable(plan, history, id, request.ceilings) => {
                return Decision::Refused(vec![why]);
            }
            Ok(id) => {
                let again = Again::new(plan, history).from(id, history.halted.as_ref().map(|_| halt));
                if let Some(why) = halts_again(plan, history, id, &again, request) {
                    return Decision::Refused(vec![why]);
                }
                (again, true)
            }
            Err(wrong) => return Decision::Refused(vec![wrong]),
        },
        None if halt.opens => (Again::new(plan, history).halted(halt).epilogue(), true),
        None if history.state() == State::Ended => return Decision::Reported,
        None => (Again::new(plan, history).cleaned_up(), false),
    };
    let unheard = again.unheard();
    let (again, anew) = again.names();
    let heard = heard(plan, history, again.iter().chain(&unheard));
    let lacking = cannot_run(plan, history, &again, &caps);
    if !lacking.is_empty() {
        return Decision::Refused(lacking);
    }
    Decision::Resumes(RunResumed {
        reopened,
        from: request.from.clone(),
        again,
        anew,
        unheard,
        heard,
        caps,
        ceilings: request.ceilings,
        keep_going: request.keep_going || history.keep_going,
    })
}

/// The halt that stands, and whether it does not stand any more.
#[derive(Clone, Copy)]
struct Halt {
    exit: Option<Exit>,
    /// Whether the run is open again: it was stopped, or its ceiling is raised.
    opens: bool,
}

impl Halt {
    fn of(plan: &ValidPlan, history: &History, request: &Request) -> Self {
        let exit = history.halted.as_ref().map(|halted| halted.exit);
        let opens = match exit {
            Some(Exit::Stopped) => true,
            Some(exit @ (Exit::CostCeiling | Exit::TimeCeiling | Exit::StepCeiling)) => {
                is_raised(plan, history, exit, request.ceilings)
            }
            Some(
                Exit::Completed
                | Exit::Concluded
                | Exit::Failed
                | Exit::Unaccepted
                | Exit::Truncated
                | Exit::Waiting
                | Exit::Stuck,
            )
            | None => false,
        };
        Self { exit, opens }
    }

    /// With which reason it blocked.
    fn reason(self) -> Option<BlockedReason> {
        match self.exit? {
            Exit::Failed => Some(BlockedReason::RequiredFailure),
            Exit::Unaccepted => Some(BlockedReason::Unaccepted),
            Exit::CostCeiling => Some(BlockedReason::CostCeiling),
            Exit::TimeCeiling => Some(BlockedReason::TimeCeiling),
            Exit::StepCeiling => Some(BlockedReason::StepCeiling),
            Exit::Stopped => Some(BlockedReason::Stopped),
            Exit::Completed | Exit::Concluded | Exit::Truncated | Exit::Waiting | Exit::Stuck => None,
        }
    }

    /// How it ended what was in flight.
    fn ended_by(self) -> Option<EndedBy> {
        match self.exit? {
            Exit::Failed => Some(EndedBy::Failure),
            Exit::TimeCeiling => Some(EndedBy::TimeCeiling),
            Exit::Stopped => Some(EndedBy::Stop),
            Exit::CostCeiling => Some(EndedBy::CostCeiling),
            Exit::StepCeiling => Some(EndedBy::StepCeiling),
            Exit::Unaccepted
            | Exit::Completed
            | Exit::Concluded
            | Exit::Truncated
            | Exit::Waiting
            | Exit::Stuck => None,
        }
    }

    /// Whether it is the halt that made `row` settle as it did.
    fn settled(self, task: &Task, row: &Row) -> bool {
        let Some(settled) = &row.settled else { return false };
        let truncated = settled.status == Status::Truncated && self.exit == Some(Exit::Truncated);
        if let Some(blocked) = &settled.blocked {
            return Some(blocked.reason) == self.reason();
        }
        let last = row.last.as_ref();
        let ours = |by: Option<EndedBy>| by.is_some() && by == self.ended_by();
        let ended = last.is_some_and(|last| ours(last.ended_by))
            || row.rejections().any(|verdict| ours(verdict.ended_by));
        // It asked for another attempt, had some left, and got none.
        let cut_short = last.is_some_and(|last| match last.grade {
            Grade::Transport | Grade::Retry => row.attempts <= task.retries,
            Grade::Pass
            | Grade::Partial
            | Grade::Fail
            | Grade::Skipped
            | Grade::Blocked
            | Grade::Interrupted => false,
        });
        truncated || ended || cut_short
    }

    /// Whether all that it did to `row` is that verifiers of an attempt were cut off, which has ended and is
    /// never made again (EXECUTION §5).
    fn cut_off_verifiers(self, row: &Row) -> bool {
        let judged = row.settled.as_ref().is_some_and(|settled| settled.blocked.is_none());
        let stands = row.last.as_ref().is_some_and(|last| match last.grade {
            Grade::Pass | Grade::Partial => !last.did_not_run(),
            Grade::Fail
            | Grade::Skipped
            | Grade::Transport
            | Grade::Retry
            | Grade::Blocked
            | Grade::Interrupted => false,
        });
        let ours = |by: Option<EndedBy>| by.is_some() && by == self.ended_by();
        judged && stands && row.rejections().any(|verdict| ours(verdict.ended_by))
    }
}

/// The acceptance gates whose verdicts stand: those that were let finish, where nothing of the main graph is
/// `undone`.
fn heard<'a>(plan: &ValidPlan, history: &History, mut undone: impl Iterator<Item = &'a Text>) -> Vec<Text> {
    let is_main = |name: &'a Text| {
        let task = history.index_of(split_name(name).0).map(TaskId::from);
        task.is_none_or(|id| plan[id].stage == Stage::Main)
    };
    if undone.any(is_main) {
        return Vec::new();
    }
    let finished = history.gates.values().filter(|verdict| verdict.ended_by.is_none());
    finished.map(|verdict| verdict.verifier.clone()).collect()
}

/// Whether the ceiling that ended the run is higher now, and not reached any more.
fn is_raised(plan: &ValidPlan, history: &History, exit: Exit, now: Ceilings) -> bool {
    fn higher<T: Ord>(now: Option<T>, then: Option<T>) -> bool {
        match (now, then) {
            (Some(now), Some(then)) => now > then,
            (None, Some(_)) => true,
            (_, None) => false,
        }
    }
    let then = history.ceilings;
    let raised = match exit {
        Exit::CostCeiling => higher(now.usd, then.usd),
        Exit::TimeCeiling => higher(now.time_ms, then.time_ms),
        Exit::StepCeiling => higher(now.steps, then.steps),
        Exit::Completed
        | Exit::Concluded
        | Exit::Failed
        | Exit::Unaccepted
        | Exit::Truncated
        | Exit::Stopped
        | Exit::Waiting
        | Exit::Stuck => false,
    };
    let reached =
        Limits::new(plan, now).forbids(&used(history), None).is_some_and(|ceiling| ceiling.exit() == exit);
    raised && !reached
}

fn used(history: &History) -> Used {
    Used { spent: history.spent, elapsed: history.elapsed(), steps: history.steps, ..Used::default() }
}

/// Why `id` could not start again: a ceiling is used up. Asked before anything is given up for it.
fn unaffordable(plan: &ValidPlan, history: &History, id: TaskId, now: Ceilings) -> Option<String> {
    let downstream = plan.graph().downstream(id);
    let again = || plan.ids().filter(|&other| other == id || downstream[other.index()]);
    // The engine itself answers some, and what cleans up has a reserve.
    if again().all(|id| is_free(&plan[id])) || plan[id].always.value {
        return None;
    }
    let most = plan[id].max_usd.map(|most| most.value);
    let ceiling = Limits::new(plan, now).forbids(&used(history), most)?;
    let (name, help) = (&plan[id].name.value, higher(plan, history, ceiling.exit(), now));
    Some(format!("`{name}` cannot run again: {ceiling} is used up: {help}"))
}

/// Whether it takes no attempt.
fn is_free(task: &Task) -> bool {
    match &task.kind {
        Kind::Gate(_) | Kind::TopK(_) => true,
        Kind::Route(route) => route.source.is_some(),
        Kind::Command(_)
        | Kind::Evaluate(_)
        | Kind::Agent(_)
        | Kind::Report(_)
        | Kind::Call(_)
        | Kind::Machine(_) => false,
    }
}

/// Why a run that ended on a ceiling stays as it ended, and what would open it again. None for a run that did
/// not, and for one that is opened.
#[must_use]
pub fn closed_by(plan: &ValidPlan, history: &History, now: Ceilings) -> Option<String> {
    let exit = history.halted.as_ref()?.exit;
    let ceiling = match exit {
        Exit::CostCeiling | Exit::TimeCeiling | Exit::StepCeiling => exit,
        Exit::Completed
        | Exit::Concluded
        | Exit::Failed
        | Exit::Unaccepted
        | Exit::Truncated
        | Exit::Stopped
        | Exit::Waiting
        | Exit::Stuck => return None,
    };
    let stays = history.state() == State::Ended && !is_raised(plan, history, ceiling, now);
    stays.then(|| higher(plan, history, ceiling, now))
}

/// Which ceiling of this kind holds, what of it is used, and what to type for a higher one.
fn higher(plan: &ValidPlan, history: &History, exit: Exit, now: Ceilings) -> String {
    let own = &plan.header.budget;
    let (flag, holds, is_own, used) = match exit {
        Exit::CostCeiling => {
            let own = own.usd.as_ref().map(|own| own.value);
            let holds = now.usd.map(|usd| format!("${usd}"));
            ("--max-cost", holds, own == now.usd, format!("${} is spent", history.spent))
        }
        Exit::TimeCeiling => {
            let own = own.time.as_ref().map(|own| own.value);
            let kept = Limits::new(plan, now).kept_time();
            let kept = match kept {
                Millis(0) => String::new(),
                kept => format!(", of which {kept} are kept back for cleaning up"),
            };
            let holds = now.time_ms.map(|time| format!("{time}{kept}"));
            ("--max-time", holds, own == now.time_ms, format!("{} have passed", history.elapsed()))
        }
        Exit::StepCeiling
        | Exit::Completed
        | Exit::Concluded
        | Exit::Failed
        | Exit::Unaccepted
        | Exit::Truncated
        | Exit::Stopped
        | Exit::Waiting
        | Exit::Stuck => {
            let own = own.steps.as_ref().map(|own| own.value);
            let attempts = |count| match count {
                1 => "1 attempt".to_owned(),
                count => format!("{count} attempts"),
            };
            let used =
                format!("{} {} made", attempts(history.steps), if history.steps == 1 { "is" } else { "are" });
            ("--max-steps", now.steps.map(attempts), own == now.steps, used)
        }
    };
    let holds = holds.unwrap_or_else(|| "none".to_owned());
    if is_own {
        return format!(
            "{used}, and the plan itself allows {holds}: raise its `budget`, and take over what holds with \
             `plan run --plan FILE --reuse {}`",
            history.run
        );
    }
    format!("{used}, and {holds} may be: give a higher {flag}")
}

/// The task of `--from`, if everything before it is there.
fn from_task(plan: &ValidPlan, history: &History, from: &str) -> Result<TaskId, String> {
    if let (task, Some(_)) = split_name(from)
        && history.index_of(task).is_some()
    {
        return Err(format!("`{from}` is an instance: `--from` takes a task, here `{task}`"));
    }
    let Some(id) = history.index_of(from).map(TaskId::from) else {
        let near = suggest::nearest(from, plan.tasks.iter().map(|task| task.name.value.as_str()));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        return Err(format!("no task is called `{from}`{near}"));
    };
    let task = &plan[id];
    if task.stage == Stage::Epilogue {
        return Ok(id); // What it depends on is of the epilogue, and pending again as well.
    }
    let upstream = plan.graph().upstream(id);
    if let Some(open) = plan.ids().find(|of| upstream[of.index()] && !history.rows[of.index()].is_settled()) {
        let open = &plan[open].name.value;
        return Err(format!("`{from}` cannot run again: `{open}`, upstream of it, has not settled"));
    }
    let rows = || task.depends_on.iter().map(|dependency| &history.rows[dependency.task.index()]);
    let passes = |row: &&Row| row.status().is_some_and(Status::passes);
    let in_part = |row: &Row| row.instances.iter().flatten().any(|(_, row)| passes(&row));
    let unmet = match task.join.value {
        Join::All => rows().find(|row| !passes(row)),
        Join::Passed if rows().any(|row| passes(&row) || in_part(row)) => None,
        Join::Passed => rows().next(),
        Join::Settled => None,
    };
    match unmet {
        Some(row) => {
            let status = row.status().map_or("pending", Status::as_str);
            Err(format!("`{from}` cannot run again: `{}`, on which it depends, is `{status}`", row.name))
        }
        None => Ok(id),
    }
}

/// Why the run would halt once more before `id` could start: what made it halt stands, and is not run again. Asked
/// before anything is given up for it.
fn halts_again(
    plan: &ValidPlan,
    history: &History,
    id: TaskId,
    again: &Again<'_>,
    request: &Request,
) -> Option<String> {
    let stands = |of: TaskId| !again.whole[of.index()] && again.parts.iter().all(|(part, _)| *part != of);
    let main = |of: &TaskId| plan[*of].stage == Stage::Main;
    let (name, halted) = (&plan[id].name.value, history.halted.as_ref());
    if !main(&id) {
        return None;
    }
    let early =
        halted.filter(|halted| halted.exit == Exit::Concluded).and_then(|halted| halted.task.as_ref());
    if let Some(early) = early
        && history.index_of(early).map(TaskId::from).is_some_and(stands)
    {
        return Some(format!(
            "`{name}` cannot run again: the run ended early with `{early}`, which stands; give `--from {early}`"
        ));
    }
    if request.keep_going || history.keep_going || plan.header.on_failure == OnFailure::Continue {
        return None;
    }
    // A review that the halt broke off may have rounds left, and then nothing of it stands.
    let bodies = Bodies::new(plan, plan.graph());
    let failed = |of: TaskId| {
        let settled = history.rows[of.index()].settled.as_ref().filter(|settled| !settled.status.holds())?;
        if bodies.reviewer(of).is_some() {
            return None;
        }
        Some((settled.seq, settled.status, &plan[of].name.value))
    };
    let causes = plan.ids().filter(|of| main(of) && plan[*of].required && stands(*of));
    let (_, status, cause) = causes.filter_map(failed).min_by_key(|(seq, ..)| *seq)?;
    Some(format!(
        "`{name}` cannot run again: the required task `{cause}` is `{}`, and nothing starts after that; give \
         `--from {cause}`, or --keep-going",
        status.as_str()
    ))
}

/// Whether a run that has ended stays as it ended when it is taken up without a task to begin from.
#[must_use]
pub fn stays_ended(plan: &ValidPlan, history: &History, ceilings: Ceilings) -> bool {
    let request = Request { ceilings, ..Request::default() };
    history.state() == State::Ended && !Halt::of(plan, history, &request).opens
}

/// What is pending again.
struct Again<'a> {
    plan: &'a ValidPlan,
    history: &'a History,
    /// By task: the whole of it.
    whole: Vec<bool>,
    /// By task: whether its rounds begin again; otherwise it goes on in the round that was broken off.
    anew: Vec<bool>,
    /// Instances.
    parts: Vec<(TaskId, Text)>,
    /// Tasks and instances whose last attempt stands, and whose verifiers were cut off.
    unheard: Vec<(TaskId, Option<Text>)>,
}

impl<'a> Again<'a> {
    fn new(plan: &'a ValidPlan, history: &'a History) -> Self {
        let none = vec![false; plan.tasks.len()];
        Self { plan, history, whole: none.clone(), anew: none, parts: Vec::new(), unheard: Vec::new() }
    }

    /// `id`, all downstream of it and the whole epilogue; and what the halt kept from running.
    fn from(mut self, id: TaskId, halt: Option<Halt>) -> Self {
        self.whole = self.plan.graph().downstream(id);
        self.whole[id.index()] = true;
        self.anew.clone_from(&self.whole);
        match halt {
            Some(halt) => self.halted(halt).epilogue(),
            None => self.epilogue(),
        }
    }

    /// What the halt blocked, and what it ended.
    fn halted(mut self, halt: Halt) -> Self {
        for id in self.plan.ids().filter(|&id| self.plan[id].stage == Stage::Main) {
            let (task, row) = (&self.plan[id], &self.history.rows[id.index()]);
            match &row.instances {
                None if halt.cut_off_verifiers(row) => self.unheard.push((id, None)),
                None => self.whole[id.index()] |= halt.settled(task, row),
                Some(instances) => {
                    let unheard = instances.iter().filter(|(_, row)| halt.cut_off_verifiers(row));
                    self.unheard.extend(unheard.map(|(element, _)| (id, Some(element.clone()))));
                    let settled = |row: &Row| halt.settled(task, row) && !halt.cut_off_verifiers(row);
                    let parts = instances.iter().filter(|(_, row)| settled(row));
                    self.parts.extend(parts.map(|(element, _)| (id, element.clone())));
                }
            }
        }
        self
    }

    fn epilogue(mut self) -> Self {
        for id in self.plan.ids().filter(|&id| self.plan[id].stage == Stage::Epilogue) {
            self.whole[id.index()] = true;
            self.anew[id.index()] = true;
        }
        self
    }

    /// `always` tasks that cleaned up after a signal: they do so again at the end.
    fn cleaned_up(mut self) -> Self {
        if self.history.interrupted.is_none() {
            return self;
        }
        let since = self.history.interrupted_at;
        let later = |row: &Row| row.settled.as_ref().is_some_and(|settled| settled.seq > since);
        for id in self.plan.ids().filter(|&id| self.plan[id].always.value) {
            let row = &self.history.rows[id.index()];
            let parts = || row.instances.iter().flatten().any(|(_, row)| later(row));
            self.whole[id.index()] = later(row) || parts();
        }
        self
    }

    /// The names of those whose last attempt stands, in declaration order.
    fn unheard(&self) -> Vec<Text> {
        let left = self.unheard.iter().filter(|(id, _)| !self.whole[id.index()]);
        left.map(|(id, element)| {
            let task = &self.plan[*id].name.value;
            element.as_ref().map_or_else(|| task.clone(), |element| instance_name(task, element))
        })
        .collect()
    }

    /// The names of what really has to be undone, in declaration order; and those of them whose rounds begin
    /// again.
    fn names(self) -> (Vec<Text>, Vec<Text>) {
        let rows = &self.history.rows;
        let mut parts = self.parts.into_iter().peekable();
        let (mut names, mut anew) = (Vec::new(), Vec::new());
        for id in self.plan.ids() {
            let whole = self.whole[id.index()];
            let row = &rows[id.index()];
            if whole && has_happened(row) {
                names.push(row.name.clone());
                anew.extend((self.anew[id.index()] && row.round > 1).then(|| row.name.clone()));
            }
            while let Some((_, element)) = parts.next_if(|(of, _)| *of == id) {
                if !whole {
                    names.push(instance_name(&row.name, &element));
                }
            }
        }
        (names, anew)
    }
}

/// Whether there is anything to undo.
fn has_happened(row: &Row) -> bool {
    row.is_settled()
        || row.round > 1
        || row.instances.is_some()
        || row.attempts > 0
        || row.running.is_some()
        || row.cut_off
        || row.asked.is_some()
        || row.answered.is_some()
}

/// Required main tasks that have yet to run and cannot here.
fn cannot_run(plan: &ValidPlan, history: &History, again: &[Text], caps: &[Text]) -> Vec<String> {
    if history.halted.as_ref().is_some_and(|halted| halted.exit == Exit::Truncated) {
        return Vec::new();
    }
    let runnable = admission::runnable(plan, caps);
    let opened: rustc_hash::FxHashSet<&str> = again.iter().map(|name| split_name(name).0).collect();
    let lacking = plan.ids().filter(|&id| {
        let (task, row) = (&plan[id], &history.rows[id.index()]);
        let pending = !row.is_settled() || opened.contains(row.name.as_str());
        pending && task.required && task.stage == Stage::Main && !runnable.has(id)
    });
    // A run of which nothing has started yet is truncated, as a new one would be.
    if history.last_attempt == 0 {
        return Vec::new();
    }
    lacking.map(|id| admission::why_not(plan, &runnable, id).into()).collect()
}
