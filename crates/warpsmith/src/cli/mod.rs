//! The commands, one file each, and what they share.

mod chat;
mod check;
mod completions;
mod context;
mod devices;
pub(crate) mod exec;
mod files;
mod generate;
mod generation;
mod grammar;
mod graph;
mod guided;
mod hub;
mod inspect;
mod interrupt;
mod kernels;
mod kind;
mod log;
mod logits;
mod logprobs;
mod man;
mod models;
mod open;
mod options;
pub(crate) mod output;
mod parallel;
mod perplexity;
mod pictures;
mod profile;
mod prompt;
mod report;
mod run;
mod serve;
mod show;
mod tokenize;
mod trace;
mod transcribe;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Pure-Rust transformer inference on NVIDIA cards, or on the virtual GPU where there is none.
#[derive(Debug, Parser)]
// Of an option that is given twice the last counts, so that a script's options can be followed by others.
#[command(
    name = "warpsmith",
    version,
    max_term_width = 100,
    args_override_self = true
)]
#[command(after_help = "Examples:
  warpsmith generate --model smollm2.gguf \"Explain warps in one line\"
  warpsmith chat --model smollm2.gguf
  warpsmith perplexity --model smollm2.gguf text.txt
  warpsmith transcribe --model whisper-base speech.flac --format srt
  warpsmith serve --model smollm2.gguf --whisper whisper-base
  warpsmith models list
  warpsmith profile --model smollm2.gguf --out profile
  warpsmith devices
  warpsmith kernels emit softmax --sm 90
  warpsmith check kernels.ptx --sm 80
  warpsmith run --script fault.json --check
  warpsmith exec --check -- python train_step.py

Exit status: 0; 1 for an error, in one line on standard error; 2 for wrong usage; 130 after Ctrl-C.
RUST_LOG=info (or debug, or warpsmith_device=trace) writes to standard error what is loaded, planned, built and launched.
NO_COLOR=1 keeps colours out of help, errors and reports.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Only errors and warnings go to standard error: no summary, no progress.
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Generate(generate::Generate),
    Logits(logits::Logits),
    Perplexity(perplexity::Perplexity),
    Chat(chat::Chat),
    Transcribe(transcribe::Transcribe),
    Inspect(inspect::Inspect),
    Graph(graph::ShowGraph),
    Profile(profile::ProfileModel),
    Tokenize(tokenize::Tokenize),
    Devices(devices::ListDevices),
    Kernels(kernels::Kernels),
    Run(run::RunPtx),
    Serve(serve::Serve),
    Models(models::Models),
    Check(check::Check),
    Exec(exec::Exec),
    Completions(completions::Completions),
    Man(man::ManualPages),
}

/// Runs the command; the code is not zero for an interrupted generation and for findings.
pub(crate) fn run(cli: Cli) -> Result<ExitCode> {
    interrupt::install()?;
    log::listen()?;
    if cli.quiet {
        output::be_quiet();
    }
    match cli.command {
        Command::Generate(command) => command.run(),
        Command::Chat(command) => command.run(),
        Command::Transcribe(command) => command.run(),
        Command::Logits(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Perplexity(command) => command.run(),
        Command::Graph(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Profile(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Inspect(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Tokenize(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Devices(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Kernels(command) => command.run(),
        Command::Run(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Models(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Check(command) => command.run(),
        Command::Exec(command) => command.run(),
        Command::Completions(command) => command.run().map(|()| ExitCode::SUCCESS),
        Command::Man(command) => command.run().map(|()| ExitCode::SUCCESS),
    }
}
