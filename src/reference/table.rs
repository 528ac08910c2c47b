//! THE table: a row for every block, field, nested key and reserved name of the language.
//!
//! Checking, suggestions, hover, completion and `docs/reference.md` read it; a fact stands here once.

use super::{Block, Default, Field, Keyword, Kind, Naming};
use Keyword as K;

use Default::{Boolean, Duration, Integer, Note, Word};

const ANY: i64 = i64::MAX;
const SHELLS: &[&str] = &["bash", "sh"];
const DIRECTIONS: &[&str] = &["lower", "higher"];
const FINITE: Kind = Kind::Number { min: f64::NEG_INFINITY, max: f64::INFINITY };

const fn at_least(min: i64) -> Kind {
    Kind::Integer { min, max: ANY }
}

const fn field(name: &'static str, kind: Kind, doc: &'static str) -> Field {
    Field::new(name, kind, doc)
}

// ---- the header -------------------------------------------------------------------------------------

/// `plan { goal }`.
pub static GOAL: Field =
    field("goal", Kind::Text, "What the plan is for. Every agent turn gets it, and reports show it.");
/// `plan { budget }`.
pub static BUDGET: Field = field(
    "budget",
    Kind::Map(&[&USD, &TIME, &STEPS]),
    "Ceilings of a run. An operator can only lower them. A plan with an agent needs both `usd` and `time`, from here or from the operator.",
);
/// `budget { usd }`.
pub static USD: Field = field("usd", Kind::Money, "The most that a run may spend, in US dollars.");
/// `budget { time }`.
pub static TIME: Field = field("time", Kind::Duration, "The longest that a run may take.");
/// `budget { steps }`.
pub static STEPS: Field =
    field("steps", at_least(1), "The most attempts that a run may start, rounds and instances included.");
/// `plan { result }`.
pub static RESULT: Field =
    field("result", Kind::Task, "The task of the main graph whose output is the run's result.");
/// `plan { workspace }`.
pub static WORKSPACE: Field = field(
    "workspace",
    Kind::Words(&["direct", "git"]),
    "Where tasks run: in the plan's directory, or in a repository that the engine keeps.",
)
.default(Word("direct"));
/// `plan { frozen }`.
pub static FROZEN: Field = field(
    "frozen",
    Kind::Globs,
    "Files of the pack that no task may change. They are restored before every attempt and every verifier.",
)
.default(Note("`[]`"));
/// `plan { shell }`.
pub static HEADER_SHELL: Field =
    field("shell", Kind::Words(SHELLS), "What runs `run` strings.").default(Word("bash"));
/// `plan { on_failure }`.
pub static ON_FAILURE: Field = field(
    "on_failure",
    Kind::Words(&["halt", "continue"]),
    "After a required failure: dispatch nothing more, or go as far as possible and fail at the end.",
)
.default(Word("halt"));
/// `plan { reserve }`.
pub static RESERVE: Field = field(
    "reserve",
    Kind::Map(&[&RESERVE_USD, &RESERVE_TIME]),
    "Kept back from the ceilings for `always` tasks, where there are any.",
)
.default(Note("`{ time = 30s }`"));
/// `reserve { usd }`.
pub static RESERVE_USD: Field = field("usd", Kind::Money, "Money kept back.");
/// `reserve { time }`.
pub static RESERVE_TIME: Field = field("time", Kind::Duration, "Time kept back.").default(Duration(30_000));
/// `plan { max_repairs }`.
pub static MAX_REPAIRS: Field = field(
    "max_repairs",
    Kind::Integer { min: 0, max: 100 },
    "How often the plan may go back for its acceptance gates.",
)
.default(Integer(3));
/// `plan { defaults }`.
pub static DEFAULTS: Field =
    field("defaults", Kind::Defaults, "Fields that every task takes where nothing nearer says otherwise.");

// ---- parameters -------------------------------------------------------------------------------------

/// `param { doc }`.
pub static PARAM_DOC: Field = field("doc", Kind::Text, "What the parameter is for.");
/// `param { pattern }`.
pub static PATTERN: Field =
    field("pattern", Kind::Pattern, "A regular expression that a string has to match.");
/// `param { min }`.
pub static MIN: Field = field("min", FINITE, "The least value of a number.");
/// `param { max }`.
pub static MAX: Field = field("max", FINITE, "The greatest value of a number.");

