//! One way that a plan can go: the scheduler of every run, with what happens to it chosen turn by turn.
//!
//! One task at a time, no time passes but that of timers, nothing is spent, and nobody interrupts. Unaware of
//! which ways are worth a look.

use rustc_hash::{FxHashMap, FxHashSet};

use super::outcomes::{Outcome, Outcomes};
use crate::event::{
    AttemptEnded, AttemptStarted, Body, Ceilings, Event, GateAnswered, PlanAdmitted, RunStarted, VERSION,
    VerifierEnded, VerifierMode,
};
use crate::exec::scheduler::{Action, Dispatch, Options, Scheduler};
use crate::history::History;
use crate::ir::{Kind, Millis, Task, Usd, Verify};
use crate::source::Text;
use crate::validate::ValidPlan;

/// Who answers a gate when nobody has in time (LANGUAGE §4).
const TIMEOUT: &str = "timeout";

/// What is chosen otherwise than by default: by turn, in order.
pub(super) type Script = Vec<(usize, usize)>;

/// A turn at which something could have happened in several ways.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// How many ways there were.
    pub(super) of: usize,
    /// Which one was taken.
    pub(super) took: usize,
    /// What happened, as in `` `scan` fails``.
    pub(super) says: String,
}

/// How it went.
pub(super) struct Way {
    /// Its turns.
    pub(super) turns: Vec<Turn>,
    /// What happened.
    pub(super) history: History,
    /// The acceptance gates that were asked.
    pub(super) asked: FxHashSet<Text>,
    /// How many events it took.
    pub(super) events: usize,
    /// Whether it was given up before its end.
    pub(super) cut: bool,
}

/// Plays runs of one plan.
pub(super) struct Player<'a> {
    plan: &'a ValidPlan,
    outcomes: &'a [Outcomes],
    caps: Vec<Text>,
}

/// A run that is played.
struct Run<'a> {
    player: &'a Player<'a>,
    scheduler: Scheduler,
    script: std::iter::Peekable<std::slice::Iter<'a, (usize, usize)>>,
    /// Which of the ways to pass an attempt takes where the script is silent.
    usual: usize,
    turns: Vec<Turn>,
    asked: FxHashSet<Text>,
    /// How the first attempt of a task came out in its round: infrastructure that fails goes on failing.
    first: FxHashMap<Text, usize>,
    events: u64,
    t: u64,
}

impl<'a> Player<'a> {
    pub(super) fn new(plan: &'a ValidPlan, outcomes: &'a [Outcomes]) -> Self {
        let mut caps: Vec<Text> = plan.tasks.iter().flat_map(|task| task.needs.iter().cloned()).collect();
        caps.sort_unstable();
        caps.dedup();
        Self { plan, outcomes, caps }
    }

    /// The way that `script` leads to, with at most so many events.
    pub(super) fn play(&self, script: &[(usize, usize)], usual: usize, most: usize) -> Way {
        let options = Options { jobs: 1, kill_on_failure: false };
        let mut run = Run {
            player: self,
            scheduler: Scheduler::new(self.plan.clone(), options),
            script: script.iter().peekable(),
            usual,
            turns: Vec::new(),
            asked: FxHashSet::default(),
            first: FxHashMap::default(),
            events: 0,
            t: 0,
        };
        let begun = run.begin();
        let mut on = begun.is_some();
        while on && run.events < most as u64 {
            on = run.step().unwrap_or(false);
        }
        let over = run.scheduler.is_over();
        Way {
            turns: run.turns,
            asked: run.asked,
            events: usize::try_from(run.events).unwrap_or(usize::MAX),
            cut: !over,
            history: run.scheduler.into_history(),
        }
    }
}

