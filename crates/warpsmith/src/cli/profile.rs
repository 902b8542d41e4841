//! `profile`: where the time of a model's passes goes, operation by operation.

use super::{
    files::Files,
    kind,
    open::{cache_folder, open, selector_with, tell_rounded},
    options::{ModelArgs, RunArg},
    output::{self, Unit, bar, printable},
};
use anyhow::{Context, Result};
use clap::Args;
use serde_json::{Value, json};
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread::available_parallelism,
    time::Instant,
};
use warpsmith::{
    audio::Spectrogram,
    device::{Device, Fresh, Settings, TimedWork},
    formats::Kind,
    models::{
        Error,
        llama::{Run, Session},
        tokenizer::Special,
        whisper::{self, ListenOptions, Transcriber},
    },
    profile::{Profile, Profiler},
    roof::Roof,
    timeline::trace,
};

/// What is read where nothing is given.
pub(super) const PROMPT: &str = "A processor reads the weights of a model once for every token that it writes, and adds and multiplies \
a little for each of them. How fast it can write is therefore decided by its memory. While it reads a prompt, many tokens \
share what was read, and how fast it multiplies decides.";

/// What `--out` gets.
const FILES: [&str; 4] = [
    "profile.txt",
    "profile.json",
    "roofline.svg",
    "timeline.json",
];

/// Arrays for the roof: what no cache holds, and no more than what takes a moment.
const ROOF_BYTES: [u64; 2] = [64 << 20, 256 << 20];

/// Shows where the time of a model goes: for each operation launches, time, bytes and arithmetic that its operands need,
/// and how near it comes to what the machine can do.
///
/// Passes run launch by launch, prompt and steps (or encoder and decoder) in a table each. The machine's two roofs,
/// moving bytes and fused multiply-adds, are measured first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith profile --model smollm2.gguf
  warpsmith profile --model smollm2.gguf --tokens 32 --run persistent --out profile
  warpsmith profile --model whisper-base --sound speech.flac --out profile

--out writes profile.txt and profile.json, roofline.svg, and timeline.json for ui.perfetto.dev.")]
pub(crate) struct ProfileModel {
    #[command(flatten)]
    model: ModelArgs,
    /// The prompt that is evaluated, as it is [default: some sentences].
    #[arg(long, value_name = "TEXT", default_value = PROMPT, hide_default_value = true)]
    prompt: String,
    /// Steps that follow it.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=65536))]
    tokens: u32,
    /// A sound that is written down instead: the model is one of Whisper.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "tokens"])]
    sound: Option<PathBuf>,
    /// The folder that gets the files; it is made if there is none.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Prints the JSON object instead of the tables.
    #[arg(long)]
    json: bool,
}

/// What was run, and what it took.
struct Profiled {
    profile: Profile,
    timeline: Vec<TimedWork>,
    /// What the object says besides.
    more: Value,
    /// What the text says besides.
    note: String,
}

