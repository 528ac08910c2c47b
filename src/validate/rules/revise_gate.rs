//! `plan::revise::gate`: a reviewer that is a person's answer, which never fails.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::kind::Kind;

/// Finds gates that revise.
pub static RULE: Rule = Rule {
    code: &GATE,
    bad: r#"
command draft { run = "./draft.sh" }
gate approve {
    depends_on = [draft]
    ask        = "Good?"
    revise     = [draft]
    max_rounds = 3
}
"#,
    good: r#"
command draft   { run = "./draft.sh" }
gate    approve { depends_on = [draft], ask = "Good?" }
command review {
    depends_on = [draft, approve]
    revise     = [draft, approve]
    max_rounds = 3
    run        = "grep -q yes $PLAN_INPUTS"
}
"#,
    check,
};

static GATE: Code = Code {
    id: "plan::revise::gate",
    severity: Severity::Error,
    summary: "A gate that is a reviewer",
    explain: "A reviewer sends its tasks back by failing. A gate passes whatever a person answers, so that it \
              would never send anything back. Let a task that depends on the gate look at the answer, fail \
              where it is no, and send back both.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        let Some(first) = task.revise.first() else { continue };
        if !matches!(task.kind, Kind::Gate(_)) {
            continue;
        }
        let name = &task.name.value;
        found.push(
            GATE.at(first.span, format!("the gate `{name}` never sends anything back"))
                .label("a gate passes, whatever is answered")
                .help(format!("let a task behind `{name}` fail where the answer is no, and revise")),
        );
    }
}
