//! Says what was expected where the grammar did not match, in the words of an author.

use crate::diag::{Code, Diagnostic, Severity, suggest};
use crate::reference::{Block, Keyword};
use crate::source::Span;

use super::TOO_LARGE;
use super::ast::Ident;
use super::parser::Rule;
use super::stray;
use super::tokens::{Tokens, is_word, kind};

pub(super) static UNEXPECTED_TOKEN: Code = Code {
    id: "plan::syntax::unexpected_token",
    severity: Severity::Error,
    summary: "Something else was expected here",
    explain: "Up to this place the text is a plan; what stands here cannot follow. The message names what can. \
              Members of blocks and maps are separated by line breaks or commas, elements of lists by commas.",
};

pub(super) static UNKNOWN_DECLARATION: Code = Code {
    id: "plan::syntax::unknown_declaration",
    severity: Severity::Error,
    summary: "A word that declares nothing",
    explain: "A declaration begins with one of the language's words: `plan`, `param`, `let`, `profile`, \
              `session`, `group`, `for`, `template`, `use`, `import`, `verify`, `resolve`, `continue`, \
              `question`, or a kind of task: `command`, `evaluate`, `agent`, `route`, `gate`, `top_k`, \
              `report`, `call`, `machine`.",
};

pub(super) static OUTSIDE_A_BLOCK: Code = Code {
    id: "plan::syntax::outside_a_block",
    severity: Severity::Error,
    summary: "A field or an edge that belongs to no block",
    explain: "Fields say something about the block they stand in, and edges connect the nodes of the machine \
              they stand in. At the top level of a file there are declarations only; a value gets a name \
              with `let name = value`.",
};

/// What may follow a member of a block.
pub(super) const AFTER_MEMBER: &str = "a line break";

/// What may follow an entry of a map or a record.
pub(super) const AFTER_ENTRY: &str = "`,` or a line break";

/// What may follow an element of a list.
pub(super) const AFTER_ELEMENT: &str = "`,` or `]`";

/// What may follow the name of a block.
pub(super) const AFTER_HEAD: &str = "`{`";

/// Where the grammar stopped, and what it could have read there.
pub(super) struct Failure {
    /// The token; the end of what was parsed, if all of it was read.
    pub at: usize,
    pub expected: Vec<Rule>,
    /// Whether there was too much to read.
    pub long: bool,
}

impl Failure {
    /// A token that stands where something else should.
    pub(super) fn at(at: usize, expected: Rule) -> Self {
        Self { at, expected: vec![expected], long: false }
    }
}

/// What surrounds a place that did not parse.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub text: &'a str,
    pub tokens: &'a Tokens,
    /// The first token of what was parsed.
    pub start: usize,
    /// What may follow it.
    pub after: &'static str,
}

