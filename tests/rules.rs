//! Every rule holds to its own examples, and every code of the program is in the catalog.

use std::collections::BTreeSet;

use camino::Utf8Path;
use plan::catalog;
use plan::compile::{Bindings, compile};
use plan::diag::render::{self, Look};
use plan::load::Pack;
use plan::validate::rules::RULES;

/// The codes that a plan raises, and what a person would read.
fn found(text: &str) -> (BTreeSet<&'static str>, String) {
    let mut pack = Pack::in_memory();
    pack.set("page.md", "{{ audit }}\n");
    pack.set("broken.md", "{% if audit %}\n");
    pack.set("example.plan", text);
    let compiled = compile(&mut pack, Utf8Path::new("example.plan"), &Bindings::check());
    let look = Look { colour: false, width: None };
    let drawn = render::text(&compiled.sources, compiled.diagnostics.iter(), look);
    (compiled.diagnostics.iter().map(|finding| finding.code.id).collect(), drawn)
}

#[test]
fn bad_examples_raise_their_code_alone_and_good_ones_nothing() {
    let mut wrong = String::new();
    for rule in RULES {
        let id = rule.code.id;
        let (codes, drawn) = found(rule.bad);
        if codes != BTreeSet::from([id]) {
            wrong.push_str(&format!("\n{id}: its bad example raises {codes:?}\n{drawn}"));
        }
        let (codes, drawn) = found(rule.good);
        if !codes.is_empty() {
            wrong.push_str(&format!("\n{id}: its good example raises {codes:?}\n{drawn}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn good_examples_are_in_the_one_style() {
    for rule in RULES {
        for text in [rule.bad, rule.good] {
            let mut sources = plan::source::Sources::new();
            let file = sources.add("example.plan", text);
            let formatted = plan::fmt::format(&sources, file).expect("examples parse");
            assert_eq!(text.trim_start(), formatted, "{}", rule.code.id);
        }
    }
}

/// Every `id: "plan::…"` in the source, tests aside.
fn ids_in(directory: &Utf8Path, ids: &mut BTreeSet<String>) {
    for entry in directory.read_dir_utf8().unwrap() {
        let path = entry.unwrap().into_path();
        if path.is_dir() {
            ids_in(&path, ids);
        } else if path.extension() == Some("rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            ids.extend(code.split("id: \"").skip(1).filter_map(|rest| {
                let id = rest.split('"').next()?;
                id.starts_with("plan::").then(|| id.to_owned())
            }));
        }
    }
}

#[test]
fn every_code_is_in_the_catalog() {
    let mut ids = BTreeSet::new();
    ids_in(&Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut ids);
    let listed: BTreeSet<String> = catalog::entries().iter().map(|entry| entry.code.id.to_owned()).collect();
    assert_eq!(ids, listed);
}
