//! Installs peers; nothing is done for one that is there.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Peer, Tier, compiler, sources};
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
    /// Flags for CMake, beside those for the processor.
    flags: &'static str,
}

/// Flags for ggml: code for this processor, or for every one with AVX2.
fn ggml(tier: Option<Tier>) -> &'static str {
    match tier {
        None => "-DGGML_NATIVE=ON",
        Some(Tier::Avx2) => {
            "-DGGML_NATIVE=OFF -DGGML_AVX=ON -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DGGML_BMI2=ON"
        }
    }
}

pub(super) const LLAMA_CPP: Native = Native {
    package: "llama-cpp-python",
    version: "0.3.36",
    sdist_sha256: "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e",
    module: "llama_cpp",
    flags: "",
};

/// Binds whisper.cpp 1.8.5.
pub(super) const WHISPER_CPP: Native = Native {
    package: "pywhispercpp",
    version: "1.5.1",
    sdist_sha256: "5df897e5dd9d9f16804fc937bd85b9f5880a0b29a55f8843585e0e03d76195e5",
    module: "_pywhispercpp",
    // Its libraries are installed beside it, and are looked for where they were built unless told.
    flags: "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCMAKE_INSTALL_RPATH=$ORIGIN",
};

/// Installs one. Those with C++ inside take some minutes to compile.
pub(crate) fn install(house: &House, peer: Peer, tier: Option<Tier>) -> Result<()> {
    match peer {
        Peer::LlamaCpp => LLAMA_CPP.install(house, tier),
        Peer::Candle => install_candle(house, tier),
        Peer::FasterWhisper | Peer::FasterWhisperInt8 => install_faster_whisper(house),
        Peer::WhisperCpp => WHISPER_CPP.install(house, tier),
    }
}

/// Where a peer lies; one that is built for a tier has a folder of its own.
fn folder(house: &House, name: &str, tier: Option<Tier>) -> PathBuf {
    let tier = tier.map_or_else(String::new, |tier| format!("-{}", tier.name()));
    house.tools().join("peers").join(format!("{name}{tier}"))
}

fn python_in(folder: &Path) -> PathBuf {
    folder.join("venv").join("bin").join("python")
}

impl Native {
    fn folder(&self, house: &House, tier: Option<Tier>) -> PathBuf {
        let name = format!("{}-{}", self.package, self.version);
        folder(house, &name, tier)
    }

    pub(super) fn python(&self, house: &House, tier: Option<Tier>) -> PathBuf {
        python_in(&self.folder(house, tier))
    }

    fn install(&self, house: &House, tier: Option<Tier>) -> Result<()> {
        let Native {
            package,
            version,
            sdist_sha256,
            module,
            flags,
        } = self;
        let folder = self.folder(house, tier);
        let done = folder.join(".ok");
        if done.is_file() {
            return Ok(());
        }
        let processor = tier.map_or("this processor", Tier::name);
        println!("building {package} {version} for {processor} (minutes)");
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
            .env("CMAKE_ARGS", format!("{} {flags}", ggml(tier)));
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
    LLAMA_CPP.install(house, None)?;
    let folder = LLAMA_CPP.folder(house, None);
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

pub(super) fn candle_folder(house: &House, tier: Option<Tier>) -> PathBuf {
    folder(house, "candle", tier)
}

/// Builds the small program around candle, which stands outside the workspace, for this very processor or a tier.
fn install_candle(house: &House, tier: Option<Tier>) -> Result<()> {
    let (processor, flags) = match tier {
        None => ("this processor", "-C target-cpu=native"),
        Some(Tier::Avx2) => ("avx2", "-C target-cpu=x86-64-v3"),
    };
    println!("building candle's runner for {processor}");
    Run::cargo()
        .args(["build", "--release", "--locked", "--manifest-path"])
        .arg(sources(house).join("candle").join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", candle_folder(house, tier))
        .env("RUSTFLAGS", flags)
        .show()
}

const FASTER_WHISPER: &str = "faster-whisper-1.2.1";

pub(super) fn faster_whisper_python(house: &House) -> PathBuf {
    python_in(&folder(house, FASTER_WHISPER, None))
}

/// Its wheels choose their code for the processor as they run.
fn install_faster_whisper(house: &House) -> Result<()> {
    let folder = folder(house, FASTER_WHISPER, None);
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
