//! A device: the door to one card, or to one virtual GPU.

use crate::{
    back::{Back, BackEvent, MemoryInfo, virtual_gpu},
    buffer::{Allocation, Buffer},
    cache::{Cache, CacheStats},
    cuda,
    error::Error,
    info::DeviceInfo,
    loaded::{Loaded, Module},
    queue::{Queue, Uses, lock},
    selector::{Selector, Settings},
    stats::{Counters, Snapshot, count},
    stream::Stream,
    timeline::Recorder,
    virtual_card::VirtualCard,
};
use std::sync::{
    Arc, Mutex, Weak,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use warpsmith_kernel::{Elem, Kernel, Options};
use warpsmith_ptx::verify::Verified;
use warpsmith_vgpu::check::Finding;

/// A device. Clones are the same device; threads may share it.
#[derive(Clone, Debug)]
pub struct Device(pub(crate) Arc<Inner>);

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
    fn idle_queue(&self) -> Option<Arc<Queue>> {
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

/// The devices of this machine.
#[derive(Clone, Debug)]
pub struct Devices {
    /// The cards, or why none can be used.
    pub cards: Result<Vec<DeviceInfo>, Error>,
    /// Why driver libraries that were tried before the one in use did not load.
    pub passed_over: Vec<String>,
    /// The virtual GPU as it is opened by default.
    pub virtual_gpu: DeviceInfo,
}

/// Looks for devices; nothing is opened.
pub fn devices() -> Devices {
    Devices {
        cards: cuda::cards(),
        passed_over: cuda::passed_over(),
        virtual_gpu: virtual_gpu::standard(),
    }
}

/// Passes over a card that no kernel is built for.
fn not_too_old<B>((info, back): (DeviceInfo, B)) -> Result<(DeviceInfo, B), Error> {
    if info.is_too_old() {
        return Err(Error::CardTooOld {
            card: info.name,
            target: info.target,
        });
    }
    Ok((info, back))
}

impl Device {
    /// Opens a device with the default settings.
    ///
    /// # Errors
    /// [`Error::NoDriver`] or [`Error::NoCard`] for a card that is not there, and what the device says.
    pub fn open(selector: &Selector) -> Result<Device, Error> {
        Device::open_with(selector, Settings::default())
    }

    /// Opens a device.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn open_with(selector: &Selector, settings: Settings) -> Result<Device, Error> {
        match selector {
            Selector::Cuda(_) if settings.checker.is_some() => Err(Error::Unsupported {
                what: "checking kernels while they run",
            }),
            Selector::Auto if settings.checker.is_some() => {
                Device::open_with(&Selector::virtual_gpu(), settings)
            }
            Selector::Auto => match cuda::open(0, &settings).and_then(not_too_old) {
                Ok((info, back)) => Ok(Device::new(info, back, settings)),
                Err(why) => {
                    let card = VirtualCard::default();
                    let (mut info, back) = virtual_gpu::open(&card, &settings)?;
                    info.passed_over = Some(why.to_string());
                    Ok(Device::new(info, back, settings))
                }
            },
            Selector::Virtual(card) => {
                let (info, back) = virtual_gpu::open(card, &settings)?;
                Ok(Device::new(info, back, settings))
            }
            Selector::Cuda(index) => {
                let (info, back) = cuda::open(*index, &settings)?;
                Ok(Device::new(info, back, settings))
            }
        }
    }

    fn new(info: DeviceInfo, back: Box<dyn Back>, settings: Settings) -> Device {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Device(Arc::new(Inner {
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
        }))
    }

    /// What the device says about itself.
    pub fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    /// Free and total bytes of its memory.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn memory_info(&self) -> Result<MemoryInfo, Error> {
        self.0.back.memory()
    }

    /// A stream: work in order. Streams run beside each other.
    ///
    /// # Errors
    /// If the system gives no more.
    pub fn stream(&self) -> Result<Stream, Error> {
        let queue = match self.0.idle_queue() {
            Some(queue) => queue,
            None => self.0.queue()?,
        };
        Ok(Stream::new(self.clone(), queue))
    }

    /// Uninitialised memory; on the virtual GPU it holds `0xFF` bytes unless the settings say otherwise.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn alloc<T: Elem>(&self, len: usize) -> Result<Buffer<T>, Error> {
        let allocation = self
            .0
            .allocate::<T>(len, |bytes| self.0.back.alloc(bytes))?;
        Ok(Buffer::new(allocation, len))
    }

    /// Loads a module.
    ///
    /// # Errors
    /// [`Error::PtxTooNew`], [`Error::WrongTarget`], [`Error::Jit`] with the log, or what the virtual GPU does not do.
    pub fn load(&self, module: &Verified) -> Result<Module, Error> {
        Module::load(self, module)
    }

    /// The kernel, built and loaded; from the cache if it is there.
    ///
    /// # Errors
    /// [`Error::Build`], and those of [`Device::load`].
    pub fn loaded<K: Kernel>(&self, kernel: &K, options: Options) -> Result<Loaded, Error> {
        self.cached(kernel, options)
    }

    /// What was found wrong in kernels since the last call, with [`Settings::checker`] on the virtual GPU; else nothing.
    /// Faults of work that nobody waited for may be missing.
    pub fn take_findings(&self) -> Vec<Finding> {
        self.0.back.take_findings()
    }

    /// What kernels printed on the virtual GPU since the last call; the newest 64 MiB are kept. On a card the driver writes
    /// it to standard output, and this is empty.
    pub fn take_printed(&self) -> String {
        self.0.back.take_printed()
    }

    /// Hits, misses and entries of the kernel cache.
    pub fn cache_stats(&self) -> CacheStats {
        self.0.cache.stats()
    }

    /// Forgets all kernels; the counts stay.
    pub fn cache_clear(&self) {
        self.0.cache.clear();
    }

    /// Sets hits and misses to zero; the entries stay.
    pub fn cache_reset_stats(&self) {
        self.0.cache.reset_stats();
    }

    /// Counts of this device.
    pub fn stats(&self) -> Snapshot {
        self.0.counters.snapshot()
    }

    /// Sets the counts of this device to zero; those of the process stay.
    pub fn reset_stats(&self) {
        self.0.counters.reset();
    }

    /// Whether this and `other` are one device.
    pub fn is(&self, other: &Device) -> bool {
        self.0.id == other.0.id
    }
}
