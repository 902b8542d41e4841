//! The programs in C++: built by the system's compiler, run in a process of their own.

use super::cases::{Arg, Case};
use crate::Failed;
use std::{
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
};

/// Who compiles.
const COMPILER: &str = "g++";

/// The program that has them all.
pub(super) struct Native {
    folder: PathBuf,
    pub(super) compiler: String,
}

/// What a native program did.
pub(super) struct Ran {
    /// Milliseconds of each run.
    pub(super) ms: Vec<f64>,
    /// What the kernel's buffers hold afterwards.
    pub(super) outputs: Vec<Vec<u8>>,
}

impl Native {
    pub(super) fn build() -> Result<Native, Failed> {
        let said = output(Command::new(COMPILER).arg("--version"))?;
        let compiler = said.lines().next().unwrap_or(COMPILER).to_owned();
        let folder = env::temp_dir().join(format!("warpsmith-bench-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let native = Native { folder, compiler };
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/native/programs.cpp");
        compile(Path::new(source), &native.program(), &["-pthread"])?;
        Ok(native)
    }

    fn program(&self) -> PathBuf {
        self.folder.join("programs")
    }

    pub(super) fn run(&self, case: &Case, threads: usize, runs: usize) -> Result<Ran, Failed> {
        let (input, out) = (self.folder.join("input"), self.folder.join("output"));
        fs::write(&input, encoded(case))?;
        let said = output(
            Command::new(self.program())
                .arg(case.name)
                .args([&input, &out])
                .args([threads.to_string(), runs.to_string()]),
        )?;
        let mut ms = Vec::with_capacity(runs);
        for line in said.lines() {
            ms.push(1e3 * line.parse::<f64>()?);
        }
        let bytes = fs::read(&out)?;
        let mut rest = &bytes[..];
        let mut outputs = Vec::new();
        for fresh in case.buffers() {
            let own = rest.split_at_checked(fresh.len());
            let (own, more) = own.ok_or("the native program wrote too little")?;
            outputs.push(own.to_vec());
            rest = more;
        }
        Ok(Ran { ms, outputs })
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        // What cannot be taken away stays in the system's folder for such files.
        let _gone = fs::remove_dir_all(&self.folder);
    }
}

/// Compiles a file of C++ for this machine.
pub(in crate::part) fn compile(source: &Path, program: &Path, more: &[&str]) -> Result<(), Failed> {
    let mut command = Command::new(COMPILER);
    command.args(["-O3", "-march=native", "-std=c++17", "-Wall", "-o"]);
    output(command.arg(program).arg(source).args(more)).map(drop)
}

/// What a program printed; an error where it does not exist or fails.
pub(in crate::part) fn output(command: &mut Command) -> Result<String, Failed> {
    let name = Path::new(command.get_program()).display().to_string();
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            format!("`{name}` is not installed; the programs in C++ are built by it")
        }
        _ => format!("{name}: {error}"),
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name} ended with {}: {said}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The arguments as the program reads them: the launch, how many there are, then each; the constants come last.
fn encoded(case: &Case) -> Vec<u8> {
    let mut out = Vec::new();
    for number in case.grid.iter().chain(&case.block) {
        out.extend(number.to_le_bytes());
    }
    let buffer = |out: &mut Vec<u8>, bytes: &[u8]| {
        out.extend(1u64.to_le_bytes());
        out.extend((bytes.len() as u64).to_le_bytes());
        out.extend(bytes);
    };
    let count = case.args.len() + usize::from(case.constant.is_some());
    out.extend((count as u64).to_le_bytes());
    for arg in &case.args {
        match arg {
            Arg::Buffer(bytes) => buffer(&mut out, bytes),
            Arg::Scalar(value) => {
                out.extend(0u64.to_le_bytes());
                out.extend(value.to_le_bytes());
            }
        }
    }
    if let Some((_, bytes)) = &case.constant {
        buffer(&mut out, bytes);
    }
    out
}
