//! `agent`, and who does a turn: profiles, sessions, and the order in which they are asked.
//!
//! Whether a harness exists is asked at admission, not here.

use super::Lower;
use super::common::Inherited;
use super::fields::{self, Fields};
use super::names::{self, Scope, What};
use super::value::Data;
use crate::diag::{Code, Severity};
use crate::ir::kind::{Agent, AgentSettings, PromptPart};
use crate::ir::{Kind, Session, SessionId};
use crate::reference::{Field, table};
use crate::source::Spanned;
use crate::syntax::ast::{self, ExprKind, Head, Name};

/// Profiles that extend each other.
pub(crate) static CYCLE: Code = Code {
    id: "plan::profile::cycle",
    severity: Severity::Error,
    summary: "A profile that extends itself",
    explain: "`extends` names the profile that gives what is not written. It cannot lead back to the profile itself.",
};

/// What a profile or a session says, and whom it extends.
#[derive(Clone, Default)]
pub(super) struct Profile {
    own: AgentSettings,
    extends: Option<u32>,
}

impl<'a> Lower<'a, '_> {
    /// Reads every profile, and then every session.
    pub(super) fn sessions(&mut self) {
        let profiles: Vec<Profile> = (0..self.profiles.len())
            .map(|index| {
                let (file, block) = self.profiles[index];
                let scope = self.scope(file);
                self.profile(block, &scope)
            })
            .collect();
        self.check_circles(&profiles);
        self.profile_settings = settled(&profiles);
        for index in 0..self.sessions.len() {
            let block = self.sessions[index];
            let scope = self.scope(0);
            let Profile { own, extends } = self.profile(block, &scope);
            let base = extends.map(|index| self.profile_settings[index as usize].clone());
            let Some(Name::Ident(name)) = &block.name else {
                continue;
            };
            self.plan.sessions.push(Session { name: name.clone(), agent: own.or(base.as_ref()) });
        }
    }

    fn profile(&mut self, block: &'a ast::Block, scope: &Scope) -> Profile {
        let fields = self.fields(block, false);
        self.only_holds(block);
        let own = self.settings(&fields, scope);
        let extends =
            fields.get(&table::EXTENDS).and_then(|expr| self.profile_named(&table::EXTENDS, expr, scope));
        Profile { own, extends }
    }

    pub(super) fn settings(&mut self, fields: &Fields<'a>, scope: &Scope) -> AgentSettings {
        let mut read = |row: &'static Field| fields.get(row).and_then(|expr| self.filled(row, expr, scope));
        let (harness, model, effort) = (read(&table::HARNESS), read(&table::MODEL), read(&table::EFFORT));
        AgentSettings { harness, model: model.map(|m| m.value), effort: effort.map(|e| e.value) }
    }

    /// Reports each circle once.
    fn check_circles(&mut self, profiles: &[Profile]) {
        let mut state = vec![0u32; profiles.len()];
        for start in 0..profiles.len() {
            let mark = u32::try_from(start).unwrap_or(u32::MAX - 1) + 1;
            let mut next = Some(start);
            while let Some(at) = next {
                if state[at] == mark {
                    let (_, block) = self.profiles[at];
                    let span = block.name.as_ref().map_or(block.keyword.span, Name::span);
                    let name = self.slice(span).to_owned();
                    self.error(CYCLE.at(span, format!("the profile `{name}` extends itself")));
                    break;
                }
                if state[at] != 0 {
                    break;
                }
                state[at] = mark;
                next = profiles[at].extends.map(|index| index as usize);
            }
        }
    }

    fn profile_named(&mut self, row: &'static Field, expr: &ast::Expr, scope: &Scope) -> Option<u32> {
        match self.declared(row, expr, scope, |what| matches!(what, What::Profile(_)))? {
            What::Profile(index) => Some(index),
            _ => None,
        }
    }

    fn session_named(&mut self, expr: &ast::Expr, scope: &Scope) -> Option<Spanned<SessionId>> {
        match self.declared(&table::SESSION, expr, scope, |what| matches!(what, What::Session(_)))? {
            What::Session(id) => Some(Spanned::new(id, expr.span)),
            _ => None,
        }
    }

    /// The declaration that one bare name stands for.
    fn declared(
        &mut self,
        row: &'static Field,
        expr: &ast::Expr,
        scope: &Scope,
        wanted: impl Fn(What) -> bool,
    ) -> Option<What> {
        let name = match &expr.kind {
            ExprKind::Reference(ast::Reference { head: Head::Ident(name), path }) if path.is_empty() => name,
            ExprKind::Broken => {
                self.hole();
                return None;
            }
            _ => {
                let value = self.eval(expr, scope);
                if !value.is_hole() {
                    self.mismatch(row, &value);
                }
                return None;
            }
        };
        let Some(decl) = self.names.get(scope.file, &name.value) else {
            let near = self.nearest(&name.value, scope.file, &wanted);
            let message =
                format!("no {} is called `{}`", row.kind.describe().trim_start_matches("a "), name.value);
            self.error(names::UNKNOWN.at(name.span, message).label("names nothing").maybe_help(near));
            return None;
        };
        decl.used.set(true);
        let (what, first) = (decl.what, decl.span);
        if wanted(what) {
            return Some(what);
        }
        if what == What::Broken {
            self.hole();
            return None;
        }
        let message = format!("`{}` is {}, not {}", name.value, what.describe(), row.kind.describe());
        self.error(names::WRONG_SORT.at(name.span, message).related(first, "declared here"));
        None
    }

    pub(super) fn agent(
        &mut self,
        fields: &Fields<'a>,
        scope: &Scope,
        own: AgentSettings,
        layer: &Inherited,
    ) -> Kind {
        let prompt = if self.require(fields, &table::PROMPT) { fields.get(&table::PROMPT) } else { None };
        let prompt = prompt.map(|expr| self.prompt(&table::PROMPT, expr, scope)).unwrap_or_default();
        Kind::Agent(Box::new(self.turn(fields, scope, own, layer, prompt)))
    }

    /// Who does a turn, and how.
    pub(super) fn turn(
        &mut self,
        fields: &Fields<'a>,
        scope: &Scope,
        own: AgentSettings,
        layer: &Inherited,
        prompt: Vec<PromptPart>,
    ) -> Agent {
        let args = fields.get(&table::ARGS).and_then(|expr| self.texts(&table::ARGS, expr, scope));
        let profile =
            fields.get(&table::PROFILE).and_then(|expr| self.profile_named(&table::PROFILE, expr, scope));
        let session = fields.get(&table::SESSION).and_then(|expr| self.session_named(expr, scope));
        let repair = fields.get(&table::REPAIR).and_then(|expr| self.integer(&table::REPAIR, expr, scope));
        // Nearest first: the task, its session, its profile, then groups and defaults (EXECUTION §5).
        let session_settings =
            session.and_then(|id| self.plan.sessions.get(id.value.index())).map(|s| &s.agent);
        let profile_settings = profile.and_then(|index| self.profile_settings.get(index as usize));
        let shared = AgentSettings {
            harness: layer.harness.clone(),
            model: layer.model.clone(),
            effort: layer.effort.clone(),
        };
        let settings = own.or(session_settings).or(profile_settings).or(Some(&shared));
        Agent {
            prompt,
            args: args.unwrap_or_default().into_iter().map(|arg| arg.value).collect(),
            settings,
            session,
            repair: repair.map_or(0, |repair| super::common::small(repair.value)),
        }
    }

    /// The instructions of a turn, external parts apart.
    pub(super) fn prompt(&mut self, row: &'static Field, expr: &ast::Expr, scope: &Scope) -> Vec<PromptPart> {
        let Some(value) = self.value(row, expr, scope) else {
            return Vec::new();
        };
        let parts = match &value.data {
            Data::Text(text) => vec![PromptPart::Text(text.as_str().into())],
            Data::Parts(parts) => parts.to_vec(),
            _ => {
                self.mismatch(row, &value);
                return Vec::new();
            }
        };
        let blank = |part: &PromptPart| match part {
            PromptPart::Text(text) => text.trim().is_empty(),
            PromptPart::External { .. } => false,
        };
        if parts.iter().all(blank) {
            self.error(fields::UNUSABLE.at(expr.span, format!("`{}` is empty", row.name)));
        }
        parts
    }
}

impl AgentSettings {
    /// These settings, and where they say nothing those of `outer`.
    fn or(self, outer: Option<&Self>) -> Self {
        let Some(outer) = outer else {
            return self;
        };
        Self {
            harness: self.harness.or_else(|| outer.harness.clone()),
            model: self.model.or_else(|| outer.model.clone()),
            effort: self.effort.or_else(|| outer.effort.clone()),
        }
    }
}

/// What each profile says, with all that it extends. A circle is left where it closes.
fn settled(profiles: &[Profile]) -> Vec<AgentSettings> {
    let mut known: Vec<Option<AgentSettings>> = vec![None; profiles.len()];
    for start in 0..profiles.len() {
        let mut chain = Vec::new();
        let mut next = Some(start);
        while let Some(at) = next
            && known[at].is_none()
        {
            known[at] = Some(AgentSettings::default());
            chain.push(at);
            next = profiles[at].extends.map(|index| index as usize);
        }
        let mut base = next.and_then(|at| known[at].clone());
        for at in chain.into_iter().rev() {
            let settings = profiles[at].own.clone().or(base.as_ref());
            known[at] = Some(settings.clone());
            base = Some(settings);
        }
    }
    known.into_iter().map(Option::unwrap_or_default).collect()
}
