//! What happened in a run: versioned, serialised facts without any display policy (EXECUTION §11).
//!
//! The log is a sequence of these, one a line. Everything shown or resumed is a fold of them
//! ([`crate::history`]). Unaware of files and clocks: `store` writes lines, the driver reads the clock.

use std::fmt::Write as _;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::ir::{Millis, Usd};
use crate::source::Text;

/// The version of the log. A reader refuses one that it does not know.
pub const VERSION: u32 = 1;

/// A JSON value as the text that a task wrote, digit for digit.
pub type Raw = Arc<RawValue>;

/// One event, as the log holds it.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its number; the first is 1, without gaps.
    pub seq: u64,
    /// Milliseconds since 1970 in UTC, for people.
    pub at: i64,
    /// Milliseconds of unsuspended time in this sitting: all arithmetic uses these.
    pub t: Millis,
    /// What happened.
    pub body: Body,
}

impl Event {
    /// The event's fields as the log and `--format json` write them, without the braces around them:
    /// `"seq":…,"at":…,"t":…,"kind":…` and what its body has. One line.
    #[must_use]
    pub fn fields(&self) -> String {
        let mut out = String::with_capacity(256);
        self.write_fields(&mut out);
        out
    }

    /// Appends what [`Event::fields`] returns to `out`.
    pub fn write_fields(&self, out: &mut String) {
        let kind = self.body.kind();
        // Writing to a string cannot fail.
        let _ = write!(out, r#""seq":{},"at":""#, self.seq);
        write_utc(out, self.at);
        let _ = write!(out, r#"","t":{},"kind":"{kind}""#, self.t.0);
        let mut bytes = std::mem::take(out).into_bytes();
        let start = bytes.len();
        self.body.write_json(&mut bytes).expect("every field can be written");
        // Of an object only what is between its braces, with a comma in front.
        bytes.pop();
        if bytes.len() == start + 1 {
            bytes.pop();
        } else {
            bytes[start] = b',';
        }
        // A result travels as its task wrote it. Inside its strings a line break is escaped, so that a raw one is
        // a blank between tokens.
        let mut rest = &mut bytes[start..];
        while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
            rest[at] = b' ';
            rest = &mut rest[at + 1..];
        }
        *out = String::from_utf8(bytes).expect("JSON is UTF-8");
    }
}

/// Milliseconds since 1970 as the log writes them: UTC, with milliseconds.
#[must_use]
pub fn utc(at: i64) -> String {
    let mut out = String::with_capacity(24);
    write_utc(&mut out, at);
    out
}

fn write_utc(out: &mut String, at: i64) {
    match jiff::Timestamp::from_millisecond(at) {
        // Writing to a string cannot fail.
        Ok(time) => drop(write!(out, "{time:.3}")),
        // Out of the calendar's range: only a clock that is set wrong by millennia.
        Err(_) => write_utc(out, 0),
    }
}

/// Reads what [`utc`] wrote. None where it is no such time.
#[must_use]
pub fn parse_utc(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// Defines [`Body`] and the names of its kinds, so that the two cannot disagree.
macro_rules! bodies {
    ($(#[doc = $doc:literal] $kind:literal $name:ident),* $(,)?) => {
        /// What happened, by kind.
        #[derive(Clone, Debug)]
        pub enum Body {
            $(#[doc = $doc] $name($name),)*
        }

        impl Body {
            /// Every kind, as the log names it.
            pub const KINDS: &[&str] = &[$($kind),*];

            /// Every kind, as the log names it: what it says, and the schema of its fields.
            pub fn schemas(generator: &mut SchemaGenerator) -> Vec<(&'static str, &'static str, Schema)> {
                vec![$(($kind, $doc.trim_ascii(), $name::json_schema(generator)),)*]
            }

            /// The kind, as the log names it.
            #[must_use]
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $kind,)*
                }
            }

            /// Appends the fields to `out`, as a JSON object.
            ///
            /// # Errors
            /// None in practice: every field can be written.
            pub fn write_json(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
                match self {
                    $(Self::$name(body) => serde_json::to_writer(out, body),)*
                }
            }

            /// Reads the fields of an event of `kind` out of its line. `Ok(None)` for an unknown kind.
            ///
            /// # Errors
            /// If a field is missing or of another type.
            pub fn from_json(kind: &str, line: &str) -> serde_json::Result<Option<Self>> {
                Ok(Some(match kind {
                    $($kind => Self::$name(serde_json::from_str(line)?),)*
                    _ => return Ok(None),
                }))
            }
        }

        $(impl From<$name> for Body {
            fn from(body: $name) -> Self {
                Self::$name(body)
            }
        })*
    };
}

bodies! {
    /// A run exists.
    "run_started" RunStarted,
    /// Nothing refused it.
    "plan_admitted" PlanAdmitted,
    /// A fan-out has its instances.
    "instances_named" InstancesNamed,
    /// A result of another run was looked at: it is taken over, or why it is not.
    "reuse_decided" ReuseDecided,
    /// An attempt is about to start.
    "attempt_started" AttemptStarted,
    /// An attempt ended, was graded, and its files and promises were looked at.
    "attempt_ended" AttemptEnded,
    /// A verifier of an attempt or a gate of the plan has spoken.
    "verifier_ended" VerifierEnded,
    /// Another attempt follows after a wait.
    "retry_scheduled" RetryScheduled,
    /// A time that the scheduler waited for has come.
    "timer_fired" TimerFired,
    /// A task, or an instance, has its status.
    "task_settled" TaskSettled,
    /// A review or repair round begins.
    "round_started" RoundStarted,
    /// A machine goes to a node.
    "node_entered" NodeEntered,
    /// A person is asked.
    "gate_asked" GateAsked,
    /// A person, or a timeout, answered.
    "gate_answered" GateAnswered,
    /// Something to know that changes no status.
    "warning" Warning,
    /// Nothing more is dispatched; the first one decides exit and verdict.
    "halted" Halted,
    /// `plan stop`.
    "stop_requested" StopRequested,
    /// A signal, or a log that cannot be written.
    "interrupted" Interrupted,
    /// The sitting goes on.
    "alive" Alive,
    /// Another sitting of the run begins.
    "run_resumed" RunResumed,
    /// The run has its exit and verdict.
    "run_ended" RunEnded,
}

/// How a task settled (EXECUTION §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Ran, kept its promises, was accepted; or was done already.
    Pass,
    /// As `pass`, with less than asked.
    Partial,
    /// Its condition did not hold, or what it joins was not taken.
    NotTaken,
    /// Ran and measured a failure.
    Fail,
    /// Declared itself skipped, or is advisory and unrunnable here.
    Skipped,
    /// The infrastructure failed and its retries are spent.
    Transport,
    /// Never ran.
    Blocked,
    /// Nothing ran.
    Truncated,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 8] = [
        Self::Pass,
        Self::Partial,
        Self::NotTaken,
        Self::Fail,
        Self::Skipped,
        Self::Transport,
        Self::Blocked,
        Self::Truncated,
    ];

    /// Whether it holds for the verdict.
    #[must_use]
    pub const fn holds(self) -> bool {
        match self {
            Self::Pass | Self::Partial | Self::NotTaken => true,
            Self::Fail | Self::Skipped | Self::Transport | Self::Blocked | Self::Truncated => false,
        }
    }

    /// Whether a join counts it as passed.
    #[must_use]
    pub const fn passes(self) -> bool {
        match self {
            Self::Pass | Self::Partial => true,
            Self::NotTaken
            | Self::Fail
            | Self::Skipped
            | Self::Transport
            | Self::Blocked
            | Self::Truncated => false,
        }
    }

    /// Whether what settled so keeps no files, not even those of earlier attempts or rounds (EXECUTION §7).
    #[must_use]
    pub const fn is_silent(self) -> bool {
        match self {
            Self::Pass | Self::Partial | Self::Fail => false,
            Self::Skipped | Self::Transport | Self::Blocked | Self::NotTaken | Self::Truncated => true,
        }
    }

    /// The word in the log and the status document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Partial => "partial",
            Self::NotTaken => "not_taken",
            Self::Fail => "fail",
            Self::Skipped => "skipped",
            Self::Transport => "transport",
            Self::Blocked => "blocked",
            Self::Truncated => "truncated",
        }
    }
}

