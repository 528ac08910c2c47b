//! Logs, evidence, the list of runs, and their end.

use std::process::Stdio;

use super::pack::{Pack, came};

#[test]
fn streams_of_a_task_come_apart() {
    let pack = Pack::new(
        r#"
command list { run = "echo '{\"l\": [\"x\", \"y\"]}'", emits = { l: [string] } }
command a { retries = 1, run = "echo out; echo err >&2; test -e again || { touch again; exit 75; }" }
command m { depends_on = [list], over = list.l, run = "echo item $PLAN_ITEM" }
"#,
    );
    assert_eq!(pack.run(&["--jobs", "1"]).code, 0);
    let logs = pack.plan(&["logs", "latest", "a"]);
    assert_eq!((logs.out.as_str(), logs.err.as_str()), ("out\n", "err\n"));
    assert_eq!(pack.plan(&["logs", "latest", "a", "--all"]).out, "out\nout\n");
    assert_eq!(pack.plan(&["logs", "latest", "a", "--attempt", "1"]).out, "out\n");
    assert_eq!(pack.plan(&["logs", "latest", "a", "--attempt", "3"]).code, 1);
    assert_eq!(pack.plan(&["logs", "latest", "m"]).out.lines().count(), 2);
    assert_eq!(pack.plan(&["logs", "latest", "m[y]"]).out.lines().count(), 1);
    let unknown = pack.plan(&["logs", "latest", "lits"]);
    assert_eq!(unknown.code, 1);
    assert!(unknown.err.contains("did you mean `list`?"), "{}", unknown.err);
    assert_eq!(pack.plan(&["logs", "2000", "a"]).code, 1);
}

#[test]
fn a_live_task_is_followed_to_its_end() {
    let pack = Pack::new(
        "command a { run = \"echo one; touch started; until [ -e go ]; do sleep 0.02; done; echo two\" }",
    );
    let mut run = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::null()).spawn().unwrap();
    pack.wait_for("started");
    let status = pack.status();
    assert_eq!(
        (status["state"].as_str(), status["tasks"]["a"]["status"].as_str()),
        (Some("running"), Some("running"))
    );
    // Nothing is logged meanwhile, and time goes on.
    std::thread::sleep(std::time::Duration::from_millis(30));
    assert!(pack.status()["elapsed_s"].as_f64() >= status["elapsed_s"].as_f64().map(|before| before + 0.03));
    let follow = pack.command(&["logs", "latest", "a", "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(150));
    pack.write("go", "");
    assert_eq!(came(follow.wait_with_output().unwrap()).out, "one\ntwo\n");
    assert!(run.wait().unwrap().success());
}

#[test]
fn streams_that_are_gone_are_missed() {
    let pack = Pack::new("command a { run = \"true\" }");
    assert_eq!(pack.run(&[]).code, 0);
    let quiet = pack.plan(&["logs", "latest", "a"]);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""), "it has said nothing, and that is there");
    for stream in ["1.out", "1.err"] {
        std::fs::remove_file(pack.path().join(".plan/latest/logs").join(stream)).unwrap();
    }
    let gone = pack.plan(&["logs", "latest", "a"]);
    assert!(gone.err.starts_with("plan: attempt 1 of `a` has no streams in `"), "{gone:?}");
}

#[test]
fn a_live_status_says_how_long() {
    let pack = Pack::new(
        "command a { run = \"touch started; until [ -e go ]; do sleep 0.02; done\" }\ncommand b { depends_on = [a], run = \"true\" }",
    );
    let child = pack.command(&["run", "--plan", "p.plan", "--quiet"]).spawn().unwrap();
    pack.wait_for("started");
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let status = pack.plan(&["status"]).out;
    pack.write("go", "");
    let ended = child.wait_with_output().unwrap();
    let times: Vec<&str> = status.lines().filter(|line| line.contains("running")).collect();
    let says_time = |line: &str| {
        line.split_whitespace()
            .filter_map(|word| word.strip_suffix('s')?.parse::<f64>().ok())
            .any(|s| s >= 1.0)
    };
    assert!(times.len() == 2 && times.iter().all(|line| says_time(line)), "{status}");
    assert!(ended.status.success());
    let status = pack.plan(&["status"]).out;
    assert!(status.contains("\n  pass       a\n"), "{status}");
}

#[test]
fn an_edited_log_is_refused_by_line() {
    let pack = Pack::new("command a { run = \"true\" }\ncommand b { depends_on = [a], run = \"true\" }\n");
    assert_eq!(pack.run(&[]).code, 0);
    assert_eq!(pack.plan(&["evidence", "latest", "--verify"]).code, 0);
    let log = pack.read(".plan/latest/events.jsonl");
    for line in 0..log.lines().count() {
        let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
        lines[line] = lines[line].replacen("\"t\":", "\"t\":1", 1);
        pack.write(".plan/latest/events.jsonl", &(lines.join("\n") + "\n"));
        let came = pack.plan(&["evidence", "latest", "--verify"]);
        // Nothing after the last line can tell; the head digest does, where somebody kept it.
        let last = line + 1 == lines.len();
        assert_eq!(came.code, i32::from(!last), "line {}: {came:?}", line + 1);
        if !last {
            assert!(came.err.contains(&format!("line {}", line + 1)), "{}", came.err);
            assert_eq!(pack.run(&["--resume"]).code, 1);
            assert_eq!(
                pack.read(".plan/latest/events.jsonl"),
                lines.join("\n") + "\n",
                "nothing is overwritten"
            );
        }
    }
}

#[test]
fn old_runs_go() {
    let pack = Pack::new("command a { run = \"true\" }");
    for _ in 0..3 {
        assert_eq!(pack.run(&[]).code, 0);
    }
    let newest = pack.plan(&["runs"]).out.lines().last().unwrap().to_owned();
    let dry = pack.plan(&["gc", "--keep", "1", "--dry-run"]);
    assert_eq!(dry.out.matches("would remove").count(), 2, "{}", dry.out);
    assert_eq!(pack.plan(&["gc", "--keep", "1", "--older-than", "1h"]).out, "3 runs left\n");
    assert_eq!(pack.plan(&["gc", "--keep", "1"]).code, 0);
    assert_eq!(pack.plan(&["runs"]).out.lines().collect::<Vec<_>>(), [newest]);
    assert_eq!(pack.plan(&["gc", "--keep", "0"]).code, 0);
    assert_eq!(pack.names(".plan/runs"), Vec::<String>::new());
    assert_eq!(pack.plan(&["status"]).code, 1);
}

#[test]
fn the_newest_run_is_the_newest_within_a_second_as_well() {
    let pack = Pack::in_memory("command a { run = \"true\" }");
    let mut made = Vec::new();
    for _ in 0..8 {
        assert_eq!(pack.run(&[]).code, 0);
        made.push(pack.status()["run"].as_str().unwrap().to_owned());
    }
    let listed = pack.plan(&["runs"]).out;
    let listed: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed, made, "oldest first");
    let gone = pack.plan(&["gc", "--keep", "1"]);
    assert_eq!(gone.code, 0, "{gone:?}");
    assert_eq!(pack.names(".plan/runs"), [made[7].clone()]);
    assert_eq!(pack.status()["run"].as_str(), Some(made[7].as_str()));
    // What `latest` points to stays while anything does, and points to nothing that is gone.
    assert_eq!(pack.plan(&["gc", "--keep", "0"]).code, 0);
    assert!(pack.file(".plan/latest").symlink_metadata().is_err());
}
