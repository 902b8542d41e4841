//! CUDA programs interpreted, compiled, and as plain C++: the same inputs, and outputs that agree.

mod cases;
pub(super) mod native;

use crate::{
    Failed,
    args::{Args, Vectors},
    stats::median,
};
use cases::{Case, Check};
use native::Native;
use serde::{Deserialize, Serialize};
use std::{fs, time::Instant};
use warpsmith::{
    ptx::{parse::parse, target::PtxVersion, verify::Verified, verify::verify},
    vgpu::{Compile, Config, Kernel, Launch, Machine, Module, Stream},
};

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Programs {
    /// Who made the native programs.
    pub(crate) compiler: String,
    pub(crate) threads: usize,
    pub(crate) rows: Vec<Row>,
}

/// A program: milliseconds of a launch, medians.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) interpreted_ms: f64,
    pub(crate) compiled_ms: f64,
    pub(crate) native_ms: f64,
    /// Lines of PTX with an instruction or a declaration.
    pub(crate) lines: usize,
    /// Microseconds that the compiler takes for a line, beside what an interpreted kernel needs.
    pub(crate) compile_us: f64,
}

/// How often a kernel is prepared anew on each side.
const PREPARED: usize = 5;

pub(crate) fn measure(args: &Args) -> Result<Programs, Failed> {
    let native = Native::build()?;
    let mut rows = Vec::new();
    let asked = |case: &Case| {
        let named = |name: &String| name == case.name;
        args.programs.is_empty() || args.programs.iter().any(named)
    };
    for case in cases::all().into_iter().filter(asked) {
        let failed = |error: Failed| format!("{}: {error}", case.name);
        rows.push(row(args, &case, &native).map_err(failed)?);
    }
    Ok(Programs {
        compiler: native.compiler.clone(),
        threads: args.threads,
        rows,
    })
}

fn row(args: &Args, case: &Case, native: &Native) -> Result<Row, Failed> {
    let path = format!(
        concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../suite/cases/cuda/{0}/sm_90.ptx"
        ),
        case.name
    );
    let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let module = parse(&text).map_err(|found| format!("{path}: {}", found[0]))?;
    let module = verify(module).map_err(|found| format!("{path}: {}", found[0]))?;
    let interpreted = side(args, case, &module, Compile::Never)?;
    let compiled = side(args, case, &module, Compile::Always)?;
    let own = native.run(case, args.threads, args.runs)?;
    for (at, (ours, theirs)) in interpreted
        .outputs
        .iter()
        .zip(&compiled.outputs)
        .enumerate()
    {
        if ours != theirs {
            return Err(format!("buffer {at} is not the same compiled as interpreted").into());
        }
    }
    for (at, (ours, theirs)) in interpreted.outputs.iter().zip(&own.outputs).enumerate() {
        case.checks[at].compare(ours, theirs).map_err(|(index, ours, theirs)| {
            format!("element {index} of buffer {at} is {ours} here and {theirs} in the native program")
        })?;
    }
    let is_code = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("//")
    };
    let lines = text.lines().filter(is_code).count();
    Ok(Row {
        name: case.name.to_owned(),
        interpreted_ms: median(&interpreted.ms),
        compiled_ms: median(&compiled.ms),
        native_ms: median(&own.ms),
        lines,
        compile_us: (compiled.prepare_us - interpreted.prepare_us).max(0.0) / lines as f64,
    })
}

/// What a program does on one side.
struct Side {
    /// Milliseconds of each run.
    ms: Vec<f64>,
    /// What all buffers hold afterwards.
    outputs: Vec<Vec<u8>>,
    /// Microseconds from a loaded module to a kernel that is ready.
    prepare_us: f64,
}

fn side(args: &Args, case: &Case, module: &Verified, compile: Compile) -> Result<Side, Failed> {
    let mut prepared = Vec::with_capacity(PREPARED);
    for _ in 1..PREPARED {
        prepared.push(Ready::new(args, case, module, compile)?.prepare_us);
    }
    let ready = Ready::new(args, case, module, compile)?;
    prepared.push(ready.prepare_us);
    let mut ms = Vec::with_capacity(args.runs);
    for run in 0..=args.runs {
        ready.fill(case)?;
        let start = Instant::now();
        ready.stream.launch(ready.launch(case))?;
        ready.stream.synchronize()?;
        if run > 0 {
            ms.push(1e3 * start.elapsed().as_secs_f64());
        }
    }
    let mut outputs = Vec::new();
    for (address, fresh) in ready.buffers.iter().zip(case.buffers()) {
        let mut bytes = vec![0; fresh.len()];
        ready.machine.read(*address, &mut bytes)?;
        outputs.push(bytes);
    }
    Ok(Side {
        ms,
        outputs,
        prepare_us: median(&prepared),
    })
}

/// A machine with a kernel that is ready to run.
struct Ready {
    machine: Machine,
    module: Module,
    kernel: Kernel,
    stream: Stream,
    buffers: Vec<u64>,
    params: Vec<u8>,
    prepare_us: f64,
}

