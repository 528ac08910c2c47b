//! Any bytes are answered by `plan check` and `plan fmt`: no panic, every place inside the text, and a text
//! that is formatted means what it meant, and stays as it is when it is formatted again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plan::compile::{Bindings, Compiled, compile};
use plan::diag::machine::Findings;
use plan::diag::render::{self, Look};
use plan::fmt;
use plan::ir::dump;
use plan::load::Pack;
use plan::source::Sources;

fuzz_target!(|bytes: &[u8]| {
    let before = check(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        assert!(before.diagnostics.has_errors(), "bytes that are no text have an error");
        return;
    };
    let Some(once) = formatted(text) else {
        assert!(before.diagnostics.has_errors(), "a plan without errors can be formatted");
        return;
    };
    let after = check(once.as_bytes());
    assert_eq!(meaning(&before), meaning(&after), "formatted to\n{once}");
    assert_eq!(formatted(&once).as_deref(), Some(once.as_str()), "formatted twice");
});

fn check(bytes: &[u8]) -> Compiled {
    let mut pack = Pack::in_memory();
    pack.set("case.plan", bytes);
    let compiled = compile(&mut pack, "case.plan".into(), &Bindings::check());
    for found in compiled.diagnostics.iter() {
        let source = compiled.sources.get(found.span.file);
        assert!(source.text().get(found.span.range()).is_some(), "a place outside the text: {found:?}");
    }
    render::text(&compiled.sources, compiled.diagnostics.iter(), Look { colour: true, width: Some(60) });
    let findings = || Findings::new([(&compiled.sources, &compiled.diagnostics)]);
    for document in [findings().json(), findings().sarif()] {
        serde_json::from_str::<serde_json::Value>(&document).expect("findings are JSON");
    }
    findings().github();
    compiled
}

fn formatted(text: &str) -> Option<String> {
    let mut sources = Sources::new();
    let file = sources.add("case.plan", text);
    fmt::format(&sources, file).ok()
}

/// What the plan is, as `plan show --format json` says it; none if it has errors.
fn meaning(compiled: &Compiled) -> Option<String> {
    let plan = compiled.plan.as_ref()?;
    Some(serde_json::to_string(&dump::document(plan)).expect("a plan is JSON"))
}
