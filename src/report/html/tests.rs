//! Whole pages: what they say, that nothing on them is markup but the page's own, and how large they get.

use std::time::Instant;

use super::*;
use crate::event::{
    Alive, AttemptEnded, AttemptStarted, Blocked, BlockedReason, Body, Ceilings, Exit, FileSet, Grade,
    Halted, InstancesNamed, PlanAdmitted, RunEnded, RunResumed, RunStarted, Status, TaskSettled, Verdict,
    Warning,
};
use crate::ir::Usd;

/// A plan and a log, told one event after the other.
struct Story {
    plan: dump::Document,
    events: Vec<Event>,
    t: u64,
    attempt: u32,
}

impl Story {
    fn new(tasks: serde_json::Value) -> Self {
        let mut all = tasks;
        for task in all.as_array_mut().expect("a list of tasks") {
            let task = task.as_object_mut().expect("a task");
            for (key, value) in [("kind", "command"), ("stage", "main"), ("join", "all")] {
                task.entry(key).or_insert(value.into());
            }
            task.entry("required").or_insert(true.into());
        }
        let plan = serde_json::json!({ "schema": 1, "name": "story", "tasks": all, "order": [] });
        let plan = serde_json::from_value(plan).expect("a plan");
        let mut story = Self { plan, events: vec![], t: 0, attempt: 0 };
        let run = "20261102T071503-a1b2".into();
        story.tell(RunStarted { run, plan: "story".into(), log: 1, version: "0".into() });
        let tasks = story.plan.tasks.len() as u64;
        let ceilings = Ceilings { usd: Usd::parse("2.5"), time_ms: Some(Millis(1_200_000)), steps: None };
        story.tell(PlanAdmitted { tasks, caps: vec![], ceilings, keep_going: false });
        story
    }

    fn tell(&mut self, body: impl Into<Body>) -> &mut Self {
        let (seq, at) = (self.events.len() as u64 + 1, 1_793_603_703_000 + self.t as i64);
        self.events.push(Event { seq, at, t: Millis(self.t), body: body.into() });
        self
    }

    fn wait(&mut self, ms: u64) -> &mut Self {
        self.t += ms;
        self
    }

    fn start(&mut self, task: &str, nth: u32) -> u32 {
        self.attempt += 1;
        let attempt = self.attempt;
        self.tell(AttemptStarted { attempt, task: task.into(), nth, round: 1, token: None, answered: false });
        attempt
    }

    fn end(&mut self, attempt: u32, task: &str, grade: Grade, note: Option<&str>, output: Option<&str>) {
        let raw =
            |text: &str| serde_json::value::RawValue::from_string(text.to_owned()).expect("JSON").into();
        self.tell(AttemptEnded {
            attempt,
            task: task.into(),
            grade,
            note: note.map(Into::into),
            output: output.map(raw),
            last_line: "".into(),
            cost_usd: Usd::ZERO,
            files: (grade == Grade::Pass && task == "report").then(|| FileSet {
                manifest: "m".into(),
                paths: vec!["out/<report>.md".into()],
                bytes: 2048,
            }),
            if_rejected: None,
            duration_ms: Millis(1),
            done_already: false,
            reused: None,
            steps: 0,
            call: None,
            reads: Vec::new(),
            ended_by: None,
        });
    }

    fn settle(&mut self, task: &str, status: Status, note: Option<&str>, behind: Option<&str>) -> &mut Self {
        let blocked =
            behind.map(|task| Blocked { reason: BlockedReason::Dependency, task: Some(task.into()) });
        let note = note.map(Into::into);
        self.tell(TaskSettled { task: task.into(), status, note, blocked, output: None })
    }

    fn pass(&mut self, task: &str, ms: u64, output: &str) -> &mut Self {
        let attempt = self.start(task, 1);
        self.wait(ms).end(attempt, task, Grade::Pass, None, Some(output));
        self.settle(task, Status::Pass, None, None)
    }

