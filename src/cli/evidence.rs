//! `plan evidence RUN`: what a run's log proves, and whether it is still what was written.

use super::state::{Opened, StateArguments};
use super::{Answer, Exit, Failure, print};
use crate::report::text;
use crate::store::capture::Store;
use crate::store::{LATEST, StateDir, resume};

/// Show what a run's log proves; with --verify, check that nothing in it was edited
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  plan evidence\n  plan evidence latest --verify")]
pub(super) struct Arguments {
    /// The run: its name, a unique prefix of it, or `latest`
    #[arg(default_value = LATEST)]
    run: String,
    /// Walk the log's chain and check every captured and frozen file against its digest; exit 1 on a difference
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    state: StateArguments,
}

/// Shows, and checks, the evidence.
pub(super) fn run(arguments: &Arguments) -> Answer {
    // An edited log does not open: the chain is walked whenever it is read.
    let opened = Opened::new(&arguments.state.open(), &arguments.run)?;
    let log = &opened.log;
    let mut out = format!("run     {}\n", opened.run.name);
    out.push_str(&format!("plan    {}  {}\n", text::clean(&opened.about.plan), opened.about.plan_digest));
    out.push_str(&format!("gates   {}\n", opened.about.gates));
    out.push_str(&format!("events  {}\n", log.events.len()));
    out.push_str(&format!("head    {}\n", log.head));
    if let Some(torn) = &log.torn {
        let bytes = torn.bytes;
        out.push_str(&format!("torn    {bytes} bytes after the last whole line\n"));
        if arguments.verify && !torn.unfinished {
            print(out)?;
            return Err(Failure::new(format!(
                "`{}` cannot be read from line {} on",
                opened.run.log(),
                log.events.len() + 1
            )));
        }
    }
    if !arguments.verify {
        print(out)?;
        return Ok(Exit::Good);
    }
    let (files, problems) = verify(&arguments.state.open(), &opened)?;
    out.push_str(&format!("files   {files} captured\n"));
    if let Some(set) = &opened.about.frozen {
        out.push_str(&format!("frozen  {}\n", set.paths.len()));
    }
    match problems.first() {
        None => {
            out.push_str("every line and every captured file is what was written\n");
            print(out)?;
            Ok(Exit::Good)
        }
        Some(problem) => {
            print(out)?;
            Err(Failure::new(problem.clone()))
        }
    }
}

/// How many captured files a run and those of the plans that it called have, and what is wrong with them. That
/// a log opens says that nothing in it was edited.
fn verify(state: &StateDir, opened: &Opened) -> Result<(usize, Vec<String>), Failure> {
    let store = Store::new(opened.run.clone(), u64::MAX, []);
    let (mut files, mut problems) = (0, Vec::new());
    for set in resume::live_sets(&opened.history) {
        files += set.paths.len();
        problems.extend(set.paths.iter().filter_map(|path| store.read(set, path).err()));
    }
    if let Some(set) = &opened.about.frozen {
        problems.extend(set.paths.iter().filter_map(|path| store.read(set, path).err()));
    }
    let rows = opened.history.rows.iter();
    let rows = rows.flat_map(|row| row.instances.iter().flat_map(indexmap::IndexMap::values).chain([row]));
    for call in rows.filter_map(|row| row.last.as_ref()?.call.as_ref()) {
        let called = Opened::new(state, &format!("{}/{call}", opened.run.name))?;
        let (more, wrong) = verify(state, &called)?;
        files += more;
        problems.extend(wrong);
    }
    Ok((files, problems))
}
