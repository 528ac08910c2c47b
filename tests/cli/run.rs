//! `plan run` from the start to the end.

use serde_json::json;

use super::pack::Pack;

const MIXED: &str = r#"
command a { required = false, run = "echo '{\"v\": 1}'" }
command b { required = false, depends_on = [a], run = "echo oh >&2; exit 3" }
command c { depends_on = [b], required = false, run = "true" }
command d { depends_on = [a, b], join = "settled", run = "cat \"$PLAN_INPUTS_FILE\"" }
"#;

#[test]
fn a_run_is_told_shown_and_kept() {
    let pack = Pack::new(MIXED);
    let came = pack.run(&["--jobs", "1"]);
    assert_eq!(came.code, 0, "{came:?}");
    assert_eq!(came.err, "");
    for part in [
        "pass       a",
        "fail       b",
        "exit 3",
        "blocked    c",
        "completed, verdict valid",
        "2 of 3 advisory",
    ] {
        assert!(came.out.contains(part), "{part}: {}", came.out);
    }
    assert!(!came.out.contains('\x1b'), "a pipe gets no colours");

    let status = pack.status();
    let keys: Vec<&String> = status.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "schema",
            "run",
            "plan",
            "state",
            "exit",
            "verdict",
            "accepted",
            "spent_usd",
            "elapsed_s",
            "steps",
            "tasks",
            "verify",
            "warnings"
        ]
    );
    assert_eq!(
        status["tasks"]["a"],
        json!({"status": "pass", "note": null, "attempts": 1, "cost_usd": 0.0, "output": {"v": 1}, "files": [],
               "blocked": null, "instances": {}, "rounds": [], "verifiers": {}})
    );
    assert_eq!(status["tasks"]["c"]["blocked"], json!({"reason": "dependency", "task": "b"}));
    assert_eq!(status["tasks"]["d"]["output"]["b"]["status"], "fail");
    assert_eq!((&status["state"], &status["steps"]), (&json!("ended"), &json!(3)));

    let people = pack.plan(&["status"]);
    assert!(people.out.contains("blocked    c"), "{}", people.out);
    let runs = pack.plan(&["runs"]);
    assert!(runs.out.contains("completed  valid"), "{}", runs.out);
}

#[test]
fn a_bare_task_costs_two_files() {
    let pack = Pack::new("command a { run = \"true\" }\ncommand b { run = \"true\" }\n");
    assert_eq!(pack.run(&[]).code, 0);
    assert_eq!(pack.names(".plan/latest"), ["events.jsonl", "inputs", "logs", "plan.json", "run.json"]);
    assert_eq!(pack.names(".plan/latest/logs"), ["1.err", "1.out", "2.err", "2.out"]);
    assert_eq!(pack.names(".plan/latest/inputs").len(), 1, "equal inputs share a file");
}

#[test]
fn events_are_alone_on_standard_output() {
    let pack = Pack::new(MIXED);
    let came = pack.run(&["--format", "json"]);
    assert_eq!(came.code, 0);
    let events: Vec<serde_json::Value> =
        came.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kept = pack.events();
    assert_eq!(events.len(), kept.len());
    for (event, kept) in events.iter().zip(&kept) {
        let mut kept = kept.as_object().unwrap().clone();
        assert!(kept.shift_remove("disk").is_some() && kept.shift_remove("prev").is_some());
        assert_eq!(event, &serde_json::Value::Object(kept));
    }
}

