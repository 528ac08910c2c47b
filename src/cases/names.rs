//! Looks the names of a case up in its plan: who is stubbed, of whom something is expected.
//!
//! Unaware of runs.

use super::{Case, OfTask, Want};
use crate::diag::{Code, Diagnostic, Diagnostics, Severity, suggest};
use crate::ir::{Kind, Task};
use crate::runner::Stubs;
use crate::source::{FileId, Span, Spanned, Text};
use crate::validate::ValidPlan;

/// The codes that this file raises.
pub static CODES: &[&Code] = &[&UNKNOWN_NAME, &NO_STUB, &NOTHING_SEEN, &WHICH_PLAN];

static UNKNOWN_NAME: Code = Code {
    id: "plan::case::unknown_name",
    severity: Severity::Error,
    summary: "A name in a case that the plan does not have",
    explain: "Stubs and expectations are by the names of the plan: a task, `task[element]` for one instance of a task \
              that fans out, `task/verifier` for a verifier in a task, an acceptance gate by its own name. A name \
              that the plan lacks would stub nothing, or expect something of nobody.",
};

static NO_STUB: Code = Code {
    id: "plan::case::no_stub",
    severity: Severity::Error,
    summary: "A stub for something that does no work of its own",
    explain: "A stub stands in for what a task starts. `top_k`, `report`, and a `route` with a `source`, start nothing: \
              the engine itself answers, from what the tasks before them gave. Stub those. A `gate` asks people: \
              `answers = { approve = \"yes\" }` says what they answer.",
};

static NOTHING_SEEN: Code = Code {
    id: "plan::case::nothing_seen",
    severity: Severity::Error,
    summary: "An expectation of what a task saw that starts nothing",
    explain: "`inputs` and `staged` are what an attempt was started with. `top_k`, `report`, and a `route` with a \
              `source`, start nothing. Expect something of what they come to: `output`, `contains`.",
};

static WHICH_PLAN: Code = Code {
    id: "plan::case::which_plan",
    severity: Severity::Error,
    summary: "A case that does not say of which plan it is",
    explain: "Where a pack has several plans, each case names its own: `plan = \"audit.plan\"`.",
};

/// The plan file that the case is of, among those of its pack.
///
/// # Errors
/// The finding, where it names none of them, or there are several and it names none.
pub fn plan<'p>(case: &Case, plans: &'p [String], file: FileId) -> Result<&'p str, Box<Diagnostic>> {
    let all = || plans.iter().map(String::as_str);
    match (&case.plan, plans) {
        (None, [one]) => Ok(one),
        (None, _) => {
            let names: Vec<String> = all().map(|plan| format!("`{plan}`")).collect();
            let found = WHICH_PLAN
                .at(
                    Span::new(file, 0, 0),
                    format!("the pack has {} plans: {}", plans.len(), names.join(", ")),
                )
                .help(format!("say which: `plan = \"{}\"`", plans.first().map_or("a.plan", String::as_str)));
            Err(Box::new(found))
        }
        (Some(named), _) => all().find(|plan| *plan == named.value).ok_or_else(|| {
            let found = UNKNOWN_NAME.at(named.span, format!("the pack has no plan `{}`", named.value));
            Box::new(found.label("no such file").maybe_help(suggest::did_you_mean(&named.value, all())))
        }),
    }
}

/// What of the parameters' names the plan lacks.
#[must_use]
pub fn params(case: &Case, params: &[Text]) -> Diagnostics {
    let mut found = Diagnostics::new();
    for name in &case.param_names {
        if !params.contains(&name.value) {
            let near = suggest::did_you_mean(&name.value, params.iter().map(Text::as_str));
            let finding = UNKNOWN_NAME.at(name.span, format!("the plan has no parameter `{}`", name.value));
            found.push(finding.label("nobody reads this").maybe_help(near));
        }
    }
    found
}

/// What of the other names in `case` the plan lacks.
#[must_use]
pub fn check(case: &Case, plan: &ValidPlan) -> Diagnostics {
    let mut names = Names { plan, found: Diagnostics::new() };
    for name in &case.stub_names {
        names.stub(name);
    }
    for (gate, answer) in &case.answered {
        names.answer(gate, answer);
    }
    for expectation in &case.expect {
        match &expectation.want {
            Want::Exit(_)
            | Want::Verdict(_)
            | Want::Accepted(_)
            | Want::Spent(_)
            | Want::Steps(_)
            | Want::Warning(_) => {}
            Want::Order(tasks) | Want::DidNotRun(tasks) => {
                for name in tasks {
                    if let Some(task) = names.task(name)
                        && starts_nothing(task)
                        && !matches!(task.kind, Kind::Report(_))
                    {
                        names.unseen(name);
                    }
                }
            }
            Want::Gate(gate, _) => names.gate(gate),
            Want::Task(name, of) => names.of_task(name, of),
        }
    }
    names.found.finish()
}

