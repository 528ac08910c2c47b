//! Which labels each `otherwise` holds for: those that no other `when` covers.
//!
//! Runs once every condition of the plan is known.

use rustc_hash::FxHashMap;

use super::Lower;
use crate::ir::condition::Operand;
use crate::ir::kind::UNCERTAIN;
use crate::ir::{Condition, Kind, TaskId};
use crate::source::Text;

impl Lower<'_, '_> {
    pub(super) fn otherwise(&mut self) {
        let mut asked: FxHashMap<(TaskId, Text), Vec<Text>> = FxHashMap::default();
        for task in &self.plan.tasks {
            if let Some(when) = &task.when {
                questions(&when.value, &mut |task, question| {
                    asked.entry((task, question.clone())).or_default();
                });
            }
        }
        if asked.is_empty() {
            return;
        }
        // Every condition that reads one of these questions, so that each is looked at once a question.
        let mut readers: FxHashMap<(TaskId, Text), Vec<&Condition>> = FxHashMap::default();
        for task in &self.plan.tasks {
            let Some(when) = &task.when else { continue };
            let mut read: Vec<(TaskId, Text)> = Vec::new();
            when.value.reads(&mut |operand, _| {
                if let Operand::Answer(task, question) = operand {
                    let key = (*task, question.clone());
                    if asked.contains_key(&key) && !read.contains(&key) {
                        read.push(key);
                    }
                }
            });
            for key in read {
                readers.entry(key).or_default().push(&when.value);
            }
        }
        let mut left: FxHashMap<(TaskId, Text), Vec<Text>> = FxHashMap::default();
        for key in asked.into_keys() {
            let labels = labels(&self.plan.tasks[key.0.index()].kind, &key.1);
            let whens = readers.get(&key).map_or(&[][..], Vec::as_slice);
            let open = labels.into_iter().filter(|label| {
                label != UNCERTAIN && !whens.iter().any(|when| when.covers(key.0, &key.1, label))
            });
            let open = open.collect();
            left.insert(key, open);
        }
        for task in &mut self.plan.tasks {
            if let Some(when) = &mut task.when {
                fill(&mut when.value, &left);
            }
        }
    }
}

/// The labels of a question.
fn labels(kind: &Kind, question: &str) -> Vec<Text> {
    match kind {
        Kind::Route(route) => {
            let asked = route.questions.iter().find(|asked| asked.name.value == question);
            asked.into_iter().flat_map(|asked| asked.labels.iter().map(|label| label.value.clone())).collect()
        }
        Kind::Gate(gate) => gate.options.iter().map(|option| option.value.clone()).collect(),
        Kind::Command(_)
        | Kind::Evaluate(_)
        | Kind::Agent(_)
        | Kind::TopK(_)
        | Kind::Report(_)
        | Kind::Call(_)
        | Kind::Machine(_) => Vec::new(),
    }
}

/// Every question that an `otherwise` is about.
fn questions(condition: &Condition, each: &mut impl FnMut(TaskId, &Text)) {
    match condition {
        Condition::And(parts) | Condition::Or(parts) => parts.iter().for_each(|part| questions(part, each)),
        Condition::Not(part) => questions(part, each),
        Condition::Otherwise { task, question, .. } => each(*task, question),
        Condition::Compare { .. } | Condition::Holds { .. } => {}
    }
}

fn fill(condition: &mut Condition, left: &FxHashMap<(TaskId, Text), Vec<Text>>) {
    match condition {
        Condition::And(parts) | Condition::Or(parts) => parts.iter_mut().for_each(|part| fill(part, left)),
        Condition::Not(part) => fill(part, left),
        Condition::Otherwise { task, question, labels, .. } => {
            *labels = left.get(&(*task, question.clone())).cloned().unwrap_or_default();
        }
        Condition::Compare { .. } | Condition::Holds { .. } => {}
    }
}
