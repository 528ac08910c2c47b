//! Unrolls loops, templates and groups into the plan's tasks, each with its name, its place and how it
//! came about.
//!
//! Reads no field of a task: that waits until every name is known.

use std::cell::OnceCell;
use std::rc::Rc;

use super::Lower;
use super::names::{self, Scope, Unrolled, What};
use super::value::{Data, Val};
use crate::diag::{Code, Severity, suggest};
use crate::ir::{Group, GroupId, TaskId};
use crate::reference::{Block, Keyword, table};
use crate::source::{Span, Spanned, Text};
use crate::syntax::ast::{self, Item, Member, Name};

/// A declaration where none of its sort can stand.
pub(crate) static MISPLACED: Code = Code {
    id: "plan::block::misplaced",
    severity: Severity::Error,
    summary: "A declaration, a field or an edge where it cannot stand",
    explain: "Headers, parameters, lets, profiles, sessions, templates, imports, `resolve` and `continue` stand at \
              the top level of a file; tasks also in `group`, `for` and `template`; `question` in a route; nodes \
              and edges in a machine.",
};

/// A block that a plan has once.
pub(crate) static REPEATED_BLOCK: Code = Code {
    id: "plan::block::repeated",
    severity: Severity::Error,
    summary: "A second block of a sort that a plan has once",
    explain: "A file has at most one header, and at most one `continue` block.",
};

/// A loop over no list.
pub(crate) static NO_LIST: Code = Code {
    id: "plan::for::no_list",
    severity: Severity::Error,
    summary: "A loop over something that is no list",
    explain: "`for x in list` unrolls its tasks while the plan is compiled, once for every element of a list that is \
              known then. To run a task for every element of a result, use `over`.",
};

/// Arguments that a template does not take.
pub(crate) static ARGUMENT: Code = Code {
    id: "plan::template::argument",
    severity: Severity::Error,
    summary: "Arguments that a template does not take",
    explain: "`use` gives a value for every argument of the template that has no default: in order, or by name.",
};

/// Unrolling that goes too deep.
pub(crate) static TOO_DEEP: Code = Code {
    id: "plan::template::too_deep",
    severity: Severity::Error,
    summary: "Templates that use each other without end",
    explain: "A template cannot use itself, directly or through others, and uses nest at most 64 deep.",
};

/// Unrolling that makes too much.
pub(crate) static TOO_MANY: Code = Code {
    id: "plan::for::too_many",
    severity: Severity::Error,
    summary: "Unrolling that makes too much",
    explain: "A plan has at most 250,000 tasks, and its loops and templates unroll at most 250,000 times, each \
              pass of a loop and each `use` counted.",
};

const DEEPEST: usize = 64;
const MOST_AROUND: u32 = 256;
const MOST: u32 = 250_000;

/// A task that was named, and is to be read.
pub(super) struct Pending<'a> {
    /// Its block; none for one that did not parse.
    pub block: Option<&'a ast::Block>,
    pub name: Spanned<Text>,
    pub span: Span,
    pub scope: Scope,
    pub group: Option<GroupId>,
    /// An index into [`Lower::layers`].
    pub layer: u32,
    /// Whether its name is another's, or none.
    pub misnamed: bool,
}

/// Fields that tasks share: the header's `defaults`, or a group's.
pub(super) struct Layer<'a> {
    pub parent: Option<u32>,
    pub from: From<'a>,
    pub scope: Scope,
    pub values: Rc<super::common::Inherited>,
}

/// What gives shared fields.
#[derive(Clone, Copy)]
pub(super) enum From<'a> {
    Header,
    Group(&'a ast::Block),
}

/// Where tasks are unrolled to.
#[derive(Clone)]
struct Place {
    scope: Scope,
    group: Option<GroupId>,
    layer: u32,
    /// The block around: a top level, a group, a loop or a template.
    inside: Option<Keyword>,
    /// The templates around, outermost first.
    templates: Vec<u32>,
    /// How many blocks are around.
    depth: u32,
}

