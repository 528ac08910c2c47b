//! `plan::session::shared`: a conversation that two turns could hold at once.

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::kind::Kind;
use crate::ir::{Isolation, Task, TaskId};
use crate::source::Span;

/// Finds tasks of one session that are not ordered, or isolated.
pub static RULE: Rule = Rule {
    code: &SHARED,
    bad: r#"
session desk   { model = "m" }
agent   first  { prompt = "One.", session = desk }
agent   second { prompt = "Two.", session = desk }
"#,
    good: r#"
session desk   { model = "m" }
agent   first  { prompt = "One.", session = desk }
agent   second { depends_on = [first], prompt = "Two.", session = desk }
"#,
    check,
};

static SHARED: Code = Code {
    id: "plan::session::shared",
    severity: Severity::Error,
    summary: "A session whose turns are not one after the other",
    explain: "A session is one conversation: each turn goes on from the one before. So tasks that share a \
              session have to be ordered by dependencies, cannot fan out, and cannot be isolated, since the \
              conversation would speak of a workspace that the next turn does not see.",
};

struct Turn {
    session: u32,
    task: TaskId,
    span: Span,
}

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    let mut turns: Vec<Turn> = Vec::new();
    for (id, task) in context.tasks() {
        let nodes = match &task.kind {
            Kind::Machine(machine) => machine.nodes.as_slice(),
            Kind::Command(_)
            | Kind::Evaluate(_)
            | Kind::Agent(_)
            | Kind::Route(_)
            | Kind::Gate(_)
            | Kind::TopK(_)
            | Kind::Report(_)
            | Kind::Call(_) => &[],
        };
        for turn in std::iter::once(task).chain(nodes.iter().map(|node| &node.task)) {
            let Some((session, span)) = session(turn) else { continue };
            alone(context, turn, task, session, span, found);
            // A machine's nodes run one at a time: for others they are one turn.
            if turns.last().is_none_or(|last| last.task != id || last.session != session) {
                turns.push(Turn { session, task: id, span });
            }
        }
    }
    turns.retain(|turn| context.ordered(turn.task));
    turns.sort_by_key(|turn| (turn.session, context.graph.position(turn.task)));
    let pairs: Vec<(&Turn, &Turn)> = turns
        .windows(2)
        .map(|pair| (&pair[0], &pair[1]))
        .filter(|(one, next)| one.session == next.session && one.task != next.task)
        .collect();
    let questions: Vec<_> = pairs.iter().map(|(one, next)| (one.task, next.task)).collect();
    for ((one, next), ordered) in pairs.into_iter().zip(context.upstream(&questions)) {
        // Main graph and epilogue are one after the other in any case.
        if ordered || context.plan[one.task].stage != context.plan[next.task].stage {
            continue;
        }
        let (first, second) = if one.span < next.span { (one, next) } else { (next, one) };
        let (name, other) = (context.name(second.task), context.name(first.task));
        let session = &context.plan.sessions[first.session as usize].name;
        found.push(
            SHARED
                .at(
                    second.span,
                    format!("`{other}` and `{name}` share the session `{}` unordered", session.value),
                )
                .label("may be held at the same time")
                .related(first.span, format!("used by `{other}`"))
                .help(format!("let one depend on the other, as in `depends_on = [{other}]`")),
        );
    }
}

fn session(task: &Task) -> Option<(u32, Span)> {
    match &task.kind {
        Kind::Agent(agent) => agent.session.as_ref().map(|session| (session.value.0, session.span)),
        Kind::Command(_)
        | Kind::Evaluate(_)
        | Kind::Route(_)
        | Kind::Gate(_)
        | Kind::TopK(_)
        | Kind::Report(_)
        | Kind::Call(_)
        | Kind::Machine(_) => None,
    }
}

/// What a turn of a session cannot be, whatever else uses the session.
fn alone(context: &Context<'_>, turn: &Task, task: &Task, session: u32, span: Span, found: &mut Diagnostics) {
    let name = &turn.name.value;
    let session = &context.plan.sessions[session as usize].name.value;
    if turn.isolation.value == Isolation::Worktree {
        found.push(
            SHARED
                .at(span, format!("`{name}` uses the session `{session}` but is isolated"))
                .label("the next turn would not see its workspace")
                .related(turn.isolation.span, "isolated here")
                .help("drop `isolation`, or the session"),
        );
    }
    if let Some(over) = &task.over {
        found.push(
            SHARED
                .at(span, format!("the instances of `{name}` share the session `{session}` unordered"))
                .label("may be held at the same time")
                .related(over.span, "fans out here")
                .help("drop the session: each instance then has a conversation of its own"),
        );
    }
}
