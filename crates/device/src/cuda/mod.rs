//! The CUDA driver as a back end, loaded at run time.
//!
//! `unsafe` stands in [`probe`] and [`api`] only: the first proves that a driver is there with every function we call,
//! the second wraps those functions. The proof is a [`Driver`](probe::Driver), which every wrapper starts from.

mod api;
mod disk;
mod graveyard;
mod module;
mod probe;
mod queue;
mod staging;
mod target;

use crate::{
    back::{Back, BackQueue, BackWords, Handle, MemoryInfo},
    error::Error,
    info::{BackEnd, DeviceInfo, DriverVersion},
    selector::Settings,
};
use api::{Attribute, Context, Mapped};
use graveyard::Graveyard;
use module::{CudaKernel, CudaModule};
use queue::CudaQueue;
use staging::Staging;
use std::{path::PathBuf, sync::Arc};
use target::target_of_card;
use warpsmith_kernel::Processor;
use warpsmith_ptx::verify::Verified;
use warpsmith_vgpu::check::Finding;

/// Why libraries that were tried before the driver did not load.
pub(crate) fn passed_over() -> Vec<String> {
    probe::passed_over()
}

/// The cards of this machine.
pub(crate) fn cards() -> Result<Vec<DeviceInfo>, Error> {
    let driver = probe::driver()?;
    (0..driver.count()?)
        .map(|index| info(driver, index))
        .collect()
}

pub(crate) fn open(
    index: usize,
    settings: &Settings,
) -> Result<(DeviceInfo, Box<dyn Back>), Error> {
    let driver = probe::driver()?;
    let found = driver.count()?;
    if index >= found {
        return Err(Error::NoCard { index, found });
    }
    let info = info(driver, index)?;
    let context = Arc::new(Context::new(driver, index)?);
    let shared = Arc::new(Shared {
        graveyard: Graveyard::default(),
        staging: Staging::default(),
        context,
    });
    let card = Card {
        memory_queue: CudaQueue::new(&shared)?,
        shared,
        sms: info.sms,
        disk: settings.disk_cache.clone(),
        stamp: format!("{} {} {}", info.name, info.target, driver.version()?),
    };
    Ok((info, Box::new(card)))
}

fn info(driver: probe::Driver, index: usize) -> Result<DeviceInfo, Error> {
    let attribute = |which| driver.attribute(index, which);
    let version = DriverVersion::from_number(driver.version()?);
    let max_ptx = version.newest_ptx();
    let (major, minor) = (attribute(Attribute::Major)?, attribute(Attribute::Minor)?);
    Ok(DeviceInfo {
        name: driver.name(index)?,
        back_end: BackEnd::Cuda { index },
        target: target_of_card(major as u16, minor as u16, max_ptx),
        max_ptx,
        sms: attribute(Attribute::Sms)?,
        processor: Processor::Card,
        memory: driver.total_memory(index)?,
        shared_per_block: attribute(Attribute::SharedPerBlock)?,
        driver: Some(version),
        passed_over: None,
    })
}

/// What the queues and modules of a card share. Fields go in this order.
#[derive(Debug)]
struct Shared {
    graveyard: Graveyard,
    staging: Staging,
    context: Arc<Context>,
}

/// An open card.
#[derive(Debug)]
struct Card {
    /// Where memory for any queue comes from.
    memory_queue: CudaQueue,
    shared: Arc<Shared>,
    sms: u32,
    disk: Option<PathBuf>,
    /// Names what code compiled by this driver for this card is good for.
    stamp: String,
}

impl Back for Card {
    fn memory(&self) -> Result<MemoryInfo, Error> {
        self.shared.context.memory()
    }

    fn alloc(&self, bytes: u64) -> Result<u64, Error> {
        self.shared.graveyard.sweep();
        let address = self.memory_queue.alloc(bytes)?;
        self.memory_queue.synchronize()?;
        Ok(address)
    }

    fn free(&self, address: u64) {
        // It fails only where the card is lost, and the memory with it.
        drop(self.memory_queue.free(address));
    }

    fn words(&self, len: usize) -> Result<Box<dyn BackWords>, Error> {
        Ok(Box::new(Mapped::new(&self.shared.context, len)?))
    }

    fn load(&self, module: &Verified) -> Result<Handle, Error> {
        self.shared.graveyard.sweep();
        Ok(Arc::new(Arc::new(CudaModule::new(
            &self.shared,
            module,
            self.disk.as_deref(),
            &self.stamp,
        )?)))
    }

    fn kernel(&self, module: &Handle, name: &str) -> Result<Handle, Error> {
        Ok(Arc::new(CudaKernel::new(
            inside::<Arc<CudaModule>>(module)?,
            name,
        )?))
    }

    fn queue(&self) -> Result<Box<dyn BackQueue>, Error> {
        Ok(Box::new(CudaQueue::new(&self.shared)?))
    }

    fn take_findings(&self) -> Vec<Finding> {
        // A card checks nothing.
        Vec::new()
    }

    fn resident(&self, kernel: &Handle, threads: u32, dynamic_shared: u32) -> Result<u64, Error> {
        let kernel = inside::<CudaKernel>(kernel)?;
        kernel.allow(dynamic_shared)?;
        let each = self
            .shared
            .context
            .occupancy(kernel.function, threads, dynamic_shared)?;
        Ok(u64::from(each) * u64::from(self.sms))
    }
}

/// What is behind a handle of this back end.
fn inside<T: std::any::Any>(handle: &Handle) -> Result<&T, Error> {
    handle.downcast_ref().ok_or_else(|| Error::WrongDevice {
        what: "a handle".into(),
    })
}
