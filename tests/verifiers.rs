//! Verifiers that fail in every way that we could think of, with real threads and processes: none harms
//! the run that it observes, and none passes but by saying so in time (EXECUTION §9).

use std::fs::File;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use plan::clock::Real;
use plan::event::{EndedBy, FileSet, Raw, VerifierMode};
use plan::exec::attempt::verify::{Interrupted, Scene, Verdict, judge};
use plan::exec::attempt::{Order, Orders, orders};
use plan::exec::ports::{
    AttemptPaths, Boxed, Call, Command, Files, Fingerprints, Outcome, Staged, Staging, Start, Unopened,
    Verifier, Verifiers, Work,
};
use plan::ir::{Check, Millis, Shell, Verify, kind};
use plan::runner::Local;
use plan::source::{Span, Spanned, Text};
use plan::store::capture::Store;
use plan::store::confine::{Refused, Root};
use plan::store::{RunDir, StateDir, about};
use plan::verifiers::BuiltIn;
use serde_json::value::RawValue;

/// A run directory and a workspace.
struct World {
    _directory: tempfile::TempDir,
    root: Utf8PathBuf,
    files: Arc<Kept>,
    runner: Arc<Local>,
}

/// What a run keeps on disk, as the program wires it.
struct Kept {
    run: RunDir,
    store: Store,
}

impl Files for Kept {
    fn attempt(&self, attempt: u32) -> AttemptPaths {
        let run = &self.run;
        AttemptPaths { stdout: run.stdout(attempt), stderr: run.stderr(attempt), result: run.result(attempt) }
    }

    fn inputs(&self, _json: &str) -> std::io::Result<Utf8PathBuf> {
        Err(std::io::Error::other("no inputs here"))
    }

    fn stage(&self, _sets: &[Staged]) -> Result<Staging, String> {
        Err("no staging here".to_owned())
    }

    fn fingerprint(&self, root: &Utf8Path, paths: &[Text]) -> Fingerprints {
        Fingerprints(self.store.fingerprint(root, paths))
    }

    fn capture_pass(&self, root: &Utf8Path, paths: &[Text]) -> Result<FileSet, String> {
        self.store.capture_all(root, paths)
    }

    fn capture_fail(
        &self,
        root: &Utf8Path,
        paths: &[Text],
        before: &Fingerprints,
    ) -> Result<Option<FileSet>, String> {
        self.store.capture_changed(root, paths, &before.0)
    }

    fn read(&self, set: &FileSet, path: &str) -> Result<Vec<u8>, String> {
        self.store.read(set, path)
    }

    fn captured(&self, set: &FileSet, path: &str) -> Result<File, String> {
        self.store.captured(set, path)
    }

    fn open(&self, root: &Utf8Path, path: &str) -> Result<File, Unopened> {
        let root = Root::open(root).map_err(|error| Unopened::Failed(error.to_string()))?;
        root.file(path).map_err(|refused| match refused {
            Refused::Missing => Unopened::Missing,
            Refused::Io(_) => Unopened::Failed(refused.to_string()),
            Refused::Link | Refused::Leaves | Refused::NotAFile => Unopened::Refused(refused.to_string()),
        })
    }

    fn masked(&self, json: &str) -> Raw {
        RawValue::from_string(json.to_owned()).unwrap().into()
    }

    fn report(&self, _attempt: u32, _to: &str, _text: &str) -> Result<(), String> {
        Err("no reports here".to_owned())
    }

    fn verification(&self, name: &str) -> AttemptPaths {
        let [stdout, stderr, result] = self.run.verification(name);
        AttemptPaths { stdout, stderr, result }
    }
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(directory.path()).unwrap().join("work");
        std::fs::create_dir(&root).unwrap();
        let state = StateDir::new(root.with_file_name("state"));
        let (run, _, _lock) = state.create(0, about::About::default(), b"{}").unwrap();
        std::fs::create_dir(run.logs()).unwrap();
        let store = Store::new(run.clone(), 1 << 30, []);
        let runner = Arc::new(Local::new(std::env::vars_os()));
        Self { _directory: directory, root, files: Arc::new(Kept { run, store }), runner }
    }

    fn scene(&self) -> Scene {
        let token = format!("token{}", unique());
        Scene {
            runner: self.runner.clone(),
            files: self.files.clone(),
            clock: Arc::new(Real::new()),
            start: Start { cwd: self.root.clone(), token: token.into(), ..Start::default() },
            of: (Some(unique()), 1),
            log_limit: 1 << 30,
        }
    }

    fn work(&self) -> Work {
        Work { root: self.root.clone(), ..Work::default() }
    }

    fn judge(&self, verifiers: impl Verifiers + 'static, check: Verify) -> Verdict {
        block_on(async { self.judge_async(verifiers, check).await.unwrap() })
    }

    async fn judge_async(
        &self,
        verifiers: impl Verifiers + 'static,
        check: Verify,
    ) -> Result<Verdict, Interrupted> {
        let verifiers: Arc<dyn Verifiers> = Arc::new(verifiers);
        judge(&self.scene(), &verifiers, &Arc::new(check), self.work(), &mut never()).await
    }

    fn run(&self, script: &str) -> Verdict {
        self.judge(BuiltIn::default(), shell(script, 20_000))
    }
}

