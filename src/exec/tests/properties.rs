//! What holds for every plan and every course of events, tried on random ones.

use proptest::prelude::*;

use crate::event::{Body, Ceilings, Exit, Grade, Status, Verdict};
use crate::exec::resume::{Decision, Request, decide};
use crate::exec::scheduler::Dispatch;
use crate::exec::testing::{Builder, Played, Setup, Sim, fails, lost, pass, says, usd};
use crate::ir::{Bodies, Graph, Join, Millis, Plan, Stage, TaskId};
use crate::validate::ValidPlan;

/// A task of a random plan.
#[derive(Clone, Debug)]
struct Spec {
    /// Which of the earlier tasks of its stage it depends on.
    deps: Vec<u8>,
    join: Join,
    advisory: bool,
    epilogue: bool,
    always: bool,
    mapped: bool,
    serial: bool,
    priced: bool,
    needs: bool,
    course: u8,
    /// How many rounds it has as a reviewer of what it depends on, from 2.
    rounds: u8,
}

fn spec() -> impl Strategy<Value = Spec> {
    let join = prop_oneof![3 => Just(Join::All), 1 => Just(Join::Passed), 2 => Just(Join::Settled)];
    let rare = |weight| prop::bool::weighted(weight);
    (
        (prop::collection::vec(any::<u8>(), 0..4), join, rare(0.4), rare(0.2), rare(0.3)),
        (rare(0.3), rare(0.3), rare(0.2), rare(0.03), 0..12u8, prop_oneof![2 => Just(0), 1 => 2..5u8]),
    )
        .prop_map(
            |((deps, join, advisory, epilogue, always), (mapped, serial, priced, needs, course, rounds))| {
                Spec {
                    deps,
                    join,
                    advisory,
                    epilogue,
                    always: always && epilogue,
                    mapped,
                    serial,
                    priced,
                    needs,
                    course,
                    rounds,
                }
            },
        )
}

