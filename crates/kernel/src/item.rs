//! Work items: bodies of kernels inside a larger kernel that decides which tile runs when.

use crate::{
    ahead::Ahead,
    args::{InKernel, Parameters, Signature},
    build::with,
    kernel::{BuildError, Built, Inputs, Kernel, Options, build_body},
    scope::Cta,
    uni,
    val::Val,
};
use std::{any::Any, fmt};
use warpsmith_ptx::target::Target;

/// The body of some kernel, to be run as work items.
pub trait Body: fmt::Debug + Send + Sync {
    /// Whether `other` is the same kernel with the same specialisation.
    fn is(&self, other: &dyn Body) -> bool;
    /// The kernel itself.
    fn kernel(&self) -> &dyn Any;
    /// Refuses targets that lack what the body needs.
    ///
    /// # Errors
    /// [`BuildError::Unsupported`].
    fn supports(&self, target: Target) -> Result<(), BuildError>;
    /// [`Kernel::pieces_ahead`].
    fn pieces_ahead(&self) -> u32;
    /// Reads the packed arguments at `address`, and records `run` with what there is to do for tiles: they share the
    /// arguments. With `ahead` each tile must be fetched before it is computed, by the same threads.
    fn record<'k>(
        &self,
        cta: &mut Cta<'k>,
        address: Val<'k, u64, uni::Cta>,
        ahead: Option<Ahead<'k>>,
        run: &mut dyn FnMut(&mut Cta<'k>, &mut dyn Work<'k>),
    );
}

/// What there is to do for tiles of an item.
pub trait Work<'k> {
    /// Begins to fetch what the tile reads first.
    fn fetch(&mut self, cta: &mut Cta<'k>, tile: Tile<'k>);
    /// Computes the tile.
    fn compute(&mut self, cta: &mut Cta<'k>, tile: Tile<'k>);
}

/// A tile of an item.
#[derive(Clone, Copy, Debug)]
pub struct Tile<'k> {
    /// Which.
    pub index: Val<'k, u32, uni::Cta>,
    /// How many there are.
    pub count: Val<'k, u32, uni::Cta>,
}

/// A kernel as a [`Body`].
pub struct Item<K>(pub K);

impl<K: Kernel> fmt::Debug for Item<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Item").field(&self.0.name()).finish()
    }
}

impl<K: Kernel> Body for Item<K> {
    fn is(&self, other: &dyn Body) -> bool {
        other.kernel().downcast_ref::<K>() == Some(&self.0)
    }

    fn kernel(&self) -> &dyn Any {
        &self.0
    }

    fn supports(&self, target: Target) -> Result<(), BuildError> {
        self.0.supports(target)
    }

    fn pieces_ahead(&self) -> u32 {
        self.0.pieces_ahead()
    }

    fn record<'k>(
        &self,
        cta: &mut Cta<'k>,
        address: Val<'k, u64, uni::Cta>,
        ahead: Option<Ahead<'k>>,
        run: &mut dyn FnMut(&mut Cta<'k>, &mut dyn Work<'k>),
    ) {
        let kernel = &self.0;
        let ahead = ahead.filter(|_| kernel.pieces_ahead() > 0);
        // Loads of the arguments are recorded once and used by each tile.
        let args = K::Args::declare(&mut Parameters::packed(address));
        run(
            cta,
            &mut Recording {
                kernel,
                args,
                ahead,
            },
        );
    }
}

/// A kernel's work with its arguments.
struct Recording<'a, 'k, K: Kernel> {
    kernel: &'a K,
    args: <K::Args as Signature>::On<InKernel<'k>>,
    ahead: Option<Ahead<'k>>,
}

impl<'k, K: Kernel> Recording<'_, 'k, K> {
    fn scope(&self, Tile { index, count }: Tile<'k>) -> Cta<'k> {
        Cta::item([index, count], self.ahead)
    }
}

impl<'k, K: Kernel> Work<'k> for Recording<'_, 'k, K> {
    fn fetch(&mut self, _cta: &mut Cta<'k>, tile: Tile<'k>) {
        if self.ahead.is_some() {
            self.kernel.fetch(&mut self.scope(tile), &self.args);
        }
    }

    fn compute(&mut self, cta: &mut Cta<'k>, tile: Tile<'k>) {
        let mark = with(|b| b.shared_bytes);
        let args = K::Args::again(&self.args);
        self.kernel.body(&mut self.scope(tile), args);
        // The next tile writes the shared memory that slower warps may still read.
        if with(|b| b.shared_bytes) != mark {
            cta.barrier();
        }
    }
}

/// Runs `part`, whose shared memory is free again after it. A barrier stands before what comes next.
pub fn free_after<'k>(cta: &mut Cta<'k>, part: impl FnOnce(&mut Cta<'k>)) {
    let mark = with(|b| b.shared_bytes);
    part(cta);
    if with(|b| b.release_shared(mark)) {
        cta.barrier();
    }
}

/// Builds and verifies a kernel of CTAs of `threads` threads with the arguments `S` that `body` records. Inputs are read
/// by plain loads: the launch may write what its items read.
///
/// # Errors
/// If the verifier refuses.
pub fn build_items<S: Signature>(
    name: String,
    threads: u32,
    target: Target,
    body: impl for<'k> Fn(&mut Cta<'k>, S::On<InKernel<'k>>),
) -> Result<Built, BuildError> {
    let options = Options {
        inputs: Inputs::Coherent,
    };
    build_body(name, threads, target, options, || {
        let args = S::declare(&mut Parameters::default());
        body(&mut Cta::entry(), args);
    })
}
