//! One launch as workers see it: what to run and how far it is.

use crate::{
    config::Stop,
    error::{Error, Fault, FaultKind, Waiting},
    machine::Inner,
    memory::Window,
    module::Chosen,
    op::Program,
    order,
    outside::Outside,
    printed::Printed,
    queue::Slot,
    sched::Group,
    texture::Objects,
    view::LaunchView,
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};
use warpsmith_ptx::ir::Name;

/// What the driver gives to a cooperative grid for its barriers: 4 bytes with the size, and 4 that the grid counts in
/// (`driver_abi.h` of CUDA's cooperative groups). Kernels find its address in `%envreg1` and `%envreg2`.
pub(crate) struct Workspace {
    machine: Weak<Inner>,
    pub(crate) address: u64,
}

impl Workspace {
    const BYTES: u64 = 8;

    pub(crate) fn new(machine: &Arc<Inner>) -> Result<Workspace, Error> {
        let address = machine.arena.alloc(Self::BYTES)?;
        machine.checked(|checker| {
            checker.global.allocated(address, Self::BYTES);
            checker
                .global
                .name(address, &Name::Borrowed("workspace of the grid"));
            checker.global.written(address, Self::BYTES);
        });
        Ok(Workspace {
            machine: Arc::downgrade(machine),
            address,
        })
    }

    fn reset(&self, global: &Window) {
        for (at, word) in [(0, Self::BYTES as u32), (4, 0)] {
            if global.store(self.address + at, word).is_err() {
                debug_assert!(false, "the workspace is in device memory");
            }
        }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if let Some(machine) = self.machine.upgrade()
            && machine.free(self.address).is_err()
        {
            debug_assert!(false, "the workspace was allocated");
        }
    }
}

/// What bounds a launch.
#[derive(Default)]
pub(crate) struct Limits {
    /// All CTAs exist at once.
    pub(crate) cooperative: bool,
    /// What decides the order of CTAs, warps and lanes.
    pub(crate) seed: Option<u64>,
    /// Instructions that it may run.
    pub(crate) budget: Option<u64>,
    /// CTAs that the device holds at once, and threads that run them.
    pub(crate) resident: u64,
    pub(crate) workers: u64,
    /// What stops it from outside.
    pub(crate) stop: Option<Stop>,
    /// What the host may do meanwhile; `None` if it does nothing.
    pub(crate) outside: Option<Arc<Outside>>,
}

/// A CTA that can only wait, as long as nothing changes.
struct Quiet {
    /// How many changes there were.
    changes: u64,
    waiting: Vec<Waiting>,
}

