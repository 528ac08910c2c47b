//! `plan run`: admits a plan, runs it, tells how it goes and how it came out (EXECUTION §3, §12, §14).

use std::fs;
use std::sync::{Arc, Mutex};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value};

use super::dry_run::DryRun;
use super::state::{Opened, StateArguments, history_of};
use super::terminal::{self, Terminal};
use super::wiring::{Control, Lost, Readers, RunFiles, RunLog, Shown, lock, tail};
use super::{Answer, Exit, Failure, calls, plans, print, requests, say, secrets, status, streams, values};
use crate::clock::Real;
use crate::compile::{Bindings, Compiled};
use crate::event::{Ceilings, Event, FileSet, PlanAdmitted, Status, Verdict};
use crate::exec::admission::{self, Machine, Operator};
use crate::exec::ports::{Ports, Source};
use crate::exec::reuse::{Common, Past};
use crate::exec::{self, Outcome, RunOptions};
use crate::history::History;
use crate::ir::{Millis, Shell, Usd, dump};
use crate::report::Roles;
use crate::report::lines::Detail;
use crate::report::people::People;
use crate::runner::{Local, Signals};
use crate::source::Text;
use crate::store::about::{self, About};
use crate::store::capture::Store;
use crate::store::control::Requests;
use crate::store::frozen::{self, Frozen};
use crate::store::lock::Lock;
use crate::store::log::Writer;
use crate::store::mask::Mask;
use crate::store::{LATEST, RunDir, StateDir, random, read, resume, staging};
use crate::validate::ValidPlan;
use crate::verifiers::BuiltIn;
use crate::workspace::Direct;

/// How many descriptors a run needs before it starts anything.
const DESCRIPTORS: usize = 16;

/// Run a plan, or go on with a run
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A run is kept below `.plan` in the current directory (--state-dir moves that): its log, \
    what its tasks wrote, and the files that they declared.\n\n\
    Exit codes: 0 the verdict is valid, 1 it could not be run, 2 wrong usage, 3 the verdict is invalid, 4 it waits \
    for an answer, 129, 130 and 143 interrupted by a hang-up, Ctrl-C or SIGTERM (it can be resumed).\n\n\
    Examples:\n  \
    plan run --plan audit.plan\n  \
    plan run --plan audit.plan --param severity=low --jobs 4 --max-time 10m\n  \
    plan run --resume                  the newest run, after a crash or a stop\n  \
    plan run --resume --from triage    once more from one task on\n  \
    plan run --plan audit.plan --reuse latest    after a change, what still holds is taken over\n  \
    plan run --plan audit.plan --dry-run"
)]
pub(super) struct Arguments {
    /// The plan file; a resumed run knows its own
    #[arg(long, value_name = "FILE", required_unless_present = "resume")]
    plan: Option<Utf8PathBuf>,
    /// The value of a parameter
    #[arg(long = "param", value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// A TOML or JSON file with values of parameters; --param wins
    #[arg(long, value_name = "FILE")]
    params: Option<Utf8PathBuf>,
    /// Most attempts side by side; by default the number of processors
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
    /// A capability that this machine has, as `needs` names it
    #[arg(long = "cap", value_name = "NAME")]
    cap: Vec<String>,
    /// Most that the run may spend, in US dollars; can only lower the plan's budget
    #[arg(long, value_name = "USD", value_parser = values::money)]
    max_cost: Option<Usd>,
    /// Most time that the run may take, as `90s` or `1h30m`
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    max_time: Option<Millis>,
    /// Most attempts that the run may start
    #[arg(long, value_name = "N")]
    max_steps: Option<u64>,
    /// After a required failure, go as far as possible and fail at the end
    #[arg(long)]
    keep_going: bool,
    /// After a required failure, end what is in flight
    #[arg(long)]
    kill_on_failure: bool,
    /// Go on with a run: its name, a unique prefix of it, or `latest`
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = LATEST)]
    resume: Option<String>,
    /// With --resume: run this task once more, and all that follows it
    #[arg(long, value_name = "TASK")]
    from: Option<String>,
    /// Take over from a run what still holds: tasks that passed there, and whose definition, files and
    /// dependencies' results are what they were. Everything else runs
    #[arg(long, value_name = "RUN", conflicts_with = "resume")]
    reuse: Option<String>,
    /// Check everything, print what would run, and stop
    #[arg(long, conflicts_with = "resume")]
    dry_run: bool,
    /// Where tasks run; by default the plan file's directory
    #[arg(long, value_name = "DIR")]
    workspace: Option<Utf8PathBuf>,
    #[command(flatten)]
    state: StateArguments,
    /// The largest stream that an attempt may write
    #[arg(long, value_name = "SIZE", value_parser = values::size, default_value = "1GiB")]
    log_limit: u64,
    /// The most that captured files may take in all
    #[arg(long, value_name = "SIZE", value_parser = values::size, default_value = "1GiB")]
    files_limit: u64,
    /// Say nothing but how the run came out, and that only where something did not hold
    #[arg(long, short, conflicts_with = "verbose")]
    quiet: bool,
    /// Say when attempts start, and list everything at the end
    #[arg(long, short)]
    verbose: bool,
    /// What standard output gets
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What standard output gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Lines for people
    #[default]
    Text,
    /// The events as they happen, one JSON document a line
    Json,
}

