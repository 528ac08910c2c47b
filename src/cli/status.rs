//! `plan status [RUN]`: how a run is doing, or how it came out.

use std::io::{Seek, SeekFrom};

use camino::{Utf8Path, Utf8PathBuf};
use rustc_hash::FxHashMap;

use super::state::{Opened, StateArguments, shown};
use super::{Answer, Exit, Failure, print, say, streams};
use crate::event::Body;
use crate::ir::Millis;
use crate::ir::dump::Spec;
use crate::report::Roles;
use crate::report::html::{self, Streams, Tail};
use crate::report::lines::{self, Detail};
use crate::report::summary::{self, Places, Style};
use crate::report::text::{self, Tone};
use crate::source::Text;
use crate::store::mask::Mask;
use crate::store::{LATEST, regular};

/// Show how a run is doing, or how it came out
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    plan status\n  \
    plan status 20261130T1546 --verbose\n  \
    plan status latest --format json | jq .verdict\n  \
    plan status --format html -o run.html")]
pub(super) struct Arguments {
    /// The run: its name, a unique prefix of it, or `latest`
    #[arg(default_value = LATEST)]
    run: String,
    /// How to show it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Where to write it; by default to standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<Utf8PathBuf>,
    /// Show every instance, and every task that did not run
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    state: StateArguments,
}

/// How a status is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// One page for a browser, which needs nothing but itself
    Html,
}

/// Shows the status.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let mut opened = Opened::new(&arguments.state.open(), &arguments.run)?;
    if let Some(message) = opened.withholds() {
        say(&format!("plan: {message}\n"));
    }
    let text = match arguments.format {
        Format::Json => {
            let mut text = serde_json::to_string(&opened.document()).expect("every field can be written");
            text.push('\n');
            text
        }
        Format::Html => page(&opened),
        Format::Text => {
            let now = jiff::Timestamp::now().as_millisecond();
            opened.history.t.0 += opened.log.events.last().map_or(0, |last| since(&opened, last.at, now).0);
            people(&opened, now, arguments.verbose)
        }
    };
    match &arguments.output {
        Some(path) => {
            let cannot = |error| Failure::new(format!("cannot write `{path}`: {error}"));
            std::fs::write(path, text).map_err(cannot)?;
        }
        None => print(text)?,
    }
    Ok(Exit::Good)
}

fn page(opened: &Opened) -> String {
    let streams = |attempt| match opened.shows_streams(attempt) {
        false => Streams::default(),
        true => Streams {
            out: tail(&opened.run.stdout(attempt), &opened.mask),
            err: tail(&opened.run.stderr(attempt), &opened.mask),
        },
    };
    html::page(&html::Input {
        plan: &opened.plan,
        history: &opened.history,
        events: &opened.log.events,
        held: opened.held,
        show: &|raw| opened.show(raw),
        mask: &|text| opened.mask.text(text),
        streams: &streams,
    })
}

/// The last lines of a stream, masked; nothing where it cannot be read.
fn tail(path: &Utf8Path, mask: &Mask) -> Tail {
    // What stands before is read too, so that a secret at the border is known for one.
    const BEFORE: u64 = 64 * 1024;
    let read = || -> std::io::Result<Tail> {
        let mut file = regular::open(path)?;
        let length = file.metadata()?.len();
        let from = length.saturating_sub(html::MOST_TAIL as u64 + BEFORE);
        file.seek(SeekFrom::Start(from))?;
        let mut masked = Vec::new();
        mask.copy(&mut file, &mut masked)?;
        let border = masked.len().saturating_sub(html::MOST_TAIL);
        // From the next line on, if there is one.
        let start = match border {
            0 if from == 0 => 0,
            _ => border + memchr::memchr(b'\n', &masked[border..]).map_or(0, |at| at + 1),
        };
        let text = String::from_utf8_lossy(&masked[start..]).into_owned();
        Ok(Tail { text, before: from + start as u64 })
    };
    read().unwrap_or_default()
}

/// How long ago that was, where a process works on the run; otherwise no time has passed since.
fn since(opened: &Opened, then: i64, now: i64) -> Millis {
    Millis(u64::try_from(now.saturating_sub(then)).ok().filter(|_| opened.held).unwrap_or_default())
}

/// When the attempts began that are in flight, by the name of their task or instance.
fn in_flight(opened: &Opened) -> FxHashMap<&str, i64> {
    let mut open = FxHashMap::default();
    for event in opened.log.events.iter().filter(|_| opened.held) {
        match &event.body {
            Body::AttemptStarted(body) => drop(open.insert(body.task.as_str(), event.at)),
            Body::AttemptEnded(body) => drop(open.remove(body.task.as_str())),
            // Those of a sitting that was cut off are not in flight any more.
            Body::RunResumed(_) => open.clear(),
            _ => {}
        }
    }
    open
}

