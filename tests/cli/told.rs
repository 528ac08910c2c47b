//! What people are told of gates, rounds, stops and answers (EXECUTION §2, §9, §12).

use std::process::Stdio;

use super::pack::{Pack, came};

const ASKS: &str = "gate soft { ask = \"Go on?\" }\ncommand go { depends_on = [soft], run = \"true\" }";

/// The state of the newest run, as `plan runs` and as `plan status` have it.
fn states(pack: &Pack) -> (String, String) {
    let runs = pack.plan(&["runs", "--format", "json"]).out;
    let runs: serde_json::Value = serde_json::from_str(&runs).unwrap();
    let listed = runs["runs"].as_array().unwrap().last().unwrap()["state"].as_str().unwrap().to_owned();
    (listed, pack.status()["state"].as_str().unwrap().to_owned())
}

fn both(state: &str) -> (String, String) {
    (state.into(), state.into())
}

#[test]
fn a_run_that_waits_waits_until_it_is_stopped() {
    let pack = Pack::new(ASKS);
    assert_eq!(pack.run(&[]).code, 4);
    assert_eq!(states(&pack), both("waiting"));
    assert_eq!(pack.plan(&["answer", "latest", "soft", "yes"]).code, 0);
    assert_eq!(states(&pack), both("waiting"), "an answer only records");
    let ran = pack.run(&["--resume"]);
    for out in [ran.out, pack.plan(&["status"]).out] {
        let line = out.lines().find(|line| line.trim_start().starts_with("pass") && line.contains("soft"));
        assert!(line.is_some_and(|line| line.contains("answered `yes` by ")), "{out}");
    }

    let pack = Pack::new(ASKS);
    assert_eq!(pack.run(&[]).code, 4);
    assert_eq!(pack.plan(&["stop"]).code, 0);
    assert_eq!(states(&pack), both("interrupted"));
    let status = pack.plan(&["status"]).out;
    assert!(status.contains("stopped while nobody ran it, verdict none yet"), "{status}");
    assert!(status.contains("opens it again") && !status.contains("plan answer"), "{status}");
    assert_eq!(pack.run(&["--resume"]).code, 4, "it is open again, and asks");
    assert_eq!(states(&pack), both("waiting"));
}

