//! Launches.

use super::raw::{In, Pointers};
use crate::{
    driver::{function, usable},
    module::Function,
    status::Status,
    step::Step,
    table::Handle,
};
use std::{
    ffi::{c_int, c_uint},
    sync::Arc,
};
use warpsmith_vgpu as vgpu;

/// Everything about a launch but its parameters.
pub(super) struct Wanted {
    pub(super) function: Handle,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) dynamic_shared: u32,
    pub(super) stream: Handle,
    pub(super) cooperative: bool,
    pub(super) cluster: Option<[u32; 3]>,
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

/// A launch that is allowed, with its function.
pub(super) fn gathered(
    wanted: &Wanted,
    pointers: Pointers,
    extra: Pointers,
) -> Result<(Arc<Function>, vgpu::Launch), Status> {
    let Wanted {
        function: handle,
        grid,
        block,
        dynamic_shared,
        stream: _,
        cooperative,
        cluster,
    } = *wanted;
    let function = function(handle)?;
    let launch = vgpu::Launch {
        kernel: function.kernel.clone(),
        grid,
        block,
        dynamic_shared,
        params: params(&function, pointers, extra)?,
        cooperative,
        cluster,
    };
    function.allows(&launch)?;
    Ok((function, launch))
}

fn launch(wanted: Wanted, pointers: Pointers, extra: Pointers) -> Result<(), Status> {
    let context = usable()?;
    let (function, launch) = gathered(&wanted, pointers, extra)?;
    context
        .ordered(wanted.stream)?
        .submit(Step::Launch(function, Box::new(launch)))
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

impl Config {
    /// A grid, a block and bytes of dynamic shared memory; a stream; attributes.
    pub(super) fn of(
        (grid, block, dynamic_shared): ([u32; 3], [u32; 3], u32),
        stream: Handle,
        (attributes, count): (In<Attribute>, u32),
    ) -> Config {
        Config {
            grid,
            block,
            dynamic_shared,
            stream,
            attributes,
            count,
        }
    }

    /// Threads of a block, and bytes of its dynamic shared memory.
    pub(super) fn sizes(&self) -> (c_uint, c_uint) {
        (self.block.iter().product(), self.dynamic_shared)
    }

    /// The blocks of a cluster, if it asks for some.
    pub(super) fn cluster(&self) -> Result<Option<[u32; 3]>, Status> {
        for index in 0..self.count as usize {
            let Attribute {
                number,
                padding: _,
                value,
            } = self.attributes.at(index)?;
            if number == CLUSTER && value[..3] != [0; 3] {
                return Ok(Some([value[0], value[1], value[2]]));
            }
        }
        Ok(None)
    }
}

/// `CUlaunchAttribute`: a number and a value of 64 bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Attribute {
    number: c_uint,
    padding: [u8; 4],
    value: [u32; 16],
}

impl Attribute {
    /// One whose value is a word.
    pub(super) fn of(number: u32, word: u32) -> Attribute {
        let mut value = [0; 16];
        value[0] = word;
        Attribute {
            number,
            padding: [0; 4],
            value,
        }
    }
}

/// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`, and that of clusters. Another one prefers a size, and need not get it.
const COOPERATIVE: c_uint = 2;
const CLUSTER: c_uint = 4;
/// Those of events, and of nodes that kernels change.
const EVENTS: [c_uint; 3] = [7, 12, 13];

stream_entries! {
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
        launch(Wanted { function, grid, block, dynamic_shared, stream, cooperative: false, cluster: None }, params, extra)
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
        let wanted = Wanted { function, grid, block, dynamic_shared, stream, cooperative: true, cluster: None };
        launch(wanted, params, Pointers::NONE)
    }

    cuLaunchKernelEx(config: In<Config>, function: Handle, params: Pointers, extra: Pointers) {
        let config = config.value()?;
        let cluster = config.cluster()?;
        let Config { grid, block, dynamic_shared, stream, attributes, count } = config;
        let mut cooperative = false;
        for index in 0..count as usize {
            let Attribute { number, padding: _, value } = attributes.at(index)?;
            match number {
                COOPERATIVE => cooperative = value[0] as c_int != 0,
                number if EVENTS.contains(&number) => {
                    crate::report::lacks(&format!("launch attribute {number}"));
                    return Err(Status::NotSupported);
                }
                // All others are hints: how much overlaps, what stays in caches, what goes first.
                0..=18 => {}
                _ => return Err(Status::InvalidValue),
            }
        }
        launch(Wanted { function, grid, block, dynamic_shared, stream, cooperative, cluster }, params, extra)
    }
}
