//! Secrets are in what tasks get, and in nothing that is shown or kept but results (EXECUTION §6).

use super::pack::{Pack, came};

#[test]
fn secrets_are_masked_in_what_is_kept_and_shown() {
    let pack = Pack::new(
        r#"
command a {
    secrets = ["TOKEN"]
    run     = 'echo "out $TOKEN"; echo "err $TOKEN" >&2; echo "{\"t\": \"$TOKEN\", \"note\": \"is $TOKEN\"}"'
}
command b { depends_on = [a], run = 'echo "has ${TOKEN-none}"; test "$PLAN_INPUTS" = "{\"a\":{\"t\":\"hunter22\",\"note\":\"is hunter22\"}}"' }
"#,
    );
    let run = |arguments: &[&str]| came(pack.command(arguments).env("TOKEN", "hunter22").output().unwrap());
    let ran = run(&["run", "--plan", "p.plan", "--verbose"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.out.contains("hunter22"), "{}", ran.out);
    assert_eq!(pack.read(".plan/latest/logs/1.out").lines().next(), Some("out ***"));
    assert_eq!(pack.read(".plan/latest/logs/1.err"), "err ***\n");
    assert_eq!(pack.read(".plan/latest/logs/2.out"), "has none\n", "only those that list it get it");
    let status = run(&["status", "--format", "json"]);
    assert!(status.out.contains(r#"{"t":"***","note":"is ***"}"#), "{}", status.out);
    for event in pack.events() {
        let mut event = event;
        event.as_object_mut().unwrap().shift_remove("output");
        assert!(!event.to_string().contains("hunter22"), "{event}");
    }
    let page = run(&["status", "--format", "html"]);
    assert!(page.out.contains("err ***") && page.out.contains("is ***"), "{}", page.out);
    assert!(!page.out.contains("hunter22"), "{}", page.out);
    let events = run(&["run", "--plan", "p.plan", "--format", "json"]);
    assert!(!events.out.contains("hunter22"), "{}", events.out);
}

#[test]
fn a_short_secret_is_refused() {
    let pack = Pack::new("command a { secrets = [\"PIN\"], run = \"true\" }");
    let ran = came(pack.command(&["run", "--plan", "p.plan"]).env("PIN", "123").output().unwrap());
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("PIN") && !ran.err.contains("123"), "{}", ran.err);
    assert_eq!(pack.names(""), ["p.plan"]);
}

const TOKEN: &str = r#"
command a { secrets = ["TOKEN"], run = 'echo "{\"t\": \"$TOKEN\"}"' }
command b {
    secrets    = ["TOKEN"]
    depends_on = [a]
    run        = 'echo "is $TOKEN"; touch started; until [ -e go ]; do sleep 0.02; done'
}
"#;

#[test]
fn who_lacks_a_secret_is_shown_nothing_that_may_hold_it() {
    let pack = Pack::new(TOKEN);
    let with = |arguments: &[&str], value: Option<&str>| {
        let mut command = pack.command(arguments);
        match value {
            Some(value) => command.env("TOKEN", value),
            None => command.env_remove("TOKEN"),
        };
        command
    };
    let run = |arguments: &[&str], value| came(with(arguments, value).output().unwrap());
    let mut child = with(&["run", "--plan", "p.plan"], Some("hunter22"))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    pack.wait_for("started");
    for value in [None, Some("other-one")] {
        // A stream of what runs is not masked yet.
        for arguments in [&["logs", "latest", "b"][..], &["logs", "latest", "b", "--follow"]] {
            let logs = run(arguments, value);
            assert_eq!((logs.code, logs.out.as_str()), (1, ""), "{logs:?}");
            assert!(logs.err.contains("set `TOKEN` as when the run began"), "{logs:?}");
        }
        for format in ["text", "json", "html"] {
            let status = run(&["status", "--format", format], value);
            assert_eq!(status.code, 0, "{status:?}");
            assert!(!status.out.contains("hunter22"), "{format} {status:?}");
            assert!(status.err.contains("results are withheld: set `TOKEN`"), "{format} {status:?}");
        }
        let status: serde_json::Value =
            serde_json::from_str(&run(&["status", "--format", "json"], value).out).unwrap();
        assert_eq!(status["tasks"]["a"]["output"], serde_json::Value::Null);
        assert!(status["warnings"][0]["message"].as_str().unwrap().contains("withheld"), "{status}");
    }
    let logs = run(&["logs", "latest", "b"], Some("hunter22"));
    assert_eq!(logs.out, "is ***\n");
    // After a crash nobody goes on who could not mask what is left.
    child.kill().unwrap();
    child.wait().unwrap();
    let log = pack.read(".plan/latest/events.jsonl");
    for (value, why) in [(None, "is not set, and was"), (Some("other-one"), "has another value than")] {
        let resumed = run(&["run", "--resume"], value);
        assert_eq!(resumed.code, 1, "{resumed:?}");
        assert!(resumed.err.contains(&format!("the secret `TOKEN` {why} when the run began")), "{resumed:?}");
        assert_eq!(pack.read(".plan/latest/events.jsonl"), log);
    }
    pack.write("go", "");
    assert_eq!(run(&["run", "--resume"], Some("hunter22")).code, 0);
    for name in pack.names(".plan/latest/logs") {
        assert!(!pack.read(&format!(".plan/latest/logs/{name}")).contains("hunter22"), "{name}");
    }
    let reused = run(&["run", "--plan", "p.plan", "--reuse", "latest"], Some("other-one"));
    assert!(reused.code == 1 && reused.err.contains("nothing is taken over"), "{reused:?}");
    // Masked streams of what has ended, and what was known to be masked, are shown to everybody.
    assert_eq!(run(&["logs", "latest", "b"], None).out, "is ***\n");
    assert!(!pack.read(".plan/latest/run.json").contains("hunter22"));
}

#[test]
fn a_secret_that_cannot_be_masked_is_refused_and_one_that_is_not_set_is_told() {
    use std::os::unix::ffi::OsStrExt;
    let pack = Pack::new("command a { secrets = [\"TOKEN\"], run = \"true\" }");
    let bytes = std::ffi::OsStr::from_bytes(b"not \xff text");
    let ran = came(pack.command(&["run", "--plan", "p.plan"]).env("TOKEN", bytes).output().unwrap());
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("the secret `TOKEN` is not UTF-8"), "{}", ran.err);
    assert_eq!(pack.names(""), ["p.plan"]);
    for arguments in [&["run", "--plan", "p.plan", "--dry-run"][..], &["run", "--plan", "p.plan"]] {
        let ran = came(pack.command(arguments).env_remove("TOKEN").output().unwrap());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.err, "plan: the secret `TOKEN`, which `a` lists, is not set\n");
    }
}

#[test]
fn a_secret_is_the_name_of_no_instance() {
    let pack = Pack::new(
        r#"
command a { secrets = ["TOKEN"], run = 'echo "{\"l\": [\"x\", \"y$TOKEN\"]}"', emits = { l: [string] } }
command b { depends_on = [a], over = a.l, run = "true" }
"#,
    );
    let ran = came(pack.command(&["run", "--plan", "p.plan"]).env("TOKEN", "hunter22").output().unwrap());
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("element 1 of its list holds a secret"), "{ran:?}");
    assert!(!ran.out.contains("hunter22"), "{ran:?}");
    for mut event in pack.events() {
        event.as_object_mut().unwrap().shift_remove("output");
        event.as_object_mut().unwrap().shift_remove("last_line");
        assert!(!event.to_string().contains("hunter22"), "{event}");
    }
}
