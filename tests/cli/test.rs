//! `plan test`: what authors of packs see of cases that hold, that do not, and that cannot be run.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::pack::{Came, Pack};

const PLAN: &str = r#"
param city: string = "Ulm"

command build { run = "touch built && echo '{\"items\": [\"a\", \"b\"]}'", emits = { items: [string] } }
command check {
    depends_on  = [build]
    over        = build.items
    timeout     = 1h
    run         = "echo $PLAN_ITEM > out-$PLAN_ITEM.txt"
}
command deploy { depends_on = [check], join = "settled", env = { CITY = city }, run = "echo to $CITY", verify ok { run = "test -f built" } }
command aside  { required = false, run = "true" }
verify whole { run = "true" }
report page { stage = "epilogue", template = "page.md", to = "stdout" }
"#;

fn pack() -> Pack {
    let pack = Pack::in_memory(PLAN);
    pack.write("page.md", "# {{ outcome.verdict }}\n");
    fs::create_dir(pack.file("tests")).unwrap();
    pack
}

/// Runs one case with this text.
fn case(pack: &Pack, text: &str) -> Came {
    pack.write("tests/one.toml", text);
    pack.plan(&["test", "."])
}

#[test]
fn real_tasks_run_in_a_copy_that_is_gone_afterwards() {
    let pack = pack();
    pack.write(".gitignore", "built\n");
    pack.write("built", "of an earlier run");
    let temporary = tempfile::tempdir().unwrap();
    pack.write(
        "tests/one.toml",
        r#"
        [files]
        "extra/file.txt" = "x"

        [expect]
        exit = "completed"
        verdict = "valid"
        accepted = true
        spent_usd = 0
        steps = 6
        order = ["build", "check[a]", "deploy"]
        verify = { whole = "pass" }

        [expect.tasks]
        build = { status = "pass", output = { items = ["a", "b"] }, attempts = 1 }
        check = { status = "pass", attempts = 2, files = [] }
        "check[a]" = { status = "pass", inputs = { build = { items = ["a", "b"] } } }
        deploy = { status = "pass", verifiers = { ok = "pass" }, inputs = { params = { city = "Ulm" } } }
        page = { status = "pass", contains = { stdout = "valid" } }
        "#,
    );
    let mut command = pack.command(&["test", "."]);
    let came = super::pack::came(command.env("TMPDIR", temporary.path()).output().unwrap());
    assert_eq!(came.code, 0, "{came:#?}");
    assert_eq!(pack.read("built"), "of an earlier run");
    assert!(!pack.file("out-a.txt").exists() && !pack.file(".plan").exists() && !pack.file("extra").exists());
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
    assert!(came.out.contains("ok      .  one\n1 case: 1 passed, 0 failed"), "{}", came.out);
}

#[test]
fn what_differs_is_shown_with_its_line_and_word() {
    let pack = pack();
    let came = case(
        &pack,
        r#"about = "it goes wrong"
[stub]
build = { output = { items = ["a"] } }
"check[a]" = { exit = 3, stderr = "no room at b\n" }
[expect]
exit = "completed"
did_not_run = ["build"]
[expect.tasks]
check = "fail"
"check[a]" = { note = "exit 3: no room at a" }
"check[b]" = "pass"
build = { output = { items = ["c"] } }
"#,
    );
    assert_eq!(came.code, 3, "{came:#?}");
    for part in [
        "FAILED  .  one\n        it goes wrong\n",
        "./tests/one.toml:6  exit\n    expected  completed\n    got       failed\n    because   `check` settled fail: ",
        "./tests/one.toml:7  did_not_run\n    expected  `build` did not run\n    got       it ran\n",
        "./tests/one.toml:10  tasks.check[a].note\n    expected  exit 3: no room at a\n    got       exit 3: no room at b\n                                 ^\n",
        "./tests/one.toml:11  tasks.check[b]\n    expected  an instance `b`\n    got       `check` has the instances `a`\n",
        "./tests/one.toml:12  tasks.build.output.items[0]\n    expected  \"c\"\n    got       \"a\"\n",
        "1 case: 0 passed, 1 failed",
    ] {
        assert!(came.out.contains(part), "{part}\n---\n{}", came.out);
    }
}

