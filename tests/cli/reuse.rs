//! Taking over what still holds from another run.

use serde_json::json;

use super::pack::{Came, Pack};

fn ok(came: Came) -> Came {
    assert_eq!(came.code, 0, "{came:?}");
    came
}

/// The tasks and instances that ran, rather than being taken over, in the newest run.
fn ran(pack: &Pack) -> Vec<String> {
    let ended = pack.events().into_iter().filter(|event| event["kind"] == "attempt_ended");
    let ran = ended.filter(|event| event.get("reused").is_none());
    let mut names: Vec<String> = ran.map(|event| event["task"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// Why tasks of the newest run were not taken over.
fn why(pack: &Pack, task: &str) -> String {
    let events = pack.events();
    let decided = events.iter().find(|event| event["kind"] == "reuse_decided" && event["task"] == task);
    let decided = decided.unwrap_or_else(|| panic!("nothing was decided about {task}: {events:?}"));
    decided["why"].as_str().unwrap_or_default().to_owned()
}

const CHAIN: &str = r#"
command make  { run = "./make.sh", emits = { v: integer } }
command apply { depends_on = [make], run = "echo x >> apply.n" }
command solo  { run = "echo x >> solo.n; echo '{\"w\":1}'" }
command clean { stage = "epilogue", run = "echo x >> clean.n" }
"#;

fn script(pack: &Pack, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    pack.write(name, &format!("#!/bin/sh\n{text}\n"));
    std::fs::set_permissions(pack.file(name), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_changed_runs_and_what_follows_from_it() {
    let pack = Pack::new(CHAIN);
    script(&pack, "make.sh", "echo '{\"v\":1}'");
    ok(pack.run(&[]));
    let first = pack.status()["run"].as_str().unwrap().to_owned();

    // Nothing changed: nothing runs but the epilogue, not even with no attempt to spare.
    let came = ok(pack.run(&["--reuse", "latest", "--max-steps", "1"]));
    assert_eq!(ran(&pack), ["clean"]);
    let status = pack.status();
    assert_eq!((&status["steps"], &status["tasks"]["solo"]["attempts"]), (&json!(1), &json!(0)));
    assert_eq!(status["tasks"]["solo"]["note"], format!("reused from {first}"));
    assert_eq!(status["tasks"]["solo"]["output"], json!({"w": 1}));
    assert!(came.out.contains(&format!("3 reused from {first}")), "{}", came.out);
    assert!(pack.plan(&["status"]).out.contains(&format!("reused from {first}")));

    // The script changes, its result does not: what follows from it is not run.
    script(&pack, "make.sh", "echo building; echo '{\"v\":1}'");
    let came = ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), ["clean", "make"]);
    assert_eq!(why(&pack, "make"), "`make.sh` has changed");
    assert!(came.out.contains("`make.sh` has changed"), "{}", came.out);

    script(&pack, "make.sh", "echo '{\"v\":2}'");
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), ["apply", "clean", "make"]);
    assert_eq!(why(&pack, "apply"), "the result of `make` is another one");
    assert_eq!((pack.read("apply.n"), pack.read("solo.n")), ("x\nx\n".to_owned(), "x\n".to_owned()));

    // What was taken over once is so again, and from any run.
    pack.write("p.plan", &CHAIN.replace("x >> solo.n", "y >> solo.n"));
    ok(pack.run(&["--reuse", &first]));
    assert_eq!(ran(&pack), ["apply", "clean", "make", "solo"]);
    assert_eq!(why(&pack, "solo"), "its `run` has changed");
    assert_eq!(pack.plan(&["evidence", "--verify"]).code, 0);
}

#[test]
fn directories_and_patterns_are_named_too() {
    let pack = Pack::new(
        "command count { run = \"cat data/*.csv *.lst | wc -l; echo x >> count.n\" }\n\
         command list  { run = \"ls data; echo x >> list.n\" }\n",
    );
    std::fs::create_dir(pack.file("data")).unwrap();
    pack.write("data/a.csv", "1\n");
    pack.write("b.lst", "1\n");
    ok(pack.run(&[]));
    pack.write("data/note", "");
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), ["list"]);
    pack.write("data/b.csv", "2\n");
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), ["count", "list"]);
    assert_eq!(why(&pack, "count"), "`data/*.csv` has changed");
    pack.write("b.lst", "2\n");
    let came = ok(pack.run(&["--reuse", "latest", "--dry-run"]));
    assert!(came.out.contains("count  reused if what it sees is the same"), "{}", came.out);
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), ["count"]);
}

