//! The local runner against real processes: what an attempt starts ends with it, and nothing else does.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use plan::exec::ports::{AttemptPaths, Ended, How, NotStarted, Process, Runner, Start};
use plan::runner::Local;
use plan::source::Text;

struct Bench {
    _directory: tempfile::TempDir,
    root: Utf8PathBuf,
    local: Local,
}

impl Bench {
    fn new() -> Self {
        Self::with(std::env::vars_os())
    }

    fn with(environment: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(directory.path().to_owned()).unwrap();
        Self { _directory: directory, root, local: Local::new(environment) }
    }

    fn what(&self, name: &str, argv: &[&str]) -> Start {
        Start {
            task: name.into(),
            attempt: 1,
            nth: 1,
            round: 1,
            argv: argv.iter().map(|&argument| argument.to_owned()).collect(),
            env: vec![("OWN".into(), "own".to_owned())],
            withheld: vec!["SECRET".into()],
            cwd: self.root.clone(),
            paths: AttemptPaths {
                stdout: self.root.join(format!("{name}.out")),
                stderr: self.root.join(format!("{name}.err")),
                result: self.root.join("result"),
            },
            token: format!("token-{name}-{}", std::process::id()).into(),
            within: Some("run-token".into()),
        }
    }

    fn start(&self, name: &str, script: &str) -> Box<dyn Process> {
        self.local.start(&self.what(name, &["bash", "-c", script])).unwrap()
    }

    fn out(&self, name: &str) -> String {
        std::fs::read_to_string(self.root.join(format!("{name}.out"))).unwrap()
    }

    async fn exists(&self, file: &str) {
        until(|| self.root.join(file).exists()).await;
    }
}

async fn until(holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it never came");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn finish(mut process: Box<dyn Process>) -> Ended {
    process.ended().await;
    process.finish().await
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

/// A duration for `sleep` that no other process uses.
fn unique() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("300.{:06}{:03}", std::process::id() % 1_000_000, NEXT.fetch_add(1, Ordering::Relaxed))
}

fn sleepers(seconds: &str) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line == format!("sleep\0{seconds}\0").as_bytes()
    })
    .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
    .collect()
}

fn sleeping(seconds: &str) -> usize {
    sleepers(seconds).len()
}

#[test]
fn exits_streams_and_input() {
    run(async {
        let bench = Bench::new();
        let ended = finish(bench.start("a", "cat; echo out; echo err >&2; pwd; exit 3")).await;
        assert_eq!(ended.how, How::Code(3));
        assert_eq!(bench.out("a"), format!("out\n{}\n", bench.root));
        assert_eq!(std::fs::read_to_string(bench.root.join("a.err")).unwrap(), "err\n");
        let ended = finish(bench.start("b", "sleep 0.05; kill -SEGV $$")).await;
        assert_eq!(ended.how, How::Signal(11));
        assert!(ended.duration.0 >= 50, "{ended:?}");
    });
}

#[test]
fn streams_are_appended_to() {
    run(async {
        let bench = Bench::new();
        let script = "echo one; (echo two > /dev/null); echo three";
        finish(bench.start("a", script)).await;
        finish(bench.start("a", script)).await;
        assert_eq!(bench.out("a"), "one\nthree\none\nthree\n");
        use std::os::unix::fs::PermissionsExt as _;
        let mode = bench.root.join("a.out").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    });
}

#[test]
fn the_environment_is_the_operators_but_for_ours() {
    run(async {
        let path = std::env::var_os("PATH").unwrap();
        let bench = Bench::with([
            ("PATH".into(), path),
            ("PLAN_TASK".into(), "outer".into()),
            ("PLAN_TOKEN".into(), "outer".into()),
            ("SECRET".into(), "x".into()),
            ("KEPT".into(), "kept".into()),
        ]);
        finish(bench.start("a", "echo \"$OWN $KEPT ${SECRET-none} ${PLAN_TASK-none} $PLAN_TOKEN\"")).await;
        assert_eq!(
            bench.out("a"),
            format!("own kept none none outer:run-token:token-a-{}\n", std::process::id())
        );
    });
}