/// A plan that nothing refuses.
struct Admitted {
    plan: ValidPlan,
    /// `plan.json`.
    document: dump::Document,
    bytes: Vec<u8>,
    params: Map<String, Value>,
    admission: PlanAdmitted,
    /// The files to freeze, of a run that begins.
    frozen: Vec<Text>,
    /// The variables that some task lists as secrets.
    secrets: Vec<Text>,
    mask: Arc<Mask>,
    operator: Operator,
    pack: Utf8PathBuf,
    workspace: Utf8PathBuf,
    plan_file: Utf8PathBuf,
}

/// What a sitting works on.
struct Sitting {
    run: RunDir,
    about: About,
    /// Held until all of it is done.
    lock: Lock,
    writer: Writer,
    store: Store,
    past: Vec<Event>,
    admission: PlanAdmitted,
    reused: Option<Reused>,
}

/// A run whose results are taken over where they hold.
struct Reused {
    run: RunDir,
    past: Arc<Past>,
}

/// Runs the plan.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let state = arguments.state.open();
    if let (Some(from), None) = (&arguments.from, &arguments.resume) {
        return Err(Failure::new(format!(
            "`--from {from}` needs a run to go on with: give --resume as well"
        )));
    }
    match &arguments.resume {
        None => {
            let plan = arguments.plan.as_deref().expect("the command line requires it");
            let other = arguments.reuse.as_deref().map(|wanted| other_run(&state, wanted)).transpose()?;
            let Some(admitted) = admit(arguments, plan, &About::default())? else { return Ok(Exit::Refused) };
            if arguments.dry_run {
                let reused = other.map(|other| reused(other, &admitted, &About::default())).transpose()?;
                let past = reused.as_ref().map(|reused| &*reused.past);
                let dry = DryRun::new(&admitted.plan, &admitted.operator, &admitted.workspace, past);
                print(match arguments.format {
                    Format::Text => dry.text(),
                    Format::Json => dry.json(),
                })?;
                return Ok(if dry.gap.is_some() { Exit::Invalid } else { Exit::Good });
            }
            has_descriptors()?;
            let sitting = begin(arguments, &state, &admitted, other)?;
            drive(arguments, &admitted, sitting)
        }
        Some(wanted) => {
            let run = state.resolve(wanted)?;
            let lock = Lock::take(&run)?;
            state.mend_latest()?;
            let (about, digest) = About::read(&run)?;
            let plan = arguments.plan.clone().unwrap_or_else(|| about.plan_file.clone().into());
            let Some(admitted) = admit(arguments, &plan, &about)? else { return Ok(Exit::Refused) };
            has_descriptors()?;
            let mut sitting = go_on(arguments, &admitted, run, about, &digest, lock)?;
            if let Some(name) = &sitting.about.reuse {
                match Opened::new(&state, name).and_then(|other| reused(other, &admitted, &sitting.about)) {
                    Ok(reused) => sitting.reused = Some(reused),
                    Err(failure) => {
                        say(&format!("plan: nothing more is taken over from `{name}`: {failure}\n"));
                    }
                }
            }
            drive(arguments, &admitted, sitting)
        }
    }
}

