//! `generate`: continues a prompt.

use super::{
    generation::{StopReason, Task, generate},
    interrupt,
    open::open,
    options::{ModelArgs, SamplerArgs},
    output,
    prompt::PromptArgs,
    report::{Report, Setting},
    trace::TraceArgs,
};
use anyhow::Result;
use clap::Args;
use std::{process::ExitCode, time::Instant};
use warpsmith::models::text::StopMatcher;

const OUTPUT: &str = "Output";

/// Continues a prompt, or answers it.
///
/// The text goes to standard output as it comes, a summary to standard error. Ctrl-C stops the text and still gives
/// the summary.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith generate --model smollm2.gguf \"Explain warps in one line\"
  warpsmith generate --model smollm2.gguf --temperature 0 --raw \"The capital of France is\"
  warpsmith generate --model smollm2.gguf --messages talk.json --json --max-tokens 64
  cat question.txt | warpsmith generate --model smollm2.gguf --system \"Answer in French\"")]
pub(crate) struct Generate {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    prompt: PromptArgs,
    /// Most tokens to generate.
    #[arg(long, value_name = "N", default_value_t = 256, help_heading = OUTPUT)]
    max_tokens: u32,
    /// Stops before this text; may be given several times.
    #[arg(long, value_name = "TEXT", help_heading = OUTPUT)]
    stop: Vec<String>,
    #[command(flatten)]
    sampler: SamplerArgs,
    #[command(flatten)]
    trace: TraceArgs,
    /// Prints one JSON object instead: prompt_ids, ids, text, stop_reason (stop, length, eog, context or
    /// interrupted), seed, device, timing, launches, transfers.
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

impl Generate {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let begin = Instant::now();
        let sampler = self.sampler.config()?;
        let stops = StopMatcher::new(self.stop)?;
        let prompt = self.prompt.read()?;
        let mut traces = self.trace.open()?;
        let opened = open(&self.model)?;
        let ids = self.prompt.ids(prompt, &self.model.model, &opened)?;
        let need = ids.len() as u64 + u64::from(self.max_tokens);
        let mut session =
            opened.session(&self.model, need, self.trace.run(self.model.run.into()))?;
        session.sampler(&sampler)?;
        if let Some(observer) = traces.observer() {
            session.observe(Some(observer))?;
        }
        traces.begin(&opened.device)?;

        let before_s = begin.elapsed().as_secs_f64();
        let task = Task {
            device: &opened.device,
            tokenizer: &opened.bundle.tokenizer,
            prompt: &ids,
            max_tokens: self.max_tokens as usize,
            stops,
        };
        let made = if self.json {
            generate(&mut session, task, &mut |_| Ok(()))?
        } else {
            generate(&mut session, task, &mut output::print)?
        };
        traces.finish(&opened.device)?;
        let setting = Setting {
            prompt: &ids,
            seed: sampler.seed,
            device: &opened.device.info().name,
            load_s: opened.load_s,
            before_s,
            launches_per_step: if made.steps == 0 {
                session.launches_per_step()?
            } else {
                0
            },
        };
        let report = Report::new(&made, setting);
        if self.json {
            output::print_json(&report)?;
        } else {
            if !made.text.ends_with('\n') {
                output::print("\n")?;
            }
            output::note(&report.summary());
        }
        Ok(match made.stop {
            StopReason::Interrupted => interrupt::exit_code(),
            StopReason::Stop | StopReason::Length | StopReason::Eog | StopReason::Context => {
                ExitCode::SUCCESS
            }
        })
    }
}
