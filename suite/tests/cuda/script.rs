//! Run scripts: one launch as a JSON file, and how its outputs compare.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use warpsmith_ptx::{target::PtxVersion, verify::Verified};
use warpsmith_vgpu::{Compile, Config, Launch, Machine};

/// Where the programs are.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cases/cuda");

/// The folder of each program.
pub(crate) fn programs() -> Vec<PathBuf> {
    let all = fs::read_dir(FOLDER).expect("the programs");
    let mut all: Vec<PathBuf> = all
        .map(|entry| entry.expect("readable").path())
        .filter(|path| script_of(path).exists())
        .collect();
    all.sort();
    all
}

fn script_of(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default();
    folder.join(name).with_extension("json")
}

pub(crate) struct Script {
    pub(crate) name: String,
    pub(crate) variants: Vec<String>,
    folder: PathBuf,
    json: Value,
}

impl Script {
    pub(crate) fn read(folder: &Path) -> Script {
        let text = fs::read_to_string(script_of(folder)).expect("readable");
        let json: Value = serde_json::from_str(&text).expect("JSON");
        let variants = array(&json["variants"]).iter().map(text_of).collect();
        let name = folder.file_name().unwrap_or_default();
        Script {
            name: name.to_string_lossy().into_owned(),
            variants,
            folder: folder.to_owned(),
            json,
        }
    }

    fn file(&self, name: &Value) -> Vec<u8> {
        fs::read(self.folder.join(text_of(name))).expect("a file of the script")
    }

    /// Runs a module and compares the outputs; what went wrong, if anything.
    pub(crate) fn run(&self, module: &Verified) -> Result<(), String> {
        let machine = Machine::new(Config {
            memory: 64 << 20,
            sms: 4,
            workers: 2,
            max_ptx: PtxVersion::new(9, 9),
            // Each program's kernel is launched once.
            compile: Compile::Always,
            ..Config::default()
        })
        .map_err(|e| e.to_string())?;
        let stream = machine.stream().map_err(|e| e.to_string())?;
        let module = machine.load(module).map_err(|e| e.to_string())?;
        for global in array(&self.json["globals"]) {
            let symbol = text_of(&global["symbol"]);
            let (address, _) = module.global(&symbol).ok_or("no such variable")?;
            let bytes = self.file(&global["file"]);
            machine.write(address, &bytes).map_err(|e| e.to_string())?;
        }
        let mut addresses = BTreeMap::new();
        let buffers = self.json["buffers"].as_object().expect("buffers");
        for (label, buffer) in buffers {
            let data = self.initial(buffer);
            let address = machine
                .alloc(data.len() as u64)
                .map_err(|e| e.to_string())?;
            machine.write(address, &data).map_err(|e| e.to_string())?;
            addresses.insert(label.clone(), address);
        }
        for launch in array(&self.json["launches"]) {
            let kernel = module
                .kernel(&text_of(&launch["kernel"]))
                .ok_or("no such kernel")?;
            let mut params = vec![0; kernel.param_bytes() as usize];
            for (arg, param) in array(&launch["args"]).iter().zip(kernel.params()) {
                let bytes = match arg["kind"].as_str() {
                    Some("ptr") => addresses[&text_of(&arg["buffer"])].to_le_bytes().to_vec(),
                    _ => hex(&text_of(&arg["hex"])),
                };
                let at = param.offset as usize;
                params[at..at + bytes.len()].copy_from_slice(&bytes);
            }
            let launch = Launch {
                kernel,
                grid: three(&launch["grid"]),
                block: three(&launch["block"]),
                dynamic_shared: number(&launch["dynamic_smem"]) as u32,
                params,
                cooperative: self.json["co_resident"] == true,
                cluster: None,
            };
            stream.launch(launch).map_err(|e| e.to_string())?;
            stream.synchronize().map_err(|e| e.to_string())?;
        }
        for (label, buffer) in buffers {
            let initial = self.initial(buffer);
            let mut got = vec![0; initial.len()];
            machine
                .read(addresses[label], &mut got)
                .map_err(|e| e.to_string())?;
            let want = match buffer["expect"].as_str() {
                Some("unchanged") => initial,
                _ => self.file(&buffer["expect"]),
            };
            compare(label, buffer, &got, &want)?;
        }
        Ok(())
    }

    fn initial(&self, buffer: &Value) -> Vec<u8> {
        match buffer["init"].get("file") {
            Some(file) => self.file(file),
            None => vec![number(&buffer["init"]["fill"]) as u8; number(&buffer["bytes"]) as usize],
        }
    }
}

fn compare(label: &str, buffer: &Value, got: &[u8], want: &[u8]) -> Result<(), String> {
    let dtype = text_of(&buffer["dtype"]);
    let size = match dtype.trim_start_matches(|c: char| c.is_alphabetic()) {
        "8" => 1,
        "16" => 2,
        "32" => 4,
        _ => 8,
    };
    let check = &buffer["check"];
    let mode = text_of(&check["mode"]);
    for (at, (g, w)) in got.chunks(size).zip(want.chunks(size)).enumerate() {
        let (x, y) = (value(&dtype, g), value(&dtype, w));
        let same = match mode.as_str() {
            "none" => true,
            "exact" => g == w,
            "value" => x == y || x.is_nan() && y.is_nan(),
            _ => {
                let cycle = |name: &str| {
                    let all = array(&check[name]);
                    all.get(at % all.len().max(1))
                        .and_then(Value::as_f64)
                        .unwrap_or(0.0)
                };
                let bound = cycle("abs") + cycle("rel") * y.abs();
                g == w || (x - y).abs() <= bound || x.is_nan() && y.is_nan()
            }
        };
        if !same {
            let hex = |bytes: &[u8]| {
                bytes
                    .iter()
                    .rev()
                    .map(|b| format!("{b:02x}"))
                    .collect::<String>()
            };
            return Err(format!(
                "{label}[{at}] is {x} ({}), not {y} ({})",
                hex(g),
                hex(w)
            ));
        }
    }
    Ok(())
}

/// A little-endian value as a number to look at.
fn value(dtype: &str, bytes: &[u8]) -> f64 {
    let mut raw = [0; 8];
    raw[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(raw);
    match dtype {
        "f32" => f64::from(f32::from_bits(bits as u32)),
        "f64" => f64::from_bits(bits),
        "f16" => f64::from(half(bits as u16)),
        "i8" => f64::from(bits as i8),
        "i16" => f64::from(bits as i16),
        "i32" => f64::from(bits as i32),
        "i64" => bits as i64 as f64,
        _ => bits as f64,
    }
}

fn half(bits: u16) -> f32 {
    let magnitude = f32::from_bits(u32::from(bits & 0x7FFF) << 13) * f32::from_bits(0x7780_0000);
    if bits & 0x8000 != 0 {
        -magnitude
    } else {
        magnitude
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text_of(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn three(value: &Value) -> [u32; 3] {
    let all = array(value);
    [0, 1, 2].map(|i| number(&all[i]) as u32)
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| {
            let pair = std::str::from_utf8(pair).expect("ASCII");
            u8::from_str_radix(pair, 16).expect("hexadecimal")
        })
        .collect()
}
