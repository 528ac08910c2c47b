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
