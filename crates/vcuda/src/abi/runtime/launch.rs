//! Launches, what kernels say of themselves, and how many blocks fit.

use super::{
    super::{
        launch::{Attribute, Config, cuLaunchKernelEx},
        module::{
            cuFuncGetName, cuFuncGetParamCount, cuFuncGetParamInfo, cuFuncSetAttribute,
            cuOccupancyAvailableDynamicSMemPerBlock, cuOccupancyMaxActiveBlocksPerMultiprocessor,
            cuOccupancyMaxActiveClusters, cuOccupancyMaxPotentialClusterSize,
        },
        raw::{In, Out, Pointers},
    },
    error::{Code, well},
    state::kernel,
};
use crate::table::Handle;
use std::ffi::{c_char, c_int, c_uint};

/// `dim3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Dim3 {
    x: c_uint,
    y: c_uint,
    z: c_uint,
}

impl Dim3 {
    pub(super) fn of(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

/// Everything about a launch but its kernel and parameters.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) grid: Dim3,
    pub(super) block: Dim3,
    pub(super) shared: usize,
    pub(super) stream: Handle,
    pub(super) cooperative: bool,
}

/// The most blocks along x, y, z, and the most threads of a block.
const GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
const BLOCK: [u32; 3] = [1024, 1024, 64];
const THREADS: u64 = 1024;

/// The runtime has a code of its own for shapes that no kernel can have.
fn possible(grid: [u32; 3], block: [u32; 3]) -> Result<(), Code> {
    let fits = |sizes: [u32; 3], most: [u32; 3]| {
        let mut pairs = sizes.iter().zip(most);
        pairs.all(|(size, most)| (1..=most).contains(size))
    };
    let threads: u64 = block.iter().map(|n| u64::from(*n)).product();
    if fits(grid, GRID) && fits(block, BLOCK) && threads <= THREADS {
        Ok(())
    } else {
        Err(Code::INVALID_CONFIGURATION)
    }
}

/// `cudaLaunchAttributeCooperative`.
const COOPERATIVE: c_uint = 2;

pub(super) fn launch(at: Handle, shape: Shape, params: Pointers) -> Result<(), Code> {
    let attribute = Attribute::of(COOPERATIVE, u32::from(shape.cooperative));
    let config = RuntimeConfig {
        grid: shape.grid,
        block: shape.block,
        shared: shape.shared,
        stream: shape.stream,
        attributes: In::from(&attribute),
        count: 1,
    };
    config.launch(at, params)
}

/// `cudaLaunchConfig_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct RuntimeConfig {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Handle,
    attributes: In<Attribute>,
    count: c_uint,
}

impl RuntimeConfig {
    fn drivers(self) -> Result<Config, Code> {
        let shared = u32::try_from(self.shared).map_err(|_| Code::INVALID_VALUE)?;
        Ok(Config::of(
            (self.grid.of(), self.block.of(), shared),
            self.stream,
            (self.attributes, self.count),
        ))
    }

    fn launch(self, at: Handle, params: Pointers) -> Result<(), Code> {
        let (_, handle) = kernel(at)?;
        possible(self.grid.of(), self.block.of())?;
        let config = self.drivers()?;
        well(cuLaunchKernelEx(
            In::from(&config),
            handle,
            params,
            Pointers::NONE,
        ))
    }
}

runtime_stream_entries! {
    cudaLaunchKernel(
        function: Handle,
        grid: Dim3,
        block: Dim3,
        params: Pointers,
        shared: usize,
        stream: Handle,
    ) {
        launch(function, Shape { grid, block, shared, stream, cooperative: false }, params)
    }

    cudaLaunchCooperativeKernel(
        function: Handle,
        grid: Dim3,
        block: Dim3,
        params: Pointers,
        shared: usize,
        stream: Handle,
    ) {
        launch(function, Shape { grid, block, shared, stream, cooperative: true }, params)
    }

    cudaLaunchKernelExC(config: In<RuntimeConfig>, function: Handle, params: Pointers) {
        config.value()?.launch(function, params)
    }
}