impl Around<'_> {
    /// Whether what is parsed is a condition: that of an edge, or the value of `when`.
    fn is_condition(&self) -> bool {
        let field = self.start.checked_sub(2).filter(|&field| self.tokens.kind(field) == kind::FIELD);
        let first = field.unwrap_or(self.start);
        self.tokens.kind(first) == kind::NODE || self.written(first) == "when"
    }

    fn written(&self, token: usize) -> &str {
        self.text.get(self.tokens.span(token).range()).unwrap_or_default()
    }

    /// The finding for a failure.
    pub(super) fn unexpected(&self, failure: &Failure) -> Diagnostic {
        if failure.long {
            let span = self.tokens.span(failure.at);
            return TOO_LARGE
                .at(span, "more than 1,000,000 words and signs in one piece")
                .label("begins here");
        }
        let compares = failure.expected.contains(&Rule::operator)
            && self.tokens.kind(failure.at) == kind::ASSIGN
            && self.is_condition();
        let expected = if compares { "`==`".to_owned() } else { self.expected(&failure.expected) };
        let found = self.found(failure.at);
        let finding =
            UNEXPECTED_TOKEN.at(self.place(failure.at), format!("expected {expected}, found {found}"));
        finding.label(format!("expected {expected}")).maybe_help(self.help(failure))
    }

    /// A finding for something that stands where a separator should.
    pub(super) fn joined(&self, token: usize) -> Diagnostic {
        let expected = self.after;
        UNEXPECTED_TOKEN
            .at(self.tokens.span(token), format!("expected {expected}, found {}", self.found(token)))
            .label(format!("expected {expected}"))
            .help("begin a new line here, or separate the two with `,`")
    }

    fn expected(&self, rules: &[Rule]) -> String {
        let mut names: Vec<&str> = Vec::new();
        // Only where nothing else could follow is an operator what is missing.
        for operators in [false, true] {
            for &rule in rules.iter().filter(|&&rule| is_operator(rule) == operators) {
                let name = match rule {
                    Rule::EOI => self.after,
                    // Where a name may be built, a name is what an author thinks of.
                    Rule::format if rules.contains(&Rule::name) => continue,
                    _ => describe(rule),
                };
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            if !names.is_empty() {
                break;
            }
        }
        match names.split_last() {
            None => "something else".to_owned(),
            Some((last, [])) => (*last).to_owned(),
            Some((last, names)) => format!("{} or {last}", names.join(", ")),
        }
    }

    /// A token as a message shows it.
    fn found(&self, token: usize) -> String {
        let written = self.written(token);
        match self.tokens.kind(token) {
            0 => "the end of the file".to_owned(),
            kind::BREAK => "the end of the line".to_owned(),
            kind::STRING if written.contains('\n') => "a string of more lines".to_owned(),
            kind::FORMAT => "an f-string".to_owned(),
            _ if written.is_empty() => "the end of the line".to_owned(),
            _ => format!("`{}`", stray::cut(written, 40)),
        }
    }

    /// The place to show: the token, or behind the one before it if that was the last of its line.
    fn place(&self, token: usize) -> Span {
        let span = self.tokens.span(token);
        let Some(before) = token.checked_sub(1) else { return span };
        // What begins a member belongs to its own line; what `=` or `:` asks for, to theirs.
        let asked = matches!(self.tokens.kind(before), kind::ASSIGN | kind::COLON);
        if token <= self.start && !asked {
            return span;
        }
        let before = self.tokens.span(before);
        let between = self.text.get(before.end as usize..span.start as usize).unwrap_or_default();
        let away = self.tokens.kind(token) == 0 || span.start == span.end || between.contains('\n');
        if away { before.after() } else { span }
    }

    fn help(&self, failure: &Failure) -> Option<String> {
        let Failure { at, ref expected, .. } = *failure;
        let expects = |rule| expected.contains(&rule);
        let (found, written) = (self.tokens.kind(at), self.written(at));
        let before = at.checked_sub(1).filter(|&before| before >= self.start);
        let before = before.map_or("", |before| self.written(before));
        if expects(Rule::member) && is_reserved(found) {
            return Some(format!("`{written}` is reserved"));
        }
        if expects(Rule::name) && is_reserved(found) {
            return Some(format!("`{written}` is reserved; choose another name"));
        }
        if expects(Rule::entry) && is_reserved(found) {
            return Some(format!("`{written}` is reserved; write `\"{written}\"`"));
        }
        if expects(Rule::name) && found == kind::STRING && !written.contains('\n') {
            let plain = written.trim_matches(['"', '\'']);
            return Some(format!("names stand without quotes: `{}`", stray::cut(plain, 64)));
        }
        if expects(Rule::name) && found == kind::FORMAT {
            return Some("only tasks and verifiers may have a name that is built".to_owned());
        }
        if (expects(Rule::title) || expects(Rule::path)) && is_word(found) {
            return Some(format!("write `\"{written}\"`"));
        }
        if expects(Rule::assign) && found == kind::FIELD && is_word(self.tokens.kind(at.saturating_sub(1))) {
            // A name in two words.
            let name = format!("{before}_{written}");
            let known = Block::with_field(&name).next().is_some();
            return known.then(|| format!("did you mean `{name}`?"));
        }
        if expects(Rule::assign) && begins_value(found) && !expects(Rule::colon) {
            return Some(format!("write `{before} = {}`", self.first_words(at)));
        }
        let listed = expects(Rule::comma) || (expects(Rule::EOI) && self.after == AFTER_ELEMENT);
        if listed && begins_value(found) {
            return Some(format!("write `{before}, {}`", self.first_words(at)));
        }
        if expects(Rule::operator) && found == kind::ASSIGN {
            return Some(match self.is_condition() {
                true => "values are compared with `==`".to_owned(),
                false => format!("a map is written in braces, as in `{{ {before} = … }}`"),
            });
        }
        if expects(Rule::open) && self.tokens.kind(at.saturating_sub(1)) == kind::CONTINUE {
            return Some("`continue` has no name".to_owned());
        }
        if found == kind::DURATION && self.tokens.kind(at.saturating_sub(1)) == kind::DURATION {
            return Some(format!("write `{before}{written}`"));
        }
        if found == kind::CLOSE_PAREN && before == "," {
            return Some("remove the `,` before it".to_owned());
        }
        if expects(Rule::open_paren) && !before.is_empty() {
            return Some(format!("write `{before}()`, with what it takes in the parentheses"));
        }
        if expects(Rule::open) && matches!(found, kind::BREAK | 0) {
            return Some("the `{` of a block stands on the line of its name".to_owned());
        }
        None
    }

    /// A token as far as a help shows it.
    fn first_words(&self, token: usize) -> String {
        match self.tokens.kind(token) {
            kind::OPEN_LIST => "[…]".to_owned(),
            kind::OPEN_BRACE => "{ … }".to_owned(),
            kind::FORMAT => "f\"…\"".to_owned(),
            kind::STRING if self.written(token).contains('\n') => "\"\"\"…\"\"\"".to_owned(),
            _ => stray::cut(self.written(token), 30),
        }
    }
}

