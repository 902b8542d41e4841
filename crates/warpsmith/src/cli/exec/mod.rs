//! `exec`: any program that uses CUDA, on the virtual GPU.

mod events;
mod place;
pub(crate) mod ptxas;
mod stub;

use super::{
    files::Files,
    interrupt,
    output::{note, warn},
    run::{Kinds, kinds},
    show::Format,
    show::Show,
};
use anyhow::{Context, Result};
use clap::Args;
use events::Events;
use place::Place;
use std::{
    ffi::OsString,
    path::PathBuf,
    process::{Child, Command, ExitCode, ExitStatus},
    thread::sleep,
    time::Duration,
};
use warpsmith::{ptx::target::Target, vgpu::check::Kind};

/// Runs a program that uses CUDA on the virtual GPU; `--check` finds the faults of its kernels.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith exec -- python train_step.py
  warpsmith exec --check -- python train_step.py
  warpsmith exec --check=race_shared,oob_global --schedules 8 -- ./program
  warpsmith exec --check --format sarif --report found.sarif -- python -m pytest
  warpsmith exec --trace calls.txt -- ./program

The program finds a CUDA driver, and so do the programs that it starts. What kernels print goes to standard output; faults
and findings go to standard error as they come. docs/exec.md names the clients that are known to run.

Exit status: the program's own; 1 where something was found and the program's own was 0; 2 if it could not be started.")]
pub(crate) struct Exec {
    /// The program and its arguments, behind `--`.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
    /// Checks memory, races, barriers and more; KINDS, separated by commas, limits that.
    #[arg(long, value_name = "KINDS", num_args = 0..=1, require_equals = true,
        default_missing_value = "all", value_parser = kinds)]
    check: Option<Kinds>,
    /// Runs the program N times, each with another order of CTAs, warps and lanes.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1 << 16))]
    schedules: u32,
    /// The cards' target.
    #[arg(long, value_name = "N", default_value = "90")]
    sm: Target,
    /// Cards.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(..=64))]
    devices: u32,
    /// Memory of each card, such as 512M or 8G.
    #[arg(long, value_name = "BYTES", default_value = "8G")]
    memory: String,
    /// Stops a launch that has run this many instructions, each counted once for a warp.
    #[arg(long, value_name = "INSTRUCTIONS", value_parser = clap::value_parser!(u64).range(1..))]
    budget: Option<u64>,
    /// Writes down each call of the driver with its code and its time, and each function that was asked for and is not there.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Writes JSON or SARIF to a file, not to standard output behind what the program writes.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    show: Show,
}

/// How often it is looked for news, and whether the program has ended.
const LOOK: Duration = Duration::from_millis(20);

impl Exec {
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self.all() {
            Ok(code) => Ok(code),
            Err(error) if super::output::is_closed(&error) => Err(error),
            Err(error) => {
                warn(&format!("error: {}", super::output::one_line(&error)));
                Ok(ExitCode::from(2))
            }
        }
    }

    fn all(&self) -> Result<ExitCode> {
        let suppressions = self.show.suppressions()?;
        let mut files = Files::default();
        let draft = files.draft("--report", self.report.as_deref())?;
        if let Some(trace) = &self.trace {
            // The programs add to it: it begins empty.
            std::fs::write(trace, "")
                .with_context(|| format!("cannot write {}", trace.display()))?;
        }
        let place = Place::new()?;
        let mut events = Events::new(place.report(), suppressions);
        let mut code = 0;
        let runs = self.schedules.max(1);
        for run in 0..runs {
            let seed = (self.schedules > 0).then_some(run);
            let status = self.once(&place, seed, &mut events)?;
            code = code_of(status);
            if code != 0 || interrupt::raised() {
                break;
            }
        }
        events.read();
        let found = events.found();
        match self.show.format {
            Format::Text => {
                if found > 0 {
                    let s = if found == 1 { "" } else { "s" };
                    note(&format!("warpsmith: {found} finding{s}"));
                } else if self.check.is_some() {
                    note("warpsmith: nothing was found");
                }
            }
            Format::Json | Format::Sarif => {
                let text = self.show.several(events.reports(), "exec")?;
                match draft {
                    Some(draft) => drop(draft.complete(&text)?),
                    None => super::output::print(&text)?,
                }
            }
        }
        Ok(ExitCode::from(if code == 0 && found > 0 {
            1
        } else {
            code
        }))
    }

    /// Runs the program and shows what is found meanwhile.
    fn once(&self, place: &Place, seed: Option<u32>, events: &mut Events) -> Result<ExitStatus> {
        let mut command = Command::new(&self.program[0]);
        command.args(&self.program[1..]);
        place.set_up(&mut command, &self.program[0]);
        let mut set = |name: &str, value: String| {
            command.env(format!("WARPSMITH_VCUDA_{name}"), value);
        };
        set(
            "SM",
            self.sm.to_string().trim_start_matches("sm_").to_owned(),
        );
        set("DEVICES", self.devices.to_string());
        set("MEMORY", self.memory.clone());
        set("REPORT", place.report().display().to_string());
        // Nothing tells fresh memory from old but the checker, which looks at each byte.
        set("FRESH", "0".to_owned());
        if let Some(kinds) = &self.check {
            let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            let all = kinds.len() == Kind::ALL.len();
            set(
                "CHECK",
                if all {
                    "all".to_owned()
                } else {
                    names.join(",")
                },
            );
        }
        if let Some(seed) = seed {
            set("SEED", seed.to_string());
        }
        if let Some(budget) = self.budget {
            set("BUDGET", budget.to_string());
        }
        if let Some(trace) = &self.trace {
            let path = std::path::absolute(trace).context("cannot find the current folder")?;
            set("TRACE", path.display().to_string());
        }
        let name = self.program[0].to_string_lossy();
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot run {name}"))?;
        // Ctrl-C goes to the program, too, which ends as it likes; its findings are shown then.
        let _watch = interrupt::Watch::begin();
        let status = self.follow(&mut child, events);
        status.with_context(|| format!("cannot wait for {name}"))
    }

    fn follow(&self, child: &mut Child, events: &mut Events) -> std::io::Result<ExitStatus> {
        loop {
            let ended = child.try_wait()?;
            events.read();
            if self.show.format == Format::Text {
                events.show();
            }
            if let Some(status) = ended {
                return Ok(status);
            }
            sleep(LOOK);
        }
    }
}

/// The exit status to end with: the program's own, or 128 and its signal.
fn code_of(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128u8.saturating_add(signal.clamp(0, 127) as u8);
    }
    status.code().map_or(1, |code| code.clamp(0, 255) as u8)
}
