//! Puts the driver library inside of the program, where the program is built to be kept.
//!
//! Cargo does not give a program the dynamic library of another crate. So a build with optimisations builds that library
//! first, by another cargo in a folder of its own, and the program has its bytes. A build without them, as tests make many
//! of, does not: there `exec` looks beside the program. `WARPSMITH_EMBED=0` leaves the library out of the former, too.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=WARPSMITH_EMBED");
    let out = PathBuf::from(variable("OUT_DIR"));
    let library = if is_wanted() { build(&out) } else { None };
    let value = match library {
        Some(path) => format!("Some(include_bytes!({:?}))", path.display().to_string()),
        None => "None".to_owned(),
    };
    if let Err(error) = fs::write(out.join("driver.rs"), value) {
        println!("cargo:error=cannot write to {}: {error}", out.display());
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn is_wanted() -> bool {
    let here = variable("HOST") == variable("TARGET");
    let linux =
        variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ARCH") == "x86_64";
    // How far this crate itself is optimised says nothing: it only calls the others.
    let kept = variable("PROFILE") == "release";
    let has_cli = env::var_os("CARGO_FEATURE_CLI").is_some();
    here && linux && kept && has_cli && variable("WARPSMITH_EMBED") != "0"
}

/// Builds the library; its file.
fn build(out: &Path) -> Option<PathBuf> {
    let manifest = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../vcuda/Cargo.toml");
    for folder in ["vcuda", "vgpu", "ptx", "x86"] {
        println!("cargo:rerun-if-changed=../{folder}/src");
    }
    let target = out.join("driver");
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .args(["build", "--release", "--locked", "--manifest-path"])
        .arg(&manifest);
    cargo.arg("--target-dir").arg(&target);
    // By the linker that the outer cargo was told to use for this target.
    cargo.arg("--target").arg(variable("TARGET"));
    // What the outer cargo says of its own build is not meant for this one.
    for name in [
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
    ] {
        cargo.env_remove(name);
    }
    match cargo.output() {
        Ok(output) if output.status.success() => Some(
            target
                .join(variable("TARGET"))
                .join("release/libwarpsmith_vcuda.so"),
        ),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            for line in said
                .lines()
                .rev()
                .take(20)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
            {
                println!("cargo:warning={line}");
            }
            println!(
                "cargo:warning=the driver library was not built: `warpsmith exec` will look for one beside the program"
            );
            None
        }
        Err(error) => {
            println!(
                "cargo:warning=cargo cannot be started ({error}): `warpsmith exec` will look for a driver library"
            );
            None
        }
    }
}
