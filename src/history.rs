//! What a log says: one row a task, folded from events by one function, [`History::apply`].
//!
//! The scheduler decides on these rows, and every report, status and resume shows them, so that no two
//! can disagree (EXECUTION §1). Unaware of what should happen next, and of files and clocks.

mod directory;
mod outcome;

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use serde_json::value::RawValue;

use crate::event::{
    AttemptEnded, Blocked, BlockedReason, Body, Ceilings, EndedBy, Event, FileSet, Grade, Halted, Raw,
    ReuseDecided, RunEnded, Status, TaskSettled, VerifierEnded, Warning,
};
use crate::ir::{Millis, Usd, dump};
use crate::source::Text;

pub use directory::directory;
pub use outcome::Stakes;

/// The state of a run, as its log tells it. Whether somebody still runs it, only its lock tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// A sitting has begun and not ended.
    #[default]
    Running,
    /// The sitting ended because only a person's answer can move the run.
    Waiting,
    /// The sitting ended by a signal.
    Interrupted,
    /// The run has its exit and verdict.
    Ended,
}

/// The fold of a log.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The run's name.
    pub run: Text,
    /// The plan's name.
    pub plan: Text,
    /// The number of the last event.
    pub seq: u64,
    /// Unsuspended time of this sitting at the last event.
    pub t: Millis,
    /// Time of earlier sittings.
    pub elapsed_before: Millis,
    /// How many sittings have begun.
    pub sittings: u32,
    /// Whether nothing refused it.
    pub admitted: bool,
    /// The capabilities that the machine declares.
    pub caps: Vec<Text>,
    /// The ceilings in force.
    pub ceilings: Ceilings,
    /// Whether the operator asked to go on after a required failure.
    pub keep_going: bool,
    /// What was spent, in all sittings.
    pub spent: Usd,
    /// Attempts started, in all sittings.
    pub steps: u64,
    /// The number of the last attempt.
    pub last_attempt: u32,
    /// The first halt.
    pub halted: Option<Halted>,
    /// Whether `plan stop` came.
    pub stop_requested: bool,
    /// What interrupted this sitting.
    pub interrupted: Option<Text>,
    /// The event that interrupted it: what settled later did so while cleaning up.
    pub interrupted_at: u64,
    /// How the run, or its last sitting, ended.
    pub ended: Option<RunEnded>,
    /// Warnings, oldest first.
    pub warnings: Vec<Warning>,
    /// The plan's acceptance gates that have spoken in this round, by name.
    pub gates: IndexMap<Text, VerifierEnded>,
    /// The latest repair of the plan.
    pub repair: Option<Repair>,
    /// One row a task, in declaration order.
    pub rows: Vec<Row>,
    index: FxHashMap<Text, usize>,
}

/// The plan went back for its acceptance gates.
#[derive(Clone, Debug)]
pub struct Repair {
    /// The round of the plan, from 2.
    pub round: u32,
    /// What was said by those that did not hold.
    pub gates: IndexMap<Text, VerifierEnded>,
}

/// What happened to one task, or to one instance of a mapped one.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The task; of an instance, the element.
    pub name: Text,
    /// How it settled, once it has.
    pub settled: Option<Settled>,
    /// The attempt in flight.
    pub running: Option<u32>,
    /// Attempts that ended, of this round; interrupted ones are left out, and so are those that found the
    /// task done already.
    pub attempts: u32,
    /// The round, from 1.
    pub round: u32,
    /// The first round since the plan last went back for its gates and this task ran again; 1 where it never
    /// did.
    pub first_round: u32,
    /// The repair of the plan in which it runs again: the plan's round, 1 where it never did.
    pub repair: u32,
    /// What its attempts spent.
    pub cost: Usd,
    /// Whether it waits before another attempt.
    pub retrying: bool,
    /// The attempt that ended last, interrupted ones left out.
    pub last: Option<Arc<AttemptEnded>>,
    /// Whether its last attempt ended and nothing followed yet: no settling, no other attempt.
    pub ended: bool,
    /// Whether it was found done already, and a verifier did not accept that: it has to run.
    pub not_done: bool,
    /// Whether an attempt of it was cut off by a crash or a signal, and nothing followed yet.
    pub cut_off: bool,
    /// Whether an attempt of it really ran, in whatever sitting or round: one that found the task done
    /// already did not (LANGUAGE §11).
    pub ran: bool,
    /// Attempts that were ended before they were done, and that the next one may go on from.
    pub cut: Option<Cut>,
    /// What was decided about the result of another run.
    pub reuse: Option<ReuseDecided>,
    /// Whether the operator wants it to run, whatever other runs say (`--from`).
    pub afresh: bool,
    /// The instances of a mapped task, in the list's order, once they are named.
    pub instances: Option<IndexMap<Text, Row>>,
    /// Earlier rounds, oldest first.
    pub rounds: Vec<Round>,
    /// What each verifier says of the attempt that ended last.
    pub verifiers: IndexMap<Text, VerifierEnded>,
    /// The open question.
    pub asked: Option<Question>,
    /// The answer to the latest question.
    pub answered: Option<Answer>,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its number, that of the event that asked it: an answer names it, so that an old one never serves a new
    /// question.
    pub number: u64,
    /// When it was asked, in time of the whole run.
    pub since: Millis,
    /// The round in which it was asked, from 1.
    pub round: u32,
    /// What is asked.
    pub ask: Text,
    /// The answers.
    pub options: Vec<Text>,
}

