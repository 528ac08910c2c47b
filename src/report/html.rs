//! A run as one page that needs nothing but itself: the graph, a timeline, and all that is known of each
//! task. It opens from a file, works without scripts, and asks no network for anything.
//!
//! Everything on it was written by others and is escaped; a policy in its head forbids all scripts but the
//! page's own. Unaware of where logs are kept and of what is secret: who calls brings closures.

mod chart;
mod details;
mod escape;
mod facts;
mod graph;
mod layout;
mod svg;
mod tasks;
#[cfg(test)]
mod tests;
mod timeline;
mod top;
mod words;

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt::Write;

use rustc_hash::FxHashMap;

use self::escape::Safe;
use self::graph::Graph;
use self::timeline::Timeline;
use super::causes::{Causes, causes};
use super::{status, text};
use crate::event::{Event, Raw};
use crate::history::{History, Row, State};
use crate::ir::{Millis, dump};

/// What a page is made of.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The plan.
    pub plan: &'a dump::Document,
    /// The fold of `events`.
    pub history: &'a History,
    /// The whole log.
    pub events: &'a [Event],
    /// Whether a process works on it.
    pub held: bool,
    /// Makes a result fit to be shown.
    pub show: &'a dyn Fn(&Raw) -> Raw,
    /// A text of the plan without what must not be shown; none where it has nothing of the kind. Events are
    /// fit to be shown, but for their results.
    pub mask: &'a dyn Fn(&str) -> Option<String>,
    /// The ends of an attempt's streams, by its number, fit to be shown. Asked for as long as the page has
    /// room for more.
    pub streams: &'a dyn Fn(u32) -> Streams,
}

/// The ends of what an attempt wrote.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// Its standard output.
    pub out: Tail,
    /// Its standard error.
    pub err: Tail,
}

/// The end of a stream.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    /// Its last lines.
    pub text: String,
    /// How many bytes stand before them.
    pub before: u64,
}

/// Most bytes of one result on the page.
const MOST_RESULT: usize = 16 * 1024;

/// Most bytes of one stream on the page.
pub const MOST_TAIL: usize = 8 * 1024;

/// Most bytes of results and streams of the whole page. What failed comes first.
const MOST_TEXT: usize = 4 * 1024 * 1024;

/// What the parts of a page share.
struct Page<'a> {
    input: &'a Input<'a>,
    state: State,
    /// Whether anything can be running.
    runs: bool,
    /// The look of each task.
    looks: Vec<&'static str>,
    line: Timeline,
    causes: Causes,
    /// Who waits for each task.
    dependents: Vec<Vec<usize>>,
    index: FxHashMap<&'a str, usize>,
    /// From the first start to the last end of each task, its instances included.
    spans: Vec<Option<(Millis, Millis)>>,
    main: Graph,
    epilogue: Graph,
    /// How much room results and streams still have.
    room: Cell<usize>,
}

/// The whole page.
#[must_use]
pub fn page(input: &Input<'_>) -> String {
    let page = Page::new(input);
    let mut body = String::with_capacity(64 * 1024 + 1024 * input.plan.tasks.len());
    top::write(&mut body, &page);
    graphs(&mut body, &page);
    chart::write(&mut body, &page);
    tasks::write(&mut body, &page);
    body.push_str("</main><aside id=\"panel\" hidden tabindex=\"-1\" aria-label=\"Details\"></aside>");
    document(&page, &body)
}

/// Puts the body into a document. Its policy names its script by a word that nobody who wrote a part of the
/// body could know: the digest of the whole.
fn document(page: &Page<'_>, body: &str) -> String {
    let nonce = blake3::hash(body.as_bytes()).to_hex();
    let nonce = &nonce[..32];
    let title = top::title(page);
    let mut out = String::with_capacity(body.len() + 32 * 1024);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'nonce-{nonce}'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n{}</style></head>\n<body>\n",
        Safe(&title),
        include_str!("html/page.css")
    );
    out.push_str(include_str!("html/icons.svg"));
    out.push_str(body);
    let _ = write!(
        out,
        "\n<script nonce=\"{nonce}\">\n{}</script>\n</body></html>\n",
        include_str!("html/page.js")
    );
    out
}