/// Compiles the plan and looks at everything that could refuse it. None where findings, which have been
/// told, do.
fn admit(arguments: &Arguments, plan: &Utf8Path, past: &About) -> Result<Option<Admitted>, Failure> {
    let bindings = bindings(arguments, &past.params)?;
    let Compiled { sources, plan: valid, .. } = plans::compiled(plan.as_std_path(), &bindings)?;
    let Some(valid) = valid else { return Ok(None) };
    let operator = Operator {
        max_usd: arguments.max_cost,
        max_time: arguments.max_time,
        max_steps: arguments.max_steps,
        caps: arguments.cap.iter().map(Text::from).collect(),
        keep_going: arguments.keep_going,
        harness: None,
    };
    let plan_file = absolute(plan)?;
    let pack = plan_file.parent().unwrap_or(&plan_file).to_owned();
    // What a run has frozen is stored, and asked for no more.
    let globs = admission::frozen_globs(&valid).filter(|_| past.run.is_empty());
    let frozen: Vec<_> =
        globs.map(|glob| frozen::find(&pack, arguments.state.open().path(), &glob.value)).collect();
    let counts = frozen.iter().map(|found| found.as_ref().map(Vec::len).map_err(Clone::clone)).collect();
    let machine = Machine {
        harnesses: Vec::new(),
        missing_shells: missing_shells(),
        frozen: counts,
        ..Machine::default()
    };
    let (admission, found) = admission::admit(&valid, &operator, &machine);
    plans::tell(&sources, &found);
    if found.has_errors() {
        return Ok(None);
    }
    let frozen: std::collections::BTreeSet<Text> = frozen.into_iter().flatten().flatten().collect();
    let named = arguments.workspace.as_deref().or(past.workspace.as_deref().map(Utf8Path::new));
    let workspace = named.map_or_else(|| Ok(pack.clone()), absolute)?;
    if let Some(named) = named.filter(|_| !workspace.is_dir()) {
        return Err(Failure::new(format!("cannot use `{named}` as the workspace: it is not a directory")));
    }
    let document = dump::document(&valid);
    let bytes = serde_json::to_vec(&document).expect("every field can be written");
    let names: Vec<Text> = admission::secrets(&valid).into_iter().collect();
    let mask = Arc::new(secrets::mask(&names)?);
    tell_unset(&valid, &names);
    let params = bound(&valid);
    Ok(Some(Admitted {
        plan: valid,
        document,
        bytes,
        params,
        admission,
        frozen: frozen.into_iter().collect(),
        secrets: names,
        mask,
        operator,
        pack,
        workspace,
        plan_file,
    }))
}

/// Tells of secrets that are not set: a task may do without, and who launches it may have forgotten.
fn tell_unset(plan: &ValidPlan, names: &[Text]) {
    for name in names.iter().filter(|name| std::env::var_os(name.as_str()).is_none()) {
        let lists = |task: &&crate::ir::Task| task.secrets.iter().any(|secret| secret.value == *name);
        let by = plan.tasks.iter().find(lists);
        let by = by.map_or_else(String::new, |task| format!(", which `{}` lists,", task.name.value));
        say(&format!("plan: the secret `{name}`{by} is not set\n"));
    }
}

/// The values that the operator gives; a resumed run has those that it began with.
fn bindings(arguments: &Arguments, past: &Map<String, Value>) -> Result<Bindings, Failure> {
    let file = match &arguments.params {
        Some(path) => {
            let read = fs::read_to_string(path);
            let text = read.map_err(|error| Failure::new(format!("cannot read `{path}`: {error}")))?;
            Some((path.to_string(), text))
        }
        None if past.is_empty() => None,
        None => Some(("run.json".to_owned(), Value::Object(past.clone()).to_string())),
    };
    let file = file.as_ref().map(|(path, text)| (path.as_str(), text.as_str()));
    Bindings::launch(file, &arguments.param).map_err(Failure::new)
}

/// What every parameter of the plan is bound to.
fn bound(plan: &ValidPlan) -> Map<String, Value> {
    let bound = plan.params.iter().filter_map(|param| Some((param, param.value.as_ref()?)));
    bound.map(|(param, value)| (param.name.value.to_string(), dump::json(value))).collect()
}

