//! `plan answer RUN TASK ANSWER`: says what a gate asks, or how an attempt ended that was interrupted
//! (EXECUTION §12).
//!
//! An answer names the question that was open when it was given, so that it serves no later one.

use camino::Utf8PathBuf;
use serde_json::Value;
use serde_json::value::RawValue;

use super::requests::{self, Sent, send};
use super::state::{Opened, StateArguments};
use super::{Answer, Exit, Failure, plans, print};
use crate::compile::{Bindings, compile};
use crate::event::{Body, Event, GateAnswered, Raw};
use crate::exec::answers;
use crate::exec::attempt::broken_promise;
use crate::history::{State, split_name};
use crate::ir::dump;
use crate::store::confine::Root;
use crate::store::control::Request;
use crate::validate::ValidPlan;

/// Answer what a run asks: a gate's question, or how an interrupted attempt ended
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A run that goes on takes the answer up at once. Where none does the answer is recorded, and \
    `plan run --resume` goes on.\n\n\
    A task with `on_interrupt = \"ask\"` whose attempt was interrupted takes `rerun`, `pass`, `fail` or `skip`. \
    With `pass` it has to keep its promises: --result gives the fields that it emits.\n\n\
    Examples:\n  \
    plan answer latest approve yes\n  \
    plan answer latest 'approve[left-pad]' no\n  \
    plan answer latest deploy pass --result '{\"version\": \"1.2\"}'"
)]
pub(super) struct Arguments {
    /// The run: its name, a unique prefix of it, or `latest`
    run: String,
    /// The gate or task, or an instance as `task[element]`
    task: String,
    /// The answer, one of those that the question offers
    answer: String,
    /// With `pass`: the result of the interrupted attempt, a JSON object
    #[arg(long, value_name = "JSON")]
    result: Option<String>,
    #[command(flatten)]
    state: StateArguments,
}

/// Gives the answer to whoever works on the run, or records it.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let Arguments { task, answer, .. } = arguments;
    let state = arguments.state.open();
    let opened = Opened::new(&state, &arguments.run)?;
    let result = arguments.result.as_deref().map(result).transpose()?;
    let number = question(&opened, task)?;
    counts(&opened, arguments, result.as_ref())?;
    let by = requests::somebody();
    let given = GateAnswered {
        task: task.into(),
        question: number,
        answer: answer.into(),
        by: by.clone(),
        result: result.clone(),
    };
    let GateAnswered { task: of, question: number, answer: said, .. } = given.clone();
    let request = Request::Answer { task: of, question: number, answer: said, by, result };
    let run = &opened.run;
    match send(run, &request, "was given the answer")? {
        Sent::Taken => {
            let now = Opened::new(&state, &run.name)?;
            taken(&now, &given)?;
            print(format!("{task}: {answer}\n"))?;
        }
        Sent::Free(lock) => {
            // Nobody else can have answered since, from here on.
            let opened = Opened::new(&state, &run.name)?;
            if question(&opened, task)? != number {
                return Err(Failure::new(format!("`{task}` asks another question by now: look at it first")));
            }
            requests::append(&opened, lock, given)?;
            let (name, state) = (&opened.history.run, super::state::option(&opened.run));
            let open: Vec<_> =
                opened.history.questions().filter(|(_, question)| question.number != number).collect();
            let also = match &open[..] {
                [] => String::new(),
                [(other, _), ..] => format!("; `{other}` still waits for an answer"),
            };
            print(format!("{task}: {answer}{also}\ngo on with `plan run --resume {name}{state}`\n"))?;
        }
    }
    Ok(Exit::Good)
}

fn result(text: &str) -> Result<Raw, Failure> {
    let refused = |why: String| Failure::new(format!("the result is no JSON object: {why}"));
    let raw = RawValue::from_string(text.to_owned()).map_err(|error| refused(error.to_string()))?;
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(_)) => Ok(raw.into()),
        Ok(_) => Err(refused(format!("it is `{text}`"))),
        Err(error) => Err(refused(error.to_string())),
    }
}