#[test]
fn what_cannot_start_says_why() {
    let bench = Bench::new();
    std::fs::write(bench.root.join("data"), "no program").unwrap();
    let problem = |argv: &[&str]| run(async { bench.local.start(&bench.what("a", argv)).err().unwrap() });
    let missing = |argv: &[&str]| problem(argv).missing;
    let problem = |argv: &[&str]| problem(argv).why;
    assert!(missing(&["no-such-program-here"]) && missing(&["./none"]) && !missing(&["./data"]));
    assert_eq!(problem(&["no-such-program-here"]), "no program `no-such-program-here` on the `PATH`");
    assert!(problem(&["./data"]).starts_with("cannot start `./data`: Permission denied"));
    assert!(problem(&["./none"]).starts_with("cannot start `./none`: No such file"));
    assert!(problem(&[]).contains("no program"));
    let mut elsewhere = bench.what("a", &["sh", "-c", ":"]);
    elsewhere.cwd = bench.root.join("missing");
    let NotStarted { missing, why: problem } = run(async { bench.local.start(&elsewhere).err().unwrap() });
    assert!(!missing, "the program is there");
    assert!(problem.starts_with("cannot start `sh`: no directory"), "{problem}");
}

#[test]
fn what_an_attempt_leaves_running_ends_with_it() {
    run(async {
        let bench = Bench::new();
        let sleep = unique();
        for (name, script) in [
            ("group", "sleep S & sleep S & true"),
            ("session", "setsid sleep S & sleep 0.05"),
            ("forked", "(setsid sh -c '(sleep S & sleep S) & sleep S' &) ; sleep 0.05"),
            (
                "daemon",
                "setsid sh -c 'setsid sleep S & setsid sleep S & wait' > /dev/null 2>&1 < /dev/null & disown; sleep 0.05",
            ),
            ("deaf", "setsid sh -c 'trap \"\" TERM HUP INT; sleep S; sleep S' & sleep 0.05"),
        ] {
            let ended = finish(bench.start(name, &script.replace('S', &sleep))).await;
            assert_eq!(ended.how, How::Code(0), "{name}");
            assert_eq!(sleeping(&sleep), 0, "{name}");
        }
    });
}

#[test]
fn ancestry_is_remembered_where_the_token_was_dropped() {
    run(async {
        let bench = Bench::new();
        let sleep = unique();
        let script = format!("env -i setsid sleep {sleep} & while [ ! -e seen ]; do sleep 0.01; done");
        let mut process = bench.start("a", &script);
        until(|| sleeping(&sleep) == 1).await;
        process.observe();
        std::fs::write(bench.root.join("seen"), "").unwrap();
        finish(process).await;
        assert_eq!(sleeping(&sleep), 0);
    });
}

#[test]
fn terminating_and_killing_reach_the_whole_tree() {
    run(async {
        let bench = Bench::new();
        let sleep = unique();
        let script = format!(
            "trap 'echo cleaned; exit 9' TERM; sleep {sleep} & setsid sleep {sleep} & \
             env -i setsid sleep {sleep} & touch ready; while :; do sleep 0.02; done"
        );
        let mut process = bench.start("a", &script);
        bench.exists("ready").await;
        until(|| sleeping(&sleep) == 3).await;
        process.observe();
        assert!(!process.alone());
        assert!(process.terminate());
        process.ended().await;
        until(|| sleeping(&sleep) == 0).await;
        assert!(!process.terminate(), "it has ended already");
        assert_eq!(process.finish().await.how, How::Code(9));
        assert_eq!(bench.out("a"), "cleaned\n");

        let sleep = unique();
        let script =
            format!("trap '' TERM; setsid sleep {sleep} & sleep {sleep}; sleep {sleep}; sleep {sleep}");
        let mut process = bench.start("b", &script);
        until(|| sleeping(&sleep) == 2).await;
        assert!(process.terminate());
        process.kill();
        assert_eq!(finish(process).await.how, How::Signal(9));
        assert_eq!(sleeping(&sleep), 0);
    });
}

