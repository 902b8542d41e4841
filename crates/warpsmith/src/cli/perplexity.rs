//! `perplexity`: how well a model foresees a text.

use super::{
    context,
    open::open,
    options::ModelArgs,
    output::{Unit, bar, note, print, print_json},
    prompt::{read_file, read_text},
};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use std::{io, path::PathBuf, process::ExitCode, time::Instant};
use warpsmith::models::{
    llama::{self, Windows},
    tokenizer::Special,
};

/// Tokens of a chunk where nothing asks for others, as llama.cpp has it.
const CHUNK: u32 = 512;

/// Says how well a model foresees a text: the lower, the better.
///
/// Perplexity is exp of the mean of -ln p over the tokens of the text, p being the probability that the model gives a token
/// behind those before it. A text longer than the context is read in windows of --ctx-size tokens, each --stride behind the
/// one before, and a token counts in the first window that has it: each token but the first counts once, behind
/// --ctx-size less --stride others or more. That is the way of Hugging Face's guide. --chunks is the way of llama.cpp's
/// llama-perplexity: windows side by side, of which the second halves count, 512 tokens long unless --ctx-size says
/// otherwise; what is left at the end is not read. Numbers of the two ways, of other lengths or of other tokenizers cannot
/// be compared.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith perplexity --model smollm2.gguf text.txt
  warpsmith perplexity --model smollm2.gguf --ctx-size 1024 --stride 512 --json text.txt
  warpsmith perplexity --model smollm2.gguf --chunks wiki.test.raw
  warpsmith perplexity --model smollm2.gguf --precision exact < text.txt")]
pub(crate) struct Perplexity {
    #[command(flatten)]
    model: ModelArgs,
    /// The text, as it is to the last byte; without it, all of standard input.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Tokens from one window to the next [default: half a window]. Fewer are dearer, and give each token more to go by.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "chunks")]
    stride: Option<u32>,
    /// Windows side by side, of which the second halves count.
    #[arg(long)]
    chunks: bool,
    /// Prints one JSON object: perplexity, error, mean_nll, tokens, scored, windows, method, ctx_size, stride, device,
    /// seconds.
    #[arg(long)]
    json: bool,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct Report<'a> {
    perplexity: f64,
    /// The standard error.
    error: f64,
    /// Of a token, natural.
    mean_nll: f64,
    tokens: usize,
    scored: u64,
    windows: usize,
    method: &'static str,
    ctx_size: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    stride: Option<u32>,
    device: &'a str,
    /// Of evaluating all windows.
    seconds: f64,
}

impl Perplexity {
    pub(crate) fn run(mut self) -> Result<ExitCode> {
        self.model.localise()?;
        let (least, how) = match self.chunks {
            true => (4, "chunks"),
            false => (2, "windows"),
        };
        if let Some(asked) = self.model.ctx_size.filter(|asked| *asked < least) {
            bail!(
                "--ctx-size is {asked}, expected at least {least}: tokens of {how} are scored behind others of them"
            );
        }
        let text = self.text()?;
        let opened = open(&self.model)?;
        let tokenizer = &opened.bundle.tokenizer;
        // A text is a text: what looks like a control token in it is none.
        let ids = tokenizer.encode(&text, Special::Plain)?;
        let trained = opened.bundle.model.config().context;
        let most = match (self.model.ctx_size, self.chunks) {
            (None, true) => trained.min(CHUNK),
            (Some(_), _) | (None, false) => context::of_session(&self.model, trained, 0),
        };
        let (windows, method, stride) = if self.chunks {
            let bos = ids
                .first()
                .copied()
                .filter(|id| Some(*id) == tokenizer.bos());
            (Windows::Chunks { context: most, bos }, "chunks", None)
        } else {
            let stride = self.stride.unwrap_or((most / 2).max(1));
            if stride >= most {
                bail!(
                    "--stride is {stride}, expected less than the {most} tokens of a window (--ctx-size)"
                );
            }
            let context = most;
            (
                Windows::Sliding { context, stride },
                "sliding",
                Some(stride),
            )
        };
        let windows = windows.over(ids.len())?;
        let longest = windows.iter().map(|window| window.end - window.start).max();
        let need = longest.unwrap_or(0).try_into().unwrap_or(most);
        let mut session = opened.session_of(&self.model, need)?;
        let (start, work) = (Instant::now(), |window: &llama::Window| {
            window.end - window.start
        });
        let total: usize = windows.iter().map(work).sum();
        let bar = bar("perplexity", total as u64, Unit::Tokens);
        let mut found = llama::Perplexity::default();
        for window in &windows {
            found.add(&session.score_window(&ids, *window)?);
            bar.inc(work(window) as u64);
        }
        bar.finish_and_clear();
        let report = Report {
            perplexity: found.value(),
            error: found.error(),
            mean_nll: found.mean(),
            tokens: ids.len(),
            scored: found.scored,
            windows: windows.len(),
            method,
            ctx_size: most,
            stride,
            device: &opened.device.info().name,
            seconds: start.elapsed().as_secs_f64(),
        };
        if self.json {
            print_json(&report)?;
        } else {
            print(&format!(
                "perplexity {:.4} +/- {:.4}\n",
                report.perplexity, report.error
            ))?;
            let by = stride.map_or(String::new(), |stride| format!(", one every {stride}"));
            note(&format!(
                "[{}] {} of {} tokens scored in {} windows of up to {most}{by}; mean -ln p {:.5}; {:.1} s",
                report.device,
                report.scored,
                report.tokens,
                report.windows,
                report.mean_nll,
                report.seconds,
            ));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn text(&self) -> Result<String> {
        let Some(path) = &self.file else {
            return read_text(io::stdin().lock()).context("cannot read standard input");
        };
        read_file(path)
    }
}
