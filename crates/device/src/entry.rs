//! Entries of modules, ready to launch.

use crate::{back::Handle, error::Error};
use std::sync::Arc;
use warpsmith_ptx::ir::Function;

/// An entry of a module on a device, ready to launch. It keeps its module loaded.
#[derive(Clone, Debug)]
pub struct Loaded(pub(crate) Arc<LoadedInner>);

pub(crate) struct LoadedInner {
    pub(crate) device: u64,
    pub(crate) name: Arc<str>,
    pub(crate) params: Vec<Param>,
    pub(crate) param_bytes: usize,
    pub(crate) block: Option<[u32; 3]>,
    pub(crate) dynamic_shared: u32,
    pub(crate) kernel: Handle,
}

/// A parameter of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Offset in bytes.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
}

impl Loaded {
    /// The entry's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Its parameters in order.
    pub fn params(&self) -> &[Param] {
        &self.0.params
    }

    /// Bytes of its parameters together.
    pub fn param_bytes(&self) -> usize {
        self.0.param_bytes
    }

    /// The CTA that it requires, if it does.
    pub fn block(&self) -> Option<[u32; 3]> {
        self.0.block
    }

    /// Bytes of dynamic shared memory that it was built for.
    pub fn dynamic_shared(&self) -> u32 {
        self.0.dynamic_shared
    }
}

/// Offsets and size of the parameters: each at a multiple of its alignment (PTX ISA, "Kernel function parameters").
pub(crate) fn layout(function: &Function) -> Result<(Vec<Param>, usize), Error> {
    let too_large = Error::Unsupported {
        what: "more than 32764 bytes of parameters",
    };
    let mut end = 0u64;
    let mut params = Vec::with_capacity(function.params.len());
    for var in &function.params {
        let size = var
            .bytes()
            .filter(|size| *size <= 32764)
            .ok_or_else(|| too_large.clone())?;
        let natural = u64::from(var.ty.bytes()) * u64::from(var.vector);
        let align = var.align.map_or(natural, u64::from).max(1);
        let offset = end.next_multiple_of(align);
        end = offset + size;
        params.push(Param {
            name: var.name.to_string(),
            offset: offset as usize,
            size: size as usize,
        });
    }
    if end > 32764 {
        Err(too_large)
    } else {
        Ok((params, end as usize))
    }
}

impl std::fmt::Debug for LoadedInner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
