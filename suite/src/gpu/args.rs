//! The command line.

use clap::{Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use warpsmith::device::Selector;

/// Checks every kernel and the models on a card, and times them.
#[derive(Clone, Debug, Parser)]
#[command(name = "warpsmith-gpu", version)]
pub(super) struct Args {
    /// What to check: cuda:N, or virtual for a rehearsal on the virtual GPU.
    #[arg(long, default_value = "cuda:0", global = true)]
    pub(super) device: Selector,
    /// Folder of the reports.
    #[arg(long, default_value = "bench/results", global = true)]
    pub(super) out: PathBuf,
    /// Seconds for all of it; what does not fit is left out, and the report says so.
    #[arg(long, default_value_t = 420, global = true)]
    pub(super) budget: u64,
    /// Only these sections, in this order.
    #[arg(long, value_enum, value_delimiter = ',', global = true)]
    sections: Vec<Section>,
    /// Only kernel families whose name contains this.
    #[arg(long, default_value = "", global = true)]
    pub(super) only: String,
    /// Older targets that kernels are built for as well, where the card's own is later.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "90,80,75,70",
        global = true
    )]
    targets: Vec<String>,
    /// A GGUF file to run as well.
    #[arg(long, global = true)]
    pub(super) model: Option<PathBuf>,
    /// Processes that check kernels at the same time; 0 takes three for each four cores.
    #[arg(long, default_value_t = 0, global = true)]
    pub(super) jobs: usize,
    /// Seconds of silence after which a piece of work counts as hung.
    #[arg(long, default_value_t = 40, global = true)]
    pub(super) patience: u64,
    /// Small shapes in the timings, for a rehearsal.
    #[arg(long, global = true)]
    pub(super) small: bool,
    /// A piece of work; the program calls itself with it.
    #[command(subcommand)]
    pub(super) work: Option<Work>,
}

impl Args {
    /// The sections to run.
    pub(super) fn sections(&self) -> Vec<Section> {
        if self.sections.is_empty() {
            Section::value_variants().to_vec()
        } else {
            self.sections.clone()
        }
    }

    /// The targets beside `own`, as `sm_80`.
    pub(super) fn other_targets(&self, own: &str) -> Vec<String> {
        let named = self.targets.iter().map(|target| format!("sm_{target}"));
        named.filter(|target| target != own).collect()
    }

    /// The arguments that a worker is given beside its work.
    pub(super) fn for_worker(&self) -> Vec<String> {
        let mut words = vec!["--device".into(), self.device.to_string()];
        if let Some(model) = &self.model {
            words.extend(["--model".into(), model.display().to_string()]);
        }
        if self.small {
            words.push("--small".into());
        }
        words
    }
}

/// A part of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Section {
    /// Every registered kernel, built for the card, against its reference and the interpreter.
    Kernels,
    /// Small synthetic models against independent engines.
    Models,
    /// Streams, memory, errors, replays, caches.
    Checks,
    /// The model given by --model.
    Model,
    /// Times beside the copy bandwidth and cuBLAS.
    Timing,
    /// The kernels once more, built for the older targets of --targets.
    Targets,
}

/// A piece of work for a process of its own.
#[derive(Clone, Debug, Subcommand)]
#[command(hide = true)]
pub(super) enum Work {
    /// Cases of one kernel family.
    Kernels(KernelWork),
    /// The synthetic models.
    Models,
    /// The checks that leave the card whole.
    Checks,
    /// The check that does not.
    Illegal,
    /// The model given by --model.
    Model,
    /// One group of times.
    Timing {
        /// Which.
        group: Group,
    },
}

/// Cases of one kernel family.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct KernelWork {
    /// The family.
    #[arg(long)]
    pub(super) family: String,
    /// Target; the card's own unless given.
    #[arg(long)]
    pub(super) target: Option<String>,
    /// First case.
    #[arg(long)]
    pub(super) from: usize,
    /// One past the last case.
    #[arg(long)]
    pub(super) to: usize,
}

/// Times that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Group {
    /// Launches: eager, and in a replay.
    Launch,
    /// A decode step of a model of SmolLM2's shape with random weights.
    Decode,
    /// Products with one row.
    Gemv,
    /// Products with many rows.
    Gemm,
    /// Attention.
    Attention,
    /// Functions of single elements, and of rows.
    Pointwise,
}

impl Group {
    /// As the command line spells it.
    pub(super) fn name(self) -> String {
        self.to_possible_value()
            .map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
