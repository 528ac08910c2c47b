//! Tells people of a run while it happens: lines as things settle, and on a terminal what runs now.
//!
//! Where it writes to and how large that is, it is told. A reader that has gone away disturbs no run.

use std::io::Write;
use std::time::{Duration, Instant};

use indexmap::IndexMap;

use super::Roles;
use super::frame::{self, Drawn, Running, Size};
use super::lines::{self, Detail};
use super::prompt::{Prompt, Said};
use super::text::{self, Paint};
use crate::event::{Body, Event};
use crate::history::{History, Question};
use crate::ir::Millis;
use crate::source::Text;

/// How often a terminal is drawn at most.
const EVERY: Duration = Duration::from_millis(60);

/// The size of the terminal, if it is one.
pub type Terminal = Box<dyn Fn() -> Option<Size> + Send>;

/// The last line that an attempt has written so far.
pub type Tail = Box<dyn Fn(u32) -> String + Send>;

/// Who tells people.
pub struct People {
    out: Box<dyn Write + Send>,
    terminal: Terminal,
    tail: Tail,
    detail: Detail,
    paint: Paint,
    /// Attempts in flight: whose, and since when.
    running: IndexMap<u32, (Text, Millis)>,
    roles: Roles,
    /// Tasks and gates whose verifiers are asked, and since when.
    verifying: IndexMap<String, Millis>,
    drawn: Drawn,
    drawn_at: Option<Instant>,
    /// Lines that the next drawing prints for good.
    waiting: Vec<String>,
    /// What ran when that was last looked at.
    frame: Vec<String>,
    prompt: Prompt,
    /// Why what was told is lost, where it is.
    lost: Option<String>,
}

impl People {
    /// Tells people through `out`.
    #[must_use]
    pub fn new(
        out: Box<dyn Write + Send>,
        terminal: Terminal,
        tail: Tail,
        detail: Detail,
        paint: Paint,
        roles: Roles,
    ) -> Self {
        Self {
            out,
            terminal,
            tail,
            detail,
            paint,
            running: IndexMap::new(),
            roles,
            verifying: IndexMap::new(),
            drawn: Drawn::default(),
            drawn_at: None,
            waiting: Vec::new(),
            frame: Vec::new(),
            prompt: Prompt::default(),
            lost: None,
        }
    }

    /// An event was folded into `history`.
    pub fn event(&mut self, event: &Event, history: &History) {
        match &event.body {
            Body::AttemptStarted(body) => {
                self.running.insert(body.attempt, (body.task.clone(), event.t));
            }
            Body::AttemptEnded(body) => drop(self.running.shift_remove(&body.attempt)),
            Body::RunStarted(_)
            | Body::PlanAdmitted(_)
            | Body::InstancesNamed(_)
            | Body::ReuseDecided(_)
            | Body::VerifierEnded(_)
            | Body::RetryScheduled(_)
            | Body::TimerFired(_)
            | Body::TaskSettled(_)
            | Body::RoundStarted(_)
            | Body::NodeEntered(_)
            | Body::GateAsked(_)
            | Body::GateAnswered(_)
            | Body::Warning(_)
            | Body::Halted(_)
            | Body::StopRequested(_)
            | Body::Interrupted(_)
            | Body::Alive(_)
            | Body::RunResumed(_)
            | Body::RunEnded(_) => {}
        }
        self.waiting.extend(lines::line(event, history, self.detail, self.paint));
        self.draw(history, event.t);
    }

    /// Whose verifiers are asked now.
    fn look_at_verifiers(&mut self, history: &History, now: Millis) {
        let tasks = self.roles.under_verification(history).into_iter().map(|name| format!("{name}: verify"));
        let gates = self.roles.gates_asked(history).into_iter().map(|gate| format!("verify {gate}"));
        let since = |name: String| {
            let since = self.verifying.get(&name).copied().unwrap_or(now);
            (name, since)
        };
        self.verifying = tasks.chain(gates).map(since).collect();
    }

    /// Prints a report for good with what is drawn next, as lines of its own. What results hold moves no
    /// cursor of a terminal; elsewhere the text is as it was rendered.
    ///
    /// # Errors
    /// If it cannot be printed: why.
    pub fn report(&mut self, report: &str) -> Result<(), String> {
        let terminal = (self.terminal)().is_some();
        let shown = |line: &str| if terminal { text::clean(line) } else { line.to_owned() };
        self.waiting.extend(report.lines().map(shown));
        if !terminal {
            self.print();
        }
        self.lost.clone().map_or(Ok(()), Err)
    }

