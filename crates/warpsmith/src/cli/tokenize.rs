//! `tokenize`: text to token ids.

use super::{
    hub,
    output::{print, print_json, printable},
    prompt::read_text,
};
use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use std::{
    fmt::Write,
    io,
    path::{Path, PathBuf},
};
use warpsmith::{
    formats::gguf::Gguf,
    models::tokenizer::{Special, Tokenizer},
};

/// Shows the tokens of a text, as the model's tokenizer makes them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith tokenize --model smollm2.gguf \"Hello, world\"
  warpsmith tokenize --model smollm2.gguf --no-special --json \"<|im_end|> as plain text\"
  warpsmith tokenize --model tokenizer.json < text.txt")]
pub(crate) struct Tokenize {
    /// A GGUF file, a tokenizer.json, a folder with one, or hf:OWNER/NAME[:FILE].
    #[arg(long, short, value_name = "FILE")]
    model: PathBuf,
    /// The text; without it, all of standard input.
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// Prints one JSON object: ids, pieces.
    #[arg(long)]
    json: bool,
    /// Control tokens in the text are text like any other.
    #[arg(long)]
    no_special: bool,
}

impl Tokenize {
    pub(crate) fn run(mut self) -> Result<()> {
        hub::localise(&mut self.model)?;
        let text = match self.text {
            Some(text) => text,
            None => read_text(io::stdin().lock()).context("cannot read standard input")?,
        };
        let tokenizer =
            load(&self.model).with_context(|| format!("cannot load {}", self.model.display()))?;
        let special = if self.no_special {
            Special::Plain
        } else {
            Special::Parse
        };
        let ids = tokenizer.encode(&text, special);
        let ids = ids.with_context(|| format!("cannot tokenize by {}", self.model.display()))?;
        let pieces: Vec<&str> = ids
            .iter()
            .map(|id| tokenizer.piece(*id).unwrap_or_default())
            .collect();
        if self.json {
            return print_json(&json!({ "ids": ids, "pieces": pieces }));
        }
        let mut out = String::new();
        for (id, piece) in ids.iter().zip(&pieces) {
            writeln!(out, "{id:>7}  {}", printable(piece))?;
        }
        print(&out)
    }
}

fn load(path: &Path) -> Result<Tokenizer> {
    if path.is_dir() {
        return Ok(Tokenizer::from_json_file(path.join("tokenizer.json"))?);
    }
    if path
        .extension()
        .is_some_and(|extension| extension == "json")
    {
        return Ok(Tokenizer::from_json_file(path)?);
    }
    Ok(Tokenizer::from_gguf(Gguf::open(path)?.metadata())?)
}
