//! A log that cannot be written, or that others wrote to, ends the sitting, and the run can be gone on with (EXECUTION §11).

use std::process::Command;

use super::pack::{Pack, came};

fn chain(tasks: usize) -> String {
    let task = |n: usize| match n {
        0 => "command t0 { run = \"true\" }\n".to_owned(),
        _ => format!("command t{n} {{ depends_on = [t{}], run = \"true\" }}\n", n - 1),
    };
    (0..tasks).map(task).collect()
}

#[test]
fn a_file_that_may_not_grow_interrupts_the_run() {
    let pack = Pack::new(&chain(60));
    let plan = env!("CARGO_BIN_EXE_plan");
    // Files of 16 KiB at most, and no signal for it.
    let script = format!("trap '' XFSZ; ulimit -f 16; exec '{plan}' run --plan p.plan");
    let ran = Command::new("bash").args(["-c", &script]).current_dir(pack.path()).output().unwrap();
    let ran = came(ran);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("events.jsonl") && ran.err.contains("interrupted"), "{}", ran.err);
    let status = pack.status();
    assert_eq!(status["state"], "interrupted");
    let settled = |status: &serde_json::Value| {
        status["tasks"].as_object().unwrap().values().filter(|task| task["status"] == "pass").count()
    };
    assert!((1..60).contains(&settled(&status)), "{status}");
    assert_eq!(pack.run(&["--resume"]).code, 0);
    assert_eq!(settled(&pack.status()), 60);
}

#[test]
fn a_captured_file_that_may_not_grow_ends_its_task_alone() {
    let pack = Pack::new("command cap { run = \"true\", emits_files = [\"big\"] }");
    pack.write("big", &"x".repeat(3_000_000));
    // Files of some 2 MB at most: whoever writes more gets a signal, and the executor outlives it.
    let script = format!("ulimit -f 2000; exec '{}' run --plan p.plan", env!("CARGO_BIN_EXE_plan"));
    let ran = Command::new("bash").args(["-c", &script]).current_dir(pack.path()).output().unwrap();
    let ran = came(ran);
    assert!([1, 3].contains(&ran.code), "{ran:?}");
    assert!(format!("{}{}", ran.out, ran.err).contains("File too large"), "{ran:?}");
}

#[test]
fn a_full_disk_leaves_a_last_word() {
    let pack = Pack::new(&chain(400));
    let plan = env!("CARGO_BIN_EXE_plan");
    // A file system of our own needs rights that not every machine gives.
    let own = ["--user", "--map-root-user", "--mount"];
    let may = Command::new("unshare").args(own).args(["mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        eprintln!("no file system of our own here: a full disk is not tried");
        return;
    }
    let script = format!(
        "mkdir .plan && mount -t tmpfs -o size=1400k none .plan && '{plan}' run --plan p.plan; code=$?
         '{plan}' status --format json > status.json; tail -n 1 .plan/latest/events.jsonl > last.json; exit $code"
    );
    let ran =
        Command::new("unshare").args(own).args(["bash", "-c", &script]).current_dir(pack.path()).output();
    let ran = came(ran.unwrap());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("No space left"), "{}", ran.err);
    let last: serde_json::Value = serde_json::from_str(&pack.read("last.json")).unwrap();
    assert_eq!(last["kind"], "interrupted", "{last}");
    let status: serde_json::Value = serde_json::from_str(&pack.read("status.json")).unwrap();
    assert_eq!(status["state"], "interrupted");
}

#[test]
fn a_run_whose_log_is_not_what_was_written_is_never_valid() {
    let log = ".plan/latest/events.jsonl";
    for (how, why) in [
        (format!("rm {log}"), "somebody removed it"),
        (format!(": > {log}"), "somebody cut it"),
        (format!("echo x >> {log}"), "somebody wrote to it"),
        (format!("cp {log} copy; mv copy $(readlink -f {log})"), "somebody replaced it"),
        ("rm -r .plan/runs".to_owned(), "somebody removed it"),
    ] {
        // Not the last thing that happens, and the last.
        for after in ["", "command b { depends_on = [a], run = \"true\" }\n"] {
            for format in ["text", "json"] {
                let pack = Pack::in_memory(&format!("command a {{ run = \"{how}\" }}\n{after}"));
                let came = pack.run(&["--format", format]);
                assert_eq!(came.code, 1, "{how}: {came:?}");
                assert!(came.err.contains("events.jsonl") && came.err.contains(why), "{how}: {came:?}");
                let ended = came.out.contains("valid") || came.out.contains("run_ended");
                assert!(!ended, "{how}: {came:?}");
            }
        }
    }
}

#[test]
fn a_run_that_cannot_begin_leaves_nothing() {
    let pack = Pack::new(&chain(2));
    let plan = env!("CARGO_BIN_EXE_plan");
    let own = ["--user", "--map-root-user", "--mount"];
    let may = Command::new("unshare").args(own).args(["mount", "-t", "tmpfs", "none", "/mnt"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        eprintln!("no file system of our own here: a full disk is not tried");
        return;
    }
    // Room for no file at all, and for all but the spare.
    for size in ["4k", "300k"] {
        let script = format!(
            "mkdir -p .plan && mount -t tmpfs -o size={size} none .plan && mkdir .plan/runs
             test {size} = 4k && head -c 4096 /dev/zero > .plan/filler
             '{plan}' run --plan p.plan; code=$?; ls -A .plan/runs > left; ls -A .plan | grep latest >> left
             exit $code"
        );
        let ran =
            Command::new("unshare").args(own).args(["bash", "-c", &script]).current_dir(pack.path()).output();
        let ran = came(ran.unwrap());
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.err.contains("No space left"), "{}", ran.err);
        assert_eq!(pack.read("left"), "", "{size}");
    }
}
