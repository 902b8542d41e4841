//! How reports are printed: as text, JSON or SARIF, without what is suppressed.

use super::output::{print, print_json};
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use std::{
    io::{self, IsTerminal},
    path::PathBuf,
};
use warpsmith::{
    formats::input,
    report::{Folders, Issue, Paint, Report, Source, Suppressions, json, sarif},
};

/// Bytes of a list of known findings at most.
const LONGEST: u64 = 64 << 20;

/// How reports are printed.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// text, json, or sarif (2.1.0).
    #[arg(long, value_name = "F", value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// A file of known findings, `KIND KERNEL LINE` a line, each of them or `*`.
    #[arg(long, value_name = "FILE")]
    suppress: Option<PathBuf>,
}

/// A format of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Sarif,
}

impl Show {
    /// What is not reported.
    pub(crate) fn suppressions(&self) -> Result<Suppressions> {
        let Some(path) = &self.suppress else {
            return Ok(Suppressions::default());
        };
        let text = input::text(path, LONGEST)
            .with_context(|| format!("cannot read {}", path.display()))?;
        text.parse().with_context(|| path.display().to_string())
    }

    /// Lets findings be at places of the user's own files.
    ///
    /// # Errors
    /// A current folder that cannot be found.
    pub(crate) fn settle(&self, report: &mut Report) -> Result<()> {
        report.settle(&folders()?);
        Ok(())
    }

    /// Prints one report; `category` tells it from what other commands upload.
    pub(crate) fn one(&self, report: &Report, category: &str) -> Result<()> {
        match self.format {
            Format::Text => print(&report.to_text(paint())),
            Format::Json => print_json(&report.to_json()),
            Format::Sarif => print_json(&sarif(&[report], &folders()?, category)),
        }
    }

    /// Prints what was not drawn before of a report.
    pub(crate) fn rest(&self, report: &Report, drawn: &[Issue], category: &str) -> Result<()> {
        match self.format {
            Format::Text => print(&report.rest_to_text(paint(), drawn)),
            Format::Json | Format::Sarif => self.one(report, category),
        }
    }

    /// Draws one issue.
    pub(crate) fn issue(source: &Source, issue: &Issue) -> String {
        let mut issue = issue.clone();
        if let Ok(folders) = folders() {
            issue.settle(&folders);
        }
        source.draw(&issue, paint())
    }

    /// The reports of several files as one text, of JSON or SARIF.
    ///
    /// # Errors
    /// A current folder that cannot be found.
    pub(crate) fn several(&self, reports: &[Report], category: &str) -> Result<String> {
        let reports: Vec<&Report> = reports.iter().collect();
        let value = match self.format {
            Format::Text => return Ok(reports.iter().map(|one| one.to_text(paint())).collect()),
            Format::Json => json(&reports),
            Format::Sarif => sarif(&reports, &folders()?, category),
        };
        Ok(serde_json::to_string_pretty(&value)? + "\n")
    }

    /// A report as text for this standard output.
    pub(crate) fn text(&self, report: &Report) -> String {
        report.to_text(paint())
    }

    /// Prints the reports of several files as one.
    pub(crate) fn all<'r>(
        &self,
        reports: impl Iterator<Item = &'r Report>,
        category: &str,
    ) -> Result<()> {
        let reports: Vec<&Report> = reports.collect();
        match self.format {
            Format::Text => reports
                .iter()
                .try_for_each(|report| self.one(report, category)),
            Format::Json => print_json(&json(&reports)),
            Format::Sarif => print_json(&sarif(&reports, &folders()?, category)),
        }
    }
}

/// Where names of files begin, and the repository: the nearest folder above with `.git` in it, else the same.
fn folders() -> Result<Folders> {
    let current = std::env::current_dir().context("cannot find the current folder")?;
    let root = current
        .ancestors()
        .find(|folder| folder.join(".git").exists());
    let root = root.unwrap_or(&current).to_owned();
    Ok(Folders { current, root })
}

/// Colours for a terminal, if nobody asked for none.
fn paint() -> Paint {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    if wanted && io::stdout().is_terminal() {
        Paint::Colours
    } else {
        Paint::Plain
    }
}
