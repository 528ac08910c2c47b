//! Nothing stands in for an outcome that is not there.

use plan::exec::ports::Outcome;

fn defaulted(looked: Result<Outcome, String>) -> Outcome {
    looked.unwrap_or_default()
}

fn main() {}
