//! Runs a script: one context, one freshly loaded module, its launches in order.

use super::{
    Contents, Error, Freed, LaunchSpec, Script, Wanted, WantedContents,
    compare::compare,
    launch::Checked,
    ptx_of, read_ptx,
    tell::{Tell, Telling},
};
use crate::report::{Issue, Level, Output, Report, Source, Spot};
use warpsmith_ptx::{
    findings::{self, Certainty},
    ir::Function,
    parse::parse,
    target::PtxVersion,
    verify::{Verified, verify},
};
use warpsmith_vgpu::{
    Config, Error as DeviceError, Kernel, Launch, Limit, Machine, Module, Stop, Stream,
    check::{Allocation, Checks, Kind, Verdict},
};

/// Device memory beyond the buffers: variables, red zones, what was given back and is not used again.
const SPARE: u64 = 256 << 20;

/// How a script is run.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// What is checked; `None` only compares outputs and reports what ends a kernel.
    pub checks: Option<Checks>,
    /// Orders of CTAs, warps and lanes to run it in; 0 runs it once.
    pub schedules: u32,
    /// The first of the orders; the others follow it.
    pub seed: Option<u64>,
    /// Instructions each launch may run, counted once for a warp; `None` lets it run.
    pub budget: Option<u64>,
    /// What stops it from outside: what was found until then is reported.
    pub stop: Stop,
    /// Who is told of findings as they come.
    pub tell: Option<Tell>,
}

/// What buffers hold at the end, by their number; `None` where it was not read.
pub type Kept = Vec<Option<Vec<u8>>>;

impl Script {
    /// Runs it and reports; never an error, a report says why it did not run.
    pub fn run(&self, settings: &Settings) -> Report {
        self.run_keeping(settings).0
    }

    /// As [`Script::run`], with what the buffers hold at the end.
    pub fn run_keeping(&self, settings: &Settings) -> (Report, Kept) {
        super::order::run(self, settings)
    }
}

/// Runs a script in one order; reads all buffers at the end if `all`.
pub(super) fn once(
    script: &Script,
    settings: &Settings,
    order: Option<u64>,
    all: bool,
) -> (Report, Kept) {
    let mut run = Run::new(script, settings, order, all);
    if let Err(error) = run.run() {
        run.refused(error);
    }
    (run.report, run.kept)
}

pub(super) struct Run<'s> {
    script: &'s Script,
    settings: &'s Settings,
    order: Option<u64>,
    all: bool,
    report: Report,
    kept: Kept,
    telling: Option<Telling>,
}

/// A machine with the script's module and buffers.
pub(super) struct Bench {
    machine: Machine,
    stream: Stream,
    module: Module,
    /// Its kernels as they are declared.
    functions: Vec<Function>,
    addresses: Vec<u64>,
    /// Whether a buffer was given back.
    gone: Vec<bool>,
}

