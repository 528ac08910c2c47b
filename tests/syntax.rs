//! Properties of parsing and formatting, over every plan of this repository and over plans that nobody
//! would write.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plan::fmt::format;
use plan::source::Sources;
use plan::syntax::{self, Parsed};
use proptest::prelude::*;

/// Every plan of this repository.
fn plans() -> Vec<(PathBuf, String)> {
    fn collect(directory: &Path, found: &mut Vec<(PathBuf, String)>) {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|end| end == "plan") {
                let (text, malformed) = plan::source::decode(std::fs::read(&path).unwrap());
                if malformed.is_none() {
                    found.push((path, text));
                }
            }
        }
    }
    let mut found = Vec::new();
    for directory in ["packs", "tests"] {
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(directory), &mut found);
    }
    assert!(!found.is_empty(), "there are plans");
    found
}

/// Parses a text, and looks at what must hold for every text.
fn parse(text: &str) -> Parsed {
    let mut sources = Sources::new();
    let file = sources.add("case.plan", text);
    let parsed = syntax::parse(&sources, file);
    let mut last = 0;
    for finding in parsed.diagnostics.iter() {
        let span = finding.span;
        assert!(text.get(span.range()).is_some(), "{span:?} is no place in {text:?}");
        assert!(span.start >= last, "findings are in order in {text:?}");
        last = span.start;
        for related in &finding.related {
            assert!(text.get(related.span.range()).is_some(), "{related:?} is no place in {text:?}");
        }
    }
    for comment in &parsed.comments {
        assert!(text[comment.span.range()].starts_with('#'), "{comment:?} is no comment in {text:?}");
    }
    parsed
}

fn formatted(text: &str) -> Option<String> {
    let mut sources = Sources::new();
    let file = sources.add("case.plan", text);
    format(&sources, file).ok()
}

/// The tree without its places.
fn shape(parsed: &Parsed) -> String {
    let debug = format!("{:?}", parsed.ast);
    let mut rest = debug.as_str();
    let mut shape = String::with_capacity(debug.len() / 2);
    while let Some((before, behind)) = rest.split_once("Span { ") {
        shape.push_str(before);
        rest = behind.split_once(" }").map_or("", |(_, rest)| rest);
    }
    shape + rest
}

fn remarks<'a>(text: &'a str, parsed: &Parsed) -> Vec<&'a str> {
    parsed.comments.iter().map(|comment| text[comment.span.range()].trim_end()).collect()
}

/// A text that parses formats to one that means the same, and stays as it is when it is formatted again.
fn check_format(text: &str) {
    let before = parse(text);
    let Some(once) = formatted(text) else {
        assert!(before.diagnostics.has_errors(), "a text without errors can be formatted: {text:?}");
        return;
    };
    assert!(!before.diagnostics.has_errors(), "a text with errors is left alone: {text:?}");
    let after = parse(&once);
    assert!(!after.diagnostics.has_errors(), "{:#?}\n{text}\nbecame\n{once}", after.diagnostics);
    assert_eq!(shape(&before), shape(&after), "\n{text}\nbecame\n{once}");
    assert_eq!(remarks(text, &before), remarks(&once, &after), "\n{text}\nbecame\n{once}");
    assert_eq!(formatted(&once).as_deref(), Some(once.as_str()), "formatted twice: {text:?}");
    assert!(once.is_empty() || (once.ends_with('\n') && !once.ends_with("\n\n")), "{once:?}");
}

#[test]
fn every_plan_formats_to_one_that_means_the_same() {
    for (_, text) in plans() {
        check_format(&text);
        check_format(&text.replace('\n', "\r\n"));
        check_format(text.trim_end());
    }
}

/// Where a plan is broken over lines: before or behind each of these, all at once.
const BREAKABLE: &[(&str, &str)] = &[
    ("[", "["),
    ("]", "]"),
    ("(", "("),
    (")", ")"),
    ("{", "{"),
    ("}", "}"),
    (",", ","),
    ("=", "="),
    (":", ":"),
    ("|", "|"),
    ("->", "->"),
    ("==", "=="),
    ("+", "+"),
    (" and ", "and"),
    (" or ", "or"),
    (" in ", "in"),
];

#[test]
fn plans_broken_over_lines_format_to_ones_that_mean_the_same() {
    let mut broken = 0;
    for (_, text) in plans() {
        let whole = parse(&text);
        if whole.diagnostics.has_errors() {
            continue;
        }
        for (written, sign) in BREAKABLE {
            for joint in ["\n", " # broken\n"] {
                for with in [format!("{joint}{sign} "), format!(" {sign}{joint}")] {
                    let text = text.replace(written, &with);
                    broken += usize::from(!parse(&text).diagnostics.has_errors());
                    check_format(&text);
                }
            }
        }
    }
    assert!(broken > 1000, "{broken} of these are plans");
}

