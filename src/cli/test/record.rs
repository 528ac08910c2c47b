//! `plan test --record RUN`: writes a case from a run, and runs it, so that what is written is known to hold.

use std::fs;
use std::io::Write as _;

use camino::{Utf8Path, Utf8PathBuf};

use super::bench::{self, Bench, Found, Went};
use crate::cases::record::{Recorded, write};
use crate::cases::report::Outcome;
use crate::cli::state::{Opened, shown};
use crate::cli::{Answer, Exit, Failure, answer, plans, print, say, streams};
use crate::event::Body;
use crate::source::Text;
use crate::store::capture::Store;

/// Writes the case of a run to `to`, or beside its plan.
pub(super) fn record(opened: &Opened, to: Option<&Utf8Path>) -> Answer {
    if let Some(message) = opened.withholds() {
        return Err(Failure::new(message));
    }
    let plan = Utf8Path::new(&opened.about.plan_file);
    let compiled = answer::plan(opened)?;
    let pack = plan.parent().unwrap_or(Utf8Path::new("/"));
    let name = &opened.run.name;
    let store = Store::new(opened.run.clone(), 0, []);
    let several = bench::plans(pack).map_err(Failure::new)?.len() > 1;
    let written = write(&Recorded {
        plan_file: plan.file_name().filter(|_| several),
        plan: &opened.plan,
        params: &opened.about.params,
        ceilings: opened.about.ceilings,
        jobs: opened.about.jobs,
        kill_on_failure: opened.about.kill_on_failure,
        events: &opened.log.events,
        history: &opened.history,
        content: &|set, path| store.read(set, path),
        report: &|task| bench::report(&opened.run, &compiled, &opened.history, task),
        mask: &|text| opened.mask.text(text),
        show: &|raw| opened.mask.json(raw),
    });
    let written = written.map_err(|why| Failure::new(format!("`{name}` makes no case: {why}")))?;
    let file = to.map_or_else(|| pack.join("tests").join(format!("{name}.toml")), Utf8Path::to_owned);
    create(&file, &written.text)?;
    print(format!("wrote {}\n", shown(&file)))?;
    for left_out in &written.left_out {
        say(&format!("plan: not in it: {left_out}\n"));
    }
    if opened.about.workspace.is_some() {
        say("plan: the run had a workspace of its own; the case runs in a copy of the pack\n");
    }
    held(pack, &file, &products(opened))
}

/// Writes a new file.
fn create(file: &Utf8Path, text: &str) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::new(format!("`{file}` is there already; nothing was written"))
        }
        _ => Failure::new(format!("cannot write `{file}`: {error}")),
    };
    if let Some(above) = file.parent().filter(|above| !above.as_str().is_empty()) {
        fs::create_dir_all(above).map_err(cannot)?;
    }
    fs::File::create_new(file).and_then(|mut new| new.write_all(text.as_bytes())).map_err(cannot)
}

/// The files that attempts of the run have left: a clean checkout of the pack does not have them.
fn products(opened: &Opened) -> Vec<Text> {
    let ended = opened.log.events.iter().filter_map(|event| match &event.body {
        Body::AttemptEnded(ended) if !ended.done_already => ended.files.as_ref(),
        _ => None,
    });
    ended.flat_map(|set| set.paths.iter().cloned()).collect()
}

/// Runs what was written, in a copy without `products`.
fn held(pack: &Utf8Path, file: &Utf8Path, products: &[Text]) -> Answer {
    let near = std::env::current_dir().ok().and_then(|here| Utf8PathBuf::from_path_buf(here).ok());
    let near =
        |path: &Utf8Path| near.as_ref().and_then(|here| path.strip_prefix(here).ok()).map(Utf8Path::to_owned);
    let pack = match near(pack) {
        Some(here) if here.as_str().is_empty() => Utf8PathBuf::from("."),
        Some(below) => below,
        None => pack.to_owned(),
    };
    match Bench::new()
        .without(products)
        .test(&Found { pack, file: near(file).unwrap_or_else(|| file.to_owned()) })
    {
        Went::Interrupted(signal) => Ok(Exit::Interrupted(super::number(&signal))),
        Went::Tested(tested, findings) => {
            for (sources, found) in findings {
                plans::tell(&sources, &found);
            }
            print(tested.lines(streams::paint()))?;
            Ok(match tested.outcome {
                Outcome::Ok => Exit::Good,
                Outcome::Failed => Exit::Invalid,
                Outcome::Error => Exit::Refused,
            })
        }
    }
}
