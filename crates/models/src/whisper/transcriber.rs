//! Speech to text: a model, its tokenizer, and one listener that goes over sounds of any length.

use super::{
    align::Text,
    decode::DecodeOptions,
    fallback::{Decoded, compression_ratio},
    lines::Mode,
    model::Model,
    options::ListenOptions,
    session::{Rulebook, Session, SessionOptions},
    tokenizer::{Start, Tokenizer},
    transcript::{Segment, Sizes, Transcript, initial_tokens},
    words::alignment_heads,
};
use crate::{Error, llama::Progress, rounding::Files};
use std::{ops::ControlFlow, sync::Arc};
use warpsmith_audio::{Edge, FRAMES_PER_SECOND, Padding, Spectrogram, Window, filters};
use warpsmith_device::Device;
use warpsmith_formats::whisper::WhisperFile;
use warpsmith_graph::{SharedDispatch, SharedObserver};
use warpsmith_library::decoding::{Rules, Vocabulary};

/// A model with what turns its tokens into text.
#[derive(Debug)]
pub struct Bundle {
    /// The model.
    pub model: Arc<Model>,
    /// Its tokenizer.
    pub tokenizer: Tokenizer,
    /// The heads that follow the audio, each `[layer, head]`.
    pub alignment_heads: Vec<[u32; 2]>,
    /// Tokens never to be taken.
    pub suppress: Vec<u32>,
}

impl Bundle {
    /// Loads a model from any of the formats of [`WhisperFile`], its matrices rounded if that is wanted.
    ///
    /// # Errors
    /// What is wrong with the files, by name; device errors.
    pub fn load<'a>(
        device: &Device,
        files: impl Into<Files<'a>>,
        progress: &mut dyn Progress,
    ) -> Result<Bundle, Error> {
        let Files { path, rounding } = files.into();
        let _span = tracing::info_span!("load", path = %path.display()).entered();
        let file = WhisperFile::open(path)?;
        check(&file)?;
        let tokenizer = Tokenizer::of_file(&file)?;
        let model = Arc::new(Model::load(device, &file, rounding, progress)?);
        let bytes = model.bytes();
        tracing::info!(bytes, "weights are on the device");
        Ok(Bundle {
            model,
            suppress: suppressed(&file, &tokenizer),
            tokenizer,
            alignment_heads: alignment_heads(&file)?,
        })
    }
}

/// Tokens never to be taken: those that the file names and special ones that only begin a sequence; openai-whisper's list
/// if the file names none.
fn suppressed(file: &WhisperFile, tokenizer: &Tokenizer) -> Vec<u32> {
    let settings = file.settings();
    let Some(own) = &settings.suppress else {
        return tokenizer.suppressed();
    };
    let mut ids = match settings.suppress_usual {
        true => tokenizer.suppressed(),
        false => tokenizer.special().never_sampled().to_vec(),
    };
    ids.extend(own);
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Tokens that begin a sequence: its start, the language, the task, whether there are times.
const SEQUENCE: u32 = 4;
/// How far a filter of a file may be from ours: files have them in single precision.
const FILTER_TOLERANCE: f32 = 1e-5;

/// Whether a transcript can be made with a model: its text context has room, its spectrum is the one made here.
///
/// # Errors
/// [`Error::Unsupported`] with what is found and expected.
fn check(file: &WhisperFile) -> Result<(), Error> {
    let dims = file.dims();
    // Half of the context is for what was said before and its mark, then the sequence begins and a token follows.
    let needed = dims.n_text_ctx / 2 + SEQUENCE + 1;
    if dims.n_text_ctx < needed {
        let what = format!(
            "a text context of {} tokens (expected room for the {needed} that a window needs)",
            dims.n_text_ctx
        );
        return Err(Error::Unsupported { what });
    }
    let Some(theirs) = &file.settings().mel_filters else {
        return Ok(());
    };
    let ours = filters(dims.n_mels as usize);
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= FILTER_TOLERANCE;
    let same = theirs.values.len() == ours.len() && theirs.values.iter().zip(&ours).all(near);
    match same {
        true => Ok(()),
        false => Err(Error::Unsupported {
            what: format!(
                "mel filters of {} by {} other than those of openai-whisper, {} by {}",
                theirs.n_mels,
                theirs.n_freqs,
                dims.n_mels,
                ours.len() / dims.n_mels as usize
            ),
        }),
    }
}

/// A window that is done.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Frames of 10 ms that are done.
    pub done: u64,
    /// All frames of the sound; of a stream, those so far.
    pub total: u64,
    /// The segments that came.
    pub came: &'a [Segment],
    /// What was said so far, with them.
    pub heard: &'a Heard,
}

