//! CUDA C++ programs compiled by NVRTC: what they compute on the virtual GPU, and their text printed again.
#![allow(missing_docs)]

mod coverage;
mod machine_code;
mod script;

use script::{Script, programs};
use std::{fs, path::Path};
use warpsmith_ptx::{parse::parse, verify::Verified, verify::verify};

/// A file's module, verified.
fn read(path: &Path) -> Result<Verified, String> {
    let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let module = parse(&text).map_err(|found| found[0].to_string())?;
    verify(module).map_err(|found| found[0].to_string())
}

#[test]
fn outputs_are_what_a_cpu_computes() {
    let mut faults = Vec::new();
    let mut count = 0;
    for folder in programs() {
        let script = Script::read(&folder);
        for variant in &script.variants {
            count += 1;
            let done = read(&folder.join(variant)).and_then(|module| script.run(&module));
            if let Err(fault) = done {
                faults.push(format!("{}/{variant}: {fault}", script.name));
            }
        }
    }
    assert!(count > 0);
    assert!(
        faults.is_empty(),
        "{} of {count}:\n{}",
        faults.len(),
        faults.join("\n")
    );
}