/// What was answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The number of the question.
    pub question: u64,
    /// When, in milliseconds since 1970 in UTC.
    pub at: i64,
    /// The answer.
    pub answer: Text,
    /// Who answered.
    pub by: Text,
    /// A result given with it.
    pub result: Option<Raw>,
}

/// Attempts that were ended before they were done: the run of a called plan goes on from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// What they spent, as far as that is known.
    pub spent: Usd,
    /// The attempts that they started in turn, as far as that is known.
    pub steps: u64,
}

/// A round that is over.
#[derive(Clone, Debug)]
pub struct Round {
    /// Which, from 1.
    pub round: u32,
    /// How the task settled in it.
    pub settled: Settled,
    /// Its last attempt.
    pub last: Option<Arc<AttemptEnded>>,
    /// How many attempts it took.
    pub attempts: u32,
    /// What they spent.
    pub cost: Usd,
    /// Whether the task has settled silently since: what it left is gone (EXECUTION §7).
    pub dropped: bool,
}

impl Round {
    /// The result of the round, or the reading that a failure keeps.
    #[must_use]
    pub fn output(&self) -> Option<Raw> {
        output_of(&self.settled, self.last.as_deref())
    }

    /// The files that the task kept in it, and has not dropped since.
    #[must_use]
    pub fn files(&self) -> Option<&FileSet> {
        self.last.as_ref().filter(|_| !self.dropped)?.files_of(self.settled.status)
    }
}

/// How a row settled.
#[derive(Clone, Debug)]
pub struct Settled {
    /// Its status.
    pub status: Status,
    /// One line for people.
    pub note: Option<Text>,
    /// Why it never ran.
    pub blocked: Option<Blocked>,
    /// What the engine itself answered.
    pub output: Option<Raw>,
    /// The event that said so: a dependent's dispatch waits until it is on disk.
    pub seq: u64,
}

/// A log that this fold cannot take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What is wrong, for people.
    pub message: String,
}

impl Row {
    fn new(name: Text) -> Self {
        Self { name, round: 1, first_round: 1, repair: 1, ..Self::default() }
    }

    /// Which round of its review it is in, from 1: a repair of the plan begins a new one.
    #[must_use]
    pub fn review_round(&self) -> u32 {
        self.round - self.first_round + 1
    }

