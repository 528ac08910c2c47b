//! Writes what the plan says of a task, and why it never ran.

use std::fmt::Write;

use super::escape::{self, Safe};
use super::tasks::icon;
use super::{Page, anchor, words};
use crate::event::Blocked;
use crate::ir::dump::{Argument, RunDocument, Spec, TaskDocument};
use crate::source::Text;

/// Most names in a list of tasks.
const MOST_NAMES: usize = 24;

/// The same on the page of a large plan, which would be little else.
const FEW_NAMES: usize = 6;

/// How many tasks a large plan has.
const LARGE: usize = 1000;

/// Most bytes of a command.
const MOST_COMMAND: usize = 1500;

pub(super) fn cause(out: &mut String, page: &Page<'_>, at: usize, blocked: &Blocked) {
    let reason = match serde_json::to_value(blocked.reason) {
        Ok(serde_json::Value::String(word)) => word.replace('_', " "),
        Ok(_) | Err(_) => String::new(),
    };
    let _ = write!(out, "<p class=\"cause\">Blocked: {reason}");
    if let Some(task) = &blocked.task {
        out.push_str(" of ");
        link(out, page, task);
    }
    if let Some(first) = page.causes.behind[at] {
        let first = &page.input.plan.tasks[first].name;
        if blocked.task.as_ref() != Some(first) {
            out.push_str("; first cause: ");
            link(out, page, first);
        }
    }
    out.push_str("</p>");
}

/// The name of a task, leading to its details.
pub(super) fn link(out: &mut String, page: &Page<'_>, name: &str) {
    let (task, element) = crate::history::split_name(name);
    let Some(&at) = page.index.get(task) else {
        let _ = write!(out, "<code>{}</code>", Safe(name));
        return;
    };
    let row = page.row(at);
    let number = element.and_then(|element| row.instances.as_ref()?.get_index_of(element));
    let look = match (number, &row.instances) {
        (Some(number), Some(instances)) => words::look(&instances[number], page.runs),
        (None, _) | (_, None) => page.looks[at],
    };
    let _ = write!(
        out,
        "<a class=\"l s-{look}\" href=\"#{}\">{}{}</a>",
        Safe(&anchor(task, number)),
        icon(look),
        Safe(name)
    );
}

pub(super) fn facts(out: &mut String, page: &Page<'_>, at: usize) {
    let task = &page.input.plan.tasks[at];
    out.push_str("<dl>");
    let mut fact = |name: &str, value: &str| {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    };
    let mut kind = Safe(&task.kind).to_string();
    if let Some(over) = &task.over {
        let _ = write!(kind, ", fans out over <code>{}</code>", Safe(over));
    }
    if !task.required {
        kind.push_str(", advisory");
    }
    fact("Kind", &kind);
    if let Some(group) = &task.group {
        fact("Group", &Safe(group).to_string());
    }
    if !task.depends_on.is_empty() {
        let mut value = names(page, task.depends_on.iter().map(Text::as_str));
        if task.join != "all" {
            let _ = write!(value, " <small>join {}</small>", Safe(&task.join));
        }
        fact("Depends on", &value);
    }
    if !page.dependents[at].is_empty() {
        fact(
            "Needed by",
            &names(page, page.dependents[at].iter().map(|&at| page.input.plan.tasks[at].name.as_str())),
        );
    }
    if let Some(when) = &task.when {
        fact("When", &code(when));
    }
    let promises: Vec<String> = task.emits.iter().chain(&task.emits_files).map(|one| code(one)).collect();
    if !promises.is_empty() {
        fact("Promises", &promises.join(" "));
    }
    if !task.needs.is_empty() {
        let needs: Vec<String> = task.needs.iter().map(|one| code(one)).collect();
        fact("Needs", &needs.join(" "));
    }
    if let Some(timeout) = task.timeout_ms {
        fact("Timeout", &words::time(timeout));
    }
    if let Some(command) = command(task) {
        let command = page.masked(command.trim());
        let (shown, left_out) = escape::cut(&command, MOST_COMMAND);
        let more = if left_out > 0 { "…" } else { "" };
        fact("Runs", &format!("<pre>{}{more}</pre>", Safe(shown)));
    }
    out.push_str("</dl>");
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", Safe(text))
}

/// What a task runs, where that is a command or another plan.
fn command(task: &TaskDocument) -> Option<String> {
    let run = match &task.spec {
        Spec::Run(run) | Spec::Evaluate { run, .. } | Spec::Route { run: Some(run), .. } => run,
        Spec::Call { plan, .. } => return Some(plan.to_string()),
        Spec::None
        | Spec::Agent(_)
        | Spec::Route { run: None, .. }
        | Spec::Gate { .. }
        | Spec::TopK { .. }
        | Spec::Report { .. }
        | Spec::Machine(_) => return None,
    };
    Some(match run {
        RunDocument::Shell(text) => text.to_string(),
        RunDocument::List(list) => {
            let words = list.iter().map(|one| match one {
                Argument::Text(text) => format!("{:?}", text.as_str()),
                Argument::Pack { pack } => format!("pack({:?})", pack.as_str()),
            });
            format!("[{}]", words.collect::<Vec<_>>().join(", "))
        }
    })
}

fn names<'a>(page: &Page<'_>, names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let mut out = String::new();
    let most = if page.looks.len() > LARGE { FEW_NAMES } else { MOST_NAMES };
    let more = names.len().saturating_sub(most);
    for name in names.take(most) {
        let Some(&at) = page.index.get(name) else { continue };
        let look = page.looks[at];
        let _ = write!(
            out,
            "<a class=\"l s-{look}\" href=\"#{}\">{}</a> ",
            Safe(&anchor(name, None)),
            Safe(name)
        );
        if look != "pass" {
            let _ = write!(out, "<small>{}</small> ", words::word(look));
        }
    }
    if more > 0 {
        let _ = write!(out, "and {more} more");
    }
    out
}