/// Every task emits a list, so that any can be fanned out over.
fn plan(specs: &[Spec], keep_going: bool) -> ValidPlan {
    let mut plan = Builder::new();
    let mut upstream: Vec<Vec<bool>> = Vec::new();
    let mut free = vec![true; specs.len()];
    for (at, spec) in specs.iter().enumerate() {
        let same: Vec<usize> = (0..at).filter(|&of| specs[of].epilogue == spec.epilogue).collect();
        let mut deps: Vec<usize> =
            spec.deps.iter().filter_map(|&dep| same.get(dep as usize % same.len().max(1)).copied()).collect();
        deps.sort_unstable();
        deps.dedup();
        let producer = deps.first().copied();
        let above = |of: usize| deps.iter().any(|&dep| dep == of || upstream[dep][of]);
        upstream.push((0..specs.len()).map(above).collect());
        // A body is one of its dependencies, and all that stands between.
        let back_to = if at % 3 == 0 { deps.last() } else { deps.first() };
        let between = |of: usize, dep: usize| of == dep || (upstream[at][of] && upstream[of][dep]);
        let targets: Vec<usize> =
            (0..at).filter(|&of| back_to.is_some_and(|&dep| between(of, dep))).collect();
        let reviews =
            spec.rounds > 0 && !spec.mapped && targets.iter().all(|&of| free[of] && !specs[of].mapped);
        let mut task = plan.command(&format!("t{at}")).after_ids(deps.iter().copied());
        task = task.with(|task| task.may_complete = at % 3 != 0);
        if !deps.is_empty() {
            task = task.join(spec.join);
        }
        if spec.advisory {
            task = task.advisory();
        }
        if spec.epilogue {
            task = task.epilogue();
        }
        if spec.always {
            task = task.always();
        }
        if spec.needs {
            task = task.needs("gpu");
        }
        if spec.priced {
            task = task.max_usd("0.1");
        }
        if spec.serial {
            task = task.files("f");
        }
        if reviews && !targets.is_empty() {
            targets.iter().chain([&at]).for_each(|&of| free[of] = false);
            let names: Vec<String> = targets.iter().map(|of| format!("t{of}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            task = task.revises(&names, u32::from(spec.rounds));
        }
        if let Some(of) = producer.filter(|&of| spec.mapped && !specs[of].mapped) {
            task.over(&format!("t{of}"), "keys");
        }
    }
    // Reviewers that wait for each other are refused.
    while let Some(&reviewer) = circle(&plan.plan).first() {
        plan.plan.tasks[reviewer.index()].revise.clear();
    }
    if keep_going { plan.keep_going().done() } else { plan.done() }
}

fn circle(plan: &Plan) -> Vec<TaskId> {
    let graph = Graph::new(plan);
    Bodies::new(plan, &graph).circle(plan, &graph)
}

/// What an attempt comes to: depends on nothing but its name, its number and its round.
fn course(specs: &[Spec], dispatch: &Dispatch) -> Played {
    let Spec { course, rounds, .. } = specs[dispatch.task.index()];
    let salt: u32 = dispatch.element.iter().flat_map(|name| name.bytes()).map(u32::from).sum();
    let list = || says(r#"{"keys":["a","b",3]}"#).cost("0.01");
    let takes = 1 + u64::from(course) * 7 + u64::from(salt % 5);
    if rounds > 0 && dispatch.round < 1 + u32::from(course) % 4 {
        return fails("again").takes(takes);
    }
    match (u32::from(course) + salt + dispatch.round - 1) % 12 {
        0 => fails("exit 1"),
        1 => Played { grade: Grade::Skipped, ..pass() },
        2 => lost(),
        3 if dispatch.nth == 1 => lost(),
        4 if dispatch.nth < 3 => Played { grade: Grade::Retry, ..pass() },
        5 => says(r#"{"keys":[]}"#),
        6 => says(r#"{"keys":"no list"}"#),
        _ => list(),
    }
    .takes(takes)
}

/// EXECUTION §2, stated once more: of a run without ceilings, stops and early ends.
fn stated_verdict(plan: &ValidPlan, sim: &Sim<'_>) -> (Exit, Verdict) {
    let rows = &sim.scheduler.history().rows;
    let required = plan.ids().filter(|&id| plan[id].required && plan[id].stage == Stage::Main);
    let statuses: Vec<Status> = required.map(|id| rows[id.index()].status().expect("it settled")).collect();
    if statuses.contains(&Status::Truncated) {
        (Exit::Truncated, Verdict::Invalid)
    } else if statuses
        .iter()
        .all(|status| matches!(status, Status::Pass | Status::Partial | Status::NotTaken))
    {
        (Exit::Completed, Verdict::Valid)
    } else {
        (Exit::Failed, Verdict::Invalid)
    }
}

fn setup(jobs: usize) -> Setup {
    Setup { jobs, ..Setup::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every run ends, with every task settled and the verdict as the text states it.
    #[test]
    fn every_run_ends_with_the_stated_verdict(
        specs in prop::collection::vec(spec(), 1..14),
        keep_going: bool,
        jobs in 1..5usize,
    ) {
        let plan = plan(&specs, keep_going);
        let sim = Sim::new(plan.clone(), &setup(jobs), |dispatch| course(&specs, dispatch)).run();
        prop_assert!(sim.scheduler.history().rows.iter().all(|row| row.is_settled()));
        let (exit, verdict) = stated_verdict(&plan, &sim);
        prop_assert_eq!(sim.ended(), (exit, Some(verdict)));
    }

    /// Whatever ceilings fall, and whoever stops it, a run ends with the exit of its first halt, and
    /// everything is settled but what an early end left.
    #[test]
    fn every_run_ends_whatever_happens(
        specs in prop::collection::vec(spec(), 1..14),
        (jobs, keep_going, early) in (1..5usize, any::<bool>(), 0..20usize),
        (money, time, steps, stop) in (0..30u64, 0..20_000u64, 0..20u64, 0..600u64),
    ) {
        let ceilings = Ceilings {
            usd: (money < 20).then(|| usd(&format!("0.{money:02}"))),
            time_ms: (time < 10_000).then_some(Millis(time)),
            steps: (steps < 15).then_some(steps),
        };
        let plan = plan(&specs, keep_going);
        let setup = Setup { jobs, ceilings, ..Setup::default() };
        let mut sim = Sim::new(plan.clone(), &setup, |dispatch| match dispatch.task.index() {
            at if at == early => says(r#"{"complete":true}"#),
            _ => course(&specs, dispatch),
        });
        if stop < 200 {
            sim = sim.at(stop, crate::event::StopRequested { by: None });
        }
        let sim = sim.run();
        let halts: Vec<Exit> = sim.events.iter().filter_map(|event| match &event.body {
            Body::Halted(body) => Some(body.exit),
            _ => None,
        }).collect();
        prop_assert!(halts.len() <= 1, "{:?}", halts);
        let (exit, verdict) = sim.ended();
        prop_assert_eq!(exit, halts.first().copied().unwrap_or(Exit::Completed));
        prop_assert!(exit != Exit::Stuck);
        let history = sim.scheduler.history();
        let pending = history.rows.iter().filter(|row| !row.is_settled()).count();
        prop_assert!(pending == 0 || exit == Exit::Concluded, "{:?}", sim.rows());
        let holds = plan.ids().filter(|&id| plan[id].required && plan[id].stage == Stage::Main);
        let holds = holds.filter_map(|id| history.rows[id.index()].status()).all(Status::holds);
        let valid = holds && matches!(exit, Exit::Completed | Exit::Concluded);
        prop_assert_eq!(verdict, Some(if valid { Verdict::Valid } else { Verdict::Invalid }));
        let row_says = |row: &crate::history::Row| row.running.is_none() && !row.retrying && !row.ended;
        prop_assert!(history.rows.iter().all(row_says));
    }

    /// With one job, tasks settle in the declaration-stable topological order.
    #[test]
    fn one_job_is_the_declared_order(mut specs in prop::collection::vec(spec(), 1..14), keep_going: bool) {
        specs.iter_mut().for_each(|spec| spec.rounds = 0); // A review puts off what waits for it.
        let plan = plan(&specs, keep_going);
        let sim = Sim::new(plan.clone(), &setup(1), |dispatch| course(&specs, dispatch)).run();
        let mut order: Vec<&str> = Vec::new();
        for stage in [Stage::Main, Stage::Epilogue] {
            let ids = plan.graph().order().iter().filter(|&&id| plan[id].stage == stage);
            order.extend(ids.map(|&id| plan[id].name.value.as_str()));
        }
        let settled: Vec<&str> = sim.settled().into_iter().filter(|name| !name.contains('[')).collect();
        prop_assert_eq!(settled, order);
    }

    /// Cut after any event and resumed, a run ends as if it had not been.
    #[test]
    fn a_cut_changes_nothing(
        specs in prop::collection::vec(spec(), 1..10),
        cut in 2..60usize,
        jobs in 1..4usize,
    ) {
        // With several jobs a halt meets whatever is in flight, so that only runs without one can be compared.
        let plan = plan(&specs, jobs > 1);
        let script = |dispatch: &Dispatch| course(&specs, dispatch);
        let whole = Sim::new(plan.clone(), &setup(jobs), script).run();
        let cut = Sim::new(plan.clone(), &setup(jobs), script).run_to(cut);
        let resumed = match decide(&plan, cut.scheduler.history(), &Request::default()) {
            Decision::Resumes(resumed) => resumed,
            Decision::Reported => return Ok(()),
            Decision::Refused(why) => panic!("{why:?}"),
        };
        let again = Sim::again(plan, &setup(jobs), &cut.events, |_| resumed.into(), script).run();
        prop_assert_eq!(again.rows(), whole.rows());
        prop_assert_eq!(again.ended(), whole.ended());
    }

    /// A stop at any time, and then a resume: the run ends as if it had not been stopped.
    #[test]
    fn a_stop_only_delays(specs in prop::collection::vec(spec(), 1..10), t in 0..200u64, jobs in 1..4usize) {
        let plan = plan(&specs, jobs > 1);
        let script = |dispatch: &Dispatch| course(&specs, dispatch);
        let whole = Sim::new(plan.clone(), &setup(jobs), script).run();
        let stop = crate::event::StopRequested { by: None };
        let cut = Sim::new(plan.clone(), &setup(jobs), script).at(t, stop).run();
        let Decision::Resumes(resumed) = decide(&plan, cut.scheduler.history(), &Request::default()) else {
            prop_assert_eq!(cut.ended(), whole.ended());
            return Ok(());
        };
        let again = Sim::again(plan, &setup(jobs), &cut.events, |_| resumed.into(), script).run();
        prop_assert_eq!(again.rows(), whole.rows());
        prop_assert_eq!(again.ended(), whole.ended());
    }

    /// A signal at any time, and then a resume: likewise.
    #[test]
    fn a_signal_only_delays(specs in prop::collection::vec(spec(), 1..10), t in 0..200u64, jobs in 1..4usize) {
        let plan = plan(&specs, jobs > 1);
        let script = |dispatch: &Dispatch| course(&specs, dispatch);
        let whole = Sim::new(plan.clone(), &setup(jobs), script).run();
        let signal = crate::event::Interrupted { by: "INT".into() };
        let cut = Sim::new(plan.clone(), &setup(jobs), script).at(t, signal).run();
        let Decision::Resumes(resumed) = decide(&plan, cut.scheduler.history(), &Request::default()) else {
            prop_assert_eq!(cut.ended(), whole.ended());
            return Ok(());
        };
        let again = Sim::again(plan, &setup(jobs), &cut.events, |_| resumed.into(), script).run();
        prop_assert_eq!(again.rows(), whole.rows());
        prop_assert_eq!(again.ended(), whole.ended());
    }
}
