//! `plan logs RUN TASK`: what a task wrote.

use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use super::state::{Opened, StateArguments};
use super::{Answer, Exit, Failure, say, secrets};
use crate::event::{Body, Event, Status, VerifierEnded};
use crate::history::{Row, State, split_name};
use crate::ir::dump::TaskDocument;
use crate::store::lock;
use crate::store::mask::Mask;
use crate::store::{LATEST, RunDir, StateDir, regular};

/// How often a live stream is looked at.
const EVERY: Duration = Duration::from_millis(100);

/// Show what a task wrote: its standard output here, its standard error on standard error
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    plan logs latest build\n  \
    plan logs latest 'audit[left-pad]' --follow\n  \
    plan logs latest build --attempt 1 2> errors.txt")]
pub(super) struct Arguments {
    /// The run: its name, a unique prefix of it, or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// The task or acceptance gate, or an instance as `task[element]`; of a mapped task, all instances
    task: String,
    /// Which of its attempts, from 1; by default the last one
    #[arg(long, value_name = "N", conflicts_with_all = ["all", "follow"])]
    attempt: Option<usize>,
    /// Every attempt, not only the last
    #[arg(long)]
    all: bool,
    /// Go on until the task has settled
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    state: StateArguments,
}

/// Shows the streams.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let state = arguments.state.open();
    let wanted = if arguments.run.is_empty() { LATEST } else { arguments.run.as_str() };
    let opened = Opened::new(&state, wanted)?;
    if opened.history.index_of(split_name(&arguments.task).0).is_none() {
        if let Some(said) = opened.history.verdicts().find(|said| said.verifier == arguments.task) {
            let name = VerifierEnded::stream(None, said.round, &said.verifier);
            let [out, err, _] = opened.run.verification(&name);
            show([&out, &err], &opened.mask).map_err(|error| cannot(&error))?;
            return Ok(Exit::Good);
        }
        let near = opened.history.rows.iter().map(|row| row.name.as_str());
        let near = near.chain(opened.history.verdicts().map(|said| said.verifier.as_str()));
        let near = crate::diag::suggest::nearest(&arguments.task, near);
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let message = format!(
            "`{}` has no task and no verdict of a gate called `{}`{near}",
            opened.run.name, arguments.task
        );
        return Err(Failure::new(message));
    }
    if arguments.follow {
        follow(&state, opened, &arguments.task)?;
        return Ok(Exit::Good);
    }
    let attempts = attempts(&opened.log.events, &arguments.task);
    if attempts.is_empty() {
        return Err(Failure::new(format!("`{}` has not run in `{}`", arguments.task, opened.run.name)));
    }
    let shown = choose(&attempts, arguments)?;
    for &attempt in &shown {
        if !opened.shows_streams(attempt) {
            return Err(withheld(&opened));
        }
        let paths = [&opened.run.stdout(attempt), &opened.run.stderr(attempt)];
        let has_any = show(paths, &opened.mask).map_err(|error| cannot(&error))?;
        if !elsewhere(&opened, attempt) && !has_any {
            say(&format!(
                "plan: attempt {attempt} of `{}` has no streams in `{}`\n",
                arguments.task,
                opened.run.logs()
            ));
        }
    }
    Ok(Exit::Good)
}

/// A stream is masked when its attempt has ended, and before that by who shows it.
fn withheld(opened: &Opened) -> Failure {
    let how = secrets::set_them(&opened.withheld);
    Failure::new(format!("the streams of `{}` are not masked yet: {how}", opened.run.name))
}

fn cannot(error: &io::Error) -> Failure {
    Failure::new(format!("cannot show the streams: {error}"))
}

/// Says where to look for what an attempt has no streams of, and whether there is such a place.
fn elsewhere(opened: &Opened, attempt: u32) -> bool {
    let ended = opened.log.events.iter().find_map(|event| match &event.body {
        Body::AttemptEnded(body) if body.attempt == attempt => Some(body),
        _ => None,
    });
    let Some(ended) = ended else { return false };
    let (name, run) = (&ended.task, &opened.run.name);
    if let Some(from) = &ended.reused {
        say(&format!("plan: `{name}` was taken over from `{from}`: plan logs {from} {name}\n"));
    } else if let Some(call) = &ended.call {
        say(&format!(
            "plan: `{name}` called a plan, whose run is `{run}/{call}`: plan status {run}/{call}\n"
        ));
    }
    ended.reused.is_some() || ended.call.is_some()
}

/// The attempts of `task`, each as (instance, number), oldest first.
fn attempts<'a>(events: &'a [Event], task: &str) -> Vec<(&'a str, u32)> {
    let of = |event: &'a Event| {
        let Body::AttemptStarted(body) = &event.body else { return None };
        is_of(&body.task, task).then_some((body.task.as_str(), body.attempt))
    };
    events.iter().filter_map(of).collect()
}

fn is_of(name: &str, task: &str) -> bool {
    name == task || split_name(name).0 == task
}

