//! Taking a run up again (EXECUTION §12).

use crate::event::{Body, Ceilings, Event, GateAnswered, Interrupted, Status, StopRequested};
use crate::exec::resume::{Decision, Request, decide};
use crate::exec::scheduler::{Dispatch, Scheduler};
use crate::exec::testing::{
    Builder, Played, Setup, Sim, fails, jobs, lost, pass, request, resume, resumes, says, usd,
};
use crate::ir::{Join, Millis, OnInterrupt};
use crate::validate::ValidPlan;

#[test]
fn an_ended_run_is_only_reported() {
    let mut plan = Builder::new();
    plan.command("a");
    let plan = plan.done();
    for ends in [pass(), fails("no")] {
        let sim = Sim::new(plan.clone(), &jobs(1), |_| ends.clone()).run();
        let decided = decide(&plan, sim.scheduler.history(), &request(&jobs(1)));
        assert!(matches!(decided, Decision::Reported), "{decided:?}");
    }
}

#[test]
fn a_run_that_was_never_admitted_is_refused() {
    let plan = Builder::new().done();
    let history =
        Scheduler::new(plan.clone(), crate::exec::scheduler::Options { jobs: 1, kill_on_failure: false });
    let decided = decide(&plan, history.history(), &Request::default());
    assert!(matches!(decided, Decision::Refused(_)));
}

/// What happens twice in a log: a task that settles a second time was run again.
fn settled_once(sim: &Sim<'_>) {
    let mut settled = sim.settled();
    settled.sort_unstable();
    let all = settled.len();
    settled.dedup();
    assert_eq!(settled.len(), all);
}

fn busy_plan() -> ValidPlan {
    let mut plan = Builder::new();
    plan.command("src");
    plan.command("m").advisory().after(&["src"]).over("src", "keys").files("m.txt");
    plan.command("n").after(&["src", "m"]).join(Join::Settled).over("src", "keys");
    plan.command("flaky").after(&["src"]);
    plan.command("bad").advisory();
    plan.command("behind").advisory().after(&["bad"]);
    plan.command("last").after(&["n", "flaky", "behind"]).join(Join::Settled);
    plan.command("report").epilogue();
    plan.command("tidy").always().after(&["report"]).join(Join::Settled);
    plan.keep_going().done()
}