/// The appendix of the language says where a line break is a blank: there, one more changes nothing.
#[test]
fn a_line_break_is_a_blank_where_the_language_says_so() {
    let text = include_str!("fmt/broken.plan");
    let whole = parse(text);
    assert!(!whole.diagnostics.has_errors(), "{:#?}", whole.diagnostics);
    for sign in ["->", "|", "==", "!=", "<=", "+", " and ", " or ", " not in "] {
        for joint in ["\n", " # broken\n", "\n\n# broken\n"] {
            let sides = [format!("{joint}{sign}"), format!("{sign}{joint}"), format!("{joint}{sign}{joint}")];
            for with in sides {
                let broken = text.replace(sign, &with);
                let after = parse(&broken);
                assert!(!after.diagnostics.has_errors(), "{:#?}\n{broken}", after.diagnostics);
                assert_eq!(shape(&whole), shape(&after), "\n{broken}");
                check_format(&broken);
            }
        }
    }
}

#[test]
fn packs_are_formatted() {
    for (path, text) in plans() {
        if path.components().any(|part| part.as_os_str() == "packs") {
            assert_eq!(formatted(&text), Some(text), "run `plan fmt {}`", path.display());
        }
    }
}

#[test]
fn every_prefix_of_every_plan_parses() {
    let plans = plans();
    std::thread::scope(|scope| {
        for half in 0..2 {
            let plans = plans.iter().skip(half).step_by(2);
            scope.spawn(move || {
                for (path, text) in plans {
                    let start = Instant::now();
                    for (end, _) in text.char_indices() {
                        parse(&text[..end]);
                    }
                    assert!(start.elapsed() < Duration::from_secs(60), "{}", path.display());
                }
            });
        }
    });
}

/// Pieces that texts are made of, well formed or not.
const PIECES: &[&str] = &[
    "command",
    "agent",
    "route",
    "machine",
    "group",
    "for",
    "template",
    "use",
    "import",
    "let",
    "param",
    "plan",
    "profile",
    "verify",
    "question",
    "continue",
    "resolve",
    "a",
    "b",
    "x1",
    "label",
    "weight",
    "default",
    "in",
    "if",
    "not",
    "and",
    "or",
    "true",
    "\"s\"",
    "'l'",
    "\"\"\"\n  m\n  \"\"\"",
    "'''\n\tm\n'''",
    "f\"p{",
    "f\"x{a}y\"",
    "f\"\"\"\n  {a}\n  \"\"\"",
    "\"",
    "\"\"\"",
    "'",
    "3",
    "-0.5",
    "1h30m",
    "5x",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "=",
    "==",
    "!=",
    "<",
    ":",
    ",",
    ".",
    "?",
    "|",
    "->",
    "+",
    "-",
    ";",
    "#c\n",
    "## d\n",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "  ",
    "\t",
    "\\",
    "é",
    "\u{a0}",
    "\u{feff}",
    "\u{7}",
    "{{",
    "}}",
    "//",
    "$",
];

/// Members that belong together, so that more texts are plans.
const MEMBERS: &[&str] = &[
    "command a {",
    "}",
    "x = ",
    "x = 1",
    "y = [a,",
    "]",
    "m = { k = 1",
    "r = { k: string, o?: [a | \"b\"] }",
    "for x in [1, 2] {",
    "group g {",
    "template t(a, b = 1) {",
    "e = { a: [\n{ b: string }\n] }",
    "param q: [\nstring\n]",
    "a\n-> b\n-> c",
    "use t(1, b = 2)",
    "import \"x\"",
    "a -> b -> c",
    "a -> b if x == 1 and not (y in [1]) label \"l\" weight 2",
    "a -> b default",
    "param p: string = \"a\" {",
    "let l = f\"a{b}\" + \"c\"",
    "when = a.b == 1\n or c",
    "+ \"d\"",
    "and x != y",
    "file(\"a\")",
    "f(a = 1, 2)",
    "f\"t-{x}\".field",
    "\"key\" = 1",
    "# own line\n",
    " # behind\n",
    "## doc\n",
    "\n",
    ",",
    "\n\n\n",
    "\"\"\"\n a\n  b\n \"\"\"",
];

