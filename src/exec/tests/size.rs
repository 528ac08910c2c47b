//! The cost of an event does not grow with the plan.

use std::time::{Duration, Instant};

use crate::exec::testing::{Builder, Setup, Sim, fails, pass, says};

const MANY: usize = 100_000;

/// Generous: an accidental square would take minutes.
const BOUND: Duration = Duration::from_secs(40);

fn jobs() -> Setup {
    Setup { jobs: 4, ..Setup::default() }
}

fn within_bound(what: &str, run: impl FnOnce()) {
    let start = Instant::now();
    run();
    assert!(start.elapsed() < BOUND, "{what} took {:?}", start.elapsed());
}

#[test]
fn a_chain_is_linear() {
    let mut plan = Builder::new();
    for at in 0..MANY {
        plan.command(&format!("t{at}")).after_ids(at.checked_sub(1));
    }
    let plan = plan.done();
    within_bound("a chain", || {
        assert_eq!(Sim::new(plan.clone(), &jobs(), |_| pass()).run().outcome(), "completed");
    });
    within_bound("a chain that halts at once", || {
        let sim = Sim::new(plan, &jobs(), |_| fails("no")).run();
        assert_eq!((sim.outcome(), sim.settled().len()), ("failed", MANY));
    });
}

#[test]
fn tasks_that_are_done_already_are_linear() {
    let mut plan = Builder::new();
    for at in 0..MANY {
        plan.command(&format!("t{at}")).with(|task| {
            task.done_when = Some(Box::new(crate::exec::testing::spanned(crate::ir::DoneWhen::Files)));
        });
    }
    let plan = plan.done();
    within_bound("tasks that are done already", || {
        let done = crate::exec::testing::Played { done_already: true, ..pass() };
        let sim = Sim::new(plan, &jobs(), |_| done.clone()).run();
        assert_eq!((sim.outcome(), sim.scheduler.history().steps), ("completed", 0));
    });
}

#[test]
fn a_star_is_linear() {
    let mut plan = Builder::new();
    plan.command("hub");
    for at in 0..MANY {
        plan.command(&format!("t{at}")).after_ids([0]);
    }
    plan.command("back").after_ids(0..=MANY);
    plan.command("told").epilogue();
    let plan = plan.done();
    within_bound("a star", || {
        let sim = Sim::new(plan, &jobs(), |_| pass()).run();
        assert_eq!(sim.outcome(), "completed");
    });
}

#[test]
fn layers_are_linear() {
    const WIDE: usize = 100;
    let mut plan = Builder::new();
    for at in 0..MANY {
        let above = at.checked_sub(WIDE).map(|start| start / WIDE * WIDE);
        let near =
            above.map(|start| [start + at % WIDE, start + (at * 7 + 1) % WIDE, start + (at * 3 + 2) % WIDE]);
        let mut ids: Vec<usize> = near.into_iter().flatten().collect();
        ids.sort_unstable();
        ids.dedup();
        let task = plan.command(&format!("t{at}")).after_ids(ids);
        if at % 20_000 == 0 {
            task.files("f");
        }
    }
    let plan = plan.done();
    within_bound("layers", || {
        let sim = Sim::new(plan, &jobs(), |_| pass()).run();
        assert_eq!(sim.outcome(), "completed");
    });
}

#[test]
fn ten_thousand_instances_are_linear() {
    const COUNT: usize = 10_000;
    let mut plan = Builder::new();
    plan.command("src");
    plan.command("m").after(&["src"]).over("src", "keys").with(|task| task.max_fanout = COUNT as u32);
    plan.command("n").after(&["m"]).over("src", "keys").with(|task| task.max_fanout = COUNT as u32);
    plan.command("serial").after(&["src"]).over("src", "keys").files("f").with(|task| {
        task.max_fanout = COUNT as u32;
    });
    let keys: Vec<String> = (0..COUNT).map(|at| at.to_string()).collect();
    let output = format!(r#"{{"keys":[{}]}}"#, keys.join(","));
    let plan = plan.done();
    within_bound("instances", || {
        // Every instance is given the whole list: writing that down is not what is measured.
        let sim =
            Sim::new(plan, &jobs(), |dispatch| if dispatch.name == "src" { says(&output) } else { pass() });
        let sim = sim.without_inputs().run();
        assert_eq!(sim.outcome(), "completed");
        assert_eq!(sim.scheduler.history().steps, 3 * COUNT as u64 + 1);
    });
}
