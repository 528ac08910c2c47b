//! `plan::machine::several_unconditional`: edges of which one is taken, not all.

use rustc_hash::FxHashMap;

use super::super::context::Context;
use super::super::machines::machines;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::ir::kind::EndPoint;

/// Finds nodes with several plain edges.
pub static RULE: Rule = Rule {
    code: &SEVERAL_UNCONDITIONAL,
    bad: r#"
machine m {
    command build { run = "make" }
    command lint  { run = "make lint" }
    command test  { run = "make test" }
    start -> build
    build -> lint -> exit
    build -> test -> exit
}
"#,
    good: r#"
machine m {
    command build { run = "make" }
    command lint  { run = "make lint" }
    command test  { run = "make test" }
    start -> build -> lint -> test -> exit
}
"#,
    check,
};

static SEVERAL_UNCONDITIONAL: Code = Code {
    id: "plan::machine::several_unconditional",
    severity: Severity::Warning,
    summary: "Several unconditional edges from one node",
    explain: "A machine runs one node at a time: of several edges that could be taken, one is, not all. Edges \
              without condition, label, weight or `default` are chosen by the name of their target, and so are \
              several marked `default`. Say which one is meant by one of these, or put the nodes one after the \
              other.",
};

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    for (_, machine) in machines(context) {
        let mut first: FxHashMap<u32, crate::source::Span> = FxHashMap::default();
        let mut defaults: FxHashMap<u32, crate::source::Span> = FxHashMap::default();
        for edge in &machine.edges {
            let EndPoint::Node(from) = edge.from.value else { continue };
            if edge.default
                && let Some(node) = machine.nodes.get(from as usize)
                && let Some(earlier) = defaults.insert(from, edge.span)
            {
                found.push(
                    SEVERAL_UNCONDITIONAL
                        .at(edge.span, format!("several `default` edges leave `{}`", node.task.name.value))
                        .label("one is taken, not all")
                        .related(earlier, "another one")
                        .help("keep one `default`; give the other `if …`, `label \"…\"` or `weight N`"),
                );
            }
            if edge.condition.is_some() || edge.label.is_some() || edge.weighted || edge.default {
                continue;
            }
            let Some(node) = machine.nodes.get(from as usize) else { continue };
            if let Some(&earlier) = first.get(&from) {
                found.push(
                    SEVERAL_UNCONDITIONAL
                        .at(
                            edge.span,
                            format!("several unconditional edges leave `{}`", node.task.name.value),
                        )
                        .label("one is taken, not all")
                        .related(earlier, "another one")
                        .help("add `if …`, `label \"…\"`, `weight N` or `default`"),
                );
            } else {
                first.insert(from, edge.span);
            }
        }
    }
}
