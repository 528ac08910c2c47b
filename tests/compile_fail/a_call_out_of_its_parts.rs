//! Nor put it together from its parts.

use plan::exec::ports::{Call, Outcome, Verifier, Work};

async fn past_the_runner(verifier: &dyn Verifier, work: Work) -> Outcome {
    verifier.verify(&Call { work }).await
}

fn main() {}
