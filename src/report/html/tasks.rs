//! Writes what is known of each task: a line that opens, and behind it everything else.

use std::fmt::Write;

use super::escape::{self, Safe};
use super::graph::Graph;
use super::timeline::Bar;
use super::{MOST_RESULT, MOST_TAIL, Page, anchor, text, words};
use crate::event::{Blocked, VerifierEnded, Warning};
use crate::history::{Row, instance_name};
use crate::ir::Millis;
use crate::source::Text;

/// Most names in a list of tasks.
const MOST_NAMES: usize = 24;

/// Writes the section.
pub(super) fn write(out: &mut String, page: &Page<'_>) {
    let tasks = &page.input.plan.tasks;
    // What failed takes the room for results and streams before the rest.
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&at| !words::is_bad(page.row(at)));
    let mut bodies = vec![String::new(); tasks.len()];
    for at in order {
        bodies[at] = body(page, at);
    }
    let clusters = clusters(page);
    out.push_str("<section id=\"tasks\" aria-labelledby=\"h-tasks\"><header><h2 id=\"h-tasks\">Tasks</h2>");
    filter(out, page);
    out.push_str("</header>");
    let costs = page.input.history.rows.iter().any(|row| !row.cost.is_zero());
    for (stage, title) in [("main", None), ("epilogue", Some("Epilogue"))] {
        let members: Vec<usize> =
            (0..tasks.len()).filter(|&at| (tasks[at].stage == "main") == (stage == "main")).collect();
        if members.is_empty() {
            continue;
        }
        if let Some(title) = title {
            let _ = write!(out, "<h3>{title} <small>cannot change the verdict</small></h3>");
        }
        let _ = write!(
            out,
            "<div class=\"list{}\"><div class=\"head\" aria-hidden=\"true\"><span>Status</span><span>Task</span><span>Kind</span><span>Attempts</span><span>Time</span>",
            if costs { " costs" } else { "" }
        );
        if costs {
            out.push_str("<span>Cost</span>");
        }
        out.push_str("<span>Note</span></div>");
        for at in members {
            line(out, page, at, costs, clusters.get(at).and_then(Option::as_deref));
            let _ = writeln!(
                out,
                "<div class=\"body\" id=\"{}\">{}</div></details>",
                Safe(&anchor(&tasks[at].name, None)),
                bodies[at]
            );
        }
        out.push_str("</div>");
    }
    out.push_str("<p class=\"none\" hidden>No task matches.</p></section>");
}

/// The box of the picture that stands for each task, where one stands for several.
fn clusters(page: &Page<'_>) -> Vec<Option<String>> {
    let mut clusters = vec![None; page.input.plan.tasks.len()];
    let mut name = |graph: &Graph, stage: &str| {
        if graph.collapsed {
            for (number, one) in graph.boxes.iter().enumerate() {
                one.tasks.iter().for_each(|&at| clusters[at] = Some(format!("{stage}-{number}")));
            }
        }
    };
    name(&page.main, "main");
    name(&page.epilogue, "epilogue");
    clusters
}

/// Narrows the list down; a script shows it.
fn filter(out: &mut String, page: &Page<'_>) {
    out.push_str(
        "<div class=\"filter\" hidden><input type=\"search\" placeholder=\"Filter by name or note\" \
         aria-label=\"Filter tasks by name or note\">",
    );
    for (look, count) in words::counts(page.looks.iter().copied()) {
        let _ = write!(
            out,
            "<button type=\"button\" class=\"chip s-{look}\" data-look=\"{look}\" aria-pressed=\"false\">{}{} {count}\
             </button>",
            icon(look),
            words::word(look)
        );
    }
    out.push_str("<button type=\"button\" class=\"clear\" hidden>Show all</button></div>");
}

/// The small picture of a look.
pub(super) fn icon(look: &str) -> String {
    format!("<svg class=\"i\" aria-hidden=\"true\"><use href=\"#i-{look}\"/></svg>")
}

fn line(out: &mut String, page: &Page<'_>, at: usize, costs: bool, cluster: Option<&str>) {
    let (task, row, look) = (&page.input.plan.tasks[at], page.row(at), page.looks[at]);
    let _ = write!(out, "<details class=\"t s-{look}\"");
    if let Some(cluster) = cluster {
        let _ = write!(out, " data-cluster=\"{cluster}\"");
    }
    let _ = write!(
        out,
        "><summary><span class=\"st\">{}{}</span><span class=\"nm\">{}</span><span class=\"kd\">{}{}</span><span \
         class=\"num\">{}</span><span class=\"num\">{}</span>",
        icon(look),
        words::word(look),
        Safe(&task.name),
        Safe(&task.kind),
        if task.required { "" } else { " <small>advisory</small>" },
        attempts(row),
        page.span(at).map(|(from, to)| words::time(Millis(to.0 - from.0))).unwrap_or_default(),
    );
    if costs {
        let cost = if row.cost.is_zero() { String::new() } else { format!("${}", row.cost) };
        let _ = write!(out, "<span class=\"num\">{cost}</span>");
    }
    let note = row.note().map(Text::as_str).unwrap_or_default();
    let _ = write!(out, "<span class=\"nt\">{}</span></summary>", Safe(escape::cut(note, 300).0));
}

/// How many attempts a task and its instances took.
fn attempts(row: &Row) -> String {
    let inside = row.instances.iter().flat_map(|all| all.values());
    let count = row.attempts + inside.map(|row| row.attempts).sum::<u32>();
    if count == 0 { String::new() } else { count.to_string() }
}

fn body(page: &Page<'_>, at: usize) -> String {
    let (task, row) = (&page.input.plan.tasks[at], page.row(at));
    let mut out = String::new();
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

fn cause(out: &mut String, page: &Page<'_>, at: usize, blocked: &Blocked) {
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

fn facts(out: &mut String, page: &Page<'_>, at: usize) {
    let task = &page.input.plan.tasks[at];
    out.push_str("<dl>");
    let mut fact = |name: &str, value: &str| {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    };
    let mut kind = Safe(&task.kind).to_string();
    if task.mapped {
        kind.push_str(", fans out");
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
    out.push_str("</dl>");
}

fn names<'a>(page: &Page<'_>, names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let mut out = String::new();
    let more = names.len().saturating_sub(MOST_NAMES);
    for name in names.take(MOST_NAMES) {
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
