//! When what ran, over all sittings of a run: a fold of the log of its own, since rows keep no times.
//!
//! Time is the run's: what lies between two sittings does not count (EXECUTION §10).

use rustc_hash::FxHashMap;

use crate::event::{Body, Event, Grade};
use crate::ir::Millis;
use crate::source::Text;

/// What ran when.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    /// What took time, by its start.
    pub(super) bars: Vec<Bar>,
    /// When each sitting began.
    pub(super) sittings: Vec<Sitting>,
    /// Time of the whole run.
    pub(super) end: Millis,
    /// The bars of each task or instance, by name.
    pub(super) of: FxHashMap<Text, Vec<usize>>,
}

/// Something that took time.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    /// The task, `task[element]` for an instance.
    pub(super) name: Text,
    /// The attempt; none where it only waited.
    pub(super) attempt: Option<Attempt>,
    /// From when.
    pub(super) start: Millis,
    /// Until when.
    pub(super) end: Millis,
    /// How it came out.
    pub(super) how: How,
    /// What it said of itself.
    pub(super) note: Option<Text>,
}

/// Which attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    /// Its number in the run.
    pub(super) number: u32,
    /// Which of its task in its round.
    pub(super) nth: u32,
    /// The round.
    pub(super) round: u32,
}

/// How something came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Another attempt was awaited.
    Waited,
    /// A person's answer was awaited.
    Asked,
    /// The attempt ended.
    Ended(Grade),
    /// The attempt has not ended.
    Running,
    /// Its sitting ended before it did.
    CutOff,
}

/// A sitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sitting {
    /// When it began, in the run's time.
    pub(super) start: Millis,
    /// When it began, in milliseconds since 1970.
    pub(super) at: i64,
}

impl How {
    /// The word for it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Waited => "waited to retry",
            Self::Asked => "waited for an answer",
            Self::Ended(grade) => match grade {
                Grade::Pass => "pass",
                Grade::Partial => "partial",
                Grade::Fail => "fail",
                Grade::Skipped => "skipped",
                Grade::Transport => "transport",
                Grade::Retry => "retry",
                Grade::Blocked => "blocked",
                Grade::Interrupted => "interrupted",
            },
            Self::Running => "running",
            Self::CutOff => "cut off",
        }
    }

    /// Its look: the name of a status, or of something that has none.
    pub(super) const fn look(self) -> &'static str {
        match self {
            Self::Waited | Self::Asked => "waited",
            Self::Ended(Grade::Interrupted) | Self::CutOff => "cut",
            Self::Ended(_) | Self::Running => self.as_str(),
        }
    }

    /// How much it matters, where one mark stands for several.
    pub(super) const fn weight(self) -> u8 {
        match self {
            Self::Waited | Self::Asked => 0,
            Self::Ended(grade) => match grade {
                Grade::Pass => 1,
                Grade::Partial => 2,
                Grade::Skipped => 3,
                Grade::Interrupted => 4,
                Grade::Blocked => 6,
                Grade::Retry => 7,
                Grade::Transport => 8,
                Grade::Fail => 9,
            },
            Self::CutOff => 4,
            Self::Running => 5,
        }
    }
}

/// Folds a log; `live` says whether somebody still runs it.
pub(super) fn timeline(events: &[Event], live: bool) -> Timeline {
    let mut line = Timeline::default();
    // The bars that have not ended, by task: an attempt or a wait, never both.
    let mut open: FxHashMap<Text, usize> = FxHashMap::default();
    let (mut before, mut t) = (Millis(0), Millis(0));
    for event in events {
        if let Body::RunStarted(_) | Body::RunResumed(_) = event.body {
            before = Millis(before.0 + t.0);
            cut(&mut line, &mut open, before);
            line.sittings.push(Sitting { start: Millis(before.0 + event.t.0), at: event.at });
        }
        t = event.t;
        let now = Millis(before.0 + t.0);
        line.end = now;
        match &event.body {
            Body::AttemptStarted(body) => {
                let attempt = Attempt { number: body.attempt, nth: body.nth, round: body.round };
                close(&mut line, &mut open, &body.task, now, None);
                begin(&mut line, &mut open, body.task.clone(), Some(attempt), now);
            }
            Body::AttemptEnded(body) => {
                close(
                    &mut line,
                    &mut open,
                    &body.task,
                    now,
                    Some((How::Ended(body.grade), body.note.clone())),
                );
            }
            Body::RetryScheduled(body) => {
                close(&mut line, &mut open, &body.task, now, None);
                begin(&mut line, &mut open, body.task.clone(), None, now);
            }
            Body::GateAsked(body) => {
                begin(&mut line, &mut open, body.task.clone(), None, now);
                let last = line.bars.len() - 1;
                line.bars[last].how = How::Asked;
            }
            Body::GateAnswered(body) => close(&mut line, &mut open, &body.task, now, None),
            Body::TaskSettled(body) => close(&mut line, &mut open, &body.task, now, None),
            Body::TimerFired(_)
            | Body::RunStarted(_)
            | Body::PlanAdmitted(_)
            | Body::InstancesNamed(_)
            | Body::ReuseDecided(_)
            | Body::VerifierEnded(_)
            | Body::RoundStarted(_)
            | Body::NodeEntered(_)
            | Body::Warning(_)
            | Body::Halted(_)
            | Body::StopRequested(_)
            | Body::Interrupted(_)
            | Body::Alive(_)
            | Body::RunResumed(_)
            | Body::RunEnded(_) => {}
        }
    }
    let end = line.end;
    if live {
        open.values().for_each(|&bar| line.bars[bar].end = end);
    } else {
        cut(&mut line, &mut open, end);
    }
    line
}

