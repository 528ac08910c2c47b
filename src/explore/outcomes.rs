//! What an attempt of each task may come to, as far as the plan can tell: it fails, or it passes with values
//! on every side of what a `when` compares them with.
//!
//! A value is varied only where something reads it: everything else of a result is a sample of what `emits`
//! promises. Unaware of runs.

use std::collections::BTreeMap;

use serde_json::{Map, Number, json};

use crate::event::{Grade, Raw};
use crate::ir::condition::{Against, Operand};
use crate::ir::kind::{Kind, UNCERTAIN};
use crate::ir::types::{Emits, Field, Type};
use crate::ir::{Over, Plan, Task, TaskId, Value};
use crate::source::Text;

/// The most ways in which one attempt may pass; beyond, its values are varied one at a time.
const MOST: usize = 24;

/// The most ways in which what one condition reads is varied together.
const JOINT: usize = 64;

/// The elements of a list that is fanned out over, where the plan does not say more.
const ELEMENTS: [&str; 2] = ["a", "b"];

/// One way in which an attempt may come out.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// What it does, as in `fails`, or ``passes with `bucket` = "billing"``.
    pub(super) says: String,
    /// How it comes out.
    pub(super) grade: Grade,
    /// Its result.
    pub(super) output: Raw,
    /// Its last line.
    pub(super) last_line: Text,
}

/// What a task's attempts may come to. The first is the one where all goes well.
#[derive(Clone, Debug)]
pub(super) struct Outcomes {
    pub(super) all: Vec<Outcome>,
    /// How many of them pass; those come first.
    pub(super) passing: usize,
    /// Whether combinations of its values are missing, or values that only a run can tell.
    pub(super) thinned: bool,
    /// Of a gate: who may answer, besides nobody in particular.
    pub(super) by: Vec<Text>,
}

/// What one part of a result is compared with.
#[derive(Clone, Debug, Default)]
struct Compared {
    values: Vec<Value>,
    /// Whether by order.
    ordered: bool,
    /// Whether with what only a run will know.
    loose: bool,
}

impl Compared {
    fn add(&mut self, against: Against<'_>) {
        self.values.extend(against.values.iter().cloned());
        self.ordered |= against.ordered;
        self.loose |= against.other.is_some();
    }
}

/// A part of a result: the task, and the path of a field, or none for the last line.
type Part = (TaskId, Option<Vec<Text>>);

/// What is read of one task.
#[derive(Clone, Debug, Default)]
struct Reads {
    /// Fields, each with the values that it is compared with.
    fields: BTreeMap<Vec<Text>, Compared>,
    /// What its last line is compared with.
    last_line: Option<Compared>,
    /// What is compared in one condition, where that reads several fields.
    joint: Vec<BTreeMap<Vec<Text>, Compared>>,
    /// Whether its status is read.
    status: bool,
    /// Lists that are fanned out over: by field, the elements.
    lists: BTreeMap<Text, Vec<serde_json::Value>>,
    /// Objects keyed by element.
    keyed: BTreeMap<Text, Vec<Text>>,
}

/// The outcomes of every task of `plan`.
pub(super) fn outcomes(plan: &Plan) -> Vec<Outcomes> {
    let reads = reads(plan);
    plan.tasks.iter().zip(&reads).map(|(task, reads)| of(task, reads)).collect()
}

/// The part of a result that an operand reads.
fn part(operand: &Operand) -> Option<Part> {
    match operand {
        Operand::Field(of, path) => Some((*of, Some(path.clone()))),
        Operand::LastLine(of) => Some((*of, None)),
        Operand::Status(_)
        | Operand::Item(_)
        | Operand::Literal(_)
        | Operand::Parameter { .. }
        | Operand::Answer(..)
        | Operand::Outcome
        | Operand::NodeLastLine
        | Operand::PreferredLabel
        | Operand::Output(_)
        | Operand::Context(_) => None,
    }
}

