//! One launch as workers see it: what to run and how far it is.

use crate::{
    error::{Error, Fault},
    exec::LaunchView,
    lower::Program,
    machine::Inner,
    memory::Window,
    order,
    printed::Printed,
    sched::Cta,
};
use std::{
    collections::VecDeque,
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

/// A launch. Reset before each run; run by one engine and any number of helpers.
pub(crate) struct Job {
    pub(crate) program: Arc<Program>,
    pub(crate) view: LaunchView,
    /// Static and dynamic shared memory of a CTA in bytes.
    pub(crate) shared_bytes: u32,
    pub(crate) global: Window,
    pub(crate) total: u64,
    pub(crate) cooperative: bool,
    pub(crate) workspace: Option<Workspace>,
    /// Where what its kernel prints goes.
    pub(crate) printed: Option<Arc<Printed>>,
    /// What decides the order of CTAs and warps.
    pub(crate) seed: Option<u64>,
    /// Instructions that it may run, and those it has run.
    budget: Option<u64>,
    spent: AtomicU64,
    /// The next CTA that nobody has taken.
    next: AtomicU64,
    /// CTAs that have not ended.
    left: AtomicU64,
    /// The number of this run, by which a CTA's frames know what they were set up for.
    pub(crate) serial: AtomicU64,
    abort: AtomicBool,
    error: Mutex<Option<Error>>,
    /// CTAs of a cooperative launch between their turns.
    pub(crate) queue: Mutex<VecDeque<Box<Cta>>>,
    /// Helpers at work.
    pub(crate) running: AtomicU32,
}

impl Job {
    pub(crate) fn new(
        program: Arc<Program>,
        view: LaunchView,
        shared_bytes: u32,
        global: Window,
        cooperative: bool,
        (seed, budget): (Option<u64>, Option<u64>),
    ) -> Job {
        let total = view.grid.iter().map(|n| u64::from(*n)).product();
        Job {
            program,
            view,
            shared_bytes,
            global,
            total,
            cooperative,
            workspace: None,
            printed: None,
            seed,
            budget,
            spent: AtomicU64::new(0),
            next: AtomicU64::new(0),
            left: AtomicU64::new(0),
            serial: AtomicU64::new(0),
            abort: AtomicBool::new(false),
            error: Mutex::new(None),
            queue: Mutex::new(VecDeque::new()),
            running: AtomicU32::new(0),
        }
    }

    /// Makes it ready to run, as run number `serial`.
    pub(crate) fn reset(&self, serial: u64) {
        self.next.store(0, Ordering::Relaxed);
        self.left.store(self.total, Ordering::Relaxed);
        self.serial.store(serial, Ordering::Relaxed);
        self.abort.store(false, Ordering::Relaxed);
        self.spent.store(0, Ordering::Relaxed);
        if let Some(workspace) = &self.workspace {
            workspace.reset(&self.global);
        }
    }

    /// Takes the next CTA.
    pub(crate) fn take(&self) -> Option<u64> {
        if self.aborted() {
            return None;
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let place = |index| match self.seed {
            Some(seed) => order::permuted(seed, index, self.total),
            None => index,
        };
        (index < self.total).then(|| place(index))
    }

    /// A CTA has ended.
    pub(crate) fn end(&self) {
        self.left.fetch_sub(1, Ordering::Release);
    }

    /// Some instructions are run; the budget, if that was more than is left of it.
    pub(crate) fn spend(&self, instructions: u64) -> Option<u64> {
        let budget = self.budget?;
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

    /// Keeps the first fault and stops the launch.
    pub(crate) fn fail(&self, fault: Fault) {
        self.stop(fault.into());
    }

    /// A worker panicked: stops the launch.
    pub(crate) fn broke(&self, what: String) {
        let kernel = self.program.name.clone();
        self.stop(Error::Panic { kernel, what });
    }

    fn stop(&self, error: Error) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
        self.abort.store(true, Ordering::Relaxed);
    }

    /// How the run went; an error is told once.
    pub(crate) fn result(&self) -> Result<(), Error> {
        if !self.aborted() {
            return Ok(());
        }
        let mut error = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        error.take().map_or(Ok(()), Err)
    }
}
