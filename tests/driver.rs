//! Runs of real processes, through the driver: what a task sees, how it is ended, what is kept of it.

mod common;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use plan::clock::Real;
use plan::event::{AttemptEnded, Body, Event, Grade, Status};
use plan::exec::admission::{self, Machine, Operator};
use plan::exec::ports::{NotStarted, Notice, Ports, Post, Process, Runner, Source, Start};
use plan::exec::{self, Outcome, RunError, RunOptions};
use plan::history::Row;
use plan::runner::Local;
use plan::store::RunDir;
use plan::verifiers::BuiltIn;
use plan::workspace::Direct;

use common::{Below, Kept, Memory, Nobody};

struct Bench {
    directory: tempfile::TempDir,
    text: &'static str,
    jobs: usize,
    log_limit: u64,
    most: usize,
    asked: Option<Arc<Mutex<Vec<u64>>>>,
    /// Signals, each sent as soon as a file is there.
    signals: Vec<(&'static str, &'static str)>,
}

struct Played {
    outcome: Outcome,
    events: Vec<Event>,
    took: Duration,
}

impl Bench {
    fn new(text: &'static str) -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            text,
            jobs: 2,
            log_limit: 1 << 30,
            most: usize::MAX,
            asked: None,
            signals: Vec::new(),
        }
    }

    fn root(&self) -> Utf8PathBuf {
        Utf8Path::from_path(self.directory.path()).unwrap().join("workspace")
    }

    fn play(&self) -> Played {
        self.go(Vec::new())
    }

    fn go(&self, past: Vec<Event>) -> Played {
        let begun = Instant::now();
        let (result, events) = self.try_go(past, Arc::new(Local::new(std::env::vars_os())));
        Played { outcome: result.unwrap(), events, took: begun.elapsed() }
    }

    fn try_go(&self, past: Vec<Event>, runner: Arc<dyn Runner>) -> (Result<Outcome, RunError>, Vec<Event>) {
        let mut pack = plan::load::Pack::in_memory();
        pack.set("case.plan", self.text);
        let bindings = plan::lower::params::Bindings::launch(None, &[] as &[&str]).unwrap();
        let compiled = plan::compile::compile(&mut pack, "case.plan".into(), &bindings);
        let found: Vec<String> = compiled.diagnostics.iter().map(|found| found.message.clone()).collect();
        let plan = compiled.plan.unwrap_or_else(|| panic!("{found:?}"));
        let operator = Operator::default();
        let (admitted, _) = admission::admit(&plan, &operator, &Machine::default());
        let root = self.root();
        std::fs::create_dir_all(&root).unwrap();
        let run = RunDir { name: "run".into(), path: root.join("../run") };
        let options = RunOptions {
            run: "run".into(),
            version: "0".into(),
            pack: root.clone(),
            gates: "gates".into(),
            admitted,
            jobs: self.jobs,
            kill_on_failure: false,
            log_limit: self.log_limit,
            from: None,
            reuse: None,
            outer: None,
        };
        let mut log = Memory::new(past.clone(), self.most);
        log.asked.clone_from(&self.asked);
        let events = Arc::clone(&log.events);
        let ports = Ports {
            log: Box::new(log),
            files: Arc::new(Kept::new(&run)),
            runner,
            workspace: Arc::new(Direct::new(root.clone())),
            verifiers: Arc::new(BuiltIn::default()),
            clock: Arc::new(Real::new()),
            reporter: Box::new(Nobody),
            sources: vec![Box::new(Watcher { root, signals: self.signals.clone() })],
            calls: Arc::new(Below::new(&run)),
        };
        let outcome = exec::run(plan, options, ports, past);
        let events = events.lock().unwrap().clone();
        (outcome, events)
    }
}

impl Played {
    fn row(&self, name: &str) -> &Row {
        self.outcome.history.row(name).unwrap()
    }

