//! The live part of a terminal: what runs now, drawn over what was drawn before (EXECUTION §14).
//!
//! Pure: from rows and a size to lines, and from old and new lines to the bytes that make the one the
//! other. One write a frame, so that nothing flickers.

use unicode_width::UnicodeWidthStr;

use super::text::{self, Paint, Tone};
use crate::event::Status;
use crate::history::{History, Row};
use crate::ir::Millis;
use crate::source::Text;

/// Most running tasks that are shown.
pub(super) const MOST: usize = 8;

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

/// A task that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Its name.
    pub name: Text,
    /// For how long.
    pub elapsed: Millis,
    /// The last line that it wrote.
    pub last_line: String,
}

/// How many tasks are how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tasks and instances.
    pub all: usize,
    /// Those that settled.
    pub settled: usize,
    /// Those that settled without holding and did run.
    pub failed: usize,
}

impl Counts {
    /// Counts tasks, and of a mapped one its instances.
    #[must_use]
    pub fn of(history: &History) -> Self {
        let mut counts = Self::default();
        for row in &history.rows {
            match &row.instances {
                Some(instances) => instances.values().for_each(|row| counts.add(row)),
                None => counts.add(row),
            }
        }
        counts
    }

    fn add(&mut self, row: &Row) {
        self.all += 1;
        match row.status() {
            Some(Status::Fail | Status::Transport) => {
                self.settled += 1;
                self.failed += 1;
            }
            Some(
                Status::Pass
                | Status::Partial
                | Status::NotTaken
                | Status::Skipped
                | Status::Blocked
                | Status::Truncated,
            ) => self.settled += 1,
            None => {}
        }
    }
}

/// The lines that show `running` and how far the run is. None is as wide as the terminal, so that none
/// wraps.
#[must_use]
pub fn lines(history: &History, running: &[Running], now: Millis, size: Size, paint: Paint) -> Vec<String> {
    let width = size.width.saturating_sub(1);
    let room = MOST.min(size.height.saturating_sub(3));
    let shown = if running.len() > room { room.saturating_sub(1) } else { running.len() };
    let names = running[..shown].iter().map(|task| task.name.width()).max().unwrap_or(0);
    let names = names.min(width * 2 / 5);
    let mut lines: Vec<String> =
        running[..shown].iter().map(|task| line(task, names, width, paint)).collect();
    if shown < running.len() && room > 0 {
        lines.push(text::cut(&format!("  … and {} more", running.len() - shown), width));
    }
    lines.push(foot(history, running.len(), now, width, paint));
    lines
}

fn line(task: &Running, names: usize, width: usize, paint: Paint) -> String {
    let name = text::cut(&text::clean(&task.name), names);
    let blanks = " ".repeat(names.saturating_sub(name.width()));
    let head = format!("  {name}{blanks}  {:>7}", text::time(task.elapsed));
    let room = width.saturating_sub(head.width() + 2);
    if head.width() > width {
        return text::cut(&head, width);
    }
    // Fewer columns than these say nothing.
    let last =
        if room < 8 { String::new() } else { text::cut(&text::clean(last_written(&task.last_line)), room) };
    if last.is_empty() { head } else { format!("{head}  {}", paint.with(Tone::Dim, &last)) }
}

fn foot(history: &History, running: usize, now: Millis, width: usize, paint: Paint) -> String {
    let counts = Counts::of(history);
    let mut parts = vec![format!("{}/{}", counts.settled, counts.all), format!("{running} running")];
    if counts.failed > 0 {
        parts.push(format!("{} failed", counts.failed));
    }
    parts.extend(text::money(history.spent));
    parts.push(text::time(Millis(history.elapsed_before.0 + now.0)));
    paint.with(Tone::Strong, &text::cut(&parts.join(" · "), width))
}

/// What was drawn: the width of each line, to know how many rows they take however wide the terminal is
/// now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    widths: Vec<usize>,
    /// Whether the cursor is behind the last line, and not below it.
    open: bool,
}

