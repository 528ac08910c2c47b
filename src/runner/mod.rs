//! Where processes run, behind [`crate::exec::ports::Runner`], and the signals that reach the executor.
//!
//! Unaware of plans and logs: a runner starts what it is told, and ends it with all that it started.

pub mod answers;
mod cgroup;
pub mod local;
mod proc;
mod program;
pub mod signals;
mod spawn;
pub mod stub;
mod sweep;
mod tree;

pub use answers::{Answers, StubPeople};
pub use local::Local;
pub use signals::Signals;
pub use stub::{Endless, Stub, StubRunner, Stubs};
pub use sweep::sweep;
