//! `transcribe`: speech to text.

mod live;
mod places;
mod sink;
mod values;

use super::{
    files::Files,
    hub,
    interrupt::{self, Watch},
    kind,
    open::{cache_folder, selector_with, tell_rounded},
    options::{PrecisionArg, RunArg},
    output::{self, Unit, bar, bytes, one_line, printable},
    trace::TraceArgs,
};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use live::Live;
use places::Places;
use sink::{Heard, Sink};
use std::{
    fs::File,
    io::{self, IsTerminal},
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Instant,
};
use values::{Limit, above_zero, clock, from_zero, seconds, share};
use warpsmith::{
    audio::{FRAMES_PER_SECOND, Missing, Spectrogram, Speech, Wanted},
    device::{Device, Fresh, Selector, Settings, Snapshot},
    formats::{
        Kind,
        input::{self, patiently},
    },
    models::{
        Files as ModelFiles, Rounding,
        whisper::{
            self, Bundle, ListenOptions, MOST_BEAMS, Transcriber,
            fallback::Thresholds,
            tokenizer::{Start, Task},
            transcript::{Options, WordOptions},
        },
    },
    transcript::{Format, Highlight, Layout, Transcription},
};

/// Writes down what is said in sound files.
///
/// The text goes to standard output as it comes, or to a file for each sound under --output-dir, which is complete after
/// each window of 30 s; Ctrl-C keeps it. A summary goes to standard error, and which pieces of a damaged sound are missing.
/// A file that cannot be read is named, the others are still transcribed, and the exit status is 1.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith transcribe --model whisper-base speech.flac
  warpsmith transcribe --model whisper-base --format srt --output-dir subtitles *.mp3
  warpsmith transcribe --model whisper-base --language de --task translate rede.ogg
  warpsmith transcribe --model whisper-base --format vtt --max-words-per-line 5 --highlight-words talk.webm
  warpsmith transcribe --model whisper-base --clip 60,90,300 lecture.opus
  arecord -f S16_LE -r 16000 -c 1 -t raw | warpsmith transcribe --model whisper-base -
  curl -s https://example.org/talk.mp3 | warpsmith transcribe --model whisper-base -")]
