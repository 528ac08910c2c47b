//! Going on with a run: what is refused, what is stopped, what is cut off.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use super::pack::{Pack, came, processes_with};

const HELD: &str = r#"
param n: integer = 1
command a { run = "echo x >> a.n" }
command b { depends_on = [a], env = { N = f"{n}" }, run = "echo x >> b.n; touch started; until [ -e go ]; do sleep 0.02; done" }
command c { depends_on = [b], run = "true" }
"#;

/// A run that was killed while `b` ran.
fn killed(arguments: &[&str]) -> Pack {
    let pack = Pack::new(HELD);
    let all = [&["run", "--plan", "p.plan"], arguments].concat();
    let mut run = pack.command(&all).stdout(Stdio::null()).spawn().unwrap();
    pack.wait_for("started");
    run.kill().unwrap();
    run.wait().unwrap();
    pack.write("go", "");
    // What it left running looks for `go`, which goes with the pack.
    let since = Instant::now();
    while !processes_with(pack.path().to_str().unwrap()).is_empty() {
        assert!(since.elapsed() < Duration::from_secs(30), "what was left running does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    pack
}

#[test]
fn other_plans_and_parameters_are_refused_by_name() {
    let pack = killed(&["--param", "n=3"]);
    let log = pack.read(".plan/latest/events.jsonl");
    let refused = |pack: &Pack, arguments: &[&str], part: &str| {
        let came = pack.run(&[&["--resume"], arguments].concat());
        assert_eq!(came.code, 1, "{came:?}");
        assert!(came.err.contains(part), "{}", came.err);
        assert_eq!(pack.read(".plan/latest/events.jsonl"), log);
    };
    refused(&pack, &["--param", "n=4"], "`n` was 3 and is 4");
    pack.write("p.plan", &HELD.replace("run = \"true\"", "run = \"false\""));
    refused(&pack, &[], "the task `c` has changed");
    pack.write("p.plan", &format!("# A comment changes nothing.\n{HELD}"));
    // The parameters are those of the run, and so is the plan file.
    let came = pack.plan(&["run", "--resume"]);
    assert_eq!(came.code, 0, "{came:?}");
    assert_eq!((pack.read("a.n"), pack.read("b.n")), ("x\n".to_owned(), "x\nx\n".to_owned()));
}

#[test]
fn one_process_at_a_time() {
    let pack = Pack::new(HELD);
    let run = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::piped()).spawn().unwrap();
    pack.wait_for("started");
    let second = pack.run(&["--resume"]);
    assert_eq!(second.code, 1);
    assert!(second.err.contains("another process is running"), "{}", second.err);
    if std::path::Path::new("/proc/locks").exists() {
        assert!(second.err.contains(&format!("process {}", run.id())), "{}", second.err);
    }
    pack.write("go", "");
    assert_eq!(came(run.wait_with_output().unwrap()).code, 0);
}

#[test]
fn a_stop_is_an_event_whether_somebody_runs_or_not() {
    let pack = Pack::new(HELD);
    let run = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::piped()).spawn().unwrap();
    pack.wait_for("started");
    let stop = pack.plan(&["stop"]);
    assert_eq!(stop.code, 0, "{stop:?}");
    let ran = came(run.wait_with_output().unwrap());
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(pack.status()["exit"], "stopped");
    assert_eq!(pack.names(".plan/latest/control"), Vec::<String>::new());
    let again = pack.plan(&["stop"]);
    assert_eq!(again.code, 1);
    assert!(again.err.contains("has ended already: stopped"), "{}", again.err);

    let pack = killed(&[]);
    let stop = pack.plan(&["stop"]);
    assert_eq!(stop.code, 0, "{stop:?}");
    assert_eq!(pack.events().last().unwrap()["kind"], "stop_requested");
    assert_eq!(pack.plan(&["evidence", "--verify"]).code, 0);
}

