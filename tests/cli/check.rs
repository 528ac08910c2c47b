//! `plan check`: its documents, its exit codes, and what it reads.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use super::pack::{Came, Pack, came};

const BAD: &str = "command scan { run = \"./scan.sh\" }\n\ncommand triage {\n    join = \"settled\"\n    run  = \"./triage.py\"\n}\n";
const GOOD: &str = "command a { run = \"true\" }\n";
const WARNS: &str = "command a { shell = \"sh\", run = \"ls | sort\" }\n";

fn json(came: &Came) -> Value {
    assert_eq!(came.out.lines().count(), 1, "one document: {came:?}");
    serde_json::from_str(&came.out).unwrap()
}

/// Runs the program with something on its standard input.
fn fed(pack: &Pack, arguments: &[&str], input: &[u8]) -> Came {
    let mut child = pack
        .command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    came(child.wait_with_output().unwrap())
}

#[test]
fn the_document_is_what_the_manual_says() {
    let pack = Pack::new(BAD);
    let came = pack.plan(&["check", "--format", "json", "p.plan"]);
    assert_eq!((came.code, came.err.as_str()), (1, ""));
    let expected = json!({"schema": 1, "errors": 1, "warnings": 0, "diagnostics": [{
        "code": "plan::join::no_dependencies", "severity": "error",
        "message": "`triage` has no dependency to join",
        "help": "name at least one task, as in `depends_on = [audit]`, or drop `join`",
        "file": "p.plan", "line": 4, "column": 12, "span": {"start": 64, "end": 73},
        "label": "waits for every dependency",
        "related": [{"file": "p.plan", "line": 3, "column": 9, "span": {"start": 44, "end": 50},
                     "message": "declared without `depends_on`"}]}]});
    assert_eq!(json(&came), expected);
    let keys: Vec<String> = json(&came)["diagnostics"][0].as_object().unwrap().keys().cloned().collect();
    let order = ["code", "severity", "message", "help", "file", "line", "column", "span", "label", "related"];
    assert_eq!(keys, order);
}

#[test]
fn warnings_leave_the_exit_code_and_nothing_wrong_is_an_empty_list() {
    let pack = Pack::new(WARNS);
    pack.write("good.plan", GOOD);
    let warned = json(&pack.plan(&["check", "--format", "json", "p.plan"]));
    assert_eq!((&warned["errors"], &warned["warnings"]), (&json!(0), &json!(1)));
    let came = pack.plan(&["check", "p.plan"]);
    assert_eq!((came.code, came.out.as_str()), (0, ""));
    assert!(came.err.contains("plan::shell::pipe_under_sh") && came.err.contains("1 warning"), "{came:?}");
    let good = json(&pack.plan(&["check", "--format", "json", "good.plan"]));
    assert_eq!(good, json!({"schema": 1, "errors": 0, "warnings": 0, "diagnostics": []}));
}

