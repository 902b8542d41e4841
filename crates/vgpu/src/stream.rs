//! Streams: commands in order, done by an engine thread.

use crate::{
    bytes::Bytes,
    check::{Checker, LaunchOrder, StreamOrder},
    clusters::clusters,
    error::{Error, Limit},
    job::{Job, Limits, Workspace},
    machine::{Inner, Machine, check},
    memory::Own,
    module::{Kernel, When},
    pool::{SPINS, said},
    sched::Worker,
    signal::{Completion, Event, Waited},
    view::LaunchView,
};
use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Instant,
};
use warpsmith_ptx::ir::Directive;

/// A kernel with everything it is launched with.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What runs.
    pub kernel: Kernel,
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The parameters, laid out as [`Kernel::params`] says.
    pub params: Vec<u8>,
    /// Whether all CTAs exist at once.
    pub cooperative: bool,
    /// CTAs of a cluster; `None` for as many as the kernel's own `.reqnctapercluster` says, or one.
    pub cluster: Option<[u32; 3]>,
}

/// Launches that were checked once and are enqueued together.
#[derive(Clone)]
pub struct Prepared(Arc<[Arc<Job>]>);

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|job| job.name());
        f.debug_list().entries(names).finish()
    }
}

/// Work that is done in order. Enqueueing never waits for it; dropping does.
pub struct Stream {
    machine: Machine,
    /// What its launches come after, where that is checked.
    pub(crate) order: Option<StreamOrder>,
    pub(crate) shared: Arc<Shared>,
    engine: Option<JoinHandle<()>>,
}

