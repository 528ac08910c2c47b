//! What the engine itself answers: routes with a source, `top_k`, conditions (LANGUAGE §4, §7).

use crate::event::Status;
use crate::exec::route;
use crate::exec::testing::{Builder, Setup, Sim, compare, fails, json, says, spanned};
use crate::ir::condition::{Comparison, Condition, Operand};
use crate::ir::kind::{Direction, Question, Route, TopK};
use crate::ir::{Join, Kind, TaskId, Value};
use crate::source::Span;

fn one_job() -> Setup {
    Setup { jobs: 1, ..Setup::default() }
}

fn question(name: &str, labels: &[&str]) -> Question {
    let yes_no = labels.is_empty();
    let labels = if yes_no { &["yes", "no"] } else { labels };
    Question {
        name: spanned(name.into()),
        ask: None,
        labels: labels.iter().map(|&label| spanned(label.into())).collect(),
        yes_no,
        drop: Vec::new(),
    }
}

fn route(questions: Vec<Question>) -> Route {
    Route { source: Some(spanned(TaskId::from(0))), run: None, min_confidence: Some(0.7), questions }
}

#[test]
fn a_source_answers_with_labels_or_fails_the_route() {
    for (output, answer) in [
        (r#"{"bucket":"billing","sure":true}"#, Ok(r#"{"bucket":"billing","sure":"yes"}"#)),
        (r#"{"bucket":"outage","sure":"no"}"#, Ok(r#"{"bucket":"outage","sure":"no"}"#)),
        (
            r#"{"bucket":"maybe","sure":true}"#,
            Err("`read` answers `bucket` with `\"maybe\"`, which is none of `outage`, `billing`"),
        ),
        (
            r#"{"bucket":true,"sure":true}"#,
            Err("`read` answers `bucket` with `true`, which is none of `outage`, `billing`"),
        ),
        (r#"{"sure":true}"#, Err("`read` does not answer `bucket`")),
    ] {
        let mut plan = Builder::new();
        plan.command("read");
        let questions = vec![question("bucket", &["outage", "billing"]), question("sure", &[])];
        plan.task("queue", Kind::Route(Box::new(route(questions)))).after(&["read"]);
        let billing = Condition::Otherwise {
            task: TaskId::from(1),
            question: "bucket".into(),
            labels: vec!["billing".into()],
            span: Span::default(),
        };
        plan.command("branch").after(&["queue"]).when(billing);
        let sim = Sim::new(plan.done(), &one_job(), |_| says(output)).run();
        let row = sim.row("queue");
        assert_eq!(row.attempts, 0);
        match answer {
            Ok(answer) => {
                assert_eq!(row.output().unwrap().get(), answer);
                let taken = if answer.contains("billing") { Status::Pass } else { Status::NotTaken };
                assert_eq!(sim.status("branch"), Some(taken));
            }
            Err(note) => {
                assert_eq!((row.status(), sim.note("queue").as_str()), (Some(Status::Fail), note));
                assert_eq!(sim.status("branch"), Some(Status::Blocked));
            }
        }
    }
}

#[test]
fn a_decision_command_answers_with_confidence() {
    let route = route(vec![question("kind", &["bug", "idea"])]);
    for (output, answer) in [
        (r#"{"kind":{"label":"bug","confidence":0.7}}"#, Ok("bug")),
        (r#"{"kind":{"label":"bug","confidence":0.69}}"#, Ok("uncertain")),
        (r#"{"kind":{"label":"bug"}}"#, Err("the answer to `kind` has no number as its `confidence`")),
        (
            r#"{"kind":{"label":"bag","confidence":1}}"#,
            Err("the result answers `kind` with `\"bag\"`, which is none of `bug`, `idea`"),
        ),
        (
            r#"{"kind":"bug"}"#,
            Err("the result answers `kind` with no `label`, which is none of `bug`, `idea`"),
        ),
        ("{}", Err("the result does not answer `kind`")),
    ] {
        let answered = route::decided(&route, &json(output));
        match (answered, answer) {
            (Ok(answers), Ok(label)) => assert_eq!(answers.get(), format!(r#"{{"kind":"{label}"}}"#)),
            (Err(said), Err(why)) => assert_eq!(said, why),
            (said, _) => panic!("{output}: {said:?}"),
        }
    }
}

/// `a`, `b`, `c` score 0.7, 0.90, 0.8, and `d` has no score; the best `k` of those named.
fn best(k: u64, direction: Direction, of: &[&str]) -> (Option<Status>, String) {
    let mut plan = Builder::new();
    for name in ["a", "b", "c", "d", "e"] {
        plan.command(name).advisory();
    }
    let kind = Kind::TopK(TopK { k: spanned(k), direction });
    plan.task("best", kind).after(of).join(Join::Passed);
    let sim = Sim::new(plan.done(), &one_job(), |dispatch| match dispatch.name.as_str() {
        "a" => says(r#"{"score":0.7}"#),
        "b" | "e" => says(r#"{"score":0.90}"#),
        "c" => says(r#"{"score":0.8}"#),
        _ => says(r#"{"score":"high"}"#),
    })
    .run();
    let output = sim.row("best").output().map_or_else(|| sim.note("best"), |output| output.get().to_owned());
    (sim.status("best"), output)
}

#[test]
fn the_best_are_kept_in_order() {
    let pass = |output: &str| (Some(Status::Pass), output.to_owned());
    assert_eq!(
        best(2, Direction::Higher, &["a", "b", "c"]),
        pass(r#"{"kept":[{"task":"b","score":0.90},{"task":"c","score":0.8}]}"#)
    );
    assert_eq!(best(1, Direction::Lower, &["a", "b", "c"]), pass(r#"{"kept":[{"task":"a","score":0.7}]}"#));
    assert_eq!(
        best(1, Direction::Higher, &["e", "d", "b"]),
        pass(
            r#"{"kept":[{"task":"e","score":0.90}],"left_out":[{"task":"d","why":"has a `score` that is a string"}]}"#
        )
    );
    assert_eq!(
        best(1, Direction::Higher, &["d"]),
        (Some(Status::Fail), "there is no candidate: `d` has a `score` that is a string".to_owned())
    );
}

#[test]
fn the_best_instances_are_kept() {
    let mut plan = Builder::new();
    plan.command("src");
    plan.command("m").advisory().after(&["src"]).over("src", "keys");
    let kind = Kind::TopK(TopK { k: spanned(1), direction: Direction::Lower });
    plan.task("best", kind).after(&["m"]).join(Join::Passed);
    let sim = Sim::new(plan.done(), &one_job(), |dispatch| match dispatch.name.as_str() {
        "src" => says(r#"{"keys":["a","b","c"]}"#),
        "m[a]" => fails("exit 1"),
        "m[b]" => says(r#"{"score":2}"#),
        _ => says(r#"{"score":1e0}"#),
    })
    .run();
    assert_eq!(
        sim.row("best").output().unwrap().get(),
        r#"{"kept":[{"task":"m[c]","score":1e0}],"left_out":[{"task":"m[a]","why":"settled `fail`"}]}"#
    );
}

/// Whether `when` holds after a task that printed `output`.
fn holds(output: &str, when: Condition) -> bool {
    let mut plan = Builder::new();
    plan.command("t").advisory();
    plan.command("then").after(&["t"]).join(Join::Settled).when(when);
    let sim = Sim::new(plan.done(), &one_job(), |dispatch| {
        if dispatch.name == "t" && output == "fail" {
            fails("no")
        } else {
            says(if output == "fail" { "{}" } else { output })
        }
    })
    .run();
    match sim.status("then") {
        Some(Status::Pass) => true,
        Some(Status::NotTaken) => false,
        other => panic!("{other:?}"),
    }
}

fn field(name: &str) -> Operand {
    Operand::Field(TaskId::from(0), name.split('.').map(Into::into).collect())
}

fn number(digits: &str) -> Value {
    Value::Number(digits.parse().unwrap(), digits.into())
}

#[test]
fn comparisons_read_values_as_they_were_written() {
    use Comparison::{Equal, Greater, GreaterEqual, In, Less, LessEqual, NotEqual, NotIn};
    let text = |text: &str| Value::String(text.into());
    let output = r#"{"n":9007199254740993,"h":0.10,"s":"b","b":true,"z":null,"l":["x",2],"o":{"p":-1.50}}"#;
    for (left, operator, right, expected) in [
        ("n", Greater, Value::Integer(9_007_199_254_740_992), true),
        ("n", Equal, Value::Integer(9_007_199_254_740_992), false),
        ("h", Equal, number("0.1"), true),
        ("h", LessEqual, number("1e-1"), true),
        ("h", Less, number("0.1"), false),
        ("o.p", Less, Value::Integer(-1), true),
        ("s", Greater, text("a"), true),
        ("s", Equal, Value::Integer(1), false),
        ("s", NotEqual, Value::Integer(1), true),
        ("s", Less, Value::Integer(1), false),
        ("s", GreaterEqual, text("b"), true),
        ("b", Equal, Value::Boolean(true), true),
        ("z", Equal, text("null"), false),
        ("z", NotEqual, text("x"), true),
        ("s", In, Value::List(vec![text("a"), text("b")]), true),
        ("s", NotIn, Value::List(vec![text("a")]), true),
        ("missing", Equal, text("x"), false),
        ("missing", NotEqual, text("x"), false),
        ("missing", NotIn, Value::List(vec![text("a")]), false),
        ("o.missing", NotEqual, text("x"), false),
        ("s.deep", NotEqual, text("x"), false),
    ] {
        let when = compare(field(left), operator, right);
        assert_eq!(holds(output, when.clone()), expected, "{when:?}");
        // Of a task that did not pass nothing but its status can be read.
        assert!(!holds("fail", when));
    }
    let within = Condition::Compare {
        left: Operand::Literal(text("x")),
        operator: In,
        right: field("l"),
        span: Span::default(),
    };
    assert!(holds(output, within));
}

#[test]
fn conditions_combine() {
    let status =
        |word: &str| compare(Operand::Status(TaskId::from(0)), Comparison::Equal, Value::String(word.into()));
    let flag = |name: &str| Condition::Holds { operand: field(name), span: Span::default() };
    let line = |text: &str| {
        compare(Operand::LastLine(TaskId::from(0)), Comparison::Equal, Value::String(text.into()))
    };
    let not = |condition| Condition::Not(Box::new(condition));
    let output = r#"{"yes":true,"no":false}"#;
    assert!(holds(output, Condition::And(vec![status("pass"), flag("yes"), not(flag("no"))])));
    assert!(holds(output, Condition::Or(vec![flag("no"), flag("missing"), line(output)])));
    assert!(!holds(output, flag("no")));
    assert!(holds("fail", Condition::And(vec![status("fail"), not(line(""))])));
    assert!(!holds("fail", line("")));
}