#[test]
fn a_run_that_is_not_there_is_refused() {
    let pack = Pack::new(CHAIN);
    let came = pack.run(&["--reuse", "latest"]);
    assert_eq!(came.code, 1, "{came:?}");
    assert!(came.err.contains("run"), "{}", came.err);
    script(&pack, "make.sh", "echo '{\"v\":1}'");
    ok(pack.run(&[]));
    let came = pack.run(&["--reuse", "1999"]);
    assert_eq!(came.code, 1, "{came:?}");
    assert!(came.err.contains("1999"), "{}", came.err);
    assert_eq!(pack.names(".plan/runs").len(), 1, "no run was made");
    let came = pack.run(&["--resume", "--reuse", "latest"]);
    assert_eq!(came.code, 2, "{came:?}");
}

#[test]
fn failed_work_and_its_instances_run_again() {
    let pack = Pack::new(
        r#"
command list  { run = "echo '{\"all\":[\"a\",\"b\",\"c\"]}'", emits = { all: [string] } }
command each  { depends_on = [list], over = list.all, required = false, run = "test -e ok/$PLAN_ITEM" }
command after { depends_on = [each], join = "settled", run = "true" }
"#,
    );
    std::fs::create_dir(pack.file("ok")).unwrap();
    pack.write("ok/a", "");
    pack.write("ok/c", "");
    ok(pack.run(&[]));
    assert_eq!(pack.status()["tasks"]["each"]["status"], "fail");
    pack.write("ok/b", "");
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), ["after", "each[b]"]);
    assert_eq!(why(&pack, "each[b]"), "it failed there");
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), Vec::<String>::new());
    // A file that a command names and that was there is what it read.
    pack.write("ok/b", "otherwise");
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), ["each[b]"]);
    assert_eq!(why(&pack, "each[b]"), "`ok/b` has changed");
}

#[test]
fn files_come_along() {
    let plan = r#"
command make { run = "echo made; cat source > out; echo x >> make.n", emits_files = ["out"] }
command use  { depends_on = [make], run = "cat $PLAN_FILES/make/out out; echo x >> use.n" }
"#;
    let pack = Pack::new(plan);
    pack.write("source", "one\n");
    ok(pack.run(&[]));
    let first = pack.names(".plan/runs").remove(0);
    pack.write("out", "spoilt\n");
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), Vec::<String>::new());
    assert_eq!(pack.read("out"), "one\n", "what a result goes with is put back");
    assert_eq!(pack.status()["warnings"].as_array().unwrap().len(), 1);
    std::fs::remove_file(pack.file("out")).unwrap();
    std::fs::remove_dir_all(pack.file(&format!(".plan/runs/{first}"))).unwrap();
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!((ran(&pack), pack.read("out")), (Vec::new(), "one\n".to_owned()));
    assert_eq!(pack.plan(&["evidence", "--verify"]).code, 0);

    // A file that only the command names is an input, and other content of a declared one is another result.
    pack.write("source", "two\n");
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), ["make", "use"]);
    // Without the content nothing is taken over.
    std::fs::remove_dir_all(pack.file(".plan/latest/store")).unwrap();
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), ["make"]);
    assert!(why(&pack, "make").contains("missing"), "{}", why(&pack, "make"));
}

#[test]
fn parameters_and_gates_count() {
    let plan = r#"
param level: "low" | "high" = "low"
let word = "one"
command say  { run = f"echo {word}" }
command gate {
    run = "echo hello > greeting"
    emits_files = ["greeting"]
    verify polite { run = "./polite.sh" }
}
"#;
    let pack = Pack::new(plan);
    script(&pack, "polite.sh", "grep -q hello greeting");
    ok(pack.run(&[]));
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), Vec::<String>::new());
    let accepted = pack.events().iter().filter(|event| event["kind"] == "verifier_ended").count();
    assert_eq!(accepted, 1, "what is taken over is checked in this run as well");
    script(&pack, "polite.sh", "grep -q hell greeting");
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), ["gate"]);
    pack.write("p.plan", &plan.replace("\"one\"", "\"two\""));
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), ["say"]);
    ok(pack.run(&["--reuse", "latest", "--param", "level=high"]));
    assert_eq!(ran(&pack), ["gate", "say"]);
    assert_eq!(why(&pack, "say"), "the parameter `level` has changed");
}