// ---- every task -------------------------------------------------------------------------------------

/// `depends_on`.
pub static DEPENDS_ON: Field =
    field("depends_on", Kind::Tasks, "What must settle first. A group stands for all of its tasks.")
        .default(Note("`[]`"))
        .graph_only();
/// `join`.
pub static JOIN: Field = field(
    "join",
    Kind::Words(&["all", "passed", "settled"]),
    "What the task needs of its dependencies, and what it receives.",
)
.default(Word("all"))
.inherited()
.graph_only();
/// `required`.
pub static REQUIRED: Field = field(
    "required",
    Kind::Boolean,
    "`false` makes the task advisory: its failure blocks what depends on it, and nothing else.",
)
.default(Boolean(true))
.inherited()
.graph_only();
/// `stage`.
pub static STAGE: Field = field(
    "stage",
    Kind::Words(&["main", "epilogue"]),
    "Epilogue tasks run once the main graph has settled, whatever happened.",
)
.default(Word("main"))
.inherited()
.graph_only();
/// `when`.
pub static WHEN: Field =
    field("when", Kind::Condition, "Runs only if this holds; else it settles `not_taken`.").graph_only();
/// `over`.
pub static OVER: Field =
    field("over", Kind::Over, "Fans out: one instance for every element of the list.").graph_only();
/// `key`.
pub static KEY: Field =
    field("key", Kind::Text, "For a list of objects: the field that names an instance.").graph_only();
/// `max_fanout`.
pub static MAX_FANOUT: Field = field(
    "max_fanout",
    Kind::Integer { min: 1, max: 10_000 },
    "The most instances. A longer list fails the task.",
)
.default(Integer(256))
.inherited()
.graph_only();
/// `keyed`.
pub static KEYED: Field =
    field("keyed", Kind::TaskFields, "Objects keyed by element, of which an instance sees its own entry.")
        .default(Note("`[]`"))
        .inherited()
        .graph_only();
/// `emits`.
pub static EMITS: Field = field(
    "emits",
    Kind::Emits,
    "What a passing result must carry: a record promises types, a list only that the fields are there.",
);
/// `emits_files`.
pub static EMITS_FILES: Field =
    field("emits_files", Kind::Files, "Files that the task produces, below the workspace.")
        .default(Note("`[]`"));
/// `done_when`.
pub static DONE_WHEN: Field = field(
    "done_when",
    Kind::DoneWhen,
    "Passes the task without running it: when all of its files exist, or when this command exits 0.",
);
/// `may_complete`.
pub static MAY_COMPLETE: Field = field(
    "may_complete",
    Kind::Boolean,
    "Its result may end the run early, and well, with `complete: true`.",
)
.default(Boolean(false))
.inherited()
.graph_only();
/// `needs`.
pub static NEEDS: Field =
    field("needs", Kind::TextOrTexts, "Capabilities that the machine must declare, as in `--cap gpu`.")
        .inherited();
/// `timeout`.
pub static TIMEOUT: Field =
    field("timeout", Kind::Duration, "The wall-clock limit of one attempt.").inherited();
/// `retries`.
pub static RETRIES: Field = field(
    "retries",
    Kind::Integer { min: 0, max: 10 },
    "Extra attempts after a transport failure. A measured failure is never retried.",
)
.default(Integer(2))
.inherited();
/// `isolation`.
pub static ISOLATION: Field = field(
    "isolation",
    Kind::Words(&["none", "worktree"]),
    "Whether it has a private copy of a `\"git\"` workspace. Its changes are dropped; declared output stays.",
)
.default(Word("none"))
.inherited();
/// `env`.
pub static ENV: Field =
    field("env", Kind::Environment, "Variables on top of the environment.").default(Note("`{}`")).inherited();
/// `secrets`.
pub static SECRETS: Field = field(
    "secrets",
    Kind::Texts,
    "Variables of the operator's environment that only the tasks naming them get, masked in what is kept.",
)
.default(Note("`[]`"))
.inherited();
/// `shell`.
pub static SHELL: Field = field("shell", Kind::Words(SHELLS), "What runs its `run` string.")
    .default(Note("the header's"))
    .inherited();
/// `max_usd`.
pub static MAX_USD: Field =
    field("max_usd", Kind::Money, "The most that one attempt may cost; reserved while it runs.").inherited();
