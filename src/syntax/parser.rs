//! Tokens to the tree: pest on one member at a time, and where that fails, on the parts of the member, so
//! that every part that is wrong is reported and every part that is right is kept.
//!
//! Alone in knowing pest's entry points. What an error says is decided in `errors.rs`.

use pest::Parser as _;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pairs;

use crate::diag::Diagnostic;
use crate::source::Spanned;

use super::ast::{
    Ast, Block, Body, Broken, Expr, ExprKind, Field, For, Ident, Item, Let, Member, Name, Template,
};
use super::build::{Braced, Builder};
use super::errors::{self, AFTER_ELEMENT, AFTER_ENTRY, AFTER_HEAD, AFTER_MEMBER, Around, Failure};
use super::lexer::{FINDINGS_LIMIT, Lexed, offset, word_end};
use super::split::{self, Cut};
use super::strings;
use super::tokens::{Tokens, is_word, kind};

pub(super) use grammar::Rule;

mod grammar {
    //! What the derive makes of `grammar/plan.pest`.

    #[derive(pest_derive::Parser)]
    #[grammar = "grammar/plan.pest"]
    pub(in crate::syntax) struct Grammar;
}

/// A member of more tokens than this is parsed in parts even if it is right: what pest keeps about a match
/// is several times the match.
const WHOLE: usize = 4096;

/// Blocks are parsed together up to so many tokens: setting up a match costs as much as a small block.
const RUN: usize = 512;

/// No match is tried of more tokens than this.
const LONGEST: usize = 1_000_000;

/// How many levels of blocks or brackets are taken apart to find more than one error in a member.
const LEVELS: u32 = 8;

/// Parses all tokens of a file. What is wrong is reported beside the tree.
pub(super) fn file(text: &str, lexed: &Lexed) -> (Ast, Vec<Diagnostic>) {
    let builder = Builder {
        text,
        tokens: &lexed.tokens,
        comments: &lexed.comments,
        docs: &lexed.docs,
        broken: &lexed.broken,
        findings: Vec::new(),
        base: 0,
    };
    // The lexer's findings come in order of place.
    let trouble = lexed.findings.iter().map(|finding| finding.span.start).collect();
    let mut parser = Parser { builder, tokens: &lexed.tokens, trouble };
    let members = parser.members(0, lexed.tokens.len(), Level { top: true, apart: 0 });
    let items = members.into_iter().filter_map(|member| parser.top(member)).collect();
    (Ast { items }, parser.builder.findings)
}

/// Where a member stands.
#[derive(Clone, Copy)]
struct Level {
    /// Whether it belongs to the file itself.
    top: bool,
    /// How much around it was taken apart.
    apart: u32,
}

impl Level {
    fn inside(self) -> Self {
        Self { top: false, ..self }
    }

    fn apart(self) -> Self {
        Self { top: false, apart: self.apart + 1 }
    }
}

struct Parser<'a> {
    builder: Builder<'a>,
    tokens: &'a Tokens,
    /// Where the lexer found something wrong, in order: what is odd around there is no second error.
    trouble: Vec<u32>,
}

impl<'a> Parser<'a> {
    // ---- Members ----------------------------------------------------------------------------------

    /// What a member of the file itself declares.
    fn top(&mut self, member: Member) -> Option<Item> {
        let (span, finding) = match member {
            Member::Item(item) => return Some(item),
            Member::Field(field) => (field.name.span, errors::field_outside(&field.name)),
            Member::Edge(edge) => (edge.span, errors::edge_outside(edge.span)),
        };
        if !self.is_troubled(span.start, span.end) {
            self.builder.findings.push(finding);
        }
        None
    }

    /// The members between two tokens, a run of small blocks at a time; and one by one where they do not
    /// match.
    fn members(&mut self, start: usize, end: usize, level: Level) -> Vec<Member> {
        let cuts = self.cuts(start, end);
        let mut members = Vec::with_capacity(cuts.len());
        let mut rest = cuts.as_slice();
        while let [first, ..] = rest
            && !self.is_full()
        {
            let small = |cut: &&Cut| {
                split::names_a_block(self.tokens.kind(cut.start))
                    && !cut.joined
                    && cut.body.is_some()
                    && cut.end - first.start <= RUN
            };
            let (run, behind) = rest.split_at(rest.iter().take_while(small).count().max(1));
            rest = behind;
            let last = run.last().unwrap_or(first);
            let matched = run.len() > 1;
            let matched = matched.then(|| self.parse(Rule::one_blocks, first.start, last.end));
            match matched {
                Some(Ok(pairs)) => {
                    let blocks = pairs.filter(|pair| pair.as_rule() == Rule::block);
                    members.extend(blocks.filter_map(|pair| self.builder.member(pair)));
                }
                _ => members.extend(run.iter().map(|cut| self.member(*cut, level))),
            }
        }
        members
    }

