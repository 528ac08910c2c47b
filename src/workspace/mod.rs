//! Where files live while tasks run (EXECUTION §8), behind [`crate::exec::ports::Workspace`].
//!
//! Unaware of tasks and of what they captured: `store` keeps that.

pub mod direct;

pub use direct::Direct;
