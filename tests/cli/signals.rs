//! Signals to the process that runs a run, and a stop that comes after one (EXECUTION §2, §14).

use std::process::{Child, Command, Stdio};

use super::pack::{Came, Pack, came, processes_with};

const PLAN: &str = r#"
command a     { run = "touch started; [ -e go ] || sleep 30.0625" }
command b     { depends_on = [a], run = "true" }
command tell  { stage = "epilogue", run = "true" }
command clean { stage = "epilogue", always = true, run = "touch cleaning; until [ -e go ]; do sleep 0.02; done" }
"#;

/// A run of which `a` has started.
fn running(pack: &Pack, through: &[&str]) -> Child {
    let plan = env!("CARGO_BIN_EXE_plan");
    let words = [through, &[plan, "run", "--plan", "p.plan"]].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(pack.path()).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    pack.wait_for("started");
    child
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

fn end(child: Child) -> Came {
    came(child.wait_with_output().unwrap())
}

#[test]
fn a_terminal_that_closes_interrupts() {
    let pack = Pack::new(PLAN);
    // Whoever runs this test may be one that is to outlive its terminal.
    let child = running(&pack, &["env", "--default-signal=HUP"]);
    signal(&child, "HUP");
    pack.wait_for("cleaning");
    // The shell says it as well as the system.
    signal(&child, "HUP");
    pack.write("go", "");
    let came = end(child);
    assert_eq!(came.code, 129, "{came:?}");
    assert_eq!(processes_with("30.0625"), [""; 0], "nothing is left running");
    let status = pack.status();
    assert_eq!(status["state"], "interrupted");
    assert_eq!(
        (&status["tasks"]["a"]["status"], &status["tasks"]["clean"]["status"]),
        (&"pending".into(), &"pass".into())
    );
    assert!(came.out.contains("interrupt  HUP"), "{came:?}");
    assert!(came.out.contains("still to come:\n  `a`\n  `b`\n  `tell`\n"), "{came:?}");
}

#[test]
fn who_is_started_to_outlive_its_terminal_does() {
    let pack = Pack::new("command a { run = \"touch started; until [ -e go ]; do sleep 0.02; done\" }");
    let child = running(&pack, &["nohup"]);
    signal(&child, "HUP");
    pack.write("go", "");
    let came = end(child);
    assert_eq!(came.code, 0, "{came:?}");
}

#[test]
fn a_stop_ends_a_run_that_cleans_up_after_a_signal() {
    let pack = Pack::new(PLAN);
    let child = running(&pack, &[]);
    signal(&child, "INT");
    pack.wait_for("cleaning");
    // It is running as long as it cleans up, on every surface.
    let status = pack.status();
    assert_eq!(status["state"], "running");
    assert_eq!(status["tasks"]["clean"]["status"], "running");
    assert!(pack.plan(&["runs"]).out.contains("running"));
    let stop = pack.plan(&["stop"]);
    assert!(stop.code == 0 && stop.out.contains("stops"), "{stop:?}");
    pack.write("go", "");
    let came = end(child);
    assert_eq!(came.code, 3, "{came:?}");
    assert!(came.out.contains("halted: stopped by `plan stop`"), "{came:?}");
    let status = pack.status();
    assert_eq!((&status["state"], &status["exit"]), (&"ended".into(), &"stopped".into()));
    for task in ["a", "b", "tell"] {
        assert_eq!(status["tasks"][task]["blocked"]["reason"], "stopped", "{task}");
    }
    assert_eq!(status["tasks"]["clean"]["attempts"], 1);
    // And is opened again by a resume, as any that was stopped.
    let resumed = pack.plan(&["run", "--resume"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    assert_eq!(pack.status()["verdict"], "valid");
}

#[test]
fn a_stop_changes_no_verdict_that_is_decided() {
    let pack = Pack::new(
        r#"
command a     { run = "true" }
command tell  { stage = "epilogue", run = "touch started; sleep 30.0626" }
command clean { stage = "epilogue", always = true, run = "touch cleaning; until [ -e go ]; do sleep 0.02; done" }
"#,
    );
    let child = running(&pack, &[]);
    signal(&child, "TERM");
    pack.wait_for("cleaning");
    assert_eq!(pack.plan(&["stop"]).code, 0);
    pack.write("go", "");
    let came = end(child);
    assert_eq!(came.code, 0, "{came:?}");
    let status = pack.status();
    assert_eq!((&status["exit"], &status["verdict"]), (&"completed".into(), &"valid".into()));
    assert_eq!(status["tasks"]["tell"]["blocked"]["reason"], "stopped");
}

#[test]
fn nothing_escapes_the_end_of_its_attempt() {
    // Each of these is in the middle of becoming another program when its attempt ends.
    let pack = Pack::new(
        r#"
command list { run = "seq -f '\"k%g\"' -s , 1 80 | sed 's/.*/{\"l\":[&]}/'", emits = { l: [string] } }
command away { depends_on = [list], over = list.l, max_fanout = 80, run = ["setsid", "-f", "sleep", "30.1741"] }
command near {
    depends_on = [list]
    over       = list.l
    max_fanout = 80
    shell      = "sh"
    run        = "(sleep 30.1742 &); exit 0"
}
"#,
    );
    for jobs in ["2", "4"] {
        let ran = pack.run(&["--jobs", jobs, "--quiet"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{ran:?}");
        for left in ["30.1741", "30.1742"] {
            assert_eq!(processes_with(left), [""; 0], "nothing is left running");
        }
    }
}

#[test]
fn who_starts_us_without_the_signal_of_ends_loses_none() {
    let pack = Pack::new(
        "command a { run = \"grep SigIgn /proc/self/status > ignored\" }\ncommand b { run = \"exit 3\" }",
    );
    let plan = env!("CARGO_BIN_EXE_plan");
    let mut command = Command::new("env");
    command.args([
        "--ignore-signal=CHLD",
        "--block-signal=CHLD",
        plan,
        "run",
        "--plan",
        "p.plan",
        "--keep-going",
    ]);
    let ran = came(command.current_dir(pack.path()).output().unwrap());
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(pack.status()["tasks"]["a"]["status"], "pass", "{ran:?}");
    assert_eq!(pack.status()["tasks"]["b"]["note"], "exit 3", "{ran:?}");
    let ignored = pack.read("ignored");
    let ignored = u64::from_str_radix(ignored.trim().rsplit('\t').next().unwrap(), 16).unwrap();
    assert_eq!(ignored >> 16 & 1, 0, "no task ignores it either: {ignored:x}");
}

#[test]
fn who_starts_us_with_signals_blocked_can_interrupt() {
    let pack = Pack::new(PLAN);
    let child = running(&pack, &["env", "--block-signal=INT,TERM"]);
    signal(&child, "TERM");
    pack.wait_for("cleaning");
    pack.write("go", "");
    assert_eq!(end(child).code, 143);
}

#[test]
fn an_attempt_that_left_its_group_is_ended() {
    let pack = Pack::new(
        "command a { timeout = 300ms, run = [\"python3\", \"-c\", \"import os, time; \
         os.setpgid(0, os.getpgid(os.getppid())); time.sleep(30.1743)\"] }",
    );
    let since = std::time::Instant::now();
    // In a session of its own, so that the group is ours to join.
    let plan = env!("CARGO_BIN_EXE_plan");
    let mut command = Command::new("setsid");
    let ran = came(
        command.args(["-w", plan, "run", "--plan", "p.plan"]).current_dir(pack.path()).output().unwrap(),
    );
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("timed out"), "{ran:?}");
    assert!(since.elapsed() < std::time::Duration::from_secs(15), "{:?}", since.elapsed());
}
