//! Gates at a terminal: the prompt, what is typed, and that the end of input approves nothing.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, Winsize};

use super::answer::wait_for_event;
use super::pack::Pack;

/// A terminal, and the program in it.
struct Tty {
    master: File,
    slave: OwnedFd,
    seen: String,
    child: Child,
}

impl Tty {
    fn new(mut command: Command) -> Self {
        let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        rustix::pty::grantpt(&master).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let size = Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&master, size).unwrap();
        let name = rustix::pty::ptsname(&master, Vec::new()).unwrap();
        let slave = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let end = || slave.try_clone().unwrap();
        let child =
            command.stdin(end()).stdout(end()).env("TERM", "xterm").env("USER", "ada").spawn().unwrap();
        rustix::io::ioctl_fionbio(&master, true).unwrap();
        Self { master: master.into(), slave, seen: String::new(), child }
    }

    /// Waits until `text` was shown since the last time.
    fn sees(&mut self, text: &str) {
        let since = Instant::now();
        loop {
            self.read();
            if let Some(at) = self.seen.find(text) {
                self.seen.drain(..at + text.len());
                return;
            }
            assert!(since.elapsed() < Duration::from_secs(20), "no `{text}` in {:?}", self.last());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn read(&mut self) {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = self.master.read(&mut bytes) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    }

    /// The end of what was shown.
    fn last(&self) -> String {
        self.seen.chars().rev().take(600).collect::<Vec<_>>().into_iter().rev().collect()
    }

    fn types(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the program. What it showed since the last time, and its exit code.
    fn ends(mut self) -> (String, i32) {
        let since = Instant::now();
        let status = loop {
            self.read();
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(since.elapsed() < Duration::from_secs(20), "it goes on: {:?}", self.last());
            std::thread::sleep(Duration::from_millis(10));
        };
        self.read();
        let modes = rustix::termios::tcgetattr(&self.slave).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO), "the terminal is as it was");
        (std::mem::take(&mut self.seen), status.code().unwrap_or(-1))
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        // Where a test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const SHIP: &str = r#"
gate ship {
    ask     = "Ship it?"
    options = ["now", "not yet"]
}
gate tell  { depends_on = [ship], ask = "Tell them?" }
command go { depends_on = [tell], when = tell.answer == "yes", run = "touch go.ran" }
command no { depends_on = [tell], when = tell.answer == "no", run = "touch no.ran" }
"#;

fn run(pack: &Pack, arguments: &[&str]) -> Tty {
    Tty::new(pack.command(&[&["run", "--plan", "p.plan"], arguments].concat()))
}

#[test]
fn a_question_is_asked_until_it_is_answered() {
    let pack = Pack::new(SHIP);
    let mut tty = run(&pack, &[]);
    // Typed before anybody has asked: no answer.
    tty.types("now\nnow\n");
    tty.sees("ship: Ship it?  (now, not yet)");
    tty.sees("> ");
    tty.types("maybe\n");
    tty.sees("`maybe` is none of the answers");
    tty.types("nox\x7ft yet\nyes\n");
    tty.sees("not yet (by ada)");
    tty.sees("tell: Tell them?  (yes, no)");
    tty.sees("> ");
    tty.types("yes\n");
    let (seen, code) = tty.ends();
    assert_eq!(code, 0, "{seen}");
    assert!(pack.file("go.ran").exists());
    let output = &pack.status()["tasks"]["ship"]["output"];
    assert_eq!((&output["answer"], &output["by"]), (&"not yet".into(), &"ada".into()));
}

#[test]
fn the_end_of_input_is_no_approval() {
    let pack = Pack::new(SHIP);
    let mut tty = run(&pack, &[]);
    tty.sees("ship: Ship it?");
    tty.sees("> ");
    tty.types("\x04");
    let (seen, code) = tty.ends();
    assert_eq!(code, 4, "{seen}");
    assert!(seen.contains("waiting, verdict none yet"), "{seen}");
    // Nobody who was not asked has answered either.
    assert_eq!(pack.events().iter().filter(|event| event["kind"] == "gate_answered").count(), 0);
    let mut tty = run(&pack, &["--resume"]);
    tty.sees("ship: Ship it?");
    tty.sees("> ");
    tty.types("now\n");
    tty.sees("tell: Tell them?");
    tty.sees("> ");
    tty.types("no\n");
    let (seen, code) = tty.ends();
    assert_eq!((code, pack.file("no.ran").exists()), (0, true), "{seen}");
    assert_eq!(pack.events().iter().filter(|event| event["kind"] == "gate_asked").count(), 2);
}

#[test]
fn progress_goes_on_around_the_prompt_and_others_may_answer() {
    let pack = Pack::new(
        r#"
gate ship     { ask = "Ship it?" }
command slow  { run = "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.1; done" }
command after { depends_on = [slow], run = "sleep 0.4" }
command go    { depends_on = [ship], run = "touch go.ran" }
"#,
    );
    let mut tty = run(&pack, &["--jobs", "2"]);
    tty.sees("ship: Ship it?");
    tty.types("ye");
    tty.sees("> ye");
    // What is typed stays there while something is told and drawn above it.
    tty.sees("pass       slow");
    tty.sees("> ye");
    tty.sees("pass       after");
    tty.sees("> ye");
    wait_for_event(&pack, "gate_asked");
    assert_eq!(pack.plan(&["answer", "latest", "ship", "no"]).code, 0);
    tty.sees("no (by ");
    let (seen, code) = tty.ends();
    assert_eq!((code, pack.file("go.ran").exists()), (0, true), "{seen}");
}

#[test]
fn a_signal_and_a_stop_end_a_run_that_asks() {
    let pack = Pack::new(SHIP);
    let mut tty = run(&pack, &[]);
    tty.sees("> ");
    let pid = rustix::process::Pid::from_child(&tty.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(tty.ends().1, 130);
    let mut tty = run(&pack, &["--resume"]);
    tty.sees("> ");
    assert_eq!(pack.plan(&["stop"]).code, 0);
    assert_eq!(tty.ends().1, 3);
}

#[test]
fn who_wants_quiet_is_not_asked() {
    let pack = Pack::new(SHIP);
    let (seen, code) = run(&pack, &["--quiet"]).ends();
    assert_eq!(code, 4, "{seen}");
    assert!(!seen.contains("> "), "{seen}");
    let json = run(&pack, &["--format", "json"]).ends();
    assert_eq!(json.1, 4, "{json:?}");
}
