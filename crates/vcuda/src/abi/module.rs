//! Modules, the linker, functions and their attributes.

use super::{
    launch::Config,
    raw::{Image, In, JitOptions, Out, Text},
};
use crate::{
    driver::{current, driver, usable},
    fatbin,
    link::unwrapped,
    module::{Function, Module, compile},
    status::Status,
    table::Handle,
};
use std::{
    ffi::{c_char, c_int, c_uint, c_void},
    sync::Arc,
};

fn load(out: Out<Handle>, ptx: &[u8], options: &JitOptions) -> Result<(), Status> {
    let out = out.wanted()?;
    let context = usable()?;
    let program = compile(context.core.settings, ptx, options)?;
    let module = Module::new(&context.core, &program).map_err(|error| {
        options.tell(&format!("error: {error}"));
        error
    })?;
    out.put(driver()?.modules.insert(Arc::new(module)))
}

/// The target of the cards.
fn sm() -> Result<u16, Status> {
    Ok(driver()?.settings.target.sm)
}

/// The PTX in a file: bare, in our wrapping, or in a fat binary.
pub(super) fn file(path: Text) -> Result<Vec<u8>, Status> {
    let bytes = std::fs::read(path.to_string()?).map_err(|_| Status::FileNotFound)?;
    if bytes.starts_with(&fatbin::MAGIC.to_le_bytes()) {
        return fatbin::ptx(&bytes, sm()?);
    }
    if bytes.starts_with(b"\x7fELF") {
        crate::report::lacks("a cubin, which is code for a card: this driver runs PTX");
        return Err(Status::NoBinaryForGpu);
    }
    Ok(unwrapped(&bytes).to_vec())
}

