//! A stream of a card as a queue.

use super::{
    Shared,
    api::{CudaEvent, CudaStream, Dead, Graph, Pinned, Shape},
    inside,
    module::CudaKernel,
    staging::PIECE,
};
use crate::{
    back::{BackEvent, BackLaunch, BackQueue, BackRead, Handle, Placement},
    error::Error,
};
use std::{any::Any, sync::Arc, time::Duration};

/// A stream of a card.
#[derive(Debug)]
pub(super) struct CudaQueue {
    stream: Arc<CudaStream>,
    shared: Arc<Shared>,
}

impl CudaQueue {
    pub(super) fn new(shared: &Arc<Shared>) -> Result<CudaQueue, Error> {
        let stream = Arc::new(CudaStream::new(&shared.context)?);
        shared.graveyard.knows(&stream);
        Ok(CudaQueue {
            stream,
            shared: shared.clone(),
        })
    }
}

impl BackQueue for CudaQueue {
    fn launch(&self, launch: BackLaunch<'_>) -> Result<(), Error> {
        let BackLaunch {
            kernel,
            grid,
            block,
            dynamic_shared,
            mut params,
            placement,
        } = launch;
        let kernel = inside::<CudaKernel>(kernel)?;
        kernel.allow(dynamic_shared)?;
        let shape = Shape {
            grid,
            block,
            dynamic_shared,
            cooperative: placement == Placement::Cooperative,
        };
        self.stream
            .launch(kernel.function, shape, &mut params, &kernel.offsets)
    }

    fn alloc(&self, bytes: u64) -> Result<u64, Error> {
        self.stream.alloc(bytes)
    }

    fn free(&self, address: u64) -> Result<(), Error> {
        if self.shared.context.has_pool() {
            self.stream.free(address)
        } else {
            let dead = Dead::memory(self.shared.context.clone(), address);
            self.shared
                .graveyard
                .bury_until(dead, Arc::new(self.stream.record()?));
            Ok(())
        }
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        for (at, piece) in bytes.chunks(PIECE).enumerate() {
            let mut pinned = self
                .shared
                .staging
                .take(&self.shared.context, piece.len())?;
            pinned.fill(piece);
            let copied = self
                .stream
                .upload(address + (at * PIECE) as u64, &pinned, piece.len());
            // Also where the copy was refused: some of it may be under way.
            let end = Arc::new(self.stream.record()?);
            self.shared.staging.give_back_after(pinned, end);
            copied?;
        }
        Ok(())
    }

    fn read(&self, address: u64, bytes: usize) -> Result<Box<dyn BackRead>, Error> {
        let mut pinned = self.shared.staging.take(&self.shared.context, bytes)?;
        let copied = self.stream.download(&mut pinned, address, bytes);
        let end = Arc::new(self.stream.record()?);
        let read = CudaRead {
            pinned: Some(pinned),
            bytes,
            end,
            shared: self.shared.clone(),
        };
        copied?;
        Ok(Box::new(read))
    }

    fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), Error> {
        self.stream.copy(to, from, bytes)
    }

    fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<(), Error> {
        self.stream.fill(address, byte, bytes)
    }

    fn record(&self) -> Result<Arc<dyn BackEvent>, Error> {
        Ok(Arc::new(self.stream.record()?))
    }

    fn wait(&self, event: &dyn BackEvent) -> Result<(), Error> {
        self.stream.wait(event_inside(event)?)
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.stream.synchronize()?;
        self.shared.graveyard.sweep();
        Ok(())
    }

    fn begin_capture(&self) -> Result<(), Error> {
        self.stream.begin_capture()
    }

    fn end_capture(&self) -> Result<Handle, Error> {
        Ok(Arc::new(self.stream.end_capture()?))
    }

    fn replay(&self, graph: &Handle) -> Result<(), Error> {
        self.stream.replay(inside::<Graph>(graph)?)
    }
}

fn event_inside(event: &dyn BackEvent) -> Result<&CudaEvent, Error> {
    let any: &dyn Any = event;
    any.downcast_ref().ok_or_else(|| Error::WrongDevice {
        what: "an event".into(),
    })
}

impl BackEvent for CudaEvent {
    fn is_done(&self) -> Result<bool, Error> {
        CudaEvent::is_done(self)
    }

    fn wait(&self) -> Result<(), Error> {
        self.wait_done()
    }

    fn since(&self, earlier: &dyn BackEvent) -> Result<Duration, Error> {
        self.elapsed(event_inside(earlier)?)
    }
}

/// A copy to page-locked memory.
#[derive(Debug)]
struct CudaRead {
    /// There until it was waited for.
    pinned: Option<Pinned>,
    bytes: usize,
    end: Arc<CudaEvent>,
    shared: Arc<Shared>,
}

impl BackRead for CudaRead {
    fn is_done(&self) -> Result<bool, Error> {
        self.end.is_done()
    }

    fn wait(mut self: Box<Self>, into: &mut [u8]) -> Result<(), Error> {
        self.end.wait_done()?;
        if let Some(pinned) = self.pinned.take() {
            into.copy_from_slice(&pinned.bytes()[..self.bytes]);
            self.shared.staging.give_back(pinned);
        }
        Ok(())
    }
}

impl Drop for CudaRead {
    fn drop(&mut self) {
        if let Some(pinned) = self.pinned.take() {
            self.shared
                .staging
                .give_back_after(pinned, self.end.clone());
        }
    }
}
