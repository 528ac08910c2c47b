//! Plan files, prompts, templates and schemas of the pack: read once, and what is said where one is wrong.
//!
//! Unaware of directories and links: the [`World`](crate::load::World) keeps those.

use std::rc::Rc;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use rustc_hash::FxHashSet;

use super::names::Scope;
use super::{Lower, Module, Session};
use crate::diag::{Code, Diagnostic, Severity};
use crate::ir::types::Schema;
use crate::load::{self, Unreadable};
use crate::source::{Span, Text, decode};
use crate::syntax::{self, ast};

/// A file that is not there.
pub(crate) static MISSING: Code = Code {
    id: "plan::file::missing",
    severity: Severity::Error,
    summary: "A file that the pack lacks",
    explain: "`file()`, `skill()`, `schema()`, `import`, a call's `plan` and a report's `template` name files of \
              the pack. Their paths are relative to the file that names them, imported files included.",
};

/// A path that leaves its root.
pub(crate) static OUTSIDE: Code = Code {
    id: "plan::file::outside",
    severity: Severity::Error,
    summary: "A path that leaves its root",
    explain: "What the compiler reads stays in the pack: the directory of the plan that is checked or run. `cwd`, \
              `emits_files` and a verifier's `file` stay in the workspace, a report's `to` in the run's directory. \
              An absolute path, a `..` that climbs out, and a symbolic link that leads out are refused, \
              as is what names no file at all.",
};

/// A file that cannot be used.
pub(crate) static UNREADABLE: Code = Code {
    id: "plan::file::unreadable",
    severity: Severity::Error,
    summary: "A file that cannot be read",
    explain: "The file is there, but it is a directory or a pipe, has more than 256 MiB, is not UTF-8, or the \
              system refused to open it.",
};

/// A JSON Schema that is none.
pub(crate) static SCHEMA: Code = Code {
    id: "plan::file::not_a_schema",
    severity: Severity::Error,
    summary: "A file that is no JSON Schema",
    explain: "`schema()` takes a JSON Schema 2020-12. References in it are local: `#/$defs/…`. Nothing is fetched \
              while a plan is compiled or run.",
};

/// What reading a file gave.
#[derive(Clone)]
pub(super) enum Read {
    Text(Arc<str>),
    Failed(Unreadable),
    /// It is not UTF-8, from this byte on.
    NotText(usize),
}

impl Session<'_> {
    fn bytes(&mut self, path: &Utf8Path) -> Result<Vec<u8>, Unreadable> {
        self.world.read(path)
    }

    fn text(&mut self, path: &Utf8Path) -> Read {
        if let Some(read) = self.texts.get(path) {
            return read.clone();
        }
        let read = match self.bytes(path) {
            Err(problem) => Read::Failed(problem),
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Read::Text(text.into()),
                Err(error) => Read::NotText(error.utf8_error().valid_up_to()),
            },
        };
        self.texts.insert(path.to_owned(), read.clone());
        read
    }

    /// The parsed file at `path`, or why it could not be read.
    pub(super) fn module(&mut self, path: &Utf8Path) -> Result<Rc<Module>, Unreadable> {
        if let Some(module) = self.parsed.get(path) {
            return Ok(Rc::clone(module));
        }
        let bytes = self.bytes(path)?;
        let shown = self.world.shown(path);
        let (text, malformed) = decode(bytes);
        let file = self.sources.add(shown, text);
        let ast = match malformed {
            // There is no use in parsing what it made of them.
            Some(malformed) => {
                self.diagnostics.push(syntax::malformed(file, &malformed));
                ast::Ast::default()
            }
            None => {
                let parsed = syntax::parse(&self.sources, file);
                self.diagnostics.extend(parsed.diagnostics);
                parsed.ast
            }
        };
        let module = Rc::new(Module { path: path.to_owned(), file, ast });
        self.parsed.insert(path.to_owned(), Rc::clone(&module));
        Ok(module)
    }
}