/// The tasks that `case` stands in for as a whole, those of called plans among them.
#[must_use]
pub fn played(case: &Case, plan: &ValidPlan) -> Vec<Text> {
    let mut played = Vec::new();
    collect(plan, "", false, &case.stubs, &mut played);
    played
}

/// Adds the tasks of `plan` that have a stub, or all of them. `path` is what stands before their names.
fn collect(plan: &ValidPlan, path: &str, all: bool, stubs: &Stubs, played: &mut Vec<Text>) {
    for id in plan.ids() {
        let name = &plan[id].name.value;
        let key = format!("{path}{name}");
        let own = all || stubs.0.contains_key(&key);
        if own {
            played.push(name.clone());
        }
        if let Some(child) = plan.child(id) {
            collect(child, &format!("{key}/"), own, stubs, played);
        }
    }
}

struct Names<'a> {
    plan: &'a ValidPlan,
    found: Diagnostics,
}

/// A name in its parts: the task, an element, a verifier.
pub(super) fn parts(name: &str) -> (&str, Option<&str>, Option<&str>) {
    let end = name.find(['[', '/']).unwrap_or(name.len());
    let (task, rest) = name.split_at(end);
    let (element, rest) = match rest.strip_prefix('[').and_then(|rest| rest.rsplit_once(']')) {
        Some((element, rest)) => (Some(element), rest),
        None => (None, rest),
    };
    (task, element, rest.strip_prefix('/'))
}

/// Whether nothing is started for the task: the engine itself makes its result.
fn starts_nothing(task: &Task) -> bool {
    match &task.kind {
        Kind::TopK(_) | Kind::Report(_) => true,
        Kind::Route(route) => route.run.is_none(),
        Kind::Command(_)
        | Kind::Evaluate(_)
        | Kind::Agent(_)
        | Kind::Gate(_)
        | Kind::Call(_)
        | Kind::Machine(_) => false,
    }
}

impl<'a> Names<'a> {
    fn lacks(&mut self, span: Span, message: String, name: &str, among: impl IntoIterator<Item = &'a str>) {
        let near = suggest::did_you_mean(name, among);
        self.found.push(UNKNOWN_NAME.at(span, message).label("the plan has no such name").maybe_help(near));
    }

