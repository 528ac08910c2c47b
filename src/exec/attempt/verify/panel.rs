//! The verifiers of one attempt, or of the plan: called side by side, and heard as they come; those that come
//! together in the order declared.
//!
//! Unaware of what their verdicts come to.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Interrupted, Subject, Verdict, judge, set};
use crate::event::VerifierMode;
use crate::exec::attempt::note::restored;
use crate::exec::attempt::watch::wait;
use crate::exec::attempt::{Context, Orders};
use crate::exec::ports::Verifiers;
use crate::ir::{self, Millis};
use crate::source::Text;

/// How long a verdict waits for those of verifiers declared before it. A clock that jumps waits for all that
/// come at the same moment, so that their order is always the same.
const TOGETHER: Millis = Millis(1);

/// What comes from a panel while it sits.
pub(in crate::exec) enum Spoken {
    /// A verdict.
    Verdict(Verdict),
    /// Something else that is worth knowing.
    Warning(Text),
}

/// Whom a panel looks at.
#[derive(Clone, Debug)]
pub(in crate::exec) struct Of {
    /// The attempt, and its task or instance; none for the plan.
    pub attempt: Option<(u32, Text)>,
    /// The round, from 1.
    pub round: u32,
}

/// Calls every verifier of `checks`, each with orders of its own, and tells what they say. Returns once all
/// of them are done, and all that they started has ended.
pub(in crate::exec) async fn sit(
    context: Arc<Context>,
    subject: Subject,
    checks: Vec<(Arc<ir::Verify>, Orders)>,
    tell: mpsc::UnboundedSender<(Of, Spoken)>,
) {
    hear(&context, &subject, checks, tell).await;
    if subject.element.is_some() {
        context.files.forget_inputs(&subject.inputs.json);
    }
}

async fn hear(
    context: &Context,
    subject: &Subject,
    checks: Vec<(Arc<ir::Verify>, Orders)>,
    tell: mpsc::UnboundedSender<(Of, Spoken)>,
) {
    let of = Of { attempt: subject.of.clone(), round: subject.round };
    // Nobody listens any more where the run has ended.
    let say = |spoken| drop(tell.send((of.clone(), spoken)));
    let (scene, work) = match set(context, subject) {
        Ok(set) => {
            set.warnings.into_iter().for_each(|warning| say(Spoken::Warning(warning)));
            (Arc::new(set.scene), set.work)
        }
        Err(why) => {
            for (check, _) in &checks {
                let verdict = Verdict::failing(check, Text::default(), VerifierMode::Error, &why);
                say(Spoken::Verdict(verdict));
            }
            return;
        }
    };
    let mut sitting = JoinSet::new();
    let mut heard: Vec<Heard> = Vec::with_capacity(checks.len());
    for (at, (check, mut orders)) in checks.into_iter().enumerate() {
        heard.push(Heard::Nothing);
        if let Err(why) = restore(context, "before it was checked", &say) {
            let verdict = Verdict::failing(&check, Text::default(), VerifierMode::Error, &why);
            sitting.spawn(std::future::ready((at, 0, Ok(verdict))));
            continue;
        }
        let before = context.files.restored().len();
        let (scene, work, verifiers): (_, _, Arc<dyn Verifiers>) =
            (Arc::clone(&scene), work.clone(), Arc::clone(&context.verifiers));
        sitting
            .spawn(async move { (at, before, judge(&scene, &verifiers, &check, work, &mut orders).await) });
    }
    let mut together = None;
    loop {
        let joined = tokio::select! {
            biased;
            joined = sitting.join_next() => joined,
            () = wait(&mut together) => {
                together = None;
                heard.iter_mut().for_each(|heard| heard.tell(&say));
                continue;
            }
        };
        match joined {
            None => break,
            // Nothing of a verifier's runs in there, so that only a bug of ours could panic: then there is no
            // verdict, and the attempt is never accepted.
            Some(Err(_)) => {}
            Some(Ok((at, before, verdict))) => {
                heard[at] = match verdict {
                    Ok(verdict) => Heard::Verdict(unless_changed(context, verdict, before, &say)),
                    Err(Interrupted) => Heard::Told,
                };
            }
        }
        let silent = heard.iter().position(|heard| matches!(heard, Heard::Nothing)).unwrap_or(heard.len());
        heard[..silent].iter_mut().for_each(|heard| heard.tell(&say));
        if together.is_none() && heard.iter().any(|heard| matches!(heard, Heard::Verdict(_))) {
            let soon = context.clock.now().0.saturating_add(TOGETHER.0);
            together = Some(context.clock.until(Millis(soon)));
        }
    }
    heard.iter_mut().for_each(|heard| heard.tell(&say));
}

/// What was heard of one verifier.
enum Heard {
    /// It is at work.
    Nothing,
    /// What it said, and nobody was told yet.
    Verdict(Verdict),
    /// All there is was told.
    Told,
}

impl Heard {
    fn tell(&mut self, say: &impl Fn(Spoken)) {
        match std::mem::replace(self, Self::Told) {
            Self::Nothing => *self = Self::Nothing,
            Self::Verdict(verdict) => say(Spoken::Verdict(verdict)),
            Self::Told => {}
        }
    }
}

/// Puts back frozen files that were changed, and warns of each.
fn restore(context: &Context, when: &str, say: &impl Fn(Spoken)) -> Result<(), String> {
    let changed = context.files.restore()?;
    changed.iter().for_each(|path| say(Spoken::Warning(restored(path, when))));
    Ok(())
}

/// `verdict`, unless it accepts and a frozen file was another at some time since the first `before` of them
/// were put back: nobody knows what was looked at, and by what, then.
fn unless_changed(context: &Context, verdict: Verdict, before: usize, say: &impl Fn(Spoken)) -> Verdict {
    if let Err(why) = restore(context, "while it was checked", say) {
        return verdict.unless_sound(&why);
    }
    match context.files.restored().get(before..) {
        Some([changed, ..]) => verdict.unless_sound(&format!("`{changed}` was changed while it looked")),
        Some([]) | None => verdict,
    }
}
