//! `plan test PACK…`: the cases of packs, each in a copy of its pack, with stubs for what would cost time or
//! money (EXECUTION §15).

mod bench;
mod copy;
mod record;

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use camino::{Utf8Path, Utf8PathBuf};

use self::bench::{Bench, Found, Went};
use super::state::{Opened, StateArguments};
use super::{Answer, Exit, Failure, plans, print, streams};
use crate::cases::report::{Report, Tested};
use crate::source::Text;

/// Run the cases of packs: their plans, with stubs for some tasks, held to what is expected
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A pack is a directory with plans and `tests/*.toml`. Each case runs in a copy of its pack, which \
    is removed afterwards. A task with a stub does what the stub says, in no time; any other really runs.\n\n\
    Exit codes: 0 every case came out as expected, 3 a case did not, 1 a case could not be run, or there is none.\n\n\
    Examples:\n  \
    plan test packs/*\n  \
    plan test packs/ci --case lint             only cases with `lint` in their name\n  \
    plan test packs/ci/tests/good.toml         one case\n  \
    plan test packs/* --format junit --output tests.xml\n  \
    plan test --record latest                  write a case from a run, and run it\n  \
    plan test --record latest --to packs/ci/tests/slow.toml"
)]
pub(super) struct Arguments {
    /// Packs: directories with plans and `tests/*.toml`; or single cases
    #[arg(required_unless_present = "record", value_name = "PACK")]
    packs: Vec<Utf8PathBuf>,
    /// Only cases whose name contains this; may be given several times
    #[arg(long = "case", short, value_name = "NAME")]
    case: Vec<String>,
    /// Most cases side by side; by default twice the number of processors
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// How to say what came of it
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Where to write it, for `json` and `junit`; by default to standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<Utf8PathBuf>,
    /// Write a case from a run that has ended: what its tasks did, and what came of it
    #[arg(long, value_name = "RUN", conflicts_with_all = ["packs", "case", "output", "format"])]
    record: Option<String>,
    /// With --record: the file to write; by default `tests/RUN.toml` beside the plan
    #[arg(long, value_name = "FILE", requires = "record")]
    to: Option<Utf8PathBuf>,
    #[command(flatten)]
    state: StateArguments,
}

/// How to say what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Lines for people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// JUnit XML
    Junit,
}

/// Runs the cases.
pub(super) fn run(arguments: &Arguments) -> Answer {
    if let Some(run) = &arguments.record {
        return record::record(&Opened::new(&arguments.state.open(), run)?, arguments.to.as_deref());
    }
    if arguments.to.is_some() {
        return Err(Failure::new("`--to` takes `--record RUN` as well"));
    }
    if arguments.output.is_some() && arguments.format == Format::Text {
        return Err(Failure::new("`--output` takes `--format json` or `--format junit` as well"));
    }
    let begun = Instant::now();
    let cases = find(&arguments.packs, &arguments.case)?;
    let people = arguments.format == Format::Text || arguments.output.is_some();
    let mut all: Vec<Tested> = Vec::with_capacity(cases.len());
    let interrupted = side_by_side(&cases, jobs(arguments.jobs).min(cases.len()), |tested, findings| {
        if people {
            // What is wrong with a plan is wrong for each of its cases.
            let told =
                all.iter().any(|before| !before.problems.is_empty() && before.problems == tested.problems);
            for (sources, found) in findings.into_iter().filter(|_| !told) {
                plans::tell(&sources, &found);
            }
            print(tested.lines(streams::paint()))?;
        }
        all.push(tested);
        Ok(())
    })?;
    if let Some(signal) = interrupted {
        return Ok(Exit::Interrupted(number(&signal)));
    }
    let report = Report::new(all, begun.elapsed().as_secs_f64());
    let document = match arguments.format {
        Format::Text => None,
        Format::Json => Some(report.json()),
        Format::Junit => Some(report.junit()),
    };
    match (document, &arguments.output) {
        (None, _) => {}
        (Some(document), None) => print(document)?,
        (Some(document), Some(path)) => fs::write(path, document)
            .map_err(|error| Failure::new(format!("cannot write `{path}`: {error}")))?,
    }
    if people {
        print(report.tally(streams::paint()))?;
    }
    Ok(match (report.errors, report.failed) {
        (0, 0) => Exit::Good,
        (0, _) => Exit::Invalid,
        (_, _) => Exit::Refused,
    })
}

/// The number of a signal that ends a test.
fn number(signal: &str) -> u8 {
    match signal {
        "HUP" => 1,
        "INT" => 2,
        _ => 15,
    }
}

fn jobs(asked: Option<u32>) -> usize {
    let asked = asked.and_then(|jobs| usize::try_from(jobs).ok());
    // They wait for the disk more than they compute.
    asked.unwrap_or_else(|| 2 * std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// The cases that `packs` have, and of these the ones whose name contains one of `wanted`.
fn find(packs: &[Utf8PathBuf], wanted: &[String]) -> Result<Vec<Found>, Failure> {
    let mut cases: Vec<Found> = Vec::new();
    for path in packs {
        let found = if path.is_dir() { in_pack(path)? } else { vec![alone(path)?] };
        for case in found {
            if !cases.iter().any(|known| known.file == case.file) {
                cases.push(case);
            }
        }
    }
    if wanted.is_empty() {
        return Ok(cases);
    }
    let names: Vec<String> = cases.iter().map(|case| format!("`{}`", case.name())).collect();
    cases.retain(|case| wanted.iter().any(|part| case.name().contains(part.as_str())));
    if cases.is_empty() {
        let wanted: Vec<String> = wanted.iter().map(|part| format!("`{part}`")).collect();
        let (wanted, names) = (wanted.join(" or "), names.join(", "));
        return Err(Failure::new(format!("no case has {wanted} in its name; there are {names}")));
    }
    Ok(cases)
}

/// The cases of a pack, in order of name.
fn in_pack(pack: &Utf8Path) -> Result<Vec<Found>, Failure> {
    let directory = pack.join("tests");
    let cannot = |error: std::io::Error| Failure::new(format!("cannot read `{directory}`: {error}"));
    let mut cases = Vec::new();
    let entries = match directory.read_dir_utf8() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        entries => Some(entries.map_err(cannot)?),
    };
    for entry in entries.into_iter().flatten() {
        let path = entry.map_err(cannot)?.into_path();
        if path.extension() == Some("toml") && path.is_file() {
            cases.push(Found { pack: pack.to_owned(), file: path });
        }
    }
    if cases.is_empty() {
        let entries = pack.read_dir_utf8().into_iter().flatten().filter_map(Result::ok);
        let deeper = entries.into_iter().any(|entry| entry.path().join("tests").is_dir());
        let help = if deeper { format!("; did you mean `{}`?", pack.join("*")) } else { String::new() };
        return Err(Failure::new(format!("`{pack}` has no case: there is no `tests/*.toml` in it{help}")));
    }
    cases.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(cases)
}

/// One case, named by its file.
fn alone(file: &Utf8Path) -> Result<Found, Failure> {
    let tests = file.parent().filter(|above| above.file_name() == Some("tests"));
    match tests.and_then(Utf8Path::parent) {
        Some(pack) if file.extension() == Some("toml") && file.is_file() => {
            let pack = if pack.as_str().is_empty() { Utf8Path::new(".") } else { pack };
            Ok(Found { pack: pack.to_owned(), file: file.to_owned() })
        }
        Some(_) | None if file.exists() => Err(Failure::new(format!(
            "`{file}` is neither a pack nor a case: cases are `tests/*.toml` of a pack"
        ))),
        Some(_) | None => Err(Failure::new(format!("there is no `{file}`"))),
    }
}

/// Runs the cases, and hands over what came of each in their order. The signal that ended it, if one did.
fn side_by_side(
    cases: &[Found],
    jobs: usize,
    mut tell: impl FnMut(Tested, bench::Findings) -> Result<(), Failure>,
) -> Result<Option<Text>, Failure> {
    let bench = Bench::new();
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (bench, next, over, sender) = (&bench, &next, &over, sender.clone());
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { return };
                    let went = bench.test(case);
                    if matches!(went, Went::Interrupted(_)) {
                        over.store(true, Ordering::Relaxed);
                    }
                    // Nobody listens any more only when something is wrong already.
                    let _ = sender.send((index, went));
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut told = 0;
        let mut signal = None;
        for (index, went) in results {
            match went {
                Went::Interrupted(by) => {
                    signal.get_or_insert(by);
                }
                Went::Tested(tested, findings) => drop(waiting.insert(index, (tested, findings))),
            }
            while let Some((tested, findings)) = waiting.remove(&told) {
                told += 1;
                if let Err(failure) = tell(*tested, findings) {
                    over.store(true, Ordering::Relaxed);
                    return Err(failure);
                }
            }
        }
        Ok(signal)
    })
}
