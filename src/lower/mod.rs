//! Tree to plan: names resolved to ids, values computed, loops and templates unrolled, fields read.
//!
//! Every mistake is a finding, and what it spoils is a hole, so that one mistake is one finding and the
//! rest of the plan is still looked at. Unaware of the grammar, and of what makes a plan sound.

mod agent;
mod call;
mod command;
mod common;
mod condition;
mod constants;
mod eval;
mod expand;
mod fields;
mod files;
mod gate;
mod header;
mod idle;
mod machine;
mod names;
mod otherwise;
pub mod params;
mod refs;
mod report;
mod route;
mod top_k;
mod types;
mod unused;
mod value;
mod verify;

use std::rc::Rc;

use camino::{Utf8Path, Utf8PathBuf};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::diag::{Code, Diagnostic, Diagnostics, Turn};
use crate::ir::{self, Plan};
use crate::load::World;
use crate::source::{FileId, Sources, Span, Text};
use crate::syntax::ast;

use constants::Constant;
use expand::{Layer, Pending};
use names::{Names, Scope};
use params::Launch;
use value::Val;

/// Every code that lowering raises.
pub static CODES: &[&Code] = &[
    &names::UNKNOWN,
    &names::DUPLICATE,
    &names::RESERVED,
    &names::INVALID,
    &names::WRONG_SORT,
    &fields::UNKNOWN,
    &fields::DUPLICATE,
    &fields::MISSING,
    &fields::TOGETHER,
    &fields::NO_DEFAULT,
    &fields::MISMATCH,
    &fields::OUT_OF_RANGE,
    &fields::NOT_ONE_OF,
    &fields::UNUSABLE,
    &expand::MISPLACED,
    &expand::REPEATED_BLOCK,
    &expand::NO_LIST,
    &expand::ARGUMENT,
    &expand::TOO_DEEP,
    &expand::TOO_MANY,
    &constants::CYCLE,
    &eval::UNKNOWN_FUNCTION,
    &eval::ARGUMENTS,
    &eval::NO_VALUE,
    &eval::NO_TEXT,
    &eval::NO_MEMBER,
    &eval::TOO_LARGE,
    &files::MISSING,
    &files::OUTSIDE,
    &files::UNREADABLE,
    &files::SCHEMA,
    &params::REACHES,
    &params::TYPE,
    &params::DEFAULT,
    &params::CONSTRAINT,
    &params::MISSING,
    &params::UNKNOWN,
    &params::INVALID,
    &types::UNKNOWN,
    &refs::TWICE,
    &condition::UNREADABLE,
    &call::CIRCLE,
    &agent::CYCLE,
    &machine::NO_NODE,
];

/// One compilation: its files, and what was found in them. A called plan shares its caller's.
pub(crate) struct Session<'w> {
    world: &'w mut dyn World,
    pub(crate) sources: Sources,
    pub(crate) diagnostics: Diagnostics,
    /// Files that were read, by path from the pack's root.
    texts: FxHashMap<Utf8PathBuf, files::Read>,
    schemas: FxHashMap<Utf8PathBuf, Option<files::Unfit>>,
    /// Plan files that were parsed, by path, and all of them in the order they were read.
    parsed: FxHashMap<Utf8PathBuf, Rc<Module>>,
    /// Files that were imported, by path.
    pub(crate) imported: FxHashSet<Utf8PathBuf>,
    /// The plans that call each other, outermost first.
    calling: Vec<Utf8PathBuf>,
    calls: u32,
    /// How many more names may be compared for suggestions.
    comparisons: usize,
}

/// A parsed file.
pub(crate) struct Module {
    /// From the pack's root.
    path: Utf8PathBuf,
    file: FileId,
    pub(crate) ast: ast::Ast,
}

impl Module {
    /// The directory that paths in this file are relative to.
    fn base(&self) -> &Utf8Path {
        self.path.parent().unwrap_or(Utf8Path::new(""))
    }
}

impl<'w> Session<'w> {
    pub(crate) fn new(world: &'w mut dyn World) -> Self {
        Self {
            world,
            sources: Sources::new(),
            diagnostics: Diagnostics::new(),
            texts: FxHashMap::default(),
            schemas: FxHashMap::default(),
            parsed: FxHashMap::default(),
            imported: FxHashSet::default(),
            calling: Vec::new(),
            calls: 0,
            comparisons: 300_000,
        }
    }
}

