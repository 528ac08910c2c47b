//! Fan-out (LANGUAGE §8).

use crate::event::{Body, Status};
use crate::exec::testing::{Builder, Setup, Sim, fails, pass, says};
use crate::ir::condition::{Comparison, Condition, Operand};
use crate::ir::{Isolation, Join, TaskId, Value};
use crate::source::Span;

fn jobs(jobs: usize) -> Setup {
    Setup { jobs, ..Setup::default() }
}

/// `src` emits `keys`, `m` is mapped over them, `r` depends on `m`.
fn mapped(keys: &str, max: u32) -> Sim<'static> {
    let mut plan = Builder::new();
    plan.command("src");
    plan.command("m").after(&["src"]).over("src", "keys").with(|task| task.max_fanout = max);
    plan.command("r").after(&["m"]);
    let keys = keys.to_owned();
    Sim::new(plan.done(), &jobs(2), move |dispatch| match dispatch.name.as_str() {
        "src" => says(&format!(r#"{{"keys":{keys}}}"#)),
        _ => says(&format!(r#"{{"got":{:?}}}"#, dispatch.element.as_deref().unwrap_or_default())),
    })
    .run()
}

#[test]
fn results_keep_the_order_of_the_list() {
    let sim = mapped(r#"["b","a[0]",7]"#, 3);
    assert_eq!(sim.outcome(), "completed");
    assert_eq!(sim.status("m[a[0]]"), Some(Status::Pass));
    assert_eq!(
        sim.seen["r"],
        r#"{"m":{"instances":{"b":{"got":"b"},"a[0]":{"got":"a[0]"},"7":{"got":"7"}},"passed":["b","a[0]","7"],"failed":[],"not_taken":[]}}"#
    );
    assert_eq!(sim.seen["m[7]"], r#"{"src":{"keys":["b","a[0]",7]},"item":7}"#);
}

#[test]
fn an_empty_list_passes() {
    let sim = mapped("[]", 3);
    assert_eq!(sim.outcome(), "completed");
    assert_eq!(sim.seen["r"], r#"{"m":{"instances":{},"passed":[],"failed":[],"not_taken":[]}}"#);
}

#[test]
fn what_is_wrong_with_a_list_fails_the_task_and_says_so() {
    for (keys, said) in [
        ("\"a\"", "`src.keys` is not a list but a string"),
        ("null", "`src.keys` is not a list but null"),
        (r#"{"a":1}"#, "`src.keys` is not a list but an object"),
        (r#"["a","b","c","d"]"#, "`src.keys` has 4 elements, more than `max_fanout = 3`"),
        (r#"[""]"#, "element 0 of `src.keys` is an empty string"),
        (r#"["a","b","a"]"#, "`src.keys` names \"a\" twice, as elements 0 and 2"),
        (r#"["1",1]"#, "`src.keys` names \"1\" twice, as elements 0 and 1"),
        ("[1.5]", "element 0 of `src.keys` is a number that is not an integer"),
        ("[[1]]", "element 0 of `src.keys` is a list, not a string, an integer or an object with a `key`"),
        ("[{}]", "element 0 of `src.keys` is an object, and the task has no `key` that names it"),
    ] {
        let sim = mapped(keys, 3);
        assert_eq!((sim.outcome(), sim.status("m")), ("failed", Some(Status::Fail)), "{keys}");
        assert_eq!(sim.note("m"), said);
        assert!(sim.row("m").instances.is_none());
    }
}

#[test]
fn objects_are_named_by_their_key() {
    let mut plan = Builder::new();
    plan.command("src");
    plan.command("m").after(&["src"]).over("src", "keys").with(|task| {
        task.key = Some(crate::exec::testing::spanned("id".into()));
    });
    let sim = Sim::new(plan.done(), &jobs(1), |_| says(r#"{"keys":[{"id":"x","n":1.0},{"id":2}]}"#)).run();
    assert_eq!(sim.outcome(), "completed");
    assert!(sim.seen["m[x]"].ends_with(r#""item":{"id":"x","n":1.0}}"#));
    assert_eq!(sim.status("m[2]"), Some(Status::Pass));
}

#[test]
fn a_source_that_did_not_pass_is_never_fanned_out_over() {
    let mut plan = Builder::new();
    plan.command("disc").advisory();
    plan.command("sib");
    plan.command("m").advisory().after(&["disc", "sib"]).join(Join::Passed).over("disc", "keys");
    plan.command("all").advisory().after(&["disc"]).over("disc", "keys");
    let sim = Sim::new(
        plan.done(),
        &jobs(1),
        |dispatch| {
            if dispatch.name == "disc" { fails("exit 1") } else { pass() }
        },
    )
    .run();
    assert_eq!(sim.outcome(), "completed");
    assert_eq!(sim.status("m"), Some(Status::Fail));
    assert!(sim.note("m").contains("`disc` settled `fail`"));
    assert_eq!(sim.status("all"), Some(Status::Blocked));
}

#[test]
fn the_task_fails_once_all_instances_are_terminal() {
    let mut plan = Builder::new();
    plan.command("src");
    plan.command("m").advisory().after(&["src"]).over("src", "keys");
    plan.command("passed").after(&["m"]).join(Join::Passed);
    plan.command("settled").after(&["m"]).join(Join::Settled);
    plan.command("all").advisory().after(&["m"]);
    let sim = Sim::new(plan.done(), &jobs(1), |dispatch| match dispatch.name.as_str() {
        "src" => says(r#"{"keys":["b","a"]}"#),
        "m[b]" => fails("exit 1"),
        _ => pass(),
    })
    .run();
    assert_eq!(sim.outcome(), "completed");
    assert_eq!(sim.settled(), ["src", "m[b]", "m[a]", "m", "passed", "settled", "all"]);
    assert_eq!(sim.note("m"), "1 of 2 instances failed: b");
    let fold = r#"{"instances":{"a":{}},"passed":["a"],"failed":["b"],"not_taken":[]}"#;
    assert_eq!(sim.seen["passed"], format!(r#"{{"m":{fold}}}"#));
    assert_eq!(
        sim.seen["settled"],
        format!(
            concat!(
                r#"{{"m":{{"status":"fail","note":"1 of 2 instances failed: b","output":{fold},"files":false,"#,
                r#""per_instance":{{"b":{{"status":"fail","note":"exit 1","output":null,"files":false}},"#,
                r#""a":{{"status":"pass","note":null,"output":{{}},"files":false}}}}}}}}"#
            ),
            fold = fold
        )
    );
    assert_eq!(sim.status("all"), Some(Status::Blocked));
}

#[test]
fn aligned_instances_wait_for_their_own_element_only() {
    let mut plan = Builder::new();
    plan.command("src");
    plan.command("m").advisory().after(&["src"]).over("src", "keys").files("m.txt").with(|task| {
        task.isolation = crate::exec::testing::spanned(Isolation::Worktree);
    });
    plan.command("n").advisory().after(&["src", "m"]).over("src", "keys");
    plan.command("s").after(&["m"]).join(Join::Settled).over("src", "keys");
    let sim = Sim::new(plan.done(), &jobs(4), |dispatch| match dispatch.name.as_str() {
        "src" => says(r#"{"keys":["a","b"]}"#),
        "m[a]" => says(r#"{"of":"a"}"#).files(),
        "m[b]" => fails("exit 1").takes(500).files(),
        _ => pass(),
    })
    .run();
    assert_eq!(sim.outcome(), "completed");
    let settled = sim.settled();
    let at = |name: &str| settled.iter().position(|known| *known == name).unwrap();
    assert!(at("n[a]") < at("m[b]"), "{settled:?}");
    assert_eq!(sim.seen["n[a]"], r#"{"src":{"keys":["a","b"]},"m":{"of":"a"},"item":"a"}"#);
    assert_eq!(sim.staged["n[a]"], ["m[a]"]);
    assert_eq!(sim.status("n[b]"), Some(Status::Blocked));
    assert_eq!(sim.note("n[b]"), "`m[b]` failed: exit 1");
    assert!(
        sim.seen["s[b]"].starts_with(r#"{"m":{"status":"fail","note":"exit 1","output":null,"files":true}"#)
    );
    assert_eq!(sim.staged["s[b]"], ["m[b]"]);
}

#[test]
fn a_condition_is_decided_for_each_instance() {
    let mut plan = Builder::new();
    plan.command("src");
    let is_a = Condition::Compare {
        left: Operand::Item(Vec::new()),
        operator: Comparison::Equal,
        right: Operand::Literal(Value::String("a".into())),
        span: Span::default(),
    };
    plan.command("m").after(&["src"]).over("src", "keys").when(is_a);
    let said = Condition::Compare {
        left: Operand::Status(TaskId::from(1)),
        operator: Comparison::Equal,
        right: Operand::Literal(Value::String("not_taken".into())),
        span: Span::default(),
    };
    plan.command("n").after(&["m"]).join(Join::Settled).over("src", "keys").when(said);
    plan.command("r").after(&["m"]);
    let sim = Sim::new(plan.done(), &jobs(1), |_| says(r#"{"keys":["a","b"]}"#)).run();
    assert_eq!(sim.outcome(), "completed");
    assert_eq!((sim.status("m[a]"), sim.status("m[b]")), (Some(Status::Pass), Some(Status::NotTaken)));
    assert_eq!((sim.status("n[a]"), sim.status("n[b]")), (Some(Status::NotTaken), Some(Status::Pass)));
    assert_eq!(sim.status("m"), Some(Status::Pass));
    assert!(sim.seen["r"].contains(r#""not_taken":["b"]"#));
}

#[test]
fn instances_that_promise_files_run_one_at_a_time() {
    let mut plan = Builder::new();
    plan.command("src");
    plan.command("m").after(&["src"]).over("src", "keys").files("r.json");
    plan.command("x");
    let mut tried = false;
    let sim = Sim::new(plan.done(), &jobs(4), |dispatch| match dispatch.name.as_str() {
        "src" => says(r#"{"keys":["a","b","c"]}"#),
        "m[a]" if !std::mem::replace(&mut tried, true) => crate::exec::testing::lost().takes(100),
        _ => pass().takes(100),
    })
    .run();
    assert_eq!(sim.outcome(), "completed");
    let mut running = 0;
    for event in &sim.events {
        match &event.body {
            Body::AttemptStarted(body) if body.task.starts_with('m') => running += 1,
            Body::AttemptEnded(body) if body.task.starts_with('m') => running -= 1,
            _ => {}
        }
        assert!(running <= 1, "{event:?}");
    }
    assert_eq!(sim.status("m[a]"), Some(Status::Pass));
}

#[test]
fn a_halt_blocks_the_instances_that_have_not_started() {
    let mut plan = Builder::new();
    plan.command("src");
    plan.command("bad").after(&["src"]);
    plan.command("m").after(&["src"]).over("src", "keys");
    let sim = Sim::new(plan.done(), &jobs(2), |dispatch| match dispatch.name.as_str() {
        "src" => says(r#"{"keys":["a","b","c"]}"#),
        "bad" => fails("exit 1"),
        _ => pass().takes(500),
    })
    .run();
    assert_eq!(sim.outcome(), "failed");
    assert_eq!(sim.status("m[a]"), Some(Status::Pass));
    assert_eq!(sim.status("m[c]"), Some(Status::Blocked));
    assert_eq!(sim.status("m"), Some(Status::Fail));
}
