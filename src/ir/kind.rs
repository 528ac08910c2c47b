//! What each kind of task carries (LANGUAGE §4, §7, §13).

use camino::Utf8Path;

use super::{Condition, Millis, Shell, Task, TaskId};
use crate::source::{Span, Spanned, Text};

/// The kind of a task, with that kind's fields.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Runs a command.
    Command(Spanned<Run>),
    /// Runs a command and grades its object.
    Evaluate(Evaluate),
    /// One turn of an agent harness.
    Agent(Box<Agent>),
    /// Answers typed questions.
    Route(Box<Route>),
    /// Asks a person.
    Gate(Box<Gate>),
    /// Keeps the best.
    TopK(TopK),
    /// Renders a template.
    Report(Box<Report>),
    /// Runs another plan.
    Call(Box<Call>),
    /// A bounded graph with cycles.
    Machine(Box<Machine>),
}

impl Kind {
    /// The keyword as written.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Command(_) => "command",
            Self::Evaluate(_) => "evaluate",
            Self::Agent(_) => "agent",
            Self::Route(_) => "route",
            Self::Gate(_) => "gate",
            Self::TopK(_) => "top_k",
            Self::Report(_) => "report",
            Self::Call(_) => "call",
            Self::Machine(_) => "machine",
        }
    }
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run {
    /// A string through the shell.
    Shell(Text),
    /// One program with its arguments.
    List(Vec<Arg>),
}

impl Run {
    /// The program and its arguments, with files of the pack below `pack`.
    #[must_use]
    pub fn argv(&self, shell: Shell, pack: &Utf8Path) -> Vec<String> {
        match self {
            Self::Shell(text) => {
                shell.argv().iter().copied().chain([text.as_str()]).map(str::to_owned).collect()
            }
            Self::List(args) => args.iter().map(|arg| arg.resolve(pack)).collect(),
        }
    }
}

impl Arg {
    /// The argument, a file of the pack below `pack`.
    fn resolve(&self, pack: &Utf8Path) -> String {
        match self {
            Self::Text(text) => text.to_string(),
            Self::Pack(path) => pack.join(path.as_str()).into_string(),
        }
    }
}

/// One element of a `run` list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// As written.
    Text(Text),
    /// `pack("scan.sh")`: a file of the pack, relative to its directory.
    Pack(Text),
}

/// A graded command.
#[derive(Clone, Debug)]
pub struct Evaluate {
    /// The command.
    pub run: Spanned<Run>,
    /// The bound, with its digits.
    pub threshold: Option<Spanned<f64>>,
    /// Which side of the bound passes.
    pub direction: Option<Spanned<Direction>>,
}

/// Which scores are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Lower ones.
    Lower,
    /// Higher ones.
    Higher,
}

/// Who does a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentSettings {
    /// The harness.
    pub harness: Option<Spanned<Text>>,
    /// The model.
    pub model: Option<Text>,
    /// The effort.
    pub effort: Option<Text>,
}

/// One turn of an agent.
#[derive(Clone, Debug)]
pub struct Agent {
    /// The instructions, in parts: external values are fenced.
    pub prompt: Vec<PromptPart>,
    /// Extra arguments of the harness.
    pub args: Vec<Text>,
    /// Who does it.
    pub settings: AgentSettings,
    /// The conversation.
    pub session: Option<Spanned<super::SessionId>>,
    /// Further turns to mend output.
    pub repair: u32,
}

/// A part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptPart {
    /// The author's text.
    Text(std::sync::Arc<str>),
    /// A value that came from outside; the name says which parameter.
    External {
        /// The parameter that it came from.
        param: Text,
        /// The value; none in a check without values.
        value: Option<Text>,
    },
}

/// Typed questions about dependencies.
#[derive(Clone, Debug)]
pub struct Route {
    /// The dependency whose output answers.
    pub source: Option<Spanned<TaskId>>,
    /// The command that answers.
    pub run: Option<Spanned<Run>>,
    /// Least confidence.
    pub min_confidence: Option<f64>,
    /// The questions.
    pub questions: Vec<Question>,
}

/// What a route records where its confidence is under `min_confidence` (LANGUAGE §7).
pub const UNCERTAIN: &str = "uncertain";

impl Route {
    /// Whether an answer can be [`UNCERTAIN`].
    #[must_use]
    pub fn can_be_uncertain(&self) -> bool {
        self.run.is_some() && self.min_confidence.is_some_and(|least| least > 0.0)
    }
}

