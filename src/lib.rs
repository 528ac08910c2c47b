//! `plan`: a workflow language, its compiler, and the executor that runs it.
//!
//! ```text
//!  text ─► syntax ─► Ast ─► lower ─► Plan ─► validate ─► ValidPlan ─► exec ─► Event ─┬─► store   append, resume
//!            │                │                 │                     │ ▲            └─► report  people, json
//!            └── Diagnostics ─┴─────────────────┘                    ports ◄── runner, workspace, clock
//!
//!  reference (blocks, fields, reserved names) ─► checking of fields · suggestions · docs/reference.md
//! ```
//!
//! A module may use the ones above it in this list, and none below. Everything that a run does is an
//! [`event::Event`]; everything shown or resumed is a fold of them, [`history::History`].

// What pest derives without its `std` feature names this crate. With it, every rule would ask how much stack
// is left, which our nesting limit makes idle.
extern crate alloc;

pub mod source;
pub mod glob;
pub mod template;
pub mod diag;
pub mod reference;
pub mod ir;
pub mod event;
pub mod history;
pub mod syntax;
pub mod fmt;
pub mod load;
pub mod lower;
pub mod validate;
pub mod compile;
pub mod exec;
pub mod explore;
pub mod clock;
pub mod runner;
pub mod verifiers;
pub mod workspace;
pub mod store;
pub mod report;
pub mod cases;
pub mod catalog;
pub mod pages;
pub mod cli;
