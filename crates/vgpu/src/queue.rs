//! Kernels that are compiled beside running: one thread of the process does it, and what it has made is taken from the next
//! CTA on.

use crate::{
    analysis::Layout,
    build::{Compile, Input},
    lower, native,
    op::Program,
    tier::Tier,
};
use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    mpsc::{Sender, channel},
};
use warpsmith_ptx::{ir::Function, verify::Verified};

/// Where a compiled kernel comes to stand.
pub(crate) type Slot = Arc<OnceLock<Arc<Program>>>;

/// A kernel to be lowered for a block shape.
pub(crate) struct Task {
    pub(crate) module: Verified,
    pub(crate) index: usize,
    /// The kernel merged with the functions it calls; `None` if it calls none.
    pub(crate) unit: Option<Arc<Function>>,
    pub(crate) layout: Arc<Layout>,
    pub(crate) tier: Tier,
    pub(crate) block: [u32; 3],
    pub(crate) checked: bool,
    pub(crate) counted: bool,
    pub(crate) apart: bool,
}

impl Task {
    /// Lowers it, and compiles it if so wanted.
    pub(crate) fn lower(&self, compiled: bool) -> Result<Arc<Program>, crate::Error> {
        let function = self.unit.as_deref();
        let function = function.unwrap_or(&self.module.functions[self.index]);
        let program = lower::lower(&Input {
            module: &self.module,
            function,
            layout: &self.layout,
            tier: self.tier,
            block: self.block,
            checked: self.checked,
            counted: self.counted,
            apart: self.apart,
            compile: compiled.then_some(native::compile as Compile),
        })?;
        Ok(Arc::new(program))
    }

    fn compile(&self, slot: &Slot) {
        // What cannot be lowered was refused when it was launched.
        if let Ok(program) = self.lower(true) {
            slot.get_or_init(|| program);
        }
    }
}

/// Compiles a kernel beside what runs; at once where there is no thread for it.
pub(crate) fn compile(task: Task, slot: Slot) {
    static QUEUE: OnceLock<Option<Mutex<Sender<(Task, Slot)>>>> = OnceLock::new();
    let queue = QUEUE.get_or_init(|| {
        let (sender, tasks) = channel::<(Task, Slot)>();
        let work = move || {
            for (task, slot) in tasks {
                task.compile(&slot);
            }
        };
        let thread = std::thread::Builder::new().name("vgpu compiler".to_owned());
        thread.spawn(work).ok().map(|_| Mutex::new(sender))
    });
    let refused = match queue {
        Some(queue) => {
            let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.send((task, slot)).err().map(|refused| refused.0)
        }
        None => Some((task, slot)),
    };
    if let Some((task, slot)) = refused {
        task.compile(&slot);
    }
}