fn unique() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Orders that never come.
fn never() -> Orders {
    orders().1
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn check(check: Check, timeout: u64) -> Verify {
    Verify {
        name: Spanned { value: "v".into(), ..Spanned::default() },
        doc: None,
        check,
        timeout: Millis(timeout),
        timeout_at: None,
        required: true,
        repair_from: None,
        shell: Shell::Bash,
    }
}

fn shell(script: &str, timeout: u64) -> Verify {
    let run = kind::Run::Shell(script.into());
    check(Check::Run(Spanned::new(run, Span::default())), timeout)
}

fn list(argv: &[&str]) -> Verify {
    let run = kind::Run::List(argv.iter().map(|&arg| kind::Arg::Text(arg.into())).collect());
    check(Check::Run(Spanned::new(run, Span::default())), 20_000)
}

fn said(verdict: &Verdict) -> (Option<VerifierMode>, &str) {
    assert_eq!(verdict.passed(), verdict.mode().is_none());
    (verdict.mode(), verdict.detail())
}

/// A verifier made of a function.
struct Doing<F>(F);

impl<F> Verifiers for Doing<F>
where
    F: Fn(&Call) -> Outcome + Clone + Send + Sync + 'static,
{
    fn find(&self, _check: &Verify) -> Option<Arc<dyn Verifier>> {
        Some(Arc::new(Doing(self.0.clone())))
    }
}

impl<F> Verifier for Doing<F>
where
    F: Fn(&Call) -> Outcome + Send + Sync,
{
    fn identity(&self) -> Text {
        "doing".into()
    }

    fn verify<'a>(&'a self, call: &'a Call) -> Boxed<'a, Outcome> {
        Box::pin(async move { (self.0)(call) })
    }
}

/// Any check: what looks at it is somebody else's.
fn any(timeout: u64) -> Verify {
    shell("true", timeout)
}

/// How many processes have `mark` in their command line.
fn running(mark: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(mark)).count()
}

