//! The ceilings of a run: what they are, whether one is reached, and what is kept back for clean-up
//! (EXECUTION §10).
//!
//! Unaware of what is due: it answers questions about money, time and attempts.

use crate::event::{BlockedReason, Ceilings, Exit};
use crate::ir::{Millis, Plan, Usd};

/// A ceiling, and what of it is kept back for clean-up from what has reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ceiling {
    Cost(Usd, Usd),
    Time(Millis, Millis),
    Steps(u64),
}

impl Ceiling {
    pub(super) const fn exit(self) -> Exit {
        match self {
            Self::Cost(..) => Exit::CostCeiling,
            Self::Time(..) => Exit::TimeCeiling,
            Self::Steps(_) => Exit::StepCeiling,
        }
    }

    pub(super) const fn reason(self) -> BlockedReason {
        match self {
            Self::Cost(..) => BlockedReason::CostCeiling,
            Self::Time(..) => BlockedReason::TimeCeiling,
            Self::Steps(_) => BlockedReason::StepCeiling,
        }
    }
}

impl std::fmt::Display for Ceiling {
    /// A clause that a verb goes after.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cost(usd, Usd::ZERO) => write!(f, "the cost ceiling of ${usd}"),
            Self::Cost(usd, kept) => write!(f, "the cost ceiling of ${usd}, of which ${kept} is kept back,"),
            Self::Time(time, Millis(0)) => write!(f, "the time ceiling of {time}"),
            Self::Time(time, kept) => write!(f, "the time ceiling of {time}, of which {kept} are kept back,"),
            Self::Steps(1) => write!(f, "the ceiling of 1 attempt"),
            Self::Steps(steps) => write!(f, "the ceiling of {steps} attempts"),
        }
    }
}

/// The ceilings in force, and what is kept back from them where a task says `always`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    ceilings: Ceilings,
    /// Kept back from `usd` and `time`; nothing where no task says `always`.
    kept_usd: Usd,
    kept_time: Millis,
    /// How much money clean-up may use once the ceiling is reached.
    reserve_usd: Usd,
}

/// What has been used so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// Money, in all.
    pub(super) spent: Usd,
    /// Of it, what `always` tasks spent.
    pub(super) cleanup: Usd,
    /// Time, in all.
    pub(super) elapsed: Millis,
    /// Attempts.
    pub(super) steps: u64,
}

impl Limits {
    pub(super) fn new(plan: &Plan, ceilings: Ceilings) -> Self {
        let kept = plan.tasks.iter().any(|task| task.always.value);
        let reserve = plan.header.reserve;
        Self {
            ceilings,
            kept_usd: if kept { reserve.usd } else { Usd::ZERO },
            kept_time: if kept { reserve.time } else { Millis(0) },
            reserve_usd: reserve.usd,
        }
    }

    /// What everything but clean-up may spend.
    pub(super) fn usd(&self) -> Option<Usd> {
        self.ceilings.usd.map(|usd| usd.minus(self.kept_usd))
    }

    /// How long everything but clean-up may take.
    pub(super) fn time(&self) -> Option<Millis> {
        self.ceilings.time_ms.map(|time| Millis(time.0.saturating_sub(self.kept_time.0)))
    }

    /// How long all of it may take.
    pub(super) fn whole_time(&self) -> Option<Millis> {
        self.ceilings.time_ms
    }

    /// What of the time is kept back.
    pub(super) fn kept_time(&self) -> Millis {
        self.kept_time
    }

    fn cost_ceiling(&self, kept: Usd) -> Ceiling {
        Ceiling::Cost(self.ceilings.usd.unwrap_or_default(), kept)
    }

    fn time_ceiling(&self, kept: Millis) -> Ceiling {
        Ceiling::Time(self.ceilings.time_ms.unwrap_or_default(), kept)
    }

    /// Whether more was spent than may be: halts at once.
    pub(super) fn overrun(&self, used: &Used) -> Option<Ceiling> {
        self.usd().filter(|&usd| used.spent > usd).map(|_| self.cost_ceiling(self.kept_usd))
    }

    /// Whether time is up.
    pub(super) fn time_up(&self, used: &Used) -> Option<Ceiling> {
        self.time().filter(|&time| used.elapsed >= time).map(|_| self.time_ceiling(self.kept_time))
    }

    /// What forbids another attempt that is no clean-up and may cost up to `most`: reaching a ceiling
    /// exactly is enough.
    pub(super) fn forbids(&self, used: &Used, most: Option<Usd>) -> Option<Ceiling> {
        let cost = self
            .usd()
            .is_some_and(|usd| used.spent >= usd || most.is_some_and(|most| used.spent.plus(most) > usd));
        if cost {
            return Some(self.cost_ceiling(self.kept_usd));
        }
        if let Some(steps) = self.ceilings.steps.filter(|&steps| used.steps >= steps) {
            return Some(Ceiling::Steps(steps));
        }
        self.time_up(used)
    }

