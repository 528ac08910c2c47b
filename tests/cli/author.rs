//! What authors use beside `check`: fmt, show, params, init, explain, reference, completions.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Stdio;

use serde_json::{Value, json};

use super::pack::{Pack, came};

const UGLY: &str = "command   a{run=\"true\",\n   retries=1}\n";
const NEAT: &str = "command a {\n    run     = \"true\"\n    retries = 1\n}\n";

#[test]
fn fmt_replaces_a_file_and_keeps_its_mode_and_its_links() {
    let pack = Pack::new(UGLY);
    std::fs::set_permissions(pack.file("p.plan"), std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("p.plan", pack.file("link.plan")).unwrap();
    let came = pack.plan(&["fmt", "link.plan"]);
    assert_eq!((came.code, came.out.as_str(), came.err.as_str()), (0, "", ""));
    let neat = pack.read("p.plan");
    assert_ne!(neat, UGLY);
    assert!(pack.file("link.plan").is_symlink());
    let before = std::fs::metadata(pack.file("p.plan")).unwrap();
    assert_eq!(before.mode() & 0o7777, 0o640);
    assert_eq!(pack.names("."), ["link.plan", "p.plan"], "nothing is left over");
    // What is in the style already is not touched.
    assert_eq!(pack.plan(&["fmt", "."]).code, 0);
    assert_eq!(std::fs::metadata(pack.file("p.plan")).unwrap().ino(), before.ino());
    assert_eq!(pack.read("p.plan"), neat);
}

#[test]
fn fmt_check_names_what_would_change() {
    let pack = Pack::new(UGLY);
    pack.write("neat.plan", NEAT);
    let came = pack.plan(&["fmt", "--check", "p.plan", "neat.plan"]);
    assert_eq!((came.code, came.out.as_str()), (1, "p.plan\n"));
    assert_eq!(pack.read("p.plan"), UGLY);
    assert_eq!(pack.plan(&["fmt", "--check", "neat.plan"]).code, 0);
}

#[test]
fn fmt_leaves_files_with_errors_alone_and_does_the_others() {
    let broken = "command   a{run=\n}\n";
    let pack = Pack::new(broken);
    pack.write("q.plan", UGLY);
    let came = pack.plan(&["fmt", "p.plan", "q.plan"]);
    assert_eq!(came.code, 1);
    assert!(came.err.contains("p.plan:2:1") || came.err.contains("p.plan:1:"), "{came:?}");
    assert_eq!(pack.read("p.plan"), broken);
    assert_ne!(pack.read("q.plan"), UGLY);
    let missing = pack.plan(&["fmt", "nowhere.plan"]);
    assert_eq!(missing.code, 1);
    assert!(missing.err.starts_with("plan: cannot read nowhere.plan"), "{missing:?}");
    // Bytes that are no text are no plan either.
    std::fs::write(pack.file("latin.plan"), b"command a { run = \"\xe9\" }\n").unwrap();
    assert_eq!(pack.plan(&["fmt", "latin.plan"]).code, 1);
    assert_eq!(std::fs::read(pack.file("latin.plan")).unwrap(), b"command a { run = \"\xe9\" }\n");
}

const AUDIT: &str = r#"## Audits.
plan "audit" {
    goal   = "No advisory."
    budget = { usd = 2.50, time = 20m }
    result = triage
}

param severity: "low" | "high" = "high" { doc = "least severity" }

command scan { run = "./scan.sh", emits = { packages: [string], "odd\"name": integer } }

group checks {
    ## One package.
    command audit {
        depends_on = [scan]
        over       = scan.packages
        required   = false
        run        = "./audit.sh"
    }
}

command triage { depends_on = [audit], join = "settled", when = audit.status != "skipped", run = "./triage.sh" }

command report { stage = "epilogue", run = "./report.sh", emits_files = ["REPORT.md"] }
"#;

#[test]
fn show_draws_the_plan_in_four_ways() {
    let pack = Pack::new(AUDIT);
    let show = |format: &str| {
        let came = pack.plan(&["show", "--format", format, "p.plan"]);
        assert_eq!((came.code, came.err.as_str()), (0, ""));
        came.out
    };
    insta::assert_snapshot!("show-text", show("text"));
    insta::assert_snapshot!("show-mermaid", show("mermaid"));
    insta::assert_snapshot!("show-dot", show("dot"));
    let document: Value = serde_json::from_str(&show("json")).unwrap();
    assert_eq!(document["schema"], 1);
    assert_eq!(document["name"], "audit");
    assert_eq!(document["tasks"].as_array().unwrap().len(), 4);
    // What does not check is not shown.
    pack.write("bad.plan", "command a { runn = \"true\" }\n");
    let came = pack.plan(&["show", "bad.plan"]);
    assert_eq!((came.code, came.out.as_str()), (1, ""));
    assert!(came.err.contains("runn") && came.err.contains("plan: bad.plan has"), "{came:?}");
}

#[test]
fn a_machine_is_drawn_with_its_edges() {
    let pack = Pack::new(
        "plan \"refactor\" {}\n\nmachine m {\n    command build { run = \"make\" }\n    \
         command test { run = \"make test\", goal_gate = true, retry_target = build }\n    \
         start -> build -> test\n    test -> build if outcome == \"fail\" label \"again\" weight 2\n    \
         test -> exit default\n}\n",
    );
    for format in ["text", "mermaid", "dot"] {
        let came = pack.plan(&["show", "--format", format, "p.plan"]);
        assert_eq!((came.code, came.err.as_str()), (0, ""));
        insta::assert_snapshot!(format!("show-machine-{format}"), came.out);
    }
}

#[test]
fn params_are_a_json_schema_whatever_else_is_wrong() {
    let pack = Pack::new(
        "param target: string { doc = \"what to build\", pattern = \"^[a-z]+$\" }\n\n\
         param count: integer = 2 { min = 1, max = 5 }\n\ncommand a { runn = \"true\" }\n",
    );
    let came = pack.plan(&["params", "p.plan"]);
    assert_eq!(came.code, 0, "{came:?}");
    let schema: Value = serde_json::from_str(&came.out).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["required"], json!(["target"]));
    assert_eq!(schema["properties"]["count"]["maximum"], 5);
    assert_eq!(schema["properties"]["target"]["pattern"], "^[a-z]+$");
    pack.write("bad.plan", "param x: thing\n");
    let came = pack.plan(&["params", "bad.plan"]);
    assert_eq!((came.code, came.out.as_str()), (1, ""));
}

