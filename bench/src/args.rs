//! The command line.

use clap::ValueEnum;
use std::path::PathBuf;
use warpsmith::vgpu::Tier;

/// Speed of Warpsmith on the virtual GPU, beside its peers.
#[derive(Clone, clap::Parser)]
#[command(version)]
pub(crate) struct Args {
    /// What peers measured, as `cargo xtask bench` writes it.
    #[arg(long)]
    pub(crate) peers: Option<PathBuf>,
    /// The GGUF file.
    #[arg(long)]
    pub(crate) model: PathBuf,
    /// A Whisper model, for the figures of speech.
    #[arg(long, requires = "clip")]
    pub(crate) whisper: Option<PathBuf>,
    /// The sound that it turns into text.
    #[arg(long, requires = "whisper")]
    pub(crate) clip: Option<PathBuf>,
    /// Threads that run CTAs.
    #[arg(long, default_value_t = 2)]
    pub(crate) threads: usize,
    /// Prompt tokens of the prefill measurement.
    #[arg(long, default_value_t = 512)]
    pub(crate) prefill: usize,
    /// Tokens of the decode measurement.
    #[arg(long, default_value_t = 128)]
    pub(crate) decode: usize,
    /// Counted runs; one more comes first to warm up.
    #[arg(long, default_value_t = 5)]
    pub(crate) runs: usize,
    /// A remark on the circumstances, for the report.
    #[arg(long)]
    pub(crate) note: Option<String>,
    /// The folder that the report is written to.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/results"))]
    pub(crate) out: PathBuf,
    /// Runs as on a CPU that has no more than this.
    #[arg(long, value_enum)]
    pub(crate) tier: Option<Vectors>,
    /// A `warpsmith` with the driver library inside, for the figures of `exec`.
    #[arg(long, requires = "python")]
    pub(crate) warpsmith: Option<PathBuf>,
    /// A Python with tinygrad, Numba and cuda.core, which it runs.
    #[arg(long, requires = "warpsmith")]
    pub(crate) python: Option<PathBuf>,
    /// Only these CUDA programs.
    #[arg(long = "program", value_name = "NAME")]
    pub(crate) programs: Vec<String>,
    /// Measures the parts about this alone.
    #[arg(long, value_enum)]
    pub(crate) only: Option<Subject>,
    /// Measures this alone, in this process, and prints JSON.
    #[arg(long, value_enum, conflicts_with = "only")]
    pub(crate) part: Option<Part>,
}

impl Args {
    /// Whether a part is asked for.
    pub(crate) fn wants(&self, part: Part) -> bool {
        self.only.is_none_or(|only| part.is_about(only))
    }
}

/// Vector instructions that code is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Vectors {
    Avx2,
    Avx512,
}

impl Vectors {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Vectors::Avx2 => "avx2",
            Vectors::Avx512 => "avx512",
        }
    }

    pub(crate) fn tier(self) -> Tier {
        match self {
            Vectors::Avx2 => Tier::Avx2,
            Vectors::Avx512 => Tier::Avx512,
        }
    }
}

/// What parts are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Subject {
    /// Tokens of a language model.
    Text,
    /// A clip to text.
    Speech,
    /// Kernels.
    Kernels,
    /// Programs under `warpsmith exec`.
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

/// Something that is measured in a process of its own, so that no peak of memory and no cache is another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// From the start of the process to its first token.
    FirstToken,
    /// A prompt.
    Prefill,
    /// Tokens one by one.
    Decode,
    /// A prompt of 2,048 tokens, and tokens behind 2,000.
    Long,
    /// Kernels of a prompt by time.
    PrefillShare,
    /// Kernels of a token by time.
    DecodeShare,
    /// What the machine allows: memory bandwidth and arithmetic.
    Floor,
    /// Kernels to PTX.
    Emission,
    /// Products of matrices, and launches.
    Micro,
    /// What the checks of running kernels cost.
    Checker,
    /// Several sequences at once.
    Throughput,
    /// A clip to text.
    Speech,
    /// A clip to text, weights rounded to blocks of 8 bits.
    #[value(name = "speech-q8_0")]
    SpeechQ8,
    /// Eager, replayed and persistent runs.
    Ways,
    /// CUDA programs interpreted, compiled, and in C++.
    Programs,
    /// Programs under `warpsmith exec`.
    Exec,
}

impl Part {
    pub(crate) const ALL: [Part; 16] = [
        Part::FirstToken,
        Part::Prefill,
        Part::Decode,
        Part::Long,
        Part::PrefillShare,
        Part::DecodeShare,
        Part::Floor,
        Part::Emission,
        Part::Micro,
        Part::Checker,
        Part::Throughput,
        Part::Speech,
        Part::SpeechQ8,
        Part::Ways,
        Part::Programs,
        Part::Exec,
    ];

    fn is_about(self, subject: Subject) -> bool {
        match self {
            Part::FirstToken
            | Part::Prefill
            | Part::Decode
            | Part::Long
            | Part::PrefillShare
            | Part::DecodeShare
            | Part::Throughput
            | Part::Ways => subject == Subject::Text,
            Part::Speech | Part::SpeechQ8 => subject == Subject::Speech,
            Part::Floor => subject != Subject::Exec,
            Part::Exec => subject == Subject::Exec,
            Part::Emission | Part::Micro | Part::Checker | Part::Programs => {
                subject == Subject::Kernels
            }
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::FirstToken => "first-token",
            Part::Prefill => "prefill",
            Part::Decode => "decode",
            Part::Long => "long",
            Part::PrefillShare => "prefill-share",
            Part::DecodeShare => "decode-share",
            Part::Floor => "floor",
            Part::Emission => "emission",
            Part::Micro => "micro",
            Part::Checker => "checker",
            Part::Throughput => "throughput",
            Part::Speech => "speech",
            Part::SpeechQ8 => "speech-q8_0",
            Part::Ways => "ways",
            Part::Programs => "programs",
            Part::Exec => "exec",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_measured_and_answers_to_the_name_that_a_child_is_told() {
        assert_eq!(Part::ALL, Part::value_variants());
        for part in Part::ALL {
            assert_eq!(Part::from_str(part.name(), false), Ok(part));
            let about = Subject::value_variants().iter();
            assert!(about.filter(|subject| part.is_about(**subject)).count() > 0);
        }
        for subject in Subject::value_variants() {
            assert_eq!(Subject::from_str(subject.name(), false), Ok(*subject));
        }
        for vectors in Vectors::value_variants() {
            assert_eq!(Vectors::from_str(vectors.name(), false), Ok(*vectors));
        }
    }
}
