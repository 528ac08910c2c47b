//! Writes the top of a page: how the run stands, what went wrong first, and warnings.

use std::fmt::Write;

use super::escape::{self, Safe};
use super::{Page, details, facts, tasks, text, words};
use crate::event;
use crate::history::State;

/// Most failures that are listed before the tasks themselves.
const MOST_CAUSES: usize = 12;

/// Most warnings.
const MOST_WARNINGS: usize = 50;

/// How the run stands: its look, and the word for it.
fn standing(page: &Page<'_>) -> (&'static str, &'static str) {
    match page.state {
        State::Ended => match page.input.history.ended.as_ref().and_then(|ended| ended.verdict) {
            Some(event::Verdict::Valid) => ("pass", "valid"),
            Some(event::Verdict::Invalid) => ("fail", "invalid"),
            None => ("cut", "ended without a verdict"),
        },
        State::Waiting => ("waiting", "waiting for an answer"),
        State::Interrupted => ("cut", "interrupted"),
        State::Running => ("running", "running"),
    }
}

/// The title of the page.
pub(super) fn title(page: &Page<'_>) -> String {
    format!("{}: {}", page.input.plan.name, standing(page).1)
}

/// Writes header, causes and warnings.
pub(super) fn write(out: &mut String, page: &Page<'_>) {
    let history = page.input.history;
    let (look, word) = standing(page);
    let _ = write!(
        out,
        "<header class=\"top s-{look}\"><div class=\"name\"><h1>{}</h1><p>Run <code>{}</code>",
        Safe(&page.input.plan.name),
        Safe(&history.run)
    );
    if let (Some(first), Some(last)) = (page.input.events.first(), page.input.events.last()) {
        let (first, last) = (event::utc(first.at), event::utc(last.at));
        let _ = write!(out, ", {} to {} UTC", day_and_time(&first), day_and_time(&last));
    }
    let _ = write!(out, "</p></div><p class=\"verdict\">{}<b>{word}</b>", tasks::icon(look));
    if let Some(ended) = &history.ended
        && ended.verdict.is_some()
    {
        let _ = write!(out, "<span>{}</span>", ended.exit.as_str().replace('_', " "));
    }
    out.push_str("</p></header><main>");
    if let Some(goal) = &page.input.plan.header.goal {
        let _ = write!(out, "<p class=\"goal\">{}</p>", Safe(&page.masked(goal)));
    }
    out.push_str("<dl class=\"numbers\">");
    numbers(out, page);
    out.push_str("</dl>");
    params(out, page);
    tally(out, page);
    causes(out, page);
    gates(out, page);
    if !history.warnings.is_empty() {
        let _ = write!(
            out,
            "<section class=\"callout warn\"><h2>{}</h2>",
            text::count(history.warnings.len(), "warning")
        );
        let lines = history.warnings.iter().take(MOST_WARNINGS).map(|warning| {
            let mut line = String::from("<li>");
            if let Some(task) = &warning.task {
                facts::link(&mut line, page, task);
                line.push_str(": ");
            }
            let _ = write!(line, "{}</li>", Safe(&warning.message));
            line
        });
        let _ = write!(out, "<ul>{}</ul>", lines.collect::<String>());
        if let Some(more) = history.warnings.len().checked_sub(MOST_WARNINGS).filter(|&more| more > 0) {
            let _ = write!(out, "<p>and {more} more</p>");
        }
        out.push_str("</section>");
    }
}

/// `2026-11-02 07:15:03` of a time as the log writes it.
fn day_and_time(utc: &str) -> String {
    utc.split('.').next().unwrap_or(utc).replace('T', " ")
}

fn numbers(out: &mut String, page: &Page<'_>) {
    let history = page.input.history;
    let ceilings = history.ceilings;
    let mut number = |name: &str, value: String, of: Option<String>| {
        let of = of.map(|of| format!(" <small>of {of}</small>")).unwrap_or_default();
        let _ = write!(out, "<div><dt>{name}</dt><dd>{value}{of}</dd></div>");
    };
    number("Elapsed", words::time(page.line.end), ceilings.time_ms.map(words::time));
    number("Spent", format!("${}", history.spent), ceilings.usd.map(|usd| format!("${usd}")));
    number("Attempts", history.steps.to_string(), ceilings.steps.map(|steps| steps.to_string()));
    number("Tasks", page.input.plan.tasks.len().to_string(), None);
    let instances: usize =
        history.rows.iter().filter_map(|row| row.instances.as_ref()).map(indexmap::IndexMap::len).sum();
    if instances > 0 {
        number("Instances", instances.to_string(), None);
    }
    if let Some(result) = &page.input.plan.header.result {
        let mut link = String::new();
        facts::link(&mut link, page, result);
        number("Result", link, None);
    }
    if history.sittings > 1 {
        number("Sittings", history.sittings.to_string(), None);
    }
}

