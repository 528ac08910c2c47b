//! What time it is, behind [`crate::exec::ports::Clock`]: really, or as a test wants it.
//!
//! Unaware of runs. Neither clock counts the time that a machine was suspended.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::exec::ports::{Boxed, Clock};
use crate::ir::Millis;

/// The machine's clock.
#[derive(Clone, Debug)]
pub struct Real {
    start: Instant,
}

impl Default for Real {
    fn default() -> Self {
        Self::new()
    }
}

impl Real {
    /// A clock whose sitting begins now.
    #[must_use]
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for Real {
    fn now(&self) -> Millis {
        millis(self.start.elapsed())
    }

    fn utc(&self) -> i64 {
        jiff::Timestamp::now().as_millisecond()
    }

    fn until(&self, t: Millis) -> Boxed<'static, ()> {
        let at = self.start.checked_add(Duration::from_millis(t.0));
        Box::pin(async move {
            match at {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        })
    }
}

fn millis(duration: Duration) -> Millis {
    Millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// A clock that jumps to whatever is waited for next, as soon as nobody has anything else to do and no
/// real work is in flight. Real work adds the time that it really took.
#[derive(Clone, Debug, Default)]
pub struct Virtual {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    now: Duration,
    /// How much real work is in flight, and since when.
    busy: u32,
    since: Option<Instant>,
    /// How much is in flight that takes no time.
    held: u32,
    /// Who waits for what; equal times in the order asked for.
    timers: BinaryHeap<Reverse<(u64, u64)>>,
    wakers: Vec<(u64, Waker)>,
    asked: u64,
}

impl Virtual {
    /// A clock at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl State {
    fn now(&self) -> Duration {
        self.now + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Wakes everybody whose time has come.
    fn wake(&mut self) {
        let now = millis(self.now()).0;
        while let Some(&Reverse((at, key))) = self.timers.peek() {
            if at > now {
                return;
            }
            self.timers.pop();
            if let Some(index) = self.wakers.iter().position(|(waiting, _)| *waiting == key) {
                self.wakers.remove(index).1.wake();
            }
        }
    }
}

impl Clock for Virtual {
    fn now(&self) -> Millis {
        millis(self.state().now())
    }

    fn utc(&self) -> i64 {
        i64::try_from(self.now().0).unwrap_or(i64::MAX)
    }

    fn until(&self, t: Millis) -> Boxed<'static, ()> {
        Box::pin(Until { clock: self.clone(), at: t.0, key: None, real: None })
    }

    fn busy(&self, busy: bool) {
        let mut state = self.state();
        if busy {
            state.busy += 1;
            state.since.get_or_insert_with(Instant::now);
        } else {
            state.busy = state.busy.saturating_sub(1);
            if state.busy == 0
                && let Some(since) = state.since.take()
            {
                state.now += since.elapsed();
            }
        }
    }

    fn hold(&self, hold: bool) {
        let mut state = self.state();
        state.held = if hold { state.held + 1 } else { state.held.saturating_sub(1) };
    }

    fn jumps(&self) -> bool {
        true
    }

    fn idle(&self) {
        let mut state = self.state();
        if state.busy == 0
            && state.held == 0
            && let Some(&Reverse((at, _))) = state.timers.peek()
        {
            state.now = state.now.max(Duration::from_millis(at));
            state.wake();
        }
    }
}

/// Waits for a time of a [`Virtual`] clock.
struct Until {
    clock: Virtual,
    at: u64,
    key: Option<u64>,
    /// While real work is in flight, time passes by itself.
    real: Option<Boxed<'static, ()>>,
}

impl Future for Until {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        loop {
            let mut state = this.clock.state();
            let now = millis(state.now()).0;
            if this.at <= now {
                return Poll::Ready(());
            }
            let key = *this.key.get_or_insert_with(|| {
                state.asked += 1;
                let key = state.asked;
                state.timers.push(Reverse((this.at, key)));
                key
            });
            match state.wakers.iter_mut().find(|(waiting, _)| *waiting == key) {
                Some((_, waker)) => waker.clone_from(context.waker()),
                None => state.wakers.push((key, context.waker().clone())),
            }
            let busy = state.busy > 0;
            drop(state);
            if !busy {
                this.real = None;
                return Poll::Pending;
            }
            let left = Duration::from_millis(this.at - now);
            let real = this.real.get_or_insert_with(|| Box::pin(tokio::time::sleep(left)));
            match real.as_mut().poll(context) {
                Poll::Ready(()) => this.real = None,
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl Drop for Until {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let mut state = self.clock.state();
            state.wakers.retain(|(waiting, _)| *waiting != key);
            state.timers.retain(|Reverse((_, waiting))| *waiting != key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_clock_jumps_only_when_nobody_is_busy() {
        let clock = Virtual::new();
        let jumping = clock.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .on_thread_park(move || jumping.idle())
            .build()
            .unwrap();
        let begun = Instant::now();
        runtime.block_on(async {
            let order = Arc::new(Mutex::new(Vec::new()));
            let tasks: Vec<_> = [(3_600_000, 'c'), (1_000, 'a'), (1_000, 'b')]
                .into_iter()
                .map(|(at, name)| {
                    let (clock, order) = (clock.clone(), Arc::clone(&order));
                    tokio::spawn(async move {
                        clock.until(Millis(at)).await;
                        order.lock().unwrap().push((name, clock.now().0));
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(*order.lock().unwrap(), [('a', 1_000), ('b', 1_000), ('c', 3_600_000)]);
            clock.busy(true);
            clock.until(Millis(3_600_020)).await;
            clock.busy(false);
            assert!(clock.now().0 >= 3_600_020);
        });
        assert!(begun.elapsed() < Duration::from_secs(60));
        assert!(begun.elapsed() >= Duration::from_millis(20));
    }
}
