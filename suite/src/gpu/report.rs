//! The report: collected as workers tell, written as Markdown and JSON as soon as there is something new.

use super::{
    Failed,
    args::{Args, Section},
    found::Found,
    line::{CaseLine, CheckLine, ModelLine, TimeLine, Wrong},
};
use serde::Serialize;
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// All that was found so far.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    found: Found,
    kernels: Vec<KernelRow>,
    models: Vec<ModelLine>,
    checks: Vec<CheckLine>,
    model: Vec<String>,
    times: Vec<TimeLine>,
    notes: Vec<String>,
    /// Seconds after which each section was done.
    done: Vec<(String, f64)>,
    #[serde(skip)]
    path: PathBuf,
}

/// A family of kernels on one target.
#[derive(Debug, Serialize)]
pub(super) struct KernelRow {
    family: String,
    target: String,
    cases: usize,
    passed: usize,
    unsupported: usize,
    failed: usize,
    /// Passed cases whose results have the interpreter's bits.
    same_bits: usize,
    elements: u64,
    differ: u64,
    /// Seconds to compile and load, of all cases together.
    load: f64,
    failures: Vec<CaseFailure>,
}

#[derive(Debug, Serialize)]
struct CaseFailure {
    case: String,
    card: Vec<Wrong>,
    interpreter: Vec<Wrong>,
}

impl KernelRow {
    pub(super) fn new(family: &str, target: &str, cases: usize) -> KernelRow {
        KernelRow {
            family: family.to_owned(),
            target: target.to_owned(),
            cases,
            passed: 0,
            unsupported: 0,
            failed: 0,
            same_bits: 0,
            elements: 0,
            differ: 0,
            load: 0.0,
            failures: Vec::new(),
        }
    }

    fn not_run(&self) -> usize {
        self.cases
            .saturating_sub(self.passed + self.unsupported + self.failed)
    }
}

