//! Project automation: `cargo xtask help`.
#![forbid(unsafe_code)]

mod bench;
mod ci;
mod cuda;
mod demo;
mod error;
mod fetch;
mod gpu;
mod house;
mod peers;
mod pinned;
mod run;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::Result;
use crate::house::House;

/// Project automation, run as `cargo xtask COMMAND`.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything CI runs, in order, up to the first failure.
    Test {
        /// Run this step alone.
        #[arg(long, value_name = "STEP")]
        only: Option<ci::Step>,
    },
    /// Fetch a small language model, build, and let it answer.
    Demo {
        /// What to ask it.
        #[arg(default_value = "Explain warps in one line")]
        prompt: String,
    },
    /// Download what the tests and the demo need; nothing is done twice.
    Fetch {
        #[arg(default_value = "all")]
        what: fetch::What,
    },
    /// Check the rules of the house that a program can check.
    Tidy,
    /// Measure beside other engines: same file, same threads, medians.
    Bench(bench::Args),
    /// Compile the suite's CUDA programs again, and compute what they should give.
    Cuda {
        /// Programs; all if none is named.
        names: Vec<String>,
    },
    /// Build the program that checks and times everything on a card, and run it.
    Gpu(gpu::Args),
}

fn main() -> ExitCode {
    let args = Args::parse();
    match dispatch(args.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: Command) -> Result<()> {
    let house = House::find()?;
    match command {
        Command::Test { only } => ci::test(&house, only),
        Command::Demo { prompt } => demo::demo(&house, &prompt),
        Command::Fetch { what } => fetch::fetch(&house, what),
        Command::Tidy => tidy::tidy(&house),
        Command::Bench(args) => bench::bench(&house, &args),
        Command::Cuda { names } => cuda::cuda(&house, &names),
        Command::Gpu(args) => gpu::gpu(&house, &args),
    }
}
