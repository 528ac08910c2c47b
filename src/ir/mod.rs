//! The compiled plan, as plain data: every name resolved to an id, every loop unrolled, every default
//! filled in. A value that a rule may want to point at keeps its place.
//!
//! Unaware of text and of runs: `lower` makes it, `validate` judges it, `exec` runs it, `dump` writes it.

pub mod bodies;
pub mod condition;
pub mod dump;
pub mod facts;
pub mod graph;
pub mod kind;
pub mod quantity;
pub mod spell;
pub mod types;

use std::sync::Arc;

use indexmap::IndexMap;

pub use bodies::Bodies;
pub use condition::Condition;
pub use graph::Graph;
pub use kind::Kind;
pub use quantity::{Millis, Usd};
pub use types::{Emits, Type};

use crate::source::{Span, Spanned, Text};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            fn from(index: usize) -> Self {
                Self(u32::try_from(index).expect("a plan has fewer than 2^32 of anything"))
            }
        }
    };
}

id!(
    /// A task: an index into [`Plan::tasks`], in declaration order after unrolling.
    TaskId
);
id!(
    /// A group: an index into [`Plan::groups`].
    GroupId
);
id!(
    /// A session: an index into [`Plan::sessions`].
    SessionId
);
id!(
    /// A parameter: an index into [`Plan::params`].
    ParamId
);

/// A compiled plan.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The header's name, or the file's stem.
    pub name: Text,
    /// The header's doc comment.
    pub doc: Option<Text>,
    /// The header's place; empty at the file's start where there is none.
    pub span: Span,
    /// The header's fields.
    pub header: Header,
    /// Launch parameters, in declaration order.
    pub params: Vec<Param>,
    /// Groups, outer before inner.
    pub groups: Vec<Group>,
    /// Sessions.
    pub sessions: Vec<Session>,
    /// Tasks, in declaration order.
    pub tasks: Vec<Task>,
    /// Acceptance gates: the top-level `verify` blocks.
    pub gates: Vec<Verify>,
    /// Readers of canonical state.
    pub resolves: Vec<Resolve>,
    /// How an accepted run goes on.
    pub continuation: Option<Continue>,
    /// What only rules need.
    pub facts: facts::Facts,
}

/// The header's fields (LANGUAGE §3).
#[derive(Clone, Debug)]
pub struct Header {
    /// What the plan is for.
    pub goal: Option<Text>,
    /// Ceilings.
    pub budget: Budget,
    /// The task whose output is the run's result.
    pub result: Option<Spanned<TaskId>>,
    /// Where tasks run.
    pub workspace: WorkspaceKind,
    /// Globs of pack files that no task may change.
    pub frozen: Vec<Spanned<Text>>,
    /// What runs `run` strings.
    pub shell: Shell,
    /// What a required failure does.
    pub on_failure: OnFailure,
    /// Kept back from the ceilings for `always` tasks.
    pub reserve: Reserve,
    /// How often the plan may go back for its gates.
    pub max_repairs: u32,
}

impl Default for Header {
    fn default() -> Self {
        Self {
            goal: None,
            budget: Budget::default(),
            result: None,
            workspace: WorkspaceKind::default(),
            frozen: Vec::new(),
            shell: Shell::default(),
            on_failure: OnFailure::default(),
            reserve: Reserve::default(),
            max_repairs: MAX_REPAIRS,
        }
    }
}

/// How often a plan may go back for its gates where nothing is written.
pub const MAX_REPAIRS: u32 = 3;

/// Ceilings, each with its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Money.
    pub usd: Option<Spanned<Usd>>,
    /// Time.
    pub time: Option<Spanned<Millis>>,
    /// Attempts.
    pub steps: Option<Spanned<u64>>,
}

/// What is kept back for `always` tasks; the default is 30 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserve {
    /// Money.
    pub usd: Usd,
    /// Time.
    pub time: Millis,
    /// Where it was written, if it was.
    pub span: Option<Span>,
}

impl Default for Reserve {
    fn default() -> Self {
        Self { usd: Usd::ZERO, time: Millis(30_000), span: None }
    }
}

/// Where tasks run (EXECUTION §8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkspaceKind {
    /// In the plan's directory.
    #[default]
    Direct,
    /// In a repository that the engine owns.
    Git,
}

/// What runs a `run` string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shell {
    /// `bash --noprofile --norc -eo pipefail -c`.
    #[default]
    Bash,
    /// `sh -e -c`.
    Sh,
}

/// What happens after a required failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// Dispatch nothing more.
    #[default]
    Halt,
    /// Go as far as possible.
    Continue,
}

