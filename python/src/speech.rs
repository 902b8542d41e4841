//! A speech model: a thread with a transcriber, one sound after the other.

use crate::{
    errors::{self, ClosedError, WarpsmithError},
    model::{Place, precision},
    wait,
};
use pyo3::prelude::*;
use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
};
use warpsmith::{
    audio::{Pcm, SAMPLE_RATE, SampleType, Spectrogram, Speech, Wanted},
    graph::Precision,
    models::{
        Error,
        whisper::{
            Bundle, ListenOptions, MOST_BEAMS, Transcriber,
            fallback::Thresholds,
            tokenizer::{Start, Task},
            transcript::{Options, Segment, WordOptions},
        },
    },
};

/// What is listened to.
enum Sound {
    File(PathBuf),
    /// A file in memory.
    Bytes(Vec<u8>),
    /// Samples at 16 kHz, f32, little-endian.
    Samples(Vec<u8>),
}

struct Job {
    sound: Sound,
    options: ListenOptions,
    speech: Option<Speech>,
    to: Sender<Said>,
    alive: Weak<()>,
}

/// What the thread says of a sound.
enum Said {
    /// Segments of a window; the language and how probable it is; the seconds of the sound.
    Came(Vec<Segment>, String, Option<f64>, f64),
    /// All of it: the same of a sound without a window, and what of it could not be read.
    Done(String, Option<f64>, f64, Vec<(f64, Option<f64>, String)>),
    Failed(PyErr),
}

/// A loaded speech model.
#[pyclass(frozen)]
pub(crate) struct Whisper {
    inner: Mutex<Option<Inner>>,
    closed: Arc<AtomicBool>,
    precision: Precision,
}

