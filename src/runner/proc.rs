//! What `/proc` says of processes: parents, groups, children, and the tokens in their environments.
//!
//! Every answer is about a moment that has passed; callers check the start time before they act on one.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;

/// The variable that marks the processes of an attempt. Its value is a chain of tokens, outermost run
/// first, so that what a run inside a run starts is known to both.
pub(super) const TOKEN: &str = "PLAN_TOKEN";

/// A process, told from a later one with the same number by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Id {
    /// Its number.
    pub pid: i32,
    /// When it started, in clock ticks since boot.
    pub start: u64,
}

/// What `/proc/PID/stat` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stat {
    /// Who it is.
    pub id: Id,
    /// Its parent.
    pub parent: i32,
    /// Its process group.
    pub group: i32,
    /// Whether it has ended and waits to be reaped.
    pub zombie: bool,
    /// How large its environment is; none where there is none yet, or it is not ours to know.
    pub environment: Option<u64>,
    /// Whether it has memory: kernel threads and what has ended do not.
    pub has_memory: bool,
}

/// What is known of `pid`; none once it is gone.
pub(super) fn stat(pid: i32) -> Option<Stat> {
    let mut buffer = [0; 1024];
    let text = read(&path(pid, "stat"), &mut buffer)?;
    parse_stat(pid, text)
}

fn parse_stat(pid: i32, text: &[u8]) -> Option<Stat> {
    // The name may hold anything, brackets and blanks included; what follows its last bracket does not.
    let after_name = memchr::memrchr(b')', text)? + 1;
    let mut fields = std::str::from_utf8(text.get(after_name..)?).ok()?.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let start = fields.nth(16)?.parse().ok()?;
    let has_memory = fields.next()? != "0";
    let mut place = || fields.nth(26)?.parse::<u64>().ok();
    let begin = place();
    let end = fields.next().and_then(|end| end.parse().ok()).filter(|&end| end != 0);
    let environment = begin.zip(end).and_then(|(begin, end): (u64, u64)| end.checked_sub(begin));
    Some(Stat {
        id: Id { pid, start },
        parent,
        group,
        zombie: matches!(state, "Z" | "X"),
        environment,
        has_memory,
    })
}

/// The children of `pid`, of all its threads. Falls back to a look at every process where the kernel
/// keeps no lists.
pub(super) fn children(pid: i32) -> Vec<i32> {
    let mut found = Vec::new();
    let threads = match std::fs::read_dir(path(pid, "task")) {
        Ok(threads) => threads,
        Err(_) => return found,
    };
    for thread in threads.flatten() {
        if let Some(thread) = thread.file_name().to_str().and_then(|name| name.parse().ok()) {
            match thread_children(pid, thread) {
                Some(some) => found.extend(some),
                None if keeps_lists() => {}
                None => return all().filter(|&other| stat(other).is_some_and(|s| s.parent == pid)).collect(),
            }
        }
    }
    found
}

/// The children of one thread; none if it is gone or the kernel keeps no lists.
fn thread_children(pid: i32, thread: i32) -> Option<Vec<i32>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).ok()?;
    Some(text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

/// The kernel's list of the children of our first thread: those that it started, and every orphan that came
/// to us as subreaper, since the kernel gives those to a process's first living thread.
#[derive(Debug)]
pub(super) struct Adopted {
    own: i32,
    /// Kept open, since it is read after every attempt; none where the kernel keeps no lists.
    list: Option<File>,
}

impl Adopted {
    /// That of the process `own`, which is this one.
    pub(super) fn new(own: i32) -> Self {
        Self { own, list: File::open(format!("/proc/{own}/task/{own}/children")).ok() }
    }

    /// Who is on it now.
    pub(super) fn now(&self) -> Vec<i32> {
        const ROOM: usize = 4096;
        let mut buffer = [0; ROOM];
        let Some(Ok(length)) = self.list.as_ref().map(|list| list.read_at(&mut buffer, 0)) else {
            return children(self.own);
        };
        // The kernel gives whole numbers: one more may not have fitted.
        if length > ROOM - 32 {
            return thread_children(self.own, self.own).unwrap_or_default();
        }
        // Numbers and blanks alone.
        let text = std::str::from_utf8(&buffer[..length]).unwrap_or_default();
        text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }
}

fn keeps_lists() -> bool {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    std::fs::exists(format!("/proc/{own}/task/{own}/children")).unwrap_or(false)
}

/// Every process.
pub(super) fn all() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// What an environment says of who started its process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// The chain of tokens that it carries.
    Chain(String),
    /// It carries none.
    Missing,
    /// Nothing can be read: it has ended, or is not ours to look into.
    Unread,
    /// It is just becoming another program, and has to be looked at again; or it has no variable at all.
    Changing,
}