#[test]
fn a_stopped_process_can_be_terminated() {
    run(async {
        let bench = Bench::new();
        let mut process = bench.start("a", "trap 'exit 4' TERM; touch ready; kill -STOP $$; sleep 1");
        bench.exists("ready").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        process.terminate();
        assert_eq!(finish(process).await.how, How::Code(4));
    });
}

#[test]
fn neighbours_and_children_from_before_are_left_alone() {
    run(async {
        let (early, late, other) = (unique(), unique(), unique());
        let mut before = Command::new("sleep").arg(&early).spawn().unwrap();
        let mut orphans = Command::new("sh").args(["-c", &format!("sleep {early} &")]).spawn().unwrap();
        orphans.wait().unwrap();
        let bench = Bench::new();
        let mut after = Command::new("sleep").arg(&late).spawn().unwrap();
        let neighbour = bench.start("other", &format!("setsid sleep {other} & sleep {other}"));
        until(|| sleeping(&other) == 2).await;
        for _ in 0..5 {
            let mut process = bench.start("a", "setsid sleep 300 & sleep 300");
            process.kill();
            finish(process).await;
            finish(bench.start("b", "true")).await;
        }
        assert_eq!((sleeping(&early), sleeping(&late), sleeping(&other)), (2, 1, 2));
        assert!(before.try_wait().unwrap().is_none() && after.try_wait().unwrap().is_none());
        let mut neighbour = neighbour;
        neighbour.kill();
        finish(neighbour).await;
        assert_eq!(sleeping(&other), 0);
        for child in [&mut before, &mut after] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        for pid in sleepers(&early) {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
    });
}

#[test]
fn a_child_that_ended_is_not_reaped_for_somebody_else() {
    run(async {
        let bench = Bench::new();
        let mut child = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        for _ in 0..10 {
            finish(bench.start("a", "sleep 300 & true")).await;
        }
        assert_eq!(child.wait().unwrap().code(), Some(7));
    });
}

#[test]
fn a_crashed_runs_processes_are_swept_by_token() {
    run(async {
        let bench = Bench::new();
        let sleep = unique();
        let tokens: Vec<Text> = vec![format!("crashed-{sleep}").into(), format!("gone-{sleep}").into()];
        let mut spare = Command::new("sleep").arg(&sleep).spawn().unwrap();
        for (token, script) in [
            (&tokens[0], format!("setsid sh -c 'sleep {sleep} & sleep {sleep}' &")),
            (&tokens[1], format!("(setsid sleep {sleep} &)")),
        ] {
            let chain = format!("outermost:{token}");
            let status = Command::new("bash").args(["-c", &script]).env("PLAN_TOKEN", chain).status();
            assert!(status.unwrap().success());
        }
        until(|| sleeping(&sleep) == 4).await;
        let begun = Instant::now();
        bench.local.sweep(tokens).await;
        assert_eq!(sleeping(&sleep), 1);
        assert!(begun.elapsed() < Duration::from_secs(4), "they ended when they were asked to");
        spare.kill().unwrap();
        spare.wait().unwrap();
    });
}

#[test]
fn many_at_once() {
    run(async {
        let bench = Bench::new();
        let sleep = unique();
        let begun = Instant::now();
        let mut all = Vec::new();
        for index in 0..40 {
            all.push(
                bench
                    .start(&format!("t{index}"), &format!("setsid sleep {sleep} & sleep 0.02; exit {index}")),
            );
        }
        for (index, process) in all.into_iter().enumerate() {
            assert_eq!(finish(process).await.how, How::Code(i32::try_from(index).unwrap()));
        }
        assert_eq!(sleeping(&sleep), 0);
        assert!(begun.elapsed() < Duration::from_secs(20));
    });
}

#[test]
fn the_streams_directory_may_be_missing() {
    let bench = Bench::new();
    let mut start = bench.what("a", &["sh", "-c", ":"]);
    start.paths.stdout = Utf8Path::new("/nonexistent/a.out").to_owned();
    let problem = run(async { bench.local.start(&start).err().unwrap().why });
    assert!(problem.starts_with("cannot open `/nonexistent/a.out`"), "{problem}");
}
