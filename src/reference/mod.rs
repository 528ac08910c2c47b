//! Facts about the language, in rows: blocks, fields, types, defaults, reserved names (STYLE §3).
//!
//! Parser, checking, suggestions, hover, completion and `docs/reference.md` all read these rows.
//! Unaware of plans: it says what may be written, not what was.

pub mod markdown;
pub mod table;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// A word that starts a declaration (LANGUAGE §3, §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Keyword {
    /// `plan`, the header.
    Plan,
    /// `param`.
    Param,
    /// `let`.
    Let,
    /// `profile`.
    Profile,
    /// `session`.
    Session,
    /// `group`.
    Group,
    /// `for`.
    For,
    /// `template`.
    Template,
    /// `use`.
    Use,
    /// `import`.
    Import,
    /// `verify`.
    Verify,
    /// `resolve`.
    Resolve,
    /// `continue`.
    Continue,
    /// `question`, inside a `route`.
    Question,
    /// `command`.
    Command,
    /// `evaluate`.
    Evaluate,
    /// `agent`.
    Agent,
    /// `route`.
    Route,
    /// `gate`.
    Gate,
    /// `top_k`.
    TopK,
    /// `report`.
    Report,
    /// `call`.
    Call,
    /// `machine`.
    Machine,
}

impl Keyword {
    /// Every keyword, in the order of LANGUAGE §3 and §4.
    pub const ALL: [Self; 23] = [
        Self::Plan,
        Self::Param,
        Self::Let,
        Self::Profile,
        Self::Session,
        Self::Group,
        Self::For,
        Self::Template,
        Self::Use,
        Self::Import,
        Self::Verify,
        Self::Resolve,
        Self::Continue,
        Self::Question,
        Self::Command,
        Self::Evaluate,
        Self::Agent,
        Self::Route,
        Self::Gate,
        Self::TopK,
        Self::Report,
        Self::Call,
        Self::Machine,
    ];

    /// The word as written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Param => "param",
            Self::Let => "let",
            Self::Profile => "profile",
            Self::Session => "session",
            Self::Group => "group",
            Self::For => "for",
            Self::Template => "template",
            Self::Use => "use",
            Self::Import => "import",
            Self::Verify => "verify",
            Self::Resolve => "resolve",
            Self::Continue => "continue",
            Self::Question => "question",
            Self::Command => "command",
            Self::Evaluate => "evaluate",
            Self::Agent => "agent",
            Self::Route => "route",
            Self::Gate => "gate",
            Self::TopK => "top_k",
            Self::Report => "report",
            Self::Call => "call",
            Self::Machine => "machine",
        }
    }

    /// The keyword that `word` is.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "plan" => Self::Plan,
            "param" => Self::Param,
            "let" => Self::Let,
            "profile" => Self::Profile,
            "session" => Self::Session,
            "group" => Self::Group,
            "for" => Self::For,
            "template" => Self::Template,
            "use" => Self::Use,
            "import" => Self::Import,
            "verify" => Self::Verify,
            "resolve" => Self::Resolve,
            "continue" => Self::Continue,
            "question" => Self::Question,
            "command" => Self::Command,
            "evaluate" => Self::Evaluate,
            "agent" => Self::Agent,
            "route" => Self::Route,
            "gate" => Self::Gate,
            "top_k" => Self::TopK,
            "report" => Self::Report,
            "call" => Self::Call,
            "machine" => Self::Machine,
            _ => return None,
        })
    }

    /// Whether it declares a task: the kinds of LANGUAGE §4.
    #[must_use]
    pub const fn is_task(self) -> bool {
        match self {
            Self::Command
            | Self::Evaluate
            | Self::Agent
            | Self::Route
            | Self::Gate
            | Self::TopK
            | Self::Report
            | Self::Call
            | Self::Machine => true,
            Self::Plan
            | Self::Param
            | Self::Let
            | Self::Profile
            | Self::Session
            | Self::Group
            | Self::For
            | Self::Template
            | Self::Use
            | Self::Import
            | Self::Verify
            | Self::Resolve
            | Self::Continue
            | Self::Question => false,
        }
    }
}

/// Harnesses that this version has an adapter for. None yet: a run refuses agents by name.
pub static HARNESSES: &[&str] = &[];

/// A sort of block: what `KEYWORD name { … }` may hold.
#[derive(Debug)]
pub struct Block {
    /// What it begins with.
    pub keyword: Keyword,
    /// How it is named.
    pub naming: Naming,
    /// What it is for, in a line.
    pub doc: &'static str,
    /// Where the language defines it.
    pub section: &'static str,
    /// Its fields, in sets: those of every task first, then its own.
    pub fields: &'static [&'static [&'static Field]],
    /// Declarations that may stand in it.
    pub holds: &'static [Keyword],
    /// Whether edges may stand in it.
    pub edges: bool,
}

/// How a block is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// It has no name.
    Nothing,
    /// A string.
    Text,
    /// An identifier.
    Identifier,
    /// An identifier, or an f-string inside `for` and `template`.
    Unrolled,
}

