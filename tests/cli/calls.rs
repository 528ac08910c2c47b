//! Plans that call others.

use std::process::Stdio;

use serde_json::json;

use super::pack::{Came, Pack};

fn ok(came: Came) -> Came {
    assert_eq!(came.code, 0, "{came:?}");
    came
}

const CALLER: &str = r#"
param who: string = "world"
plan "caller" { budget = { usd = 1, steps = 30 }, result = after }
command before { run = "echo x >> before.n" }
call greet   { depends_on = [before], plan = "child.plan", params = { name = who, count = 2 } }
command after { depends_on = [greet], run = "cat $PLAN_INPUTS_FILE > seen.json" }
"#;

const CHILD: &str = r#"
plan "child" { result = say }
param name: string
param count: integer = 1 { max = 3 }
command one { run = "echo x >> one.n; echo '{\"cost_usd\":0.25}'" }
command say {
    depends_on = [one]
    env = { NAME = name }
    run = "if [ -e hold ] && [ ! -e started ]; then touch started; sleep 60; fi; echo x >> say.n; echo \"{\\\"hello\\\":\\\"$NAME\\\"}\""
    emits = { hello: string }
}
"#;

fn pack() -> Pack {
    let pack = Pack::new(CALLER);
    pack.write("child.plan", CHILD);
    pack
}

#[test]
fn a_called_plan_is_one_task_and_a_run_of_its_own() {
    let pack = pack();
    ok(pack.run(&["--param", "who=moon"]));
    let status = pack.status();
    let greet = &status["tasks"]["greet"];
    assert_eq!((&greet["status"], &greet["output"]), (&json!("pass"), &json!({"hello": "moon"})));
    assert_eq!((&greet["cost_usd"], &greet["attempts"]), (&json!(0.25), &json!(1)));
    assert_eq!((&status["steps"], &status["spent_usd"]), (&json!(5), &json!(0.25)));
    let seen: serde_json::Value = serde_json::from_str(&pack.read("seen.json")).unwrap();
    assert_eq!(seen["greet"], json!({"hello": "moon"}));
    // Its own run can be looked at like any other.
    let run = status["run"].as_str().unwrap();
    let text = ok(pack.plan(&["status"])).out;
    assert!(text.contains(&format!("{run}/calls/greet")), "{text}");
    let inner = ok(pack.plan(&["status", "latest/calls/greet", "--format", "json"])).out;
    let inner: serde_json::Value = serde_json::from_str(&inner).unwrap();
    assert_eq!((&inner["plan"], &inner["verdict"]), (&json!("child"), &json!("valid")));
    assert!(ok(pack.plan(&["logs", "latest/calls/greet", "say"])).out.contains("moon"));
    let came = ok(pack.plan(&["logs", "latest", "greet"]));
    assert!(came.err.contains(&format!("plan status {run}/calls/greet")), "{came:?}");
    ok(pack.plan(&["evidence", "--verify"]));
    let log = pack.read(".plan/latest/calls/greet/events.jsonl");
    pack.write(".plan/latest/calls/greet/events.jsonl", &log.replacen("\"nth\":1", "\"nth\":2", 1));
    assert_eq!(pack.plan(&["evidence", "--verify"]).code, 1, "an edited log of a called plan is found");
    assert_eq!(pack.plan(&["status", "latest/calls/nobody"]).code, 1);
    assert_eq!(pack.plan(&["status", "latest/calls/../greet"]).code, 1);
    // It is its caller's run that goes on with it.
    assert_eq!(pack.plan(&["run", "--resume", "latest/calls/greet"]).code, 1);
}

#[test]
fn values_and_findings_are_of_the_plan_that_is_called() {
    let pack = pack();
    pack.write("p.plan", &CALLER.replace("count = 2", "count = 4"));
    let came = pack.run(&[]);
    assert_eq!(came.code, 1, "{came:?}");
    assert!(came.err.contains("count"), "{}", came.err);
    pack.write("p.plan", CALLER);
    pack.write("child.plan", &CHILD.replace("command say {", "command say {\n    on_interrupt = \"ask\""));
    let came = pack.run(&[]);
    assert_eq!(came.code, 1, "{came:?}");
    assert!(came.err.contains("child.plan"), "{}", came.err);
    assert!(came.err.contains("in a called plan cannot run yet: `say`"), "{}", came.err);
    assert!(!pack.file(".plan/runs").exists(), "nothing was started");
}

