//! `logits`: what the model thinks of a prompt, as raw numbers.

use super::{
    files::{Draft, Files},
    open::open,
    options::ModelArgs,
    output,
    prompt::PromptArgs,
};
use anyhow::Result;
use clap::Args;
use std::{io::Write, path::PathBuf};

/// Writes logits of a prompt as little-endian f32.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith logits --model smollm2.gguf --raw --prompt-file text.txt --out last.f32
  warpsmith logits --model smollm2.gguf --messages talk.json --precision exact --nll nll.f32")]
pub(crate) struct Logits {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    prompt: PromptArgs,
    #[command(flatten)]
    wanted: Wanted,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output, at least one")]
#[group(required = true, multiple = true)]
struct Wanted {
    /// The logits of the last position: one number for each token of the vocabulary.
    #[arg(long, value_name = "FILE.f32")]
    out: Option<PathBuf>,
    /// The logits of every position, one after the other.
    #[arg(long, value_name = "FILE.f32")]
    all: Option<PathBuf>,
    /// The negative log-likelihood (natural) of each token but the first, given those before it.
    #[arg(long, value_name = "FILE.f32")]
    nll: Option<PathBuf>,
}

fn write(file: &mut Draft, values: &[f32]) -> Result<()> {
    let mut each = values.iter();
    let written = each.try_for_each(|value| file.write_all(&value.to_le_bytes()));
    file.named(written)
}

impl Logits {
    pub(crate) fn run(mut self) -> Result<()> {
        self.model.localise()?;
        let mut files = Files::default();
        files.reads_model("--model", &self.model.model)?;
        self.prompt.files(&mut files)?;
        let prompt = self.prompt.read()?;
        let mut out = files.draft("--out", self.wanted.out.as_deref())?;
        let mut all = files.draft("--all", self.wanted.all.as_deref())?;
        let mut nll = files.draft("--nll", self.wanted.nll.as_deref())?;
        let opened = open(&self.model)?;
        let ids = self.prompt.ids(prompt, &opened)?;
        let mut session = opened.session(&self.model, ids.len() as u64, self.model.run.into())?;
        let width = opened.bundle.model.config().vocab as usize;

        let mut last = Vec::new();
        let mut sum = 0.0;
        if all.is_none() && nll.is_none() {
            let bar = output::bar("prompt", ids.len() as u64, output::Unit::Tokens);
            session
                .prefill(&ids, &mut |done, _| bar.set_position(done as u64))
                .map_err(|error| opened.named(error.into()))?;
            bar.finish_and_clear();
            last = session.logits()?;
        } else {
            let mut written: Result<()> = Ok(());
            let evaluated = session.evaluate(&ids, &mut |first, rows| {
                let mut write = || -> Result<()> {
                    if let Some(all) = &mut all {
                        write(all, rows)?;
                    }
                    for (row, position) in rows.chunks_exact(width).zip(first..) {
                        if let Some(next) = ids.get(position + 1) {
                            let loss = negative_log_likelihood(row, *next as usize);
                            sum += loss;
                            if let Some(nll) = &mut nll {
                                write(nll, &[loss as f32])?;
                            }
                        } else {
                            last = row.to_vec();
                        }
                    }
                    Ok(())
                };
                if written.is_ok() {
                    written = write();
                }
            });
            evaluated.map_err(|error| opened.named(error.into()))?;
            written?;
        }
        if let Some(out) = &mut out {
            write(out, &last)?;
        }
        let with_nll = nll.is_some() && ids.len() > 1;
        [out, all, nll]
            .into_iter()
            .flatten()
            .try_for_each(|file| file.commit().map(drop))?;
        output::note(&format!("{} positions, {width} logits each", ids.len()));
        if with_nll {
            output::note(&format!(
                "mean negative log-likelihood {:.5}",
                sum / (ids.len() - 1) as f64
            ));
        }
        Ok(())
    }
}

/// `ln(sum exp(l)) - l[token]`, in f64.
fn negative_log_likelihood(logits: &[f32], token: usize) -> f64 {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits
        .iter()
        .map(|l| (f64::from(*l) - f64::from(max)).exp())
        .sum();
    f64::from(max) + sum.ln() - logits.get(token).map_or(f64::NAN, |l| f64::from(*l))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likelihoods_of_all_tokens_add_up_to_one() {
        let logits = [3.0, -200.0, 1000.5, 999.25, 1000.5f32];
        let sum: f64 = (0..logits.len())
            .map(|t| (-negative_log_likelihood(&logits, t)).exp())
            .sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        assert!((negative_log_likelihood(&[0.0; 8], 3) - 8f64.ln()).abs() < 1e-12);
    }
}
