//! `plan reference [WORD]`: the language's blocks, fields and reserved names, from their table.

use std::fmt::Write;

use super::text::{columns, wrapped};
use super::{Answer, Exit, Failure, print};
use crate::diag::suggest;
use crate::reference::{Block, Field, Keyword, Kind, markdown, table};

/// Look up a declaration, a kind of task, a field or a reserved name
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    plan reference                  list the declarations and the kinds of tasks\n  \
    plan reference command          the fields of a command\n  \
    plan reference depends_on       one field\n  \
    plan reference --markdown       the whole reference as a page")]
pub(super) struct Arguments {
    /// What to look up.
    word: Option<String>,
    /// Print Markdown: the page of WORD, or the whole reference.
    #[arg(long)]
    markdown: bool,
}

/// Prints the row, or the list.
pub(super) fn run(arguments: &Arguments) -> Answer {
    let page = match (&arguments.word, arguments.markdown) {
        (None, true) => markdown::render(),
        (None, false) => list(),
        (Some(word), true) => match Keyword::parse(word) {
            Some(keyword) => markdown::block(Block::of(keyword)).trim_start().to_owned(),
            None => return Err(unknown(word, &Keyword::ALL.map(Keyword::as_str))),
        },
        (Some(word), false) => look_up(word)?,
    };
    print(page)?;
    Ok(Exit::Good)
}

fn list() -> String {
    let rows = |task: bool| {
        let blocks = table::BLOCKS.iter().filter(|block| block.keyword.is_task() == task);
        let rows: Vec<_> =
            blocks.map(|block| [block.keyword.as_str().to_owned(), block.doc.to_owned()]).collect();
        columns(&rows)
    };
    let functions: Vec<_> =
        table::FUNCTIONS.iter().map(|row| [row.form.to_owned(), row.doc.to_owned()]).collect();
    format!(
        "Declarations\n{}\nTasks\n{}\nFunctions\n{}\n`plan reference WORD` says more of one.\n",
        rows(false),
        rows(true),
        columns(&functions)
    )
}

fn look_up(word: &str) -> Result<String, Failure> {
    let mut page = String::new();
    if let Some(keyword) = Keyword::parse(word) {
        page.push_str(&block(Block::of(keyword)));
    }
    for (field, owners) in fields(word) {
        if !page.is_empty() {
            page.push('\n');
        }
        let _ = writeln!(page, "field `{}` of {owners}\n", field.name);
        page.push_str(&wrapped(field.doc));
        let _ = writeln!(page, "\n  {}; {}", field.kind.describe(), default(field));
        if let Kind::Map(keys) = field.kind {
            let _ = write!(page, "\n{}", rows(keys));
        }
    }
    for (field, key) in keys(word) {
        let _ = writeln!(page, "{}key `{}` of `{}`\n", gap(&page), key.name, field.name);
        page.push_str(&wrapped(key.doc));
        let _ = writeln!(page, "\n  {}; {}", key.kind.describe(), default(key));
    }
    let words = [("type", &table::TYPES), ("word of a machine's edges", &table::EDGE_WORDS)];
    for (what, rows) in words {
        for (name, doc) in rows.iter().filter(|(name, _)| *name == word) {
            let _ = writeln!(page, "{}{what} `{name}`\n", gap(&page));
            page.push_str(&wrapped(doc));
        }
    }
    let reserved = table::RESERVED_NAMES.iter().chain(&table::RESULT_FIELDS);
    for row in reserved.filter(|row| row.name.split(", ").any(|name| name == word)) {
        let _ = writeln!(page, "{}reserved name `{word}`\n", gap(&page));
        page.push_str(&wrapped(row.doc));
    }
    for row in table::FUNCTIONS.iter().filter(|row| row.form.split('(').next() == Some(word)) {
        let _ = writeln!(page, "{}function `{}`\n", gap(&page), row.form);
        page.push_str(&wrapped(row.doc));
    }
    if page.is_empty() {
        let mut names: Vec<&str> = Keyword::ALL.iter().map(|keyword| keyword.as_str()).collect();
        names.extend(table::BLOCKS.iter().flat_map(|block| block.all_fields(true)).map(|field| field.name));
        names.extend(table::RESERVED_NAMES.iter().map(|row| row.name));
        names.extend(table::TYPES.iter().chain(&table::EDGE_WORDS).map(|(name, _)| *name));
        return Err(unknown(word, &names));
    }
    Ok(page)
}