#[test]
fn a_reserve_inside_a_reserve_has_to_leave_something() {
    let pack = Pack::new(
        "call work { plan = \"child.plan\" }\n\
         command tidy { stage = \"epilogue\", always = true, run = \"true\" }\n",
    );
    pack.write(
        "child.plan",
        "command work { run = \"true\" }\n\
         command tidy { stage = \"epilogue\", always = true, run = \"true\" }\n",
    );
    let came = pack.run(&["--max-time", "33s"]);
    assert_eq!(came.code, 1, "{came:?}");
    assert!(came.err.contains("the reserve of 30s leaves nothing of the time ceiling of 3s"), "{}", came.err);
    ok(pack.run(&["--max-time", "63s"]));
}

#[test]
fn a_failing_plan_names_its_first_cause() {
    let pack = pack();
    pack.write("child.plan", &CHILD.replace("echo x >> one.n;", "echo broken >&2; exit 4;"));
    let came = pack.run(&[]);
    assert_eq!(came.code, 3, "{came:?}");
    let status = pack.status();
    let note = status["tasks"]["greet"]["note"].as_str().unwrap().to_owned();
    assert_eq!(note, "`one` of `child` failed: exit 4: broken (calls/greet)");
    assert_eq!(status["tasks"]["greet"]["attempts"], 1, "it is not tried again");
    assert_eq!(status["exit"], "failed");
}

#[test]
fn a_run_that_was_killed_goes_on_within_the_called_plan() {
    for signal in [true, false] {
        let pack = pack();
        pack.write("hold", "");
        let mut run = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::null()).spawn().unwrap();
        pack.wait_for("started");
        if signal {
            let pid = rustix::process::Pid::from_raw(run.id().try_into().unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        } else {
            run.kill().unwrap();
        }
        run.wait().unwrap();
        assert_eq!(pack.status()["state"], "interrupted");
        ok(pack.plan(&["run", "--resume"]));
        let counts = ["before.n", "one.n", "say.n"].map(|name| pack.read(name).lines().count());
        assert_eq!(counts, [1, 1, 1], "signal {signal}: what has settled is not run again");
        let status = pack.status();
        assert_eq!(status["verdict"], "valid");
        assert_eq!((&status["spent_usd"], &status["tasks"]["greet"]["attempts"]), (&json!(0.25), &json!(1)));
    }
}

#[test]
fn what_is_stopped_is_opened_again_and_so_is_what_ran_out() {
    let pack = pack();
    pack.write("hold", "");
    let run = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::null()).spawn().unwrap();
    pack.wait_for("started");
    ok(pack.plan(&["stop"]));
    assert_eq!(run.wait_with_output().unwrap().status.code(), Some(3));
    assert_eq!(pack.status()["exit"], "stopped");
    ok(pack.plan(&["run", "--resume"]));
    assert_eq!((pack.read("one.n"), pack.read("say.n")), ("x\n".to_owned(), "x\n".to_owned()));

    let pack = self::pack();
    let came = pack.run(&["--max-steps", "3"]);
    assert_eq!(came.code, 3, "{came:?}");
    assert_eq!(pack.status()["exit"], "step_ceiling");
    ok(pack.plan(&["run", "--resume", "--max-steps", "9"]));
    assert_eq!((pack.read("one.n"), pack.read("say.n")), ("x\n".to_owned(), "x\n".to_owned()));
    // Asked for by name, all of it runs.
    ok(pack.plan(&["run", "--resume", "--from", "greet", "--max-steps", "20"]));
    assert_eq!((pack.read("one.n"), pack.read("say.n")), ("x\nx\n".to_owned(), "x\nx\n".to_owned()));
}

#[test]
fn secrets_and_frozen_files_are_of_both() {
    let pack = Pack::new(
        "call inner { plan = \"child.plan\" }\n\
         command outer { run = \"echo outer ${TOKEN_OF_CHILD:-none}\" }\n",
    );
    pack.write(
        "child.plan",
        "plan \"child\" { frozen = [\"check.sh\"] }\n\
         command use   { secrets = [\"TOKEN_OF_CHILD\"], run = \"echo token $TOKEN_OF_CHILD; echo true > check.sh\" }\n\
         command other { depends_on = [use], run = \"echo other ${TOKEN_OF_CHILD:-none}; cat check.sh\" }\n",
    );
    pack.write("check.sh", "echo checked\n");
    let mut command = pack.command(&["run", "--plan", "p.plan"]);
    let came = super::pack::came(command.env("TOKEN_OF_CHILD", "hush-hush").output().unwrap());
    assert_eq!(came.code, 0, "{came:?}");
    assert_eq!(pack.read("check.sh"), "echo checked\n");
    let log = |run: &str, task: &str| ok(pack.plan(&["logs", run, task])).out;
    assert!(log("latest", "outer").contains("outer none"));
    let other = log("latest/calls/inner", "other");
    assert!(other.contains("other none") && other.contains("echo checked"), "{other}");
    let stored = pack.read(".plan/latest/calls/inner/logs/1.out");
    assert!(!stored.contains("hush-hush") && stored.contains("token"), "{stored}");
    assert!(!pack.read(".plan/latest/calls/inner/events.jsonl").contains("hush-hush"));
}