fn busy_script(dispatch: &Dispatch) -> Played {
    match (dispatch.name.as_str(), dispatch.nth) {
        ("src", _) => says(r#"{"keys":["a","b","c"]}"#),
        ("m[b]", _) => fails("exit 1").files(),
        ("m[c]", 1) | ("flaky", 1 | 2) => lost(),
        ("bad", _) => fails("exit 2").cost("0.25"),
        ("m[a]" | "m[c]", _) => pass().files().cost("0.5"),
        _ => pass(),
    }
}

#[test]
fn a_run_cut_off_anywhere_ends_as_if_it_had_not_been() {
    let plan = busy_plan();
    for jobs in [jobs(1), jobs(3)] {
        let whole = Sim::new(plan.clone(), &jobs, busy_script).run();
        for cut in 2..whole.events.len() {
            let cut = Sim::new(plan.clone(), &jobs, busy_script).run_to(cut);
            let again = resume(&plan, &jobs, &cut.events, &request(&jobs), busy_script);
            assert_eq!(again.rows(), whole.rows(), "cut after {:?}", cut.events.last());
            assert_eq!(again.ended(), whole.ended());
            settled_once(&again);
            // And once more, cut in the second sitting.
            let twice = &again.events[..again.events.len() - 1];
            let twice = resume(&plan, &jobs, twice, &request(&jobs), busy_script);
            assert_eq!(twice.rows(), whole.rows());
        }
    }
}

#[test]
fn a_signal_at_any_time_leaves_a_run_that_ends_the_same() {
    let plan = busy_plan();
    let whole = Sim::new(plan.clone(), &jobs(2), busy_script).run();
    let times: std::collections::BTreeSet<u64> = whole.events.iter().map(|event| event.t.0).collect();
    for t in times {
        let cut =
            Sim::new(plan.clone(), &jobs(2), busy_script).at(t, Interrupted { by: "TERM".into() }).run();
        if cut.scheduler.history().ended.is_some() {
            continue; // The run was over first.
        }
        let again = resume(&plan, &jobs(2), &cut.events, &request(&jobs(2)), busy_script);
        assert_eq!(again.rows(), whole.rows(), "at {t}");
    }
}

#[test]
fn a_stopped_run_goes_on_where_it_was_stopped() {
    let plan = busy_plan();
    let whole = Sim::new(plan.clone(), &jobs(2), busy_script).run();
    for t in [0, 5, 10, 15, 20, 25, 35, 1_005, 1_500] {
        let cut = Sim::new(plan.clone(), &jobs(2), busy_script).at(t, StopRequested { by: None }).run();
        if cut.outcome() != "stopped" {
            continue;
        }
        let again = resume(&plan, &jobs(2), &cut.events, &request(&jobs(2)), busy_script);
        assert_eq!(again.rows(), whole.rows(), "at {t}");
        assert_eq!(again.ended(), whole.ended());
    }
}

#[test]
fn what_was_in_flight_at_a_halt_finishes_after_a_crash() {
    for (early, exit) in [(false, "failed"), (true, "concluded")] {
        let mut plan = Builder::new();
        plan.command("a").with(|task| task.may_complete = true);
        plan.command("slow");
        plan.command("flaky");
        plan.command("never").after(&["slow"]);
        plan.command("e").epilogue();
        let plan = plan.done();
        let script = |dispatch: &Dispatch| match (dispatch.name.as_str(), dispatch.nth) {
            ("a", _) if early => says(r#"{"complete":true}"#),
            ("a", _) => fails("exit 1"),
            ("slow", _) => says(r#"{"v":1}"#).takes(1_000),
            ("flaky", 1) => lost().takes(500),
            _ => pass(),
        };
        let whole = Sim::new(plan.clone(), &jobs(3), script).run();
        assert_eq!((whole.outcome(), whole.status("flaky")), (exit, Some(Status::Transport)));
        for cut in 2..whole.events.len() {
            if !whole.events[..cut].iter().any(|event| matches!(event.body, Body::Halted(_))) {
                continue; // Before the halt, what else starts in time is another question.
            }
            let cut = Sim::new(plan.clone(), &jobs(3), script).run_to(cut);
            let again = resume(&plan, &jobs(3), &cut.events, &request(&jobs(3)), script);
            assert_eq!(again.rows(), whole.rows(), "{exit}, cut after {:?}", cut.events.last());
            assert_eq!(again.ended(), whole.ended());
        }
    }
}

#[test]
fn a_raised_ceiling_opens_the_run() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("b").after(&["a"]);
    plan.command("c").after(&["b"]);
    plan.command("e").epilogue();
    let plan = plan.done();
    let setup = |most: &str| {
        let ceilings = Ceilings { usd: Some(usd(most)), ..Ceilings::default() };
        Setup { jobs: 1, ceilings, ..Setup::default() }
    };
    let script = |_: &Dispatch| pass().cost("1");
    let ended = Sim::new(plan.clone(), &setup("2"), script).run();
    assert_eq!((ended.outcome(), ended.status("c")), ("cost_ceiling", Some(Status::Blocked)));
    for not_enough in ["1", "2"] {
        let decided = decide(&plan, ended.scheduler.history(), &request(&setup(not_enough)));
        assert!(matches!(decided, Decision::Reported), "{decided:?}");
    }
    let resumed = resumes(&ended.scheduler, &request(&setup("9")));
    assert!(resumed.reopened);
    assert_eq!(resumed.again, ["c", "e"]);
    let again = resume(&plan, &setup("9"), &ended.events, &request(&setup("9")), script);
    assert_eq!(again.outcome(), "completed");
    assert_eq!(again.scheduler.history().spent, usd("4"));
}

#[test]
fn time_of_earlier_sittings_counts() {
    let mut plan = Builder::new();
    plan.command("a");
    let plan = plan.done();
    let ceilings = Ceilings { time_ms: Some(Millis(3_000)), ..Ceilings::default() };
    let setup = Setup { jobs: 1, ceilings, ..Setup::default() };
    let script = |_: &Dispatch| pass().takes(30_000);
    let cut = Sim::new(plan.clone(), &setup, script).at(1_500, Interrupted { by: "TERM".into() }).run();
    let again = resume(&plan, &setup, &cut.events, &request(&setup), script);
    assert_eq!((again.outcome(), again.scheduler.history().t), ("time_ceiling", Millis(1_500)));
}

#[test]
fn from_a_task_runs_it_and_what_follows_again() {
    let mut plan = Builder::new();
    plan.command("a").files("a.txt");
    plan.command("b").after(&["a"]);
    plan.command("c").after(&["b"]);
    plan.command("other");
    plan.command("e").epilogue();
    let plan = plan.done();
    let ended = Sim::new(plan.clone(), &jobs(1), |dispatch| match dispatch.name.as_str() {
        "b" => fails("exit 1"),
        _ => pass().files(),
    })
    .run();
    assert_eq!(ended.status("other"), Some(Status::Blocked));
    let from = Request { from: Some("b".into()), ..request(&jobs(1)) };
    let resumed = resumes(&ended.scheduler, &from);
    // The halt is cleared, and so is what it blocked beside the task.
    assert_eq!(resumed.again, ["b", "c", "other", "e"]);
    let again = resume(&plan, &jobs(1), &ended.events, &from, |_| pass());
    assert_eq!(again.outcome(), "completed");
    let ran: Vec<&str> = again.seen.keys().map(|name| name.as_str()).collect();
    assert_eq!(ran, ["b", "c", "e", "other"]);
    assert_eq!(again.staged["c"], ["a"], "the old set of `b` is gone");
}

#[test]
fn from_a_task_is_refused_by_name() {
    let mut plan = Builder::new();
    plan.command("src");
    plan.command("bad").advisory();
    plan.command("behind").advisory().after(&["bad"]);
    plan.command("m").after(&["src"]).over("src", "keys");
    let plan = plan.done();
    let script = |dispatch: &Dispatch| match dispatch.name.as_str() {
        "src" => says(r#"{"keys":["a"]}"#),
        "bad" => fails("exit 1"),
        _ => pass(),
    };
    let ended = Sim::new(plan.clone(), &jobs(1), script).run();
    let cut = Sim::new(plan.clone(), &jobs(1), script).run_to(3);
    for (sim, from, said) in [
        (&ended, "behind", "`bad`, on which it depends, is `fail`"),
        (&ended, "behnid", "did you mean `behind`?"),
        (&ended, "m[a]", "is an instance"),
        (&cut, "m", "`src`, upstream of it, has not settled"),
    ] {
        let request = Request { from: Some(from.into()), ..request(&jobs(1)) };
        match decide(&plan, sim.scheduler.history(), &request) {
            Decision::Refused(why) => assert!(why.join(" ").contains(said), "{why:?}"),
            other => panic!("{other:?}"),
        }
    }
    let whole = Request { from: Some("m".into()), ..request(&jobs(1)) };
    let again = resume(&plan, &jobs(1), &ended.events, &whole, script);
    assert_eq!((again.outcome(), again.row("m").instances.as_ref().unwrap().len()), ("completed", 1));
}

#[test]
fn a_task_that_asks_waits_for_an_answer() {
    let mut plan = Builder::new();
    plan.command("a").with(|task| task.on_interrupt = OnInterrupt::Ask);
    plan.command("b").after(&["a"]).join(Join::Settled);
    plan.command("other");
    let plan = plan.keep_going().done();
    let script = |_: &Dispatch| pass();
    // run_started, plan_admitted, attempt_started: then the executor died.
    let cut = Sim::new(plan.clone(), &jobs(1), script).run_to(3);
    let asked = resume(&plan, &jobs(1), &cut.events, &request(&jobs(1)), script);
    assert_eq!((asked.outcome(), asked.ended().1), ("waiting", None));
    assert_eq!(asked.status("other"), Some(Status::Pass), "everything else goes on");
    let still = resume(&plan, &jobs(1), &asked.events, &request(&jobs(1)), script);
    assert_eq!(still.outcome(), "waiting");
    let questions = still.events.iter().filter(|event| matches!(event.body, Body::GateAsked(_))).count();
    assert_eq!(questions, 1, "one question, however often the run is taken up");
    for (answer, status, attempts) in [
        ("rerun", Status::Pass, 1),
        ("pass", Status::Pass, 1),
        ("fail", Status::Fail, 0),
        ("skip", Status::Skipped, 0),
    ] {
        let mut past = still.events.clone();
        let question = still.row("a").asked.as_ref().unwrap().number;
        let (task, said) = ("a".into(), answer.into());
        let body = GateAnswered { task, question, answer: said, by: "me".into(), result: None };
        past.push(Event { seq: past.len() as u64 + 1, at: 0, t: Millis(0), body: body.into() });
        let ended = resume(&plan, &jobs(1), &past, &request(&jobs(1)), script);
        assert_eq!((ended.status("a"), ended.row("a").attempts), (Some(status), attempts), "{answer}");
        assert_eq!(ended.status("b"), Some(Status::Pass));
    }
}

#[test]
fn nobody_is_asked_about_what_will_not_run() {
    let mut plan = Builder::new();
    plan.command("a").with(|task| task.on_interrupt = OnInterrupt::Ask);
    plan.command("bad");
    let plan = plan.done();
    let cut = Sim::new(plan.clone(), &jobs(1), |_| pass()).run_to(3);
    let asked = Sim::again(
        plan,
        &jobs(1),
        &cut.events,
        |scheduler| resumes(scheduler, &request(&jobs(1))).into(),
        |_| fails("exit 1").takes(1_000),
    );
    let ended = asked.at(5, StopRequested { by: None }).run();
    assert_eq!((ended.outcome(), ended.status("a")), ("stopped", Some(Status::Blocked)));
}

#[test]
fn a_machine_that_lost_a_capability_is_refused() {
    let mut plan = Builder::new();
    plan.command("a");
    plan.command("b").after(&["a"]).needs("gpu");
    let plan = plan.done();
    let setup = Setup { caps: vec!["gpu".into()], ..jobs(1) };
    let cut = Sim::new(plan.clone(), &setup, |_| pass()).run_to(4);
    let other = Request { caps: vec!["net".into()], ..request(&setup) };
    assert!(matches!(decide(&plan, cut.scheduler.history(), &other), Decision::Refused(_)));
    let silent = Request { caps: Vec::new(), ..request(&setup) };
    assert_eq!(resumes(&cut.scheduler, &silent).caps, ["gpu"]);
}

#[test]
fn done_when_is_not_asked_below_what_has_run() {
    let mut plan = Builder::new();
    let done_when = || Some(Box::new(crate::exec::testing::spanned(crate::ir::DoneWhen::Files)));
    plan.command("a").with(|task| task.done_when = done_when());
    plan.command("b").after(&["a"]).with(|task| task.done_when = done_when());
    plan.command("c").after(&["b"]).with(|task| task.done_when = done_when());
    let plan = plan.done();
    for (first_is_done, asked) in [(true, [true, true, true]), (false, [true, false, false])] {
        let mut seen = Vec::new();
        let sim = Sim::new(plan.clone(), &jobs(1), |dispatch| {
            seen.push(dispatch.ask_done);
            let done = dispatch.ask_done && (dispatch.name != "a" || first_is_done);
            Played { done_already: done, ..pass() }
        })
        .run();
        let steps = if first_is_done { 0 } else { 3 };
        assert_eq!(
            (sim.scheduler.history().steps, sim.row("a").attempts),
            (steps, u32::from(!first_is_done))
        );
        drop(sim);
        assert_eq!(seen, asked);
    }
    // What ran in an earlier sitting ran in this run.
    let script = |dispatch: &Dispatch| Played { done_already: dispatch.name != "a", ..pass() };
    let cut = Sim::new(plan.clone(), &jobs(1), script).run_to(5);
    let mut asked = Vec::new();
    let _ = resume(&plan, &jobs(1), &cut.events, &request(&jobs(1)), |dispatch| {
        asked.push((dispatch.name.clone(), dispatch.ask_done));
        pass()
    });
    assert_eq!(asked, [("b".into(), false), ("c".into(), false)]);
}