/// The shells that this machine does not have.
pub(super) fn missing_shells() -> Vec<Shell> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |program: &str| std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    [Shell::Bash, Shell::Sh].into_iter().filter(|shell| !has(shell.argv()[0])).collect()
}

fn absolute(path: &Utf8Path) -> Result<Utf8PathBuf, Failure> {
    path.canonicalize_utf8().map_err(|error| Failure::new(format!("cannot use `{path}`: {error}")))
}

/// The run that `--reuse` means.
fn other_run(state: &StateDir, wanted: &str) -> Result<Opened, Failure> {
    let other = Opened::new(state, wanted)?;
    if other.held {
        return Err(Failure::new(format!(
            "`{}` is still running: nothing can be taken over yet",
            other.run.name
        )));
    }
    Ok(other)
}

/// A run, held against the plan that is admitted and what its run was launched with.
fn reused(other: Opened, admitted: &Admitted, about: &About) -> Result<Reused, Failure> {
    let Opened { run, about: then, plan, history, withheld, .. } = other;
    if !withheld.is_empty() {
        let message = format!("nothing is taken over from `{}`: {}", run.name, secrets::set_them(&withheld));
        return Err(Failure::new(message));
    }
    let beside = || Utf8Path::new(&then.plan_file).parent().map(Utf8Path::to_owned);
    let workspace = then.workspace.as_ref().map(Utf8PathBuf::from).or_else(beside);
    let common = Common {
        workspace: workspace.as_ref() == Some(&admitted.workspace),
        frozen: then.frozen == about.frozen,
    };
    let past = Arc::new(Past::new(history, &plan, &admitted.document, common));
    Ok(Reused { run: RunDir { path: absolute(&run.path)?, ..run }, past })
}

/// Makes a run.
fn begin(
    arguments: &Arguments,
    state: &StateDir,
    admitted: &Admitted,
    other: Option<Opened>,
) -> Result<Sitting, Failure> {
    let frozen = match &admitted.frozen[..] {
        [] => None,
        paths => Some(Store::foresee(&admitted.pack, paths).map_err(Failure::new)?),
    };
    let random: Text = random::<32>()?.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
    let about = About {
        schema: about::SCHEMA,
        plan: admitted.plan.name.clone(),
        plan_file: admitted.plan_file.to_string(),
        workspace: arguments.workspace.as_ref().map(|_| admitted.workspace.to_string()),
        plan_digest: dump::plan_digest(&admitted.document),
        gates: frozen::fingerprint(&dump::gates_fingerprint(&admitted.document), frozen.as_ref()),
        frozen,
        params: admitted.params.clone(),
        reuse: other.as_ref().map(|other| other.run.name.clone()),
        ceilings: Ceilings {
            usd: arguments.max_cost,
            time_ms: arguments.max_time,
            steps: arguments.max_steps,
        },
        jobs: u64::try_from(jobs(arguments)).ok(),
        kill_on_failure: arguments.kill_on_failure,
        version: env!("CARGO_PKG_VERSION").into(),
        secrets: secrets::digests(&admitted.secrets, &random),
        random,
        ..About::default()
    };
    let reused = other.map(|other| reused(other, admitted, &about)).transpose()?;
    let now = jiff::Timestamp::now().as_millisecond();
    let (run, about, lock) = state.create(now, about, &admitted.bytes)?;
    // The lock is on the log of the directory under its final name: nothing depends on the path.
    let run = RunDir { path: absolute(&run.path)?, ..run };
    let (shared, writer) = match open_new(&run, admitted, &about, lock) {
        Ok(opened) => opened,
        Err(failure) => {
            // Nothing has happened in it, and nothing can.
            let removed = fs::remove_dir_all(&run.path);
            removed
                .map_err(|error| Failure::new(format!("{failure}; cannot remove `{}`: {error}", run.path)))?;
            state.mend_latest()?;
            return Err(failure);
        }
    };
    let store = Store::new(run.clone(), arguments.files_limit, []);
    let admission = admitted.admission.clone();
    Ok(Sitting { run, about, lock: shared, writer, store, past: Vec::new(), admission, reused })
}

