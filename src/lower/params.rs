//! Launch parameters: their types and constraints, the values that a run gives, and where those may go.
//!
//! Unaware of flags and files: the `cli` reads those into [`Bindings`].

use std::collections::hash_map::Entry;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use serde_json::json;

use super::Lower;
use super::names::Scope;
use super::value::Val;
use crate::diag::{Code, Severity, suggest};
use crate::ir::{self, ParamId, ParamType, Value};
use crate::reference::{Keyword, alternatives, table};
use crate::source::{Span, Spanned, Text};
use crate::syntax::ast::{self, TypeKind};

/// An external value where none may go.
pub(crate) static REACHES: Code = Code {
    id: "plan::param::reaches",
    severity: Severity::Error,
    summary: "A parameter that reaches what it may not",
    explain: "A parameter is external: whoever launches the plan chooses it. It may reach a prompt (where it is \
              fenced), an agent's `args`, `env`, `ask`, a `when`, the list of an `over`, a number or duration, and a \
              call's `params`. It may reach nothing else: no command line, name, path, `needs` or `workspace`.\n\n\
              Give the value to the task as a variable and read it there: `env = { TARGET = target }` and \
              `run = './build.sh \"$TARGET\"'`. Every command also finds it in its inputs, under `params`.",
};

/// A type that no parameter has.
pub(crate) static TYPE: Code = Code {
    id: "plan::param::type",
    severity: Severity::Error,
    summary: "A type that no parameter has",
    explain: "A parameter is a `string`, `integer`, `number`, `boolean`, `[string]`, or a union of string literals.",
};

/// A default that is none.
pub(crate) static DEFAULT: Code = Code {
    id: "plan::param::default",
    severity: Severity::Error,
    summary: "A default that the parameter does not take",
    explain: "A default is a constant of the parameter's type that keeps its constraints. It cannot need another \
              parameter.",
};

/// A constraint that fits no value of the type.
pub(crate) static CONSTRAINT: Code = Code {
    id: "plan::param::constraint",
    severity: Severity::Error,
    summary: "A constraint that the type cannot have",
    explain: "`pattern` is for strings, `min` and `max` are for numbers, and `min` is not above `max`.",
};

/// A parameter without a value.
pub(crate) static MISSING: Code = Code {
    id: "plan::param::missing",
    severity: Severity::Error,
    summary: "A required parameter without a value",
    explain: "A parameter without a default has to be given: `--param name=value`, or in the file that `--params` \
              names. `plan params FILE` lists them.",
};

/// A value for no parameter.
pub(crate) static UNKNOWN: Code = Code {
    id: "plan::param::unknown",
    severity: Severity::Error,
    summary: "A value for a parameter that does not exist",
    explain: "Every value that a launch or a `call` gives has to be for a parameter that the plan declares.",
};

/// A value that the parameter does not take.
pub(crate) static INVALID: Code = Code {
    id: "plan::param::invalid",
    severity: Severity::Error,
    summary: "A value that the parameter does not take",
    explain: "A value has the parameter's type and keeps its `pattern`, `min` and `max`.",
};

/// The place that a loop reads.
pub(super) const FOR: &str = "the list of a `for`";

/// The values that a launch gives.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    values: IndexMap<Text, Given>,
    check_only: bool,
}

/// One value, as it was given.
#[derive(Clone, Debug)]
pub enum Given {
    /// On a command line: read as the parameter's type says.
    Text(String),
    /// In a file.
    Json(serde_json::Value),
}

impl Bindings {
    /// No values, and none needed: required parameters are unknown.
    #[must_use]
    pub fn check() -> Self {
        Self { check_only: true, ..Self::default() }
    }