/// The number of the question that `task` asks.
fn question(opened: &Opened, task: &str) -> Result<u64, Failure> {
    let history = &opened.history;
    if opened.state() == State::Ended {
        let exit = history.ended.as_ref().map_or("", |end| end.exit.as_str());
        return Err(Failure::new(format!("`{}` has ended: {exit}", opened.run.name)));
    }
    let asked = answers::open(history, task).map_err(|why| {
        let row = history.row(task);
        let cut_off = row.is_some_and(|row| row.running.is_some() || row.cut_off);
        // It asks once somebody has seen that it was interrupted.
        let resume = if cut_off && !opened.held {
            let (name, state) = (&opened.run.name, super::state::option(&opened.run));
            format!("; it was interrupted: `plan run --resume {name}{state}` looks at that first")
        } else {
            String::new()
        };
        Failure::new(format!("{why}{resume}"))
    })?;
    Ok(asked.number)
}

/// Refuses an answer that is none, or that breaks a promise.
fn counts(opened: &Opened, arguments: &Arguments, result: Option<&Raw>) -> Result<(), Failure> {
    let Arguments { task, answer, .. } = arguments;
    let history = &opened.history;
    let asked = answers::open(history, task).map_err(Failure::new)?;
    answers::offered(asked, task, answer).map_err(Failure::new)?;
    let name = split_name(task).0;
    let is_gate = opened.plan.tasks.iter().any(|known| known.name == name && known.kind == "gate");
    answers::takes_result(is_gate, task, answer, result).map_err(Failure::new)?;
    if is_gate || answer != answers::PASS {
        return Ok(());
    }
    let plan = plan(opened)?;
    let Some(promises) = answers::vouched(&plan, history, task, answer) else { return Ok(()) };
    if let Some(broken) = broken_promise(promises, result.map(|raw| raw.get())) {
        return Err(Failure::new(format!("`{task}` cannot pass so: {broken}")));
    }
    let plan_file = Utf8PathBuf::from(opened.about.plan_file.to_string());
    let pack = plan_file.parent().map(ToOwned::to_owned).unwrap_or_default();
    let workspace = opened.about.workspace.as_deref().map_or(pack, Utf8PathBuf::from);
    let root = Root::open(&workspace);
    let root = root.map_err(|error| Failure::new(format!("cannot look into `{workspace}`: {error}")))?;
    for file in &promises.emits_files {
        let path = &file.path.value;
        if let Err(refused) = root.file(path) {
            return Err(Failure::new(format!(
                "`{task}` cannot pass so: `{path}`, which it promises, {refused}"
            )));
        }
    }
    Ok(())
}

/// The plan of the run, which has to be the one that it began with.
pub(super) fn plan(opened: &Opened) -> Result<ValidPlan, Failure> {
    let file = opened.about.plan_file.to_string();
    let params = Value::Object(opened.about.params.clone()).to_string();
    let bindings = Bindings::launch(Some(("run.json", &params)), &[""; 0]).map_err(Failure::new)?;
    let (mut pack, entry) = plans::open(file.as_ref())?;
    let plan = compile(&mut pack, &entry, &bindings).plan;
    let same = |plan: &ValidPlan| dump::plan_digest(&dump::document(plan)) == opened.about.plan_digest;
    plan.filter(same).ok_or_else(|| {
        let message = format!("`{file}` is not the plan any more that `{}` began with", opened.run.name);
        Failure::new(message)
    })
}

/// What became of an answer that was taken up: it is in the log, unless another was faster.
fn taken(now: &Opened, given: &GateAnswered) -> Result<(), Failure> {
    let recorded = |event: &Event| match &event.body {
        Body::GateAnswered(body) if body.question == given.question => Some(body.clone()),
        _ => None,
    };
    let name = &given.task;
    match now.log.events.iter().find_map(recorded) {
        Some(body) if (&body.answer, &body.by) == (&given.answer, &given.by) => Ok(()),
        Some(body) => {
            Err(Failure::new(format!("`{name}` was answered already: `{}` by {}", body.answer, body.by)))
        }
        None => {
            let why = answers::open(&now.history, name).err();
            Err(Failure::new(why.unwrap_or_else(|| format!("the answer to `{name}` was refused"))))
        }
    }
}