fn begin(
    line: &mut Timeline,
    open: &mut FxHashMap<Text, usize>,
    name: Text,
    attempt: Option<Attempt>,
    now: Millis,
) {
    let how = if attempt.is_some() { How::Running } else { How::Waited };
    open.insert(name.clone(), line.bars.len());
    line.of.entry(name.clone()).or_default().push(line.bars.len());
    line.bars.push(Bar { name, attempt, start: now, end: now, how, note: None });
}

fn close(
    line: &mut Timeline,
    open: &mut FxHashMap<Text, usize>,
    name: &Text,
    now: Millis,
    how: Option<(How, Option<Text>)>,
) {
    let Some(at) = open.remove(name) else { return };
    let bar = &mut line.bars[at];
    bar.end = now;
    if let Some((how, note)) = how {
        (bar.how, bar.note) = (how, note);
    }
}

/// Ends what was open when a sitting ended.
fn cut(line: &mut Timeline, open: &mut FxHashMap<Text, usize>, now: Millis) {
    for (_, at) in open.drain() {
        let bar = &mut line.bars[at];
        bar.end = now;
        if bar.how == How::Running {
            bar.how = How::CutOff;
        }
    }
}

impl Timeline {
    /// The bars of a task or an instance, oldest first.
    pub(super) fn of(&self, name: &str) -> impl Iterator<Item = &Bar> {
        self.of.get(name).into_iter().flatten().map(|&at| &self.bars[at])
    }
}

/// Which lane each bar takes, so that no two of a lane overlap, and how many lanes there are. Bars come by
/// their start.
pub(super) fn lanes<'a>(bars: impl Iterator<Item = &'a Bar>) -> (Vec<usize>, usize) {
    let mut ends: Vec<Millis> = Vec::new();
    let lanes = bars
        .map(|bar| {
            let lane = ends.iter().position(|&end| end <= bar.start).unwrap_or(ends.len());
            match ends.get_mut(lane) {
                Some(end) => *end = bar.end,
                None => ends.push(bar.end),
            }
            lane
        })
        .collect();
    (lanes, ends.len())
}

/// A distance between marks that people can count in, so that `end` has at most `most` of them.
pub(super) fn step(end: Millis, most: u64) -> Millis {
    const STEPS: [u64; 26] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000,
        300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 43_200_000, 86_400_000,
    ];
    let step = STEPS.into_iter().find(|step| end.0 / step <= most);
    Millis(step.unwrap_or_else(|| (end.0 / most / 86_400_000 + 1) * 86_400_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{AttemptEnded, AttemptStarted, Ceilings, RetryScheduled, RunResumed, RunStarted};
    use crate::ir::Usd;

    fn log(bodies: impl IntoIterator<Item = (u64, Body)>) -> Vec<Event> {
        let event = |(seq, (t, body))| Event { seq, at: 1_800_000_000_000, t: Millis(t), body };
        (1..).zip(bodies).map(event).collect()
    }

    fn started(attempt: u32, task: &str, nth: u32) -> Body {
        AttemptStarted { attempt, task: task.into(), nth, round: 1, token: None, answered: false }.into()
    }

    fn ended(attempt: u32, task: &str, grade: Grade) -> Body {
        let body = AttemptEnded {
            attempt,
            task: task.into(),
            grade,
            note: Some("so".into()),
            output: None,
            last_line: "".into(),
            cost_usd: Usd::ZERO,
            files: None,
            if_rejected: None,
            duration_ms: Millis(1),
            done_already: false,
            reused: None,
            steps: 0,
            call: None,
            reads: Vec::new(),
            ended_by: None,
        };
        body.into()
    }

    #[test]
    fn time_goes_on_over_sittings_and_a_crash_cuts_off() {
        let resumed = RunResumed {
            reopened: false,
            from: None,
            again: vec![],
            anew: Vec::new(),
            unheard: Vec::new(),
            heard: Vec::new(),
            caps: vec![],
            ceilings: Ceilings::default(),
            keep_going: false,
        };
        let run = RunStarted { run: "r".into(), plan: "p".into(), log: 1, version: "0".into() };
        let events = log([
            (0, run.into()),
            (10, started(1, "a", 1)),
            (20, started(2, "b", 1)),
            (30, ended(1, "a", Grade::Transport)),
            (30, RetryScheduled { task: "a".into(), attempt: 1, after_ms: Millis(1000) }.into()),
            (0, resumed.into()),
            (5, started(3, "b", 1)),
            (9, ended(3, "b", Grade::Pass)),
            (12, started(4, "a", 2)),
        ]);
        let line = timeline(&events, false);
        let bars: Vec<(&str, u64, u64, &str)> =
            line.bars.iter().map(|bar| (&*bar.name, bar.start.0, bar.end.0, bar.how.as_str())).collect();
        let expected = [
            ("a", 10, 30, "transport"),
            ("b", 20, 30, "cut off"),
            ("a", 30, 30, "waited to retry"),
            ("b", 35, 39, "pass"),
            ("a", 42, 42, "cut off"),
        ];
        assert_eq!(bars, expected);
        assert_eq!(line.sittings.iter().map(|sitting| sitting.start.0).collect::<Vec<_>>(), [0, 30]);
        assert_eq!(line.of("a").count(), 3);
        assert_eq!(timeline(&events, true).bars[4].how, How::Running);
        let (lanes, count) = lanes(line.bars.iter());
        assert_eq!((lanes, count), (vec![0, 1, 0, 0, 0], 2));
    }

    #[test]
    fn marks_are_few_and_round() {
        assert_eq!(step(Millis(7), 8), Millis(1));
        assert_eq!(step(Millis(95_000), 8), Millis(15_000));
        assert_eq!(step(Millis(9 * 86_400_000), 8), Millis(2 * 86_400_000));
        assert_eq!(step(Millis(0), 8), Millis(1));
    }
}