    /// Why some of what was told is lost, where it is. A reader that has gone away has read enough.
    #[must_use]
    pub fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Time passed.
    pub fn tick(&mut self, history: &History, now: Millis) {
        self.draw(history, now);
    }

    fn draw(&mut self, history: &History, now: Millis) {
        let size = if self.detail == Detail::Quiet { None } else { (self.terminal)() };
        let Some(size) = size else {
            self.print();
            return;
        };
        if self.drawn_at.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        self.drawn_at = Some(Instant::now());
        self.look_at_verifiers(history, now);
        let running = self.running.iter().enumerate().map(|(place, (&attempt, (name, since)))| Running {
            name: name.clone(),
            elapsed: Millis(now.0.saturating_sub(since.0)),
            // Those that there is no room for are not read.
            last_line: if place < frame::MOST { (self.tail)(attempt) } else { String::new() },
        });
        let verifying = self.verifying.iter().map(|(name, since)| Running {
            name: name.into(),
            elapsed: Millis(now.0.saturating_sub(since.0)),
            last_line: String::new(),
        });
        let running: Vec<Running> = running.chain(verifying).collect();
        let asked = self.prompt.lines(size.width, self.paint).len();
        let room = Size { height: size.height.saturating_sub(asked), ..size };
        self.frame = frame::lines(history, &running, now, room, self.paint);
        self.put(size);
    }

    /// Prints what waits, where nothing is drawn.
    fn print(&mut self) {
        if !self.waiting.is_empty() {
            let mut text = self.waiting.join("\n");
            text.push('\n');
            self.waiting.clear();
            self.write(&text);
        }
    }

    /// Draws what runs, and below it what is asked.
    fn put(&mut self, size: Size) {
        let asked = self.prompt.lines(size.width, self.paint);
        let open = !asked.is_empty();
        let lines: Vec<String> = self.frame.iter().cloned().chain(asked).collect();
        let text = self.drawn.redraw(&self.waiting, &lines, size.width, open);
        self.waiting.clear();
        self.write(&text);
    }

    /// `task` asks who sits at the terminal, once the question is [shown](Self::show_question).
    pub fn ask(&mut self, task: &str, question: &Question) {
        self.prompt.ask(task, question);
    }

    /// Nobody asks this any more.
    pub fn unask(&mut self, question: u64) {
        self.change(|prompt| prompt.unask(question));
    }

    /// An answer was refused, and `why`.
    pub fn refuse(&mut self, question: u64, why: &str) {
        self.change(|prompt| prompt.refuse(question, why));
    }

    /// The question to show next, if none is shown.
    #[must_use]
    pub fn next_question(&self) -> Option<u64> {
        self.prompt.next()
    }

    /// Whether a question is shown, so that what is typed is an answer.
    #[must_use]
    pub fn is_asking(&self) -> bool {
        self.prompt.is_shown()
    }

    /// Shows a question: what is typed from here on answers it.
    pub fn show_question(&mut self, question: u64) {
        self.change(|prompt| prompt.show(question));
    }

    /// Bytes were typed; what they say.
    pub fn press(&mut self, bytes: &[u8]) -> Option<Said> {
        self.change(|prompt| prompt.press(bytes))
    }

    /// Nobody sits there any more.
    pub fn leave(&mut self) {
        self.change(Prompt::leave);
    }

    fn change<T>(&mut self, change: impl FnOnce(&mut Prompt) -> T) -> T {
        let changed = change(&mut self.prompt);
        if let Some(size) = (self.terminal)().filter(|_| self.detail != Detail::Quiet) {
            self.put(size);
        }
        changed
    }

    /// Prints `lines` for good, below all that was told, and clears what was drawn.
    pub fn end(&mut self, lines: &[String]) {
        self.waiting.extend_from_slice(lines);
        let width = (self.terminal)().map_or(80, |size| size.width);
        let waiting = std::mem::take(&mut self.waiting);
        let text = match self.drawn == Drawn::default() {
            true => waiting.iter().map(|line| format!("{line}\n")).collect(),
            false => self.drawn.redraw(&waiting, &[], width, false),
        };
        self.write(&text);
    }

    fn write(&mut self, text: &str) {
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                self.lost.get_or_insert_with(|| error.to_string());
            }
            Ok(()) | Err(_) => {}
        }
    }
}