fn soup(pieces: &'static [&'static str], joint: &'static str) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(pieces), 0..40).prop_map(move |pieces| pieces.join(joint))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_pieces_parse(text in soup(PIECES, "")) {
        check_format(&text);
    }

    #[test]
    fn any_words_parse(text in soup(PIECES, " ")) {
        check_format(&text);
    }

    #[test]
    fn any_members_parse(text in soup(MEMBERS, "\n")) {
        check_format(&text);
    }

    #[test]
    fn any_text_parses(text in "\\PC{0,60}") {
        check_format(&text);
    }
}

/// What no input may do: crash, overflow the stack, or take more than linear time.
#[test]
fn monsters_end_soon() {
    let n = 20_000;
    let monsters = [
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        "[(",
        "{[",
        "[]",
        "\"",
        "'",
        "\"\"\"",
        "\"\"\" ",
        "'''\n",
        "f\"",
        "f\"{",
        "f\"{\n",
        "f\"\"\"{",
        "f\"\"\"",
        "#",
        "##\n",
        "# ",
        "\\",
        "\"\\",
        "\n",
        "\r",
        "\r\n",
        "\t",
        ",",
        ";",
        "a",
        "a ",
        "a\n",
        "a=",
        "a=\n",
        "a.",
        "a+",
        "a and ",
        "not ",
        "1",
        "1 ",
        "1h",
        "-",
        "->",
        "a->",
        "a -> b\n",
        "=",
        "==",
        "|",
        "?",
        ":",
        "é",
        "\u{a0}",
        "\u{feff}",
        "\0",
        "\u{7f}\n",
        "command ",
        "command a\n",
        "command a {",
        "command a {\n",
        "command a { run = [\n",
        "command a { run \"x\" }\n",
        "command \"\"\"\n",
        "command \\\"\"\"\n",
        "x = { a = ",
        "group g { ",
        "for x in [",
        "template t(",
        "use t(",
        "plan \"\"",
        "if ",
        "//",
        "/*",
        "“",
        "f'",
        "x y {\n",
        "let x = [1 2,\n",
        "}\n{",
        "]}\n",
        "x = \"a\" + ",
        "x: ",
        "{x: ",
        "{x?: [",
        "\"a\" | ",
        "{{",
        "}}",
        "f\"}",
        "command a {\n  x = [1,\n}\n",
    ];
    for monster in monsters {
        let text = monster.repeat(n);
        for text in [text.clone(), format!("command a {{ run = {text} }}"), format!("let x = [\n{text}\n]")] {
            let start = Instant::now();
            parse(&text);
            let took = start.elapsed();
            // Unoptimised, and with others beside it.
            assert!(took < Duration::from_secs(5), "{monster:?} took {took:?}");
        }
    }
}

#[test]
fn what_nests_too_deep_is_said_once() {
    for (open, close) in [("[", "]"), ("{ a = ", " }"), ("(", ")"), ("f(", ")")] {
        let deep = |n: usize| format!("let x = {}1{}\n", open.repeat(n), close.repeat(n));
        assert!(parse(&deep(128)).diagnostics.is_empty(), "{open}");
        let found = parse(&deep(129)).diagnostics;
        let codes: Vec<&str> = found.iter().map(|finding| finding.code.id).collect();
        assert_eq!(codes, ["plan::syntax::too_deep"], "{open}");
        check_format(&deep(128));
    }
}

#[test]
fn f_strings_that_nest_too_deep_are_said_once() {
    let deep = |n: usize| format!("let x = {}1{}\n", "f\"{".repeat(n), "}\"".repeat(n));
    check_format(&deep(63));
    for n in [65, 70, 500] {
        let found = parse(&deep(n)).diagnostics;
        let codes: Vec<&str> = found.iter().map(|finding| finding.code.id).collect();
        assert_eq!(codes, ["plan::syntax::too_deep"], "{n}: {found:?}");
    }
}

#[test]
fn long_chains_make_no_deep_trees() {
    let parsed = parse(&format!("let x = 1{}\n", " + 1".repeat(100_000)));
    assert!(parsed.diagnostics.is_empty());
    drop(parsed.ast.clone());
}

#[test]
fn what_is_too_large_is_said() {
    for (text, line) in [
        ("#".repeat((32 << 20) + 1), 1),
        (format!("\nlet x = 1{}\n\ncommand a {{ run = \"true\" }}\n", " + 1".repeat(500_000)), 2),
        ("\n[".repeat(1_000_200), 130),
    ] {
        let mut sources = Sources::new();
        let file = sources.add("case.plan", text);
        let found = syntax::parse(&sources, file).diagnostics;
        let first = found.iter().next().unwrap();
        assert_eq!(sources.get(file).line_of(first.span.start as usize), line, "{found:?}");
        assert!(matches!(first.code.id, "plan::syntax::too_large" | "plan::syntax::too_deep"), "{found:?}");
    }
}