/// Those attempts that are asked for; of each instance, the last.
fn choose(attempts: &[(&str, u32)], arguments: &Arguments) -> Result<Vec<u32>, Failure> {
    if arguments.all {
        return Ok(attempts.iter().map(|&(_, attempt)| attempt).collect());
    }
    if let Some(number) = arguments.attempt {
        let found = number.checked_sub(1).and_then(|at| attempts.get(at));
        let none = || {
            let count = attempts.len();
            Failure::new(format!("`{}` has {count} attempts, and no number {number}", arguments.task))
        };
        return found.map(|&(_, attempt)| vec![attempt]).ok_or_else(none);
    }
    let mut last = indexmap::IndexMap::new();
    for &(name, attempt) in attempts {
        last.insert(name, attempt);
    }
    Ok(last.into_values().collect())
}

/// Copies both streams of an attempt or a verifier, and says whether one is there. A reader that has gone away has
/// read enough.
fn show([out, err]: [&Utf8PathBuf; 2], mask: &Mask) -> io::Result<bool> {
    let copy = |path: &Utf8Path, to: &mut dyn Write| -> io::Result<bool> {
        let mut from = match regular::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        let mut to = to;
        match mask.copy(&mut from, &mut to).and_then(|_| to.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            Ok(()) | Err(_) => Ok(true),
        }
    };
    let has_out = copy(out, &mut io::stdout().lock())?;
    Ok(copy(err, &mut io::stderr().lock())? || has_out)
}

/// The streams of an attempt, shown while they grow.
struct Growing {
    attempt: u32,
    streams: [Stream; 2],
}

/// One of them.
#[derive(Default)]
struct Stream {
    /// Kept open: when its attempt has ended, a stream with secrets gets another file.
    file: Option<File>,
    /// The start of a line: it is shown once it is whole, so that no secret is cut in two.
    held: Vec<u8>,
}

impl Growing {
    /// Shows the lines that have come since, and at the end what is left of one.
    fn show(&mut self, run: &RunDir, mask: &Mask, end: bool) -> io::Result<()> {
        let [out, err] = &mut self.streams;
        out.show(&run.stdout(self.attempt), mask, end, &mut io::stdout().lock())?;
        err.show(&run.stderr(self.attempt), mask, end, &mut io::stderr().lock())
    }
}

impl Stream {
    fn show(&mut self, path: &Utf8Path, mask: &Mask, end: bool, to: &mut impl Write) -> io::Result<()> {
        if self.file.is_none() {
            self.file = regular::open(path).ok();
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        file.read_to_end(&mut self.held)?;
        let whole = memchr::memrchr(b'\n', &self.held).map_or(0, |at| at + 1);
        let whole = if end { self.held.len() } else { whole };
        mask.copy(&mut &self.held[..whole], to)?;
        self.held.drain(..whole);
        to.flush()
    }
}

/// Whether a task has settled, and nobody will send it back.
fn is_over(opened: &Opened, task: &str) -> bool {
    let history = &opened.history;
    let reviews = |other: &&TaskDocument| {
        !other.revise.is_empty() && (other.name == task || other.revise.iter().any(|target| target == task))
    };
    let sent_back = opened.plan.tasks.iter().find(reviews).is_some_and(|reviewer| {
        let Some(row) = history.row(&reviewer.name) else { return false };
        let remain = || row.review_round() < reviewer.max_rounds.unwrap_or(1) && history.halted.is_none();
        row.status().is_none_or(|status| status == Status::Fail && remain())
    });
    history.row(task).is_some_and(Row::is_settled) && !sent_back
}

/// Shows the attempts of `task` from the last one on, until it has settled or nobody runs it.
fn follow(state: &StateDir, mut opened: Opened, task: &str) -> Result<(), Failure> {
    let mut growing: Vec<Growing> = Vec::new();
    let first = attempts(&opened.log.events, task).last().map_or(0, |&(_, attempt)| attempt);
    // Read anew when it has grown, or nobody writes to it any more.
    let look = |run: &RunDir| -> Result<_, Failure> {
        let length = run.log().metadata().map_or(0, |metadata| metadata.len());
        Ok((length, lock::is_held(run)?))
    };
    let mut seen = None;
    loop {
        for (_, attempt) in attempts(&opened.log.events, task) {
            if attempt >= first && !growing.iter().any(|known| known.attempt == attempt) {
                growing.push(Growing { attempt, streams: Default::default() });
            }
        }
        let end = is_over(&opened, task) || opened.state() != State::Running;
        for attempt in &mut growing {
            if !opened.shows_streams(attempt.attempt) {
                return Err(withheld(&opened));
            }
            match attempt.show(&opened.run, &opened.mask, end) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                shown => shown.map_err(|error| cannot(&error))?,
            }
        }
        if end {
            return Ok(());
        }
        std::thread::sleep(EVERY);
        let now = Some(look(&opened.run)?);
        if now != seen {
            opened = Opened::new(state, &opened.run.name)?;
            seen = now;
        }
    }
}
