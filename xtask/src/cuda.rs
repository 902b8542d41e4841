//! `cargo xtask cuda`: writes the PTX and data of the suite's CUDA programs again.

use crate::error::Result;
use crate::fetch::Python;
use crate::house::House;
use crate::run::Run;

/// What the generator imports and loads: numpy, and NVRTC with the headers that programs include.
const PACKAGES: [&str; 5] = [
    "numpy==2.4.6",
    "nvidia-cuda-nvrtc==13.5.37",
    "nvidia-cuda-runtime==13.5.37",
    "nvidia-cuda-crt==13.5.37",
    "nvidia-cuda-cccl==13.3.5.0.6",
];

/// Runs the generator in a private environment, for the named programs or for all.
pub(crate) fn cuda(house: &House, names: &[String]) -> Result<()> {
    let private = house.tools().join("cuda");
    let python = Python::venv(Python::find(house)?.program(), &private)?;
    python
        .pip()
        .args(["install", "--quiet"])
        .args(PACKAGES)
        .show()?;
    Run::new(python.program())
        .arg(house.root().join("suite/cases/cuda/generate.py"))
        .args(names)
        .show()
}
