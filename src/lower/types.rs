//! Types of results: what `emits` and `emits_files` promise.
//!
//! Leaves to `validate` whether anybody can use what is promised.

use rustc_hash::FxHashMap;

use super::Lower;
use super::fields;
use super::names::{self, Scope};
use super::value::{Data, Val};
use crate::diag::{Code, Severity, suggest};
use crate::ir::types::{self, Schema};
use crate::ir::{Emits, EmittedFile, Type};
use crate::reference::{Field, table};
use crate::source::{Span, Spanned, Text};
use crate::syntax::ast::{self, ExprKind, TypeKind};

/// A type that does not exist.
pub(crate) static UNKNOWN: Code = Code {
    id: "plan::emits::unknown_type",
    severity: Severity::Error,
    summary: "A type that does not exist",
    explain: "Types of results are `string`, `integer`, `number`, `boolean`, `list`, `object`, `[T]`, a record \
              `{ id: string, why?: string }`, a union of string literals, and `schema(\"file.json\")`.",
};

impl<'a> Lower<'a, '_> {
    /// What a passing result has to carry.
    pub(super) fn emits(&mut self, row: &'static Field, expr: &'a ast::Expr, scope: &Scope) -> Option<Emits> {
        match &expr.kind {
            ExprKind::Record(record) => Some(Emits::Record(self.record(record, scope, true))),
            ExprKind::Map(entries) if entries.is_empty() => Some(Emits::Record(Vec::new())),
            // Its values were meant as types, and are no names of values.
            ExprKind::Map(_) => {
                self.map_of_types(expr.span);
                None
            }
            _ => {
                let value = self.value(row, expr, scope)?;
                match &value.data {
                    Data::List(_) => self.emitted_names(row, &value),
                    Data::Schema(schema) => Some(Emits::Schema(schema.clone())),
                    Data::Map(_) => {
                        self.map_of_types(expr.span);
                        None
                    }
                    _ => {
                        self.mismatch(row, &value);
                        None
                    }
                }
            }
        }
    }

    fn map_of_types(&mut self, span: Span) {
        let found = fields::MISMATCH.at(span, "`emits` takes a record of types, not a map").label("a map");
        self.error(found.help("write `:` instead of `=`, as in `{ score: number }`"));
    }

    fn emitted_names(&mut self, row: &'static Field, list: &Val) -> Option<Emits> {
        let Data::List(items) = &list.data else {
            return None;
        };
        let mut names = Vec::with_capacity(items.len());
        let mut seen = FxHashMap::default();
        for item in items.iter() {
            let Some(text) = item.text() else {
                if item.is_hole() {
                    self.hole();
                } else {
                    self.mismatch(row, item);
                }
                continue;
            };
            let name = Spanned::new(text, item.span);
            if self.emitted_name(&name, &mut seen, true) {
                names.push(name);
            }
        }
        Some(Emits::Names(names))
    }

    /// Whether a name may be a field of a result: neither reserved nor listed before.
    fn emitted_name(&mut self, name: &Spanned<Text>, seen: &mut FxHashMap<Text, Span>, outer: bool) -> bool {
        if outer && table::RESERVED_FIELDS.contains(&name.value.as_str()) {
            self.error(reserved_field(name, "`emits` cannot list"));
        }
        match seen.insert(name.value.clone(), name.span) {
            None => true,
            Some(first) => {
                self.error(
                    names::DUPLICATE
                        .at(name.span, format!("`{}` is listed twice", name.value))
                        .label("listed again")
                        .related(first, "listed here already"),
                );
                false
            }
        }
    }

    fn record(&mut self, record: &'a [ast::RecordField], scope: &Scope, outer: bool) -> Vec<types::Field> {
        let mut read = Vec::with_capacity(record.len());
        let mut seen = FxHashMap::default();
        for field in record {
            let good = self.emitted_name(&field.key, &mut seen, outer);
            let ty = self.result_type(&field.ty, scope);
            if good && let Some(ty) = ty {
                read.push(types::Field {
                    name: field.key.clone(),
                    optional: field.optional,
                    ty,
                    span: field.ty.span,
                });
            }
        }
        read
    }

    fn result_type(&mut self, ty: &'a ast::TypeExpr, scope: &Scope) -> Option<Type> {
        match &ty.kind {
            TypeKind::Name(name) => Some(match name.as_str() {
                "string" => Type::String,
                "integer" => Type::Integer,
                "number" => Type::Number,
                "boolean" => Type::Boolean,
                "list" => Type::List(None),
                "object" => Type::Object,
                _ => {
                    let names = table::TYPES.iter().map(|(name, _)| *name);
                    let near = suggest::did_you_mean(name, names)
                        .unwrap_or_else(|| format!("for one literal, write `\"{name}\"`"));
                    let message = format!("no type is called `{name}`");
                    self.error(UNKNOWN.at(ty.span, message).label("no type").help(near));
                    return None;
                }
            }),
            TypeKind::Literal(text) => Some(Type::Union(vec![text.clone()])),
            TypeKind::List(inner) => Some(Type::List(Some(Box::new(self.result_type(inner, scope)?)))),
            TypeKind::Record(record) => Some(Type::Record(self.record(record, scope, false))),
            TypeKind::Call(name, arguments) if name.value == "schema" => {
                let (path, span) = self.path_argument(name, arguments, ty.span, scope)?;
                Some(Type::Schema(self.pack_schema(&path, span, scope)?))
            }
            TypeKind::Call(name, _) => {
                self.unknown_function(name);
                None
            }
            TypeKind::Union(members) => {
                let types: Vec<Option<Type>> =
                    members.iter().map(|member| self.result_type(member, scope)).collect();
                let types = types.into_iter().collect::<Option<Vec<Type>>>()?;
                let literals = |ty: &Type| match ty {
                    Type::Union(words) => Some(words.clone()),
                    Type::String
                    | Type::Integer
                    | Type::Number
                    | Type::Boolean
                    | Type::List(_)
                    | Type::Object
                    | Type::Record(_)
                    | Type::Any(_)
                    | Type::Schema(_) => None,
                };
                let words: Option<Vec<Vec<Text>>> = types.iter().map(literals).collect();
                Some(match words {
                    Some(words) => Type::Union(words.concat()),
                    None => Type::Any(types),
                })
            }
            TypeKind::Broken => {
                self.hole();
                None
            }
        }
    }

    /// The files that a task produces.
    pub(super) fn emits_files(&mut self, expr: &ast::Expr, scope: &Scope) -> Vec<EmittedFile> {
        let row = &table::EMITS_FILES;
        let Some(value) = self.value(row, expr, scope) else {
            return Vec::new();
        };
        let mut files = Vec::new();
        let mut seen: FxHashMap<Text, Span> = FxHashMap::default();
        match &value.data {
            Data::List(items) => {
                for item in items.iter() {
                    match item.text() {
                        Some(path) => self.emitted_file(&path, item.span, None, &mut seen, &mut files),
                        None if item.is_hole() => self.hole(),
                        None => self.mismatch(row, item),
                    }
                }
            }
            Data::Map(pairs) => {
                for (path, value) in pairs.iter() {
                    match &value.data {
                        Data::Schema(schema) => {
                            let schema = Some(schema.clone());
                            self.emitted_file(path, value.span, schema, &mut seen, &mut files);
                        }
                        Data::Hole => self.hole(),
                        _ => {
                            let message = format!(
                                "`emits_files` takes `schema()` for a path, not {}",
                                value.describe()
                            );
                            self.error(fields::MISMATCH.at(value.span, message).label(value.describe()));
                        }
                    }
                }
            }
            _ => self.mismatch(row, &value),
        }
        files
    }

    fn emitted_file(
        &mut self,
        path: &str,
        span: Span,
        schema: Option<Schema>,
        seen: &mut FxHashMap<Text, Span>,
        files: &mut Vec<EmittedFile>,
    ) {
        let Some(path) = self.workspace_path(path, span, true) else {
            return;
        };
        match seen.insert(path.clone(), span) {
            None => files.push(EmittedFile { path: Spanned::new(path, span), schema }),
            Some(first) => self.error(
                fields::DUPLICATE
                    .at(span, format!("`emits_files` lists `{path}` twice"))
                    .label("listed again")
                    .related(first, "listed here already"),
            ),
        }
    }
}

/// What is said of a field that the engine reads itself.
pub(super) fn reserved_field(name: &Spanned<Text>, what: &str) -> crate::diag::Diagnostic {
    let meaning = table::RESULT_FIELDS.iter().find(|row| row.name == name.value).map_or("", |row| row.doc);
    let found = names::RESERVED.at(name.span, format!("{what} `{}`, which is reserved", name.value));
    found.label(meaning.trim_end_matches('.'))
}
