//! Installs peers; nothing is done for one that is there.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Peer, compiler, sources};
use crate::error::{Error, Result};
use crate::fetch::{Python, check, only_file};
use crate::house::House;
use crate::run::Run;

/// A Python package with C++ inside, built from its source for this very processor.
pub(super) struct Native {
    package: &'static str,
    version: &'static str,
    sdist_sha256: &'static str,
    /// What is imported to see whether it was built well.
    module: &'static str,
    /// Flags for CMake.
    flags: &'static str,
}

pub(super) const LLAMA_CPP: Native = Native {
    package: "llama-cpp-python",
    version: "0.3.36",
    sdist_sha256: "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e",
    module: "llama_cpp",
    flags: "-DGGML_NATIVE=ON",
};

/// Binds whisper.cpp 1.8.5.
pub(super) const WHISPER_CPP: Native = Native {
    package: "pywhispercpp",
    version: "1.5.1",
    sdist_sha256: "5df897e5dd9d9f16804fc937bd85b9f5880a0b29a55f8843585e0e03d76195e5",
    module: "_pywhispercpp",
    // Its libraries are installed beside it, and are looked for where they were built unless told.
    flags: "-DGGML_NATIVE=ON -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCMAKE_INSTALL_RPATH=$ORIGIN",
};

/// Installs one. Those with C++ inside take some minutes to compile.
pub(crate) fn install(house: &House, peer: Peer) -> Result<()> {
    match peer {
        Peer::LlamaCpp => LLAMA_CPP.install(house),
        Peer::Candle => install_candle(house),
        Peer::FasterWhisper | Peer::FasterWhisperInt8 => install_faster_whisper(house),
        Peer::WhisperCpp => WHISPER_CPP.install(house),
    }
}

fn folder(house: &House, name: &str) -> PathBuf {
    house.tools().join("peers").join(name)
}

fn python_in(folder: &Path) -> PathBuf {
    folder.join("venv").join("bin").join("python")
}

impl Native {
    fn folder(&self, house: &House) -> PathBuf {
        folder(house, &format!("{}-{}", self.package, self.version))
    }

    pub(super) fn python(&self, house: &House) -> PathBuf {
        python_in(&self.folder(house))
    }

    fn install(&self, house: &House) -> Result<()> {
        let Native {
            package,
            version,
            sdist_sha256,
            module,
            flags,
        } = self;
        let folder = self.folder(house);
        let done = folder.join(".ok");
        if done.is_file() {
            return Ok(());
        }
        println!("building {package} {version} for this processor (minutes)");
        let sdist = folder.join("sdist");
        fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        let _removed = fs::remove_dir_all(&sdist);
        let python = Python::venv(Python::find(house)?.program(), &folder.join("venv"))?;
        python
            .pip()
            .args(["download", "--quiet", "--no-deps", "--no-binary", package])
            .arg("--dest")
            .arg(&sdist)
            .arg(format!("{package}=={version}"))
            .show()?;
        let archive = only_file(&sdist)?;
        check(&archive, sdist_sha256, &format!("source package {package}"))?;
        let build = python
            .pip()
            .args(["install", "--quiet", "--no-binary", package])
            .arg(&archive)
            .env("CMAKE_ARGS", flags);
        compiler::with(&python, &folder, build)?.show()?;
        Run::new(python.program())
            .args(["-c", &format!("import {module}")])
            .read()?;
        fs::write(&done, "").map_err(Error::io(&done))
    }
}

/// What its server needs beside it.
const SERVER: [&str; 5] = [
    "fastapi",
    "pydantic-settings",
    "sse-starlette",
    "starlette-context",
    "uvicorn",
];

/// llama-cpp-python with what its `server` extra asks for.
pub(super) fn llama_cpp_server(house: &House) -> Result<()> {
    LLAMA_CPP.install(house)?;
    let folder = LLAMA_CPP.folder(house);
    let done = folder.join(".server");
    if done.is_file() {
        return Ok(());
    }
    Python::venv(Python::find(house)?.program(), &folder.join("venv"))?
        .pip()
        .args(["install", "--quiet", "--only-binary", ":all:"])
        .args(SERVER)
        .show()?;
    fs::write(&done, "").map_err(Error::io(&done))
}

pub(super) fn candle_folder(house: &House) -> PathBuf {
    folder(house, "candle")
}

/// Builds the small program around candle, which stands outside the workspace, for this very processor.
fn install_candle(house: &House) -> Result<()> {
    println!("building candle's runner for this processor");
    Run::cargo()
        .args(["build", "--release", "--locked", "--manifest-path"])
        .arg(sources(house).join("candle").join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", candle_folder(house))
        .env("RUSTFLAGS", "-C target-cpu=native")
        .show()
}

const FASTER_WHISPER: &str = "faster-whisper-1.2.1";

pub(super) fn faster_whisper_python(house: &House) -> PathBuf {
    python_in(&folder(house, FASTER_WHISPER))
}

/// Its wheels choose their code for the processor as they run.
fn install_faster_whisper(house: &House) -> Result<()> {
    let folder = folder(house, FASTER_WHISPER);
    let done = folder.join(".ok");
    if done.is_file() {
        return Ok(());
    }
    println!("installing {FASTER_WHISPER}");
    fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
    let python = Python::venv(Python::find(house)?.program(), &folder.join("venv"))?;
    python
        .pip()
        .args(["install", "--quiet", "--only-binary", ":all:"])
        .arg("--requirement")
        .arg(sources(house).join("faster-whisper.txt"))
        .show()?;
    fs::write(&done, "").map_err(Error::io(&done))
}
