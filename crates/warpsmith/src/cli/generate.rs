//! `generate`: continues a prompt.

use super::{
    files::Files,
    generation::{StopReason, Task, generate},
    grammar::GrammarArgs,
    guided, interrupt,
    open::open,
    options::{ModelArgs, SamplerArgs},
    output, parallel,
    prompt::{Prompt, PromptArgs},
    report::{Report, Setting},
    trace::TraceArgs,
};
use anyhow::{Result, anyhow, bail};
use clap::Args;
use std::{path::PathBuf, process::ExitCode, time::Instant};
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
  warpsmith generate --model smollm2.gguf --parallel 4 --seed 1 \"A name for a cat:\"
  warpsmith generate --model smollm2.gguf --prompt \"Name a cat\" --prompt \"Name a dog\" --json
  warpsmith generate --model smollm2.gguf --prompts questions.txt --max-tokens 64
  warpsmith generate --model smollm2.gguf --temperature 0 --lookup 6 --prompt-file report.txt
  warpsmith generate --model smollm2.gguf --json-schema pet.json \"Describe a pet\"
  warpsmith generate --model smollm2.gguf --json --logprobs 5 --raw \"The capital of France is\"
  cat question.txt | warpsmith generate --model smollm2.gguf --system \"Answer in French\"")]
pub(crate) struct Generate {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    prompt: PromptArgs,
    /// A prompt; may be given several times. Several are continued together, each as it would be alone, and printed when
    /// they are complete, under their numbers; with --json they are a list in the object.
    #[arg(
        long = "prompt",
        short = 'p',
        value_name = "TEXT",
        help_heading = "Prompt",
        id = "texts",
        conflicts_with = "source"
    )]
    texts: Vec<String>,
    /// Each line of this file is such a prompt; empty lines are none.
    #[arg(long, value_name = "F", help_heading = "Prompt", conflicts_with_all = ["source", "lookup", "trace_stats", "timeline"])]
    prompts: Option<PathBuf>,
    /// Most tokens to generate.
    #[arg(long, short = 'n', visible_alias = "n-predict", value_name = "N", default_value_t = 256, help_heading = OUTPUT)]
    max_tokens: u32,
    /// Stops before this text; may be given several times.
    #[arg(long, value_name = "TEXT", help_heading = OUTPUT)]
    stop: Vec<String>,
    #[command(flatten)]
    sampler: SamplerArgs,
    #[command(flatten)]
    form: GrammarArgs,
    #[command(flatten)]
    trace: TraceArgs,
    /// Makes N continuations of the prompt at once, up to 64: with the seed, the next one, and so on. Each is printed
    /// when it is complete, under its number and seed; with --json they are a list in the object.
    #[arg(long, value_name = "N", help_heading = OUTPUT, value_parser = clap::value_parser!(u32).range(1..=64),
        conflicts_with_all = ["lookup", "trace_stats", "timeline"])]
    parallel: Option<u32>,
    /// Guesses up to N tokens from earlier text and checks them at once: the same text in fewer steps where it repeats
    /// itself. Needs --temperature 0.
    #[arg(long, value_name = "N", help_heading = OUTPUT, value_parser = clap::value_parser!(u32).range(1..=63))]
    lookup: Option<u32>,
    /// With --json, of each token the natural logarithm of its probability, and of the N most probable ones in its place,
    /// by the logits as they are, before temperature and penalty: a list logprobs of id, piece, logprob, top. Tokens come
    /// by single steps then.
    #[arg(long, value_name = "N", help_heading = OUTPUT, requires = "json", value_parser = clap::value_parser!(u32).range(0..=1000),
        conflicts_with_all = ["parallel", "lookup", "prompts"])]
    logprobs: Option<u32>,
    /// Prints one JSON object instead: prompt_ids, ids, text, stop_reason (stop, length, eog, context or
    /// interrupted), seed, device, timing, launches, transfers; with --lookup also lookup (passes, guessed, accepted).
    #[arg(long, help_heading = OUTPUT)]
    json: bool,
}