/// One field of a block, or one key of a nested map.
#[derive(Debug)]
pub struct Field {
    /// As written.
    pub name: &'static str,
    /// What its value has to be.
    pub kind: Kind,
    /// What holds where nothing is written.
    pub default: Default,
    /// Whether it has to be written.
    pub required: bool,
    /// Whether it may stand in a group and in the header's `defaults`.
    pub inherited: bool,
    /// Whether a node of a machine has it.
    pub node: bool,
    /// Whether a value that came from a parameter may reach it, besides what its kind says.
    pub external: bool,
    /// What it means, in a line.
    pub doc: &'static str,
}

/// What a value has to be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `true`, `false`.
    Boolean,
    /// A whole number within bounds.
    Integer {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// A number within bounds.
    Number {
        /// The least.
        min: f64,
        /// The greatest.
        max: f64,
    },
    /// An amount of US dollars: a number, not negative.
    Money,
    /// A duration above zero.
    Duration,
    /// A string.
    Text,
    /// One of several literals.
    Words(&'static [&'static str]),
    /// A list of strings.
    Texts,
    /// A string, or a list of strings.
    TextOrTexts,
    /// A path below the workspace.
    Path,
    /// A file of the pack, relative to the file that names it.
    PackFile,
    /// A path below the run's directory, or `"stdout"`.
    ReportPath,
    /// A list of globs.
    Globs,
    /// A map of strings.
    Environment,
    /// A map with these keys.
    Map(&'static [&'static Field]),
    /// A map of fields that may be inherited.
    Defaults,
    /// A map of values for parameters.
    Parameters,
    /// A task.
    Task,
    /// A list of tasks or groups.
    Tasks,
    /// A task, or a list of tasks.
    TaskOrTasks,
    /// A list of `task.field`.
    TaskFields,
    /// `task.field`, or a list parameter.
    Over,
    /// A condition.
    Condition,
    /// A record of types, a list of field names, or `schema()`.
    Emits,
    /// A list of paths, or a map from path to `schema()`.
    Files,
    /// A command: a string, or a list of strings and `pack()`.
    Command,
    /// The instructions of a turn.
    Prompt,
    /// `schema("file.json")`.
    Schema,
    /// `"files"`, or a command.
    DoneWhen,
    /// A profile.
    Profile,
    /// A session.
    Session,
    /// A node of the machine.
    Node,
    /// A type, before `=`: of a parameter.
    Pattern,
}

/// What holds where a field is not written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// Nothing.
    Nothing,
    /// A boolean.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A literal.
    Word(&'static str),
    /// Milliseconds.
    Duration(u64),
    /// As the note says.
    Note(&'static str),
}

impl Field {
    const fn new(name: &'static str, kind: Kind, doc: &'static str) -> Self {
        let (required, inherited, node, external) = (false, false, true, false);
        Self { name, kind, default: Default::Nothing, required, inherited, node, external, doc }
    }

    const fn default(mut self, default: Default) -> Self {
        self.default = default;
        self
    }

    const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    const fn inherited(mut self) -> Self {
        self.inherited = true;
        self
    }

    const fn graph_only(mut self) -> Self {
        self.node = false;
        self
    }

    const fn external(mut self) -> Self {
        self.external = true;
        self
    }

    /// Whether a value that came from a parameter may reach it (LANGUAGE §3).
    #[must_use]
    pub const fn takes_external(&self) -> bool {
        self.external
            || match self.kind {
                Kind::Integer { .. }
                | Kind::Number { .. }
                | Kind::Money
                | Kind::Duration
                | Kind::Environment
                | Kind::Parameters
                | Kind::Over
                | Kind::Condition
                | Kind::Prompt => true,
                Kind::Boolean
                | Kind::Text
                | Kind::Words(_)
                | Kind::Texts
                | Kind::TextOrTexts
                | Kind::Path
                | Kind::PackFile
                | Kind::ReportPath
                | Kind::Globs
                | Kind::Map(_)
                | Kind::Defaults
                | Kind::Task
                | Kind::Tasks
                | Kind::TaskOrTasks
                | Kind::TaskFields
                | Kind::Emits
                | Kind::Files
                | Kind::Command
                | Kind::Schema
                | Kind::DoneWhen
                | Kind::Profile
                | Kind::Session
                | Kind::Node
                | Kind::Pattern => false,
            }
    }
}

impl Kind {
    /// What a value has to be, with its article: "an integer from 0 to 10".
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Boolean => "a boolean".into(),
            Self::Integer { min, max: i64::MAX } => format!("an integer, at least {min}"),
            Self::Integer { min, max } => format!("an integer from {min} to {}", grouped(*max)),
            Self::Number { min, max } if min.is_finite() && max.is_finite() => {
                format!("a number from {min} to {max}")
            }
            Self::Number { .. } => "a number".into(),
            Self::Money => "a number of US dollars, at least 0".into(),
            Self::Duration => "a duration, as in `30s`".into(),
            Self::Text => "a string".into(),
            Self::Words(words) => alternatives(words),
            Self::Texts => "a list of strings".into(),
            Self::TextOrTexts => "a string, or a list of strings".into(),
            Self::Path => "a string with a path below the workspace".into(),
            Self::PackFile => "a string with the path of a file of the pack".into(),
            Self::ReportPath => "a string with a path below the run's directory, or `\"stdout\"`".into(),
            Self::Globs => "a list of strings with globs".into(),
            Self::Environment => "a map of strings".into(),
            Self::Map(keys) => {
                let keys: Vec<String> = keys.iter().map(|key| format!("`{}`", key.name)).collect();
                format!("a map with {}", keys.join(", "))
            }
            Self::Defaults => "a map of fields that tasks share".into(),
            Self::Parameters => "a map with a value for each parameter".into(),
            Self::Task => "a task".into(),
            Self::Tasks => "a list of tasks or groups".into(),
            Self::TaskOrTasks => "a task, or a list of tasks".into(),
            Self::TaskFields => "a list of `task.field`".into(),
            Self::Over => "`task.field` with a list, or a list parameter".into(),
            Self::Condition => "a condition".into(),
            Self::Emits => "a record of types, or a list of strings".into(),
            Self::Files => "a list of paths, or a map from path to `schema()`".into(),
            Self::Command => "a string, or a list of strings".into(),
            Self::Prompt => "a string".into(),
            Self::Schema => "`schema(\"file.json\")`".into(),
            Self::DoneWhen => "a string: `\"files\"`, or a command".into(),
            Self::Profile => "a profile".into(),
            Self::Session => "a session".into(),
            Self::Node => "a node of this machine".into(),
            Self::Pattern => "a string with a regular expression".into(),
        }
    }
}

