//! `plan::when::never_runs`: a condition that only a failed task satisfies, behind joins that need it to pass.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::context::Context;
use super::super::rule::Rule;
use crate::diag::{Code, Diagnostics, Severity};
use crate::event::Status;
use crate::ir::condition::{Operand, Possible};
use crate::ir::{Condition, Plan, TaskId};

/// Finds conditions that the joins before them rule out.
pub static RULE: Rule = Rule {
    code: &NEVER_RUNS,
    bad: r#"
command probe { required = false, run = "./probe.sh" }
command mend  { depends_on = [probe], required = false, when = probe.status == "fail", run = "./mend.sh" }
"#,
    good: r#"
command probe { required = false, run = "./probe.sh" }
command mend  { depends_on = [probe], join = "settled", when = probe.status == "fail", run = "./mend.sh" }
"#,
    check,
};

static NEVER_RUNS: Code = Code {
    id: "plan::when::never_runs",
    severity: Severity::Error,
    summary: "A condition that the joins before it rule out",
    explain: "A task that joins `\"all\"` runs only once its dependencies passed. A condition that asks for \
              one of them to have failed, been skipped or been blocked then never holds, and the task never \
              runs. `join = \"settled\"` runs it whatever became of them.",
};

/// A `status` that a condition reads.
struct Read {
    status_of: TaskId,
    reader: TaskId,
}

fn check(context: &Context<'_>, found: &mut Diagnostics) {
    let mut reads: Vec<Read> = Vec::new();
    for (id, task) in context.tasks() {
        if let Some(when) = &task.when {
            when.value.reads(&mut |operand, _| {
                if let Operand::Status(read) = operand {
                    reads.push(Read { status_of: *read, reader: id });
                }
            });
        }
    }
    let pairs: Vec<_> = reads.iter().map(|read| (read.status_of, read.reader)).collect();
    let passed: FxHashSet<(TaskId, TaskId)> = pairs
        .iter()
        .zip(context.upstream_by_all(&pairs))
        .filter(|(pair, by_all)| *by_all && context.ordered(pair.0) && context.ordered(pair.1))
        .map(|(&pair, _)| pair)
        .collect();
    let mut first: FxHashMap<TaskId, TaskId> = FxHashMap::default();
    for &(read, reader) in pairs.iter().filter(|pair| passed.contains(pair)) {
        first.entry(reader).or_insert(read);
    }
    reads.dedup_by_key(|read| read.reader);
    for Read { reader, .. } in reads {
        let Some(when) = &context.plan[reader].when else { continue };
        let judged = |known: &dyn Fn(TaskId) -> bool| {
            when.value.possible(&|leaf| status_leaf(context.plan, leaf, known)).holds
        };
        // What cannot hold in any case is another rule's finding.
        if judged(&|read| passed.contains(&(read, reader))) || !judged(&|_| false) {
            continue;
        }
        let Some(&blamed) = first.get(&reader) else { continue };
        let (name, other) = (context.name(reader), context.name(blamed));
        found.push(
            NEVER_RUNS
                .at(when.span, format!("`{name}` never runs: its joins need `{other}` to pass"))
                .label(format!("cannot hold once `{other}` has passed"))
                .related(context.plan[reader].name.span, format!("joins `\"all\"`, so `{other}` has to pass"))
                .help("write `join = \"settled\"`, which runs it whatever became of its dependencies"),
        );
    }
}

/// What a comparison of a `status` comes to, where `passed` says which tasks are known to have passed.
fn status_leaf(plan: &Plan, leaf: &Condition, passed: &dyn Fn(TaskId) -> bool) -> Possible {
    let (task, operator, value) = match leaf {
        Condition::Compare {
            left: Operand::Status(task), operator, right: Operand::Literal(value), ..
        } => (*task, *operator, value),
        Condition::Compare {
            left: Operand::Literal(value), operator, right: Operand::Status(task), ..
        } => (*task, operator.turned(), value),
        Condition::Compare { .. }
        | Condition::Holds { .. }
        | Condition::Otherwise { .. }
        | Condition::And(_)
        | Condition::Or(_)
        | Condition::Not(_) => return Possible::BOTH,
    };
    Status::ALL
        .iter()
        .filter(|status| match status {
            Status::Pass => true,
            Status::Partial => plan[task].allow_partial,
            Status::NotTaken
            | Status::Fail
            | Status::Skipped
            | Status::Transport
            | Status::Blocked
            | Status::Truncated => !passed(task),
        })
        .map(|status| operator.compare_text(status.as_str(), value))
        .fold(Possible { holds: false, fails: false }, |any, one| Possible {
            holds: any.holds || one.holds,
            fails: any.fails || one.fails,
        })
}
