//! Steps: the launches of a plan, each ready to be enqueued or to become a part of a persistent kernel.

use crate::{error::Error, span::Planned};
use std::{any::Any, sync::Arc};
use warpsmith_device::{Arguments, Device, Stream, Touch};
use warpsmith_kernel::{
    Kernel, Options, Shapes,
    args::{Access, HostBuffer, Name, Signature, Visitor},
    item::{Body, Item},
};

/// One launch of a plan.
pub(crate) trait Step: Send + Sync {
    /// Has its kernel ready on the device.
    fn load(&self, device: &Device) -> Result<(), warpsmith_device::Error>;
    fn enqueue(&self, stream: &Stream) -> Result<(), warpsmith_device::Error>;
    /// The same work for CTAs of `threads` threads inside a larger kernel.
    fn part(&self, threads: u32) -> Result<TiledStep, Error>;
}

/// A kernel with its arguments.
pub(crate) struct Launch<K: Kernel> {
    pub(crate) kernel: K,
    pub(crate) args: <K::Args as Signature>::On<Planned>,
}

impl<K> Step for Launch<K>
where
    K: Kernel,
    K::Args: Signature<On<Shapes> = K::Args>,
    <K::Args as Signature>::On<Planned>: Send + Sync,
{
    fn load(&self, device: &Device) -> Result<(), warpsmith_device::Error> {
        device.loaded(&self.kernel, Options::default()).map(drop)
    }

    fn enqueue(&self, stream: &Stream) -> Result<(), warpsmith_device::Error> {
        stream.launch_in::<K, Planned>(&self.kernel, &self.args)
    }

    fn part(&self, threads: u32) -> Result<TiledStep, Error> {
        let kernel = self.kernel.resized(threads);
        let kernel = kernel.ok_or_else(|| Error::Resize {
            kernel: self.kernel.name(),
            threads,
        })?;
        let arguments = Arguments::check(
            || kernel.name(),
            |visitor| K::Args::visit::<Planned>(&self.args, visitor),
        )?;
        let mut touched = Touched::default();
        K::Args::visit::<Planned>(&self.args, &mut touched);
        Ok(TiledStep {
            tiles: kernel.grid(&K::Args::shapes::<Planned>(&self.args))?,
            arguments: arguments.bytes().to_vec(),
            touched,
            body: Arc::new(Item(kernel)),
        })
    }
}

/// A step of a plan as work items.
pub(crate) struct TiledStep {
    pub(crate) body: Arc<dyn Body>,
    pub(crate) tiles: u64,
    pub(crate) arguments: Vec<u8>,
    pub(crate) touched: Touched,
}

/// The memory that a step uses.
#[derive(Default)]
pub(crate) struct Touched {
    /// First byte, end, whether it is written.
    ranges: Vec<(u64, u64, bool)>,
    pub(crate) memory: Vec<(Arc<dyn Any + Send + Sync>, Touch)>,
}

impl Visitor for Touched {
    fn array(
        &mut self,
        _name: Name<'_>,
        access: Access,
        array: Option<&dyn HostBuffer>,
        _dims: &[u128],
    ) {
        let Some(array) = array else { return };
        let touch = Touch::from(access);
        let from = array.address();
        let to = from + array.len() as u64 * array.element_bytes() as u64;
        self.ranges.push((from, to, touch == Touch::Write));
        if let Some(memory) = array.allocation() {
            self.memory.push((Arc::clone(memory), touch));
        }
    }

    fn scalar(&mut self, _name: Name<'_>, _bytes: &[u8]) {}
}

impl Touched {
    /// Whether one of the two writes what the other uses.
    pub(crate) fn meets(&self, other: &Touched) -> bool {
        self.ranges.iter().any(|(from, to, writes)| {
            other
                .ranges
                .iter()
                .any(|(first, end, wrote)| (*writes || *wrote) && from < end && first < to)
        })
    }
}
