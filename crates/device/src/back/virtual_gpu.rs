//! The virtual GPU as a back end.

use super::{
    Back, BackEvent, BackLaunch, BackQueue, BackRead, BackWords, Handle, MemoryInfo, Placement,
};
use crate::{
    error::Error,
    info::{BackEnd, DeviceInfo},
    lock::lock,
    selector::{Fresh, Settings},
    virtual_card::VirtualCard,
};
use std::{
    any::Any,
    sync::{Arc, Mutex},
    time::Duration,
};
use warpsmith_kernel::Processor;
use warpsmith_ptx::verify::Verified;
use warpsmith_vgpu::{self as vgpu, check::Finding};

/// What to open, from what was asked for.
fn config(card: &VirtualCard, settings: &Settings) -> vgpu::Config {
    let VirtualCard {
        target,
        sms,
        memory,
        shared,
        cooperative,
        ptx,
        workers,
        tier,
        compile,
        kernels: _,
    } = *card;
    let default = vgpu::Config::default();
    let target = target.unwrap_or(default.target);
    let first = target.first_version().unwrap_or(default.max_ptx);
    // A worker runs one CTA at a time, as a multiprocessor with room for one would: kernels choose their grids by this.
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = workers.filter(|workers| *workers > 0).unwrap_or_else(cores);
    vgpu::Config {
        sms: sms.unwrap_or(threads as u32),
        target,
        memory: memory.unwrap_or(default.memory),
        workers: workers.unwrap_or(default.workers),
        tier,
        compile: compile.unwrap_or(default.compile),
        shared_per_block: shared
            .or(target.shared_limit())
            .unwrap_or(default.shared_per_block),
        cooperative_ctas: cooperative.unwrap_or(default.cooperative_ctas),
        max_ptx: ptx.unwrap_or(default.max_ptx.max(first)),
        checks: settings.checker.clone(),
        poison: settings.fresh == Fresh::Poisoned,
        seed: settings.seed,
        ..default
    }
}

/// What the virtual GPU that is opened by default says about itself.
pub(crate) fn standard() -> DeviceInfo {
    let card = VirtualCard::default();
    info(&card, &config(&card, &Settings::default()))
}

fn info(card: &VirtualCard, config: &vgpu::Config) -> DeviceInfo {
    DeviceInfo {
        name: config.name.clone(),
        back_end: BackEnd::Virtual,
        target: config.target,
        max_ptx: config.max_ptx,
        sms: config.sms,
        processor: card.kernels.unwrap_or(Processor::Virtual),
        memory: config.memory,
        shared_per_block: config.shared_per_block,
        driver: None,
        passed_over: None,
    }
}

pub(crate) fn open(
    card: &VirtualCard,
    settings: &Settings,
) -> Result<(DeviceInfo, Box<dyn Back>), Error> {
    super::slow::warn();
    let config = config(card, settings);
    let info = info(card, &config);
    Ok((info, Box::new(VirtualGpu(vgpu::Machine::new(config)?))))
}

struct VirtualGpu(vgpu::Machine);

impl Back for VirtualGpu {
    fn memory(&self) -> Result<MemoryInfo, Error> {
        let (free, total) = self.0.memory_info();
        Ok(MemoryInfo { free, total })
    }

    fn take_findings(&self) -> Vec<Finding> {
        self.0.take_findings()
    }

    fn take_printed(&self) -> String {
        self.0.take_printed()
    }

    fn alloc(&self, bytes: u64) -> Result<u64, Error> {
        Ok(self.0.alloc(bytes)?)
    }

    fn free(&self, address: u64) {
        self.0
            .free(address)
            .expect("an address that `alloc` gave is freed once");
    }

    fn words(&self, len: usize) -> Result<Box<dyn BackWords>, Error> {
        let address = self.0.alloc_words(4 * len as u64)?;
        let words = VirtualWords {
            machine: self.0.clone(),
            address,
        };
        self.0.write(address, &vec![0; 4 * len])?;
        Ok(Box::new(words))
    }

    fn load(&self, module: &Verified) -> Result<Handle, Error> {
        Ok(Arc::new(self.0.load(module)?))
    }

