//! Facts about the language, in rows: blocks, fields, types, defaults, reserved names (STYLE §3).
//!
//! Parser, checking, suggestions, hover, completion and `docs/reference.md` all read these rows.
//! Unaware of plans: it says what may be written, not what was.

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
        Self::ALL.into_iter().find(|keyword| keyword.as_str() == word)
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
