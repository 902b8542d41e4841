//! Streams: commands in order, done by an engine thread.

use crate::{
    bytes::Bytes,
    check::{StreamOrder, Turn},
    clusters::clusters,
    engine::{Command, Engine, Prepared, Shared},
    error::{Error, Limit},
    job::{Job, Limits, Workspace},
    machine::{Machine, check},
    memory::Own,
    module::{Kernel, When},
    signal::{Completion, Event, Waited},
    view::LaunchView,
};
use std::{
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
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

/// Work that is done in order. Enqueueing never waits for it; dropping does.
pub struct Stream {
    machine: Machine,
    /// What its launches come after, where that is checked.
    order: Option<StreamOrder>,
    pub(crate) shared: Arc<Shared>,
    engine: Option<JoinHandle<()>>,
}

impl Machine {
    /// A new stream with its engine thread.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn stream(&self) -> Result<Stream, Error> {
        Stream::new(self.clone())
    }
}

impl Stream {
    pub(crate) fn new(machine: Machine) -> Result<Stream, Error> {
        let shared = Arc::new(Shared::default());
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
        self.shared.push(command);
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
        let done = self.shared.has_done(goal);
        Waited::note(waited.as_ref().filter(|_| done));
        done
    }

    /// The turn of a copy to the host that is enqueued next, by [`Stream::call`]; none where launches are not checked.
    pub fn turn(&self) -> Option<Turn> {
        self.order.as_ref().map(|order| Turn(order.launches(1)))
    }

    /// Has `told` called for each error that [`Stream::synchronize`] would give, on the thread of the stream, before
    /// anything that was enqueued behind. Only the first call counts.
    pub fn on_error(&self, told: impl Fn(&Error) + Send + Sync + 'static) {
        self.shared.tell(Box::new(told));
    }

    /// Waits until everything enqueued so far is done.
    ///
    /// # Errors
    /// The first error since the last call. What was enqueued after it was skipped.
    pub fn synchronize(&self) -> Result<(), Error> {
        let goal = self.shared.sent.load(Ordering::Acquire);
        if !self.shared.soon_has_done(goal) {
            let _waits = self.machine.0.outside.wait();
            self.shared.sleep_until(goal);
        }
        if let Some(order) = &self.order {
            order.waited();
        }
        self.shared.take_error()
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
