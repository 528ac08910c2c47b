//! The fields of every task, and where they come from: the task, its groups from the inside out, the
//! header's `defaults`.
//!
//! Leaves to the files of the kinds what only they have.

use std::rc::Rc;

use super::Lower;
use super::condition;
use super::expand::{From, Pending};
use super::fields::{self, Fields};
use super::names::Scope;
use crate::ir::condition::Operand;
use crate::ir::{
    DoneWhen, Isolation, Join, Kind, Millis, OnInterrupt, Shell, Stage, Task, TaskId, Usd, kind,
};
use crate::reference::{Block, Keyword, table};
use crate::source::{Span, Spanned, Text};
use crate::syntax::ast::{self, Item, Member};

/// Fields that may be inherited, as far as given.
#[derive(Clone, Debug, Default)]
pub(super) struct Inherited {
    pub join: Option<Spanned<Join>>,
    pub required: Option<bool>,
    pub stage: Option<Stage>,
    pub max_fanout: Option<u32>,
    pub keyed: Option<Vec<Spanned<(TaskId, Text)>>>,
    pub may_complete: Option<bool>,
    pub needs: Option<Vec<Text>>,
    pub timeout: Option<Spanned<Millis>>,
    pub retries: Option<u32>,
    pub isolation: Option<Spanned<Isolation>>,
    pub env: Option<Vec<(Text, Text)>>,
    pub secrets: Option<Vec<Spanned<Text>>>,
    pub shell: Option<Shell>,
    pub max_usd: Option<Spanned<Usd>>,
    pub allow_partial: Option<bool>,
    pub always: Option<Spanned<bool>>,
    pub cwd: Option<Spanned<Text>>,
    pub on_interrupt: Option<OnInterrupt>,
    pub max_rounds: Option<Spanned<u32>>,
    pub harness: Option<Spanned<Text>>,
    pub model: Option<Text>,
    pub effort: Option<Text>,
    /// Whether something given could not be read.
    pub holes: bool,
}

impl Inherited {
    /// These fields, and where they say nothing those of `outer`.
    fn over(self, outer: &Self) -> Self {
        Self {
            join: self.join.or(outer.join),
            required: self.required.or(outer.required),
            stage: self.stage.or(outer.stage),
            max_fanout: self.max_fanout.or(outer.max_fanout),
            keyed: self.keyed.or_else(|| outer.keyed.clone()),
            may_complete: self.may_complete.or(outer.may_complete),
            needs: self.needs.or_else(|| outer.needs.clone()),
            timeout: self.timeout.or(outer.timeout),
            retries: self.retries.or(outer.retries),
            isolation: self.isolation.or(outer.isolation),
            env: self.env.or_else(|| outer.env.clone()),
            secrets: self.secrets.or_else(|| outer.secrets.clone()),
            shell: self.shell.or(outer.shell),
            max_usd: self.max_usd.or(outer.max_usd),
            allow_partial: self.allow_partial.or(outer.allow_partial),
            always: self.always.or(outer.always),
            cwd: self.cwd.or_else(|| outer.cwd.clone()),
            on_interrupt: self.on_interrupt.or(outer.on_interrupt),
            max_rounds: self.max_rounds.or(outer.max_rounds),
            harness: self.harness.or_else(|| outer.harness.clone()),
            model: self.model.or_else(|| outer.model.clone()),
            effort: self.effort.or_else(|| outer.effort.clone()),
            holes: self.holes || outer.holes,
        }
    }
}

/// Which expression a block gives for a field.
pub(super) trait Gives<'a> {
    fn get(&self, row: &'static crate::reference::Field) -> Option<&'a ast::Expr>;
}

impl<'a> Gives<'a> for Fields<'a> {
    fn get(&self, row: &'static crate::reference::Field) -> Option<&'a ast::Expr> {
        Fields::get(self, row)
    }
}