/// How a run ended (EXECUTION §2). `waiting` and `interrupted` are states, not exits that are logged as
/// final; `waiting` is shown as an exit all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Everything settled and holds.
    Completed,
    /// A main task declared `complete`.
    Concluded,
    /// A required main task does not hold.
    Failed,
    /// A required acceptance gate does not hold.
    Unaccepted,
    /// The money ceiling.
    CostCeiling,
    /// The time ceiling.
    TimeCeiling,
    /// The ceiling on attempts.
    StepCeiling,
    /// A required main task cannot run here.
    Truncated,
    /// `plan stop`.
    Stopped,
    /// Only a person's answer can move it.
    Waiting,
    /// A bug: nothing runs, nothing is ready, something has not settled.
    Stuck,
}

impl Exit {
    /// Every exit.
    pub const ALL: [Self; 11] = [
        Self::Completed,
        Self::Concluded,
        Self::Failed,
        Self::Unaccepted,
        Self::CostCeiling,
        Self::TimeCeiling,
        Self::StepCeiling,
        Self::Truncated,
        Self::Stopped,
        Self::Waiting,
        Self::Stuck,
    ];

    /// The word in the log and the status document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Concluded => "concluded",
            Self::Failed => "failed",
            Self::Unaccepted => "unaccepted",
            Self::CostCeiling => "cost_ceiling",
            Self::TimeCeiling => "time_ceiling",
            Self::StepCeiling => "step_ceiling",
            Self::Truncated => "truncated",
            Self::Stopped => "stopped",
            Self::Waiting => "waiting",
            Self::Stuck => "stuck",
        }
    }
}