    /// The values of a launch: a file's, then a command line's, which win.
    ///
    /// # Errors
    /// If the file is no TOML or JSON table, or an argument is no `name=value`.
    pub fn launch(file: Option<(&str, &str)>, arguments: &[impl AsRef<str>]) -> Result<Self, String> {
        let mut values = IndexMap::new();
        if let Some((path, text)) = file {
            for (name, value) in table_of(path, text)? {
                values.insert(name.into(), Given::Json(value));
            }
        }
        let mut seen: Vec<&str> = Vec::new();
        for argument in arguments {
            let argument = argument.as_ref();
            let Some((name, value)) = argument.split_once('=') else {
                return Err(format!("`--param {argument}` gives no value; write `--param {argument}=VALUE`"));
            };
            if seen.contains(&name) {
                return Err(format!("`--param {name}=…` is given twice"));
            }
            seen.push(name);
            values.insert(name.into(), Given::Text(value.to_owned()));
        }
        Ok(Self { values, check_only: false })
    }

    /// The same values, with required parameters unknown where there are none.
    #[must_use]
    pub fn checking(self) -> Self {
        Self { check_only: true, ..self }
    }
}

/// The table in a file of parameters.
fn table_of(path: &str, text: &str) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_json = extension.eq_ignore_ascii_case("json")
        || (!extension.eq_ignore_ascii_case("toml") && text.trim_start().starts_with('{'));
    if is_json {
        if !text.trim_start().starts_with('{') {
            return match serde_json::from_str::<serde_json::Value>(text) {
                Ok(_) => Err(format!("{path}: parameters are an object, `{{\"name\": value}}`")),
                Err(error) => Err(format!("{path}: {error}")),
            };
        }
        let pairs: Pairs = serde_json::from_str(text).map_err(|error| format!("{path}: {error}"))?;
        return Ok(pairs.0);
    }
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| format!("{path}: {}", error.to_string().trim_end()))?;
    let mut map = serde_json::Map::new();
    for (name, value) in table {
        let value = of_toml(value).map_err(|what| format!("{path}: `{name}` cannot be {what}"))?;
        map.insert(name, value);
    }
    Ok(map)
}

/// The members of a JSON object, each given once.
struct Pairs(serde_json::Map<String, serde_json::Value>);

impl<'de> serde::Deserialize<'de> for Pairs {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Pairs;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut access: A) -> Result<Pairs, A::Error> {
                let mut map = serde_json::Map::new();
                while let Some(name) = access.next_key::<String>()? {
                    if map.contains_key(&name) {
                        return Err(serde::de::Error::custom(format_args!("`{name}` is given twice")));
                    }
                    map.insert(name, access.next_value()?);
                }
                Ok(Pairs(map))
            }
        }

        deserializer.deserialize_map(Visitor)
    }
}

/// A value of TOML as JSON; else what it is that JSON lacks.
fn of_toml(value: toml::Value) -> Result<serde_json::Value, &'static str> {
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => match serde_json::Number::from_f64(number) {
            Some(number) => number.into(),
            None => return Err("infinite, or no number"),
        },
        toml::Value::Boolean(value) => value.into(),
        toml::Value::Datetime(_) => return Err("a date or a time; write it in quotes"),
        toml::Value::Array(items) => {
            serde_json::Value::Array(items.into_iter().map(of_toml).collect::<Result<_, _>>()?)
        }
        toml::Value::Table(table) => {
            let pairs = table.into_iter().map(|(key, value)| of_toml(value).map(|value| (key, value)));
            serde_json::Value::Object(pairs.collect::<Result<_, _>>()?)
        }
    })
}

/// How a plan is launched.
pub(crate) enum Launch<'b> {
    /// By a person or a program.
    Top(&'b Bindings),
    /// By a `call` of another plan.
    Call {
        /// The values, each with its name.
        values: Vec<(Spanned<Text>, Val)>,
        /// The call's name.
        span: Span,
        /// Whether required values may be unknown.
        check_only: bool,
    },
}

impl Launch<'_> {
    pub(super) fn is_check(&self) -> bool {
        match self {
            Self::Top(bindings) => bindings.check_only,
            Self::Call { check_only, .. } => *check_only,
        }
    }
}

/// The values of a launch that no parameter took yet.
pub(super) struct Binder<'b> {
    left: FxHashMap<Text, (Option<Span>, Arrived<'b>)>,
    order: Vec<Text>,
    /// Where a call stands.
    call: Option<Span>,
    check_only: bool,
}

