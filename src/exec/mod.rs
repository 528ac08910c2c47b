//! Decides and drives a run of a valid plan.
pub mod ports;
