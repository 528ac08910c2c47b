//! `plan::verify::script_not_frozen`: a gate whose script the work could change.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::glob::Glob;
use crate::ir::kind::{Arg, Kind, Run};
use crate::ir::{Check, Task, Verify};

/// Finds verifiers that run a script of the pack which no glob in `frozen` covers.
pub static RULE: Rule = Rule {
    code: &SCRIPT_NOT_FROZEN,
    bad: r#"
command build { run = "make" }
verify  good  { run = "./check.sh" }
"#,
    good: r#"
plan    "build" { frozen = ["check.sh"] }
command build   { run = "make" }
verify  good    { run = "./check.sh" }
"#,
    check,
};

static SCRIPT_NOT_FROZEN: Code = Code {
    id: "plan::verify::script_not_frozen",
    severity: Severity::Warning,
    summary: "A verifier that runs a script of the pack which is not frozen",
    explain: "A verifier is independent of the work it checks. A script of the pack lies where tasks work, so \
              a task could change what judges it. Files that a glob in the header's `frozen` covers are \
              restored before every attempt and every verifier.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    let frozen: Vec<Glob> = context.plan.header.frozen.iter().map(|glob| Glob::new(&glob.value)).collect();
    for gate in &context.plan.gates {
        judge(gate, &frozen, found);
    }
    for (_, task) in context.tasks() {
        visit(task, &frozen, found);
    }
}

fn visit(task: &Task, frozen: &[Glob], found: &mut Diagnostics) {
    task.verify.iter().for_each(|verify| judge(verify, frozen, found));
    match &task.kind {
        Kind::Machine(machine) => machine.nodes.iter().for_each(|node| visit(&node.task, frozen, found)),
        Kind::Command(_)
        | Kind::Evaluate(_)
        | Kind::Agent(_)
        | Kind::Route(_)
        | Kind::Gate(_)
        | Kind::TopK(_)
        | Kind::Report(_)
        | Kind::Call(_) => {}
    }
}

fn judge(verify: &Verify, frozen: &[Glob], found: &mut Diagnostics) {
    let run = match &verify.check {
        Check::Run(run) => run,
        Check::File { .. } => return,
    };
    let loose =
        scripts(&run.value).into_iter().find(|script| !frozen.iter().any(|glob| glob.matches(script)));
    if let Some(script) = loose {
        found.push(
            SCRIPT_NOT_FROZEN
                .at(run.span, format!("`{}` runs `{script}`, which a task could change", verify.name.value))
                .label("not frozen")
                .help(format!("freeze it: `frozen = [{script:?}]` in the header")),
        );
    }
}

/// The files of the pack that a command runs, as far as its text shows.
fn scripts(run: &Run) -> Vec<&str> {
    match run {
        Run::List(arguments) => arguments
            .iter()
            .enumerate()
            .filter_map(|(index, argument)| match argument {
                Arg::Pack(path) => Some(path.as_str()),
                Arg::Text(text) => script(text, index == 0),
            })
            .collect(),
        Run::Shell(text) => {
            let mut first = true;
            let mut found = Vec::new();
            for word in text.split_whitespace() {
                let plain = word.trim_matches(['"', '\'', ';', '(', ')']);
                found.extend(script(plain, first));
                first = matches!(word, "&&" | "||" | "|" | ";" | "!") || word.ends_with(';');
            }
            found
        }
    }
}

/// The path below the pack that a word names: `./check.sh` where a command stands, `$PLAN_PACK/check.sh`
/// anywhere, and an interpreter's `check.py`.
fn script(word: &str, command: bool) -> Option<&str> {
    const ENDINGS: [&str; 7] = [".sh", ".py", ".js", ".ts", ".rb", ".pl", ".bash"];
    if let Some(path) = word.strip_prefix("$PLAN_PACK/").or_else(|| word.strip_prefix("${PLAN_PACK}/")) {
        return Some(path);
    }
    let inside = word.strip_prefix("./").unwrap_or(word);
    let plain = !inside.starts_with(['/', '-', '.'])
        && !inside.contains(['$', '*', '?', '=', '`', '<', '>', '|', '&', '\\', '{']);
    let named = ENDINGS.iter().any(|ending| inside.len() > ending.len() && inside.ends_with(ending));
    (plain && (command && word.starts_with("./") || named)).then_some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read_from_commands() {
        for (text, found) in [
            ("./check.sh", &["check.sh"][..]),
            ("bash check.sh --all", &["check.sh"]),
            ("cargo test --quiet", &[]),
            ("test -s out.txt && ./tools/judge out.txt", &["tools/judge"]),
            ("python3 \"$PLAN_PACK/check.py\"", &["check.py"]),
            ("cat ./notes", &[]),
            ("/usr/bin/check.sh", &[]),
            ("F=x.sh true", &[]),
        ] {
            assert_eq!(scripts(&Run::Shell(text.into())), found, "{text}");
        }
    }
}
