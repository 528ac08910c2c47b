//! Groups of members to lines.
//!
//! Whether a group stays on one line depends on where it stood and on how wide it is before anything is
//! aligned, so that formatting again changes nothing.

use crate::syntax::kind;

use super::tree::{Group, Member, Members, Piece};

/// How wide a line may be before what is on it is broken up.
const WIDTH: usize = 110;

/// Blanks a level.
const INDENT: usize = 4;

/// The lines of a whole file.
pub(super) fn file(members: &Members<'_>) -> String {
    let mut out = String::new();
    lines(&mut out, members, 0, "", true);
    out
}

/// A member, laid out but not aligned.
struct Laid {
    text: String,
    shape: Shape,
    /// Places in its first line that may be moved to the right, in order.
    stops: Vec<usize>,
}

/// What may be aligned with what.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// `name = value`.
    Field,
    /// A block on one line.
    Block,
    /// An edge.
    Edge,
    Other,
}

/// Adds each member on lines of its own, `separator` behind each. `aligned` says whether fields line up.
fn lines(out: &mut String, members: &Members<'_>, indent: usize, separator: &str, aligned: bool) {
    let mut laid: Vec<Laid> = Vec::with_capacity(members.list.len());
    for (index, member) in members.list.iter().enumerate() {
        let mut one = lay(member, indent);
        // A list may end in a comma, arguments may not.
        if separator == "," || (separator == ", " && index + 1 < members.list.len()) {
            one.text.push(',');
        }
        laid.push(one);
    }
    if aligned {
        align(&members.list, &mut laid);
    }
    let columns = comment_columns(&members.list, &laid, indent);
    let mut first = true;
    for ((member, laid), column) in members.list.iter().zip(&laid).zip(columns) {
        for remark in &member.above {
            line(out, remark.text, indent, remark.blank && !first);
            first = false;
        }
        line(out, &laid.text, indent, member.blank && !first);
        first = false;
        if let Some(comment) = member.behind {
            out.pop();
            pad(out, column.saturating_sub(last_width(&laid.text, indent)));
            out.push_str(comment);
            out.push('\n');
        }
    }
    for remark in &members.tail {
        line(out, remark.text, indent, remark.blank && !first);
        first = false;
    }
}

fn line(out: &mut String, text: &str, indent: usize, blank: bool) {
    if blank {
        out.push('\n');
    }
    pad(out, indent * INDENT);
    out.push_str(text);
    out.push('\n');
}

fn pad(out: &mut String, blanks: usize) {
    out.extend(std::iter::repeat_n(' ', blanks));
}

/// The width of the last line of a member.
fn last_width(text: &str, indent: usize) -> usize {
    match text.rfind('\n') {
        Some(at) => text[at + 1..].chars().count(),
        None => indent * INDENT + text.chars().count(),
    }
}

// ---- Alignment ----------------------------------------------------------------------------------------

