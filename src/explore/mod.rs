//! What a plan can come to, found by playing it: tasks that never run, gates that are never asked, plans that
//! never end well, reports that are missing when they are needed.
//!
//! The ways are gone through in order of how much goes otherwise than in the first one, up to a bound, and
//! what was not looked at is said. Unaware of files and of time: the scheduler of every run decides.

mod outcomes;
mod play;

use std::collections::VecDeque;
use std::fmt::Write as _;

use self::outcomes::Outcomes;
use self::play::{Player, Script, Turn, Way};
use crate::diag::{Code, Diagnostics, Severity};
use crate::event::{Exit, Status, Verdict};
use crate::history::Row;
use crate::ir::condition::Operand;
use crate::ir::{self, Kind, Stage};
use crate::validate::ValidPlan;

/// The most events that are played in all, whatever the bound on ways: it bounds the time.
const EVENTS: usize = 4_000_000;

static NEVER_RUNS: Code = Code {
    id: "plan::explore::never_runs",
    severity: Severity::Warning,
    summary: "A task that runs in no way that the plan can go",
    explain: "`plan check --explore` plays a plan: every task fails or passes, with values on every side of \
              what a `when` compares them with. This task ran in none of the ways that were looked at. \
              Conditions that exclude each other along its dependencies are the usual cause. Where not all \
              ways were looked at, it may run in one of the others; the finding says so.",
};

static NEVER_VALID: Code = Code {
    id: "plan::explore::never_valid",
    severity: Severity::Warning,
    summary: "A plan that ends valid in no way that it can go",
    explain: "`plan check --explore` plays a plan. In none of the ways that were looked at did its verdict \
              come out valid, so that every run of it would fail: a required task never holds.",
};

static NEVER_ASKED: Code = Code {
    id: "plan::explore::never_asked",
    severity: Severity::Warning,
    summary: "An acceptance gate that is asked in no way that the plan can go",
    explain: "`plan check --explore` plays a plan. A top-level `verify` is asked once the main graph has \
              settled and holds; in none of the ways that were looked at did it come to that.",
};

static EPILOGUE_MISSES: Code = Code {
    id: "plan::explore::epilogue_misses",
    severity: Severity::Warning,
    summary: "An epilogue task that is missing when something fails",
    explain: "Epilogue tasks report however the run ends. `plan check --explore` found a way in which the main \
              graph ends and this one is blocked: it joins on another epilogue task that does not pass there. \
              `join = \"settled\"` lets it report in any case.",
};

/// Every code of this module.
pub static CODES: &[&Code] = &[&NEVER_RUNS, &NEVER_VALID, &NEVER_ASKED, &EPILOGUE_MISSES];

/// How much was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// How many ways were played.
    pub ways: usize,
    /// Whether these are all ways that there are, with the values that were chosen.
    pub complete: bool,
    /// Every way in which at most so many things go otherwise than in the first was played.
    pub turns: usize,
    /// Tasks of which not all values, or not all combinations of them, were looked at.
    pub thinned: Vec<String>,
    /// What was not played at all: the inside of machines and of called plans.
    pub closed: Vec<String>,
    /// The parameters that conditions read, with their values.
    pub given: Vec<String>,
}

impl Explored {
    /// What was looked at and what was not, as a sentence for people.
    #[must_use]
    pub fn sentence(&self) -> String {
        let ways = if self.ways == 1 { "1 way".to_owned() } else { format!("{} ways", self.ways) };
        let mut text = match (self.complete, self.turns) {
            (true, _) => format!("explored {ways}: all there are, one task at a time"),
            (false, usize::MAX) => format!("explored {ways}: all with the values that were chosen"),
            (false, 0) => format!("explored {ways} of more: not even all in which one thing goes otherwise"),
            (false, turns) => {
                let things =
                    if turns == 1 { "1 thing goes".to_owned() } else { format!("{turns} things go") };
                format!("explored {ways} of more: all in which at most {things} otherwise")
            }
        };
        if !self.given.is_empty() {
            let _ = write!(text, "; with {}", self.given.join(", "));
        }
        if !self.thinned.is_empty() {
            let _ = write!(text, "; not with all values of {}", self.thinned.join(", "));
        }
        if !self.closed.is_empty() {
            let _ = write!(text, "; not the inside of {}", self.closed.join(", "));
        }
        text
    }
}