enum Arrived<'b> {
    Given(&'b Given),
    Val(Val),
}

impl<'b> Binder<'b> {
    pub(super) fn new(launch: Launch<'b>, lower: &mut Lower<'_, '_>) -> Self {
        let check_only = launch.is_check();
        let mut binder = Self { left: FxHashMap::default(), order: Vec::new(), call: None, check_only };
        match launch {
            Launch::Top(bindings) => {
                for (name, given) in &bindings.values {
                    binder.left.insert(name.clone(), (None, Arrived::Given(given)));
                    binder.order.push(name.clone());
                }
            }
            Launch::Call { values, span, .. } => {
                binder.call = Some(span);
                for (name, value) in values {
                    match binder.left.entry(name.value.clone()) {
                        Entry::Occupied(first) => {
                            let first = first.get().0.unwrap_or(span);
                            lower.duplicate(&name.value, (first, "given"), (name.span, "given"));
                        }
                        Entry::Vacant(place) => {
                            place.insert((Some(name.span), Arrived::Val(value)));
                            binder.order.push(name.value);
                        }
                    }
                }
            }
        }
        binder
    }

    /// Reports the values that no parameter took.
    pub(super) fn finish(mut self, lower: &mut Lower<'_, '_>) {
        for name in std::mem::take(&mut self.order) {
            let Some((span, _)) = self.left.remove(&name) else {
                continue;
            };
            let names: Vec<Text> = lower.plan.params.iter().map(|param| param.name.value.clone()).collect();
            let near = suggest::did_you_mean(&name, names.iter().map(Text::as_str));
            let near = near.or_else(|| names.is_empty().then(|| "the plan has no parameters".to_owned()));
            let span = span.unwrap_or(lower.plan.span);
            lower.error(UNKNOWN.at(span, format!("the plan has no parameter `{name}`")).maybe_help(near));
        }
    }
}

/// A parameter of which only the name is known yet.
pub(super) fn skeleton(param: &ast::Param) -> ir::Param {
    ir::Param {
        name: param.name.clone(),
        doc: param.doc.clone(),
        ty: ParamType::String,
        default: None,
        pattern: None,
        min: None,
        max: None,
        value: None,
    }
}