/// How `pid` is marked.
pub(super) fn mark(pid: i32) -> Mark {
    let Ok(environment) = std::fs::read(path(pid, "environ")) else { return Mark::Unread };
    // What a read in parts has cut off ends without a NUL.
    let mut whole = environment.split_inclusive(|&byte| byte == 0).filter_map(|one| one.strip_suffix(b"\0"));
    let value = whole.find_map(|variable| variable.strip_prefix(TOKEN.as_bytes())?.strip_prefix(b"="));
    if let Some(value) = value {
        return Mark::Chain(String::from_utf8_lossy(value).into_owned());
    }
    match stat(pid) {
        // A program that is just being replaced has no environment, or only the start of one.
        Some(stat) if stat.has_memory && !stat.zombie => match stat.environment {
            Some(size) if size > 0 && size == environment.len() as u64 => Mark::Missing,
            None if environment.ends_with(b"\0") => Mark::Missing,
            Some(_) | None => Mark::Changing,
        },
        _ => Mark::Unread,
    }
}

impl Mark {
    /// Whether `token` is in it.
    pub(super) fn holds(&self, token: &str) -> bool {
        match self {
            Self::Chain(chain) => chain.split(':').any(|one| one == token),
            Self::Missing | Self::Unread | Self::Changing => false,
        }
    }
}

fn path(pid: i32, file: &str) -> String {
    let mut path = String::with_capacity(32);
    // Writing to a string cannot fail.
    let _ = write!(path, "/proc/{pid}/{file}");
    path
}

fn read<'a>(path: &str, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut file = File::open(path).ok()?;
    let length = file.read(buffer).ok()?;
    Some(&buffer[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_brackets() {
        let line = "7 (a) b) S) Z 1 7 6 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 4096 0";
        let rest = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 1000 1200 0";
        let found = parse_stat(7, format!("{line} {rest}").as_bytes()).unwrap();
        let mut expected = Stat {
            id: Id { pid: 7, start: 12345 },
            parent: 1,
            group: 7,
            zombie: true,
            environment: Some(200),
            has_memory: true,
        };
        assert_eq!(found, expected);
        expected.environment = None;
        assert_eq!(parse_stat(7, line.as_bytes()).unwrap(), expected, "an old kernel says less");
        assert_eq!(parse_stat(7, b"7 (cut"), None);
    }

    #[test]
    fn the_environment_of_this_process_has_the_size_that_is_told() {
        let own = i32::try_from(std::process::id()).unwrap();
        let told = stat(own).unwrap();
        let size = std::fs::read("/proc/self/environ").unwrap().len() as u64;
        assert_eq!((told.environment, told.has_memory), (Some(size), true));
    }

    #[test]
    fn a_chain_holds_whole_tokens() {
        assert!(Mark::Chain("aa:bb:cc".to_owned()).holds("bb"));
        assert!(!Mark::Chain("aa:bbb".to_owned()).holds("bb"));
        assert!(!Mark::Missing.holds("bb"));
    }
}
