//! What must come of a recorded case: what came of the run, but for what differs from run to run.
//!
//! Unaware of what the attempts did.

use std::fmt::Write as _;

use serde_json::Value;

use super::Record;
use super::never;
use super::toml::{key, quoted};
use crate::event::Status;
use crate::history::{instance_name, split_name};
use crate::ir::Usd;
use crate::report::status::{self, TaskStatus};
use crate::source::Text;

/// The most that is expected of one report.
const MOST_PIECES: usize = 60;

impl Record<'_> {
    /// The expectations.
    pub(super) fn expect(&self, out: &mut String) {
        let document = status::document(self.of.history, false, self.of.show);
        out.push_str("\n[expect]\n");
        if let Some(exit) = document.exit {
            let _ = writeln!(out, "exit = \"{}\"", exit.as_str());
        }
        if let Some(verdict) = document.verdict {
            let _ = writeln!(out, "verdict = \"{}\"", verdict.as_str());
        }
        let spent = self.spent();
        if self.reused.is_empty() && !spent.is_zero() {
            let _ = writeln!(out, "spent_usd = \"{spent}\"");
        }
        let idle: Vec<String> = self.idle().map(quoted).collect();
        if !idle.is_empty() {
            let _ = writeln!(out, "did_not_run = [{}]", idle.join(", "));
        }
        if !document.verify.is_empty() {
            let _ = writeln!(out, "verify = {}", verdicts(&document.verify));
        }
        out.push_str("\n[expect.tasks]\n");
        for (name, task) in &document.tasks {
            let _ = writeln!(out, "{} = {}", key(name), self.task(name, task));
            for (element, instance) in &task.instances {
                let name = instance_name(name, element);
                let _ = writeln!(out, "{} = {}", key(&name), self.task(&name, instance));
            }
        }
    }

    /// What the attempts that are in the case spend.
    fn spent(&self) -> Usd {
        let all = self.stubs.values().flatten().flatten();
        all.fold(Usd::ZERO, |sum, did| sum.plus(did.cost))
    }

    /// Tasks that could have been started, and none of which was.
    fn idle(&self) -> impl Iterator<Item = &str> {
        let ran = |name: &str| {
            let row = self.of.history.row(name);
            row.is_some_and(|row| {
                row.ran || row.last.is_some() || row.instances.is_some() || !row.rounds.is_empty()
            })
        };
        let tasks = self.of.plan.tasks.iter().filter(|task| never::starts(task));
        tasks.map(|task| task.name.as_str()).filter(move |name| !ran(name))
    }

    fn task(&self, name: &str, task: &TaskStatus) -> String {
        let reused = self.reused.iter().any(|reused| reused == name || split_name(reused).0 == name);
        let mut members = vec![format!("status = \"{}\"", task.status)];
        // Where it was taken over from is not to be expected, nor that nothing ran.
        if !reused {
            if let Some(note) = &task.note {
                let note = (self.of.mask)(note).unwrap_or_else(|| note.to_string());
                members.push(format!("note = {}", quoted(&note)));
            }
            if task.attempts > 0 {
                members.push(format!("attempts = {}", task.attempts));
            }
            if !task.verifiers.is_empty() {
                members.push(format!("verifiers = {}", verdicts(&task.verifiers)));
            }
        }
        if let Some(blocked) = &task.blocked {
            members.push(format!("blocked = \"{}\"", blocked.reason.as_str()));
        }
        if !task.rounds.is_empty() {
            members.push(format!("rounds = {}", task.rounds.len() + 1));
        }
        if !task.files.is_empty() {
            let files: Vec<String> = task.files.iter().map(|path| quoted(path)).collect();
            members.push(format!("files = [{}]", files.join(", ")));
        }
        members.extend(self.answered(name, task).map(|output| format!("output = {output}")));
        members.extend(self.inputs(name).map(|inputs| format!("inputs = {inputs}")));
        members.extend(self.reported(name).map(|contains| format!("contains = {contains}")));
        match members.as_slice() {
            [_] => format!("\"{}\"", task.status),
            members => format!("{{ {} }}", members.join(", ")),
        }
    }

    /// What the engine itself made of it.
    fn answered(&self, name: &str, task: &TaskStatus) -> Option<String> {
        let output = task.output.as_ref().filter(|_| task.instances.is_empty())?;
        match self.kind(name) {
            // Numbers are the same here however they are written.
            "top_k" | "route" | "evaluate" => {
                let output = super::value(&serde_json::from_str(output.get()).ok()?);
                output.filter(|output| output != "{}")
            }
            "gate" => {
                let mut answered: Value = serde_json::from_str(output.get()).ok()?;
                // When is another matter.
                answered.as_object_mut()?.retain(|member, _| matches!(member.as_str(), "answer" | "by"));
                super::value(&answered)
            }
            _ => None,
        }
    }

    /// The dependencies that its last attempt saw.
    fn inputs(&self, name: &str) -> Option<String> {
        let (task, _) = split_name(name);
        let row = self.of.history.row(name)?;
        let task = self.of.plan.tasks.iter().find(|known| known.name == task)?;
        if row.instances.is_some() || !never::starts(task) || row.last.as_ref()?.done_already {
            return None;
        }
        let saw = task.depends_on.iter().filter_map(|dependency| {
            let status = self.of.history.row(dependency)?.status()?;
            let name = key(dependency);
            match (task.join.as_str(), status) {
                ("settled", status) => Some(format!("{name} = {{ status = \"{}\" }}", status.as_str())),
                (_, Status::Pass | Status::Partial) => Some(format!("{name} = {{}}")),
                (
                    _,
                    Status::NotTaken
                    | Status::Fail
                    | Status::Skipped
                    | Status::Transport
                    | Status::Blocked
                    | Status::Truncated,
                ) => None,
            }
        });
        let saw: Vec<String> = saw.collect();
        (!saw.is_empty()).then(|| format!("{{ {} }}", saw.join(", ")))
    }

    /// What a report says, but for what differs from run to run.
    fn reported(&self, name: &str) -> Option<String> {
        if self.kind(name) != "report" {
            return None;
        }
        let (to, text) = (self.of.report)(name)?;
        let text = (self.of.mask)(&text).unwrap_or(text);
        let mut pieces: Vec<&str> = Vec::new();
        for piece in text.lines().flat_map(lasting) {
            if !pieces.contains(&piece) {
                pieces.push(piece);
            }
        }
        pieces.truncate(MOST_PIECES);
        let pieces: Vec<String> = pieces.into_iter().map(quoted).collect();
        (!pieces.is_empty()).then(|| format!("{{ {} = [{}] }}", key(&to), pieces.join(", ")))
    }
}