impl<'a> Lower<'a, '_> {
    /// Reports an external value that arrived where none may go.
    pub(super) fn reaches(&mut self, param: ParamId, span: Span, place: &str) {
        let name = self.plan.params[param.index()].name.clone();
        let help = match place {
            "`run`" | "`done_when`" | "`cwd`" | "`emits_files`" | "a path" => Some(format!(
                "pass it as a variable, as in `env = {{ {} = {} }}`",
                name.value.to_uppercase().replace('-', "_"),
                name.value
            )),
            FOR => Some("to run a task for every element, use `over` in the task".to_owned()),
            _ => None,
        };
        self.error(
            REACHES
                .at(span, format!("the parameter `{}` reaches {place}", name.value))
                .label("comes from outside")
                .related(name.span, format!("`{}` is external", name.value))
                .maybe_help(help),
        );
    }

    /// Reads a parameter's declaration and binds it.
    pub(super) fn param(&mut self, id: ParamId, param: &'a ast::Param, launch: &mut Binder<'_>) -> Val {
        let scope = self.scope(0);
        let ty = self.param_type(&param.ty);
        let mut row = ir::Param { ty: ty.clone().unwrap_or(ParamType::String), ..skeleton(param) };
        if let Some(body) = &param.body {
            self.constraints(&mut row, body, param.name.span, ty.is_some());
        }
        if let Some(expr) = &param.default {
            row.default = self.param_default(&row, expr, &scope, ty.is_some());
        }
        let given = launch.left.remove(&row.name.value);
        let known = ty.is_some();
        row.value = match given {
            Some((span, arrived)) => self.bind(&row, span, arrived, launch.check_only, known),
            None => row.default.clone(),
        };
        let hole = !known || (param.default.is_some() && row.default.is_none() && row.value.is_none());
        let unknown = row.value.is_none();
        // A check needs no values from an operator, but a call gives its own.
        let wanted = !launch.check_only || launch.call.is_some();
        if unknown && !hole && wanted && !launch.took(&row.name.value) && param.default.is_none() {
            self.missing(&row, launch.call);
        }
        let span = param.name.span;
        let value = match &row.value {
            Some(value) => Val::external(value.clone(), id, &row.name.value, span),
            None if hole => Val::hole(span),
            None => Val::unknown(row.ty.clone(), id, &row.name.value, span),
        };
        self.plan.params[id.index()] = row;
        value
    }

    fn missing(&mut self, row: &ir::Param, call: Option<Span>) {
        let name = &row.name.value;
        match call {
            None => self.error(
                MISSING
                    .at(row.name.span, format!("the parameter `{name}` has no value"))
                    .label("has no default")
                    .help(format!("give one, as in `--param {name}=…`")),
            ),
            Some(call) => self.error(
                MISSING
                    .at(call, format!("the called plan's parameter `{name}` has no value"))
                    .related(row.name.span, "has no default")
                    .help(format!("give one, as in `params = {{ {name} = … }}`")),
            ),
        }
    }

    fn param_type(&mut self, ty: &ast::TypeExpr) -> Option<ParamType> {
        match &ty.kind {
            TypeKind::Name(name) => match name.as_str() {
                "string" => return Some(ParamType::String),
                "integer" => return Some(ParamType::Integer),
                "number" => return Some(ParamType::Number),
                "boolean" => return Some(ParamType::Boolean),
                _ => {}
            },
            TypeKind::List(inner) if matches!(&inner.kind, TypeKind::Name(name) if name == "string") => {
                return Some(ParamType::Strings);
            }
            TypeKind::Literal(text) => return Some(ParamType::Union(vec![text.clone()])),
            TypeKind::Union(types) => {
                let literal = |ty: &ast::TypeExpr| match &ty.kind {
                    TypeKind::Literal(text) => Some(text.clone()),
                    TypeKind::Name(_)
                    | TypeKind::List(_)
                    | TypeKind::Record(_)
                    | TypeKind::Call(..)
                    | TypeKind::Union(_)
                    | TypeKind::Broken => None,
                };
                if let Some(literals) = types.iter().map(literal).collect() {
                    return Some(ParamType::Union(literals));
                }
            }
            TypeKind::Broken => {
                self.hole();
                return None;
            }
            TypeKind::List(_) | TypeKind::Record(_) | TypeKind::Call(..) => {}
        }
        let written = self.slice(ty.span).to_owned();
        let names = ["string", "integer", "number", "boolean"];
        let near = suggest::did_you_mean(&written, names).unwrap_or_else(|| {
            "use `string`, `integer`, `number`, `boolean`, `[string]`, or `\"a\" | \"b\"`".to_owned()
        });
        self.error(TYPE.at(ty.span, format!("no parameter has the type `{written}`")).help(near));
        None
    }

    fn constraints(&mut self, row: &mut ir::Param, body: &'a ast::Body, span: Span, typed: bool) {
        let scope = self.scope(0);
        let fields = self.body_fields(Keyword::Param, body, span, false);
        if let Some(expr) = fields.get(&table::PARAM_DOC)
            && let Some(doc) = self.text(&table::PARAM_DOC, expr, &scope)
        {
            row.doc = Some(doc.value);
        }
        if let Some(expr) = fields.get(&table::PATTERN)
            && let Some(pattern) = self.pattern(&table::PATTERN, expr, &scope)
        {
            match row.ty {
                ParamType::String | ParamType::Strings => row.pattern = Some(pattern.value),
                ParamType::Integer | ParamType::Number | ParamType::Boolean | ParamType::Union(_)
                    if typed =>
                {
                    self.error(CONSTRAINT.at(pattern.span, "`pattern` is for strings"));
                }
                ParamType::Integer | ParamType::Number | ParamType::Boolean | ParamType::Union(_) => {}
            }
        }
        for (field, bound) in [(&table::MIN, &mut row.min), (&table::MAX, &mut row.max)] {
            let Some(expr) = fields.get(field) else { continue };
            let Some(number) = self.number(field, expr, &scope) else { continue };
            match row.ty {
                ParamType::Integer | ParamType::Number => *bound = Some(number.value),
                ParamType::String | ParamType::Boolean | ParamType::Strings | ParamType::Union(_)
                    if typed =>
                {
                    self.error(CONSTRAINT.at(number.span, format!("`{}` is for numbers", field.name)));
                }
                ParamType::String | ParamType::Boolean | ParamType::Strings | ParamType::Union(_) => {}
            }
        }
        if let (Some(min), Some(max)) = (row.min, row.max)
            && min > max
            && let Some(expr) = fields.get(&table::MAX)
        {
            self.error(
                CONSTRAINT
                    .at(expr.span, format!("`max` is below `min`, so no value of `{}` fits", row.name.value)),
            );
            (row.min, row.max) = (None, None);
        }
    }

    fn param_default(
        &mut self,
        row: &ir::Param,
        expr: &ast::Expr,
        scope: &Scope,
        typed: bool,
    ) -> Option<Value> {
        let value = self.eval(expr, scope);
        if value.is_hole() || !typed {
            return None;
        }
        let name = &row.name.value;
        if let Some(other) = value.taint {
            let other = self.param_name(other);
            self.error(
                DEFAULT.at(expr.span, format!("the default of `{name}` needs the parameter `{other}`")),
            );
            return None;
        }
        let Some(plain) = value.plain() else {
            self.error(DEFAULT.at(expr.span, format!("{} is no default for `{name}`", value.describe())));
            return None;
        };
        match fit(row, plain) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.error(DEFAULT.at(expr.span, format!("the default of `{name}` {problem}")));
                None
            }
        }
    }

    /// The value that a launch gives a parameter.
    fn bind(
        &mut self,
        row: &ir::Param,
        span: Option<Span>,
        arrived: Arrived<'_>,
        check_only: bool,
        typed: bool,
    ) -> Option<Value> {
        if !typed {
            return None;
        }
        let read = match &arrived {
            Arrived::Given(Given::Text(text)) => read(&row.ty, text),
            Arrived::Given(Given::Json(json)) => from_json(json),
            Arrived::Val(value) => match value.plain() {
                Some(value) => Ok(value),
                // What is unknown to the caller is unknown to the callee, if the types agree.
                None if value.is_unknown() && check_only => return None,
                None if value.is_hole() => return None,
                None => Err(format!("cannot be {}", value.describe())),
            },
        };
        match read.and_then(|value| fit(row, value)) {
            Ok(value) => Some(value),
            Err(problem) => {
                let place = span.unwrap_or(row.name.span);
                let mut found = INVALID.at(place, format!("the parameter `{}` {problem}", row.name.value));
                if span.is_some() {
                    found = found.related(row.name.span, "declared here");
                }
                self.error(found);
                None
            }
        }
    }
}