    /// Its status, once it has settled.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.settled.as_ref().map(|settled| settled.status)
    }

    /// Whether it has settled.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.settled.is_some()
    }

    /// Its note.
    #[must_use]
    pub fn note(&self) -> Option<&Text> {
        self.settled.as_ref()?.note.as_ref()
    }

    /// Its result or kept reading: of a mapped task the fold, of others what the engine answered or the
    /// last attempt wrote. None while it has not settled, and where it never ran or keeps nothing.
    #[must_use]
    pub fn output(&self) -> Option<Raw> {
        let settled = self.settled.as_ref()?;
        match &self.instances {
            Some(instances) if keeps_output(settled.status) => Some(fold(instances)),
            Some(_) => None,
            None => output_of(settled, self.last.as_deref()),
        }
    }

    /// The files that it keeps: none for a status that drops them (EXECUTION §7).
    #[must_use]
    pub fn files(&self) -> Option<&FileSet> {
        self.last.as_ref()?.files_of(self.status()?)
    }

    /// The verdicts that reject its last attempt, in the order in which they came.
    pub fn rejections(&self) -> impl Iterator<Item = &VerifierEnded> {
        self.verifiers.values().filter(|verdict| verdict.rejects())
    }

    /// Whether the result of another run is being taken over, or is about to be.
    #[must_use]
    pub fn takes_over(&self) -> bool {
        self.reuse.as_ref().is_some_and(|decided| decided.taken) && self.last.is_none() && self.round == 1
    }

    /// An attempt was ended before it was done.
    fn note_cut(&mut self, spent: Usd, steps: u64) {
        let cut = self.cut.get_or_insert_default();
        cut.spent = cut.spent.plus(spent);
        cut.steps += steps;
    }

    /// Pending again, in the next round.
    fn start_round(&mut self) {
        let round = self.round + 1;
        let name = std::mem::take(&mut self.name);
        let mut rounds = std::mem::take(&mut self.rounds);
        if let Some(settled) = self.settled.take() {
            rounds.push(Round {
                round: self.round,
                settled,
                last: self.last.take(),
                attempts: self.attempts,
                cost: self.cost.minus(cost_of(&rounds)),
                dropped: false,
            });
        }
        let (first_round, repair) = (self.first_round, self.repair);
        *self = Self {
            name,
            round,
            first_round,
            repair,
            rounds,
            cost: self.cost,
            ran: self.ran,
            ..Self::default()
        };
    }

    /// The plan goes back to it, in this round of the plan.
    fn repair(&mut self, round: u32) {
        self.start_round();
        self.first_round = self.round;
        self.repair = round;
    }

    /// Pending again, as if it had never been, but for having run.
    fn start_over(&mut self) {
        let ran = self.ran || self.instances.iter().flat_map(IndexMap::values).any(|row| row.ran);
        let (afresh, cut) = (self.afresh, self.cut.filter(|_| !self.afresh));
        *self = Self { ran, afresh, cut, ..Self::new(std::mem::take(&mut self.name)) };
    }

    /// Its last attempt stands, and its verifiers that were cut off have not spoken.
    fn hear_again(&mut self) {
        self.settled = None;
        self.ended = true;
        self.verifiers.retain(|_, verdict| verdict.ended_by.is_none());
    }

    /// Pending again in its round, as if that had only begun.
    fn start_round_over(&mut self) {
        let (round, first_round, repair) = (self.round, self.first_round, self.repair);
        let rounds = std::mem::take(&mut self.rounds);
        self.start_over();
        let cost = cost_of(&rounds);
        *self = Self { round, first_round, repair, rounds, cost, ..std::mem::take(self) };
    }

    fn cut(&mut self) {
        self.retrying = false;
        // What was not taken over to the end has not run.
        if self.running.take().is_some() && !self.takes_over() {
            self.note_cut(Usd::ZERO, 0);
            self.cut_off = true;
            self.ran = true;
        }
        for instance in self.instances.iter_mut().flat_map(IndexMap::values_mut) {
            instance.cut();
        }
    }
}

fn cost_of(rounds: &[Round]) -> Usd {
    rounds.iter().fold(Usd::ZERO, |sum, round| sum.plus(round.cost))
}

/// Whether what earlier rounds left goes with this settling: a silent one (EXECUTION §7), unless it is but the
/// halt that kept the task from running. Once the run is open again, it goes on in its round.
fn drops_rounds(settled: &TaskSettled) -> bool {
    let halted = settled.blocked.as_ref().is_some_and(|blocked| match blocked.reason {
        BlockedReason::Dependency | BlockedReason::Staging => false,
        BlockedReason::RequiredFailure
        | BlockedReason::CostCeiling
        | BlockedReason::TimeCeiling
        | BlockedReason::StepCeiling
        | BlockedReason::Stopped
        | BlockedReason::Unaccepted => true,
    });
    settled.status.is_silent() && !halted
}

const fn keeps_output(status: Status) -> bool {
    match status {
        Status::Blocked | Status::NotTaken | Status::Truncated | Status::Transport => false,
        Status::Pass | Status::Partial | Status::Fail | Status::Skipped => true,
    }
}

fn output_of(settled: &Settled, last: Option<&AttemptEnded>) -> Option<Raw> {
    if !keeps_output(settled.status) {
        return None;
    }
    settled.output.clone().or_else(|| last?.output.clone())
}

