//! Programs of others under `warpsmith exec`, unmodified, from pip: tinygrad and Numba.
//!
//! `cargo xtask test` installs them into `.tools/cuda-clients`; WARPSMITH_CUDA_CLIENTS names another environment of Python.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// The Python with the packages; `None`, with a word to whoever reads it, where they were not installed.
fn python() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/cuda-clients");
    let folder = std::env::var_os("WARPSMITH_CUDA_CLIENTS").map_or(own, PathBuf::from);
    let python = folder.join("bin/python");
    if python.exists() {
        return Some(python);
    }
    assert!(
        std::env::var_os("WARPSMITH_CUDA_CLIENTS").is_none(),
        "no Python at {}",
        python.display()
    );
    eprintln!(
        "skipped: no {}; `cargo xtask test` makes it",
        python.display()
    );
    None
}

/// What a run left.
struct Ran {
    status: Option<i32>,
    out: String,
    err: String,
}

fn exec(python: &Path, options: &[&str], script: &str, args: &[&str], device: &str) -> Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cuda_clients")
        .join(script);
    let output = Command::new(env!("CARGO_BIN_EXE_warpsmith"))
        .args(["exec", "--sm", "80"])
        .args(options)
        .arg("--")
        .arg(python)
        .args(["-W", "ignore"])
        .arg(script)
        .args(args)
        .env("DEV", device)
        .output()
        .expect("it starts");
    Ran {
        status: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn tinygrad_computes_what_numpy_does_by_either_of_its_compilers() {
    let Some(python) = python() else {
        return;
    };
    for device in ["CUDA", "CUDA:PTX"] {
        let ran = exec(&python, &[], "tinygrad_ops.py", &[], device);
        assert_eq!(ran.status, Some(0), "{device}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains("tinygrad 13 right"), "{}", ran.out);
    }
}

#[test]
fn tinygrad_has_no_findings() {
    let Some(python) = python() else {
        return;
    };
    // What is not freed when the interpreter ends is not looked at.
    let kinds = "--check=oob_global,oob_shared,race_shared,race_global,uninit_shared,barrier_divergence,use_after_free";
    let ran = exec(&python, &[kinds], "tinygrad_ops.py", &[], "CUDA");
    assert_eq!(ran.status, Some(0), "{}{}", ran.out, ran.err);
}

#[test]
fn numba_computes_what_numpy_does() {
    let Some(python) = python() else {
        return;
    };
    let ran = exec(&python, &[], "numba_kernels.py", &[], "");
    assert_eq!(ran.status, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("numba right"), "{}", ran.out);
}

#[test]
fn a_fault_of_a_numba_kernel_is_found_with_who_allocated_and_launched() {
    let Some(python) = python() else {
        return;
    };
    let ran = exec(
        &python,
        &["--check=oob_global"],
        "numba_kernels.py",
        &["beyond"],
        "",
    );
    assert_eq!(ran.status, Some(1), "{}{}", ran.out, ran.err);
    for part in [
        "error[oob_global]",
        "thread (31, 0, 0)",
        "numba_kernels.py:",
        "it was allocated at",
        "launch 1, made at",
    ] {
        assert!(ran.err.contains(part), "{part} in\n{}", ran.err);
    }
}
