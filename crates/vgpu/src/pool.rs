//! The helper threads that join launches of more than one CTA.

use crate::{error::Error, job::Job, sched::Worker};
use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
};

/// How often a waiting thread looks again before it parks: about 50 microseconds.
pub(crate) const SPINS: u32 = 2000;

/// Threads shared by all streams of a machine. Launches run on it one at a time.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
    turn: Mutex<u64>,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    epoch: AtomicU64,
}

struct State {
    job: Option<Arc<Job>>,
    stop: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Starts `helpers` threads.
    pub(crate) fn new(helpers: usize) -> Result<Pool, Error> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                job: None,
                stop: false,
            }),
            wake: Condvar::new(),
            epoch: AtomicU64::new(0),
        });
        let mut pool = Pool {
            shared,
            helpers: Vec::new(),
            turn: Mutex::new(0),
        };
        for i in 0..helpers {
            let shared = Arc::clone(&pool.shared);
            let handle = std::thread::Builder::new()
                .name(format!("vgpu helper {i}"))
                .spawn(move || help(&shared))
                .map_err(|e| Error::Thread {
                    reason: e.to_string(),
                })?;
            pool.helpers.push(handle);
        }
        Ok(pool)
    }

    /// Runs a launch to its end with `worker` and, if there is enough to do, the helpers.
    pub(crate) fn run(&self, job: &Arc<Job>, worker: &mut Worker) {
        let mut serial = lock(&self.turn);
        *serial += 1;
        job.reset(*serial);
        if job.total <= 1 || self.helpers.is_empty() {
            worker.work(job);
            return;
        }
        lock(&self.shared.state).job = Some(Arc::clone(job));
        self.shared.epoch.fetch_add(1, Ordering::Release);
        self.shared.wake.notify_all();
        worker.work(job);
        // Whoever joined did so before the job was taken away here.
        lock(&self.shared.state).job = None;
        let mut spins = 0;
        while job.running.load(Ordering::Acquire) != 0 {
            spins += 1;
            if spins < SPINS {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

fn help(shared: &Shared) {
    let mut worker = Worker::new();
    let mut seen = 0;
    loop {
        let mut spins = 0;
        while shared.epoch.load(Ordering::Acquire) == seen && spins < SPINS {
            spins += 1;
            std::hint::spin_loop();
        }
        let mut state = lock(&shared.state);
        while shared.epoch.load(Ordering::Acquire) == seen && !state.stop {
            state = shared
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if state.stop {
            return;
        }
        seen = shared.epoch.load(Ordering::Acquire);
        let Some(job) = state.job.clone() else {
            continue;
        };
        job.running.fetch_add(1, Ordering::Relaxed);
        drop(state);
        worker.work(&job);
        job.running.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        lock(&self.shared.state).stop = true;
        self.shared.epoch.fetch_add(1, Ordering::Release);
        self.shared.wake.notify_all();
        for helper in self.helpers.drain(..) {
            // A helper that panicked has nothing left to give back.
            drop(helper.join());
        }
    }
}