    fn last(&self, name: &str) -> &AttemptEnded {
        self.row(name).last.as_ref().unwrap()
    }

    fn ended(&self, name: &str) -> Vec<&AttemptEnded> {
        let mut ended = Vec::new();
        for event in &self.events {
            if let Body::AttemptEnded(body) = &event.body
                && body.task == name
            {
                ended.push(body);
            }
        }
        ended
    }

    fn note(&self, name: &str) -> &str {
        self.row(name).note().map_or("", |note| note.as_str())
    }

    fn output(&self, name: &str) -> String {
        self.row(name).output().map_or_else(|| "-".to_owned(), |output| output.get().to_owned())
    }

    fn status(&self, name: &str) -> Option<Status> {
        self.row(name).status()
    }

    fn warnings(&self) -> Vec<&str> {
        self.outcome.history.warnings.iter().map(|warning| warning.message.as_str()).collect()
    }
}

/// Sends signals once files are there.
struct Watcher {
    root: Utf8PathBuf,
    signals: Vec<(&'static str, &'static str)>,
}

impl Source for Watcher {
    fn connect(&mut self, post: Post) {
        let (root, signals) = (self.root.clone(), self.signals.clone());
        tokio::spawn(async move {
            for (file, signal) in signals {
                while !root.join(file).exists() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                post(Notice::Signal(signal.into()));
            }
        });
    }
}

/// How many processes have `words` in their command line.
fn running(words: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(words)
    })
    .count()
}