    /// Whether so much was found that reading on tells nobody anything.
    fn is_full(&self) -> bool {
        self.builder.findings.len() > FINDINGS_LIMIT
    }

    /// The members between two tokens. A body that opens on a line of its own is put to the head above it.
    fn cuts(&mut self, start: usize, end: usize) -> Vec<Cut> {
        let mut cuts = split::members(self.tokens, start, end);
        let tokens = self.tokens;
        let parted = |head: &Cut, body: &Cut| {
            let first = tokens.kind(head.start);
            let takes_body = split::names_a_block(first) || matches!(first, kind::FOR | kind::TEMPLATE);
            takes_body && head.body.is_none() && body.body == Some(body.start)
        };
        if cuts.windows(2).any(|pair| parted(&pair[0], &pair[1])) {
            let mut whole: Vec<Cut> = Vec::with_capacity(cuts.len());
            for cut in cuts {
                match whole.last_mut() {
                    Some(head) if parted(head, &cut) => {
                        let failure = Failure::at(head.end, Rule::open);
                        let (start, end) = (head.start, head.end);
                        *head = Cut { end: cut.end, body: cut.body, ..*head };
                        self.fail(start, end, AFTER_MEMBER, &failure);
                    }
                    _ => whole.push(cut),
                }
            }
            cuts = whole;
        }
        cuts
    }

    /// What is between the braces of `cut`.
    fn body(&mut self, cut: Cut, level: Level) -> Body {
        let Some(open) = cut.body else { return Body::default() };
        let members = self.members(open + 1, cut.end - 1, level);
        Body { members, span: self.builder.range(open, cut.end) }
    }

    fn member(&mut self, cut: Cut, level: Level) -> Member {
        self.joined(cut, AFTER_MEMBER);
        match self.tokens.kind(cut.start) {
            kind::GROUP => self.block_in_parts(cut, level.inside()),
            kind::PLAN | kind::CONTINUE | kind::TASK | kind::VERIFY | kind::BLOCK | kind::QUESTION => {
                self.block(cut, level)
            }
            kind::FOR => self.unroll(cut, level.inside()),
            kind::TEMPLATE => self.template(cut, level.inside()),
            kind::PARAM => self.param(cut, level),
            kind::LET => self.constant(cut, level),
            kind::USE => self.whole(Rule::one_apply, cut),
            kind::IMPORT => self.whole(Rule::one_import, cut),
            kind::NODE => self.whole(Rule::one_edge, cut),
            kind::FIELD => self.field(cut, level),
            first if is_word(first) && (level.top || split::looks_like_block(self.tokens, cut)) => {
                self.unknown(cut, level)
            }
            first if is_word(first) => self.whole(Rule::one_field, cut),
            _ => {
                let expected = if level.top { Rule::block } else { Rule::member };
                self.fail(cut.start, cut.end, AFTER_MEMBER, &Failure::at(cut.start, expected));
                self.broken(cut)
            }
        }
    }

    /// Reports that nothing separates a member from the one before.
    fn joined(&mut self, cut: Cut, after: &'static str) {
        if cut.joined {
            let finding = self.around(cut.start, after).joined(cut.start);
            self.report(cut.start, cut.start + 1, finding);
        }
    }

    /// A member that is matched as a whole, or not at all.
    fn whole(&mut self, rule: Rule, cut: Cut) -> Member {
        self.try_whole(rule, cut).unwrap_or_else(|failure| {
            self.fail(cut.start, cut.end, AFTER_MEMBER, &failure);
            self.broken(cut)
        })
    }

    fn try_whole(&mut self, rule: Rule, cut: Cut) -> Result<Member, Failure> {
        let mut pairs = self.parse(rule, cut.start, cut.end)?;
        let member = pairs.next().and_then(|pair| self.builder.member(pair));
        Ok(member.unwrap_or_else(|| self.broken(cut)))
    }

