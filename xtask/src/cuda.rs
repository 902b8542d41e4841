//! `cargo xtask cuda`: writes the PTX and data of the suite's CUDA sources again.

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

/// Runs the generators in a private environment, for the named sources or for all: programs, and kernels with faults.
pub(crate) fn cuda(house: &House, names: &[String]) -> Result<()> {
    let private = house.tools().join("cuda");
    let python = Python::venv(Python::find(house)?.program(), &private)?;
    python
        .pip()
        .args(["install", "--quiet"])
        .args(PACKAGES)
        .show()?;
    let folders = ["cuda", "faulty"].map(|name| house.root().join("suite/cases").join(name));
    for folder in folders {
        let own = |name: &&String| folder.join(name).with_extension("cu").exists();
        let own: Vec<&String> = names.iter().filter(own).collect();
        if names.is_empty() || !own.is_empty() {
            let generator = folder.join("generate.py");
            Run::new(python.program()).arg(generator).args(own).show()?;
        }
    }
    Ok(())
}
