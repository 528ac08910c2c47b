//! Is this run for this plan? And is what it needs still there? (EXECUTION §12)
//!
//! Everything here only looks: a refusal leaves a run as it is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::about::About;
use super::capture::Store;
use crate::event::{AttemptEnded, FileSet, Status};
use crate::history::{History, Row};

/// What a run is to be gone on with.
#[derive(Clone, Copy, Debug)]
pub struct Now<'a> {
    /// The digest of the plan's meaning.
    pub plan_digest: &'a str,
    /// The compiled plan, as `plan.json` would have it.
    pub plan: &'a [u8],
    /// The fingerprint of the gates.
    pub gates: &'a str,
    /// The parameters.
    pub params: &'a Map<String, Value>,
}

/// Why a run that was launched with `about` and `plan` is not gone on with as `now`: each reason is one
/// clause that names what changed. Empty where nothing speaks against it.
#[must_use]
pub fn refusals(about: &About, plan: &[u8], now: &Now<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    for (name, value) in &about.params {
        match now.params.get(name) {
            Some(now) if now == value => {}
            Some(now) => reasons.push(format!("the parameter `{name}` was {value} and is {now}")),
            None => reasons.push(format!("the parameter `{name}` was {value} and is not given")),
        }
    }
    let new = now.params.iter().filter(|(name, _)| !about.params.contains_key(name.as_str()));
    reasons.extend(new.map(|(name, value)| format!("the parameter `{name}` was not given and is {value}")));
    if about.plan_digest != now.plan_digest {
        let changed = differences(plan, now.plan);
        // Another value of a parameter makes another plan: then the parameter is the reason.
        if reasons.is_empty() || changed.iter().any(|change| change.contains("not in the plan")) {
            reasons.extend(changed);
        }
    } else if about.gates != now.gates {
        reasons.push("the gates are not those that the run began with: a frozen file has changed".to_owned());
    }
    reasons
}

/// What is different between two compiled plans.
fn differences(before: &[u8], now: &[u8]) -> Vec<String> {
    let read = |bytes| serde_json::from_slice::<Map<String, Value>>(bytes).unwrap_or_default();
    let (before, now) = (read(before), read(now));
    let mut changed = Vec::new();
    for (list, what) in [("tasks", "task"), ("gates", "gate")] {
        let (old, new) = (named(&before, list), named(&now, list));
        for (name, entry) in &old {
            match new.get(name) {
                None => changed.push(format!("the {what} `{name}` is not in the plan any more")),
                Some(other) if other != entry => {
                    changed.push(format!("the {what} `{name}` has changed{}", fields(entry, other)));
                }
                Some(_) => {}
            }
        }
        let added = new.keys().filter(|name| !old.contains_key(*name));
        changed.extend(added.map(|name| format!("the {what} `{name}` was not in the plan")));
    }
    let header = |document: &Map<String, Value>| document.get("header").cloned().unwrap_or_default();
    let frozen = |document: &Map<String, Value>| header(document).get("frozen").cloned();
    if frozen(&before) != frozen(&now) {
        let list =
            |globs: Option<Value>| globs.map_or_else(|| "nothing".to_owned(), |globs| globs.to_string());
        changed.push(format!("`frozen` was {} and is {}", list(frozen(&before)), list(frozen(&now))));
    }
    if changed.is_empty() {
        let fields = before.keys().chain(now.keys()).filter(|key| before.get(*key) != now.get(*key));
        // What is for people is no part of what a plan means.
        let meant = fields.filter(|key| !["order", "docs", "origins"].contains(&key.as_str()));
        let mut fields: Vec<_> = meant.map(|key| format!("`{key}`")).collect();
        fields.sort();
        fields.dedup();
        changed.push(match fields.is_empty() {
            true => "the plan has changed".to_owned(),
            false => format!("the plan has changed: {}", fields.join(", ")),
        });
    }
    changed
}

/// Which fields of two objects are different, as the end of a clause: of verifiers, which.
fn fields(before: &Value, now: &Value) -> String {
    let (Some(before), Some(now)) = (before.as_object(), now.as_object()) else { return String::new() };
    let mut fields = Vec::new();
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    for key in keys.into_iter().filter(|&key| before.get(key) != now.get(key)) {
        if key == "verify" {
            let (old, new) = (named(before, key), named(now, key));
            let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
            let names = names.into_iter().filter(|&name| old.get(name) != new.get(name));
            fields.extend(names.map(|name| match (old.get(name), new.get(name)) {
                (Some(old), Some(new)) => format!("`verify {name}`{}", fields_in(old, new)),
                (Some(_), None) => format!("`verify {name}` is gone"),
                (None, _) => format!("`verify {name}` is new"),
            }));
        } else {
            fields.push(format!("`{key}`"));
        }
    }
    if fields.is_empty() { String::new() } else { format!(": {}", fields.join(", ")) }
}

