//! A device: the door to one card, or to one virtual GPU.

use crate::{
    back::{Back, MemoryInfo, virtual_gpu},
    buffer::Buffer,
    cache::CacheStats,
    cuda,
    error::Error,
    info::DeviceInfo,
    inner::Inner,
    selector::{Selector, Settings},
    stats::Snapshot,
    virtual_card::VirtualCard,
};
use std::sync::Arc;
use warpsmith_kernel::Elem;
use warpsmith_vgpu::check::Finding;

/// A device. Clones are the same device; threads may share it.
///
/// ```
/// use warpsmith_device::{Device, Selector, Settings};
///
/// let device = Device::open(&Selector::Auto)?; // the first card, or else the virtual GPU
/// println!("{}: {} MiB free", device.info().name, device.memory_info()?.free >> 20);
///
/// let checked = Device::open_with(&Selector::virtual_gpu(), Settings::checking())?; // finds races, reads out of bounds, ...
/// assert!(checked.take_findings().is_empty());
/// # Ok::<(), warpsmith_device::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Device(pub(crate) Arc<Inner>);

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
        Device(Arc::new(Inner::new(info, back, settings)))
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