/// The fold of a mapped task (LANGUAGE §8): passing instances' outputs, and who passed, failed, and was
/// not taken. Instances that have not settled are in none of the lists.
fn fold(instances: &IndexMap<Text, Row>) -> Raw {
    let empty: Raw = RawValue::from_string("{}".to_owned()).expect("an object").into();
    let (mut outputs, mut passed, mut failed, mut not_taken) =
        (IndexMap::new(), Vec::new(), Vec::new(), Vec::new());
    for (key, row) in instances {
        match row.status() {
            Some(Status::Pass | Status::Partial) => {
                passed.push(key);
                outputs.insert(key, row.output().unwrap_or_else(|| Arc::clone(&empty)));
            }
            Some(Status::NotTaken) => not_taken.push(key),
            Some(
                Status::Fail | Status::Skipped | Status::Transport | Status::Blocked | Status::Truncated,
            ) => failed.push(key),
            None => {}
        }
    }
    #[derive(serde::Serialize)]
    struct Fold<'a> {
        instances: IndexMap<&'a Text, Raw>,
        passed: Vec<&'a Text>,
        failed: Vec<&'a Text>,
        not_taken: Vec<&'a Text>,
    }
    let fold = Fold { instances: outputs, passed, failed, not_taken };
    serde_json::value::to_raw_value(&fold).expect("a fold can be written").into()
}

/// `task[element]` in its two parts; a plain name has no element. Task names hold no brackets.
#[must_use]
pub fn split_name(name: &str) -> (&str, Option<&str>) {
    match name.split_once('[') {
        Some((task, rest)) => (task, rest.strip_suffix(']')),
        None => (name, None),
    }
}

/// The name of an instance.
#[must_use]
pub fn instance_name(task: &str, element: &str) -> Text {
    compact_str::format_compact!("{task}[{element}]")
}

impl History {
    /// The empty history of a plan: every task pending.
    #[must_use]
    pub fn new(plan: &dump::Document) -> Self {
        Self::of(plan.name.clone(), plan.tasks.iter().map(|task| task.name.clone()))
    }

    /// The empty history of a plan with these tasks, in declaration order.
    pub fn of(plan: Text, tasks: impl IntoIterator<Item = Text>) -> Self {
        let rows: Vec<Row> = tasks.into_iter().map(Row::new).collect();
        let index = rows.iter().enumerate().map(|(at, row)| (row.name.clone(), at)).collect();
        Self { plan, rows, index, ..Self::default() }
    }

    /// Where a task, or an instance `task[element]`, has its row: an index into [`History::rows`], and one
    /// into the instances of that row.
    #[must_use]
    pub fn locate(&self, name: &str) -> Option<(usize, Option<usize>)> {
        let (task, element) = split_name(name);
        let at = *self.index.get(task)?;
        match element {
            Some(element) => Some((at, Some(self.rows[at].instances.as_ref()?.get_index_of(element)?))),
            None => Some((at, None)),
        }
    }

