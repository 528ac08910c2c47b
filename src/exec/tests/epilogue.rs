//! The epilogue, early completion, stops and signals (LANGUAGE §6, §12; EXECUTION §4).

use crate::event::{BlockedReason, Exit, Interrupted, Status, StopRequested, Verdict};
use crate::exec::testing::{Builder, Setup, Sim, fails, pass, says};
use crate::ir::Join;

fn two_jobs() -> Setup {
    Setup { jobs: 2, ..Setup::default() }
}

#[test]
fn it_waits_and_learns_the_outcome() {
    let mut plan = Builder::new();
    plan.command("e").epilogue();
    plan.command("a");
    plan.command("b").after(&["a"]);
    let sim = Sim::new(plan.done(), &two_jobs(), |dispatch| match dispatch.name.as_str() {
        "a" => fails("exit 1"),
        _ => pass(),
    })
    .run();
    assert_eq!(sim.settled(), ["a", "b", "e"]);
    assert_eq!(
        sim.seen["e"],
        concat!(
            r#"{"outcome":{"exit":"failed","verdict":"invalid","tasks":{"#,
            r#""a":{"status":"fail","note":"exit 1","output":null,"files":false},"#,
            r#""b":{"status":"blocked","note":"not started: the required task `a` failed","output":null,"files":false}"#,
            r"}}}"
        )
    );
}

#[test]
fn its_own_failures_change_nothing() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("e1").epilogue();
    plan.command("e2").epilogue().after(&["e1"]);
    plan.command("e3").epilogue().after(&["e1"]).join(Join::Settled);
    let sim =
        Sim::new(
            plan.done(),
            &two_jobs(),
            |dispatch| {
                if dispatch.name == "e1" { fails("exit 1") } else { pass() }
            },
        )
        .run();
    assert_eq!(sim.ended(), (Exit::Completed, Some(Verdict::Valid)));
    assert_eq!(sim.status("e2"), Some(Status::Blocked));
    assert_eq!(sim.status("e3"), Some(Status::Pass));
}

