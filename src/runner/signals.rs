//! Signals to the executor, as notices: `INT` and `TERM`.

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use crate::exec::ports::{Notice, Post, Source};

/// Listens for `INT` and `TERM` for as long as it lives.
#[derive(Debug, Default)]
pub struct Signals {
    listeners: Vec<JoinHandle<()>>,
}

impl Source for Signals {
    fn connect(&mut self, post: Post) {
        for (kind, name) in [(SignalKind::interrupt(), "INT"), (SignalKind::terminate(), "TERM")] {
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
