//! The thread of a stream: does its commands, one after the other.

use crate::{
    bytes::Bytes,
    check::{Checker, LaunchOrder},
    error::Error,
    job::Job,
    machine::{Inner, check},
    pool::{SPINS, said},
    sched::Worker,
    signal::{Completion, Event},
};
use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

/// Launches that were checked once and are enqueued together.
#[derive(Clone)]
pub struct Prepared(pub(crate) Arc<[Arc<Job>]>);

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|job| job.name());
        f.debug_list().entries(names).finish()
    }
}

pub(crate) enum Command {
    Launch(Arc<Job>, Option<LaunchOrder>),
    Replay(Prepared, Option<LaunchOrder>),
    Write(u64, Bytes),
    Read(u64, u64, Completion),
    Copy { to: u64, from: u64, len: u64 },
    Fill { address: u64, byte: u8, len: u64 },
    Free(u64),
    Record(Event),
    Wait(Event),
    Call(Call),
    Stop,
}

impl Command {
    /// What the host may wait for.
    fn awaited(&self) -> Option<Completion> {
        if let Command::Read(_, _, completion) = self {
            Some(completion.clone())
        } else {
            None
        }
    }
}

/// Host code in a stream.
pub(crate) type Call = Box<dyn FnOnce(Result<(), &Error>) + Send>;

/// Who is told of errors.
pub(crate) type Told = Box<dyn Fn(&Error) + Send + Sync>;

/// What is to be done.
#[derive(Default)]
struct Queue {
    commands: VecDeque<Command>,
    /// Whether the engine sleeps until it is woken: to wake nobody would still be a call of the system.
    asleep: bool,
}

/// What a stream and its thread share.
#[derive(Default)]
pub(crate) struct Shared {
    queue: Mutex<Queue>,
    pushed: Condvar,
    /// How many commands there were, and how many are done.
    pub(crate) sent: AtomicU64,
    pub(crate) done: AtomicU64,
    /// Threads that sleep until more is done.
    waiters: Mutex<usize>,
    advanced: Condvar,
    error: Mutex<Option<Error>>,
    told: OnceLock<Told>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn push(&self, command: Command) {
        let mut queue = lock(&self.queue);
        queue.commands.push_back(command);
        self.sent.fetch_add(1, Ordering::Release);
        let asleep = queue.asleep;
        drop(queue);
        if asleep {
            self.pushed.notify_one();
        }
    }

    /// Whether so many commands are done.
    pub(crate) fn has_done(&self, goal: u64) -> bool {
        self.done.load(Ordering::Acquire) >= goal
    }

    /// Whether so many are done soon.
    pub(crate) fn soon_has_done(&self, goal: u64) -> bool {
        let mut spins = 0;
        while !self.has_done(goal) && spins < SPINS {
            spins += 1;
            std::hint::spin_loop();
        }
        self.has_done(goal)
    }

    /// Sleeps until so many are done.
    pub(crate) fn sleep_until(&self, goal: u64) {
        let mut waiters = lock(&self.waiters);
        *waiters += 1;
        while !self.has_done(goal) {
            waiters = self
                .advanced
                .wait(waiters)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *waiters -= 1;
    }

    /// The first error since the last call.
    pub(crate) fn take_error(&self) -> Result<(), Error> {
        lock(&self.error).take().map_or(Ok(()), Err)
    }

    /// Who is told of errors; the first to be named is.
    pub(crate) fn tell(&self, told: Told) {
        // Another one is there already.
        let _second = self.told.set(told);
    }

    /// Keeps the first error, and tells who wants to know of it.
    fn fails(&self, error: Error) {
        let mut first = lock(&self.error);
        if first.is_some() {
            return;
        }
        *first = Some(error.clone());
        drop(first);
        if let Some(told) = self.told.get() {
            told(&error);
        }
    }

    fn advance(&self) {
        self.done.fetch_add(1, Ordering::Release);
        // Taken after the count has changed, so that no waiter misses it.
        let waiters = *lock(&self.waiters);
        if waiters > 0 {
            self.advanced.notify_all();
        }
    }
}

/// What does a stream's commands.
pub(crate) struct Engine {
    pub(crate) machine: Arc<Inner>,
    pub(crate) shared: Arc<Shared>,
}

impl Engine {
    pub(crate) fn run(self) {
        let mut worker = Worker::new();
        loop {
            let command = self.next();
            if matches!(command, Command::Stop) {
                return;
            }
            let failed = lock(&self.shared.error).is_some();
            let awaited = command.awaited();
            let step = AssertUnwindSafe(|| self.step(command, &mut worker, failed));
            let done = catch_unwind(step).unwrap_or_else(|panic| {
                let what = said(&*panic);
                let kernel = "a command".into();
                Err(Error::Panic { kernel, what })
            });
            if let Err(error) = done {
                if let Some(completion) = awaited {
                    completion.set(Err(error.clone()));
                }
                self.shared.fails(error);
            }
            self.shared.advance();
        }
    }