#[test]
fn a_refused_plan_leaves_nothing() {
    for (plan, part) in [
        ("command a { run = \"true\", depends_on = [nobody] }", "nobody"),
        ("param n: integer\ncommand a { run = \"true\", env = { N = f\"{n}\" } }", "n"),
    ] {
        let pack = Pack::new(plan);
        let came = pack.run(&[]);
        assert_eq!(came.code, 1, "{came:?}");
        assert!(came.err.contains(part), "{}", came.err);
        assert_eq!(pack.names(""), ["p.plan"]);
    }
    let pack = Pack::new("command a { run = \"true\" }");
    assert_eq!(pack.plan(&["run", "--plan", "none.plan"]).code, 1);
    assert_eq!(pack.plan(&["run"]).code, 2);
    assert_eq!(pack.plan(&["run", "--plan", "p.plan", "--jobs", "0"]).code, 2);
    assert_eq!(pack.plan(&["run", "--plan", "p.plan", "--max-time", "5"]).code, 2);
    assert_eq!(pack.plan(&["status"]).code, 1);
    assert_eq!(pack.names(""), ["p.plan"]);
}

#[test]
fn a_dry_run_starts_nothing() {
    let pack = Pack::new(MIXED);
    let came = pack.run(&["--dry-run", "--max-time", "5m"]);
    assert_eq!(came.code, 0, "{came:?}");
    assert!(came.out.contains("command   d  after a, b"), "{}", came.out);
    assert!(came.out.contains("at most 5m"), "{}", came.out);
    assert_eq!(pack.names(""), ["p.plan"]);
}

#[test]
fn the_first_cause_is_named_first() {
    let pack = Pack::new(
        r#"
command ok   { run = "true" }
command bad  { depends_on = [ok], run = "echo broken >&2; exit 7", emits_files = ["left.txt"] }
command next { depends_on = [bad], run = "true" }
command last { depends_on = [next], run = "true" }
command tidy { stage = "epilogue", run = "true" }
"#,
    );
    let came = pack.run(&[]);
    assert_eq!(came.code, 3, "{came:?}");
    let summary = &came.out[came.out.find("first cause").expect("a first cause")..];
    assert!(summary.starts_with("first cause: `bad` failed: exit 7"), "{summary}");
    assert!(summary.contains("logs/2.err"), "{summary}");
    assert!(summary.contains("did not run, because `bad` failed:"), "{summary}");
    assert!(summary.contains("`next`") && summary.contains("`last`"), "{summary}");
    assert!(summary.contains("failed, verdict invalid"), "{summary}");
    assert_eq!(pack.run(&["--quiet"]).code, 3);
    let quiet = Pack::new("command a { run = \"echo x\" }").run(&["--quiet"]);
    assert_eq!((quiet.code, quiet.out.as_str(), quiet.err.as_str()), (0, "", ""));
}

#[test]
fn captured_files_have_a_place() {
    let pack = Pack::new(
        "command a { run = \"mkdir -p out; echo hi > out/r.txt\", emits_files = [\"out/r.txt\"] }\n\
         command b { depends_on = [a], run = \"cat $PLAN_FILES/a/out/r.txt > got; ls -ld $PLAN_FILES/a > mode\" }\n",
    );
    let came = pack.run(&[]);
    assert_eq!(came.code, 0, "{came:?}");
    assert_eq!(pack.read("got"), "hi\n");
    assert!(pack.read("mode").starts_with("dr-x------"));
    let line = came.out.lines().find(|line| line.contains("file  out/r.txt")).expect("the file is listed");
    let place = line.split_whitespace().last().unwrap();
    assert_eq!(pack.read(place), "hi\n");
    assert!(!pack.file(".plan/latest/staged").exists(), "staged files can be made again");
    assert_eq!(pack.plan(&["evidence", "--verify"]).code, 0);
    std::fs::write(pack.file(place), "ho\n").unwrap();
    let came = pack.plan(&["evidence", "--verify"]);
    assert_eq!(came.code, 1);
    assert!(came.err.contains("out/r.txt"), "{}", came.err);
}

#[test]
fn a_workspace_is_a_directory() {
    let pack = Pack::new("command a { run = \"true\" }\n");
    pack.write("file", "");
    let came = pack.run(&["--workspace", "file"]);
    assert_eq!(came.code, 1, "{came:?}");
    assert!(came.err.contains("cannot use `file` as the workspace: it is not a directory"), "{}", came.err);
    assert_eq!(pack.names(".plan"), Vec::<String>::new(), "nothing was made");
}