/// The file at `path` and every file that it imports, directly or not; none if it cannot be read.
pub(super) fn modules(session: &mut Session<'_>, path: &Utf8Path) -> Vec<Rc<Module>> {
    let entry = match session.module(path) {
        Ok(module) => module,
        Err(problem) => {
            let shown = session.world.shown(path);
            let span = Span::new(session.sources.add(shown.clone(), ""), 0, 0);
            let found = unreadable(span, shown.as_str(), &problem);
            session.diagnostics.push(found);
            return Vec::new();
        }
    };
    let mut modules = vec![entry];
    let mut known = FxHashSet::from_iter([modules[0].path.clone()]);
    let mut next = 0;
    while let Some(module) = modules.get(next).cloned() {
        next += 1;
        for import in imports(&module.ast) {
            let Some(path) = load::resolve(module.base(), &import.path.value) else {
                session.diagnostics.push(outside(import.path.span, &import.path.value, "the pack"));
                continue;
            };
            if !known.insert(path.clone()) {
                continue;
            }
            match session.module(&path) {
                Ok(module) => {
                    session.imported.insert(path);
                    modules.push(module);
                }
                Err(problem) => {
                    let found = unreadable(import.path.span, &import.path.value, &problem);
                    session.diagnostics.push(found);
                }
            }
        }
    }
    modules
}

/// The imports of a file.
pub(super) fn imports(ast: &ast::Ast) -> impl Iterator<Item = &ast::Import> {
    ast.items.iter().filter_map(|item| match item {
        ast::Item::Import(import) => Some(import),
        ast::Item::Block(_)
        | ast::Item::Param(_)
        | ast::Item::Let(_)
        | ast::Item::For(_)
        | ast::Item::Template(_)
        | ast::Item::Use(_)
        | ast::Item::Broken(_) => None,
    })
}

/// What is said of a path that leaves `root`.
pub(super) fn outside(span: Span, path: &str, root: &str) -> Diagnostic {
    let message = if path.is_empty() {
        "an empty path names no file".to_owned()
    } else if path.contains('\0') {
        return OUTSIDE.at(span, "a path cannot hold the character NUL").label("names no file");
    } else if path.starts_with('/') {
        format!("`{path}` is absolute, and leaves {root}")
    } else {
        format!("`{path}` leaves {root}")
    };
    OUTSIDE.at(span, message).label(format!("has to stay in {root}"))
}

pub(super) fn unreadable(span: Span, path: &str, problem: &Unreadable) -> Diagnostic {
    match problem {
        Unreadable::Missing => {
            MISSING.at(span, format!("there is no file `{path}`")).label("names a file that is not there")
        }
        Unreadable::Outside => {
            OUTSIDE.at(span, format!("`{path}` leads out of the pack through a symbolic link"))
        }
        Unreadable::NotAFile => UNREADABLE.at(span, format!("`{path}` is no regular file")),
        Unreadable::TooLarge => UNREADABLE.at(span, format!("`{path}` has more than 256 MiB")),
        Unreadable::Refused(why) => UNREADABLE.at(span, format!("`{path}` cannot be read: {why}")),
    }
}

impl Lower<'_, '_> {
    /// The path of a file of the pack, as written in a file of the plan, from the pack's root.
    pub(super) fn pack_path(&mut self, path: &str, span: Span, scope: &Scope) -> Option<Utf8PathBuf> {
        let resolved = load::resolve(self.modules[scope.file as usize].base(), path);
        if resolved.is_none() {
            self.error(outside(span, path, "the pack"));
        }
        resolved
    }

    /// The text of a file of the pack.
    pub(super) fn pack_text(&mut self, path: &str, span: Span, scope: &Scope) -> Option<Arc<str>> {
        let resolved = self.pack_path(path, span, scope)?;
        match self.session.text(&resolved) {
            Read::Text(text) => return Some(text),
            Read::Failed(problem) => self.error(unreadable(span, path, &problem)),
            Read::NotText(at) => self.error(
                UNREADABLE
                    .at(span, format!("`{path}` is not UTF-8"))
                    .label(format!("byte {at} begins no character")),
            ),
        }
        None
    }

    /// A JSON Schema of the pack, once it was seen to be one.
    pub(super) fn pack_schema(&mut self, path: &str, span: Span, scope: &Scope) -> Option<Schema> {
        let resolved = self.pack_path(path, span, scope)?;
        let text = self.pack_text(path, span, scope)?;
        let problem =
            self.session.schemas.entry(resolved).or_insert_with(|| schema_problem(&text).err()).clone();
        match problem {
            Some(Unfit::Elsewhere(reference)) => {
                let message = format!("`{path}` refers to `{reference}`, which is no part of it");
                let found = SCHEMA.at(span, message).label("needs another schema");
                self.error(found.help("references are local, as in `{\"$ref\": \"#/$defs/name\"}`"));
                return None;
            }
            Some(Unfit::Malformed(problem)) => {
                self.error(SCHEMA.at(span, format!("`{path}` is no JSON Schema: {problem}")));
                return None;
            }
            None => {}
        }
        Some(Schema { path: path.into(), text })
    }