    /// The task of this name, an element included; whether there is such an instance, the run shows.
    fn task(&mut self, name: &Spanned<Text>) -> Option<&'a Task> {
        let (task, element, verifier) = parts(&name.value);
        let plan = self.plan;
        let Some(found) = plan.tasks.iter().find(|known| known.name.value == task) else {
            let all = plan.tasks.iter().map(|task| task.name.value.as_str());
            self.lacks(name.span, format!("the plan has no task `{task}`"), task, all);
            return None;
        };
        if let Some(verifier) = verifier {
            let message = if matches!(found.kind, Kind::Call(_)) {
                format!("what `{task}` calls is a run of its own: expect something of `{task}`")
            } else {
                format!("`{task}/{verifier}` is no task")
            };
            self.lacks(name.span, message, "", []);
            return None;
        }
        if element.is_some() && found.over.is_none() {
            let message = format!("`{task}` does not fan out, and has no instance `{}`", name.value);
            self.found
                .push(UNKNOWN_NAME.at(name.span, message).label("the plan has no such name").help(task));
            return None;
        }
        Some(found)
    }

    fn stub(&mut self, name: &Spanned<Text>) {
        let (task, element, verifier) = parts(&name.value);
        let plan = self.plan;
        let caller = plan.ids().find(|&id| plan[id].name.value == task);
        if let (Some(child), Some(inner)) = (caller.and_then(|id| plan.child(id)), verifier)
            && !plan.tasks.iter().any(|known| {
                known.name.value == task && known.verify.iter().any(|check| check.name.value == inner)
            })
        {
            let mut names = Names { plan: child, found: Diagnostics::new() };
            names.stub(&Spanned::new(inner.into(), name.span));
            self.found.extend(names.found);
            return;
        }
        if verifier.is_none() && element.is_none() && plan.gates.iter().any(|gate| gate.name.value == task) {
            return;
        }
        let Some(verifier) = verifier else {
            if let Some(task) = self.stubbed(name)
                && (starts_nothing(task) || matches!(task.kind, Kind::Gate(_)))
            {
                let kind = task.kind.as_str();
                let help = matches!(task.kind, Kind::Gate(_))
                    .then(|| format!("answer it: `answers = {{ {} = \"…\" }}`", name.value));
                let message = format!(
                    "`{}` is a {kind}, which starts nothing that a stub could stand in for",
                    name.value
                );
                let finding = NO_STUB.at(name.span, message).label("there is nothing to stand in for");
                self.found.push(finding.maybe_help(help));
            }
            return;
        };
        let whole = Spanned::new(Text::from(&name.value[..name.value.len() - verifier.len() - 1]), name.span);
        let Some(task) = self.task(&whole) else { return };
        let known = || task.verify.iter().map(|check| check.name.value.as_str());
        if verifier != "done_when" && !known().any(|known| known == verifier) {
            let message = format!("`{}` has no verifier `{verifier}`", task.name.value);
            self.lacks(name.span, message, verifier, known());
        }
    }

    /// The task that a stub is for; an acceptance gate could have been meant as well.
    fn stubbed(&mut self, name: &Spanned<Text>) -> Option<&'a Task> {
        let (task, _, _) = parts(&name.value);
        let plan = self.plan;
        if plan.tasks.iter().any(|known| known.name.value == task) {
            return self.task(name);
        }
        let tasks = plan.tasks.iter().map(|task| task.name.value.as_str());
        let gates = plan.gates.iter().map(|gate| gate.name.value.as_str());
        self.lacks(name.span, format!("the plan has no task `{task}`"), task, tasks.chain(gates));
        None
    }

    fn answer(&mut self, name: &Spanned<Text>, answer: &Spanned<Text>) {
        let Some(task) = self.task(name) else { return };
        let Kind::Gate(gate) = &task.kind else {
            let message = format!("`{}` is a {}, and asks nobody", name.value, task.kind.as_str());
            self.found.push(UNKNOWN_NAME.at(name.span, message).label("answers are to `gate` tasks"));
            return;
        };
        let options = || gate.options.iter().map(|option| option.value.as_str());
        if !options().any(|option| option == answer.value) {
            let all: Vec<String> = options().map(|option| format!("`{option}`")).collect();
            let near = suggest::did_you_mean(&answer.value, options());
            let message = format!("`{}` does not take the answer `{}`", name.value, answer.value);
            let help = near.unwrap_or_else(|| format!("it takes {}", all.join(", ")));
            self.found.push(UNKNOWN_NAME.at(answer.span, message).label("not among its options").help(help));
        }
    }

    fn gate(&mut self, gate: &Spanned<Text>) {
        let plan = self.plan;
        if !plan.gates.iter().any(|known| known.name.value == gate.value) {
            let all = plan.gates.iter().map(|gate| gate.name.value.as_str());
            self.lacks(
                gate.span,
                format!("the plan has no acceptance gate `{}`", gate.value),
                &gate.value,
                all,
            );
        }
    }

    fn of_task(&mut self, name: &Spanned<Text>, of: &OfTask) {
        let Some(task) = self.task(name) else { return };
        match of {
            OfTask::Inputs(_) | OfTask::Staged(_) if starts_nothing(task) => self.unseen(name),
            OfTask::Verifier(verifier, _) => {
                let known = || task.verify.iter().map(|check| check.name.value.as_str());
                if !known().any(|known| known == verifier.value) {
                    let message = format!("`{}` has no verifier `{}`", task.name.value, verifier.value);
                    self.lacks(verifier.span, message, &verifier.value, known());
                }
            }
            OfTask::Status(_)
            | OfTask::Note(_)
            | OfTask::NoteContains(_)
            | OfTask::Attempts(_)
            | OfTask::Rounds(_)
            | OfTask::Cost(_)
            | OfTask::Blocked(_)
            | OfTask::Output(_)
            | OfTask::Files(_)
            | OfTask::Contains(..)
            | OfTask::Inputs(_)
            | OfTask::Staged(_) => {}
        }
    }

    fn unseen(&mut self, name: &Spanned<Text>) {
        let message =
            format!("`{}` starts nothing, so that nobody can tell when it ran or what it saw", name.value);
        self.found.push(NOTHING_SEEN.at(name.span, message).label("the engine itself answers"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(parts("a"), ("a", None, None));
        assert_eq!(parts("a/v"), ("a", None, Some("v")));
        assert_eq!(parts("a[x/y]"), ("a", Some("x/y"), None));
        assert_eq!(parts("a[x]y]/v"), ("a", Some("x]y"), Some("v")));
    }
}