    fn next(&self) -> Command {
        let shared = &self.shared;
        let has_more =
            || shared.sent.load(Ordering::Acquire) != shared.done.load(Ordering::Relaxed);
        let mut spins = 0;
        while !has_more() && spins < SPINS {
            spins += 1;
            std::hint::spin_loop();
        }
        let mut queue = lock(&shared.queue);
        loop {
            if let Some(command) = queue.commands.pop_front() {
                return command;
            }
            queue.asleep = true;
            queue = shared
                .pushed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
            queue.asleep = false;
        }
    }

    /// Does a command; after an error only what others wait for.
    fn step(&self, command: Command, worker: &mut Worker, failed: bool) -> Result<(), Error> {
        let window = self.machine.arena.window();
        match command {
            Command::Free(address) => self.machine.free(address),
            Command::Record(event) => {
                event.set(Instant::now());
                Ok(())
            }
            Command::Wait(event) => {
                event.reached();
                Ok(())
            }
            Command::Call(f) => {
                let so_far = lock(&self.shared.error).clone();
                f(so_far.as_ref().map_or(Ok(()), Err));
                Ok(())
            }
            Command::Read(address, len, completion) => {
                let mut bytes = vec![0; len as usize];
                let result = match lock(&self.shared.error).clone() {
                    Some(error) => Err(error),
                    None => check(window.read(address, &mut bytes), address, len).map(|()| bytes),
                };
                if result.is_ok() {
                    let machine = &self.machine;
                    machine.checked(|checker| checker.host_reads(address, len));
                }
                completion.set(result);
                Ok(())
            }
            Command::Stop => Ok(()),
            Command::Launch(..)
            | Command::Replay(..)
            | Command::Write(..)
            | Command::Copy { .. }
            | Command::Fill { .. }
                if failed =>
            {
                Ok(())
            }
            Command::Launch(job, order) => self.launch(&job, worker, order),
            Command::Replay(prepared, mut order) => prepared.0.iter().try_for_each(|job| {
                let own = order.clone();
                order = order.take().map(LaunchOrder::next);
                self.launch(job, worker, own)
            }),
            Command::Write(address, bytes) => {
                let bytes = bytes.as_ref();
                let len = bytes.len() as u64;
                self.machine
                    .checked(|checker| checker.global.written(address, len));
                check(window.write(address, bytes), address, len)
            }
            Command::Copy { to, from, len } => {
                self.machine
                    .checked(|checker| checker.global.copied(to, from, len));
                check(window.copy(to, from, len), from, len)
            }
            Command::Fill { address, byte, len } => {
                self.machine
                    .checked(|checker| checker.global.written(address, len));
                check(window.fill(address, byte, len), address, len)
            }
        }
    }

    fn launch(
        &self,
        job: &Arc<Job>,
        worker: &mut Worker,
        order: Option<LaunchOrder>,
    ) -> Result<(), Error> {
        let Some(checker) = &self.machine.checker else {
            return self.launch_with(job, worker, None);
        };
        let mut held = lock(checker);
        if let Some(checker) = held.as_mut() {
            let subject = &job.program(false).subject;
            checker.start_launch(subject, &job.view, order.unwrap_or_default());
        }
        let result = self.launch_with(job, worker, held.take());
        *held = worker.take_checker();
        result
    }

    fn launch_with(
        &self,
        job: &Arc<Job>,
        worker: &mut Worker,
        checker: Option<Box<Checker>>,
    ) -> Result<(), Error> {
        worker.set_checker(checker);
        self.machine.pool.run(job, worker);
        job.result()
    }
}
