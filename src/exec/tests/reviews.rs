//! Review rounds (LANGUAGE §9).

use serde_json::{Value, json};

use crate::event::{Body, Ceilings, Event, Interrupted, Status, StopRequested};
use crate::exec::resume::Request;
use crate::exec::scheduler::Dispatch;
use crate::exec::testing::{
    Builder, Played, Setup, Sim, fails, jobs, lost, pass, request, resume, resumes, says,
};
use crate::ir::Join;
use crate::validate::ValidPlan;

/// A body of three and one of two, what waits for them, and an epilogue that is reviewed as well.
fn busy_plan() -> ValidPlan {
    let mut plan = Builder::new();
    plan.command("src");
    plan.command("draft").after(&["src"]).files("draft.txt");
    plan.command("polish").after(&["draft"]);
    plan.command("peek").after(&["draft"]).join(Join::Settled);
    plan.command("r").after(&["polish"]).files("r.txt").revises(&["polish", "draft"], 4);
    plan.command("w").advisory();
    plan.command("q").after(&["w"]).join(Join::Settled).advisory().revises(&["w"], 2);
    plan.command("end").after(&["peek", "r", "q"]).join(Join::Settled);
    plan.command("sum").epilogue();
    plan.command("look").epilogue().after(&["sum"]).revises(&["sum"], 2);
    plan.command("send").epilogue().after(&["sum", "look"]).join(Join::Settled);
    plan.keep_going().done()
}

fn busy_script(dispatch: &Dispatch) -> Played {
    let round = dispatch.round;
    match (dispatch.name.as_str(), round, dispatch.nth) {
        ("draft", ..) => says(&format!("{{\"n\":{round}}}")).files().cost("0.5"),
        ("polish", 2, 1) => lost(),
        ("r", 1, _) => Played { files: true, ..fails("too long") },
        ("r", 2, _) => fails("too short").cost("0.25"),
        ("w", 1, _) => fails("exit 3"),
        ("q", ..) => fails("no"),
        ("look", 1, _) => fails("again"),
        _ => pass().takes(15),
    }
}

/// What was dispatched in a later sitting saw what it would have seen without the pause.
fn saw_the_same(again: &Sim<'_>, whole: &Sim<'_>) {
    for (name, seen) in &again.seen {
        assert_eq!((seen, &again.staged[name]), (&whole.seen[name], &whole.staged[name]), "{name}");
    }
}

fn started<'a>(sim: &'a Sim<'_>, name: &str) -> Vec<(u32, &'a str)> {
    let started = sim.events.iter().filter_map(|event| match &event.body {
        Body::AttemptStarted(body) if body.task == name => Some((body.round, body.task.as_str())),
        _ => None,
    });
    started.collect()
}

#[test]
fn a_round_is_invisible_outside_of_its_body() {
    for setup in [jobs(1), jobs(4)] {
        let sim = Sim::new(busy_plan(), &setup, busy_script).run();
        assert_eq!((sim.outcome(), sim.status("r")), ("completed", Some(Status::Pass)));
        assert_eq!(started(&sim, "draft").len(), 3);
        assert_eq!(started(&sim, "peek").len(), 1);
        let seen: Value = serde_json::from_str(&sim.seen["peek"]).unwrap();
        assert_eq!(seen["draft"]["output"], json!({"n": 3}), "the last round");
        let settled = sim.settled();
        let (peek, r) = (
            settled.iter().position(|name| *name == "peek").unwrap(),
            settled.iter().rposition(|name| *name == "r").unwrap(),
        );
        assert!(peek > r, "{settled:?}");
    }
}