    fn fail(&mut self, task: &str, ms: u64, note: &str, output: Option<&str>) -> &mut Self {
        let attempt = self.start(task, 1);
        self.wait(ms).end(attempt, task, Grade::Fail, Some(note), output);
        self.settle(task, Status::Fail, Some(note), None)
    }

    fn page(&self, streams: &dyn Fn(u32) -> Streams) -> String {
        let mut history = History::new(&self.plan);
        self.events.iter().for_each(|event| history.apply(event).expect("a task of the plan"));
        let input = Input {
            plan: &self.plan,
            history: &history,
            events: &self.events,
            held: false,
            show: &Clone::clone,
            mask: &|_| None,
            streams,
        };
        page(&input)
    }
}

fn quiet(_: u32) -> Streams {
    Streams::default()
}

/// A run in two sittings with a fan-out, a failure, what it blocks, and an epilogue.
fn audit() -> Story {
    let mut story = Story::new(serde_json::json!([
        { "name": "scan" },
        { "name": "audit", "depends_on": ["scan"], "mapped": true, "required": false },
        { "name": "triage", "depends_on": ["audit"], "join": "settled", "group": "after" },
        { "name": "publish", "depends_on": ["triage"], "group": "after" },
        { "name": "announce", "depends_on": ["publish", "scan"], "join": "passed" },
        { "name": "report", "stage": "epilogue" },
    ]));
    story.pass("scan", 1200, r#"{"packages":["left-pad","is-odd"],"score":1.50}"#);
    story.tell(InstancesNamed { task: "audit".into(), keys: vec!["left-pad".into(), "is-odd".into()] });
    story.pass("audit[left-pad]", 700, "{}");
    story.start("audit[is-odd]", 1);
    story.wait(400).tell(Alive {});
    story.t = 0;
    let ceilings = Ceilings::default();
    story.tell(RunResumed {
        reopened: false,
        from: None,
        again: vec![],
        anew: Vec::new(),
        unheard: Vec::new(),
        heard: Vec::new(),
        caps: vec![],
        ceilings,
        keep_going: false,
    });
    story.wait(20).fail("audit[is-odd]", 900, "exit 3: no such advisory", Some(r#"{"found":0}"#));
    story.settle("audit", Status::Fail, Some("1 of 2 instances failed: is-odd"), None);
    story.tell(Warning { task: Some("triage".into()), message: "a stream has shrunk".into() });
    story.fail("triage", 2500, "exit 1", None);
    story.tell(Halted { exit: Exit::Failed, task: Some("triage".into()), note: None });
    story.settle("publish", Status::Blocked, Some("`triage` failed"), Some("triage"));
    story.settle("announce", Status::Blocked, Some("`publish` is blocked"), Some("publish"));
    story.pass("report", 300, "{}");
    story.tell(RunEnded { exit: Exit::Failed, verdict: Some(Verdict::Invalid) });
    story
}

#[test]
fn a_page_says_what_happened() {
    let page = audit().page(&|attempt| Streams {
        err: Tail { text: format!("\u{1b}[31mstream {attempt}\u{1b}[0m\n"), before: 2048 },
        ..Streams::default()
    });
    for said in [
        "<title>story: invalid</title>",
        "2026-11-02 07:15:03",
        "<b>invalid</b>",
        "What went wrong, first cause first",
        "2 tasks blocked behind it",
        "first cause: ",
        "in 2 sittings",
        "exit 3: no such advisory",
        "audit[is-odd]: attempt 1, cut off",
        "&quot;score&quot;: 1.50",
        "out/&lt;report&gt;.md",
        "stream 1</pre>",
        "2.0 KiB before this",
        "a stream has shrunk",
        "cannot change the verdict",
    ] {
        assert!(page.contains(said), "the page does not say {said:?}");
    }
    assert!(!page.contains('\u{1b}'));
    assert_eq!(
        page,
        audit().page(&|attempt| Streams {
            err: Tail { text: format!("\u{1b}[31mstream {attempt}\u{1b}[0m\n"), before: 2048 },
            ..Streams::default()
        })
    );
}

#[test]
fn every_link_of_a_page_leads_somewhere() {
    let page = audit().page(&quiet);
    let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let links: Vec<&str> = page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.len() > 30);
    for link in links {
        assert_eq!(ids.iter().filter(|&&id| id == link).count(), 1, "{link}");
    }
}

#[test]
fn nothing_that_others_wrote_is_markup() {
    let hostile = "</script></pre></title><img src=x onerror=alert(1)>\" onfocus=\"alert(2)' --><b>";
    let name = "a\"><script>alert(3)</script>";
    let mut story = Story::new(serde_json::json!([
        { "name": name, "kind": hostile, "group": hostile },
        { "name": "m", "mapped": true, "depends_on": [name], "join": hostile },
        { "name": "b", "depends_on": [name] },
    ]));
    story.plan.name = hostile.into();
    let output = serde_json::json!({ hostile: [hostile] }).to_string();
    story.fail(name, 5, hostile, Some(&output));
    story.tell(InstancesNamed { task: "m".into(), keys: vec![hostile.into()] });
    story.fail(&format!("m[{hostile}]"), 5, hostile, Some(&output));
    story.settle("b", Status::Blocked, Some(hostile), Some(name));
    story.settle("m", Status::Fail, Some(hostile), None);
    story.tell(Warning { task: Some(name.into()), message: hostile.into() });
    story.tell(Warning { task: None, message: hostile.into() });
    story.tell(Halted { exit: Exit::Failed, task: Some(name.into()), note: Some(hostile.into()) });
    let page = story.page(&|_| Streams {
        out: Tail { text: hostile.into(), before: 0 },
        err: Tail { text: hostile.into(), before: 0 },
    });
    assert_eq!(page.matches("<script").count(), 1, "the page's own");
    assert_eq!(page.matches("</script").count(), 1);
    assert_eq!(
        page.matches("<title>").count() - page.matches("<title>a&quot;").count(),
        3,
        "the page and two boxes"
    );
    for markup in ["<img", "<b>\"", "-->", "\" onfocus", "alert(1)>"] {
        assert!(!page.contains(markup), "{markup}");
    }
    assert!(page.matches("&lt;img src=x onerror=alert(1)&gt;").count() > 10);
}

#[test]
fn the_policy_knows_the_script_of_its_own_page_alone() {
    let nonce = |page: &str| {
        let from = page.find("'nonce-").expect("a policy") + 7;
        page[from..from + 32].to_owned()
    };
    let (a, b) = (audit().page(&quiet), Story::new(serde_json::json!([{ "name": "a" }])).page(&quiet));
    assert!(a.contains(&format!("<script nonce=\"{}\">", nonce(&a))));
    assert_ne!(nonce(&a), nonce(&b));
}

#[test]
fn a_large_plan_makes_a_page_of_reasonable_size_soon() {
    let tasks: Vec<serde_json::Value> = (0..10_000)
        .map(|at: usize| {
            let on: Vec<String> =
                (1..=3).filter_map(|by| at.checked_sub(100 * by)).map(|at| format!("t{at}")).collect();
            serde_json::json!({ "name": format!("t{at}"), "depends_on": on })
        })
        .collect();
    let mut story = Story::new(tasks.into());
    for at in 0..10_000 {
        let name = format!("t{at}");
        match at % 100 {
            7 => story.fail(&name, 3, "exit 1", None),
            _ => story.pass(&name, 3, r#"{"a":"some result"}"#),
        };
    }
    let line = "a line of a log that goes on for a while\n".repeat(400);
    let began = Instant::now();
    let page = story.page(&|_| Streams { out: Tail { text: line.clone(), before: 0 }, ..Streams::default() });
    // A debug build on a busy machine; a release build takes a tenth of it.
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    assert!(page.len() < 24 << 20, "{}", page.len());
    assert!(page.contains("10000 tasks are drawn as 100 boxes"));
    let tails = page.matches("Standard output").count();
    assert!((100..2000).contains(&tails), "{tails} tasks show their streams");
    assert!(page.contains("logs/9908.out</small>"), "what failed comes first");
}
