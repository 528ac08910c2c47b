//! `plan::route::label`: labels given twice, dropped without being there, or a default that is no option.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity, suggest};
use crate::ir::kind::{Kind, UNCERTAIN};
use crate::source::{Spanned, Text};

/// Finds labels that contradict each other.
pub static RULE: Rule = Rule {
    code: &LABEL,
    bad: r#"
route queue {
    run = "./decide.sh"
    question bucket { ask = "Which queue?", labels = ["outage", "billing"], drop = ["biling"] }
}
"#,
    good: r#"
route queue {
    run = "./decide.sh"
    question bucket { ask = "Which queue?", labels = ["outage", "billing"], drop = ["billing"] }
}
"#,
    check,
};

static LABEL: Code = Code {
    id: "plan::route::label",
    severity: Severity::Error,
    summary: "A label that is given twice, or that is none",
    explain: "A question's labels differ from each other, and its `drop` list names some of them, or \
              `\"uncertain\"` where that can occur. The `default` of a gate is one of its options.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, task) in context.tasks() {
        match &task.kind {
            Kind::Route(route) => {
                for question in &route.questions {
                    twice(&question.labels, "label", found);
                    twice(&question.drop, "dropped label", found);
                    for dropped in &question.drop {
                        let uncertain = dropped.value == UNCERTAIN && route.can_be_uncertain();
                        if !uncertain {
                            known(dropped, &question.labels, "a label of this question", found);
                        }
                    }
                }
            }
            Kind::Gate(gate) => {
                twice(&gate.options, "option", found);
                if let Some(default) = &gate.default {
                    known(default, &gate.options, "an option of this gate", found);
                }
            }
            Kind::Command(_)
            | Kind::Evaluate(_)
            | Kind::Agent(_)
            | Kind::TopK(_)
            | Kind::Report(_)
            | Kind::Call(_)
            | Kind::Machine(_) => {}
        }
    }
}

fn twice(labels: &[Spanned<Text>], what: &str, found: &mut Diagnostics) {
    for (index, label) in labels.iter().enumerate() {
        if let Some(first) = labels[..index].iter().find(|known| known.value == label.value) {
            found.push(
                LABEL
                    .at(label.span, format!("the {what} {:?} is given twice", label.value))
                    .related(first.span, "first given here"),
            );
        }
    }
}

fn known(label: &Spanned<Text>, labels: &[Spanned<Text>], what: &str, found: &mut Diagnostics) {
    if labels.iter().any(|known| known.value == label.value) {
        return;
    }
    let names = || labels.iter().map(|label| label.value.as_str());
    let near = suggest::nearest(&label.value, names()).map(|near| format!("did you mean {near:?}?"));
    let all: Vec<String> = names().map(|name| format!("{name:?}")).collect();
    found.push(
        LABEL
            .at(label.span, format!("{:?} is not {what}", label.value))
            .help(near.unwrap_or_else(|| format!("choose one of {}", all.join(", ")))),
    );
}
