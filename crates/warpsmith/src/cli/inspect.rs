//! `inspect`: what is in a model file.

use super::output::{bytes, print, print_json, printable};
use anyhow::{Context, Result};
use clap::Args;
use serde_json::{Value as Json, json};
use std::{
    collections::BTreeMap,
    fmt::Write,
    path::{Path, PathBuf},
};
use warpsmith::formats::{
    gguf::{Array, Gguf, Metadata, Value},
    quant::WeightType,
    safetensors::Safetensors,
};

/// Values of an array that are shown.
const SHOWN: usize = 4;
/// Characters of a text that are shown.
const WIDEST: usize = 96;

/// Shows the metadata and tensors of a GGUF or safetensors file; the weights are not read.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith inspect smollm2.gguf
  warpsmith inspect --json smollm2.gguf")]
pub(crate) struct Inspect {
    /// A GGUF file, a .safetensors file, its index, or a folder with one.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Prints one JSON object; long arrays are given by their length and first values.
    #[arg(long)]
    json: bool,
}

/// A tensor of either kind of file.
struct Tensor<'a> {
    name: &'a str,
    ty: WeightType,
    /// Slowest dimension first.
    shape: Vec<u64>,
    bytes: u64,
}

impl Inspect {
    pub(crate) fn run(self) -> Result<()> {
        let path = self.file.as_path();
        let safetensors = path.is_dir()
            || path
                .extension()
                .is_some_and(|e| e == "safetensors" || e == "json");
        let shown = if safetensors {
            self.safetensors(path)
        } else {
            self.gguf(path)
        };
        shown.with_context(|| format!("cannot inspect {}", printable(&path.display().to_string())))
    }

    fn gguf(&self, path: &Path) -> Result<()> {
        let file = Gguf::open(path)?;
        let tensors = file.tensors().iter().map(|info| Tensor {
            name: &info.name,
            ty: info.dtype,
            shape: info.dims.iter().rev().copied().collect(),
            bytes: info.bytes,
        });
        let format = format!("GGUF version {}", file.version());
        self.show(&format, Some(file.metadata()), &tensors.collect::<Vec<_>>())
    }

    fn safetensors(&self, path: &Path) -> Result<()> {
        let file = Safetensors::open(path)?;
        let tensors = file.tensors().iter().map(|info| Tensor {
            name: &info.name,
            ty: info.dtype,
            shape: info.shape.clone(),
            bytes: info.bytes,
        });
        self.show("safetensors", None, &tensors.collect::<Vec<_>>())
    }

    fn show(
        &self,
        format: &str,
        metadata: Option<&Metadata>,
        tensors: &[Tensor<'_>],
    ) -> Result<()> {
        let pairs: Vec<(&str, &Value)> = metadata
            .map(|metadata| metadata.iter().collect())
            .unwrap_or_default();
        let totals = totals(tensors);
        if self.json {
            let metadata: serde_json::Map<String, Json> = pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), value_json(value)))
                .collect();
            let tensors: Vec<Json> = tensors
                .iter()
                .map(|t| json!({ "name": t.name, "type": t.ty.name(), "shape": t.shape, "bytes": t.bytes }))
                .collect();
            let types: serde_json::Map<String, Json> = totals
                .by_type
                .iter()
                .map(|(ty, (count, bytes))| {
                    (
                        ty.name().to_owned(),
                        json!({ "tensors": count, "bytes": bytes }),
                    )
                })
                .collect();
            return print_json(&json!({
                "format": format, "metadata": metadata, "tensors": tensors, "types": types,
                "parameters": totals.elements, "bytes": totals.bytes,
            }));
        }
        let mut out = format!(
            "{format}: {} keys, {} tensors\n",
            pairs.len(),
            tensors.len()
        );
        for (key, value) in pairs {
            writeln!(
                out,
                "  {} ({}) = {}",
                printable(key),
                type_name(value),
                value_text(value)
            )?;
        }
        let width = tensors
            .iter()
            .map(|t| t.name.chars().count())
            .max()
            .unwrap_or(0)
            .min(WIDEST);
        for Tensor {
            name,
            ty,
            shape,
            bytes: size,
        } in tensors
        {
            writeln!(
                out,
                "  {:<width$}  {ty:<7}  {:<20}  {}",
                printable(name),
                shape_text(shape),
                bytes(*size)
            )?;
        }
        for (ty, (count, size)) in &totals.by_type {
            writeln!(out, "{ty:<7} in {count} tensors, {}", bytes(*size))?;
        }
        writeln!(
            out,
            "{} parameters, {}",
            totals.elements,
            bytes(totals.bytes)
        )?;
        print(&out)
    }
}

