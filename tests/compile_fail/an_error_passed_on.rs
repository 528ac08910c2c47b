//! Nor pass one on.

use plan::exec::ports::{Boxed, Call, Outcome, Verifier};

struct Careless;

impl Verifier for Careless {
    fn identity(&self) -> plan::source::Text {
        "careless".into()
    }

    fn verify<'a>(&'a self, call: &'a Call) -> Boxed<'a, Outcome> {
        Box::pin(async move {
            let _file = call.open("report.txt")?;
            Outcome::pass("")
        })
    }
}

fn main() {}
