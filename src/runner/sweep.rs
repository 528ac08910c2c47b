//! Ends what attempts left running when their executor died: asked first, killed after the grace.
//!
//! Its processes are known by the tokens in their environment, or by ancestry from such a one.

use std::time::{Duration, Instant};

use camino::Utf8Path;
use rustix::process::Signal;

use super::cgroup::Register;
use super::local::{GONE, GRACE};
use super::proc::Id;
use super::tree;
use crate::source::Text;

/// How long between two looks.
pub(super) const PAUSE: Duration = Duration::from_millis(10);

/// The ending of all that carries one of these tokens.
pub(super) struct Sweep {
    tokens: Vec<Text>,
    begun: Instant,
    asked: Vec<Id>,
}

impl Sweep {
    pub(super) fn new(tokens: Vec<Text>) -> Self {
        Self { tokens, begun: Instant::now(), asked: Vec::new() }
    }

    /// Looks once more, and signals what is left. Whether that was the last look.
    pub(super) fn step(&mut self) -> bool {
        if self.tokens.is_empty() {
            return true;
        }
        let (carriers, again) = tree::carriers(&self.tokens);
        let late = self.begun.elapsed() >= GRACE;
        for id in &carriers {
            if late {
                tree::send(*id, Signal::KILL);
            } else if !self.asked.contains(id) {
                tree::send(*id, Signal::TERM);
                self.asked.push(*id);
            }
        }
        let again = again && self.begun.elapsed() < tree::UNCLEAR;
        carriers.is_empty() && !again || self.begun.elapsed() >= GRACE + GONE
    }
}

/// Ends all that carries one of `tokens`, and what else is in the control groups that are written down in
/// `register` for the run that is marked by `mark`. Returns when it is gone, and what could not be ended, as clauses.
#[must_use]
pub fn sweep(tokens: Vec<Text>, mark: &str, register: &Utf8Path) -> Vec<String> {
    let mut sweep = Sweep::new(tokens);
    while !sweep.step() {
        std::thread::sleep(PAUSE);
    }
    Register::new(register.as_std_path(), mark).end_left()
}
