//! Group commit: appenders of one process that wait at the same time share one transaction.
//!
//! There is no thread of its own. The first that comes leads: it takes everything that waits,
//! commits it, hands out the results and passes the lead on.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pcbflow_core::ids::StreamId;
use pcbflow_core::ports::{Expect, Head, LedgerError};

use crate::frame::Prepared;

/// Most appends that share one transaction.
const GROUP_APPENDS_MAX: usize = 256;

/// Longest that a leader waits for those whose last append was in the group before.
const GATHER_US_MAX: u64 = 200;

enum State {
    Waiting,
    Lead,
    Done(Result<Head, LedgerError>),
}

/// One append that waits for its transaction.
pub(crate) struct Ticket {
    pub(crate) stream: StreamId,
    pub(crate) expect: Expect,
    pub(crate) events: Vec<Prepared>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Arc<Ticket>>,
    busy: bool,
    last_group: usize,
}

/// The queue of one open ledger.
#[derive(Default)]
pub(crate) struct Group {
    queue: Mutex<Queue>,
}

/// Commits a group; one result for each ticket, in order.
pub(crate) type Commit<'c> = dyn Fn(&[Arc<Ticket>]) -> Vec<Result<Head, LedgerError>> + 'c;

// A panic while one of these locks is held leaves the queue whole: each change is one step.
fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Group {
    pub(crate) fn submit(
        &self,
        stream: StreamId,
        expect: Expect,
        events: Vec<Prepared>,
        commit: &Commit<'_>,
    ) -> Result<Head, LedgerError> {
        let ticket = Arc::new(Ticket {
            stream,
            expect,
            events,
            state: Mutex::new(State::Waiting),
            changed: Condvar::new(),
        });
        let leads = {
            let mut queue = lock(&self.queue);
            queue.waiting.push_back(Arc::clone(&ticket));
            !std::mem::replace(&mut queue.busy, true)
        };
        if leads {
            self.lead(commit);
        }
        // Ends when the ticket is served: its leader serves it, or makes this caller the leader.
        loop {
            let mut state = lock(&ticket.state);
            while matches!(*state, State::Waiting) {
                state = ticket.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            // Taken once: whoever is done leaves the queue for good.
            match std::mem::replace(&mut *state, State::Waiting) {
                State::Done(result) => return result,
                State::Lead | State::Waiting => {
                    drop(state);
                    self.lead(commit);
                }
            }
        }
    }

    fn lead(&self, commit: &Commit<'_>) {
        let group = self.gather();
        let results = catch_unwind(AssertUnwindSafe(|| commit(&group))).unwrap_or_default();
        let mut results = results.into_iter();
        for ticket in &group {
            let result = results.next().unwrap_or_else(|| {
                Err(LedgerError::Storage {
                    doing: "committing events",
                    message: "the storage engine gave up".to_owned(),
                })
            });
            *lock(&ticket.state) = State::Done(result);
            ticket.changed.notify_one();
        }
        let mut queue = lock(&self.queue);
        queue.last_group = group.len();
        match queue.waiting.front() {
            None => queue.busy = false,
            Some(next) => {
                *lock(&next.state) = State::Lead;
                next.changed.notify_one();
            }
        }
    }

    /// Takes what waits. After a shared commit its appenders are likely to come again at once,
    /// so they get a moment; a single appender never waits.
    fn gather(&self) -> Vec<Arc<Ticket>> {
        let start = Instant::now();
        loop {
            let mut queue = lock(&self.queue);
            let enough = queue.waiting.len() >= queue.last_group.min(GROUP_APPENDS_MAX);
            if enough || start.elapsed() >= Duration::from_micros(GATHER_US_MAX) {
                let n = queue.waiting.len().min(GROUP_APPENDS_MAX);
                return queue.waiting.drain(..n).collect();
            }
            drop(queue);
            std::thread::yield_now();
        }
    }
}
