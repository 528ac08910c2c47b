//! The best by score among the dependencies of a `top_k`, or the instances of a mapped one (LANGUAGE §4).
//!
//! Unaware of why a candidate passed.

use super::decimal::Decimal;
use super::fanout::raw;
use super::json;
use super::scheduler::Scheduler;
use super::units::Unit;
use crate::event::Raw;
use crate::history::{Row, instance_name};
use crate::ir::kind::{Direction, TopK};
use crate::source::Text;

/// `{kept: [{task, score}], left_out: [{task, why}]}`, the best first. `left_out` names who could not be
/// ranked, and is absent where everybody could.
///
/// # Errors
/// If nobody could be ranked: a note for the task, which fails.
pub(super) fn rank(s: &Scheduler, unit: Unit, top_k: &TopK) -> Result<Raw, Text> {
    let mut ranked: Vec<(Decimal, Text, String)> = Vec::new();
    let mut left_out: Vec<(Text, String)> = Vec::new();
    let mut look = |name: Text, row: &Row| match score(row) {
        Ok((score, digits)) => ranked.push((score, name, digits)),
        Err(why) => left_out.push((name, why)),
    };
    for dependency in &s.task(unit).depends_on {
        let row = s.seen(dependency.task, unit);
        let name = s.name(s.seen_unit(dependency.task, unit));
        match &row.instances {
            Some(instances) => {
                for (key, row) in instances {
                    look(instance_name(&name, key), row);
                }
            }
            None => look(name, row),
        }
    }
    if ranked.is_empty() {
        let why = left_out.first().map(|(name, why)| format!(": `{name}` {why}")).unwrap_or_default();
        return Err(format!("there is no candidate{why}").into());
    }
    // A stable sort: ties stay in declaration or list order.
    ranked.sort_by(|left, right| match top_k.direction {
        Direction::Lower => left.0.cmp(&right.0),
        Direction::Higher => right.0.cmp(&left.0),
    });
    let k = usize::try_from(top_k.k.value).unwrap_or(usize::MAX);
    let kept: Vec<String> = ranked
        .iter()
        .take(k)
        .map(|(_, name, digits)| format!("{{\"task\":{},\"score\":{digits}}}", json::quoted(name)))
        .collect();
    let left_out: Vec<String> = left_out
        .iter()
        .map(|(name, why)| format!("{{\"task\":{},\"why\":{}}}", json::quoted(name), json::quoted(why)))
        .collect();
    let left_out =
        if left_out.is_empty() { String::new() } else { format!(",\"left_out\":[{}]", left_out.join(",")) };
    Ok(raw(&format!("{{\"kept\":[{}]{left_out}}}", kept.join(","))))
}

fn score(row: &Row) -> Result<(Decimal, String), String> {
    let status = row.status();
    if !status.is_some_and(crate::event::Status::passes) {
        let status = status.map_or("pending", crate::event::Status::as_str);
        return Err(format!("settled `{status}`"));
    }
    let output = row.output().ok_or("has no result")?;
    let value = json::member(&output, "score").ok_or("has no `score`")?;
    let digits = value.get().trim();
    match Decimal::parse(digits) {
        Some(score) => Ok((score, digits.to_owned())),
        None => Err(format!("has a `score` that is {} {}", article(digits), json::type_of(digits))),
    }
}

fn article(digits: &str) -> &'static str {
    match json::type_of(digits) {
        "object" => "an",
        "null" => "just",
        _ => "a",
    }
}
