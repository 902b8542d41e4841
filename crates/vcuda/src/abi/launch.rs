//! Launches.

use super::raw::{In, Pointers};
use crate::{
    context::usable, driver::driver, module::Function, status::Status, step::Step, table::Handle,
};
use std::ffi::{c_int, c_uint};
use warpsmith_vgpu as vgpu;

/// Everything about a launch but its parameters.
struct Wanted {
    function: Handle,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    stream: Handle,
    cooperative: bool,
}

fn params(function: &Function, pointers: Pointers, extra: Pointers) -> Result<Vec<u8>, Status> {
    let len = function.kernel.param_bytes() as usize;
    let params = function.kernel.params();
    if !extra.is_null() {
        let mut packed = if pointers.is_null() {
            extra.packed()?
        } else {
            return Err(Status::InvalidValue);
        };
        // Padding at the end may be left out or given.
        let end = params
            .last()
            .map_or(0, |last| (last.offset + last.size) as usize);
        if packed.len() < end {
            return Err(Status::InvalidValue);
        }
        packed.resize(len, 0);
        return Ok(packed);
    }
    let places: Vec<_> = params
        .iter()
        .map(|param| (param.offset as usize, param.size as usize))
        .collect();
    if pointers.is_null() && !places.is_empty() {
        return Err(Status::InvalidValue);
    }
    let mut bytes = vec![0; len];
    pointers.gather(&places, &mut bytes)?;
    Ok(bytes)
}

fn launch(wanted: Wanted, pointers: Pointers, extra: Pointers) -> Result<(), Status> {
    let context = usable()?;
    let Wanted {
        function,
        grid,
        block,
        dynamic_shared,
        stream,
        cooperative,
    } = wanted;
    let function = driver()?.functions.find(function)?;
    let launch = vgpu::Launch {
        kernel: function.kernel.clone(),
        grid,
        block,
        dynamic_shared,
        params: params(&function, pointers, extra)?,
        cooperative,
    };
    function.allows(&launch)?;
    context
        .ordered(stream)?
        .submit(Step::Launch(Box::new(launch)))
}

/// `CUlaunchConfig`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Config {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    dynamic_shared: c_uint,
    stream: Handle,
    attributes: In<Attribute>,
    count: c_uint,
}

/// `CUlaunchAttribute`: a number and a value of 64 bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Attribute {
    number: c_uint,
    padding: [u8; 4],
    value: [u32; 16],
}

/// `CU_LAUNCH_ATTRIBUTE_IGNORE`, `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`.
const IGNORE: c_uint = 0;
const COOPERATIVE: c_uint = 2;

entries! {
    cuLaunchKernel(
        function: Handle,
        gx: c_uint,
        gy: c_uint,
        gz: c_uint,
        bx: c_uint,
        by: c_uint,
        bz: c_uint,
        dynamic_shared: c_uint,
        stream: Handle,
        params: Pointers,
        extra: Pointers,
    ) {
        let (grid, block) = ([gx, gy, gz], [bx, by, bz]);
        launch(Wanted { function, grid, block, dynamic_shared, stream, cooperative: false }, params, extra)
    }

    cuLaunchCooperativeKernel(
        function: Handle,
        gx: c_uint,
        gy: c_uint,
        gz: c_uint,
        bx: c_uint,
        by: c_uint,
        bz: c_uint,
        dynamic_shared: c_uint,
        stream: Handle,
        params: Pointers,
    ) {
        let (grid, block) = ([gx, gy, gz], [bx, by, bz]);
        let wanted = Wanted { function, grid, block, dynamic_shared, stream, cooperative: true };
        launch(wanted, params, Pointers::NONE)
    }

    cuLaunchKernelEx(config: In<Config>, function: Handle, params: Pointers, extra: Pointers) {
        let Config { grid, block, dynamic_shared, stream, attributes, count } = config.value()?;
        let mut cooperative = false;
        for index in 0..count as usize {
            let Attribute { number, padding: _, value } = attributes.at(index)?;
            match number {
                IGNORE => {}
                COOPERATIVE => cooperative = value[0] as c_int != 0,
                _ => return Err(Status::NotSupported),
            }
        }
        launch(Wanted { function, grid, block, dynamic_shared, stream, cooperative }, params, extra)
    }
}