impl Binder<'_> {
    fn took(&self, name: &str) -> bool {
        self.order.iter().any(|given| given == name)
    }
}

/// A value of a parameter's type that keeps its constraints; else what is wrong, as a verb phrase.
#[expect(clippy::cast_precision_loss, reason = "a bound is compared, not counted with")]
fn fit(row: &ir::Param, value: Value) -> Result<Value, String> {
    let bounded = |number: f64, shown: &str| {
        if row.min.is_some_and(|min| number < min) {
            Err(format!("has to be at least {}, and is {shown}", row.min.unwrap_or_default()))
        } else if row.max.is_some_and(|max| number > max) {
            Err(format!("has to be at most {}, and is {shown}", row.max.unwrap_or_default()))
        } else {
            Ok(())
        }
    };
    let matching = |text: &str| match row.pattern.as_ref().map(|pattern| regex::Regex::new(pattern)) {
        Some(Ok(regex)) if !regex.is_match(text) => Err(format!(
            "has to match `{}`, and {text:?} does not",
            row.pattern.as_deref().unwrap_or_default()
        )),
        Some(Ok(_) | Err(_)) | None => Ok(()),
    };
    match (&row.ty, value) {
        (ParamType::String, Value::String(text)) => {
            matching(&text)?;
            Ok(Value::String(text))
        }
        (ParamType::Union(words), Value::String(text)) => {
            if words.contains(&text) {
                return Ok(Value::String(text));
            }
            let near = suggest::did_you_mean(&text, words.iter().map(Text::as_str));
            let near = near.map_or_else(String::new, |near| format!("; {near}"));
            Err(format!("has to be {}, and is {:?}{near}", alternatives(words), text.as_str()))
        }
        (ParamType::Integer, Value::Integer(number)) => {
            bounded(number as f64, &number.to_string())?;
            Ok(Value::Integer(number))
        }
        (ParamType::Number, Value::Integer(number)) => {
            bounded(number as f64, &number.to_string())?;
            Ok(Value::Number(number as f64, compact_str::format_compact!("{number}")))
        }
        (ParamType::Number, Value::Number(number, text)) => {
            bounded(number, &text)?;
            Ok(Value::Number(number, text))
        }
        (ParamType::Boolean, Value::Boolean(value)) => Ok(Value::Boolean(value)),
        (ParamType::Strings, Value::List(items)) => {
            for item in &items {
                match item {
                    Value::String(text) => matching(text)?,
                    other => return Err(format!("has to be a list of strings, and holds {}", sort(other))),
                }
            }
            Ok(Value::List(items))
        }
        (ty, value) => Err(format!("has to be {}, and is {}", describe(ty), sort(&value))),
    }
}