/// What is gathered over all ways.
struct Seen {
    ran: Vec<bool>,
    asked: Vec<bool>,
    valid: bool,
    /// The first way in which an epilogue task is blocked.
    missed: Vec<Option<String>>,
    /// What each task and the run came to in the first way.
    usual: Vec<String>,
    end: String,
}

/// Plays at most `most` ways of `plan`, and adds what is found to `found`.
pub fn explore(plan: &ValidPlan, most: usize, found: &mut Diagnostics) -> Explored {
    let outcomes = outcomes::outcomes(plan);
    let player = Player::new(plan, &outcomes);
    let mut seen = Seen::new(plan);
    let explored = search(plan, &player, &outcomes, most.max(1), &mut seen);
    report(plan, &seen, &explored, found);
    explored
}

/// Goes through the ways in order of how many turns are chosen otherwise.
fn search(
    plan: &ValidPlan,
    player: &Player<'_>,
    outcomes: &[Outcomes],
    most: usize,
    seen: &mut Seen,
) -> Explored {
    let (mut ways, mut events, mut cut) = (0, 0, false);
    let mut look = |script: &Script, usual: usize, seen: &mut Seen| {
        let way = player.play(script, usual, EVENTS - events);
        ways += 1;
        events += way.events;
        cut |= way.cut;
        seen.add(plan, &way);
        (way, ways < most && events < EVENTS)
    };
    let mut waiting: VecDeque<Script> = VecDeque::from([Script::new()]);
    let (mut turns, mut complete) = (0, true);
    while let Some(script) = waiting.pop_front() {
        // Every shorter script has been played.
        turns = script.len().saturating_sub(1);
        let (way, mut more) = look(&script, 0, seen);
        if script.is_empty() {
            // All of one kind at once: what takes many turns together is met early.
            let kinds = outcomes.iter().map(|of| of.passing).max().unwrap_or(1);
            for usual in 1..kinds {
                more = more && look(&Script::new(), usual, seen).1;
            }
        }
        if !more {
            complete &= waiting.is_empty() && !way.turns[after(&script)..].iter().any(|turn| turn.of > 1);
            break;
        }
        let budget = most.saturating_mul(2);
        for (at, turn) in way.turns.iter().enumerate().skip(after(&script)) {
            for other in (0..turn.of).filter(|&other| other != turn.took) {
                if waiting.len() >= budget {
                    complete = false;
                    break;
                }
                let mut next = script.clone();
                next.push((at, other));
                waiting.push_back(next);
            }
        }
        if waiting.is_empty() {
            turns = usize::MAX;
        }
    }
    let thinned = plan.tasks.iter().zip(outcomes).filter(|(_, of)| of.thinned);
    let thinned: Vec<String> = thinned.map(|(task, _)| format!("`{}`", task.name.value)).collect();
    let complete = complete && !cut && thinned.is_empty();
    let closed = plan.tasks.iter().filter(|task| matches!(task.kind, Kind::Machine(_) | Kind::Call(_)));
    let closed = closed.map(|task| format!("{} `{}`", task.kind.as_str(), task.name.value)).collect();
    Explored { ways, complete, turns, thinned, closed, given: given(plan) }
}

/// The parameters that conditions read, as in `` `deploy` = false``.
fn given(plan: &ValidPlan) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for when in plan.tasks.iter().filter_map(|task| task.when.as_ref()) {
        when.value.reads(&mut |operand, _| {
            if let Operand::Parameter { name, value: Some(value), .. } = operand {
                let said = format!("`{name}` = {}", ir::dump::json(value));
                if !all.contains(&said) {
                    all.push(said);
                }
            }
        });
    }
    all
}

/// The first turn that a script says nothing of.
fn after(script: &Script) -> usize {
    script.last().map_or(0, |&(at, _)| at + 1)
}

impl Seen {
    fn new(plan: &ValidPlan) -> Self {
        Self {
            ran: vec![false; plan.tasks.len()],
            asked: vec![false; plan.gates.len()],
            valid: false,
            missed: vec![None; plan.tasks.len()],
            usual: Vec::new(),
            end: String::new(),
        }
    }

