//! Programs under `warpsmith exec`: what calls of the driver cost, arrays beside numpy, and how long others' programs take.

use super::cuda::native;
use crate::{Failed, args::Args};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

/// What was measured of programs under `exec`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Exec {
    pub(crate) calls: Calls,
    pub(crate) arrays: Arrays,
    pub(crate) clients: Vec<Client>,
}

/// Calls of the driver from C++.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Calls {
    /// Of 20,000 launches, one after the other, and the end of the last.
    pub(crate) launch_us: f64,
    /// Each launch awaited.
    pub(crate) launch_and_wait_us: f64,
    /// 64 MiB by the C library.
    pub(crate) memcpy_gb_s: f64,
    /// To the card.
    pub(crate) up_gb_s: f64,
    /// To the host.
    pub(crate) down_gb_s: f64,
    /// Within the card.
    pub(crate) across_gb_s: f64,
}

/// Arrays on the card and in numpy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Arrays {
    pub(crate) axpy_ms: f64,
    pub(crate) axpy_numpy_ms: f64,
    pub(crate) naive_ms: f64,
    pub(crate) tiled_ms: f64,
    pub(crate) product_numpy_ms: f64,
}

/// A program of somebody else's library.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Client {
    pub(crate) name: String,
    /// From start to end, of each run.
    pub(crate) seconds: Vec<f64>,
    /// Of these, within functions of the driver: the rest is Python, and compilers of theirs.
    pub(crate) driver: Vec<f64>,
}

/// Scripts of the tests: a name, the file, and what `DEV` is.
const CLIENTS: [(&str, &str, &str); 3] = [
    ("tinygrad, NVRTC", "tinygrad_ops.py", "CUDA"),
    ("tinygrad, PTX", "tinygrad_ops.py", "CUDA:PTX"),
    ("Numba", "numba_kernels.py", ""),
];

/// Measures by the `warpsmith` and the Python of `args`; nothing if they name none.
pub(crate) fn measure(args: &Args) -> Result<Option<Exec>, Failed> {
    let Some((warpsmith, python)) = args.warpsmith.as_ref().zip(args.python.as_ref()) else {
        return Ok(None);
    };
    let folder = env::temp_dir().join(format!("warpsmith-bench-exec-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let bench = Bench {
        warpsmith,
        python,
        threads: args.threads.to_string(),
        folder,
    };
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = bench.folder.join("driver");
    native::compile(&own.join("exec/driver.cpp"), &program, &["-ldl"])?;
    let calls = parsed(&bench.run(&[], &[program.as_os_str()], "")?)?;
    let script = own.join("exec/arrays.py");
    let arrays = parsed(&bench.run(&[], &[python.as_os_str(), script.as_os_str()], "")?)?;
    let clients = CLIENTS.iter().map(|(name, script, device)| {
        let script = own
            .join("../crates/warpsmith/tests/cuda_clients")
            .join(script);
        bench.client(name, &script, device, args.runs)
    });
    Ok(Some(Exec {
        calls,
        arrays,
        clients: clients.collect::<Result<_, _>>()?,
    }))
}

/// Who runs programs.
struct Bench<'a> {
    warpsmith: &'a Path,
    python: &'a Path,
    threads: String,
    folder: PathBuf,
}

impl Bench<'_> {
    /// What a program prints under `exec`.
    fn run(&self, options: &[&OsStr], program: &[&OsStr], device: &str) -> Result<String, Failed> {
        let mut command = Command::new(self.warpsmith);
        command
            .args(["exec", "--sm", "80"])
            .args(options)
            .arg("--")
            .args(program)
            .env("WARPSMITH_VCUDA_WORKERS", &self.threads)
            .env("DEV", device);
        native::output(&mut command)
    }

    /// Once to warm up caches of theirs, then `runs` times.
    fn client(
        &self,
        name: &str,
        script: &Path,
        device: &str,
        runs: usize,
    ) -> Result<Client, Failed> {
        let (mut seconds, mut driver) = (Vec::new(), Vec::new());
        let trace = self.folder.join("calls.txt");
        let program = [
            self.python.as_os_str(),
            OsStr::new("-W"),
            OsStr::new("ignore"),
            script.as_os_str(),
        ];
        for run in 0..=runs {
            let start = Instant::now();
            self.run(
                &[OsStr::new("--trace"), trace.as_os_str()],
                &program,
                device,
            )?;
            if run > 0 {
                seconds.push(start.elapsed().as_secs_f64());
                driver.push(in_the_driver(&fs::read_to_string(&trace)?));
            }
        }
        Ok(Client {
            name: name.to_owned(),
            seconds,
            driver,
        })
    }
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        // What cannot be taken away stays in the system's folder for such files.
        let _gone = fs::remove_dir_all(&self.folder);
    }
}

/// The last line that a program printed.
fn parsed<T: DeserializeOwned>(said: &str) -> Result<T, Failed> {
    let line = said.lines().last().ok_or("it printed nothing")?;
    Ok(serde_json::from_str(line)?)
}

/// Seconds of all calls of a trace.
fn in_the_driver(trace: &str) -> f64 {
    let times = trace.lines().filter_map(|line| {
        let time = line.strip_suffix(" us)")?.rsplit_once('(')?.1;
        time.parse::<f64>().ok()
    });
    1e-6 * times.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_trace_is_that_of_its_calls() {
        let trace = "cuInit = 0 (120.5 us)\nwhat the linker said\ncuMemFree_v2 = 1 CUDA_ERROR_INVALID_VALUE (1.5 us)\n";
        assert!((in_the_driver(trace) - 122e-6).abs() < 1e-12);
    }
}