impl Run<'_> {
    fn begin(&mut self) -> Option<()> {
        let plan = self.player.plan.name.clone();
        let tasks = self.player.plan.tasks.len() as u64;
        self.append(RunStarted { run: Text::default(), plan, log: VERSION, version: Text::default() })?;
        let caps = self.player.caps.clone();
        self.append(PlanAdmitted { tasks, caps, ceilings: Ceilings::default(), keep_going: false })
    }

    /// Appends an event; none if no table allows it, which ends the way.
    fn append(&mut self, body: impl Into<Body>) -> Option<()> {
        self.events += 1;
        let event = Event { seq: self.events, at: 0, t: Millis(self.t), body: body.into() };
        self.scheduler.apply(&event).ok()
    }

    /// Whether there is more to play; none where it cannot go on.
    fn step(&mut self) -> Option<bool> {
        if self.answer()? {
            return Some(true);
        }
        if let Some(action) = self.scheduler.due() {
            match action {
                Action::Record(body) => self.append(*body)?,
                Action::Dispatch(dispatch) => self.attempt(&dispatch)?,
                Action::Compare(_) => return None, // Nothing of an earlier run is taken over.
            }
            return Some(true);
        }
        if self.scheduler.is_over() {
            return Some(false);
        }
        if self.verify()? {
            return Some(true);
        }
        let (at, fired) = self.scheduler.next_timer()?;
        self.t = self.t.max(at.0);
        self.append(fired)?;
        Some(true)
    }

    /// Which of `of` ways is taken.
    fn choose(&mut self, of: usize, usual: usize) -> usize {
        let turn = self.turns.len();
        match self.script.next_if(|(at, _)| *at == turn) {
            Some(&(_, choice)) => choice.min(of - 1),
            None => usual,
        }
    }

    fn took(&mut self, of: usize, took: usize, says: String) {
        self.turns.push(Turn { of, took, says });
    }

    fn attempt(&mut self, dispatch: &Dispatch) -> Option<()> {
        let Dispatch { task, ref name, attempt, nth, round, .. } = *dispatch;
        self.append(AttemptStarted {
            attempt,
            task: name.clone(),
            nth,
            round,
            answered: false,
            token: None,
        })?;
        let outcomes = &self.player.outcomes[task.index()];
        let took = if nth > 1 {
            self.first.get(name).copied().unwrap_or_default()
        } else {
            let took = self.choose(outcomes.all.len(), self.usual % outcomes.passing.max(1));
            self.took(outcomes.all.len(), took, format!("`{name}` {}", outcomes.all[took].says));
            self.first.insert(name.clone(), took);
            took
        };
        let Outcome { grade, output, last_line, .. } = outcomes.all[took].clone();
        let passes = took < outcomes.passing || grade == crate::event::Grade::Partial;
        self.append(AttemptEnded {
            attempt,
            task: name.clone(),
            grade,
            note: None,
            output: passes.then_some(output),
            last_line,
            cost_usd: Usd::ZERO,
            files: None,
            if_rejected: None,
            duration_ms: Millis(0),
            reads: Vec::new(),
            call: None,
            steps: Default::default(),
            reused: None,
            done_already: false,
            ended_by: None,
        })
    }

    /// Lets the next verifier speak, if one is owed.
    fn verify(&mut self) -> Option<bool> {
        let owed = self.scheduler.unverified().next().and_then(|attempt| {
            let row = self.scheduler.history().row(&attempt.name)?;
            let checks = &self.player.plan[attempt.task].verify;
            let check = checks.iter().find(|check| !row.verifiers.contains_key(&check.name.value))?;
            Some((check.clone(), Some((attempt.name, attempt.attempt, row.round))))
        });
        let gate = || self.scheduler.silent_gates().next().map(|gate| (gate.clone(), None));
        let Some((check, of)) = owed.or_else(gate) else { return Some(false) };
        if of.is_none() {
            self.asked.insert(check.name.value.clone());
        }
        self.speak(&check, of)?;
        Some(true)
    }

    fn speak(&mut self, check: &Verify, of: Option<(Text, u32, u32)>) -> Option<()> {
        let took = self.choose(2, 0);
        let (pass, says) = if took == 0 { (true, "accepts") } else { (false, "rejects") };
        let said = match &of {
            Some((name, ..)) => format!("`{}` {says} `{name}`", check.name.value),
            None => format!("`{}` {says}", check.name.value),
        };
        self.took(2, took, said);
        let round = of.as_ref().map_or_else(|| self.scheduler.history().plan_round(), |(_, _, round)| *round);
        let (task, attempt) = of.map_or((None, None), |(name, attempt, _)| (Some(name), Some(attempt)));
        self.append(VerifierEnded {
            attempt,
            task,
            round,
            verifier: check.name.value.clone(),
            identity: Text::default(),
            required: check.required,
            pass,
            mode: (!pass).then_some(VerifierMode::Rejected),
            detail: None,
            ended_by: None,
            gates: Text::default(),
        })
    }

    /// Answers an open question, if there is one.
    fn answer(&mut self) -> Option<bool> {
        let open = self.scheduler.questions().next();
        let Some((task, question)) = open.map(|(task, question)| (task, question.clone())) else {
            return Some(false);
        };
        let gate = self.scheduler.history().locate(&task).map(|(at, _)| at);
        let timed = gate.and_then(|at| match &self.player.plan.tasks[at] {
            Task { kind: Kind::Gate(gate), timeout: Some(_), .. } => gate.default.as_ref(),
            _ => None,
        });
        // Every option of nobody in particular, and of each whom a condition names; then time.
        let named = gate.map_or(&[][..], |at| self.player.outcomes[at].by.as_slice());
        let people = || {
            [Text::const_new("somebody")].into_iter().chain(named.iter().filter(|by| *by != TIMEOUT).cloned())
        };
        let answers =
            people().flat_map(|by| question.options.iter().map(move |option| (option.clone(), by.clone())));
        let answers = answers.chain(timed.map(|default| (default.value.clone(), Text::const_new(TIMEOUT))));
        let answers: Vec<(Text, Text)> = answers.collect();
        let took = self.choose(answers.len().max(1), 0);
        let (answer, by) = answers.get(took).cloned()?;
        self.took(
            answers.len(),
            took,
            match by.as_str() {
                "somebody" => format!("`{task}` is answered `{answer}`"),
                TIMEOUT => format!("`{task}` is not answered in time"),
                by => format!("`{task}` is answered `{answer}` by {by}"),
            },
        );
        self.append(GateAnswered { task, question: question.number, answer, by, result: None })?;
        Some(true)
    }
}