    fn add(&mut self, plan: &ValidPlan, way: &Way) {
        let rows = &way.history.rows;
        for (ran, row) in self.ran.iter_mut().zip(rows) {
            *ran = *ran || has_run(row);
        }
        for (asked, gate) in self.asked.iter_mut().zip(&plan.gates) {
            *asked = *asked || way.asked.contains(&gate.name.value);
        }
        let ended = way.history.ended.as_ref();
        self.valid |= ended.is_some_and(|ended| ended.verdict == Some(Verdict::Valid));
        if self.usual.is_empty() {
            self.usual = rows.iter().map(settled_as).collect();
            self.end = ended
                .map_or_else(|| "does not end".to_owned(), |ended| format!("ends `{}`", ended.exit.as_str()));
            if let Some(halted) = &way.history.halted {
                let task = halted.task.as_ref().map(|task| format!(" for `{task}`")).unwrap_or_default();
                self.end.push_str(&task);
            }
        }
        let reports = ended.is_some_and(|ended| match ended.exit {
            Exit::Completed | Exit::Concluded | Exit::Failed | Exit::Unaccepted => true,
            Exit::CostCeiling
            | Exit::TimeCeiling
            | Exit::StepCeiling
            | Exit::Truncated
            | Exit::Stopped
            | Exit::Waiting
            | Exit::Stuck => false,
        });
        for (missed, (task, row)) in self.missed.iter_mut().zip(plan.tasks.iter().zip(rows)) {
            let blocked = row.status() == Some(Status::Blocked);
            if reports && blocked && task.stage == Stage::Epilogue && missed.is_none() {
                *missed = Some(example(&way.turns));
            }
        }
    }
}

/// Whether an attempt of it ran, or the engine itself did its work.
fn has_run(row: &Row) -> bool {
    row.ran
        || row.attempts > 0
        || !row.rounds.is_empty()
        || matches!(row.status(), Some(Status::Pass | Status::Partial | Status::Fail))
        || row.instances.iter().flatten().any(|(_, row)| has_run(row))
}

fn settled_as(row: &Row) -> String {
    let Some(status) = row.status() else { return "does not settle".to_owned() };
    match row.note() {
        Some(note) => format!("settles `{}`: {note}", status.as_str()),
        None => format!("settles `{}`", status.as_str()),
    }
}

/// What goes otherwise in a way than in the first one.
fn example(turns: &[Turn]) -> String {
    let other: Vec<&str> = turns.iter().filter(|turn| turn.took > 0).map(|turn| turn.says.as_str()).collect();
    match other.split_last() {
        None => "everything passes".to_owned(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

fn report(plan: &ValidPlan, seen: &Seen, explored: &Explored, found: &mut Diagnostics) {
    let with = match explored.given.as_slice() {
        [] => String::new(),
        given => format!(" with {}", given.join(", ")),
    };
    let among = match (explored.complete, explored.ways) {
        (true, 1) => format!("in the one way that the plan can go{with}"),
        (true, ways) => format!("in none of the {ways} ways that the plan can go{with}"),
        (false, ways) => format!("in none of {ways} ways{with}; there are more"),
    };
    let never = |word: &str| {
        if explored.complete { format!("never {word}") } else { format!("was not seen to {word}") }
    };
    if !seen.valid {
        let said = if explored.complete { "never ends valid" } else { "was not seen to end valid" };
        found.push(
            NEVER_VALID
                .at(plan.span, format!("plan `{}` {said}{with}", plan.name))
                .label(among.clone())
                .help(format!("where everything passes, it {}", seen.end)),
        );
    }
    for (at, task) in plan.tasks.iter().enumerate() {
        let name = &task.name;
        if !seen.ran[at] {
            let verb = if explored.complete { "runs" } else { "run" };
            found.push(
                NEVER_RUNS
                    .at(name.span, format!("`{}` {}{with}", name.value, never(verb)))
                    .label(among.clone())
                    .help(format!("where everything passes, it {}", seen.usual[at])),
            );
        }
        if let Some(example) = &seen.missed[at] {
            found.push(
                EPILOGUE_MISSES
                    .at(name.span, format!("`{}` does not run when {example}", name.value))
                    .label("is blocked then")
                    .help("write `join = \"settled\"`, so that it reports in any case"),
            );
        }
    }
    for (gate, _) in plan.gates.iter().zip(&seen.asked).filter(|(_, asked)| !**asked) {
        let said = if explored.complete { "is never asked" } else { "was not seen to be asked" };
        found.push(
            NEVER_ASKED
                .at(gate.name.span, format!("gate `{}` {said}{with}", gate.name.value))
                .label(among.clone())
                .help(format!("where everything passes, the plan {}", seen.end)),
        );
    }
}
