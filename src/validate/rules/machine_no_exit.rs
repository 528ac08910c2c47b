//! `plan::machine::no_exit`: a machine that never ends well.

use super::super::context::Context;
use super::super::machines::{Ways, has_unknown_ends, machines, starts};
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};

/// Finds machines whose exit cannot be reached from their start.
pub static RULE: Rule = Rule {
    code: &NO_EXIT,
    bad: r#"
machine m {
    command build { run = "make" }
    command test  { run = "make test" }
    start -> build -> test -> build
}
"#,
    good: r#"
machine m {
    command build { run = "make" }
    command test  { run = "make test" }
    start -> build -> test
    test  -> exit  if outcome == "pass"
    test  -> build if outcome == "fail"
}
"#,
    check,
};

static NO_EXIT: Code = Code {
    id: "plan::machine::no_exit",
    severity: Severity::Error,
    summary: "A machine without a way to `exit`",
    explain: "A machine passes when it reaches its `exit`. Without a way there it could only fail, by a node \
              that fails or a bound that is reached.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (task, machine) in machines(context) {
        if starts(machine).next().is_none() || has_unknown_ends(machine) {
            continue;
        }
        if Ways::new(machine).reach(machine).1 {
            continue;
        }
        found.push(
            NO_EXIT
                .at(task.name.span, format!("machine `{}` has no way to `exit`", task.name.value))
                .label("can never pass")
                .help("add an edge to `exit`, as in `test -> exit if outcome == \"pass\"`"),
        );
    }
}
