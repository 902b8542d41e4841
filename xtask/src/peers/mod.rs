//! The engines we measure beside: installed privately under `.tools/peers`, each run by a small program.

mod compiler;
mod install;

use std::path::PathBuf;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::house::House;
use crate::run::Run;

pub(crate) use install::install;

/// Vector instructions that peers are built for, and keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Tier {
    Avx2,
}

impl Tier {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tier::Avx2 => "avx2",
        }
    }
}

/// What is measured; the names are those of `warpsmith-bench --only`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Subject {
    /// Tokens of a language model.
    Text,
    /// A clip to text.
    Speech,
    /// Kernels, which have no peers here.
    Kernels,
    /// Programs under `warpsmith exec`, beside numpy.
    Exec,
}

impl Subject {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Subject::Text => "text",
            Subject::Speech => "speech",
            Subject::Kernels => "kernels",
            Subject::Exec => "exec",
        }
    }
}

/// An engine that reads the same files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Peer {
    LlamaCpp,
    Candle,
    FasterWhisper,
    /// The same with weights of 8 bits.
    FasterWhisperInt8,
    WhisperCpp,
}

impl Peer {
    pub(crate) const ALL: [Peer; 5] = [
        Peer::LlamaCpp,
        Peer::Candle,
        Peer::FasterWhisper,
        Peer::FasterWhisperInt8,
        Peer::WhisperCpp,
    ];

    pub(crate) fn subject(self) -> Subject {
        match self {
            Peer::LlamaCpp | Peer::Candle => Subject::Text,
            Peer::FasterWhisper | Peer::FasterWhisperInt8 | Peer::WhisperCpp => Subject::Speech,
        }
    }
}

/// What each peer measures.
pub(crate) struct Plan {
    pub(crate) model: PathBuf,
    /// A folder with a Whisper model in CTranslate2's layout, and the sound that it turns into text.
    pub(crate) whisper: PathBuf,
    pub(crate) clip: PathBuf,
    pub(crate) threads: usize,
    pub(crate) prefill: usize,
    pub(crate) decode: usize,
    pub(crate) runs: usize,
    /// `None`: what this processor has.
    pub(crate) tier: Option<Tier>,
}

/// Runs one and returns what it printed.
pub(crate) fn measure(house: &House, peer: Peer, plan: &Plan) -> Result<Value> {
    let run =
        match peer {
            Peer::LlamaCpp => Run::new(install::LLAMA_CPP.python(house, plan.tier))
                .arg(sources(house).join("run_llama_cpp.py")),
            Peer::Candle => {
                Run::new(install::candle_folder(house, plan.tier).join("release/peer-candle"))
                    .env("RAYON_NUM_THREADS", plan.threads.to_string())
            }
            Peer::FasterWhisper => listener(house, install::faster_whisper_python(house)).args([
                "faster-whisper",
                "--kind",
                "float32",
            ]),
            Peer::FasterWhisperInt8 => listener(house, install::faster_whisper_python(house))
                .args(["faster-whisper", "--kind", "int8"]),
            Peer::WhisperCpp => listener(house, install::WHISPER_CPP.python(house, plan.tier))
                .args(["whisper.cpp", "--filters"])
                .arg(house.root().join("suite/reference/whisper")),
        };
    let run = match plan.tier {
        // Of the libraries in its wheels, each has its own word for this.
        Some(Tier::Avx2) => run
            .env("CT2_FORCE_CPU_ISA", "AVX2")
            .env("MKL_ENABLE_INSTRUCTIONS", "AVX2")
            .env("ONEDNN_MAX_CPU_ISA", "AVX2"),
        None => run,
    };
    let run = match peer.subject() {
        Subject::Speech => run
            .arg("--model")
            .arg(&plan.whisper)
            .arg("--clip")
            .arg(&plan.clip),
        Subject::Text | Subject::Kernels | Subject::Exec => run
            .arg("--model")
            .arg(&plan.model)
            .args(["--prefill", &plan.prefill.to_string()])
            .args(["--decode", &plan.decode.to_string()]),
    };
    let run = run
        .args(["--threads", &plan.threads.to_string()])
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

/// The Python whose llama-cpp-python has its server, installed if it is not there.
pub(crate) fn llama_cpp_server(house: &House) -> Result<PathBuf> {
    install::llama_cpp_server(house)?;
    Ok(install::LLAMA_CPP.python(house, None))
}

fn sources(house: &House) -> PathBuf {
    house.root().join("bench").join("peers")
}

fn listener(house: &House, python: PathBuf) -> Run {
    Run::new(python).arg(sources(house).join("run_whisper.py"))
}