#[test]
fn what_is_wrong_with_a_case_is_shown_in_its_text() {
    let pack = pack();
    for (text, code, message, help) in [
        ("[expect]\nexit = ", "plan::case::not_toml", "this is not TOML", ""),
        ("expects = 1", "plan::case::unknown_key", "a case has no key `expects`", "did you mean `expect`?"),
        (
            "[expect]\nexits = \"failed\"",
            "plan::case::unknown_key",
            "`expect` has no key `exits`",
            "did you mean `exit`?",
        ),
        (
            "[stub]\nbuild = { attempts = [{ exti = 1 }] }\n[expect]\nsteps = 1",
            "plan::case::unknown_key",
            "a stub has no key `exti`",
            "did you mean `exit`?",
        ),
        (
            "[expect.tasks.build]\nstaus = \"pass\"",
            "plan::case::unknown_key",
            "`tasks.build` has no key `staus`",
            "did you mean `status`?",
        ),
        (
            "[expect]\nexit = \"failled\"",
            "plan::case::wrong_value",
            "nothing ever is `failled` here",
            "did you mean `failed`?",
        ),
        (
            "[expect.tasks]\nbuild = \"passed\"",
            "plan::case::wrong_value",
            "nothing ever is `passed` here",
            "did you mean `pass`?",
        ),
        (
            "[expect]\nsteps = \"1\"",
            "plan::case::wrong_value",
            "this has to be a number from 0, and is a string",
            "",
        ),
        (
            "[stub]\nbuild = { duration = \"1 hour\" }\n[expect]\nsteps = 1",
            "plan::case::wrong_value",
            "`1 hour` is no duration",
            "",
        ),
        (
            "[files]\n\"../x\" = \"\"\n[expect]\nsteps = 1",
            "plan::case::wrong_value",
            "`../x` is no path in the workspace",
            "",
        ),
        ("about = \"nothing\"", "plan::case::expects_nothing", "this case expects nothing", "expect = {"),
        ("[expect.tasks]\nbuild = {}", "plan::case::wrong_value", "this expects nothing of `build`", ""),
        (
            "[stub]\nbiuld = {}\n[expect]\nsteps = 1",
            "plan::case::unknown_name",
            "the plan has no task `biuld`",
            "did you mean `build`?",
        ),
        (
            "[expect.tasks]\ndeplyo = \"pass\"",
            "plan::case::unknown_name",
            "the plan has no task `deplyo`",
            "did you mean `deploy`?",
        ),
        (
            "[expect]\nverify = { hole = \"pass\" }",
            "plan::case::unknown_name",
            "no acceptance gate `hole`",
            "did you mean `whole`?",
        ),
        (
            "[expect.tasks.deploy]\nverifiers = { okay = \"pass\" }",
            "plan::case::unknown_name",
            "`deploy` has no verifier `okay`",
            "did you mean `ok`?",
        ),
        (
            "[stub]\n\"deploy/no\" = {}\n[expect]\nsteps = 1",
            "plan::case::unknown_name",
            "`deploy` has no verifier `no`",
            "",
        ),
        (
            "[expect.tasks]\n\"build[a]\" = \"pass\"",
            "plan::case::unknown_name",
            "`build` does not fan out",
            "",
        ),
        (
            "[params]\ncty = \"Ulm\"\n[expect]\nsteps = 1",
            "plan::case::unknown_name",
            "the plan has no parameter `cty`",
            "did you mean `city`?",
        ),
        (
            "plan = \"q.plan\"\n[expect]\nsteps = 1",
            "plan::case::unknown_name",
            "the pack has no plan `q.plan`",
            "did you mean `p.plan`?",
        ),
        ("[stub]\npage = {}\n[expect]\nsteps = 1", "plan::case::no_stub", "`page` is a report", ""),
        ("[expect.tasks.page]\nstaged = []", "plan::case::nothing_seen", "`page` starts nothing", ""),
    ] {
        let came = case(&pack, text);
        assert_eq!(came.code, 1, "{text}\n{came:#?}");
        for part in [code, message, help, "tests/one.toml:"] {
            assert!(came.err.contains(part), "{text}\n{part}\n---\n{}", came.err);
        }
        assert!(
            came.out.contains("ERROR   .  one") && came.out.contains("1 could not be run"),
            "{}",
            came.out
        );
    }
    pack.write("q.plan", "command a { run = \"true\" }\n");
    let came = case(&pack, "[expect]\nsteps = 1");
    assert_eq!(came.code, 1);
    assert!(came.err.contains("plan::case::which_plan"), "{}", came.err);
    let came = case(&pack, "plan = \"q.plan\"\n[expect]\nsteps = 1");
    assert_eq!(came.code, 0, "{came:#?}");
}

#[test]
fn a_test_that_tests_nothing_is_an_error() {
    let pack = pack();
    let came = pack.plan(&["test", "."]);
    assert_eq!(came.code, 1);
    assert_eq!(came.err, "plan: `.` has no case: there is no `tests/*.toml` in it\n");
    pack.write("tests/one.toml", "[expect]\nverdict = \"valid\"\n");
    let came = pack.plan(&["test", ".", "--case", "two"]);
    assert_eq!((came.code, came.err.as_str()), (1, "plan: no case has `two` in its name; there are `one`\n"));
    let came = pack.plan(&["test", "p.plan"]);
    assert!(came.code == 1 && came.err.contains("neither a pack nor a case"), "{came:?}");
    let came = pack.plan(&["test", "nowhere"]);
    assert_eq!((came.code, came.err.as_str()), (1, "plan: there is no `nowhere`\n"));
    assert_eq!(pack.plan(&["test"]).code, 2);
    let came = pack.plan(&["test", "tests/one.toml"]);
    assert_eq!(came.code, 0, "{came:?}");
}