/// Moves the stops of neighbours of one shape to common columns. A blank line ends a neighbourhood, and so
/// does a member of more lines, which may still end one.
fn align(members: &[Member<'_>], laid: &mut [Laid]) {
    let mut start = 0;
    while start < laid.len() {
        let shape = laid[start].shape;
        let mut end = start + 1;
        while end < laid.len()
            && laid[end].shape == shape
            && !laid[end - 1].text.contains('\n')
            && !members[end].blank
            && !members[end].above.iter().any(|remark| remark.blank)
        {
            end += 1;
        }
        if shape != Shape::Other {
            align_run(&mut laid[start..end]);
        }
        start = end;
    }
}

fn align_run(run: &mut [Laid]) {
    let stops = run.iter().map(|laid| laid.stops.len()).max().unwrap_or(0);
    for stop in 0..stops {
        let width = |laid: &Laid| laid.stops.get(stop).map(|&at| laid.text[..at].chars().count());
        let column = run.iter().filter_map(width).max().unwrap_or(0);
        for laid in run.iter_mut() {
            let Some(width) = width(laid) else { continue };
            let blanks = column - width;
            laid.text.insert_str(laid.stops[stop], &" ".repeat(blanks));
            for at in &mut laid.stops[stop..] {
                *at += blanks;
            }
        }
    }
}

/// For each member, the column at which a comment behind it stands: one for all comments in lines that
/// follow each other.
fn comment_columns(members: &[Member<'_>], laid: &[Laid], indent: usize) -> Vec<usize> {
    let mut columns = vec![0; members.len()];
    let mut start = 0;
    while start < members.len() {
        let mut end = start + 1;
        if members[start].behind.is_some() {
            while end < members.len()
                && members[end].behind.is_some()
                && members[end].above.is_empty()
                && !members[end].blank
                && !laid[end].text.contains('\n')
            {
                end += 1;
            }
            let width = laid[start..end].iter().map(|laid| last_width(&laid.text, indent)).max().unwrap_or(0);
            columns[start..end].fill(width + 2);
        }
        start = end;
    }
    columns
}

// ---- One member ---------------------------------------------------------------------------------------

fn lay(member: &Member<'_>, indent: usize) -> Laid {
    let pieces = &member.pieces;
    let shape = shape_of(pieces);
    let mut writer = Writer { text: String::new(), column: indent * INDENT };
    let mut stops = Vec::new();
    // What is left of the line from a piece on, as far as it stays on one line.
    let mut rest = vec![0; pieces.len() + 1];
    for (index, piece) in pieces.iter().enumerate().rev() {
        rest[index] = match piece.flat() {
            Some(flat) => flat + usize::from(piece.spaced) + rest[index + 1],
            None => usize::from(piece.group.is_some()),
        };
    }
    let mut broken = false;
    for (index, piece) in pieces.iter().enumerate() {
        if let Some(remark) = piece.remark {
            writer.push("  ");
            writer.push(remark);
        }
        for remark in &piece.above {
            writer.new_line(indent + 1);
            writer.push(remark);
        }
        let commented = piece.remark.is_some() || !piece.above.is_empty();
        let moved = index > 0 && is_operator(piece, pieces.get(index + 1)) && {
            let plain = |next: &&Piece<'_>| next.remark.is_none() && next.above.is_empty();
            piece.breaks || pieces.get(index + 1).filter(plain).is_some_and(|next| next.breaks)
        };
        if commented || (moved && !broken_before(&writer)) {
            writer.new_line(indent + 1);
            broken = true;
        } else if piece.spaced {
            writer.push(" ");
        }
        if !broken && stops_at(shape, pieces, index) {
            stops.push(writer.text.len());
        }
        match &piece.group {
            Some(group) if !writer.fits(group.flat, rest[index + 1]) => writer.expanded(piece, group, indent),
            Some(group) => flat(&mut writer, piece, group),
            None => writer.verbatim(piece.text),
        }
    }
    let one_line = !writer.text.contains('\n');
    let shape = if shape == Shape::Block && !one_line { Shape::Other } else { shape };
    Laid { text: writer.text, shape, stops }
}

fn broken_before(writer: &Writer) -> bool {
    writer.text.trim_end_matches(' ').ends_with('\n')
}

fn shape_of(pieces: &[Piece<'_>]) -> Shape {
    match pieces {
        [key, assign, _, ..] if assign.first == kind::ASSIGN => match key.first {
            kind::FIELD | kind::STRING => Shape::Field,
            _ => Shape::Other,
        },
        [word, _, .., body] if is_block(word.first) && body.first == kind::OPEN_BRACE => Shape::Block,
        [node, ..] if node.first == kind::NODE => Shape::Edge,
        _ => Shape::Other,
    }
}

fn is_block(kind: u8) -> bool {
    matches!(kind, kind::PLAN | kind::TASK | kind::VERIFY | kind::BLOCK | kind::GROUP | kind::QUESTION)
}

/// Whether the piece is one that alignment may move.
fn stops_at(shape: Shape, pieces: &[Piece<'_>], index: usize) -> bool {
    match shape {
        Shape::Field => index == 1,
        Shape::Block => index == 1 || index + 1 == pieces.len(),
        Shape::Edge => {
            let clause = |piece: &Piece<'_>| {
                matches!(piece.first, kind::IF | kind::LABEL | kind::WEIGHT | kind::DEFAULT)
            };
            index == 1
                || (clause(&pieces[index])
                    && pieces[index - 1].first != kind::ARROW
                    && !pieces[2..index].iter().any(clause))
        }
        Shape::Other => false,
    }
}

/// Whether a line may break before the piece: at an operator, `not` being one before `in` only.
fn is_operator(piece: &Piece<'_>, next: Option<&Piece<'_>>) -> bool {
    match piece.first {
        kind::NOT => next.is_some_and(|next| next.first == kind::IN),
        kind::PLUS | kind::COMPARE | kind::AND | kind::OR | kind::BAR | kind::ARROW => true,
        _ => false,
    }
}

/// Adds a group on one line.
fn flat(writer: &mut Writer, piece: &Piece<'_>, group: &Group<'_>) {
    let (open, close) = brackets(piece);
    writer.push(open);
    if !group.members.list.is_empty() {
        let blank = if piece.first == kind::OPEN_BRACE { " " } else { "" };
        writer.push(blank);
        for (index, member) in group.members.list.iter().enumerate() {
            if index > 0 {
                writer.push(", ");
            }
            for piece in &member.pieces {
                if piece.spaced {
                    writer.push(" ");
                }
                match &piece.group {
                    Some(group) => flat(writer, piece, group),
                    None => writer.push(piece.text),
                }
            }
        }
        writer.push(blank);
    }
    writer.push(close);
}

fn brackets(piece: &Piece<'_>) -> (&'static str, &'static str) {
    match piece.first {
        kind::OPEN_BRACE => ("{", "}"),
        kind::OPEN_LIST => ("[", "]"),
        _ => ("(", ")"),
    }
}

/// Text, and the column behind it.
struct Writer {
    text: String,
    column: usize,
}

impl Writer {
    /// Adds text without line breaks.
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.column += text.chars().count();
    }

    /// Adds a token as it was written, its line ends aside.
    fn verbatim(&mut self, text: &str) {
        match text.rfind('\n') {
            None => self.push(text),
            Some(last) => {
                self.text.push_str(&text.replace("\r\n", "\n"));
                self.column = text[last + 1..].chars().count();
            }
        }
    }

    fn new_line(&mut self, indent: usize) {
        self.text.push('\n');
        pad(&mut self.text, indent * INDENT);
        self.column = indent * INDENT;
    }

    fn fits(&self, flat: Option<usize>, rest: usize) -> bool {
        flat.is_some_and(|flat| flat == 2 || self.column + flat + rest <= WIDTH)
    }

    /// Adds a group with each member on lines of its own.
    fn expanded(&mut self, piece: &Piece<'_>, group: &Group<'_>, indent: usize) {
        let (open, close) = brackets(piece);
        let (separator, aligned) = match piece.first {
            kind::OPEN_BRACE => ("", true),
            kind::OPEN_LIST if group.type_list => ("", false),
            kind::OPEN_LIST => (",", false),
            _ => (", ", false),
        };
        self.push(open);
        if let Some(comment) = group.members.opening {
            self.push("  ");
            self.push(comment);
        }
        self.text.push('\n');
        lines(&mut self.text, &group.members, indent + 1, separator, aligned);
        pad(&mut self.text, indent * INDENT);
        self.column = indent * INDENT;
        self.push(close);
    }
}
