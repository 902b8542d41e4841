//! A card's context: its memory in figures, its compiler, its modules.

use super::{Attribute, check, is};
use crate::{back::MemoryInfo, cuda::probe::Driver, error::Error};
use cudarc::driver::sys::{self, CUresult};
use std::{
    ffi::{CString, c_int, c_void},
    ptr,
};

any_thread!(Context, RawModule, Function);

/// A card's primary context, retained.
#[derive(Debug)]
pub(in crate::cuda) struct Context {
    device: sys::CUdevice,
    raw: sys::CUcontext,
    /// Where stream-ordered memory comes from; `None` where the card has no such thing.
    pub(super) pool: Option<sys::CUmemoryPool>,
}

/// A loaded module; unloaded by [`Dead`](super::Dead).
#[derive(Clone, Copy, Debug)]
pub(in crate::cuda) struct RawModule(pub(super) sys::CUmodule);

/// An entry of a module.
#[derive(Clone, Copy, Debug)]
pub(in crate::cuda) struct Function(pub(super) sys::CUfunction);

impl Context {
    pub(in crate::cuda) fn new(driver: Driver, index: usize) -> Result<Context, Error> {
        let device = driver.device(index)?;
        let pools = driver.attribute(index, Attribute::MemoryPools)? != 0;
        let mut raw = ptr::null_mut();
        call!(cuDevicePrimaryCtxRetain(&mut raw, device))?;
        let mut context = Context {
            device,
            raw,
            pool: None,
        };
        context.bind()?;
        if pools {
            let mut pool = ptr::null_mut();
            call!(cuDeviceGetDefaultMemPool(&mut pool, device))?;
            let mut keep = u64::MAX;
            let value = (&raw mut keep).cast::<c_void>();
            let threshold = sys::CUmemPool_attribute_enum::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            call!(cuMemPoolSetAttribute(pool, threshold, value))?;
            context.pool = Some(pool);
        }
        Ok(context)
    }

    pub(in crate::cuda) fn has_pool(&self) -> bool {
        self.pool.is_some()
    }

    pub(super) fn bind(&self) -> Result<(), Error> {
        call!(cuCtxSetCurrent(self.raw))
    }

    /// Free and total memory; what the pool holds and nobody uses is free.
    pub(in crate::cuda) fn memory(&self) -> Result<MemoryInfo, Error> {
        use sys::CUmemPool_attribute_enum as A;
        self.bind()?;
        let (mut free, mut total) = (0usize, 0usize);
        call!(cuMemGetInfo_v2(&mut free, &mut total))?;
        let mut unused = 0u64;
        if let Some(pool) = self.pool {
            let (mut reserved, mut used) = (0u64, 0u64);
            let value = (&raw mut reserved).cast::<c_void>();
            call!(cuMemPoolGetAttribute(
                pool,
                A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                value
            ))?;
            let value = (&raw mut used).cast::<c_void>();
            call!(cuMemPoolGetAttribute(
                pool,
                A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
                value
            ))?;
            unused = reserved.saturating_sub(used);
        }
        Ok(MemoryInfo {
            free: free as u64 + unused,
            total: total as u64,
        })
    }

    /// Compiles PTX to code for this card.
    pub(in crate::cuda) fn link(&self, text: &str, name: &str) -> Result<Vec<u8>, Error> {
        use sys::CUjitInputType_enum as I;
        self.bind()?;
        let text = CString::new(text).map_err(|_| Error::Unsupported {
            what: "PTX with a zero byte",
        })?;
        let mut log = Log::new();
        // The linker keeps pointers to both until it is destroyed, at the end of this function.
        let (mut options, mut values) = log.options();
        let mut state = ptr::null_mut();
        call!(cuLinkCreate_v2(
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
            &mut state
        ))
        .map_err(|error| log.explain(error, name))?;
        let linked = (|| {
            let data = text.as_ptr().cast_mut().cast::<c_void>();
            let len = text.as_bytes_with_nul().len();
            let (none, nothing) = (ptr::null_mut(), ptr::null_mut());
            call!(cuLinkAddData_v2(
                state,
                I::CU_JIT_INPUT_PTX,
                data,
                len,
                ptr::null(),
                0,
                none,
                nothing
            ))?;
            let (mut code, mut len) = (ptr::null_mut(), 0usize);
            call!(cuLinkComplete(state, &mut code, &mut len))?;
            // SAFETY: on success the driver has stored `len` bytes at `code`; they are its own until `cuLinkDestroy`.
            Ok(unsafe { std::slice::from_raw_parts(code.cast::<u8>(), len) }.to_vec())
        })();
        let destroyed = call!(cuLinkDestroy(state));
        let code = linked.map_err(|error| log.explain(error, name))?;
        destroyed.map(|()| code)
    }

