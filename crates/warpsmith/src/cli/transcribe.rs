//! `transcribe`: speech to text.

use super::{
    kind,
    open::{cache_folder, selector_with},
    options::{PrecisionArg, RunArg},
    output::{self, Unit, bar, bytes, one_line, printable},
    trace::TraceArgs,
};
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Instant,
};
use warpsmith::{
    audio::{FRAMES_PER_SECOND, Pcm, SAMPLE_RATE, SampleType, Spectrogram},
    device::{Device, Fresh, Selector, Settings, Snapshot},
    formats::Kind,
    models::whisper::{
        Bundle, ListenOptions, MOST_BEAMS, Transcriber,
        tokenizer::{Start, Task},
        transcript::{Options, Segment, WordOptions},
    },
    transcript::{Format, Transcription},
};

/// Writes down what is said in sound files.
///
/// The text goes to standard output as it comes, or to a file for each sound under --output-dir. A summary goes to
/// standard error. A file that cannot be read is named, the others are still transcribed, and the exit status is 1.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  warpsmith transcribe --model whisper-base speech.flac
  warpsmith transcribe --model whisper-base --format srt --output-dir subtitles *.mp3
  warpsmith transcribe --model whisper-base --language de --task translate rede.ogg
  arecord -f S16_LE -r 16000 -c 1 -t raw | warpsmith transcribe --model whisper-base -")]
pub(crate) struct Transcribe {
    /// WAV, FLAC, MP3, OGG/Vorbis, M4A/AAC; `-` is raw 16-bit samples at 16 kHz, one channel.
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,
    /// A CTranslate2, ggml, GGUF or safetensors file of Whisper, or a folder with one.
    #[arg(long, short, value_name = "PATH")]
    model: PathBuf,
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
    #[arg(long, value_name = "P", default_value_t = 1.0, value_parser = patience, allow_negative_numbers = true)]
    patience: f32,
    /// Samples of which the best is taken where a window is decoded at a temperature.
    #[arg(long, value_name = "N", default_value_t = 5,
          value_parser = clap::value_parser!(u32).range(1..=32))]
    best_of: u32,
    /// The only temperature [default: 0, and up to 1 in steps of 0.2 where a window fails].
    #[arg(long, value_name = "T", value_parser = temperature, allow_negative_numbers = true)]
    temperature: Option<f32>,
    /// The same seed draws the same tokens.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Text without times: each window of 30 s is one piece.
    #[arg(long)]
    no_timestamps: bool,
    /// Finds when each word is said.
    #[arg(long, conflicts_with = "no_timestamps")]
    word_timestamps: bool,
    /// Does not use what was said before as a prompt.
    #[arg(long)]
    no_condition: bool,
    /// Text that stands before the first window: names, spelling, style.
    #[arg(long, value_name = "TEXT")]
    initial_prompt: Option<String>,
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

fn temperature(text: &str) -> Result<f32, String> {
    number(text, |value| value >= 0.0, "a number from 0")
}

fn patience(text: &str) -> Result<f32, String> {
    number(text, |value| value > 0.0, "a number above 0")
}

fn number(text: &str, fits: impl Fn(f32) -> bool, want: &str) -> Result<f32, String> {
    let value = text.parse().ok().filter(|value: &f32| value.is_finite());
    value
        .filter(|value| fits(*value))
        .ok_or_else(|| format!("expected {want}"))
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

/// Where texts go: each sound has files of its own, or all have standard output.
#[derive(Debug)]
struct Outputs<'a> {
    folder: Option<&'a Path>,
    formats: Vec<Format>,
    /// Names that have their sound.
    taken: BTreeMap<OsString, PathBuf>,
}

/// Where the text of a sound goes.
#[derive(Debug)]
enum Output {
    /// Standard output.
    Shown(Format),
    /// These files.
    Files(Vec<(Format, PathBuf)>),
}

impl Outputs<'_> {
    /// Makes the folder, and sees that files can be made in it before anything is listened to.
    fn new<'a>(folder: Option<&'a Path>, formats: &[FormatArg]) -> Result<Outputs<'a>> {
        let formats: Vec<Format> = formats.iter().map(|format| (*format).into()).collect();
        match folder {
            None if formats.len() > 1 => bail!("several formats need --output-dir"),
            None => {}
            Some(folder) => output::writable(folder)?,
        }
        Ok(Outputs {
            folder,
            formats,
            taken: BTreeMap::new(),
        })
    }

    /// Where the text of a sound goes; an error if another sound has its files.
    fn of(&mut self, sound: &Path) -> Result<Output> {
        let Some(folder) = self.folder else {
            return Ok(Output::Shown(self.formats[0]));
        };
        let stem = match sound == Path::new(STDIN) {
            true => "stdin".into(),
            false => sound
                .file_stem()
                .ok_or_else(|| anyhow!("a file without a name"))?
                .to_owned(),
        };
        if let Some(other) = self.taken.get(&stem) {
            bail!(
                "its text would replace that of {}, give it another name",
                other.display()
            );
        }
        let file = |format: &Format| {
            let mut name = stem.clone();
            name.push(".");
            name.push(format.extension());
            (*format, folder.join(name))
        };
        let files = self.formats.iter().map(file).collect();
        self.taken.insert(stem, sound.to_owned());
        Ok(Output::Files(files))
    }
}

