//! Options that several commands have.

use super::hub;
use anyhow::Result;
use clap::{Args, ValueEnum};
use std::{
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};
use warpsmith::{
    device::Selector,
    graph::Precision,
    models::{Files, Rounding, llama::Run, sampling::SamplerConfig},
};

/// The model, and where and how it runs.
#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// A GGUF file, a folder with config.json, tokenizer.json and safetensors, or hf:OWNER/NAME[:FILE], which is fetched
    /// once.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) model: PathBuf,
    /// Rounds F32, F16 and BF16 matrices to blocks of this type while they are loaded: q8_0, q5_1, q5_0, q4_1 or q4_0
    /// [default: all stay what they are in the file].
    #[arg(long, value_name = "TYPE")]
    pub(crate) weights: Option<Rounding>,
    /// auto (a card if there is one, else the virtual GPU), cuda:N, virtual, or virtual:SETTINGS as in
    /// virtual:t4 or virtual:sm75,sms=40,memory=15GiB,shared=64KiB,cooperative=80,ptx=6.5; presets are t4, a100,
    /// rtx3060, h100; kernels=card runs the kernels that a card would be given, as presets do; tier=baseline|avx2|avx512
    /// and code=compiled|interpreted say how they are run.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub(crate) device: Selector,
    /// Threads of the virtual GPU [default: one for each core].
    #[arg(long, short = 't', value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Tokens that the context holds [default: the model's, at most 4096, more if the prompt needs more].
    #[arg(long, short = 'c', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) ctx_size: Option<u32>,
    /// exact: f32 throughout; fast: tensor cores on f16, 8-bit activations, f16 cache.
    #[arg(long, value_name = "P", value_enum, default_value_t = PrecisionArg::Fast)]
    pub(crate) precision: PrecisionArg,
    /// How tokens are made: eager launches each operation, replay launches a recorded step at once, persistent makes
    /// all tokens in one launch.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = RunArg::Replay)]
    pub(crate) run: RunArg,
    /// Most tokens that one launch of a persistent run makes, for cards whose display waits meanwhile [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) tokens_per_launch: Option<u32>,
}

impl ModelArgs {
    /// Has the model be on this machine.
    ///
    /// # Errors
    /// One that cannot be fetched.
    pub(crate) fn localise(&mut self) -> Result<()> {
        hub::localise(&mut self.model)
    }

    /// The model's files, and what its matrices become.
    pub(crate) fn files(&self) -> Files<'_> {
        Files {
            path: &self.model,
            rounding: self.weights,
        }
    }
}

/// [`Run`] on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RunArg {
    Eager,
    Replay,
    Persistent,
}

impl From<RunArg> for Run {
    fn from(arg: RunArg) -> Run {
        match arg {
            RunArg::Eager => Run::Eager,
            RunArg::Replay => Run::Replay,
            RunArg::Persistent => Run::Persistent,
        }
    }
}

/// [`Precision`] on the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PrecisionArg {
    Exact,
    Fast,
}

impl From<PrecisionArg> for Precision {
    fn from(arg: PrecisionArg) -> Precision {
        match arg {
            PrecisionArg::Exact => Precision::Exact,
            PrecisionArg::Fast => Precision::Fast,
        }
    }
}

/// How tokens are drawn.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct SamplerArgs {
    /// Divides the logits; 0 always takes the most probable token.
    #[arg(
        long,
        visible_alias = "temp",
        value_name = "T",
        default_value_t = 0.8,
        allow_negative_numbers = true
    )]
    temperature: f32,
    /// Keeps the K most probable tokens; 0 keeps all.
    #[arg(long, value_name = "K", default_value_t = 40)]
    top_k: u32,
    /// Keeps the most probable tokens that together have probability P; 1 keeps all.
    #[arg(
        long,
        value_name = "P",
        default_value_t = 0.95,
        allow_negative_numbers = true
    )]
    top_p: f32,
    /// Keeps tokens at least M times as probable as the most probable one; 0 keeps all.
    #[arg(
        long,
        value_name = "M",
        default_value_t = 0.05,
        allow_negative_numbers = true
    )]
    min_p: f32,
    /// Makes tokens that came before less probable; 1 does not.
    #[arg(
        long,
        value_name = "R",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    repeat_penalty: f32,
    /// The same seed draws the same tokens [default: from the clock; the one used is reported].
    #[arg(long, short = 's', value_name = "S")]
    seed: Option<u64>,
}

impl SamplerArgs {
    /// The settings, checked; the clock gives the seed that was not given.
    pub(crate) fn config(&self) -> Result<SamplerConfig> {
        let clock = || {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |time| time.as_nanos() as u64)
        };
        let config = SamplerConfig {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repeat_penalty: self.repeat_penalty,
            seed: self.seed.unwrap_or_else(clock),
        };
        config.validate()?;
        Ok(config)
    }
}
