//! `kill -9` at any moment: the run resumes to the same end, nothing settled runs twice, and no process is
//! left behind (EXECUTION §11, §12).

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::pack::{Came, Pack, comparable, processes_with, settled};

/// Fan-out, files, retries, an advisory failure, a review of three rounds, processes that outlive their parent.
const PLAN: &str = r#"
command list { run = "echo '{\"l\": [\"a\", \"b\", \"c\", \"d\"]}'", emits = { l: [string] } }
command make {
    depends_on  = [list]
    over        = list.l
    max_fanout  = 8
    run         = "sleep 0.02; echo \"{\\\"len\\\": 1}\""
}
command file {
    depends_on  = [list]
    run         = "echo $RANDOM > out.txt; sleep 0.03"
    emits_files = ["out.txt"]
}
command flaky {
    depends_on = [list]
    retries    = 1
    run        = "test -e tried && exit 0; touch tried; exit 75"
}
command leaves {
    depends_on = [list]
    run        = "setsid sleep 3601.77 & sleep 0.03; echo done"
}
command bad {
    required   = false
    depends_on = [make]
    run        = "echo '{\"why\": \"no\"}'; exit 4"
}
command draft {
    depends_on  = [list]
    run         = "test $PLAN_ROUND = 1 || test -s $PLAN_FILES/review/why.txt; sleep 0.01; echo $PLAN_ROUND > draft.txt"
    emits_files = ["draft.txt"]
}
command review {
    depends_on  = [draft]
    revise      = draft
    max_rounds  = 4
    run         = "echo no > why.txt; sleep 0.01; test $(cat $PLAN_FILES/draft/draft.txt) = 3"
    emits_files = ["why.txt"]
}
command use {
    depends_on = [file, flaky, bad, draft, review]
    join       = "settled"
    run        = "test -s $PLAN_FILES/file/out.txt; test $(cat $PLAN_FILES/draft/draft.txt) = 3; sleep 0.02"
}
command last { stage = "epilogue", run = "sleep 0.02" }
"#;

/// Verifiers, a repair of the plan, and a person who is asked again after it.
const CHECKED: &str = r#"
plan "checked" { max_repairs = 2 }

command build {
    run         = "sleep 0.02; echo $PLAN_ROUND > built.txt"
    emits_files = ["built.txt"]
    verify fresh { run = "sleep 0.02; test -s built.txt" }
    verify noted { run = "sleep 0.01; exit 1", required = false }
}
gate approve { depends_on = [build], ask = "Ship it?" }
command ship { depends_on = [approve], when = approve.answer == "yes", run = "sleep 0.02" }
command hold { depends_on = [approve], when = approve.answer == "no", run = "true" }
command beside { run = "sleep 0.05" }
verify second { run = "sleep 0.02; test $(cat built.txt) = 2", repair_from = build }
command last { stage = "epilogue", run = "sleep 0.02" }
"#;

#[test]
fn a_kill_at_any_moment_resumes_to_the_same_end() {
    kill_at(PLAN, 50);
}

#[test]
fn a_kill_among_verifiers_repairs_and_answers_resumes_to_the_same_end() {
    kill_at(CHECKED, 20);
}

/// Goes on with the newest run, and answers what it asks, until it ends.
fn go_on(pack: &Pack, mut came: Came) -> Came {
    for _ in 0..6 {
        if came.code != 4 {
            break;
        }
        let answered = pack.plan(&["answer", "latest", "approve", "yes"]);
        assert_eq!(answered.code, 0, "{answered:?}");
        came = pack.plan(&["run", "--resume", "--jobs", "3"]);
    }
    came
}

fn kill_at(plan: &'static str, count: u64) {
    let whole = Pack::in_memory(plan);
    let since = Instant::now();
    let came = whole.run(&["--jobs", "3"]);
    let length = since.elapsed();
    let came = go_on(&whole, came);
    assert_eq!(came.code, 0, "{came:?}");
    let expected = alike(whole.status());
    // A seed of its own for every moment, the same on every machine.
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let moments = (0..count).map(|moment| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let part = (seed >> 11) as f64 / (1u64 << 53) as f64;
        // Most happens before the run waits for its retry.
        (moment, length.mul_f64(if moment % 2 == 0 { part } else { part * 0.2 }))
    });
    let moments: Vec<_> = moments.collect();
    let mut met = 0;
    for together in moments.chunks(5) {
        std::thread::scope(|scope| {
            let spawn = |&(moment, delay): &(u64, Duration)| {
                let expected = &expected;
                scope.spawn(move || one_moment(plan, moment, delay, expected))
            };
            let all: Vec<_> = together.iter().map(spawn).collect();
            met += all.into_iter().map(|one| u64::from(one.join().unwrap())).sum::<u64>();
        });
    }
    assert!(met >= count / 5, "only {met} of {count} moments were in a run");
}

/// Whether the kill met a run.
fn one_moment(plan: &str, moment: u64, delay: Duration, expected: &Value) -> bool {
    let pack = Pack::in_memory(plan);
    // Two tests of this process count their moments from the same number.
    let mark = format!("kill-test-{}-{}-{moment}", std::process::id(), plan.len());
    let mut command = pack.command(&["run", "--plan", "p.plan", "--jobs", "3"]);
    let mut run =
        command.env("KILL_TEST", &mark).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(delay);
    run.kill().unwrap();
    run.wait().unwrap();
    let runs = pack.names(".plan/runs");
    // It may have had no run yet, or only the beginnings of one: nothing to go on with.
    let Some(name) = runs.iter().find(|name| !name.starts_with('.')) else { return false };
    let log = pack.read(&format!(".plan/runs/{name}/events.jsonl"));
    let before = settled(log.lines().filter_map(|line| serde_json::from_str(line).ok()));
    let came = pack.plan(&["run", "--resume", "--jobs", "3"]);
    let came = go_on(&pack, came);
    assert_eq!(came.code, 0, "after {delay:?}: {came:?}\n{}", pack.read(".plan/latest/events.jsonl"));
    assert_eq!(&alike(pack.status()), expected, "after {delay:?}");
    let all = settled(pack.events());
    for task in before {
        let times = all.iter().filter(|other| **other == task).count();
        assert_eq!(times, 1, "`{task}` settled twice after {delay:?}");
    }
    assert_eq!(pack.plan(&["evidence", "--verify"]).code, 0, "after {delay:?}");
    assert_eq!(processes_with(&mark), Vec::<String>::new(), "after {delay:?}");
    assert_eq!(pack.names(".plan/latest/staged"), Vec::<String>::new());
    true
}

/// The status document without what an interruption may change, here.
fn alike(status: Value) -> Value {
    let mut status = comparable(status);
    assert!(status.as_object_mut().unwrap().shift_remove("spent_usd").is_some());
    // How often a task that remembers was tried depends on what it remembers.
    if let Some(flaky) = status["tasks"].get_mut("flaky") {
        flaky.as_object_mut().unwrap().shift_remove("attempts");
    }
    // When somebody answered, in the last round and in earlier ones.
    if let Some(approve) = status["tasks"].get_mut("approve") {
        let when = |row: &mut Value| row["output"].as_object_mut().unwrap().shift_remove("at").unwrap();
        when(approve);
        approve["rounds"].as_array_mut().unwrap().iter_mut().for_each(|round| drop(when(round)));
    }
    status
}
