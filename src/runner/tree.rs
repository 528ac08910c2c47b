//! Which processes belong to which attempt, and how they are ended (EXECUTION §5).
//!
//! The executor is a subreaper: whatever an attempt leaves behind becomes our child. A process belongs to
//! an attempt by its token, by its group, or by ancestry, never merely by being our child; nothing else is
//! signalled, and nothing else is reaped.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use super::proc::{self, Adopted, Id, Mark, Stat};
use crate::source::Text;

/// How long a process may be without variables before it is one that has none: becoming another program takes
/// less.
pub(super) const UNCLEAR: Duration = Duration::from_millis(500);

/// What the runner knows of the processes below it.
#[derive(Debug)]
pub(super) struct Trees {
    adopted: Adopted,
    /// Whether orphans come to us.
    reaps: bool,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Attempts in flight: their own processes, which are not reaped yet, so that no number is reused.
    attempts: FxHashSet<i32>,
    /// Processes that were seen below an attempt, with its token.
    kin: FxHashMap<Id, Text>,
    /// Children of ours that belong to no attempt, those that were there before us first of all.
    foreign: FxHashMap<i32, Option<u64>>,
    /// Children of ours of which nothing could be said yet, since when.
    unclear: FxHashMap<Id, Instant>,
}

/// An attempt's own process and its token.
#[derive(Clone, Debug)]
pub(super) struct Root {
    /// The process, which leads its group.
    pub pid: Pid,
    /// What marks all that it starts.
    pub token: Text,
}