    fn block(&mut self, cut: Cut, level: Level) -> Member {
        let last = level.apart >= LEVELS || cut.body.is_none();
        if last {
            return self.whole(Rule::one_block, cut);
        }
        if cut.end - cut.start <= WHOLE
            && cut.body.is_none_or(|body| self.tokens.kind(body - 1) != kind::BREAK)
            && let Ok(member) = self.try_whole(Rule::one_block, cut)
        {
            return member;
        }
        self.block_in_parts(cut, level.apart())
    }

    /// A block whose members are parsed one by one.
    fn block_in_parts(&mut self, cut: Cut, level: Level) -> Member {
        if cut.body.is_none() {
            return self.whole(Rule::one_block, cut);
        }
        let name = match self.head(Rule::one_head, cut) {
            Some(mut pairs) => Some(self.builder.block_name(&mut pairs)),
            None => self.declared(cut).map(|name| Some(Name::Ident(name))),
        };
        let body = self.body(cut, level);
        match (self.builder.keyword(cut.start), name) {
            (Some(keyword), Some(name)) => Member::Item(Item::Block(Box::new(Block {
                doc: self.builder.doc(cut.start),
                keyword,
                name,
                body,
                span: self.builder.range(cut.start, cut.end),
            }))),
            _ => self.broken(cut),
        }
    }

    fn unroll(&mut self, cut: Cut, level: Level) -> Member {
        let span = self.builder.range(cut.start, cut.end);
        let head = self.head(Rule::one_unroll, cut);
        let head = head.and_then(|mut pairs| self.builder.unroll_head(&mut pairs));
        let unknown = Expr { kind: ExprKind::Broken, span };
        let head = head.or_else(|| self.declared(cut).map(|variable| (variable, unknown)));
        let body = self.body(cut, level);
        match head {
            Some((variable, list)) if cut.body.is_some() => {
                Member::Item(Item::For(Box::new(For { variable, list, body, span })))
            }
            _ => self.broken(cut),
        }
    }

    fn template(&mut self, cut: Cut, level: Level) -> Member {
        let span = self.builder.range(cut.start, cut.end);
        let head = self.head(Rule::one_template, cut);
        let head = head.and_then(|mut pairs| self.builder.template_head(&mut pairs));
        let body = self.body(cut, level);
        match head {
            Some((name, arguments)) if cut.body.is_some() => {
                let doc = self.builder.doc(cut.start);
                Member::Item(Item::Template(Box::new(Template { doc, name, arguments, body, span })))
            }
            _ => self.broken(cut),
        }
    }

    fn constant(&mut self, cut: Cut, level: Level) -> Member {
        let assigned = cut.end > cut.start + 2 && self.tokens.kind(cut.start + 1) == kind::FIELD;
        if !assigned {
            return self.whole(Rule::one_constant, cut);
        }
        let value = self.value(cut.start + 3, cut.end, AFTER_MEMBER, level);
        let span = self.builder.range(cut.start, cut.end);
        Member::Item(Item::Let(Box::new(Let { name: self.builder.ident(cut.start + 1), value, span })))
    }

    fn param(&mut self, cut: Cut, level: Level) -> Member {
        let whole = self.try_whole(Rule::one_param, cut);
        match (whole, cut.body) {
            (Ok(member), _) => member,
            (Err(failure), None) => {
                self.fail(cut.start, cut.end, AFTER_MEMBER, &failure);
                self.broken(cut)
            }
            // What closes last may be a default, and no body.
            (Err(failure), Some(open)) => {
                let found = self.builder.findings.len();
                let head = self.parse(Rule::one_param, cut.start, open);
                let Ok(mut pairs) = head else {
                    self.fail(cut.start, cut.end, AFTER_MEMBER, &failure);
                    return self.broken(cut);
                };
                let member = pairs.next().and_then(|pair| self.builder.member(pair));
                let body = self.body(cut, level.apart());
                if self.builder.findings.len() == found {
                    self.fail(cut.start, cut.end, AFTER_MEMBER, &failure);
                }
                match member {
                    Some(Member::Item(Item::Param(mut param))) => {
                        param.span = param.span.to(body.span);
                        param.body = Some(body);
                        Member::Item(Item::Param(param))
                    }
                    _ => self.broken(cut),
                }
            }
        }
    }