/// What the run was launched with.
fn params(out: &mut String, page: &Page<'_>) {
    let params = &page.input.plan.params;
    if params.is_empty() {
        return;
    }
    out.push_str("<p class=\"params\">Launched with");
    for param in params {
        let value = param.value.as_ref().and_then(|value| serde_json::value::to_raw_value(value).ok());
        let value =
            value.map_or_else(|| "nothing".to_owned(), |raw| (page.input.show)(&raw.into()).get().to_owned());
        let (shown, left_out) = escape::cut(&value, 200);
        let more = if left_out > 0 { "…" } else { "" };
        let _ = write!(out, " <code>{} = {}{more}</code>", Safe(&param.name), Safe(shown));
    }
    out.push_str("</p>");
}

/// A bar of all statuses.
fn tally(out: &mut String, page: &Page<'_>) {
    let counts = words::counts(page.looks.iter().copied());
    let _ = write!(out, "<div class=\"tally\" role=\"img\" aria-label=\"{}\">", words::tally(&counts));
    for (look, count) in &counts {
        let _ = write!(out, "<span class=\"s-{look}\" style=\"flex:{count}\"></span>");
    }
    out.push_str("</div><p class=\"legend\">");
    for (look, count) in counts {
        let _ = write!(
            out,
            "<span class=\"s-{look}\">{}{count} {}</span> ",
            tasks::icon(look),
            words::word(look)
        );
    }
    out.push_str("</p>");
}

fn causes(out: &mut String, page: &Page<'_>) {
    let (history, first) = (page.input.history, &page.causes.first);
    if first.is_empty() && history.halted.is_none() {
        return;
    }
    let mut behind = vec![0usize; history.rows.len()];
    page.causes.behind.iter().flatten().for_each(|&at| behind[at] += 1);
    let bad = history.ended.as_ref().is_none_or(|ended| ended.verdict != Some(event::Verdict::Valid));
    let _ = write!(
        out,
        "<section class=\"callout {}\"><h2>{}</h2>",
        if bad { "bad" } else { "warn" },
        if bad { "What went wrong, first cause first" } else { "What failed without failing the run" }
    );
    // A task that halted the run is the first of the list.
    if let Some(halted) = &history.halted
        && halted.task.is_none()
    {
        let _ = write!(out, "<p>Halted: {}", halted.exit.as_str().replace('_', " "));
        if let Some(note) = &halted.note {
            let _ = write!(out, "; {}", Safe(note));
        }
        out.push_str("</p>");
    }
    out.push_str("<ol>");
    for &at in first.iter().take(MOST_CAUSES) {
        let (task, row) = (&page.input.plan.tasks[at], page.row(at));
        out.push_str("<li>");
        facts::link(out, page, &task.name);
        let _ = write!(out, " {}", words::word(page.looks[at]));
        if let Some(note) = row.note() {
            let _ = write!(out, ": {}", Safe(note));
        }
        let mut facts = Vec::new();
        if !task.required {
            facts.push("advisory".to_owned());
        }
        if task.stage != "main" {
            facts.push("epilogue".to_owned());
        }
        if behind[at] > 0 {
            facts.push(format!("{} blocked behind it", text::count(behind[at], "task")));
        }
        if !facts.is_empty() {
            let _ = write!(out, " <small>{}</small>", facts.join(", "));
        }
        out.push_str("</li>");
    }
    out.push_str("</ol>");
    if let Some(more) = first.len().checked_sub(MOST_CAUSES).filter(|&more| more > 0) {
        let _ = write!(out, "<p>and {more} more below</p>");
    }
    out.push_str("</section>");
}

fn gates(out: &mut String, page: &Page<'_>) {
    let gates = page.input.history.verdicts();
    if gates.len() == 0 {
        return;
    }
    out.push_str("<section class=\"gates\"><h2>Acceptance</h2>");
    details::verifiers(out, gates);
    out.push_str("</section>");
}