/// One plan on its way.
struct Lower<'a, 'w> {
    session: &'a mut Session<'w>,
    /// The entry file, and the files that it imports, directly or not.
    modules: &'a [Rc<Module>],
    names: Names,
    constants: Vec<Constant<'a>>,
    param_values: Vec<Val>,
    /// The constant of each parameter.
    param_constants: Vec<u32>,
    profiles: Vec<(u32, &'a ast::Block)>,
    templates: Vec<(u32, &'a ast::Template)>,
    /// What each profile says, with all that it extends.
    profile_settings: Vec<ir::kind::AgentSettings>,
    sessions: Vec<&'a ast::Block>,
    pending: Vec<Pending<'a>>,
    layers: Vec<Layer<'a>>,
    /// The tasks of each group, which stand together.
    members: Vec<std::ops::Range<u32>>,
    gates: Vec<(&'a ast::Block, Text)>,
    resolves: Vec<&'a ast::Block>,
    header: Option<&'a ast::Block>,
    continuation: Option<&'a ast::Block>,
    /// Names of loop variables and arguments, to look at once all other names are known.
    own_names: Vec<(crate::source::Spanned<Text>, Scope)>,
    own_seen: FxHashSet<Span>,
    /// Templates and loops that were unrolled at least once.
    unrolled: FxHashSet<Span>,
    /// Unrollings so far.
    expansions: u32,
    /// Whether that was too much.
    overfull: bool,
    check_only: bool,
    /// Errors and holes so far; a block in which it grows has holes.
    trouble: u32,
    /// By task: the last task that was seen to depend on it.
    stamps: Vec<u32>,
    plan: Plan,
}

/// Compiles the plan at `path` of the pack as far as its meaning goes. Findings go to the session.
pub(crate) fn lower(session: &mut Session<'_>, path: &Utf8Path, launch: Launch<'_>) -> Plan {
    let modules = files::modules(session, path);
    match Lower::new(session, &modules, launch.is_check()) {
        Some(lower) => lower.run(launch),
        None => Plan::default(),
    }
}

/// Reads the name and the parameters of the plan at `path`, and nothing else.
pub(crate) fn declared(session: &mut Session<'_>, path: &Utf8Path) -> Plan {
    let modules = files::modules(session, path);
    match Lower::new(session, &modules, true) {
        Some(lower) => lower.declared_only(),
        None => Plan::default(),
    }
}

impl<'a, 'w> Lower<'a, 'w> {
    fn new(session: &'a mut Session<'w>, modules: &'a [Rc<Module>], check_only: bool) -> Option<Self> {
        let entry = modules.first()?;
        let name = entry.path.file_stem().unwrap_or_default().into();
        let span = Span::new(entry.file, 0, 0);
        let plan = Plan { name, span, ..Plan::default() };
        Some(Self {
            names: Names::new(modules.len()),
            constants: Vec::new(),
            param_values: Vec::new(),
            param_constants: Vec::new(),
            profiles: Vec::new(),
            profile_settings: Vec::new(),
            templates: Vec::new(),
            sessions: Vec::new(),
            pending: Vec::new(),
            layers: Vec::new(),
            members: Vec::new(),
            gates: Vec::new(),
            resolves: Vec::new(),
            header: None,
            continuation: None,
            own_names: Vec::new(),
            own_seen: FxHashSet::default(),
            unrolled: FxHashSet::default(),
            expansions: 0,
            overfull: false,
            check_only,
            trouble: 0,
            stamps: Vec::new(),
            plan,
            modules,
            session,
        })
    }

    fn declared_only(mut self) -> Plan {
        self.collect();
        self.constants(Launch::Top(&params::Bindings::check()), true);
        let header =
            self.modules.first().into_iter().flat_map(|module| &module.ast.items).find_map(
                |item| match item {
                    ast::Item::Block(block) => match &block.name {
                        Some(ast::Name::Text(name)) => Some(name.value.clone()),
                        Some(ast::Name::Ident(_) | ast::Name::Template(_)) | None => None,
                    },
                    _ => None,
                },
            );
        self.plan.name = header.unwrap_or(self.plan.name);
        self.plan
    }

    fn run(mut self, launch: Launch<'_>) -> Plan {
        self.collect();
        self.constants(launch, false);
        self.expand();
        self.layers();
        self.sessions();
        self.header();
        self.tasks();
        self.gates();
        self.resolves();
        self.continuation();
        self.otherwise();
        self.idle_bodies();
        self.unused();
        self.plan
    }

    /// Reports an error: what is being read has a hole.
    fn error(&mut self, found: Diagnostic) {
        self.trouble += 1;
        self.session.diagnostics.push(found);
    }

    /// Says that what is found from here on is found in a scope: which expansion raises it.
    fn within(&mut self, scope: &Scope) {
        self.session.diagnostics.turn(scope.turn());
    }

    /// Says that no expansion raises what is found from here on.
    fn outside(&mut self) {
        self.session.diagnostics.turn(Turn::None);
    }

    /// Notes a value whose error was reported before.
    fn hole(&mut self) {
        self.trouble += 1;
    }

    fn slice(&self, span: Span) -> &str {
        self.session.sources.slice(span)
    }

    fn param_name(&self, param: ir::ParamId) -> Text {
        self.plan.params[param.index()].name.value.clone()
    }

    fn scope(&self, file: u32) -> Scope {
        Scope { file, ..Scope::default() }
    }
}
