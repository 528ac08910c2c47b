//! A log that is cut after any event, or inside any line, resumes to the same end (EXECUTION §11, §12).

use std::path::Path;

use serde_json::Value;

use super::pack::{Pack, comparable, copy, settled};

/// Every task counts how often it ran, in a later round with that as well.
const PLAN: &str = r#"
command list { run = "echo list >> n; echo '{\"l\": [\"a\", \"b\"], \"cost_usd\": 0.25}'", emits = { l: [string] } }
command make { depends_on = [list], over = list.l, run = "echo make-$PLAN_ITEM >> n; echo $PLAN_ITEM" }
command file { depends_on = [list], run = "echo file >> n; echo kept > out.txt", emits_files = ["out.txt"] }
command bad  { required = false, depends_on = [make], run = "echo bad >> n; echo left > bad.txt; exit 4", emits_files = ["bad.txt"] }
command use  { depends_on = [file, bad], join = "settled", run = "echo use >> n; cat $PLAN_FILES/file/out.txt $PLAN_FILES/bad/bad.txt" }
command draft  { depends_on = [list], run = "echo draft#$PLAN_ROUND | sed 's/#1$//' >> n; test $PLAN_ROUND = 1 || cat $PLAN_FILES/review/why.txt; echo $PLAN_ROUND > draft.txt", emits_files = ["draft.txt"] }
command polish { depends_on = [draft], run = "echo polish#$PLAN_ROUND | sed 's/#1$//' >> n" }
command review { depends_on = [polish], revise = [draft, polish], max_rounds = 3, run = "echo review#$PLAN_ROUND | sed 's/#1$//' >> n; echo why > why.txt; test $(cat $PLAN_FILES/draft/draft.txt) = 3", emits_files = ["why.txt"] }
command last { stage = "epilogue", run = "echo last >> n" }
"#;

/// Where in a line a log is cut: before it, inside of it, or before its end.
#[derive(Clone, Copy, Debug)]
enum Place {
    Start,
    Middle,
    End,
}

#[test]
fn every_cut_of_every_line_resumes_to_the_same_end() {
    let whole = Pack::in_memory(PLAN);
    let came = whole.run(&["--jobs", "1"]);
    assert_eq!(came.code, 0, "{came:?}");
    let expected = comparable(whole.status());
    let lines = whole.read(".plan/latest/events.jsonl").lines().count();
    let places = |line| [Place::Start, Place::Middle, Place::End].map(|place| (line, place));
    let cuts: Vec<_> = (0..lines).flat_map(places).chain([(lines, Place::Start)]).collect();
    // Most of the time goes by while the disk syncs.
    for together in cuts.chunks(8) {
        std::thread::scope(|scope| {
            for &(line, place) in together {
                let expected = &expected;
                scope.spawn(move || one_cut(line, place, expected));
            }
        });
    }
}

/// A run of its own, in a workspace of its own, whose log is cut there.
fn one_cut(line: usize, place: Place, expected: &Value) {
    let pack = Pack::in_memory(PLAN);
    assert_eq!(pack.run(&["--jobs", "1"]).code, 0);
    let log = pack.read(".plan/latest/events.jsonl");
    let start: usize = log.split_inclusive('\n').take(line).map(str::len).sum();
    let length = log[start..].find('\n').map_or(0, |end| end + 1);
    let cut = match place {
        Place::Start => start,
        Place::Middle => start + length / 2,
        Place::End => start + length - 1,
    };
    pack.write(".plan/latest/events.jsonl", &log[..cut]);
    let before = runs(&pack);
    let came = pack.plan(&["run", "--resume", "--jobs", "1"]);
    assert_eq!(came.code, 0, "cut at {line} {place:?}: {came:?}");
    assert_eq!(&comparable(pack.status()), expected, "cut at {line} {place:?}");
    let after = runs(&pack);
    let whole_lines = log[..cut].rfind('\n').map_or("", |end| &log[..end]).lines();
    for task in settled(whole_lines.map(|line| serde_json::from_str(line).unwrap())) {
        let name = task.replace('[', "-").replace(']', "");
        let times = |runs: &str| runs.lines().filter(|line| *line == name).count();
        assert_eq!(times(&after), times(&before), "cut at {line} {place:?}: `{name}` ran again");
    }
    assert_eq!(pack.plan(&["evidence", "--verify"]).code, 0, "cut at {line} {place:?}");
}

