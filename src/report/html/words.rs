//! The words and looks of what a page shows: a status, a time, how much.

use crate::history::Row;
use crate::ir::Millis;
use crate::report::status::is_running;

/// Every look of a task, the ones that want attention first: a status, or what has none yet.
pub(super) const LOOKS: [&str; 11] = [
    "fail",
    "transport",
    "blocked",
    "truncated",
    "skipped",
    "waiting",
    "running",
    "pending",
    "partial",
    "pass",
    "not_taken",
];

/// The look of a task or an instance; `runs` says whether anything can be running.
pub(super) fn look(row: &Row, runs: bool) -> &'static str {
    match row.status() {
        Some(status) => status.as_str(),
        None if row.asked.is_some() => "waiting",
        None if runs && is_running(row) => "running",
        None => "pending",
    }
}

/// The place of a look in [`LOOKS`].
pub(super) fn rank(look: &str) -> usize {
    LOOKS.iter().position(|&known| known == look).unwrap_or(LOOKS.len())
}

/// How many rows have each look, the ones that want attention first.
pub(super) fn counts(looks: impl Iterator<Item = &'static str>) -> Vec<(&'static str, usize)> {
    let mut counts = [0; LOOKS.len()];
    looks.for_each(|look| counts[rank(look)] += 1);
    LOOKS.into_iter().zip(counts).filter(|&(_, count)| count > 0).collect()
}

/// A look as people read it.
pub(super) fn word(look: &str) -> &str {
    match look {
        "not_taken" => "not taken",
        other => other,
    }
}

/// Counts in a line: `3 pass, 1 fail`.
pub(super) fn tally(counts: &[(&'static str, usize)]) -> String {
    let each: Vec<String> = counts.iter().map(|(look, count)| format!("{count} {}", word(look))).collect();
    each.join(", ")
}

/// A length of time as people read one: `40 ms`, `1.2 s`, `3m 05s`, `2h 07m`.
pub(super) fn time(Millis(ms): Millis) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..10_000 => format!("{}.{:02} s", ms / 1_000, ms % 1_000 / 10),
        10_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        60_000..3_600_000 => format!("{}m {:02}s", ms / 60_000, ms % 60_000 / 1_000),
        3_600_000..86_400_000 => format!("{}h {:02}m", ms / 3_600_000, ms % 3_600_000 / 60_000),
        _ => format!("{}d {:02}h", ms / 86_400_000, ms % 86_400_000 / 3_600_000),
    }
}

/// Whether it wants attention: it does not hold.
pub(super) fn is_bad(row: &Row) -> bool {
    row.status().is_some_and(|status| !status.holds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Status;

    #[test]
    fn every_status_has_a_look() {
        for status in Status::ALL {
            assert!(rank(status.as_str()) < LOOKS.len(), "{status:?}");
        }
        assert_eq!(
            tally(&counts(["pass", "fail", "pass", "not_taken"].into_iter())),
            "1 fail, 2 pass, 1 not taken"
        );
    }

    #[test]
    fn times_are_short() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_234, "1.23 s"),
            (59_950, "59.9 s"),
            (185_000, "3m 05s"),
            (7_620_000, "2h 07m"),
            (90_000_000, "1d 01h"),
        ] {
            assert_eq!(time(Millis(ms)), text);
        }
    }
}
