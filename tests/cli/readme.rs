//! What the READMEs show is what the program prints: every `console` block is run and compared.
//!
//! A block's lines with `$ ` are commands; what follows one is its output, up to the next command, and
//! `[exit 3]` at its end its exit code. Times, run names and digests are compared by their shape only, and
//! lines in any order, since tasks that run side by side settle in any.

use std::path::Path;

use crate::pack::{Came, Pack, copy};

/// The packs and the lock file, as a clone of the repository has them.
fn clone() -> Pack {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pack = Pack::in_memory("");
    copy(&root.join("packs"), &pack.file("packs"));
    std::fs::copy(root.join("Cargo.lock"), pack.file("Cargo.lock")).unwrap();
    pack
}

struct Session {
    command: String,
    output: String,
    code: i32,
}

/// The commands of a page's `console` blocks, in order.
fn sessions(page: &str) -> Vec<Session> {
    let mut found: Vec<Session> = Vec::new();
    let mut open = false;
    for line in page.lines() {
        if line.starts_with("```") {
            open = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| open) {
            found.push(Session { command: command.to_owned(), output: String::new(), code: 0 });
        } else if let Some(session) = found.last_mut().filter(|_| open) {
            match line.strip_prefix("[exit ").and_then(|rest| rest.strip_suffix(']')) {
                Some(code) => session.code = code.parse().unwrap(),
                None => session.output.extend([line, "\n"]),
            }
        }
    }
    found
}

/// The lines of an output, what differs from run to run masked, in order of the alphabet.
fn shape(text: &str) -> Vec<String> {
    let masks = [
        (r"\d{8}T\d{6}Z-[0-9a-f]{4}", "RUN"),
        (r"\b(\d+m)?\d+(\.\d+)?s\b", "TIME"),
        (r"store/([0-9a-f]{64}|…)", "store/…"),
    ];
    let masked = masks.iter().fold(text.to_owned(), |text, (pattern, mask)| {
        regex::Regex::new(pattern).unwrap().replace_all(&text, *mask).into_owned()
    });
    let mut lines: Vec<String> =
        masked.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    lines.sort();
    lines
}

fn hold(page: &str) {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let sessions = sessions(&text);
    assert!(!sessions.is_empty(), "{page} shows no run");
    let pack = clone();
    for Session { command, output, code } in sessions {
        let words = ["cargo run --release -- ", "target/release/plan ", "plan "];
        let Some(arguments) = words.iter().find_map(|word| command.strip_prefix(word)) else {
            continue;
        };
        let Came { code: got, out, err } = pack.plan(&arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(got, code, "{page}: $ {command}\n{out}{err}");
        let (wanted, shown) = (shape(&output), shape(&(out.clone() + &err)));
        assert!(
            wanted == shown,
            "{page}: $ {command}\nwanted {wanted:#?}\ngot {shown:#?}\nas printed:\n{out}{err}"
        );
    }
}

#[test]
fn the_readme_shows_a_real_run() {
    hold("README.md");
}

#[test]
fn the_dependency_audit_shows_real_runs() {
    hold("packs/dependency-audit/README.md");
}

#[test]
fn the_ticket_triage_shows_real_runs() {
    hold("packs/ticket-triage/README.md");
}

#[test]
fn the_checks_show_what_they_would_do() {
    hold("packs/ci/README.md");
}
