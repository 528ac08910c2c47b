//! A task in the document: what every task has, and under `spec` what its kind has.
//!
//! A field that holds its default is left out.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{Document, VerifyDocument, digest};
use crate::ir::kind::{Agent, Arg, Direction, EndPoint, Machine, Node, PromptPart, Route, Run};
use crate::ir::types::Schema;
use crate::ir::{
    DoneWhen, Emits, Isolation, Kind, Millis, OnInterrupt, Plan, Shell, Task, Type, Usd, Value, spell,
};
use crate::source::Text;

/// Longer parts of a prompt are written down as their digest.
const LONGEST_PART: usize = 16 * 1024;

/// A task, written down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskDocument {
    /// Its name.
    pub name: Text,
    /// Its kind, as the keyword.
    pub kind: Text,
    /// `main` or `epilogue`.
    pub stage: Text,
    /// Whether its failure fails the run.
    pub required: bool,
    /// The group that it stands in.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group: Option<Text>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub depends_on: Vec<Text>,
    /// `all`, `passed` or `settled`.
    pub join: Text,
    /// Whether it fans out.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub mapped: bool,
    /// Whether it runs, as the language writes it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub when: Option<Text>,
    /// The labels that each `otherwise` in its condition holds for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub otherwise: Vec<Vec<Text>>,
    /// What it fans out over.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub over: Option<Text>,
    /// The field that names an instance.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<Text>,
    /// Most instances, of a task that fans out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_fanout: Option<u32>,
    /// Objects keyed by element.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub keyed: Vec<Text>,
    /// What a passing result must carry, as the language writes it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub emits: Option<Text>,
    /// Files that it produces.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub emits_files: Vec<Text>,
    /// The digests of the schemas that its result and its files have to keep, in the order they stand.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub schemas: Vec<Text>,
    /// `files`, or a command.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub done_when: Option<Text>,
    /// Whether its result may end the run early.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub may_complete: bool,
    /// Capabilities that the machine must declare.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub needs: Vec<Text>,
    /// Wall-clock limit of one attempt.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timeout_ms: Option<Millis>,
    /// Extra attempts after a transport failure.
    #[serde(default)]
    pub retries: u32,
    /// `worktree`, where it has a private copy of the workspace.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub isolation: Option<Text>,
    /// Extra environment.
    #[serde(skip_serializing_if = "IndexMap::is_empty", default)]
    pub env: IndexMap<Text, Text>,
    /// Variables of the operator's environment that it gets.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub secrets: Vec<Text>,
    /// `bash` or `sh`.
    #[serde(default)]
    pub shell: Text,
    /// Most that one attempt may cost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_usd: Option<Usd>,
    /// Whether a `partial` result holds.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub allow_partial: bool,
    /// Whether it runs after a ceiling or a stop too.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub always: bool,
    /// Working directory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cwd: Option<Text>,
    /// `ask`, where the operator says what a crash in mid-attempt means.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub on_interrupt: Option<Text>,
    /// Whom this reviewer sends back.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub revise: Vec<Text>,
    /// Most rounds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_rounds: Option<u32>,
    /// Checks on each attempt.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub verify: Vec<VerifyDocument>,
    /// What its kind has.
    #[serde(default)]
    pub spec: Spec,
}

/// What one kind of task has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spec {
    /// Nothing is known.
    #[default]
    None,
    /// `command`.
    Run(RunDocument),
    /// `evaluate`.
    Evaluate {
        /// The command.
        run: RunDocument,
        /// The bound.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        threshold: Option<f64>,
        /// `lower` or `higher`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        direction: Option<Text>,
    },
    /// `agent`.
    Agent(Box<Instructions>),
    /// `route`.
    Route {
        /// The dependency whose output answers.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        source: Option<Text>,
        /// The command that answers.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        run: Option<RunDocument>,
        /// Least confidence.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        min_confidence: Option<f64>,
        /// The questions.
        questions: Vec<QuestionDocument>,
    },
    /// `gate`.
    Gate {
        /// The question.
        ask: Text,
        /// The answers.
        options: Vec<Text>,
        /// The answer after the timeout.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        default: Option<Text>,
    },
    /// `top_k`.
    TopK {
        /// How many to keep.
        k: u64,
        /// `lower` or `higher`.
        direction: Text,
    },
    /// `report`.
    Report {
        /// The template's path, as written.
        template: Text,
        /// The template's digest.
        digest: Text,
        /// Where it goes.
        to: Text,
        /// The task whose output it is about.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        result: Option<Text>,
    },
    /// `call`.
    Call {
        /// The called plan's path, as written.
        plan: Text,
        /// What it is launched with.
        params: IndexMap<Text, serde_json::Value>,
        /// What it means.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        child: Option<Box<Document>>,
    },
    /// `machine`.
    Machine(Box<MachineDocument>),
}

