//! Streams, events and graphs.

use super::{Context, Function, Pinned, check, is};
use crate::error::Error;
use cudarc::driver::sys::{self, CUresult};
use smallvec::SmallVec;
use std::{
    ffi::c_void,
    ptr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

any_thread!(CudaStream, CudaEvent, Graph);

/// A point in a stream.
#[derive(Debug)]
pub(in crate::cuda) struct CudaEvent {
    context: Arc<Context>,
    raw: sys::CUevent,
}

impl CudaEvent {
    pub(in crate::cuda) fn is_done(&self) -> Result<bool, Error> {
        self.context.bind()?;
        match call!(cuEventQuery(self.raw)) {
            Ok(()) => Ok(true),
            Err(error) if is(&error, CUresult::CUDA_ERROR_NOT_READY) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(in crate::cuda) fn wait_done(&self) -> Result<(), Error> {
        self.context.bind()?;
        call!(cuEventSynchronize(self.raw))
    }

    pub(in crate::cuda) fn elapsed(&self, earlier: &CudaEvent) -> Result<Duration, Error> {
        self.context.bind()?;
        let mut milliseconds = 0.0f32;
        call!(cuEventElapsedTime(&mut milliseconds, earlier.raw, self.raw))?;
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default())
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        // It fails only where the card is lost.
        drop(
            self.context
                .bind()
                .and_then(|()| call!(cuEventDestroy_v2(self.raw))),
        );
    }
}

/// Captured work, ready to run.
#[derive(Debug)]
pub(in crate::cuda) struct Graph {
    context: Arc<Context>,
    raw: sys::CUgraphExec,
}

impl Drop for Graph {
    fn drop(&mut self) {
        // The driver lets a graph that runs run to its end. It fails only where the card is lost.
        drop(
            self.context
                .bind()
                .and_then(|()| call!(cuGraphExecDestroy(self.raw))),
        );
    }
}

/// The sizes of a launch.
#[derive(Clone, Copy, Debug)]
pub(in crate::cuda) struct Shape {
    pub(in crate::cuda) grid: [u32; 3],
    pub(in crate::cuda) block: [u32; 3],
    pub(in crate::cuda) dynamic_shared: u32,
    pub(in crate::cuda) cooperative: bool,
}

/// A stream of a card.
#[derive(Debug)]
pub(in crate::cuda) struct CudaStream {
    context: Arc<Context>,
    raw: sys::CUstream,
    /// Held while an event is recorded or a capture begins, so that no event falls into a capture.
    turn: Mutex<()>,
    capturing: AtomicBool,
}

impl CudaStream {
    pub(in crate::cuda) fn new(context: &Arc<Context>) -> Result<CudaStream, Error> {
        context.bind()?;
        let mut raw = ptr::null_mut();
        let independent = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
        call!(cuStreamCreate(&mut raw, independent))?;
        Ok(CudaStream {
            context: context.clone(),
            raw,
            turn: Mutex::new(()),
            capturing: AtomicBool::new(false),
        })
    }

    pub(in crate::cuda) fn launch(
        &self,
        function: Function,
        shape: Shape,
        params: &mut [u8],
        offsets: &[usize],
    ) -> Result<(), Error> {
        self.context.bind()?;
        // Each parameter starts inside `params`, whose length is that of the entry's layout.
        let mut pointers: SmallVec<[*mut c_void; 16]> = offsets
            .iter()
            .map(|offset| params[*offset..].as_mut_ptr().cast())
            .collect();
        let pointers = pointers.as_mut_ptr();
        let Shape {
            grid: [gx, gy, gz],
            block: [bx, by, bz],
            dynamic_shared,
            cooperative,
        } = shape;
        let (f, s) = (function.0, self.raw);
        if cooperative {
            call!(cuLaunchCooperativeKernel(
                f,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                dynamic_shared,
                s,
                pointers
            ))
        } else {
            call!(cuLaunchKernel(
                f,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                dynamic_shared,
                s,
                pointers,
                ptr::null_mut()
            ))
        }
    }

    /// Memory; the pool's unused memory goes back to the card before it is refused.
    pub(in crate::cuda) fn alloc(&self, bytes: u64) -> Result<u64, Error> {
        self.context.bind()?;
        let Some(pool) = self.context.pool else {
            let mut address = 0;
            let given = call!(cuMemAlloc_v2(&mut address, bytes as usize));
            return given
                .map(|()| address)
                .map_err(|error| self.context.out_of_memory(error, bytes));
        };
        let once = || {
            let mut address = 0;
            call!(cuMemAllocAsync(&mut address, bytes as usize, self.raw)).map(|()| address)
        };
        match once() {
            Err(error) if is(&error, CUresult::CUDA_ERROR_OUT_OF_MEMORY) => {
                call!(cuMemPoolTrimTo(pool, 0))?;
                once().map_err(|error| self.context.out_of_memory(error, bytes))
            }
            other => other,
        }
    }

    /// Gives memory of the pool back in the order of the stream.
    pub(in crate::cuda) fn free(&self, address: u64) -> Result<(), Error> {
        self.context.bind()?;
        call!(cuMemFreeAsync(address, self.raw))
    }

    pub(in crate::cuda) fn upload(
        &self,
        to: u64,
        from: &Pinned,
        bytes: usize,
    ) -> Result<(), Error> {
        assert!(
            bytes <= from.len,
            "staging gives pieces that are large enough"
        );
        self.context.bind()?;
        call!(cuMemcpyHtoDAsync_v2(
            to,
            from.data.cast::<c_void>().cast_const(),
            bytes,
            self.raw
        ))
    }

    pub(in crate::cuda) fn download(
        &self,
        to: &mut Pinned,
        from: u64,
        bytes: usize,
    ) -> Result<(), Error> {
        assert!(
            bytes <= to.len,
            "staging gives pieces that are large enough"
        );
        self.context.bind()?;
        call!(cuMemcpyDtoHAsync_v2(
            to.data.cast::<c_void>(),
            from,
            bytes,
            self.raw
        ))
    }

    pub(in crate::cuda) fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<(), Error> {
        self.context.bind()?;
        call!(cuMemcpyDtoDAsync_v2(to, from, bytes as usize, self.raw))
    }

    pub(in crate::cuda) fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<(), Error> {
        self.context.bind()?;
        call!(cuMemsetD8Async(address, byte, bytes as usize, self.raw))
    }

    pub(in crate::cuda) fn record(&self) -> Result<CudaEvent, Error> {
        self.context.bind()?;
        let mut raw = ptr::null_mut();
        call!(cuEventCreate(&mut raw, 0))?;
        let event = CudaEvent {
            context: self.context.clone(),
            raw,
        };
        call!(cuEventRecord(event.raw, self.raw))?;
        Ok(event)
    }

    /// An event after all work so far; `None` while the stream is captured, or where it takes none.
    pub(in crate::cuda) fn end(&self) -> Option<Arc<CudaEvent>> {
        let _turn = crate::lock::lock(&self.turn);
        if self.capturing.load(SeqCst) {
            return None;
        }
        self.record().ok().map(Arc::new)
    }

    pub(in crate::cuda) fn wait(&self, event: &CudaEvent) -> Result<(), Error> {
        self.context.bind()?;
        call!(cuStreamWaitEvent(self.raw, event.raw, 0))
    }

    pub(in crate::cuda) fn synchronize(&self) -> Result<(), Error> {
        self.context.bind()?;
        call!(cuStreamSynchronize(self.raw))
    }

    /// Relaxed: kernels may be loaded, and other threads may allocate, meanwhile.
    pub(in crate::cuda) fn begin_capture(&self) -> Result<(), Error> {
        let mode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_RELAXED;
        self.context.bind()?;
        let _turn = crate::lock::lock(&self.turn);
        call!(cuStreamBeginCapture_v2(self.raw, mode))?;
        self.capturing.store(true, SeqCst);
        Ok(())
    }

    pub(in crate::cuda) fn end_capture(&self) -> Result<Graph, Error> {
        self.context.bind()?;
        let mut graph = ptr::null_mut();
        let ended = call!(cuStreamEndCapture(self.raw, &mut graph));
        self.capturing.store(false, SeqCst);
        ended?;
        let mut raw = ptr::null_mut();
        let ready = call!(cuGraphInstantiateWithFlags(&mut raw, graph, 0));
        let destroyed = call!(cuGraphDestroy(graph));
        ready?;
        let graph = Graph {
            context: self.context.clone(),
            raw,
        };
        destroyed.map(|()| graph)
    }

    pub(in crate::cuda) fn replay(&self, graph: &Graph) -> Result<(), Error> {
        self.context.bind()?;
        call!(cuGraphLaunch(graph.raw, self.raw))
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        // Work on it still runs. It fails only where the card is lost.
        drop(
            self.context
                .bind()
                .and_then(|()| call!(cuStreamDestroy_v2(self.raw))),
        );
    }
}