/// `allow_partial`.
pub static ALLOW_PARTIAL: Field =
    field("allow_partial", Kind::Boolean, "A result that says `partial` holds.")
        .default(Boolean(false))
        .inherited();
/// `always`.
pub static ALWAYS: Field = field(
    "always",
    Kind::Boolean,
    "Epilogue only: runs also after a ceiling or a stop, on what the header's `reserve` kept back.",
)
.default(Boolean(false))
.inherited()
.graph_only();
/// `cwd`.
pub static CWD: Field =
    field("cwd", Kind::Path, "The working directory, below the workspace.").default(Note("`.`")).inherited();
/// `on_interrupt`.
pub static ON_INTERRUPT: Field = field(
    "on_interrupt",
    Kind::Words(&["rerun", "ask"]),
    "After a crash in mid-attempt: run it again, or let the operator say what happened.",
)
.default(Word("rerun"))
.inherited();
/// `revise`.
pub static REVISE: Field = field(
    "revise",
    Kind::TaskOrTasks,
    "Makes the task a reviewer: what runs again when it fails and rounds remain.",
)
.graph_only();
/// `max_rounds`.
pub static MAX_ROUNDS: Field = field(
    "max_rounds",
    Kind::Integer { min: 2, max: 5 },
    "With `revise`: the most rounds, the first included. It has to be given.",
)
.inherited()
.graph_only();

/// The fields of every task.
pub static COMMON: &[&Field] = &[
    &DEPENDS_ON,
    &JOIN,
    &REQUIRED,
    &STAGE,
    &WHEN,
    &OVER,
    &KEY,
    &MAX_FANOUT,
    &KEYED,
    &EMITS,
    &EMITS_FILES,
    &DONE_WHEN,
    &MAY_COMPLETE,
    &NEEDS,
    &TIMEOUT,
    &RETRIES,
    &ISOLATION,
    &ENV,
    &SECRETS,
    &SHELL,
    &MAX_USD,
    &ALLOW_PARTIAL,
    &ALWAYS,
    &CWD,
    &ON_INTERRUPT,
    &REVISE,
    &MAX_ROUNDS,
];

/// The fields that a group and the header's `defaults` may give.
pub static INHERITED: &[&Field] = &[
    &JOIN,
    &REQUIRED,
    &STAGE,
    &MAX_FANOUT,
    &KEYED,
    &MAY_COMPLETE,
    &NEEDS,
    &TIMEOUT,
    &RETRIES,
    &ISOLATION,
    &ENV,
    &SECRETS,
    &SHELL,
    &MAX_USD,
    &ALLOW_PARTIAL,
    &ALWAYS,
    &CWD,
    &ON_INTERRUPT,
    &MAX_ROUNDS,
    &HARNESS,
    &MODEL,
    &EFFORT,
];

// ---- one kind of task -------------------------------------------------------------------------------

/// `run` of a command or an evaluate.
pub static RUN: Field = field(
    "run",
    Kind::Command,
    "The command: a string through the shell, or a list of strings as one program with its arguments.",
)
.required();
/// `threshold`.
pub static THRESHOLD: Field =
    field("threshold", FINITE, "With `direction`: the bound that the result's `score` is held against.");
/// `direction` of an evaluate.
pub static DIRECTION: Field = field(
    "direction",
    Kind::Words(DIRECTIONS),
    "With `threshold`: `\"lower\"` passes at or below it, `\"higher\"` at or above it.",
);
/// `prompt`.
pub static PROMPT: Field = field(
    "prompt",
    Kind::Prompt,
    "The instructions of the turn, built with `file()`, `skill()`, f-strings and `+`.",
)
.required();
/// `args`.
pub static ARGS: Field =
    field("args", Kind::Texts, "Extra arguments of the harness.").default(Note("`[]`")).external();
/// `harness`.
pub static HARNESS: Field = field("harness", Kind::Text, "Which harness does the turn.").inherited();
/// `model`.
pub static MODEL: Field = field("model", Kind::Text, "Which model does the turn.").inherited();
/// `effort`.
pub static EFFORT: Field = field("effort", Kind::Text, "How much effort the model is asked for.").inherited();
/// `profile`.
pub static PROFILE: Field = field("profile", Kind::Profile, "Named defaults for harness, model and effort.");
/// `session`.
pub static SESSION: Field = field(
    "session",
    Kind::Session,
    "The conversation that the turn goes on with. Tasks that share one must be ordered, and not isolated.",
);
/// `repair`.
pub static REPAIR: Field = field(
    "repair",
    Kind::Integer { min: 0, max: 3 },
    "Further turns in the same conversation to mend output that breaks its own promises.",
)
.default(Integer(0));
/// `source`.
pub static SOURCE: Field =
    field("source", Kind::Task, "The dependency whose output carries one label under each question's name.");
