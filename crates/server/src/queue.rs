//! A queue of jobs before the threads that do them: bounded, in order, without those whose clients are gone.

use crate::error::ApiError;
use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What waits.
pub(crate) trait Job: Send {
    /// Whether nobody wants the answer any more.
    fn is_gone(&self) -> bool;
}

/// A place among those that run and wait; given back when it is dropped.
pub(crate) type Place = OwnedSemaphorePermit;

/// Jobs in the order in which they came.
pub(crate) struct Queue<J> {
    state: Mutex<State<J>>,
    wake: Condvar,
    places: Arc<Semaphore>,
    all: usize,
}

struct State<J> {
    jobs: VecDeque<J>,
    closed: bool,
}

/// What a worker gets.
pub(crate) enum Popped<J> {
    Job(J),
    /// There is none now.
    Empty,
    /// There will be none.
    Closed,
}

impl<J: Job> Queue<J> {
    /// A queue for `all` jobs that run or wait.
    pub(crate) fn new(all: usize) -> Queue<J> {
        Queue {
            state: Mutex::new(State {
                jobs: VecDeque::new(),
                closed: false,
            }),
            wake: Condvar::new(),
            places: Arc::new(Semaphore::new(all)),
            all,
        }
    }

    /// Places for `count` jobs.
    ///
    /// # Errors
    /// 429 where there are not so many now; more than there ever are is wrong.
    pub(crate) fn places(&self, param: &str, count: usize) -> Result<Vec<Place>, ApiError> {
        if count > self.all {
            let all = self.all;
            let message = format!("`{param}` asks for {count} answers, expected at most {all}");
            return Err(ApiError::field(param, message));
        }
        let one = |_| Arc::clone(&self.places).try_acquire_owned().ok();
        let places: Option<Vec<Place>> = (0..count).map(one).collect();
        places.ok_or_else(|| ApiError::busy(self.all, 1))
    }

    /// Puts jobs in together.
    ///
    /// # Errors
    /// A queue that is closed.
    pub(crate) fn push(&self, jobs: impl IntoIterator<Item = J>) -> Result<(), ApiError> {
        let mut state = self.lock();
        if state.closed {
            return Err(ApiError::unavailable("the server is shutting down"));
        }
        state.jobs.extend(jobs);
        self.wake.notify_all();
        Ok(())
    }

    /// The next job; waits for one if `wait` says so.
    pub(crate) fn pop(&self, wait: Wait) -> Popped<J> {
        let mut state = self.lock();
        loop {
            state.jobs.retain(|job| !job.is_gone());
            if let Some(job) = state.jobs.pop_front() {
                return Popped::Job(job);
            }
            if state.closed {
                return Popped::Closed;
            }
            if wait == Wait::No {
                return Popped::Empty;
            }
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Drops jobs that nobody waits for.
    pub(crate) fn prune(&self) {
        self.lock().jobs.retain(|job| !job.is_gone());
    }

    /// Jobs that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().jobs.len()
    }

    /// Takes no more; what waits is still done.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a worker waits where there is no job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Number(u32);

    impl Job for Number {
        fn is_gone(&self) -> bool {
            self.0 == 0
        }
    }

    #[test]
    fn places_are_bounded_and_those_who_left_are_skipped() {
        let queue = Queue::new(3);
        assert_eq!(
            queue
                .places("n", 4)
                .err()
                .map(|error| error.status.as_u16()),
            Some(400)
        );
        let two = queue.places("n", 2).expect("two of three");
        let busy = queue.places("n", 2).expect_err("one is left");
        assert_eq!(busy.status.as_u16(), 429);
        drop(two);
        assert_eq!(queue.places("n", 3).expect("all are free").len(), 3);
        queue.push([Number(0), Number(7), Number(0)]).expect("open");
        assert!(matches!(queue.pop(Wait::Yes), Popped::Job(Number(7))));
        assert!(matches!(queue.pop(Wait::No), Popped::Empty));
        queue.push([Number(8)]).expect("open");
        queue.close();
        assert!(queue.push([Number(9)]).is_err());
        assert!(matches!(queue.pop(Wait::Yes), Popped::Job(Number(8))));
        assert!(matches!(queue.pop(Wait::Yes), Popped::Closed));
    }
}