struct Inner {
    bundle: Arc<Bundle>,
    jobs: Sender<Job>,
    thread: JoinHandle<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[pymethods]
impl Whisper {
    #[new]
    #[pyo3(signature = (path, device, threads, weights, precision_name))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        device: String,
        threads: Option<u16>,
        weights: Option<String>,
        precision_name: &str,
    ) -> PyResult<Whisper> {
        let precision = precision(precision_name)?;
        let place = Place {
            path,
            device,
            threads,
            weights,
        };
        let closed = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&closed);
        let inner = wait::done(
            py,
            || {},
            move || -> PyResult<Inner> {
                let device = place.open()?;
                let bundle = Bundle::load(&device, place.files()?, &mut |_, _| {});
                let bundle = Arc::new(bundle.map_err(errors::model)?);
                let (jobs, from) = channel();
                let own = Arc::clone(&bundle);
                let thread = thread::Builder::new().name("warpsmith-whisper".to_owned());
                let thread = thread.spawn(move || run(&own, &from, &told));
                let thread = thread.map_err(|error| {
                    WarpsmithError::new_err(format!("no thread for the model: {error}"))
                })?;
                Ok(Inner {
                    bundle,
                    jobs,
                    thread,
                })
            },
        )??;
        Ok(Whisper {
            inner: Mutex::new(Some(inner)),
            closed,
            precision,
        })
    }

    /// Has a sound written down. `sound` is `(kind, path, bytes)` with kind `file`, `bytes` or `samples`.
    #[pyo3(signature = (sound, language, task, beam_size, best_of, patience, length_penalty, temperatures,
        thresholds, condition_on_previous_text, initial_prompt, without_timestamps, word_timestamps,
        hallucination_silence, clips, vad, seed))]
    fn transcribe(
        &self,
        sound: (String, PathBuf, Vec<u8>),
        language: Option<String>,
        task: &str,
        beam_size: u32,
        best_of: u32,
        patience: f32,
        length_penalty: Option<f32>,
        temperatures: Vec<f32>,
        thresholds: (Option<f64>, Option<f64>, Option<f64>),
        condition_on_previous_text: bool,
        initial_prompt: Option<String>,
        without_timestamps: bool,
        word_timestamps: bool,
        hallucination_silence: Option<f64>,
        clips: Vec<f64>,
        vad: Option<(f32, u32, u32)>,
        seed: u64,
    ) -> PyResult<Listening> {
        let inner = lock(&self.inner);
        let inner = inner
            .as_ref()
            .ok_or_else(|| ClosedError::new_err("the model is closed"))?;
        let (compression_ratio, log_prob, no_speech) = thresholds;
        if !(1..=MOST_BEAMS).contains(&beam_size) {
            let expected = format!("1 to {MOST_BEAMS}");
            return Err(errors::input("beam_size", &expected, beam_size));
        }
        if !(1..=32).contains(&best_of) {
            return Err(errors::input("best_of", "1 to 32", best_of));
        }
        if !(patience.is_finite() && patience > 0.0) {
            return Err(errors::input("patience", "a number above 0", patience));
        }
        let odd = |t: &&f32| !(t.is_finite() && **t >= 0.0);
        if let Some(odd) = temperatures.iter().find(odd) {
            return Err(errors::input("temperature", "a number from 0", odd));
        }
        if temperatures.is_empty() {
            return Err(errors::input("temperature", "one or more", "none"));
        }
        if clips.iter().any(|t| !(t.is_finite() && *t >= 0.0)) || !clips.is_sorted() {
            let expected = "seconds from 0 in ascending order";
            return Err(errors::input(
                "clip_timestamps",
                expected,
                format!("{clips:?}"),
            ));
        }
        let tokens = initial_prompt.map(|text| {
            let text = format!(" {}", text.trim());
            inner.bundle.tokenizer.encode(&text)
        });
        let words = word_timestamps || hallucination_silence.is_some();
        let options = ListenOptions {
            precision: self.precision,
            task: match task {
                "transcribe" => Task::Transcribe,
                "translate" => Task::Translate,
                other => {
                    let expected = "\"transcribe\" or \"translate\"";
                    return Err(errors::input("task", expected, format!("{other:?}")));
                }
            },
            language,
            start: match without_timestamps {
                true => Start::NoTimestamps,
                false => Start::Timestamps,
            },
            temperatures,
            beams: beam_size,
            patience,
            best_of,
            length_penalty,
            seed,
            transcript: Options {
                thresholds: Thresholds {
                    compression_ratio,
                    log_prob,
                    no_speech,
                },
                condition_on_previous: condition_on_previous_text,
                initial_prompt: tokens.unwrap_or_default(),
                clips,
                words: words.then(|| WordOptions {
                    hallucination_silence,
                    ..WordOptions::default()
                }),
                ..Options::default()
            },
            ..ListenOptions::default()
        };
        if let Some(language) = &options.language {
            let special = inner.bundle.tokenizer.special();
            special
                .code(language)
                .map_err(|error| errors::InputError::new_err(format!("language: {error}")))?;
        }
        let (kind, path, bytes) = sound;
        let sound = match kind.as_str() {
            "file" => Sound::File(path),
            "bytes" => Sound::Bytes(bytes),
            _ => Sound::Samples(bytes),
        };
        let speech = vad.map(|(threshold, min_silence_ms, pad_ms)| Speech {
            threshold,
            min_silence_ms,
            pad_ms,
        });
        if speech.is_some() && !matches!(sound, Sound::File(_)) {
            let text = "vad_filter of a sound that is no file: expected the path of a file";
            return Err(errors::UnsupportedError::new_err(text));
        }
        let (to, said) = channel();
        let alive = Arc::new(());
        let job = Job {
            sound,
            options,
            speech,
            to,
            alive: Arc::downgrade(&alive),
        };
        let sent = inner.jobs.send(job);
        sent.map_err(|_| ClosedError::new_err("the model is closed"))?;
        Ok(Listening {
            said: Mutex::new(said),
            alive: Mutex::new(Some(alive)),
            done: AtomicBool::new(false),
        })
    }

    /// Facts: whether it is multilingual, the number of mel bins, the device's name.
    fn facts(&self) -> PyResult<(bool, u32, String)> {
        let inner = lock(&self.inner);
        let inner = inner
            .as_ref()
            .ok_or_else(|| ClosedError::new_err("the model is closed"))?;
        let bundle = &inner.bundle;
        Ok((
            bundle.tokenizer.special().is_multilingual(),
            bundle.model.dims().n_mels,
            bundle.model.device().info().name.clone(),
        ))
    }

    /// Ends the thread; a sound that is being written down ends with an error after its window.
    fn close(&self, py: Python<'_>) {
        self.closed.store(true, Ordering::Relaxed);
        let inner = lock(&self.inner).take();
        py.detach(|| {
            if let Some(Inner { jobs, thread, .. }) = inner {
                drop(jobs);
                let _ = thread.join();
            }
        });
    }
}

impl Drop for Whisper {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}

/// A transcript in the making: an iterator of what each window brings. One that is dropped or closed ends with the window.
#[pyclass(frozen)]
pub(crate) struct Listening {
    said: Mutex<Receiver<Said>>,
    alive: Mutex<Option<Arc<()>>>,
    /// Whether its end has come.
    done: AtomicBool,
}

/// `(word, start, end, probability)`
type Word = (String, f64, f64, f64);
/// `(id, seek, start, end, text, tokens, temperature, avg_logprob, compression_ratio, no_speech_prob, words)`
type Piece = (
    usize,
    u64,
    f64,
    f64,
    String,
    Vec<u32>,
    f32,
    f64,
    f64,
    f64,
    Option<Vec<Word>>,
);
/// `(segments, language, language_probability, seconds, missing)`; the last one has `missing`.
type Came = (
    Vec<Piece>,
    String,
    Option<f64>,
    f64,
    Option<Vec<(f64, Option<f64>, String)>>,
);