entries! {
    cuModuleLoadData(module: Out<Handle>, image: Image) {
        load(module, &image.ptx(sm()?)?, &JitOptions::NONE)
    }

    cuModuleLoadDataEx(module: Out<Handle>, image: Image, count: c_uint, options: In<u32>, values: Out<*mut c_void>) {
        load(module, &image.ptx(sm()?)?, &JitOptions::find(count, options, values)?)
    }

    cuModuleLoadFatBinary(module: Out<Handle>, image: Image) {
        load(module, &image.ptx(sm()?)?, &JitOptions::NONE)
    }

    cuModuleLoad(module: Out<Handle>, path: Text) {
        load(module, &file(path)?, &JitOptions::NONE)
    }

    cuModuleUnload(module: Handle) {
        let driver = driver()?;
        let context = current()?;
        let module = driver.modules.remove(module)?;
        driver.functions.forget(|function| Arc::ptr_eq(&function.module, &module));
        module.unload();
        context.core.well()
    }

    cuModuleGetFunction(function: Out<Handle>, module: Handle, name: Text) {
        let out = function.wanted()?;
        usable()?;
        let driver = driver()?;
        let module = driver.modules.find(module)?;
        let name = name.to_string()?;
        out.put(module.function_handle(&driver.functions, &name)?.1)
    }

    cuModuleGetFunctionCount(count: Out<c_uint>, module: Handle) {
        count.put(driver()?.modules.find(module)?.kernels().len() as c_uint)
    }

    cuModuleEnumerateFunctions(functions: Out<Handle>, count: c_uint, module: Handle) {
        let driver = driver()?;
        let module = driver.modules.find(module)?;
        let names = module.kernels();
        names.iter().take(count as usize).enumerate().try_for_each(|(at, name)| {
            functions.wanted()?.at(at).put(module.function_handle(&driver.functions, name)?.1)
        })
    }

    cuFuncIsLoaded(state: Out<c_int>, function: Handle) {
        driver()?.functions.find(function)?;
        state.put(1)
    }

    cuFuncLoad(function: Handle) {
        driver()?.functions.find(function).map(drop)
    }

    cuFuncSetSharedMemConfig(function: Handle, _config: c_int) {
        driver()?.functions.find(function).map(drop)
    }

    cuFuncGetParamCount(function: Handle, count: Out<usize>) {
        count.put(driver()?.functions.find(function)?.kernel.params().len())
    }

    cuOccupancyAvailableDynamicSMemPerBlock(bytes: Out<usize>, function: Handle, blocks: c_int, threads: c_int) {
        let function = crate::driver::function(function)?;
        let number = |n: c_int| u32::try_from(n).ok().filter(|n| *n > 0).ok_or(Status::InvalidValue);
        bytes.put(function.room(number(blocks)?, number(threads)?) as usize)
    }

    cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, module: Handle, name: Text) {
        usable()?;
        let module = driver()?.modules.find(module)?;
        let (at, len) = module.variable(&name.to_string()?).ok_or(Status::NotFound)?;
        address.put_if_wanted(at);
        bytes.put_if_wanted(len as usize);
        Ok(())
    }

    cuFuncGetAttribute(value: Out<c_int>, attribute: c_int, function: Handle) {
        usable()?;
        let function = crate::driver::function(function)?;
        value.put(function.attribute(attribute).ok_or(Status::InvalidValue)?)
    }

    cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int) {
        usable()?;
        crate::driver::function(function)?.set_attribute(attribute, value)
    }

    cuFuncSetCacheConfig(function: Handle, _config: c_int) {
        driver()?.functions.find(function).map(drop)
    }

    cuFuncGetModule(module: Out<Handle>, function: Handle) {
        let out = module.wanted()?;
        let driver = driver()?;
        let function = driver.functions.find(function)?;
        let handle = driver.modules.handle_of(&function.module).ok_or(Status::InvalidHandle)?;
        out.put(handle)
    }

    cuFuncGetParamInfo(function: Handle, index: usize, offset: Out<usize>, size: Out<usize>) {
        let function = driver()?.functions.find(function)?;
        let params = function.kernel.params();
        let param = params.get(index).ok_or(Status::InvalidValue)?;
        offset.put(param.offset as usize)?;
        size.put_if_wanted(param.size as usize);
        Ok(())
    }

    cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: Out<c_int>, function: Handle, threads: c_int, dynamic: usize) {
        blocks.put(resident(function, threads, dynamic)?)
    }

    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<c_int>,
        function: Handle,
        threads: c_int,
        dynamic: usize,
        _flags: c_uint,
    ) {
        blocks.put(resident(function, threads, dynamic)?)
    }

    /// Every card has clusters of eight.
    cuOccupancyMaxPotentialClusterSize(size: Out<c_int>, function: Handle, _config: In<Config>) {
        size.put(crate::driver::function(function)?.most_of_cluster() as c_int)
    }

    cuOccupancyMaxActiveClusters(count: Out<c_int>, function: Handle, config: In<Config>) {
        let config = config.value()?;
        let (threads, dynamic) = config.sizes();
        let blocks = resident(function, threads as c_int, dynamic as usize)?;
        let sms = usable()?.core.settings.sms as c_int;
        let each = config.cluster()?.map_or(1, |cluster| cluster.iter().product::<u32>().max(1));
        count.put(blocks * sms / each as c_int)
    }

    /// The block that fills a multiprocessor best, and the grid that fills the card with it.
    cuOccupancyMaxPotentialBlockSize(
        grid: Out<c_int>,
        block: Out<c_int>,
        function: Handle,
        dynamic_of: Option<extern "C" fn(c_int) -> usize>,
        dynamic: usize,
        limit: c_int,
    ) {
        usable()?;
        let function = crate::driver::function(function)?;
        let most = if limit > 0 { limit.min(1024) } else { 1024 };
        let shared = |threads| dynamic_of.map_or(dynamic, |of| of(threads)) as u64;
        let fit = |threads: c_int| function.occupancy(threads as u32, shared(threads)) as c_int;
        let sizes = (1..=32).rev().map(|warps| warps * 32).filter(|threads| *threads <= most);
        let best = sizes.reduce(|best, other| if fit(other) * other > fit(best) * best { other } else { best });
        let best = best.filter(|threads| fit(*threads) > 0).ok_or(Status::InvalidValue)?;
        block.put(best)?;
        grid.put(fit(best) * function.module.core.settings.sms as c_int)
    }

    cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<c_int>,
        block: Out<c_int>,
        function: Handle,
        dynamic_of: Option<extern "C" fn(c_int) -> usize>,
        dynamic: usize,
        limit: c_int,
        _flags: c_uint,
    ) {
        match cuOccupancyMaxPotentialBlockSize(grid, block, function, dynamic_of, dynamic, limit) {
            0 => Ok(()),
            code => Err(Status::of_code(code).unwrap_or(Status::Unknown)),
        }
    }

    cuFuncGetName(name: Out<*const c_char>, function: Handle) {
        let out = name.wanted()?;
        out.put(driver()?.functions.find(function)?.name.as_ptr())
    }
}

fn resident(function: Handle, threads: c_int, dynamic: usize) -> Result<c_int, Status> {
    usable()?;
    let function: Arc<Function> = crate::driver::function(function)?;
    let threads = u32::try_from(threads).map_err(|_| Status::InvalidValue)?;
    Ok(function.occupancy(threads, dynamic as u64) as c_int)
}
