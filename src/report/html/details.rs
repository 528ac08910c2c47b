//! Writes what is known of a task beyond its line: what ran, what came of it, and where it stands.

use std::fmt::Write;

use super::escape::{self, Safe};
use super::facts::{cause, facts};
use super::tasks::icon;
use super::timeline::Bar;
use super::{MOST_RESULT, MOST_TAIL, Page, anchor, text, words};
use crate::event::{VerifierEnded, Warning};
use crate::history::{Row, instance_name};
use crate::ir::Millis;
use crate::source::Text;

pub(super) fn body(page: &Page<'_>, at: usize) -> String {
    let (task, row) = (&page.input.plan.tasks[at], page.row(at));
    let mut out = String::new();
    if let Some(doc) = page.input.plan.docs.get(&task.name) {
        let _ = write!(out, "<p class=\"doc\">{}</p>", Safe(&page.masked(doc)));
    }
    if let Some(note) = row.note() {
        let _ = write!(out, "<p class=\"note\">{}</p>", Safe(note));
    }
    if let Some(blocked) = row.settled.as_ref().and_then(|settled| settled.blocked.as_ref()) {
        cause(&mut out, page, at, blocked);
    }
    facts(&mut out, page, at);
    if let Some(asked) = &row.asked {
        let options: Vec<String> = asked.options.iter().map(|option| format!("`{option}`")).collect();
        let _ = write!(
            out,
            "<p class=\"ask\">Asks: {} <small>{}</small></p>",
            Safe(&asked.ask),
            Safe(&options.join(", "))
        );
    }
    if let Some(answered) = &row.answered {
        let _ = write!(
            out,
            "<p class=\"ask\">Answered `{}` by {}</p>",
            Safe(&answered.answer),
            Safe(&answered.by)
        );
    }
    run(&mut out, page, &task.name, row);
    if let Some(instances) = &row.instances {
        let _ = write!(out, "<h4>{}</h4>", text::count(instances.len(), "instance"));
        table(&mut out, page, at);
    }
    out
}

/// What an instance, or a task without instances, did.
fn run(out: &mut String, page: &Page<'_>, name: &str, row: &Row) {
    let bars: Vec<&Bar> = page.line.of(name).filter(|bar| bar.attempt.is_some()).collect();
    match bars[..] {
        [] => {}
        [only] => single(out, only),
        _ => several(out, &bars),
    }
    rounds(out, row);
    verifiers(out, row.verifiers.values());
    warnings(out, page.input.history.warnings.iter().filter(|warning| warning.task.as_deref() == Some(name)));
    if row.instances.is_none()
        && let Some(output) = row.output()
        && output.get() != "{}"
    {
        let title = if words::is_bad(row) { "Reading kept from the failure" } else { "Result" };
        block(out, page, title, &escape::pretty((page.input.show)(&output).get()), MOST_RESULT, Keep::Start);
    }
    if let Some(files) = row.files().filter(|files| !files.paths.is_empty()) {
        let _ =
            write!(out, "<h4>Files <small>{}</small></h4><ul class=\"files\">", escape::bytes(files.bytes));
        for path in &files.paths {
            let _ = write!(out, "<li><code>{}</code></li>", Safe(path));
        }
        out.push_str("</ul>");
    }
    if let Some(attempt) = row.running.or_else(|| row.last.as_ref().map(|last| last.attempt)) {
        streams(out, page, attempt);
    }
}

fn single(out: &mut String, bar: &Bar) {
    let Some(attempt) = bar.attempt else { return };
    let number = attempt.number;
    let _ = write!(
        out,
        "<p class=\"one\">Attempt <b>{number}</b>: {}, {} to {} <code>logs/{number}.out</code> <code>logs/{number}.err\
         </code></p>",
        bar.how.as_str(),
        words::time(bar.start),
        words::time(bar.end)
    );
}

fn several(out: &mut String, bars: &[&Bar]) {
    let rounds = bars.iter().any(|bar| bar.attempt.is_some_and(|attempt| attempt.round > 1));
    out.push_str("<h4>Attempts</h4><div class=\"wide\"><table><thead><tr><th>No.<th>Attempt");
    if rounds {
        out.push_str("<th>Round");
    }
    out.push_str("<th>Outcome<th>From<th>Took<th>Streams<th>Note</tr></thead><tbody>");
    for bar in bars {
        let Some(attempt) = bar.attempt else { continue };
        let number = attempt.number;
        let _ = write!(out, "<tr class=\"s-{}\"><td>{number}<td>{}", bar.how.look(), attempt.nth);
        if rounds {
            let _ = write!(out, "<td>{}", attempt.round);
        }
        let _ = write!(
            out,
            "<td class=\"st\">{}<td>{}<td>{}<td><code>logs/{number}.out</code> <code>.err</code><td>{}</tr>",
            bar.how.as_str(),
            words::time(bar.start),
            words::time(Millis(bar.end.0 - bar.start.0)),
            Safe(bar.note.as_deref().unwrap_or_default())
        );
    }
    out.push_str("</tbody></table></div>");
}

fn rounds(out: &mut String, row: &Row) {
    if row.rounds.is_empty() {
        return;
    }
    out.push_str("<h4>Earlier rounds</h4><div class=\"wide\"><table><thead><tr><th>Round<th>Status<th>Attempts<th>Note</tr></thead><tbody>");
    for round in &row.rounds {
        let status = round.settled.status.as_str();
        let _ = write!(
            out,
            "<tr class=\"s-{status}\"><td>{}<td class=\"st\">{}{}<td>{}<td>{}</tr>",
            round.round,
            icon(status),
            words::word(status),
            round.attempts,
            Safe(round.settled.note.as_deref().unwrap_or_default())
        );
    }
    out.push_str("</tbody></table></div>");
}