/// Files and directories below the newest run.
fn made(pack: &Pack) -> (usize, usize) {
    let (mut files, mut directories) = (0, 0);
    let mut open = vec![std::fs::canonicalize(pack.file(".plan/latest")).unwrap()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                directories += 1;
                open.push(entry.path());
            } else {
                files += 1;
            }
        }
    }
    (files, directories)
}

#[test]
fn one_more_bare_task_makes_two_files_and_no_directory() {
    let pack = Pack::new("command a { run = \":\" }\n");
    assert_eq!(pack.run(&[]).code, 0);
    let (files, directories) = made(&pack);
    pack.write("p.plan", "command a { run = \":\" }\ncommand b { run = \":\" }\n");
    assert_eq!(pack.run(&[]).code, 0);
    assert_eq!(made(&pack), (files + 2, directories));
}

#[test]
fn a_dry_run_is_one_document_and_says_what_the_run_would() {
    let pack = Pack::new(
        "command a { run = \"true\" }\ncommand b { depends_on = [a], needs = [\"gpu\"], run = \"true\" }",
    );
    let came = pack.run(&["--dry-run", "--format", "json", "--cap", "gpu"]);
    assert_eq!((came.code, came.err.as_str()), (0, ""), "{came:?}");
    let document: serde_json::Value = serde_json::from_str(&came.out).unwrap();
    assert_eq!(document["truncated"], json!(null));
    assert_eq!(
        document["tasks"][1],
        json!({"name": "b", "kind": "command", "after": ["a"], "required": true, "stage": "main",
               "fans_out": false, "conditional": false, "skipped": null, "changed": null})
    );
    let came = pack.run(&["--dry-run", "--format", "json"]);
    assert_eq!(came.code, 3, "{came:?}");
    let document: serde_json::Value = serde_json::from_str(&came.out).unwrap();
    assert!(document["truncated"].as_str().unwrap().contains('b'), "{document}");
    assert_eq!(pack.run(&["--dry-run"]).code, 3);
    assert_eq!(pack.run(&[]).code, 3);
}

#[test]
fn output_that_cannot_be_written_is_told() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let pack = Pack::new("command a { run = \"true\" }");
    let run = |arguments: &[&str]| {
        let words = [&["run", "--plan", "p.plan"], arguments].concat();
        super::pack::came(pack.command(&words).stdout(full()).output().unwrap())
    };
    let came = run(&[]);
    assert_eq!(came.code, 0, "{came:?}");
    assert_eq!(came.err.lines().count(), 1, "{came:?}");
    assert!(came.err.contains("cannot write to standard output"), "{came:?}");
    let came = run(&["--format", "json"]);
    assert_eq!(came.code, 1, "{came:?}");
    assert!(came.err.contains("events are missing on standard output"), "{came:?}");
    pack.write("p.plan", "report r { template = \"t.md\", to = \"stdout\" }");
    pack.write("t.md", "hello");
    let came = run(&[]);
    assert_eq!(came.code, 3, "{came:?}");
    let note = pack.status()["tasks"]["r"]["note"].as_str().unwrap().to_owned();
    assert!(note.contains("cannot be written to standard output"), "{note}");
}

#[test]
fn a_fan_out_keeps_no_copy_of_its_list_for_each_instance() {
    let pack = Pack::in_memory(
        r#"
command l { run = "seq 1 60 | sed 's/.*/\"&-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"/' | paste -sd, | sed 's/.*/{\"l\": [&]}/'", emits = { l: [string] } }
command e { depends_on = [l], over = l.l, run = "test -s $PLAN_INPUTS_FILE" }
"#,
    );
    let came = pack.run(&[]);
    assert_eq!(came.code, 0, "{came:?}");
    assert!(pack.names(".plan/latest/inputs").len() <= 1, "{:?}", pack.names(".plan/latest/inputs"));
}