/// Reads a command line's text as a type says; else what is wrong, as a verb phrase.
fn read(ty: &ParamType, text: &str) -> Result<Value, String> {
    match ty {
        ParamType::String | ParamType::Union(_) => Ok(Value::String(text.into())),
        ParamType::Integer => {
            let number = text.parse().map_err(|_| format!("has to be an integer, and is {text:?}"))?;
            Ok(Value::Integer(number))
        }
        ParamType::Number => {
            let number: serde_json::Number =
                serde_json::from_str(text).map_err(|_| format!("has to be a number, and is {text:?}"))?;
            Ok(Value::Number(number.as_f64().unwrap_or_default(), text.into()))
        }
        ParamType::Boolean => match text {
            "true" => Ok(Value::Boolean(true)),
            "false" => Ok(Value::Boolean(false)),
            _ => Err(format!("has to be `true` or `false`, and is {text:?}")),
        },
        ParamType::Strings => {
            let items: Vec<Text> = serde_json::from_str(text)
                .map_err(|_| format!("has to be a list, written as in '[\"a\", \"b\"]', and is {text:?}"))?;
            Ok(Value::List(items.into_iter().map(Value::String).collect()))
        }
    }
}

fn from_json(json: &serde_json::Value) -> Result<Value, String> {
    Ok(match json {
        serde_json::Value::Null => return Err("cannot be null".into()),
        serde_json::Value::Bool(value) => Value::Boolean(*value),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(integer) => Value::Integer(integer),
            None => {
                Value::Number(number.as_f64().unwrap_or_default(), compact_str::format_compact!("{number}"))
            }
        },
        serde_json::Value::String(text) => Value::String(text.as_str().into()),
        serde_json::Value::Array(items) => {
            Value::List(items.iter().map(from_json).collect::<Result<_, _>>()?)
        }
        serde_json::Value::Object(map) => Value::Map(
            map.iter()
                .map(|(key, value)| Ok((key.as_str().into(), from_json(value)?)))
                .collect::<Result<_, String>>()?,
        ),
    })
}

fn describe(ty: &ParamType) -> String {
    match ty {
        ParamType::String => "a string".into(),
        ParamType::Integer => "an integer".into(),
        ParamType::Number => "a number".into(),
        ParamType::Boolean => "a boolean".into(),
        ParamType::Strings => "a list of strings".into(),
        ParamType::Union(words) => alternatives(words),
    }
}

fn sort(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a string",
        Value::Integer(_) => "an integer",
        Value::Number(..) => "a number",
        Value::Boolean(_) => "a boolean",
        Value::Duration(_) => "a duration",
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
    }
}