pub(crate) struct Transcribe {
    /// WAV, FLAC, MP3, Opus and Vorbis in Ogg, WebM or Matroska, M4A/AAC, AIFF, CAF. `-` is standard input, written down as
    /// it comes: one of those, or raw 16-bit samples at 16 kHz, one channel; the loudest sound so far is the measure of
    /// silence there, where a file is measured as a whole.
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,
    /// A CTranslate2, ggml, GGUF or safetensors file of Whisper, a folder with one, or hf:OWNER/NAME[:FILE].
    #[arg(long, short, value_name = "PATH")]
    model: PathBuf,
    /// Rounds F32, F16 and BF16 matrices to blocks of this type while they are loaded: q8_0, q5_1, q5_0, q4_1 or q4_0
    /// [default: all stay what they are in the file].
    #[arg(long, value_name = "TYPE")]
    weights: Option<Rounding>,
    /// Code or name of the language, or `auto` to hear which it is.
    #[arg(long, value_name = "L", default_value = "auto")]
    language: String,
    /// Whether to translate into English.
    #[arg(long, value_name = "TASK", value_enum, default_value_t = TaskArg::Transcribe)]
    task: TaskArg,
    /// Beams; 1 takes the most probable token each time.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_BEAMS)))]
    beam_size: u32,
    /// Beams stop when this many times as many have ended as there are.
    #[arg(long, value_name = "P", default_value_t = 1.0, value_parser = above_zero, allow_negative_numbers = true)]
    patience: f32,
    /// Samples of which the best is taken where a window is decoded at a temperature.
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=32))]
    best_of: u32,
    /// The only temperature [default: 0, and up to 1 in steps of 0.2 where a window fails].
    #[arg(long, value_name = "T", value_parser = from_zero, allow_negative_numbers = true)]
    temperature: Option<f32>,
    /// The same seed draws the same tokens.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Text without times: each window of up to 30 s is one piece. Times are still followed within, so that nothing after a
    /// silence is lost.
    #[arg(long)]
    no_timestamps: bool,
    /// Finds when each word is said: for json, and for srt and vtt, whose times then are those of words.
    #[arg(long, conflicts_with = "no_timestamps")]
    word_timestamps: bool,
    /// Whether what was said before is the prompt of a window.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = clap::ArgAction::Set)]
    condition_on_previous_text: bool,
    /// The same as --condition-on-previous-text false.
    #[arg(long, conflicts_with = "condition_on_previous_text")]
    no_condition: bool,
    /// Text that stands before the first window: names, spelling, style.
    #[arg(long, value_name = "TEXT")]
    initial_prompt: Option<String>,
    /// Only these pieces, in seconds or as in 1:02:03.5: start, end, start, end and so on; the last end may be left out.
    #[arg(long, value_name = "START,END", value_delimiter = ',', value_parser = seconds, allow_negative_numbers = true)]
    clip: Vec<f64>,
    /// A window is silence if that is more probable than P and its text less probable than --logprob-threshold; `none`
    /// turns it off.
    #[arg(long, value_name = "P", default_value = "0.6", help_heading = LIMITS)]
    no_speech_threshold: Limit,
    /// A window whose mean log-probability is below this is decoded again, at a higher temperature; `none` turns it off.
    #[arg(long, value_name = "L", default_value = "-1", allow_negative_numbers = true, help_heading = LIMITS)]
    logprob_threshold: Limit,
    /// A window whose text compresses better than this repeats itself and is decoded again; `none` turns it off.
    #[arg(long, value_name = "R", default_value = "2.4", help_heading = LIMITS)]
    compression_ratio_threshold: Limit,
    /// Skips words that look invented in a silence longer than S seconds; finds when each word is said.
    #[arg(long, value_name = "S", value_parser = from_zero, allow_negative_numbers = true, conflicts_with = "no_timestamps", help_heading = LIMITS)]
    hallucination_silence_threshold: Option<f32>,
    /// Leaves out what is no speech, as a small neural network (Earshot) hears it; times are still those of the sound.
    #[arg(long, conflicts_with = "clip", help_heading = VAD)]
    vad: bool,
    /// The least probability of speech.
    #[arg(long, value_name = "P", default_value_t = Speech::default().threshold, value_parser = share, allow_negative_numbers = true, requires = "vad", help_heading = VAD)]
    vad_threshold: f32,
    /// The shortest silence that ends speech.
    #[arg(long, value_name = "MS", default_value_t = Speech::default().min_silence_ms, value_parser = clap::value_parser!(u32).range(..=600_000), requires = "vad", help_heading = VAD)]
    vad_min_silence_ms: u32,
    /// What is kept before and after speech.
    #[arg(long, value_name = "MS", default_value_t = Speech::default().pad_ms, value_parser = clap::value_parser!(u32).range(..=600_000), requires = "vad", help_heading = VAD)]
    vad_speech_pad_ms: u32,
    #[command(flatten)]
    layout: LayoutArgs,
    /// How the text is written; several, as in srt,json, with --output-dir.
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        value_delimiter = ',',
        default_value = "txt"
    )]
    format: Vec<FormatArg>,
    /// Where to write a file for each sound.
    #[arg(long, value_name = "D")]
    output_dir: Option<PathBuf>,
    /// auto (a card if there is one, else the virtual GPU), virtual, virtual:smNN, cuda:N.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Selector,
    /// Threads of the virtual GPU [default: one for each core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// exact: f32 throughout; fast: tensor cores on f16, f16 cache.
    #[arg(long, value_name = "P", value_enum, default_value_t = PrecisionArg::Fast)]
    precision: PrecisionArg,
    /// How tokens are made: eager launches each operation, replay launches a recorded step at once, persistent decodes
    /// each window in one launch where it follows a single sequence.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = RunArg::Replay)]
    run: RunArg,
    #[command(flatten)]
    trace: TraceArgs,
}

const LIMITS: &str = "Thresholds";
const VAD: &str = "Voice activity";

/// Lines of words with their times, in txt, srt and vtt.
#[derive(Debug, Args)]
#[command(next_help_heading = "Words, each with its times, in txt, srt and vtt")]
struct LayoutArgs {
    /// Words of a line at most: one shows when each word is said.
    #[arg(long, value_name = "N", value_parser = count, conflicts_with_all = ["no_timestamps", "max_line_count"])]
    max_words_per_line: Option<usize>,
    /// Characters of a line at most.
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "no_timestamps")]
    max_line_width: Option<usize>,
    /// Lines of a subtitle at most.
    #[arg(long, value_name = "N", value_parser = count, requires = "max_line_width")]
    max_line_count: Option<usize>,
    /// Underlines each word while it is said (srt and vtt).
    #[arg(long, conflicts_with = "no_timestamps")]
    highlight_words: bool,
}

