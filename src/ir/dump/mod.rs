//! The compiled plan as a stable document: `plan.json`, `plan show --format json`, the plan's digest.
//!
//! A serialised type is a promise: this directory and `event.rs` make them, `ir` itself makes none. It says
//! all that a plan means. Places in the source are left out, and doc comments stand apart, so that moving a
//! block or a comment changes no digest.

mod gates;
mod task;

use std::io;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{Check, Continue, Kind, Millis, OnFailure, Plan, Resolve, Usd, Verify, WorkspaceKind, spell};
use crate::source::Text;

pub use gates::{gates, gates_fingerprint};
pub use task::{
    Argument, EdgeDocument, Instructions, MachineDocument, NodeDocument, Part, QuestionDocument, RunDocument,
    Spec, TaskDocument, json,
};

/// The version of this document.
pub const SCHEMA: u32 = 1;

/// A plan, written down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The plan's name.
    pub name: Text,
    /// The header.
    #[serde(default)]
    pub header: HeaderDocument,
    /// Launch parameters, in declaration order, with what they are bound to.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub params: Vec<ParamDocument>,
    /// Groups, outer before inner.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub groups: Vec<GroupDocument>,
    /// Sessions.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sessions: Vec<SessionDocument>,
    /// Tasks, in declaration order.
    pub tasks: Vec<TaskDocument>,
    /// Acceptance gates of the whole plan.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub gates: Vec<VerifyDocument>,
    /// Readers of canonical state.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub resolves: Vec<ResolveDocument>,
    /// How an accepted run goes on.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none", default)]
    pub continuation: Option<Box<ContinueDocument>>,
    /// Names of the tasks in declaration-stable topological order.
    pub order: Vec<Text>,
    /// Doc comments: the plan's under its keyword, a task's or group's under its name.
    #[serde(skip_serializing_if = "IndexMap::is_empty", default)]
    pub docs: IndexMap<Text, Text>,
    /// How tasks were unrolled, by their names: outermost expansion first.
    #[serde(skip_serializing_if = "IndexMap::is_empty", default)]
    pub origins: IndexMap<Text, Vec<Text>>,
}

/// The header, written down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeaderDocument {
    /// What the plan is for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub goal: Option<Text>,
    /// The ceiling on money.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub usd: Option<Usd>,
    /// The ceiling on time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_ms: Option<Millis>,
    /// The ceiling on attempts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steps: Option<u64>,
    /// The task whose output is the run's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub result: Option<Text>,
    /// `direct` or `git`.
    pub workspace: Text,
    /// Globs of files that no task may change.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub frozen: Vec<Text>,
    /// `bash` or `sh`.
    pub shell: Text,
    /// `halt` or `continue`.
    pub on_failure: Text,
    /// Money kept back for `always` tasks.
    #[serde(skip_serializing_if = "Usd::is_zero", default)]
    pub reserve_usd: Usd,
    /// Time kept back for them.
    #[serde(default)]
    pub reserve_time_ms: Millis,
    /// How often the plan may go back for its gates.
    #[serde(default)]
    pub max_repairs: u32,
}

/// A launch parameter, written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParamDocument {
    /// Its name.
    pub name: Text,
    /// Its type, as the language writes it.
    #[serde(rename = "type")]
    pub ty: Text,
    /// What it is bound to; absent where a check had no value for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<serde_json::Value>,
}

/// A group, written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupDocument {
    /// Its name.
    pub name: Text,
    /// The group around it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group: Option<Text>,
}

/// A session, written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionDocument {
    /// Its name.
    pub name: Text,
    /// The harness.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub harness: Option<Text>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<Text>,
    /// The effort.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub effort: Option<Text>,
}