/// The JSON Schema (2020-12) of what `plan` may be launched with.
#[must_use]
pub fn json_schema(name: &str, params: &[ir::Param]) -> serde_json::Value {
    let mut properties = serde_json::Map::new();
    let mut required = Vec::new();
    for param in params {
        let mut schema = match &param.ty {
            ParamType::String => json!({"type": "string"}),
            ParamType::Integer => json!({"type": "integer"}),
            ParamType::Number => json!({"type": "number"}),
            ParamType::Boolean => json!({"type": "boolean"}),
            ParamType::Strings => json!({"type": "array", "items": {"type": "string"}}),
            ParamType::Union(words) => json!({"enum": words}),
        };
        let pattern = param.pattern.as_deref();
        if let (ParamType::Strings, Some(pattern)) = (&param.ty, pattern) {
            schema["items"]["pattern"] = pattern.into();
        } else if let Some(pattern) = pattern {
            schema["pattern"] = pattern.into();
        }
        for (key, bound) in [("minimum", param.min), ("maximum", param.max)] {
            if let Some(bound) = bound {
                schema[key] = number_json(bound);
            }
        }
        if let Some(doc) = &param.doc {
            schema["description"] = doc.as_str().into();
        }
        match &param.default {
            Some(default) => schema["default"] = to_json(default),
            None => required.push(param.name.value.as_str()),
        }
        properties.insert(param.name.value.to_string(), schema);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[expect(clippy::cast_possible_truncation, reason = "whole, and seen to fit")]
fn number_json(value: f64) -> serde_json::Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

/// A value as JSON, numbers digit for digit.
#[must_use]
pub fn to_json(value: &Value) -> serde_json::Value {
    ir::dump::json(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_win_over_the_file() {
        let bound =
            Bindings::launch(Some(("p.toml", "a = 1\nb = [\"x\"]")), &["a=2", "c=x=y"]).expect("well formed");
        let shown: Vec<String> =
            bound.values.iter().map(|(name, given)| format!("{name} {given:?}")).collect();
        assert_eq!(shown, [r#"a Text("2")"#, r#"b Json(Array [String("x")])"#, r#"c Text("x=y")"#]);
        assert!(Bindings::launch(None, &["a"]).is_err());
        assert!(Bindings::launch(None, &["a=1", "a=2"]).is_err());
        assert!(Bindings::launch(Some(("p.json", "[1]")), &[] as &[&str]).is_err());
        assert!(Bindings::launch(Some(("p.json", "{\"a\": 1}")), &[] as &[&str]).is_ok());
    }

    #[test]
    fn what_is_wrong_with_a_file_is_said_in_its_words() {
        for (path, text, expected) in [
            ("p.json", r#"{"a": 1, "b": 2, "a": 3}"#, "`a` is given twice"),
            ("p.json", r#"{"a": }"#, "p.json: expected value"),
            ("p.json", "[1]", "parameters are an object"),
            ("p.toml", "a = 1\na = 2", "duplicate key"),
            ("p.toml", "day = 2026-01-01", "`day` cannot be a date or a time; write it in quotes"),
            ("p.toml", "n = inf", "`n` cannot be infinite, or no number"),
            ("p.toml", "n = [nan]", "`n` cannot be infinite, or no number"),
        ] {
            let error = Bindings::launch(Some((path, text)), &[] as &[&str]).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn texts_are_read_as_the_type_says() {
        assert_eq!(read(&ParamType::Integer, "07"), Ok(Value::Integer(7)));
        assert_eq!(read(&ParamType::Number, "1.50"), Ok(Value::Number(1.5, "1.50".into())));
        assert_eq!(read(&ParamType::Boolean, "true"), Ok(Value::Boolean(true)));
        let list = Value::List(vec![Value::String("a".into())]);
        assert_eq!(read(&ParamType::Strings, "[\"a\"]"), Ok(list));
        for (ty, text) in [
            (ParamType::Integer, "1.0"),
            (ParamType::Integer, "two"),
            (ParamType::Number, "NaN"),
            (ParamType::Boolean, "yes"),
            (ParamType::Strings, "a,b"),
        ] {
            assert!(read(&ty, text).is_err(), "{text}");
        }
    }
}