#[test]
fn init_writes_a_pack_that_checks_and_runs_and_overwrites_nothing() {
    let pack = Pack::new("");
    std::fs::remove_file(pack.file("p.plan")).unwrap();
    let came = pack.plan(&["init", "new/my words"]);
    assert_eq!(came.code, 0, "{came:?}");
    assert_eq!(pack.names("new/my words"), ["README.md", "my-words.plan", "scripts", "tests", "texts"]);
    let checked = pack.plan(&["check", "new"]);
    assert_eq!((checked.code, checked.err.as_str()), (0, "checked 1 file: nothing wrong\n"));
    assert_eq!(pack.plan(&["fmt", "--check", "new"]).code, 0, "it is in the one style");
    let run = pack.plan(&["run", "--plan", "new/my words/my-words.plan"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(pack.read("new/my words/REPORT.md").contains("\"completed\""));
    let failed = pack.plan(&["run", "--plan", "new/my words/my-words.plan", "--param", "least=1000"]);
    assert_eq!(failed.code, 3, "{failed:?}");
    let again = pack.plan(&["init", "new/my words"]);
    assert_eq!(again.code, 1);
    assert!(again.err.contains("my-words.plan is there already; nothing was written"), "{again:?}");
    // One file in the way is enough, and nothing else is written then.
    std::fs::create_dir(pack.file("other")).unwrap();
    pack.write("other/README.md", "mine\n");
    assert_eq!(pack.plan(&["init", "other"]).code, 1);
    assert_eq!(pack.names("other"), ["README.md"]);
}

#[test]
fn explain_says_what_a_code_means_and_suggests_near_ones() {
    let pack = Pack::new("");
    let came = pack.plan(&["explain", "plan::join::no_dependencies"]);
    assert_eq!(came.code, 0);
    assert!(came.out.starts_with("plan::join::no_dependencies (error)\nA join over no dependencies\n\n"));
    assert!(came.out.contains("    command triage { join = \"settled\""), "{came:?}");
    let near = pack.plan(&["explain", "plan::join::no_dependancies"]);
    assert_eq!((near.code, near.out.as_str()), (1, ""));
    assert!(near.err.contains("did you mean `plan::join::no_dependencies`?"), "{near:?}");
    let list = pack.plan(&["explain"]);
    for entry in plan::catalog::entries() {
        assert!(list.out.contains(entry.code.id), "{}", entry.code.id);
    }
}

#[test]
fn reference_looks_up_blocks_fields_and_names() {
    let pack = Pack::new("");
    for (word, has) in [
        ("command", "Runs a command."),
        ("depends_on", "field `depends_on` of every task"),
        ("budget", "usd"),
        ("item", "reserved name `item`"),
        ("goal_gate", "a machine's nodes"),
        ("otherwise", "function `otherwise(route.question)`"),
        ("file", "function `file(\"path\")`"),
        ("budget.usd", "key `usd` of `budget`"),
        ("steps", "key `steps` of `budget`"),
        ("string", "type `string`"),
        ("exit", "word of a machine's edges `exit`"),
        ("label", "word of a machine's edges `label`"),
        ("weight", "word of a machine's edges `weight`"),
    ] {
        let came = pack.plan(&["reference", word]);
        assert_eq!(came.code, 0, "{word}: {came:?}");
        assert!(came.out.contains(has), "{word}: {came:?}");
    }
    let near = pack.plan(&["reference", "timeuot"]);
    assert_eq!(near.code, 1);
    assert!(near.err.contains("did you mean `timeout`?"), "{near:?}");
    let page = pack.plan(&["reference", "--markdown"]);
    assert_eq!(page.out, plan::reference::markdown::render());
}

#[test]
fn every_command_explains_itself_with_examples() {
    let pack = Pack::new("");
    let help = pack.plan(&["--help"]);
    assert_eq!(help.code, 0);
    let commands = help.out.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let names: Vec<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        let came = pack.plan(&[name, "--help"]);
        assert_eq!((came.code, came.err.as_str()), (0, ""), "{name}");
        assert!(came.out.contains("Examples:"), "{name} has no examples");
    }
    assert_eq!(pack.plan(&["chek"]).code, 2);
    assert_eq!(pack.plan(&[]).code, 2);
}

#[test]
fn completions_are_for_five_shells() {
    let pack = Pack::new("");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let came = pack.plan(&["completions", shell]);
        assert_eq!(came.code, 0, "{came:?}");
        assert!(came.out.contains("explain"), "{shell}");
    }
    let mut bash = std::process::Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    let script = pack.plan(&["completions", "bash"]).out;
    std::io::Write::write_all(&mut bash.stdin.take().unwrap(), script.as_bytes()).unwrap();
    assert_eq!(came(bash.wait_with_output().unwrap()).code, 0);
}
