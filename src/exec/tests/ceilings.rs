//! Money, time and attempts (EXECUTION §10).

use crate::event::{BlockedReason, Ceilings, Exit, Status, Verdict};
use crate::exec::testing::{Builder, Setup, Sim, fails, lost, pass, says, spanned, usd};
use crate::ir::{Join, Millis};

fn money(most: &str) -> Setup {
    let ceilings = Ceilings { usd: Some(usd(most)), ..Ceilings::default() };
    Setup { jobs: 1, ceilings, ..Setup::default() }
}

fn time(most: u64) -> Setup {
    let ceilings = Ceilings { time_ms: Some(Millis(most)), ..Ceilings::default() };
    Setup { jobs: 2, ceilings, ..Setup::default() }
}

fn reason(sim: &Sim<'_>, name: &str) -> (BlockedReason, Option<String>) {
    let blocked = sim.row(name).settled.as_ref().unwrap().blocked.clone().expect("it was blocked");
    (blocked.reason, blocked.task.map(Into::into))
}

#[test]
fn reaching_it_exactly_is_fine_with_nothing_left_to_do() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("b").after(&["a"]);
    let sim = Sim::new(plan.done(), &money("0.3"), |dispatch| {
        pass().cost(if dispatch.name == "a" { "0.1" } else { "0.2" })
    })
    .run();
    assert_eq!(sim.ended(), (Exit::Completed, Some(Verdict::Valid)));
}

#[test]
fn reaching_it_exactly_halts_before_the_next() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("b").after(&["a"]);
    let sim = Sim::new(plan.done(), &money("1"), |_| pass().cost("1")).run();
    assert_eq!(sim.outcome(), "cost_ceiling");
    assert_eq!(reason(&sim, "b"), (BlockedReason::CostCeiling, None));
    assert!(sim.note("b").contains("cost ceiling of $1.0"), "{}", sim.note("b"));
}

#[test]
fn the_join_is_looked_at_before_the_ceiling() {
    let mut plan = Builder::new();
    plan.command("f").advisory();
    plan.command("g").advisory();
    plan.command("c").after(&["f", "g"]).join(Join::Passed);
    plan.command("d");
    let sim = Sim::new(plan.done(), &money("10"), |dispatch| {
        fails("exit 1").cost(if dispatch.name == "g" { "10" } else { "0" })
    })
    .run();
    assert_eq!(sim.outcome(), "failed");
    assert_eq!(reason(&sim, "d"), (BlockedReason::RequiredFailure, Some("c".into())));
}

#[test]
fn an_overrun_halts_at_once_even_with_nothing_left() {
    let mut plan = Builder::new();
    plan.command("a");
    let sim = Sim::new(plan.done(), &money("1"), |_| pass().cost("1.1")).run();
    assert_eq!(sim.ended(), (Exit::CostCeiling, Some(Verdict::Invalid)));
    assert_eq!(sim.status("a"), Some(Status::Pass));
}

#[test]
fn one_attempt_that_fails_and_overspends_is_a_ceiling() {
    let mut plan = Builder::new();
    plan.command("a");
    let sim = Sim::new(plan.done(), &money("1"), |_| fails("exit 1").cost("1.1")).run();
    assert_eq!(sim.outcome(), "cost_ceiling");
}

#[test]
fn lost_attempts_cost_and_retries_stop_at_the_ceiling() {
    for (cost, retries, exit, attempts) in [
        ("0.3", 1, "failed", 2),
        ("0.5", 2, "cost_ceiling", 2),
        ("1.0", 2, "cost_ceiling", 1),
        ("1.2", 2, "cost_ceiling", 1),
    ] {
        let mut plan = Builder::new();
        plan.command("a").retries(retries);
        let sim = Sim::new(plan.done(), &money("1"), |_| lost().cost(cost)).run();
        assert_eq!((sim.outcome(), sim.row("a").attempts), (exit, attempts), "{cost}");
        assert_eq!(sim.status("a"), Some(Status::Transport));
    }
}