fn reads(plan: &Plan) -> Vec<Reads> {
    let mut all = vec![Reads::default(); plan.tasks.len()];
    let mut pairs: Vec<(Part, Part)> = Vec::new();
    for task in &plan.tasks {
        let mut items: BTreeMap<Vec<Text>, Vec<Value>> = BTreeMap::new();
        let mut joint: BTreeMap<usize, BTreeMap<Vec<Text>, Compared>> = BTreeMap::new();
        if let Some(when) = &task.when {
            when.value.compared(&mut |operand, against| {
                match (part(operand), operand) {
                    (Some((of, Some(path))), _) => {
                        all[of.index()].fields.entry(path.clone()).or_default().add(against);
                        joint.entry(of.index()).or_default().entry(path).or_default().add(against);
                    }
                    (Some((of, None)), _) => {
                        all[of.index()].last_line.get_or_insert_default().add(against);
                    }
                    (None, Operand::Status(of)) => all[of.index()].status = true,
                    (None, Operand::Item(path)) => {
                        items.entry(path.clone()).or_default().extend(against.values.iter().cloned());
                    }
                    (None, _) => {}
                }
                pairs.extend(part(operand).zip(against.other.and_then(part)));
            });
        }
        for (of, fields) in joint.into_iter().filter(|(_, fields)| fields.len() > 1) {
            all[of].joint.push(fields);
        }
        if let Kind::Route(route) = &task.kind
            && let Some(source) = &route.source
        {
            for question in &route.questions {
                let labels = question.labels.iter().map(|label| Value::String(label.value.clone()));
                let field = vec![question.name.value.clone()];
                all[source.value.index()].fields.entry(field).or_default().values.extend(labels);
            }
        }
        if let Some(over) = &task.over
            && let Over::Field(of, field) = &over.value
        {
            let known = all[of.index()].lists.entry(field.clone()).or_default();
            for element in elements(plan, *of, field, task, &items) {
                if !known.contains(&element) {
                    known.push(element);
                }
            }
        }
    }
    // What is compared with each other gets the same values, and room on either side of them. Twice, for what
    // is compared in a row.
    for (left, right) in pairs.iter().chain(&pairs) {
        let mut values = of_part(&mut all, left).values.clone();
        values.extend(of_part(&mut all, right).values.iter().cloned());
        values.extend([Value::Integer(1), Value::String("a".into())]);
        let near = |value: &Value| match value {
            Value::Integer(number) => vec![number.checked_add(1), number.checked_sub(1)],
            _ => Vec::new(),
        };
        let near: Vec<Value> = values.iter().flat_map(near).flatten().map(Value::Integer).collect();
        values.extend(near);
        for side in [left, right] {
            let part = of_part(&mut all, side);
            part.values.extend(values.iter().cloned());
            distinct(&mut part.values);
        }
    }
    for task in &plan.tasks {
        let Some(over) = &task.over else { continue };
        let Over::Field(of, field) = &over.value else { continue };
        let keys: Vec<Text> = all[of.index()].lists[field]
            .iter()
            .map(|element| match (element, &task.key) {
                (serde_json::Value::Object(members), Some(key)) => plain(&members[key.value.as_str()]),
                (element, _) => plain(element),
            })
            .collect();
        for keyed in &task.keyed {
            let (of, field) = &keyed.value;
            all[of.index()].keyed.insert(field.clone(), keys.clone());
        }
    }
    all
}

fn of_part<'a>(all: &'a mut [Reads], (of, path): &Part) -> &'a mut Compared {
    let reads = &mut all[of.index()];
    match path {
        Some(path) => reads.fields.entry(path.clone()).or_default(),
        None => reads.last_line.get_or_insert_default(),
    }
}

