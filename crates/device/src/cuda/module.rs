//! PTX to code, and code on a card.

use super::{
    Shared,
    api::{Context, Dead, Function, RawModule},
    disk,
};
use crate::{error::Error, loaded};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};
use warpsmith_ptx::{ir::FunctionKind, verify::Verified};

/// The code for a module: from disk, or from the driver's compiler.
pub(super) fn compile(
    context: &Context,
    module: &Verified,
    folder: Option<&Path>,
    stamp: &str,
) -> Result<Vec<u8>, Error> {
    let text = module.text();
    if let Some(code) = folder.and_then(|folder| disk::find(folder, stamp, &text)) {
        return Ok(code);
    }
    let entry = module
        .functions
        .iter()
        .find(|function| function.kind == FunctionKind::Entry);
    let code = context.link(
        &text,
        entry.map_or("a module without entries", |entry| &*entry.name),
    )?;
    if let Some(folder) = folder {
        // A folder that cannot be written costs time at the next start, nothing else.
        drop(disk::keep(folder, stamp, &text, &code));
    }
    Ok(code)
}

/// A module on a card.
#[derive(Debug)]
pub(super) struct CudaModule {
    raw: RawModule,
    shared: Arc<Shared>,
    verified: Verified,
}

impl CudaModule {
    pub(super) fn new(
        shared: &Arc<Shared>,
        verified: &Verified,
        code: &[u8],
    ) -> Result<CudaModule, Error> {
        Ok(CudaModule {
            raw: shared.context.load(code)?,
            shared: shared.clone(),
            verified: verified.clone(),
        })
    }
}

impl Drop for CudaModule {
    fn drop(&mut self) {
        let dead = Dead::module(self.shared.context.clone(), self.raw);
        self.shared.graveyard.bury(dead);
    }
}

/// Shared memory that a kernel may use without asking (CUDA C++ programming guide, "Shared memory").
const WITHOUT_ASKING: u32 = 48 << 10;

/// An entry on a card.
#[derive(Debug)]
pub(super) struct CudaKernel {
    pub(super) function: Function,
    pub(super) offsets: Vec<usize>,
    module: Arc<CudaModule>,
    /// Bytes of dynamic shared memory allowed so far.
    allowed: AtomicU32,
}

impl CudaKernel {
    pub(super) fn new(module: &Arc<CudaModule>, name: &str) -> Result<CudaKernel, Error> {
        let context = &module.shared.context;
        let function = context.function(module.raw, name)?;
        let entries = &module.verified.functions;
        let params = match entries.iter().find(|entry| &*entry.name == name) {
            Some(entry) => loaded::layout(entry)?.0,
            None => Vec::new(),
        };
        Ok(CudaKernel {
            offsets: params.iter().map(|param| param.offset).collect(),
            allowed: AtomicU32::new(
                WITHOUT_ASKING.saturating_sub(context.static_shared(function)?),
            ),
            function,
            module: module.clone(),
        })
    }

    /// Makes launches with this much dynamic shared memory possible.
    pub(super) fn allow(&self, dynamic_shared: u32) -> Result<(), Error> {
        if dynamic_shared > self.allowed.load(Relaxed) {
            self.module
                .shared
                .context
                .allow_shared(self.function, dynamic_shared)?;
            self.allowed.fetch_max(dynamic_shared, Relaxed);
        }
        Ok(())
    }
}
