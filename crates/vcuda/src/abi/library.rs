//! Libraries and their kernels.

use super::raw::{Image, In, JitOptions, Out, Text};
use crate::{
    driver::{driver, function, function_with_handle, usable},
    library::{Library, LibraryKernel},
    module::compile,
    status::Status,
    table::{Handle, lock},
};
use std::{
    ffi::{CString, c_char, c_int, c_uint, c_void},
    sync::Arc,
};

fn load(out: Out<Handle>, ptx: &[u8], options: &JitOptions) -> Result<(), Status> {
    let out = out.wanted()?;
    let driver = driver()?;
    let program = compile(&driver.settings, ptx, options)?;
    out.put(driver.libraries.insert(Arc::new(Library::new(program))))
}

/// A kernel's handle, which it gets the first time.
fn kernel(library: &Arc<Library>, name: &str) -> Result<Handle, Status> {
    let mut handles = lock(&library.handles);
    if let Some((_, handle)) = handles.iter().find(|(known, _)| known == name) {
        return Ok(*handle);
    }
    if !library.kernels().iter().any(|known| known == name) {
        return Err(Status::NotFound);
    }
    let handle = driver()?.kernels.insert(Arc::new(LibraryKernel {
        name: CString::new(name).map_err(|_| Status::InvalidValue)?,
        library: library.clone(),
    }));
    handles.push((name.to_owned(), handle));
    Ok(handle)
}

/// The card is that of the current context.
fn here(device: c_int) -> Result<(), Status> {
    let card = usable()?.core.card.index;
    if usize::try_from(device) == Ok(card) {
        Ok(())
    } else {
        Err(Status::InvalidDevice)
    }
}

entries! {
    cuLibraryLoadData(
        library: Out<Handle>,
        image: Image,
        jit: In<u32>,
        values: Out<*mut c_void>,
        count: c_uint,
        _options: In<u32>,
        _option_values: In<u64>,
        _option_count: c_uint,
    ) {
        let sm = driver()?.settings.target.sm;
        load(library, &image.ptx(sm)?, &JitOptions::find(count, jit, values)?)
    }

    cuLibraryLoadFromFile(
        library: Out<Handle>,
        path: Text,
        jit: In<u32>,
        values: Out<*mut c_void>,
        count: c_uint,
        _options: In<u32>,
        _option_values: In<u64>,
        _option_count: c_uint,
    ) {
        let ptx = super::module::file(path)?;
        load(library, &ptx, &JitOptions::find(count, jit, values)?)
    }

    cuLibraryUnload(library: Handle) {
        let driver = driver()?;
        let library = driver.libraries.remove(library)?;
        driver.kernels.forget(|kernel| Arc::ptr_eq(&kernel.library, &library));
        for (module, handle) in library.give_up() {
            driver.functions.forget(|function| Arc::ptr_eq(&function.module, &module));
            module.unload();
            let _gone_with_its_context = driver.modules.remove(handle);
        }
        Ok(())
    }

    cuLibraryGetKernel(out: Out<Handle>, library: Handle, name: Text) {
        let out = out.wanted()?;
        let library = driver()?.libraries.find(library)?;
        out.put(kernel(&library, &name.to_string()?)?)
    }

    cuLibraryGetKernelCount(count: Out<c_uint>, library: Handle) {
        count.put(driver()?.libraries.find(library)?.kernels().len() as c_uint)
    }

    cuLibraryEnumerateKernels(kernels: Out<Handle>, count: c_uint, library: Handle) {
        let library = driver()?.libraries.find(library)?;
        let names = library.kernels();
        names.iter().take(count as usize).enumerate().try_for_each(|(at, name)| {
            kernels.wanted()?.at(at).put(kernel(&library, name)?)
        })
    }

    cuLibraryGetModule(module: Out<Handle>, library: Handle) {
        let out = module.wanted()?;
        let library = driver()?.libraries.find(library)?;
        let (_, handle) = library.module(&usable()?.core, &driver()?.modules)?;
        out.put(handle)
    }

    cuLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, library: Handle, name: Text) {
        let library = driver()?.libraries.find(library)?;
        let (module, _) = library.module(&usable()?.core, &driver()?.modules)?;
        let (at, len) = module.variable(&name.to_string()?).ok_or(Status::NotFound)?;
        address.put_if_wanted(at);
        bytes.put_if_wanted(len as usize);
        Ok(())
    }

    /// There are no managed variables in PTX that this driver takes.
    cuLibraryGetManaged(_address: Out<u64>, _bytes: Out<usize>, library: Handle, name: Text) {
        driver()?.libraries.find(library)?;
        name.to_string()?;
        Err(Status::NotFound)
    }

    cuKernelGetFunction(out: Out<Handle>, kernel: Handle) {
        let out = out.wanted()?;
        driver()?.kernels.find(kernel)?;
        out.put(function_with_handle(kernel)?.1)
    }

    cuKernelGetLibrary(library: Out<Handle>, kernel: Handle) {
        let out = library.wanted()?;
        let driver = driver()?;
        let kernel = driver.kernels.find(kernel)?;
        out.put(driver.libraries.handle_of(&kernel.library).ok_or(Status::InvalidHandle)?)
    }

    cuKernelGetName(name: Out<*const c_char>, kernel: Handle) {
        let out = name.wanted()?;
        out.put(driver()?.kernels.find(kernel)?.name.as_ptr())
    }

    cuKernelGetAttribute(value: Out<c_int>, attribute: c_int, kernel: Handle, device: c_int) {
        here(device)?;
        value.put(function(kernel)?.attribute(attribute).ok_or(Status::InvalidValue)?)
    }

    cuKernelSetAttribute(attribute: c_int, value: c_int, kernel: Handle, device: c_int) {
        here(device)?;
        function(kernel)?.set_attribute(attribute, value)
    }

    cuKernelSetCacheConfig(kernel: Handle, _config: c_int, device: c_int) {
        here(device)?;
        driver()?.kernels.find(kernel).map(drop)
    }

    cuKernelGetParamInfo(kernel: Handle, index: usize, offset: Out<usize>, size: Out<usize>) {
        let function = function(kernel)?;
        let params = function.kernel.params();
        let param = params.get(index).ok_or(Status::InvalidValue)?;
        offset.put(param.offset as usize)?;
        size.put_if_wanted(param.size as usize);
        Ok(())
    }

    cuKernelGetParamCount(kernel: Handle, count: Out<usize>) {
        count.put(function(kernel)?.kernel.params().len())
    }
}
