//! PTX checked, and run under the checker, from text.

use crate::{
    errors, json,
    params::{self, Value},
    wait,
};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use warpsmith::{
    ptx::{
        findings::Limits,
        ir::{Function, FunctionKind},
        parse::parse,
        target::{PtxVersion, Target},
    },
    report::check_text,
    script::{Arg, Buffer, Contents, LaunchSpec, Script, Settings, element},
    vgpu::{Stop, check::Checks},
};

fn target(name: Option<&str>) -> PyResult<Option<Target>> {
    let parsed = name.map(|name| {
        name.parse::<Target>()
            .map_err(|error| errors::InputError::new_err(format!("sm: {error}")))
    });
    parsed.transpose()
}

/// Finds faults in PTX without running it; JSON as `json::of` writes it.
#[pyfunction]
#[pyo3(signature = (text, name, sm, ptx_limit))]
pub(crate) fn check_ptx(
    py: Python<'_>,
    text: String,
    name: PathBuf,
    sm: Option<&str>,
    ptx_limit: Option<(u8, u8)>,
) -> PyResult<String> {
    let ptx = ptx_limit.map(|(major, minor)| PtxVersion::new(major, minor));
    if let Some(version) = ptx.filter(|version| !version.exists()) {
        let expected = format!("a version of PTX: {}", PtxVersion::names());
        return Err(errors::input("ptx_limit", &expected, version));
    }
    let limits = Limits {
        target: target(sm)?,
        ptx,
    };
    Ok(py.detach(|| json::of(&check_text(&name, &text, limits))))
}

/// The kernels of a module: `(name, [(parameter, type, bytes)], required block)`; an empty list where it does not parse.
#[pyfunction]
pub(crate) fn kernels(text: &str) -> Vec<(String, Vec<(String, String, u64)>, Option<[u32; 3]>)> {
    let entries = entries(text);
    let one = |function: &Function| {
        let params = function.params.iter();
        let params = params.map(|var| {
            let bytes = var.bytes().unwrap_or(0);
            (var.name.to_string(), params::name(var.ty), bytes)
        });
        let block = function.directives.iter().find_map(required);
        (function.name.to_string(), params.collect(), block)
    };
    entries.iter().map(one).collect()
}

fn required(directive: &warpsmith::ptx::ir::Directive) -> Option<[u32; 3]> {
    match directive {
        warpsmith::ptx::ir::Directive::ReqNtid(block) => Some(*block),
        _ => None,
    }
}

fn entries(text: &str) -> Vec<Function> {
    let functions = parse(text).map(|module| module.functions);
    let mut functions = functions.unwrap_or_default();
    functions.retain(|function| function.kind == FunctionKind::Entry);
    functions
}

/// A buffer: its name, the type of its elements, its bytes if somebody wrote them, and how many there are.
type Memory = (String, String, Option<Vec<u8>>, u64);
/// An argument: `buffer` with its number and an offset in bytes, `null`, `number` with its text, `scalar` with its type
/// and bytes, `bytes`.
type Given = (String, String, u64, u64, Vec<u8>);

/// Runs one kernel on the virtual GPU; JSON as `json::of` writes it, and what the buffers hold at the end.
#[pyfunction]
#[pyo3(signature = (text, name, kernel, grid, block, shared, memory, args, checks, schedules, seed, budget, sm, sms,
    cooperative))]
pub(crate) fn run_ptx(
    py: Python<'_>,
    text: String,
    name: PathBuf,
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    memory: Vec<Memory>,
    args: Vec<Given>,
    checks: Option<Vec<String>>,
    schedules: u32,
    seed: Option<u64>,
    budget: Option<u64>,
    sm: Option<&str>,
    sms: Option<u32>,
    cooperative: bool,
) -> PyResult<(String, Vec<Option<Vec<u8>>>)> {
    let entries = entries(&text);
    let function = entries.iter().find(|one| *one.name == *kernel);
    if let Some(function) = function.filter(|function| function.params.len() != args.len()) {
        let expected = format!("{} arguments", function.params.len());
        return Err(errors::input("args", &expected, args.len()));
    }
    let mut own = Vec::new();
    for (number, given) in args.into_iter().enumerate() {
        own.push(argument(number, given, function)?);
    }
    let mut buffers = Vec::new();
    for (name, dtype, contents, bytes) in memory {
        let unknown = || errors::input(&name, "a type that PTX has", &dtype);
        buffers.push(Buffer {
            element: element(&dtype).ok_or_else(unknown)?,
            name: name.clone(),
            bytes,
            contents: contents.map_or(Contents::Uninitialized, Contents::Bytes),
            pointers: Vec::new(),
            wanted: None,
        });
    }
    let checks = match checks {
        None => None,
        Some(names) if names.is_empty() => Some(Checks::default()),
        Some(names) => {
            let kinds: Result<Vec<_>, _> = names.iter().map(|name| name.parse()).collect();
            let kinds =
                kinds.map_err(|error| errors::InputError::new_err(format!("check: {error}")));
            Some(Checks { kinds: kinds? })
        }
    };
    let script = Script {
        ptx: Path::new(&name).to_owned(),
        ptx_text: Some(text),
        target: target(sm)?,
        sms,
        max_blocks_per_sm: None,
        host_reads: (0..buffers.len()).collect(),
        buffers,
        globals: Vec::new(),
        launches: vec![LaunchSpec {
            kernel,
            grid,
            block,
            dynamic_shared: shared,
            args: own,
        }],
        freed: Vec::new(),
        leaked: Vec::new(),
        co_resident: cooperative,
        cluster: None,
        text: String::new(),
    };
    let stop = Stop::default();
    let settings = Settings {
        checks,
        schedules,
        seed,
        budget,
        stop: stop.clone(),
        tell: None,
    };
    wait::done(
        py,
        move || stop.stop(),
        move || {
            let (report, kept) = script.run_keeping(&settings);
            (json::of(&report), kept)
        },
    )
}

fn argument(number: usize, given: Given, function: Option<&Function>) -> PyResult<Arg> {
    let (kind, text, buffer, offset, bytes) = given;
    let value = match kind.as_str() {
        "buffer" => {
            return Ok(Arg::Pointer {
                buffer: Some(buffer as usize),
                offset,
            });
        }
        "null" => {
            return Ok(Arg::Pointer {
                buffer: None,
                offset: 0,
            });
        }
        "number" => Value::Number(text),
        "scalar" => Value::Scalar(text, bytes),
        _ => Value::Bytes(bytes),
    };
    // Where there is no such kernel or parameter, that is what is said when it is launched.
    let var = function.and_then(|function| function.params.get(number));
    let bytes = match var {
        Some(var) => params::bytes(number, var, &value)?,
        None => Vec::new(),
    };
    Ok(Arg::Bytes {
        ty: None,
        bytes,
        pointers: Vec::new(),
    })
}
