//! The helper threads that join launches of more than one CTA.

use crate::{error::Error, job::Job, sched::Worker};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
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
    /// Helpers that sleep until they are woken: to wake nobody would still be a call of the system.
    asleep: usize,
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
                asleep: 0,
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

    /// Threads that may work on a launch.
    pub(crate) fn workers(&self) -> u64 {
        self.helpers.len() as u64 + 1
    }

    /// Runs a launch to its end with `worker` and, if there is enough to do, the helpers.
    pub(crate) fn run(&self, job: &Arc<Job>, worker: &mut Worker) {
        let mut serial = lock(&self.turn);
        *serial += 1;
        job.reset(*serial);
        if job.total <= 1 || self.helpers.is_empty() {
            work(job, worker);
            return;
        }
        let mut state = lock(&self.shared.state);
        state.job = Some(Arc::clone(job));
        self.shared.epoch.fetch_add(1, Ordering::Release);
        let asleep = state.asleep;
        drop(state);
        if asleep > 0 {
            self.shared.wake.notify_all();
        }
        work(job, worker);
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

/// Works on a launch; a panic breaks the launch and nothing else.
fn work(job: &Job, worker: &mut Worker) {
    let worked = catch_unwind(AssertUnwindSafe(|| worker.work(job)));
    if let Err(panic) = worked {
        let checker = worker.take_checker();
        // What it was in the middle of is unknown.
        *worker = Worker::new();
        worker.set_checker(checker);
        job.broke(said(&*panic));
    }
}

/// What a panic said.
pub(crate) fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
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
            state.asleep += 1;
            state = shared
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.asleep -= 1;
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
        work(&job, &mut worker);
        job.running.fetch_sub(1, Ordering::Release);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        state.stop = true;
        self.shared.epoch.fetch_add(1, Ordering::Release);
        drop(state);
        self.shared.wake.notify_all();
        for helper in self.helpers.drain(..) {
            // A helper that panicked has nothing left to give back.
            drop(helper.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{job::Limits, memory::Window, module::Chosen, op::Program, view::LaunchView};

    /// A launch whose every CTA makes its worker divide by zero.
    fn broken(cooperative: bool) -> Arc<Job> {
        let view = LaunchView {
            grid: [0, 1, 1],
            block: [32, 1, 1],
            cta: [0; 3],
            cluster: [1; 3],
            clustered: false,
            grid_id: 0,
            dynamic_shared: 0,
            shared: 0,
            sms: 1,
            workspace: 0,
            params: Vec::new(),
            own: Default::default(),
            peers: Vec::new(),
        };
        let program = Chosen {
            plain: Arc::new(Program::empty()),
            compiled: None,
        };
        let limits = Limits {
            cooperative,
            resident: u64::MAX,
            ..Limits::default()
        };
        let mut job = Job::new(program, view, 0, Window::EMPTY, limits);
        job.total = 64;
        Arc::new(job)
    }

    #[test]
    fn a_panic_of_any_worker_ends_the_launch_and_the_pool_goes_on() -> Result<(), Error> {
        for helpers in [0, 3] {
            let pool = Pool::new(helpers)?;
            let mut worker = Worker::new();
            for cooperative in [false, true, false] {
                let job = broken(cooperative);
                pool.run(&job, &mut worker);
                let Err(Error::Panic { what, .. }) = job.result() else {
                    panic!("an error of the launch")
                };
                assert!(what.contains("zero"), "{what}");
                assert_eq!(job.result(), Ok(()), "it is told once");
            }
        }
        Ok(())
    }
}