#[test]
fn a_price_that_does_not_fit_is_not_paid() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("b").after(&["a"]).max_usd("0.5");
    let sim = Sim::new(plan.done(), &money("1"), |_| pass().cost("0.6")).run();
    assert_eq!(sim.outcome(), "cost_ceiling");
    assert_eq!(reason(&sim, "b"), (BlockedReason::CostCeiling, None));
}

#[test]
fn reserved_money_makes_others_wait() {
    let mut plan = Builder::new();
    plan.command("a").max_usd("0.6");
    plan.command("b").max_usd("0.6");
    plan.command("free");
    let setup = Setup { jobs: 3, ..money("1") };
    let sim = Sim::new(plan.done(), &setup, |dispatch| {
        if dispatch.name == "free" { pass().takes(5) } else { pass().cost("0.4").takes(50) }
    })
    .run();
    assert_eq!(sim.outcome(), "completed");
    assert_eq!(sim.settled(), ["free", "a", "b"]);
    assert_eq!(sim.scheduler.history().t.0, 100);
}

#[test]
fn attempts_are_counted_instances_included() {
    let mut plan = Builder::new();
    plan.command("src");
    plan.command("m").after(&["src"]).over("src", "keys");
    plan.command("z").after(&["m"]);
    let ceilings = Ceilings { steps: Some(4), ..Ceilings::default() };
    let setup = Setup { jobs: 2, ceilings, ..Setup::default() };
    let sim = Sim::new(plan.done(), &setup, |_| says(r#"{"keys":["a","b","c"]}"#)).run();
    assert_eq!(sim.outcome(), "step_ceiling");
    assert_eq!(sim.status("m"), Some(Status::Pass));
    assert_eq!(reason(&sim, "z"), (BlockedReason::StepCeiling, None));
    assert_eq!(sim.scheduler.history().steps, 4);
}

#[test]
fn time_ends_what_is_in_flight() {
    let mut plan = Builder::new();
    plan.command("a").advisory();
    plan.command("b").after(&["a"]).join(Join::Settled);
    plan.command("e").epilogue();
    let sim = Sim::new(plan.done(), &time(1_000), |_| pass().takes(30_000)).run();
    assert_eq!(sim.outcome(), "time_ceiling");
    assert_eq!(sim.status("a"), Some(Status::Fail));
    assert_eq!(reason(&sim, "b"), (BlockedReason::TimeCeiling, None));
    assert_eq!(reason(&sim, "e"), (BlockedReason::TimeCeiling, None));
    assert_eq!(sim.scheduler.history().t.0, 1_000);
}

#[test]
fn the_reserve_is_kept_back_for_clean_up() {
    let mut plan = Builder::new();
    plan.plan.header.reserve.time = Millis(3_000);
    plan.command("m");
    plan.command("clean").always();
    plan.command("tell").epilogue();
    let sim = Sim::new(plan.done(), &time(4_000), |dispatch| {
        pass().takes(if dispatch.name == "m" { 30_000 } else { 1_000 })
    })
    .run();
    assert_eq!(sim.outcome(), "time_ceiling");
    assert_eq!(sim.status("clean"), Some(Status::Pass));
    assert_eq!(reason(&sim, "tell"), (BlockedReason::TimeCeiling, None));
    assert_eq!(sim.scheduler.history().t.0, 2_000);
}

#[test]
fn clean_up_ends_with_the_whole_time() {
    let mut plan = Builder::new();
    plan.plan.header.reserve.time = Millis(3_000);
    plan.command("m");
    plan.command("clean").always();
    let sim = Sim::new(plan.done(), &time(4_000), |_| pass().takes(30_000)).run();
    assert_eq!(sim.outcome(), "time_ceiling");
    assert_eq!(sim.status("clean"), Some(Status::Fail));
    assert_eq!(sim.scheduler.history().t.0, 4_000);
}

#[test]
fn clean_up_runs_after_the_cost_ceiling_until_its_reserve_is_spent() {
    let mut plan = Builder::new();
    plan.plan.header.reserve.usd = usd("0.5");
    plan.command("a");
    plan.command("b").after(&["a"]);
    plan.command("one").always();
    plan.command("two").always().after(&["one"]);
    let sim = Sim::new(plan.done(), &money("1"), |_| pass().cost("0.5")).run();
    assert_eq!(sim.outcome(), "cost_ceiling");
    assert_eq!(sim.status("b"), Some(Status::Blocked));
    assert_eq!(sim.status("one"), Some(Status::Pass));
    assert_eq!(reason(&sim, "two"), (BlockedReason::CostCeiling, None));
}

#[test]
fn clean_up_that_costs_nothing_runs_after_any_ceiling() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("b").after(&["a"]);
    plan.command("one").always();
    plan.command("two").always().after(&["one"]);
    let sim = Sim::new(plan.done(), &money("1"), |dispatch| {
        pass().cost(if dispatch.name == "a" { "3" } else { "0" })
    })
    .run();
    assert_eq!(sim.outcome(), "cost_ceiling");
    assert_eq!(sim.status("two"), Some(Status::Pass));
}

#[test]
fn a_ceiling_in_the_epilogue_blocks_it_and_changes_no_outcome() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("l").epilogue();
    plan.command("m").epilogue().after(&["l"]).over("l", "keys");
    plan.command("z").epilogue().after(&["m"]).join(Join::Settled);
    let setup = Setup { jobs: 2, ..money("1") };
    let sim = Sim::new(plan.done(), &setup, |dispatch| match dispatch.name.as_str() {
        "a" => fails("exit 1"),
        "l" => says(r#"{"keys":["x","y"]}"#),
        _ => pass().cost("0.8"),
    })
    .run();
    assert_eq!(sim.ended(), (Exit::Failed, Some(Verdict::Invalid)));
    assert_eq!(sim.status("m"), Some(Status::Pass));
    assert_eq!(reason(&sim, "z"), (BlockedReason::CostCeiling, None));
    assert_eq!(sim.scheduler.history().warnings.len(), 1, "the overrun is an event");
}

#[test]
fn a_time_ceiling_in_the_epilogue_ends_it_and_changes_no_outcome() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("e").epilogue();
    plan.command("f").epilogue().after(&["e"]).join(Join::Settled);
    let sim = Sim::new(plan.done(), &time(1_000), |dispatch| {
        pass().takes(if dispatch.name == "a" { 10 } else { 5_000 })
    })
    .run();
    assert_eq!(sim.ended(), (Exit::Completed, Some(Verdict::Valid)));
    assert_eq!(sim.status("e"), Some(Status::Fail));
    assert_eq!(reason(&sim, "f"), (BlockedReason::TimeCeiling, None));
    assert_eq!(sim.scheduler.history().warnings.len(), 1);
}

