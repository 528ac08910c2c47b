//! A run that has every kind of event: what the documentation shows, and what the schemas are tested with.

use serde_json::json;

use crate::event::{Body, Event};
use crate::history::History;
use crate::ir::Millis;

/// The names of its tasks.
const TASKS: [&str; 7] = ["scan", "audit", "draft", "review", "refactor", "approve", "publish"];

/// Its events.
///
/// # Panics
/// If an event here is none: a test looks.
#[must_use]
pub fn events() -> Vec<Event> {
    let ceilings = json!({ "usd": 2.5, "time_ms": 1_200_000, "steps": null });
    let files = json!({ "manifest": "b3a1f0…", "paths": ["evidence/left-pad.json"], "bytes": 412 });
    let settled = |task: &str| json!({ "task": task, "status": "pass" });
    let told = [
        (
            0,
            "run_started",
            json!({ "run": "20261102T071503-a1b2", "plan": "dependency-audit", "log": 1, "version": "0.1.0" }),
        ),
        (
            0,
            "plan_admitted",
            json!({ "tasks": 7, "caps": ["gpu"], "ceilings": ceilings, "keep_going": true }),
        ),
        (
            3,
            "reuse_decided",
            json!({ "task": "scan", "run": "20261101T071500-9c0d", "taken": false, "why": "`scan.sh` has changed" }),
        ),
        (3, "attempt_started", json!({ "attempt": 1, "task": "scan", "nth": 1, "token": "9f2c" })),
        (
            210,
            "attempt_ended",
            json!({ "attempt": 1, "task": "scan", "grade": "pass", "output": { "packages": ["left-pad"] }, "last_line": "{\"packages\": [\"left-pad\"]}", "duration_ms": 201 }),
        ),
        (211, "task_settled", settled("scan")),
        (211, "instances_named", json!({ "task": "audit", "keys": ["left-pad"] })),
        (
            212,
            "attempt_started",
            json!({ "attempt": 2, "task": "audit[left-pad]", "nth": 1, "token": "1d70" }),
        ),
        (
            900,
            "attempt_ended",
            json!({ "attempt": 2, "task": "audit[left-pad]", "grade": "transport", "note": "exit 75", "duration_ms": 680 }),
        ),
        (900, "retry_scheduled", json!({ "task": "audit[left-pad]", "attempt": 2, "after_ms": 1000 })),
        (1900, "timer_fired", json!({ "timer": "retry", "task": "audit[left-pad]" })),
        (
            1901,
            "attempt_started",
            json!({ "attempt": 3, "task": "audit[left-pad]", "nth": 2, "token": "77ab" }),
        ),
        (
            2600,
            "attempt_ended",
            json!({ "attempt": 3, "task": "audit[left-pad]", "grade": "pass", "output": { "verdict": "clean" }, "last_line": "done", "cost_usd": 0.02, "files": files, "duration_ms": 690 }),
        ),
        (
            2640,
            "verifier_ended",
            json!({ "attempt": 3, "task": "audit[left-pad]", "verifier": "shape", "pass": true, "gates": "4e01…" }),
        ),
        (2641, "task_settled", settled("audit[left-pad]")),
        (2641, "task_settled", settled("audit")),
        (2642, "attempt_started", json!({ "attempt": 4, "task": "draft", "nth": 1 })),
        (
            3000,
            "attempt_ended",
            json!({ "attempt": 4, "task": "draft", "grade": "pass", "duration_ms": 350 }),
        ),
        (3000, "task_settled", settled("draft")),
        (3001, "attempt_started", json!({ "attempt": 5, "task": "review", "nth": 1 })),
        (
            3300,
            "attempt_ended",
            json!({ "attempt": 5, "task": "review", "grade": "fail", "note": "the summary is missing", "output": { "missing": ["summary"] }, "last_line": "no", "duration_ms": 290 }),
        ),
        (
            3300,
            "task_settled",
            json!({ "task": "review", "status": "fail", "note": "the summary is missing" }),
        ),
        (3301, "round_started", json!({ "reviewer": "review", "round": 2, "tasks": ["draft"] })),
        (3302, "attempt_started", json!({ "attempt": 6, "task": "draft", "nth": 1, "round": 2 })),
        (
            3700,
            "attempt_ended",
            json!({ "attempt": 6, "task": "draft", "grade": "pass", "duration_ms": 390 }),
        ),
        (3700, "task_settled", settled("draft")),
        (3701, "attempt_started", json!({ "attempt": 7, "task": "review", "nth": 1, "round": 2 })),
        (
            4000,
            "attempt_ended",
            json!({ "attempt": 7, "task": "review", "grade": "pass", "duration_ms": 290 }),
        ),
        (4000, "task_settled", settled("review")),
        (4001, "node_entered", json!({ "task": "refactor", "node": "test", "visit": 1 })),
        (
            4400,
            "task_settled",
            json!({ "task": "refactor", "status": "pass", "output": { "trace": ["test"] } }),
        ),
        (
            4401,
            "gate_asked",
            json!({ "task": "approve", "ask": "Publish the report?", "options": ["yes", "no"] }),
        ),
        (4402, "run_ended", json!({ "exit": "waiting", "verdict": null })),
        (0, "run_resumed", json!({ "caps": ["gpu"], "ceilings": ceilings, "keep_going": true })),
        (1, "gate_answered", json!({ "task": "approve", "question": 32, "answer": "yes", "by": "ada" })),
        (
            2,
            "task_settled",
            json!({ "task": "approve", "status": "pass", "output": { "answer": "yes", "by": "ada", "at": "2026-11-02T07:15:04.295Z" } }),
        ),
        (3, "attempt_started", json!({ "attempt": 8, "task": "publish", "nth": 1 })),
        (10_003, "alive", json!({})),
        (10_500, "warning", json!({ "task": "publish", "message": "a stream has shrunk" })),
        (10_600, "stop_requested", json!({ "by": "ada" })),
        (10_601, "halted", json!({ "exit": "stopped", "note": "`plan stop`" })),
        (
            10_640,
            "attempt_ended",
            json!({ "attempt": 8, "task": "publish", "grade": "fail", "note": "ended by `plan stop`", "duration_ms": 10_600, "ended_by": "stop" }),
        ),
        (
            10_641,
            "task_settled",
            json!({ "task": "publish", "status": "fail", "note": "ended by `plan stop`" }),
        ),
        (10_642, "run_ended", json!({ "exit": "stopped", "verdict": "invalid" })),
        (
            0,
            "run_resumed",
            json!({ "reopened": true, "again": ["publish"], "caps": ["gpu"], "ceilings": ceilings }),
        ),
        (2, "interrupted", json!({ "by": "INT" })),
    ];
    let event = |(seq, (t, kind, fields)): (u64, (u64, &str, serde_json::Value))| {
        let body = Body::from_json(kind, &fields.to_string()).ok().flatten();
        let body = body.unwrap_or_else(|| panic!("`{kind}` has other fields than {fields}"));
        Event { seq, at: 1_793_603_703_000 + i64::try_from(seq * 37).unwrap_or(0), t: Millis(t), body }
    };
    (1..).zip(told).map(event).collect()
}

/// What they come to.
///
/// # Panics
/// If an event here names a task that the run has not: a test looks.
#[must_use]
pub fn history() -> History {
    let mut history = History::of("dependency-audit".into(), TASKS.map(Into::into));
    for event in events() {
        history.apply(&event).unwrap_or_else(|mismatch| panic!("{}", mismatch.message));
    }
    history
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_there() {
        let told: Vec<&str> = events().iter().map(|event| event.body.kind()).collect();
        for kind in Body::KINDS {
            assert!(told.contains(kind), "{kind}");
        }
        assert_eq!(history().sittings, 3);
    }
}
