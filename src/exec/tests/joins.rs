//! Order, joins, branches, causes (EXECUTION §2, §4; LANGUAGE §5, §7).

use crate::event::{BlockedReason, Exit, Status, Verdict};
use crate::exec::testing::{Builder, Setup, Sim, fails, field_is, json, lost, pass, says};
use crate::ir::Join;

fn one_job() -> Setup {
    Setup { jobs: 1, ..Setup::default() }
}

#[test]
fn one_job_keeps_the_declared_order() {
    let mut plan = Builder::new();
    plan.command("i1");
    plan.command("s").after(&["i1"]);
    plan.command("i2");
    plan.command("z");
    plan.command("y").after(&["s", "i2"]);
    let sim = Sim::new(plan.done(), &one_job(), |_| pass()).run();
    assert_eq!(sim.settled(), ["i1", "s", "i2", "z", "y"]);
    assert_eq!(sim.ended(), (Exit::Completed, Some(Verdict::Valid)));
}

#[test]
fn a_retry_keeps_its_turn_with_one_job() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("b");
    let mut tries = 0;
    let sim = Sim::new(plan.done(), &one_job(), |dispatch| {
        tries += u32::from(dispatch.name == "a");
        if dispatch.name == "a" && tries < 3 { lost() } else { pass() }
    })
    .run();
    assert_eq!(sim.settled(), ["a", "b"]);
    assert_eq!(sim.row("a").attempts, 3);
}

#[test]
fn a_required_failure_halts_and_names_its_cause() {
    let mut plan = Builder::new();
    plan.command("fetch");
    plan.command("parse").after(&["fetch"]);
    plan.command("store").after(&["parse"]);
    let sim = Sim::new(plan.done(), &one_job(), |_| fails("exit 1")).run();
    assert_eq!(sim.ended(), (Exit::Failed, Some(Verdict::Invalid)));
    for name in ["parse", "store"] {
        let blocked = sim.row(name).settled.as_ref().unwrap().blocked.clone().unwrap();
        assert_eq!(blocked.reason, BlockedReason::RequiredFailure);
        assert_eq!(blocked.task.as_deref(), Some("fetch"));
        assert!(sim.note(name).contains("fetch"));
    }
}

#[test]
fn going_on_blocks_by_dependency_with_the_first_cause() {
    let mut plan = Builder::new();
    plan.command("compile");
    plan.command("link").after(&["compile"]);
    plan.command("package").after(&["link"]);
    plan.command("docs");
    let sim = Sim::new(plan.keep_going().done(), &one_job(), |dispatch| {
        if dispatch.name == "compile" { fails("exit 1") } else { pass() }
    })
    .run();
    assert_eq!(sim.outcome(), "failed");
    assert_eq!(sim.status("docs"), Some(Status::Pass));
    let blocked = sim.row("package").settled.as_ref().unwrap().blocked.clone().unwrap();
    assert_eq!((blocked.reason, blocked.task.as_deref()), (BlockedReason::Dependency, Some("link")));
    assert_eq!(sim.note("package"), "`link` was blocked, because `compile` failed: exit 1");
}

#[test]
fn a_passed_join_over_nothing_halts_before_what_comes_later() {
    let mut plan = Builder::new();
    plan.command("f").advisory();
    plan.command("g").advisory();
    plan.command("c").after(&["f", "g"]).join(Join::Passed);
    plan.command("d");
    let sim = Sim::new(plan.done(), &one_job(), |_| fails("exit 1")).run();
    assert_eq!(sim.settled(), ["f", "g", "c", "d"]);
    let blocked = sim.row("d").settled.as_ref().unwrap().blocked.clone().unwrap();
    assert_eq!((blocked.reason, blocked.task.as_deref()), (BlockedReason::RequiredFailure, Some("c")));
    assert_eq!(sim.row("c").attempts, 0);
}

