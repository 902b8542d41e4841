//! The driver library: where it is, loaded into this process, and in folders for other processes.
#![allow(unsafe_code)]

use std::{
    collections::{HashMap, HashSet},
    ffi::{CStr, c_char},
    fs::{self, File},
    os::unix::fs::{FileExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};
use tempfile::TempDir;

/// What its cards are called in this process.
pub(crate) const NAME: &str = "card-of-the-suite";
/// Cards with little memory, which come first, and how much that is.
pub(crate) const SMALL_CARDS: usize = 4;
pub(crate) const SMALL: u64 = 1 << 20;
/// The card after them has room for a model.
pub(crate) const MODEL_CARD: usize = SMALL_CARDS;

const SETTINGS: &CStr =
    c"NAME=card-of-the-suite DEVICES=200 MEMORY=1M,1M,1M,1M,2G,256M WORKERS=2 SMS=2";

/// The file, which cargo builds beside the tests that depend on its crate.
pub(crate) fn file() -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    let file = test.with_file_name("libwarpsmith_vcuda.so");
    assert!(file.exists(), "{} is missing", file.display());
    file
}

/// Makes it the driver of this process: it is named `libcuda.so` inside, so that whoever loads that later gets it.
pub(crate) fn load() {
    static LOADED: OnceLock<libloading::Library> = OnceLock::new();
    LOADED.get_or_init(|| {
        type Configure = unsafe extern "C" fn(*const c_char) -> u32;
        // SAFETY: it has no initialisers; the function has this signature and reads a string.
        unsafe {
            let library = libloading::Library::new(file()).expect("it loads");
            let configure = library
                .get::<Configure>(b"warpsmithVcudaConfigure")
                .expect("it is there");
            assert_eq!(configure(SETTINGS.as_ptr()), 0);
            library
        }
    });
}

/// A folder for the loader's path.
pub(crate) struct Folder(TempDir);

impl Folder {
    /// With nothing in it.
    pub(crate) fn empty() -> Folder {
        Folder(tempfile::tempdir().expect("a folder"))
    }

    /// With the library under the names that programs look for.
    pub(crate) fn new() -> Folder {
        let folder = Folder::empty();
        folder.link(&file());
        folder
    }

    /// With a copy of the library that can be changed.
    pub(crate) fn of_copy() -> (Folder, Copy) {
        let folder = Folder::empty();
        let path = folder.0.path().join("copy.so");
        let bytes = fs::read(file()).expect("the library");
        fs::write(&path, &bytes).expect("a copy");
        folder.link(&path);
        let copy = Copy {
            names: names(&bytes),
            file: File::options().write(true).open(&path).expect("the copy"),
        };
        (folder, copy)
    }

    /// With a file of these bytes in the library's place.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Folder {
        let folder = Folder::empty();
        let path = folder.0.path().join("file");
        fs::write(&path, bytes).expect("a file");
        folder.link(&path);
        folder
    }

    /// With a file of these bytes under the name that is tried first, and the library under the second.
    pub(crate) fn broken_first(bytes: &[u8]) -> Folder {
        let folder = Folder::empty();
        fs::write(folder.0.path().join("libcuda.so.1"), bytes).expect("a file");
        symlink(file(), folder.0.path().join("libcuda.so")).expect("a link");
        folder
    }

    fn link(&self, to: &Path) {
        for name in ["libcuda.so", "libcuda.so.1"] {
            symlink(to, self.0.path().join(name)).expect("a link");
        }
    }

    /// A program of the suite that looks for its driver here.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.0.path());
        command.env("WARPSMITH_VCUDA_MEMORY", "256M");
        command
    }

    /// What each step of the device script came to, under these settings of the library.
    pub(crate) fn script(&self, settings: &[(&str, &str)], steps: &[&str]) -> Vec<String> {
        let mut command = self.command(env!("CARGO_BIN_EXE_warpsmith-device-script"));
        for (name, value) in settings {
            command.env(format!("WARPSMITH_VCUDA_{name}"), value);
        }
        let output = command.args(steps).output().expect("the script starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success(),
            "{steps:?}: {}: {said}",
            output.status
        );
        assert_eq!(said, "", "{steps:?}");
        let lines = String::from_utf8(output.stdout).expect("text");
        let results = lines.lines().zip(steps).map(|(line, step)| {
            let result = line
                .strip_prefix(step)
                .and_then(|rest| rest.strip_prefix(": "));
            result.expect("a line for each step").to_owned()
        });
        let results: Vec<String> = results.collect();
        assert_eq!(results.len(), steps.len(), "{lines}");
        results
    }
}

/// A copy of the library whose functions can be hidden, by another first letter of their name where the loader looks.
/// No process has it open when it is changed.
pub(crate) struct Copy {
    file: File,
    /// Where names of functions are.
    names: HashMap<String, Vec<u64>>,
}

impl Copy {
    /// Hides these functions and no others.
    pub(crate) fn hide(&self, names: &[&str]) {
        for name in names {
            assert!(self.names.contains_key(*name), "`{name}` is no symbol");
        }
        for (name, places) in &self.names {
            let first = if names.contains(&&**name) {
                b'X'
            } else {
                name.as_bytes()[0]
            };
            for at in places {
                self.file.write_all_at(&[first], *at).expect("a letter");
            }
        }
    }
}

/// The names of the driver's functions that stand in `bytes` between zero bytes, as in tables of symbols.
fn names(bytes: &[u8]) -> HashMap<String, Vec<u64>> {
    let known: HashSet<&str> = warpsmith_vcuda::functions().collect();
    let mut names: HashMap<String, Vec<u64>> = HashMap::new();
    let mut start = 0;
    for text in bytes.split(|byte| *byte == 0) {
        if let Ok(name) = str::from_utf8(text)
            && known.contains(name)
        {
            names.entry(name.to_owned()).or_default().push(start);
        }
        start += text.len() as u64 + 1;
    }
    names
}