impl ProfileModel {
    pub(crate) fn run(mut self) -> Result<()> {
        self.model.localise()?;
        let mut files = Files::default();
        files.reads_model("--model", &self.model.model)?;
        if let Some(sound) = &self.sound {
            files.reads("--sound", sound)?;
        }
        let mut drafts = Vec::new();
        if let Some(folder) = &self.out {
            output::writable(folder)?;
            for name in FILES {
                drafts.push(files.writes("--out", &folder.join(name))?.draft()?);
            }
        }
        let made = match &self.sound {
            None => self.text()?,
            Some(sound) => self.heard(sound)?,
        };
        let Profiled {
            profile,
            timeline,
            more,
            note,
        } = made;
        let mut object = profile.json();
        if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
            object.extend(more);
        }
        let text = profile.text() + &note;
        let pretty = serde_json::to_string_pretty(&object)? + "\n";
        let contents = [
            text.clone(),
            pretty,
            profile.svg(),
            trace(&timeline, &profile.device),
        ];
        for (draft, content) in drafts.into_iter().zip(&contents) {
            draft.complete(content)?;
        }
        if self.json {
            output::print_json(&object)
        } else {
            output::print(&text)
        }
    }

    /// Prompt and steps of a Llama-type model.
    fn text(&self) -> Result<Profiled> {
        let opened = open(&self.model)?;
        let (device, bundle) = (&opened.device, &opened.bundle);
        let ids = bundle.tokenizer.encode(&self.prompt, Special::Parse)?;
        let need = ids.len() as u64 + u64::from(self.tokens);
        let session = opened.session(&self.model, need, Run::Eager)?;
        if need > session.context().into() {
            return Err(Error::ContextFull {
                context: session.context(),
                have: ids.len() as u32,
                more: self.tokens as usize,
            }
            .into());
        }
        let roof = self.roof(device, bundle.model.bytes())?;
        let (profile, timeline) = of_session(session, &ids, self.tokens, roof)?;

        let mut session = opened.session(&self.model, need, self.model.run.into())?;
        let rate = self.whole(&mut session, &ids)?;
        let run = match self.model.run {
            RunArg::Eager => "eager",
            RunArg::Replay => "replay",
            RunArg::Persistent => "persistent",
        };
        let step = profile.passes.iter().find(|pass| pass.name == "step");
        let (least, steps) = step.map_or((0.0, 1), |pass| {
            let cost = pass.total.cost;
            let least = roof.seconds(cost.read + cost.written, cost.operations);
            (least, pass.runs)
        });
        let most = steps as f64 / least.max(f64::MIN_POSITIVE);
        Ok(Profiled {
            profile,
            timeline,
            more: json!({
                "model": self.model.model.display().to_string(),
                "prompt_tokens": ids.len(),
                "tokens": self.tokens,
                "whole": { "run": run, "tok_s": rate, "roof_tok_s": most },
            }),
            note: format!(
                "\n{run}: {rate:.1} tok/s for {} tokens; the roof allows {most:.1} tok/s\n",
                self.tokens
            ),
        })
    }

    /// Tokens a second in the way that was asked for.
    fn whole(&self, session: &mut Session, ids: &[u32]) -> Result<f64> {
        let mut each = |_| ControlFlow::Continue(());
        let mut round = |session: &mut Session| -> Result<f64> {
            session.reset();
            session.prefill(ids, &mut |_, _| {})?;
            session.sample()?;
            let start = Instant::now();
            // The first of them is drawn already.
            session.generate(self.tokens as usize + 1, &[], &mut each)?;
            Ok(f64::from(self.tokens) / start.elapsed().as_secs_f64())
        };
        round(session)?;
        round(session)
    }

    /// A sound, by a model of Whisper.
    fn heard(&self, sound: &Path) -> Result<Profiled> {
        let settings = Settings {
            disk_cache: cache_folder(),
            fresh: Fresh::AsIs,
            ..Settings::default()
        };
        let selector = selector_with(&self.model.device, self.model.threads)?;
        kind::expect(&self.model.model, Kind::Speech)?;
        let device = Device::open_with(&selector, settings).context("cannot open the device")?;
        let loading = bar("loading", 0, Unit::Bytes);
        let bundle = whisper::Bundle::load(&device, self.model.files(), &mut |done, total| {
            loading.set_length(total);
            loading.set_position(done);
        });
        loading.finish_and_clear();
        let name = printable(&self.model.model.display().to_string());
        let bundle = Arc::new(bundle.with_context(|| format!("cannot load {name}"))?);
        tell_rounded(bundle.model.rounded());
        let options = ListenOptions {
            precision: self.model.precision.into(),
            run: Run::Eager,
            ..ListenOptions::default()
        };
        let n_mels = bundle.model.dims().n_mels as usize;
        let named = || {
            format!(
                "cannot listen to {}",
                printable(&sound.display().to_string())
            )
        };
        let mut spectrogram = Spectrogram::of_file(sound, n_mels).with_context(named)?;
        let roof = self.roof(&device, ROOF_BYTES[0])?;
        let mut transcriber =
            Transcriber::new(&bundle, options).context("cannot prepare the model")?;
        transcriber.transcribe(&mut spectrogram, &mut |_| ControlFlow::Continue(()))?;
        let profiler = Arc::new(Mutex::new(Profiler::default()));
        transcriber.dispatch(Some(profiler.clone()));
        let mut spectrogram = Spectrogram::of_file(sound, n_mels).with_context(named)?;
        let recording = device.timeline()?;
        transcriber.transcribe(&mut spectrogram, &mut |_| ControlFlow::Continue(()))?;
        let timeline = recording.finish()?;
        let seconds = spectrogram.seconds();
        Ok(Profiled {
            profile: profile(&profiler, &timeline, &device, roof)?,
            timeline,
            more: json!({
                "model": self.model.model.display().to_string(),
                "sound": sound.display().to_string(),
                "sound_s": seconds,
            }),
            note: format!("\n{seconds:.1} s of sound\n"),
        })
    }

    fn roof(&self, device: &Device, weights: u64) -> Result<Roof> {
        roof_of(device, weights, self.model.threads)
    }
}

/// The roof of a device for a model of so many bytes, on so many threads if it is the virtual GPU.
pub(super) fn roof_of(device: &Device, weights: u64, threads: Option<u16>) -> Result<Roof> {
    let threads = match threads {
        Some(threads) => threads.into(),
        None => available_parallelism().map_or(1, usize::from),
    };
    let [least, most] = ROOF_BYTES;
    let bytes = weights.clamp(least, most) as usize;
    Roof::measure(device, bytes, threads).context("cannot measure the roof")
}

/// What a prompt and so many steps take in a session that runs launch by launch, and when.
pub(super) fn of_session(
    mut session: Session,
    ids: &[u32],
    tokens: u32,
    roof: Roof,
) -> Result<(Profile, Vec<TimedWork>)> {
    let work = |session: &mut Session| -> Result<()> {
        session.reset();
        session.prefill(ids, &mut |_, _| {})?;
        session.sample()?;
        for _ in 0..tokens {
            session.step()?;
        }
        Ok(())
    };
    // Kernels are built in a first round.
    work(&mut session)?;
    let profiler = Arc::new(Mutex::new(Profiler::default()));
    session.dispatch(Some(profiler.clone()));
    let stream = session.stream().clone();
    let recording = stream.device().timeline()?;
    work(&mut session)?;
    let mut timeline = recording.finish()?;
    // Others may be at work on the device.
    timeline.retain(|timed| timed.stream == stream.id());
    let profile = profile(&profiler, &timeline, stream.device(), roof)?;
    Ok((profile, timeline))
}

fn profile(
    profiler: &Mutex<Profiler>,
    timeline: &[TimedWork],
    device: &Device,
    roof: Roof,
) -> Result<Profile> {
    let profiler = profiler.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Profile::new(
        &profiler,
        timeline,
        &device.info().name,
        roof,
    )?)
}