/// A command, written down: a string through the shell, or a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RunDocument {
    /// A string.
    Shell(Text),
    /// A list.
    List(Vec<Argument>),
}

/// An element of a `run` list, written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Argument {
    /// As written.
    Text(Text),
    /// A file of the pack.
    Pack {
        /// Its path.
        pack: Text,
    },
}

/// A turn of an agent, written down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Instructions {
    /// The instructions, in parts.
    pub prompt: Vec<Part>,
    /// Extra arguments of the harness.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub args: Vec<Text>,
    /// The harness.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub harness: Option<Text>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<Text>,
    /// The effort.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub effort: Option<Text>,
    /// The conversation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<Text>,
    /// Further turns to mend output.
    #[serde(default)]
    pub repair: u32,
}

/// A part of a prompt, written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Part {
    /// The author's text.
    Text(Text),
    /// A long text of the author's.
    Long {
        /// Its digest.
        digest: Text,
        /// Its length.
        bytes: usize,
    },
    /// A value that came from outside.
    External {
        /// The parameter.
        param: Text,
        /// The value.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        value: Option<Text>,
    },
}

/// A question of a route, written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionDocument {
    /// Its name.
    pub name: Text,
    /// What is asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ask: Option<Text>,
    /// Its labels.
    pub labels: Vec<Text>,
    /// Whether it was written without labels.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub yes_no: bool,
    /// Labels that need no branch.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub drop: Vec<Text>,
}

/// A machine, written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineDocument {
    /// Node executions in all.
    pub max_steps: u64,
    /// Executions of one node.
    pub max_visits: u64,
    /// Where an unsatisfied gate goes back to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retry_target: Option<Text>,
    /// Where it goes back to if that is not set.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fallback_retry_target: Option<Text>,
    /// The nodes.
    pub nodes: Vec<NodeDocument>,
    /// The edges.
    pub edges: Vec<EdgeDocument>,
}

/// A node of a machine, written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeDocument {
    /// The task.
    pub task: TaskDocument,
    /// Whether the exit audits it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub goal_gate: bool,
    /// Whether a `partial` does not hold its gate.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub strict: bool,
    /// Where to go back to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retry_target: Option<Text>,
    /// Where to go back to if that is not set.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fallback_retry_target: Option<Text>,
    /// Further attempts after a result that says `retry`.
    #[serde(default)]
    pub max_retries: u32,
}

/// An edge of a machine, written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EdgeDocument {
    /// From: a node, or `start`.
    pub from: Text,
    /// To: a node, or `exit`.
    pub to: Text,
    /// Its condition, as the language writes it.
    #[serde(rename = "if", skip_serializing_if = "Option::is_none", default)]
    pub condition: Option<Text>,
    /// Its label.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub label: Option<Text>,
    /// Its weight, where one was written.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub weight: Option<i64>,
    /// Whether it is the default.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub default: bool,
}

