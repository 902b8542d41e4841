//! The engines we measure beside: installed privately under `.tools/peers`, each run by a small program.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::{Error, Result};
use crate::fetch::{Python, check, only_file};
use crate::house::House;
use crate::run::Run;

const LLAMA_CPP_PYTHON: &str = "0.3.36";
const LLAMA_CPP_PYTHON_SDIST_SHA256: &str =
    "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e";

/// An engine that reads the same GGUF files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Peer {
    LlamaCpp,
    Candle,
}

impl Peer {
    pub(crate) const ALL: [Peer; 2] = [Peer::LlamaCpp, Peer::Candle];
}

/// What each peer measures.
pub(crate) struct Plan {
    pub(crate) model: PathBuf,
    pub(crate) threads: usize,
    pub(crate) prefill: usize,
    pub(crate) decode: usize,
    pub(crate) runs: usize,
}

/// Installs one; nothing is done if it is there. llama.cpp takes some minutes to compile.
pub(crate) fn install(house: &House, peer: Peer) -> Result<()> {
    match peer {
        Peer::LlamaCpp => install_llama_cpp(house),
        Peer::Candle => install_candle(house),
    }
}

/// Runs one and returns what it printed.
pub(crate) fn measure(house: &House, peer: Peer, plan: &Plan) -> Result<Value> {
    let run = match peer {
        Peer::LlamaCpp => Run::new(llama_cpp_python(&llama_cpp_folder(house)))
            .arg(sources(house).join("run_llama_cpp.py")),
        Peer::Candle => Run::new(candle_folder(house).join("release").join("peer-candle"))
            .env("RAYON_NUM_THREADS", plan.threads.to_string()),
    };
    let run = run
        .arg("--model")
        .arg(&plan.model)
        .args(["--threads", &plan.threads.to_string()])
        .args(["--prefill", &plan.prefill.to_string()])
        .args(["--decode", &plan.decode.to_string()])
        .args(["--runs", &plan.runs.to_string()]);
    let command = run.line();
    println!("measuring: {command}");
    let text = run.read()?;
    serde_json::from_str(&text).map_err(|error| Error::Output {
        command,
        expected: "one JSON object",
        found: error.to_string(),
    })
}

fn sources(house: &House) -> PathBuf {
    house.root().join("bench").join("peers")
}

fn llama_cpp_folder(house: &House) -> PathBuf {
    house
        .tools()
        .join("peers")
        .join(format!("llama-cpp-python-{LLAMA_CPP_PYTHON}"))
}

fn llama_cpp_python(folder: &Path) -> PathBuf {
    folder.join("venv").join("bin").join("python")
}

/// Builds the binding from its source package for this very processor, in an environment of its own.
fn install_llama_cpp(house: &House) -> Result<()> {
    let folder = llama_cpp_folder(house);
    let done = folder.join(".ok");
    if done.is_file() {
        return Ok(());
    }
    println!("building llama-cpp-python {LLAMA_CPP_PYTHON} for this processor (minutes)");
    let sdist = folder.join("sdist");
    fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
    let _removed = fs::remove_dir_all(&sdist);
    let python = Python::venv(Python::find(house)?.program(), &folder.join("venv"))?;
    python
        .pip()
        .args([
            "download",
            "--quiet",
            "--no-deps",
            "--no-binary",
            "llama-cpp-python",
            "--dest",
        ])
        .arg(&sdist)
        .arg(format!("llama-cpp-python=={LLAMA_CPP_PYTHON}"))
        .show()?;
    let archive = only_file(&sdist)?;
    check(
        &archive,
        LLAMA_CPP_PYTHON_SDIST_SHA256,
        "source package llama-cpp-python",
    )?;
    python
        .pip()
        .args(["install", "--quiet", "--no-binary", "llama-cpp-python"])
        .arg(&archive)
        .env("CMAKE_ARGS", "-DGGML_NATIVE=ON")
        .show()?;
    fs::write(&done, "").map_err(Error::io(&done))
}

fn candle_folder(house: &House) -> PathBuf {
    house.tools().join("peers").join("candle")
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
