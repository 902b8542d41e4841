//! The assembler as `exec` lays it out: checks PTX and passes it on, as the driver takes PTX for code.

use super::super::output::{print, warn};
use std::{ffi::OsString, fs, path::Path, process::ExitCode};
use warpsmith::ptx::{parse::parse, verify::verify};

/// Whether this program was called as the assembler.
pub(crate) fn is_wanted(name: &std::ffi::OsStr) -> bool {
    Path::new(name)
        .file_stem()
        .is_some_and(|name| name == "ptxas")
}

/// Its version: Triton chooses the PTX that it writes by it.
const VERSION: &str =
    "ptxas: passes PTX on to warpsmith's driver\nCuda compilation tools, release 12.9, V12.9.0\n";

/// Options that the next argument belongs to.
const WITH_VALUE: [&str; 6] = [
    "-o",
    "--output-file",
    "-arch",
    "--opt-level",
    "-O",
    "-maxrregcount",
];

/// Copies the PTX of the only file among the arguments to where `-o` says.
pub(crate) fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    if args.iter().any(|arg| arg == "--version" || arg == "-V") {
        return match print(VERSION) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_closed) => ExitCode::FAILURE,
        };
    }
    match pass(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(lines) => {
            lines
                .iter()
                .for_each(|line| warn(&format!("ptxas error: {line}")));
            ExitCode::FAILURE
        }
    }
}

fn pass(args: &[String]) -> Result<(), Vec<String>> {
    let (mut input, mut output) = (None, "elf.o");
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let value = WITH_VALUE
            .contains(&arg.as_str())
            .then(|| rest.next())
            .flatten();
        match (arg.as_str(), value) {
            ("-o" | "--output-file", Some(path)) => output = path,
            (option, _) if option.starts_with('-') => {}
            (path, None) => input = Some(path),
            (_, Some(_)) => {}
        }
    }
    let input = input.ok_or_else(|| vec!["no input file".to_owned()])?;
    let text = fs::read_to_string(input).map_err(|error| vec![format!("{input}: {error}")])?;
    let named = |found: Vec<warpsmith::ptx::diag::Diagnostic>| {
        found
            .iter()
            .map(|one| format!("{input}: {one}"))
            .collect::<Vec<String>>()
    };
    let module = parse(&text).map_err(named)?;
    verify(module).map_err(named)?;
    fs::write(output, text).map_err(|error| vec![format!("{output}: {error}")])
}