impl Generate {
    pub(crate) fn run(mut self) -> Result<ExitCode> {
        self.model.localise()?;
        let begin = Instant::now();
        let sampler = self.sampler.config()?;
        let stops = StopMatcher::new(self.stop)?;
        let mut files = Files::default();
        files.reads_model("--model", &self.model.model)?;
        self.prompt.files(&mut files)?;
        if let Some(path) = &self.prompts {
            files.reads("--prompts", path)?;
        }
        self.form.files(&mut files)?;
        let form = self.form.read()?;
        let texts = PromptArgs::several(&self.texts, self.prompts.as_deref())?;
        let prompts = match texts.is_empty() {
            true => vec![self.prompt.read()?],
            false => texts.iter().cloned().map(Prompt::Text).collect(),
        };
        let alone = self.lookup.is_some()
            || self.logprobs.is_some()
            || self.trace.is_asked()
            || form.is_some();
        if prompts.len() > 1 && alone {
            bail!(
                "--lookup, --logprobs, --timeline, --trace-stats, --json-schema, --grammar and --regex are for one \
                 prompt, not for {}",
                prompts.len()
            );
        }
        if form.is_some()
            && (self.parallel.is_some() || self.lookup.is_some() || self.trace.is_asked())
        {
            bail!(
                "--json-schema, --grammar and --regex go without --parallel, --lookup, --timeline and --trace-stats"
            );
        }
        let mut traces = self.trace.open(&mut files)?;
        let opened = open(&self.model)?;
        let ids = prompts
            .into_iter()
            .map(|prompt| self.prompt.ids(prompt, &opened));
        let mut ids = ids.collect::<Result<Vec<_>>>()?;
        if self.parallel.is_some() || ids.len() > 1 {
            let task = parallel::Task {
                opened: &opened,
                args: &self.model,
                prompts: &ids,
                texts: &texts,
                count: self.parallel.unwrap_or(1),
                sampler,
                max_tokens: self.max_tokens,
                stops,
            };
            return parallel::run(task, self.json);
        }
        let ids = ids.swap_remove(0);
        let need = ids.len() as u64 + u64::from(self.max_tokens);
        let task = Task {
            device: &opened.device,
            tokenizer: &opened.bundle.tokenizer,
            prompt: &ids,
            max_tokens: self.max_tokens as usize,
            stops,
            logprobs: self.logprobs.map(|most| most as usize),
        };
        let show: &mut dyn FnMut(&str) -> Result<()> = match self.json {
            true => &mut |_| Ok(()),
            false => &mut output::print,
        };
        let trained = opened.bundle.model.config().context;
        let (made, before_s, context, lookup, launches_per_step);
        if let Some(form) = &form {
            let grammars = opened.bundle.grammars().map_err(|why| anyhow!("{why}"))?;
            let constraint = grammars.compile(form)?;
            let mut engine = opened.engine(&self.model, 1, need)?;
            before_s = begin.elapsed().as_secs_f64();
            let generated = guided::generate(&mut engine, constraint, &sampler, task, show);
            made = generated.map_err(|error| opened.named(error))?;
            (context, lookup, launches_per_step) = (engine.context(), None, 0);
        } else {
            let guesses = self.lookup.unwrap_or(0);
            let run = self.trace.run(self.model.run.into());
            let mut session = opened.guessing_session(&self.model, need, run, guesses)?;
            session.sampler(&sampler)?;
            if let Some(observer) = traces.observer() {
                session.observe(Some(observer))?;
            }
            traces.begin(&opened.device)?;
            before_s = begin.elapsed().as_secs_f64();
            let generated = generate(&mut session, task, show);
            made = generated.map_err(|error| opened.named(error))?;
            traces.finish(&opened.device)?;
            context = session.context();
            lookup = self.lookup.map(|_| session.lookup_report());
            launches_per_step = match made.steps {
                0 => session.launches_per_step()?,
                _ => 0,
            };
        }
        let setting = Setting {
            prompt: &ids,
            seed: sampler.seed,
            device: &opened.device.info().name,
            load_s: opened.load_s,
            before_s,
            lookup,
            context: [context, trained],
            launches_per_step,
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
