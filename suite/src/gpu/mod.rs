//! Checks and times everything on a card, in a program that needs no file beside it.
//!
//! The program starts itself again for each piece of work, so that a kernel that hangs or takes the card's context down
//! costs that piece only. Workers print a line of JSON for each result; what they found is in the report
//! as soon as it is known.

mod args;
mod card;
mod checks;
mod child;
mod cublas;
mod found;
mod kernels;
mod line;
mod model_file;
mod models;
mod report;
mod speed;
mod timing;

use args::{Args, Section, Work};
use clap::Parser;
use report::Report;
use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

/// What goes wrong in this program, for people.
pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Runs the program.
pub fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(work) = &args.work {
        return worker(&args, work);
    }
    match check(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// All sections; whether all was well.
fn check(args: &Args) -> Result<bool, Failed> {
    let start = Instant::now();
    let deadline = start + Duration::from_secs(args.budget);
    let found = found::found(&args.device)?;
    eprintln!("{found}");
    let mut report = Report::new(args, found)?;
    for section in args.sections() {
        let left = deadline.saturating_duration_since(Instant::now());
        eprintln!("== {section:?}, {:.0} s left", left.as_secs_f64());
        match section {
            Section::Kernels => kernels::run(args, vec![None], deadline, &mut report),
            Section::Targets => {
                let others = args.other_targets(&report.found().target);
                let others = others.into_iter().map(Some).collect();
                kernels::run(args, others, deadline, &mut report);
            }
            Section::Models => models::run(args, deadline, &mut report),
            Section::Checks => checks::run(args, deadline, &mut report),
            Section::Model => model_file::run(args, deadline, &mut report),
            Section::Timing => timing::run(args, deadline, &mut report),
        }
        report.section_done(section, start.elapsed());
        report.write()?;
    }
    eprintln!("{}", report.summary());
    eprintln!("report: {}", report.path().display());
    Ok(report.is_well())
}

/// One piece of work, in a process of its own.
fn worker(args: &Args, work: &Work) -> ExitCode {
    line::tell_of_panics();
    let done = match work {
        Work::Kernels(work) => kernels::work(args, work),
        Work::Models => models::work(args),
        Work::Checks => checks::work(args),
        Work::Illegal => checks::illegal(args),
        Work::Model => model_file::work(args),
        Work::Timing { group } => timing::work(args, *group),
    };
    match done {
        Ok(()) => {
            line::emit(&line::Line::Done);
            ExitCode::SUCCESS
        }
        Err(error) => {
            line::emit(&line::Line::Trouble {
                text: error.to_string(),
            });
            ExitCode::FAILURE
        }
    }
}