/// `min_confidence`.
pub static MIN_CONFIDENCE: Field = field(
    "min_confidence",
    Kind::Number { min: 0.0, max: 1.0 },
    "With `run`: below this confidence the answer is `\"uncertain\"`.",
);
/// `run` of a route.
pub static ROUTE_RUN: Field =
    field("run", Kind::Command, "A command that prints `{question: {label, confidence}}`.");
/// `ask` of a gate.
pub static ASK: Field = field("ask", Kind::Text, "The question to a person.").required().external();
/// `options`.
pub static OPTIONS: Field =
    field("options", Kind::Texts, "The answers to choose from.").default(Note("`[\"yes\", \"no\"]`"));
/// `default`.
pub static ANSWER: Field =
    field("default", Kind::Text, "The answer once `timeout` has passed. Without one the gate waits.");
/// `k`.
pub static KEEP: Field = field("k", at_least(1), "How many to keep.").required();
/// `direction` of a `top_k`.
pub static RANKING: Field =
    field("direction", Kind::Words(DIRECTIONS), "Which scores are better.").required();
/// `template`.
pub static TEMPLATE: Field = field("template", Kind::PackFile, "A Jinja template of the pack.").required();
/// `to`.
pub static TO: Field = field(
    "to",
    Kind::ReportPath,
    "Where the report goes: a path below the run's directory, or `\"stdout\"`.",
)
.required();
/// `result` of a report.
pub static REPORT_RESULT: Field = field("result", Kind::Task, "The task whose output the report is about.");
/// `plan` of a call.
pub static CALLED: Field = field("plan", Kind::PackFile, "The plan of the pack to run.").required();
/// `params` of a call.
pub static CALL_PARAMS: Field =
    field("params", Kind::Parameters, "What the called plan is launched with.").default(Note("`{}`"));
/// `max_steps`.
pub static MAX_STEPS: Field =
    field("max_steps", at_least(1), "Node executions in all.").default(Integer(200));
/// `max_visits`.
pub static MAX_VISITS: Field =
    field("max_visits", at_least(1), "Executions of one node.").default(Note("`max_steps`"));
/// `retry_target`.
pub static RETRY_TARGET: Field =
    field("retry_target", Kind::Node, "Where an unsatisfied goal gate sends the machine back to.");
/// `fallback_retry_target`.
pub static FALLBACK_RETRY_TARGET: Field =
    field("fallback_retry_target", Kind::Node, "Where it goes back to if `retry_target` is not set.");
/// `goal_gate`.
pub static GOAL_GATE: Field =
    field("goal_gate", Kind::Boolean, "The exit audits this node's latest result.").default(Boolean(false));
/// `strict`.
pub static STRICT: Field =
    field("strict", Kind::Boolean, "A `partial` result does not hold its goal gate.").default(Boolean(false));
/// `max_retries`.
pub static MAX_RETRIES: Field =
    field("max_retries", at_least(0), "Further attempts after a result that says `retry`.")
        .default(Integer(0));

/// What a node of a machine has besides its kind's fields.
pub static NODE: &[&Field] = &[&GOAL_GATE, &STRICT, &RETRY_TARGET, &FALLBACK_RETRY_TARGET, &MAX_RETRIES];

// ---- other blocks -----------------------------------------------------------------------------------

/// `extends`.
pub static EXTENDS: Field =
    field("extends", Kind::Profile, "The profile that gives what is not written here.");
/// `question { ask }`.
pub static QUESTION_ASK: Field = field("ask", Kind::Text, "What is asked.").external();
/// `question { labels }`.
pub static LABELS: Field = field("labels", Kind::Texts, "The answers. Without them it is a yes/no question.")
    .default(Note("`[\"yes\", \"no\"]`"));
