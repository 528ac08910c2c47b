//! Writes what is known of each task: a line that opens, and behind it everything else.

use std::fmt::Write;

use super::escape::{self, Safe};
use super::graph::Graph;
use super::{Page, anchor, details, words};
use crate::history::Row;
use crate::ir::Millis;
use crate::source::Text;

/// Writes the section.
pub(super) fn write(out: &mut String, page: &Page<'_>) {
    let tasks = &page.input.plan.tasks;
    // What failed takes the room for results and streams before the rest.
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&at| !words::is_bad(page.row(at)));
    let mut bodies = vec![String::new(); tasks.len()];
    for at in order {
        bodies[at] = details::body(page, at);
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
