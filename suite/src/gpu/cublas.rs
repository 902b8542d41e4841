//! cuBLAS as a peer, where a machine has it: loaded by hand, for one f16 product.
#![allow(unsafe_code)]

use super::speed::median;
use libloading::Library;
use std::{
    ffi::{c_int, c_void},
    path::{Path, PathBuf},
    process::Command,
    ptr,
};

type Handle = *mut c_void;

/// The functions of cuBLAS and of the driver that a timed product needs.
///
/// The handle goes with the process. Its work goes to the default stream of the context that is current on this thread, which is the device crate's after
/// any call of that crate.
pub(super) struct Cublas {
    handle: Handle,
    gemm: Gemm,
    event_create: unsafe extern "C" fn(*mut Handle, u32) -> c_int,
    event_record: unsafe extern "C" fn(Handle, Handle) -> c_int,
    event_synchronize: unsafe extern "C" fn(Handle) -> c_int,
    event_elapsed: unsafe extern "C" fn(*mut f32, Handle, Handle) -> c_int,
    /// Last, so that code is unloaded after all else.
    _libraries: Vec<Library>,
}

/// `cublasGemmEx`.
type Gemm = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;

// Values of cublas_api.h and library_types.h.
const OP_N: c_int = 0;
const OP_T: c_int = 1;
const R_16F: c_int = 2;
const COMPUTE_32F: c_int = 68;
const DEFAULT: c_int = -1;

/// Counted rounds, and products in each at least.
const ROUNDS: usize = 7;
const PRODUCTS: usize = 20;

/// Where the library may be: by its name, beside CUDA, in Python's packages.
fn places() -> Vec<PathBuf> {
    let names = ["libcublas.so.13", "libcublas.so.12"];
    let mut folders = vec![PathBuf::new()];
    for root in [
        "/usr/local/cuda/lib64",
        "/usr/local/cuda/targets/x86_64-linux/lib",
        "/usr/lib/x86_64-linux-gnu",
    ] {
        folders.push(root.into());
    }
    let python = Command::new("python3")
        .args(["-c", "import sys; print('\\n'.join(sys.path))"])
        .output();
    let paths = python.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    for site in paths
        .unwrap_or_default()
        .lines()
        .filter(|line| !line.is_empty())
    {
        for below in ["nvidia/cu13/lib", "nvidia/cublas/lib"] {
            folders.push(PathBuf::from(site).join(below));
        }
    }
    let all = folders
        .iter()
        .flat_map(|folder| names.map(|name| folder.join(name)));
    all.filter(|path| path.parent() == Some("".as_ref()) || path.exists())
        .collect()
}

impl Cublas {
    /// Looks for it.
    ///
    /// # Errors
    /// Each place tried, and why it failed.
    pub(super) fn find() -> Result<Cublas, Vec<String>> {
        let mut tried = Vec::new();
        for path in places() {
            match Cublas::load(&path) {
                Ok(cublas) => return Ok(cublas),
                Err(error) => tried.push(format!("{}: {error}", path.display())),
            }
        }
        Err(tried)
    }

    fn load(path: &Path) -> Result<Cublas, String> {
        let mut libraries = Vec::new();
        // It needs its neighbour, which the loader does not find beside it everywhere.
        let beside = path
            .to_string_lossy()
            .replace("libcublas.so", "libcublasLt.so");
        libraries.extend(open(beside.as_ref()));
        let library = open(path)?;
        let driver = open("libcuda.so.1".as_ref())?;
        // SAFETY: the types are those of the headers of CUDA 12 and 13.
        let (create, mut cublas) = unsafe {
            let create: unsafe extern "C" fn(*mut Handle) -> c_int =
                symbol(&library, "cublasCreate_v2")?;
            let cublas = Cublas {
                handle: ptr::null_mut(),
                gemm: symbol(&library, "cublasGemmEx")?,
                event_create: symbol(&driver, "cuEventCreate")?,
                event_record: symbol(&driver, "cuEventRecord")?,
                event_synchronize: symbol(&driver, "cuEventSynchronize")?,
                event_elapsed: symbol(&driver, "cuEventElapsedTime")?,
                _libraries: libraries,
            };
            (create, cublas)
        };
        // SAFETY: it stores one handle.
        status("cublasCreate", unsafe { create(&mut cublas.handle) })?;
        cublas._libraries.extend([library, driver]);
        Ok(cublas)
    }

