//! The layers hold: who may name whom, and what the pure middle may not touch.
//!
//! The source is read as text, with comments, strings and unit tests taken out. A new module has to be given
//! a row here before anything compiles against it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers, the outermost first. A module may use those below its row, and its neighbours in the row but
/// for [`APART`].
const LAYERS: &[&[&str]] = &[
    &["cli", "lsp", "catalog", "pages"],
    &["compile", "cases", "explore"],
    &["agents", "runner", "verifiers", "workspace", "clock"],
    &["report", "store"],
    &["exec"],
    &["validate"],
    &["load", "lower"],
    &["syntax", "fmt"],
    &["ir", "event", "history"],
    &["reference", "diag", "source", "glob", "template"],
];

/// Who keeps out of whom although the rows would allow it: `(who, whom)`.
const APART: &[(&str, &str)] = &[
    ("catalog", "cli"),
    ("pages", "cli"),
    ("runner", "workspace"),
    ("workspace", "runner"),
    ("runner", "report"),
    ("runner", "store"),
    ("workspace", "report"),
    ("workspace", "store"),
    ("verifiers", "report"),
    ("verifiers", "store"),
    ("agents", "report"),
    ("agents", "store"),
    ("report", "store"),
    ("store", "report"),
    ("report", "exec"),
    ("store", "exec"),
    ("cases", "store"),
    ("cases", "compile"),
    ("load", "lower"),
    ("syntax", "fmt"),
    ("diag", "reference"),
    ("source", "diag"),
    ("source", "reference"),
];

/// Libraries that only some files may name: `(library, where)`.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("pest", &["syntax/"]),
    ("pest_derive", &["syntax/"]),
    ("miette", &["diag/render.rs"]),
    ("minijinja", &["template.rs", "exec/render.rs"]),
    (
        "tokio",
        &["exec/driver.rs", "exec/attempt/", "agents/", "runner/", "verifiers/", "workspace/", "clock.rs"],
    ),
    ("rustix", &["exec/attempt/", "runner/", "verifiers/", "workspace/", "store/", "cli/", "clock.rs"]),
    ("clap", &["cli/"]),
];

/// What decides: no clock, no I/O, no randomness.
const PURE: &[&str] = &["exec/", "ir/", "event.rs", "history.rs", "history/"];

/// What drives, or only names what does.
const NOT_PURE: &[&str] = &["exec/driver.rs", "exec/attempt/", "exec/ports.rs"];

/// Compiled for tests only.
const FOR_TESTS: &[&str] = &["exec/testing.rs", "exec/tests/"];

/// What pure code may name of the standard library.
const PURE_STD: &[&str] = &[
    "borrow",
    "cell",
    "cmp",
    "collections::BTreeMap",
    "collections::BTreeSet",
    "collections::BinaryHeap",
    "collections::VecDeque",
    "convert",
    "fmt",
    "iter",
    "mem",
    "num",
    "ops",
    "slice",
    "str",
    "sync::Arc",
];

/// Libraries that pure code may name: none of them reads a clock, the environment or a file.
const PURE_LIBRARIES: &[&str] = &[
    "blake3",
    "camino",
    "compact_str",
    "indexmap",
    "memchr",
    "minijinja",
    "rustc_hash",
    "schemars",
    "serde",
    "serde_json",
];

/// What pure code may name besides: conversions of a time that somebody else has read, and the trait through
/// which a digest takes bytes.
const PURE_BESIDES: &[(&str, &str)] = &[
    ("ir/dump/mod.rs", "std::io"),
    ("event.rs", "jiff::Timestamp::from_millisecond"),
    ("event.rs", "jiff::Timestamp>"),
    ("event.rs", "jiff::Timestamp::as_millisecond"),
];

/// Words that have no business in pure code, however they got there.
const IMPURE: &[&str] = &[
    "Instant",
    "SystemTime",
    "RandomState",
    "HashMap<",
    "HashSet<",
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
    "dbg!",
    "thread_local!",
    "unsafe",
    "extern",
    "static mut",
    "async",
    "include_str!",
    "env!",
];

struct File {
    path: String,
    code: String,
}

impl File {
    fn is_in(&self, places: &[&str]) -> bool {
        places.iter().any(|place| {
            if place.ends_with('/') { self.path.starts_with(place) } else { self.path == *place }
        })
    }

    fn module(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }
}

fn sources() -> Vec<File> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    let mut stack = vec![root.clone()];
    while let Some(directory) = stack.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                stack.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(file(&root, &path));
            }
        }
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    assert!(files.len() > 30, "the sources are where this test looks for them");
    files
}