#[test]
fn a_gate_that_sent_the_plan_back_is_named_when_the_repair_fails() {
    let pack = Pack::new(
        "command a { run = \"[ ! -e once ] && touch once\" }\n\
         verify v { run = \"echo no >&2; exit 1\", repair_from = a }",
    );
    let ran = pack.run(&[]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let told = "gates that sent the plan back, and were not asked again:\n  `v` rejected: exit 1";
    for out in [ran.out, pack.plan(&["status"]).out] {
        assert!(out.contains("first cause: `a` failed in round 2") && out.contains(told), "{out}");
    }
    let status = pack.status();
    assert_eq!(
        (&status["verify"]["v"]["pass"], &status["verify"]["v"]["mode"]),
        (&false.into(), &"rejected".into())
    );
    assert_eq!(pack.plan(&["logs", "latest", "v"]).err, "no\n");

    let pack = Pack::new(
        "plan \"p\" { budget = { steps = 1 } }\ncommand a { run = \"true\" }\nverify v { run = \"exit 1\", repair_from = a }",
    );
    let ran = pack.run(&[]);
    assert_eq!((ran.code, pack.status()["exit"].as_str()), (3, Some("step_ceiling")), "{ran:?}");
    assert!(ran.out.contains("gates that do not hold:\n  `v` rejected: exit 1"), "{ran:?}");
}

#[test]
fn an_early_end_that_a_gate_refuses_names_the_gate() {
    let pack = Pack::new(
        "command a { may_complete = true, run = \"echo '{\\\"complete\\\": true}'\" }\n\
         command b { depends_on = [a], run = \"true\" }\nverify v { run = \"exit 1\" }",
    );
    let ran = pack.run(&[]);
    assert_eq!(ran.code, 3, "{ran:?}");
    for out in [ran.out, pack.plan(&["status"]).out] {
        assert!(out.contains("gates that do not hold:\n  `v` rejected: exit 1"), "{out}");
        assert!(out.contains("concluded, verdict invalid"), "{out}");
    }
    let page = pack.plan(&["status", "--format", "html"]).out;
    assert!(page.contains("<h2>Acceptance</h2>") && page.contains("not accepted (rejected)"), "{page}");
}

#[test]
fn going_on_under_another_gate_is_refused_by_its_name_and_field() {
    let pack = Pack::new("gate soft { ask = \"Go on?\" }\nverify top { run = \"test -e done\" }");
    assert_eq!(pack.run(&[]).code, 4);
    pack.write("p.plan", "gate soft { ask = \"Go on?\" }\nverify top { run = \"true\" }");
    let refused = pack.run(&["--resume"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("the gate `top` has changed: `run`"), "{}", refused.err);
    pack.write(
        "p.plan",
        "gate soft { ask = \"Go on?\" }\nverify top { required = false, run = \"test -e done\" }",
    );
    let refused = pack.run(&["--resume"]);
    assert!(refused.err.contains("the gate `top` has changed: `required`"), "{}", refused.err);
}

#[test]
fn what_verifiers_look_at_runs_and_the_gate_that_is_asked_is_named() {
    let wait = |file: &str| format!("touch {file}.asked; until [ -e {file} ]; do sleep 0.02; done");
    let pack = Pack::new(&format!(
        "command a {{ run = \"true\"\n verify inner {{ run = \"{}\" }} }}\nverify top {{ run = \"{}\" }}",
        wait("one"),
        wait("two")
    ));
    let run = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::piped()).spawn().unwrap();
    pack.wait_for("one.asked");
    assert_eq!(pack.status()["tasks"]["a"]["status"], "running");
    let status = pack.plan(&["status"]).out;
    assert!(status.contains("looked at by its verifiers:\n  `a`\n"), "{status}");
    pack.write("one", "");
    pack.wait_for("two.asked");
    let status = pack.plan(&["status"]).out;
    assert!(status.contains("gates being asked:\n  `top`\n"), "{status}");
    pack.write("two", "");
    assert_eq!(came(run.wait_with_output().unwrap()).code, 0);
    let status = pack.plan(&["status"]).out;
    assert!(!status.contains("asked") && !status.contains("looked at"), "{status}");
}

#[test]
fn a_task_that_a_person_skips_is_the_first_cause() {
    let pack = Pack::new(
        "command a { on_interrupt = \"ask\", run = \"touch started; sleep 30.1173\" }\n\
         command b { depends_on = [a], run = \"true\" }",
    );
    let mut run = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::null()).spawn().unwrap();
    pack.wait_for("started");
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(pack.run(&["--resume"]).code, 4);
    assert_eq!(pack.plan(&["answer", "latest", "a", "skip"]).code, 0);
    let ran = pack.run(&["--resume"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("first cause: `a` was skipped: answered `skip` by"), "{}", ran.out);
    assert!(!ran.out.contains("cannot run here"), "{}", ran.out);
}

#[test]
fn a_verifier_is_told_of_with_the_word_for_how_it_failed() {
    let pack = Pack::new("command a { run = \"true\" }\nverify v { timeout = 1s, run = \"sleep 30.1174\" }");
    let ran = pack.run(&[]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("timeout    v  ") && !ran.out.contains("rejected"), "{}", ran.out);
    let status = pack.plan(&["status"]).out;
    assert!(status.contains("timeout    v  gate"), "{status}");
}

#[test]
fn an_evidence_check_reads_what_is_frozen() {
    let pack = Pack::new(
        "plan \"p\" { frozen = [\"tests/**\"] }\ncommand a { run = \"true\" }\nverify v { run = \"sh tests/a.sh\" }",
    );
    std::fs::create_dir(pack.file("tests")).unwrap();
    pack.write("tests/a.sh", "exit 0");
    assert_eq!(pack.run(&[]).code, 0);
    let good = pack.plan(&["evidence", "--verify"]);
    assert!(good.code == 0 && good.out.contains("frozen  1\n"), "{good:?}");
    let digest = pack.names(".plan/latest/store");
    let stored = digest.iter().map(|name| format!(".plan/latest/store/{name}"));
    let stored = stored.filter(|path| pack.file(path).is_file() && pack.read(path) == "exit 0");
    let stored: Vec<_> = stored.collect();
    assert_eq!(stored.len(), 1, "{digest:?}");
    std::fs::remove_file(pack.file(&stored[0])).unwrap();
    pack.write(&stored[0], "exit 1");
    let bad = pack.plan(&["evidence", "--verify"]);
    assert!(bad.code == 1 && bad.err.contains("tests/a.sh"), "{bad:?}");
}

#[test]
fn a_run_out_of_time_says_what_is_kept_back() {
    let pack = Pack::new(
        "plan \"p\" { budget = { time = 3s }, reserve = { time = 1s } }\n\
         command a { timeout = 2s, run = \"sleep 30.1175\" }\n\
         command tidy { stage = \"epilogue\", always = true, run = \"true\" }",
    );
    assert_eq!(pack.run(&[]).code, 3);
    assert_eq!(pack.status()["exit"], "time_ceiling");
    let again = pack.run(&["--resume"]);
    assert!(again.err.contains("allows 3s, of which 1s are kept back for cleaning up"), "{again:?}");
}

#[test]
fn all_of_a_body_are_told_the_round_of_the_review() {
    let say = |task: &str| format!("echo \\\"{task} $PLAN_ROUND $PLAN_INPUTS\\\" >> said");
    let pack = Pack::new(&format!(
        "command a {{ run = \"{}\" }}\n\
         command b {{ depends_on = [a], run = \"{}\" }}\n\
         command rev {{ depends_on = [b], revise = [a, b], max_rounds = 2, run = \"{}; test -e fine\" }}\n\
         verify top {{ run = \"echo $PLAN_ROUND >> gates; test -e good || {{ rm fine; touch good; exit 1; }}\", \
         repair_from = b }}",
        say("a"),
        say("b"),
        say("rev"),
    ));
    let told = |pack: &Pack| {
        let said = pack.read("said");
        std::fs::remove_file(pack.file("said")).unwrap();
        let told = said.lines().map(|line| {
            let (task, rest) = line.split_once(' ').unwrap();
            let (round, inputs) = rest.split_once(' ').unwrap();
            let inputs: serde_json::Value = serde_json::from_str(inputs).unwrap();
            let revision = inputs.get("revision").map_or("1".to_owned(), |of| of["round"].to_string());
            assert_eq!(round, revision, "{line}");
            format!("{task}{round}")
        });
        told.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(pack.run(&[]).code, 3);
    assert_eq!(told(&pack), "a1 b1 rev1 a2 b2 rev2");
    // The rounds of `b` and `rev` begin again, and those of `a` do not.
    assert_eq!(pack.run(&["--resume", "--from", "b"]).code, 3);
    assert_eq!(told(&pack), "b1 rev1 a2 b2 rev2");
    // The gate goes back to `b`; there the review begins again, and has two rounds.
    pack.write("fine", "");
    assert_eq!(pack.run(&["--resume", "--from", "b"]).code, 3);
    assert_eq!(told(&pack), "b1 rev1 b2 rev2 a2 b2 rev2");
    assert_eq!(pack.read("gates"), "1\n");
}

#[test]
fn what_was_asked_of_a_process_that_died_becomes_an_event() {
    let hung = || {
        let pack = Pack::new(&format!(
            "{ASKS}\ncommand slow {{ run = \"touch started; until [ -e go ]; do sleep 0.02; done\" }}"
        ));
        let run = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::null()).spawn().unwrap();
        pack.wait_for("started");
        super::answer::wait_for_event(&pack, "gate_asked");
        let pid = rustix::process::Pid::from_child(&run);
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        (pack, run)
    };
    let requests = |pack: &Pack| {
        // One that begins with a dot is still being written.
        let is_whole = |name: &&String| name.ends_with(".json") && !name.starts_with('.');
        pack.names(".plan/latest/control").iter().filter(is_whole).count()
    };
    let ask = |pack: &Pack, arguments: &[&str]| {
        let mut asks = pack.command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let since = std::time::Instant::now();
        while requests(pack) == 0 {
            assert!(since.elapsed() < std::time::Duration::from_secs(30));
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        // It waits for a reply that never comes, and is not there any more when the run is killed.
        asks.kill().unwrap();
        asks.wait().unwrap();
    };
    let kinds = |pack: &Pack| {
        pack.events().iter().map(|event| event["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };

    let (pack, mut run) = hung();
    ask(&pack, &["answer", "latest", "soft", "yes"]);
    run.kill().unwrap();
    run.wait().unwrap();
    pack.write("go", "");
    let resumed = pack.run(&["--resume"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    assert_eq!(requests(&pack), 0);
    let kinds_of = kinds(&pack);
    let at = |kind: &str| kinds_of.iter().position(|other| other == kind);
    assert!(at("gate_answered") < at("run_resumed") && at("gate_answered").is_some(), "{kinds_of:?}");

    let (pack, mut run) = hung();
    ask(&pack, &["stop"]);
    run.kill().unwrap();
    run.wait().unwrap();
    pack.write("go", "");
    let resumed = pack.run(&["--resume"]);
    assert_eq!(resumed.code, 4, "it goes on, and waits for the gate: {resumed:?}");
    assert!(resumed.err.contains("a stop that nobody took up is recorded"), "{resumed:?}");
    assert_eq!(requests(&pack), 0);
    assert!(kinds(&pack).contains(&"stop_requested".to_owned()));
}

#[test]
fn what_is_typed_next_finds_the_run_where_it_is_kept() {
    let pack = Pack::new(ASKS);
    let asked = pack.run(&["--state-dir", "kept here"]);
    assert_eq!(asked.code, 4, "{asked:?}");
    for next in ["plan answer ", "go on with `plan run --resume "] {
        let line = asked.out.lines().find(|line| line.contains(next));
        let line = line.unwrap_or_else(|| panic!("{next}: {}", asked.out));
        assert!(line.contains(" --state-dir 'kept here'"), "{line}");
    }
    let answered = pack.plan(&["answer", "latest", "soft", "yes", "--state-dir", "kept here"]);
    assert!(answered.out.contains(" --state-dir 'kept here'`"), "{answered:?}");
    assert!(!pack.run(&[]).out.contains("--state-dir"));
}

#[test]
fn a_run_that_has_ended_says_so_when_it_is_to_be_gone_on_with() {
    let pack = Pack::new("command a { run = \"test -f ok\" }");
    assert_eq!(pack.run(&[]).code, 3);
    pack.write("ok", "");
    let again = pack.run(&["--resume"]);
    assert_eq!(again.code, 3, "{again:?}");
    assert!(again.err.contains("stays as it ended; `--from TASK` runs a task again"), "{again:?}");
    let from = pack.run(&["--resume", "--from", "a"]);
    assert_eq!((from.code, from.err.as_str()), (0, ""), "{from:?}");
}

#[test]
fn who_wants_quiet_hears_of_what_did_not_hold() {
    let pack =
        Pack::new("command m { run = \"true\" }\ncommand mail { stage = \"epilogue\", run = \"exit 9\" }");
    let quiet = pack.run(&["--quiet"]);
    assert_eq!(quiet.code, 0, "{quiet:?}");
    assert!(quiet.out.contains("`mail` (epilogue) failed: exit 9"), "{quiet:?}");
    assert!(quiet.out.contains("1 of 1 epilogue task"), "{quiet:?}");
    let pack = Pack::new("command m { run = \"true\" }");
    assert_eq!(pack.run(&["--quiet"]).out, "");
}

#[test]
fn many_that_did_not_run_hide_no_task() {
    let pack = Pack::new(
        r#"
command list { run = "seq -f '\"k%g\"' -s , 1 30 | sed 's/.*/{\"l\":[&]}/'", emits = { l: [string] } }
command broken { depends_on = [list], run = "false" }
command each { depends_on = [list, broken], over = list.l, run = "true" }
command last { depends_on = [each], run = "true" }
"#,
    );
    let ran = pack.run(&[]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("did not run, because `broken` failed:"), "{}", ran.out);
    assert!(ran.out.lines().any(|line| line.starts_with("  `last`")), "{}", ran.out);
}

#[test]
fn a_run_stays_in_its_workspace() {
    let pack = Pack::new("command a { run = \"false\" }");
    std::fs::create_dir(pack.file("other")).unwrap();
    assert_eq!(pack.run(&[]).code, 3);
    let moved = pack.run(&["--resume", "--from", "a", "--workspace", "other"]);
    assert!(moved.code == 1 && moved.err.contains("its workspace is `"), "{moved:?}");
    let same = pack.run(&["--resume", "--from", "a", "--workspace", "."]);
    assert_eq!(same.code, 3, "{same:?}");
}