    /// The time of `y = x W^T` in f16 with f32 sums, `[m, k]` by `[n, k]`; each product takes the next of `weights`.
    ///
    /// All addresses are those of device memory of these sizes, which nothing else uses now.
    ///
    /// # Errors
    /// The call that failed, with its status.
    pub(super) fn seconds(
        &self,
        x: u64,
        weights: &[u64],
        y: u64,
        shape: [u32; 3],
    ) -> Result<f64, String> {
        let mut events = [ptr::null_mut(); 2];
        for event in &mut events {
            // SAFETY: it stores one handle.
            status("cuEventCreate", unsafe { (self.event_create)(event, 0) })?;
        }
        let count = PRODUCTS.max(weights.len());
        let mut seconds = Vec::new();
        for round in 0..ROUNDS + 2 {
            // SAFETY: the event is ours; null is the default stream.
            status("cuEventRecord", unsafe {
                (self.event_record)(events[0], ptr::null_mut())
            })?;
            for at in 0..count {
                self.product(x, weights[at % weights.len()], y, shape)?;
            }
            let mut milliseconds = 0.0;
            // SAFETY: the events are ours, and the second one is waited for before the time is asked for.
            unsafe {
                status(
                    "cuEventRecord",
                    (self.event_record)(events[1], ptr::null_mut()),
                )?;
                status("cuEventSynchronize", (self.event_synchronize)(events[1]))?;
                let elapsed = (self.event_elapsed)(&mut milliseconds, events[0], events[1]);
                status("cuEventElapsedTime", elapsed)?;
            }
            if round >= 2 {
                seconds.push(f64::from(milliseconds) * 1e-3 / count as f64);
            }
        }
        Ok(median(&mut seconds))
    }

    fn product(&self, x: u64, w: u64, y: u64, [m, n, k]: [u32; 3]) -> Result<(), String> {
        let (m, n, k) = (m as c_int, n as c_int, k as c_int);
        let (one, zero) = (1.0f32, 0.0f32);
        let address = |at: u64| ptr::without_provenance_mut::<c_void>(at as usize);
        // SAFETY: the addresses are device memory of the sizes given; both factors are read before the call returns.
        // Row-major `[m, n]` is column-major `[n, m]`: W is the first factor, transposed.
        status("cublasGemmEx", unsafe {
            (self.gemm)(
                self.handle,
                OP_T,
                OP_N,
                n,
                m,
                k,
                (&raw const one).cast(),
                address(w),
                R_16F,
                k,
                address(x),
                R_16F,
                k,
                (&raw const zero).cast(),
                address(y),
                R_16F,
                n,
                COMPUTE_32F,
                DEFAULT,
            )
        })
    }
}

fn open(path: &Path) -> Result<Library, String> {
    // SAFETY: loading runs the library's initialisers; these are NVIDIA's own libraries, made to be loaded so.
    unsafe { Library::new(path) }.map_err(|error| error.to_string())
}

/// # Safety
/// The symbol has type `T`, and the library stays loaded while the copy of it is used.
unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Result<T, String> {
    // SAFETY: by the caller's promise.
    let found = unsafe { library.get::<T>(name.as_bytes()) };
    found
        .map(|symbol| *symbol)
        .map_err(|error| error.to_string())
}

fn status(call: &str, status: c_int) -> Result<(), String> {
    if status == 0 {
        Ok(())
    } else {
        Err(format!("{call}: {status}"))
    }
}
