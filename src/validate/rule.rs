//! What a rule is: a code, two examples, and a function that judges a plan.

use super::context::Context;
use crate::diag::{Code, Diagnostics};

/// A rule about resolved plans.
#[derive(Debug)]
pub struct Rule {
    /// What it raises, and nothing else.
    pub code: &'static Code,
    /// A plan that raises exactly this code.
    pub bad: &'static str,
    /// The same plan, put right: it raises nothing.
    pub good: &'static str,
    /// Finds every place where a plan breaks the rule.
    pub(super) check: fn(&Context<'_>, &mut Diagnostics),
}