    fn kernel(&self, module: &Handle, name: &str) -> Result<Handle, Error> {
        let module: &vgpu::Module = inside(module)?;
        match module.kernel(name) {
            Some(kernel) => Ok(Arc::new(kernel)),
            None => Err(Error::NoEntry {
                name: name.to_owned(),
                found: Vec::new(),
            }),
        }
    }

    fn queue(&self) -> Result<Box<dyn BackQueue>, Error> {
        Ok(Box::new(VirtualQueue {
            machine: self.0.clone(),
            stream: self.0.stream()?,
            capture: Mutex::default(),
        }))
    }

    fn resident(
        &self,
        _kernel: &Handle,
        _threads: u32,
        _dynamic_shared: u32,
    ) -> Result<u64, Error> {
        let config = self.0.config();
        Ok(u64::from(config.sms).min(config.cooperative_ctas))
    }
}

/// What is behind a handle of this back end.
fn inside<T: Any>(handle: &Handle) -> Result<&T, Error> {
    handle.downcast_ref().ok_or_else(|| Error::WrongDevice {
        what: "a handle".into(),
    })
}

struct VirtualWords {
    machine: vgpu::Machine,
    address: u64,
}

impl BackWords for VirtualWords {
    fn address(&self) -> u64 {
        self.address
    }

    fn load(&self, index: usize) -> u32 {
        let word = self.machine.load_word(self.address + 4 * index as u64);
        word.expect("the index is in range")
    }

    fn store(&self, index: usize, value: u32) {
        let address = self.address + 4 * index as u64;
        let stored = self.machine.store_word(address, value);
        stored.expect("the index is in range");
    }
}

impl Drop for VirtualWords {
    fn drop(&mut self) {
        let freed = self.machine.free_words(self.address);
        freed.expect("an address that `alloc` gave is freed once");
    }
}

struct VirtualQueue {
    machine: vgpu::Machine,
    stream: vgpu::Stream,
    capture: Mutex<Option<Vec<Step>>>,
}

/// A piece of captured work.
enum Step {
    Launch(vgpu::Launch),
    Copy { to: u64, from: u64, bytes: u64 },
    Fill { address: u64, byte: u8, bytes: u64 },
}

/// Captured work: neighbouring launches are one list.
enum Piece {
    Launches(vgpu::Prepared),
    Copy { to: u64, from: u64, bytes: u64 },
    Fill { address: u64, byte: u8, bytes: u64 },
}

impl VirtualQueue {
    /// Collects `step` if a capture is on, else gives it back.
    fn captured(&self, step: Step) -> Option<Step> {
        match &mut *lock(&self.capture) {
            Some(steps) => {
                steps.push(step);
                None
            }
            None => Some(step),
        }
    }

    fn enqueue(&self, step: Step) -> Result<(), Error> {
        match self.captured(step) {
            None => Ok(()),
            Some(Step::Launch(launch)) => Ok(self.stream.launch(launch)?),
            Some(Step::Copy { to, from, bytes }) => Ok(self.stream.copy(to, from, bytes)?),
            Some(Step::Fill {
                address,
                byte,
                bytes,
            }) => Ok(self.stream.fill(address, byte, bytes)?),
        }
    }
}

impl BackQueue for VirtualQueue {
    fn launch(&self, launch: BackLaunch<'_>) -> Result<(), Error> {
        let BackLaunch {
            kernel,
            grid,
            block,
            dynamic_shared,
            params,
            placement,
        } = launch;
        self.enqueue(Step::Launch(vgpu::Launch {
            kernel: inside::<vgpu::Kernel>(kernel)?.clone(),
            grid,
            block,
            dynamic_shared,
            params,
            cooperative: placement == Placement::Cooperative,
            cluster: None,
        }))
    }

    fn alloc(&self, bytes: u64) -> Result<u64, Error> {
        Ok(self.machine.alloc(bytes)?)
    }

    fn free(&self, address: u64) -> Result<(), Error> {
        Ok(self.stream.free(address)?)
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        Ok(self.stream.write(address, bytes.to_vec())?)
    }