    pub(in crate::cuda) fn load(&self, code: &[u8]) -> Result<RawModule, Error> {
        self.bind()?;
        let mut module = ptr::null_mut();
        call!(cuModuleLoadData(&mut module, code.as_ptr().cast()))?;
        Ok(RawModule(module))
    }

    /// Compiles PTX and loads it in one step. The driver then chooses the code's architecture by the text alone, which
    /// serves where its linker does not take an architecture-specific target.
    pub(in crate::cuda) fn load_text(&self, text: &str, name: &str) -> Result<RawModule, Error> {
        self.bind()?;
        let text = CString::new(text).map_err(|_| Error::Unsupported {
            what: "PTX with a zero byte",
        })?;
        let mut log = Log::new();
        let (mut options, mut values) = log.options();
        let mut module = ptr::null_mut();
        call!(cuModuleLoadDataEx(
            &mut module,
            text.as_ptr().cast(),
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr()
        ))
        .map_err(|error| log.explain(error, name))?;
        Ok(RawModule(module))
    }

    pub(in crate::cuda) fn function(
        &self,
        module: RawModule,
        name: &str,
    ) -> Result<Function, Error> {
        self.bind()?;
        let missing = || Error::NoEntry {
            name: name.to_owned(),
            found: Vec::new(),
        };
        let name = CString::new(name).map_err(|_| missing())?;
        let mut function = ptr::null_mut();
        match call!(cuModuleGetFunction(&mut function, module.0, name.as_ptr())) {
            Ok(()) => Ok(Function(function)),
            Err(error) if is(&error, CUresult::CUDA_ERROR_NOT_FOUND) => Err(missing()),
            Err(error) => Err(error),
        }
    }

    /// Bytes of static shared memory of an entry.
    pub(in crate::cuda) fn static_shared(&self, function: Function) -> Result<u32, Error> {
        let which = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
        self.bind()?;
        let mut bytes = 0;
        call!(cuFuncGetAttribute(&mut bytes, which, function.0))?;
        Ok(bytes.max(0) as u32)
    }

    pub(in crate::cuda) fn allow_shared(
        &self,
        function: Function,
        bytes: u32,
    ) -> Result<(), Error> {
        let which = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        self.bind()?;
        call!(cuFuncSetAttribute(
            function.0,
            which,
            bytes.min(i32::MAX as u32) as c_int
        ))
    }

    /// CTAs that run at the same time on one multiprocessor.
    pub(in crate::cuda) fn occupancy(
        &self,
        function: Function,
        threads: u32,
        dynamic_shared: u32,
    ) -> Result<u32, Error> {
        self.bind()?;
        let mut blocks = 0;
        let threads = threads.min(1 << 20) as c_int;
        let shared = dynamic_shared as usize;
        call!(cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &mut blocks,
            function.0,
            threads,
            shared
        ))?;
        Ok(blocks.max(0) as u32)
    }

    pub(super) fn out_of_memory(&self, error: Error, needed: u64) -> Error {
        if !is(&error, CUresult::CUDA_ERROR_OUT_OF_MEMORY) {
            return error;
        }
        match self.memory() {
            Ok(MemoryInfo { free, .. }) => Error::OutOfMemory { needed, free },
            Err(lost) => lost,
        }
    }
}

/// What the driver's compiler says where it refuses; it writes while it runs.
struct Log(Vec<u8>);

impl Log {
    fn new() -> Log {
        Log(vec![0; 16 << 10])
    }

    /// Options with which the compiler writes here; the last byte stays zero.
    fn options(&mut self) -> ([sys::CUjit_option; 2], [*mut c_void; 2]) {
        use sys::CUjit_option_enum as O;
        (
            [
                O::CU_JIT_ERROR_LOG_BUFFER,
                O::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            ],
            [
                self.0.as_mut_ptr().cast(),
                ptr::without_provenance_mut(self.0.len() - 1),
            ],
        )
    }

    fn explain(&self, error: Error, module: &str) -> Error {
        match error {
            Error::Cuda { code, name, .. } => Error::Jit {
                module: module.to_owned(),
                code,
                name,
                log: String::from_utf8_lossy(&self.0)
                    .trim_end_matches('\0')
                    .trim_end()
                    .to_owned(),
            },
            other => other,
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A card that is lost cannot be released better.
        drop(call!(cuDevicePrimaryCtxRelease_v2(self.device)));
    }
}
