//! `cargo xtask gpu`: builds the self-contained program that checks and times a card, and runs it where there is one.

use std::fs;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::house::House;
use crate::run::Run;

/// What to do with the program.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build `target/gpu/warpsmith-gpu` and stop.
    #[arg(long)]
    build_only: bool,
    /// Passed on to the program; see its `--help`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

const PROGRAM: &str = "warpsmith-gpu";
/// The profile, which also names the folder: stripped, without debug information.
const PROFILE: &str = "gpu";

/// The program travels to machines that nothing else reaches; this is what fits.
const MOST_BYTES: u64 = 60 << 20;

/// Builds, checks the size, runs.
pub(crate) fn gpu(house: &House, args: &Args) -> Result<()> {
    let program = build(house)?;
    if args.build_only {
        return Ok(());
    }
    Run::new(&program)
        .args(&args.rest)
        .current_dir(house.root())
        .show()
}

fn build(house: &House) -> Result<PathBuf> {
    house
        .cargo([
            "build",
            "--profile",
            PROFILE,
            "--package",
            "warpsmith-suite",
            "--bin",
            PROGRAM,
        ])
        // Cards have a driver: none is needed inside of `warpsmith`.
        .env("WARPSMITH_EMBED", "0")
        .show()?;
    let program = house.program(PROFILE, PROGRAM)?;
    let bytes = fs::metadata(&program).map_err(Error::io(&program))?.len();
    println!("{}: {:.1} MiB", program.display(), bytes as f64 / 1048576.0);
    if bytes >= MOST_BYTES {
        return Err(Error::TooLarge {
            path: program,
            bytes,
            most: MOST_BYTES,
        });
    }
    Ok(program)
}
