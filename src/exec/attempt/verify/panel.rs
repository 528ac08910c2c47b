//! The verifiers of one attempt, or of the plan: called side by side, heard in the order declared.
//!
//! Unaware of what their verdicts come to.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Interrupted, Subject, Verdict, judge, set};
use crate::event::VerifierMode;
use crate::exec::attempt::note::restored;
use crate::exec::attempt::{Context, Orders};
use crate::exec::ports::Verifiers;
use crate::ir;
use crate::source::Text;

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
    let mut verdicts: Vec<Option<Result<Verdict, Interrupted>>> = checks.iter().map(|_| None).collect();
    let mut sitting = JoinSet::new();
    for (at, (check, mut orders)) in checks.into_iter().enumerate() {
        match context.files.restore() {
            Ok(changed) => {
                changed.iter().for_each(|path| say(Spoken::Warning(restored(path, "before it was checked"))));
            }
            Err(why) => {
                let verdict = Verdict::failing(&check, Text::default(), VerifierMode::Error, &why);
                sitting.spawn(std::future::ready((at, Ok(verdict))));
                continue;
            }
        }
        let (scene, work, verifiers): (_, _, Arc<dyn Verifiers>) =
            (Arc::clone(&scene), work.clone(), Arc::clone(&context.verifiers));
        sitting.spawn(async move { (at, judge(&scene, &verifiers, &check, work, &mut orders).await) });
    }
    let mut next = 0;
    while let Some(joined) = sitting.join_next().await {
        // Nothing of a verifier's runs in there, so that only a bug of ours could panic: then there is no
        // verdict, and the attempt is never accepted.
        let Ok((at, verdict)) = joined else { continue };
        verdicts[at] = Some(verdict);
        while let Some(Some(verdict)) = verdicts.get_mut(next).map(Option::take) {
            next += 1;
            if let Ok(verdict) = verdict {
                say(Spoken::Verdict(verdict));
            }
        }
    }
}
