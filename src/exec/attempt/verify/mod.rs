//! The one way to call a verifier (EXECUTION §9): whatever it does, a [`Verdict`] comes of it in time.
//!
//! A verifier runs on a thread and in a runtime of its own, with nothing of the run in its hands. A
//! returned error cannot be written, a panic is caught, a deadline is kept from outside, a late answer is
//! dropped, and the processes that it asked for are ended with its call. What a verdict means for a task
//! is the scheduler's business.

mod call;
mod panel;
mod read;
mod scene;
mod watch;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

pub use call::{Call, Command, NotRun, Printed, Ran, Work};
pub(in crate::exec) use panel::{Of, Spoken, sit};
pub(in crate::exec) use scene::Subject;
use scene::set;
pub use watch::Scene;

use super::Orders;
use crate::event::{EndedBy, VerifierEnded, VerifierMode};
use crate::exec::note;
use crate::exec::ports::{Outcome, Verifiers};
use crate::ir;
use crate::source::Text;

/// What came of a call. Only [`judge`] makes one, and only out of an [`Outcome`] or of a failure.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    verifier: Text,
    identity: Text,
    required: bool,
    /// None where the work holds.
    failed: Option<VerifierMode>,
    detail: Text,
    ended_by: Option<EndedBy>,
}

impl Verdict {
    fn failing(check: &ir::Verify, identity: Text, mode: VerifierMode, detail: &str) -> Self {
        Self::of(check, identity, Outcome::Fail { mode, detail: detail.into() })
    }

    fn of(check: &ir::Verify, identity: Text, outcome: Outcome) -> Self {
        let (failed, detail) = match outcome {
            Outcome::Pass { detail } => (None, detail),
            Outcome::Fail { mode, detail } => (Some(mode), detail),
        };
        let (verifier, required) = (check.name.value.clone(), check.required);
        Self { verifier, identity, required, failed, detail: note::note(&detail), ended_by: None }
    }

    /// The same, but that it failed for `why` where it accepted.
    fn unless_sound(self, why: &str) -> Self {
        if self.failed.is_some() {
            return self;
        }
        Self { failed: Some(VerifierMode::Error), detail: note::note(why), ..self }
    }

    /// The `verify` block.
    #[must_use]
    pub fn verifier(&self) -> &Text {
        &self.verifier
    }

    /// Whether it accepted.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.failed.is_none()
    }

    /// How it failed, if it did.
    #[must_use]
    pub fn mode(&self) -> Option<VerifierMode> {
        self.failed
    }

    /// What it said.
    #[must_use]
    pub fn detail(&self) -> &Text {
        &self.detail
    }

    /// The event that records it: of an attempt of a task, or of the plan, in a round, under the fingerprint
    /// `gates`.
    #[must_use]
    pub fn event(self, of: Option<(u32, Text)>, round: u32, gates: Text) -> VerifierEnded {
        let (attempt, task) = of.unzip();
        VerifierEnded {
            attempt,
            task,
            round,
            verifier: self.verifier,
            identity: self.identity,
            required: self.required,
            pass: self.failed.is_none(),
            mode: self.failed,
            detail: (!self.detail.is_empty()).then_some(self.detail),
            ended_by: self.ended_by,
            gates,
        }
    }
}

/// Has the verifier of `check` look at `work`, and ends all that it started. `orders` may say that it has to
/// end: then it did not pass in time.
///
/// # Errors
/// If this sitting of the run ends: there is no verdict then, and a resumed run makes up for it.
pub async fn judge(
    scene: &Scene,
    verifiers: &Arc<dyn Verifiers>,
    check: &Arc<ir::Verify>,
    work: Work,
    orders: &mut Orders,
) -> Result<Verdict, Interrupted> {
    let begun = scene.begin();
    let (asks, asked) = mpsc::unbounded_channel();
    let call = Call::new(work, &scene.files, asks);
    let answer = match answer(Arc::clone(verifiers), Arc::clone(check), call) {
        Ok(answer) => answer,
        Err(error) => {
            let detail = format!("no thread could be started for it: {error}");
            return Ok(Verdict::failing(check, Text::default(), VerifierMode::Error, &detail));
        }
    };
    let mut identity = Text::default();
    let told = tell(answer, &mut identity);
    let end = scene.watch(&check.name.value, check.timeout, begun, asked, told, orders).await;
    Ok(match end {
        watch::End::Told(Some(outcome)) => Verdict::of(check, identity, outcome),
        watch::End::Told(None) => {
            Verdict::failing(check, identity, VerifierMode::Error, "it ended without an answer")
        }
        watch::End::Late => {
            let detail = format!("no answer within {}", check.timeout);
            Verdict::failing(check, identity, VerifierMode::Timeout, &detail)
        }
        watch::End::Ordered(EndedBy::Interruption, _) => return Err(Interrupted),
        watch::End::Ordered(by, note) => {
            let verdict = Verdict::failing(check, identity, VerifierMode::Timeout, &note);
            Verdict { ended_by: Some(by), ..verdict }
        }
    })
}

/// There is no verdict: this sitting of the run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// What a verifier's thread says: its identity first, its outcome second.
struct Answer {
    identity: oneshot::Receiver<Text>,
    outcome: oneshot::Receiver<Outcome>,
}

async fn tell(answer: Answer, identity: &mut Text) -> Option<Outcome> {
    // One that panicked while it was asked for has an outcome all the same.
    *identity = answer.identity.await.unwrap_or_default();
    answer.outcome.await.ok()
}

/// Starts the thread that calls the verifier. It is never waited for: one that hangs is left behind.
fn answer(verifiers: Arc<dyn Verifiers>, check: Arc<ir::Verify>, call: Call) -> std::io::Result<Answer> {
    let (tell_identity, identity) = oneshot::channel();
    let (tell_outcome, outcome) = oneshot::channel();
    let thread = std::thread::Builder::new().name(format!("verify {}", check.name.value));
    thread.spawn(move || {
        // Everything of the author's is called, and dropped, inside. What a panic leaves half-done is the
        // author's own: nothing of ours is in there.
        let caught = catch_unwind(AssertUnwindSafe(|| ask(&*verifiers, &check, &call, tell_identity)));
        let outcome = caught.unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<&str>().map(|said| (*said).to_owned());
            let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
            // Whatever else it is may panic again when it is dropped.
            std::mem::forget(panic);
            Outcome::error(match said {
                Some(said) => format!("it panicked: {said}"),
                None => "it panicked".to_owned(),
            })
        });
        // Nobody listens any more where it came too late.
        let _ = tell_outcome.send(outcome);
    })?;
    Ok(Answer { identity, outcome })
}

fn ask(
    verifiers: &dyn Verifiers,
    check: &ir::Verify,
    call: &Call,
    identity: oneshot::Sender<Text>,
) -> Outcome {
    let Some(verifier) = verifiers.find(check) else {
        return Outcome::missing("there is no such verifier");
    };
    let _ = identity.send(verifier.identity());
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Outcome::error(format!("no runtime could be made for it: {error}")),
    };
    let outcome = runtime.block_on(verifier.verify(call));
    // What it left running in there is not waited for.
    runtime.shutdown_background();
    outcome
}
