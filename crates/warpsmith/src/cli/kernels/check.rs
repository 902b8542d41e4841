//! `kernels check`: the library's kernels under the checker, on their test cases.

use crate::cli::{
    output::{note, print},
    show::{Format, Show},
};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use std::{collections::BTreeMap, process::ExitCode, time::Instant};
use warpsmith::{
    kernel::{
        BuildError, Options,
        args::{Access, HostBuffer, Name, Visitor},
    },
    library::{
        case::{AnyCase, Random},
        registry::registry,
    },
    ptx::target::Target,
    report::{Report, Source},
    vgpu::{
        Config, Launch, Machine,
        check::{Checks, Finding},
    },
};

/// Runs the library's kernels on their test cases under the checker.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 clean; 1 findings, or a result that is wrong; 2 could not run."
)]
pub(super) struct CheckKernels {
    /// Only kernels, or families, whose name contains this.
    #[arg(value_name = "NAME", default_value = "")]
    name: String,
    /// The target: 75, sm_90, 90a.
    #[arg(long, value_name = "N", default_value = "90")]
    sm: Target,
    /// The order of CTAs, warps and lanes [default: theirs].
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    #[command(flatten)]
    show: Show,
}

/// A line of the table.
#[derive(Default)]
struct Row {
    cases: u32,
    unsupported: u32,
    wrong: Vec<String>,
    report: Report,
    seconds: f64,
}

impl CheckKernels {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let suppressions = self.show.suppressions()?;
        let mut rows: BTreeMap<String, Row> = BTreeMap::new();
        for entry in registry() {
            let machine = Machine::new(Config {
                target: self.sm,
                memory: 2 << 30,
                seed: self.seed,
                checks: Some(Checks::default()),
                closed: true,
                ..Config::default()
            })?;
            for case in (entry.cases)(&mut Random::new(7)) {
                let name = case.name();
                if !name.contains(&self.name) && !entry.name.contains(&self.name) {
                    continue;
                }
                let start = Instant::now();
                let row = rows.entry(name.clone()).or_default();
                match check(&machine, self.sm, case.as_ref()) {
                    Ok(Some((findings, wrong))) => {
                        row.cases += 1;
                        row.report.source = Source::new(name, String::new());
                        for finding in findings {
                            let issue = row.report.source.issue(finding);
                            row.report.add(issue);
                        }
                        row.wrong.extend(wrong);
                    }
                    Ok(None) => row.unsupported += 1,
                    Err(error) => {
                        row.cases += 1;
                        row.wrong.push(format!("{}: {error:#}", case.label()));
                    }
                }
                row.seconds += start.elapsed().as_secs_f64();
            }
        }
        if rows.is_empty() {
            bail!("no kernel `{}`: `kernels list` has them all", self.name);
        }
        for row in rows.values_mut() {
            row.report.suppress(&suppressions);
        }
        self.print(&rows)?;
        let clean = |row: &Row| row.report.issues.is_empty() && row.wrong.is_empty();
        Ok(ExitCode::from(u8::from(!rows.values().all(clean))))
    }

    fn print(&self, rows: &BTreeMap<String, Row>) -> Result<()> {
        for row in rows.values() {
            row.wrong.iter().for_each(|wrong| note(wrong));
        }
        if self.show.format != Format::Text {
            let reports = rows.values().map(|row| &row.report);
            return self.show.all(
                reports.filter(|report| !report.source.name.is_empty()),
                "kernels",
            );
        }
        let width = rows.keys().map(String::len).max().unwrap_or(0).max(6);
        let mut out = format!("{:width$}  cases  findings  seconds\n", "kernel");
        for (name, row) in rows {
            let found = row.report.issues.len() + row.wrong.len();
            let note = match row.unsupported {
                0 => String::new(),
                count => format!("  {count} not for {}", self.sm),
            };
            out += &format!(
                "{name:width$}  {:5}  {found:8}  {:7.2}{note}\n",
                row.cases, row.seconds
            );
        }
        for row in rows.values().filter(|row| !row.report.issues.is_empty()) {
            out.push('\n');
            out += &self.show.text(&row.report);
        }
        print(&out)
    }
}