struct Totals {
    by_type: BTreeMap<WeightType, (usize, u64)>,
    elements: u64,
    bytes: u64,
}

fn totals(tensors: &[Tensor<'_>]) -> Totals {
    let mut totals = Totals {
        by_type: BTreeMap::new(),
        elements: 0,
        bytes: 0,
    };
    for tensor in tensors {
        let (count, bytes) = totals.by_type.entry(tensor.ty).or_default();
        *count += 1;
        *bytes = bytes.saturating_add(tensor.bytes);
        totals.bytes = totals.bytes.saturating_add(tensor.bytes);
        let elements = tensor
            .shape
            .iter()
            .fold(1u64, |product, n| product.saturating_mul(*n));
        totals.elements = totals.elements.saturating_add(elements);
    }
    totals
}

fn shape_text(shape: &[u64]) -> String {
    let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
    format!("[{}]", dims.join(", "))
}

fn type_name(value: &Value) -> String {
    match value {
        Value::Array(array) => format!("{} of them, {}", array.len(), array.type_name()),
        other => other.type_name().to_owned(),
    }
}

/// A value in at most a line.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(array) => {
            let mut shown: Vec<String> = first_values(array).iter().map(value_text).collect();
            if array.len() > SHOWN {
                shown.push("...".to_owned());
            }
            format!("[{}]", shown.join(", "))
        }
        Value::U8(v) => v.to_string(),
        Value::I8(v) => v.to_string(),
        Value::U16(v) => v.to_string(),
        Value::I16(v) => v.to_string(),
        Value::U32(v) => v.to_string(),
        Value::I32(v) => v.to_string(),
        Value::F32(v) => v.to_string(),
        Value::Bool(v) => v.to_string(),
        Value::U64(v) => v.to_string(),
        Value::I64(v) => v.to_string(),
        Value::F64(v) => v.to_string(),
    }
}

fn quoted(text: &str) -> String {
    let total = text.chars().count();
    let shown = printable(&text.chars().take(WIDEST).collect::<String>());
    if total > WIDEST {
        format!("\"{shown}...\" ({total} characters)")
    } else {
        format!("\"{shown}\"")
    }
}

/// A value as JSON; of a long array its length and first values.
fn value_json(value: &Value) -> Json {
    match value {
        Value::String(v) => json!(v),
        Value::Array(array) => {
            let first: Vec<Json> = first_values(array).iter().map(value_json).collect();
            if array.len() > SHOWN {
                json!({ "type": array.type_name(), "length": array.len(), "first": first })
            } else {
                first.into()
            }
        }
        Value::U8(v) => json!(v),
        Value::I8(v) => json!(v),
        Value::U16(v) => json!(v),
        Value::I16(v) => json!(v),
        Value::U32(v) => json!(v),
        Value::I32(v) => json!(v),
        Value::F32(v) => json!(v),
        Value::Bool(v) => json!(v),
        Value::U64(v) => json!(v),
        Value::I64(v) => json!(v),
        Value::F64(v) => json!(v),
    }
}

/// The first values of an array.
fn first_values(array: &Array) -> Vec<Value> {
    macro_rules! first {
        ($($kind:ident),*) => {
            match array {
                $(Array::$kind(v) => v.iter().take(SHOWN).cloned().map(Value::$kind).collect(),)*
            }
        };
    }
    first!(
        U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64
    )
}
