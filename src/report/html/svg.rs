//! Draws a graph: its boxes, with the status of what they stand for, and the edges between them.

use std::fmt::Write;

use super::escape::Safe;
use super::graph::{Box, Graph};
use super::layout::{self, Point};
use super::{Page, anchor, text, words};
use crate::ir::Millis;

/// The height of a box.
const HEIGHT: f64 = 44.0;

/// The width of a character of a name, in its monospaced face.
const CHARACTER: f64 = 7.3;

/// Most characters of a name in a box; the whole name is in the box's title.
const MOST_CHARACTERS: usize = 30;

/// Around the picture.
const MARGIN: f64 = 12.0;

/// Boxes without any edge stand in rows of about this many.
const IN_A_ROW: usize = 6;

/// Draws `graph`; `stage` keeps the ids of two pictures on one page apart.
pub(super) fn draw(out: &mut String, page: &Page<'_>, graph: &Graph, stage: &str) {
    let shown: Vec<Shown> = graph.boxes.iter().map(|one| Shown::new(page, one)).collect();
    let widths: Vec<f64> = shown.iter().map(Shown::width).collect();
    let (places, lines, width, height) = places(graph, &widths);
    let (width, height) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN);
    let _ = write!(
        out,
        "<div class=\"canvas\" tabindex=\"-1\"><svg class=\"graph\" xmlns=\"http://www.w3.org/2000/svg\" \
         viewBox=\"{:.0} {:.0} {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         role=\"group\" aria-label=\"Graph of the {stage} tasks\"><g class=\"edges\" aria-hidden=\"true\">",
        -MARGIN, -MARGIN
    );
    for (&(from, to, ref join), points) in graph.edges.iter().zip(&lines) {
        let join = if join == "all" { "" } else { join.as_str() };
        let _ = write!(out, "<path class=\"e {}\" data-a=\"{from}\" data-b=\"{to}\" d=\"", Safe(join));
        path(out, points);
        out.push_str("\"/>");
    }
    out.push_str("</g>");
    for (number, ((one, place), width)) in shown.iter().zip(&places).zip(&widths).enumerate() {
        // Of a box that stands for several tasks, a script shows the rows.
        let cluster = graph.collapsed.then(|| format!("{stage}-{number}"));
        one.draw(out, *place, *width, cluster);
    }
    out.push_str("</svg></div>");
}

/// Where everything is. What has no edge stands in rows below the rest.
fn places(graph: &Graph, widths: &[f64]) -> (Vec<Point>, Vec<Vec<Point>>, f64, f64) {
    let mut linked = vec![false; widths.len()];
    graph.edges.iter().for_each(|&(from, to, _)| (linked[from], linked[to]) = (true, true));
    let number: Vec<usize> = linked
        .iter()
        .scan(0, |next, &linked| {
            *next += usize::from(linked);
            Some(*next - usize::from(linked))
        })
        .collect();
    let among: Vec<f64> =
        widths.iter().zip(&linked).filter(|(_, linked)| **linked).map(|(&width, _)| width).collect();
    let edges: Vec<(usize, usize)> =
        graph.edges.iter().map(|&(from, to, _)| (number[from], number[to])).collect();
    let laid = layout::layout(&among, HEIGHT, &edges);
    let (mut width, mut height) = (laid.width, laid.height);
    let alone: Vec<usize> = (0..widths.len()).filter(|&at| !linked[at]).collect();
    let mut places: Vec<Point> = linked
        .iter()
        .zip(&number)
        .map(|(&linked, &at)| if linked { laid.boxes[at] } else { Point::default() })
        .collect();
    let column = alone.iter().map(|&at| widths[at]).fold(0.0, f64::max) + 16.0;
    let columns = IN_A_ROW.max((alone.len() as f64).sqrt() as usize / 2);
    let top = if height > 0.0 { height + 24.0 } else { 0.0 };
    for (nth, &at) in alone.iter().enumerate() {
        let (x, y) = ((nth % columns) as f64 * column, (nth / columns) as f64 * (HEIGHT + 12.0));
        places[at] = Point { x, y: top + y + HEIGHT / 2.0 };
        width = width.max(x + widths[at]);
        height = height.max(top + y + HEIGHT);
    }
    (places, laid.edges, width, height)
}

fn path(out: &mut String, points: &[Point]) {
    let Some(first) = points.first() else { return };
    let _ = write!(out, "M{} {}", first.x, first.y);
    for pair in points.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let _ = if (a.y - b.y).abs() < 0.01 {
            write!(out, "H{}", b.x)
        } else {
            let middle = (a.x + b.x) / 2.0;
            write!(out, "C{middle} {} {middle} {} {} {}", a.y, b.y, b.x, b.y)
        };
    }
}