impl LayoutArgs {
    fn layout(&self) -> Layout {
        Layout {
            max_words_per_line: self.max_words_per_line,
            max_line_width: self.max_line_width,
            max_line_count: self.max_line_count,
            highlight: match self.highlight_words {
                true => Highlight::Words,
                false => Highlight::Nothing,
            },
        }
    }
}

fn count(text: &str) -> Result<usize, String> {
    let value = text
        .parse()
        .ok()
        .filter(|value| (1..=10_000).contains(value));
    value.ok_or_else(|| "expected a whole number from 1 to 10000".to_owned())
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TaskArg {
    Transcribe,
    Translate,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatArg {
    Txt,
    Srt,
    Vtt,
    Tsv,
    Json,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Format {
        match format {
            FormatArg::Txt => Format::Txt,
            FormatArg::Srt => Format::Srt,
            FormatArg::Vtt => Format::Vtt,
            FormatArg::Tsv => Format::Tsv,
            FormatArg::Json => Format::Json,
        }
    }
}

/// The name of standard input.
const STDIN: &str = "-";

/// What all sounds took.
#[derive(Debug, Default)]
struct Totals {
    sounds: usize,
    sound_s: f64,
    work_s: f64,
}

impl Transcribe {
    pub(crate) fn run(mut self) -> Result<ExitCode> {
        hub::localise(&mut self.model)?;
        let formats: Vec<Format> = self.format.iter().map(|format| (*format).into()).collect();
        self.agree(&formats)?;
        let layout = self.layout.layout();
        let folder = self.output_dir.as_deref();
        let mut places = Places::new(folder, formats, layout, self.files.len())?;
        let mut files = Files::default();
        files.reads_model("--model", &self.model)?;
        for sound in self.files.iter().filter(|sound| **sound != *STDIN) {
            files.reads("FILES", sound)?;
        }
        let mut traces = self.trace.open(&mut files)?;
        let mut sounds = Vec::new();
        for sound in &self.files {
            sounds.push((sound, places.of(sound, &mut files)));
        }
        let settings = Settings {
            disk_cache: cache_folder(),
            fresh: Fresh::AsIs,
            ..Settings::default()
        };
        let selector = selector_with(&self.device, self.threads)?;
        kind::expect(&self.model, Kind::Speech)?;
        let device = Device::open_with(&selector, settings).context("cannot open the device")?;
        let start = Instant::now();
        let loading = bar("loading", 0, Unit::Bytes);
        let model = ModelFiles {
            path: &self.model,
            rounding: self.weights,
        };
        let bundle = Bundle::load(&device, model, &mut |done, total| {
            loading.set_length(total);
            loading.set_position(done);
        });
        loading.finish_and_clear();
        let name = printable(&self.model.display().to_string());
        let bundle = Arc::new(bundle.with_context(|| format!("cannot load {name}"))?);
        tell_rounded(bundle.model.rounded());
        if matches!(self.task, TaskArg::Translate) && !bundle.tokenizer.special().is_multilingual()
        {
            bail!("--task translate: {name} knows English alone, expected a multilingual model");
        }
        let options = self.options(&bundle);
        let mut transcriber =
            Transcriber::new(&bundle, options).context("cannot prepare the model")?;
        if let Some(observer) = traces.observer() {
            transcriber.observe(Some(observer))?;
        }
        let load_s = start.elapsed().as_secs_f64();

        traces.begin(&device)?;
        let before = device.stats();
        let watch = Watch::begin();
        let wanted = self.wanted(&bundle);
        let (mut totals, mut failed) = (Totals::default(), 0);
        for (file, sinks) in sounds {
            if watch.raised() {
                break;
            }
            let done = sinks.and_then(|mut sinks| {
                let sound = listen(&mut transcriber, file, wanted, &mut sinks, &mut totals)?;
                if let Some(seconds) = sound {
                    self.tell_clips(&printable(&file.display().to_string()), seconds);
                }
                Ok(())
            });
            match done {
                Ok(()) => {}
                Err(error) if output::is_closed(&error) => return Err(error),
                Err(error) => {
                    let (name, text) = (printable(&file.display().to_string()), one_line(&error));
                    output::warn(&match text.starts_with(&name) {
                        true => format!("error: {text}"),
                        false => format!("error: {name}: {text}"),
                    });
                    failed += 1;
                }
            }
        }
        let interrupted = watch.raised();
        output::note(&summary(&totals, load_s, &device, device.stats() - before));
        traces.finish(&device)?;
        Ok(match (interrupted, failed) {
            (true, _) => interrupt::exit_code(),
            (false, 0) => ExitCode::SUCCESS,
            (false, _) => ExitCode::FAILURE,
        })
    }

    /// Whether the options have a meaning together.
    fn agree(&self, formats: &[Format]) -> Result<()> {
        let stdin = self.files.iter().filter(|file| **file == *STDIN);
        let count = stdin.count();
        if count > 1 {
            bail!("standard input is one sound: `-` may be given once");
        }
        if count == 1 && io::stdin().is_terminal() {
            bail!("standard input is a terminal: expected a sound from a pipe or a file");
        }
        if let Some(pair) = self.clip.windows(2).find(|pair| pair[0] >= pair[1]) {
            bail!(
                "--clip: expected times that go on, found {} after {}",
                pair[1],
                pair[0]
            );
        }
        let lines = [Format::Txt, Format::Srt, Format::Vtt];
        let laid_out = self.layout.layout() != Layout::default();
        if laid_out && !formats.iter().any(|format| lines.contains(format)) {
            bail!(
                "--max-words-per-line, --max-line-width, --max-line-count and --highlight-words are for txt, srt and vtt"
            );
        }
        let words = [Format::Srt, Format::Vtt, Format::Json];
        if self.word_timestamps && !laid_out && !formats.iter().any(|f| words.contains(f)) {
            output::note(
                "note: times of words are not in txt and tsv; --max-words-per-line 1 shows them in txt",
            );
        }
        Ok(())
    }

    /// Says which pieces begin behind the end of a sound.
    fn tell_clips(&self, name: &str, seconds: f64) {
        let starts = self.clip.iter().step_by(2);
        for start in starts.filter(|start| **start >= seconds) {
            output::warn(&format!(
                "{name}: nothing is heard from {}: the sound ends at {}",
                clock(*start),
                clock(seconds)
            ));
        }
    }

    /// What is made of each sound.
    fn wanted(&self, bundle: &Bundle) -> Wanted {
        let speech = Speech {
            threshold: self.vad_threshold,
            min_silence_ms: self.vad_min_silence_ms,
            pad_ms: self.vad_speech_pad_ms,
        };
        Wanted {
            n_mels: bundle.model.dims().n_mels as usize,
            speech: self.vad.then_some(speech),
        }
    }

    fn options(&self, bundle: &Bundle) -> ListenOptions {
        let defaults = ListenOptions::default();
        let initial_prompt = match &self.initial_prompt {
            Some(text) => bundle.tokenizer.encode(&format!(" {}", text.trim())),
            None => Vec::new(),
        };
        let invented = self.hallucination_silence_threshold;
        let laid_out = self.layout.layout() != Layout::default();
        let words = self.word_timestamps || laid_out || invented.is_some();
        let words = words.then(|| WordOptions {
            hallucination_silence: invented.map(f64::from),
            ..WordOptions::default()
        });
        ListenOptions {
            precision: self.precision.into(),
            task: match self.task {
                TaskArg::Transcribe => Task::Transcribe,
                TaskArg::Translate => Task::Translate,
            },
            language: (self.language != "auto").then(|| self.language.clone()),
            start: if self.no_timestamps {
                Start::NoTimestamps
            } else {
                Start::Timestamps
            },
            temperatures: match self.temperature {
                Some(temperature) => vec![temperature],
                None => defaults.temperatures.clone(),
            },
            beams: self.beam_size,
            patience: self.patience,
            best_of: self.best_of,
            run: self.trace.run(self.run.into()),
            seed: self.seed,
            transcript: Options {
                thresholds: Thresholds {
                    compression_ratio: self.compression_ratio_threshold.0,
                    log_prob: self.logprob_threshold.0,
                    no_speech: self.no_speech_threshold.0,
                },
                condition_on_previous: self.condition_on_previous_text && !self.no_condition,
                initial_prompt,
                clips: self.clip.clone(),
                words,
                ..Options::default()
            },
            ..defaults
        }
    }
}

/// One sound, to where its text goes; its seconds, if it was heard to its end.
fn listen(
    transcriber: &mut Transcriber,
    path: &Path,
    wanted: Wanted,
    sinks: &mut [Sink],
    totals: &mut Totals,
) -> Result<Option<f64>> {
    let start = Instant::now();
    let live = path == Path::new(STDIN);
    let mut sound = match (live, input::Kind::of(path)) {
        (true, _) => Spectrogram::of_stream(Live::begin(), wanted)?,
        (false, Ok(input::Kind::Pipe)) => {
            let open = |path: &Path| File::open(path);
            Spectrogram::of_stream(patiently(path, "nobody writes to it", open)?, wanted)?
        }
        (false, _) => Spectrogram::of_file(path, wanted)?,
    };
    if interrupt::raised() && !live {
        return Ok(None);
    }
    let per_second = u64::from(FRAMES_PER_SECOND);
    let progress = bar("listening", sound.frames() / per_second, Unit::Seconds);
    let (mut written, mut done) = (Ok(()), 0);
    let mut so_far = whisper::Heard {
        text: String::new(),
        segments: Vec::new(),
        language: String::new(),
        language_probability: None,
    };
    let heard = transcriber.transcribe(&mut sound, &mut |step| {
        progress.set_length(step.total / per_second);
        progress.set_position(step.done / per_second);
        done = step.done;
        let transcription = transcription(step.heard, &[]);
        written = progress.suspend(|| {
            let mut each = sinks.iter_mut();
            each.try_for_each(|sink| sink.push(step.came, transcription))
        });
        so_far.clone_from(step.heard);
        // What came on standard input until Ctrl-C is still written down.
        match written.is_err() || (interrupt::raised() && !live) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    progress.finish_and_clear();
    if interrupt::raised() {
        interrupt::new_line();
    }
    written?;
    let missing = sound.missing();
    let name = printable(&path.display().to_string());
    missing.iter().for_each(|missing| tell(&name, missing));
    let wholly = heard.is_ok() && (live || !interrupt::raised());
    let (whole, how) = match &heard {
        Ok(heard) if wholly => (heard, Heard::Wholly),
        Ok(heard) => (heard, Heard::Partly),
        Err(_) => (&so_far, Heard::Partly),
    };
    let whole = transcription(whole, missing);
    sinks.iter_mut().try_for_each(|sink| sink.end(whole, how))?;
    heard?;
    totals.sounds += 1;
    // The last window may end behind the sound.
    totals.sound_s += match wholly {
        true => sound.seconds(),
        false => (done as f64 / f64::from(FRAMES_PER_SECOND)).min(sound.seconds()),
    };
    totals.work_s += start.elapsed().as_secs_f64();
    Ok(wholly.then(|| sound.seconds()))
}

fn transcription<'a>(heard: &'a whisper::Heard, missing: &'a [Missing]) -> Transcription<'a> {
    Transcription {
        text: &heard.text,
        segments: &heard.segments,
        language: &heard.language,
        missing,
    }
}

/// Says which piece of a sound is missing.
fn tell(name: &str, missing: &Missing) {
    let Missing { start, end, why } = missing;
    let to = end.map_or_else(|| "the end".to_owned(), clock);
    let why = printable(why);
    output::warn(&format!(
        "{name}: sound is missing from {} to {to}: {why}",
        clock(*start)
    ));
}

fn summary(totals: &Totals, load_s: f64, device: &Device, moved: Snapshot) -> String {
    let Totals {
        sounds,
        sound_s,
        work_s,
    } = totals;
    let factor = if *sound_s > 0.0 {
        work_s / sound_s
    } else {
        0.0
    };
    format!(
        "{sounds} {}, {sound_s:.1} s in {work_s:.2} s (real-time factor {factor:.3}), load {load_s:.2} s, {}\n\
         {} launches, {} to the device in {} transfers, {} back in {}",
        if *sounds == 1 { "sound" } else { "sounds" },
        device.info().name,
        moved.launches,
        bytes(moved.h2d_bytes),
        moved.h2d_calls,
        bytes(moved.d2h_bytes),
        moved.d2h_calls,
    )
}