#[test]
fn what_a_task_sees() {
    let played = Bench::new(
        r#"
command a {
    env = { OWN = "own" }
    run = '''
        cd "$PLAN_PACK"
        test "$(cat "$PLAN_INPUTS_FILE")" = "$PLAN_INPUTS"
        test -d "$PLAN_FILES" && test -z "$(ls "$PLAN_FILES")" && test ! -e "$PLAN_RESULT_FILE"
        echo "{\"task\":\"$PLAN_TASK\",\"attempt\":$PLAN_ATTEMPT,\"round\":$PLAN_ROUND,\"run\":\"$PLAN_RUN\","\
"\"item\":\"${PLAN_ITEM-none}\",\"own\":\"$OWN\"}" > "$PLAN_RESULT_FILE"
    '''
}
command b { run = "echo '{\"keys\":[\"x y\"]}'", emits = { keys: [string] } }
command c {
    depends_on = [b]
    over       = b.keys
    run        = 'echo "{\"item\":\"$PLAN_ITEM\",\"task\":\"$PLAN_TASK\",\"inputs\":$PLAN_INPUTS}"'
}
command d { run = ["printf", "{\"list\": \"%s\"}", "$HOME | 'x'"] }
"#,
    )
    .play();
    let expected = r#"{"task":"a","attempt":1,"round":1,"run":"run","item":"none","own":"own"}"#;
    assert_eq!(played.output("a"), expected, "{}", played.note("a"));
    let expected = r#"{"item":"x y","task":"c","inputs":{"b":{"keys":["x y"]},"item":"x y"}}"#;
    assert_eq!(played.output("c[x y]"), expected, "{}", played.note("c[x y]"));
    assert_eq!(played.output("d"), r#"{"list":"$HOME | 'x'"}"#);
}

#[test]
fn large_inputs_come_as_a_file_alone() {
    let played = Bench::new(
        r#"
command a { run = "printf '{\"x\":\"%070000d\"}' 0" }
command b { depends_on = [a], run = 'echo "{\"variable\":\"${PLAN_INPUTS-none}\",\"size\":$(wc -c < "$PLAN_INPUTS_FILE")}"' }
"#,
    )
    .play();
    assert_eq!(played.output("b"), r#"{"variable":"none","size":70014}"#, "{}", played.note("b"));
}

#[test]
fn a_time_limit_ends_the_tree_and_keeps_the_reading() {
    let played = Bench::new(
        r#"
command a {
    required = false
    timeout  = 500ms
    run      = "echo '{\"found\":2}'; setsid sleep 300.7701 & (sleep 300.7701; true) & sleep 300.7701"
}
"#,
    )
    .play();
    assert_eq!(played.note("a"), "timed out after 500ms");
    assert_eq!((played.status("a"), played.output("a").as_str()), (Some(Status::Fail), r#"{"found":2}"#));
    assert_eq!(running("300.7701"), 0);
    assert!(played.took < Duration::from_secs(4));
}

#[test]
fn the_tree_has_its_grace_also_where_its_root_ends_at_once() {
    let played = Bench::new(
        r#"
command a {
    required = false
    timeout  = 500ms
    shell    = "sh"
    run      = "bash -c 'trap \"sleep 0.4; echo clean > cleaned; exit\" TERM; while :; do sleep 0.05; done'; true"
}
command b { depends_on = [a], join = "settled", run = "test -e cleaned" }
"#,
    )
    .play();
    assert_eq!(played.status("b"), Some(Status::Pass), "{}", played.note("b"));
}

#[test]
fn a_signal_ends_attempts_gracefully_and_the_run_can_be_resumed() {
    let mut bench = Bench::new(
        r#"
command a { run = "bash -c 'trap \"echo clean > cleaned; exit 0\" TERM; touch started; while :; do sleep 0.02; [ -e go ] && exit 0; done'" }
command b { depends_on = [a], run = "echo '{\"v\":1}'" }
command tidy { stage = "epilogue", always = true, run = "echo x >> tidied" }
"#,
    );
    bench.signals = vec![("started", "TERM")];
    let played = bench.play();
    assert!(bench.root().join("cleaned").exists());
    assert_eq!(played.outcome.signal.as_deref(), Some("TERM"));
    assert!(played.outcome.history.ended.is_none());
    assert_eq!(played.ended("a")[0].grade, Grade::Interrupted);
    assert_eq!((played.status("a"), played.status("b")), (None, None));
    std::fs::write(bench.root().join("go"), "").unwrap();
    bench.signals.clear();
    let played = bench.go(played.events);
    assert!(played.outcome.signal.is_none());
    assert_eq!((played.status("a"), played.output("b").as_str()), (Some(Status::Pass), r#"{"v":1}"#));
    assert_eq!(played.row("a").attempts, 1, "the interrupted one is left out");
}

#[test]
fn a_second_signal_kills_at_once() {
    let mut bench = Bench::new(
        r#"
command a { run = "bash -c 'trap \"touch cleaning; sleep 300.7702\" TERM; touch started; while :; do sleep 0.02; done'" }
command tidy { stage = "epilogue", always = true, run = "touch tidied" }
"#,
    );
    bench.signals = vec![("started", "INT"), ("cleaning", "INT")];
    let played = bench.play();
    assert_eq!(played.outcome.signal.as_deref(), Some("INT"));
    assert_eq!(running("300.7702"), 0);
    assert!(!bench.root().join("tidied").exists());
    assert!(played.took < Duration::from_secs(4));
}

#[test]
fn a_stream_that_outgrows_the_limit_ends_the_attempt() {
    let mut bench =
        Bench::new(r#"command a { run = "while :; do printf '%01000d\n' 0 >&2; sleep 0.001; done" }"#);
    bench.log_limit = 64 << 10;
    let played = bench.play();
    assert_eq!(played.note("a"), "standard error outgrew the limit of 64KiB");
    assert_eq!(played.status("a"), Some(Status::Fail));
}

#[test]
fn a_stream_that_shrank_is_a_warning() {
    let played =
        Bench::new(r#"command a { run = "echo something >&2; sleep 0.4; : > /dev/stderr; sleep 0.3" }"#)
            .play();
    assert_eq!(played.status("a"), Some(Status::Pass));
    assert_eq!(played.warnings(), ["its standard error has shrunk: something was cut off"]);
}

#[test]
fn much_output_before_the_result() {
    let played = Bench::new(
        r#"command a { run = "head -c 209715200 /dev/zero | tr '\\0' x; echo; echo '{\"n\": 1}'", emits = { n: integer } }"#,
    )
    .play();
    assert_eq!(played.output("a"), r#"{"n":1}"#, "{}", played.note("a"));
}

#[test]
fn a_result_that_is_no_file_is_refused_without_waiting_for_it() {
    let played = Bench::new(
        r#"
command a { required = false, run = 'mkfifo "$PLAN_RESULT_FILE"; echo "{}"' }
command b { required = false, run = 'ln -s /etc/hostname "$PLAN_RESULT_FILE"' }
command c { required = false, run = 'mkdir "$PLAN_RESULT_FILE"' }
command d { required = false, run = 'rm "$(readlink /proc/$$/fd/1)"; echo gone' }
"#,
    )
    .play();
    for name in ["a", "b", "c"] {
        assert_eq!(played.status(name), Some(Status::Fail), "{name}");
        assert!(played.note(name).starts_with("the result file cannot be read"), "{}", played.note(name));
    }
    assert_eq!(played.status("d"), Some(Status::Pass));
}

#[test]
fn descendants_that_hold_the_streams_open_hang_nothing() {
    let played = Bench::new(r#"command a { run = "sleep 300.7703 & disown; echo '{\"n\":1}'" }"#).play();
    assert_eq!(played.output("a"), r#"{"n":1}"#);
    assert!(played.took < Duration::from_secs(5));
    assert_eq!(running("300.7703"), 0);
}

#[test]
fn exits_signals_and_what_cannot_start() {
    let played = Bench::new(
        r#"
command plain   { required = false, run = "echo doomed >&2; exit 3" }
command note    { required = false, run = "echo '{\"note\":\"why\"}'; exit 4" }
command killed  { required = false, run = "kill -KILL $$" }
command missing { required = false, run = "no-such-command-here" }
command program { required = false, retries = 0, run = ["no-such-program-here"] }
command cwd     { required = false, cwd = "nowhere", run = "true" }
command link    { run = "ln -s / out; mkdir in; ln -s in also" }
command leaves  { depends_on = [link], required = false, cwd = "out/tmp", run = "true" }
command stays   { depends_on = [link], cwd = "also", run = "touch here" }
command nul     { depends_on = [keys], over = keys.keys, required = false, run = "true" }
command keys    { run = "echo '{\"keys\":[\"a\\u0000b\"]}'", emits = { keys: [string] } }
"#,
    )
    .play();
    assert_eq!(played.note("leaves"), "its working directory `out/tmp` leaves the workspace");
    assert_eq!(played.status("stays"), Some(Status::Pass), "{}", played.note("stays"));
    assert_eq!(played.status("nul[a\0b]"), Some(Status::Blocked));
    assert_eq!(played.note("plain"), "exit 3: doomed");
    assert_eq!((played.note("note"), played.output("note").as_str()), ("exit 4: why", r#"{"note":"why"}"#));
    assert_eq!(played.note("killed"), "ended by SIGKILL");
    assert!(played.note("missing").starts_with("exit 127: "), "{}", played.note("missing"));
    assert_eq!(played.status("program"), Some(Status::Transport));
    assert_eq!(played.note("program"), "no program `no-such-program-here` on the `PATH`");
    assert_eq!(played.status("cwd"), Some(Status::Blocked));
    assert_eq!(played.note("cwd"), "its working directory `nowhere` is missing");
}

#[test]
fn done_already() {
    let text = r#"
command files { done_when = "files", emits_files = ["out/a.txt"], run = "echo x >> ran; mkdir -p out; echo a > out/a.txt" }
command asked { depends_on = [files], done_when = "test -e marker; echo '{\"status\":\"fail\"}'", run = "echo y >> ran; echo '{\"n\":1}'" }
"#;
    let bench = Bench::new(text);
    let played = bench.play();
    assert!(!played.last("files").done_already);
    assert_eq!(played.output("asked"), r#"{"n":1}"#, "after a rewind it is not asked");
    std::fs::write(bench.root().join("marker"), "").unwrap();
    let played = bench.play();
    assert!(played.last("files").done_already, "{:?}", played.events);
    assert!(played.last("asked").done_already, "{:?}", played.events);
    assert_eq!(played.output("asked"), "{}");
    assert_eq!(played.row("files").files().unwrap().paths, ["out/a.txt"]);
    assert_eq!(std::fs::read_to_string(bench.root().join("ran")).unwrap(), "x\ny\n");
}

#[test]
fn a_log_that_fails_ends_what_is_in_flight() {
    let mut bench = Bench::new(
        r#"
command a { run = "sleep 0.3" }
command b { run = "setsid sleep 300.7704 & sleep 300.7704" }
"#,
    );
    bench.most = 4;
    let played = bench.play();
    assert_eq!(played.events.len(), 4);
    assert_eq!(played.outcome.log_failed.unwrap().path, "events.jsonl");
    assert_eq!(running("300.7704"), 0);
}

#[test]
fn only_what_depends_on_a_settle_waits_for_the_disk() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let mut bench = Bench::new(
        r#"
command a { run = "true" }
command b { run = "true" }
command c { run = "true" }
command d { run = "true" }
"#,
    );
    bench.jobs = 1;
    bench.asked = Some(Arc::clone(&asked));
    let played = bench.play();
    assert_eq!(*asked.lock().unwrap(), [played.events.len() as u64], "its end alone");

    let asked = Arc::new(Mutex::new(Vec::new()));
    let mut bench = Bench::new(
        r#"
command a { run = "true" }
command b { depends_on = [a], run = "true" }
command c { depends_on = [b], on_interrupt = "ask", run = "true" }
"#,
    );
    bench.asked = Some(Arc::clone(&asked));
    let played = bench.play();
    let place = |kind: &str, task: &str| {
        let found = played.events.iter().find(|event| {
            let body: serde_json::Value = serde_json::from_str(&format!("{{{}}}", event.fields())).unwrap();
            event.body.kind() == kind && body["task"] == task
        });
        found.unwrap().seq
    };
    let expected = [place("task_settled", "a"), place("attempt_started", "c"), played.events.len() as u64];
    assert_eq!(*asked.lock().unwrap(), expected);
}

#[test]
fn many_side_by_side() {
    let text: String = (0..60)
        .map(|n| format!("command t{n} {{ run = \"sleep 0.5; echo '{{\\\"n\\\":{n}}}'\" }}\n"))
        .collect();
    let mut bench = Bench::new(text.leak());
    bench.jobs = 60;
    let played = bench.play();
    for n in 0..60 {
        assert_eq!(played.output(&format!("t{n}")), format!("{{\"n\":{n}}}"));
    }
    assert!(played.took < Duration::from_secs(20), "{:?}", played.took);
}

/// A runner with a bug.
struct Broken(Local);

impl Runner for Broken {
    fn start(&self, start: &Start) -> Result<Box<dyn Process>, NotStarted> {
        assert_ne!(start.task, "boom", "a bug in a runner");
        self.0.start(start)
    }
}

#[test]
fn a_bug_ends_the_run_and_what_is_in_flight() {
    let bench = Bench::new(
        r#"
command slow { run = "sleep 300.7705" }
command boom { run = "true" }
"#,
    );
    let (result, events) = bench.try_go(Vec::new(), Arc::new(Broken(Local::new(std::env::vars_os()))));
    let error = result.unwrap_err().to_string();
    assert_eq!(error, "an attempt of `boom` was lost by a bug in the executor");
    assert_eq!(running("300.7705"), 0);
    // What the log says is what happened: both were in flight, and a resume takes them up again.
    assert_eq!(events.len(), 4);
}