impl std::fmt::Display for Default {
    /// As the language writes it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nothing => f.write_str("none"),
            Self::Boolean(value) => write!(f, "`{value}`"),
            Self::Integer(value) => write!(f, "`{value}`"),
            Self::Word(word) => write!(f, "`\"{word}\"`"),
            Self::Duration(millis) => write!(f, "`{}`", written(*millis)),
            Self::Note(note) => f.write_str(note),
        }
    }
}

/// A duration as the language writes it; every default is whole in one unit.
fn written(millis: u64) -> String {
    [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")]
        .into_iter()
        .find(|(size, _)| millis >= *size && millis.is_multiple_of(*size))
        .map_or_else(|| format!("{millis}ms"), |(size, unit)| format!("{}{unit}", millis / size))
}

/// `10,000`.
fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::from(if value < 0 { "-" } else { "" });
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `` `"all"`, `"passed"` or `"settled"` ``.
#[must_use]
pub fn alternatives<T: AsRef<str>>(words: &[T]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`\"{}\"`", word.as_ref())).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

type Rows = FxHashMap<&'static str, &'static Field>;

/// The fields of each keyword's block, and of nodes on top of that, by name.
static FIELDS: LazyLock<(Vec<Rows>, Rows)> = LazyLock::new(|| {
    let rows = |sets: &[&'static [&'static Field]]| {
        sets.iter().flat_map(|set| set.iter()).map(|&field| (field.name, field)).collect::<Rows>()
    };
    (Keyword::ALL.iter().map(|&keyword| rows(Block::of(keyword).fields)).collect(), rows(&[table::NODE]))
});

impl Block {
    /// The row of `keyword`.
    #[must_use]
    pub fn of(keyword: Keyword) -> &'static Self {
        let row = &table::BLOCKS[keyword as usize];
        debug_assert_eq!(row.keyword, keyword);
        row
    }

    /// The field called `name`, of a node of a machine or of a block elsewhere.
    #[must_use]
    pub fn field(&self, name: &str, node: bool) -> Option<&'static Field> {
        let found = FIELDS.0[self.keyword as usize].get(name).copied();
        if node { found.filter(|field| field.node).or_else(|| FIELDS.1.get(name).copied()) } else { found }
    }

    /// Its fields, where it is a node of a machine or elsewhere.
    pub fn all_fields(&self, node: bool) -> impl Iterator<Item = &'static Field> {
        let own = self.fields.iter().flat_map(|set| set.iter()).copied().filter(move |f| !node || f.node);
        own.chain(table::NODE.iter().copied().filter(move |_| node))
    }

    /// The keywords of the blocks that have a field called `name`.
    pub fn with_field(name: &str) -> impl Iterator<Item = Keyword> {
        Keyword::ALL.into_iter().filter(move |&keyword| FIELDS.0[keyword as usize].contains_key(name))
    }
}