fn file(root: &Path, path: &Path) -> File {
    let text = fs::read_to_string(path).unwrap();
    let path = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    File { path, code: without_tests(&plain(&text)) }
}

/// The code without comments and without what strings and characters say.
fn plain(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if let Some(end) = raw_string(rest) {
            code.push_str("\"\"");
            at += end;
        } else if rest.starts_with('"') {
            let mut end = 1;
            while end < rest.len() && rest.as_bytes()[end] != b'"' {
                end += if rest.as_bytes()[end] == b'\\' { 2 } else { 1 };
            }
            code.push_str("\"\"");
            at += end + 1;
        } else if let Some(end) = character(rest) {
            code.push_str("' '");
            at += end;
        } else {
            let next = rest.chars().next().unwrap();
            code.push(next);
            at += next.len_utf8();
        }
    }
    code
}

/// The length of a raw string at the start of `rest`.
fn raw_string(rest: &str) -> Option<usize> {
    let start = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r')?;
    let hashes = start.len() - start.trim_start_matches('#').len();
    let body = start[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = body.find(&close)? + close.len();
    Some(rest.len() - body.len() + end)
}

/// The length of a character at the start of `rest`; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let body = rest.strip_prefix('\'')?;
    let mut chars = body.char_indices();
    let (_, first) = chars.next()?;
    if first == '\\' {
        return body[2..].find('\'').map(|end| end + 4);
    }
    let (at, second) = chars.next()?;
    (second == '\'').then_some(at + 2)
}

/// Unit tests stand at the end of a file.
fn without_tests(code: &str) -> String {
    code.find("#[cfg(test)]\nmod tests {").map_or(code, |at| &code[..at]).to_owned()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Every place where `root` begins a path: what follows it, one text a path, groups spread.
fn paths(code: &str, root: &str) -> Vec<String> {
    let wanted = format!("{root}::");
    let mut found = Vec::new();
    for (at, _) in code.match_indices(&wanted) {
        let before = code[..at].bytes().next_back();
        if before.is_some_and(|byte| is_word(byte) || byte == b':') {
            continue;
        }
        spread(&code[at + wanted.len()..], "", &mut found);
    }
    found
}

/// `a::{b, c::D}` as `a::b` and `a::c::D`.
fn spread(rest: &str, prefix: &str, found: &mut Vec<String>) -> usize {
    if let Some(group) = rest.strip_prefix('{') {
        let mut at = 1;
        let mut inner = group;
        loop {
            let skipped = inner.len() - inner.trim_start_matches([' ', '\n', ',']).len();
            inner = &inner[skipped..];
            at += skipped;
            if inner.is_empty() || inner.starts_with('}') {
                return at + 1;
            }
            let used = spread(inner, prefix, found).max(1);
            inner = &inner[used..];
            at += used;
        }
    }
    let word = rest.bytes().take_while(|&byte| is_word(byte)).count();
    let path = format!("{prefix}{}", &rest[..word]);
    match rest[word..].strip_prefix("::") {
        Some(after) if after.starts_with(|next: char| next.is_alphabetic() || next == '{' || next == '_') => {
            word + 2 + spread(after, &format!("{path}::"), found)
        }
        _ => {
            let alias = rest[word..].strip_prefix(" as ");
            let alias = alias.map_or(0, |alias| 4 + alias.bytes().take_while(|&byte| is_word(byte)).count());
            found.push(path);
            word + alias
        }
    }
}

fn row(module: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&module))
}

