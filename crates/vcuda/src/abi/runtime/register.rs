//! What the code that compilers make calls: before the program starts, and around its launches.

use super::{
    super::raw::{Image, Out, Pointers, Text},
    error::Code,
    launch::{self, Dim3},
    state::{BINARIES, Binary, REGISTERED, Symbol, kernel},
};
use crate::table::{Handle, lock};
use std::{
    cell::RefCell,
    ffi::{c_char, c_int, c_void},
    sync::Arc,
};

thread_local! {
    /// The shapes of launches that are about to be made: `<<<...>>>` pushes, the kernel's stub pops.
    static SHAPES: RefCell<Vec<Shape>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone, Copy)]
struct Shape {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Handle,
}

fn register(binary: Handle, name: Text, add: impl FnOnce(Symbol)) -> Result<(), Code> {
    let binary = BINARIES.find(binary)?;
    let name = name.to_string()?;
    add(Symbol { binary, name });
    Ok(())
}

runtime_entries! {
    __cudaRegisterFatBinaryEnd(binary: Handle) {
        BINARIES.find(binary)?;
        Ok(())
    }

    __cudaUnregisterFatBinary(binary: Handle) {
        let binary = BINARIES.remove(binary)?;
        let mut all = lock(&REGISTERED);
        let stays = |symbol: &Symbol| !Arc::ptr_eq(&symbol.binary, &binary);
        all.kernels.retain(|_, symbol| stays(symbol));
        all.variables.retain(|_, symbol| stays(symbol));
        Ok(())
    }

    __cudaRegisterFunction(
        binary: Handle,
        host: usize,
        _device: usize,
        name: Text,
        _threads: c_int,
        _tid: usize,
        _bid: usize,
        _block: usize,
        _grid: usize,
        _warp: usize,
    ) {
        register(binary, name, |symbol| {
            lock(&REGISTERED).kernels.insert(host, symbol);
        })
    }

    __cudaRegisterVar(
        binary: Handle,
        host: usize,
        _device: usize,
        name: Text,
        _is_extern: c_int,
        _bytes: usize,
        _is_constant: c_int,
        _is_global: c_int,
    ) {
        register(binary, name, |symbol| {
            lock(&REGISTERED).variables.insert(host, symbol);
        })
    }

    __cudaRegisterManagedVar(
        binary: Handle,
        place: Out<u64>,
        _device: usize,
        name: Text,
        _is_extern: c_int,
        _bytes: usize,
        _is_constant: c_int,
        _is_global: c_int,
    ) {
        let place = place.wanted()?;
        register(binary, name, |Symbol { binary, name }| {
            lock(&binary.managed).push((place, name));
        })
    }

    /// The handle is the kernel's address of the host: what is wrong with it shows at the launch.
    __cudaGetKernel(out: Out<usize>, host: usize) {
        out.put(host)?;
        Ok(())
    }

    __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: Handle) {
        SHAPES.with_borrow_mut(|all| all.push(Shape { grid, block, shared, stream }));
        Ok(())
    }

    __cudaPopCallConfiguration(grid: Out<Dim3>, block: Out<Dim3>, shared: Out<usize>, stream: Out<Handle>) {
        let shape = SHAPES.with_borrow_mut(Vec::pop).ok_or(Code::MISSING_CONFIGURATION)?;
        grid.put(shape.grid)?;
        block.put(shape.block)?;
        shared.put(shape.shared)?;
        stream.put(shape.stream)?;
        Ok(())
    }

    /// The kernel's handle, which the driver takes too.
    cudaGetKernel(out: Out<Handle>, host: Handle) {
        let out = out.wanted()?;
        out.put(kernel(host)?.1)?;
        Ok(())
    }

    cudaGetFuncBySymbol(out: Out<Handle>, host: Handle) {
        let out = out.wanted()?;
        out.put(kernel(host)?.1)?;
        Ok(())
    }
}

// SAFETY: the names are those of the runtime's functions, which this library is made to stand for.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __cudaRegisterFatBinary(image: Image) -> Handle {
    BINARIES.insert(Arc::new(Binary::new(image)))
}

/// Loads what has managed variables, as the program is about to touch one.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn __cudaInitModule(binary: Handle) -> c_char {
    let done = super::guard("__cudaInitModule", || BINARIES.find(binary)?.bind());
    c_char::from(done == 0)
}

/// The launch that stubs of kernels make.
pub(super) mod stubs {
    use super::*;

    runtime_stream_entries! {
        __cudaLaunchKernel(
            kernel: Handle,
            grid: Dim3,
            block: Dim3,
            params: Pointers,
            shared: usize,
            stream: Handle,
        ) {
            launch::launch(kernel, launch::Shape { grid, block, shared, stream, cooperative: false }, params)
        }
    }
}

/// For those that ask for it: there are no private tables.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudaGetExportTable(table: Out<*const c_void>, _id: usize) -> u32 {
    super::guard("cudaGetExportTable", || {
        table.put_if_wanted(std::ptr::null());
        crate::report::missed("a private table of the runtime");
        Err(crate::status::Status::NotSupported.into())
    })
}
