//! Modules on a device, and their entries ready to launch.

use crate::{
    back::Handle,
    device::Device,
    entry::{Loaded, LoadedInner, layout},
    error::Error,
    rewrite::rewritten,
};
use std::sync::Arc;
use warpsmith_kernel::{Kernel, Options, build};
use warpsmith_ptx::{
    ir::{Directive, Function, FunctionKind},
    verify::Verified,
};

/// A module on a device.
///
/// ```
/// use warpsmith_device::{Bound, Device, Grid, Selector};
/// use warpsmith_ptx::{parse::parse, verify::verify};
///
/// let text = "
/// .version 7.0
/// .target sm_70
/// .address_size 64
/// .visible .entry seven(.param .u64 y) {
///     .reg .b32 %r1; .reg .b64 %rd1;
///     ld.param.u64 %rd1, [y];
///     mov.u32 %r1, 7;
///     st.global.u32 [%rd1], %r1;
///     ret;
/// }";
/// let module = verify(parse(text).expect("PTX")).expect("right PTX");
/// let device = Device::open(&Selector::virtual_gpu())?;
/// let seven = device.load(&module)?.entry("seven")?;
/// assert_eq!((seven.params()[0].name.as_str(), seven.param_bytes()), ("y", 8));
/// # Ok::<(), warpsmith_device::Error>(())
/// ```
#[derive(Clone)]
pub struct Module {
    device: Device,
    verified: Verified,
    handle: Handle,
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

impl Loaded {
    pub(crate) fn build<K: Kernel>(
        device: &Device,
        kernel: &K,
        options: Options,
    ) -> Result<Loaded, Error> {
        let built = build(kernel, device.0.info.target, options)?;
        Module::load(device, &built.module)?.ready(&built.entry, built.dynamic_shared)
    }
}

impl Device {
    /// Loads a module.
    ///
    /// # Errors
    /// [`Error::PtxTooNew`], [`Error::WrongTarget`], [`Error::Jit`] with the log, or what the virtual GPU does not do.
    pub fn load(&self, module: &Verified) -> Result<Module, Error> {
        Module::load(self, module)
    }

    /// The kernel, built and loaded; from the cache if it is there.
    ///
    /// # Errors
    /// [`Error::Build`], and those of [`Device::load`].
    pub fn loaded<K: Kernel>(&self, kernel: &K, options: Options) -> Result<Loaded, Error> {
        let build = || Loaded::build(self, kernel, options);
        self.0.cache.find(kernel, options, build)
    }

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
