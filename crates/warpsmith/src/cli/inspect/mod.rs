//! `inspect`: what is in a model file.

mod contents;

use super::{
    hub,
    output::{bytes, print, print_json, printable, warn},
};
use anyhow::{Context, Result};
use clap::Args;
use contents::{Contents, Tensor};
use serde_json::{Value as Json, json};
use std::{collections::BTreeMap, fmt::Write, path::PathBuf};
use warpsmith::{formats::quant::WeightType, models::Rounding};

/// Characters of a text that are shown.
const WIDEST: usize = 96;

/// Shows what is in a model: metadata and tensors, without loading the weights; or in a tokenizer.json.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith inspect smollm2.gguf
  warpsmith inspect --json smollm2.gguf
  warpsmith inspect --weights q8_0 whisper-base
  warpsmith inspect whisper-base
  warpsmith inspect whisper-base/tokenizer.json")]
pub(crate) struct Inspect {
    /// A GGUF file (the first, where it is split), safetensors or their index, a model.bin of CTranslate2, a ggml file of
    /// Whisper, a tokenizer.json, a folder with one of them, or hf:OWNER/NAME[:FILE].
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Shows the model as it is loaded with matrices rounded to blocks of this type: q8_0, q5_1, q5_0, q4_1 or q4_0.
    #[arg(long, value_name = "TYPE")]
    weights: Option<Rounding>,
    /// Prints one JSON object: format, metadata, tensors, types, parameters, bytes, warnings; long arrays are given by their
    /// length and first values.
    #[arg(long)]
    json: bool,
}

impl Inspect {
    pub(crate) fn run(mut self) -> Result<()> {
        hub::localise(&mut self.file)?;
        let name = || {
            format!(
                "cannot inspect {}",
                printable(&self.file.display().to_string())
            )
        };
        let contents = match self.weights {
            None => Contents::read(&self.file),
            Some(rounding) => Contents::rounded(&self.file, rounding),
        };
        let contents = contents.with_context(name)?;
        for warning in &contents.warnings {
            warn(&format!("warning: {}", printable(warning)));
        }
        if self.json {
            print_json(&as_json(&contents))
        } else {
            print(&as_text(&contents)?)
        }
    }
}

fn as_json(contents: &Contents) -> Json {
    let Contents {
        format,
        pairs,
        tensors,
        warnings,
    } = contents;
    let totals = totals(tensors);
    let metadata: serde_json::Map<String, Json> = pairs
        .iter()
        .map(|pair| (pair.key.clone(), pair.json.clone()))
        .collect();
    let tensors: Vec<Json> = tensors
        .iter()
        .map(|t| {
            let mut tensor =
                json!({ "name": t.name, "type": t.ty.name(), "shape": t.shape, "bytes": t.bytes });
            if let Some(was) = t.was {
                tensor["was"] = json!(was.name());
            }
            tensor
        })
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
    json!({
        "format": format, "metadata": metadata, "tensors": tensors, "types": types,
        "parameters": totals.elements, "bytes": totals.bytes, "warnings": warnings,
    })
}

fn as_text(contents: &Contents) -> Result<String> {
    let Contents {
        format,
        pairs,
        tensors,
        // On standard error.
        warnings: _,
    } = contents;
    let totals = totals(tensors);
    let mut out = format!("{format}: {} keys", pairs.len());
    if !tensors.is_empty() {
        write!(out, ", {} tensors", tensors.len())?;
    }
    out.push('\n');
    for pair in pairs {
        writeln!(
            out,
            "  {} ({}) = {}",
            printable(&pair.key),
            pair.ty,
            pair.text
        )?;
    }
    if tensors.is_empty() {
        return Ok(out);
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
        was,
    } in tensors
    {
        writeln!(
            out,
            "  {:<width$}  {ty:<7}  {:<20}  {}{}",
            printable(name),
            shape_text(shape),
            bytes(*size),
            was.map_or_else(String::new, |was| format!(", {was} in the file"))
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
    Ok(out)
}

struct Totals {
    by_type: BTreeMap<WeightType, (usize, u64)>,
    elements: u64,
    bytes: u64,
}

fn totals(tensors: &[Tensor]) -> Totals {
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
