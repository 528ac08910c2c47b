//! What authors read: every `tests/ui/<area>/*.plan` beside what `plan check` says of it.
//!
//! The header of a fixture names the codes that it raises, in order: `# expect: plan::area::problem`. So
//! accepting snapshots in bulk can change wording, never which code fires.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use plan::compile::{Bindings, Compiled, compile};
use plan::diag::machine::Findings;
use plan::diag::render::{self, Look};
use plan::load::Pack;
use plan::source::Sources;

fn check(path: &Utf8Path) -> Compiled {
    let mut pack = Pack::around(path).0;
    // What people read names the file alone, wherever the fixtures lie.
    let entry = path.file_name().expect("a fixture is a file");
    let mut found = compile(&mut pack, Utf8Path::new(entry), &Bindings::check());
    let mut short = Sources::new();
    for (_, source) in found.sources.iter() {
        let name = source.path().strip_prefix(path.parent().unwrap_or(path)).unwrap_or(source.path());
        short.add(name, source.text());
    }
    found.sources = short;
    found
}

fn expected(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("# expect: ")).collect()
}

/// Every fixture below `tests/ui`, with its text.
fn fixtures() -> Vec<(Utf8PathBuf, String)> {
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let mut found = Vec::new();
    for area in root.read_dir_utf8().unwrap() {
        for entry in area.unwrap().path().read_dir_utf8().unwrap() {
            let path = entry.unwrap().into_path();
            if path.extension() == Some("plan") {
                let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                found.push((path, text));
            }
        }
    }
    found.sort();
    assert!(found.len() > 50, "the fixtures are gone");
    found
}

#[test]
fn ui() {
    let mut wrong = String::new();
    for (path, text) in fixtures() {
        let found = check(&path);
        let codes: Vec<&str> = found.diagnostics.iter().map(|finding| finding.code.id).collect();
        let look = Look { colour: false, width: None };
        let drawn = render::text(&found.sources, found.diagnostics.iter(), look);
        if codes != expected(&text) {
            wrong.push_str(&format!("\n{path} raises {codes:?}\n{drawn}"));
            continue;
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(path.parent().unwrap());
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(path.file_stem().unwrap(), drawn));
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Whatever prefix of a fixture an editor sends: an answer, and places inside the text.
#[test]
fn every_prefix_of_every_fixture_is_answered() {
    for (path, text) in fixtures() {
        let mut pack = Pack::in_memory();
        // Limits take their time, and say nothing new of each prefix.
        let slow = ["plan::for::too_many", "plan::value::too_large"];
        let slow = expected(&text).iter().any(|code| slow.contains(code));
        for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
            let mut sources = Sources::new();
            let file = sources.add("prefix.plan", &text[..end]);
            let _ = plan::syntax::parse(&sources, file);
            if slow || end % 5 != 0 {
                continue;
            }
            pack.set("prefix.plan", &text[..end]);
            let found = compile(&mut pack, Utf8Path::new("prefix.plan"), &Bindings::check());
            assert!(found.plan.is_some() || found.diagnostics.has_errors(), "{path} {end}");
            let look = Look { colour: false, width: None };
            let drawn = render::text(&found.sources, found.diagnostics.iter(), look);
            assert_eq!(drawn.is_empty(), found.diagnostics.is_empty(), "{path} {end}");
            for finding in found.diagnostics.iter() {
                let length = found.sources.get(finding.span.file).text().len();
                let range = finding.span.range();
                assert!(range.start <= range.end && range.end <= length, "{path} {end} {finding:?}");
            }
            let document = Findings::new([(&found.sources, &found.diagnostics)]).json();
            let value: serde_json::Value = serde_json::from_str(&document).unwrap();
            assert_eq!(value["errors"] == 0, !found.diagnostics.has_errors());
        }
    }
}

/// Codes of layers that no rule raises have a fixture each, unless it would be enormous.
#[test]
fn every_code_of_the_compiler_has_a_fixture() {
    let mut raised =
        BTreeSet::from(["plan::syntax::too_many_findings", "plan::syntax::too_large"].map(str::to_owned));
    for (_, text) in fixtures() {
        raised.extend(expected(&text).into_iter().map(str::to_owned));
    }
    let codes = plan::syntax::CODES.iter().chain(plan::lower::CODES);
    let missing: Vec<&str> = codes.map(|code| code.id).filter(|id| !raised.contains(*id)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "no fixture raises these");
}

#[test]
fn ten_thousand_findings_are_enough() {
    let mut pack = Pack::in_memory();
    pack.set("many.plan", "comand a {}\n".repeat(20_000));
    let found = compile(&mut pack, Utf8Path::new("many.plan"), &Bindings::check());
    assert!(found.diagnostics.iter().any(|finding| finding.code.id == "plan::syntax::too_many_findings"));
}

/// Constants that hold each other twice, or one in the other, are refused where they pass the bound: what
/// reads them, shows them or drops them would never end.
#[test]
fn nothing_is_larger_than_it_can_be_walked() {
    let built = |first: &str, next: fn(usize) -> String, last: usize| {
        let lets: String = (1..=last).map(|at| format!("let a{at} = {}\n", next(at - 1))).collect();
        format!("let a0 = {first}\n{lets}for x in a{last} {{\n    command y {{ run = \"true\" }}\n}}\n")
    };
    let cases: [(&str, String); 4] = [
        ("this list holds more", built("[1, 2]", |at| format!("[a{at}, a{at}]"), 59)),
        ("this map holds more", built("{ x = 1 }", |at| format!("{{ x = a{at}, y = a{at} }}"), 59)),
        ("this list holds more", built("[1, 2]", |at| format!("[a{at}] + [a{at}]"), 59)),
        ("nests more than 256 deep", built("[1]", |at| format!("[a{at}]"), 20_000)),
    ];
    for (expected, text) in cases {
        let mut pack = Pack::in_memory();
        pack.set("large.plan", text);
        let started = std::time::Instant::now();
        let found = compile(&mut pack, Utf8Path::new("large.plan"), &Bindings::check());
        let took = started.elapsed();
        let large = found.diagnostics.iter().filter(|found| found.code.id == "plan::value::too_large");
        let said: Vec<&str> = large.map(|found| found.message.as_str()).collect();
        assert!(matches!(said.as_slice(), [one] if one.contains(expected)), "{expected}: {said:?}");
        assert!(took.as_secs() < 5, "{expected}: {took:?}");
    }
}