/// What a box shows.
struct Shown {
    /// Where a click leads.
    target: String,
    look: &'static str,
    name: String,
    below: String,
    /// `look count` of each, for a box that stands for several.
    parts: Vec<(&'static str, usize)>,
    classes: &'static str,
}

impl Shown {
    fn new(page: &Page<'_>, one: &Box) -> Self {
        let looks = one.tasks.iter().map(|&at| page.looks[at]);
        let parts = words::counts(looks);
        let first = one.tasks[0];
        let task = &page.input.plan.tasks[first];
        if let [_] = one.tasks[..] {
            let row = &page.input.history.rows[first];
            let look = page.looks[first];
            let mut below = word_and_time(page, first);
            let parts = match &row.instances {
                Some(instances) => {
                    below = format!("{} · {}", words::word(look), text::count(instances.len(), "instance"));
                    words::counts(instances.values().map(|row| words::look(row, page.runs)))
                }
                None => Vec::new(),
            };
            let classes = match (task.mapped, task.required) {
                (true, true) => " many",
                (true, false) => " many advisory",
                (false, true) => "",
                (false, false) => " advisory",
            };
            let target = anchor(&task.name, None);
            return Self { target, look, name: task.name.to_string(), below, parts, classes };
        }
        let worst = one.tasks.iter().copied().min_by_key(|&at| words::rank(page.looks[at])).unwrap_or(first);
        Self {
            target: anchor(&page.input.plan.tasks[worst].name, None),
            look: parts.first().map_or("pending", |&(look, _)| look),
            name: one.label.clone(),
            below: format!("{}: {}", text::count(one.tasks.len(), "task"), words::tally(&parts)),
            parts,
            classes: " many",
        }
    }

    fn width(&self) -> f64 {
        let name = self.name.chars().count().min(MOST_CHARACTERS) as f64 * CHARACTER;
        let below = self.below.chars().count().min(MOST_CHARACTERS + 4) as f64 * 6.6;
        (name.max(below) + 44.0).max(112.0).round()
    }

    fn draw(&self, out: &mut String, at: Point, width: f64, cluster: Option<String>) {
        let Self { look, classes, .. } = self;
        let _ = write!(
            out,
            "<a class=\"n s-{look}{classes}\" href=\"#{}\" transform=\"translate({} {})\"",
            Safe(&self.target),
            at.x,
            at.y - HEIGHT / 2.0
        );
        if let Some(cluster) = cluster {
            let _ = write!(out, " data-cluster=\"{cluster}\"");
        }
        let name = Safe(&self.name);
        let _ = write!(out, "><title>{name}: {}</title>", Safe(&self.below));
        if classes.contains("many") {
            let _ = write!(
                out,
                "<rect class=\"back\" x=\"4\" y=\"4\" width=\"{width}\" height=\"{HEIGHT}\" rx=\"7\"/>"
            );
        }
        let _ = write!(
            out,
            "<rect width=\"{width}\" height=\"{HEIGHT}\" rx=\"7\"/><use href=\"#i-{look}\" x=\"11\" y=\"14\" \
             width=\"16\" height=\"16\"/><text class=\"nm\" x=\"36\" y=\"19\">{}</text>\
             <text x=\"36\" y=\"34\">{}</text>",
            Safe(&short(&self.name, MOST_CHARACTERS)),
            Safe(&short(&self.below, MOST_CHARACTERS + 4))
        );
        let total: usize = self.parts.iter().map(|&(_, count)| count).sum();
        if total > 0 {
            let mut x = 7.0;
            for &(look, count) in &self.parts {
                let part = (width - 14.0) * count as f64 / total as f64;
                let _ = write!(
                    out,
                    "<rect class=\"part s-{look}\" x=\"{x:.1}\" y=\"{}\" width=\"{part:.1}\" height=\"3\"/>",
                    HEIGHT - 5.0
                );
                x += part;
            }
        }
        out.push_str("</a>");
    }
}

/// `pass · 1.2 s`.
fn word_and_time(page: &Page<'_>, at: usize) -> String {
    let word = words::word(page.looks[at]);
    match page.span(at) {
        Some((start, end)) => format!("{word} · {}", words::time(Millis(end.0 - start.0))),
        None => format!("{word} · {}", page.input.plan.tasks[at].kind),
    }
}

/// `text`, or as much of it as `most` characters hold.
fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}
