//! The scheduler, driven by hand.

mod ceilings;
mod epilogue;
mod fan_out;
mod joins;
mod size;
