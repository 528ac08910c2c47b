//! What a launch gives, and what comes of it: typed values, refusals that name the parameter, the schema.

use camino::Utf8Path;
use plan::compile::{Bindings, Compiled, compile, declared};
use plan::ir::Value;
use plan::load::Pack;
use plan::lower::params::json_schema;

const PLAN: &str = r#"
param target: string { doc = "what to build", pattern = "^[a-z]+$" }
param level: "low" | "high" = "high"
param count: integer = 2 { min = 1, max = 5 }
param ratio: number = 0.50
param names: [string] = ["x"] { pattern = "^[a-z]$" }
param strict: boolean = true

command a { env = { TARGET = target }, retries = count, run = "true" }
"#;

fn launch(file: Option<(&str, &str)>, arguments: &[&str]) -> Compiled {
    let mut pack = Pack::in_memory();
    pack.set("p.plan", PLAN);
    let bindings = Bindings::launch(file, arguments).unwrap();
    compile(&mut pack, Utf8Path::new("p.plan"), &bindings)
}

fn found(compiled: &Compiled) -> Vec<(&str, usize, String)> {
    let line = |span: plan::source::Span| compiled.sources.get(span.file).place(span.start as usize).line;
    let one = |found: &plan::diag::Diagnostic| {
        let help = found.help.as_deref().map_or_else(String::new, |help| format!(" ({help})"));
        (found.code.id, line(found.span), format!("{}{help}", found.message))
    };
    compiled.diagnostics.iter().map(one).collect()
}

#[test]
fn values_have_their_types_and_reach_the_plan() {
    let arguments = ["target=web", "level=low", "count=5", "ratio=1", "names=[\"a\", \"b\"]", "strict=false"];
    let plan = launch(None, &arguments).plan.expect("every value fits");
    let values: Vec<Value> = plan.params.iter().map(|param| param.value.clone().unwrap()).collect();
    let text = |text: &str| Value::String(text.into());
    let wanted = [
        text("web"),
        text("low"),
        Value::Integer(5),
        Value::Number(1.0, "1".into()),
        Value::List(vec![text("a"), text("b")]),
        Value::Boolean(false),
    ];
    assert_eq!(values, wanted);
    assert_eq!(plan.tasks[0].env, [("TARGET".into(), "web".into())]);
    assert_eq!(plan.tasks[0].retries, 5);
}

#[test]
fn a_file_gives_values_and_arguments_win() {
    for (path, text) in [
        ("p.toml", "target = \"file\"\ncount = 3\nnames = [\"q\"]\n"),
        ("p.json", r#"{"target": "file", "count": 3, "names": ["q"]}"#),
    ] {
        let plan = launch(Some((path, text)), &["count=4"]).plan.expect("every value fits");
        assert_eq!(plan.params[0].value, Some(Value::String("file".into())), "{path}");
        assert_eq!(plan.params[2].value, Some(Value::Integer(4)), "{path}");
    }
}

#[test]
fn refusals_name_the_parameter() {
    let wrong = launch(None, &["tagret=x", "level=hihg", "count=9", "ratio=much", "names=a,b", "strict=yes"]);
    assert!(wrong.plan.is_none());
    let found = found(&wrong);
    let wanted = [
        ("plan::param::unknown", 1, "the plan has no parameter `tagret` (did you mean `target`?)"),
        (
            "plan::param::missing",
            2,
            "the parameter `target` has no value (give one, as in `--param target=…`)",
        ),
        (
            "plan::param::invalid",
            3,
            "the parameter `level` has to be `\"low\"` or `\"high\"`, and is \"hihg\"; did you mean `high`?",
        ),
        ("plan::param::invalid", 4, "the parameter `count` has to be at most 5, and is 9"),
        ("plan::param::invalid", 5, "the parameter `ratio` has to be a number, and is \"much\""),
        (
            "plan::param::invalid",
            6,
            "the parameter `names` has to be a list, written as in '[\"a\", \"b\"]', and is \"a,b\"",
        ),
        ("plan::param::invalid", 7, "the parameter `strict` has to be `true` or `false`, and is \"yes\""),
    ];
    let wanted: Vec<_> = wanted.map(|(code, line, message)| (code, line, message.to_owned())).to_vec();
    assert_eq!(found, wanted);
}

#[test]
fn constraints_hold_for_elements_and_for_files() {
    let wrong = launch(Some(("p.json", r#"{"target": "Web", "count": 1.5, "names": ["a", "bb"]}"#)), &[]);
    let messages: Vec<String> = found(&wrong).into_iter().map(|(_, _, message)| message).collect();
    let wanted = [
        "the parameter `target` has to match `^[a-z]+$`, and \"Web\" does not",
        "the parameter `count` has to be an integer, and is a number",
        "the parameter `names` has to match `^[a-z]$`, and \"bb\" does not",
    ];
    assert_eq!(messages, wanted);
}

#[test]
fn a_check_needs_no_values() {
    let mut pack = Pack::in_memory();
    pack.set("p.plan", PLAN);
    let checked = compile(&mut pack, Utf8Path::new("p.plan"), &Bindings::check());
    let plan = checked.plan.expect("nothing is missing");
    assert_eq!(plan.params[0].value, None);
    assert_eq!(plan.tasks[0].env, [("TARGET".into(), "<target>".into())]);
}

#[test]
fn the_schema_says_what_a_launch_takes() {
    let mut pack = Pack::in_memory();
    // The rest of the file is not looked at.
    pack.set("p.plan", format!("{PLAN}\ncommand b {{ depends_on = [nobody] }}\n"));
    let declared = declared(&mut pack, Utf8Path::new("p.plan"));
    let params = declared.params.expect("no parameter has an error");
    let schema = json_schema(&declared.name, &params);
    let wanted = serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "p",
        "type": "object",
        "properties": {
            "target": {"type": "string", "pattern": "^[a-z]+$", "description": "what to build"},
            "level": {"enum": ["low", "high"], "default": "high"},
            "count": {"type": "integer", "minimum": 1, "maximum": 5, "default": 2},
            "ratio": {"type": "number", "default": 0.5},
            "names": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]$"}, "default": ["x"]},
            "strict": {"type": "boolean", "default": true},
        },
        "required": ["target"],
        "additionalProperties": false,
    });
    assert_eq!(schema, wanted);
    assert!(jsonschema::validator_for(&schema).is_ok());
}
