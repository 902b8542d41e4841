//! `check`: what can be found in PTX files without running them.

use super::{output::note, show::Show};
use anyhow::Result;
use clap::Args;
use std::{path::PathBuf, process::ExitCode};
use warpsmith::{
    ptx::{
        findings::Limits,
        target::{PtxVersion, Target},
    },
    report::{Report, Status, check_file},
};

/// Finds faults in PTX files without running them: barriers, registers, alignment, spaces, limits.
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  warpsmith check kernels.ptx --sm 80
  warpsmith check *.ptx --ptx-limit 7.8 --format sarif > findings.sarif

Targets: {targets}; sm_90(a) is sm_90 and sm_90a.

Exit status: 0 clean; 1 findings; 2 a file that cannot be read, does not parse, or has what is not supported here.", targets = Target::names(0)))]
pub(crate) struct Check {
    /// PTX files.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The device's target: 80, sm_90a [default: each module's].
    #[arg(long, value_name = "N")]
    sm: Option<Target>,
    /// The newest PTX version that the device's driver takes.
    #[arg(long, value_name = "V", value_parser = version)]
    ptx_limit: Option<PtxVersion>,
    #[command(flatten)]
    show: Show,
}

fn version(text: &str) -> Result<PtxVersion, String> {
    let parts = text.split_once('.').map(|(a, b)| (a.parse(), b.parse()));
    let Some((Ok(major), Ok(minor))) = parts else {
        return Err(format!("expected a version such as 7.8, found `{text}`"));
    };
    let version = PtxVersion::new(major, minor);
    match version.exists() {
        true => Ok(version),
        false => Err(format!(
            "no PTX version is known as {version}, those there are: {}",
            PtxVersion::names()
        )),
    }
}

impl Check {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let suppressions = match self.show.suppressions() {
            Ok(suppressions) => suppressions,
            Err(error) => {
                note(&format!("error: {}", super::output::one_line(&error)));
                return Ok(ExitCode::from(2));
            }
        };
        let limits = Limits {
            target: self.sm,
            ptx: self.ptx_limit,
        };
        let mut reports: Vec<Report> = Vec::new();
        for file in &self.files {
            let mut report = check_file(file, limits);
            report.suppress(&suppressions);
            self.show.settle(&mut report)?;
            reports.push(report);
        }
        self.show.all(reports.iter(), "check")?;
        let codes = reports.iter().map(|report| report.status());
        let worst = codes.map(Status::exit_code).max().unwrap_or(0);
        Ok(ExitCode::from(worst))
    }
}
