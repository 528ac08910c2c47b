//! `machine`: its nodes, and its edges cut into pairs.
//!
//! Leaves to `validate` whether every node can be reached and every gate can be satisfied.

use rustc_hash::FxHashMap;

use super::Lower;
use super::common::{Inherited, small};
use super::fields::Fields;
use super::names::Scope;
use super::{fields, names};
use crate::diag::{Code, Severity, suggest};
use crate::ir::kind::{Edge, EndPoint, Machine, Node};
use crate::ir::{Kind, Task};
use crate::reference::{Field, Keyword, table};
use crate::source::{Spanned, Text};
use crate::syntax::ast::{self, ExprKind, Head, Item, Member};

/// An edge from or to nowhere.
pub(crate) static NO_NODE: Code = Code {
    id: "plan::machine::no_such_node",
    severity: Severity::Error,
    summary: "An edge from or to a node that the machine does not have",
    explain: "An edge leads from a node, or from `start`, to a node, or to `exit`. Nodes are the blocks of the same \
              machine.",
};

impl<'a> Lower<'a, '_> {
    pub(super) fn machine(
        &mut self,
        block: &'a ast::Block,
        task: &Task,
        fields: &Fields<'a>,
        scope: &Scope,
        layer: &Inherited,
    ) -> Kind {
        let max_steps =
            fields.get(&table::MAX_STEPS).and_then(|expr| self.integer(&table::MAX_STEPS, expr, scope));
        let max_visits =
            fields.get(&table::MAX_VISITS).and_then(|expr| self.integer(&table::MAX_VISITS, expr, scope));
        let retry_target = self.target(fields, &table::RETRY_TARGET);
        let fallback_retry_target = self.target(fields, &table::FALLBACK_RETRY_TARGET);
        let nodes = self.nodes(block, task, scope, layer);
        let edges = self.edges(block, &nodes, scope);
        let count = |value: i64| u64::try_from(value).unwrap_or(1);
        Kind::Machine(Box::new(Machine {
            max_steps: max_steps.map_or(200, |most| count(most.value)),
            max_visits: max_visits.map(|most| most.map(count)),
            retry_target,
            fallback_retry_target,
            nodes,
            edges,
        }))
    }

    /// The name of a node to go back to; `validate` says whether there is one.
    fn target(&mut self, fields: &Fields<'a>, row: &'static Field) -> Option<Spanned<Text>> {
        let expr = fields.get(row)?;
        match &expr.kind {
            ExprKind::Reference(ast::Reference { head: Head::Ident(name), path }) if path.is_empty() => {
                Some(name.clone())
            }
            ExprKind::Broken => {
                self.hole();
                None
            }
            ExprKind::String(text) => {
                let message = format!("`{}` takes a node, not a string", row.name);
                let found = fields::MISMATCH.at(expr.span, message).label("a string");
                self.error(found.help(format!("write `{text}`, without quotes")));
                None
            }
            _ => {
                let message = format!("`{}` takes the name of a node", row.name);
                self.error(fields::MISMATCH.at(expr.span, message).label("no name"));
                None
            }
        }
    }

    fn nodes(&mut self, block: &'a ast::Block, task: &Task, scope: &Scope, layer: &Inherited) -> Vec<Node> {
        // What a machine says of the place that its work runs in holds for its nodes.
        let around = Inherited {
            env: (!task.env.is_empty()).then(|| task.env.clone()),
            secrets: (!task.secrets.is_empty()).then(|| task.secrets.clone()),
            shell: Some(task.shell),
            cwd: task.cwd.clone(),
            on_interrupt: Some(task.on_interrupt),
            join: None,
            required: None,
            stage: None,
            keyed: None,
            may_complete: None,
            always: None,
            isolation: None,
            max_rounds: None,
            ..layer.clone()
        };
        let mut nodes: Vec<Node> = Vec::new();
        let mut seen = FxHashMap::default();
        for member in &block.body.members {
            let Member::Item(item) = member else {
                continue;
            };
            let block = match item {
                Item::Block(block) if block.keyword.value.is_task() => block,
                Item::Broken(ast::Broken { keyword: Some(keyword), name: Some(name), span })
                    if keyword.value.is_task() =>
                {
                    // It still stands for itself, so that edges to it lead somewhere.
                    seen.entry(name.value.clone()).or_insert(name.span);
                    nodes.push(plain(self.blank(name.clone(), *span, &around)));
                    continue;
                }
                Item::Block(_)
                | Item::Broken(_)
                | Item::Param(_)
                | Item::Let(_)
                | Item::For(_)
                | Item::Template(_)
                | Item::Use(_)
                | Item::Import(_) => continue,
            };
            match block.keyword.value {
                Keyword::Command | Keyword::Evaluate | Keyword::Agent | Keyword::Gate => {}
                // Reported with everything else that the machine cannot hold.
                _ => continue,
            }
            let (name, misnamed) = self.task_name(block, scope);
            if !misnamed {
                self.node_name(&name, scope, &mut seen);
            }
            nodes.push(self.node(block, name, scope, &around));
        }
        nodes
    }

    fn node_name(
        &mut self,
        name: &Spanned<Text>,
        scope: &Scope,
        seen: &mut FxHashMap<Text, crate::source::Span>,
    ) {
        if name.value == "start" || name.value == "exit" {
            let message = format!("`{}` is reserved, and cannot name a node", name.value);
            let found = names::RESERVED.at(name.span, message);
            self.error(found.label("every machine has it already"));
        }
        if names::is_reserved(&name.value) {
            let message = format!("`{}` is reserved, and cannot name a node", name.value);
            self.error(names::RESERVED.at(name.span, message));
        }
        match seen.get(&name.value) {
            Some(&first) => self.duplicate(&name.value, (first, "a node"), (name.span, "a node")),
            None => {
                self.own_name(name, scope);
                seen.insert(name.value.clone(), name.span);
            }
        }
    }

    fn node(
        &mut self,
        block: &'a ast::Block,
        name: Spanned<Text>,
        scope: &Scope,
        around: &Inherited,
    ) -> Node {
        let before = self.trouble;
        let fields = self.fields(block, true);
        let flag = |lower: &mut Self, row: &'static Field| {
            let expr = fields.get(row)?;
            lower.boolean(row, expr, scope).map(|flag| flag.value)
        };
        let goal_gate = flag(self, &table::GOAL_GATE).unwrap_or(false);
        let strict = flag(self, &table::STRICT).unwrap_or(false);
        let retry_target = self.target(&fields, &table::RETRY_TARGET);
        let fallback_retry_target = self.target(&fields, &table::FALLBACK_RETRY_TARGET);
        let max_retries =
            fields.get(&table::MAX_RETRIES).and_then(|expr| self.integer(&table::MAX_RETRIES, expr, scope));
        let mut task = self.read_task(block, &fields, name, scope, around, None);
        task.holes = self.trouble != before;
        Node {
            task,
            goal_gate,
            strict,
            retry_target,
            fallback_retry_target,
            max_retries: max_retries.map_or(0, |most| small(most.value)),
        }
    }

    fn edges(&mut self, block: &'a ast::Block, nodes: &[Node], scope: &Scope) -> Vec<Edge> {
        let mut index: FxHashMap<&str, u32> = FxHashMap::default();
        for (node, at) in nodes.iter().zip(0u32..) {
            index.entry(node.task.name.value.as_str()).or_insert(at);
        }
        let mut edges = Vec::new();
        for member in &block.body.members {
            let Member::Edge(edge) = member else {
                continue;
            };
            let condition = match &edge.condition {
                Some(expr) => match self.edge_condition(expr, scope) {
                    Some(condition) => Some(condition),
                    // Without its condition the edge would always be taken.
                    None => continue,
                },
                None => None,
            };
            let ends: Vec<Spanned<EndPoint>> =
                edge.nodes.iter().map(|name| Spanned::new(self.end(name, &index), name.span)).collect();
            for pair in ends.windows(2) {
                edges.push(Edge {
                    from: pair[0],
                    to: pair[1],
                    condition: condition.clone(),
                    label: edge.label.as_ref().map(|label| label.value.clone()),
                    weight: edge.weight.map_or(0, |weight| weight.value),
                    weighted: edge.weight.is_some(),
                    default: edge.default.is_some(),
                    span: edge.span,
                });
            }
        }
        edges
    }

    fn end(&mut self, name: &ast::Ident, index: &FxHashMap<&str, u32>) -> EndPoint {
        match name.value.as_str() {
            "start" => EndPoint::Start,
            "exit" => EndPoint::Exit,
            other => match index.get(other) {
                Some(&at) => EndPoint::Node(at),
                None => {
                    let near = suggest::did_you_mean(other, index.keys().copied().chain(["start", "exit"]));
                    let message = format!("the machine has no node `{other}`");
                    // The other edges can still be judged, so this is no hole of the machine.
                    let found = NO_NODE.at(name.span, message).label("leads nowhere").maybe_help(near);
                    self.session.diagnostics.push(found);
                    EndPoint::Unknown
                }
            },
        }
    }
}

/// A node with nothing of its own.
fn plain(mut task: Task) -> Node {
    task.holes = true;
    Node {
        task,
        goal_gate: false,
        strict: false,
        retry_target: None,
        fallback_retry_target: None,
        max_retries: 0,
    }
}
