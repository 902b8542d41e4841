//! The Python package under pytest: its Python files with the native half that cargo has just built.
//!
//! `cargo xtask test` installs pytest and NumPy into `.tools/pytest`; WARPSMITH_PYTEST names another environment of Python.
#![cfg(target_os = "linux")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// The Python with the packages.
fn python() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tools/pytest");
    let folder = std::env::var_os("WARPSMITH_PYTEST").map_or(own, PathBuf::from);
    let python = folder.join("bin/python");
    assert!(
        python.exists(),
        "{} is missing: run `cargo xtask test --only python`",
        python.display()
    );
    python
}

/// The library that cargo built for this test: beside it. A folder above may be an older one.
fn native() -> PathBuf {
    let this = std::env::current_exe().expect("the program of this test");
    let folder = this.parent().expect("it lies in a folder");
    let name = "libwarpsmith_python.so";
    let above = folder.parent().expect("that lies in a folder");
    let places = [folder.join(name), above.join(name)];
    let found = places.iter().find(|place| place.exists());
    found.expect("cargo built the library").clone()
}

#[test]
fn the_package_passes_its_tests() {
    let python = python();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let package = scratch.path().join("warpsmith");
    fs::create_dir(&package).expect("a folder");
    for entry in fs::read_dir(folder.join("warpsmith")).expect("the package") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let name = path.file_name().expect("it has a name");
            symlink(&path, package.join(name)).expect("a link");
        }
    }
    symlink(native(), package.join("_native.abi3.so")).expect("a link");
    // What an installed package says of itself, for pytest to find the plugin.
    let about = scratch.path().join("warpsmith-0.dist-info");
    fs::create_dir(&about).expect("a folder");
    for (name, text) in [
        (
            "METADATA",
            "Metadata-Version: 2.1\nName: warpsmith\nVersion: 0\n",
        ),
        (
            "entry_points.txt",
            "[pytest11]\nwarpsmith = warpsmith.pytest_plugin\n",
        ),
    ] {
        fs::write(about.join(name), text).expect("a file");
    }
    let tests = folder.join("tests");
    let status = Command::new(python)
        .args(["-m", "pytest", "--quiet", "--durations=5"])
        .args(["-p", "no:cacheprovider"])
        .arg(&tests)
        .env("PYTHONPATH", scratch.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("WARPSMITH_ROOT", folder.join(".."))
        .current_dir(scratch.path())
        .status()
        .expect("it starts");
    assert!(status.success(), "pytest: {status}");
}
