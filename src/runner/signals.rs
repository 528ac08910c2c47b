//! Signals to the executor, as notices: `INT`, `TERM` and `HUP`.

use nix::sys::signal::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ, SigSet};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use crate::exec::ports::{Notice, Post, Source};

/// Listens for `INT`, `TERM` and `HUP` for as long as it lives.
#[derive(Debug, Default)]
pub struct Signals {
    listeners: Vec<JoinHandle<()>>,
}

impl Source for Signals {
    fn connect(&mut self, post: Post) {
        // Whoever started us may have blocked them; where they stay so, `plan stop` ends the run.
        let _ = SigSet::from_iter([SIGINT, SIGTERM, SIGHUP]).thread_unblock();
        // Without a listener a write past the limit of a file's size would end us, and not the write.
        if let Ok(mut stream) = signal(SignalKind::from_raw(SIGXFSZ as i32)) {
            self.listeners.push(tokio::spawn(async move { while stream.recv().await.is_some() {} }));
        }
        let hangup = (SignalKind::hangup(), "HUP");
        // Who starts us so that a hang-up is ignored wants us to outlive the terminal.
        let hangup = Some(hangup).filter(|(kind, _)| !is_ignored(*kind));
        let kinds = [(SignalKind::interrupt(), "INT"), (SignalKind::terminate(), "TERM")];
        for (kind, name) in kinds.into_iter().chain(hangup) {
            // Without a listener the signal ends us at once, which a resume can cope with.
            let Ok(mut stream) = signal(kind) else { continue };
            let post = post.clone();
            self.listeners.push(tokio::spawn(async move {
                while stream.recv().await.is_some() {
                    post(Notice::Signal(name.into()));
                }
            }));
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.listeners.iter().for_each(JoinHandle::abort);
    }
}

/// Whether we were started with `kind` ignored, as `nohup` does it. Where the system does not tell, it is not.
pub(super) fn is_ignored(kind: SignalKind) -> bool {
    ignored().unwrap_or_default() >> (kind.as_raw_value() - 1) & 1 == 1
}

/// The signals that this process ignores now: the bit `n - 1` is that of signal `n`. None where the system does
/// not tell.
pub(super) fn ignored() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