/// Stores what is frozen in a run that was made, and begins its log.
fn open_new(run: &RunDir, admitted: &Admitted, about: &About, lock: Lock) -> Result<(Lock, Writer), Failure> {
    if let Some(frozen) = &about.frozen {
        freeze(run, admitted, frozen)?;
    }
    let (_, digest) = About::read(run)?;
    let shared = lock.share().map_err(|error| Failure::new(format!("cannot keep the lock: {error}")))?;
    Ok((shared, Writer::begin(run, lock, &digest)?))
}

/// Stores the frozen files, which have to be what they were a moment ago.
fn freeze(run: &RunDir, admitted: &Admitted, frozen: &FileSet) -> Result<(), Failure> {
    let stored = Store::new(run.clone(), u64::MAX, []).capture_all(&admitted.pack, &admitted.frozen);
    match stored {
        Ok(stored) if stored == *frozen => Ok(()),
        Ok(_) => Err(Failure::new("a frozen file has changed while the run began")),
        Err(why) => Err(Failure::new(format!("a frozen file cannot be stored: {why}"))),
    }
}

/// Takes up a run, unless something speaks against it; then nothing of it is touched.
fn go_on(
    arguments: &Arguments,
    admitted: &Admitted,
    run: RunDir,
    about: About,
    digest: &str,
    lock: Lock,
) -> Result<Sitting, Failure> {
    let run = RunDir { path: absolute(&run.path)?, ..run };
    let before = run.read_plan(&about)?;
    let now = resume::Now {
        plan_digest: &dump::plan_digest(&admitted.document),
        plan: &admitted.bytes,
        gates: &frozen::fingerprint(&dump::gates_fingerprint(&admitted.document), about.frozen.as_ref()),
        params: &admitted.params,
    };
    let mut reasons = resume::refusals(&about, &before, &now);
    reasons.extend(secrets::differences(&about));
    let then = about.workspace.as_deref().map_or(&*admitted.pack, Utf8Path::new);
    if arguments.workspace.is_some() && admitted.workspace != then {
        reasons.push(format!("its workspace is `{then}`"));
    }
    if !reasons.is_empty() {
        let reasons = reasons.join("; ");
        return Err(Failure::new(format!("`{}` is not gone on with: {reasons}", run.name)));
    }
    let log = read::log(&run, digest)?;
    let mut history = history_of(&run, &admitted.document, &log.events)?;
    let mut sets = resume::live_sets(&history);
    sets.extend(&about.frozen);
    let store = Store::new(run.clone(), arguments.files_limit, sets.iter().copied());
    let missing = sets.iter().find_map(|set| store.missing(set));
    if let Some(missing) = missing {
        return Err(Failure::new(format!("`{}` is not gone on with: {missing}", run.name)));
    }
    let shared = lock.share().map_err(|error| Failure::new(format!("cannot keep the lock: {error}")))?;
    let mut writer = Writer::resume(&run, lock, &log)?;
    run.forget_attempts_after(history.last_attempt)?;
    staging::Staging::clear(&run)?;
    store.keep_only(&sets)?;
    let mut past = log.events;
    requests::take_up(&run, &admitted.plan, &admitted.mask, &mut writer, &mut past, &mut history)?;
    mask_cut_off(&run, &past, &admitted.mask);
    // What the operator does not say anew is as it was.
    let operator = &admitted.operator;
    let ceilings = admission::ceilings(&admitted.plan, operator, Some(history.ceilings));
    let stays = exec::resume::stays_ended(&admitted.plan, &history, ceilings);
    let closed = exec::resume::closed_by(&admitted.plan, &history, ceilings);
    let admission = PlanAdmitted {
        ceilings,
        caps: if operator.caps.is_empty() { history.caps } else { operator.caps.clone() },
        keep_going: operator.keep_going || history.keep_going,
        ..admitted.admission.clone()
    };
    if arguments.from.is_none()
        && let Some(why) = closed
    {
        say(&format!("plan: `{}` stays as it ended: {why}\n", run.name));
    } else if arguments.from.is_none() && stays {
        say(&format!(
            "plan: `{}` stays as it ended; `--from TASK` runs a task again, and all behind it\n",
            run.name
        ));
    }
    Ok(Sitting { run, about, lock: shared, writer, store, past, admission, reused: None })
}