impl<'a> Gives<'a> for Vec<(&'static crate::reference::Field, &'a ast::Expr)> {
    fn get(&self, row: &'static crate::reference::Field) -> Option<&'a ast::Expr> {
        self.iter().find(|(given, _)| std::ptr::eq(*given, row)).map(|&(_, expr)| expr)
    }
}

pub(super) fn join(word: &str) -> Join {
    match word {
        "passed" => Join::Passed,
        "settled" => Join::Settled,
        _ => Join::All,
    }
}

pub(super) fn shell(word: &str) -> Shell {
    if word == "sh" { Shell::Sh } else { Shell::Bash }
}

pub(super) fn small(value: i64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

impl<'a> Lower<'a, '_> {
    /// Reads the shared fields of the header's `defaults` and of every group.
    pub(super) fn layers(&mut self) {
        for index in 0..self.layers.len() {
            let before = self.trouble;
            let (from, parent, scope) = {
                let layer = &self.layers[index];
                (layer.from, layer.parent, layer.scope.clone())
            };
            self.within(&scope);
            let own = match from {
                From::Header => self.header_defaults(&scope),
                From::Group(block) => {
                    let fields = self.fields(block, false);
                    self.inherited(&fields, &scope)
                }
            };
            let own = Inherited { holes: self.trouble != before, ..own };
            self.layers[index].values = match parent {
                Some(outer) => Rc::new(own.over(&self.layers[outer as usize].values)),
                None => Rc::new(own),
            };
        }
        self.outside();
    }

    fn header_defaults(&mut self, scope: &Scope) -> Inherited {
        let Some(header) = self.header else {
            return Inherited::default();
        };
        // Only `defaults` is read here; the other fields of the header are, and reported, once.
        let given = header.body.members.iter().find_map(|member| match member {
            Member::Field(field) if field.name.value == table::DEFAULTS.name => Some(&field.value),
            Member::Field(_) | Member::Item(_) | Member::Edge(_) => None,
        });
        let Some(entries) = given.and_then(|expr| self.entries(&table::DEFAULTS, expr, scope)) else {
            return Inherited::default();
        };
        let mut rows = Vec::with_capacity(entries.len());
        for entry in entries {
            let name = entry.key.value.as_str();
            match Block::of(Keyword::Group).field(name, false) {
                Some(row) => rows.push((row, &entry.value)),
                None if Block::with_field(name).any(Keyword::is_task) => {
                    self.error(fields::no_default(&entry.key));
                }
                None => {
                    let names = table::INHERITED.iter().map(|row| row.name);
                    let near = crate::diag::suggest::did_you_mean(name, names);
                    let message = format!("`defaults` has no key `{name}`");
                    self.error(
                        fields::UNKNOWN.at(entry.key.span, message).label("unknown key").maybe_help(near),
                    );
                }
            }
        }
        self.inherited(&rows, scope)
    }

    /// Reads the fields that may be inherited.
    fn inherited(&mut self, given: &impl Gives<'a>, scope: &Scope) -> Inherited {
        let mut read = Inherited::default();
        if let Some(expr) = given.get(&table::JOIN) {
            read.join = self.word(&table::JOIN, expr, scope).map(|word| word.map(join));
        }
        if let Some(expr) = given.get(&table::REQUIRED) {
            read.required = self.boolean(&table::REQUIRED, expr, scope).map(|value| value.value);
        }
        if let Some(expr) = given.get(&table::STAGE) {
            read.stage = self
                .word(&table::STAGE, expr, scope)
                .map(|word| if word.value == "epilogue" { Stage::Epilogue } else { Stage::Main });
        }
        if let Some(expr) = given.get(&table::MAX_FANOUT) {
            read.max_fanout = self.integer(&table::MAX_FANOUT, expr, scope).map(|value| small(value.value));
        }
        if let Some(expr) = given.get(&table::KEYED) {
            read.keyed = self.task_fields(&table::KEYED, expr, scope);
        }
        if let Some(expr) = given.get(&table::MAY_COMPLETE) {
            read.may_complete = self.boolean(&table::MAY_COMPLETE, expr, scope).map(|value| value.value);
        }
        if let Some(expr) = given.get(&table::NEEDS) {
            let needs = self.distinct(&table::NEEDS, expr, scope);
            read.needs = needs.map(|needs| needs.into_iter().map(|need| need.value).collect());
        }
        if let Some(expr) = given.get(&table::TIMEOUT) {
            read.timeout = self.duration(&table::TIMEOUT, expr, scope);
        }
        if let Some(expr) = given.get(&table::RETRIES) {
            read.retries = self.integer(&table::RETRIES, expr, scope).map(|value| small(value.value));
        }
        if let Some(expr) = given.get(&table::ISOLATION) {
            read.isolation = self.word(&table::ISOLATION, expr, scope).map(|word| {
                word.map(|word| if word == "worktree" { Isolation::Worktree } else { Isolation::None })
            });
        }
        if let Some(expr) = given.get(&table::ENV) {
            read.env = self.environment(&table::ENV, expr, scope);
        }
        if let Some(expr) = given.get(&table::SECRETS) {
            read.secrets = self.variables(&table::SECRETS, expr, scope);
        }
        if let Some(expr) = given.get(&table::SHELL) {
            read.shell = self.word(&table::SHELL, expr, scope).map(|word| shell(word.value));
        }
        if let Some(expr) = given.get(&table::MAX_USD) {
            read.max_usd = self.money(&table::MAX_USD, expr, scope);
        }
        if let Some(expr) = given.get(&table::ALLOW_PARTIAL) {
            read.allow_partial = self.boolean(&table::ALLOW_PARTIAL, expr, scope).map(|value| value.value);
        }
        if let Some(expr) = given.get(&table::ALWAYS) {
            read.always = self.boolean(&table::ALWAYS, expr, scope);
        }
        if let Some(expr) = given.get(&table::CWD) {
            read.cwd = self.cwd(&table::CWD, expr, scope);
        }
        if let Some(expr) = given.get(&table::ON_INTERRUPT) {
            read.on_interrupt = self
                .word(&table::ON_INTERRUPT, expr, scope)
                .map(|word| if word.value == "ask" { OnInterrupt::Ask } else { OnInterrupt::Rerun });
        }
        if let Some(expr) = given.get(&table::MAX_ROUNDS) {
            read.max_rounds = self.integer(&table::MAX_ROUNDS, expr, scope).map(|value| value.map(small));
        }
        if let Some(expr) = given.get(&table::HARNESS) {
            read.harness = self.filled(&table::HARNESS, expr, scope);
        }
        if let Some(expr) = given.get(&table::MODEL) {
            read.model = self.filled(&table::MODEL, expr, scope).map(|text| text.value);
        }
        if let Some(expr) = given.get(&table::EFFORT) {
            read.effort = self.filled(&table::EFFORT, expr, scope).map(|text| text.value);
        }
        read
    }

    pub(super) fn cwd(
        &mut self,
        row: &'static crate::reference::Field,
        expr: &ast::Expr,
        scope: &Scope,
    ) -> Option<Spanned<Text>> {
        let path = self.text(row, expr, scope)?;
        let resolved = self.workspace_path(&path.value, path.span, false)?;
        Some(Spanned::new(resolved, path.span))
    }

    /// Reads every task that was named.
    pub(super) fn tasks(&mut self) {
        let count = self.pending.len();
        self.stamps = vec![u32::MAX; count];
        self.plan.tasks.reserve_exact(count);
        for index in 0..count {
            let task = self.task(index);
            self.plan.tasks.push(task);
        }
        self.outside();
    }

    fn task(&mut self, index: usize) -> Task {
        let Pending { block, ref name, span, ref scope, group, layer, misnamed } = self.pending[index];
        let (name, scope) = (name.clone(), scope.clone());
        let layer = Rc::clone(&self.layers[layer as usize].values);
        let before = self.trouble;
        self.within(&scope);
        let mut task = match block {
            Some(block) => {
                let fields = self.fields(block, false);
                self.read_task(block, &fields, name, &scope, &layer, Some(TaskId::from(index)))
            }
            None => {
                self.hole();
                self.blank(name, span, &layer)
            }
        };
        task.group = group;
        task.origin = self.origin(&scope);
        task.holes = misnamed || layer.holes || self.trouble != before;
        task
    }

    /// A task with nothing of its own.
    pub(super) fn blank(&self, name: Spanned<Text>, span: Span, layer: &Inherited) -> Task {
        let whole = name.span;
        Task {
            name,
            doc: None,
            span,
            origin: None,
            group: None,
            kind: Kind::Command(Spanned::new(kind::Run::List(Vec::new()), whole)),
            depends_on: Vec::new(),
            join: Spanned::new(Join::All, whole),
            required: layer.required.unwrap_or(true),
            stage: layer.stage.unwrap_or_default(),
            when: None,
            over: None,
            key: None,
            max_fanout: layer.max_fanout.unwrap_or(256),
            keyed: Vec::new(),
            emits: None,
            emits_files: Vec::new(),
            done_when: None,
            may_complete: false,
            needs: Vec::new(),
            timeout: layer.timeout,
            retries: 0,
            isolation: Spanned::new(Isolation::None, whole),
            env: Vec::new(),
            secrets: Vec::new(),
            shell: Shell::default(),
            max_usd: None,
            allow_partial: false,
            always: Spanned::new(false, whole),
            cwd: None,
            on_interrupt: OnInterrupt::default(),
            revise: Vec::new(),
            max_rounds: None,
            verify: Vec::new(),
            holes: false,
        }
    }

    /// Reads a task, or a node of a machine, which has no id.
    pub(super) fn read_task(
        &mut self,
        block: &'a ast::Block,
        fields: &Fields<'a>,
        name: Spanned<Text>,
        scope: &Scope,
        layer: &Inherited,
        id: Option<TaskId>,
    ) -> Task {
        let whole = name.span;
        let own = self.inherited(fields, scope);
        let depends_on = match (fields.get(&table::DEPENDS_ON), id) {
            (Some(expr), Some(id)) => {
                let found = self.depends_on(id, expr, scope);
                if found.is_empty() {
                    self.plan.facts.lists_nothing.push((id, expr.span));
                }
                found
            }
            (Some(_) | None, _) => Vec::new(),
        };
        let agent = kind::AgentSettings {
            harness: own.harness.clone(),
            model: own.model.clone(),
            effort: own.effort.clone(),
        };
        // A join over nothing is an error where the task says it; a group's is for those that wait.
        let (own_join, own_rounds) = (own.join, own.max_rounds);
        let inherited = own.over(layer);
        let join = if depends_on.is_empty() { own_join } else { inherited.join };
        let shell = inherited.shell.unwrap_or(self.plan.header.shell);
        let revise = match fields.get(&table::REVISE) {
            Some(expr) => self.tasks_named(&table::REVISE, expr, scope),
            None => Vec::new(),
        };
        let max_rounds =
            if fields.field(&table::REVISE).is_some() { inherited.max_rounds } else { own_rounds };
        let mut task = Task {
            doc: block.doc.clone(),
            span: block.span,
            origin: None,
            group: None,
            kind: Kind::Command(Spanned::new(kind::Run::List(Vec::new()), whole)),
            depends_on,
            join: join.unwrap_or(Spanned::new(Join::All, whole)),
            required: inherited.required.unwrap_or(true),
            stage: inherited.stage.unwrap_or_default(),
            when: None,
            over: None,
            key: None,
            max_fanout: inherited.max_fanout.unwrap_or(256),
            keyed: inherited.keyed.unwrap_or_default(),
            emits: None,
            emits_files: Vec::new(),
            done_when: None,
            may_complete: inherited.may_complete.unwrap_or(false),
            needs: inherited.needs.unwrap_or_default(),
            timeout: inherited.timeout,
            retries: inherited.retries.unwrap_or(2),
            isolation: inherited.isolation.unwrap_or(Spanned::new(Isolation::None, whole)),
            env: inherited.env.unwrap_or_default(),
            secrets: inherited.secrets.unwrap_or_default(),
            shell,
            max_usd: inherited.max_usd,
            allow_partial: inherited.allow_partial.unwrap_or(false),
            always: inherited.always.unwrap_or(Spanned::new(false, whole)),
            cwd: inherited.cwd,
            on_interrupt: inherited.on_interrupt.unwrap_or_default(),
            revise,
            max_rounds,
            verify: Vec::new(),
            holes: false,
            name,
        };
        self.rest(&mut task, fields, scope);
        task.kind = self.kind(block, &task, fields, scope, agent, layer);
        task.verify = self.nested_verify(block, shell, scope, id.is_none());
        task
    }

    /// The fields that cannot be inherited.
    fn rest(&mut self, task: &mut Task, fields: &Fields<'a>, scope: &Scope) {
        if let Some(expr) = fields.get(&table::WHEN) {
            let when = self.when(expr, scope);
            task.when = when.map(|when| Box::new(Spanned::new(when, expr.span)));
        }
        if let Some(expr) = fields.get(&table::OVER) {
            task.over = self.over(expr, scope).map(|over| Box::new(Spanned::new(over, expr.span)));
        } else if let Some(when) = &task.when {
            let mut read = None;
            when.value.reads(&mut |operand, span| {
                if let Operand::Item(_) = operand {
                    read = read.or(Some(span));
                }
            });
            if let Some(span) = read {
                let message = format!("`item` is read, and `{}` does not fan out", task.name.value);
                let found = condition::UNREADABLE.at(span, message).label("there is no element");
                self.error(found.help("fan out with `over = task.field`, or read a task's field"));
            }
        }
        if let Some(expr) = fields.get(&table::KEY) {
            task.key = self.filled(&table::KEY, expr, scope);
        }
        if let Some(expr) = fields.get(&table::EMITS) {
            let emits = self.emits(&table::EMITS, expr, scope);
            task.emits = emits.map(|emits| Box::new(Spanned::new(emits, expr.span)));
        }
        if let Some(expr) = fields.get(&table::EMITS_FILES) {
            task.emits_files = self.emits_files(expr, scope);
        }
        if let Some(expr) = fields.get(&table::DONE_WHEN)
            && let Some(text) = self.filled(&table::DONE_WHEN, expr, scope)
        {
            let when = match text.value.as_str() {
                "files" => DoneWhen::Files,
                _ => DoneWhen::Command(text.value),
            };
            task.done_when = Some(Box::new(Spanned::new(when, expr.span)));
        }
    }

    fn kind(
        &mut self,
        block: &'a ast::Block,
        task: &Task,
        fields: &Fields<'a>,
        scope: &Scope,
        agent: kind::AgentSettings,
        layer: &Inherited,
    ) -> Kind {
        match block.keyword.value {
            Keyword::Evaluate => self.evaluate(fields, scope),
            Keyword::Agent => self.agent(fields, scope, agent, layer),
            Keyword::Route => self.route(block, fields, scope),
            Keyword::Gate => self.gate(fields, scope),
            Keyword::TopK => self.top_k(fields, scope),
            Keyword::Report => self.report(fields, scope),
            Keyword::Call => self.call(fields, scope),
            Keyword::Machine => self.machine(block, task, fields, scope, layer),
            Keyword::Command
            | Keyword::Plan
            | Keyword::Param
            | Keyword::Let
            | Keyword::Profile
            | Keyword::Session
            | Keyword::Group
            | Keyword::For
            | Keyword::Template
            | Keyword::Use
            | Keyword::Import
            | Keyword::Verify
            | Keyword::Resolve
            | Keyword::Continue
            | Keyword::Question => Kind::Command(self.command(fields, &table::RUN, scope)),
        }
    }

    /// Reports every nested declaration and edge that the block cannot hold.
    pub(super) fn only_holds(&mut self, block: &'a ast::Block) {
        let row = Block::of(block.keyword.value);
        for member in &block.body.members {
            match member {
                Member::Item(item) => {
                    if let Some((keyword, span)) = keyword_of(item)
                        && !row.holds.contains(&keyword)
                    {
                        self.misplaced_in(keyword, span, row.keyword);
                    }
                }
                Member::Edge(edge) if !row.edges => self.misplaced_edge(edge),
                Member::Edge(_) | Member::Field(_) => {}
            }
        }
    }
}

/// The keyword of a declaration that parsed, and its place.
pub(super) fn keyword_of(item: &Item) -> Option<(Keyword, Span)> {
    Some(match item {
        Item::Block(block) => (block.keyword.value, block.keyword.span),
        Item::Param(param) => (Keyword::Param, param.name.span),
        Item::Let(constant) => (Keyword::Let, constant.name.span),
        Item::For(of) => (Keyword::For, of.variable.span),
        Item::Template(template) => (Keyword::Template, template.name.span),
        Item::Use(of) => (Keyword::Use, of.template.span),
        Item::Import(import) => (Keyword::Import, import.path.span),
        Item::Broken(_) => return None,
    })
}