/// Runs a case; what the checker found and which results are wrong. `None` if the target lacks a feature.
fn check(
    machine: &Machine,
    target: Target,
    case: &dyn AnyCase,
) -> Result<Option<(Vec<Finding>, Vec<String>)>> {
    let built = match case.build(target, Options::default()) {
        Ok(built) => built,
        Err(BuildError::Unsupported { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut arrays = Arrays {
        machine,
        params: Vec::new(),
        starts: Vec::new(),
        failure: None,
    };
    case.visit(&mut arrays);
    if let Some(failure) = arrays.failure {
        return Err(failure);
    }
    let grid = u32::try_from(case.grid()?).context("a grid beyond 2^32")?;
    let stream = machine.stream()?;
    if grid > 0 {
        let module = machine.load(&built.module)?;
        let kernel = module.kernel(&built.entry);
        stream.launch(Launch {
            kernel: kernel.ok_or_else(|| anyhow!("no entry `{}`", built.entry))?,
            grid: [grid, 1, 1],
            block: [built.threads, 1, 1],
            dynamic_shared: built.dynamic_shared,
            params: arrays.params,
            cooperative: false,
            cluster: None,
        })?;
    }
    let ran = stream.synchronize();
    let mut results = Results {
        machine,
        starts: arrays.starts.into_iter(),
        label: case.label(),
        wrong: Vec::new(),
    };
    case.visit(&mut results);
    let findings = machine.take_findings();
    if findings.is_empty() {
        ran?;
    }
    Ok(Some((findings, results.wrong)))
}

/// Puts the arrays of a case on the machine and packs its parameters.
struct Arrays<'m> {
    machine: &'m Machine,
    params: Vec<u8>,
    starts: Vec<u64>,
    failure: Option<anyhow::Error>,
}

impl Arrays<'_> {
    fn push(&mut self, bytes: &[u8]) {
        let at = self.params.len().next_multiple_of(bytes.len().max(1));
        self.params.resize(at, 0);
        self.params.extend_from_slice(bytes);
    }

    fn put(&self, access: Access, array: &dyn HostBuffer) -> Result<u64> {
        let start = self
            .machine
            .alloc((array.len() * array.element_bytes()) as u64)?;
        match array.contents() {
            Some(contents) if !matches!(access, Access::Out) => {
                self.machine.write(start, contents)?;
            }
            _ => {}
        }
        Ok(start)
    }
}

impl Visitor for Arrays<'_> {
    fn array(
        &mut self,
        _name: Name<'_>,
        access: Access,
        array: Option<&dyn HostBuffer>,
        _dims: &[u128],
    ) {
        let start = match array.map(|array| self.put(access, array)) {
            Some(Ok(start)) => {
                self.starts.push(start);
                start
            }
            Some(Err(error)) => {
                self.failure.get_or_insert(error);
                0
            }
            None => 0,
        };
        self.push(&start.to_le_bytes());
    }

    fn scalar(&mut self, _name: Name<'_>, bytes: &[u8]) {
        self.push(bytes);
    }
}

/// Compares the outputs of a case and gives its arrays back.
struct Results<'m> {
    machine: &'m Machine,
    starts: std::vec::IntoIter<u64>,
    label: String,
    wrong: Vec<String>,
}

impl Visitor for Results<'_> {
    fn array(
        &mut self,
        name: Name<'_>,
        access: Access,
        array: Option<&dyn HostBuffer>,
        _dims: &[u128],
    ) {
        let Some((array, start)) = array.and_then(|array| Some((array, self.starts.next()?)))
        else {
            return;
        };
        let mut bytes = vec![0; array.len() * array.element_bytes()];
        let written = matches!(access, Access::Out | Access::InOut);
        // Scratch takes anything, and nobody reads it.
        let meant = array.check(&vec![0x3c; bytes.len()]).is_err() || array.check(&bytes).is_err();
        if written && meant {
            let read = self.machine.read(start, &mut bytes);
            let compared = read
                .map_err(|error| error.to_string())
                .and_then(|()| array.check(&bytes).map_err(|mismatch| mismatch.to_string()));
            if let Err(why) = compared {
                self.wrong.push(format!("{}: `{name}`: {why}", self.label));
            }
        }
        if let Err(error) = self.machine.free(start) {
            self.wrong
                .push(format!("{}: `{name}`: {error}", self.label));
        }
    }

    fn scalar(&mut self, _name: Name<'_>, _bytes: &[u8]) {}
}
