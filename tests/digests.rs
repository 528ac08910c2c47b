//! Which changes to a plan make it another plan, and which ones change its gates.

use camino::Utf8Path;
use plan::compile::{Bindings, compile};
use plan::ir::dump::{self, Document};
use plan::load::Pack;

const PLAN: &str = r#"## About the plan.
plan "p" { goal = "It works." }

param level: string = "high"

for x in ["a", "b"] {
    evaluate f"judge-{x}" { run = ["./judge.sh", x], env = { L = level }, threshold = 0.5, direction = "higher" }
}

## About the task.
command last {
    depends_on = [judge-a, judge-b]
    run        = "./last.sh"
    verify ok { run = "./ok.sh" }
}

verify whole { run = "make check" }
"#;

fn document(text: &str) -> Document {
    let mut pack = Pack::in_memory();
    pack.set("p.plan", text);
    let compiled = compile(&mut pack, Utf8Path::new("p.plan"), &Bindings::check());
    dump::document(&compiled.plan.unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics)))
}

fn changed(from: &str, to: &str) -> (bool, bool) {
    assert!(PLAN.contains(from), "{from}");
    let (before, after) = (document(PLAN), document(&PLAN.replace(from, to)));
    (
        dump::plan_digest(&before) != dump::plan_digest(&after),
        dump::gates_fingerprint(&before) != dump::gates_fingerprint(&after),
    )
}

#[test]
fn what_only_people_read_changes_nothing() {
    for (from, to) in [
        ("## About the task.\n", "## Told otherwise.\n"),
        ("## About the plan.\n", "\n\n# A comment.\n"),
        ("for x in [\"a\", \"b\"]", "for x in\n    [\"a\",   \"b\"]"),
        ("f\"judge-{x}\" { run = [\"./judge.sh\", x]", "f\"judge-{x}\" { run = [\"./judge.sh\"] + [x]"),
    ] {
        assert_eq!(changed(from, to), (false, false), "{from}");
    }
}

#[test]
fn what_a_run_does_makes_another_plan() {
    for (from, to) in [
        ("./last.sh", "./first.sh"),
        ("It works.", "It flies."),
        ("= \"high\"", "= \"low\""),
        ("[judge-a, judge-b]", "[judge-b, judge-a]"),
    ] {
        assert_eq!(changed(from, to), (true, false), "{from}");
    }
}

#[test]
fn what_accepts_work_changes_the_gates() {
    for (from, to) in [
        ("threshold = 0.5", "threshold = 0.4"),
        ("./ok.sh", "true"),
        ("make check\"", "make check\", required = false"),
        ("command last {", "command last {\n    required = false"),
    ] {
        assert_eq!(changed(from, to), (true, true), "{from}");
    }
    let names: Vec<String> = dump::gates(&document(PLAN)).keys().map(ToString::to_string).collect();
    let wanted = [
        "verify whole",
        "judge-a",
        "judge-a: threshold",
        "judge-b",
        "judge-b: threshold",
        "last",
        "last: verify ok",
    ];
    assert_eq!(names, wanted);
}

#[test]
fn a_document_is_read_as_it_was_written() {
    let directory = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lower");
    for entry in directory.read_dir_utf8().unwrap() {
        let path = entry.unwrap().into_path();
        if path.extension() != Some("plan") {
            continue;
        }
        let (mut pack, entry) = Pack::around(&path);
        let compiled = compile(&mut pack, &entry, &Bindings::check());
        let document = dump::document(&compiled.plan.expect("no error was found"));
        let written = serde_json::to_string(&document).unwrap();
        let read: Document = serde_json::from_str(&written).unwrap();
        assert_eq!(read, document, "{path}");
        assert_eq!(dump::plan_digest(&read), dump::plan_digest(&document), "{path}");
    }
}