#[test]
fn no_module_looks_upward() {
    let mut wrong = String::new();
    for file in sources().iter().filter(|file| file.path.contains('/') || file.module() != "lib") {
        let module = file.module();
        if module == "main" {
            continue;
        }
        let Some(own) = row(module) else {
            panic!("`{module}` has no row in tests/architecture.rs: which layer is it?");
        };
        let named: BTreeSet<String> = paths(&file.code, "crate")
            .into_iter()
            .filter_map(|path| path.split("::").next().map(str::to_owned))
            .collect();
        for other in named.iter().filter(|other| *other != module) {
            let Some(its) = row(other) else {
                panic!("{}: `crate::{other}` has no row in tests/architecture.rs", file.path);
            };
            if its < own || APART.contains(&(module, other)) {
                writeln!(wrong, "{}: `{module}` may not use `{other}`", file.path).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn libraries_stay_where_they_belong() {
    let mut wrong = String::new();
    for file in sources() {
        for (library, places) in LIBRARIES {
            if !file.is_in(places) && !paths(&file.code, library).is_empty() {
                writeln!(wrong, "{}: `{library}` belongs to {places:?}", file.path).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What is wrong with pure code; empty where nothing is.
fn impurities(file: &File, dependencies: &[String]) -> Vec<String> {
    let mut wrong = Vec::new();
    for root in ["std", "core", "alloc"] {
        for path in paths(&file.code, root) {
            let allowed = PURE_STD.iter().any(|allowed| {
                path == *allowed || path.strip_prefix(allowed).is_some_and(|rest| rest.starts_with("::"))
            });
            if !allowed && !PURE_BESIDES.contains(&(&file.path, &format!("{root}::{path}"))) {
                wrong.push(format!("`{root}::{path}`"));
            }
        }
    }
    let besides = |library: &str| {
        let allowed = PURE_BESIDES.iter().filter(|(path, _)| *path == file.path);
        let allowed: usize = allowed.map(|(_, text)| file.code.matches(text).count()).sum();
        allowed == file.code.matches(&format!("{library}::")).count()
    };
    for library in dependencies {
        let named = !paths(&file.code, library).is_empty();
        if named && !PURE_LIBRARIES.contains(&library.as_str()) && !besides(library) {
            wrong.push(format!("`{library}`"));
        }
    }
    for word in IMPURE {
        for (at, _) in file.code.match_indices(word) {
            let before = file.code[..at].bytes().next_back();
            let after = file.code[at + word.len()..].bytes().next();
            let ends = word.bytes().next_back().is_some_and(|byte| !is_word(byte));
            if !before.is_some_and(is_word) && (ends || !after.is_some_and(is_word)) {
                wrong.push(format!("`{word}`"));
            }
        }
    }
    let inside_exec = |path: &str| {
        let mut parts = path.split("::");
        matches!((parts.next(), parts.next()), (Some("driver" | "attempt"), _))
            || (path.starts_with("ports") && path != "ports::Staged")
    };
    if file.path.starts_with("exec/") {
        for root in ["super", "self", "super::super", "crate::exec"] {
            let named = paths(&file.code, root).into_iter().filter(|path| inside_exec(path));
            wrong.extend(named.map(|path| format!("`{path}`")));
        }
    }
    wrong
}

/// The names of the libraries in `Cargo.toml`, as paths spell them.
fn dependencies() -> Vec<String> {
    let manifest = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    let section = manifest.split("\n[dependencies]\n").nth(1).expect("the manifest has dependencies");
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| Some(line.split_once(" = ")?.0.replace('-', "_"))).collect()
}

#[test]
fn the_middle_is_pure() {
    let dependencies = dependencies();
    assert!(dependencies.iter().any(|name| name == "tokio"), "{dependencies:?}");
    let mut wrong = String::new();
    let mut looked_at = 0;
    for file in sources() {
        if file.is_in(PURE) && !file.is_in(NOT_PURE) && !file.is_in(FOR_TESTS) {
            looked_at += 1;
            for what in impurities(&file, &dependencies) {
                writeln!(wrong, "{}: {what}", file.path).unwrap();
            }
        }
    }
    assert!(looked_at > 20, "only {looked_at} files were looked at");
    assert!(wrong.is_empty(), "pure code reads a clock, does I/O or is random:\n{wrong}");
}

#[test]
fn impurities_are_found() {
    let dependencies = dependencies();
    let clean = "use std::collections::{BTreeMap, BTreeSet};\nuse std::sync::Arc;\nlet a = 'x'; // std::fs";
    for (code, found) in [
        (clean, 0),
        ("let s = \"std::fs::read\"; let r = r#\"std::time\"#;", 0),
        ("use std::time::Instant;", 2),
        ("let now = std::time::SystemTime::now();", 2),
        ("use std::{fmt, fs::File};", 1),
        ("use std::collections::{BTreeMap, HashMap};", 1),
        ("use std::sync::{Arc, Mutex};", 1),
        ("use std::io::Read as _;", 1),
        ("use core::sync::atomic::AtomicBool;", 1),
        ("fn f<'a>(x: &'a str) { std::env::var(x); }", 1),
        ("use tokio::sync::mpsc;", 1),
        ("let now = jiff::Timestamp::now();", 1),
        ("use super::driver::run;", 1),
        ("use super::ports::{Clock, Staged};", 1),
        ("use super::ports::Staged;", 0),
        ("println!();", 1),
        ("async fn f() {}", 1),
    ] {
        let file = File { path: "exec/scheduler.rs".to_owned(), code: without_tests(&plain(code)) };
        assert_eq!(impurities(&file, &dependencies).len(), found, "{code}");
    }
}

#[test]
fn upward_paths_are_found() {
    let code =
        plain("use crate::{exec::ports, ir::{self, TaskId}};\nlet x = crate::store::open(); mycrate::no();");
    assert_eq!(paths(&code, "crate"), ["exec::ports", "ir::self", "ir::TaskId", "store::open"]);
}
