//! What every back end does, as the rest of this crate sees it.

mod slow;
pub(crate) mod virtual_gpu;

use crate::error::Error;
use std::{any::Any, fmt::Debug, sync::Arc, time::Duration};
use warpsmith_ptx::verify::Verified;
use warpsmith_vgpu::check::Finding;

/// A module, a kernel or a prepared replay of some back end; only that back end looks inside.
pub(crate) type Handle = Arc<dyn Any + Send + Sync>;

/// Bytes of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Free.
    pub free: u64,
    /// In all.
    pub total: u64,
}

/// One device.
pub(crate) trait Back: Debug + Send + Sync {
    fn memory(&self) -> Result<MemoryInfo, Error>;
    /// Usable on any queue at once.
    fn alloc(&self, bytes: u64) -> Result<u64, Error>;
    /// Of memory that no queue has used.
    fn free(&self, address: u64);
    /// Zeroed words that the host and running kernels both see.
    fn words(&self, len: usize) -> Result<Box<dyn BackWords>, Error>;
    fn load(&self, module: &Verified) -> Result<Handle, Error>;
    fn kernel(&self, module: &Handle, name: &str) -> Result<Handle, Error>;
    fn queue(&self) -> Result<Box<dyn BackQueue>, Error>;
    /// What was found in kernels since the last call.
    fn take_findings(&self) -> Vec<Finding>;
    /// What kernels printed since the last call, where it is not on standard output.
    fn take_printed(&self) -> String {
        String::new()
    }
    /// CTAs that run at the same time on the whole device.
    fn resident(&self, kernel: &Handle, threads: u32, dynamic_shared: u32) -> Result<u64, Error>;
}

/// Words that the host and running kernels both see; indices are in range.
pub(crate) trait BackWords: Debug + Send + Sync {
    fn address(&self) -> u64;
    /// What was written before the word that is found is seen, too.
    fn load(&self, index: usize) -> u32;
    fn store(&self, index: usize, value: u32);
}

/// A queue of work in order. Nothing here waits but `synchronize`.
pub(crate) trait BackQueue: Debug + Send + Sync {
    fn launch(&self, launch: BackLaunch<'_>) -> Result<(), Error>;
    fn alloc(&self, bytes: u64) -> Result<u64, Error>;
    fn free(&self, address: u64) -> Result<(), Error>;
    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Error>;
    fn read(&self, address: u64, bytes: usize) -> Result<Box<dyn BackRead>, Error>;
    fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), Error>;
    fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<(), Error>;
    fn record(&self) -> Result<Arc<dyn BackEvent>, Error>;
    fn wait(&self, event: &dyn BackEvent) -> Result<(), Error>;
    fn synchronize(&self) -> Result<(), Error>;
    /// From now on launches, copies and fills are collected.
    fn begin_capture(&self) -> Result<(), Error>;
    /// What was collected since.
    fn end_capture(&self) -> Result<Handle, Error>;
    fn replay(&self, graph: &Handle) -> Result<(), Error>;
}

/// A point in a queue.
pub(crate) trait BackEvent: Any + Debug + Send + Sync {
    fn is_done(&self) -> Result<bool, Error>;
    fn wait(&self) -> Result<(), Error>;
    /// Time from `earlier` to this.
    fn since(&self, earlier: &dyn BackEvent) -> Result<Duration, Error>;
}

/// Bytes on their way to the host.
pub(crate) trait BackRead: Debug + Send {
    fn is_done(&self) -> Result<bool, Error>;
    /// Waits, and copies them out; `into` has the length asked for.
    fn wait(self: Box<Self>, into: &mut [u8]) -> Result<(), Error>;
}

/// A launch whose arguments were checked.
#[derive(Debug)]
pub(crate) struct BackLaunch<'a> {
    pub(crate) kernel: &'a Handle,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared: u32,
    pub(crate) params: Vec<u8>,
    pub(crate) placement: Placement,
}

/// Whether CTAs of a launch may wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Placement {
    /// They run in any order.
    #[default]
    Independent,
    /// All run at the same time (cooperative launch).
    Cooperative,
}