/// A verifier, written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VerifyDocument {
    /// Its name.
    pub name: Text,
    /// The command.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<RunDocument>,
    /// What runs a command that is a string.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shell: Option<Text>,
    /// The file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<Text>,
    /// Whether the file must exist.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exists: Option<bool>,
    /// Text that it has to contain.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contains: Option<Text>,
    /// A pattern that it has to match.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub matches: Option<Text>,
    /// The digest of the schema that it has to keep.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub schema: Option<Text>,
    /// Its digest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sha256: Option<Text>,
    /// How long it may take.
    pub timeout_ms: Millis,
    /// Whether it gates.
    pub required: bool,
    /// From where a repair starts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repair_from: Option<Text>,
}

/// A reader of canonical state, written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResolveDocument {
    /// Its name.
    pub name: Text,
    /// The command.
    pub run: RunDocument,
    /// What runs a command that is a string.
    pub shell: Text,
    /// What its result must carry, as the language writes it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub emits: Option<Text>,
    /// How long it may take.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timeout_ms: Option<Millis>,
    /// Extra environment.
    #[serde(skip_serializing_if = "IndexMap::is_empty", default)]
    pub env: IndexMap<Text, Text>,
    /// Working directory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cwd: Option<Text>,
}

/// How an accepted run goes on, written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContinueDocument {
    /// The command.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<RunDocument>,
    /// The agent's instructions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<Instructions>,
    /// How long it may take.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub timeout_ms: Option<Millis>,
    /// Most slices.
    pub max_slices: u32,
}

/// Writes `plan` down.
#[must_use]
pub fn document(plan: &Plan) -> Document {
    let graph = super::Graph::new(plan);
    let mut docs: IndexMap<Text, Text> = IndexMap::new();
    docs.extend(plan.doc.iter().map(|doc| (Text::const_new("plan"), doc.clone())));
    let groups = plan.groups.iter().filter_map(|group| Some((group.name.value.clone(), group.doc.clone()?)));
    docs.extend(groups);
    let tasks = plan.tasks.iter().filter_map(|task| Some((task.name.value.clone(), task.doc.clone()?)));
    docs.extend(tasks);
    Document {
        schema: SCHEMA,
        name: plan.name.clone(),
        header: header(plan),
        params: params(plan),
        groups: plan
            .groups
            .iter()
            .map(|group| GroupDocument {
                name: group.name.value.clone(),
                group: group.parent.map(|parent| plan.groups[parent.index()].name.value.clone()),
            })
            .collect(),
        sessions: plan
            .sessions
            .iter()
            .map(|session| SessionDocument {
                name: session.name.value.clone(),
                harness: session.agent.harness.as_ref().map(|harness| harness.value.clone()),
                model: session.agent.model.clone(),
                effort: session.agent.effort.clone(),
            })
            .collect(),
        tasks: plan.tasks.iter().map(|task| task::document(plan, task)).collect(),
        gates: plan.gates.iter().map(|gate| verify(plan, gate)).collect(),
        resolves: plan.resolves.iter().map(resolve).collect(),
        continuation: plan.continuation.as_ref().map(|of| Box::new(continuation(plan, of))),
        order: graph.order().iter().map(|&id| plan[id].name.value.clone()).collect(),
        docs,
        origins: plan.tasks.iter().filter_map(origin).collect(),
    }
}

fn origin(task: &super::Task) -> Option<(Text, Vec<Text>)> {
    let origin = task.origin.as_ref()?;
    Some((task.name.value.clone(), origin.trace.iter().map(|frame| frame.text.clone()).collect()))
}

/// The digest of all that a plan means, as hex. Doc comments have no part in it.
#[must_use]
pub fn plan_digest(document: &Document) -> Text {
    let Document {
        schema,
        name,
        header,
        params,
        groups,
        sessions,
        tasks,
        gates,
        resolves,
        continuation,
        order: _,
        docs: _,
        origins: _,
    } = document;
    // The order follows from the tasks; the rest is for people.
    digest_of(&((schema, name, header, params), (groups, sessions, tasks), (gates, resolves, continuation)))
}