/// `cudaFuncAttributes`, up to what is reserved.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Attributes {
    shared: usize,
    constant: usize,
    local: usize,
    /// Threads, registers, versions of PTX and code, the cache mode, dynamic shared memory, the carve-out, clusters.
    others: [c_int; 13],
}

pub(super) mod kernels {
    use super::*;

    runtime_entries! {
        cudaFuncGetAttributes(out: Out<Attributes>, at: Handle) {
            let out = out.wanted()?;
            let (function, _) = kernel(at)?;
            let one = |number: c_int| function.attribute(number).unwrap_or(0);
            out.put(Attributes {
                shared: one(1) as usize,
                constant: one(2) as usize,
                local: one(3) as usize,
                others: [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14].map(one),
            })?;
            Ok(())
        }

        cudaFuncSetAttribute(at: Handle, attribute: c_int, value: c_int) {
            well(cuFuncSetAttribute(kernel(at)?.1, attribute, value))
        }

        cudaKernelSetAttributeForDevice(at: Handle, attribute: c_int, value: c_int, _device: c_int) {
            well(cuFuncSetAttribute(kernel(at)?.1, attribute, value))
        }

        /// Hints.
        cudaFuncSetCacheConfig(at: Handle, _config: c_int) {
            kernel(at).map(drop)
        }

        cudaFuncSetSharedMemConfig(at: Handle, _config: c_int) {
            kernel(at).map(drop)
        }

        cudaFuncGetName(name: Out<*const c_char>, at: Handle) {
            well(cuFuncGetName(name, kernel(at)?.1))
        }

        cudaFuncGetParamInfo(at: Handle, index: usize, offset: Out<usize>, size: Out<usize>) {
            well(cuFuncGetParamInfo(kernel(at)?.1, index, offset, size))
        }

        cudaFuncGetParamCount(at: Handle, count: Out<usize>) {
            well(cuFuncGetParamCount(kernel(at)?.1, count))
        }

        cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks: Out<c_int>,
            at: Handle,
            threads: c_int,
            dynamic: usize,
        ) {
            well(cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel(at)?.1, threads, dynamic))
        }

        cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            blocks: Out<c_int>,
            at: Handle,
            threads: c_int,
            dynamic: usize,
            _flags: c_uint,
        ) {
            well(cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel(at)?.1, threads, dynamic))
        }

        cudaOccupancyAvailableDynamicSMemPerBlock(bytes: Out<usize>, at: Handle, blocks: c_int, threads: c_int) {
            well(cuOccupancyAvailableDynamicSMemPerBlock(bytes, kernel(at)?.1, blocks, threads))
        }

        cudaOccupancyMaxPotentialClusterSize(size: Out<c_int>, at: Handle, config: In<RuntimeConfig>) {
            let config = config.value()?.drivers()?;
            well(cuOccupancyMaxPotentialClusterSize(size, kernel(at)?.1, In::from(&config)))
        }

        cudaOccupancyMaxActiveClusters(count: Out<c_int>, at: Handle, config: In<RuntimeConfig>) {
            let config = config.value()?.drivers()?;
            well(cuOccupancyMaxActiveClusters(count, kernel(at)?.1, In::from(&config)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_that_no_kernel_can_have_are_told_from_others() {
        let cases = [
            ([1, 1, 1], [1, 1, 1], true),
            ([i32::MAX as u32, 65535, 65535], [1024, 1, 1], true),
            ([1, 1, 1], [16, 1, 64], true),
            ([0, 1, 1], [1, 1, 1], false),
            ([1, 65536, 1], [1, 1, 1], false),
            ([1, 1, 1], [1, 1, 65], false),
            ([1, 1, 1], [1025, 1, 1], false),
            ([1, 1, 1], [1024, 2, 1], false),
            ([1, 1, 1], [32, 0, 1], false),
        ];
        for (grid, block, want) in cases {
            assert_eq!(possible(grid, block).is_ok(), want, "{grid:?} {block:?}");
        }
    }
}