    fn read(&self, address: u64, bytes: usize) -> Result<Box<dyn BackRead>, Error> {
        Ok(Box::new(VirtualRead(
            self.stream.read(address, bytes as u64)?,
        )))
    }

    fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), Error> {
        self.enqueue(Step::Copy { to, from, bytes })
    }

    fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<(), Error> {
        self.enqueue(Step::Fill {
            address,
            byte,
            bytes,
        })
    }

    fn record(&self) -> Result<Arc<dyn BackEvent>, Error> {
        Ok(Arc::new(VirtualEvent(self.stream.record())))
    }

    fn wait(&self, event: &dyn BackEvent) -> Result<(), Error> {
        self.stream.wait(&event_inside(event)?.0);
        Ok(())
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(self.stream.synchronize()?)
    }

    fn begin_capture(&self) -> Result<(), Error> {
        *lock(&self.capture) = Some(Vec::new());
        Ok(())
    }

    fn end_capture(&self) -> Result<Handle, Error> {
        let steps = lock(&self.capture).take().unwrap_or_default();
        let mut pieces = Vec::new();
        let mut launches = Vec::new();
        let close =
            |launches: &mut Vec<vgpu::Launch>, pieces: &mut Vec<Piece>| -> Result<(), Error> {
                if !launches.is_empty() {
                    pieces.push(Piece::Launches(
                        self.stream.prepare(std::mem::take(launches))?,
                    ));
                }
                Ok(())
            };
        for step in steps {
            match step {
                Step::Launch(launch) => launches.push(launch),
                Step::Copy { to, from, bytes } => {
                    close(&mut launches, &mut pieces)?;
                    pieces.push(Piece::Copy { to, from, bytes });
                }
                Step::Fill {
                    address,
                    byte,
                    bytes,
                } => {
                    close(&mut launches, &mut pieces)?;
                    pieces.push(Piece::Fill {
                        address,
                        byte,
                        bytes,
                    });
                }
            }
        }
        close(&mut launches, &mut pieces)?;
        Ok(Arc::new(pieces))
    }

    fn replay(&self, graph: &Handle) -> Result<(), Error> {
        for piece in inside::<Vec<Piece>>(graph)? {
            match piece {
                Piece::Launches(prepared) => self.stream.replay(prepared)?,
                Piece::Copy { to, from, bytes } => self.stream.copy(*to, *from, *bytes)?,
                Piece::Fill {
                    address,
                    byte,
                    bytes,
                } => self.stream.fill(*address, *byte, *bytes)?,
            }
        }
        Ok(())
    }
}

struct VirtualEvent(vgpu::Event);

fn event_inside(event: &dyn BackEvent) -> Result<&VirtualEvent, Error> {
    let any: &dyn Any = event;
    any.downcast_ref().ok_or_else(|| Error::WrongDevice {
        what: "an event".into(),
    })
}

impl BackEvent for VirtualEvent {
    fn is_done(&self) -> Result<bool, Error> {
        Ok(self.0.done_at().is_some())
    }

    fn wait(&self) -> Result<(), Error> {
        self.0.wait();
        Ok(())
    }

    fn since(&self, earlier: &dyn BackEvent) -> Result<Duration, Error> {
        match (event_inside(earlier)?.0.done_at(), self.0.done_at()) {
            (Some(from), Some(to)) => Ok(to.saturating_duration_since(from)),
            (None, _) | (_, None) => Err(Error::Unsupported {
                what: "the time between events that are not done",
            }),
        }
    }
}

struct VirtualRead(vgpu::Completion);

impl BackRead for VirtualRead {
    fn is_done(&self) -> Result<bool, Error> {
        Ok(self.0.is_done())
    }

    fn wait(self: Box<Self>, into: &mut [u8]) -> Result<(), Error> {
        into.copy_from_slice(&self.0.wait()?);
        Ok(())
    }
}

macro_rules! opaque {
    ($($name:ident),*) => {$(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}

opaque!(
    VirtualGpu,
    VirtualQueue,
    VirtualEvent,
    VirtualRead,
    VirtualWords
);
