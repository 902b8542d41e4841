//! Programs of others that the driver library is tried with: an environment of Python in the tools of the workspace.

use std::fs;

use crate::error::{Error, Result};
use crate::fetch::Python;
use crate::house::House;

/// What is installed, in the versions that docs/exec.md names.
const PACKAGES: [&str; 5] = [
    "numpy==2.4.6",
    "tinygrad==0.14.0",
    "numba==0.68.1",
    "numba-cuda[cu12]==0.30.4",
    "nvidia-cuda-nvrtc-cu12==12.9.86",
];

/// Makes the environment, unless it is there with these packages.
pub(crate) fn install(house: &House) -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        println!("skipped: the driver library is for programs of Linux on x86-64");
        return Ok(());
    }
    let folder = house.tools().join("cuda-clients");
    let (marker, list) = (folder.join("packages.txt"), PACKAGES.join("\n"));
    if fs::read_to_string(&marker).is_ok_and(|found| found == list) {
        println!("{} is there", folder.display());
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(Error::io(&folder))?;
    }
    let python = Python::find(house)?;
    let python = Python::venv(python.program(), &folder)?;
    python
        .pip()
        .args(["install", "--quiet", "--only-binary", ":all:"])
        .args(PACKAGES)
        .show()?;
    fs::write(&marker, list).map_err(Error::io(&marker))
}