/// What separates two parts of a page.
fn gap(page: &str) -> &'static str {
    if page.is_empty() { "" } else { "\n" }
}

/// The keys of maps that are called `word`, or `field.key`, each with its field.
fn keys(word: &str) -> Vec<(&'static Field, &'static Field)> {
    let (owner, name) = word.split_once('.').map_or((None, word), |(owner, name)| (Some(owner), name));
    let mut found: Vec<(&'static Field, &'static Field)> = Vec::new();
    for field in table::BLOCKS.iter().flat_map(|block| block.all_fields(false)) {
        let Kind::Map(keys) = field.kind else { continue };
        let key = keys.iter().copied().find(|key| key.name == name);
        if let Some(key) = key.filter(|_| owner.is_none_or(|owner| owner == field.name)) {
            let known = found.iter().any(|(known, _)| std::ptr::eq(*known, field));
            if !known {
                found.push((field, key));
            }
        }
    }
    found
}

fn block(block: &Block) -> String {
    let mut page = format!("{}\n\n{}", block.keyword.as_str(), wrapped(block.doc));
    if !block.holds.is_empty() {
        let held: Vec<&str> = block.holds.iter().map(|keyword| keyword.as_str()).collect();
        let edges = if block.edges { ", and edges" } else { "" };
        let _ = write!(page, "\n{}", wrapped(&format!("May hold {}{edges}.", held.join(", "))));
    }
    if block.keyword.is_task() {
        let own = block.fields.get(1..).unwrap_or_default().concat();
        if !own.is_empty() {
            let _ = write!(page, "\nIts own fields\n{}", rows(&own));
        }
        let _ = write!(page, "\nFields of every task\n{}", rows(table::COMMON));
    } else if block.keyword == Keyword::Group {
        let _ = write!(page, "\nFields that its tasks take where they say nothing nearer\n");
        page.push_str(&rows(table::INHERITED));
    } else {
        let own = block.fields.concat();
        if !own.is_empty() {
            let _ = write!(page, "\nFields\n{}", rows(&own));
        }
    }
    page
}

fn rows(fields: &[&Field]) -> String {
    let lines = fields.iter().flat_map(|field| {
        let kind = format!("({}; {})", field.kind.describe(), default(field));
        [[field.name.to_owned(), field.doc.to_owned()], [String::new(), kind]]
    });
    columns(&lines.collect::<Vec<_>>())
}

fn default(field: &Field) -> String {
    match field.required {
        true => "required".to_owned(),
        false => format!("default {}", field.default),
    }
}

/// The distinct rows of a field of this name, each with the blocks that have it.
fn fields(name: &str) -> Vec<(&'static Field, String)> {
    let mut found: Vec<(&'static Field, Vec<&'static str>)> = Vec::new();
    for block in &table::BLOCKS {
        for field in block.all_fields(false).filter(|field| field.name == name) {
            match found.iter_mut().find(|(known, _)| std::ptr::eq(*known, field)) {
                Some((_, owners)) => owners.push(block.keyword.as_str()),
                None => found.push((field, vec![block.keyword.as_str()])),
            }
        }
    }
    let tasks = Keyword::ALL.iter().filter(|keyword| keyword.is_task()).count();
    let mut found: Vec<(&'static Field, String)> = found
        .into_iter()
        .map(|(field, owners)| match owners.len() >= tasks {
            true => (field, "every task".to_owned()),
            false => (field, owners.join(", ")),
        })
        .collect();
    for field in table::NODE.iter().copied().filter(|field| field.name == name) {
        if !found.iter().any(|(known, _)| std::ptr::eq(*known, field)) {
            found.push((field, "a machine's nodes".to_owned()));
        }
    }
    found
}

fn unknown(word: &str, names: &[&'static str]) -> Failure {
    let near = suggest::nearest(word, names.iter().copied());
    Failure::new(match near {
        Some(near) => format!("the language has no `{word}`; did you mean `{near}`?"),
        None => format!("the language has no `{word}`; `plan reference` lists what it has"),
    })
}