#[test]
fn a_ceiling_reached_while_waiting_halts() {
    let mut plan = Builder::new();
    plan.command("a");
    let sim = Sim::new(plan.done(), &time(500), |_| lost()).run();
    assert_eq!(sim.outcome(), "time_ceiling");
    assert_eq!((sim.status("a"), sim.row("a").attempts), (Some(Status::Transport), 1));
}

#[test]
fn who_waits_for_money_keeps_nobody_from_what_is_left() {
    let mut plan = Builder::new();
    for (name, most) in [("a", "0.7"), ("b", "0.4"), ("c", "0.2")] {
        plan.command(name).with(|task| task.max_usd = Some(spanned(usd(most))));
    }
    let setup = Setup { jobs: 3, ..money("1") };
    let sim = Sim::new(plan.done(), &setup, |dispatch| match dispatch.name.as_str() {
        "a" => pass().cost("0.3").takes(900),
        _ => pass().cost("0.1").takes(100),
    })
    .run();
    assert_eq!(sim.ended(), (Exit::Completed, Some(Verdict::Valid)));
    assert_eq!(sim.settled(), ["c", "a", "b"]);
}

#[test]
fn what_is_left_and_what_is_asked_for_are_named() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("b").after(&["a"]).with(|task| task.max_usd = Some(spanned(usd("0.2"))));
    let sim = Sim::new(plan.done(), &money("1"), |_| pass().cost("0.9")).run();
    assert_eq!(sim.outcome(), "cost_ceiling");
    let note = sim.note("b");
    assert!(note.contains("was reached: $0.1 is left, and `b` may cost $0.2"), "{note}");
}
