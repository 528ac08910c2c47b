//! Is this run for this plan? And is what it needs still there? (EXECUTION §12)
//!
//! Everything here only looks: a refusal leaves a run as it is.

use std::collections::BTreeMap;

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
    let (old, new) = (tasks(&before), tasks(&now));
    let mut changed = Vec::new();
    for (name, task) in &old {
        match new.get(name) {
            None => changed.push(format!("the task `{name}` is not in the plan any more")),
            Some(other) if other != task => changed.push(format!("the task `{name}` has changed")),
            Some(_) => {}
        }
    }
    let added = new.keys().filter(|name| !old.contains_key(*name));
    changed.extend(added.map(|name| format!("the task `{name}` was not in the plan")));
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

fn tasks(document: &Map<String, Value>) -> BTreeMap<&str, &Value> {
    let tasks = document.get("tasks").and_then(Value::as_array);
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
                "the task `a` has changed",
                "the task `b` is not in the plan any more",
                "the task `c` was not in the plan"
            ]
        );
        let new = json!({"name": "q", "tasks": [{"name": "a", "run": "x"}, {"name": "b"}]}).to_string();
        assert_eq!(check("2", new.as_bytes(), "g", &same), ["the plan has changed: `name`"]);
        assert_eq!(check("1", &old, "h", &same).len(), 1);
    }
}