#[test]
fn complete_ends_the_run_early_and_well() {
    let mut plan = Builder::new();
    plan.command("a").with(|task| task.may_complete = true);
    plan.command("b").after(&["a"]);
    plan.command("e").epilogue();
    let sim = Sim::new(plan.done(), &two_jobs(), |_| says(r#"{"complete":true,"reason":"enough"}"#)).run();
    assert_eq!(sim.ended(), (Exit::Concluded, Some(Verdict::Valid)));
    assert_eq!(sim.status("b"), None);
    assert_eq!(sim.row("b").attempts, 0);
    assert!(!sim.seen["e"].contains("\"b\""), "{}", sim.seen["e"]);
    assert_eq!(sim.scheduler.history().halted.as_ref().unwrap().note.as_deref(), Some("enough"));
    // The epilogue's own word counts for nothing, and is warned about.
    assert_eq!(sim.scheduler.history().warnings.len(), 1);
}

#[test]
fn an_early_end_is_invalid_if_what_was_in_flight_fails() {
    let mut plan = Builder::new();
    plan.command("a").with(|task| task.may_complete = true);
    plan.command("slow");
    let sim = Sim::new(plan.done(), &two_jobs(), |dispatch| match dispatch.name.as_str() {
        "a" => says(r#"{"complete":true}"#),
        _ => fails("exit 1").takes(500),
    })
    .run();
    assert_eq!(sim.ended(), (Exit::Concluded, Some(Verdict::Invalid)));
}

#[test]
fn words_that_end_nothing_are_warned_about() {
    let mut plan = Builder::new();
    plan.command("typed").with(|task| task.may_complete = true);
    plan.command("failing").advisory().with(|task| task.may_complete = true);
    plan.command("may_not");
    let sim = Sim::new(plan.done(), &two_jobs(), |dispatch| match dispatch.name.as_str() {
        "typed" => says(r#"{"complete":"true"}"#),
        "failing" => {
            let output = says(r#"{"complete":true}"#).output;
            crate::exec::testing::Played { output, ..fails("exit 1") }
        }
        _ => says(r#"{"complete":true}"#),
    })
    .run();
    assert_eq!(sim.ended(), (Exit::Completed, Some(Verdict::Valid)));
    assert_eq!(sim.scheduler.history().warnings.len(), 2);
}

#[test]
fn a_stop_ends_what_runs_and_leaves_only_clean_up() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("b").after(&["a"]);
    plan.command("report").epilogue();
    plan.command("tidy").always();
    let sim =
        Sim::new(plan.done(), &two_jobs(), |_| pass().takes(1_000)).at(500, StopRequested { by: None }).run();
    assert_eq!(sim.ended(), (Exit::Stopped, Some(Verdict::Invalid)));
    assert_eq!(sim.status("a"), Some(Status::Fail));
    for name in ["b", "report"] {
        let blocked = sim.row(name).settled.as_ref().unwrap().blocked.clone().unwrap();
        assert_eq!((blocked.reason, blocked.task), (BlockedReason::Stopped, None));
    }
    assert_eq!(sim.status("tidy"), Some(Status::Pass));
}

#[test]
fn a_stop_during_the_epilogue_changes_no_outcome() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("e1").epilogue();
    plan.command("e2").epilogue().after(&["e1"]).join(Join::Settled);
    plan.command("tidy").always();
    let sim = Sim::new(plan.done(), &two_jobs(), |_| pass().takes(1_000))
        .at(1_500, StopRequested { by: None })
        .run();
    assert_eq!(sim.ended(), (Exit::Completed, Some(Verdict::Valid)));
    assert_eq!(sim.status("e1"), Some(Status::Fail));
    assert_eq!(sim.status("e2"), Some(Status::Blocked));
    assert_eq!(sim.status("tidy"), Some(Status::Pass));
}

#[test]
fn a_signal_leaves_the_run_open_and_cleans_up() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("b").after(&["a"]);
    plan.command("report").epilogue();
    plan.command("tidy").always().after(&["report"]).join(Join::Settled);
    plan.command("last").always().after(&["tidy"]);
    plan.command("never").always().after(&["report"]);
    let sim = Sim::new(plan.done(), &two_jobs(), |_| pass().takes(1_000))
        .at(500, Interrupted { by: "TERM".into() })
        .run();
    assert!(sim.scheduler.history().ended.is_none());
    assert!(sim.scheduler.is_over());
    for name in ["a", "b", "report"] {
        assert_eq!(sim.status(name), None, "{name}");
    }
    assert_eq!(sim.status("tidy"), Some(Status::Pass));
    assert_eq!(sim.status("last"), Some(Status::Pass));
    assert_eq!(sim.status("never"), Some(Status::Blocked));
    assert_eq!(
        sim.seen["tidy"],
        concat!(
            r#"{"report":{"status":"blocked","note":null,"output":null,"files":false},"#,
            r#""outcome":{"exit":"interrupted","verdict":null,"tasks":{}}}"#
        )
    );
}

#[test]
fn clean_up_after_a_signal_keeps_to_the_reserve() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("tidy").always();
    plan.command("more").always().after(&["tidy"]).join(Join::Settled);
    let sim = Sim::new(plan.done(), &two_jobs(), |_| pass().takes(60_000))
        .at(500, Interrupted { by: "INT".into() })
        .run();
    assert_eq!(sim.status("tidy"), Some(Status::Fail));
    assert_eq!(sim.status("more"), Some(Status::Blocked));
    assert_eq!(sim.scheduler.history().t.0, 30_500);
}

#[test]
fn kill_on_failure_ends_what_is_in_flight() {
    let mut plan = Builder::new();
    plan.command("bad");
    plan.command("slow");
    let setup = Setup { kill_on_failure: true, ..two_jobs() };
    let sim = Sim::new(plan.done(), &setup, |dispatch| {
        if dispatch.name == "bad" { fails("exit 1") } else { pass().takes(10_000) }
    })
    .run();
    assert_eq!(sim.outcome(), "failed");
    assert_eq!(sim.status("slow"), Some(Status::Fail));
    assert!(sim.scheduler.history().t.0 < 1_000);
}

#[test]
fn a_run_of_nothing_completes() {
    let sim = Sim::new(Builder::new().done(), &two_jobs(), |_| pass()).run();
    assert_eq!(sim.ended(), (Exit::Completed, Some(Verdict::Valid)));
}