#[test]
fn several_files_and_directories_make_one_document() {
    let pack = Pack::new(GOOD);
    std::fs::create_dir_all(pack.file("more/deep/.hidden")).unwrap();
    pack.write("more/lib.plan", "template t(x) { command f\"{x}\" { runn = \"true\" } }\n");
    pack.write("more/deep/a.plan", "import \"../lib.plan\"\n");
    pack.write("more/deep/.hidden/b.plan", BAD);
    pack.write("more/deep/notes.md", BAD);
    pack.write("more/c.plan", BAD);
    std::os::unix::fs::symlink("..", pack.file("more/up")).unwrap();
    let came = pack.plan(&["check", "--format", "json", "p.plan", "more"]);
    let document = json(&came);
    let files: Vec<&str> = document["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["file"].as_str().unwrap())
        .collect();
    assert!(files.contains(&"more/c.plan"), "{document}");
    assert!(!files.iter().any(|file| file.contains(".hidden") || file.contains("up/")), "{document}");
    assert_eq!(came.code, 1);
    let text = pack.plan(&["check", "p.plan", "more"]);
    assert!(text.err.contains("checked 4 files"), "{text:?}");
    std::fs::create_dir(pack.file("empty")).unwrap();
    let empty = pack.plan(&["check", "empty"]);
    assert_eq!((empty.code, empty.err.as_str()), (1, "plan: there is no `.plan` file in empty\n"));
}

#[test]
fn what_an_imported_file_has_wrong_is_told_once() {
    let pack = Pack::new("import \"lib.plan\"\n\nuse t(\"a\")\n");
    pack.write("q.plan", "import \"lib.plan\"\n\nuse t(\"b\")\n");
    pack.write("lib.plan", "template t(x) {\n    command f\"{x}\" { run = \"true\", retries = 11 }\n}\n");
    let came = pack.plan(&["check", "--format", "json", "p.plan", "q.plan"]);
    let document = json(&came);
    assert_eq!(document["errors"], 1, "{document}");
    assert_eq!(document["diagnostics"][0]["file"], "lib.plan");
    let came = pack.plan(&["check", "p.plan", "q.plan"]);
    assert_eq!(came.err.matches("plan::value::out_of_range").count(), 1, "{came:?}");
}

#[test]
fn a_library_below_its_pack_is_checked_with_those_that_import_it() {
    let pack = Pack::new("import \"lib/tasks.plan\"\n\nuse t(\"a\")\n");
    std::fs::create_dir_all(pack.file("lib")).unwrap();
    pack.write("common.plan", "let greeting = \"hello\"\n");
    let text = "import \"../common.plan\"\n\ntemplate t(x) {\n    command f\"{x}\" { run = [\"echo\", greeting] }\n}\n";
    pack.write("lib/tasks.plan", text);
    let came = pack.plan(&["check", "."]);
    assert_eq!(came.code, 0, "{came:?}");
    assert!(came.err.contains("checked 3 files: nothing wrong"), "{came:?}");
    let quiet = pack.plan(&["check", "--quiet", "."]);
    assert_eq!((quiet.code, quiet.err.as_str()), (0, ""), "{quiet:?}");
    // Named, it is looked at as what it would be by itself.
    assert_eq!(pack.plan(&["check", "lib/tasks.plan"]).code, 1);
    pack.write("lib/tasks.plan", &text.replace("run", "rnu"));
    assert_eq!(pack.plan(&["check", "-q", "."]).err.matches("plan::field::unknown").count(), 1);
}

#[test]
fn findings_of_a_file_come_in_its_order() {
    let pack = Pack::new(
        "template t(x) {\n    command f\"{x}\" { run = \"true\", retries = x }\n}\n\nuse t(1)\n\nlet y = z\n",
    );
    pack.write("q.plan", "import \"p.plan\"\n\nuse t(\"a\")\n");
    let document = json(&pack.plan(&["check", "--format", "json", "p.plan", "q.plan"]));
    let places: Vec<(&str, u64)> = document["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| (found["file"].as_str().unwrap(), found["line"].as_u64().unwrap()))
        .collect();
    let mut sorted = places.clone();
    sorted.sort();
    assert!(places.len() > 2, "{document}");
    assert_eq!(places, sorted, "{document}");
}

#[test]
fn standard_input_is_a_file_of_this_directory() {
    let pack = Pack::new(GOOD);
    pack.write("prompt.md", "Do it.\n");
    let came = fed(&pack, &["check", "-"], b"agent a { prompt = file(\"prompt.md\") }\n");
    assert_eq!(came.code, 0, "{came:?}");
    let came = fed(&pack, &["check", "--format", "json", "-"], BAD.as_bytes());
    assert_eq!(json(&came)["diagnostics"][0]["file"], "-");
}

#[test]
fn what_cannot_be_read_is_named() {
    let pack = Pack::new(GOOD);
    let came = pack.plan(&["check", "nowhere/x.plan"]);
    assert_eq!(came.code, 1);
    assert!(came.err.contains("nowhere/x.plan"), "{came:?}");
    let document = json(&pack.plan(&["check", "--format", "json", "nowhere/x.plan", "p.plan"]));
    assert_eq!(document["diagnostics"][0]["file"], "nowhere/x.plan", "{document}");
    assert_eq!(document["errors"], 1);
    let came = pack.plan(&["check"]);
    assert_eq!(came.code, 2);
}

#[test]
fn sarif_and_github_say_the_same() {
    let pack = Pack::new(BAD);
    let came = pack.plan(&["check", "--format", "sarif", "p.plan"]);
    assert_eq!(came.code, 1);
    let sarif = json(&came);
    let run = &sarif["runs"][0];
    assert_eq!((&sarif["version"], &run["tool"]["driver"]["name"]), (&json!("2.1.0"), &json!("plan")));
    let result = &run["results"][0];
    assert_eq!(result["ruleId"], "plan::join::no_dependencies");
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], result["ruleId"]);
    assert_eq!(result["level"], "error");
    let region = &result["locations"][0]["physicalLocation"]["region"];
    let place = |key: &str| region[key].as_u64().unwrap();
    assert_eq!(
        (place("startLine"), place("startColumn"), place("endLine"), place("endColumn")),
        (4, 12, 4, 21)
    );
    assert_eq!(result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"], 3);
    let came = pack.plan(&["check", "--format", "github", "p.plan"]);
    assert_eq!(
        came.out,
        "::error file=p.plan,line=4,endLine=4,col=12,endColumn=21,title=plan%3A%3Ajoin%3A%3Ano_dependencies::\
         `triage` has no dependency to join%0Ahelp: name at least one task, as in `depends_on = [audit]`, or \
         drop `join`\n"
    );
}

#[test]
fn colours_and_control_characters_do_not_reach_a_pipe() {
    let pack = Pack::new("command a { run = \"\u{1b}[31m\" }\u{7}\ncommand b { runn = \"true\" }\n");
    for no_colour in ["", "1"] {
        let output = pack.command(&["check", "p.plan"]).env("NO_COLOR", no_colour).output().unwrap();
        assert!(!output.stderr.contains(&0x1b) && !output.stderr.contains(&0x07));
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn a_line_of_a_megabyte_is_cut_around_the_place() {
    let long = "\"aaaaaaa\", ".repeat(50_000);
    let pack = Pack::new(&format!("let xs = [{long}nobody, {long}]\n\ncommand a {{ run = xs }}\n"));
    let came = pack.plan(&["check", "p.plan"]);
    assert!(came.err.contains("nobody") && came.err.contains("p.plan:1:550011"), "{}", came.err.len());
    assert!(came.err.len() < 5_000, "{}", came.err.len());
}

/// A reader that has read enough is no failure.
#[test]
fn a_closed_pipe_is_no_failure() {
    let pack = Pack::new(GOOD);
    let mut child = pack
        .command(&["reference", "--markdown"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let came = came(child.wait_with_output().unwrap());
    assert_eq!((came.code, came.err.as_str()), (0, ""));
}

#[test]
fn a_plan_can_be_played() {
    let pack = Pack::new(
        "param n: integer\ncommand a { run = \"true\", emits = { v: integer } }\n\
         command b { depends_on = [a], when = a.v > n, run = \"true\" }\n\
         command c { depends_on = [b], when = a.v < 2, run = \"true\" }\n",
    );
    let came = pack.plan(&["check", "--explore", "p.plan"]);
    assert_eq!(came.code, 1);
    assert!(came.err.contains("p.plan: not explored: it needs --param n=…"), "{}", came.err);
    let came = pack.plan(&["check", "--explore", "--param", "n=3", "p.plan"]);
    assert!(came.err.contains("`c` never runs"), "{}", came.err);
    assert!(came.err.contains("ways: all there are, one task at a time"), "{}", came.err);
    let came = pack.plan(&["check", "--explore=2", "--param", "n=3", "--format", "json", "p.plan"]);
    let document = json(&came);
    assert_eq!(document["diagnostics"][0]["message"], "`c` was not seen to run with `n` = 3");
    assert!(
        document["explored"]["p.plan"].as_str().unwrap().starts_with("explored 2 ways of more"),
        "{document}"
    );
    // What has no place for it says it beside.
    let came = pack.plan(&["check", "--explore", "--format", "sarif", "p.plan"]);
    assert_eq!(came.code, 1);
    assert!(came.err.contains("not explored: it needs"), "{}", came.err);
    // A value is for the plans that have the parameter.
    pack.write("q.plan", "command a { run = \"true\" }\n");
    let came = pack.plan(&["check", "--explore", "--param", "n=3", "."]);
    assert_eq!(came.code, 0, "{}", came.err);
    let came = pack.plan(&["check", "--explore", "--param", "m=3", "q.plan"]);
    assert!(came.code == 1 && came.err.contains("no plan has a parameter `m`"), "{}", came.err);
    assert_eq!(pack.plan(&["check", "--param", "n=3", "p.plan"]).code, 2);
    assert_eq!(pack.plan(&["check", "--explore=0", "p.plan"]).code, 2);
}
