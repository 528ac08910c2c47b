//! Review rounds, in real runs: what tasks see, what people see, and going on by hand (LANGUAGE §9).

use std::process::Stdio;

use super::pack::{Pack, came};

/// Until `fine` is there, the reviewer is not satisfied.
const PLAN: &str = r#"
command draft {
    run         = "echo round $PLAN_ROUND; cat $PLAN_FILES/review/why.md 2>&1 || true; echo \"$PLAN_INPUTS\" > draft.md"
    emits_files = ["draft.md"]
}
command review {
    depends_on  = [draft]
    revise      = draft
    max_rounds  = 3
    run         = "echo \"too short, round $PLAN_ROUND\" > why.md; echo \"{\\\"note\\\": \\\"too short\\\"}\"; test -e fine"
    emits_files = ["why.md"]
}
command publish { depends_on = [draft, review], run = "touch published" }
"#;

#[test]
fn every_round_is_shown() {
    let pack = Pack::new(PLAN);
    let ran = pack.run(&["--jobs", "1"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("again      review  round 2: draft\n"), "{}", ran.out);
    let cause = "first cause: `review` failed in round 3: exit 1: too short\n";
    assert!(ran.out.contains(cause), "{}", ran.out);
    assert!(!pack.file("published").exists());

    let seen: serde_json::Value = serde_json::from_str(&pack.read("draft.md")).unwrap();
    let review = serde_json::json!({"status": "fail", "note": "exit 1: too short", "output": {"note": "too short"}, "files": true});
    let revision = serde_json::json!({"round": 3, "max_rounds": 3, "reviewer": "review", "review": review});
    assert_eq!(seen, serde_json::json!({"revision": revision}));
    assert_eq!(
        pack.plan(&["logs", "latest", "draft"]).out,
        "round 3\ntoo short, round 2\n",
        "the evidence of the last review is staged"
    );
    assert!(pack.plan(&["logs", "latest", "draft", "--all"]).out.starts_with("round 1\ncat: "));

    let status = pack.status();
    let rounds = |task: &str| {
        let rounds = status["tasks"][task]["rounds"].as_array().unwrap().iter();
        rounds
            .map(|round| {
                format!("{} {} {}", round["round"], round["status"].as_str().unwrap(), round["files"][0])
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(rounds("draft"), ["1 pass \"draft.md\"", "2 pass \"draft.md\""]);
    assert_eq!(rounds("review"), ["1 fail \"why.md\"", "2 fail \"why.md\""]);
    assert_eq!(rounds("publish"), Vec::<String>::new());

    let text = pack.plan(&["status"]).out;
    assert!(text.contains("  pass       draft    3 rounds\n  fail       review   3 rounds"), "{text}");
    assert!(text.contains("    fail       in round 1  exit 1: too short\n"), "{text}");
    assert!(!text.contains("    pass       in round 1"), "{text}");
    let text = pack.plan(&["status", "--verbose"]).out;
    assert!(text.contains("    pass       in round 1\n"), "{text}");
    let page = pack.plan(&["status", "--format", "html"]).out;
    assert!(page.contains("Earlier rounds"), "{page}");
}

#[test]
fn rounds_begin_again_with_a_task_by_hand() {
    let pack = Pack::new(PLAN);
    assert_eq!(pack.run(&[]).code, 3);
    pack.write("fine", "");
    let ran = pack.plan(&["run", "--resume", "--from", "review"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let status = pack.status();
    assert_eq!(status["tasks"]["review"]["rounds"], serde_json::json!([]));
    assert_eq!(status["tasks"]["draft"]["rounds"].as_array().unwrap().len(), 2, "what it reviews stays");
    assert!(pack.file("published").exists());
    assert_eq!(pack.plan(&["evidence", "--verify"]).code, 0);
}

#[test]
fn a_raised_ceiling_goes_on_in_the_round() {
    let pack = Pack::new(PLAN);
    // The third is the draft of the second round, and its review does not start.
    assert_eq!(pack.run(&["--max-steps", "3"]).code, 3);
    assert_eq!(pack.status()["exit"], "step_ceiling");
    pack.write("fine", "");
    let ran = pack.plan(&["run", "--resume", "--max-steps", "9"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let status = pack.status();
    assert_eq!(status["tasks"]["review"]["rounds"][0]["status"], "fail");
    assert_eq!((status["steps"].as_u64(), status["exit"].as_str()), (Some(5), Some("completed")));
}

#[test]
fn a_task_under_review_is_followed_until_it_is_over() {
    let pack = Pack::new(
        r#"
command draft { run = "echo round $PLAN_ROUND; sleep 0.3" }
command review { depends_on = [draft], revise = draft, max_rounds = 3, run = "touch looks; sleep 0.4; test $PLAN_ROUND = 2" }
"#,
    );
    let mut run = pack.command(&["run", "--plan", "p.plan"]).stdout(Stdio::null()).spawn().unwrap();
    pack.wait_for("looks");
    let followed = came(pack.command(&["logs", "latest", "draft", "--follow"]).output().unwrap());
    assert_eq!(followed.out, "round 1\nround 2\n");
    assert!(run.wait().unwrap().success());
}

#[test]
fn a_pack_tests_its_rounds() {
    let pack = Pack::new(PLAN);
    std::fs::create_dir(pack.file("tests")).unwrap();
    pack.write(
        "tests/second.toml",
        r#"
[stub]
draft = { files = { "draft.md" = "text" } }
review = { files = { "why.md" = "no" }, rounds = [{ exit = 1 }, { exit = 0 }] }

[expect]
exit = "completed"

[expect.tasks]
review = { status = "pass" }
publish = { status = "pass" }
"#,
    );
    let ran = pack.plan(&["test", "."]);
    assert_eq!(ran.code, 0, "{ran:?}");
}