    /// What forbids clean-up: the reserve is spent as well. Attempts are never too many for it.
    pub(super) fn forbids_cleanup(&self, used: &Used) -> Option<Ceiling> {
        let reached = self.ceilings.usd.is_some_and(|usd| used.spent >= usd);
        let reserve_spent = used.cleanup > self.reserve_usd
            || (used.cleanup == self.reserve_usd && !self.reserve_usd.is_zero());
        if reached && reserve_spent {
            return Some(self.cost_ceiling(Usd::ZERO));
        }
        self.whole_time().filter(|&time| used.elapsed >= time).map(|_| self.time_ceiling(Millis(0)))
    }

    /// The ceiling that a run ends on with this exit.
    pub(super) fn ceiling(&self, exit: Exit) -> Option<Ceiling> {
        match exit {
            Exit::CostCeiling => Some(self.cost_ceiling(self.kept_usd)),
            Exit::TimeCeiling => Some(self.time_ceiling(self.kept_time)),
            Exit::StepCeiling => self.ceilings.steps.map(Ceiling::Steps),
            Exit::Completed
            | Exit::Concluded
            | Exit::Failed
            | Exit::Unaccepted
            | Exit::Truncated
            | Exit::Stopped
            | Exit::Waiting
            | Exit::Stuck => None,
        }
    }

    /// What is left for what an attempt calls that starts now. Money that others have reserved is theirs.
    pub(super) fn left(&self, used: &Used, reserved: Usd, cleanup: bool) -> Ceilings {
        let (usd, time) =
            if cleanup { (self.ceilings.usd, self.ceilings.time_ms) } else { (self.usd(), self.time()) };
        Ceilings {
            usd: usd.map(|usd| usd.minus(used.spent).minus(reserved)),
            time_ms: time.map(|time| Millis(time.0.saturating_sub(used.elapsed.0))),
            // Attempts are never too many for clean-up.
            steps: self.ceilings.steps.filter(|_| !cleanup).map(|steps| steps.saturating_sub(used.steps + 1)),
        }
    }

    /// Whether `most` fits beside what attempts in flight have reserved. Asked only if nothing forbids it
    /// alone.
    pub(super) fn fits(&self, used: &Used, reserved: Usd, most: Usd) -> bool {
        self.usd().is_none_or(|usd| used.spent.plus(reserved).plus(most) <= usd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(text: &str) -> Usd {
        Usd::parse(text).unwrap()
    }

    fn limits(reserve: &str) -> Limits {
        Limits {
            ceilings: Ceilings { usd: Some(usd("1")), time_ms: Some(Millis(100)), steps: Some(2) },
            kept_usd: usd(reserve),
            kept_time: Millis(30),
            reserve_usd: usd(reserve),
        }
    }

    #[test]
    fn reaching_a_ceiling_is_no_overrun_and_forbids_more() {
        let limits = limits("0");
        let used = |spent: &str| Used { spent: usd(spent), ..Used::default() };
        assert_eq!(limits.overrun(&used("1")), None);
        assert_eq!(limits.overrun(&used("1.1")), Some(Ceiling::Cost(usd("1"), Usd::ZERO)));
        assert_eq!(limits.forbids(&used("0.9"), None), None);
        assert_eq!(limits.forbids(&used("0.9"), Some(usd("0.1"))), None);
        assert_eq!(limits.forbids(&used("0.9"), Some(usd("0.2"))), Some(Ceiling::Cost(usd("1"), Usd::ZERO)));
        assert_eq!(limits.forbids(&used("1"), None), Some(Ceiling::Cost(usd("1"), Usd::ZERO)));
        assert_eq!(limits.forbids(&Used { steps: 2, ..Used::default() }, None), Some(Ceiling::Steps(2)));
        assert!(limits.fits(&used("0.5"), usd("0.2"), usd("0.3")));
        assert!(!limits.fits(&used("0.5"), usd("0.3"), usd("0.3")));
    }

    #[test]
    fn clean_up_has_what_was_kept_back() {
        let limits = limits("0.4");
        let used = |spent: &str, cleanup: &str, elapsed| Used {
            spent: usd(spent),
            cleanup: usd(cleanup),
            elapsed: Millis(elapsed),
            steps: 9,
        };
        let cost = limits.overrun(&used("0.7", "0", 0)).expect("more was spent than the main graph may");
        assert_eq!(cost.to_string(), "the cost ceiling of $1.0, of which $0.4 is kept back,");
        let time = limits.time_up(&used("0", "0", 70)).expect("what is left is kept back");
        assert_eq!(time.to_string(), "the time ceiling of 100ms, of which 30ms are kept back,");
        let whole = limits.forbids_cleanup(&used("0", "0", 100)).expect("nothing is left");
        assert_eq!(whole.to_string(), "the time ceiling of 100ms");
        assert_eq!(limits.forbids_cleanup(&used("0.7", "0", 70)), None);
        assert_eq!(limits.forbids_cleanup(&used("2", "0", 70)), None, "the main graph overran");
        assert!(limits.forbids_cleanup(&used("1", "0.4", 70)).is_some());
        assert!(limits.forbids_cleanup(&used("0", "0", 100)).is_some());
    }

    #[test]
    fn clean_up_that_costs_nothing_needs_no_money_kept_back() {
        let limits = limits("0");
        let used = |cleanup: &str| Used { spent: usd("1"), cleanup: usd(cleanup), ..Used::default() };
        assert_eq!(limits.forbids_cleanup(&used("0")), None);
        assert!(limits.forbids_cleanup(&used("0.1")).is_some());
    }
}