/// A launch parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name.
    pub name: Spanned<Text>,
    /// What it is for.
    pub doc: Option<Text>,
    /// Its type.
    pub ty: ParamType,
    /// Its default.
    pub default: Option<Value>,
    /// A pattern that a string has to match.
    pub pattern: Option<Text>,
    /// The least number.
    pub min: Option<f64>,
    /// The greatest number.
    pub max: Option<f64>,
    /// What this compilation bound it to; none where a check had no value for it.
    pub value: Option<Value>,
}

/// The type of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamType {
    /// `string`.
    String,
    /// `integer`.
    Integer,
    /// `number`.
    Number,
    /// `boolean`.
    Boolean,
    /// `[string]`.
    Strings,
    /// `"low" | "high"`.
    Union(Vec<Text>),
}

/// A value known at compile time.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    String(Text),
    /// A whole number.
    Integer(i64),
    /// A number, with its digits.
    Number(f64, Text),
    /// `true`, `false`.
    Boolean(bool),
    /// A duration.
    Duration(Millis),
    /// A list.
    List(Vec<Value>),
    /// A map.
    Map(IndexMap<Text, Value>),
}

impl Value {
    /// The number that it is, to compare it with another.
    #[expect(clippy::cast_precision_loss, reason = "compared, not counted with")]
    const fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(*number as f64),
            Self::Number(number, _) => Some(*number),
            Self::String(_) | Self::Boolean(_) | Self::Duration(_) | Self::List(_) | Self::Map(_) => None,
        }
    }
}

/// A set of tasks with shared defaults.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name.
    pub name: Spanned<Text>,
    /// Its doc comment.
    pub doc: Option<Text>,
    /// The group around it.
    pub parent: Option<GroupId>,
}

/// A durable conversation.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its name.
    pub name: Spanned<Text>,
    /// Who has it.
    pub agent: kind::AgentSettings,
}

/// How a task came about, where it was unrolled: outermost expansion first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The expansions.
    pub trace: Vec<Frame>,
}

/// One expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The `for` or `use`.
    pub span: Span,
    /// As in ``from `for lang in langs`, `lang = "go"` ``.
    pub text: Text,
}

/// One unit of work (LANGUAGE §4).
#[derive(Clone, Debug)]
pub struct Task {
    /// Its identity everywhere.
    pub name: Spanned<Text>,
    /// Its doc comment.
    pub doc: Option<Text>,
    /// The whole block.
    pub span: Span,
    /// How it was unrolled, if it was.
    pub origin: Option<Arc<Origin>>,
    /// The group that it stands in.
    pub group: Option<GroupId>,
    /// What kind of task, with that kind's fields.
    pub kind: Kind,
    /// What must settle first; each task once, groups already spread.
    pub depends_on: Vec<Dependency>,
    /// What it needs of them. The place is that of the value, where one was written.
    pub join: Spanned<Join>,
    /// Whether its failure fails the run.
    pub required: bool,
    /// When it runs.
    pub stage: Stage,
    /// Whether it runs.
    pub when: Option<Box<Spanned<Condition>>>,
    /// What it fans out over.
    pub over: Option<Box<Spanned<Over>>>,
    /// For a list of objects: the field that names an instance.
    pub key: Option<Spanned<Text>>,
    /// Most instances.
    pub max_fanout: u32,
    /// Objects keyed by element.
    pub keyed: Vec<Spanned<(TaskId, Text)>>,
    /// Fields of a passing result.
    pub emits: Option<Box<Spanned<Emits>>>,
    /// Files that it produces.
    pub emits_files: Vec<EmittedFile>,
    /// When it is done already.
    pub done_when: Option<Box<Spanned<DoneWhen>>>,
    /// Whether its result may end the run early.
    pub may_complete: bool,
    /// Capabilities that the machine must declare.
    pub needs: Vec<Text>,
    /// Wall-clock limit of one attempt.
    pub timeout: Option<Spanned<Millis>>,
    /// Extra attempts after a transport failure.
    pub retries: u32,
    /// Whether it has a private copy of the workspace.
    pub isolation: Spanned<Isolation>,
    /// Extra environment, in the order written.
    pub env: Vec<(Text, Text)>,
    /// Variables that only the tasks naming them get.
    pub secrets: Vec<Spanned<Text>>,
    /// What runs its `run` strings.
    pub shell: Shell,
    /// Most that one attempt may cost.
    pub max_usd: Option<Spanned<Usd>>,
    /// Whether a `partial` result holds.
    pub allow_partial: bool,
    /// Epilogue only: also after a ceiling or a stop.
    pub always: Spanned<bool>,
    /// Working directory, inside the workspace.
    pub cwd: Option<Spanned<Text>>,
    /// What a crash in mid-attempt means.
    pub on_interrupt: OnInterrupt,
    /// Whom this reviewer sends back.
    pub revise: Vec<Spanned<TaskId>>,
    /// Most rounds, the first included.
    pub max_rounds: Option<Spanned<u32>>,
    /// Checks on each attempt.
    pub verify: Vec<Verify>,
    /// Whether its block has an error that was reported already. It stands for itself, so that what names
    /// it resolves; a rule judges neither it nor what is said of its fields, since anything may be missing.
    pub holes: bool,
}

