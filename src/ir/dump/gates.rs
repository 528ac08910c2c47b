//! The gates of a plan: what decides whether its work is accepted (EXECUTION §9).
//!
//! A run is never continued under weaker gates than it began with, so each has a name and a definition that
//! can be compared. The content of frozen files belongs to the fingerprint too; admission adds it.

use indexmap::IndexMap;

use super::task::Spec;
use super::{Document, TaskDocument, VerifyDocument};
use crate::source::Text;

/// Every gate of a plan, as a name for people and its definition, in declaration order.
#[must_use]
pub fn gates(document: &Document) -> IndexMap<Text, Text> {
    let mut gates = IndexMap::new();
    collect(document, "", &mut gates);
    gates
}

/// The digest of every gate, as hex.
#[must_use]
pub fn gates_fingerprint(document: &Document) -> Text {
    super::digest_of(&gates(document))
}

fn collect(document: &Document, within: &str, gates: &mut IndexMap<Text, Text>) {
    let mut add = |name: String, definition: String| {
        gates.insert(name.into(), definition.into());
    };
    if !document.header.frozen.is_empty() {
        let globs: Vec<&str> = document.header.frozen.iter().map(Text::as_str).collect();
        add(format!("{within}frozen"), globs.join(" "));
    }
    for gate in &document.gates {
        add(format!("{within}verify {}", gate.name), definition(gate));
    }
    for task in &document.tasks {
        of_task(task, within, gates);
    }
}

fn of_task(task: &TaskDocument, within: &str, gates: &mut IndexMap<Text, Text>) {
    let mut add = |what: &str, definition: String| {
        let name = format!("{within}{}{what}", task.name);
        gates.insert(name.into(), definition.into());
    };
    if task.required && task.stage == "main" {
        add("", "required".into());
    }
    for verify in &task.verify {
        add(&format!(": verify {}", verify.name), definition(verify));
    }
    match &task.spec {
        Spec::Evaluate { threshold: Some(threshold), direction: Some(direction), .. } => {
            add(": threshold", format!("{threshold} {direction}"));
        }
        Spec::Machine(machine) => {
            let within = format!("{within}{}/", task.name);
            for node in &machine.nodes {
                if node.goal_gate {
                    let name = format!("{within}{}: goal_gate", node.task.name);
                    gates.insert(name.into(), if node.strict { "strict" } else { "partial holds" }.into());
                }
                let inner = TaskDocument { required: false, ..node.task.clone() };
                of_task(&inner, &within, gates);
            }
        }
        Spec::Call { child: Some(child), .. } => collect(child, &format!("{within}{}/", task.name), gates),
        Spec::None
        | Spec::Run(_)
        | Spec::Evaluate { .. }
        | Spec::Agent(_)
        | Spec::Route { .. }
        | Spec::Gate { .. }
        | Spec::TopK { .. }
        | Spec::Report { .. }
        | Spec::Call { .. } => {}
    }
}

fn definition(verify: &VerifyDocument) -> String {
    serde_json::to_string(verify).expect("every field can be written")
}
