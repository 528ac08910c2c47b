//! Nobody but the runner can make what a verifier is called with.

use plan::exec::ports::Call;

fn main() {
    let _past_the_runner = Call::new;
}