/// Writes a task down.
pub(super) fn document(plan: &Plan, task: &Task) -> TaskDocument {
    let name = |id: crate::ir::TaskId| plan[id].name.value.clone();
    let mut otherwise = Vec::new();
    if let Some(when) = &task.when {
        labels(&when.value, &mut otherwise);
    }
    TaskDocument {
        name: task.name.value.clone(),
        kind: Text::const_new(task.kind.as_str()),
        stage: Text::const_new(task.stage.as_str()),
        required: task.required,
        group: task.group.map(|group| plan.groups[group.index()].name.value.clone()),
        depends_on: task.depends_on.iter().map(|dependency| name(dependency.task)).collect(),
        join: Text::const_new(task.join.value.as_str()),
        mapped: task.over.is_some(),
        when: task.when.as_ref().map(|when| spell::condition(plan, &when.value).into()),
        otherwise,
        over: task.over.as_ref().map(|over| spell::over(plan, &over.value).into()),
        key: task.key.as_ref().map(|key| key.value.clone()),
        max_fanout: task.over.as_ref().map(|_| task.max_fanout),
        keyed: task
            .keyed
            .iter()
            .map(|keyed| compact_str::format_compact!("{}.{}", name(keyed.value.0), keyed.value.1))
            .collect(),
        emits: task.emits.as_ref().map(|emits| spell::emits(&emits.value).into()),
        emits_files: task.emits_files.iter().map(|file| file.path.value.clone()).collect(),
        schemas: schemas(task),
        done_when: task.done_when.as_ref().map(|when| match &when.value {
            DoneWhen::Files => Text::const_new("files"),
            DoneWhen::Command(command) => command.clone(),
        }),
        may_complete: task.may_complete,
        needs: task.needs.clone(),
        timeout_ms: task.timeout.map(|timeout| timeout.value),
        retries: task.retries,
        isolation: match task.isolation.value {
            Isolation::None => None,
            Isolation::Worktree => Some(Text::const_new("worktree")),
        },
        env: task.env.iter().cloned().collect(),
        secrets: task.secrets.iter().map(|secret| secret.value.clone()).collect(),
        shell: Text::const_new(shell(task.shell)),
        max_usd: task.max_usd.map(|most| most.value),
        allow_partial: task.allow_partial,
        always: task.always.value,
        cwd: task.cwd.as_ref().map(|cwd| cwd.value.clone()),
        on_interrupt: match task.on_interrupt {
            OnInterrupt::Rerun => None,
            OnInterrupt::Ask => Some(Text::const_new("ask")),
        },
        revise: task.revise.iter().map(|target| name(target.value)).collect(),
        max_rounds: task.max_rounds.map(|rounds| rounds.value),
        verify: task.verify.iter().map(|verify| super::verify(plan, verify)).collect(),
        spec: spec(plan, &task.kind),
    }
}

fn spec(plan: &Plan, kind: &Kind) -> Spec {
    match kind {
        Kind::Command(run) => Spec::Run(RunDocument::of(&run.value)),
        Kind::Evaluate(evaluate) => Spec::Evaluate {
            run: RunDocument::of(&evaluate.run.value),
            threshold: evaluate.threshold.map(|threshold| threshold.value),
            direction: evaluate.direction.map(|ranking| direction(ranking.value)),
        },
        Kind::Agent(agent) => Spec::Agent(Box::new(Instructions::of(plan, agent))),
        Kind::Route(route) => route_spec(plan, route),
        Kind::Gate(gate) => Spec::Gate {
            ask: gate.ask.clone(),
            options: gate.options.iter().map(|option| option.value.clone()).collect(),
            default: gate.default.as_ref().map(|default| default.value.clone()),
        },
        Kind::TopK(top) => Spec::TopK { k: top.k.value, direction: direction(top.direction) },
        Kind::Report(report) => Spec::Report {
            template: report.template.value.clone(),
            digest: digest(&report.text),
            to: report.to.value.clone(),
            result: report.result.map(|task| plan[task.value].name.value.clone()),
        },
        Kind::Call(call) => Spec::Call {
            plan: call.plan.value.clone(),
            params: call.params.iter().map(|(name, value)| (name.value.clone(), json(value))).collect(),
            child: call.child.as_ref().map(|child| {
                // What is for people only would be a part of this plan's digest.
                let (docs, origins) = (IndexMap::new(), IndexMap::new());
                Box::new(Document { docs, origins, ..super::document(child) })
            }),
        },
        Kind::Machine(machine) => Spec::Machine(Box::new(machine_spec(plan, machine))),
    }
}

fn route_spec(plan: &Plan, route: &Route) -> Spec {
    Spec::Route {
        source: route.source.map(|task| plan[task.value].name.value.clone()),
        run: route.run.as_ref().map(|run| RunDocument::of(&run.value)),
        min_confidence: route.min_confidence,
        questions: route
            .questions
            .iter()
            .map(|question| QuestionDocument {
                name: question.name.value.clone(),
                ask: question.ask.clone(),
                labels: question.labels.iter().map(|label| label.value.clone()).collect(),
                yes_no: question.yes_no,
                drop: question.drop.iter().map(|label| label.value.clone()).collect(),
            })
            .collect(),
    }
}