/// What was said in a sound.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard {
    /// All of it.
    pub text: String,
    /// When.
    pub segments: Vec<Segment>,
    /// The code of the language.
    pub language: String,
    /// How probable that language is among all that the model knows, where it was heard and not told.
    pub language_probability: Option<f64>,
}

/// One listener on a device.
pub struct Transcriber {
    bundle: Arc<Bundle>,
    options: ListenOptions,
    session: Session,
    mel: Vec<f32>,
    turned: Vec<f32>,
    among: usize,
}

/// What is heard where there is no sound.
const SILENCE: Decoded = Decoded {
    tokens: Vec::new(),
    avg_log_prob: f64::NEG_INFINITY,
    no_speech_prob: 1.0,
    temperature: 0.0,
    compression_ratio: 0.0,
};

/// Where greedy decoding, beams and samples are among a session's modes.
const GREEDY: usize = 0;
const SAMPLES: usize = 1;
const BEAMS: usize = 2;

/// Steps of 0.02 s in the latest first timestamp, 1 s.
const FIRST_LIMIT: u32 = 50;

impl Transcriber {
    /// Allocates and plans all that listening needs.
    ///
    /// # Errors
    /// A language that the model does not know; a translation by an English model; beams and samples out of range; out of memory.
    pub fn new(bundle: &Arc<Bundle>, mut options: ListenOptions) -> Result<Transcriber, Error> {
        options.settle(&bundle.tokenizer)?;
        let special = *bundle.tokenizer.special();
        let dims = *bundle.model.dims();
        let mut suppress = bundle.suppress.clone();
        suppress.push(special.no_timestamps);
        let mut modes = vec![Mode::Samples(1), Mode::Samples(options.best_of)];
        if options.beams != 1 {
            modes.push(Mode::Beams(options.beams));
        }
        let among = modes.len();
        if special.is_multilingual() {
            modes.push(Mode::Among {
                ids: special.language_tokens().collect(),
                count: 1,
            });
        }
        let session = Session::new(
            &bundle.model,
            &SessionOptions {
                precision: options.precision,
                run: options.run,
                shape: options.shape,
                rules: Rulebook {
                    rules: Rules::Timestamps,
                    vocabulary: Vocabulary {
                        vocab: special.n_vocab,
                        end: special.end,
                        timestamps: special.timestamps,
                        first_limit: FIRST_LIMIT,
                    },
                    suppress,
                    suppress_first: bundle.tokenizer.blank(),
                    no_speech: special.no_speech,
                },
                modes,
            },
        )?;
        let len = 2 * dims.n_audio_ctx as usize * dims.n_mels as usize;
        Ok(Transcriber {
            bundle: Arc::clone(bundle),
            options,
            session,
            mel: vec![0.0; len],
            turned: vec![0.0; len],
            among,
        })
    }