/// A block with a word that declares nothing.
pub(super) fn unknown_declaration(word: &Ident) -> Diagnostic {
    let name = stray::cut(&word.value, 40);
    let near = suggest::did_you_mean(&word.value, Keyword::ALL.iter().map(|keyword| keyword.as_str()));
    let other = || "a task is declared by its kind, as in `command build { … }`".to_owned();
    UNKNOWN_DECLARATION
        .at(word.span, format!("`{name}` declares nothing"))
        .label("not a word of the language")
        .help(near.unwrap_or_else(other))
}

/// `name = value` at the top level.
pub(super) fn field_outside(name: &Ident) -> Diagnostic {
    let shown = &name.value;
    if Keyword::parse(shown).is_some() {
        return UNEXPECTED_TOKEN
            .at(name.span.after(), "expected a name, found `=`")
            .label("expected a name")
            .help(format!("write `{shown} name = …`"));
    }
    OUTSIDE_A_BLOCK
        .at(name.span, format!("`{shown}` is set outside of any block"))
        .label("a field belongs to a block")
        .help(format!("write `let {shown} = …` for a constant, or move it into a block"))
}

/// `a -> b` at the top level.
pub(super) fn edge_outside(span: Span) -> Diagnostic {
    OUTSIDE_A_BLOCK.at(span, "an edge stands outside of any machine").help("move it into a `machine` block")
}

fn is_reserved(kind: u8) -> bool {
    matches!(kind, kind::AND | kind::OR | kind::NOT | kind::IN | kind::IF | kind::BOOLEAN)
}

fn begins_value(kind: u8) -> bool {
    is_word(kind)
        || matches!(
            kind,
            kind::STRING
                | kind::NUMBER
                | kind::DURATION
                | kind::BOOLEAN
                | kind::FORMAT
                | kind::OPEN_LIST
                | kind::OPEN_BRACE
        )
}

fn is_operator(rule: Rule) -> bool {
    matches!(rule, Rule::operator | Rule::bar | Rule::optional)
}

/// What an author would have typed for a rule.
fn describe(rule: Rule) -> &'static str {
    match rule {
        Rule::EOI => "the end",
        Rule::name => "a name",
        Rule::title => "a name in quotes",
        Rule::path => "a path in quotes",
        Rule::text => "a string",
        Rule::number => "a whole number",
        Rule::assign => "`=`",
        Rule::colon => "`:`",
        Rule::comma => "`,`",
        Rule::bar => "`|`",
        Rule::arrow => "`->`",
        Rule::among => "`in`",
        Rule::open | Rule::body => "`{`",
        Rule::close => "`}`",
        Rule::separator => "a line break",
        Rule::open_paren => "`(`",
        Rule::close_paren => "`)`",
        Rule::close_list => "`]`",
        Rule::close_hole => "`}`",
        Rule::optional => "`?`",
        Rule::operator => "an operator",
        Rule::block
        | Rule::head
        | Rule::param
        | Rule::constant
        | Rule::unroll
        | Rule::unroll_head
        | Rule::template
        | Rule::template_head
        | Rule::apply
        | Rule::import => "a declaration",
        Rule::member | Rule::field => "a field",
        Rule::edge => "an edge",
        Rule::condition => "`if`",
        Rule::label => "`label`",
        Rule::weight => "`weight`",
        Rule::default => "`default`",
        Rule::parameter => "a name",
        Rule::argument | Rule::given => "an argument",
        Rule::value
        | Rule::operand
        | Rule::atom
        | Rule::list
        | Rule::braces
        | Rule::group
        | Rule::format
        | Rule::chunk
        | Rule::hole => "a value",
        Rule::entry | Rule::record_field => "a key",
        Rule::type_of | Rule::single | Rule::type_term | Rule::type_text | Rule::type_list | Rule::record => {
            "a type"
        }
        Rule::one_block
        | Rule::one_blocks
        | Rule::one_head
        | Rule::one_param
        | Rule::one_constant
        | Rule::one_unroll
        | Rule::one_template
        | Rule::one_apply
        | Rule::one_import
        | Rule::one_field
        | Rule::one_edge
        | Rule::one_entry
        | Rule::one_value
        | Rule::one_values => "a declaration",
    }
}