/// One question of a route.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its name.
    pub name: Spanned<Text>,
    /// What is asked.
    pub ask: Option<Text>,
    /// Its labels; `yes` and `no` where none were written.
    pub labels: Vec<Spanned<Text>>,
    /// Whether it was written without labels.
    pub yes_no: bool,
    /// Labels that need no branch.
    pub drop: Vec<Spanned<Text>>,
}

/// A question to a person.
#[derive(Clone, Debug)]
pub struct Gate {
    /// The question.
    pub ask: Text,
    /// The answers; `yes` and `no` by default.
    pub options: Vec<Spanned<Text>>,
    /// The answer after the timeout.
    pub default: Option<Spanned<Text>>,
}

/// The best by score.
#[derive(Clone, Debug)]
pub struct TopK {
    /// How many to keep.
    pub k: Spanned<u64>,
    /// Which are better.
    pub direction: Direction,
}

/// Where a report goes that people read at once.
pub const STDOUT: &str = "stdout";

/// What a run's directory holds besides reports: no report may write there (EXECUTION §11).
pub const RUNS_OWN: [&str; 11] = [
    "calls",
    "control",
    "events.jsonl",
    "files",
    "inputs",
    "logs",
    "plan.json",
    "run.json",
    "spare",
    "staged",
    "store",
];

/// The part of `path`, which is below the run's directory, that belongs to the run itself.
#[must_use]
pub fn of_the_run(path: &str) -> Option<&str> {
    let first = path.split('/').next()?;
    // What was cut off a damaged log is kept beside it.
    (first.starts_with("events.") || first.starts_with('.') || RUNS_OWN.contains(&first)).then_some(first)
}

/// A rendered template.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its path, as written.
    pub template: Spanned<Text>,
    /// Its text.
    pub text: std::sync::Arc<str>,
    /// A path below the run's directory, or `stdout`.
    pub to: Spanned<Text>,
    /// The task whose output the report is about.
    pub result: Option<Spanned<TaskId>>,
}

/// Another plan of the pack.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its path, as written.
    pub plan: Spanned<Text>,
    /// What it is launched with.
    pub params: Vec<(Spanned<Text>, super::Value)>,
    /// The compiled child; none where it had errors.
    pub child: Option<std::sync::Arc<super::Plan>>,
}

/// A bounded graph with cycles.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Node executions in all.
    pub max_steps: u64,
    /// Executions of one node; `max_steps` where none was written.
    pub max_visits: Option<Spanned<u64>>,
    /// Where an unsatisfied gate goes back to.
    pub retry_target: Option<Spanned<Text>>,
    /// Where it goes back to if that is not set.
    pub fallback_retry_target: Option<Spanned<Text>>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The edges, in the order written, chains cut into pairs.
    pub edges: Vec<Edge>,
}

/// A node of a machine: a task without dependencies, and what only nodes have.
#[derive(Clone, Debug)]
pub struct Node {
    /// The task. Its ids are of no graph.
    pub task: Task,
    /// Whether the exit audits it.
    pub goal_gate: bool,
    /// Whether a `partial` does not hold its gate.
    pub strict: bool,
    /// Where to go back to.
    pub retry_target: Option<Spanned<Text>>,
    /// Where to go back to if that is not set.
    pub fallback_retry_target: Option<Spanned<Text>>,
    /// Further attempts after a result that says `retry`.
    pub max_retries: u32,
}

/// An edge of a machine.
#[derive(Clone, Debug)]
pub struct Edge {
    /// From.
    pub from: Spanned<EndPoint>,
    /// To.
    pub to: Spanned<EndPoint>,
    /// Its condition.
    pub condition: Option<Condition>,
    /// Its label.
    pub label: Option<Text>,
    /// Its weight; 0 where none was written.
    pub weight: i64,
    /// Whether a weight was written.
    pub weighted: bool,
    /// Whether it is the default.
    pub default: bool,
    /// The whole edge.
    pub span: Span,
}

/// An end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndPoint {
    /// `start`.
    Start,
    /// `exit`.
    Exit,
    /// A node: an index into [`Machine::nodes`].
    Node(u32),
    /// A name that no node has; its error is in the diagnostics.
    Unknown,
}

/// How long a verifier may take where nothing is written.
pub const VERIFY_TIMEOUT: Millis = Millis(300_000);
