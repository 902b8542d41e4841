//! Modules, the linker, functions and their attributes.

use super::raw::{Image, In, JitOptions, Out, Text};
use crate::{
    context::{current, usable},
    driver::driver,
    module::{Function, Link, Module, compile},
    status::Status,
    table::{Handle, lock},
};
use std::{
    ffi::{c_char, c_int, c_uint, c_void},
    sync::Arc,
};

fn load(out: Out<Handle>, ptx: &[u8], options: &JitOptions) -> Result<(), Status> {
    let out = out.wanted()?;
    let context = usable()?;
    let verified = compile(context.core.settings, ptx, options)?;
    let module = Module::new(&context, verified).map_err(|error| {
        options.tell(&format!("error: {error}"));
        error
    })?;
    out.put(driver()?.modules.insert(Arc::new(module)))
}

entries! {
    cuModuleLoadData(module: Out<Handle>, image: Image) {
        load(module, &image.ptx()?, &JitOptions::NONE)
    }

    cuModuleLoadDataEx(module: Out<Handle>, image: Image, count: c_uint, options: In<u32>, values: Out<*mut c_void>) {
        load(module, &image.ptx()?, &JitOptions::find(count, options, values)?)
    }

    cuModuleLoadFatBinary(_module: Out<Handle>, _image: Image) {
        Err(Status::NoBinaryForGpu)
    }

    cuModuleLoad(module: Out<Handle>, path: Text) {
        let bytes = std::fs::read(path.to_string()?).map_err(|_| Status::FileNotFound)?;
        load(module, bytes.strip_suffix(b"\0").unwrap_or(&bytes), &JitOptions::NONE)
    }

    cuModuleUnload(module: Handle) {
        let driver = driver()?;
        let context = current()?;
        let module = driver.modules.remove(module)?;
        driver.functions.forget(|function| Arc::ptr_eq(&function.module, &module));
        module.unload(&context);
        context.core.well()
    }

    cuModuleGetFunction(function: Out<Handle>, module: Handle, name: Text) {
        let out = function.wanted()?;
        usable()?;
        let driver = driver()?;
        let module = driver.modules.find(module)?;
        let name = name.to_string()?;
        let mut handles = lock(&module.handles);
        if let Some(handle) = handles.get(&name) {
            return out.put(*handle);
        }
        let function = module.function(&name).ok_or(Status::NotFound)?;
        let handle = driver.functions.insert(Arc::new(function));
        handles.insert(name, handle);
        out.put(handle)
    }

    cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, module: Handle, name: Text) {
        usable()?;
        let module = driver()?.modules.find(module)?;
        let (at, len) = module.variable(&name.to_string()?).ok_or(Status::NotFound)?;
        address.put_if_wanted(at);
        bytes.put_if_wanted(len as usize);
        Ok(())
    }

    cuLinkCreate_v2(count: c_uint, options: In<u32>, values: Out<*mut c_void>, link: Out<Handle>) {
        let out = link.wanted()?;
        usable()?;
        let options = JitOptions::find(count, options, values)?;
        let state = std::sync::Mutex::default();
        out.put(driver()?.links.insert(Arc::new(Link { options, state })))
    }

    cuLinkAddData_v2(
        link: Handle,
        kind: c_int,
        data: Image,
        len: usize,
        _name: Text,
        count: c_uint,
        options: In<u32>,
        values: Out<*mut c_void>,
    ) {
        let context = usable()?;
        JitOptions::find(count, options, values)?;
        let link = driver()?.links.find(link)?;
        // PTX.
        if kind != 1 {
            return Err(Status::NotSupported);
        }
        link.add(context.core.settings, &data.sized(len)?)
    }

    cuLinkComplete(link: Handle, code: Out<*const u8>, len: Out<usize>) {
        usable()?;
        let (start, bytes) = driver()?.links.find(link)?.complete()?;
        code.put(start)?;
        len.put_if_wanted(bytes);
        Ok(())
    }

    cuLinkDestroy(link: Handle) {
        driver()?.links.remove(link).map(drop)
    }

    cuFuncGetAttribute(value: Out<c_int>, attribute: c_int, function: Handle) {
        usable()?;
        let function = driver()?.functions.find(function)?;
        value.put(function.attribute(attribute).ok_or(Status::InvalidValue)?)
    }

    cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int) {
        usable()?;
        driver()?.functions.find(function)?.set_attribute(attribute, value)
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
        let function = driver()?.functions.find(function)?;
        let most = if limit > 0 { limit.min(1024) } else { 1024 };
        let shared = |threads| dynamic_of.map_or(dynamic, |of| of(threads)) as u64;
        let fit = |threads: c_int| function.occupancy(threads as u32, shared(threads)) as c_int;
        let sizes = (1..=32).rev().map(|warps| warps * 32).filter(|threads| *threads <= most);
        let best = sizes.reduce(|best, other| if fit(other) * other > fit(best) * best { other } else { best });
        let best = best.filter(|threads| fit(*threads) > 0).ok_or(Status::InvalidValue)?;
        block.put(best)?;
        grid.put(fit(best) * function.module.core.settings.sms as c_int)
    }

    cuFuncGetName(name: Out<*const c_char>, function: Handle) {
        let out = name.wanted()?;
        out.put(driver()?.functions.find(function)?.name.as_ptr())
    }
}

fn resident(function: Handle, threads: c_int, dynamic: usize) -> Result<c_int, Status> {
    usable()?;
    let function: Arc<Function> = driver()?.functions.find(function)?;
    let threads = u32::try_from(threads).map_err(|_| Status::InvalidValue)?;
    Ok(function.occupancy(threads, dynamic as u64) as c_int)
}