/// Whether the run's work holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every required main task and gate holds.
    Valid,
    /// One does not.
    Invalid,
}

impl Verdict {
    /// The word in the log and the status document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid => "invalid",
        }
    }
}

/// Why a task never ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blocked {
    /// What kind of reason.
    pub reason: BlockedReason,
    /// The task that is the reason: the dependency, or the required task that failed.
    #[schemars(with = "Option<String>")]
    pub task: Option<Text>,
}

/// What kind of reason blocked a task (EXECUTION §14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockedReason {
    /// Its join cannot be met.
    Dependency,
    /// A required task failed.
    RequiredFailure,
    /// The money ceiling.
    CostCeiling,
    /// The time ceiling.
    TimeCeiling,
    /// The ceiling on attempts.
    StepCeiling,
    /// `plan stop`.
    Stopped,
    /// Its inputs or files could not be prepared.
    Staging,
    /// A required gate does not hold.
    Unaccepted,
}

impl BlockedReason {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::Dependency,
        Self::RequiredFailure,
        Self::CostCeiling,
        Self::TimeCeiling,
        Self::StepCeiling,
        Self::Stopped,
        Self::Staging,
        Self::Unaccepted,
    ];

    /// The word in the log and the status document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dependency => "dependency",
            Self::RequiredFailure => "required_failure",
            Self::CostCeiling => "cost_ceiling",
            Self::TimeCeiling => "time_ceiling",
            Self::StepCeiling => "step_ceiling",
            Self::Stopped => "stopped",
            Self::Staging => "staging",
            Self::Unaccepted => "unaccepted",
        }
    }
}

/// The ceilings in force (EXECUTION §10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ceilings {
    /// Money.
    pub usd: Option<Usd>,
    /// Time, in milliseconds.
    pub time_ms: Option<Millis>,
    /// Attempts.
    pub steps: Option<u64>,
}

/// `run_started`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    /// The run's name.
    #[schemars(with = "String")]
    pub run: Text,
    /// The plan's name.
    #[schemars(with = "String")]
    pub plan: Text,
    /// The log's version.
    pub log: u32,
    /// The program's version.
    #[schemars(with = "String")]
    pub version: Text,
}

/// `plan_admitted`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PlanAdmitted {
    /// How many tasks the plan has.
    pub tasks: u64,
    /// The capabilities that the machine declares.
    #[schemars(with = "Vec<String>")]
    pub caps: Vec<Text>,
    /// The ceilings in force: the lower of plan and operator.
    pub ceilings: Ceilings,
    /// Whether the operator asked to go on after a required failure.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub keep_going: bool,
}

/// `instances_named`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstancesNamed {
    /// The mapped task.
    #[schemars(with = "String")]
    pub task: Text,
    /// The names of its elements, in the list's order.
    #[schemars(with = "Vec<String>")]
    pub keys: Vec<Text>,
}

/// `reuse_decided`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReuseDecided {
    /// The task, `task[element]` for an instance.
    #[schemars(with = "String")]
    pub task: Text,
    /// The run whose result was looked at.
    #[schemars(with = "String")]
    pub run: Text,
    /// Whether its result is taken over.
    pub taken: bool,
    /// Why it is not: one clause.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub why: Option<Text>,
}

