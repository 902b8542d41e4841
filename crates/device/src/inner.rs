//! What a device is, behind its handles: its back end, its queues, its memory, its counts.

use crate::{
    back::{Back, BackEvent},
    cache::Cache,
    error::Error,
    info::DeviceInfo,
    lock::lock,
    queue::{Queue, Uses},
    recorder::Recorder,
    selector::Settings,
    stats::{Counters, count},
};
use std::{
    any::Any,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use warpsmith_kernel::Elem;

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) id: u64,
    pub(crate) info: DeviceInfo,
    pub(crate) settings: Settings,
    pub(crate) counters: Counters,
    pub(crate) cache: Cache,
    /// Queues whose stream was dropped, to be used again.
    idle: Mutex<Vec<Idle>>,
    /// All queues that live, for the time when memory runs out.
    queues: Mutex<Vec<Weak<Queue>>>,
    /// Frees what was used only on queues that are being captured.
    janitor: Mutex<Option<Arc<Queue>>>,
    next_queue: AtomicU64,
    pub(crate) recorder: Recorder,
    /// Last, so that it goes last.
    pub(crate) back: Box<dyn Back>,
}

/// A queue without a stream, and the end of its work.
#[derive(Debug)]
struct Idle {
    queue: Arc<Queue>,
    end: Arc<dyn BackEvent>,
}

impl Inner {
    pub(crate) fn new(info: DeviceInfo, back: Box<dyn Back>, settings: Settings) -> Inner {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Inner {
            id: NEXT.fetch_add(1, Relaxed),
            info,
            counters: Counters::new(),
            cache: Cache::new(settings.cache_entries),
            settings,
            idle: Mutex::default(),
            queues: Mutex::default(),
            janitor: Mutex::default(),
            next_queue: AtomicU64::new(0),
            recorder: Recorder::default(),
            back,
        }
    }

    pub(crate) fn queue(&self) -> Result<Arc<Queue>, Error> {
        let id = self.next_queue.fetch_add(1, Relaxed);
        let queue = Arc::new(Queue::new(id, self.back.queue()?));
        let mut queues = lock(&self.queues);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(&queue));
        Ok(queue)
    }

    pub(crate) fn janitor(&self) -> Result<Arc<Queue>, Error> {
        let mut janitor = lock(&self.janitor);
        match &*janitor {
            Some(queue) => Ok(queue.clone()),
            None => Ok(janitor.insert(self.queue()?).clone()),
        }
    }

    /// Takes back the queue of a stream that was dropped.
    pub(crate) fn give_back(&self, queue: Arc<Queue>) {
        // A queue that takes no event is lost, and not used again.
        if let Ok(end) = queue.tail() {
            lock(&self.idle).push(Idle { queue, end });
        }
    }

    /// A queue of a former stream whose work is done; its errors went with that stream.
    pub(crate) fn idle_queue(&self) -> Option<Arc<Queue>> {
        let queue = {
            let mut idle = lock(&self.idle);
            let at = idle
                .iter()
                .position(|idle| idle.end.is_done().is_ok_and(|done| done));
            at.map(|at| idle.swap_remove(at).queue)
        };
        if let Some(queue) = &queue {
            let _former_user = queue.back.synchronize();
            lock(&queue.state).recent.clear();
        }
        queue
    }

    /// `Ok` if `other` is this device.
    pub(crate) fn owns(&self, other: &Inner, what: impl FnOnce() -> String) -> Result<(), Error> {
        if self.id == other.id {
            Ok(())
        } else {
            Err(Error::WrongDevice { what: what() })
        }
    }

    /// Waits until the frees enqueued so far are done.
    fn drain(&self) -> Result<(), Error> {
        let queues: Vec<_> = lock(&self.queues)
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        for queue in queues {
            queue.tail()?.wait()?;
        }
        Ok(())
    }

    /// Allocates by `alloc`, after a wait for frees under way where memory runs out.
    pub(crate) fn allocate<T: Elem>(
        self: &Arc<Inner>,
        len: usize,
        alloc: impl Fn(u64) -> Result<u64, Error>,
    ) -> Result<Allocation, Error> {
        let Some(bytes) = (len as u64).checked_mul(size_of::<T>() as u64) else {
            return Err(Error::OutOfMemory {
                needed: u64::MAX,
                free: self.back.memory()?.free,
            });
        };
        let address = if bytes == 0 {
            0
        } else {
            let address = match alloc(bytes) {
                Err(Error::OutOfMemory { .. }) => {
                    self.drain()?;
                    alloc(bytes)?
                }
                other => other?,
            };
            count(&self.counters, |c| &c.allocations, 1);
            count(&self.counters, |c| &c.allocated_bytes, bytes);
            address
        };
        Ok(Allocation {
            device: self.clone(),
            address,
            bytes,
            uses: Uses::default(),
        })
    }
}

/// Memory of a device; freed in the order of the streams that used it.
pub(crate) struct Allocation {
    pub(crate) device: Arc<Inner>,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) uses: Uses,
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        count(&self.device.counters, |c| &c.frees, 1);
        let used_on = self.uses.all();
        if used_on.is_empty() {
            return self.device.back.free(self.address);
        }
        // An error here means that the device is lost, and its memory with it.
        let _lost = self.device.free_after(self.address, &used_on);
    }
}

impl Inner {
    /// Frees `address` once the work enqueued so far on `queues` is done.
    fn free_after(&self, address: u64, queues: &[Arc<Queue>]) -> Result<(), Error> {
        let capturing = |queue: &Arc<Queue>| lock(&queue.state).capture.is_some();
        let home = match queues.iter().find(|queue| !capturing(queue)) {
            Some(queue) => queue.clone(),
            None => self.janitor()?,
        };
        for queue in queues.iter().filter(|queue| queue.id != home.id) {
            home.wait_for(&*queue.tail()?)?;
        }
        let _state = home.uncaptured("freeing")?;
        home.back.free(address)
    }
}

/// The allocation behind a handle to memory.
pub(crate) fn allocation(memory: &Arc<dyn Any + Send + Sync>) -> Result<&Allocation, Error> {
    memory.downcast_ref().ok_or_else(|| Error::WrongDevice {
        what: "memory that this crate did not allocate".into(),
    })
}