impl Report {
    /// An empty report for a device.
    ///
    /// # Errors
    /// Where its folder cannot be made.
    pub(super) fn new(args: &Args, found: Found) -> Result<Report, Failed> {
        fs::create_dir_all(&args.out)
            .map_err(|error| format!("{}: {error}", args.out.display()))?;
        let name: String = found
            .card
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_lowercase()
                } else {
                    '-'
                }
            })
            .collect();
        Ok(Report {
            found,
            kernels: Vec::new(),
            models: Vec::new(),
            checks: Vec::new(),
            model: Vec::new(),
            times: Vec::new(),
            notes: Vec::new(),
            done: Vec::new(),
            path: args.out.join(format!("gpu-{name}.md")),
        })
    }

    pub(super) fn found(&self) -> &Found {
        &self.found
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn kernel(&mut self, row: KernelRow) {
        self.kernels.push(row);
    }

    /// A case of a family on a target.
    pub(super) fn case(&mut self, family: &str, target: &str, case: CaseLine) {
        let row = self
            .kernels
            .iter_mut()
            .find(|row| row.family == family && row.target == target);
        let Some(row) = row else { return };
        row.load += case.load;
        if case.unsupported {
            row.unsupported += 1;
        } else if case.failures.is_empty() && case.interpreter.is_empty() {
            row.passed += 1;
            row.same_bits += usize::from(case.differ == 0);
            row.elements += case.elements;
            row.differ += case.differ;
        } else {
            row.failed += 1;
            for wrong in case.failures.iter().chain(&case.interpreter) {
                eprintln!("FAILED {target} {}: {}", case.label, wrong.text);
            }
            row.failures.push(CaseFailure {
                case: case.label,
                card: case.failures,
                interpreter: case.interpreter,
            });
        }
    }

    /// Says how far the kernels are, and writes what there is.
    pub(super) fn share_done(&self) {
        let all: usize = self.kernels.iter().map(|row| row.cases).sum();
        let left: usize = self.kernels.iter().map(KernelRow::not_run).sum();
        let failed: usize = self.kernels.iter().map(|row| row.failed).sum();
        eprintln!("kernels: {} of {all} cases, {failed} failed", all - left);
        self.progress();
    }

    pub(super) fn model(&mut self, line: ModelLine) {
        let sign = if line.well { "ok    " } else { "FAILED" };
        eprintln!("{sign} {} {}: {}", line.model, line.how, line.result);
        self.models.push(line);
        self.progress();
    }

    pub(super) fn check(&mut self, line: CheckLine) {
        let sign = if line.well { "ok    " } else { "FAILED" };
        eprintln!("{sign} {}: {}", line.what, line.result);
        self.checks.push(line);
    }

    pub(super) fn time(&mut self, line: TimeLine) {
        eprintln!("{}", row(&line).join("  "));
        self.times.push(line);
        self.progress();
    }

    /// A fact about the model that was given.
    pub(super) fn model_fact(&mut self, text: String) {
        eprintln!("{text}");
        self.model.push(text);
        self.progress();
    }

    /// Something did not run to its end.
    pub(super) fn failed(&mut self, what: &str, result: String) {
        self.check(CheckLine {
            what: what.to_owned(),
            result,
            well: false,
        });
    }

    pub(super) fn note(&mut self, text: String) {
        eprintln!("note: {text}");
        self.notes.push(text);
    }

    pub(super) fn section_done(&mut self, section: Section, after: Duration) {
        self.done
            .push((format!("{section:?}").to_lowercase(), after.as_secs_f64()));
    }

    /// Whether nothing failed and nothing was left out.
    pub(super) fn is_well(&self) -> bool {
        self.kernels
            .iter()
            .all(|row| row.failed == 0 && row.not_run() == 0)
            && self.models.iter().all(|line| line.well)
            && self.checks.iter().all(|line| line.well)
    }

    /// What became of it, in one line.
    pub(super) fn summary(&self) -> String {
        let sum = |of: fn(&KernelRow) -> usize| self.kernels.iter().map(of).sum::<usize>();
        let well = |lines: &[bool]| {
            format!(
                "{} of {}",
                lines.iter().filter(|w| **w).count(),
                lines.len()
            )
        };
        format!(
            "kernels: {} passed, {} failed, {} unsupported, {} not run; models: {}; checks: {}; {} times",
            sum(|row| row.passed),
            sum(|row| row.failed),
            sum(|row| row.unsupported),
            sum(KernelRow::not_run),
            well(&self.models.iter().map(|line| line.well).collect::<Vec<_>>()),
            well(&self.checks.iter().map(|line| line.well).collect::<Vec<_>>()),
            self.times.len(),
        )
    }

    /// Writes what there is; a run that is cut off leaves it.
    pub(super) fn progress(&self) {
        if let Err(error) = self.write() {
            eprintln!("warning: {error}");
        }
    }

    /// Writes both files.
    ///
    /// # Errors
    /// What the file system says.
    pub(super) fn write(&self) -> Result<(), Failed> {
        let json = serde_json::to_string_pretty(self)?;
        for (path, text) in [
            (self.path.with_extension("json"), json),
            (self.path.clone(), self.markdown()?),
        ] {
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }

    fn markdown(&self) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        writeln!(
            out,
            "# {}\n\n{}\n\n{}\n",
            self.found.card,
            self.found,
            self.summary()
        )?;
        if !self.kernels.is_empty() {
            writeln!(
                out,
                "## Kernels against their f64 references and the interpreter\n"
            )?;
            table(
                &mut out,
                &[
                    "kernels",
                    "target",
                    "cases",
                    "passed",
                    "failed",
                    "unsupported",
                    "not run",
                    "cases with the interpreter's bits",
                    "elements that differ",
                    "compile and load, s",
                ],
                self.kernels.iter().map(|row| {
                    vec![
                        row.family.clone(),
                        row.target.clone(),
                        row.cases.to_string(),
                        row.passed.to_string(),
                        row.failed.to_string(),
                        row.unsupported.to_string(),
                        row.not_run().to_string(),
                        row.same_bits.to_string(),
                        format!("{} of {}", row.differ, row.elements),
                        format!("{:.1}", row.load),
                    ]
                }),
            )?;
        }
        for row in self.kernels.iter().filter(|row| row.failed > 0) {
            writeln!(out, "### Failures of {} on {}\n", row.family, row.target)?;
            for failure in &row.failures {
                for (where_, wrong) in [
                    ("card", &failure.card),
                    ("interpreter", &failure.interpreter),
                ] {
                    for wrong in wrong {
                        writeln!(out, "- `{}` on the {where_}: {}", failure.case, wrong.text)?;
                    }
                }
            }
            writeln!(out)?;
        }
        if !self.models.is_empty() {
            writeln!(out, "## Models\n")?;
            table(
                &mut out,
                &["model", "how", "result", "within its bound"],
                self.models.iter().map(|line| {
                    vec![
                        line.model.clone(),
                        line.how.clone(),
                        line.result.clone(),
                        yes(line.well),
                    ]
                }),
            )?;
        }
        if !self.model.is_empty() {
            writeln!(out, "## The model given\n")?;
            for fact in &self.model {
                writeln!(out, "- {fact}")?;
            }
            writeln!(out)?;
        }
        if !self.checks.is_empty() {
            writeln!(out, "## Checks of the device\n")?;
            table(
                &mut out,
                &["check", "result", "holds"],
                self.checks
                    .iter()
                    .map(|line| vec![line.what.clone(), line.result.clone(), yes(line.well)]),
            )?;
        }
        if !self.times.is_empty() {
            writeln!(
                out,
                "## Times\n\nMedians of device time, warmed up. The floor is bytes by the copy bandwidth measured in the \
                 same process. \
                 The weights of products and the caches of attention are many, so that the card's cache does not hold them, \
                 but for the smallest shapes. cuBLAS: f16 weights, f16 inputs, f32 sums, same shape, same process.\n"
            )?;
            table(
                &mut out,
                &[
                    "group",
                    "what",
                    "us",
                    "rate",
                    "floor us",
                    "times the floor",
                    "cuBLAS us",
                    "times cuBLAS",
                ],
                self.times.iter().map(row),
            )?;
        }
        if !self.notes.is_empty() {
            writeln!(out, "## Notes\n")?;
            for note in &self.notes {
                writeln!(out, "- {note}")?;
            }
        }
        Ok(out)
    }
}

fn yes(well: bool) -> String {
    if well { "yes" } else { "**no**" }.to_owned()
}

fn row(line: &TimeLine) -> Vec<String> {
    let us = |seconds: f64| format!("{:.2}", seconds * 1e6);
    let beside = |other: Option<f64>| {
        let ratio = other.map(|other| format!("{:.2}", line.seconds / other));
        [other.map(us).unwrap_or_default(), ratio.unwrap_or_default()]
    };
    let mut cells = vec![
        line.group.clone(),
        line.what.clone(),
        us(line.seconds),
        line.rate.clone(),
    ];
    cells.extend(beside(line.floor));
    cells.extend(beside(line.cublas));
    cells
}

fn table(
    out: &mut String,
    head: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> std::fmt::Result {
    writeln!(out, "| {} |", head.join(" | "))?;
    writeln!(out, "|{}", "---|".repeat(head.len()))?;
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "/")).collect();
        writeln!(out, "| {} |", cells.join(" | "))?;
    }
    writeln!(out)
}
