//! Project automation: `cargo xtask help`.
#![forbid(unsafe_code)]

mod bench;
mod ci;
mod clients;
mod cuda;
mod cuda_clients;
mod demo;
mod dist;
mod error;
mod exec_clients;
mod fetch;
mod gpu;
mod house;
mod load;
mod page;
mod peers;
mod pinned;
mod programs;
mod python;
mod run;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::ci::Tests;
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
        #[arg(long, value_name = "STEP", conflicts_with = "quick")]
        only: Option<ci::Step>,
        /// Formatting, rules and the tests that run no model, for while one works.
        #[arg(long)]
        quick: bool,
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
    /// Make an archive for other machines: the program, completions, manual pages, checksums.
    Dist(dist::Args),
    /// The test of the server's clients with LiteLLM too.
    Clients,
    /// Triton, tinygrad and cuda.core under `warpsmith exec`, plainly and checked: a few hundred checks.
    ExecClients,
    /// Many clients at once on the server, or thousands of requests of every kind.
    Load(load::Args),
    /// Drive the page of the server in headless Chromium, with real models.
    Page(page::Args),
    /// Make a wheel of the Python package for other machines, and run the package's tests with it.
    Wheel(python::Args),
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
        Command::Test {
            only: Some(step), ..
        } => ci::test(&house, &[step], Tests::All),
        Command::Test { quick: true, .. } => ci::test(&house, &ci::QUICK, Tests::Quick),
        Command::Test { .. } => ci::test(&house, &ci::Step::ALL, Tests::All),
        Command::Demo { prompt } => demo::demo(&house, &prompt),
        Command::Fetch { what } => fetch::fetch(&house, what),
        Command::Tidy => tidy::tidy(&house),
        Command::Bench(args) => bench::bench(&house, &args),
        Command::Cuda { names } => cuda::cuda(&house, &names),
        Command::Gpu(args) => gpu::gpu(&house, &args),
        Command::Dist(args) => dist::dist(&house, &args),
        Command::Clients => clients::clients(&house),
        Command::ExecClients => exec_clients::exec_clients(&house),
        Command::Load(args) => load::load(&house, &args),
        Command::Page(args) => page::page(&house, &args),
        Command::Wheel(args) => python::wheel(&house, &args),
    }
}
