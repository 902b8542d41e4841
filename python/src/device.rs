//! A device with modules, kernels and arrays of its own: a card, or the virtual GPU.

use crate::{
    errors, json,
    params::{self, Value},
};
use pyo3::{prelude::*, types::PyBytes};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use warpsmith::{
    device::{BackEnd, Buffer, Grid, Loaded, Placement, Selector, Settings, Stream, Touch, Use},
    ptx::{
        ir::{Function, FunctionKind},
        parse::parse,
        verify::verify,
    },
    report::{Report, Source},
    script,
};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Names of the devices of this machine, and why there is no card if there is none.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> (Vec<String>, Option<String>) {
    let found = py.detach(warpsmith::device::devices);
    let (cards, why) = match found.cards {
        Ok(cards) => (cards, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let mut names: Vec<String> = (0..cards.len()).map(|at| format!("cuda:{at}")).collect();
    names.push("virtual".to_owned());
    (names, why)
}

/// A device and one stream of work on it.
#[pyclass(frozen)]
pub(crate) struct Device {
    stream: Arc<Stream>,
    /// The modules that were loaded, for the lines of what is found in them.
    sources: Mutex<Vec<Source>>,
}

/// Device memory.
#[pyclass(frozen)]
pub(crate) struct Array {
    stream: Arc<Stream>,
    buffer: Mutex<Buffer<u8>>,
}

/// PTX on a device.
#[pyclass(frozen)]
pub(crate) struct Module {
    stream: Arc<Stream>,
    module: warpsmith::device::Module,
    functions: Vec<Function>,
}

/// A kernel of a module.
#[pyclass(frozen)]
pub(crate) struct Kernel {
    stream: Arc<Stream>,
    loaded: Loaded,
    function: Function,
}

#[pymethods]
impl Device {
    #[new]
    fn new(py: Python<'_>, name: &str, check: bool) -> PyResult<Device> {
        let selector: Selector = name.parse().map_err(errors::device)?;
        let settings = match check {
            true => Settings::checking(),
            false => Settings::default(),
        };
        let stream = py.detach(|| {
            let device = warpsmith::device::Device::open_with(&selector, settings)?;
            device.stream()
        });
        Ok(Device {
            stream: Arc::new(stream.map_err(errors::device)?),
            sources: Mutex::default(),
        })
    }

    /// Facts: its name, its number if it is a card, target, multiprocessors, bytes of memory.
    fn facts(&self) -> (String, Option<usize>, String, u32, u64) {
        let info = self.stream.device().info();
        let card = match info.back_end {
            BackEnd::Virtual => None,
            BackEnd::Cuda { index } => Some(index),
        };
        let target = info.target.to_string();
        (info.name.clone(), card, target, info.sms, info.memory)
    }

    /// Memory with these bytes.
    fn upload(&self, py: Python<'_>, bytes: Vec<u8>) -> PyResult<Array> {
        let buffer = py.detach(|| self.stream.upload_new(&bytes));
        Ok(self.array(buffer.map_err(errors::device)?))
    }

    /// Memory that nobody wrote.
    fn alloc(&self, py: Python<'_>, bytes: usize) -> PyResult<Array> {
        let buffer = py.detach(|| self.stream.alloc(bytes));
        Ok(self.array(buffer.map_err(errors::device)?))
    }

    /// Loads PTX.
    fn load(&self, py: Python<'_>, text: String, name: PathBuf) -> PyResult<Module> {
        let refused = |found| {
            let path = name.clone();
            let error = script::Error::Ptx { path, found };
            errors::PtxError::new_err(error.to_string())
        };
        let parsed = py.detach(|| parse(&text)).map_err(refused)?;
        let mut source = Source::new(name.display().to_string(), text.clone());
        source.describe(&parsed);
        let verified = py.detach(|| verify(parsed)).map_err(refused)?;
        let module = py.detach(|| self.stream.device().load(&verified));
        let module = module.map_err(errors::device)?;
        let entries = verified.functions.iter();
        let entries = entries.filter(|function| function.kind == FunctionKind::Entry);
        let functions = entries.map(|function| Function {
            params: function.params.clone(),
            ..Function::new(function.name.clone(), function.kind)
        });
        lock(&self.sources).push(source);
        Ok(Module {
            stream: Arc::clone(&self.stream),
            module,
            functions: functions.collect(),
        })
    }

    /// Waits until all work is done.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.stream.synchronize())
            .map_err(errors::device)
    }

    /// What was found since the last call, as JSON.
    fn findings(&self, py: Python<'_>) -> String {
        let _ = py.detach(|| self.stream.synchronize());
        let mut report = Report::default();
        let sources = lock(&self.sources);
        for finding in self.stream.device().take_findings() {
            let kernel = finding.place.kernel.to_string();
            let own = sources
                .iter()
                .rev()
                .find(|source| source.entry_line(&kernel).is_some());
            if let Some(source) = own.or(sources.last()) {
                report.source = source.clone();
            }
            let issue = report.source.issue(finding);
            report.add(issue);
        }
        report.printed = self.stream.device().take_printed();
        json::of(&report)
    }
}

impl Device {
    fn array(&self, buffer: Buffer<u8>) -> Array {
        Array {
            stream: Arc::clone(&self.stream),
            buffer: Mutex::new(buffer),
        }
    }
}

#[pymethods]
impl Array {
    /// Its address on the device.
    #[getter]
    fn address(&self) -> u64 {
        lock(&self.buffer).address()
    }

    /// Its bytes, when all work before is done.
    fn download<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| {
            let buffer = lock(&self.buffer);
            self.stream.download(&*buffer)?.wait()
        });
        Ok(PyBytes::new(py, &bytes.map_err(errors::device)?))
    }

    /// Writes all of its bytes.
    fn upload(&self, py: Python<'_>, bytes: Vec<u8>) -> PyResult<()> {
        py.detach(|| {
            let mut buffer = lock(&self.buffer);
            self.stream.upload(&mut *buffer, &bytes)
        })
        .map(drop)
        .map_err(errors::device)
    }
}

