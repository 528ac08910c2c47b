//! `verify`, in a task and at the top level; `resolve`; `continue`.

use rustc_hash::FxHashMap;

use super::Lower;
use super::common::{Inherited, shell, small};
use super::fields::{self, Fields};
use super::names::Scope;
use super::value::Data;
use crate::diag::Severity;
use crate::ir::kind::VERIFY_TIMEOUT;
use crate::ir::types::Schema;
use crate::ir::{Check, Continue, Kind, Resolve, Shell, Verify};
use crate::reference::{Field, Keyword, table};
use crate::source::{Span, Spanned, Text};
use crate::syntax::ast::{self, Item, Member, Name};

/// What a verifier may ask of its file.
static OF_A_FILE: [&Field; 5] =
    [&table::EXISTS, &table::CONTAINS, &table::MATCHES, &table::SCHEMA, &table::SHA256];

impl<'a> Lower<'a, '_> {
    /// The `verify` blocks of a task.
    pub(super) fn nested_verify(
        &mut self,
        block: &'a ast::Block,
        shell: Shell,
        scope: &Scope,
        node: bool,
    ) -> Vec<Verify> {
        if !node || block.keyword.value != Keyword::Machine {
            self.only_holds(block);
        }
        let mut read: Vec<Verify> = Vec::new();
        let mut seen: FxHashMap<Text, Span> = FxHashMap::default();
        for member in &block.body.members {
            let Member::Item(Item::Block(block)) = member else {
                continue;
            };
            if block.keyword.value != Keyword::Verify {
                continue;
            }
            let (name, misnamed) = self.task_name(block, scope);
            if !misnamed {
                self.own_name(&name, scope);
                if let Some(first) = seen.insert(name.value.clone(), name.span) {
                    self.duplicate(&name.value, (first, "a verifier"), (name.span, "a verifier"));
                }
            }
            let fields = self.fields(block, false);
            self.only_holds(block);
            if let Some(repair) = fields.field(&table::REPAIR_FROM) {
                let found = fields::UNKNOWN.at(repair.name.span, "a verifier in a task has no `repair_from`");
                self.error(found.label("belongs to the top level").help("use `repair` or `revise` here"));
            }
            read.push(self.verify(block, name, &fields, shell, scope));
        }
        read
    }

    /// The acceptance gates of the plan.
    pub(super) fn gates(&mut self) {
        let scope = self.scope(0);
        for (block, name) in std::mem::take(&mut self.gates) {
            let span = block.name.as_ref().map_or(block.keyword.span, Name::span);
            let fields = self.fields(block, false);
            self.only_holds(block);
            let shell = self.plan.header.shell;
            let mut gate = self.verify(block, Spanned::new(name, span), &fields, shell, &scope);
            if let Some(expr) = fields.get(&table::REPAIR_FROM) {
                gate.repair_from = self.task_named(&table::REPAIR_FROM, expr, &scope);
            }
            self.plan.gates.push(gate);
        }
    }

    fn verify(
        &mut self,
        block: &'a ast::Block,
        name: Spanned<Text>,
        fields: &Fields<'a>,
        shell: Shell,
        scope: &Scope,
    ) -> Verify {
        let check = self.check(&name, fields, scope);
        let timeout = fields
            .get(&table::VERIFY_TIMEOUT)
            .and_then(|expr| self.duration(&table::VERIFY_TIMEOUT, expr, scope));
        let required = fields
            .get(&table::VERIFY_REQUIRED)
            .and_then(|expr| self.boolean(&table::VERIFY_REQUIRED, expr, scope));
        Verify {
            name,
            doc: block.doc.clone(),
            check,
            timeout: timeout.as_ref().map_or(VERIFY_TIMEOUT, |timeout| timeout.value),
            timeout_at: timeout.map(|timeout| timeout.span),
            required: required.is_none_or(|required| required.value),
            repair_from: None,
            shell,
        }
    }

    fn check(&mut self, name: &Spanned<Text>, fields: &Fields<'a>, scope: &Scope) -> Check {
        let (run, file) = (fields.field(&table::VERIFY_RUN), fields.field(&table::VERIFY_FILE));
        match (run, file) {
            (Some(_), None) => {
                for row in OF_A_FILE {
                    if let Some(field) = fields.field(row) {
                        let message = format!("`{}` needs `file`", row.name);
                        let found = fields::TOGETHER.at(field.name.span, message);
                        self.error(found.label("asks something of a file"));
                    }
                }
                return Check::Run(self.command(fields, &table::VERIFY_RUN, scope));
            }
            (Some(run), Some(file)) => {
                let (first, second) = if run.name.span.start < file.name.span.start {
                    (&run.name, &file.name)
                } else {
                    (&file.name, &run.name)
                };
                let found = fields::TOGETHER.at(second.span, "a verifier takes `run` or `file`, not both");
                self.error(found.label("a second check").related(first.span, "checks already"));
            }
            (None, None) if fields.lacks(&table::VERIFY_RUN) && fields.lacks(&table::VERIFY_FILE) => {
                let message = format!("verify `{}` has neither `run` nor `file`", name.value);
                let found = fields::MISSING.at(name.span, message).label("what does it check?");
                self.error(found.help("give `run = \"…\"`, or `file = \"…\"` and what has to hold for it"));
            }
            (None, None | Some(_)) => {}
        }
        self.file_check(fields, scope)
    }

    fn file_check(&mut self, fields: &Fields<'a>, scope: &Scope) -> Check {
        let path = fields.get(&table::VERIFY_FILE).and_then(|expr| {
            let path = self.filled(&table::VERIFY_FILE, expr, scope)?;
            let resolved = self.workspace_path(&path.value, path.span, true)?;
            Some(Spanned::new(resolved, path.span))
        });
        let exists = fields.get(&table::EXISTS).and_then(|expr| self.boolean(&table::EXISTS, expr, scope));
        let contains = fields.get(&table::CONTAINS).and_then(|expr| self.text(&table::CONTAINS, expr, scope));
        let matches = fields.get(&table::MATCHES).and_then(|expr| self.pattern(&table::MATCHES, expr, scope));
        let schema = fields.get(&table::SCHEMA).and_then(|expr| self.schema(&table::SCHEMA, expr, scope));
        let sha256 = fields.get(&table::SHA256).and_then(|expr| self.digest(expr, scope));
        let asked = OF_A_FILE.iter().chain([&&table::VERIFY_RUN]).any(|row| !fields.lacks(row));
        if let Some(file) = fields.field(&table::VERIFY_FILE)
            && !asked
        {
            let found = fields::TOGETHER.at(file.name.span, "`file` says nothing to check");
            let names: Vec<String> = OF_A_FILE.iter().map(|row| format!("`{}`", row.name)).collect();
            self.error(found.label("what has to hold?").help(format!("add one of {}", names.join(", "))));
        }
        Check::File {
            path: path.unwrap_or_else(|| Spanned::new(Text::default(), fields.span)),
            exists: exists.map(|exists| exists.value),
            contains: contains.map(|text| text.value),
            matches: matches.map(|text| text.value),
            schema,
            sha256,
        }
    }

    fn schema(&mut self, row: &'static Field, expr: &ast::Expr, scope: &Scope) -> Option<Schema> {
        let value = self.value(row, expr, scope)?;
        if let Data::Schema(schema) = value.data {
            return Some(schema);
        }
        self.mismatch(row, &value);
        None
    }

    fn digest(&mut self, expr: &ast::Expr, scope: &Scope) -> Option<Text> {
        let text = self.text(&table::SHA256, expr, scope)?;
        if text.value.len() == 64 && text.value.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Some(text.value.to_lowercase());
        }
        let found = fields::UNUSABLE.at(text.span, "`sha256` is no SHA-256 digest");
        self.error(found.label("not 64 hexadecimal digits"));
        None
    }

    /// The readers of canonical state.
    pub(super) fn resolves(&mut self) {
        let scope = self.scope(0);
        for block in std::mem::take(&mut self.resolves) {
            let Some(Name::Ident(name)) = &block.name else {
                continue;
            };
            let fields = self.fields(block, false);
            self.only_holds(block);
            let run = self.command(&fields, &table::RESOLVE_RUN, &scope);
            let emits = fields
                .get(&table::RESOLVE_EMITS)
                .and_then(|expr| self.emits(&table::RESOLVE_EMITS, expr, &scope));
            let timeout = fields
                .get(&table::RESOLVE_TIMEOUT)
                .and_then(|expr| self.duration(&table::RESOLVE_TIMEOUT, expr, &scope));
            let env = fields.get(&table::ENV).and_then(|expr| self.environment(&table::ENV, expr, &scope));
            let word = fields.get(&table::SHELL).and_then(|expr| self.word(&table::SHELL, expr, &scope));
            let cwd =
                fields.get(&table::RESOLVE_CWD).and_then(|expr| self.cwd(&table::RESOLVE_CWD, expr, &scope));
            self.plan.resolves.push(Resolve {
                name: name.clone(),
                run,
                emits,
                timeout: timeout.map(|timeout| timeout.value),
                env: env.unwrap_or_default(),
                shell: word.map_or(self.plan.header.shell, |word| shell(word.value)),
                cwd: cwd.map(|cwd| cwd.value),
            });
        }
    }

    /// How an accepted run goes on.
    pub(super) fn continuation(&mut self) {
        let Some(block) = self.continuation else {
            return;
        };
        let scope = self.scope(0);
        let fields = self.fields(block, false);
        self.only_holds(block);
        let (run, prompt) = (fields.field(&table::CONTINUE_RUN), fields.field(&table::CONTINUE_PROMPT));
        let before = self.session.diagnostics.count(Severity::Error);
        let kind = match (run, prompt) {
            (Some(_), None) => Kind::Command(self.command(&fields, &table::CONTINUE_RUN, &scope)),
            (None, Some(prompt)) => {
                let parts = self.prompt(&table::CONTINUE_PROMPT, &prompt.value, &scope);
                let layer = self.layers.first().map(|layer| std::rc::Rc::clone(&layer.values));
                let layer: std::rc::Rc<Inherited> = layer.unwrap_or_default();
                let own = self.settings(&fields, &scope);
                Kind::Agent(Box::new(self.turn(&fields, &scope, own, &layer, parts)))
            }
            (Some(run), Some(prompt)) => {
                let (first, second) = if run.name.span.start < prompt.name.span.start {
                    (&run.name, &prompt.name)
                } else {
                    (&prompt.name, &run.name)
                };
                let message = "`continue` takes `run` or `prompt`, not both";
                let found = fields::TOGETHER.at(second.span, message);
                self.error(found.label("a second one to answer").related(first.span, "answers already"));
                return;
            }
            (None, None) => {
                if fields.lacks(&table::CONTINUE_RUN) && fields.lacks(&table::CONTINUE_PROMPT) {
                    let message = "`continue` has neither `run` nor `prompt`";
                    let found = fields::MISSING.at(fields.span, message).label("who says what comes next?");
                    self.error(found.help("give `run = \"…\"`, or `prompt = \"…\"` for an agent"));
                }
                return;
            }
        };
        if let (Kind::Command(_), Some(_)) = (&kind, run) {
            self.agent_fields_of_a_command(&fields);
        }
        let timeout = fields
            .get(&table::CONTINUE_TIMEOUT)
            .and_then(|expr| self.duration(&table::CONTINUE_TIMEOUT, expr, &scope));
        let slices =
            fields.get(&table::MAX_SLICES).and_then(|expr| self.integer(&table::MAX_SLICES, expr, &scope));
        if self.session.diagnostics.count(Severity::Error) == before {
            self.plan.continuation = Some(Continue {
                kind,
                timeout: timeout.map(|timeout| timeout.value),
                max_slices: slices.map_or(10, |slices| small(slices.value)),
                span: block.span,
            });
        }
    }

    fn agent_fields_of_a_command(&mut self, fields: &Fields<'a>) {
        let rows: [&'static Field; 7] = [
            &table::ARGS,
            &table::HARNESS,
            &table::MODEL,
            &table::EFFORT,
            &table::PROFILE,
            &table::SESSION,
            &table::REPAIR,
        ];
        for row in rows {
            if let Some(field) = fields.field(row) {
                let found = fields::TOGETHER.at(field.name.span, format!("`{}` needs `prompt`", row.name));
                self.error(found.label("belongs to an agent"));
            }
        }
    }
}