impl Drawn {
    /// The bytes that replace what was drawn by `lines`, with `above` printed for good above them. Where the
    /// last line is `open` the cursor stays behind it.
    pub fn redraw(&mut self, above: &[String], lines: &[String], width: usize, open: bool) -> String {
        let width = width.max(1);
        // A line that had room once wraps in a terminal that has become narrower.
        let rows: usize = self.widths.iter().map(|&line| line.div_ceil(width).max(1)).sum();
        let up = rows - usize::from(self.open);
        let mut out = String::new();
        if rows > 0 {
            out.push('\r');
        }
        if up > 0 {
            out.push_str(&format!("\x1b[{up}A"));
        }
        let open = open && !lines.is_empty();
        let last = above.len() + lines.len() - usize::from(open);
        for (at, line) in above.iter().chain(lines).enumerate() {
            out.push_str(line);
            out.push_str(if at == last { "\x1b[K" } else { "\x1b[K\n" });
        }
        if rows > 0 {
            out.push_str("\x1b[J");
        }
        self.widths = lines.iter().map(|line| text::clean(line).width()).collect();
        self.open = open;
        out
    }
}

/// What a terminal would show of a line that was written over: what follows its last return.
fn last_written(line: &str) -> &str {
    line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Body, Event, TaskSettled};

    fn history() -> History {
        let mut history = History::of("p".into(), ["a", "b", "c"].map(Text::from));
        let settled = |task: &str, status| TaskSettled {
            task: task.into(),
            status,
            note: None,
            blocked: None,
            output: None,
        };
        for (seq, body) in [(1, settled("a", Status::Pass)), (2, settled("b", Status::Fail))] {
            history.apply(&Event { seq, at: 0, t: Millis(seq), body: Body::from(body) }).unwrap();
        }
        history
    }

    fn running(count: usize) -> Vec<Running> {
        let task = |n: usize| Running {
            name: format!("task-{n}").into(),
            elapsed: Millis(1_500 * n as u64),
            last_line: format!("\x1b[31mline {n} of something rather long\x1b[0m"),
        };
        (1..=count).map(task).collect()
    }

    #[test]
    fn of_a_line_that_was_written_over_the_end_counts() {
        for (line, shown) in [("a", "a"), ("1%\r22%\r333%", "333%"), ("1%\r2%\r", "2%"), ("", ""), ("\r", "")]
        {
            assert_eq!(last_written(line), shown, "{line:?}");
        }
    }

    #[test]
    fn what_runs_is_shown() {
        let size = Size { width: 60, height: 24 };
        let shown = lines(&history(), &running(2), Millis(3_000), size, Paint(false));
        assert_eq!(
            shown,
            [
                "  task-1     1.5s  line 1 of something rather long",
                "  task-2     3.0s  line 2 of something rather long",
                "2/3 · 2 running · 1 failed · 3.0s"
            ]
        );
    }

    #[test]
    fn no_line_wraps_however_small_the_terminal() {
        for width in 0..80 {
            for height in [0, 1, 3, 4, 5, 24] {
                for count in [0, 1, 3, 20] {
                    let size = Size { width, height };
                    let shown = lines(&history(), &running(count), Millis(0), size, Paint(true));
                    assert!(shown.iter().all(|line| text::clean(line).width() < width.max(1)), "{size:?}");
                    assert!(shown.len() <= height.saturating_sub(2).max(1), "{size:?} {count}");
                }
            }
        }
    }

    #[test]
    fn a_frame_replaces_the_one_before() {
        let mut drawn = Drawn::default();
        let line = |text: &str| vec![text.to_owned()];
        assert_eq!(drawn.redraw(&[], &line("abcdef"), 80, false), "abcdef\x1b[K\n");
        assert_eq!(
            drawn.redraw(&line("done"), &line("x"), 80, false),
            "\r\x1b[1Adone\x1b[K\nx\x1b[K\n\x1b[J"
        );
        drawn.redraw(&[], &["abcdef".to_owned(), String::new()], 80, false);
        // Narrower now: the first line has wrapped into two rows.
        assert!(drawn.redraw(&[], &[], 4, false).starts_with("\r\x1b[3A"));
        drawn.redraw(&[], &[], 80, false);
        assert_eq!(drawn.redraw(&line("plain"), &[], 4, false), "plain\x1b[K\n");
        // The cursor stays behind what is typed.
        let asked = |typed: &str| ["ask".to_owned(), format!("> {typed}")];
        assert_eq!(drawn.redraw(&[], &asked(""), 80, true), "ask\x1b[K\n> \x1b[K");
        assert_eq!(drawn.redraw(&[], &asked("y"), 80, true), "\r\x1b[1Aask\x1b[K\n> y\x1b[K\x1b[J");
        assert_eq!(drawn.redraw(&line("done"), &[], 80, false), "\r\x1b[1Adone\x1b[K\n\x1b[J");
    }
}
