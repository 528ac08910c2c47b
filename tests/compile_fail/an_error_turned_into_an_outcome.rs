//! Nothing turns an error into an outcome.

use plan::exec::ports::Outcome;

fn converted(looked: Result<(), String>) -> Outcome {
    looked.into()
}

fn main() {}
