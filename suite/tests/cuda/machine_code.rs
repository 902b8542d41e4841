//! NVIDIA's assembler makes the same machine code of a program's text and of what is printed for it.

use super::{programs, script::Script};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use warpsmith_ptx::{parse::parse, print::print};

fn ptxas() -> PathBuf {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../.tools/ptxas");
    let path = std::env::var_os("WARPSMITH_PTXAS").map_or_else(|| own.into(), PathBuf::from);
    assert!(
        path.exists(),
        "no ptxas at {}: `cargo xtask test` installs it, or WARPSMITH_PTXAS names one",
        path.display()
    );
    path
}

/// The machine code of a text.
fn assemble(text: &str, sm: &str, name: &str) -> Result<Vec<Vec<u8>>, String> {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cuda-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let (source, out) = (
        folder.join(format!("{name}.ptx")),
        folder.join(format!("{name}.cubin")),
    );
    fs::write(&source, text).map_err(|e| e.to_string())?;
    let ran = Command::new(ptxas())
        .arg(format!("-arch={sm}"))
        .arg(&source)
        .arg("-o")
        .arg(&out)
        .output()
        .map_err(|e| e.to_string())?;
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&ran.stderr).into_owned());
    }
    let cubin = fs::read(&out).map_err(|e| e.to_string())?;
    sections(&cubin).ok_or_else(|| "no ELF file".to_owned())
}

/// The contents of the sections of code and data of an ELF file, in order.
fn sections(elf: &[u8]) -> Option<Vec<Vec<u8>>> {
    let number = |at: usize, len: usize| {
        let bytes = elf.get(at..at + len)?;
        let mut raw = [0; 8];
        raw[..len].copy_from_slice(bytes);
        Some(u64::from_le_bytes(raw) as usize)
    };
    let (table, size) = (number(0x28, 8)?, number(0x3A, 2)?);
    let (count, names) = (number(0x3C, 2)?, number(0x3E, 2)?);
    let strings = number(table + names * size + 0x18, 8)?;
    let mut all = Vec::new();
    for at in (0..count).map(|i| table + i * size) {
        let name = elf.get(strings + number(at, 4)?..)?;
        let wanted = [".text", ".nv.constant", ".nv.global"];
        if !wanted.iter().any(|w| name.starts_with(w.as_bytes())) || number(at + 4, 4)? == 8 {
            continue;
        }
        let (start, len) = (number(at + 0x18, 8)?, number(at + 0x20, 8)?);
        all.push(elf.get(start..start + len)?.to_vec());
    }
    Some(all)
}

#[test]
fn printing_changes_no_machine_code() {
    let mut faults = Vec::new();
    let mut count = 0;
    for folder in programs() {
        let script = Script::read(&folder);
        for variant in &script.variants {
            let mut text = fs::read_to_string(folder.join(variant)).expect("readable");
            if variant.contains("debug") {
                // `[x+0]` and `[x]` are one address; without optimisation the first is an addition.
                text = text.replace("+0]", "]");
            }
            let sm = variant.split('.').next().unwrap_or_default();
            let module = parse(&text).unwrap_or_else(|found| panic!("{variant}: {}", found[0]));
            let again = print(&module);
            let name = format!("{}-{variant}", script.name);
            count += 1;
            let printed = format!("{name}-printed");
            match (assemble(&text, sm, &name), assemble(&again, sm, &printed)) {
                (Ok(one), Ok(two)) if one == two && !one.is_empty() => {}
                (Ok(_), Ok(_)) => faults.push(format!("{name}: other code")),
                (Err(said), _) => faults.push(format!("{name}, as it was: {said}")),
                (_, Err(said)) => faults.push(format!("{name}, printed: {said}")),
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