fn graphs(out: &mut String, page: &Page<'_>) {
    out.push_str("<section id=\"graph\" aria-labelledby=\"h-graph\"><header><h2 id=\"h-graph\">Graph</h2>");
    out.push_str(
        "<p class=\"keys\"><span class=\"key all\">needs all</span> <span class=\"key passed\">those that \
         passed</span> <span class=\"key settled\">all, however settled</span> <span class=\"key adv\">advisory\
         </span></p><div class=\"zoom\" hidden><button type=\"button\" data-zoom=\"out\" aria-label=\"Smaller\">−\
         </button><button type=\"button\" data-zoom=\"fit\">Fit</button><button type=\"button\" data-zoom=\"in\" \
         aria-label=\"Larger\">+</button></div></header>",
    );
    for (graph, stage) in [(&page.main, "main"), (&page.epilogue, "epilogue")] {
        if graph.boxes.is_empty() {
            continue;
        }
        if stage == "epilogue" {
            out.push_str("<h3>Epilogue</h3>");
        }
        svg::draw(out, page, graph, stage);
        if graph.collapsed {
            let count = graph.boxes.iter().map(|one| one.tasks.len()).sum();
            let _ = write!(
                out,
                "<p class=\"aside\">{} are drawn as {}: each box stands for the tasks of a layer.</p>",
                text::count(count, "task"),
                text::count(graph.boxes.len(), "box").replace("boxs", "boxes"),
            );
        }
        if graph.reduced {
            out.push_str("<p class=\"aside\">Dependencies that others imply are not drawn.</p>");
        }
    }
    out.push_str("</section>");
}

impl<'a> Page<'a> {
    fn new(input: &'a Input<'a>) -> Self {
        let tasks = &input.plan.tasks;
        let index: FxHashMap<&str, usize> =
            tasks.iter().enumerate().map(|(at, task)| (task.name.as_str(), at)).collect();
        let mut dependents = vec![Vec::new(); tasks.len()];
        for (at, task) in tasks.iter().enumerate() {
            for on in task.depends_on.iter().filter_map(|name| index.get(name.as_str())) {
                dependents[*on].push(at);
            }
        }
        let state = status::state(input.history, input.held);
        let runs = state == State::Running;
        let line = timeline::timeline(input.events, runs);
        let mut spans: Vec<Option<(Millis, Millis)>> = vec![None; tasks.len()];
        for bar in line.bars.iter().filter(|bar| bar.attempt.is_some()) {
            if let Some(&at) = index.get(owner(&bar.name)) {
                let (start, end) = spans[at].unwrap_or((bar.start, bar.end));
                spans[at] = Some((start.min(bar.start), end.max(bar.end)));
            }
        }
        Self {
            input,
            state,
            runs,
            looks: input.history.rows.iter().map(|row| words::look(row, runs)).collect(),
            causes: causes(input.history),
            main: graph::graph(tasks, |task| task.stage == "main"),
            epilogue: graph::graph(tasks, |task| task.stage != "main"),
            room: Cell::new(MOST_TEXT),
            line,
            dependents,
            index,
            spans,
        }
    }

    /// From the first start to the last end of a task, its instances included; none where it never ran.
    fn span(&self, at: usize) -> Option<(Millis, Millis)> {
        self.spans[at]
    }

    /// A text of the plan, fit to be shown.
    fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        (self.input.mask)(text).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    fn row(&self, at: usize) -> &'a Row {
        &self.input.history.rows[at]
    }

    /// Takes room for a text: how many of its bytes may be shown.
    fn take(&self, length: usize, most: usize) -> usize {
        let taken = length.min(most).min(self.room.get());
        self.room.set(self.room.get() - taken);
        taken
    }
}

/// The task that a name in the log belongs to: `audit` of `audit[left-pad]`, `refactor` of
/// `refactor/test#2`.
fn owner(name: &str) -> &str {
    name.split(['[', '/']).next().unwrap_or(name)
}

/// The id of a task's details, or of its instance with this number.
fn anchor(task: &str, instance: Option<usize>) -> String {
    match instance {
        Some(number) => format!("task-{task}.{number}"),
        None => format!("task-{task}"),
    }
}
