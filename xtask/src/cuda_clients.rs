//! Programs of others that the driver library is tried with, and a compiler for programs of ours: environments of Python in
//! the tools of the workspace.

use crate::error::Result;
use crate::fetch::{Python, environment};
use crate::house::House;

/// What is installed, in the versions that docs/exec.md names. The compiler stands apart, as clients look for parts of
/// it beside themselves.
const COMPILER: [&str; 5] = [
    "nvidia-cuda-nvcc==13.5.37",
    "nvidia-nvvm==13.5.37",
    "nvidia-cuda-crt==13.5.37",
    "nvidia-cuda-runtime==13.5.37",
    "nvidia-cuda-cccl==13.3.5.0.6",
];

pub(crate) const CLIENTS: [&str; 5] = [
    "numpy==2.4.6",
    "tinygrad==0.14.0",
    "numba==0.68.1",
    "numba-cuda[cu12]==0.30.4",
    "nvidia-cuda-nvrtc-cu12==12.9.86",
];

/// Makes the environments, unless they are there with these packages.
pub(crate) fn install(house: &House) -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        println!("skipped: the driver library is for programs of Linux on x86-64");
        return Ok(());
    }
    clients(house)?;
    environment(house, "cuda-compiler", &COMPILER.join("\n")).map(drop)
}

/// The Python of the clients, made if it is not there.
pub(crate) fn clients(house: &House) -> Result<Python> {
    environment(house, "cuda-clients", &CLIENTS.join("\n"))
}