#[test]
fn a_torn_tail_is_kept_beside_the_log() {
    let pack = killed(&[]);
    let log = pack.read(".plan/latest/events.jsonl");
    pack.write(".plan/latest/events.jsonl", &log[..log.len() - 7]);
    let before = pack.read(".plan/latest/events.jsonl");
    assert_eq!(pack.status()["state"], "interrupted");
    assert_eq!(pack.plan(&["evidence", "--verify"]).code, 0, "the end of an unfinished line is no edit");
    assert_eq!(pack.read(".plan/latest/events.jsonl"), before, "reading changes nothing");
    assert_eq!(pack.run(&["--resume"]).code, 0);
    let line = log.lines().count();
    let cut = pack.read(&format!(".plan/latest/events.cut-{line}"));
    assert!(before.ends_with(&cut) && !cut.is_empty());
    assert_eq!(pack.status()["tasks"]["c"]["status"], json!("pass"));
}

#[test]
fn a_stopped_run_is_opened_again() {
    let pack = Pack::new(HELD);
    let run = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::piped()).spawn().unwrap();
    pack.wait_for("started");
    assert_eq!(pack.plan(&["stop"]).code, 0);
    assert_eq!(came(run.wait_with_output().unwrap()).code, 3);
    pack.write("go", "");
    let came = pack.run(&["--resume"]);
    assert_eq!(came.code, 0, "{came:?}");
    assert_eq!((pack.read("a.n"), pack.read("b.n")), ("x\n".to_owned(), "x\nx\n".to_owned()));
    assert_eq!(pack.status()["verdict"], "valid");
    // It has ended now: it is reported as it ended, and nothing runs.
    let came = pack.run(&["--resume"]);
    assert_eq!(came.code, 0, "{came:?}");
    assert!(came.out.contains("completed, verdict valid"), "{}", came.out);
    assert_eq!(pack.read("b.n"), "x\nx\n");
    let refused = pack.run(&["--resume", "--from", "nobody"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("nobody"), "{}", refused.err);
    assert_eq!(pack.run(&["--resume", "--from", "b"]).code, 0);
    assert_eq!((pack.read("a.n"), pack.read("b.n")), ("x\n".to_owned(), "x\nx\nx\n".to_owned()));
}

#[test]
fn what_the_operator_said_once_holds_for_a_resumed_run() {
    let pack = Pack::new(
        "command a { run = \"touch started; until [ -e go ]; do sleep 0.02; done; pwd > where\" }\n\
         command b { depends_on = [a], needs = [\"gpu\"], run = \"pwd > there\" }\n",
    );
    std::fs::create_dir(pack.file("work")).unwrap();
    let all = ["run", "--plan", "p.plan", "--cap", "gpu", "--workspace", "work"];
    let mut run = pack.command(&all).stdout(Stdio::null()).spawn().unwrap();
    pack.wait_for("work/started");
    run.kill().unwrap();
    run.wait().unwrap();
    pack.write("work/go", "");
    let came = pack.plan(&["run", "--resume"]);
    assert_eq!(came.code, 0, "{came:?}");
    assert_eq!(pack.read("work/where"), pack.read("work/there"));
}

#[test]
fn from_a_task_is_refused_where_no_ceiling_has_room() {
    let plan = r#"
plan "p" { budget = { steps = 2 } }
command a { run = "true" }
command b { depends_on = [a], run = "true" }
"#;
    let pack = Pack::new(plan);
    assert_eq!(pack.run(&[]).code, 0);
    let log = pack.read(".plan/latest/events.jsonl");
    let came = pack.plan(&["run", "--resume", "--from", "b"]);
    assert_eq!(came.code, 1, "{came:?}");
    assert!(came.err.contains("`b` cannot run again: the ceiling of 2 attempts is used up"), "{came:?}");
    assert!(came.err.contains("the plan itself allows 2 attempts: raise its `budget`"), "{came:?}");
    assert_eq!(pack.read(".plan/latest/events.jsonl"), log, "nothing of it is touched");
    assert_eq!(pack.status()["verdict"], "valid");
}