/// Once `again` is there, `b` prints its result; before, it wrote it to the file.
const RENUMBERED: &str = r#"
command a { run = "true" }
command b { depends_on = [a], emits = { k: string }, run = "if [ -e again ]; then echo '{\"k\": \"new\"}'; else echo stale; echo '{\"k\": \"old\"}' > $PLAN_RESULT_FILE; fi" }
command c { depends_on = [b], run = "[ ! -e again ] || exit 3; echo stale; echo '{}' > $PLAN_RESULT_FILE", required = false }
"#;

#[test]
fn an_attempt_whose_number_the_log_lost_leaves_nothing_to_the_next() {
    let pack = Pack::in_memory(RENUMBERED);
    assert_eq!(pack.run(&[]).code, 0);
    assert_eq!(pack.status()["tasks"]["b"]["output"]["k"], "old");
    let log = pack.read(".plan/latest/events.jsonl");
    let started = log.lines().find(|line| line.contains(r#""attempt_started""#) && line.contains(r#""b""#));
    let at = log.find(started.unwrap()).unwrap();
    pack.write(".plan/latest/events.jsonl", &log[..at]);
    pack.write("again", "");
    // Whoever takes a directory for its result file leaves one.
    std::fs::create_dir_all(pack.file(".plan/latest/logs/4.result.json/x")).unwrap();
    let came = pack.plan(&["run", "--resume"]);
    assert_eq!(came.code, 0, "{came:?}");
    let status = pack.status();
    assert_eq!(status["tasks"]["b"]["output"]["k"], "new", "{status}");
    assert_eq!(status["tasks"]["c"]["status"], "fail", "{status}");
    assert_eq!(pack.read(".plan/latest/logs/2.out"), "{\"k\": \"new\"}\n");
    assert_eq!(pack.names(".plan/latest/logs"), ["1.err", "1.out", "2.err", "2.out", "3.err", "3.out"]);
}

/// The packs of this repository that run without stand-ins, cut after every event.
#[test]
fn every_prefix_of_a_packs_log_resumes_to_the_same_end() {
    const PACKS: [(&str, &str, &[&str]); 2] = [
        ("dependency-audit", "audit.plan", &["--param", "lock=Cargo.lock"]),
        ("ticket-triage", "triage.plan", &[]),
    ];
    for (name, plan, arguments) in PACKS {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let run = || {
            let pack = Pack::in_memory("");
            copy(&root.join("packs").join(name), pack.path());
            std::fs::copy(root.join("Cargo.lock"), pack.file("Cargo.lock")).unwrap();
            let all = [&["run", "--jobs", "1", "--plan", plan], arguments].concat();
            assert_eq!(pack.plan(&all).code, 0, "{name}");
            pack
        };
        let whole = run();
        let expected = comparable(whole.status());
        let lines = whole.read(".plan/latest/events.jsonl").lines().count();
        for line in 1..=lines {
            let pack = run();
            let log = pack.read(".plan/latest/events.jsonl");
            let cut: String = log.split_inclusive('\n').take(line).collect();
            pack.write(".plan/latest/events.jsonl", &cut);
            let came = pack.plan(&["run", "--resume", "--jobs", "1"]);
            assert_eq!(came.code, 0, "{name} cut after {line} lines: {came:?}");
            assert_eq!(comparable(pack.status()), expected, "{name} cut after {line} lines");
        }
    }
}

fn runs(pack: &Pack) -> String {
    pack.read("n")
}
