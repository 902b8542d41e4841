//! Load on a server: `load` asks with many clients at once and compares what came with answers alone, `soak` sends thousands
//! of requests of every kind and watches the server's memory. `cargo xtask load` calls this program.
#![forbid(unsafe_code)]

mod http;
mod kinds;
mod load;
mod prompts;
mod server;
mod soak;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// What stops a run.
type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Load on `warpsmith serve`.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Clients that ask at the same time, beside `generate --prompts` and another server.
    Load(load::Args),
    /// Requests of every kind, wrong ones too, and what they leave behind.
    Soak(soak::Args),
}

fn main() -> ExitCode {
    let done = match Args::parse().command {
        Command::Load(args) => load::run(&args),
        Command::Soak(args) => soak::run(&args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
