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
