//! Reports: rendered by the engine, kept below the run's directory or shown (LANGUAGE §4).

use super::pack::{Pack, came};

const PLAN: &str = r#"
command scan { secrets = ["TOKEN"], run = 'echo "{\"found\": 3, \"seen\": \"<$TOKEN>\"}"' }
report  page { depends_on = [scan], template = "page.html", to = "out/page.html", result = scan }
report  said { stage = "epilogue", template = "said.md", to = "stdout" }
"#;

fn pack() -> Pack {
    let pack = Pack::new(PLAN);
    pack.write("page.html", "<p>{{ result.found }} {{ scan.seen }}</p>\n");
    pack.write("said.md", "it {{ outcome.exit }}\n\nsaw {{ outcome.tasks.scan.output.seen }}\n");
    pack
}

#[test]
fn reports_are_written_shown_and_masked() {
    let pack = pack();
    let run = |arguments: &[&str]| came(pack.command(arguments).env("TOKEN", "a&b<c").output().unwrap());
    let ran = run(&["run", "--plan", "p.plan"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    assert_eq!(pack.read(".plan/latest/out/page.html"), "<p>3 &lt;***&gt;</p>\n");
    assert!(ran.out.contains("it completed\n\nsaw <***>\n"), "{}", ran.out);
    assert_eq!(run(&["logs", "latest", "said"]).out, "it completed\n\nsaw <***>\n");
    let quiet = run(&["run", "--plan", "p.plan", "--quiet"]);
    assert_eq!(quiet.out, "it completed\n\nsaw <***>\n");

    let events = run(&["run", "--plan", "p.plan", "--format", "json"]);
    assert_eq!(events.code, 0, "{events:?}");
    for line in events.out.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    assert_eq!(events.err, "it completed\n\nsaw <***>\n", "standard output is the events'");
}

#[test]
fn a_name_that_is_missing_fails_the_report() {
    let pack = pack();
    pack.write("page.html", "<p>\n{{ scan.absent }}</p>\n");
    let ran = came(pack.command(&["run", "--plan", "p.plan"]).env("TOKEN", "a&b<c").output().unwrap());
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("`page.html`, line 2: `scan.absent` is undefined"), "{}", ran.out);
    assert!(!pack.file(".plan/latest/out/page.html").exists());
    assert!(ran.out.contains("it failed\n"), "the epilogue tells of it: {}", ran.out);
}

#[test]
fn a_report_keeps_off_what_the_run_keeps() {
    for to in ["events.jsonl", "logs/1.out", "./run.json", "store/x", ".hidden", "../x"] {
        let pack = pack();
        pack.write("p.plan", &format!("report page {{ template = \"page.html\", to = \"{to}\" }}"));
        let ran = pack.run(&[]);
        assert_eq!(ran.code, 1, "{to}: {ran:?}");
        assert!(!pack.file(".plan").exists(), "{to}");
    }
}

/// What people read at the end of a run, and of its status.
fn told(pack: &Pack, arguments: &[&str]) -> [String; 2] {
    [pack.run(arguments).out, pack.plan(&["status"]).out]
}

#[test]
fn gates_and_verifiers_that_do_not_hold_are_told_with_their_logs() {
    let pack = Pack::new(
        r#"
command a {
    run = "true"
    verify style { required = false, run = "echo ugly >&2; exit 1" }
}
verify g1 { required = false, run = "echo nope >&2; exit 2" }
verify g2 { run = "true" }
"#,
    );
    for out in told(&pack, &[]) {
        assert!(out.contains("`g1` (advisory) rejected"), "{out}");
        assert!(out.contains("`style` of `a` (advisory) rejected"), "{out}");
        for log in ["logs/gates.1.g1.err", "logs/1.style.err"] {
            let place = out
                .split_whitespace()
                .find(|word| word.ends_with(log))
                .unwrap_or_else(|| panic!("{log}: {out}"));
            assert!(pack.file(place).exists(), "{place}");
        }
    }
    let status = pack.plan(&["status"]).out;
    assert!(
        status.contains("rejected   g1  advisory gate") && status.contains("accepted   g2  gate"),
        "{status}"
    );
    let logs = pack.plan(&["logs", "latest", "g1"]);
    assert_eq!((logs.code, logs.err.as_str()), (0, "nope\n"), "{logs:?}");
}

#[test]
fn what_failed_besides_is_told_with_its_files_and_what_held_with_its_owner() {
    let pack = Pack::new(
        r#"
command a { required = false, run = "echo one > bad.txt; exit 3", emits_files = ["bad.txt"] }
command l { run = "echo '{\"l\": [\"x\"]}'", emits = { l: [string] } }
command b { depends_on = [l], over = l.l, run = "echo $PLAN_ITEM > out.txt", emits_files = ["out.txt"] }
report  r { template = "t.md", to = "report.md" }
"#,
    );
    pack.write("t.md", "hello");
    for out in told(&pack, &[]) {
        assert!(out.contains("`a` (advisory) failed") && out.contains("    file  bad.txt  "), "{out}");
        assert!(out.contains("`b[x]`  file  out.txt  "), "{out}");
        let line = out.lines().find(|line| line.contains("  `r`  ")).unwrap_or_else(|| panic!("{out}"));
        assert_eq!(pack.read(line.split_whitespace().last().unwrap()), "hello");
    }
}

#[test]
fn what_could_not_be_prepared_is_the_first_cause() {
    let pack = Pack::new(
        "command a { cwd = \"gone\", run = \"true\" }\ncommand b { depends_on = [a], run = \"true\" }",
    );
    for out in told(&pack, &[]) {
        assert!(out.contains("first cause: `a` did not run: "), "{out}");
        assert!(!out.contains("did not run, because it could not be prepared"), "{out}");
    }
}

#[test]
fn the_cause_is_followed_through_mapped_tasks() {
    let pack = Pack::new(
        r#"
command l { run = "echo '{\"l\": [\"a\", \"b\"]}'", emits = { l: [string] } }
command e { depends_on = [l], over = l.l, required = false, run = "test $PLAN_ITEM = a" }
command f { depends_on = [l, e], over = l.l, required = false, run = "true" }
command g { depends_on = [f], required = false, run = "true" }
"#,
    );
    let [out, _] = told(&pack, &[]);
    let status = pack.status();
    let note = status["tasks"]["g"]["note"].as_str().unwrap();
    assert!(note.starts_with("`f` failed, because `e[b]` failed"), "{note}");
    assert!(out.contains("did not run, because `e[b]` failed:"), "{out}");
}

#[test]
fn an_early_end_says_who_ended_it_and_what_did_not_run() {
    let pack = Pack::new(
        r#"
command a { may_complete = true, run = "echo '{\"complete\": true, \"reason\": \"enough\"}'" }
command b { depends_on = [a], run = "true" }
"#,
    );
    for out in told(&pack, &[]) {
        assert!(out.contains("ended early by `a`: enough"), "{out}");
        assert!(out.contains("did not run, because the run ended early:\n  `b`\n"), "{out}");
    }
}
