//! `plan::shell::pipe_under_sh`: a pipe whose first failures nobody sees.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::kind::{Kind, Run};
use crate::ir::{Check, Shell, Task};
use crate::source::Spanned;

/// Finds pipes in `run` strings that `sh` runs.
pub static RULE: Rule = Rule {
    code: &PIPE_UNDER_SH,
    bad: r#"
command list { shell = "sh", run = "./list.sh | sort > list.txt" }
"#,
    good: r#"
command list { run = "./list.sh | sort > list.txt" }
"#,
    check,
};

static PIPE_UNDER_SH: Code = Code {
    id: "plan::shell::pipe_under_sh",
    severity: Severity::Warning,
    summary: "A pipe under `shell = \"sh\"`",
    explain: "`sh` takes the exit code of a pipe from its last command: whatever fails before it goes unseen, \
              and the task passes. `bash`, the default, runs with `pipefail` and fails the task.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        judge_task(task, found);
    }
    for gate in &context.plan.gates {
        judge_check(&gate.check, gate.shell, found);
    }
    for resolve in &context.plan.resolves {
        judge(&resolve.run, resolve.shell, found);
    }
}

fn judge_task(task: &Task, found: &mut Diagnostics) {
    match &task.kind {
        Kind::Command(run) => judge(run, task.shell, found),
        Kind::Evaluate(evaluate) => judge(&evaluate.run, task.shell, found),
        Kind::Route(route) => route.run.iter().for_each(|run| judge(run, task.shell, found)),
        Kind::Machine(machine) => machine.nodes.iter().for_each(|node| judge_task(&node.task, found)),
        Kind::Agent(_) | Kind::Gate(_) | Kind::TopK(_) | Kind::Report(_) | Kind::Call(_) => {}
    }
    task.verify.iter().for_each(|verify| judge_check(&verify.check, verify.shell, found));
}

fn judge_check(check: &Check, shell: Shell, found: &mut Diagnostics) {
    match check {
        Check::Run(run) => judge(run, shell, found),
        Check::File { .. } => {}
    }
}

fn judge(run: &Spanned<Run>, shell: Shell, found: &mut Diagnostics) {
    match (&run.value, shell) {
        (Run::Shell(text), Shell::Sh) if has_pipe(text) => found.push(
            PIPE_UNDER_SH
                .at(run.span, "under `sh` a pipe hides the failure of all but its last command")
                .label("has a pipe")
                .help("use `shell = \"bash\"`, which fails when any of them does"),
        ),
        (Run::Shell(_), Shell::Sh | Shell::Bash) | (Run::List(_), _) => {}
    }
}

/// Whether a shell would read a pipe in `text`: a bar outside quotes that is no `||`, no `>|`, and no
/// alternative in the pattern of a `case`.
fn has_pipe(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut quote) = (0, 0usize, None);
    while at < bytes.len() {
        let byte = bytes[at];
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (Some(b'"') | None, b'\\') => at += 1,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'#') if at == 0 || bytes[at - 1].is_ascii_whitespace() => {
                at = bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |end| at + end);
            }
            (None, b'(') => depth += 1,
            (None, b')') => depth = depth.saturating_sub(1),
            (None, b'|') if bytes.get(at + 1) == Some(&b'|') => at += 1,
            (None, b'|') if at > 0 && bytes[at - 1] == b'>' => {}
            (None, b'|') => {
                let next = bytes[at + 1..].iter().find(|b| b"();\n".contains(b));
                if depth > 0 || next != Some(&b')') {
                    return true;
                }
            }
            (None, _) => {}
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::has_pipe;

    #[test]
    fn pipes_are_told_from_other_bars() {
        for (text, pipe) in [
            ("a | b", true),
            ("a|b", true),
            ("x=$(a | b)", true),
            ("(a | b)", true),
            ("a 'x' | b", true),
            ("a || b", false),
            ("a >| b", false),
            ("echo 'a | b'", false),
            ("echo \"a | \\\" | b\"", false),
            ("echo a \\| b", false),
            ("a # b | c", false),
            ("a # b\nc | d", true),
            ("case $x in a|b) true;; esac", false),
            ("case $x in a|b) c | d;; esac", true),
            ("", false),
        ] {
            assert_eq!(has_pipe(text), pipe, "{text}");
        }
    }
}