/// What verifiers said; nothing where none spoke.
pub(super) fn verifiers<'a>(out: &mut String, all: impl ExactSizeIterator<Item = &'a VerifierEnded>) {
    if all.len() == 0 {
        return;
    }
    out.push_str("<h4>Verifiers</h4><div class=\"wide\"><table><thead><tr><th>Verifier<th>Verdict<th>Detail</tr></thead><tbody>");
    for one in all {
        let look = if one.pass { "pass" } else { "fail" };
        let mode = match one.mode.map(serde_json::to_value) {
            Some(Ok(serde_json::Value::String(word))) => format!(" ({word})"),
            Some(Ok(_) | Err(_)) | None => String::new(),
        };
        let _ = write!(
            out,
            "<tr class=\"s-{look}\"><td>{}<td class=\"st\">{}{}{mode}<td>{}</tr>",
            Safe(&one.verifier),
            icon(look),
            if one.pass { "accepted" } else { "not accepted" },
            Safe(one.detail.as_deref().unwrap_or_default())
        );
    }
    out.push_str("</tbody></table></div>");
}

/// Warnings, if there are any.
pub(super) fn warnings<'a>(out: &mut String, all: impl Iterator<Item = &'a Warning>) {
    let all: Vec<String> = all.map(|warning| format!("<li>{}</li>", Safe(&warning.message))).collect();
    if !all.is_empty() {
        let _ = write!(out, "<ul class=\"warnings\">{}</ul>", all.concat());
    }
}

fn table(out: &mut String, page: &Page<'_>, at: usize) {
    let (task, row) = (&page.input.plan.tasks[at], page.row(at));
    let Some(instances) = row.instances.as_ref().filter(|all| !all.is_empty()) else { return };
    // What failed takes the room for texts first here too.
    let mut order: Vec<usize> = (0..instances.len()).collect();
    order.sort_by_key(|&number| !words::is_bad(&instances[number]));
    let mut bodies = vec![String::new(); instances.len()];
    for number in order {
        if let Some((element, row)) = instances.get_index(number) {
            run(&mut bodies[number], page, &instance_name(&task.name, element), row);
        }
    }
    out.push_str("<div class=\"wide\"><table class=\"instances\"><thead><tr><th>Status<th>Element<th class=\"num\">Attempts<th class=\"num\">Time<th>Details</tr></thead><tbody>");
    for ((number, (element, row)), body) in instances.iter().enumerate().zip(bodies) {
        let look = words::look(row, page.runs);
        let name = instance_name(&task.name, element);
        let bars = page.line.of(&name).filter(|bar| bar.attempt.is_some());
        let took = bars.map(|bar| bar.end.0 - bar.start.0).reduce(|a, b| a + b);
        let note = row.note().map(Text::as_str).unwrap_or_default();
        let _ = write!(
            out,
            "<tr class=\"s-{look}\" data-name=\"{}\"><td class=\"st\">{}{}<td><code>{}</code><td class=\"num\">{}<td class=\"num\">{}<td>",
            Safe(&name),
            icon(look),
            words::word(look),
            Safe(element),
            row.attempts,
            took.map(|took| words::time(Millis(took))).unwrap_or_default()
        );
        let id = anchor(&task.name, Some(number));
        if body.is_empty() {
            let _ = write!(out, "<span id=\"{}\">{}</span></tr>", Safe(&id), Safe(note));
        } else {
            let said = if note.is_empty() { "details" } else { note };
            let _ = write!(
                out,
                "<details><summary>{}</summary><div id=\"{}\">{body}</div></details></tr>",
                Safe(said),
                Safe(&id)
            );
        }
    }
    out.push_str("</tbody></table></div>");
}

/// Which end of a text is worth more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Start,
    End,
}

fn block(out: &mut String, page: &Page<'_>, title: &str, text: &str, most: usize, keep: Keep) {
    let room = page.take(text.len(), most);
    let (shown, left_out) = match keep {
        Keep::Start => escape::cut(text, room),
        Keep::End => {
            let mut from = text.len() - room;
            while !text.is_char_boundary(from) {
                from += 1;
            }
            (&text[from..], from)
        }
    };
    let _ = write!(out, "<h4>{title}");
    if left_out > 0 {
        let which = if keep == Keep::Start { "more" } else { "before this" };
        let _ = write!(out, " <small>{} {which}</small>", escape::bytes(left_out as u64));
    }
    out.push_str("</h4>");
    if !shown.is_empty() {
        let _ = write!(out, "<pre tabindex=\"0\">{}</pre>", Safe(shown));
    }
}

fn streams(out: &mut String, page: &Page<'_>, attempt: u32) {
    if page.room.get() == 0 {
        return;
    }
    let streams = (page.input.streams)(attempt);
    for (tail, file) in [(&streams.out, "out"), (&streams.err, "err")] {
        let shown = escape::plain(&tail.text);
        let shown = shown.trim_end_matches('\n');
        if shown.trim().is_empty() {
            continue;
        }
        let title = match file {
            "out" => format!("Standard output <small>logs/{attempt}.out</small>"),
            _ => format!("Standard error <small>logs/{attempt}.err</small>"),
        };
        let title = match tail.before {
            0 => title,
            before => format!("{title} <small>{} before this</small>", escape::bytes(before)),
        };
        block(out, page, &title, shown, MOST_TAIL, Keep::End);
    }
}
