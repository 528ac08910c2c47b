//! Draws the timeline: a row a task while there are few, else all attempts in as many rows as ran side by
//! side. Everything is placed in per cent, so that it fits any window without a script.

use std::fmt::Write;

use super::escape::Safe;
use super::timeline::{self, Bar};
use super::{Page, anchor, owner, text, words};
use crate::event;
use crate::ir::Millis;

/// Most tasks that have a row of their own.
const MOST_ROWS: usize = 200;

/// Most rows inside a row.
const MOST_LANES: usize = 24;

/// A mark thinner than this, in per cent of the whole, becomes one with its neighbours, up to [`WIDEST`].
const FINEST: f64 = 0.12;

/// The widest mark that stands for several.
const WIDEST: f64 = 0.5;

/// Writes the section; nothing where nothing ran.
pub(super) fn write(out: &mut String, page: &Page<'_>) {
    if page.line.bars.is_empty() {
        return;
    }
    let end = Millis(page.line.end.0.max(1));
    out.push_str(
        "<section id=\"timeline\" aria-labelledby=\"h-time\"><header><h2 id=\"h-time\">Timeline</h2>",
    );
    let attempts = page.line.bars.iter().filter(|bar| bar.attempt.is_some()).count();
    let _ = write!(out, "<p class=\"aside\">{}", text::count(attempts, "attempt"));
    if page.line.sittings.len() > 1 {
        let _ = write!(
            out,
            " in {}; the time between does not count",
            text::count(page.line.sittings.len(), "sitting")
        );
    }
    out.push_str("</p></header><div class=\"chart\">");
    scale(out, page, end);
    let mut rows: Vec<(usize, Vec<&Bar>)> = Vec::new();
    let mut row_of = vec![usize::MAX; page.input.plan.tasks.len()];
    for bar in &page.line.bars {
        let Some(&task) = page.index.get(owner(&bar.name)) else { continue };
        if row_of[task] == usize::MAX {
            row_of[task] = rows.len();
            rows.push((task, Vec::new()));
        }
        rows[row_of[task]].1.push(bar);
    }
    if rows.len() <= MOST_ROWS {
        for (task, bars) in rows {
            let name = &page.input.plan.tasks[task].name;
            let _ = write!(
                out,
                "<div class=\"row s-{}\"><a class=\"nm\" href=\"#{}\"><svg class=\"i\" aria-hidden=\"true\"><use \
                 href=\"#i-{}\"/></svg>{}</a>",
                page.looks[task],
                Safe(&anchor(name, None)),
                page.looks[task],
                Safe(name)
            );
            track(out, page, &bars, end);
            out.push_str("</div>");
        }
    } else {
        out.push_str("<div class=\"row\"><span class=\"nm\">all tasks</span>");
        track(out, page, &page.line.bars.iter().collect::<Vec<_>>(), end);
        out.push_str("</div>");
    }
    out.push_str("</div></section>");
}

/// Marks of time, and where a sitting began.
fn scale(out: &mut String, page: &Page<'_>, end: Millis) {
    out.push_str(
        "<div class=\"row scale\" aria-hidden=\"true\"><span class=\"nm\"></span><div class=\"track\">",
    );
    let step = timeline::step(end, 8);
    let mut mark = 0;
    while mark <= end.0 {
        // The last mark's word would stand outside.
        let at = share(Millis(mark), end);
        let side = if at > 92.0 { " class=\"last\"" } else { "" };
        let _ = write!(out, "<i{side} style=\"left:{at:.2}%\">{}</i>", words::time(Millis(mark)));
        mark += step.0;
    }
    out.push_str("</div></div>");
    if page.line.sittings.len() < 2 {
        return;
    }
    out.push_str("<div class=\"row sittings\"><span class=\"nm\">sittings</span><div class=\"track\">");
    for (nth, sitting) in page.line.sittings.iter().enumerate() {
        let at = share(sitting.start, end);
        let side = if at > 80.0 { " class=\"last\"" } else { "" };
        let _ = write!(
            out,
            "<i{side} style=\"left:{at:.2}%\" title=\"sitting {} began {}\">{}</i>",
            nth + 1,
            event::utc(sitting.at),
            nth + 1
        );
    }
    out.push_str("</div></div>");
}

fn track(out: &mut String, page: &Page<'_>, bars: &[&Bar], end: Millis) {
    let (lanes, count) = timeline::lanes(bars.iter().copied());
    // More than these would be thinner than a line: the rest is drawn over them.
    let rows = count.clamp(1, MOST_LANES);
    let height = if rows == 1 { 16 } else { (96 / rows).clamp(4, 12) };
    let _ = write!(out, "<div class=\"track\" style=\"height:{}px\">", rows * (height + 2) + 2);
    for lane in 0..rows {
        let inside = bars.iter().zip(&lanes).filter(|(_, at)| **at % rows == lane).map(|(&bar, _)| bar);
        let top = lane * (height + 2) + 2;
        let mut several: Option<Several<'_>> = None;
        for bar in inside {
            let (from, to) = (share(bar.start, end), share(bar.end, end));
            match &mut several {
                Some(known) if to - from < FINEST && from - known.to < FINEST && to - known.from < WIDEST => {
                    known.add(bar, to);
                }
                _ => {
                    if let Some(known) =
                        several.replace(Several { first: bar, count: 1, worst: bar, from, to })
                    {
                        known.draw(out, page, top, height);
                    }
                }
            }
        }
        if let Some(known) = several {
            known.draw(out, page, top, height);
        }
    }
    out.push_str("</div>");
}

/// One mark, for one bar or for several that are too short to be told apart.
struct Several<'a> {
    first: &'a Bar,
    count: usize,
    worst: &'a Bar,
    from: f64,
    to: f64,
}

impl<'a> Several<'a> {
    fn add(&mut self, bar: &'a Bar, to: f64) {
        self.count += 1;
        self.to = self.to.max(to);
        if bar.how.weight() > self.worst.how.weight() {
            self.worst = bar;
        }
    }

    fn draw(&self, out: &mut String, page: &Page<'_>, top: usize, height: usize) {
        let worst = self.worst;
        let target = target(page, &worst.name);
        let _ = write!(
            out,
            "<a class=\"b s-{}\" tabindex=\"-1\" href=\"#{}\" style=\"--l:{:.2}%;width:{:.2}%;top:{top}px;\
             height:{height}px\" title=\"",
            worst.how.look(),
            Safe(&target),
            self.from,
            self.to - self.from,
        );
        let lasted = words::time(Millis(worst.end.0 - worst.start.0));
        let _ = match (self.count, worst.attempt) {
            (1, Some(attempt)) => write!(
                out,
                "{}: attempt {}, {}, {lasted}, from {}",
                Safe(&worst.name),
                attempt.nth,
                worst.how.as_str(),
                words::time(self.first.start)
            ),
            (1, None) => write!(out, "{}: {}, {lasted}", Safe(&worst.name), worst.how.as_str()),
            (count, _) => {
                write!(out, "{count} attempts; {}: {}", Safe(&worst.name), worst.how.as_str())
            }
        };
        out.push_str("\"></a>");
    }
}

/// Where the details of a task or an instance are.
fn target(page: &Page<'_>, name: &str) -> String {
    let (task, element) = crate::history::split_name(name);
    let task = owner(task);
    let number = element
        .and_then(|element| page.row(*page.index.get(task)?).instances.as_ref()?.get_index_of(element));
    anchor(task, number)
}

fn share(at: Millis, end: Millis) -> f64 {
    at.0 as f64 * 100.0 / end.0 as f64
}
