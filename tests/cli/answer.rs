//! `plan answer`: what a gate asks, and how an interrupted attempt ended; recorded, taken up live, refused.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::pack::{Pack, came};

const SHIP: &str = r#"
command prep { run = "echo x >> prep.n" }
gate ship {
    depends_on = [prep]
    ask        = "Ship it?"
    options    = ["now", "not yet"]
}
command go   { depends_on = [ship], when = ship.answer == "now", run = "touch go.ran" }
command keep { depends_on = [ship], when = otherwise(ship.answer), run = "touch keep.ran" }
"#;

/// Waits until the log has an event of this kind.
pub fn wait_for_event(pack: &Pack, kind: &str) {
    let since = Instant::now();
    let sought = format!("\"kind\":\"{kind}\"");
    let log = pack.file(".plan/latest/events.jsonl");
    while !std::fs::read_to_string(&log).unwrap_or_default().contains(&sought) {
        assert!(since.elapsed() < Duration::from_secs(30), "no {kind}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn as_ada<'c>(command: &'c mut Command, user: &str) -> &'c mut Command {
    command.env("USER", user)
}

#[test]
fn an_answer_is_recorded_and_the_run_goes_on_with_it() {
    let pack = Pack::new(SHIP);
    let came = pack.run(&[]);
    assert_eq!(came.code, 4, "{came:?}");
    assert!(came.out.contains(" ship 'not yet'\n"), "{}", came.out);
    assert!(came.out.contains("plan run --resume"), "{}", came.out);
    let status = pack.status();
    assert_eq!(
        (&status["state"], &status["exit"], &status["verdict"]),
        (&"waiting".into(), &"waiting".into(), &Value::Null)
    );
    assert_eq!(status["tasks"]["ship"]["status"], "pending");
    for (arguments, said) in [
        (["latest", "ship", "yes"], "`yes` is no answer to `ship`, which takes `now` or `not yet`"),
        (["latest", "shop", "now"], "no task is called `shop`; did you mean `ship`?"),
        (["latest", "go", "now"], "`go` asks nothing yet; asked is `ship`"),
        (["latest", "prep", "now"], "`prep` asks nothing: it has settled as `pass`"),
        (["2020", "ship", "now"], "no run is called `2020`"),
    ] {
        let came = pack.plan(&[&["answer"], &arguments[..]].concat());
        assert_eq!(came.code, 1, "{came:?}");
        assert!(came.err.contains(said), "{} lacks {said}", came.err);
    }
    let refused = pack.plan(&["answer", "latest", "ship", "now", "--result", "{}"]);
    assert!(refused.err.contains("`ship` is a gate, and takes no result"), "{refused:?}");
    let given = super::pack::came(
        as_ada(&mut pack.command(&["answer", "latest", "ship", "now"]), "ada").output().unwrap(),
    );
    assert_eq!(given.code, 0, "{given:?}");
    assert!(given.out.starts_with("ship: now\ngo on with `plan run --resume "), "{}", given.out);
    let again = pack.plan(&["answer", "latest", "ship", "not yet"]);
    assert!(again.code == 1 && again.err.contains("`ship` was answered already: `now` by ada"), "{again:?}");
    assert_eq!(pack.status()["state"], "waiting", "an answer only records");
    let resumed = pack.run(&["--resume"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let status = pack.status();
    let output = &status["tasks"]["ship"]["output"];
    assert_eq!((&output["answer"], &output["by"]), (&"now".into(), &"ada".into()));
    assert!(output["at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(status["tasks"]["ship"]["attempts"], 0);
    assert_eq!(status["steps"], 2);
    assert_eq!(
        (pack.read("prep.n"), pack.file("go.ran").exists(), pack.file("keep.ran").exists()),
        ("x\n".into(), true, false)
    );
    let late = pack.plan(&["answer", "latest", "ship", "now"]);
    assert!(late.err.contains("has ended: completed"), "{late:?}");
}

#[test]
fn a_run_that_goes_on_takes_an_answer_up_at_once() {
    let pack =
        Pack::new(&format!("{SHIP}\ncommand slow {{ run = \"until test -e go.ran; do sleep 0.05; done\" }}"));
    let running =
        pack.command(&["run", "--plan", "p.plan", "--jobs", "2"]).stdout(Stdio::piped()).spawn().unwrap();
    wait_for_event(&pack, "gate_asked");
    let given = pack.plan(&["answer", "latest", "ship", "now"]);
    assert_eq!((given.code, given.out.as_str()), (0, "ship: now\n"), "{given:?}");
    // What waited for the answer ends what the run waits for.
    assert_eq!(came(running.wait_with_output().unwrap()).code, 0);
    assert_eq!(pack.names(".plan/latest/control"), [] as [&str; 0]);
}

#[test]
fn two_answers_at_once_are_one_answer() {
    let pack =
        Pack::new(&format!("{SHIP}\ncommand slow {{ run = \"until test -e done; do sleep 0.05; done\" }}"));
    let running =
        pack.command(&["run", "--plan", "p.plan", "--jobs", "3"]).stdout(Stdio::piped()).spawn().unwrap();
    wait_for_event(&pack, "gate_asked");
    let both: Vec<_> = [("now", "ada"), ("not yet", "bob")]
        .map(|(said, by)| {
            let mut command = pack.command(&["answer", "latest", "ship", said]);
            as_ada(&mut command, by).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .into_iter()
        .map(|child| came(child.wait_with_output().unwrap()))
        .collect();
    pack.write("done", "");
    assert_eq!(came(running.wait_with_output().unwrap()).code, 0);
    let answers = pack.events().iter().filter(|event| event["kind"] == "gate_answered").count();
    assert_eq!(answers, 1);
    assert_eq!(both.iter().filter(|came| came.code == 0).count(), 1, "{both:?}");
    let lost = both.iter().find(|came| came.code != 0).unwrap();
    assert!(lost.err.contains("`ship` was answered already"), "{lost:?}");
    assert_eq!(pack.names(".plan/latest/control"), [] as [&str; 0], "and nothing is left behind");
}

#[test]
fn a_kill_between_question_and_answer_loses_neither() {
    let pack = Pack::new(&format!("{SHIP}\ncommand slow {{ run = \"test -e done || sleep 60\" }}"));
    let mut running = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::null()).spawn().unwrap();
    wait_for_event(&pack, "gate_asked");
    std::thread::sleep(Duration::from_millis(200));
    running.kill().unwrap();
    running.wait().unwrap();
    let given = pack.plan(&["answer", "latest", "ship", "now"]);
    assert_eq!(given.code, 0, "{given:?}");
    pack.write("done", "");
    let resumed = pack.run(&["--resume"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let asked = pack.events().iter().filter(|event| event["kind"] == "gate_asked").count();
    assert_eq!((asked, pack.file("go.ran").exists()), (1, true));
}

#[test]
fn an_old_answer_serves_no_new_question() {
    let pack = Pack::new(SHIP);
    assert_eq!(pack.run(&[]).code, 4);
    assert_eq!(pack.plan(&["answer", "latest", "ship", "now"]).code, 0);
    assert_eq!(pack.run(&["--resume"]).code, 0);
    let again = pack.run(&["--resume", "--from", "prep"]);
    assert_eq!(again.code, 4, "{again:?}");
    assert_eq!(pack.plan(&["answer", "latest", "ship", "not yet"]).code, 0);
    assert_eq!(pack.run(&["--resume"]).code, 0);
    assert_eq!(pack.status()["tasks"]["go"]["status"], "not_taken");
    // An answer that was recorded and not yet used goes with its question.
    assert_eq!(pack.run(&["--resume", "--from", "ship"]).code, 4);
    assert_eq!(pack.plan(&["answer", "latest", "ship", "now"]).code, 0);
    assert_eq!(pack.run(&["--resume", "--from", "ship"]).code, 4);
    let questions: Vec<Value> = pack
        .events()
        .iter()
        .filter(|event| event["kind"] == "gate_asked")
        .map(|event| event["seq"].clone())
        .collect();
    let answered: Vec<Value> = pack
        .events()
        .iter()
        .filter(|event| event["kind"] == "gate_answered")
        .map(|event| event["question"].clone())
        .collect();
    assert_eq!((questions.len(), &questions[..3]), (4, &answered[..]));
}

#[test]
fn time_answers_without_anybody() {
    let pack = Pack::new(
        r#"
gate soft  { ask = "Go on?", timeout = 300ms, default = "no" }
command go { depends_on = [soft], when = soft.answer == "yes", run = "touch go.ran" }
command no { depends_on = [soft], when = soft.answer == "no", run = "touch no.ran" }
"#,
    );
    let came = pack.run(&[]);
    assert_eq!(came.code, 0, "{came:?}");
    assert_eq!(pack.status()["tasks"]["soft"]["output"]["by"], "timeout");
    assert!(pack.file("no.ran").exists() && !pack.file("go.ran").exists());
}

#[test]
fn a_waiting_run_is_stopped_and_interrupted() {
    let plan = r#"
gate soft  { ask = "Go on?", timeout = 1h, default = "no" }
command go { depends_on = [soft], run = "true" }
command tidy { stage = "epilogue", always = true, run = "touch tidy.ran" }
"#;
    let pack = Pack::new(plan);
    let running = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::piped()).spawn().unwrap();
    wait_for_event(&pack, "gate_asked");
    assert_eq!(pack.plan(&["stop"]).code, 0);
    assert_eq!(came(running.wait_with_output().unwrap()).code, 3);
    assert_eq!((pack.status()["exit"].as_str(), pack.file("tidy.ran").exists()), (Some("stopped"), true));
    let pack = Pack::new(plan);
    let running = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::piped()).spawn().unwrap();
    wait_for_event(&pack, "gate_asked");
    let pid = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(came(running.wait_with_output().unwrap()).code, 130);
    let status = pack.status();
    assert_eq!(
        (status["state"].as_str(), status["tasks"]["soft"]["status"].as_str()),
        (Some("interrupted"), Some("pending"))
    );
    assert_eq!(pack.plan(&["answer", "latest", "soft", "yes"]).code, 0);
    assert_eq!(pack.run(&["--resume"]).code, 0);
}

const DEPLOY: &str = r#"
command deploy {
    on_interrupt = "ask"
    emits        = { version: string }
    emits_files  = ["deployed.txt"]
    run          = "echo x >> deploy.n; touch started; sleep 30.1082"
    verify there { file = "deployed.txt", contains = "1." }
}
command tell { depends_on = [deploy], run = "cat \"$PLAN_FILES/deploy/deployed.txt\" > told.txt; echo \"$PLAN_INPUTS\" > inputs.json" }
"#;

/// A run whose executor was killed in mid-attempt, and that has asked since.
fn interrupted() -> Pack {
    let pack = Pack::new(DEPLOY);
    let mut running = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::null()).spawn().unwrap();
    pack.wait_for("started");
    wait_for_event(&pack, "attempt_started");
    running.kill().unwrap();
    running.wait().unwrap();
    let early = pack.plan(&["answer", "latest", "deploy", "pass"]);
    assert!(early.code == 1 && early.err.contains("it was interrupted: `plan run --resume"), "{early:?}");
    let asked = pack.run(&["--resume"]);
    assert_eq!(asked.code, 4, "{asked:?}");
    pack
}

#[test]
fn what_a_person_answered_is_not_taken_over() {
    let pack = interrupted();
    pack.write("deployed.txt", "1.2");
    let version = r#"{"version": "1.2"}"#;
    assert_eq!(pack.plan(&["answer", "latest", "deploy", "pass", "--result", version]).code, 0);
    assert_eq!(pack.run(&["--resume"]).code, 0);
    let mut running = pack
        .command(&["run", "--plan", "p.plan", "--reuse", "latest"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_event(&pack, "reuse_decided");
    let decided = pack.events().into_iter().find(|event| event["kind"] == "reuse_decided").unwrap();
    assert_eq!(decided["why"], "a person answered for it there");
    assert_eq!(pack.plan(&["stop"]).code, 0);
    running.wait().unwrap();
}

#[test]
fn an_interrupted_attempt_that_passed_keeps_its_promises() {
    let pack = interrupted();
    let version = r#"{"version": "1.2"}"#;
    for (arguments, said) in [
        (&["yes"][..], "which takes `rerun`, `pass`, `fail` or `skip`"),
        (&["pass"], "`deploy` cannot pass so: the result lacks `version`, which it promises"),
        (&["pass", "--result", "[]"], "the result is no JSON object"),
        (&["pass", "--result", r#"{"version": 3}"#], "`version` has to be a string"),
        (&["pass", "--result", r#"{"version": "1", "status": "fail"}"#], "cannot pass so"),
        (&["pass", "--result", version], "`deployed.txt`, which it promises, is missing"),
        (&["fail", "--result", version], "a result goes with `pass` only"),
    ] {
        let came = pack.plan(&[&["answer", "latest", "deploy"], arguments].concat());
        assert_eq!(came.code, 1, "{came:?}");
        assert!(came.err.contains(said), "{} lacks {said}", came.err);
    }
    pack.write("deployed.txt", "1.2\n");
    let given = pack.plan(&["answer", "latest", "deploy", "pass", "--result", version]);
    assert_eq!(given.code, 0, "{given:?}");
    let resumed = pack.run(&["--resume"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    assert_eq!((pack.read("deploy.n"), pack.read("told.txt")), ("x\n".into(), "1.2\n".into()));
    assert!(pack.read("inputs.json").contains("1.2"));
    let status = pack.status();
    assert_eq!(status["tasks"]["deploy"]["verifiers"]["there"]["pass"], true);
    assert!(
        status["tasks"]["deploy"]["note"].as_str().unwrap().starts_with("answered `pass` by "),
        "{status}"
    );
    assert_eq!(status["steps"], 2, "an answer is no step");
}

#[test]
fn an_interrupted_attempt_runs_again_or_has_failed() {
    let pack = interrupted();
    pack.write("deployed.txt", "0.9\n");
    // Its verifier does not accept it, whatever a person says.
    let pass = ["answer", "latest", "deploy", "pass", "--result", r#"{"version": "0.9"}"#];
    assert_eq!(pack.plan(&pass).code, 0);
    assert_eq!(pack.run(&["--resume"]).code, 3);
    assert!(pack.status()["tasks"]["deploy"]["note"].as_str().unwrap().contains("`there` rejected it"));
    for (said, status) in [("fail", "fail"), ("skip", "skipped")] {
        let pack = interrupted();
        assert_eq!(pack.plan(&["answer", "latest", "deploy", said]).code, 0);
        assert_eq!(pack.run(&["--resume"]).code, 3);
        assert_eq!(pack.status()["tasks"]["deploy"]["status"], status);
        assert_eq!(pack.read("deploy.n"), "x\n");
    }
}