#[test]
fn a_reusing_run_is_gone_on_with() {
    let plan = r#"
command a { run = "echo x >> a.n" }
command b { depends_on = [a], run = "echo x >> b.n; touch started; until [ -e go ]; do sleep 0.02; done" }
command c { depends_on = [b], run = "echo x >> c.n" }
"#;
    let pack = Pack::new(plan);
    pack.write("go", "");
    ok(pack.run(&[]));
    for name in ["go", "started"] {
        std::fs::remove_file(pack.file(name)).unwrap();
    }
    let mut run = pack
        .command(&["run", "--plan", "p.plan", "--reuse", "latest"])
        .stdout(std::process::Stdio::null())
        .spawn();
    let run = run.as_mut().unwrap();
    pack.wait_for("started");
    run.kill().unwrap();
    run.wait().unwrap();
    pack.write("go", "");
    ok(pack.plan(&["run", "--resume"]));
    let counts = ["a.n", "b.n", "c.n"].map(|name| pack.read(name).lines().count());
    assert_eq!(counts, [1, 3, 1], "`c` has what it had");
    // What is asked for by name runs.
    ok(pack.plan(&["run", "--resume", "--from", "b"]));
    let counts = ["a.n", "b.n", "c.n"].map(|name| pack.read(name).lines().count());
    assert_eq!(counts, [1, 4, 2]);
}

#[test]
fn what_its_command_names_in_any_way_is_looked_at() {
    let pack = Pack::new("");
    pack.write("in.txt", "");
    pack.write("my file.dat", "");
    let absolute = format!("cat {}", pack.file("in.txt").display());
    let cases = [
        ("[\"sh\", \"-c\", \"cat in.txt\"]", "in.txt"),
        ("\"cat 'my file.dat'\"", "my file.dat"),
        ("\"cat my\\\\ file.dat\"", "my file.dat"),
        (&format!("\"{absolute}\""), "in.txt"),
        ("\"cat $PWD/in.txt\"", "in.txt"),
        ("\"cat $FROM\"", "in.txt"),
        ("\"test -e new || true\"", "new"),
        ("\"cat ./in.txt; ls .\"", "newer"),
        ("[\"python3\", \"-c\", \"open('in.txt')\"]", "in.txt"),
    ];
    for (at, (run, file)) in cases.into_iter().enumerate() {
        pack.write("p.plan", &format!("command a {{ env = {{ FROM = \"in.txt\" }}, run = {run} }}\n"));
        ok(pack.run(&[]));
        ok(pack.run(&["--reuse", "latest"]));
        assert_eq!(ran(&pack), Vec::<String>::new(), "{run}: {}", why(&pack, "a"));
        pack.write(file, &at.to_string());
        ok(pack.run(&["--reuse", "latest"]));
        assert_eq!(ran(&pack), ["a"], "{run}");
    }
}

#[test]
fn what_may_name_any_file_runs_again() {
    let pack = Pack::new("");
    pack.write("in.txt", "");
    for (run, what) in [
        ("cat {in,in}.txt", "`{`"),
        ("cat [hi]n.txt", "`[`"),
        ("cat $(echo in.txt)", "`$(…)`"),
        ("f=in.txt; cat $f", "`$f`"),
        ("echo $HOME", "`$HOME`"),
        ("sh -c 'cat $1' x in.txt", "`$1`"),
        ("cd . && cat ../in.txt || true", "a path that depends on `cd`"),
    ] {
        pack.write("p.plan", &format!("command a {{ run = \"{run}\" }}\n"));
        ok(pack.run(&[]));
        let came = ok(pack.run(&["--reuse", "latest", "--dry-run"]));
        let wanted = format!("its command has {what}, which may name any file");
        assert!(came.out.contains(&format!("afresh: {wanted}")), "{run}: {}", came.out);
        ok(pack.run(&["--reuse", "latest"]));
        assert_eq!((ran(&pack), why(&pack, "a")), (vec!["a".to_owned()], wanted), "{run}");
    }
}

#[test]
fn what_changed_while_a_task_ran_is_not_what_it_read() {
    let pack =
        Pack::new("command a { run = \"cat in.txt; echo >> a.n; until [ -e go ]; do sleep 0.02; done\" }\n");
    pack.write("in.txt", "1");
    let mut run =
        pack.command(&["run", "--plan", "p.plan"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    pack.wait_for("a.n");
    pack.write("in.txt", "2");
    pack.write("go", "");
    assert!(run.wait().unwrap().success());
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), ["a"]);
    assert_eq!(why(&pack, "a"), "`in.txt` changed while it ran there");
    ok(pack.run(&["--reuse", "latest"]));
    assert_eq!(ran(&pack), Vec::<String>::new(), "nothing changed while it ran again");
}

#[test]
fn a_script_that_cannot_be_run_any_more_has_changed() {
    use std::os::unix::fs::PermissionsExt;
    let pack = Pack::new("command a { run = \"./a.sh\" }\n");
    script(&pack, "a.sh", "true");
    ok(pack.run(&[]));
    std::fs::set_permissions(pack.file("a.sh"), std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(pack.run(&["--reuse", "latest"]).code, 3);
    assert_eq!(why(&pack, "a"), "`a.sh` has changed");
}