/// Masks the streams of attempts that were in flight when their executor died.
pub(super) fn mask_cut_off(run: &RunDir, past: &[Event], mask: &Mask) {
    use crate::event::Body;
    if mask.is_empty() {
        return;
    }
    let mut open = std::collections::BTreeSet::new();
    for event in past {
        if let Body::AttemptStarted(body) = &event.body {
            open.insert(body.attempt);
        } else if let Body::AttemptEnded(body) = &event.body {
            open.remove(&body.attempt);
        }
    }
    let streams = open.into_iter().flat_map(|attempt| [run.stdout(attempt), run.stderr(attempt)]);
    // Of verifiers nothing says which were at work.
    for path in streams.chain(run.verifications()) {
        if let Err(error) = mask.stream(&path) {
            say(&format!("plan: cannot mask the secrets in `{path}`: {error}\n"));
        }
    }
}

/// Fails if the limit of descriptors leaves none for an event loop, which could not say so.
fn has_descriptors() -> Result<(), Failure> {
    let opened: Result<Vec<_>, _> = (0..DESCRIPTORS).map(|_| fs::File::open("/dev/null")).collect();
    opened
        .map(drop)
        .map_err(|error| Failure::new(format!("too few descriptors for a run (`ulimit -n`): {error}")))
}

/// Runs a sitting, and says how it came out.
fn drive(arguments: &Arguments, admitted: &Admitted, sitting: Sitting) -> Answer {
    let Sitting { run, about, lock: held, writer, store, past, admission, reused } = sitting;
    let (other, reuse) = reused.map(|reused| (reused.run, reused.past)).unzip();
    let detail = match (arguments.quiet, arguments.verbose) {
        (true, _) => Detail::Quiet,
        (false, false) => Detail::Normal,
        (false, true) => Detail::Verbose,
    };
    let requests = Requests::new(&run);
    let pending = requests.pending();
    let frozen = about.frozen.as_ref().map(|set| Frozen::new(&run, &admitted.pack, set)).transpose();
    let frozen = frozen.map_err(Failure::new)?.map(Arc::new);
    let people = match arguments.format {
        Format::Json => None,
        Format::Text => Some(Arc::new(Mutex::new(people(&run, admitted, detail)))),
    };
    let mask = Arc::clone(&admitted.mask);
    let readers = people.clone().map_or(Readers::Aside, Readers::People);
    let calls = calls::RunCalls {
        run: run.clone(),
        shared: Arc::new(calls::Shared {
            mask: Arc::clone(&mask),
            files_limit: arguments.files_limit,
            readers: readers.clone(),
            frozen: frozen.clone(),
            frozen_set: about.frozen.clone(),
            pack: admitted.pack.clone(),
            random: about.random.clone(),
            secrets: about.secrets.clone(),
        }),
    };
    let files = Arc::new(RunFiles::new(run.clone(), store, frozen, other, mask, readers));
    let lost = Lost::default();
    let reporter = match &people {
        Some(people) => Shown::People(Arc::clone(people)),
        None => Shown::Events(Arc::clone(&admitted.mask), Lost::clone(&lost)),
    };
    let mut sources: Vec<Box<dyn Source>> = vec![Box::new(Signals::default()), Box::new(Control(requests))];
    if let Some(people) = people.as_ref().filter(|_| detail != Detail::Quiet && streams::is_terminal())
        && terminal::is_there()
    {
        sources.push(Box::new(Terminal::new(Arc::clone(people), requests::somebody())));
    }
    let options = RunOptions {
        run: run.name.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        pack: admitted.pack.clone(),
        gates: about.gates.clone(),
        admitted: admission,
        jobs: jobs(arguments),
        kill_on_failure: arguments.kill_on_failure,
        log_limit: arguments.log_limit,
        from: arguments.from.as_deref().map(Text::from),
        reuse,
        outer: None,
    };
    let local = Arc::new(Local::contained(std::env::vars_os(), about.mark(), &run.cgroups()));
    let ports = Ports {
        log: Box::new(RunLog {
            writer,
            run: run.clone(),
            mask: Arc::clone(&admitted.mask),
            requests: pending,
        }),
        files: files.clone(),
        runner: local.clone(),
        workspace: Arc::new(Direct::new(admitted.workspace.clone())),
        verifiers: Arc::new(BuiltIn::default()),
        clock: Arc::new(Real::new()),
        reporter: Box::new(reporter),
        sources,
        calls: Arc::new(calls),
    };
    let outcome = exec::run(admitted.plan.clone(), options, ports, past);
    local.end().iter().for_each(|problem| say(&format!("plan: {problem}\n")));
    let outcome = outcome.map_err(|error| Failure::new(error.to_string()))?;
    if outcome.log_failed.is_none() {
        clean_up(&run, files.store(), &about, &outcome.history);
    }
    let code = exit(&outcome);
    if let Some(people) = people {
        let all_holds = outcome.history.rows.iter().all(|row| row.status().is_none_or(Status::holds));
        let silent = detail == Detail::Quiet && matches!(code, Ok(Exit::Good)) && all_holds;
        let lines = if silent { Vec::new() } else { summary(run, about, admitted, outcome, detail)? };
        let mut people = lock(&people);
        people.end(&lines);
        if let Some(why) = people.lost() {
            // How it came out is kept, and the exit code says it.
            say(&format!("plan: cannot write to standard output: {why}\n"));
        }
    }
    drop(held);
    match lost.get() {
        Some(why) => Err(Failure::new(format!("events are missing on standard output: {why}"))),
        None => code,
    }
}

