//! Programs of others that the driver library is tried with, and a compiler for programs of ours: environments of Python in
//! the tools of the workspace.

use crate::error::Result;
use crate::fetch::environment;
use crate::house::House;

/// What is installed where, in the versions that docs/exec.md names. The compiler stands apart, as clients look for parts of
/// it beside themselves.
const ENVIRONMENTS: [(&str, &[&str]); 2] =
    [("cuda-clients", &CLIENTS), ("cuda-compiler", &COMPILER)];

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
    ENVIRONMENTS
        .iter()
        .try_for_each(|(name, packages)| environment(house, name, &packages.join("\n")).map(drop))
}