/// What all sounds took.
#[derive(Debug, Default)]
struct Totals {
    sounds: usize,
    sound_s: f64,
    work_s: f64,
}

impl Transcribe {
    pub(crate) fn run(self) -> Result<ExitCode> {
        let mut outputs = Outputs::new(self.output_dir.as_deref(), &self.format)?;
        let mut traces = self.trace.open()?;
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
        let bundle = Bundle::load(&device, &self.model, &mut |done, total| {
            loading.set_length(total);
            loading.set_position(done);
        });
        loading.finish_and_clear();
        let name = printable(&self.model.display().to_string());
        let bundle = Arc::new(bundle.with_context(|| format!("cannot load {name}"))?);
        let options = self.options(&bundle);
        let mut transcriber =
            Transcriber::new(&bundle, options).context("cannot prepare the model")?;
        if let Some(observer) = traces.observer() {
            transcriber.observe(Some(observer))?;
        }
        let load_s = start.elapsed().as_secs_f64();

        traces.begin(&device)?;
        let before = device.stats();
        let (mut totals, mut failed) = (Totals::default(), 0);
        for file in &self.files {
            let done = outputs
                .of(file)
                .and_then(|to| listen(&mut transcriber, file, &to, &mut totals));
            match done {
                Ok(()) => {}
                Err(error) if output::is_closed(&error) => return Err(error),
                Err(error) => {
                    let (name, text) = (printable(&file.display().to_string()), one_line(&error));
                    output::note(&match text.starts_with(&name) {
                        true => format!("error: {text}"),
                        false => format!("error: {name}: {text}"),
                    });
                    failed += 1;
                }
            }
        }
        output::note(&summary(&totals, load_s, &device, device.stats() - before));
        traces.finish(&device)?;
        Ok(if failed > 0 {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }

    fn options(&self, bundle: &Bundle) -> ListenOptions {
        let defaults = ListenOptions::default();
        let initial_prompt = match &self.initial_prompt {
            Some(text) => bundle.tokenizer.encode(&format!(" {}", text.trim())),
            None => Vec::new(),
        };
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
                condition_on_previous: !self.no_condition,
                initial_prompt,
                words: self.word_timestamps.then(WordOptions::default),
                ..Options::default()
            },
            ..defaults
        }
    }
}

/// One sound: to standard output, or to its files.
fn listen(
    transcriber: &mut Transcriber,
    path: &Path,
    to: &Output,
    totals: &mut Totals,
) -> Result<()> {
    let start = Instant::now();
    let n_mels = transcriber.session().model().dims().n_mels as usize;
    let mut sound = if path == Path::new(STDIN) {
        let pcm = Pcm {
            sample: SampleType::S16,
            rate: SAMPLE_RATE,
            channels: 1,
        };
        Spectrogram::of_pcm(std::io::stdin(), pcm, n_mels)?
    } else {
        Spectrogram::of_file(path, n_mels)?
    };
    // Plain text can be shown as it comes.
    let shown = matches!(to, Output::Shown(Format::Txt));
    let per_second = u64::from(FRAMES_PER_SECOND);
    let progress = bar("listening", sound.frames() / per_second, Unit::Seconds);
    let mut printed = Ok(());
    let heard = transcriber.transcribe(&mut sound, &mut |done, _, segments: &[Segment]| {
        progress.set_position(done / per_second);
        for segment in segments
            .iter()
            .filter(|segment| shown && !segment.text.is_empty())
        {
            let line = format!("{}\n", segment.text.trim());
            progress.suspend(|| {
                let result = output::print(&line);
                if printed.is_ok() {
                    printed = result;
                }
            });
        }
    });
    progress.finish_and_clear();
    let heard = heard?;
    printed?;
    totals.sounds += 1;
    totals.sound_s += sound.seconds();
    totals.work_s += start.elapsed().as_secs_f64();
    let transcription = Transcription {
        text: &heard.text,
        segments: &heard.segments,
        language: &heard.language,
    };
    match to {
        Output::Shown(Format::Txt) => Ok(()),
        Output::Shown(format) => output::print(&format.write(transcription)),
        Output::Files(files) => files.iter().try_for_each(|(format, to)| {
            let text = format.write(transcription);
            std::fs::write(to, text).with_context(|| to.display().to_string())
        }),
    }
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