fn piece(segment: Segment) -> Piece {
    let Segment {
        id,
        seek,
        start,
        end,
        text,
        tokens,
        temperature,
        avg_log_prob,
        compression_ratio,
        no_speech_prob,
        words,
    } = segment;
    let words = words.map(|words| {
        let word = |word: warpsmith::models::whisper::transcript::TimedWord| {
            (word.word, word.start, word.end, word.probability)
        };
        words.into_iter().map(word).collect()
    });
    (
        id,
        seek,
        start,
        end,
        text,
        tokens,
        temperature,
        avg_log_prob,
        compression_ratio,
        no_speech_prob,
        words,
    )
}

#[pymethods]
impl Listening {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Came>> {
        if lock(&self.alive).is_none() {
            return Ok(None);
        }
        match wait::next(py, &self.said) {
            Ok(None) if self.done.load(Ordering::Relaxed) => Ok(None),
            Ok(None) => {
                self.close();
                let text = "the model was closed before the sound was written down";
                Err(ClosedError::new_err(text))
            }
            Ok(Some(Said::Came(segments, language, probability, seconds))) => {
                let segments = segments.into_iter().map(piece).collect();
                Ok(Some((segments, language, probability, seconds, None)))
            }
            Ok(Some(Said::Done(language, probability, seconds, missing))) => {
                self.done.store(true, Ordering::Relaxed);
                let none = Vec::new();
                Ok(Some((none, language, probability, seconds, Some(missing))))
            }
            Ok(Some(Said::Failed(error))) | Err(error) => {
                self.close();
                Err(error)
            }
        }
    }

    /// Writes down no more of it.
    fn close(&self) {
        lock(&self.alive).take();
    }
}

/// What only another transcriber does.
type Plans = (u32, u32);

fn run(bundle: &Arc<Bundle>, jobs: &Receiver<Job>, closed: &AtomicBool) {
    let mut known: Option<(Plans, Transcriber)> = None;
    while let Ok(job) = jobs.recv() {
        if closed.load(Ordering::Relaxed) {
            let error = ClosedError::new_err("the model was closed");
            let _ = job.to.send(Said::Failed(error));
            continue;
        }
        if job.alive.strong_count() == 0 {
            continue;
        }
        let plans = (job.options.beams, job.options.best_of);
        let own = known.take().filter(|(same, _)| *same == plans);
        let to = job.to.clone();
        let heard = catch_unwind(AssertUnwindSafe(|| {
            let mut transcriber = match own {
                Some((_, transcriber)) => transcriber,
                None => Transcriber::new(bundle, job.options.clone())?,
            };
            let done = listen(&mut transcriber, bundle, job, closed);
            // After a fault of the device another one is made.
            let keep = !matches!(done, Err(Error::Device(_) | Error::Graph(_)));
            done.map(|done| (done, Some(transcriber).filter(|_| keep)))
        }));
        let said = match heard {
            Ok(Ok((said, transcriber))) => {
                known = transcriber.map(|transcriber| (plans, transcriber));
                said
            }
            Ok(Err(error)) => Said::Failed(errors::model(error)),
            Err(_) => Said::Failed(WarpsmithError::new_err("the model panicked: this is a bug")),
        };
        let _ = to.send(said);
    }
}

fn listen(
    transcriber: &mut Transcriber,
    bundle: &Bundle,
    job: Job,
    closed: &AtomicBool,
) -> Result<Said, Error> {
    let Job {
        sound,
        options,
        speech,
        to,
        alive,
    } = job;
    let n_mels = bundle.model.dims().n_mels as usize;
    let mut sound = match sound {
        Sound::File(path) => Spectrogram::of_file(&path, Wanted { n_mels, speech })?,
        Sound::Bytes(bytes) => Spectrogram::of_bytes(bytes, n_mels)?,
        Sound::Samples(bytes) => {
            let pcm = Pcm {
                sample: SampleType::F32,
                rate: SAMPLE_RATE,
                channels: 1,
            };
            Spectrogram::of_pcm(std::io::Cursor::new(bytes), pcm, n_mels)?
        }
    };
    transcriber.listen_with(options)?;
    let seconds = sound.seconds();
    let heard = transcriber.transcribe(&mut sound, &mut |step| {
        let heard = step.heard;
        let (language, probability) = (heard.language.clone(), heard.language_probability);
        let _ = to.send(Said::Came(
            step.came.to_vec(),
            language,
            probability,
            seconds,
        ));
        match alive.strong_count() == 0 || closed.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    })?;
    if closed.load(Ordering::Relaxed) {
        return Ok(Said::Failed(ClosedError::new_err("the model was closed")));
    }
    let missing = sound.missing().iter();
    let missing = missing.map(|one| (one.start, one.end, one.why.to_string()));
    Ok(Said::Done(
        heard.language,
        heard.language_probability,
        seconds,
        missing.collect(),
    ))
}