#[pymethods]
impl Module {
    /// Its kernels.
    fn names(&self) -> Vec<String> {
        self.module.names()
    }

    /// A kernel by name.
    fn kernel(&self, name: &str) -> PyResult<Kernel> {
        let loaded = self.module.entry(name).map_err(errors::device)?;
        let function = self.functions.iter().find(|one| *one.name == *name);
        let function =
            function.ok_or_else(|| errors::input("kernel", "one of the module", name))?;
        Ok(Kernel {
            stream: Arc::clone(&self.stream),
            loaded,
            function: function.clone(),
        })
    }
}

#[pymethods]
impl Kernel {
    /// Its parameters: name, type, bytes.
    fn params(&self) -> Vec<(String, String, u64)> {
        let params = self.function.params.iter();
        params
            .map(|var| {
                let bytes = var.bytes().unwrap_or(0);
                (var.name.to_string(), params::name(var.ty), bytes)
            })
            .collect()
    }

    /// The block that it requires, if it does.
    fn block(&self) -> Option<[u32; 3]> {
        self.loaded.block()
    }

    /// Enqueues it. An argument is an array with an offset in bytes, or what `check.rs` calls `null`, `number`, `scalar` or
    /// `bytes`.
    fn launch(
        &self,
        py: Python<'_>,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        cooperative: bool,
        args: Vec<(String, String, Vec<u8>, Option<Py<Array>>, u64)>,
    ) -> PyResult<()> {
        let wanted = self.loaded.params();
        if wanted.len() != args.len() {
            let expected = format!("{} arguments of `{}`", wanted.len(), self.loaded.name());
            return Err(errors::input("args", &expected, args.len()));
        }
        let mut bytes = vec![0; self.loaded.param_bytes()];
        let mut used = Vec::new();
        let params = wanted.iter().zip(&self.function.params);
        for (number, ((param, var), (kind, text, raw, array, offset))) in
            params.zip(args).enumerate()
        {
            let value = match (kind.as_str(), array) {
                ("buffer", Some(array)) => {
                    let array = array.get();
                    if !array.stream.device().is(self.stream.device()) {
                        let what = format!("args[{number}]");
                        let expected = "an array of the kernel's device";
                        return Err(errors::input(&what, expected, "one of another device"));
                    }
                    let buffer = lock(&array.buffer);
                    used.push(buffer.allocation().clone());
                    let address = buffer.address().wrapping_add(offset);
                    Value::Bytes(address.to_le_bytes().to_vec())
                }
                ("number", _) => Value::Number(text),
                ("scalar", _) => Value::Scalar(text, raw),
                ("bytes", _) => Value::Bytes(raw),
                _ => Value::Bytes(vec![0; 8]),
            };
            let place = param.offset..param.offset + param.size;
            bytes[place].copy_from_slice(&params::bytes(number, var, &value)?);
        }
        let uses: Vec<Use<'_>> = used
            .iter()
            .map(|allocation| Use::of(allocation, Touch::Write))
            .collect();
        let grid = Grid {
            ctas: grid,
            block,
            dynamic_shared: shared,
            placement: match cooperative {
                true => Placement::Cooperative,
                false => Placement::Independent,
            },
        };
        py.detach(|| self.stream.launch_built(&self.loaded, grid, &bytes, &uses))
            .map_err(errors::device)
    }
}
