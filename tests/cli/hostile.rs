//! What a task, or somebody else, puts in the place of a run's files: nobody waits for it, and nobody believes
//! it (EXECUTION §11).

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::pack::{Came, Pack, came};

const PLAN: &str = r#"
command a { run = "echo '{\"n\": 1}'", emits = { n: number } }
command b { depends_on = [a], run = "echo b > out.txt", emits_files = ["out.txt"] }
"#;

/// Runs the program, which has to end within half a minute.
fn in_time(pack: &Pack, arguments: &[&str]) -> Came {
    let mut command = pack.command(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if since.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            panic!("{arguments:?} waits for ever");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    came(child.wait_with_output().unwrap())
}

fn make_pipe(pack: &Pack, name: &str) {
    assert!(Command::new("mkfifo").arg(pack.file(name)).status().unwrap().success());
}

#[test]
fn a_pipe_among_the_requests_keeps_nobody_waiting() {
    let pack = Pack::new(
        r#"command a {
    run = "C=$(dirname $(dirname $PLAN_RESULT_FILE))/control; mkdir -p $C/deep; mkfifo $C/pipe; sleep 0.5"
}"#,
    );
    let came = in_time(&pack, &["run", "--plan", "p.plan"]);
    assert_eq!(came.code, 0, "{came:?}");
    assert_eq!(came.err.matches("it is not a regular file").count(), 2, "{came:?}");
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_refused() {
    for name in ["events.jsonl", "run.json", "plan.json"] {
        let pack = Pack::new(PLAN);
        assert_eq!(pack.run(&[]).code, 0);
        let place = format!(".plan/latest/{name}");
        std::fs::remove_file(pack.file(&place)).unwrap();
        make_pipe(&pack, &place);
        let readers: [&[&str]; 7] = [
            &["status"],
            &["evidence", "--verify"],
            &["logs", "latest", "a"],
            &["stop"],
            &["run", "--resume"],
            &["run", "--plan", "p.plan", "--reuse", "latest"],
            &["answer", "latest", "a", "yes"],
        ];
        for arguments in readers {
            let came = in_time(&pack, arguments);
            assert_eq!(came.code, 1, "{name} {arguments:?} {came:?}");
            assert!(came.err.contains("it is not a regular file"), "{name} {arguments:?} {came:?}");
        }
        let came = in_time(&pack, &["runs"]);
        assert!(came.code == 0 && came.out.contains("damaged"), "{name} {came:?}");
        let came = in_time(&pack, &["gc", "--keep", "0"]);
        assert!(came.code == 0 && came.out.contains("1 run left"), "{name} {came:?}");
    }
}

#[test]
fn a_pipe_in_the_place_of_captured_content_is_refused() {
    let pack = Pack::new(PLAN);
    assert_eq!(pack.run(&[]).code, 0);
    for name in pack.names(".plan/latest/store") {
        std::fs::remove_file(pack.file(&format!(".plan/latest/store/{name}"))).unwrap();
        make_pipe(&pack, &format!(".plan/latest/store/{name}"));
    }
    let came = in_time(&pack, &["evidence", "--verify"]);
    assert!(came.code == 1 && came.err.contains("it is not a regular file"), "{came:?}");
}

#[test]
fn an_edited_end_is_damage() {
    let pack = Pack::new("command a { run = \"exit 3\" }");
    assert_eq!(pack.run(&[]).code, 3);
    let log = pack.read(".plan/latest/events.jsonl");
    let last = log.lines().last().unwrap();
    assert!(last.contains("run_ended"), "{last}");
    for (from, to) in [("failed", "completed"), ("invalid", "valid"), ("failed", "waiting")] {
        let edited = log.replace(last, &last.replace(&format!("\"{from}\""), &format!("\"{to}\"")));
        assert_ne!(edited, log);
        pack.write(".plan/latest/events.jsonl", &edited);
        let commands: [&[&str]; 4] =
            [&["status"], &["evidence", "--verify"], &["run", "--resume"], &["evidence"]];
        for arguments in commands {
            let came = pack.plan(arguments);
            assert_eq!(came.code, 1, "{arguments:?} {came:?}");
            let line = log.lines().count();
            assert!(
                came.err.contains(&format!("is damaged: line {line} says that the run ended")),
                "{came:?}"
            );
        }
        let came = pack.plan(&["runs"]);
        assert!(came.out.contains("damaged") && !came.out.contains("completed  valid"), "{came:?}");
    }
}

#[test]
fn too_few_descriptors_are_said_before_there_is_a_run() {
    let pack = Pack::new("command a { run = \"true\" }");
    let plan = env!("CARGO_BIN_EXE_plan");
    for limit in [10, 14] {
        let script = format!("ulimit -n {limit}; exec '{plan}' run --plan p.plan --quiet");
        let came = Command::new("sh").args(["-c", &script]).current_dir(pack.path()).output().unwrap();
        let said = String::from_utf8_lossy(&came.stderr);
        assert_eq!(came.status.code(), Some(1), "{said}");
        assert!(said.starts_with("plan: too few descriptors for a run (`ulimit -n`)"), "{said}");
        assert!(!pack.path().join(".plan/latest").exists());
    }
}