#[test]
fn what_is_sent_back_sees_the_review() {
    let mut all = Vec::new();
    let mut sim = Sim::new(busy_plan(), &jobs(1), busy_script);
    loop {
        let events = sim.events.len();
        sim = sim.run_to(events + 1);
        if sim.events.len() == events {
            break;
        }
        if let Some(Event { body: Body::AttemptStarted(body), .. }) = sim.events.last()
            && ["draft", "polish", "r", "w", "peek"].contains(&body.task.as_str())
        {
            let seen: Value = serde_json::from_str(&sim.seen[&body.task]).unwrap();
            let staged = sim.staged[&body.task].join(" ");
            all.push((body.task.to_string(), body.round, seen["revision"].clone(), staged));
        }
    }
    let of = |task: &str, round: u32| {
        let (.., revision, staged) = all
            .iter()
            .find(|one| one.0 == task && one.1 == round)
            .unwrap_or_else(|| panic!("{task} {round}"));
        (revision.clone(), staged.clone())
    };
    assert_eq!(of("draft", 1), (Value::Null, String::new()));
    let first = json!({"round": 2, "max_rounds": 4, "reviewer": "r",
        "review": {"status": "fail", "note": "too long", "output": null, "files": true}});
    assert_eq!(of("draft", 2), (first.clone(), "r".to_owned()));
    assert_eq!(of("polish", 2), (first.clone(), "draft r".to_owned()));
    assert_eq!(of("r", 2), (first, "draft r".to_owned()), "the reviewer sees what it said as well");
    let second = json!({"round": 3, "max_rounds": 4, "reviewer": "r",
        "review": {"status": "fail", "note": "too short", "output": null, "files": false}});
    assert_eq!(of("draft", 3), (second, String::new()), "what an earlier review left is not its evidence");
    assert_eq!(of("w", 2).0["reviewer"], "q");
    assert_eq!(of("peek", 1).0, Value::Null);
}

#[test]
fn a_run_cut_off_anywhere_has_the_same_rounds() {
    let plan = busy_plan();
    for jobs in [jobs(1), jobs(3)] {
        let whole = Sim::new(plan.clone(), &jobs, busy_script).run();
        assert_eq!(whole.row("r").rounds.len(), 2);
        for cut in 2..whole.events.len() {
            let cut = Sim::new(plan.clone(), &jobs, busy_script).run_to(cut);
            let again = resume(&plan, &jobs, &cut.events, &request(&jobs), busy_script);
            assert_eq!(again.rows(), whole.rows(), "cut after {:?}", cut.events.last());
            assert_eq!(again.ended(), whole.ended());
            saw_the_same(&again, &whole);
            let twice = &again.events[..again.events.len() - 1];
            let twice = resume(&plan, &jobs, twice, &request(&jobs), busy_script);
            assert_eq!(twice.rows(), whole.rows());
        }
    }
}

#[test]
fn a_signal_or_a_stop_at_any_time_loses_no_round() {
    let plan = busy_plan();
    let whole = Sim::new(plan.clone(), &jobs(2), busy_script).run();
    let times: std::collections::BTreeSet<u64> =
        whole.events.iter().flat_map(|event| [event.t.0, event.t.0 + 1]).collect();
    for (t, stops) in times.into_iter().flat_map(|t| [(t, false), (t, true)]) {
        let sim = Sim::new(plan.clone(), &jobs(2), busy_script);
        let cut = match stops {
            true => sim.at(t, StopRequested { by: None }).run(),
            false => sim.at(t, Interrupted { by: "TERM".into() }).run(),
        };
        if cut.scheduler.history().ended.is_some() && cut.outcome() != "stopped" {
            continue; // The run was over first.
        }
        let again = resume(&plan, &jobs(2), &cut.events, &request(&jobs(2)), busy_script);
        assert_eq!(again.rows(), whole.rows(), "at {t}, stopped: {stops}");
        assert_eq!(again.ended(), whole.ended());
        saw_the_same(&again, &whole);
        assert_eq!(again.row("draft").cost, whole.row("draft").cost, "at {t}, stopped: {stops}");
    }
}

#[test]
fn a_raised_ceiling_goes_on_in_the_round_that_it_cut_short() {
    let plan = busy_plan();
    let whole = Sim::new(plan.clone(), &jobs(1), busy_script).run();
    for steps in 1..whole.scheduler.history().steps {
        let ceilings = Ceilings { steps: Some(steps), ..Ceilings::default() };
        let setup = Setup { ceilings, ..jobs(1) };
        let ended = Sim::new(plan.clone(), &setup, busy_script).run();
        if ended.outcome() != "step_ceiling" {
            continue; // What is left is the epilogue.
        }
        let again = resume(&plan, &jobs(1), &ended.events, &request(&jobs(1)), busy_script);
        assert_eq!(again.rows(), whole.rows(), "after {steps} steps");
        saw_the_same(&again, &whole);
        assert_eq!(again.ended(), whole.ended());
    }
}