impl<'s> Run<'s> {
    pub(super) fn new(
        script: &'s Script,
        settings: &'s Settings,
        order: Option<u64>,
        all: bool,
    ) -> Run<'s> {
        Run {
            script,
            settings,
            order,
            all,
            report: Report::default(),
            kept: vec![None; script.buffers.len()],
            telling: None,
        }
    }

    /// The text of the module, as far as it is read.
    pub(super) fn text(&self) -> &str {
        self.report.source.text()
    }

    /// A machine with the module, and without buffers yet.
    pub(super) fn bench(&mut self) -> Result<Bench, Error> {
        let script = self.script;
        let text = match &script.ptx_text {
            Some(text) => ptx_of(&script.ptx, text.as_bytes()),
            None => read_ptx(&script.ptx),
        };
        let text = text.map_err(|error| self.place(error, "$.ptx"))?;
        self.report.source = Source::new(script.ptx.display().to_string(), text);
        let module = self.verified()?;
        let tell = self.settings.tell.clone();
        self.telling = tell.map(|tell| Telling::new(tell, &self.report.source));
        let config = self.config(&module)?;
        let machine = Machine::new(config)?;
        let stream = machine.stream()?;
        let loaded = machine.load(&module)?;
        // The headers are enough.
        let functions = module.functions.iter().map(|function| Function {
            params: function.params.clone(),
            directives: function.directives.clone(),
            ..Function::new(function.name.clone(), function.kind)
        });
        Ok(Bench {
            functions: functions.collect(),
            machine,
            stream,
            module: loaded,
            addresses: Vec::new(),
            gone: vec![false; script.buffers.len()],
        })
    }

    fn run(&mut self) -> Result<(), Error> {
        let mut bench = self.bench()?;
        self.fill(&mut bench)?;
        let ran = self.launches(&mut bench);
        self.report.printed = bench.machine.take_printed();
        self.take(&bench, false);
        let ended = ran.is_ok();
        if let Err(error) = ran {
            self.refused(error);
            self.name_words(&bench);
        }
        // What did not run to its end has not written all: that says nothing more of the kernel.
        if ended {
            self.host_reads(&bench);
        }
        self.outputs(&bench);
        self.give_back(&mut bench);
        Ok(())
    }

    /// The module, with what can be found without running it.
    fn verified(&mut self) -> Result<Verified, Error> {
        let report = &mut self.report;
        let fail = |found| Error::Ptx {
            path: self.script.ptx.clone(),
            found,
        };
        let module = parse(report.source.text()).map_err(fail)?;
        report.source.describe(&module);
        if let Some(checks) = &self.settings.checks {
            let launched = |name: &str| self.script.launches.iter().any(|l| l.kernel == name);
            for finding in findings::find(&module, findings::Limits::default()) {
                let kind = finding.code.name().parse::<Kind>();
                let wanted = kind.is_ok_and(|kind| checks.any(&[kind]));
                if wanted && finding.certainty == Certainty::Certain && launched(&finding.function)
                {
                    let issue = report.source.static_issue(&finding);
                    report.add(issue);
                }
            }
        }
        verify(module).map_err(|found| {
            let issues: Vec<Issue> = found
                .iter()
                .filter_map(|diagnostic| report.source.diagnostic_issue(diagnostic))
                .collect();
            issues.into_iter().for_each(|issue| report.add(issue));
            fail(found)
        })
    }

    /// An error that is a finding is reported as one; any other is why it did not run.
    fn refused(&mut self, error: Error) {
        let error = error.in_text(&self.script.text);
        let issue = match &error {
            Error::Device(DeviceError::Fault(fault)) => {
                let issue = self.report.source.fault_issue(fault);
                // The checker reported it, with more.
                let told = issue.as_ref().is_some_and(|issue| {
                    let same = |known: &Issue| known.place.line == issue.place.line;
                    self.report.issues.iter().any(same)
                });
                if told {
                    return;
                }
                issue
            }
            Error::Device(DeviceError::Launch {
                kernel,
                what: Limit::Shared,
                ..
            }) => Some(self.at_launch(Kind::SharedLimit, kernel, &error, "use less of it")),
            Error::Device(DeviceError::Launch {
                kernel,
                what: Limit::Cooperative,
                ..
            }) => {
                let help = "launch no more CTAs than the device holds at once";
                Some(self.at_launch(Kind::Deadlock, kernel, &error, help))
            }
            // Some of what the verifier refuses is a finding: then the file did what it is for.
            Error::Ptx { found, .. } if !found.is_empty() => {
                let source = &self.report.source;
                if found
                    .iter()
                    .all(|one| source.diagnostic_issue(one).is_some())
                {
                    return;
                }
                None
            }
            _ => None,
        };
        match issue {
            Some(issue) => self.report.add(issue),
            None => self.report.failure = Some(error),
        }
    }

    /// An error with its place, if a file has it.
    fn place(&self, error: Error, at: &str) -> Error {
        match self.script.text.is_empty() {
            true => error,
            false => error.at(at),
        }
    }

    fn at_launch(&self, kind: Kind, kernel: &str, error: &Error, help: &str) -> Issue {
        let entry_line = self.report.source.entry_line(kernel);
        Issue {
            kind: kind.name(),
            level: Level::Error,
            kernel: kernel.to_owned(),
            entry_line,
            place: Spot {
                line: entry_line,
                ..Spot::default()
            },
            other: None,
            address: None,
            allocation: None,
            count: 1,
            message: error.to_string(),
            help: help.to_owned(),
            verdict: Verdict::Bug,
        }
    }

    fn config(&self, module: &Verified) -> Result<Config, Error> {
        let target = self.script.target.unwrap_or(module.target);
        if !module.target.runs_on(target) {
            let error = Error::OtherTarget {
                module: module.target,
                device: target,
            };
            return Err(error.at("$.target"));
        }
        let default = Config::default();
        let total: u64 = self.script.buffers.iter().map(|buffer| buffer.bytes).sum();
        let zones = self.script.buffers.len() as u64 * 1024;
        Ok(Config {
            target,
            sms: self.script.sms.unwrap_or(default.sms),
            memory: total + zones + SPARE,
            shared_per_block: target.shared_limit().unwrap_or(default.shared_per_block),
            max_ptx: PtxVersion::new(u8::MAX, 0),
            checks: self.settings.checks.clone(),
            ctas_per_sm: self.script.max_blocks_per_sm.unwrap_or(default.ctas_per_sm),
            closed: true,
            stop: Some(self.settings.stop.clone()),
            observer: self.telling.as_ref().map(Telling::observer),
            seed: self.order,
            budget: self.settings.budget,
            ..default
        })
    }

    /// Allocates and fills the buffers and writes the module's variables.
    fn fill(&self, bench: &mut Bench) -> Result<(), Error> {
        for buffer in &self.script.buffers {
            let address = bench.machine.alloc(buffer.bytes)?;
            bench.addresses.push(address);
            if let Some(telling) = &self.telling {
                telling.name(address, &buffer.name);
            }
        }
        for (buffer, &address) in self.script.buffers.iter().zip(&bench.addresses) {
            match &buffer.contents {
                Contents::Bytes(bytes) => bench.stream.write(address, bytes.clone())?,
                Contents::Fill(byte) => bench.stream.fill(address, *byte, buffer.bytes)?,
                Contents::Uninitialized => {}
            }
            for (offset, pointed) in &buffer.pointers {
                let pointer = bench.addresses[*pointed].to_le_bytes();
                bench.stream.write(address + offset, pointer.to_vec())?;
            }
        }
        for (at, global) in self.script.globals.iter().enumerate() {
            let place = |name: &str| format!("$.globals[{at}].{name}");
            let Some((address, bytes)) = bench.module.global(&global.symbol) else {
                return Err(Error::Script {
                    at: place("symbol"),
                    line: None,
                    expected: "a variable of the module".to_owned(),
                    found: global.symbol.clone(),
                });
            };
            if global.bytes.len() as u64 > bytes {
                return Err(Error::Script {
                    at: place("file"),
                    line: None,
                    expected: format!("at most the variable's {bytes} bytes"),
                    found: format!("{} bytes", global.bytes.len()),
                });
            }
            bench.stream.write(address, global.bytes.clone())?;
        }
        bench.stream.synchronize()?;
        Ok(())
    }

    fn launches(&mut self, bench: &mut Bench) -> Result<(), Error> {
        for (at, spec) in self.script.launches.iter().enumerate() {
            for Freed { launch, buffers } in &self.script.freed {
                if *launch == at {
                    for buffer in buffers {
                        bench.stream.free(bench.addresses[*buffer])?;
                        bench.gone[*buffer] = true;
                    }
                }
            }
            let launch = self.launch(bench, at, spec)?;
            bench.stream.launch(launch)?;
            bench.stream.synchronize()?;
        }
        Ok(())
    }

    /// The kernel of a launch whose shape it can have.
    pub(super) fn kernel<'b>(
        &self,
        bench: &'b Bench,
        at: usize,
        spec: &'b LaunchSpec,
    ) -> Result<(Kernel, Checked<'b>), Error> {
        let function = bench.functions.iter().find(|one| one.name == spec.kernel);
        let (Some(kernel), Some(function)) = (bench.module.kernel(&spec.kernel), function) else {
            let known: Vec<&str> = bench.module.kernels().take(8).collect();
            return Err(Error::Script {
                at: format!("$.launches[{at}].kernel"),
                line: None,
                expected: match known.is_empty() {
                    true => "a kernel, the module has none".to_owned(),
                    false => format!("a kernel of the module, such as {}", known.join(", ")),
                },
                found: spec.kernel.clone(),
            });
        };
        let checked = Checked {
            at,
            spec,
            function,
            addresses: &bench.addresses,
        };
        checked.shape()?;
        Ok((kernel, checked))
    }

    fn launch(&self, bench: &Bench, at: usize, spec: &LaunchSpec) -> Result<Launch, Error> {
        let (kernel, checked) = self.kernel(bench, at, spec)?;
        let params = checked.params(&kernel)?;
        self.fits(&kernel, spec)?;
        Ok(Launch {
            kernel,
            grid: spec.grid,
            block: spec.block,
            dynamic_shared: spec.dynamic_shared,
            params,
            cooperative: self.script.co_resident,
            cluster: self.script.cluster,
        })
    }

    /// Whether the device holds all CTAs of a cooperative launch at once.
    fn fits(&self, kernel: &Kernel, spec: &LaunchSpec) -> Result<(), Error> {
        let Some(each) = self
            .script
            .max_blocks_per_sm
            .filter(|_| self.script.co_resident)
        else {
            return Ok(());
        };
        let sms = self.script.sms.unwrap_or(Config::default().sms);
        let most = u64::from(sms) * u64::from(each);
        let found = spec
            .grid
            .iter()
            .fold(1u64, |all, n| all.saturating_mul(u64::from(*n)));
        if found > most {
            return Err(Error::Device(DeviceError::Launch {
                kernel: kernel.name().clone(),
                what: Limit::Cooperative,
                found,
                expected: most,
            }));
        }
        Ok(())
    }

    /// Takes what the checker found; reads of the host that only compare are no finding.
    fn take(&mut self, bench: &Bench, comparing: bool) {
        if self.settings.checks.is_none() {
            return;
        }
        for finding in bench.machine.take_findings() {
            if !(comparing && finding.kind == Kind::UnwrittenOutput) {
                let mut issue = self.report.source.issue(finding);
                if self.follows(&issue) {
                    continue;
                }
                if let Some(allocation) = issue.allocation.as_mut().filter(|a| a.name.is_none()) {
                    let starts = bench.addresses.iter();
                    let named = starts
                        .zip(&self.script.buffers)
                        .find(|(start, _)| **start == allocation.start);
                    allocation.name = named.map(|(_, buffer)| buffer.name.clone().into());
                }
                self.report.add(issue);
            }
        }
    }

    /// Names the buffers that threads wait for.
    fn name_words(&mut self, bench: &Bench) {
        for issue in &mut self.report.issues {
            let Some(address) = issue.address.filter(|_| issue.allocation.is_none()) else {
                continue;
            };
            let all = bench.addresses.iter().zip(&self.script.buffers);
            let own = all.clone().find(|(start, buffer)| {
                address
                    .checked_sub(**start)
                    .is_some_and(|at| at < buffer.bytes)
            });
            issue.allocation = own.map(|(start, buffer)| Allocation {
                name: Some(buffer.name.clone().into()),
                start: *start,
                bytes: buffer.bytes,
                distance: 0,
            });
        }
    }

    /// Whether an issue only follows from an address of the wrong space, which is told.
    fn follows(&self, issue: &Issue) -> bool {
        issue.kind.starts_with("oob_")
            && self.report.issues.iter().any(|known| {
                known.kind == Kind::BadSpace.name() && known.place.line == issue.place.line
            })
    }

    fn host_reads(&mut self, bench: &Bench) {
        for &buffer in &self.script.host_reads {
            if !bench.gone[buffer] {
                self.kept[buffer] = self.contents(bench, buffer);
            }
        }
        self.take(bench, false);
    }

    fn contents(&self, bench: &Bench, buffer: usize) -> Option<Vec<u8>> {
        let bytes = self.script.buffers[buffer].bytes;
        let read = bench.stream.read(bench.addresses[buffer], bytes).ok()?;
        read.wait().ok()
    }

    fn outputs(&mut self, bench: &Bench) {
        for at in 0..self.script.buffers.len() {
            if self.all && self.kept[at].is_none() && !bench.gone[at] {
                self.kept[at] = self.contents(bench, at);
            }
        }
        for (at, buffer) in self.script.buffers.iter().enumerate() {
            let Some(Wanted { contents, mode }) = &buffer.wanted else {
                continue;
            };
            if self.kept[at].is_none() && !bench.gone[at] {
                self.kept[at] = self.contents(bench, at);
            }
            let Some(got) = &self.kept[at] else {
                continue;
            };
            let wanted = match contents {
                WantedContents::Bytes(bytes) => bytes.clone(),
                WantedContents::Unchanged => self.initial(bench, at),
            };
            self.report.outputs.push(Output {
                buffer: buffer.name.clone(),
                difference: compare(buffer.element, mode, got, &wanted),
            });
        }
        self.take(bench, true);
    }

    /// What a buffer held before the first launch.
    fn initial(&self, bench: &Bench, at: usize) -> Vec<u8> {
        let buffer = &self.script.buffers[at];
        let mut bytes = match &buffer.contents {
            Contents::Bytes(bytes) => bytes.clone(),
            Contents::Fill(byte) => vec![*byte; buffer.bytes as usize],
            Contents::Uninitialized => return self.kept[at].clone().unwrap_or_default(),
        };
        for (offset, pointed) in &buffer.pointers {
            let at = *offset as usize;
            bytes[at..at + 8].copy_from_slice(&bench.addresses[*pointed].to_le_bytes());
        }
        bytes
    }

    /// Gives back what the script does not leak.
    fn give_back(&mut self, bench: &mut Bench) {
        for at in 0..self.script.buffers.len() {
            if !bench.gone[at] && !self.script.leaked.contains(&at) {
                // It is ours and allocated until here.
                drop(bench.machine.free(bench.addresses[at]));
            }
        }
        bench.machine.check_leaks(|_| true);
        self.take(bench, false);
    }
}