impl<'a> Lower<'a, '_> {
    /// Names every task of the plan, in declaration order.
    pub(super) fn expand(&mut self) {
        let modules = self.modules;
        self.layers.push(Layer {
            parent: None,
            from: From::Header,
            scope: self.scope(0),
            values: Rc::default(),
        });
        let place = Place {
            scope: self.scope(0),
            group: None,
            layer: 0,
            inside: None,
            templates: Vec::new(),
            depth: 0,
        };
        if let Some(entry) = modules.first() {
            for item in &entry.ast.items {
                self.unroll(item, &place);
            }
        }
        let groups = std::mem::take(&mut self.own_names);
        for (name, scope) in groups {
            self.within(&scope);
            self.own_name(&name, &scope);
        }
        self.outside();
    }

    fn unroll(&mut self, item: &'a Item, place: &Place) {
        if self.overfull {
            return;
        }
        match item {
            Item::Block(block) => self.unroll_block(block, place),
            Item::For(of) => self.unroll_for(of, place),
            Item::Use(of) => self.unroll_use(of, place),
            Item::Broken(broken) => {
                if let (Some(keyword), Some(name)) = (&broken.keyword, &broken.name)
                    && keyword.value.is_task()
                {
                    self.add_task(None, name.clone(), broken.span, place, false);
                } else if place.inside.is_some() {
                    self.plan.facts.incomplete = true;
                    self.hole();
                }
            }
            Item::Param(param) => self.misplaced(Keyword::Param, param.name.span, place),
            Item::Let(constant) => self.misplaced(Keyword::Let, constant.name.span, place),
            Item::Template(template) => self.misplaced(Keyword::Template, template.name.span, place),
            Item::Import(import) => self.misplaced(Keyword::Import, import.path.span, place),
        }
    }

    /// Reports a declaration of the top level that stands in another block.
    fn misplaced(&mut self, keyword: Keyword, span: Span, place: &Place) {
        if let Some(inside) = place.inside {
            self.misplaced_in(keyword, span, inside);
        }
    }

    pub(super) fn misplaced_in(&mut self, keyword: Keyword, span: Span, inside: Keyword) {
        let (word, around) = (keyword.as_str(), inside.as_str());
        let found = MISPLACED.at(span, format!("`{word}` cannot stand in `{around}`"));
        let places: Vec<String> = Keyword::ALL
            .into_iter()
            .filter(|&owner| Block::of(owner).holds.contains(&keyword))
            .map(|owner| format!("`{}`", owner.as_str()))
            .collect();
        let top = table::TOP_LEVEL.contains(&keyword);
        let help = match (top, places.is_empty()) {
            (true, true) => "move it to the top level".to_owned(),
            (true, false) => format!("it stands at the top level, or in {}", places.join(", ")),
            (false, _) => format!("it stands in {}", places.join(", ")),
        };
        self.error(found.label("cannot stand here").help(help));
    }

    fn unroll_block(&mut self, block: &'a ast::Block, place: &Place) {
        let keyword = block.keyword.value;
        if keyword.is_task() {
            let (name, misnamed) = self.task_name(block, &place.scope);
            self.add_task(Some(block), name, block.span, place, misnamed);
            return;
        }
        if let Some(inside) = place.inside
            && !Block::of(inside).holds.contains(&keyword)
        {
            self.misplaced_in(keyword, block.keyword.span, inside);
            return;
        }
        match keyword {
            Keyword::Group => self.unroll_group(block, place),
            Keyword::Plan => {
                if let Some(first) = self.header {
                    self.repeated(block, first);
                } else {
                    self.header = Some(block);
                }
            }
            Keyword::Continue => {
                if let Some(first) = self.continuation {
                    self.repeated(block, first);
                } else {
                    self.continuation = Some(block);
                }
            }
            Keyword::Verify => match &block.name {
                Some(Name::Ident(name)) => self.gates.push((block, name.value.clone())),
                Some(Name::Template(format)) => self.unrolled_name(format.span),
                Some(Name::Text(_)) | None => self.hole(),
            },
            Keyword::Resolve => self.resolves.push(block),
            Keyword::Question => {
                let found = MISPLACED.at(block.keyword.span, "`question` cannot stand at the top level");
                self.error(found.label("cannot stand here").help("it stands in a `route`"));
            }
            Keyword::Param
            | Keyword::Let
            | Keyword::Profile
            | Keyword::Session
            | Keyword::For
            | Keyword::Template
            | Keyword::Use
            | Keyword::Import
            | Keyword::Command
            | Keyword::Evaluate
            | Keyword::Agent
            | Keyword::Route
            | Keyword::Gate
            | Keyword::TopK
            | Keyword::Report
            | Keyword::Call
            | Keyword::Machine => {}
        }
    }

    fn repeated(&mut self, again: &ast::Block, first: &ast::Block) {
        let word = again.keyword.value.as_str();
        self.error(
            REPEATED_BLOCK
                .at(again.keyword.span, format!("a file has at most one `{word}` block"))
                .label("the second one")
                .related(first.keyword.span, "the first one"),
        );
    }

    fn unrolled_name(&mut self, span: Span) {
        self.error(
            names::INVALID
                .at(span, "an f-string names nothing here")
                .label("stands for a task's name inside `for` and `template` only")
                .help("write the name without quotes"),
        );
    }

    /// The name of a task, or what stands for it; `true` where it is none.
    pub(super) fn task_name(&mut self, block: &'a ast::Block, scope: &Scope) -> (Spanned<Text>, bool) {
        match &block.name {
            Some(Name::Ident(name)) => (name.clone(), false),
            Some(Name::Template(format)) => {
                if scope.unrolled.is_none() {
                    self.unrolled_name(format.span);
                }
                let value = self.format(format, scope);
                let shown = value.text().unwrap_or_default();
                let name = Spanned::new(shown, format.span);
                let good = !value.is_hole() && self.is_name(&value, &name);
                (name, !good)
            }
            Some(Name::Text(text)) => {
                self.error(names::INVALID.at(text.span, format!("`{}` is no name of a task", text.value)));
                (text.clone(), true)
            }
            None => {
                self.hole();
                (Spanned::new(Text::default(), block.keyword.span), true)
            }
        }
    }

    /// Whether an f-string yields a name; says why not.
    fn is_name(&mut self, value: &Val, name: &Spanned<Text>) -> bool {
        if let Some(param) = value.taint {
            self.reaches(param, name.span, "a name");
            return false;
        }
        if name.value.chars().count() > table::LONGEST_NAME {
            let message = format!("`{}` has more than {} characters", name.value, table::LONGEST_NAME);
            self.error(names::INVALID.at(name.span, message));
            return false;
        }
        if !names::is_identifier(&name.value) {
            self.error(
                names::INVALID
                    .at(name.span, format!("`{}` is no name of a task", name.value))
                    .label("this is what it yields")
                    .help("use letters, digits, `_` and `-`, beginning with a letter or `_`"),
            );
            return false;
        }
        true
    }

    fn add_task(
        &mut self,
        block: Option<&'a ast::Block>,
        name: Spanned<Text>,
        span: Span,
        place: &Place,
        misnamed: bool,
    ) {
        let id = TaskId::from(self.pending.len());
        if id.0 >= MOST {
            self.too_many(name.span, "the plan unrolls to more than 250,000 tasks");
            return;
        }
        let before = self.trouble;
        if !misnamed {
            let earlier = self.names.own(0, &name.value).filter(|earlier| earlier.span == name.span);
            match earlier.map(|earlier| earlier.first) {
                Some(What::Task(earlier)) => {
                    let earlier = self.pending[earlier.index()].scope.clone();
                    self.unrolled_twice(&name, &earlier, &place.scope);
                }
                Some(_) | None => self.declare(0, &name, What::Task(id)),
            }
        }
        let misnamed = misnamed || self.trouble != before;
        self.pending.push(Pending {
            block,
            name,
            span,
            scope: place.scope.clone(),
            group: place.group,
            layer: place.layer,
            misnamed,
        });
    }

    /// Ends all unrolling.
    fn too_many(&mut self, span: Span, why: &'static str) {
        self.plan.facts.incomplete = true;
        if !self.overfull {
            self.overfull = true;
            self.error(TOO_MANY.at(span, why));
        }
    }

    fn unroll_group(&mut self, block: &'a ast::Block, place: &Place) {
        let Some(Name::Ident(name)) = &block.name else {
            if let Some(Name::Template(format)) = &block.name {
                self.unrolled_name(format.span);
            }
            self.hole();
            return;
        };
        let id = GroupId::from(self.plan.groups.len());
        self.declare(0, name, What::Group(id));
        self.plan.groups.push(Group { name: name.clone(), doc: block.doc.clone(), parent: place.group });
        let layer = u32::try_from(self.layers.len()).unwrap_or(u32::MAX);
        self.layers.push(Layer {
            parent: Some(place.layer),
            from: From::Group(block),
            scope: place.scope.clone(),
            values: Rc::default(),
        });
        let first = u32::try_from(self.pending.len()).unwrap_or(u32::MAX);
        self.members.push(first..first);
        let inner = Place { group: Some(id), layer, inside: Some(Keyword::Group), ..place.clone() };
        self.unroll_body(&block.body, inner);
        let end = u32::try_from(self.pending.len()).unwrap_or(u32::MAX);
        self.members[id.index()] = first..end;
    }

    /// The declarations of a group, a loop or a template.
    fn unroll_body(&mut self, body: &'a ast::Body, mut place: Place) {
        place.depth += 1;
        let place = &place;
        if place.depth > MOST_AROUND {
            self.error(
                TOO_DEEP.at(body.span, format!("blocks nest more than {MOST_AROUND} deep once unrolled")),
            );
            return;
        }
        for member in &body.members {
            match member {
                Member::Item(item) => self.unroll(item, place),
                Member::Field(field) => {
                    // A group's fields are read once every name is known.
                    if let Some(inside) = place.inside {
                        self.field_of_unrolling(field, inside);
                    }
                }
                Member::Edge(edge) => self.misplaced_edge(edge),
            }
        }
    }

    /// Reports a field that stands in a loop or a template itself.
    pub(super) fn field_of_unrolling(&mut self, field: &ast::Field, inside: Keyword) {
        if let Keyword::For | Keyword::Template = inside {
            let around = inside.as_str();
            self.error(
                MISPLACED
                    .at(field.name.span, format!("`{around}` has no fields"))
                    .label("belongs to a task or a group")
                    .help("put the tasks into a group, and the field with them"),
            );
        }
    }

    pub(super) fn unknown_template(&mut self, name: &ast::Ident, file: u32) {
        let near = self.nearest(&name.value, file, |what| matches!(what, What::Template(_)));
        self.error(
            names::UNKNOWN
                .at(name.span, format!("no template is called `{}`", name.value))
                .label("nothing to use")
                .maybe_help(near),
        );
    }

    pub(super) fn misplaced_edge(&mut self, edge: &ast::Edge) {
        let found = MISPLACED.at(edge.span, "an edge stands in a `machine` only");
        self.error(found.label("cannot stand here").help("tasks wait for each other by `depends_on`"));
    }

    fn unroll_for(&mut self, of: &'a ast::For, place: &Place) {
        self.own(&of.variable, &place.scope);
        let list = self.eval(&of.list, &place.scope);
        if let Some(param) = list.taint {
            self.plan.facts.incomplete = true;
            self.reaches(param, of.list.span, super::params::FOR);
            return;
        }
        let items = match &list.data {
            Data::List(items) => items.clone(),
            Data::Hole => {
                self.plan.facts.incomplete = true;
                self.hole();
                return;
            }
            Data::Text(_)
            | Data::Parts(_)
            | Data::Integer(_)
            | Data::Number(..)
            | Data::Boolean(_)
            | Data::Duration(_)
            | Data::Map(_)
            | Data::Schema(_)
            | Data::Pack(_)
            | Data::Unknown(_) => {
                self.plan.facts.incomplete = true;
                self.error(
                    NO_LIST
                        .at(of.list.span, format!("`for` takes a list, not {}", list.describe()))
                        .label(list.describe()),
                );
                return;
            }
        };
        let head = Span { end: of.list.span.end, ..of.span };
        if !items.is_empty() {
            self.unrolled.insert(of.span);
        }
        for item in items.iter() {
            if !self.expansion(of.span) {
                return;
            }
            let scope =
                self.expanded(&place.scope, of.span, head, Some((of.variable.value.clone(), item.clone())));
            let scope = scope.with(of.variable.clone(), item.clone());
            self.within(&scope);
            self.unroll_body(&of.body, Place { scope, inside: Some(Keyword::For), ..place.clone() });
            self.within(&place.scope);
        }
    }

    /// Counts an unrolling; `false` where there were too many.
    fn expansion(&mut self, span: Span) -> bool {
        self.expansions += 1;
        if self.expansions > MOST {
            self.too_many(span, "loops and templates unroll more than 250,000 times");
        }
        !self.overfull
    }

    /// Notes a block's own name, to be compared with the file's once all of those are known.
    fn own(&mut self, name: &ast::Ident, scope: &Scope) {
        if self.own_seen.insert(name.span) {
            self.own_names.push((name.clone(), scope.clone()));
        }
    }

    fn unroll_use(&mut self, of: &'a ast::Use, place: &Place) {
        let name = &of.template;
        let Some(decl) = self.names.get(place.scope.file, &name.value) else {
            self.plan.facts.incomplete = true;
            self.unknown_template(name, place.scope.file);
            return;
        };
        decl.used.set(true);
        let (what, first) = (decl.what, decl.span);
        let What::Template(index) = what else {
            self.plan.facts.incomplete = true;
            if what == What::Broken {
                self.hole();
                return;
            }
            let message = format!("`{}` is {}, not a template", name.value, what.describe());
            self.error(names::WRONG_SORT.at(name.span, message).related(first, "declared here"));
            return;
        };
        let (file, template) = self.templates[index as usize];
        if place.templates.contains(&index) {
            self.error(
                TOO_DEEP
                    .at(of.span, format!("the template `{}` uses itself", name.value))
                    .related(template.name.span, "declared here"),
            );
            return;
        }
        if place.templates.len() >= DEEPEST {
            self.error(TOO_DEEP.at(of.span, format!("uses nest more than {DEEPEST} deep")));
            return;
        }
        if !self.expansion(of.span) {
            return;
        }
        let Some(values) = self.arguments(of, template, file, place) else {
            self.plan.facts.incomplete = true;
            return;
        };
        let scope = self.expanded(&place.scope, of.span, of.span, None);
        let mut scope = Scope { file, locals: None, ..scope };
        for ((argument, _), value) in template.arguments.iter().zip(values) {
            self.own(argument, &scope);
            scope = scope.with(argument.clone(), value);
        }
        self.unrolled.insert(template.span);
        let mut templates = place.templates.clone();
        templates.push(index);
        self.within(&scope);
        let inner = Place { scope, inside: Some(Keyword::Template), templates, ..place.clone() };
        self.unroll_body(&template.body, inner);
        self.within(&place.scope);
    }

    /// The value of every argument of a template, in its order.
    fn arguments(
        &mut self,
        of: &'a ast::Use,
        template: &'a ast::Template,
        file: u32,
        place: &Place,
    ) -> Option<Vec<Val>> {
        let before = self.trouble;
        let mut unknown = false;
        let mut values: Vec<Option<(Val, Span)>> = vec![None; template.arguments.len()];
        let mut next = 0;
        for argument in &of.arguments {
            let value = self.eval(&argument.value, &place.scope);
            let at = match &argument.name {
                None => {
                    next += 1;
                    next - 1
                }
                Some(name) => {
                    let found = template.arguments.iter().position(|(row, _)| row.value == name.value);
                    let Some(at) = found else {
                        let rows = template.arguments.iter().map(|(row, _)| row.value.as_str());
                        let near = suggest::did_you_mean(&name.value, rows);
                        let message = format!("`{}` has no argument `{}`", template.name.value, name.value);
                        let found = ARGUMENT.at(name.span, message).maybe_help(near);
                        self.error(found.related(template.name.span, "declared here"));
                        unknown = true;
                        continue;
                    };
                    at
                }
            };
            let span = argument.name.as_ref().map_or(argument.value.span, |name| name.span);
            match values.get_mut(at) {
                None => {
                    let message = format!(
                        "`{}` takes {} argument{}, not {}",
                        template.name.value,
                        template.arguments.len(),
                        if template.arguments.len() == 1 { "" } else { "s" },
                        of.arguments.len()
                    );
                    let found = ARGUMENT.at(span, message).label("one too many");
                    self.error(found.related(template.name.span, "declared here"));
                }
                Some(Some((_, first))) => {
                    let message = format!("`{}` is given twice", template.arguments[at].0.value);
                    let found = ARGUMENT.at(span, message).related(*first, "given here already");
                    self.error(found);
                }
                Some(slot) => *slot = Some((value, span)),
            }
        }
        let scope = self.scope(file);
        let mut given = Vec::with_capacity(values.len());
        for ((row, default), value) in template.arguments.iter().zip(values) {
            given.push(match (value, default) {
                (Some((value, _)), _) => value,
                (None, Some(default)) => self.eval(default, &scope),
                // Its name may have been misspelt, which is reported.
                (None, None) if unknown => Val::hole(of.span),
                (None, None) => {
                    let message = format!("`{}` needs its argument `{}`", template.name.value, row.value);
                    let found = ARGUMENT.at(of.span, message).label(format!("`{}` is missing", row.value));
                    self.error(found.related(row.span, "has no default"));
                    Val::hole(of.span)
                }
            });
        }
        (self.trouble == before).then_some(given)
    }

    /// The scope of the latest expansion.
    fn expanded(&self, around: &Scope, span: Span, head: Span, variable: Option<(Text, Val)>) -> Scope {
        let outer = around.unrolled.clone();
        let unrolled =
            Unrolled { number: self.expansions, span, head, variable, outer, origin: OnceCell::new() };
        Scope { unrolled: Some(Rc::new(unrolled)), ..around.clone() }
    }
}