#[test]
fn from_a_task_begins_its_rounds_again() {
    let plan = busy_plan();
    let whole = Sim::new(plan.clone(), &jobs(1), busy_script).run();
    for (from, rounds) in [("src", [2, 2]), ("draft", [2, 2]), ("polish", [2, 4]), ("r", [2, 4])] {
        let request = Request { from: Some(from.into()), ..request(&jobs(1)) };
        let resumed = resumes(&whole.scheduler, &request);
        assert!(resumed.anew.contains(&"r".into()), "{resumed:?}");
        let again = resume(&plan, &jobs(1), &whole.events, &request, busy_script);
        assert_eq!((again.outcome(), again.status("r")), ("completed", Some(Status::Pass)), "from {from}");
        assert_eq!(
            [again.row("r").rounds.len(), again.row("draft").rounds.len()],
            rounds,
            "the review has all of its rounds again, from {from}"
        );
    }
}

#[test]
fn an_early_end_does_not_hide_what_failed_under_review() {
    let mut plan = Builder::new();
    plan.command("w");
    plan.command("done").with(|task| task.may_complete = true);
    plan.command("r").after(&["w"]).join(Join::Settled).revises(&["w"], 3);
    let plan = plan.done();
    let sim = Sim::new(plan, &jobs(2), |dispatch| match dispatch.name.as_str() {
        "w" => fails("exit 1"),
        "done" => says(r#"{"complete":true}"#),
        _ => pass().takes(100),
    })
    .run();
    assert_eq!((sim.outcome(), sim.ended().1), ("concluded", Some(crate::event::Verdict::Invalid)));
}

#[test]
fn a_failure_that_no_reviewer_will_see_halts_at_once() {
    let mut plan = Builder::new();
    plan.command("w");
    plan.command("other");
    plan.command("v").after(&["w"]);
    plan.command("r").after(&["v"]).revises(&["w", "v"], 3);
    let plan = plan.done();
    let sim = Sim::new(plan, &jobs(1), |dispatch| match dispatch.name.as_str() {
        "w" => fails("exit 1"),
        _ => pass(),
    })
    .run();
    assert_eq!((sim.outcome(), sim.status("other")), ("failed", Some(Status::Blocked)));
    assert_eq!(sim.scheduler.history().halted.as_ref().unwrap().task.as_deref(), Some("w"));
}

#[test]
fn no_round_begins_once_the_run_has_halted() {
    let mut plan = Builder::new();
    plan.command("w");
    plan.command("bad");
    plan.command("r").after(&["w"]).revises(&["w"], 3);
    let plan = plan.done();
    let sim = Sim::new(plan.clone(), &jobs(3), |dispatch| match dispatch.name.as_str() {
        "w" => pass(),
        "bad" => fails("exit 1").takes(50),
        _ => fails("no").takes(100),
    })
    .run();
    assert_eq!((sim.outcome(), sim.status("r"), sim.row("r").round), ("failed", Some(Status::Fail), 1));
    // With the halt cleared the review goes on.
    let from = Request { from: Some("bad".into()), ..request(&jobs(1)) };
    let again = resume(&plan, &jobs(1), &sim.events, &from, |_| pass());
    assert_eq!((again.outcome(), again.row("r").rounds.len()), ("completed", 1));
}

#[test]
fn a_round_that_starts_over_forgets_who_was_the_cause() {
    let mut plan = Builder::new();
    plan.command("out").advisory();
    plan.command("w").advisory().after(&["out"]).join(Join::Settled);
    plan.command("v").advisory().after(&["w"]);
    plan.command("r").advisory().after(&["v"]).join(Join::Settled).revises(&["w", "v"], 2);
    plan.command("after").advisory().after(&["v", "r"]);
    let sim = Sim::new(plan.done(), &jobs(1), |dispatch| match (dispatch.name.as_str(), dispatch.round) {
        ("w", 1) => fails("exit 1"),
        ("v", 2) => fails("exit 2"),
        ("r", 1) => fails("no"),
        _ => pass(),
    })
    .run();
    assert_eq!(sim.note("after"), "`v` failed: exit 2");
    assert_eq!(sim.row("v").rounds[0].settled.status, Status::Blocked);
}