/// A dependency and the place that names it (a task's own name, or its group's).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// What must settle first.
    pub task: TaskId,
    /// Where it is named.
    pub span: Span,
}

/// What a task needs of its dependencies, and receives (LANGUAGE §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Join {
    /// Every one passed; their outputs.
    #[default]
    All,
    /// Every one is terminal, at least one passed; the passing ones' outputs.
    Passed,
    /// Every one is terminal; envelopes.
    Settled,
}

/// When a task runs (LANGUAGE §6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stage {
    /// In the main graph, which decides the verdict.
    #[default]
    Main,
    /// Once the main graph has settled.
    Epilogue,
}

/// Whether a task has a private copy of the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// It works in the workspace.
    #[default]
    None,
    /// It has a private checkout.
    Worktree,
}

/// After a crash in mid-attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnInterrupt {
    /// Run it again.
    #[default]
    Rerun,
    /// Let the operator say what happened.
    Ask,
}

/// The list that a task fans out over (LANGUAGE §8).
#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// A field of a task that it depends on.
    Field(TaskId, Text),
    /// A list parameter.
    Param(ParamId),
}

/// A file that a task produces.
#[derive(Clone, Debug)]
pub struct EmittedFile {
    /// Relative to the workspace, normalised, `/` between components.
    pub path: Spanned<Text>,
    /// The schema that its content has to keep.
    pub schema: Option<types::Schema>,
}

/// When a task is done already (LANGUAGE §11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DoneWhen {
    /// Every path in `emits_files` exists.
    Files,
    /// A command exits 0.
    Command(Text),
}

/// A check on an attempt, or an acceptance gate (LANGUAGE §9).
#[derive(Clone, Debug)]
pub struct Verify {
    /// Its name.
    pub name: Spanned<Text>,
    /// Its doc comment.
    pub doc: Option<Text>,
    /// How it checks.
    pub check: Check,
    /// How long it may take.
    pub timeout: Millis,
    /// Where that is written; none where nothing is.
    pub timeout_at: Option<Span>,
    /// Whether it gates.
    pub required: bool,
    /// At the top level: from where a repair starts.
    pub repair_from: Option<Spanned<TaskId>>,
    /// What runs its `run` string.
    pub shell: Shell,
}

/// How a verifier checks.
#[derive(Clone, Debug)]
pub enum Check {
    /// A command.
    Run(Spanned<kind::Run>),
    /// A file.
    File {
        /// Relative to the workspace.
        path: Spanned<Text>,
        /// Whether it must exist (`true`) or must not.
        exists: Option<bool>,
        /// Text that it has to contain.
        contains: Option<Text>,
        /// A pattern that it has to match somewhere.
        matches: Option<Text>,
        /// A schema that it has to keep.
        schema: Option<types::Schema>,
        /// Its digest, in lower-case hex.
        sha256: Option<Text>,
    },
}

/// A command that reads one part of the canonical state (EXECUTION §13).
#[derive(Clone, Debug)]
pub struct Resolve {
    /// Its name.
    pub name: Spanned<Text>,
    /// The command.
    pub run: Spanned<kind::Run>,
    /// Fields of its result.
    pub emits: Option<Emits>,
    /// How long it may take.
    pub timeout: Option<Millis>,
    /// Extra environment.
    pub env: Vec<(Text, Text)>,
    /// What runs its `run` string.
    pub shell: Shell,
    /// Working directory.
    pub cwd: Option<Text>,
}

/// How an accepted run yields the next slice (EXECUTION §13).
#[derive(Clone, Debug)]
pub struct Continue {
    /// A command or an agent's turn.
    pub kind: Kind,
    /// How long it may take.
    pub timeout: Option<Millis>,
    /// Most slices.
    pub max_slices: u32,
    /// The whole block.
    pub span: Span,
}

impl Join {
    /// The word as written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Passed => "passed",
            Self::Settled => "settled",
        }
    }
}

impl Stage {
    /// The word as written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Epilogue => "epilogue",
        }
    }
}

impl Shell {
    /// The program and the arguments before the `run` string.
    #[must_use]
    pub const fn argv(self) -> &'static [&'static str] {
        match self {
            Self::Bash => &["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"],
            Self::Sh => &["sh", "-e", "-c"],
        }
    }
}

impl std::ops::Index<TaskId> for Plan {
    type Output = Task;

    fn index(&self, id: TaskId) -> &Task {
        &self.tasks[id.index()]
    }
}

impl Plan {
    /// Every task's id, in declaration order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = TaskId> + use<> {
        (0..self.tasks.len()).map(TaskId::from)
    }
}