enum Command {
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
type Call = Box<dyn FnOnce(Result<(), &Error>) + Send>;

pub(crate) struct Shared {
    queue: Mutex<VecDeque<Command>>,
    pushed: Condvar,
    pub(crate) sent: AtomicU64,
    pub(crate) done: AtomicU64,
    waiters: Mutex<()>,
    advanced: Condvar,
    error: Mutex<Option<Error>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stream {
    pub(crate) fn new(machine: Machine) -> Result<Stream, Error> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            pushed: Condvar::new(),
            sent: AtomicU64::new(0),
            done: AtomicU64::new(0),
            waiters: Mutex::new(()),
            advanced: Condvar::new(),
            error: Mutex::new(None),
        });
        let engine = Engine {
            machine: Arc::clone(&machine.0),
            shared: Arc::clone(&shared),
        };
        let handle = std::thread::Builder::new()
            .name("vgpu engine".to_owned())
            .spawn(move || engine.run())
            .map_err(|e| Error::Thread {
                reason: e.to_string(),
            })?;
        let order = machine.0.stream_order();
        machine.0.outside.streams.fetch_add(1, Ordering::SeqCst);
        Ok(Stream {
            order,
            machine,
            shared,
            engine: Some(handle),
        })
    }

    fn waited(&self) -> Option<Waited> {
        let order = self.order.as_ref()?;
        Some(Waited {
            point: order.point(),
            host: order.host().clone(),
        })
    }

    fn push(&self, command: Command) {
        let mut queue = lock(&self.shared.queue);
        queue.push_back(command);
        self.shared.sent.fetch_add(1, Ordering::Release);
        drop(queue);
        self.shared.pushed.notify_one();
    }

    fn in_range(&self, address: u64, len: u64) -> Result<(), Error> {
        check(
            self.machine.0.arena.window().holds(address, len),
            address,
            len,
        )
    }

    /// Enqueues a launch; checks it and lowers its kernel now.
    ///
    /// # Errors
    /// [`Error::Launch`], [`Error::Unsupported`], [`Error::OtherMachine`].
    pub fn launch(&self, launch: Launch) -> Result<(), Error> {
        let job = self.job(launch, false)?;
        let order = self.order.as_ref().map(|order| order.launches(1));
        self.push(Command::Launch(Arc::new(job), order));
        Ok(())
    }

    /// Checks launches for [`Stream::replay`].
    ///
    /// # Errors
    /// As [`Stream::launch`].
    pub fn prepare(&self, launches: Vec<Launch>) -> Result<Prepared, Error> {
        let jobs = launches
            .into_iter()
            .map(|launch| self.job(launch, true).map(Arc::new));
        Ok(Prepared(jobs.collect::<Result<_, _>>()?))
    }

    /// Enqueues prepared launches, without an allocation.
    ///
    /// # Errors
    /// None yet; a prepared list is of the machine that prepared it.
    pub fn replay(&self, prepared: &Prepared) -> Result<(), Error> {
        let count = prepared.0.len() as u64;
        let order = self.order.as_ref().map(|order| order.launches(count));
        self.push(Command::Replay(prepared.clone(), order));
        Ok(())
    }

    fn job(&self, launch: Launch, often: bool) -> Result<Job, Error> {
        let Launch {
            kernel,
            grid,
            block,
            dynamic_shared,
            params,
            cooperative,
            cluster,
        } = launch;
        let name = kernel.name().clone();
        if !Arc::ptr_eq(kernel.machine(), &self.machine.0) {
            return Err(Error::OtherMachine { kernel: name });
        }
        let refuse = |what, found, expected| Error::Launch {
            kernel: name.clone(),
            what,
            found,
            expected,
        };
        let threads: u64 = block.iter().map(|n| u64::from(*n)).product();
        if !(1..=1024).contains(&threads) || block[2] > 64 {
            return Err(refuse(Limit::Threads, threads, 1024));
        }
        if grid.contains(&0) {
            return Err(refuse(Limit::GridExtent, 0, 1));
        }
        for (n, limit) in grid.iter().zip([0x7FFF_FFFF, 0xFFFF, 0xFFFF]) {
            if *n > limit {
                return Err(refuse(Limit::GridExtent, u64::from(*n), u64::from(limit)));
            }
        }
        for directive in &kernel.function().directives {
            match directive {
                Directive::ReqNtid(wanted) if *wanted != block => {
                    let all: u64 = wanted.iter().map(|n| u64::from(*n)).product();
                    return Err(refuse(Limit::ReqNtid, threads, all));
                }
                Directive::MaxNtid(most) => {
                    let all = most.iter().map(|n| u64::from((*n).max(1))).product();
                    if threads > all {
                        return Err(refuse(Limit::MaxNtid, threads, all));
                    }
                }
                Directive::ReqNtid(_)
                | Directive::MinNctaPerSm(_)
                | Directive::MaxNreg(_)
                | Directive::NoReturn
                | Directive::Pragma(_)
                | Directive::Other(..) => {}
            }
        }
        if params.len() as u64 != u64::from(kernel.param_bytes()) {
            return Err(refuse(
                Limit::Parameters,
                params.len() as u64,
                u64::from(kernel.param_bytes()),
            ));
        }
        let config = &self.machine.0.config;
        let shared = u64::from(kernel.static_shared()) + u64::from(dynamic_shared);
        if shared > u64::from(config.shared_per_block) {
            return Err(refuse(
                Limit::Shared,
                shared,
                u64::from(config.shared_per_block),
            ));
        }
        let (cluster, grid) = clusters(kernel.function(), config.target.sm, cluster, grid)
            .map_err(|(what, found, expected)| refuse(what, found, expected))?;
        let total: u64 = grid.iter().map(|n| u64::from(*n)).product();
        if cooperative && total > config.cooperative_ctas {
            let most = config.cooperative_ctas;
            return Err(refuse(Limit::Cooperative, total, most));
        }
        let shared = kernel.laid_shared() + dynamic_shared;
        let warps = total.saturating_mul(threads.div_ceil(32));
        let when = match (cooperative, often) {
            // All its CTAs begin at once: none would come to code that is compiled later.
            (true, _) => When::Must,
            // What is prepared does not run yet.
            (false, true) => When::Beside,
            (false, false) => When::of(warps),
        };
        let program = kernel.program(block, when)?;
        let workspace = (cooperative && program.plain.reads_environment())
            .then(|| Workspace::new(&self.machine.0))
            .transpose()?;
        let view = LaunchView {
            grid,
            block,
            cta: [0; 3],
            cluster: cluster.unwrap_or([1; 3]),
            clustered: cluster.is_some(),
            grid_id: 0,
            dynamic_shared,
            shared,
            sms: config.sms,
            workspace: workspace.as_ref().map_or(0, |workspace| workspace.address),
            params,
            own: Own::default(),
            peers: Vec::new(),
        };
        let global = self.machine.0.arena.window();
        let limits = Limits {
            cooperative,
            seed: config.seed,
            budget: config.budget,
            resident: if cooperative {
                u64::MAX
            } else {
                config.resident(threads as u32, shared)
            },
            workers: self.machine.0.pool.workers(),
            stop: config.stop.clone(),
            outside: (!config.closed).then(|| Arc::clone(&self.machine.0.outside)),
        };
        let mut job = Job::new(program, view, shared, global, limits);
        (job.workspace, job.objects) = (workspace, Arc::clone(&self.machine.0.objects));
        job.printed = kernel.prints().then(|| Arc::clone(&self.machine.0.printed));
        Ok(job)
    }

    /// Enqueues a write of device memory.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn write(&self, address: u64, bytes: impl Into<Bytes>) -> Result<(), Error> {
        let bytes = bytes.into();
        self.in_range(address, bytes.as_ref().len() as u64)?;
        self.push(Command::Write(address, bytes));
        Ok(())
    }

    /// Enqueues a read of device memory.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn read(&self, address: u64, len: u64) -> Result<Completion, Error> {
        self.in_range(address, len)?;
        let completion = Completion::new(self.waited(), &self.machine.0.outside);
        self.push(Command::Read(address, len, completion.clone()));
        Ok(completion)
    }

    /// Enqueues a copy inside of device memory; the ranges may overlap.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn copy(&self, to: u64, from: u64, len: u64) -> Result<(), Error> {
        self.in_range(to, len)?;
        self.in_range(from, len)?;
        self.push(Command::Copy { to, from, len });
        Ok(())
    }

    /// Enqueues a fill.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn fill(&self, address: u64, byte: u8, len: u64) -> Result<(), Error> {
        self.in_range(address, len)?;
        self.push(Command::Fill { address, byte, len });
        Ok(())
    }

    /// Gives a block of memory back when the stream comes to it.
    ///
    /// # Errors
    /// None now; an address that is not allocated then is an error of the stream.
    pub fn free(&self, address: u64) -> Result<(), Error> {
        self.push(Command::Free(address));
        Ok(())
    }

    /// Marks this point of the stream.
    pub fn record(&self) -> Event {
        let event = Event::new(self.waited(), &self.machine.0.outside);
        self.push(Command::Record(event.clone()));
        event
    }

    /// Makes the stream wait for an event of another.
    pub fn wait(&self, event: &Event) {
        if let (Some(order), Some(point)) = (&self.order, event.point()) {
            order.wait(point);
        }
        self.push(Command::Wait(event.clone()));
    }

    /// Calls host code in the order of the stream, with how the stream fared so far. It must not wait for the stream.
    pub fn call(&self, f: impl FnOnce(Result<(), &Error>) + Send + 'static) {
        self.push(Command::Call(Box::new(f)));
    }

    /// Whether everything enqueued so far is done, which the host then knows.
    pub fn is_done(&self) -> bool {
        let waited = self.waited();
        let goal = self.shared.sent.load(Ordering::Acquire);
        let done = self.shared.done.load(Ordering::Acquire) >= goal;
        Waited::note(waited.as_ref().filter(|_| done));
        done
    }

    /// Waits until everything enqueued so far is done.
    ///
    /// # Errors
    /// The first error since the last call. What was enqueued after it was skipped.
    pub fn synchronize(&self) -> Result<(), Error> {
        let goal = self.shared.sent.load(Ordering::Acquire);
        let done = || self.shared.done.load(Ordering::Acquire) >= goal;
        let mut spins = 0;
        while !done() && spins < SPINS {
            spins += 1;
            std::hint::spin_loop();
        }
        if !done() {
            let _waits = self.machine.0.outside.wait();
            let mut waiting = lock(&self.shared.waiters);
            while !done() {
                waiting = self
                    .shared
                    .advanced
                    .wait(waiting)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
        if let Some(order) = &self.order {
            order.waited();
        }
        match lock(&self.shared.error).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.push(Command::Stop);
        if let Some(engine) = self.engine.take() {
            // An engine that panicked has nothing left to do.
            drop(engine.join());
        }
        let outside = &self.machine.0.outside;
        outside.streams.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Engine {
    machine: Arc<Inner>,
    shared: Arc<Shared>,
}

impl Engine {
    fn run(self) {
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
                lock(&self.shared.error).get_or_insert(error);
            }
            self.shared.done.fetch_add(1, Ordering::Release);
            // Taken after the count has changed, so that no waiter misses it.
            drop(lock(&self.shared.waiters));
            self.shared.advanced.notify_all();
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
            if let Some(command) = queue.pop_front() {
                return command;
            }
            queue = shared
                .pushed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
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