fn machine_spec(plan: &Plan, machine: &Machine) -> MachineDocument {
    let end = |end: EndPoint| match end {
        EndPoint::Start => Text::const_new("start"),
        EndPoint::Exit => Text::const_new("exit"),
        EndPoint::Node(at) => {
            machine.nodes.get(at as usize).map_or_else(Text::default, |node| node.task.name.value.clone())
        }
        EndPoint::Unknown => Text::default(),
    };
    let node = |node: &Node| NodeDocument {
        task: document(plan, &node.task),
        goal_gate: node.goal_gate,
        strict: node.strict,
        retry_target: node.retry_target.as_ref().map(|target| target.value.clone()),
        fallback_retry_target: node.fallback_retry_target.as_ref().map(|target| target.value.clone()),
        max_retries: node.max_retries,
    };
    MachineDocument {
        max_steps: machine.max_steps,
        max_visits: machine.max_visits.map_or(machine.max_steps, |most| most.value),
        retry_target: machine.retry_target.as_ref().map(|target| target.value.clone()),
        fallback_retry_target: machine.fallback_retry_target.as_ref().map(|target| target.value.clone()),
        nodes: machine.nodes.iter().map(node).collect(),
        edges: machine
            .edges
            .iter()
            .map(|edge| EdgeDocument {
                from: end(edge.from.value),
                to: end(edge.to.value),
                condition: edge.condition.as_ref().map(|condition| spell::condition(plan, condition).into()),
                label: edge.label.clone(),
                weight: edge.weighted.then_some(edge.weight),
                default: edge.default,
            })
            .collect(),
    }
}

impl RunDocument {
    /// Writes a command down.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        match run {
            Run::Shell(text) => Self::Shell(text.clone()),
            Run::List(list) => Self::List(
                list.iter()
                    .map(|arg| match arg {
                        Arg::Text(text) => Argument::Text(text.clone()),
                        Arg::Pack(path) => Argument::Pack { pack: path.clone() },
                    })
                    .collect(),
            ),
        }
    }
}

impl Instructions {
    pub(super) fn of(plan: &Plan, agent: &Agent) -> Self {
        let part = |part: &PromptPart| match part {
            PromptPart::Text(text) if text.len() > LONGEST_PART => {
                Part::Long { digest: digest(text), bytes: text.len() }
            }
            PromptPart::Text(text) => Part::Text(text.as_ref().into()),
            PromptPart::External { param, value } => {
                Part::External { param: param.clone(), value: value.clone() }
            }
        };
        let session = agent.session.and_then(|id| plan.sessions.get(id.value.index()));
        Self {
            prompt: agent.prompt.iter().map(part).collect(),
            args: agent.args.clone(),
            harness: agent.settings.harness.as_ref().map(|harness| harness.value.clone()),
            model: agent.settings.model.clone(),
            effort: agent.settings.effort.clone(),
            session: session.map(|session| session.name.value.clone()),
            repair: agent.repair,
        }
    }
}

/// The digests of the schemas that a result and its files have to keep.
fn schemas(task: &Task) -> Vec<Text> {
    let mut found = Vec::new();
    let mut note = |schema: &Schema| found.push(digest(&schema.text));
    match task.emits.as_ref().map(|emits| &emits.value) {
        Some(Emits::Schema(schema)) => note(schema),
        Some(Emits::Record(fields)) => fields.iter().for_each(|field| in_type(&field.ty, &mut note)),
        Some(Emits::Names(_)) | None => {}
    }
    task.emits_files.iter().filter_map(|file| file.schema.as_ref()).for_each(note);
    found
}

fn in_type(ty: &Type, note: &mut impl FnMut(&Schema)) {
    match ty {
        Type::Schema(schema) => note(schema),
        Type::List(Some(inner)) => in_type(inner, note),
        Type::Record(fields) => fields.iter().for_each(|field| in_type(&field.ty, note)),
        Type::Any(types) => types.iter().for_each(|ty| in_type(ty, note)),
        Type::String
        | Type::Integer
        | Type::Number
        | Type::Boolean
        | Type::List(None)
        | Type::Object
        | Type::Union(_) => {}
    }
}

fn labels(condition: &crate::ir::Condition, found: &mut Vec<Vec<Text>>) {
    use crate::ir::Condition;
    match condition {
        Condition::And(parts) | Condition::Or(parts) => parts.iter().for_each(|part| labels(part, found)),
        Condition::Not(part) => labels(part, found),
        Condition::Otherwise { labels, .. } => found.push(labels.clone()),
        Condition::Compare { .. } | Condition::Holds { .. } => {}
    }
}

pub(super) const fn shell(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => "bash",
        Shell::Sh => "sh",
    }
}

fn direction(direction: Direction) -> Text {
    Text::const_new(match direction {
        Direction::Lower => "lower",
        Direction::Higher => "higher",
    })
}

/// A value as JSON, numbers digit for digit.
#[must_use]
pub fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Number(number, text) => {
            serde_json::from_str(text).unwrap_or_else(|_| serde_json::json!(number))
        }
        Value::Boolean(value) => (*value).into(),
        Value::Duration(millis) => millis.to_string().into(),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(map) => {
            let pairs = map.iter().map(|(key, value)| (key.to_string(), json(value)));
            pairs.collect::<serde_json::Map<_, _>>().into()
        }
    }
}
