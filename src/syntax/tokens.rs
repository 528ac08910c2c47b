//! What the lexer hands to the grammar: one ASCII byte per token, and the place of each beside it.
//!
//! The bytes are named here and in `grammar/plan.pest`, nowhere else. Unaware of what follows what.

use crate::reference::Keyword;
use crate::source::{FileId, Span};

/// The bytes. A word that may be a name is a capital letter, so that the grammar reads all of them as one
/// range; which capital says what the word can begin.
pub(crate) mod kind {
    /// `plan`.
    pub const PLAN: u8 = b'P';
    /// `param`.
    pub const PARAM: u8 = b'A';
    /// `let`.
    pub const LET: u8 = b'L';
    /// `profile`, `session`, `resolve`.
    pub const BLOCK: u8 = b'B';
    /// `group`.
    pub const GROUP: u8 = b'G';
    /// `continue`.
    pub const CONTINUE: u8 = b'C';
    /// `for`.
    pub const FOR: u8 = b'F';
    /// `template`.
    pub const TEMPLATE: u8 = b'T';
    /// `use`.
    pub const USE: u8 = b'U';
    /// `import`.
    pub const IMPORT: u8 = b'I';
    /// A kind of task.
    pub const TASK: u8 = b'K';
    /// `verify`.
    pub const VERIFY: u8 = b'V';
    /// `question`.
    pub const QUESTION: u8 = b'Q';
    /// `label`.
    pub const LABEL: u8 = b'J';
    /// `weight`.
    pub const WEIGHT: u8 = b'W';
    /// `default`.
    pub const DEFAULT: u8 = b'D';
    /// Any other word.
    pub const NAME: u8 = b'N';
    /// Any word before `=`.
    pub const FIELD: u8 = b'M';
    /// Any word before `->`.
    pub const NODE: u8 = b'E';

    /// `and`.
    pub const AND: u8 = b'a';
    /// `or`.
    pub const OR: u8 = b'o';
    /// `not`.
    pub const NOT: u8 = b'n';
    /// `in`.
    pub const IN: u8 = b'i';
    /// `if`.
    pub const IF: u8 = b'f';
    /// `true`, `false`.
    pub const BOOLEAN: u8 = b't';
    /// A whole string, its quotes included.
    pub const STRING: u8 = b's';
    /// A number.
    pub const NUMBER: u8 = b'r';
    /// A duration.
    pub const DURATION: u8 = b'u';
    /// `==`, `!=`, `<`, `<=`, `>`, `>=`.
    pub const COMPARE: u8 = b'c';

    /// `f"` or `f"""`.
    pub const FORMAT: u8 = b'\'';
    /// Text inside an f-string.
    pub const CHUNK: u8 = b'_';
    /// `{` inside an f-string.
    pub const HOLE: u8 = b'<';
    /// The `}` of it.
    pub const HOLE_END: u8 = b'>';
    /// The closing quotes of an f-string.
    pub const FORMAT_END: u8 = b'"';

    /// A line break that separates.
    pub const BREAK: u8 = b';';
    /// `->`.
    pub const ARROW: u8 = b'-';
    // These stand for themselves.
    pub const DOT: u8 = b'.';
    pub const OPTIONAL: u8 = b'?';
    pub const ASSIGN: u8 = b'=';
    pub const COLON: u8 = b':';
    pub const COMMA: u8 = b',';
    pub const BAR: u8 = b'|';
    pub const PLUS: u8 = b'+';
    pub const OPEN_BRACE: u8 = b'{';
    pub const CLOSE_BRACE: u8 = b'}';
    pub const OPEN_LIST: u8 = b'[';
    pub const CLOSE_LIST: u8 = b']';
    pub const OPEN_PAREN: u8 = b'(';
    pub const CLOSE_PAREN: u8 = b')';
}

/// Whether the token is a word that may be a name.
pub(crate) fn is_word(kind: u8) -> bool {
    kind.is_ascii_uppercase()
}

/// Whether the token begins a declaration.
pub(crate) fn is_keyword(kind: u8) -> bool {
    matches!(
        kind,
        kind::PLAN
            | kind::PARAM
            | kind::LET
            | kind::BLOCK
            | kind::GROUP
            | kind::CONTINUE
            | kind::FOR
            | kind::TEMPLATE
            | kind::USE
            | kind::IMPORT
            | kind::TASK
            | kind::VERIFY
            | kind::QUESTION
    )
}

/// The kind of a word.
pub(super) fn word_kind(word: &str) -> u8 {
    match word {
        "and" => kind::AND,
        "or" => kind::OR,
        "not" => kind::NOT,
        "in" => kind::IN,
        "if" => kind::IF,
        "true" | "false" => kind::BOOLEAN,
        "label" => kind::LABEL,
        "weight" => kind::WEIGHT,
        "default" => kind::DEFAULT,
        _ if !may_be_keyword(word) => kind::NAME,
        _ => Keyword::parse(word).map_or(kind::NAME, keyword_kind),
    }
}

/// For each length, the first letters of the keywords that long, as bits.
const FIRST_LETTERS: [u32; 16] = {
    let mut letters = [0; 16];
    let mut index = 0;
    while index < Keyword::ALL.len() {
        let word = Keyword::ALL[index].as_str().as_bytes();
        letters[word.len()] |= 1 << (word[0] - b'a');
        index += 1;
    }
    letters
};

/// Rules out most words at a glance.
fn may_be_keyword(word: &str) -> bool {
    let letters = FIRST_LETTERS.get(word.len()).copied().unwrap_or(0);
    word.bytes().next().is_some_and(|first| first.is_ascii_lowercase() && letters >> (first - b'a') & 1 == 1)
}

fn keyword_kind(keyword: Keyword) -> u8 {
    match keyword {
        Keyword::Plan => kind::PLAN,
        Keyword::Param => kind::PARAM,
        Keyword::Let => kind::LET,
        Keyword::Profile | Keyword::Session | Keyword::Resolve => kind::BLOCK,
        Keyword::Group => kind::GROUP,
        Keyword::For => kind::FOR,
        Keyword::Template => kind::TEMPLATE,
        Keyword::Use => kind::USE,
        Keyword::Import => kind::IMPORT,
        Keyword::Verify => kind::VERIFY,
        Keyword::Continue => kind::CONTINUE,
        Keyword::Question => kind::QUESTION,
        Keyword::Command
        | Keyword::Evaluate
        | Keyword::Agent
        | Keyword::Route
        | Keyword::Gate
        | Keyword::TopK
        | Keyword::Report
        | Keyword::Call
        | Keyword::Machine => kind::TASK,
    }
}

/// A doc comment: which token it stands above, and its lines among the comments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doc {
    pub token: u32,
    pub first: u32,
    pub last: u32,
}

/// The tokens of one file.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    /// Which text they are of.
    pub(super) file: FileId,
    /// One byte each.
    pub(super) kinds: String,
    /// The bytes of the text that each covers. What was inserted, a line break among it, covers nothing.
    pub(super) places: Vec<(u32, u32)>,
}

impl Tokens {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The kind of a token; a NUL, which is no kind, past the end.
    pub(crate) fn kind(&self, at: usize) -> u8 {
        self.kinds.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// Where a token stands; past the end, behind the last.
    pub(crate) fn span(&self, at: usize) -> Span {
        match self.places.get(at) {
            Some(&(start, end)) => Span { file: self.file, start, end },
            None => {
                let end = self.places.last().map_or(0, |&(_, end)| end);
                Span { file: self.file, start: end, end }
            }
        }
    }
}
