//! `run`: passes only by exiting 0 and, if it prints a JSON object, with `pass` true in it (LANGUAGE §9).

use serde_json::Value;

use crate::event::VerifierMode;
use crate::exec::ports::{Boxed, Call, Command, How, NotRun, Outcome, Printed, Ran, Verifier};
use crate::ir::{Shell, kind};
use crate::source::Text;

/// The exit code by which a shell says that there is no such program.
const NOT_FOUND: i32 = 127;

/// A command.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) run: kind::Run,
    pub(super) shell: Shell,
}

impl Verifier for Run {
    fn identity(&self) -> Text {
        "run".into()
    }

    fn verify<'a>(&'a self, call: &'a Call) -> Boxed<'a, Outcome> {
        Box::pin(async move {
            let argv = self.run.argv(self.shell, &call.work().pack);
            match call.run(Command { argv, env: Vec::new() }).await {
                Ok(ran) => self.outcome(&ran),
                Err(NotRun::Missing(why)) => Outcome::missing(why),
                Err(NotRun::Failed(why)) => Outcome::error(why),
            }
        })
    }
}

impl Run {
    fn outcome(&self, ran: &Ran) -> Outcome {
        let with = |what: String| if ran.said.is_empty() { what } else { format!("{what}: {}", ran.said) };
        match ran.how {
            How::Code(0) => says(&ran.printed),
            How::Code(NOT_FOUND) if matches!(self.run, kind::Run::Shell(_)) => {
                Outcome::missing(with(ran.how.words()))
            }
            How::Code(_) => Outcome::rejected(with(ran.how.words())),
            How::Signal(_) => {
                Outcome::Fail { mode: VerifierMode::Crashed, detail: with(ran.how.words()).into() }
            }
            How::Lost => Outcome::error(ran.how.words()),
        }
    }
}

/// What the result of a command that exited 0 says.
fn says(printed: &Printed) -> Outcome {
    let text = match printed {
        Printed::Nothing => return Outcome::pass(""),
        Printed::Unreadable(why) => return Outcome::error(why.as_str()),
        Printed::Object(text) => text,
    };
    let object: Value = match serde_json::from_str(text) {
        Ok(object) => object,
        Err(error) => return Outcome::error(format!("its result cannot be read: {error}")),
    };
    let note = object.get("note").and_then(Value::as_str).unwrap_or_default();
    match object.get("pass") {
        Some(Value::Bool(true)) => Outcome::pass(note),
        Some(Value::Bool(false)) if note.is_empty() => Outcome::rejected("`pass` is false"),
        Some(Value::Bool(false)) => Outcome::rejected(note),
        Some(other) => Outcome::error(format!("`pass` is no boolean but {other}")),
        None => Outcome::error("its result says nothing about `pass`"),
    }
}
