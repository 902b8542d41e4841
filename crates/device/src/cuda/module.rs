//! PTX to code, and code on a card.

use super::{
    Shared,
    api::{Context, Dead, Function, RawModule},
    disk,
};
use crate::{entry, error::Error};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};
use warpsmith_ptx::{ir::FunctionKind, verify::Verified};

/// A module ready for use: its code from disk, or from the driver's compiler.
pub(super) fn load(
    context: &Context,
    module: &Verified,
    folder: Option<&Path>,
    stamp: &str,
) -> Result<RawModule, Error> {
    let text = module.text();
    if let Some(code) = folder.and_then(|folder| disk::find(folder, stamp, &text))
        && let Ok(raw) = context.load(&code)
    {
        return Ok(raw);
    }
    let entry = module
        .functions
        .iter()
        .find(|function| function.kind == FunctionKind::Entry);
    let name = entry.map_or("a module without entries", |entry| &*entry.name);
    let linked = context
        .link(&text, name)
        .and_then(|code| Ok((context.load(&code)?, code)));
    match linked {
        Ok((raw, code)) => {
            if let Some(folder) = folder {
                // A folder that cannot be written costs time at the next start, nothing else.
                drop(disk::keep(folder, stamp, &text, &code));
            }
            Ok(raw)
        }
        Err(_linker_refused) => context.load_text(&text, name),
    }
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
        folder: Option<&Path>,
        stamp: &str,
    ) -> Result<CudaModule, Error> {
        Ok(CudaModule {
            raw: load(&shared.context, verified, folder, stamp)?,
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
            Some(entry) => entry::layout(entry)?.0,
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