#[test]
fn a_ceiling_that_still_holds_is_named() {
    let pack = Pack::new(
        r#"
plan "p" { budget = { steps = 3 } }
command a { run = "true" }
command b { depends_on = [a], run = "true" }
command c { depends_on = [b], run = "true" }
command d { depends_on = [c], run = "true" }
"#,
    );
    assert_eq!(pack.run(&["--max-steps", "2"]).code, 3);
    let came = pack.plan(&["run", "--resume"]);
    assert_eq!(came.code, 3);
    assert!(
        came.err.contains(
            "stays as it ended: 2 attempts are made, and 2 attempts may be: give a higher --max-steps"
        ),
        "{came:?}"
    );
    // More than the plan allows is not to be had.
    assert_eq!(pack.plan(&["run", "--resume", "--max-steps", "9"]).code, 3);
    let came = pack.plan(&["run", "--resume", "--max-steps", "12"]);
    assert!(came.err.contains("3 attempts are made, and the plan itself allows 3 attempts"), "{came:?}");
    assert!(came.err.contains("--reuse"), "{came:?}");
}

#[test]
fn a_stop_of_a_crashed_run_ends_what_it_left_running() {
    for arguments in [&["stop"][..], &["gc", "--keep", "0", "--unfinished"]] {
        let pack = Pack::new("command a { run = \"sleep 300.0627 & touch started; sleep 300.0627\" }");
        let mut run = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::null()).spawn().unwrap();
        pack.wait_for("started");
        run.kill().unwrap();
        run.wait().unwrap();
        let left = || processes_with("300.0627").len();
        assert!(left() > 0);
        let came = pack.plan(arguments);
        assert_eq!(came.code, 0, "{came:?}");
        assert_eq!(left(), 0, "{arguments:?}");
        if arguments == ["stop"] {
            let status = pack.plan(&["status"]);
            assert!(status.out.contains("stopped while nobody ran it"), "{status:?}");
            assert!(pack.plan(&["stop"]).out.contains("recorded already"));
        }
    }
}

#[test]
fn what_would_halt_the_run_again_is_refused_before_anything_is_given_up() {
    let pack = Pack::new("command a { run = \"exit 1\" }\ncommand b { run = \"sleep 0.3; echo b >> b.n\" }");
    assert_eq!(pack.run(&["--jobs", "2"]).code, 3);
    let before = pack.status();
    assert_eq!(before["tasks"]["b"]["status"], "pass");
    let refused = pack.plan(&["run", "--resume", "--from", "b"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("`b` cannot run again: the required task `a` is `fail`"), "{refused:?}");
    assert_eq!(pack.status(), before, "nothing is given up");
    let again = pack.plan(&["run", "--resume", "--from", "b", "--keep-going"]);
    assert_eq!((again.code, pack.read("b.n").as_str()), (3, "b\nb\n"), "{again:?}");

    let pack = Pack::new(
        "command early { may_complete = true, run = \"sleep 0.2; echo '{\\\"complete\\\": true}'\" }\n\
         command other { run = \"echo ran >> other.n; sleep 0.5; exit 3\" }",
    );
    assert_eq!(pack.run(&["--jobs", "2"]).code, 3);
    let refused = pack.plan(&["run", "--resume", "--from", "other"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("the run ended early with `early`, which stands"), "{refused:?}");
    assert_eq!(pack.status()["verdict"], "invalid");
}

#[test]
fn a_run_that_is_opened_again_is_not_said_to_stay() {
    let pack = Pack::new(
        "command a { run = \"touch started; sleep 0.4\" }\ncommand b { depends_on = [a], run = \"true\" }",
    );
    let child = pack.command(&["run", "--plan", "p.plan", "--quiet"]).spawn().unwrap();
    pack.wait_for("started");
    assert_eq!(pack.plan(&["stop"]).code, 0);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(3));
    let resumed = pack.plan(&["run", "--resume"]);
    assert_eq!((resumed.code, resumed.err.as_str()), (0, ""), "{resumed:?}");
    let ended = pack.plan(&["run", "--resume"]);
    assert!(ended.err.contains("stays as it ended"), "{ended:?}");
}