fn distinct(values: &mut Vec<Value>) {
    let mut kept: Vec<Value> = Vec::new();
    for value in values.drain(..) {
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    *values = kept;
}

/// An element's name.
fn plain(value: &serde_json::Value) -> Text {
    value.as_str().map_or_else(|| value.to_string().into(), Text::from)
}

/// Elements of a list: those that `item` is compared with, then others.
fn elements(
    plan: &Plan,
    of: TaskId,
    field: &Text,
    task: &Task,
    items: &BTreeMap<Vec<Text>, Vec<Value>>,
) -> Vec<serde_json::Value> {
    let whole = plan[of].emits.as_ref().and_then(|emits| emits.value.field(field).flatten());
    let integers = matches!(
        whole.map(|field| &field.ty),
        Some(Type::List(Some(element))) if **element == Type::Integer
    );
    let others = |at: usize| if integers { json!(at + 1) } else { json!(ELEMENTS[at]) };
    match &task.key {
        None => {
            let compared = items.get(&Vec::new()).into_iter().flatten().filter_map(json_of);
            let compared: Vec<_> = compared.take(2).collect();
            let others = (0..ELEMENTS.len().saturating_sub(compared.len().min(1))).map(others);
            compared.iter().cloned().chain(others).collect()
        }
        Some(key) => {
            let mut most = ELEMENTS.len();
            for values in items.values() {
                most = most.max(values.len().min(3) + 1);
            }
            let element = |at: usize| {
                let mut members = Map::new();
                for (path, values) in items {
                    let value = values.get(at).and_then(json_of);
                    if let (Some(value), Some((first, rest))) = (value, path.split_first()) {
                        put(&mut members, first, rest, value);
                    }
                }
                let name = members.get(key.value.as_str()).filter(|name| name.is_string());
                if name.is_none() {
                    members.insert(key.value.to_string(), json!(format!("e{}", at + 1)));
                }
                serde_json::Value::Object(members)
            };
            (0..most).map(element).collect()
        }
    }
}

/// A value with the words for it; none where the member is absent.
type Candidate = (Option<serde_json::Value>, String);

/// A part of a result that is varied.
struct Varied {
    /// Its path; empty for the last line.
    path: Vec<Text>,
    candidates: Vec<Candidate>,
}

fn of(task: &Task, reads: &Reads) -> Outcomes {
    let mut varied: Vec<Varied> = Vec::new();
    for (path, compared) in &reads.fields {
        let field = path.first().and_then(|name| declared(task, name));
        let candidates = values(field, &path[1.min(path.len())..], compared);
        varied.push(Varied { path: path.clone(), candidates });
    }
    if let Kind::Route(route) = &task.kind
        && route.run.is_some()
    {
        for question in &route.questions {
            let mut labels: Vec<&str> = question.labels.iter().map(|label| label.value.as_str()).collect();
            if route.can_be_uncertain() && !labels.contains(&UNCERTAIN) {
                labels.push(UNCERTAIN);
            }
            let candidates = labels.into_iter().map(|label| candidate(json!(label))).collect();
            varied.push(Varied { path: vec![question.name.value.clone()], candidates });
        }
    }
    for (field, elements) in &reads.lists {
        let named = |list: Vec<serde_json::Value>| candidate(serde_json::Value::Array(list));
        varied.push(Varied {
            path: vec![field.clone()],
            candidates: vec![named(elements.clone()), named(Vec::new())],
        });
    }
    if let Some(compared) = &reads.last_line {
        varied.push(Varied {
            path: Vec::new(),
            candidates: texts(compared).into_iter().map(candidate).collect(),
        });
    }
    if task.may_complete {
        let candidates = vec![(None, String::new()), candidate(json!(true))];
        varied.push(Varied { path: vec!["complete".into()], candidates });
    }
    varied.retain(|varied| !varied.candidates.is_empty());
    let (mut chosen, mut thinned) = combinations(&varied);
    if thinned {
        for joint in &reads.joint {
            together(task, &varied, joint, &mut chosen);
        }
    }
    let loose = |compared: &Compared| compared.loose;
    thinned |= reads.fields.values().chain(&reads.last_line).any(loose);
    let mut by = Vec::new();
    if let Kind::Gate(_) = task.kind {
        thinned |= reads.fields.contains_key(&[Text::const_new("at")][..]);
        let said = reads.fields.get(&[Text::const_new("by")][..]);
        by = said.into_iter().flat_map(|said| flat(&said.values)).filter_map(text_of).collect();
    }
    let mut all: Vec<Outcome> = chosen.iter().map(|chosen| passing(task, reads, &varied, chosen)).collect();
    let count = all.len();
    let other = |says: &str, grade| Outcome {
        says: says.to_owned(),
        grade,
        output: raw(&json!({})),
        last_line: Text::default(),
    };
    all.push(other("fails", Grade::Fail));
    if reads.status {
        all.push(other("is skipped", Grade::Skipped));
        all.push(other("cannot be reached", Grade::Transport));
        if task.allow_partial {
            let first = all[0].clone();
            all.push(Outcome { says: "passes in part".to_owned(), grade: Grade::Partial, ..first });
        }
    }
    Outcomes { all, passing: count, thinned, by }
}

fn text_of(value: &Value) -> Option<Text> {
    if let Value::String(text) = value { Some(text.clone()) } else { None }
}

/// Adds the ways to pass in which the fields that one condition reads vary together.
fn together(
    task: &Task,
    varied: &[Varied],
    joint: &BTreeMap<Vec<Text>, Compared>,
    chosen: &mut Vec<Vec<usize>>,
) {
    let at = |path: &Vec<Text>, word: &str| {
        let part = varied.iter().position(|part| part.path == *path)?;
        Some((part, varied[part].candidates.iter().position(|(_, other)| other == word)?))
    };
    let choices: Vec<Vec<(usize, usize)>> = joint
        .iter()
        .map(|(path, compared)| {
            let field = path.first().and_then(|name| declared(task, name));
            let candidates = values(field, &path[1.min(path.len())..], compared);
            candidates.iter().filter_map(|(_, word)| at(path, word)).collect()
        })
        .collect();
    let mut all = vec![vec![0; varied.len()]];
    for choice in choices {
        let before = std::mem::take(&mut all);
        for one in before {
            for &(part, value) in &choice {
                let mut other = one.clone();
                other[part] = value;
                all.push(other);
            }
        }
        all.truncate(JOINT);
    }
    for one in all {
        if !chosen.contains(&one) {
            chosen.push(one);
        }
    }
}

/// One index into the candidates of each varied part, for each way to pass; and whether some are missing.
fn combinations(varied: &[Varied]) -> (Vec<Vec<usize>>, bool) {
    let first = vec![0; varied.len()];
    let product = varied.iter().try_fold(1_usize, |all, part| all.checked_mul(part.candidates.len()));
    if product.is_none_or(|product| product > MOST) {
        let mut all = vec![first.clone()];
        for (at, part) in varied.iter().enumerate() {
            for value in 1..part.candidates.len() {
                let mut other = first.clone();
                other[at] = value;
                all.push(other);
            }
        }
        return (all, true);
    }
    let mut all = vec![first];
    for (at, part) in varied.iter().enumerate() {
        let before = all.clone();
        for value in 1..part.candidates.len() {
            all.extend(before.iter().cloned().map(|mut one| {
                one[at] = value;
                one
            }));
        }
    }
    (all, false)
}

fn passing(task: &Task, reads: &Reads, varied: &[Varied], chosen: &[usize]) -> Outcome {
    let mut members = Map::new();
    match task.emits.as_ref().map(|emits| &emits.value) {
        Some(Emits::Record(fields)) => {
            for field in fields.iter().filter(|field| !field.optional) {
                members.insert(field.name.value.to_string(), sample(&field.ty));
            }
        }
        Some(Emits::Names(names)) => {
            for name in names {
                let value = if name.value == "score" { json!(1) } else { json!("text") };
                members.insert(name.value.to_string(), value);
            }
        }
        Some(Emits::Schema(_)) => drop(members.insert("score".to_owned(), json!(1))),
        None => {}
    }
    for (field, keys) in &reads.keyed {
        let entries = keys.iter().map(|key| (key.to_string(), json!({})));
        members.insert(field.to_string(), serde_json::Value::Object(entries.collect()));
    }
    let mut last_line = Text::default();
    let mut says = Vec::new();
    for (part, &at) in varied.iter().zip(chosen) {
        let (value, word) = &part.candidates[at];
        match (part.path.split_first(), value) {
            (None, value) => {
                last_line = value.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default().into();
                says.push(format!("`last_line` = {word}"));
            }
            (Some((first, rest)), Some(value)) => {
                put(&mut members, first, rest, value.clone());
                says.push(format!("`{}` = {word}", part.path.join(".")));
            }
            (Some((first, rest)), None) => {
                take(&mut members, first, rest);
                if first != "complete" {
                    says.push(format!("no `{}`", part.path.join(".")));
                }
            }
        }
    }
    if matches!(task.kind, Kind::Evaluate(_)) {
        members.insert("pass".to_owned(), json!(true));
    }
    let says =
        if says.is_empty() { "passes".to_owned() } else { format!("passes with {}", says.join(" and ")) };
    Outcome { says, grade: Grade::Pass, output: raw(&serde_json::Value::Object(members)), last_line }
}

/// Sets the member at `first` and then `rest`.
fn put(members: &mut Map<String, serde_json::Value>, first: &str, rest: &[Text], value: serde_json::Value) {
    let Some((next, rest)) = rest.split_first() else {
        members.insert(first.to_owned(), value);
        return;
    };
    let inner = members.entry(first).or_insert_with(|| json!({}));
    if !inner.is_object() {
        *inner = json!({});
    }
    if let serde_json::Value::Object(inner) = inner {
        put(inner, next, rest, value);
    }
}

fn take(members: &mut Map<String, serde_json::Value>, first: &str, rest: &[Text]) {
    match rest.split_first() {
        None => drop(members.shift_remove(first)),
        Some((next, rest)) => {
            if let Some(serde_json::Value::Object(inner)) = members.get_mut(first) {
                take(inner, next, rest);
            }
        }
    }
}

fn declared<'a>(task: &'a Task, name: &str) -> Option<&'a Field> {
    task.emits.as_ref()?.value.field(name)?
}

