//! Drives the `plan` program in directories of its own: what it prints, what it leaves, how it ends.

mod answer;
mod author;
mod calls;
mod cgroups;
mod check;
mod cuts;
mod full_disk;
mod hostile;
mod kill;
mod logs;
mod pack;
mod prompt;
mod readme;
mod reports;
mod resume;
mod reuse;
mod rounds;
mod run;
#[path = "../common/schemas.rs"]
mod schemas;
mod secrets;
mod signals;
mod test;
mod told;
mod verify;