    /// The body of a skill: its text behind the front matter.
    pub(super) fn skill(&mut self, directory: &str, span: Span, scope: &Scope) -> Option<Arc<str>> {
        let path = format!("{}/SKILL.md", directory.trim_end_matches('/'));
        let text = self.pack_text(&path, span, scope)?;
        Some(match body(&text) {
            Some(body) => body.into(),
            None => text,
        })
    }

    /// A path below the workspace, normalised. `file`: it names a file, so it is neither `.` nor ends
    /// with a slash.
    pub(super) fn workspace_path(&mut self, path: &str, span: Span, file: bool) -> Option<Text> {
        match load::resolve(Utf8Path::new(""), path) {
            None => self.error(outside(span, path, "the workspace")),
            Some(resolved) if file && (resolved.as_str().is_empty() || path.ends_with('/')) => {
                self.error(
                    super::fields::UNUSABLE
                        .at(span, format!("`{path}` names a directory, not a file"))
                        .help("name every file that the task produces"),
                );
            }
            Some(resolved) => return Some(resolved.as_str().into()),
        }
        None
    }
}

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// It refers to this, which is not in it.
    Elsewhere(String),
    /// It is none.
    Malformed(String),
}

fn schema_problem(text: &str) -> Result<(), Unfit> {
    let malformed = |error: &dyn std::fmt::Display| {
        let text = error.to_string();
        Unfit::Malformed(text.lines().next().unwrap_or_default().to_owned())
    };
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| malformed(&error))?;
    let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
    match options.build(&value) {
        Ok(_) => Ok(()),
        Err(error) => Err(elsewhere(&value).map_or_else(|| malformed(&error), Unfit::Elsewhere)),
    }
}

/// The first reference that leads out of a schema.
fn elsewhere(schema: &serde_json::Value) -> Option<String> {
    let mut stack = vec![schema];
    while let Some(value) = stack.pop() {
        match value {
            serde_json::Value::Object(members) => {
                for (name, member) in members {
                    match member.as_str() {
                        Some(target) if matches!(name.as_str(), "$ref" | "$dynamicRef") => {
                            if !target.starts_with('#') {
                                return Some(target.to_owned());
                            }
                        }
                        Some(_) => {}
                        // These hold data.
                        None if matches!(name.as_str(), "const" | "enum" | "default" | "examples") => {}
                        None => stack.push(member),
                    }
                }
            }
            serde_json::Value::Array(items) => stack.extend(items),
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::String(_) => {}
        }
    }
    None
}

/// What follows the front matter between two lines `---`, if there is one.
fn body(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == "---" {
            return Some(rest[at..].trim_start_matches(['\r', '\n']));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_cut_off() {
        assert_eq!(body("---\nname: x\n---\n\nDo it.\n"), Some("Do it.\n"));
        assert_eq!(body("---\r\nname: x\r\n---\r\nDo it.\r\n"), Some("Do it.\r\n"));
        assert_eq!(body("Do it.\n---\n"), None);
        assert_eq!(body("---\nnever closed\n"), None);
    }

    #[test]
    fn schemas_are_checked_and_stay_local() {
        assert_eq!(schema_problem(r#"{"type": "object"}"#), Ok(()));
        assert_eq!(schema_problem(r##"{"$defs": {"a": true}, "$ref": "#/$defs/a"}"##), Ok(()));
        assert!(schema_problem("{").is_err());
        assert!(schema_problem(r#"{"type": 3}"#).is_err());
        let elsewhere = |to: &str| Err(Unfit::Elsewhere(to.to_owned()));
        assert_eq!(
            schema_problem(r#"{"properties": {"a": {"$ref": "https://example.com/x.json"}}}"#),
            elsewhere("https://example.com/x.json")
        );
        assert_eq!(schema_problem(r#"{"$ref": "x.json"}"#), elsewhere("x.json"));
    }
}