/// The values worth a look at the member at `path` of a field, given what it is compared with.
fn values(field: Option<&Field>, path: &[Text], compared: &Compared) -> Vec<Candidate> {
    let mut optional = field.is_some_and(|field| field.optional);
    let mut ty = field.map(|field| &field.ty);
    for name in path {
        let inner = match ty {
            Some(Type::Record(fields)) => fields.iter().find(|field| field.name.value == *name),
            _ => None,
        };
        optional |= inner.is_some_and(|inner| inner.optional);
        ty = inner.map(|inner| &inner.ty);
    }
    let mut all: Vec<Candidate> = match ty {
        Some(Type::Boolean) => [true, false].map(|value| candidate(json!(value))).to_vec(),
        Some(Type::Union(words)) => words.iter().map(|word| candidate(json!(word.as_str()))).collect(),
        Some(Type::String) => texts(compared).into_iter().map(candidate).collect(),
        Some(Type::Integer | Type::Number) => numbers(&compared.values).into_iter().map(candidate).collect(),
        Some(Type::List(_) | Type::Object | Type::Record(_) | Type::Any(_) | Type::Schema(_)) | None => {
            unknown(compared)
        }
    };
    if optional {
        all.push((None, String::new()));
    }
    all
}

/// Values for a member of no known type, by what it is compared with.
fn unknown(compared: &Compared) -> Vec<Candidate> {
    let flat = || flat(&compared.values);
    let mut all: Vec<serde_json::Value> = Vec::new();
    if compared.values.is_empty() || flat().any(|value| matches!(value, Value::Boolean(_))) {
        all.extend([json!(true), json!(false)]);
    }
    if flat().any(|value| matches!(value, Value::Integer(_) | Value::Number(..))) {
        all.extend(numbers(&compared.values));
    }
    if flat().any(|value| matches!(value, Value::String(_))) {
        all.extend(texts(compared));
    }
    all.into_iter().map(candidate).collect()
}

