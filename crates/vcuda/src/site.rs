//! Places in the program: a line of Python, or the function behind the driver's own.

use std::{backtrace::Backtrace, sync::Arc};

/// A place in the program that called the driver. The words for frames are looked for when somebody asks: that takes
/// longer than a launch.
#[derive(Clone)]
pub(crate) enum Site {
    Line(String),
    Frames(Arc<Backtrace>),
}

impl Site {
    /// File, line and function, as far as they are known.
    pub(crate) fn words(&self) -> Option<String> {
        match self {
            Site::Line(line) => Some(line.clone()),
            Site::Frames(frames) => native(&frames.to_string()),
        }
    }
}

/// Whether a function is the driver's or the runtime's, or a template of the runtime's headers, or what Rust calls it by.
fn is_entry(name: &str) -> bool {
    let last = name.rsplit("::").next().unwrap_or(name);
    let plain = last.trim_start_matches('_');
    let is_upper = |rest: &str| rest.starts_with(char::is_uppercase);
    let of = |prefix: &str| plain.strip_prefix(prefix).is_some_and(is_upper);
    // Names of C++ have their length in front.
    let mangled = name.strip_prefix("_Z").is_some_and(|rest| {
        let inner = rest.trim_start_matches(|c: char| c == 'L' || c.is_ascii_digit());
        let inner = inner.trim_start_matches('_').strip_prefix("cuda");
        inner.is_some_and(is_upper)
    });
    of("cu") || of("cuda") || mangled
}

/// Whether a function is of a crate that cargo fetched, or of Rust's own library.
fn is_installed(name: &str, place: Option<&str>) -> bool {
    let crates = ["cudarc::", "core::", "std::", "alloc::"];
    let folders = ["/.cargo/registry/", "/.cargo/git/", "/rustc/"];
    let is_in = |place: &str| folders.iter().any(|folder| place.contains(folder));
    let path = name.trim_start_matches('<');
    crates.iter().any(|of| path.starts_with(of)) || place.is_some_and(is_in)
}

/// The function behind the driver's own, in the text of a backtrace: the first that is in no installed crate, or the first of
/// all.
fn native(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim).peekable();
    let mut seen = false;
    let mut innermost = None;
    while let Some(line) = lines.next() {
        let name = line.split_once(": ").map(|(_, name)| name);
        let Some(name) = name else {
            continue;
        };
        let is_entry = is_entry(name);
        // A stub of a kernel's is called by a function of the kernel's name, and that by the program.
        if name.contains("__device_stub__") {
            lines.find(|line| line.contains(": "));
            continue;
        }
        if seen && !is_entry {
            let place = lines.peek().and_then(|next| next.strip_prefix("at "));
            let site = match place {
                Some(place) => format!("{place} in {name}"),
                None => name.to_owned(),
            };
            if !is_installed(name, place) {
                return Some(site);
            }
            innermost.get_or_insert(site);
        }
        seen |= is_entry;
    }
    innermost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_behind_the_entry_is_the_caller() {
        let text = "   0: warpsmith_vcuda::host::python::caller\n             at ./src/host/python.rs:1:2\n   1: cuMemAlloc_v2\n   2: load_weights\n             at ./main.c:12\n   3: main";
        assert_eq!(native(text).as_deref(), Some("./main.c:12 in load_weights"));
        let text = "   0: cuLaunchKernelEx\n   1: __cudaLaunchKernel\n   2: _ZL26__cudaLaunchKernel_helperP14\n   3: _Z26__device_stub__Z3addPfiPfi\n   4: _Z3addPfi\n             at ./a.cu:3\n   5: main\n             at ./a.cu:9";
        assert_eq!(native(text).as_deref(), Some("./a.cu:9 in main"));
        let text = "   0: cuMemAlloc_v2\n   1: cudaMalloc\n   2: _ZL10cudaMallocIfE9cudaErrorPPT_m\n   3: cudnn";
        assert_eq!(native(text).as_deref(), Some("cudnn"));
        let text = "   0: cuMemAllocAsync\n   1: cudarc::driver::sys::cuMemAllocAsync\n   2: <cudarc::driver::CudaStream>::alloc::<f32>\n   3: alloc_zeros<f32>\n             at /opt/a/.cargo/registry/src/index/cudarc-0.19.10/src/driver/safe/core.rs:1656:28\n   4: core::ops::function::FnOnce::call_once\n   5: rows::load\n             at ./src/main.rs:7:13";
        assert_eq!(
            native(text).as_deref(),
            Some("./src/main.rs:7:13 in rows::load")
        );
        let text = "   0: cuMemAllocAsync\n   1: cudarc::driver::result::malloc_async\n   2: std::rt::lang_start";
        assert_eq!(
            native(text).as_deref(),
            Some("cudarc::driver::result::malloc_async")
        );
        assert_eq!(native("   0: main"), None);
        assert_eq!(
            native("   0: cuMemAlloc_v2\n   1: <unknown>").as_deref(),
            Some("<unknown>")
        );
    }
}
