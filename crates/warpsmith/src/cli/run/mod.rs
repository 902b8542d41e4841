//! `run`: a kernel of a PTX file, or a script of launches, on the virtual GPU.

mod arg;
mod live;

use super::{
    files::{Draft, Files},
    interrupt,
    output::note,
    show::{Format, Show},
};
use anyhow::{Result, bail};
use arg::ArgSpec;
use clap::Args;
use live::Live;
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};
use warpsmith::{
    ptx::target::Target,
    script::{Arg, Error, LaunchSpec, Script, Settings},
    vgpu::check::{Checks, Kind},
};

/// Runs a kernel of a PTX file, or a script of launches, on the virtual GPU; `--check` finds its faults.
#[derive(Debug, Args)]
#[command(after_help = "Arguments, one for each parameter of the kernel:
  in:FILE          a buffer with the bytes of FILE
  out:FILE:BYTES   a buffer that nobody wrote; FILE has what is in it at the end
  inout:IN:OUT     a buffer with the bytes of IN; OUT has what is in it at the end
  zero:BYTES       a buffer of zeros
  uninit:BYTES     a buffer that nobody wrote
  TYPE:VALUE       a scalar of the parameter's type: u32:7, i32:-1 or s32:-1, f32:0.5; b32:0x10 fits any 4 bytes

Examples:
  warpsmith run k.ptx --entry k --grid 4 --block 256 --arg in:x.bin --arg out:y.bin:4096 --arg u32:1000
  warpsmith run --script fault.json --check --format json
  warpsmith run k.ptx --entry k --block 256 --dump-program
  warpsmith run --schema > run-script.schema.json

A run that lasts shows its findings as they come; Ctrl-C stops it, and what was found until then is reported.

Exit status: 0 clean; 1 findings, or an output that differs; 2 could not run; 130 stopped by Ctrl-C.")]
pub(crate) struct RunPtx {
    /// A PTX file.
    #[arg(value_name = "FILE", required_unless_present_any = ["script", "schema"])]
    file: Option<PathBuf>,
    /// A JSON file with buffers, launches and what is wanted of them.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "entry", "args", "grid", "block"])]
    script: Option<PathBuf>,
    /// Prints the JSON Schema of scripts; docs/run-scripts.md explains them.
    #[arg(long, exclusive = true)]
    schema: bool,
    /// The kernel.
    #[arg(long, value_name = "NAME", required_unless_present_any = ["script", "schema"])]
    entry: Option<String>,
    /// CTAs.
    #[arg(long, value_name = "X,Y,Z", value_parser = extent, default_value = "1")]
    grid: [u32; 3],
    /// Threads of a CTA.
    #[arg(long, value_name = "X,Y,Z", value_parser = extent, default_value = "32")]
    block: [u32; 3],
    /// Bytes of dynamic shared memory.
    #[arg(long, value_name = "N", default_value_t = 0)]
    shared: u32,
    /// All CTAs exist at once.
    #[arg(long)]
    cooperative: bool,
    /// The device's target [default: the module's].
    #[arg(long, value_name = "N")]
    sm: Option<Target>,
    /// Multiprocessors of the device.
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    sms: Option<u32>,
    /// An argument, see below.
    #[arg(long = "arg", value_name = "SPEC")]
    args: Vec<ArgSpec>,
    /// Prints what the virtual GPU makes of each kernel for the shape of its blocks, and runs nothing: `--arg` and
    /// buffers are not looked at; `--check`, `--budget`, `--seed` and `--schedules` say how it would be run.
    #[arg(long)]
    dump_program: bool,
    /// Checks memory, races, barriers and more; KINDS, separated by commas, limits that.
    #[arg(long, value_name = "KINDS", num_args = 0..=1, require_equals = true,
        default_missing_value = "all", value_parser = kinds)]
    check: Option<Kinds>,
    /// Runs it in N orders of CTAs, warps and lanes and compares what they leave.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1 << 16))]
    schedules: u32,
    /// The first of the orders.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Stops a launch that has run this many instructions, each counted once for a warp.
    #[arg(long, value_name = "INSTRUCTIONS", value_parser = clap::value_parser!(u64).range(1..))]
    budget: Option<u64>,
    /// Stops the run after this many seconds; what was found until then is shown.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_hyphen_values = true)]
    timeout: Option<Duration>,
    #[command(flatten)]
    show: Show,
}