impl Ready {
    fn new(args: &Args, case: &Case, module: &Verified, compile: Compile) -> Result<Ready, Failed> {
        let machine = Machine::new(Config {
            memory: 1 << 30,
            workers: args.threads,
            max_ptx: PtxVersion::new(9, 9),
            compile,
            tier: args.tier.map(Vectors::tier),
            ..Config::default()
        })?;
        let stream = machine.stream()?;
        let module = machine.load(module)?;
        let kernel = module.kernel("k").ok_or("there is no kernel `k`")?;
        let mut buffers = Vec::new();
        for bytes in case.buffers() {
            buffers.push(machine.alloc(bytes.len() as u64)?);
        }
        let mut ready = Ready {
            machine,
            module,
            kernel,
            stream,
            buffers,
            params: Vec::new(),
            prepare_us: 0.0,
        };
        ready.params = ready.params(case)?;
        let launch = ready.launch(case);
        let start = Instant::now();
        ready.stream.prepare(vec![launch])?;
        ready.prepare_us = 1e6 * start.elapsed().as_secs_f64();
        Ok(ready)
    }

    fn params(&self, case: &Case) -> Result<Vec<u8>, Failed> {
        let mut params = vec![0; self.kernel.param_bytes() as usize];
        let mut buffers = self.buffers.iter();
        for (param, arg) in self.kernel.params().iter().zip(&case.args) {
            let value = match arg {
                cases::Arg::Buffer(_) => *buffers.next().ok_or("a buffer without an address")?,
                cases::Arg::Scalar(value) => *value,
            };
            let at = param.offset as usize;
            let bytes = param.size as usize;
            params[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
        Ok(params)
    }

    fn launch(&self, case: &Case) -> Launch {
        Launch {
            kernel: self.kernel.clone(),
            grid: case.grid,
            block: case.block,
            dynamic_shared: case.dynamic_shared,
            params: self.params.clone(),
            cooperative: false,
            cluster: None,
        }
    }

    /// Writes what buffers and constants hold before a run.
    fn fill(&self, case: &Case) -> Result<(), Failed> {
        for (address, bytes) in self.buffers.iter().zip(case.buffers()) {
            self.machine.write(*address, bytes)?;
        }
        if let Some((name, bytes)) = &case.constant {
            let found = self.module.global(name);
            let (address, _) = found.ok_or("the module has no such variable")?;
            self.machine.write(address, bytes)?;
        }
        Ok(())
    }
}

impl Check {
    /// Whether two buffers agree; else the first place where they do not, with both numbers.
    fn compare(&self, ours: &[u8], theirs: &[u8]) -> Result<(), (usize, f64, f64)> {
        let near = |ours: f64, theirs: f64, tolerance: f64| {
            let same = ours == theirs || ours.is_nan() && theirs.is_nan();
            same || (ours - theirs).abs() <= tolerance * ours.abs().max(theirs.abs()).max(1.0)
        };
        let pairs: Vec<(f64, f64, f64)> = match self {
            Check::Exact => {
                let bytes = ours.iter().zip(theirs);
                bytes
                    .map(|(a, b)| (f64::from(*a), f64::from(*b), 0.0))
                    .collect()
            }
            Check::F32(tolerance) => {
                let number = |word: &[u8]| {
                    f64::from(f32::from_le_bytes(word.try_into().unwrap_or_default()))
                };
                let words = ours.chunks(4).zip(theirs.chunks(4));
                words
                    .map(|(a, b)| (number(a), number(b), *tolerance))
                    .collect()
            }
            Check::F64(tolerance) => {
                let number = |word: &[u8]| f64::from_le_bytes(word.try_into().unwrap_or_default());
                let words = ours.chunks(8).zip(theirs.chunks(8));
                words
                    .map(|(a, b)| (number(a), number(b), *tolerance))
                    .collect()
            }
        };
        let off = pairs
            .iter()
            .position(|(a, b, tolerance)| !near(*a, *b, *tolerance));
        match off {
            _ if ours.len() != theirs.len() => Err((0, ours.len() as f64, theirs.len() as f64)),
            Some(at) => Err((at, pairs[at].0, pairs[at].1)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_agree_up_to_a_tolerance_of_their_numbers() {
        let bytes = |all: &[f32]| {
            all.iter()
                .flat_map(|x| x.to_le_bytes())
                .collect::<Vec<u8>>()
        };
        let (a, b) = (bytes(&[1.0, 100.0]), bytes(&[1.0, 100.01]));
        assert_eq!(Check::F32(1e-3).compare(&a, &b), Ok(()));
        let found = Check::F32(1e-5).compare(&a, &b);
        assert!(matches!(found, Err((1, _, _))), "{found:?}");
        assert!(Check::Exact.compare(&a, &b).is_err());
        assert!(Check::Exact.compare(&a, &a[..4]).is_err());
        let nan = bytes(&[f32::NAN]);
        assert_eq!(Check::F32(0.0).compare(&nan, &nan), Ok(()));
        assert!(Check::F32(1.0).compare(&nan, &bytes(&[1.0])).is_err());
    }
}