    /// The row of `task`, or of an instance `task[element]`.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<&Row> {
        let (at, element) = self.locate(name)?;
        let row = &self.rows[at];
        match element {
            Some(element) => row.instances.as_ref()?.get_index(element).map(|(_, row)| row),
            None => Some(row),
        }
    }

    /// The index of `task` (without an element) in [`History::rows`].
    #[must_use]
    pub fn index_of(&self, task: &str) -> Option<usize> {
        self.index.get(task).copied()
    }

    /// Time of the whole run so far.
    #[must_use]
    pub fn elapsed(&self) -> Millis {
        Millis(self.elapsed_before.0 + self.t.0)
    }

    /// The round of the plan, from 1: it goes back for its gates.
    #[must_use]
    pub fn plan_round(&self) -> u32 {
        self.repair.as_ref().map_or(1, |repair| repair.round)
    }

    /// How often the plan has gone back for its gates.
    #[must_use]
    pub fn repairs(&self) -> u32 {
        self.plan_round() - 1
    }

    /// What the plan's acceptance gates said last: in this round, and before it those for which tasks run again
    /// and that have not been asked since.
    pub fn verdicts(&self) -> impl ExactSizeIterator<Item = &VerifierEnded> {
        let mut verdicts: Vec<&VerifierEnded> = self.sent_back().collect();
        verdicts.extend(self.gates.values());
        verdicts.into_iter()
    }

    /// What sent the plan back, of gates that have not been asked since.
    pub fn sent_back(&self) -> impl Iterator<Item = &VerifierEnded> {
        let repair = self.repair.as_ref();
        let repair = repair.filter(|repair| self.rows.iter().any(|row| row.repair == repair.round));
        let said = repair.into_iter().flat_map(|repair| repair.gates.values());
        said.filter(|said| !self.gates.contains_key(&said.verifier))
    }

    /// The open questions and whose they are, in declaration order.
    pub fn questions(&self) -> impl Iterator<Item = (Text, &Question)> {
        self.rows.iter().flat_map(|row| {
            let own = row.asked.as_ref().map(|question| (row.name.clone(), question));
            let parts = row.instances.iter().flatten();
            let parts =
                parts.filter_map(|(key, part)| Some((instance_name(&row.name, key), part.asked.as_ref()?)));
            own.into_iter().chain(parts)
        })
    }

    /// The state that the log tells of.
    #[must_use]
    pub fn state(&self) -> State {
        match (&self.ended, &self.interrupted) {
            (Some(RunEnded { verdict: Some(_), .. }), _) => State::Ended,
            (Some(_), _) => State::Waiting,
            (None, Some(_)) => State::Interrupted,
            (None, None) => State::Running,
        }
    }

    fn row_mut(&mut self, name: &str) -> Result<&mut Row, Mismatch> {
        let unknown =
            || Mismatch { message: format!("the log names the task `{name}`, which the plan lacks") };
        let (at, element) = self.locate(name).ok_or_else(unknown)?;
        let row = &mut self.rows[at];
        match element {
            Some(element) => {
                let instance = row.instances.as_mut().and_then(|all| all.get_index_mut(element));
                instance.map(|(_, row)| row).ok_or_else(unknown)
            }
            None => Ok(row),
        }
    }

    /// Folds one event in. The only writer of any row.
    ///
    /// # Errors
    /// If the event names a task that the plan does not have.
    pub fn apply(&mut self, event: &Event) -> Result<(), Mismatch> {
        if let Body::RunResumed(_) = event.body {
            // A sitting lasted until its last event (EXECUTION §10).
            self.elapsed_before.0 += self.t.0;
        }
        self.seq = event.seq;
        self.t = event.t;
        match &event.body {
            Body::RunStarted(body) => {
                self.run = body.run.clone();
                self.sittings = 1;
            }
            Body::PlanAdmitted(body) => {
                self.admitted = true;
                self.caps.clone_from(&body.caps);
                self.ceilings = body.ceilings;
                self.keep_going = body.keep_going;
            }
            Body::InstancesNamed(body) => {
                let whole = self.row_mut(&body.task)?;
                let (round, first_round, repair) = (whole.round, whole.first_round, whole.repair);
                let afresh = whole.afresh;
                let row = |key: &Text| Row { round, first_round, repair, afresh, ..Row::new(key.clone()) };
                whole.instances = Some(body.keys.iter().map(|key| (key.clone(), row(key))).collect());
            }
            Body::ReuseDecided(body) => self.row_mut(&body.task)?.reuse = Some(body.clone()),
            Body::AttemptStarted(body) => {
                self.last_attempt = body.attempt;
                let row = self.row_mut(&body.task)?;
                let runs = !row.takes_over() && !body.answered;
                row.running = Some(body.attempt);
                row.retrying = false;
                row.ended = false;
                row.cut_off = false;
                row.asked = None;
                if !body.answered {
                    row.answered = None;
                }
                row.round = body.round;
                row.verifiers.clear();
                self.steps += u64::from(runs);
            }
            Body::AttemptEnded(body) => {
                self.spent = self.spent.plus(body.cost_usd);
                self.steps += body.steps;
                if body.done_already {
                    self.steps = self.steps.saturating_sub(1);
                }
                let row = self.row_mut(&body.task)?;
                let takes_over = row.takes_over();
                row.running = None;
                match body.ended_by {
                    // The time of its own is no reason to go on where it ended.
                    None | Some(EndedBy::Timeout | EndedBy::LogLimit) => row.cut = None,
                    Some(
                        EndedBy::Interruption
                        | EndedBy::TimeCeiling
                        | EndedBy::CostCeiling
                        | EndedBy::StepCeiling
                        | EndedBy::Stop
                        | EndedBy::Failure,
                    ) => row.note_cut(body.cost_usd, body.steps),
                }
                if body.grade == Grade::Interrupted {
                    row.ran |= !takes_over;
                    row.cut_off = !takes_over;
                } else {
                    row.ran |= !body.did_not_run();
                    row.ended = true;
                    row.attempts += u32::from(!body.did_not_run());
                    row.cost = row.cost.plus(body.cost_usd);
                    row.last = Some(Arc::new(body.clone()));
                    // It was to be taken over, which failed, so that it ran after all.
                    self.steps += u64::from(takes_over && !body.did_not_run());
                }
            }
            Body::VerifierEnded(body) => match &body.task {
                Some(task) => {
                    let row = self.row_mut(task)?;
                    row.not_done |=
                        body.rejects() && row.last.as_ref().is_some_and(|last| last.did_not_run());
                    row.verifiers.insert(body.verifier.clone(), body.clone());
                }
                None => {
                    self.gates.insert(body.verifier.clone(), body.clone());
                }
            },
            Body::RetryScheduled(body) => {
                let row = self.row_mut(&body.task)?;
                row.ended = false;
                row.retrying = true;
            }
            Body::TimerFired(body) => {
                if let Some(task) = &body.task {
                    self.row_mut(task)?.retrying = false;
                }
            }
            Body::TaskSettled(body) => {
                let settled = Settled {
                    status: body.status,
                    note: body.note.clone(),
                    blocked: body.blocked.clone(),
                    output: body.output.clone(),
                    seq: event.seq,
                };
                let row = self.row_mut(&body.task)?;
                if drops_rounds(body) {
                    row.rounds.iter_mut().for_each(|round| round.dropped = true);
                }
                row.settled = Some(settled);
                row.ended = false;
                row.retrying = false;
                row.asked = None;
            }
            Body::RoundStarted(body) => match &body.reviewer {
                Some(reviewer) => {
                    for task in body.tasks.iter().chain([reviewer]) {
                        self.row_mut(task)?.start_round();
                    }
                }
                None => {
                    for task in &body.tasks {
                        self.row_mut(task)?.repair(body.round);
                    }
                    let mut gates = std::mem::take(&mut self.gates);
                    gates.retain(|gate, _| body.gates.contains(gate));
                    self.repair = Some(Repair { round: body.round, gates });
                }
            },
            Body::GateAsked(body) => {
                let since = self.elapsed();
                let row = self.row_mut(&body.task)?;
                row.answered = None;
                row.asked = Some(Question {
                    number: event.seq,
                    since,
                    round: row.round,
                    ask: body.ask.clone(),
                    options: body.options.clone(),
                });
            }
            Body::GateAnswered(body) => {
                let row = self.row_mut(&body.task)?;
                row.asked = None;
                row.answered = Some(Answer {
                    question: body.question,
                    at: event.at,
                    answer: body.answer.clone(),
                    by: body.by.clone(),
                    result: body.result.clone(),
                });
            }
            Body::Warning(body) => self.warnings.push(body.clone()),
            Body::Halted(body) => {
                self.halted.get_or_insert_with(|| body.clone());
                // One that comes while an interrupted sitting cleans up is a stop, which ends the run.
                self.interrupted = None;
            }
            Body::StopRequested(_) => {
                self.stop_requested = true;
                // It waits for nobody any more.
                self.ended = self.ended.take().filter(|end| end.verdict.is_some());
            }
            Body::Interrupted(body) => {
                if self.interrupted.is_none() {
                    self.interrupted_at = event.seq;
                }
                self.interrupted = Some(body.by.clone());
            }
            Body::NodeEntered(_) | Body::Alive(_) => {}
            Body::RunResumed(body) => {
                self.sittings += 1;
                self.caps.clone_from(&body.caps);
                self.ceilings = body.ceilings;
                self.keep_going = body.keep_going;
                self.interrupted = None;
                self.ended = None;
                self.stop_requested = false;
                if body.reopened || body.from.is_some() {
                    self.halted = None;
                    // What was accepted or not may have been the work of before.
                    self.gates.retain(|gate, _| body.heard.contains(gate));
                }
                self.rows.iter_mut().for_each(Row::cut);
                for task in &body.again {
                    let row = self.row_mut(task)?;
                    row.afresh |= body.from.is_some();
                    match body.anew.contains(task) {
                        true => row.start_over(),
                        false => row.start_round_over(),
                    }
                    if let (task, Some(_)) = split_name(task) {
                        // Its fold is open again, and what else settled below it stays.
                        self.row_mut(task)?.settled = None;
                    }
                }
                for name in &body.unheard {
                    self.row_mut(name)?.hear_again();
                    if let (task, Some(_)) = split_name(name) {
                        self.row_mut(task)?.settled = None;
                    }
                }
            }
            Body::RunEnded(body) => self.ended = Some(body.clone()),
        }
        Ok(())
    }
}