/// `attempt_started`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AttemptStarted {
    /// Its number, over all sittings; names its streams.
    pub attempt: u32,
    /// The task, `task[element]` for an instance.
    #[schemars(with = "String")]
    pub task: Text,
    /// Which attempt of this task in this round, from 1; interrupted ones are not counted.
    pub nth: u32,
    /// The round, from 1.
    #[serde(skip_serializing_if = "is_one", default = "one")]
    pub round: u32,
    /// The random token that marks its processes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub token: Option<Text>,
    /// Whether nothing runs, because a person has said that the attempt which was interrupted had passed: its
    /// promises are held to, and its verifiers look at it. It is no step.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub answered: bool,
}

/// How one attempt came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// It passed, promises included.
    Pass,
    /// It declared `partial`, which its task allows.
    Partial,
    /// It measured a failure.
    Fail,
    /// It declared itself skipped.
    Skipped,
    /// The infrastructure failed.
    Transport,
    /// It asked for another attempt.
    Retry,
    /// It could not be prepared.
    Blocked,
    /// We ended it for an interruption: it does not count, and the task is pending again on resume.
    Interrupted,
}

/// `attempt_ended`: result, grade, cost, declared status, captured files and promises in one event.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AttemptEnded {
    /// Its number.
    pub attempt: u32,
    /// The task.
    #[schemars(with = "String")]
    pub task: Text,
    /// How it came out.
    pub grade: Grade,
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub note: Option<Text>,
    /// The result, or the reading that a failure keeps. None where there was no object.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub output: Option<Raw>,
    /// The last line of standard output that was not empty.
    #[serde(skip_serializing_if = "Text::is_empty", default)]
    #[schemars(with = "String")]
    pub last_line: Text,
    /// What it spent.
    #[serde(skip_serializing_if = "Usd::is_zero", default)]
    pub cost_usd: Usd,
    /// Its captured files.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub files: Option<FileSet>,
    /// Of an attempt that its verifiers have yet to look at: what it keeps of its files if they reject it,
    /// where that is not all of them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub if_rejected: Option<Kept>,
    /// How long its own process ran.
    pub duration_ms: Millis,
    /// Whether it passed without running (`done_when`).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub done_already: bool,
    /// The run whose result was taken over, instead of running (`--reuse`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub reused: Option<Text>,
    /// The attempts that the plan which it called started, in this sitting.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub steps: u64,
    /// Where the run of the plan that it called is, below this run's directory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub call: Option<Text>,
    /// The files that its command names, and those of its verifiers that it left as it found them.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub reads: Vec<NamedFile>,
    /// Why we ended it, where we did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended_by: Option<EndedBy>,
}

/// A file that a command names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedFile {
    /// Relative to the workspace, absolute, or below `$PLAN_PACK`.
    #[schemars(with = "String")]
    pub path: Text,
    /// What tells its content apart; none where no such file was there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub digest: Option<Text>,
    /// Whether it was another one when the attempt had ended, whoever changed it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub changed: bool,
}

impl NamedFile {
    /// How the digest of what cannot be compared begins; why follows.
    pub const UNCOMPARED: &str = "not compared: ";
}

/// Why we ended an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// Its own timeout.
    Timeout,
    /// The run's time ceiling.
    TimeCeiling,
    /// The run's cost ceiling, which the plan that it called has reached.
    CostCeiling,
    /// The run's ceiling on attempts, which the plan that it called has reached.
    StepCeiling,
    /// `plan stop`.
    Stop,
    /// `--kill-on-failure`.
    Failure,
    /// `--log-limit`.
    LogLimit,
    /// A signal to the executor, or its log could not be written.
    Interruption,
}

impl AttemptEnded {
    /// Whether it came out so without running: found done already, or taken over from another run.
    #[must_use]
    pub const fn did_not_run(&self) -> bool {
        self.done_already || self.reused.is_some()
    }

    /// The files that a task keeps which settled so on this attempt (EXECUTION §7).
    #[must_use]
    pub fn files_of(&self, status: Status) -> Option<&FileSet> {
        match status {
            Status::Pass | Status::Partial => self.files.as_ref(),
            // A rejected attempt passed first, and keeps only what it wrote itself.
            Status::Fail => match &self.if_rejected {
                Some(kept) => kept.files.as_ref(),
                None => self.files.as_ref(),
            },
            Status::Skipped | Status::Transport | Status::Blocked | Status::NotTaken | Status::Truncated => {
                None
            }
        }
    }
}

