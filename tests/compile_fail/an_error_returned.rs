//! A verifier cannot return an error, only say what it means.

use plan::exec::ports::Outcome;

fn looked() -> Outcome {
    Err("could not look")
}

fn main() {}