/// The values, those in lists included.
fn flat(values: &[Value]) -> impl Iterator<Item = &Value> {
    values.iter().flat_map(|value| match value {
        Value::List(values) => values.as_slice(),
        Value::String(_)
        | Value::Integer(_)
        | Value::Number(..)
        | Value::Boolean(_)
        | Value::Duration(_)
        | Value::Map(_) => std::slice::from_ref(value),
    })
}

/// The texts, and one that is none of them; by order, one right behind each and one before all.
fn texts(compared: &Compared) -> Vec<serde_json::Value> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |text: String| {
        if !all.contains(&text) {
            all.push(text);
        }
    };
    let given: Vec<Text> = flat(&compared.values).filter_map(text_of).collect();
    given.iter().for_each(|text| add(text.to_string()));
    if compared.ordered {
        given.iter().for_each(|text| add(format!("{text}~")));
        add(String::new());
    }
    let other = ["other", "another", "something else"]
        .into_iter()
        .find(|word| !given.iter().any(|text| text == word));
    other.into_iter().for_each(|word| add(word.to_owned()));
    all.into_iter().map(|text| json!(text)).collect()
}

/// The numbers, and those on either side of each.
fn numbers(compared: &[Value]) -> Vec<serde_json::Value> {
    let mut all: Vec<serde_json::Value> = Vec::new();
    let mut add = |value: serde_json::Value| {
        if !all.contains(&value) {
            all.push(value);
        }
    };
    for value in flat(compared) {
        match value {
            Value::Integer(number) => {
                for near in
                    [Some(*number), number.checked_add(1), number.checked_sub(1)].into_iter().flatten()
                {
                    add(json!(near));
                }
            }
            Value::Number(number, _) => {
                for near in [*number, number + 1.0, number - 1.0] {
                    if let Some(near) = Number::from_f64(near) {
                        add(serde_json::Value::Number(near));
                    }
                }
            }
            Value::String(_) | Value::Boolean(_) | Value::Duration(_) | Value::List(_) | Value::Map(_) => {}
        }
    }
    if all.is_empty() {
        all.push(json!(1));
    }
    all
}