impl VerifierEnded {
    /// The name of the streams of a verifier: of an attempt, or of the plan in a round.
    #[must_use]
    pub fn stream(attempt: Option<u32>, round: u32, verifier: &str) -> String {
        match attempt {
            Some(attempt) => format!("{attempt}.{verifier}"),
            None => format!("gates.{round}.{verifier}"),
        }
    }
}

/// What a failing attempt keeps of its files: those that it wrote itself (EXECUTION §7).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    /// Them, if there are any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub files: Option<FileSet>,
    /// Why they could not be taken, to be added to the note.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub problem: Option<Text>,
}

/// A captured file set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileSet {
    /// The digest of its manifest, which names it in `files/`.
    #[schemars(with = "String")]
    pub manifest: Text,
    /// Its paths, in the order declared.
    #[schemars(with = "Vec<String>")]
    pub paths: Vec<Text>,
    /// How many bytes in all.
    pub bytes: u64,
}

/// `verifier_ended`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct VerifierEnded {
    /// The attempt, for a check inside a task.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attempt: Option<u32>,
    /// The task, for a check inside a task.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub task: Option<Text>,
    /// The round, from 1: of the task, or of the plan's repairs.
    #[serde(skip_serializing_if = "is_one", default = "one")]
    pub round: u32,
    /// The verifier: the name of its block.
    #[schemars(with = "String")]
    pub verifier: Text,
    /// What it is: `run`, `file`, or what an embedder calls it. Empty where nobody could say.
    #[serde(skip_serializing_if = "Text::is_empty", default)]
    #[schemars(with = "String")]
    pub identity: Text,
    /// Whether it gates; otherwise its verdict is only recorded.
    #[serde(skip_serializing_if = "is_true", default = "yes")]
    pub required: bool,
    /// Whether it accepted.
    pub pass: bool,
    /// How it failed (EXECUTION §9).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mode: Option<VerifierMode>,
    /// What it said.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub detail: Option<Text>,
    /// What ended it, if it was not let finish.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended_by: Option<EndedBy>,
    /// The fingerprint of the gates.
    #[schemars(with = "String")]
    pub gates: Text,
}

impl VerifierEnded {
    /// Whether it withholds what it was asked about.
    #[must_use]
    pub const fn rejects(&self) -> bool {
        self.required && !self.pass
    }
}

/// How a verifier failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerifierMode {
    /// It ran and said no.
    Rejected,
    /// It failed itself.
    Error,
    /// Ended by a signal.
    Crashed,
    /// Out of time.
    Timeout,
    /// No such program, file or verifier.
    Missing,
}

impl VerifierMode {
    /// The word in the log and the status document.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Error => "error",
            Self::Crashed => "crashed",
            Self::Timeout => "timeout",
            Self::Missing => "missing",
        }
    }
}

/// `retry_scheduled`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RetryScheduled {
    /// The task.
    #[schemars(with = "String")]
    pub task: Text,
    /// The attempt that has to be made up for.
    pub attempt: u32,
    /// How long to wait.
    pub after_ms: Millis,
}

/// `timer_fired`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TimerFired {
    /// Which time came.
    pub timer: Timer,
    /// The task that waited, for a retry or a gate.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub task: Option<Text>,
}

/// What the scheduler waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Timer {
    /// The wait before another attempt.
    Retry,
    /// The time ceiling, less the reserve while the main graph runs.
    Ceiling,
    /// The reserve is spent as well.
    Reserve,
    /// A gate's timeout.
    Gate,
}

/// `task_settled`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TaskSettled {
    /// The task, `task[element]` for an instance.
    #[schemars(with = "String")]
    pub task: Text,
    /// Its status.
    pub status: Status,
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub note: Option<Text>,
    /// Why it never ran.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub blocked: Option<Blocked>,
    /// The result of a task that the engine itself answers (`route` with a source, `top_k`, a gate).
    /// What an attempt wrote is in its own event; a fold is derived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub output: Option<Raw>,
}

/// `round_started`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RoundStarted {
    /// The reviewer, or none for a repair of the plan.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub reviewer: Option<Text>,
    /// The round, from 2.
    pub round: u32,
    /// The tasks that run again.
    #[schemars(with = "Vec<String>")]
    pub tasks: Vec<Text>,
    /// The gates that sent them back, for a repair of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schemars(with = "Vec<String>")]
    pub gates: Vec<Text>,
}