    /// A block with a word that declares nothing: what is in it is still read.
    fn unknown(&mut self, cut: Cut, level: Level) -> Member {
        let word = self.builder.ident(cut.start);
        self.report(cut.start, cut.start + 1, errors::unknown_declaration(&word));
        if split::looks_like_block(self.tokens, cut) && level.apart < LEVELS {
            self.body(cut, level.apart());
        }
        self.broken(cut)
    }

    fn field(&mut self, cut: Cut, level: Level) -> Member {
        let value = self.value(cut.start + 2, cut.end, AFTER_MEMBER, level);
        Member::Field(Field { name: self.builder.ident(cut.start), value })
    }

    // ---- Values -----------------------------------------------------------------------------------

    /// The value between two tokens. Where it is a list or braces that do not match, each part is tried.
    fn value(&mut self, start: usize, end: usize, after: &'static str, level: Level) -> Expr {
        let parts = level.apart < LEVELS && end > start + 1;
        let list = parts && self.encloses(start, end, kind::OPEN_LIST);
        let braces = parts && self.encloses(start, end, kind::OPEN_BRACE);
        let mut failed = None;
        if end - start <= WHOLE || !(list || braces) {
            match self.parse(Rule::one_value, start, end) {
                Ok(mut pairs) => {
                    let value = pairs.next().map(|pair| self.builder.value(pair));
                    return value.unwrap_or_else(|| self.no_value(start, end));
                }
                Err(failure) => failed = Some(failure),
            }
        }
        let found = self.builder.findings.len();
        let value = match (list, braces) {
            (true, _) => self.elements(start, end, level.apart()),
            (_, true) => self.entries(start, end, level.apart()),
            _ => self.no_value(start, end),
        };
        if let Some(failure) = failed
            && self.builder.findings.len() == found
        {
            self.fail(start, end, after, &failure);
            return self.no_value(start, end);
        }
        value
    }

    fn no_value(&self, start: usize, end: usize) -> Expr {
        Expr { kind: ExprKind::Broken, span: self.builder.range(start, end) }
    }

    /// Whether the tokens are one pair of brackets and what it holds.
    fn encloses(&self, start: usize, end: usize, open: u8) -> bool {
        self.tokens.kind(start) == open && split::closing(self.tokens, start) == end - 1
    }

    /// A list, a run of elements at a time; and one by one where they do not match.
    fn elements(&mut self, start: usize, end: usize, level: Level) -> Expr {
        let mut values = Vec::new();
        for run in split::runs(self.tokens, start + 1, end - 1, WHOLE / 4) {
            if self.is_full() {
                break;
            }
            if let Ok(pairs) = self.parse(Rule::one_values, run.start, run.end) {
                for pair in pairs.filter(|pair| pair.as_rule() == Rule::value) {
                    values.push(self.builder.value(pair));
                }
            } else {
                for element in split::runs(self.tokens, run.start, run.end, 1) {
                    let comma = self.tokens.kind(element.end - 1) == kind::COMMA;
                    let end = element.end - usize::from(comma);
                    values.push(self.value(element.start, end, AFTER_ELEMENT, level));
                }
            }
        }
        Expr { kind: ExprKind::List(values), span: self.builder.range(start, end) }
    }

    /// A map or a record, entry by entry.
    fn entries(&mut self, start: usize, end: usize, level: Level) -> Expr {
        let found = self.builder.findings.len();
        let mut entries = Vec::new();
        let mut broken = false;
        for cut in split::members(self.tokens, start + 1, end - 1) {
            if self.is_full() {
                break;
            }
            self.joined(cut, AFTER_ENTRY);
            let entry = self.entry(cut, level);
            broken |= entry.is_none();
            entries.extend(entry);
        }
        let span = self.builder.range(start, end);
        if broken || self.builder.findings.len() > found {
            return Expr { kind: ExprKind::Broken, span };
        }
        Expr { kind: self.builder.braces(entries), span }
    }

