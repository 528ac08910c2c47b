//! Decides and drives a run of a valid plan.
//!
//! The middle is pure: [`scheduler::Scheduler`] folds events and says what is owed. Around it the driver
//! turns actions into work through the [`ports`], and its results into events.
mod acceptance;
pub mod admission;
pub mod answers;
pub mod attempt;
mod budget;
mod conditions;
mod decimal;
mod driver;
mod fanout;
pub mod inputs;
mod json;
mod named;
pub(crate) mod note;
pub mod ports;
mod readiness;
mod render;
pub mod resume;
pub mod reuse;
mod rounds;
mod route;
mod scan;
pub mod scheduler;
mod settle;
mod staging;
pub mod states;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod top_k;
mod units;
mod verdict;

pub use driver::{Outcome, RunError, RunOptions, gates_token, run};