#[test]
fn a_command_passes_only_by_a_clear_yes() {
    use VerifierMode::{Crashed, Error, Missing, Rejected};
    let world = World::new();
    for (script, expected) in [
        ("true", (None, "")),
        ("echo all is well", (None, "")),
        ("echo '[1]'", (None, "")),
        (r#"echo '{"pass": true, "note": "12 tests"}'"#, (None, "12 tests")),
        (r#"echo '{"pass": true}' > "$PLAN_RESULT_FILE"; echo done"#, (None, "")),
        ("exit 1", (Some(Rejected), "exit 1")),
        ("echo '3 != 4'; exit 3", (Some(Rejected), "exit 3: 3 != 4")),
        ("echo out; echo why >&2; exit 3", (Some(Rejected), "exit 3: why")),
        (r#"echo '{"pass": true}'; exit 1"#, (Some(Rejected), "exit 1: {\"pass\": true}")),
        (r#"echo '{"pass": false}'"#, (Some(Rejected), "`pass` is false")),
        (r#"echo '{"pass": false, "note": "2 of 3"}'"#, (Some(Rejected), "2 of 3")),
        (r#"echo '{"pass": false}'; echo goodbye"#, (Some(Rejected), "`pass` is false")),
        (
            r#"echo '{"pass": false}' > "$PLAN_RESULT_FILE"; echo '{"pass": true}'"#,
            (Some(Rejected), "`pass` is false"),
        ),
        (r#"echo '{"pass": false}' | tr ' ' '\n'"#, (Some(Rejected), "`pass` is false")),
        (r#"printf 'so:\n{\n  "pass": false,\n  "note": "no"\n}\n'"#, (Some(Rejected), "no")),
        (r#"printf '{\n  "pass": false\n}\nbye\n'"#, (Some(Rejected), "`pass` is false")),
        (r#"printf '{\n  "pass": true\n}\n'"#, (None, "")),
        (r#"printf '{\n  "n": 3\n}\n'"#, (Some(Error), "its result says nothing about `pass`")),
        (
            r#"printf '{\n  "pass": true,\n}\n'"#,
            (
                Some(Error),
                "what it printed is no JSON object (it breaks off or is no JSON): `{ \"pass\": true, }`",
            ),
        ),
        (
            r#"echo '{"pass": false}'; rm "$(readlink /proc/$$/fd/1)""#,
            (Some(Error), "its standard output was removed while it ran"),
        ),
        (
            r#"echo '{"pass": false}'; f=$(readlink /proc/$$/fd/1); rm "$f"; echo '{"pass": true}' > "$f""#,
            (Some(Error), "its standard output was replaced while it ran"),
        ),
        (
            r#"echo '{"pass": false}'; sleep 0.5; : > "$(readlink /proc/$$/fd/1)""#,
            (Some(Error), "its standard output has shrunk while it ran: what it said cannot be read"),
        ),
        ("echo '{}'", (Some(Error), "its result says nothing about `pass`")),
        (r#"echo '{"pass": "true"}'"#, (Some(Error), "`pass` is no boolean but \"true\"")),
        (r#"echo '{"pass": 1}'"#, (Some(Error), "`pass` is no boolean but 1")),
        (r#"echo '{"pass": null}'"#, (Some(Error), "`pass` is no boolean but null")),
        ("kill -KILL $$", (Some(Crashed), "ended by SIGKILL")),
        ("kill -SEGV $$", (Some(Crashed), "ended by SIGSEGV")),
        (
            "no-such-program-here --flag",
            (Some(Missing), "exit 127: bash: line 1: no-such-program-here: command not found"),
        ),
        ("false | true", (Some(Rejected), "exit 1")),
    ] {
        let verdict = world.run(script);
        assert_eq!(said(&verdict), expected, "{script}");
    }
    let unreadable = world.run(r#"echo '{"pass": true'"#);
    assert_eq!(unreadable.mode(), Some(Error));
    assert!(unreadable.detail().starts_with("the last line is no JSON object"), "{}", unreadable.detail());
    let gone = world.judge(BuiltIn::default(), list(&["./gone.sh"]));
    assert_eq!(gone.mode(), Some(Missing), "{}", gone.detail());
    let gone = world.judge(BuiltIn::default(), list(&["no-such-program-here"]));
    assert_eq!(said(&gone), (Some(Missing), "no program `no-such-program-here` on the `PATH`"));
    std::fs::write(world.root.join("plain.sh"), "exit 0").unwrap();
    let plain = world.judge(BuiltIn::default(), list(&["./plain.sh"]));
    assert_eq!(plain.mode(), Some(Error), "it is there and cannot be run: {}", plain.detail());
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_that_it_started() {
    let world = World::new();
    let mark = format!("7{:05}.{}", std::process::id(), unique());
    let script = format!("setsid sleep {mark} & trap '' TERM; (trap '' TERM; sleep {mark}); sleep {mark}");
    let begun = Instant::now();
    let verdict = world.judge(BuiltIn::default(), shell(&script, 500));
    assert_eq!(said(&verdict), (Some(VerifierMode::Timeout), "no answer within 500ms"));
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
    assert_eq!(running(&mark), 0);
}

#[test]
fn what_a_command_leaves_running_is_ended_with_it() {
    let world = World::new();
    let mark = format!("8{:05}.{}", std::process::id(), unique());
    let verdict = world.run(&format!("setsid sleep {mark} > /dev/null & sleep {mark} & exit 0"));
    assert!(verdict.passed());
    assert_eq!(running(&mark), 0);
}

#[test]
fn a_stream_that_outgrows_its_limit_is_an_error() {
    let world = World::new();
    let scene = Scene { log_limit: 10_000, ..world.scene() };
    let builtin: Arc<dyn Verifiers> = Arc::new(BuiltIn::default());
    let verdict =
        block_on(judge(&scene, &builtin, &Arc::new(shell("yes", 20_000)), world.work(), &mut never()));
    let verdict = verdict.unwrap();
    assert_eq!(verdict.mode(), Some(VerifierMode::Error));
    assert!(verdict.detail().contains("outgrew the limit of 10000B"), "{}", verdict.detail());
}

#[test]
fn an_author_cannot_fail_in_a_way_that_passes() {
    use VerifierMode::{Error, Missing};
    /// A payload that is as awkward as a payload can be.
    struct Awkward;
    impl Drop for Awkward {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    struct Nobody;
    impl Verifiers for Nobody {
        fn find(&self, _check: &Verify) -> Option<Arc<dyn Verifier>> {
            None
        }
    }
    struct Lost;
    impl Verifiers for Lost {
        fn find(&self, check: &Verify) -> Option<Arc<dyn Verifier>> {
            panic!("lost `{}`", check.name.value)
        }
    }
    struct Nameless;
    impl Verifiers for Nameless {
        fn find(&self, _check: &Verify) -> Option<Arc<dyn Verifier>> {
            Some(Arc::new(Self))
        }
    }
    impl Verifier for Nameless {
        fn identity(&self) -> Text {
            panic!("who knows")
        }
        fn verify<'a>(&'a self, _call: &'a Call) -> Boxed<'a, Outcome> {
            Box::pin(std::future::ready(Outcome::pass("")))
        }
    }
    let world = World::new();
    let index = |at: usize| [0][at];
    let mut verdicts = Vec::new();
    verdicts.push((
        world.judge(Doing(|_: &Call| panic!("no good")), any(9_000)),
        Error,
        "it panicked: no good",
    ));
    let awkward = Doing(|_: &Call| std::panic::panic_any(Awkward));
    verdicts.push((world.judge(awkward, any(9_000)), Error, "it panicked"));
    let bounds = Doing(move |_: &Call| Outcome::pass(index(7).to_string()));
    let expected = "it panicked: index out of bounds: the len is 1 but the index is 7";
    verdicts.push((world.judge(bounds, any(9_000)), Error, expected));
    verdicts.push((world.judge(Nobody, any(9_000)), Missing, "there is no such verifier"));
    verdicts.push((world.judge(Lost, any(9_000)), Error, "it panicked: lost `v`"));
    verdicts.push((world.judge(Nameless, any(9_000)), Error, "it panicked: who knows"));
    for (verdict, mode, detail) in &verdicts {
        assert_eq!(said(verdict), (Some(*mode), *detail));
    }
    let long = world.judge(Doing(|_: &Call| Outcome::rejected("é\n".repeat(3_000))), any(9_000));
    assert!(long.detail().ends_with("… (5999 characters)"), "{}", long.detail());
    assert!(!long.detail().contains('\n'));
}

#[test]
fn one_that_hangs_or_blocks_or_spins_is_left_behind() {
    let world = World::new();
    let stop = Arc::new(AtomicBool::new(false));
    let spinning = Arc::clone(&stop);
    let spins = move |_: &Call| {
        while !spinning.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        Outcome::pass("")
    };
    let parked = Arc::clone(&stop);
    let blocks = move |_: &Call| {
        while !parked.load(Ordering::Relaxed) {
            std::thread::park_timeout(Duration::from_millis(20));
        }
        Outcome::pass("")
    };
    let ticks = Arc::new(AtomicU32::new(0));
    let begun = Instant::now();
    block_on(async {
        let counted = Arc::clone(&ticks);
        let ticking = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(10)).await;
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        let late = (Some(VerifierMode::Timeout), "no answer within 500ms");
        let (spun, blocked, next) = tokio::join!(
            world.judge_async(Doing(spins), any(500)),
            world.judge_async(Doing(blocks), any(500)),
            world.judge_async(BuiltIn::default(), shell("exit 0", 9_000)),
        );
        assert_eq!(said(&spun.unwrap()), late);
        assert_eq!(said(&blocked.unwrap()), late);
        assert!(next.unwrap().passed(), "the one beside them");
        assert!(
            world.judge_async(BuiltIn::default(), shell("exit 0", 9_000)).await.unwrap().passed(),
            "the next one"
        );
        ticking.abort();
    });
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert!(ticks.load(Ordering::Relaxed) >= 20, "the run went on meanwhile");
    stop.store(true, Ordering::Relaxed);
}

#[test]
fn a_late_answer_is_dropped() {
    let world = World::new();
    let answered = Arc::new(AtomicBool::new(false));
    let answers = Arc::clone(&answered);
    let verdict = world.judge(
        Doing(move |_: &Call| {
            std::thread::sleep(Duration::from_millis(600));
            answers.store(true, Ordering::SeqCst);
            Outcome::pass("at last")
        }),
        any(200),
    );
    assert_eq!(said(&verdict), (Some(VerifierMode::Timeout), "no answer within 200ms"));
    assert!(!answered.load(Ordering::SeqCst), "nobody waited for it");
    std::thread::sleep(Duration::from_millis(700));
    assert!(answered.load(Ordering::SeqCst), "and it did answer");
    assert_eq!(verdict.mode(), Some(VerifierMode::Timeout));
}

#[test]
fn a_panic_under_a_shared_lock_harms_nobody_else() {
    let world = World::new();
    let shared = Arc::new(Mutex::new(0));
    let held = Arc::clone(&shared);
    let breaks = Doing(move |_: &Call| {
        let mut count = held.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        panic!("with the lock in its hands")
    });
    let verdict = world.judge(breaks, any(9_000));
    assert_eq!(said(&verdict), (Some(VerifierMode::Error), "it panicked: with the lock in its hands"));
    // Its lock is free again, and those of the runner and the store were never within its reach.
    let held = Arc::clone(&shared);
    let next = Doing(move |call: &Call| {
        let count = *held.lock().unwrap_or_else(PoisonError::into_inner);
        std::fs::write(call.work().root.join("seen"), "x").unwrap();
        match call.open("seen") {
            Ok(_) => Outcome::pass(count.to_string()),
            Err(error) => Outcome::error(format!("{error:?}")),
        }
    });
    assert_eq!(said(&world.judge(next, any(9_000))), (None, "1"));
    // One that relies on the lock not to be poisoned fails closed.
    let relies = Doing(move |_: &Call| Outcome::pass(shared.lock().unwrap().to_string()));
    assert_eq!(world.judge(relies, any(9_000)).mode(), Some(VerifierMode::Error));
    assert!(world.run("true").passed());
}

/// Starts a process through its call, and then does something else with its life.
struct Starts {
    mark: String,
    then: fn(),
}

impl Verifiers for Starts {
    fn find(&self, _check: &Verify) -> Option<Arc<dyn Verifier>> {
        Some(Arc::new(Self { mark: self.mark.clone(), then: self.then }))
    }
}

impl Verifier for Starts {
    fn identity(&self) -> Text {
        "starts 1.0".into()
    }

    fn verify<'a>(&'a self, call: &'a Call) -> Boxed<'a, Outcome> {
        Box::pin(async move {
            let argv = ["sleep", &self.mark].map(str::to_owned).to_vec();
            let mut sleeping = pin!(call.run(Command { argv, env: Vec::new() }));
            let soon = tokio::time::sleep(Duration::from_millis(300));
            tokio::select! {
                ran = &mut sleeping => return Outcome::error(format!("{ran:?}")),
                () = soon => {}
            }
            if running(&self.mark) != 1 {
                return Outcome::error("it is not running");
            }
            (self.then)();
            Outcome::pass("")
        })
    }
}

#[test]
fn a_process_ends_with_the_call_that_it_was_started_by() {
    let world = World::new();
    let mark = || format!("9{:05}.{}", std::process::id(), unique());
    let starts = |then| Starts { mark: mark(), then };

    let leaves = starts(|| {});
    let left = leaves.mark.clone();
    assert_eq!(said(&world.judge(leaves, any(9_000))), (None, ""));
    assert_eq!(running(&left), 0);

    let hangs = starts(|| std::thread::sleep(Duration::from_secs(30)));
    let left = hangs.mark.clone();
    assert_eq!(world.judge(hangs, any(1_000)).mode(), Some(VerifierMode::Timeout));
    assert_eq!(running(&left), 0);

    let panics = starts(|| panic!("enough"));
    let left = panics.mark.clone();
    assert_eq!(said(&world.judge(panics, any(9_000))), (Some(VerifierMode::Error), "it panicked: enough"));
    assert_eq!(running(&left), 0);
}

#[test]
fn when_the_run_ends_there_is_no_verdict_and_no_process() {
    let world = World::new();
    let mark = format!("6{:05}.{}", std::process::id(), unique());
    let check = Arc::new(shell(&format!("sleep {mark}"), 30_000));
    let builtin: Arc<dyn Verifiers> = Arc::new(BuiltIn::default());
    let (command, mut ends) = orders();
    let verdict = block_on(async {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(400)).await;
            let note = "ended by a signal to the run".into();
            command.send(Some(Order::End { by: EndedBy::Interruption, note })).unwrap();
        });
        judge(&world.scene(), &builtin, &check, world.work(), &mut ends).await
    });
    assert_eq!(verdict, Err(Interrupted));
    assert_eq!(running(&mark), 0);
}

#[test]
fn verifiers_run_side_by_side() {
    let world = World::new();
    let begun = Instant::now();
    block_on(async {
        let (a, b, c) = tokio::join!(
            world.judge_async(BuiltIn::default(), shell("sleep 1", 9_000)),
            world.judge_async(BuiltIn::default(), shell("sleep 1", 9_000)),
            world.judge_async(
                Doing(|_: &Call| {
                    std::thread::sleep(Duration::from_secs(1));
                    Outcome::pass("")
                }),
                any(9_000)
            ),
        );
        assert!([a, b, c].into_iter().all(|verdict| verdict.unwrap().passed()));
    });
    assert!(begun.elapsed() < Duration::from_millis(1_900), "{:?}", begun.elapsed());
}

fn file(path: &str) -> Verify {
    let path = Spanned { value: path.into(), ..Spanned::default() };
    let none = Check::File { path, exists: None, contains: None, matches: None, schema: None, sha256: None };
    check(none, 9_000)
}

#[test]
fn a_file_is_judged_as_it_was_captured() {
    let world = World::new();
    std::fs::write(world.root.join("made.txt"), "captured").unwrap();
    std::fs::write(world.root.join("other.txt"), "first").unwrap();
    let set = world.files.capture_pass(&world.root, &["made.txt".into()]).unwrap();
    std::fs::write(world.root.join("made.txt"), "changed").unwrap();
    std::fs::write(world.root.join("other.txt"), "second").unwrap();
    let contains = |path: &str, text: &str| {
        let Check::File { path, .. } = file(path).check else { unreachable!() };
        let text = Some(text.into());
        let check_ =
            Check::File { path, exists: None, contains: text, matches: None, schema: None, sha256: None };
        let work = Work { files: Some(set.clone()), ..world.work() };
        let builtin: Arc<dyn Verifiers> = Arc::new(BuiltIn::default());
        block_on(judge(&world.scene(), &builtin, &Arc::new(check(check_, 9_000)), work, &mut never()))
            .unwrap()
    };
    assert!(contains("made.txt", "captured").passed());
    assert_eq!(
        said(&contains("made.txt", "changed")),
        (Some(VerifierMode::Rejected), "`made.txt` does not contain `changed`")
    );
    assert!(contains("other.txt", "second").passed());
}

#[test]
fn only_a_regular_file_of_the_workspace_is_there() {
    use VerifierMode::{Missing, Rejected};
    let world = World::new();
    std::fs::write(world.root.join("plain"), "x").unwrap();
    std::os::unix::fs::symlink("plain", world.root.join("link")).unwrap();
    std::os::unix::fs::symlink("/etc", world.root.join("away")).unwrap();
    std::fs::create_dir(world.root.join("directory")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(world.root.join("pipe")).status().unwrap().success());
    for (path, expected) in [
        ("plain", (None, "")),
        ("none", (Some(Missing), "`none` is missing")),
        ("link", (Some(Rejected), "`link` is a symbolic link, or is behind one")),
        ("away/passwd", (Some(Rejected), "`away/passwd` is a symbolic link, or is behind one")),
        ("directory", (Some(Rejected), "`directory` is no regular file")),
        ("pipe", (Some(Rejected), "`pipe` is no regular file")),
        ("../state", (Some(Rejected), "`../state` leaves the workspace")),
    ] {
        assert_eq!(said(&world.judge(BuiltIn::default(), file(path))), expected, "{path}");
    }
    let absent = |path: &str| {
        let mut check = file(path);
        if let Check::File { exists, .. } = &mut check.check {
            *exists = Some(false);
        }
        world.judge(BuiltIn::default(), check)
    };
    assert!(absent("none").passed());
    assert_eq!(said(&absent("plain")), (Some(Rejected), "`plain` is there"));
    assert_eq!(said(&absent("link")), (Some(Rejected), "`link` is there"));
}
