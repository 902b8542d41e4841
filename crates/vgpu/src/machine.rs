//! The machine: configuration, device memory, helper threads.

use crate::{
    config::Config, error::Error, memory::Arena, module::Module, pool::Pool, stream::Stream,
    tier::Tier,
};
use std::sync::Arc;
use warpsmith_ptx::verify::Verified;

/// A virtual GPU. Clones share it.
#[derive(Clone)]
pub struct Machine(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) tier: Tier,
    pub(crate) arena: Arena,
    pub(crate) pool: Pool,
}

impl Machine {
    /// Reserves device memory and starts the helper threads.
    ///
    /// # Errors
    /// If the system gives no address space or threads, or the CPU lacks the tier asked for.
    pub fn new(config: Config) -> Result<Machine, Error> {
        let tier = match config.tier {
            Some(tier) if !tier.is_available() => return Err(Error::Tier { tier }),
            Some(tier) => tier,
            None => Tier::best(),
        };
        let workers = match config.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            workers => workers,
        };
        let arena = Arena::new(config.memory, config.poison)?;
        let pool = Pool::new(workers - 1)?;
        Ok(Machine(Arc::new(Inner {
            config,
            tier,
            arena,
            pool,
        })))
    }

    /// What it was made with.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// The code path in use.
    pub fn tier(&self) -> Tier {
        self.0.tier
    }

    /// A block of device memory, 256-byte aligned; its contents are undefined.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn alloc(&self, bytes: u64) -> Result<u64, Error> {
        self.0.arena.alloc(bytes)
    }

    /// Gives a block back now, whatever streams still do with it; see [`Stream::free`].
    ///
    /// # Errors
    /// [`Error::NotAllocated`].
    pub fn free(&self, address: u64) -> Result<(), Error> {
        self.0.arena.free(address)
    }

    /// Free and total bytes of device memory.
    pub fn memory_info(&self) -> (u64, u64) {
        self.0.arena.info()
    }

    /// Takes a module: places its variables in device memory.
    ///
    /// # Errors
    /// If it is for a newer PTX version or another address size, or memory is short.
    pub fn load(&self, module: &Verified) -> Result<Module, Error> {
        Module::new(self, module)
    }

    /// A new stream with its engine thread.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn stream(&self) -> Result<Stream, Error> {
        Stream::new(self.clone())
    }

    /// Writes device memory now.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        let done = self.0.arena.window().write(address, bytes);
        check(done, address, bytes.len() as u64)
    }

    /// Reads device memory now.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Error> {
        let done = self.0.arena.window().read(address, bytes);
        check(done, address, bytes.len() as u64)
    }
}

/// The error of a range that is not in device memory.
pub(crate) fn check(done: bool, address: u64, len: u64) -> Result<(), Error> {
    if done {
        Ok(())
    } else {
        Err(Error::Range { address, len })
    }
}