fn verdicts(checks: &indexmap::IndexMap<Text, status::Check>) -> String {
    let verdict = |pass| if pass { "pass" } else { "fail" };
    let each: Vec<String> =
        checks.iter().map(|(name, check)| format!("{} = \"{}\"", key(name), verdict(check.pass))).collect();
    format!("{{ {} }}", each.join(", "))
}

/// The parts of a line between words that are times, amounts, names of runs, or places: with a digit in them, or
/// with a root.
fn lasting(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begun: Option<usize> = None;
    let mut end = 0;
    for word in line.split_whitespace() {
        let at = word.as_ptr() as usize - line.as_ptr() as usize;
        if word.contains(|char: char| char.is_ascii_digit()) || word.contains("/") {
            parts.extend(begun.take().map(|begun| &line[begun..end]));
        } else {
            begun.get_or_insert(at);
            end = at + word.len();
        }
    }
    parts.extend(begun.map(|begun| &line[begun..end]));
    parts.retain(|part| part.contains(|char: char| char.is_alphanumeric()));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_of_a_line_has_no_numbers_and_places() {
        assert_eq!(lasting("# All is  well"), ["# All is  well"]);
        assert_eq!(lasting("  took 3m20s, which is fine"), ["took", "which is fine"]);
        assert_eq!(lasting("see /tmp/x now"), ["see", "now"]);
        assert!(lasting("| 12 |").is_empty());
    }
}
