//! Launches: arguments checked and packed, then through the one function that enqueues.

use crate::{
    arguments::Arguments,
    back::{BackLaunch, Placement},
    buffer::{Slice, SliceMut, Use},
    entry::Loaded,
    error::Error,
    queue::Touch,
    stats::count,
    stream::Stream,
    work::Work,
};
use smallvec::SmallVec;
use std::{any::Any, marker::PhantomData, sync::Arc};
use warpsmith_kernel::{
    Elem, Kernel, LaunchError, Options, Shapes,
    args::{HostBuffer, HostMode, Mode, ScalarArg, Signature},
};

/// The argument mode of this crate: fields are [`Slice`]s, [`SliceMut`]s and numbers.
#[derive(Debug)]
pub struct Bound<'a>(PhantomData<&'a ()>);

impl<'a> Mode for Bound<'a> {
    type In<T: Elem> = Slice<'a, T>;
    type Maybe<T: Elem> = Option<Slice<'a, T>>;
    type Out<T: Elem> = SliceMut<'a, T>;
    type InOut<T: Elem> = SliceMut<'a, T>;
    type Scalar<T: ScalarArg> = T;
}

impl HostMode for Bound<'_> {
    fn input<T: Elem>(field: &Self::In<T>) -> &dyn HostBuffer {
        field
    }

    fn maybe<T: Elem>(field: &Self::Maybe<T>) -> Option<&dyn HostBuffer> {
        field.as_ref().map(|field| field as &dyn HostBuffer)
    }

    fn output<T: Elem>(field: &Self::Out<T>) -> &dyn HostBuffer {
        field
    }

    fn inout<T: Elem>(field: &Self::InOut<T>) -> &dyn HostBuffer {
        field
    }

    fn scalar<T: ScalarArg>(field: &T) -> T {
        *field
    }
}

/// The most CTAs of a one-dimensional grid (CUDA C++ programming guide, "Compute capabilities").
const MAX_GRID: u64 = (1 << 31) - 1;

impl Stream {
    /// Enqueues a kernel; never waits. It is built at its first launch on this device and found after that. Each array
    /// is checked against its shape. An empty grid does nothing.
    ///
    /// # Errors
    /// [`Error::Launch`] for wrong shapes and scalars, [`Error::WrongDevice`], those of
    /// [`Device::loaded`](crate::Device::loaded).
    pub fn launch<K>(
        &self,
        kernel: &K,
        args: &<K::Args as Signature>::On<Bound<'_>>,
    ) -> Result<(), Error>
    where
        K: Kernel,
        K::Args: Signature<On<Shapes> = K::Args>,
    {
        self.launch_in::<K, Bound<'_>>(kernel, args)
    }

    /// [`Stream::launch`] with arguments of another mode than [`Bound`].
    ///
    /// # Errors
    /// Those of [`Stream::launch`].
    pub fn launch_in<K, M>(
        &self,
        kernel: &K,
        args: &<K::Args as Signature>::On<M>,
    ) -> Result<(), Error>
    where
        K: Kernel,
        K::Args: Signature<On<Shapes> = K::Args>,
        M: HostMode,
    {
        let arguments = Arguments::check(
            || kernel.name(),
            |visitor| K::Args::visit::<M>(args, visitor),
        )?;
        let ctas = kernel.grid(&K::Args::shapes::<M>(args))?;
        if ctas > MAX_GRID {
            let kernel = kernel.name();
            return Err(LaunchError::Grid { kernel, ctas }.into());
        }
        if ctas == 0 {
            return Ok(());
        }
        let loaded = self.device().loaded(kernel, Options::default())?;
        let block = loaded.0.block.unwrap_or([kernel.threads(), 1, 1]);
        let launch = BackLaunch {
            kernel: &loaded.0.kernel,
            grid: [ctas as u32, 1, 1],
            block,
            dynamic_shared: loaded.0.dynamic_shared,
            params: arguments.params,
            placement: Placement::Independent,
        };
        let uses: SmallVec<[_; 8]> = arguments
            .uses
            .iter()
            .map(|(memory, touch)| (memory, *touch))
            .collect();
        self.enqueue(&loaded, launch, &uses)
    }

    /// Enqueues an entry of any module; never waits. `params` are the bytes of its parameters as [`Loaded::params`] lays
    /// them out; `uses` names the memory behind the addresses among them, for the order with other streams.
    ///
    /// # Errors
    /// [`Error::Params`], [`Error::WrongDevice`], and sizes that the device does not take.
    pub fn launch_built(
        &self,
        kernel: &Loaded,
        grid: Grid,
        params: &[u8],
        uses: &[Use<'_>],
    ) -> Result<(), Error> {
        if kernel.0.device != self.device().0.id {
            return Err(Error::WrongDevice {
                what: format!("kernel `{}`", kernel.name()),
            });
        }
        if params.len() != kernel.0.param_bytes {
            return Err(Error::Params {
                kernel: kernel.name().to_owned(),
                want: kernel.0.param_bytes,
                got: params.len(),
            });
        }
        if grid.ctas.contains(&0) {
            return Ok(());
        }
        let launch = BackLaunch {
            kernel: &kernel.0.kernel,
            grid: grid.ctas,
            block: grid.block,
            dynamic_shared: grid.dynamic_shared,
            params: params.to_vec(),
            placement: grid.placement,
        };
        let uses: SmallVec<[_; 8]> = uses
            .iter()
            .map(|used| (used.allocation, used.touch))
            .collect();
        self.enqueue(kernel, launch, &uses)
    }

    /// The one function that enqueues a kernel, and counts it.
    fn enqueue(
        &self,
        kernel: &Loaded,
        launch: BackLaunch<'_>,
        uses: &[(&Arc<dyn Any + Send + Sync>, Touch)],
    ) -> Result<(), Error> {
        let counters = &self.device().0.counters;
        let work = Work::Kernel {
            name: kernel.0.name.clone(),
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: launch.dynamic_shared,
        };
        tracing::trace!(kernel = %kernel.0.name, grid = ?launch.grid, block = ?launch.block, "launch");
        self.ordered(uses, work, |state| {
            self.queue().back.launch(launch)?;
            match &mut state.capture {
                Some(capture) => {
                    capture.kernels.push(kernel.0.kernel.clone());
                    capture.launches += 1;
                }
                None => {
                    state.remember(&kernel.0.name);
                    count(counters, |c| &c.launches, 1);
                    count(counters, |c| &c.enqueues, 1);
                }
            }
            Ok(())
        })
        .map_err(|error| self.queue().blame(error))
    }
}

/// The sizes of a raw launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// CTAs.
    pub ctas: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Whether CTAs may wait for each other.
    pub placement: Placement,
}

impl Grid {
    /// `ctas` independent CTAs of `threads` threads in a row.
    pub fn linear(ctas: u32, threads: u32) -> Grid {
        Grid {
            ctas: [ctas, 1, 1],
            block: [threads, 1, 1],
            dynamic_shared: 0,
            placement: Placement::Independent,
        }
    }
}
