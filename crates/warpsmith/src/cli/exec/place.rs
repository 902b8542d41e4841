//! The folder in which a program finds the driver and what goes with it, and the environment that leads there.

use anyhow::{Context, Result, bail};
use std::{
    env,
    ffi::{CStr, OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// The driver library, where this program was built with it inside.
const INSIDE: Option<&[u8]> = include!(concat!(env!("OUT_DIR"), "/driver.rs"));

/// The variable that names another driver library.
const CHOICE: &str = "WARPSMITH_LIBCUDA";
/// Its file, as cargo calls it.
const FILE: &str = "libwarpsmith_vcuda.so";

/// Names under which programs look for the driver, and for the linker.
const NAMES: [&str; 4] = [
    "libcuda.so.1",
    "libcuda.so",
    "libnvJitLink.so.12",
    "libnvJitLink.so.13",
];

/// Names under which programs look for the runtime, which is in the driver library, too.
const RUNTIMES: [&CStr; 2] = [c"libcudart.so.12", c"libcudart.so.13"];

/// A private folder.
pub(super) struct Place {
    folder: TempDir,
}

impl Place {
    /// Lays out the driver library and the tools.
    ///
    /// # Errors
    /// No driver library, or a folder that cannot be written.
    pub(super) fn new() -> Result<Place> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            bail!("`exec` works on Linux on x86-64: the driver library is made for programs there");
        }
        let folder = tempfile::Builder::new().prefix("warpsmith-exec-").tempdir();
        let folder = folder.context("cannot make a private folder")?;
        let place = Place { folder };
        fs::create_dir(place.report()).context("cannot make a private folder")?;
        let library = place.path("libcuda.so.1.1");
        match (env::var_os(CHOICE), INSIDE) {
            (Some(chosen), _) => copy(Path::new(&chosen), &library)?,
            (None, Some(bytes)) => {
                fs::write(&library, bytes).context("cannot write the driver library")?
            }
            (None, None) => copy(&beside()?, &library)?,
        }
        for name in NAMES {
            link(&library, &place.path(name))?;
        }
        for name in RUNTIMES {
            let file = place.path(&name.to_string_lossy());
            let bytes = super::stub::library(name, c"libcuda.so.1");
            fs::write(&file, bytes).context("cannot write the runtime library")?;
        }
        // This program is the assembler, by that name.
        let own = env::current_exe().context("cannot find this program")?;
        link(&own, &place.path("ptxas"))?;
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where the driver tells of what it finds.
    pub(super) fn report(&self) -> PathBuf {
        self.path("report")
    }

    /// Leads a program here, and those that it starts.
    pub(super) fn set_up(&self, command: &mut Command, _program: &OsStr) {
        let folder = self.folder.path();
        command.env(
            "LD_LIBRARY_PATH",
            first(folder, env::var_os("LD_LIBRARY_PATH")),
        );
        command.env("NUMBA_CUDA_DRIVER", self.path("libcuda.so.1"));
        command.env("TRITON_LIBCUDA_PATH", folder);
        command.env("TRITON_PTXAS_PATH", self.path("ptxas"));
        command.env("TRITON_PTXAS_BLACKWELL_PATH", self.path("ptxas"));
        // Cards of this machine are not for the program, and a choice among them means nothing here.
        command.env_remove("CUDA_VISIBLE_DEVICES");
        command.env_remove("NVIDIA_VISIBLE_DEVICES");
    }
}

/// A list of folders with one more in front.
fn first(folder: &Path, others: Option<OsString>) -> OsString {
    let mut all = folder.as_os_str().to_owned();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
}

/// The driver library beside this program, as cargo leaves it when it builds the whole workspace.
fn beside() -> Result<PathBuf> {
    let own = env::current_exe().context("cannot find this program")?;
    let folder = own.parent().unwrap_or(Path::new("."));
    let places = [
        folder.join(FILE),
        folder.join("deps").join(FILE),
        folder.join("../lib").join(FILE),
    ];
    // Cargo leaves one in either place, as it was asked to build: the newest is that of the last build.
    let made = |path: &&PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    let newest = places.iter().filter(|path| path.exists()).max_by_key(made);
    if let Some(found) = newest {
        return Ok(found.clone());
    }
    let tried: Vec<String> = places
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    bail!(
        "this program was built without the driver library, and there is none at {}; build it by `cargo build -p \
         warpsmith-vcuda`, name one by {CHOICE}, or build this program with `--release`, which puts it inside",
        tried.join(", ")
    )
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    // A name for the same file takes no time; not every folder is on one disk.
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    fs::copy(from, to)
        .with_context(|| format!("cannot copy the driver library {}", from.display()))?;
    Ok(())
}

#[cfg(unix)]
fn link(to: &Path, at: &Path) -> Result<()> {
    std::os::unix::fs::symlink(to, at).with_context(|| format!("cannot write {}", at.display()))
}

#[cfg(not(unix))]
fn link(to: &Path, at: &Path) -> Result<()> {
    fs::copy(to, at).with_context(|| format!("cannot write {}", at.display()))?;
    Ok(())
}
