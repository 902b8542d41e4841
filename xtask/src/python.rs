//! The Python package: what its tests need, and wheels.

use std::fs;
use std::path::{Path, PathBuf};

use crate::dist;
use crate::error::{Error, Result};
use crate::fetch::{Python, environment, only_file};
use crate::house::House;
use crate::run::Run;

/// What the tests of the package install.
const TESTS: &str = "python/tests/requirements.txt";

/// What makes and looks at wheels.
const MAKERS: &str = "maturin==1.16.0\nauditwheel==6.8.2\npatchelf==0.19.3.0\n";

/// Where wheels go.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder for the wheel [default: target/wheels].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only build and look at it: do not run the package's tests with it.
    #[arg(long)]
    untested: bool,
}

/// Makes the environment of the tests, unless it is there with these packages.
pub(crate) fn install(house: &House) -> Result<()> {
    let wanted = house.root().join(TESTS);
    let list = fs::read_to_string(&wanted).map_err(Error::io(&wanted))?;
    environment(house, "pytest", &list).map(drop)
}

/// `cargo xtask wheel`: built by Zig's linker for the glibc of manylinux_2_28, looked at by auditwheel, installed into an
/// empty environment, tested there.
pub(crate) fn wheel(house: &House, args: &Args) -> Result<()> {
    if std::env::consts::OS != "linux" {
        let what = format!(
            "wheels for {}; they are made on Linux",
            std::env::consts::OS
        );
        return Err(Error::Unsupported { what });
    }
    let makers = environment(house, "wheel", MAKERS)?;
    let zig = dist::linker(house)?;
    let fresh = house.target()?.join("wheels-fresh");
    clear(&fresh)?;
    Run::new(makers.program())
        .args(["-m", "maturin", "build", "--release", "--zig"])
        .args(["--compatibility", "manylinux_2_28", "--manifest-path"])
        .arg(house.root().join("python").join("Cargo.toml"))
        .arg("--out")
        .arg(&fresh)
        .env("CARGO_ZIGBUILD_ZIG_PATH", zig.join("ziglang").join("zig"))
        .env("PYTHONPATH", &zig)
        .current_dir(house.root())
        .show()?;
    let wheel = only_file(&fresh)?;
    // Says which platforms it is for, and fails if it is for none but this one.
    let told = Run::new(makers.program())
        .args(["-m", "auditwheel", "show"])
        .arg(&wheel)
        .read()?;
    print!("{told}");
    if !told.contains("manylinux_2_28") && !told.contains("manylinux_2_17") {
        return Err(Error::Output {
            command: "auditwheel show".to_owned(),
            expected: "manylinux_2_28 or older",
            found: told,
        });
    }
    if !args.untested {
        tried(house, &wheel)?;
    }
    let out = match &args.out {
        Some(out) => out.clone(),
        None => house.target()?.join("wheels"),
    };
    fs::create_dir_all(&out).map_err(Error::io(&out))?;
    let place = out.join(wheel.file_name().unwrap_or_default());
    fs::copy(&wheel, &place).map_err(Error::io(&place))?;
    let bytes = fs::metadata(&place).map_err(Error::io(&place))?.len();
    println!("{}: {:.1} MiB", place.display(), bytes as f64 / 1048576.0);
    Ok(())
}

/// Installs a wheel into an empty environment and runs the package's tests there, with the plugin that it brings.
fn tried(house: &House, wheel: &Path) -> Result<()> {
    let empty = house.target()?.join("wheel-tried");
    clear(&empty)?;
    let python = Python::venv(Python::find(house)?.program(), &empty)?;
    python
        .pip()
        .args([
            "install",
            "--quiet",
            "--only-binary",
            ":all:",
            "--requirement",
        ])
        .arg(house.root().join(TESTS))
        .show()?;
    python
        .pip()
        .args(["install", "--quiet"])
        .arg(wheel)
        .show()?;
    Run::new(python.program())
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"])
        .arg(house.root().join("python").join("tests"))
        .env("WARPSMITH_ROOT", house.root())
        .current_dir(&empty)
        .show()
}

fn clear(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(Error::io(folder))?;
    }
    fs::create_dir_all(folder).map_err(Error::io(folder))
}
