//! `plan`: a workflow language, its compiler, and the executor that runs it.
pub mod diag;
pub mod event;
pub mod exec;
pub mod history;
pub mod ir;
pub mod reference;
pub mod source;
pub mod syntax;
pub mod validate;
