//! The scheduler, driven by hand.

mod ceilings;
mod engine;
mod epilogue;
mod fan_out;
mod joins;
mod properties;
mod resume;
mod reviews;
mod size;
