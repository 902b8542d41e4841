//! `warpsmith`: the command line.
#![forbid(unsafe_code)]

mod cli;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run(cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) if cli::output::is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            cli::output::warn(&format!("error: {}", cli::output::one_line(&error)));
            ExitCode::FAILURE
        }
    }
}