/// A value of a type.
fn sample(ty: &Type) -> serde_json::Value {
    match ty {
        Type::String => json!("text"),
        Type::Integer | Type::Number => json!(1),
        Type::Boolean => json!(true),
        Type::List(None) => json!(ELEMENTS),
        Type::List(Some(element)) => serde_json::Value::Array(vec![sample(element)]),
        Type::Object | Type::Schema(_) => json!({}),
        Type::Record(fields) => {
            let required = fields.iter().filter(|field| !field.optional);
            serde_json::Value::Object(
                required.map(|field| (field.name.value.to_string(), sample(&field.ty))).collect(),
            )
        }
        Type::Union(words) => words.first().map_or_else(|| json!("text"), |word| json!(word.as_str())),
        Type::Any(types) => types.first().map_or_else(|| json!({}), sample),
    }
}

fn candidate(value: serde_json::Value) -> Candidate {
    let word = value.to_string();
    (Some(value), word)
}

fn json_of(value: &Value) -> Option<serde_json::Value> {
    Some(match value {
        Value::String(text) => json!(text.as_str()),
        Value::Integer(number) => json!(number),
        Value::Number(number, _) => serde_json::Value::Number(Number::from_f64(*number)?),
        Value::Boolean(_) | Value::Duration(_) | Value::List(_) | Value::Map(_) => return None,
    })
}

fn raw(value: &serde_json::Value) -> Raw {
    let text = value.to_string();
    serde_json::value::RawValue::from_string(text).expect("a value is written as JSON").into()
}