fn people(opened: &Opened, now: i64, verbose: bool) -> String {
    let in_flight = in_flight(opened);
    let runs = |name: &str| in_flight.get(name).map(|&then| text::time(since(opened, then, now)));
    let (history, paint) = (&opened.history, streams::paint());
    let document = opened.document();
    let mut out = format!("{}  {}\n\n", paint.with(Tone::Strong, &history.plan), history.run);
    let width = document.tasks.keys().map(|name| name.chars().count()).max().unwrap_or(0);
    for (name, task) in &document.tasks {
        let row = history.row(name).and_then(|row| row.status());
        let word = format!("{:<9}", task.status);
        let word = row.map_or_else(|| word.clone(), |status| paint.status(status, &word));
        let mut rest = vec![format!("{name:<width$}")];
        if !task.instances.is_empty() {
            rest.push(text::count(task.instances.len(), "instance"));
        }
        if !task.rounds.is_empty() {
            rest.push(text::count(task.rounds.len() + 1, "round"));
        }
        rest.extend(runs(name));
        rest.extend(text::money(task.cost_usd));
        rest.extend(task.call.as_ref().map(|call| format!("{}/{call}", history.run)));
        let answer = || lines::answer(history.row(name).filter(|row| row.is_settled())?);
        rest.extend(task.note.as_ref().map(ToString::to_string).or_else(answer));
        out.push_str(&format!("  {word}  {}\n", text::clean(&rest.join("  "))));
        let mut inner = |status: &str, what: String, note: Option<&Text>| {
            let settled_well = matches!(status, "pass" | "not_taken");
            if verbose || !settled_well {
                let note = note.map(|note| format!("  {note}")).unwrap_or_default();
                out.push_str(&format!("{}\n", text::clean(&format!("    {status:<9}  {what}{note}"))));
            }
        };
        for round in &task.rounds {
            inner(round.status, format!("in round {}", round.round), round.note.as_ref());
        }
        for (key, instance) in &task.instances {
            let name = format!("{name}[{key}]");
            let time = runs(&name).map(|time| format!("  {time}")).unwrap_or_default();
            inner(instance.status, name + &time, instance.note.as_ref());
        }
    }
    for said in history.verdicts() {
        let name = &said.verifier;
        let word = format!(
            "{:<9}",
            match said.mode {
                Some(mode) if !said.pass => mode.as_str(),
                Some(_) | None =>
                    if said.pass {
                        "accepted"
                    } else {
                        "rejected"
                    },
            }
        );
        let word = paint.with(if said.pass { Tone::Good } else { Tone::Bad }, &word);
        let detail = said.detail.as_ref().map(|detail| format!("  {detail}")).unwrap_or_default();
        let kind = if said.required { "gate" } else { "advisory gate" };
        out.push_str(&format!("  {word}  {}\n", text::clean(&format!("{name}  {kind}{detail}"))));
    }
    out.push('\n');
    for line in summary(opened, if verbose { Detail::Verbose } else { Detail::Normal }) {
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// Those streams that have something in them.
fn full(paths: &[Utf8PathBuf]) -> Vec<String> {
    let full = paths.iter().filter(|path| path.metadata().is_ok_and(|metadata| metadata.len() > 0));
    full.map(|path| shown(path)).collect()
}

/// Where the report is that a task wrote into the run.
fn report_of(opened: &Opened, task: &str) -> Option<String> {
    let task = opened.plan.tasks.iter().find(|other| other.name == task)?;
    let Spec::Report { to, .. } = &task.spec else { return None };
    let path = opened.run.path.join(to.as_str());
    path.is_file().then(|| shown(&path))
}

/// The summary of a run, for people at standard output.
pub(super) fn summary(opened: &Opened, detail: Detail) -> Vec<String> {
    let style = Style { detail, paint: streams::paint() };
    let store = crate::store::capture::Store::new(opened.run.clone(), u64::MAX, []);
    let places = Places {
        streams: &|attempt| full(&[opened.run.stdout(attempt), opened.run.stderr(attempt)]),
        verification: &|name| {
            let [out, err, _] = opened.run.verification(name);
            full(&[out, err])
        },
        report: &|task| report_of(opened, task),
        file: &|set, path| store.path_of(set, path).map(|path| shown(&path)),
        run: &shown(&opened.run.path),
        state: &super::state::option(&opened.run),
    };
    summary::lines(&opened.history, opened.state(), &Roles::of(&opened.plan), &places, style)
}