/// `node_entered`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeEntered {
    /// The machine.
    #[schemars(with = "String")]
    pub task: Text,
    /// The node, or `exit`.
    #[schemars(with = "String")]
    pub node: Text,
    /// Which visit of the node, from 1.
    pub visit: u32,
}

/// `gate_asked`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GateAsked {
    /// The gate, or a task whose interrupted attempt has to be answered for.
    #[schemars(with = "String")]
    pub task: Text,
    /// The question.
    #[schemars(with = "String")]
    pub ask: Text,
    /// The answers.
    #[schemars(with = "Vec<String>")]
    pub options: Vec<Text>,
}

/// `gate_answered`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GateAnswered {
    /// What was asked.
    #[schemars(with = "String")]
    pub task: Text,
    /// Which question: the number of the event that asked it.
    pub question: u64,
    /// The answer.
    #[schemars(with = "String")]
    pub answer: Text,
    /// Who answered.
    #[schemars(with = "String")]
    pub by: Text,
    /// A result given with the answer (`plan answer RUN TASK pass --result JSON`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub result: Option<Raw>,
}

impl GateAnswered {
    /// Who answers where nobody has in time.
    pub const TIMEOUT: &str = "timeout";
}

/// `warning`: something to know that changes no status.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// The task, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub task: Option<Text>,
    /// One line for people.
    #[schemars(with = "String")]
    pub message: Text,
}

/// `halted`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Halted {
    /// The exit that this leads to.
    pub exit: Exit,
    /// The task that caused it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub task: Option<Text>,
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub note: Option<Text>,
}

/// `stop_requested`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StopRequested {
    /// Who asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub by: Option<Text>,
}

/// `interrupted`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Interrupted {
    /// `INT`, `TERM`, `HUP`, or what could not be written.
    #[schemars(with = "String")]
    pub by: Text,
}

/// `alive`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Alive {}

/// `run_resumed`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunResumed {
    /// Whether an ended run is open again.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub reopened: bool,
    /// The task of `--from`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[schemars(with = "Option<String>")]
    pub from: Option<Text>,
    /// The tasks that had settled and are pending again; an instance, or a whole task with its instances.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schemars(with = "Vec<String>")]
    pub again: Vec<Text>,
    /// Those of them that were in a later round, and begin with the first one again. The others go on in their
    /// round.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schemars(with = "Vec<String>")]
    pub anew: Vec<Text>,
    /// The tasks that had settled, and whose last attempt stands: only verifiers that were cut off are asked
    /// again.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schemars(with = "Vec<String>")]
    pub unheard: Vec<Text>,
    /// The acceptance gates whose verdicts stand, since nothing that they looked at runs again.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schemars(with = "Vec<String>")]
    pub heard: Vec<Text>,
    /// The capabilities that the machine declares now.
    #[schemars(with = "Vec<String>")]
    pub caps: Vec<Text>,
    /// The ceilings in force from here.
    pub ceilings: Ceilings,
    /// Whether the operator asked to go on after a required failure.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub keep_going: bool,
}

/// `run_ended`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunEnded {
    /// How. `waiting` ends a sitting, not the run.
    pub exit: Exit,
    /// Whether the work holds; none yet while it waits.
    pub verdict: Option<Verdict>,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_true(flag: &bool) -> bool {
    *flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_one(n: &u32) -> bool {
    *n == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line() {
        let written = "{\"attempt\":1,\"task\":\"a\",\"grade\":\"pass\",\"output\":{\n  \"a\": \"b\\nc\"\r\n},\
                       \"duration_ms\":5}";
        let body = Body::from_json("attempt_ended", written).unwrap().unwrap();
        let event = Event { seq: 2, at: 1_793_000_000_007, t: Millis(3), body };
        let line = format!("{{{}}}", event.fields());
        assert!(!line.contains(['\n', '\r']), "{line}");
        let back = Body::from_json("attempt_ended", &line).unwrap().unwrap();
        let json = |body: &Body| {
            let mut out = Vec::new();
            body.write_json(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(json(&back), json(&event.body).replace(['\n', '\r'], " "));
        let alive = Event { seq: 1, at: 0, t: Millis(0), body: Alive {}.into() };
        assert_eq!(alive.fields(), r#""seq":1,"at":"1970-01-01T00:00:00.000Z","t":0,"kind":"alive""#);
        assert_eq!(parse_utc(&utc(1_793_000_000_007)), Some(1_793_000_000_007));
    }
}
