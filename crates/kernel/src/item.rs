//! Work items: bodies of kernels inside a larger kernel that decides which tile runs when.

use crate::{
    args::{Parameters, Signature},
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
    /// The kernel's name.
    fn name(&self) -> String;
    /// Whether `other` is the same kernel with the same specialisation.
    fn is(&self, other: &dyn Body) -> bool;
    /// The kernel itself.
    fn kernel(&self) -> &dyn Any;
    /// Refuses targets that lack what the body needs.
    ///
    /// # Errors
    /// [`BuildError::Unsupported`].
    fn supports(&self, target: Target) -> Result<(), BuildError>;
    /// Reads the packed arguments at `address`, and records `run` with what computes one of its tiles; the tiles of an
    /// item share the arguments.
    fn record<'k>(
        &self,
        cta: &mut Cta<'k>,
        address: Val<'k, u64, uni::Cta>,
        run: &mut dyn FnMut(&mut Cta<'k>, &mut dyn FnMut(&mut Cta<'k>, Tile<'k>)),
    );
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
    fn name(&self) -> String {
        self.0.name()
    }

    fn is(&self, other: &dyn Body) -> bool {
        other.kernel().downcast_ref::<K>() == Some(&self.0)
    }

    fn kernel(&self) -> &dyn Any {
        &self.0
    }

    fn supports(&self, target: Target) -> Result<(), BuildError> {
        self.0.supports(target)
    }

    fn record<'k>(
        &self,
        cta: &mut Cta<'k>,
        address: Val<'k, u64, uni::Cta>,
        run: &mut dyn FnMut(&mut Cta<'k>, &mut dyn FnMut(&mut Cta<'k>, Tile<'k>)),
    ) {
        // Loads of the arguments are recorded once and used by each tile.
        let mut args = Some(K::Args::declare(&mut Parameters::packed(address)));
        run(cta, &mut |cta, tile| {
            let args = args.take().expect("an item's tiles are recorded once");
            let mark = with(|b| b.shared_bytes);
            let mut scope = Cta::entry(Some([tile.index, tile.count]));
            self.0.body(&mut scope, args);
            // The next tile writes the shared memory that slower warps may still read.
            if with(|b| b.shared_bytes) != mark {
                cta.barrier();
            }
        });
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
    body: impl for<'k> FnOnce(&mut Cta<'k>, S::On<crate::args::Device<'k>>),
) -> Result<Built, BuildError> {
    let options = Options {
        inputs: Inputs::Coherent,
    };
    build_body(name, threads, target, options, || {
        let args = S::declare(&mut Parameters::default());
        body(&mut Cta::entry(None), args);
    })
}
