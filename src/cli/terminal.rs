//! Who sits at the terminal, as a source of answers: what is typed while a question is shown (EXECUTION §14).
//!
//! What was typed before a question was shown is dropped: it was no answer to that. While a question is shown
//! the terminal passes on single keys, so that progress and what is being typed can be drawn together; it is as
//! it was as soon as none is.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use rustix::termios::{self, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios};

use super::wiring::lock;
use crate::exec::ports::{Notice, Post, Request, Source};
use crate::history::Question;
use crate::report::people::People;
use crate::report::prompt::Said;
use crate::source::Text;

/// How often a look is taken whether there is something to ask.
const EVERY: Duration = Duration::from_millis(40);

/// Whether somebody can be asked: standard input is a terminal, and this process is not in its background.
pub(super) fn is_there() -> bool {
    io::stdin().is_terminal() && is_in_front()
}

/// Whether reading from the terminal would not stop this process.
fn is_in_front() -> bool {
    match termios::tcgetpgrp(stdin()) {
        Ok(group) => group == rustix::process::getpgrp(),
        // A terminal that does not control this process stops nobody.
        Err(_) => true,
    }
}

/// Who sits at the terminal.
pub(super) struct Terminal {
    people: Arc<Mutex<People>>,
    by: Text,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// Nobody is there any more.
    left: AtomicBool,
    /// Nobody listens any more.
    closed: AtomicBool,
}

impl Terminal {
    /// Asks through `people`, whose answers are `by` this person.
    pub(super) fn new(people: Arc<Mutex<People>>, by: Text) -> Self {
        Self { people, by, shared: Arc::default(), thread: None }
    }
}

impl Source for Terminal {
    fn connect(&mut self, post: Post) {
        let (people, by, shared) = (Arc::clone(&self.people), self.by.clone(), Arc::clone(&self.shared));
        let work = move || {
            listen(&people, &by, &shared, &post);
            if !shared.closed.load(Ordering::SeqCst) {
                lock(&people).leave();
                shared.left.store(true, Ordering::SeqCst);
                post(Notice::Left);
            }
        };
        let thread = std::thread::Builder::new().name("terminal".to_owned()).spawn(work);
        // Without a thread nobody is asked here, which `plan answer` can cope with.
        self.shared.left.store(thread.is_err(), Ordering::SeqCst);
        self.thread = thread.ok();
    }

    fn asked(&mut self, task: &str, question: &Question) {
        if self.attends() {
            lock(&self.people).ask(task, question);
        }
    }

    fn closed(&mut self, question: u64) {
        lock(&self.people).unask(question);
    }

    fn refused(&mut self, question: u64, why: &str) {
        lock(&self.people).refuse(question, why);
    }

    fn attends(&self) -> bool {
        !self.shared.left.load(Ordering::SeqCst)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Asks and listens until somebody has left, or nobody listens any more.
fn listen(people: &Mutex<People>, by: &Text, shared: &Shared, post: &Post) {
    let mut keys: Option<Keys> = None;
    while !shared.closed.load(Ordering::SeqCst) {
        let next = lock(people).next_question();
        let asks = next.is_some() || lock(people).is_asking();
        if !asks || !is_in_front() {
            keys = None;
            std::thread::sleep(EVERY);
            continue;
        }
        match &mut keys {
            Some(keys) => keys.hold(),
            None => keys = Keys::take(),
        }
        if keys.is_none() {
            return;
        }
        if let Some(question) = next {
            let _ = termios::tcflush(stdin(), QueueSelector::IFlush);
            lock(people).show_question(question);
        }
        let Some(bytes) = read() else { return };
        if bytes.is_empty() {
            continue;
        }
        match lock(people).press(&bytes) {
            Some(Said::Answer { task, question, answer }) => {
                let (by, result) = (by.clone(), None);
                post(Notice::Request(Request::Answer { task, question, answer, by, result }));
            }
            Some(Said::Left) => return,
            None => {}
        }
    }
}

/// What is typed within a moment; none at the end of input.
fn read() -> Option<Vec<u8>> {
    let mut ready = [PollFd::from_borrowed_fd(stdin(), PollFlags::IN)];
    let moment = Timespec { tv_sec: 0, tv_nsec: i64::from(EVERY.subsec_nanos()) };
    match poll(&mut ready, Some(&moment)) {
        Ok(0) | Err(Errno::INTR) => return Some(Vec::new()),
        Ok(_) => {}
        Err(_) => return None,
    }
    let mut bytes = [0; 512];
    match rustix::io::read(stdin(), &mut bytes) {
        Ok(0) => None,
        Ok(count) => Some(bytes[..count].to_vec()),
        Err(Errno::INTR | Errno::AGAIN) => Some(Vec::new()),
        Err(_) => None,
    }
}

/// A terminal that passes on single keys, and is as it was when this is dropped.
struct Keys {
    before: Termios,
}

impl Keys {
    fn take() -> Option<Self> {
        let before = termios::tcgetattr(stdin()).ok()?;
        Self::set(&before).then_some(Self { before })
    }

    /// A shell that had the terminal meanwhile may have changed it.
    fn hold(&mut self) {
        if let Ok(now) = termios::tcgetattr(stdin())
            && now.local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
        {
            Self::set(&now);
        }
    }

    fn set(from: &Termios) -> bool {
        let mut keys = from.clone();
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        termios::tcsetattr(stdin(), OptionalActions::Now, &keys).is_ok()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if is_in_front() {
            let _ = termios::tcsetattr(stdin(), OptionalActions::Now, &self.before);
        }
    }
}