/// What `--check` names.
pub(crate) type Kinds = std::sync::Arc<[Kind]>;

/// Reads what `--check` names.
pub(crate) fn kinds(text: &str) -> Result<Kinds, String> {
    if text == "all" {
        return Ok(Kind::ALL.into());
    }
    let known = || {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        names.join(" ")
    };
    let each = text.split(',').map(|name| name.trim().parse::<Kind>());
    each.collect::<Result<_, _>>()
        .map_err(|error| format!("{error}: {}", known()))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a number of seconds above 0, such as 30 or 0.5".to_owned();
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if seconds > 0.0 {
        Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
    } else {
        Err(wrong())
    }
}

fn extent(text: &str) -> Result<[u32; 3], String> {
    let wrong = || "expected one to three whole numbers, such as 4,1,1".to_owned();
    let mut out = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err(wrong());
    }
    for (out, part) in out.iter_mut().zip(parts) {
        *out = part.trim().parse().map_err(|_| wrong())?;
    }
    Ok(out)
}

impl RunPtx {
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self.report() {
            Ok(code) => Ok(code),
            Err(error) if super::output::is_closed(&error) => Err(error),
            Err(error) => {
                note(&format!("error: {}", super::output::one_line(&error)));
                Ok(ExitCode::from(2))
            }
        }
    }

    fn report(self) -> Result<ExitCode> {
        if self.schema {
            super::output::print_json(&warpsmith::script::schema())?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.dump_program {
            return self.dump();
        }
        let suppressions = self.show.suppressions()?;
        let mut files = Files::default();
        let (script, saves) = match &self.script {
            Some(path) => (self.script(path)?, Vec::new()),
            None => self.single(&mut files)?,
        };
        let live = Live::begin(self.timeout);
        let tells = self.show.format == Format::Text;
        let settings = Settings {
            stop: live.stop(),
            tell: tells.then(|| live.tell(&suppressions)),
            ..self.settings()
        };
        let (mut report, kept) = script.run_keeping(&settings);
        let (drawn, raised) = live.end();
        report.failure.iter_mut().for_each(|error| self.name(error));
        for (buffer, mut draft) in saves {
            if let Some(bytes) = &kept[buffer] {
                let written = draft.write_all(bytes);
                draft.named(written)?;
                draft.commit()?;
            }
        }
        report.suppress(&suppressions);
        self.show.settle(&mut report)?;
        if let (Format::Json | Format::Sarif, Some(failure)) = (self.show.format, &report.failure) {
            note(&format!(
                "error: {}",
                super::output::printable(&failure.to_string())
            ));
        }
        let of = self.script.as_ref().or(self.file.as_ref());
        let category = of.map_or_else(String::new, |file| format!("run/{}", file.display()));
        self.show.rest(&report, &drawn, &category)?;
        if raised {
            return Ok(interrupt::exit_code());
        }
        Ok(ExitCode::from(report.status().exit_code()))
    }

    /// A script from a file, with what the command line says before it.
    fn script(&self, path: &Path) -> Result<Script> {
        let mut script = Script::read(path)?;
        script.target = self.sm.or(script.target);
        script.sms = self.sms.or(script.sms);
        script.co_resident |= self.cooperative;
        Ok(script)
    }

    fn settings(&self) -> Settings {
        Settings {
            checks: self.check.as_deref().map(|kinds| Checks {
                kinds: kinds.to_vec(),
            }),
            schedules: self.schedules,
            seed: self.seed,
            budget: self.budget,
            ..Settings::default()
        }
    }

    /// Prints programs.
    fn dump(&self) -> Result<ExitCode> {
        let script = match (&self.script, &self.file, &self.entry) {
            (Some(path), ..) => self.script(path)?,
            (None, Some(ptx), Some(entry)) => self.launch_of(ptx, entry),
            (None, ..) => bail!("a PTX file and `--entry`, or `--script`, are needed"),
        };
        let text = script.programs(&self.settings()).map_err(|mut error| {
            self.name(&mut error);
            error
        })?;
        super::output::print(&text)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Says of an error which option it is about.
    fn name(&self, error: &mut Error) {
        let (Error::Script { at, line, .. } | Error::At { at, line, .. }) = error else {
            return;
        };
        // The command line comes before the script.
        if at == "$.target" && self.sm.is_some() {
            (*at, *line) = ("--sm".to_owned(), None);
        } else if self.script.is_none() {
            *at = self.option(at);
        }
    }

    /// The option that a place in the script of one launch comes from.
    fn option(&self, at: &str) -> String {
        let Some(place) = at.strip_prefix("$.launches[0].") else {
            return at.to_owned();
        };
        let number = place
            .strip_prefix("args[")
            .and_then(|rest| rest.strip_suffix(']'));
        let number = number.and_then(|digits| digits.parse::<usize>().ok());
        match (place, number) {
            ("kernel", _) => "--entry".to_owned(),
            ("dynamic_smem", _) => "--shared".to_owned(),
            ("args", _) => "--arg".to_owned(),
            (_, Some(at)) => {
                let text = self
                    .args
                    .get(at)
                    .map_or_else(String::new, |spec| format!(" {spec}"));
                format!("--arg{text}, argument {}", at + 1)
            }
            (extent, None) => format!("--{extent}"),
        }
    }

    /// The script of one launch, and where its outputs go.
    fn single(&self, files: &mut Files) -> Result<(Script, Vec<(usize, Draft)>)> {
        let (Some(ptx), Some(entry)) = (&self.file, &self.entry) else {
            bail!("a PTX file and `--entry`, or `--script`, are needed");
        };
        let mut script = self.launch_of(ptx, entry);
        files.reads("FILE", ptx)?;
        self.args.iter().try_for_each(|spec| spec.read(files))?;
        let mut saves = Vec::new();
        for (at, spec) in self.args.iter().enumerate() {
            saves.extend(spec.written(files)?.map(|draft| (at, draft)));
        }
        let mut args = Vec::new();
        for (at, spec) in self.args.iter().enumerate() {
            args.push(spec.add_to(&mut script, at)?);
        }
        // Drafts are of arguments; their buffers are those of pointers.
        let buffer = |(at, draft)| match args[at] {
            Arg::Pointer {
                buffer: Some(buffer),
                ..
            } => Some((buffer, draft)),
            Arg::Pointer { buffer: None, .. } | Arg::Bytes { .. } => None,
        };
        let saves = saves.into_iter().filter_map(buffer).collect();
        for launch in &mut script.launches {
            launch.args.append(&mut args);
        }
        Ok((script, saves))
    }

    /// The script of one launch, without arguments.
    fn launch_of(&self, ptx: &Path, entry: &str) -> Script {
        Script {
            ptx: ptx.to_owned(),
            ptx_text: None,
            target: self.sm,
            sms: self.sms,
            max_blocks_per_sm: None,
            buffers: Vec::new(),
            globals: Vec::new(),
            launches: vec![LaunchSpec {
                kernel: entry.to_owned(),
                grid: self.grid,
                block: self.block,
                dynamic_shared: self.shared,
                args: Vec::new(),
            }],
            freed: Vec::new(),
            host_reads: Vec::new(),
            leaked: Vec::new(),
            co_resident: self.cooperative,
            cluster: None,
            text: String::new(),
        }
    }
}