fn people(run: &RunDir, admitted: &Admitted, detail: Detail) -> People {
    let terminal = streams::is_terminal();
    let (run, mask) = (run.clone(), Arc::clone(&admitted.mask));
    People::new(
        Box::new(std::io::stdout()),
        Box::new(move || if terminal { streams::size() } else { None }),
        Box::new(move |attempt| tail(&run, &mask, attempt)),
        detail,
        streams::paint(),
        Roles::of(&admitted.document),
    )
}

fn jobs(arguments: &Arguments) -> usize {
    let asked = arguments.jobs.and_then(|jobs| usize::try_from(jobs).ok());
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// Removes what can be made again, and what no row stands for.
fn clean_up(run: &RunDir, store: &Store, about: &About, history: &History) {
    let mut keep = resume::live_sets(history);
    keep.extend(&about.frozen);
    let cleared = staging::Staging::clear(run).and_then(|()| store.keep_only(&keep));
    if let Err(error) = cleared {
        // A resume does it again.
        say(&format!("plan: {error}\n"));
    }
}

/// The exit code for how a sitting came out (EXECUTION §14).
fn exit(outcome: &Outcome) -> Answer {
    if let Some(failed) = &outcome.log_failed {
        let message = format!("the run is interrupted: cannot write `{}`: {}", failed.path, failed.cause);
        return Err(Failure::new(message));
    }
    let ended = outcome.history.ended.as_ref();
    Ok(match (ended.map(|end| end.verdict), outcome.signal.as_deref()) {
        (Some(Some(Verdict::Valid)), _) => Exit::Good,
        (Some(Some(Verdict::Invalid)), _) => Exit::Invalid,
        (_, Some(signal)) => Exit::Interrupted(match signal {
            "HUP" => 1,
            "INT" => 2,
            _ => 15,
        }),
        (Some(None), None) => Exit::Waits,
        (None, None) => return Err(Failure::new("the run is interrupted")),
    })
}

/// The summary of a sitting that is over.
fn summary(
    run: RunDir,
    about: About,
    admitted: &Admitted,
    outcome: Outcome,
    detail: Detail,
) -> Result<Vec<String>, Failure> {
    let log = read::Log { events: Vec::new(), head: Text::default(), bytes: 0, torn: None };
    let opened = Opened {
        run,
        about,
        plan: admitted.document.clone(),
        log,
        history: outcome.history,
        held: false,
        mask: Mask::clone(&admitted.mask),
        withheld: Vec::new(),
    };
    let mut lines = vec![String::new()];
    lines.extend(status::summary(&opened, detail));
    Ok(lines)
}