    /// Listens to the sounds that follow with other options. Nothing is planned anew.
    ///
    /// # Errors
    /// As [`Transcriber::new`]; other arithmetic, another way to run, more or fewer beams or samples: these need a new one.
    pub fn listen_with(&mut self, mut options: ListenOptions) -> Result<(), Error> {
        options.settle(&self.bundle.tokenizer)?;
        self.options.plans_for(&options)?;
        self.options = options;
        Ok(())
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Shows the values of later passes to `observer`; `None` ends that.
    ///
    /// # Errors
    /// Device errors.
    pub fn observe(&mut self, observer: Option<SharedObserver>) -> Result<(), Error> {
        self.session.observe(observer)
    }

    /// As [`Session::dispatch`].
    pub fn dispatch(&mut self, dispatch: Option<SharedDispatch>) {
        self.session.dispatch(dispatch);
    }

    /// Encodes the last window once more, and waits: for measurements.
    ///
    /// # Errors
    /// Device errors.
    pub fn encode_again(&mut self) -> Result<(), Error> {
        self.session.encode()?;
        Ok(self.session.stream().synchronize()?)
    }

    /// Writes down a sound. `each` is told of every window, and may end the work: what was heard until then is returned.
    ///
    /// # Errors
    /// What reading the sound says; device errors.
    pub fn transcribe(
        &mut self,
        sound: &mut Spectrogram,
        each: &mut dyn FnMut(Step<'_>) -> ControlFlow<()>,
    ) -> Result<Heard, Error> {
        let bundle = Arc::clone(&self.bundle);
        let (tokenizer, dims) = (&bundle.tokenizer, *bundle.model.dims());
        let special = *tokenizer.special();
        let (language, language_probability) = match &self.options.language {
            Some(language) => (language.clone(), None),
            None if special.is_multilingual() => self.language(sound)?,
            None => ("en".to_owned(), None),
        };
        let sequence = special.sequence(&language, self.options.task, Start::Timestamps)?;
        let window = 2 * dims.n_audio_ctx;
        let sizes = Sizes {
            window,
            stride: 2,
            n_text_ctx: dims.n_text_ctx,
        };
        let options = self.options.transcript.clone();
        let thresholds = options.thresholds;
        let mut ended = sound.reach(0)?;
        let frames = if ended { sound.frames() } else { u64::MAX };
        let mut transcript = Transcript::new(tokenizer, sizes, options, frames);
        let mut heard = Heard {
            text: String::new(),
            segments: Vec::new(),
            language,
            language_probability,
        };
        while let Some(request) = transcript.request() {
            if !ended && sound.reach(request.first + u64::from(window))? {
                ended = true;
                transcript.ends(sound.frames());
                continue;
            }
            let end = request.first + u64::from(request.frames);
            self.listen(sound, request.first, end, Padding::Zero)?;
            let decoded = if self.is_silent(request.frames as usize) {
                SILENCE
            } else {
                self.session.encode()?;
                let prompt =
                    initial_tokens(&special, dims.n_text_ctx, &request.prompt, &sequence, &[]);
                let temperatures = self.options.temperatures.clone();
                let decoded = thresholds.decode(&temperatures, |temperature| {
                    self.decode(&prompt, sequence.len() - 1, temperature)
                })?;
                let Some(decoded) = decoded else { break };
                decoded
            };
            let session = &mut self.session;
            let came = transcript.accept(&decoded, |alignment| {
                let text = Text {
                    start: &sequence,
                    tokens: &alignment.tokens,
                    language: &heard.language,
                    frames: alignment.frames,
                };
                session.align(tokenizer, &bundle.alignment_heads, text)
            })?;
            let mut came = came.to_vec();
            came.iter_mut().for_each(|segment| place(segment, sound));
            heard.segments.extend(came.iter().cloned());
            heard.text = transcript.text();
            let per_second = f64::from(FRAMES_PER_SECOND);
            let done = sound.time(transcript.position() as f64 / per_second, Edge::End);
            let step = Step {
                done: (done * per_second).round() as u64,
                total: (sound.seconds() * per_second) as u64,
                came: &came,
                heard: &heard,
            };
            if each(step).is_break() {
                break;
            }
        }
        Ok(heard)
    }

    /// Whether the first `frames` of the window are all at the floor of the spectrogram, 80 dB below the loudest: models
    /// invent words there.
    fn is_silent(&self, frames: usize) -> bool {
        let rows = self.mel.chunks_exact(self.mel.len() / self.bins());
        let mut sound = rows.flat_map(|row| &row[..frames.min(row.len())]);
        let first = sound.next();
        first.is_none_or(|first| sound.all(|value| value == first))
    }

    fn bins(&self) -> usize {
        self.bundle.model.dims().n_mels as usize
    }

    /// Sends a window of the sound to the device.
    fn listen(
        &mut self,
        sound: &mut Spectrogram,
        first: u64,
        end: u64,
        padding: Padding,
    ) -> Result<(), Error> {
        let frames = 2 * self.bundle.model.dims().n_audio_ctx as usize;
        let window = Window {
            first,
            frames,
            end,
            padding,
        };
        sound.window(window, &mut self.mel)?;
        // The device wants a frame after the other.
        let bins = self.bins();
        for (bin, row) in self.mel.chunks_exact(frames).enumerate() {
            for (frame, value) in row.iter().enumerate() {
                self.turned[frame * bins + bin] = *value;
            }
        }
        self.session.listen(&self.turned)
    }

    /// The language of the first window, and how probable it is.
    fn language(&mut self, sound: &mut Spectrogram) -> Result<(String, Option<f64>), Error> {
        let special = *self.bundle.tokenizer.special();
        self.listen(sound, 0, u64::MAX, Padding::Silence)?;
        self.session.encode()?;
        self.session.prompt(&[special.start])?;
        let found = self.session.first(self.among)?;
        let best = found.first().and_then(|row| row.first());
        let code = best.and_then(|best| special.language_of(best.id));
        let probability = best.map(|best| f64::from(best.log_probability).exp());
        Ok((code.unwrap_or("en").to_owned(), probability))
    }

    fn decode(&mut self, prompt: &[u32], start: usize, temperature: f32) -> Result<Decoded, Error> {
        let dims = *self.bundle.model.dims();
        let mode = match temperature > 0.0 {
            true => SAMPLES,
            false if self.options.beams != 1 => BEAMS,
            false => GREEDY,
        };
        let options = DecodeOptions {
            mode,
            temperature,
            seed: self.options.seed,
            patience: self.options.patience,
            length_penalty: self.options.length_penalty,
            most: dims.n_text_ctx as usize / 2,
        };
        let heard = self.session.hear(prompt, start, &options)?;
        let text = self.bundle.tokenizer.decode(&heard.tokens);
        Ok(Decoded {
            compression_ratio: compression_ratio(text.trim()),
            tokens: heard.tokens,
            avg_log_prob: heard.mean_log_probability,
            no_speech_prob: heard.no_speech.into(),
            temperature,
        })
    }
}

/// Times of what was decoded as times of the sound.
fn place(segment: &mut Segment, sound: &Spectrogram) {
    segment.start = sound.time(segment.start, Edge::Start);
    segment.end = sound.time(segment.end, Edge::End).max(segment.start);
    let per_second = f64::from(FRAMES_PER_SECOND);
    let seek = sound.time(segment.seek as f64 / per_second, Edge::Start);
    segment.seek = (seek * per_second).round() as u64;
    for word in segment.words.iter_mut().flatten() {
        word.start = sound.time(word.start, Edge::Start);
        word.end = sound.time(word.end, Edge::End).max(word.start);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tokenizer::tests::tokenizer, *};
    use warpsmith_formats::{
        quant::WeightType,
        whisper::{Dims, MelFilters, Writer},
    };

    fn writer(n_text_ctx: u32) -> Writer {
        let dims = Dims {
            n_mels: 80,
            n_audio_ctx: 2,
            n_audio_state: 4,
            n_audio_head: 2,
            n_audio_layer: 1,
            n_text_ctx,
            n_text_state: 4,
            n_text_head: 2,
            n_text_layer: 1,
            n_vocab: 51_865,
        };
        let zeros = |_: &str, shape: &[u64]| {
            let elements: u64 = shape.iter().product();
            (WeightType::F32, vec![0; 4 * elements as usize])
        };
        Writer::new(dims, zeros).expect("sound")
    }

    /// What is said against a ggml file with these filters.
    fn said(n_text_ctx: u32, values: Vec<f32>) -> Option<String> {
        let mut writer = writer(n_text_ctx);
        writer.mel_filters = MelFilters {
            n_mels: 80,
            n_freqs: values.len() as u32 / 80,
            values,
        };
        let file = WhisperFile::parse(writer.to_ggml(), None).expect("sound");
        check(&file).err().map(|error| error.to_string())
    }

    #[test]
    fn a_text_context_has_room_for_a_window_or_is_refused() {
        let ours = filters(80);
        assert_eq!(said(448, ours.clone()), None);
        assert_eq!(said(9, ours.clone()), None);
        let found = said(8, ours).expect("no room");
        let want = "a text context of 8 tokens (expected room for the 9 that a window needs)";
        assert!(found.contains(want), "{found}");
    }

    #[test]
    fn mel_filters_are_those_of_the_reference_or_refused() {
        let mut near = filters(80);
        near[201 + 5] += 5e-6;
        assert_eq!(said(448, near.clone()), None);
        let other = "mel filters of 80 by 201 other than those of openai-whisper, 80 by 201";
        near[201 + 5] += 1e-4;
        let found = said(448, near).expect("another filter");
        assert!(found.contains(other), "{found}");
        let found = said(448, vec![0.0; 80 * 200]).expect("another size");
        assert!(found.contains("mel filters of 80 by 200"), "{found}");
    }

    #[test]
    fn tokens_that_a_configuration_suppresses_are_the_ones() {
        let tokenizer = tokenizer();
        let (bytes, config) = writer(448).to_safetensors().expect("written");
        let found = |list: &str| {
            let text = String::from_utf8(config.clone()).expect("UTF-8");
            let open = text.trim_start().strip_prefix('{').expect("an object");
            let text = format!("{{\"suppress_tokens\": {list}, {open}");
            let file = WhisperFile::parse(bytes.clone(), Some(text.as_bytes())).expect("sound");
            suppressed(&file, &tokenizer)
        };
        let with = |own: &[u32], more: &[u32]| {
            let mut ids = [own, more].concat();
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        let usual = tokenizer.suppressed();
        let never = tokenizer.special().never_sampled();
        assert_eq!(found("null"), usual);
        assert_eq!(found("[-1]"), usual);
        assert_eq!(found("[-1, 7777]"), with(&[7777], &usual));
        assert_eq!(found("[7777, 3]"), with(&[3, 7777], &never));
        assert_eq!(found("[]"), with(&[], &never));
    }
}