/// A launch. Reset before each run; run by one engine and any number of helpers.
pub(crate) struct Job {
    /// What runs, unless there is compiled code for it.
    plain: Arc<Program>,
    compiled: Option<Slot>,
    pub(crate) view: LaunchView,
    /// Static and dynamic shared memory of a CTA in bytes.
    pub(crate) shared_bytes: u32,
    pub(crate) global: Window,
    pub(crate) total: u64,
    /// CTAs of a cluster, which begin together.
    pub(crate) cluster: u32,
    pub(crate) limits: Limits,
    pub(crate) workspace: Option<Workspace>,
    /// Where what its kernel prints goes.
    pub(crate) printed: Option<Arc<Printed>>,
    /// What handles of textures and surfaces stand for.
    pub(crate) objects: Arc<Objects>,
    /// Instructions it has run.
    spent: AtomicU64,
    /// The next CTA that nobody has taken.
    next: AtomicU64,
    /// CTAs that have not ended.
    left: AtomicU64,
    /// Changes that others may see by CTAs that are watched, and one for each that begins to be.
    changes: AtomicU64,
    /// CTAs that can only wait, by their number.
    quiet: Mutex<BTreeMap<u64, Quiet>>,
    /// Whether more CTAs may want to begin than the device holds: workers have more than one, or are more than that.
    tight: AtomicBool,
    /// The number of this run, by which a CTA's frames know what they were set up for.
    pub(crate) serial: AtomicU64,
    abort: AtomicBool,
    error: Mutex<Option<Error>>,
    /// CTAs that have begun, between their turns.
    pub(crate) queue: Mutex<VecDeque<Group>>,
    /// Helpers at work.
    pub(crate) running: AtomicU32,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Job {
    pub(crate) fn new(
        chosen: Chosen,
        view: LaunchView,
        shared_bytes: u32,
        global: Window,
        limits: Limits,
    ) -> Job {
        let total = view.grid.iter().map(|n| u64::from(*n)).product();
        let cluster = view.cluster_size().max(1);
        Job {
            plain: chosen.plain,
            compiled: chosen.compiled,
            view,
            shared_bytes,
            global,
            total,
            cluster,
            limits,
            workspace: None,
            printed: None,
            objects: Arc::default(),
            spent: AtomicU64::new(0),
            next: AtomicU64::new(0),
            left: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            quiet: Mutex::default(),
            tight: AtomicBool::new(false),
            serial: AtomicU64::new(0),
            abort: AtomicBool::new(false),
            error: Mutex::new(None),
            queue: Mutex::new(VecDeque::new()),
            running: AtomicU32::new(0),
        }
    }

    /// The program of its kernel: the compiled one, if a CTA that begins now can have that.
    pub(crate) fn program(&self, compiled: bool) -> &Arc<Program> {
        let found = self.compiled.as_ref().filter(|_| compiled);
        found.and_then(|found| found.get()).unwrap_or(&self.plain)
    }

    /// Whether there is compiled code by now.
    pub(crate) fn is_compiled(&self) -> bool {
        let found = self.compiled.as_ref();
        found.is_some_and(|found| found.get().is_some())
    }

    /// Its kernel's name.
    pub(crate) fn name(&self) -> &Name {
        &self.plain.subject.name
    }

    /// Makes it ready to run, as run number `serial`.
    pub(crate) fn reset(&self, serial: u64) {
        self.next.store(0, Ordering::Relaxed);
        self.left.store(self.total, Ordering::Relaxed);
        self.changes.store(0, Ordering::Relaxed);
        lock(&self.quiet).clear();
        let few = self.limits.resident < self.limits.workers;
        self.tight.store(few, Ordering::Relaxed);
        self.serial.store(serial, Ordering::Relaxed);
        self.abort.store(false, Ordering::Relaxed);
        self.spent.store(0, Ordering::Relaxed);
        if let Some(workspace) = &self.workspace {
            workspace.reset(&self.global);
        }
    }

    /// Takes the next cluster, which mostly is one CTA, if the device has room for it: its number.
    pub(crate) fn take(&self) -> Option<u64> {
        if self.aborted() || self.next.load(Ordering::Relaxed) >= self.total {
            return None;
        }
        let tight = self.tight.load(Ordering::SeqCst).then(|| lock(&self.quiet));
        if tight.is_some() && self.begun() >= self.limits.resident {
            return None;
        }
        let each = u64::from(self.cluster);
        let index = self.next.fetch_add(each, Ordering::SeqCst);
        drop(tight);
        if index >= self.total {
            return None;
        }
        Some(match self.limits.seed {
            Some(seed) => order::permuted(seed, index / each, self.total / each),
            None => index / each,
        })
    }

    /// From now on no more CTAs begin than the device holds at once.
    pub(crate) fn tighten(&self) {
        self.tight.store(true, Ordering::SeqCst);
    }

    /// CTAs that have begun and not ended.
    fn begun(&self) -> u64 {
        let taken = self.next.load(Ordering::SeqCst).min(self.total);
        let ended = self.total - self.left.load(Ordering::SeqCst);
        taken.saturating_sub(ended)
    }

    /// A CTA has ended, which may have `waited`. What it did counts for those that wait.
    pub(crate) fn end(&self, index: u64, waited: bool) {
        if waited {
            lock(&self.quiet).remove(&index);
        }
        self.left.fetch_sub(1, Ordering::SeqCst);
    }

    /// Something has changed that others may see.
    pub(crate) fn change(&self, count: u64) {
        self.changes.fetch_add(count, Ordering::SeqCst);
    }

    /// How often something has changed: a CTA that ends may have changed anything.
    pub(crate) fn changes(&self) -> u64 {
        let ended = self.total - self.left.load(Ordering::SeqCst);
        self.changes.load(Ordering::SeqCst) + ended
    }

    /// CTA `index` can only wait, as long as there are no more than so many changes. If that is so of all that have
    /// begun, no other can begin, and nothing comes from outside: who waits where, and how many have not begun.
    pub(crate) fn wait(
        &self,
        index: u64,
        changes: u64,
        waiting: impl FnOnce() -> Vec<Waiting>,
    ) -> Option<(Vec<Waiting>, u64)> {
        self.tighten();
        let mut quiet = lock(&self.quiet);
        if quiet.get(&index).is_none_or(|own| own.changes != changes) {
            let waiting = waiting();
            quiet.insert(index, Quiet { changes, waiting });
        }
        let begun = self.begun();
        let next = self.next.load(Ordering::SeqCst).min(self.total);
        let room = next < self.total && begun < self.limits.resident;
        let now = self.changes();
        let all = quiet.len() as u64 == begun && quiet.values().all(|own| own.changes == now);
        let outside = self.limits.outside.as_ref();
        if room || !all || outside.is_some_and(|outside| !outside.is_quiet()) {
            return None;
        }
        let waiting = quiet.values().flat_map(|own| own.waiting.clone());
        Some((waiting.collect(), self.total - next))
    }

    /// Some instructions are run; the budget, if that was more than is left of it.
    pub(crate) fn spend(&self, instructions: u64) -> Option<u64> {
        let budget = self.limits.budget?;
        let spent = self.spent.fetch_add(instructions, Ordering::Relaxed) + instructions;
        (spent > budget).then_some(budget)
    }

    /// Whether every CTA has ended.
    pub(crate) fn is_done(&self) -> bool {
        self.left.load(Ordering::Acquire) == 0
    }

    /// Whether a fault stops the launch.
    pub(crate) fn aborted(&self) -> bool {
        self.abort.load(Ordering::Relaxed)
    }

    /// Whether it is to be stopped from outside.
    pub(crate) fn is_stopped(&self) -> bool {
        self.limits.stop.as_ref().is_some_and(Stop::is_stopped)
    }

    /// Keeps the first fault and stops the launch.
    pub(crate) fn fail(&self, fault: Fault) {
        self.stop(match fault.kind {
            // That is no fault of the kernel.
            FaultKind::TwoPlaces { other } => Error::Unsupported {
                kernel: fault.kernel,
                span: fault.span,
                what: format!("an exchange with lanes at {other}"),
            },
            FaultKind::OutOfBounds { .. }
            | FaultKind::Misaligned { .. }
            | FaultKind::Trap
            | FaultKind::Assert
            | FaultKind::Deadlock { .. }
            | FaultKind::Partial { .. }
            | FaultKind::Stopped
            | FaultKind::StackFull { .. }
            | FaultKind::Budget { .. }
            | FaultKind::Misuse(_) => fault.into(),
        });
    }

    /// A worker panicked: stops the launch.
    pub(crate) fn broke(&self, what: String) {
        let kernel = self.name().clone();
        self.stop(Error::Panic { kernel, what });
    }

    fn stop(&self, error: Error) {
        lock(&self.error).get_or_insert(error);
        self.abort.store(true, Ordering::Relaxed);
    }

    /// How the run went; an error is told once.
    pub(crate) fn result(&self) -> Result<(), Error> {
        if !self.aborted() {
            return Ok(());
        }
        lock(&self.error).take().map_or(Ok(()), Err)
    }
}
