//! Modules on a device, and their entries ready to launch.

use crate::{back::Handle, device::Device, error::Error, rewrite::rewritten};
use std::sync::Arc;
use warpsmith_kernel::{Kernel, Options, build};
use warpsmith_ptx::{
    ir::{Directive, Function, FunctionKind},
    verify::Verified,
};

/// A module on a device.
#[derive(Clone)]
pub struct Module {
    device: Device,
    verified: Verified,
    handle: Handle,
}

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

impl Module {
    pub(crate) fn load(device: &Device, module: &Verified) -> Result<Module, Error> {
        let module = rewritten(module, device.0.settings.rewrite.as_ref())?;
        let info = &device.0.info;
        if !module.target.runs_on(info.target) {
            return Err(Error::WrongTarget {
                module: module.target,
                device: info.target,
            });
        }
        if module.version > info.max_ptx {
            return Err(Error::PtxTooNew {
                needed: module.version,
                driver_takes: info.max_ptx,
            });
        }
        Ok(Module {
            handle: device.0.back.load(&module)?,
            device: device.clone(),
            verified: module.into_owned(),
        })
    }

    fn entries(&self) -> impl Iterator<Item = &Function> {
        self.verified
            .functions
            .iter()
            .filter(|function| function.kind == FunctionKind::Entry)
    }

    /// The names of its entries.
    pub fn names(&self) -> Vec<String> {
        self.entries()
            .map(|function| function.name.to_string())
            .collect()
    }

    /// An entry by name.
    ///
    /// # Errors
    /// [`Error::NoEntry`] with the names there are.
    pub fn entry(&self, name: &str) -> Result<Loaded, Error> {
        self.ready(name, 0)
    }

    fn ready(&self, name: &str, dynamic_shared: u32) -> Result<Loaded, Error> {
        let function = self
            .entries()
            .find(|function| &*function.name == name)
            .ok_or_else(|| Error::NoEntry {
                name: name.to_owned(),
                found: self.names(),
            })?;
        let (params, param_bytes) = layout(function)?;
        let block = function
            .directives
            .iter()
            .find_map(|directive| match directive {
                Directive::ReqNtid(block) => Some(*block),
                Directive::MaxNtid(_)
                | Directive::MinNctaPerSm(_)
                | Directive::MaxNreg(_)
                | Directive::NoReturn
                | Directive::Pragma(_)
                | Directive::Other(..) => None,
            });
        Ok(Loaded(Arc::new(LoadedInner {
            device: self.device.0.id,
            name: name.into(),
            params,
            param_bytes,
            block,
            dynamic_shared,
            kernel: self.device.0.back.kernel(&self.handle, name)?,
        })))
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

impl Loaded {
    pub(crate) fn build<K: Kernel>(
        device: &Device,
        kernel: &K,
        options: Options,
    ) -> Result<Loaded, Error> {
        let built = build(kernel, device.0.info.target, options)?;
        Module::load(device, &built.module)?.ready(&built.entry, built.dynamic_shared)
    }

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

impl Device {
    /// CTAs of this kernel that run at the same time on the whole device: the most that a cooperative launch may have.
    ///
    /// # Errors
    /// [`Error::WrongDevice`].
    pub fn resident_ctas(
        &self,
        kernel: &Loaded,
        threads: u32,
        dynamic_shared: u32,
    ) -> Result<u64, Error> {
        if kernel.0.device != self.0.id {
            return Err(Error::WrongDevice {
                what: format!("kernel `{}`", kernel.name()),
            });
        }
        self.0
            .back
            .resident(&kernel.0.kernel, threads, dynamic_shared)
    }
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module")
            .field("entries", &self.names())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for LoadedInner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
