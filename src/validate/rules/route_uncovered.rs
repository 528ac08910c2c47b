//! `plan::route::uncovered_label`: an answer that no branch takes.

use rustc_hash::FxHashMap;

use super::super::context::Context;
use super::super::reading;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::condition::Operand;
use crate::ir::kind::{Kind, UNCERTAIN};
use crate::ir::{Condition, TaskId};
use crate::source::{Span, Text};

/// Finds labels that are neither taken nor dropped.
pub static RULE: Rule = Rule {
    code: &UNCOVERED_LABEL,
    bad: r#"
route queue {
    run = "./decide.sh"
    question bucket { ask = "Which queue?", labels = ["outage", "billing"] }
}
command oncall { depends_on = [queue], when = queue.bucket == "outage", run = "./page.sh" }
"#,
    good: r#"
route queue {
    run = "./decide.sh"
    question bucket { ask = "Which queue?", labels = ["outage", "billing"], drop = ["billing"] }
}
command oncall { depends_on = [queue], when = queue.bucket == "outage", run = "./page.sh" }
"#,
    check,
};

static UNCOVERED_LABEL: Code = Code {
    id: "plan::route::uncovered_label",
    severity: Severity::Error,
    summary: "An answer that no branch takes",
    explain: "Once some `when` reads a question, each of its labels has to lead somewhere: a `when` that can \
              hold with it, an `otherwise(…)`, or the question's `drop` list, which says that nothing is to \
              happen. `\"uncertain\"` is a label too where a `run` has a `min_confidence`; no `otherwise` \
              takes it. The options of a gate whose answer is read are covered in the same way.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    // A branch that could not be read may cover any label.
    if context.plan.facts.incomplete
        || context.plan.tasks.iter().any(|task| task.holes && task.when.is_none())
    {
        return;
    }
    let mut asked: FxHashMap<(TaskId, Text), Vec<&Condition>> = FxHashMap::default();
    for task in &context.plan.tasks {
        let Some(when) = &task.when else { continue };
        when.value.reads(&mut |operand, _| {
            if let Operand::Answer(read, question) = operand {
                let branches = asked.entry((*read, question.clone())).or_default();
                // One condition may read a question twice.
                if branches.last().is_none_or(|last| !std::ptr::eq(*last, &when.value)) {
                    branches.push(&when.value);
                }
            }
        });
    }
    for ((task, question), branches) in asked {
        if context.plan[task].holes {
            continue;
        }
        for label in reading::labels(context, task, &question).unwrap_or_default() {
            let covered = branches.iter().any(|branch| branch.covers(task, &question, &label));
            let (span, dropped) = place(context, task, &question, &label);
            if covered || dropped {
                continue;
            }
            let name = context.name(task);
            let droppable = matches!(context.plan[task].kind, Kind::Route(_));
            let help = match droppable {
                true => format!("branch on it, `when = {name}.{question} == {label:?}`, or add it to `drop`"),
                false => format!("branch on it, `when = {name}.{question} == {label:?}`, or use `otherwise`"),
            };
            let mut diagnostic = UNCOVERED_LABEL
                .at(span, format!("no branch takes the label {label:?} of `{name}.{question}`"))
                .label(match label == UNCERTAIN {
                    true => "can be answered with too little confidence",
                    false => "would lead nowhere",
                })
                .help(help);
            if let Some(branch) = branches.first() {
                branch.reads(&mut |operand, span| {
                    if diagnostic.related.is_empty()
                        && matches!(operand, Operand::Answer(read, asked) if *read == task && *asked == question)
                    {
                        diagnostic
                            .related
                            .push(crate::diag::Related { span, message: "the question is read here".into() });
                    }
                });
            }
            found.push(diagnostic);
        }
    }
}

/// Where a label is declared, or its question where it has no place of its own, and whether it is dropped.
fn place(context: &Context<'_>, task: TaskId, question: &str, label: &str) -> (Span, bool) {
    match &context.plan[task].kind {
        Kind::Route(route) => match route.questions.iter().find(|known| known.name.value == question) {
            Some(question) => (
                question
                    .labels
                    .iter()
                    .find(|known| known.value == label && !question.yes_no)
                    .map_or(question.name.span, |known| known.span),
                question.drop.iter().any(|dropped| dropped.value == label),
            ),
            None => (context.plan[task].name.span, false),
        },
        Kind::Gate(gate) => (
            gate.options
                .iter()
                .find(|known| known.value == label && known.span != Span::default())
                .map_or(context.plan[task].name.span, |known| known.span),
            false,
        ),
        Kind::Command(_)
        | Kind::Evaluate(_)
        | Kind::Agent(_)
        | Kind::TopK(_)
        | Kind::Report(_)
        | Kind::Call(_)
        | Kind::Machine(_) => (context.plan[task].name.span, false),
    }
}