/// The digest of a text, as hex.
#[must_use]
pub fn digest(text: &str) -> Text {
    blake3::hash(text.as_bytes()).to_hex().as_str().into()
}

fn digest_of(value: &impl Serialize) -> Text {
    let mut hasher = io::BufWriter::new(blake3::Hasher::new());
    serde_json::to_writer(&mut hasher, value).expect("a hasher takes everything");
    let hasher = hasher.into_inner().map_err(|_| ()).expect("a hasher takes everything");
    hasher.finalize().to_hex().as_str().into()
}

fn header(plan: &Plan) -> HeaderDocument {
    let header = &plan.header;
    HeaderDocument {
        goal: header.goal.clone(),
        usd: header.budget.usd.map(|usd| usd.value),
        time_ms: header.budget.time.map(|time| time.value),
        steps: header.budget.steps.map(|steps| steps.value),
        result: header.result.map(|task| plan[task.value].name.value.clone()),
        workspace: Text::const_new(match header.workspace {
            WorkspaceKind::Direct => "direct",
            WorkspaceKind::Git => "git",
        }),
        frozen: header.frozen.iter().map(|glob| glob.value.clone()).collect(),
        shell: Text::const_new(task::shell(header.shell)),
        on_failure: Text::const_new(match header.on_failure {
            OnFailure::Halt => "halt",
            OnFailure::Continue => "continue",
        }),
        reserve_usd: header.reserve.usd,
        reserve_time_ms: header.reserve.time,
        max_repairs: header.max_repairs,
    }
}

fn params(plan: &Plan) -> Vec<ParamDocument> {
    let param = |param: &super::Param| ParamDocument {
        name: param.name.value.clone(),
        ty: spell::param_type(&param.ty).into(),
        value: param.value.as_ref().map(json),
    };
    plan.params.iter().map(param).collect()
}

fn verify(plan: &Plan, verify: &Verify) -> VerifyDocument {
    let mut written = VerifyDocument {
        name: verify.name.value.clone(),
        run: None,
        shell: None,
        file: None,
        exists: None,
        contains: None,
        matches: None,
        schema: None,
        sha256: None,
        timeout_ms: verify.timeout,
        required: verify.required,
        repair_from: verify.repair_from.map(|task| plan[task.value].name.value.clone()),
    };
    match &verify.check {
        Check::Run(run) => {
            written.run = Some(RunDocument::of(&run.value));
            written.shell = Some(Text::const_new(task::shell(verify.shell)));
        }
        Check::File { path, exists, contains, matches, schema, sha256 } => {
            written.file = Some(path.value.clone());
            written.exists = *exists;
            written.contains.clone_from(contains);
            written.matches.clone_from(matches);
            written.schema = schema.as_ref().map(|schema| digest(&schema.text));
            written.sha256.clone_from(sha256);
        }
    }
    written
}

fn resolve(resolve: &Resolve) -> ResolveDocument {
    ResolveDocument {
        name: resolve.name.value.clone(),
        run: RunDocument::of(&resolve.run.value),
        shell: Text::const_new(task::shell(resolve.shell)),
        emits: resolve.emits.as_ref().map(|emits| spell::emits(emits).into()),
        timeout_ms: resolve.timeout,
        env: resolve.env.iter().cloned().collect(),
        cwd: resolve.cwd.clone(),
    }
}

fn continuation(plan: &Plan, of: &Continue) -> ContinueDocument {
    let (run, agent) = match &of.kind {
        Kind::Command(run) => (Some(RunDocument::of(&run.value)), None),
        Kind::Agent(agent) => (None, Some(Instructions::of(plan, agent))),
        Kind::Evaluate(_)
        | Kind::Route(_)
        | Kind::Gate(_)
        | Kind::TopK(_)
        | Kind::Report(_)
        | Kind::Call(_)
        | Kind::Machine(_) => (None, None),
    };
    ContinueDocument { run, agent, timeout_ms: of.timeout, max_slices: of.max_slices }
}