fn fields_in(before: &Value, now: &Value) -> String {
    let inner = fields(before, now);
    inner.strip_prefix(": ").map(|inner| format!(" ({inner})")).unwrap_or_default()
}

/// The entries of a list of the document, by their names.
fn named<'a>(document: &'a Map<String, Value>, list: &str) -> BTreeMap<&'a str, &'a Value> {
    let tasks = document.get(list).and_then(Value::as_array);
    let named = tasks.into_iter().flatten().filter_map(|task| Some((task.get("name")?.as_str()?, task)));
    named.collect()
}

/// Every set that the rows of `history` still stand for: what a task keeps, and what its earlier rounds
/// kept, unless it has settled silently since (EXECUTION §7).
#[must_use]
pub fn live_sets(history: &History) -> Vec<&FileSet> {
    let mut sets = Vec::new();
    for row in &history.rows {
        add_live(row, &mut sets);
        row.instances
            .iter()
            .flat_map(|instances| instances.values())
            .for_each(|row| add_live(row, &mut sets));
    }
    sets
}

fn add_live<'a>(row: &'a Row, sets: &mut Vec<&'a FileSet>) {
    let rounds = row.rounds.iter().filter(|round| !(round.dropped || round.settled.status.is_silent()));
    sets.extend(rounds.filter_map(|round| round.last.as_ref()).flat_map(|last| sets_of(last)));
    if !row.status().is_some_and(Status::is_silent) {
        sets.extend(row.last.iter().flat_map(|last| sets_of(last)));
    }
}

/// The set of an attempt, and what is left of it where its verifiers reject it.
fn sets_of(last: &AttemptEnded) -> impl Iterator<Item = &FileSet> {
    let kept = last.if_rejected.as_ref().and_then(|kept| kept.files.as_ref());
    last.files.iter().chain(kept)
}

/// What of the files that `history` stands for is missing, by name.
#[must_use]
pub fn missing(store: &Store, history: &History) -> Vec<String> {
    live_sets(history).into_iter().filter_map(|set| store.missing(set)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn params(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn refusals_name_what_changed() {
        let plan = |tasks: Value| json!({"name": "p", "tasks": tasks}).to_string().into_bytes();
        let old = plan(json!([{"name": "a", "run": "x"}, {"name": "b"}]));
        let about = About {
            params: params(json!({"n": 3})),
            plan_digest: "1".into(),
            gates: "g".into(),
            ..About::default()
        };
        let same = params(json!({"n": 3}));
        let check = |plan_digest, plan, gates, params| {
            refusals(&about, &old, &Now { plan_digest, plan, gates, params })
        };
        assert_eq!(check("1", &old, "g", &same), Vec::<String>::new());
        let other = params(json!({"n": 4, "m": "x"}));
        let new = plan(json!([{"name": "a", "run": "x"}, {"name": "b", "env": {"N": 4}}]));
        assert_eq!(
            check("2", &new, "g", &other),
            ["the parameter `n` was 3 and is 4", "the parameter `m` was not given and is \"x\""]
        );
        let new = plan(json!([{"name": "a", "run": "y"}, {"name": "c"}]));
        assert_eq!(
            check("2", &new, "g", &same),
            [
                "the task `a` has changed: `run`",
                "the task `b` is not in the plan any more",
                "the task `c` was not in the plan"
            ]
        );
        let new = json!({"name": "q", "tasks": [{"name": "a", "run": "x"}, {"name": "b"}]}).to_string();
        assert_eq!(check("2", new.as_bytes(), "g", &same), ["the plan has changed: `name`"]);
        assert_eq!(check("1", &old, "h", &same).len(), 1);
    }

    #[test]
    fn refusals_name_the_gate_and_its_field() {
        let plan = |verify: Value, gates: Value, frozen: Value| {
            let tasks = json!([{"name": "a", "verify": verify}]);
            json!({"header": {"frozen": frozen}, "tasks": tasks, "gates": gates}).to_string().into_bytes()
        };
        let top = |run: &str| json!([{"name": "top", "run": run, "required": true}]);
        let old = plan(json!([{"name": "v", "run": "x"}, {"name": "w"}]), top("x"), json!(["t/**"]));
        let check = |now: Vec<u8>| differences(&old, &now);
        let same = json!([{"name": "v", "run": "x"}, {"name": "w"}]);
        assert_eq!(
            check(plan(same.clone(), top("true"), json!(["t/**"]))),
            ["the gate `top` has changed: `run`"]
        );
        assert_eq!(
            check(plan(same.clone(), json!([]), json!(["t/**"]))),
            ["the gate `top` is not in the plan any more"]
        );
        assert_eq!(check(plan(same, top("x"), json!([]))), [r#"`frozen` was ["t/**"] and is []"#]);
        let weaker = json!([{"name": "v", "run": "true"}, {"name": "z"}]);
        assert_eq!(
            check(plan(weaker, top("x"), json!(["t/**"]))),
            ["the task `a` has changed: `verify v` (`run`), `verify w` is gone, `verify z` is new"]
        );
    }
}