#[test]
fn what_is_not_taken_spreads_and_holds() {
    let mut plan = Builder::new();
    plan.command("pick");
    let right = field_is(&plan, "pick", "side", "right");
    let left = field_is(&plan, "pick", "side", "left");
    plan.command("right").after(&["pick"]).when(right);
    plan.command("after").after(&["right"]);
    plan.command("left").after(&["pick"]).when(left);
    plan.command("both").after(&["right", "left"]).join(Join::Passed);
    plan.command("neither").after(&["right", "after"]).join(Join::Passed);
    let sim = Sim::new(plan.done(), &one_job(), |_| says(r#"{"side":"left"}"#)).run();
    assert_eq!(sim.outcome(), "completed");
    for (name, status) in [
        ("right", Status::NotTaken),
        ("after", Status::NotTaken),
        ("left", Status::Pass),
        ("both", Status::Pass),
        ("neither", Status::NotTaken),
    ] {
        assert_eq!(sim.status(name), Some(status), "{name}");
    }
    assert_eq!(sim.seen["both"], r#"{"left":{"side":"left"}}"#);
}

#[test]
fn joins_decide_what_is_received() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("f").advisory();
    plan.command("b").advisory().after(&["f"]);
    plan.command("all").after(&["a"]);
    plan.command("passed").after(&["a", "f"]).join(Join::Passed);
    plan.command("settled").after(&["a", "f", "b"]).join(Join::Settled);
    let sim = Sim::new(plan.done(), &one_job(), |dispatch| match dispatch.name.as_str() {
        "a" => says(r#"{"n":1.10}"#),
        "f" => crate::exec::testing::Played { output: Some(json(r#"{"why":1}"#)), ..fails("exit 3") },
        _ => pass(),
    })
    .run();
    assert_eq!(sim.seen["all"], r#"{"a":{"n":1.10}}"#);
    assert_eq!(sim.seen["passed"], r#"{"a":{"n":1.10}}"#);
    assert_eq!(
        sim.seen["settled"],
        concat!(
            r#"{"a":{"status":"pass","note":null,"output":{"n":1.10},"files":false},"#,
            r#""f":{"status":"fail","note":"exit 3","output":{"why":1},"files":false},"#,
            r#""b":{"status":"blocked","note":"`f` failed: exit 3","output":null,"files":false}}"#
        )
    );
}

#[test]
fn a_lost_attempt_keeps_nothing_and_is_retried() {
    let mut plan = Builder::new();
    plan.command("t").advisory();
    plan.command("r").after(&["t"]).join(Join::Settled);
    let sim = Sim::new(plan.done(), &one_job(), |dispatch| {
        if dispatch.name == "t" {
            crate::exec::testing::Played { output: Some(json("{}")), ..lost() }
        } else {
            pass()
        }
    })
    .run();
    assert_eq!((sim.status("t"), sim.row("t").attempts), (Some(Status::Transport), 3));
    assert!(sim.seen["r"].contains(r#""output":null"#), "{}", sim.seen["r"]);
    let waits: Vec<u64> = sim
        .events
        .iter()
        .filter_map(|event| match &event.body {
            crate::event::Body::RetryScheduled(body) => Some(body.after_ms.0),
            _ => None,
        })
        .collect();
    assert_eq!(waits, [1_000, 2_000]);
}

#[test]
fn files_reach_every_descendant_and_evidence_only_the_next() {
    let mut plan = Builder::new();
    plan.command("a").files("a.md");
    plan.command("f").advisory().after(&["a"]).files("f.md");
    plan.command("m").after(&["f"]).join(Join::Settled);
    plan.command("g").after(&["m"]);
    plan.command("h").after(&["m"]).join(Join::Settled);
    plan.command("other");
    let sim = Sim::new(plan.done(), &one_job(), |dispatch| match dispatch.name.as_str() {
        "a" => pass().files(),
        "f" => fails("no").files(),
        _ => pass(),
    })
    .run();
    assert_eq!(sim.staged["m"], ["a", "f"]);
    assert_eq!(sim.staged["g"], ["a"]);
    assert_eq!(sim.staged["h"], ["a"]);
    assert!(sim.staged["other"].is_empty());
    assert!(sim.seen["m"].contains(r#""files":true"#));
}

#[test]
fn a_plan_with_a_gap_runs_nothing() {
    let mut plan = Builder::new();
    plan.command("fine");
    plan.command("first").needs("gpu");
    plan.command("second").needs("net").needs("gpu");
    plan.command("tidy").epilogue();
    let sim = Sim::new(plan.done(), &one_job(), |_| pass()).run();
    assert_eq!(sim.ended(), (Exit::Truncated, Some(Verdict::Invalid)));
    assert!(sim.scheduler.history().rows.iter().all(|row| row.status() == Some(Status::Truncated)));
    let note = sim.scheduler.history().halted.as_ref().unwrap().note.clone().unwrap();
    for said in ["`first`", "`second`", "`gpu`", "`net`"] {
        assert!(note.contains(said), "{note}");
    }
}

#[test]
fn an_advisory_task_that_cannot_run_is_skipped_and_its_joins_decide() {
    let mut plan = Builder::new();
    plan.command("adv").needs("gpu").advisory();
    plan.command("b").after(&["adv"]).join(Join::Settled);
    plan.command("c").after(&["adv"]).advisory();
    let sim = Sim::new(plan.done(), &one_job(), |_| pass()).run();
    assert_eq!(sim.outcome(), "completed");
    assert_eq!(sim.status("adv"), Some(Status::Skipped));
    assert_eq!(sim.status("b"), Some(Status::Pass));
    assert_eq!(sim.status("c"), Some(Status::Skipped));
}