/// `question { drop }`.
pub static DROP: Field = field("drop", Kind::Texts, "Labels that need no branch.").default(Note("`[]`"));
/// `verify { run }`.
pub static VERIFY_RUN: Field = field(
    "run",
    Kind::Command,
    "A command that accepts by exiting 0 and, if it prints a JSON object, with `pass` true in it.",
);
/// `verify { file }`.
pub static VERIFY_FILE: Field = field("file", Kind::Path, "A file to look at, below the workspace.");
/// `verify { exists }`.
pub static EXISTS: Field = field("exists", Kind::Boolean, "Whether the file has to be there.");
/// `verify { contains }`.
pub static CONTAINS: Field = field("contains", Kind::Text, "Text that the file has to contain.");
/// `verify { matches }`.
pub static MATCHES: Field =
    field("matches", Kind::Pattern, "A regular expression that has to match somewhere in the file.");
/// `verify { schema }`.
pub static SCHEMA: Field = field("schema", Kind::Schema, "A JSON Schema that the file has to keep.");
/// `verify { sha256 }`.
pub static SHA256: Field = field("sha256", Kind::Text, "The file's digest, in hexadecimal.");
/// `verify { timeout }`.
pub static VERIFY_TIMEOUT: Field =
    field("timeout", Kind::Duration, "How long it may take; too long is a failing verdict.")
        .default(Duration(300_000));
/// `verify { required }`.
pub static VERIFY_REQUIRED: Field =
    field("required", Kind::Boolean, "`false` records the verdict without gating.").default(Boolean(true));
/// `verify { repair_from }`.
pub static REPAIR_FROM: Field = field(
    "repair_from",
    Kind::Task,
    "At the top level: the task that runs again, with what follows it, when this gate does not hold.",
);
/// `resolve { run }`.
pub static RESOLVE_RUN: Field =
    field("run", Kind::Command, "A command that prints one part of the canonical state.").required();
/// `resolve { timeout }`.
pub static RESOLVE_TIMEOUT: Field = field("timeout", Kind::Duration, "How long it may take.");
/// `resolve { emits }`.
pub static RESOLVE_EMITS: Field = field("emits", Kind::Emits, "What its result must carry.");
/// `resolve { cwd }`.
pub static RESOLVE_CWD: Field =
    field("cwd", Kind::Path, "The working directory, below the workspace.").default(Note("`.`"));
/// `continue { run }`.
pub static CONTINUE_RUN: Field = field("run", Kind::Command, "A command that answers what comes next.");
/// `continue { prompt }`.
pub static CONTINUE_PROMPT: Field =
    field("prompt", Kind::Prompt, "The instructions of the agent that answers what comes next.");
/// `continue { timeout }`.
pub static CONTINUE_TIMEOUT: Field = field("timeout", Kind::Duration, "How long it may take.");
/// `continue { max_slices }`.
pub static MAX_SLICES: Field = field("max_slices", at_least(1), "The most slices.").default(Integer(10));

// ---- blocks -----------------------------------------------------------------------------------------

/// What stands in a group, a `for` and a template.
static TASKS: &[Keyword] = &[
    K::Command,
    K::Evaluate,
    K::Agent,
    K::Route,
    K::Gate,
    K::TopK,
    K::Report,
    K::Call,
    K::Machine,
    K::Group,
    K::For,
    K::Use,
];

/// What stands at the top level of a file.
pub static TOP_LEVEL: &[Keyword] = &[
    K::Plan,
    K::Param,
    K::Let,
    K::Profile,
    K::Session,
    K::Group,
    K::For,
    K::Template,
    K::Use,
    K::Import,
    K::Verify,
    K::Resolve,
    K::Continue,
    K::Command,
    K::Evaluate,
    K::Agent,
    K::Route,
    K::Gate,
    K::TopK,
    K::Report,
    K::Call,
    K::Machine,
];

const fn block(keyword: Keyword, naming: Naming, section: &'static str, doc: &'static str) -> Block {
    Block { keyword, naming, doc, section, fields: &[], holds: &[], edges: false }
}