    fn entry(&mut self, cut: Cut, level: Level) -> Option<Braced> {
        let failure = match self.parse(Rule::one_entry, cut.start, cut.end) {
            Ok(mut pairs) => return pairs.next().and_then(|pair| self.builder.entry(pair)),
            Err(failure) => failure,
        };
        if self.tokens.kind(cut.start + 1) == kind::ASSIGN && cut.end > cut.start + 2 {
            self.value(cut.start + 2, cut.end, AFTER_ENTRY, level);
        } else {
            self.fail(cut.start, cut.end, AFTER_ENTRY, &failure);
        }
        None
    }

    // ---- Pieces -----------------------------------------------------------------------------------

    /// What stands before the body of `cut`; `None` once its error is reported.
    fn head(&mut self, rule: Rule, cut: Cut) -> Option<Pairs<'a, Rule>> {
        let mut end = cut.body.unwrap_or(cut.end);
        if self.tokens.kind(end - 1) == kind::BREAK {
            end -= 1;
        }
        let failure = match self.parse(rule, cut.start, end) {
            Ok(_) if cut.body.is_none() => Failure::at(cut.end, Rule::open),
            Ok(pairs) => return Some(pairs),
            Err(failure) => failure,
        };
        self.fail(cut.start, end, AFTER_HEAD, &failure);
        None
    }

    /// The name that a declaration gives, as far as it can be told.
    fn declared(&self, cut: Cut) -> Option<Ident> {
        let token = cut.start + 1;
        if token >= cut.end {
            return None;
        }
        match self.tokens.kind(token) {
            kind if is_word(kind) => Some(self.builder.ident(token)),
            kind::STRING => {
                let name = strings::meaning(self.builder.written(token));
                let plain = word_end(name.as_bytes(), 0) == name.len()
                    && !name.starts_with(|c: char| c.is_ascii_digit())
                    && !name.is_empty();
                plain.then(|| Spanned::new(name, self.tokens.span(token)))
            }
            _ => None,
        }
    }

    fn broken(&self, cut: Cut) -> Member {
        let keyword = self.builder.keyword(cut.start);
        let span = self.builder.range(cut.start, cut.end);
        // `use` names what another declares, and the variable of a loop is no name outside it.
        let name = match self.tokens.kind(cut.start) {
            kind::USE | kind::IMPORT | kind::FOR => None,
            _ => self.declared(cut),
        };
        Member::Item(Item::Broken(Broken { keyword, name, span }))
    }

    /// Matches the tokens from `start` to `end` with a rule that begins with `one_`.
    fn parse(&mut self, rule: Rule, start: usize, end: usize) -> Result<Pairs<'a, Rule>, Failure> {
        if end - start > LONGEST {
            return Err(Failure { at: start, expected: Vec::new(), long: true });
        }
        self.builder.base = start;
        let tokens: &'a Tokens = self.tokens;
        let tokens = tokens.kinds.get(start..end).unwrap_or_default();
        grammar::Grammar::parse(rule, tokens).map_err(|error| {
            let at = match error.location {
                InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
            };
            let expected = match error.variant {
                ErrorVariant::ParsingError { positives, .. } => positives,
                ErrorVariant::CustomError { .. } => Vec::new(),
            };
            Failure { at: start + at, expected, long: false }
        })
    }

    fn around(&self, start: usize, after: &'static str) -> Around<'_> {
        Around { text: self.builder.text, tokens: self.tokens, start, after }
    }

    fn fail(&mut self, start: usize, end: usize, after: &'static str, failure: &Failure) {
        let finding = self.around(start, after).unexpected(failure);
        self.report(start, end, finding);
    }

    /// Adds a finding about the tokens from `start` to `end`, unless the lexer found something there.
    fn report(&mut self, start: usize, end: usize, finding: Diagnostic) {
        let from = start.checked_sub(1).map_or(0, |before| self.tokens.span(before).end);
        let mut next = end;
        if self.tokens.kind(next) == kind::BREAK {
            next += 1;
        }
        let to = match self.tokens.kind(next) {
            0 => offset(self.builder.text.len()),
            _ => self.tokens.span(next).start,
        };
        if !self.is_troubled(from, to.max(from + 1)) {
            self.builder.findings.push(finding);
        }
    }

    /// Whether the lexer found something between two places.
    fn is_troubled(&self, from: u32, to: u32) -> bool {
        let first = self.trouble.partition_point(|&at| at < from);
        self.trouble.get(first).is_some_and(|&at| at < to)
    }
}