#[test]
fn an_hour_passes_in_no_time_and_real_work_beside_it_in_its_own() {
    let pack = Pack::in_memory(
        r#"
        command slow { run = "x" }
        command late { timeout = 10m, required = false, run = "x" }
        command real { timeout = 5s, run = "sleep 0.3 && echo done" }
        command after { depends_on = [slow, real], when = real.last_line == "done", run = "true" }
        command asked { required = false, done_when = "sleep 0.1 && false", run = "x" }
        "#,
    );
    fs::create_dir(pack.file("tests")).unwrap();
    let begun = Instant::now();
    let came = case(
        &pack,
        r#"
        [stub]
        slow = { duration = "3h" }
        late = { hangs = true }
        asked = { exit = 4 }
        [expect.tasks]
        slow = "pass"
        late = { status = "fail", note = "timed out after 10m" }
        real = "pass"
        after = "pass"
        asked = { status = "fail", note = "exit 4" }
        "#,
    );
    assert_eq!(came.code, 0, "{came:#?}");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_stub_is_the_turn_of_an_agent() {
    let pack = Pack::in_memory(
        r#"
        plan "p" { budget = { usd = 1.00, time = 1h } }
        agent draft { prompt = "write", emits = { title: string }, emits_files = ["draft.md"] }
        command count { depends_on = [draft], run = "wc -w < $PLAN_FILES/draft/draft.md" }
        "#,
    );
    fs::create_dir(pack.file("tests")).unwrap();
    let came = case(
        &pack,
        r#"
        [stub.draft]
        output = { title = "One" }
        files = { "draft.md" = "one two three\n" }
        cost = 0.25
        duration = "5m"
        [expect]
        spent_usd = 0.25
        [expect.tasks]
        draft = { status = "pass", cost_usd = 0.25, files = ["draft.md"] }
        count = { status = "pass", staged = ["draft/draft.md"] }
        "#,
    );
    assert_eq!(came.code, 0, "{came:#?}");
    let came =
        case(&pack, "[stub.draft]\nfiles = { \"draft.md\" = \"one\" }\n[expect.tasks]\ndraft = \"fail\"");
    assert_eq!(came.code, 0, "an agent owes an object: {came:#?}");
    let came = case(&pack, "[expect]\nsteps = 2");
    assert_eq!(came.code, 1);
    assert!(came.out.contains("`agent` tasks cannot run yet"), "{}", came.out);
}

#[test]
fn machines_read_what_came_of_it() {
    let pack = pack();
    pack.write("tests/good.toml", "[expect]\nverdict = \"valid\"\n");
    pack.write("tests/wrong.toml", "[expect]\nverdict = \"invalid\"\n");
    pack.write("tests/broken.toml", "[expect]\nverdikt = \"invalid\"\n");
    let came = pack.plan(&["test", ".", "--format", "json"]);
    assert_eq!(came.code, 1);
    let report: Value = serde_json::from_str(&came.out).unwrap();
    assert_eq!((&report["passed"], &report["failed"], &report["errors"]), (&1.into(), &1.into(), &1.into()));
    let outcomes: Vec<_> = report["cases"].as_array().unwrap().iter().map(|case| &case["outcome"]).collect();
    assert_eq!(outcomes, ["error", "ok", "failed"], "{}", came.out);
    let difference = &report["cases"][2]["differences"][0];
    assert_eq!(
        (&difference["path"], &difference["line"], &difference["got"]),
        (&"verdict".into(), &2.into(), &"valid".into())
    );
    let problem = &report["cases"][0]["problems"][0];
    assert_eq!(problem["code"], "plan::case::unknown_key");
    let came = pack.plan(&[
        "test", ".", "--case", "wrong", "--case", "good", "--format", "junit", "--output", "out.xml",
    ]);
    assert_eq!(came.code, 3);
    assert!(came.out.contains("ok      .  good"), "people read on: {}", came.out);
    let xml = pack.read("out.xml");
    assert!(xml.contains("<testsuite name=\".\" tests=\"2\" failures=\"1\" errors=\"0\""), "{xml}");
    assert!(xml.contains("<failure message=\"verdict: expected invalid, got valid\">"), "{xml}");
    let came = pack.plan(&["test", ".", "--output", "out.xml"]);
    assert_eq!(came.code, 1);
}

#[test]
fn a_case_that_is_recorded_from_a_run_holds_without_what_the_run_needed() {
    let pack = Pack::in_memory(
        r#"
        command list {
            run         = "mkdir -p out && echo 'Zeilen: \"zwei\"' > out/l.txt && ./list.sh"
            emits       = { items: [string] }
            emits_files = ["out/l.txt"]
        }
        command each { depends_on = [list], over = list.items, required = false, run = "./each.sh" }
        command flaky { run = "./flaky.sh", verify sound { run = "test -s tries" } }
        command killed { required = false, run = "kill -9 $$" }
        command slow { required = false, timeout = 1s, run = "sleep 60" }
        command broken { required = false, run = "echo '{\"n\": null}'", emits = { n: integer } }
        command last { depends_on = [flaky], when = flaky.last_line == "there", run = "true" }
        command decides { required = false, run = "echo '{\"status\": \"skipped\", \"note\": \"not today\", \"cost_usd\": 0.5}'" }
        evaluate score { required = false, run = "echo '{\"score\": 0.25}'; exit 2", threshold = 1, direction = "higher" }
        report page { stage = "epilogue", template = "page.md", to = "out/page.md" }
        verify whole { run = "./whole.sh" }
        "#,
    );
    pack.write("page.md", "{{ outcome.exit }}\n");
    for (name, text) in [
        ("list.sh", "echo '{\"items\": [\"a\", \"b/c\"]}'"),
        ("each.sh", "test \"$PLAN_ITEM\" = a || { echo \"no $PLAN_ITEM\" >&2; exit 7; }"),
        ("flaky.sh", "echo x >> tries; test $(wc -l < tries) -gt 1 || exit 75; echo there"),
        ("whole.sh", "echo 'all is well'"),
    ] {
        pack.write(name, &format!("#!/bin/sh\n{text}\n"));
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(pack.file(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let came = pack.run(&["--jobs", "4"]);
    assert_eq!(came.code, 0, "{came:#?}");
    for script in ["list.sh", "each.sh", "flaky.sh", "whole.sh", "tries"] {
        fs::remove_file(pack.file(script)).unwrap();
    }
    let came = pack.plan(&["test", "--record", "latest", "--to", "tests/day.toml"]);
    let case = pack.read("tests/day.toml");
    assert_eq!(came.code, 0, "{came:#?}\n{case}");
    assert!(came.out.starts_with("wrote tests/day.toml\nok      .  day\n"), "{}", came.out);
    for part in [
        "[stub.\"each[b/c]\"]\nexit = 7\nstderr = \"no b/c\\n\"",
        "attempts = [{ exit = 75",
        "\"out/l.txt\" = \"Zeilen: \\\"zwei\\\"\\n\"",
        "hangs = true",
        "spent_usd = \"0.5\"",
        "last = { status = \"pass\"",
    ] {
        assert!(case.contains(part), "{part}\n---\n{case}");
    }
    let again = pack.plan(&["test", "--record", "latest", "--to", "tests/day.toml"]);
    assert_eq!(
        (again.code, again.err.as_str()),
        (1, "plan: `tests/day.toml` is there already; nothing was written\n")
    );
    let came = pack.plan(&["test", "."]);
    assert_eq!(came.code, 0, "{came:#?}");
}

#[test]
fn the_pack_that_init_writes_holds_what_its_cases_say() {
    let pack = Pack::in_memory("command a { run = \"true\" }");
    assert_eq!(pack.plan(&["init", "words"]).code, 0);
    let came = pack.plan(&["test", "words"]);
    assert_eq!(came.code, 0, "{came:#?}");
    assert!(came.out.contains("2 passed"), "{}", came.out);
}

#[test]
fn people_answer_as_the_case_says_or_the_run_waits() {
    let pack = Pack::in_memory(
        r#"
        gate approve { ask = "Go?", options = ["go", "stop"] }
        command go { depends_on = [approve], when = approve.answer == "go", run = "true" }
        command halt { depends_on = [approve], when = otherwise(approve.answer), run = "true" }
        "#,
    );
    fs::create_dir(pack.file("tests")).unwrap();
    for text in [
        "answers = { approve = \"go\" }\n[expect]\nverdict = \"valid\"\n[expect.tasks]\ngo = \"pass\"",
        "answers = { approve = { answer = \"stop\", by = \"ada\", after = \"3h\" } }\n\
         [expect.tasks]\napprove = { output = { by = \"ada\" } }\ngo = \"not_taken\"",
        "[expect]\nexit = \"waiting\"\ndid_not_run = [\"go\"]\n[expect.tasks]\napprove = \"pending\"",
    ] {
        let came = case(&pack, text);
        assert_eq!(came.code, 0, "{text}\n{came:#?}");
    }
    for (text, code, message, help) in [
        (
            "answers = { aprove = \"go\" }",
            "plan::case::unknown_name",
            "no task `aprove`",
            "did you mean `approve`?",
        ),
        ("answers = { go = \"go\" }", "plan::case::unknown_name", "`go` is a command, and asks nobody", ""),
        (
            "answers = { approve = \"sotp\" }",
            "plan::case::unknown_name",
            "`approve` does not take the answer `sotp`",
            "did you mean `stop`?",
        ),
        (
            "answers = { approve = { anwser = \"go\" } }",
            "plan::case::unknown_key",
            "an answer has no key `anwser`",
            "did you mean `answer`?",
        ),
        ("answers = { approve = 1 }", "plan::case::wrong_value", "this has to be an answer, as a string", ""),
        ("stub = { approve = {} }", "plan::case::no_stub", "`approve` is a gate", "answers = { approve = "),
    ] {
        let came = case(&pack, &format!("{text}\n[expect]\nsteps = 1\n"));
        assert_eq!(came.code, 1, "{text}\n{came:#?}");
        for part in [code, message, help, "tests/one.toml:"] {
            assert!(came.err.contains(part), "{text}\n{part}\n---\n{}", came.err);
        }
    }
}

#[test]
fn plans_that_are_called_and_reviews_run_with_stubs_too() {
    let pack = Pack::in_memory(
        r#"
        plan "p" { budget = { usd = 1.00, time = 1h } }
        call build { plan = "child.plan" }
        command draft { depends_on = [build], run = "x" }
        command review { depends_on = [draft], run = "x", revise = [draft], max_rounds = 3 }
        "#,
    );
    pack.write(
        "child.plan",
        r#"
        plan "child" { result = work }
        agent think { prompt = "think", timeout = 5m }
        command work { depends_on = [think], run = "x", emits = { n: integer } }
        "#,
    );
    fs::create_dir(pack.file("tests")).unwrap();
    let review = "draft = {}\nreview = { rounds = [{ exit = 1 }, { exit = 0 }] }\n";
    for build in [
        "build = { output = { n = 3 } }",
        "\"build/think\" = { output = { idea = 1 } }\n\"build/work\" = { output = { n = 3 } }",
    ] {
        let text = format!(
            "plan = \"p.plan\"\n[stub]\n{build}\n{review}[expect]\nverdict = \"valid\"\n[expect.tasks]\n\
             build = {{ output = {{ n = 3 }} }}\ndraft = {{ rounds = 2 }}\nreview = {{ status = \"pass\", rounds = 2 }}\n"
        );
        let came = case(&pack, &text);
        assert_eq!(came.code, 0, "{text}\n{came:#?}");
    }
    let came = case(&pack, "plan = \"p.plan\"\n[stub]\n\"build/wrok\" = {}\n[expect]\nsteps = 1\n");
    assert!(came.code == 1 && came.err.contains("did you mean `work`?"), "{came:#?}");
}

#[test]
fn nothing_is_written_through_a_link_out_of_the_copy() {
    let pack = Pack::in_memory("command a { run = \"x\" }");
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), pack.file("link")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path().join("new"), pack.file("dangling")).unwrap();
    fs::create_dir(pack.file("tests")).unwrap();
    for path in ["link/x", "link/deep/x", "dangling"] {
        let text =
            format!("[stub]\na = {{ files = {{ {path:?} = \"x\" }} }}\n[expect.tasks]\na = \"transport\"\n");
        let came = case(&pack, &text);
        assert_eq!(came.code, 0, "{path}\n{came:#?}");
    }
    let came = case(&pack, "[files]\n\"link/x\" = \"x\"\n[stub]\na = {}\n[expect]\nsteps = 1\n");
    assert!(came.code == 1 && came.out.contains("a symbolic link leads out of the pack"), "{came:#?}");
    let came = case(&pack, "[files]\ndangling = \"x\"\n[stub]\na = {}\n[expect]\nsteps = 1\n");
    assert_eq!(came.code, 0, "a link is replaced: {came:#?}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn an_interrupted_test_ends_what_it_started_and_leaves_nothing() {
    use rustix::process::Signal;
    for (signal, code) in [(Signal::INT, 130), (Signal::HUP, 129), (Signal::TERM, 143)] {
        interrupted(signal, code);
    }
}

fn interrupted(signal: rustix::process::Signal, code: i32) {
    let pack = Pack::in_memory("command a { run = \"sleep 417 & sleep 417\" }");
    fs::create_dir(pack.file("tests")).unwrap();
    pack.write("tests/one.toml", "[expect]\nsteps = 1\n");
    let temporary = tempfile::tempdir().unwrap();
    let mark = pack.path().file_name().unwrap().to_str().unwrap().to_owned();
    // Whoever runs this test may be one that is to outlive its terminal.
    let mut command = std::process::Command::new("env");
    command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_plan"), "test", "."]).current_dir(pack.path());
    command.env("TMPDIR", temporary.path()).env("MARK", &mark).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let begun = Instant::now();
    // The program itself, and what it started.
    while super::pack::processes_with(&mark).len() < 3 {
        assert!(begun.elapsed() < Duration::from_secs(30), "nothing was started");
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, signal).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(code));
    assert_eq!(super::pack::processes_with(&mark), Vec::<String>::new());
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn what_hangs_for_ever_is_an_error_of_its_case() {
    let pack = Pack::in_memory(
        r#"
        command a { run = "x", verify sound { run = "x" } }
        command b { depends_on = [a], run = "touch ran && cp ran ${OUT:?}" }
        "#,
    );
    fs::create_dir(pack.file("tests")).unwrap();
    for stub in ["hangs = true", "hangs = true, deaf = true"] {
        pack.write("tests/one.toml", &format!("[stub]\na = {{ {stub} }}\n[expect]\nsteps = 2\n"));
        let mut command = pack.command(&["test", "."]);
        let out = pack.file("out");
        let came = super::pack::came(command.env("OUT", &out).output().unwrap());
        assert_eq!(came.code, 1, "{stub}: {came:#?}");
        assert!(came.out.contains("nothing will ever end `a`, whose stub hangs"), "{}", came.out);
        assert!(!out.exists(), "nothing runs after it");
    }
    // What takes long is no hanging, and what a limit or a failure ends is not for ever.
    let came = case(
        &pack,
        "[stub]\na = { duration = \"99999d\" }\n\"a/sound\" = {}\nb = {}\n[expect]\nverdict = \"valid\"\n",
    );
    assert_eq!(came.code, 0, "{came:#?}");
    let came = case(
        &pack,
        "max_time = \"9d\"\n[stub]\na = { hangs = true }\nb = {}\n[expect]\nexit = \"time_ceiling\"\n",
    );
    assert_eq!(came.code, 0, "{came:#?}");
}

/// Runs the plan, then writes a case from the run, named `one`; what the case says, and whether it held.
fn recorded(pack: &Pack, arguments: &[&str]) -> (String, Came) {
    let ran = pack.run(arguments);
    assert!(pack.file(".plan").exists(), "{ran:#?}");
    let _ = fs::remove_file(pack.file("tests/one.toml"));
    let came = pack.plan(&["test", "--record", "latest", "--to", "tests/one.toml"]);
    (pack.read("tests/one.toml"), came)
}

#[test]
fn what_a_recorded_run_did_not_run_does_not_run_in_its_case_either() {
    let out = tempfile::tempdir().unwrap();
    let touch = |name: &str| format!("touch {}", out.path().join(name).display());
    let pack = Pack::in_memory(&format!(
        r#"
        command a {{ run = "exit 3" }}
        command deploy {{ run = "{}", verify sound {{ run = "{}" }} }}
        param items: [string] = ["x"]
        command each {{ over = items, required = false, run = "true", verify good {{ run = "true" }} }}
        "#,
        touch("deploy"),
        touch("sound")
    ));
    let (case, came) = recorded(&pack, &["--jobs", "1"]);
    assert_eq!(came.code, 0, "{came:#?}\n{case}");
    for part in [
        "jobs = 1\n",
        "did_not_run = [\"deploy\"",
        "[stub.deploy]\nlost = ",
        "[stub.\"deploy/sound\"]\nlost = ",
    ] {
        assert!(case.contains(part), "{part}\n---\n{case}");
    }
    // Whatever becomes of the plan, it does not really run.
    let plan = pack.read("p.plan");
    pack.write("p.plan", &plan.replace("exit 3", "exit 4"));
    pack.write("tests/one.toml", &case.replace("exit = 3", "exit = 0"));
    let came = pack.plan(&["test", "."]);
    assert_eq!(came.code, 3, "{came:#?}");
    assert!(came.out.contains("it did not run when this case was recorded"), "{}", came.out);
    assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0, "nothing was deployed");
    // Nor is a case written from a run of another plan.
    let came = pack.plan(&["test", "--record", "latest", "--to", "tests/two.toml"]);
    assert_eq!(came.code, 1, "{came:#?}");
    assert!(came.err.contains("is not the plan any more"), "{}", came.err);
    assert!(!pack.file("tests/two.toml").exists());
}

#[test]
fn a_recorded_run_that_was_killed_on_a_failure_holds() {
    let pack =
        Pack::in_memory("command a { run = \"sleep 0.3; exit 3\" }\ncommand b { run = \"sleep 60\" }\n");
    let (case, came) = recorded(&pack, &["--kill-on-failure", "--jobs", "2"]);
    assert_eq!(came.code, 0, "{came:#?}\n{case}");
    assert!(case.contains("kill_on_failure = true\n") && case.contains("hangs = true"), "{case}");
}

#[test]
fn of_a_run_that_was_gone_on_with_the_last_word_is_recorded() {
    let pack = Pack::in_memory(
        r#"
        command a { run = "echo '{\"items\": [\"x\", \"y\"], \"cost_usd\": 0.25}'", emits = { items: [string] } }
        command b { depends_on = [a], over = a.items, run = "test -e ok || exit 3", verify good { run = "true" } }
        command c { depends_on = [b], run = "true" }
        "#,
    );
    assert_ne!(pack.run(&["--jobs", "1"]).code, 0);
    pack.write("ok", "");
    let came = pack.plan(&["run", "--resume", "latest", "--from", "a"]);
    assert_eq!(came.code, 0, "{came:#?}");
    let _ = fs::remove_file(pack.file("ok"));
    let came = pack.plan(&["test", "--record", "latest", "--to", "tests/one.toml"]);
    let case = pack.read("tests/one.toml");
    assert_eq!(came.code, 0, "{came:#?}\n{case}");
    assert!(!case.contains("exit = 3") && case.contains("spent_usd = \"0.25\""), "{case}");
}

#[test]
fn calls_that_fail_decisions_and_digits_are_recorded() {
    let pack = Pack::in_memory(
        r#"
        call counts { plan = "counts.plan", required = false }
        call release { plan = "child.plan", required = false }
        route where {
            required       = false
            run            = "echo '{\"go\": {\"label\": \"left\", \"confidence\": 0.9}, \"fast\": {\"label\": \"yes\", \"confidence\": 0.1}}'"
            min_confidence = 0.5
            question go   { labels = ["left", "right"], drop = ["uncertain"] }
            question fast { labels = ["yes", "no"], drop = ["uncertain"] }
        }
        command left { depends_on = [where], when = where.go == "left", required = false, run = "true" }
        command right { depends_on = [where], when = otherwise(where.go), required = false, run = "true" }
        command digits { required = false, run = "echo '{\"n\": 0.30}'" }
        command checked { required = false, run = "true", verify v { run = ["no-such-program-9"] }, verify w { run = "exit 4", required = false } }
        "#,
    );
    pack.write("child.plan", "plan \"child\" {}\ncommand broken { run = \"echo no >&2; exit 5\" }\n");
    pack.write("counts.plan", "plan \"counts\" { result = n }\ncommand n { run = \"echo '{\\\"n\\\": 0.30, \\\"cost_usd\\\": 0.01}'\" }\ncommand x { depends_on = [n], run = \"false\" }\n");
    let (case, came) = recorded(&pack, &["--jobs", "2"]);
    assert_eq!(came.code, 0, "{came:#?}\n{case}");
    for part in [
        "spent_usd = \"0.01\"",
        "[stub.release]\nstatus = \"fail\"\nnote = \"`broken` of `child` failed: exit 5: no",
        "go = { label = \"left\", confidence = 1 }",
        "fast = { label = \"yes\", confidence = 0 }",
        "output = { go = \"left\", fast = \"uncertain\" }",
        "stdout = \"{\\\"n\\\":0.30}\\n\"",
        "missing = ",
        "verifiers = { v = \"fail\", w = \"fail\" }",
        "left = { status = \"pass\", attempts = 1, inputs = { where = {} } }",
    ] {
        assert!(case.contains(part), "{part}\n---\n{case}");
    }
}

#[test]
fn a_recorded_run_that_took_results_over_holds() {
    let pack = Pack::in_memory(
        "command a { run = \"echo '{\\\"n\\\": 1}'\", emits = { n: integer }, verify v { run = \"true\" } }\n\
         command b { depends_on = [a], run = \"test -e ok\" }\n",
    );
    assert_ne!(pack.run(&[]).code, 0);
    pack.write("ok", "");
    let (case, came) = recorded(&pack, &["--reuse", "latest"]);
    assert_eq!(came.code, 0, "{came:#?}\n{case}");
    assert!(!case.contains("reused") && case.contains("b = { status = \"pass\""), "{case}");
}

#[test]
fn a_recorded_case_notices_that_the_plan_means_something_else() {
    let plan = r#"
        command list { run = "./list.sh", emits = { items: [{ id: string }] } }
        command score { depends_on = [list], over = list.items, key = "id", run = "./score.sh", emits = { score: number } }
        top_k best { depends_on = [score], k = 1, direction = "higher" }
        gate sure { ask = "Sure?", options = ["yes", "no"], default = "no", timeout = 1s }
        command last { depends_on = [list, sure], run = "true" }
        report page { stage = "epilogue", template = "page.md", to = "page.md" }
    "#;
    let pack = Pack::in_memory(plan);
    for (name, text) in [
        ("list.sh", "echo '{\"items\": [{\"id\": \"a\"}, {\"id\": \"b\"}]}'"),
        ("score.sh", "test $PLAN_ITEM = a && echo '{\"score\": 1}' || echo '{\"score\": 2}'"),
    ] {
        pack.write(name, &format!("#!/bin/sh\n{text}\n"));
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(pack.file(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    pack.write("page.md", "# How it went\nIt took {{ outcome.exit }} in all.\n");
    let (case, came) = recorded(&pack, &["--jobs", "2"]);
    assert_eq!(came.code, 0, "{came:#?}\n{case}");
    assert!(!case.contains("[answers]"), "{case}");
    for (old, new, path) in [
        ("direction = \"higher\"", "direction = \"lower\"", "tasks.best.output"),
        ("default = \"no\"", "default = \"yes\"", "tasks.sure.output.answer"),
        ("[list, sure]", "[sure]", "tasks.last.inputs.list"),
    ] {
        pack.write("p.plan", &plan.replace(old, new));
        let came = pack.plan(&["test", "."]);
        assert_eq!(came.code, 3, "{old}: {came:#?}\n{case}");
        assert!(came.out.contains(path), "{path}\n---\n{}", came.out);
    }
    pack.write("p.plan", plan);
    pack.write("page.md", "# How it ends\nIt took {{ outcome.exit }} in all.\n");
    let came = pack.plan(&["test", "."]);
    assert!(came.code == 3 && came.out.contains("tasks.page.contains"), "{came:#?}");
}

#[test]
fn a_recorded_case_is_tried_without_what_the_run_left() {
    let pack =
        Pack::in_memory("command a { run = \"printf '\\\\377' > a.bin\", emits_files = [\"a.bin\"] }\n");
    let (case, came) = recorded(&pack, &[]);
    assert!(pack.file("a.bin").exists(), "{came:#?}");
    assert_eq!(came.code, 3, "{came:#?}\n{case}");
    assert!(came.err.contains("`a.bin` of `a` is no text"), "{}", came.err);
}

#[test]
fn what_can_do_nothing_is_an_error() {
    let pack = pack();
    for (text, message) in [
        ("order = [\"build\", \"build\"]", "`build` is there twice"),
        ("steps = 1\n[stub]\nbuild = { exit = 256 }", "an exit code is from 0 to 255"),
        ("steps = 1\n[stub]\nbuild = { exit = -1 }", "an exit code is from 0 to 255"),
        ("steps = 1\n[stub]\nbuild = { signal = 65 }", "a signal is from 1 to 64"),
        (
            "steps = 1\n[stub]\nbuild = { exit = 0, signal = 9 }",
            "a stub ends in one way: `exit` and `signal` are two",
        ),
        (
            "steps = 1\n[stub]\nbuild = { attempts = [{ hangs = true, exit = 1 }] }",
            "`hangs` and `exit` are two",
        ),
    ] {
        let came = case(&pack, &format!("[expect]\n{text}\n"));
        assert_eq!(came.code, 1, "{text}\n{came:#?}");
        assert!(came.err.contains(message), "{message}\n---\n{}", came.err);
    }
    let came = case(
        &pack,
        "[stub]\nbuild = { output = { items = [\"a\"] } }\n\"check[zz]\" = {}\n[expect]\ndid_not_run = [\"check[yy]\"]\n",
    );
    assert_eq!(came.code, 3, "{came:#?}");
    for part in [
        "did_not_run\n    expected  an instance `check[yy]`",
        "stub.check[zz]\n",
        "`check` has the instances `a`",
    ] {
        assert!(came.out.contains(part), "{part}\n---\n{}", came.out);
    }
    let came = pack.plan(&["test", ".", "--to", "x.toml"]);
    assert_eq!((came.code, came.err.as_str()), (1, "plan: `--to` takes `--record RUN` as well\n"));
}

#[test]
fn what_is_wrong_with_a_plan_is_told_once() {
    let pack = Pack::in_memory("command a { run = nothing }");
    fs::create_dir(pack.file("tests")).unwrap();
    for name in ["one", "two", "three"] {
        pack.write(&format!("tests/{name}.toml"), "[expect]\nsteps = 1\n");
    }
    let came = pack.plan(&["test", "."]);
    assert_eq!(came.code, 1, "{came:#?}");
    assert_eq!(came.err.matches("plan::").count(), 1, "{}", came.err);
    assert!(came.out.contains("3 could not be run"), "{}", came.out);
}
