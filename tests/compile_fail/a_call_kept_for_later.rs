//! Nor keep one for later.

use plan::exec::ports::Call;

fn kept(call: &Call) -> Call {
    call.clone()
}

fn main() {}