impl Trees {
    /// Makes us the subreaper. Children that we have already are left alone for good.
    pub(super) fn new() -> Self {
        let own = rustix::process::getpid();
        // Without it orphans escape to init, and are then found by their token alone.
        let reaps = rustix::process::set_child_subreaper(Some(own)).is_ok();
        let own = own.as_raw_nonzero().get();
        let foreign = proc::children(own).into_iter().map(|pid| (pid, proc::stat(pid).map(|s| s.id.start)));
        let known = Known { foreign: foreign.collect(), ..Known::default() };
        Self { adopted: Adopted::new(own), reaps, known: Mutex::new(known) }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // A panic elsewhere leaves nothing half-done in here.
        self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// An attempt's own process has started.
    pub(super) fn started(&self, pid: Pid) {
        self.known().attempts.insert(pid.as_raw_nonzero().get());
    }

    /// An attempt's own process was reaped, and what it left running has been ended.
    pub(super) fn over(&self, root: &Root) {
        let mut known = self.known();
        known.attempts.remove(&root.pid.as_raw_nonzero().get());
        if !known.kin.is_empty() {
            known.kin.retain(|_, token| *token != root.token);
        }
    }

    /// Children of ours that are left of the attempt: those that were orphaned. And whether one has to be looked at
    /// again.
    fn orphans(&self, root: &Root) -> (Vec<Stat>, bool) {
        let mut known = self.known();
        let (mut orphans, mut again) = (Vec::new(), false);
        for pid in self.adopted.now() {
            if known.attempts.contains(&pid) {
                continue;
            }
            let Some(stat) = proc::stat(pid) else { continue };
            let foreign = |start: &Option<u64>| start.is_none_or(|start| start == stat.id.start);
            let ours = if let Some(token) = known.kin.get(&stat.id) {
                *token == root.token
            } else if stat.group == root.pid.as_raw_nonzero().get() {
                true
            } else if known.foreign.get(&pid).is_some_and(foreign) {
                false
            } else {
                match proc::mark(pid) {
                    mark if mark.holds(&root.token) => true,
                    // Another attempt's, or one of a run that this one is inside of.
                    Mark::Chain(_) | Mark::Unread => false,
                    Mark::Changing => {
                        let since = *known.unclear.entry(stat.id).or_insert_with(Instant::now);
                        if since.elapsed() < UNCLEAR {
                            again = true;
                        } else {
                            known.foreign.insert(pid, Some(stat.id.start));
                        }
                        false
                    }
                    Mark::Missing => {
                        known.foreign.insert(pid, Some(stat.id.start));
                        false
                    }
                }
            };
            if ours {
                known.unclear.remove(&stat.id);
                known.kin.insert(stat.id, root.token.clone());
                orphans.push(stat);
            }
        }
        (orphans, again)
    }

    /// Looks at all that the attempt has started so far, so that it is known by ancestry from now on.
    /// Returns those that still run, the attempt's own process left out.
    pub(super) fn observe(&self, root: &Root) -> Vec<Stat> {
        let (mut members, _) = self.orphans(root);
        let mut seen: FxHashSet<i32> = members.iter().map(|stat| stat.id.pid).collect();
        let own = root.pid.as_raw_nonzero().get();
        let mut parents: Vec<i32> = seen.iter().copied().chain([own]).collect();
        // Kin that came to somebody else than us: a subreaper further down.
        let kin: Vec<Id> = {
            let known = self.known();
            known.kin.iter().filter(|(_, token)| **token == root.token).map(|(id, _)| *id).collect()
        };
        for id in kin {
            match proc::stat(id.pid) {
                Some(stat) if stat.id == id => {
                    if seen.insert(id.pid) {
                        members.push(stat);
                        parents.push(id.pid);
                    }
                }
                _ => {
                    self.known().kin.remove(&id);
                }
            }
        }
        while let Some(parent) = parents.pop() {
            for pid in proc::children(parent) {
                if pid == own || !seen.insert(pid) {
                    continue;
                }
                if let Some(stat) = proc::stat(pid) {
                    self.known().kin.insert(stat.id, root.token.clone());
                    members.push(stat);
                    parents.push(pid);
                }
            }
        }
        members.retain(|stat| !stat.zombie);
        members
    }

    /// Sends these signals to the attempt's group and to all that left it.
    pub(super) fn signal(&self, root: &Root, signals: &[Signal]) {
        // Looked at before anything dies, so that ancestry is still there to see.
        let members = self.observe(root);
        let own = root.pid.as_raw_nonzero().get();
        // The attempt's own process can have gone to another group. It is not reaped yet: its number is its own.
        let left = proc::stat(own).is_some_and(|stat| stat.group != own);
        for &signal in signals {
            // Fails only if nobody is left.
            let _ = rustix::process::kill_process_group(root.pid, signal);
            if left {
                let _ = rustix::process::kill_process(root.pid, signal);
            }
            for member in &members {
                if member.group != root.pid.as_raw_nonzero().get() {
                    send(member.id, signal);
                }
            }
        }
    }

    /// Kills all of the attempt but its own process, which has ended, and reaps what came to us. Returns
    /// whether something is still there and the call has to be repeated.
    pub(super) fn clear(&self, root: &Root) -> bool {
        let (orphans, again) = self.orphans(root);
        if !again && self.reaps && orphans.is_empty() && !self.has_kin(root) {
            // Whoever is left of a tree whose root has ended is below an orphan, and orphans come to us.
            return false;
        }
        let _ = rustix::process::kill_process_group(root.pid, Signal::KILL);
        for orphan in orphans.iter().filter(|orphan| orphan.zombie) {
            reap(orphan.id.pid);
        }
        let members = self.observe(root);
        for member in &members {
            send(member.id, Signal::KILL);
        }
        again || !members.is_empty() || !self.orphans(root).0.is_empty()
    }

    fn has_kin(&self, root: &Root) -> bool {
        let known = self.known();
        !known.kin.is_empty() && known.kin.values().any(|token| *token == root.token)
    }
}

/// Every process that carries one of these tokens, and their descendants. And whether one has to be looked at
/// again.
pub(super) fn carriers(tokens: &[Text]) -> (Vec<Id>, bool) {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let (mut found, mut again) = (Vec::new(), false);
    for pid in proc::all().filter(|&pid| pid != own) {
        let mark = proc::mark(pid);
        again |= mark == Mark::Changing;
        if tokens.iter().any(|token| mark.holds(token)) {
            found.extend(proc::stat(pid).map(|stat| stat.id));
        }
    }
    let mut seen: FxHashSet<i32> = found.iter().map(|id| id.pid).collect();
    let mut next = 0;
    while next < found.len() {
        for child in proc::children(found[next].pid) {
            if child != own
                && seen.insert(child)
                && let Some(stat) = proc::stat(child)
                && !stat.zombie
            {
                found.push(stat.id);
            }
        }
        next += 1;
    }
    (found, again)
}

/// Sends `signal` to exactly this process: a later one with its number is left alone.
pub(super) fn send(id: Id, signal: Signal) {
    let Some(pid) = Pid::from_raw(id.pid) else { return };
    let Ok(handle) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return };
    if proc::stat(id.pid).is_some_and(|stat| stat.id == id) {
        // It may have ended in between, which is what was wanted.
        let _ = rustix::process::pidfd_send_signal(&handle, signal);
    }
}

fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let _ = rustix::process::waitid(WaitId::Pid(pid), options);
    }
}
