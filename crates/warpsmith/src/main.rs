//! `warpsmith`: the command line.
#![forbid(unsafe_code)]

mod cli;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    if args
        .next()
        .is_some_and(|name| cli::exec::ptxas::is_wanted(&name))
    {
        return cli::exec::ptxas::run(args);
    }
    match cli::run(cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) if cli::output::is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            cli::output::warn(&format!("error: {}", cli::output::one_line(&error)));
            ExitCode::FAILURE
        }
    }
}
