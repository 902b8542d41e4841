//! Measures prefill, decode, loading, memory and PTX emission of Warpsmith, and sets them beside what peers measured.
//!
//! `cargo xtask bench` measures the peers and calls this program; alone it prints our own figures.
#![forbid(unsafe_code)]

mod args;
mod child;
mod host;
mod part;
mod report;
mod stats;

use args::{Args, Part};
use clap::Parser;
use std::process::ExitCode;

/// What stops a measurement.
type Failed = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match args.part {
        Some(part) => part::run(part, &args).map(|found| println!("{found}")),
        None => all(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Every part in a process of its own, then the report.
fn all(args: &Args) -> Result<(), Failed> {
    let peers = args.peers.as_deref().map(report::Peers::read).transpose()?;
    let parts = Part::ALL.into_iter().filter(|part| args.wants(*part));
    let again = if args.wants(Part::FirstToken) {
        args.runs
    } else {
        0
    };
    let bar = child::bar((parts.count() + again) as u64);
    let found = report::Found::measure(args, &bar)?;
    bar.finish_and_clear();
    let report = report::Report {
        found,
        peers: peers.unwrap_or_default(),
        note: args.note.clone(),
    };
    println!("{}", report.text());
    for file in report.write(&args.out)? {
        println!("written: {}", file.display());
    }
    Ok(())
}