#[test]
fn what_a_called_plan_did_is_taken_over_while_all_of_it_is_the_same() {
    let pack = pack();
    ok(pack.run(&[]));
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!((pack.read("one.n"), pack.read("say.n")), ("x\n".to_owned(), "x\n".to_owned()));
    pack.write("child.plan", &CHILD.replace("x >> one.n", "y >> one.n"));
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!((pack.read("one.n"), pack.read("before.n")), ("x\ny\n".to_owned(), "x\n".to_owned()));
    // A file that a command of the called plan names counts as well.
    pack.write("child.plan", &CHILD.replace("echo x >> one.n", "cat word.txt >> one.n"));
    pack.write("word.txt", "z\n");
    ok(pack.run(&["--reuse", "latest"]));
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(pack.read("one.n"), "x\ny\nz\n");
    pack.write("word.txt", "w\n");
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(pack.read("one.n"), "x\ny\nz\nw\n");
    let came = pack.plan(&["logs", "latest", "before"]);
    assert!(came.err.contains("was taken over from"), "{came:?}");
}

#[test]
fn a_called_plan_that_may_be_rejected_now_is_called_again() {
    let look = "verifiers of the plan that it calls have to look again";
    let ask = "the plan that it calls asks anew: it has a gate or a `done_when`";
    for (child, why) in [
        ("command w { run = \"true\", verify v { file = \"rules.txt\", contains = \"ok\" } }\n", look),
        ("command w { run = \"true\" }\nverify gate { file = \"rules.txt\", contains = \"ok\" }\n", look),
        ("command w { run = \"true\", done_when = \"test -e none\" }\n", ask),
        (
            "plan \"child\" { frozen = [\"rules.txt\"] }\ncommand w { run = \"true\" }\n",
            "the frozen files have changed",
        ),
        ("call deeper { plan = \"deeper.plan\" }\n", look),
    ] {
        let pack = Pack::new("call c { plan = \"child.plan\" }\n");
        pack.write("child.plan", child);
        pack.write("deeper.plan", "command w { run = \"true\", verify v { run = \"grep ok rules.txt\" } }\n");
        pack.write("rules.txt", "ok");
        ok(pack.run(&[]));
        pack.write("rules.txt", "no");
        let came = pack.run(&["--reuse", "latest"]);
        let rejected = why == look;
        assert_eq!(came.code, if rejected { 3 } else { 0 }, "{child}: {came:?}");
        let events = pack.events();
        let decided = events.iter().find(|event| event["kind"] == "reuse_decided").unwrap();
        assert_eq!((&decided["taken"], &decided["why"]), (&json!(false), &json!(why)), "{child}");
    }
}

#[test]
fn the_run_of_an_instance_goes_by_the_name_that_people_see() {
    let pack = Pack::new(
        "command list { run = \"echo '{\\\"all\\\":[\\\"b/c\\\",\\\"x/calls/y\\\"]}'\", emits = { all: [string] } }\n\
         call m { depends_on = [list], over = list.all, plan = \"child.plan\" }\n",
    );
    pack.write("child.plan", "call inner { plan = \"inner.plan\" }\n");
    pack.write("inner.plan", "command w { run = \"echo hello\" }\n");
    ok(pack.run(&[]));
    for run in ["m[b/c]", "m[b%2Fc]", "m[x/calls/y]"] {
        let status = ok(pack.plan(&["status", &format!("latest/calls/{run}"), "--format", "json"])).out;
        assert!(status.contains("\"child\""), "{run}: {status}");
        let inner = ok(pack.plan(&["logs", &format!("latest/calls/{run}/calls/inner"), "w"])).out;
        assert!(inner.contains("hello"), "{run}: {inner}");
    }
    for run in ["m[b]", "m[b/c", "m[../b/c]", "m[b/c]/calls/w", "../calls/m[b/c]"] {
        assert_eq!(pack.plan(&["status", &format!("latest/calls/{run}")]).code, 1, "{run}");
    }
}