const fn task(
    keyword: Keyword,
    own: &'static [&'static [&'static Field]],
    holds: &'static [Keyword],
    doc: &'static str,
) -> Block {
    let edges = matches!(keyword, Keyword::Machine);
    Block { keyword, naming: Naming::Unrolled, doc, section: "§4", fields: own, holds, edges }
}

/// A row for every keyword, in the order of [`Keyword::ALL`].
pub static BLOCKS: [Block; Keyword::ALL.len()] = [
    Block {
        fields: &[&[
            &GOAL,
            &BUDGET,
            &RESULT,
            &WORKSPACE,
            &FROZEN,
            &HEADER_SHELL,
            &ON_FAILURE,
            &RESERVE,
            &MAX_REPAIRS,
            &DEFAULTS,
        ]],
        ..block(
            K::Plan,
            Naming::Text,
            "§3",
            "The header: what holds for the whole plan. At most one in a file.",
        )
    },
    Block {
        fields: &[&[&PARAM_DOC, &PATTERN, &MIN, &MAX]],
        ..block(
            K::Param,
            Naming::Identifier,
            "§3",
            "A typed value given at launch. Without a default it is required.",
        )
    },
    block(K::Let, Naming::Identifier, "§3", "A compile-time constant."),
    Block {
        fields: &[&[&HARNESS, &MODEL, &EFFORT, &EXTENDS]],
        ..block(K::Profile, Naming::Identifier, "§3", "Named defaults for agent tasks.")
    },
    Block {
        fields: &[&[&HARNESS, &MODEL, &EFFORT, &EXTENDS]],
        ..block(K::Session, Naming::Identifier, "§3", "A durable conversation with an agent.")
    },
    Block {
        fields: &[INHERITED],
        holds: TASKS,
        ..block(
            K::Group,
            Naming::Identifier,
            "§3",
            "A set of tasks with shared defaults. `depends_on` may name it.",
        )
    },
    Block {
        holds: TASKS,
        ..block(K::For, Naming::Nothing, "§3", "Unrolls its tasks over a list, at compile time.")
    },
    Block {
        holds: TASKS,
        ..block(K::Template, Naming::Identifier, "§3", "Tasks with arguments, unrolled where they are used.")
    },
    block(K::Use, Naming::Identifier, "§3", "Unrolls a template."),
    block(
        K::Import,
        Naming::Nothing,
        "§3",
        "Brings the templates, lets and profiles of another file of the pack into scope.",
    ),
    Block {
        fields: &[&[
            &VERIFY_RUN,
            &VERIFY_FILE,
            &EXISTS,
            &CONTAINS,
            &MATCHES,
            &SCHEMA,
            &SHA256,
            &VERIFY_TIMEOUT,
            &VERIFY_REQUIRED,
            &REPAIR_FROM,
        ]],
        ..block(
            K::Verify,
            Naming::Identifier,
            "§9",
            "A check: of each attempt inside a task, of the whole plan at the top level.",
        )
    },
    Block {
        fields: &[&[&RESOLVE_RUN, &RESOLVE_EMITS, &RESOLVE_TIMEOUT, &ENV, &SHELL, &RESOLVE_CWD]],
        ..block(K::Resolve, Naming::Identifier, "§3", "A command that reads one part of the canonical state.")
    },
    Block {
        fields: &[&[
            &CONTINUE_RUN,
            &CONTINUE_PROMPT,
            &ARGS,
            &HARNESS,
            &MODEL,
            &EFFORT,
            &PROFILE,
            &SESSION,
            &REPAIR,
            &CONTINUE_TIMEOUT,
            &MAX_SLICES,
        ]],
        ..block(K::Continue, Naming::Nothing, "§3", "How an accepted run yields the next slice of work.")
    },
    Block {
        fields: &[&[&QUESTION_ASK, &LABELS, &DROP]],
        ..block(K::Question, Naming::Identifier, "§7", "One typed question of a route.")
    },
    task(K::Command, &[COMMON, &[&RUN]], &[K::Verify], "Runs a command."),
    task(
        K::Evaluate,
        &[COMMON, &[&RUN, &THRESHOLD, &DIRECTION]],
        &[K::Verify],
        "Runs a command and grades its JSON object by `pass`, or by `score` against a threshold.",
    ),
    task(
        K::Agent,
        &[COMMON, &[&PROMPT, &ARGS, &HARNESS, &MODEL, &EFFORT, &PROFILE, &SESSION, &REPAIR]],
        &[K::Verify],
        "One turn of an agent harness.",
    ),
    task(
        K::Route,
        &[COMMON, &[&SOURCE, &ROUTE_RUN, &MIN_CONFIDENCE]],
        &[K::Question, K::Verify],
        "Answers typed questions about its dependencies, on which other tasks branch.",
    ),
    task(
        K::Gate,
        &[COMMON, &[&ASK, &OPTIONS, &ANSWER]],
        &[K::Verify],
        "Asks a person one question and waits for the answer.",
    ),
    task(K::TopK, &[COMMON, &[&KEEP, &RANKING]], &[], "Keeps the best of its dependencies by `score`."),
    task(
        K::Report,
        &[COMMON, &[&TEMPLATE, &TO, &REPORT_RESULT]],
        &[K::Verify],
        "Renders a template from results and writes it.",
    ),
    task(
        K::Call,
        &[COMMON, &[&CALLED, &CALL_PARAMS]],
        &[K::Verify],
        "Runs another plan of the pack as one task.",
    ),
    task(
        K::Machine,
        &[COMMON, &[&MAX_STEPS, &MAX_VISITS, &RETRY_TARGET, &FALLBACK_RETRY_TARGET]],
        &[K::Command, K::Evaluate, K::Agent, K::Gate, K::Verify],
        "A bounded graph with cycles that runs as one task, a node at a time.",
    ),
];

// ---- functions, words and reserved names ------------------------------------------------------------

/// Something called with brackets.
#[derive(Debug)]
pub struct Function {
    /// As written.
    pub name: &'static str,
    /// With its argument, as written.
    pub form: &'static str,
    /// What it gives, in a line.
    pub doc: &'static str,
}

/// Every function.
pub static FUNCTIONS: [Function; 5] = [
    Function { name: "file", form: "file(\"path\")", doc: "The text of a file of the pack." },
    Function { name: "skill", form: "skill(\"dir\")", doc: "The body of the pack's `dir/SKILL.md`." },
    Function { name: "schema", form: "schema(\"path\")", doc: "A JSON Schema of the pack, as a type." },
    Function {
        name: "pack",
        form: "pack(\"path\")",
        doc: "In a `run` list: the path of a file of the pack, at run time.",
    },
    Function {
        name: "otherwise",
        form: "otherwise(route.question)",
        doc: "In a `when`: every label that no other `when` covers.",
    },
];

/// Names of types in `emits`.
pub static TYPES: [(&str, &str); 6] = [
    ("string", "Text."),
    ("integer", "A whole number."),
    ("number", "A number."),
    ("boolean", "`true` or `false`."),
    ("list", "A list of anything."),
    ("object", "An object with any fields."),
];

/// The words of a machine's edges, each with what it says.
pub static EDGE_WORDS: [(&str, &str); 6] = [
    ("start", "Where a machine begins: the one edge from it leads to its first node."),
    ("exit", "Where a machine ends, once its goal gates hold. Any number of edges lead to it."),
    (
        "if",
        "The condition of an edge, as in `test -> fix if outcome == \"fail\"`: it reads `outcome`, `last_line`, \
         `preferred_label`, `output.field` and `context.key`.",
    ),
    ("label", "What an edge is called, as in `label \"again\"`: a result's `preferred_label` chooses by it."),
    (
        "weight",
        "Of several edges that could be taken the heaviest is, as in `weight 2`; an edge without one weighs 0.",
    ),
    ("default", "The edge that is taken where no condition holds and no label is preferred."),
];

/// A name that the engine keeps for itself.
#[derive(Debug)]
pub struct Reserved {
    /// The name.
    pub name: &'static str,
    /// What it means, in a line.
    pub doc: &'static str,
}

const fn reserved(name: &'static str, doc: &'static str) -> Reserved {
    Reserved { name, doc }
}

/// What no task, group or parameter may be called: reserved inputs, and words of the language.
pub static RESERVED_NAMES: [Reserved; 10] = [
    reserved("item", "The element of an instance."),
    reserved("kept", "Reserved for the kept candidate of a scored loop; nothing produces it yet."),
    reserved("outcome", "In an epilogue: how the main graph ended, `{exit, verdict, tasks}`."),
    reserved("revision", "From the second round: `{round, max_rounds, reviewer, review}`."),
    reserved("params", "The launch parameters, typed. Command, evaluate, route and verify only."),
    reserved("state", "The resolved canonical state, in a continued slice."),
    reserved("steering", "Kept for later."),
    reserved("history", "Kept for later."),
    reserved("plan", "A word of the language."),
    reserved("param", "A word of the language."),
];

/// Which of [`RESERVED_NAMES`] a task can find in its inputs.
pub static INPUTS: [&str; 6] = ["item", "outcome", "revision", "kept", "params", "state"];

/// What the engine reads in a task's own result.
pub static RESULT_FIELDS: [Reserved; 7] = [
    reserved(
        "status",
        "`\"pass\"`, `\"fail\"`, `\"skipped\"`, `\"partial\"` or `\"retry\"`: the task settles itself.",
    ),
    reserved("complete", "`true`, from a task with `may_complete`: ends the run early, and well."),
    reserved("reason", "Why it is complete."),
    reserved(
        "preferred_label, suggested_next_ids, context_updates",
        "In a machine only: where to go, and what to remember.",
    ),
    reserved("note", "One line for people."),
    reserved("cost_usd", "What the attempt spent."),
    reserved("last_line", "No field: the last line of standard output, which conditions read."),
];

/// What `emits` and questions may not list.
pub static RESERVED_FIELDS: [&str; 4] = ["status", "complete", "reason", "last_line"];

/// Words that are never names.
pub static WORDS: [&str; 7] = ["and", "or", "not", "in", "if", "true", "false"];

/// The longest name, in characters.
pub const LONGEST_NAME: usize = 64;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_keyword_has_its_row_and_every_row_its_keyword() {
        for (row, keyword) in BLOCKS.iter().zip(Keyword::ALL) {
            assert_eq!(row.keyword, keyword);
            assert_eq!(Block::of(keyword).keyword, keyword);
            assert_eq!(Keyword::parse(keyword.as_str()), Some(keyword));
        }
    }

    #[test]
    fn names_are_unique_where_they_can_meet() {
        for row in &BLOCKS {
            for node in [false, true] {
                let mut seen = HashSet::new();
                let own = row.fields.iter().flat_map(|set| set.iter()).copied();
                let fields: Vec<&Field> = own
                    .filter(|field| !node || field.node)
                    .chain(NODE.iter().copied().filter(|_| node && row.keyword != Keyword::Machine))
                    .collect();
                for field in fields {
                    assert!(seen.insert(field.name), "{} twice in {}", field.name, row.keyword.as_str());
                }
            }
        }
        let names: HashSet<&str> = RESERVED_NAMES.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), RESERVED_NAMES.len());
        assert!(INPUTS.iter().all(|input| names.contains(input)));
    }

    #[test]
    fn every_row_is_documented_in_sentences() {
        let sentence = |doc: &str| doc.ends_with('.') && doc.len() > 3;
        for row in &BLOCKS {
            assert!(sentence(row.doc), "{}", row.keyword.as_str());
            for field in row.all_fields(true) {
                assert!(sentence(field.doc), "{}", field.name);
                if let Kind::Map(keys) = field.kind {
                    assert!(keys.iter().all(|key| sentence(key.doc)), "{}", field.name);
                }
            }
        }
        assert!(FUNCTIONS.iter().all(|row| sentence(row.doc)));
        assert!(TYPES.iter().chain(&EDGE_WORDS).all(|(_, doc)| sentence(doc)));
        assert!(RESERVED_NAMES.iter().chain(&RESULT_FIELDS).all(|row| sentence(row.doc)));
    }

    #[test]
    fn what_is_inherited_is_what_groups_list() {
        let rows: HashSet<&str> = INHERITED.iter().map(|field| field.name).collect();
        let agent = Block::of(Keyword::Agent);
        let marked: HashSet<&str> = agent.all_fields(false).filter(|f| f.inherited).map(|f| f.name).collect();
        assert_eq!(rows, marked);
        for name in ["depends_on", "when", "over", "key", "revise", "emits", "emits_files", "done_when"] {
            assert!(!rows.contains(name), "{name}");
        }
    }

    #[test]
    fn defaults_are_values_of_their_kind() {
        for field in BLOCKS.iter().flat_map(|row| row.all_fields(true)) {
            let fits = match field.default {
                Default::Nothing | Note(_) => true,
                Boolean(_) => matches!(field.kind, Kind::Boolean),
                Integer(value) => {
                    matches!(field.kind, Kind::Integer { min, max } if (min..=max).contains(&value))
                }
                Word(word) => matches!(field.kind, Kind::Words(words) if words.contains(&word)),
                Duration(_) => matches!(field.kind, Kind::Duration),
            };
            assert!(fits, "{}", field.name);
            assert!(!field.required || field.default == Default::Nothing, "{}", field.name);
        }
    }
}
