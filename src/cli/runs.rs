//! `plan runs`: every run, oldest first.

use camino::Utf8Path;
use serde::Serialize;

use super::state::{Opened, StateArguments};
use super::{Answer, Exit, Failure, print};
use crate::event::{self, Body, Event};
use crate::report::{status, text};
use crate::source::Text;
use crate::store::about::About;
use crate::store::{RunDir, lock, read};

/// List runs, oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  plan runs\n  plan runs --format json")]
pub(super) struct Arguments {
    /// How to show them
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    state: StateArguments,
}

/// How runs are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
}

/// A run in the list.
#[derive(Debug, Serialize)]
pub(super) struct Listed {
    /// Its name.
    run: Text,
    /// The plan's name.
    plan: Text,
    /// As in the status document; `damaged` where its files cannot be read.
    pub(super) state: &'static str,
    /// How it ended.
    exit: Option<event::Exit>,
    /// Whether its work holds.
    verdict: Option<event::Verdict>,
    /// When it began.
    started: Option<String>,
    /// What is wrong with it.
    problem: Option<String>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    runs: &'a [Listed],
}

/// Lists the runs.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let state = arguments.state.open();
    let listed: Vec<Listed> = state.runs()?.iter().map(list).collect();
    match arguments.format {
        Format::Json => {
            let document = Document { schema: 1, runs: &listed };
            let mut text = serde_json::to_string(&document).expect("every field can be written");
            text.push('\n');
            print(text)?;
        }
        Format::Text if listed.is_empty() => print(none(state.path()))?,
        Format::Text => print(table(&listed))?,
    }
    Ok(Exit::Good)
}

fn none(path: &Utf8Path) -> String {
    format!("there is no run in `{path}`\n")
}

fn table(runs: &[Listed]) -> String {
    let plans = runs.iter().map(|run| run.plan.chars().count()).max().unwrap_or(0);
    let names = runs.iter().map(|run| run.run.len()).max().unwrap_or(0);
    let mut out = String::new();
    for run in runs {
        let mut words = vec![run.exit.map_or(run.state, event::Exit::as_str)];
        words.extend(run.verdict.map(event::Verdict::as_str));
        words.extend(run.problem.as_deref());
        let words = text::clean(&words.join("  "));
        out.push_str(&format!("{:<names$}  {:<plans$}  {words}\n", run.run, text::clean(&run.plan)));
    }
    out
}

/// How `run` is doing: from the ends of its log alone, unless it has ended. The last line says how, and no
/// other line vouches for it.
pub(super) fn list(run: &RunDir) -> Listed {
    let mut listed = Listed {
        run: run.name.clone(),
        plan: Text::default(),
        state: "damaged",
        exit: None,
        verdict: None,
        started: None,
        problem: None,
    };
    if let Err(failure) = look(run, &mut listed) {
        (listed.state, listed.exit, listed.verdict) = ("damaged", None, None);
        listed.problem = Some(failure.to_string());
    }
    listed
}

fn look(run: &RunDir, listed: &mut Listed) -> Result<(), Failure> {
    let (about, digest) = About::read(run)?;
    listed.plan.clone_from(&about.plan);
    let held = lock::is_held(run)?;
    let (first, last) = read::ends(run)?;
    listed.started = first.map(|event| event::utc(event.at));
    listed.state = match last {
        Some(Event { body: Body::RunEnded(end), .. }) => {
            Opened::of(run, about, &digest, held)?;
            (listed.exit, listed.verdict) = (Some(end.exit), end.verdict);
            if end.verdict.is_some() { "ended" } else { "waiting" }
        }
        Some(_) | None if held => "running",
        // An answer is put to a run that waits, and to one that was interrupted.
        Some(Event { body: Body::GateAnswered(_), .. }) => {
            let opened = Opened::of(run, about, &digest, held)?;
            if let Some(end) = &opened.history.ended {
                (listed.exit, listed.verdict) = (Some(end.exit), end.verdict);
            }
            status::word(opened.state())
        }
        Some(_) | None => "interrupted",
    };
    Ok(())
}
