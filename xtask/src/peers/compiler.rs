//! A C++ compiler for peers that are built from source: the machine's, else one from a wheel.

use std::fs;
use std::path::Path;

use crate::error::{Error, Result};
use crate::fetch::{Python, make_executable};
use crate::run::Run;

/// The Zig toolchain, whose wheel has a C++ compiler and its library.
const ZIG: &str = "ziglang==0.15.2";

/// The build command with a compiler; without one on the machine, `folder` gets one in the environment of `python`.
pub(super) fn with(python: &Python, folder: &Path, build: Run) -> Result<Run> {
    let named = std::env::var_os("CXX").is_some_and(|value| !value.is_empty());
    if named || ["c++", "g++", "clang++"].iter().any(starts) {
        return Ok(build);
    }
    println!("no C++ compiler here (c++, g++, clang++ or CXX): taking that of {ZIG}, from pip");
    python.pip().args(["install", "--quiet", ZIG]).show()?;
    // The program itself: the module is out of sight of a build.
    let place = "import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), 'zig'))";
    let zig = Run::new(python.program()).args(["-c", place]).read()?;
    let mut build = build;
    for (variable, tool) in [
        ("CC", "cc"),
        ("CXX", "c++"),
        ("AR", "ar"),
        ("RANLIB", "ranlib"),
    ] {
        let path = folder.join(format!("zig-{tool}"));
        let script = format!("#!/bin/sh\nexec '{}' {tool} \"$@\"\n", zig.trim());
        fs::write(&path, script).map_err(Error::io(&path))?;
        make_executable(&path)?;
        build = build.env(variable, path);
    }
    Ok(build)
}

fn starts(program: &&str) -> bool {
    Run::new(program).arg("--version").read().is_ok()
}
