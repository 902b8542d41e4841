//! Windows of a log-mel spectrogram at any place of a sound.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::SpooledTempFile;

use crate::frames::{Frames, SILENCE};
use crate::kept::Kept;
use crate::pcm::Pcm;
use crate::samples::{Missing, Samples};
use crate::speech::{Detector, Edge, Places, Speech};
use crate::{Error, HOP, SAMPLE_RATE, SampleType};

/// A scratch file stays in memory up to this size: two minutes of 80 bins.
const IN_MEMORY: usize = 4 << 20;
/// How far below the loudest value the floor lies, in powers of ten.
const RANGE: f32 = 8.0;
/// The most mel bins, far above any model's.
const MOST_MELS: usize = 4096;

/// The log-mel spectrogram of a whole sound.
///
/// Values are `(max(x, loudest - 8) + 4) / 4`, where `x` are logarithms of mel power and `loudest` is
/// the greatest of the whole sound; of a stream, the greatest so far.
///
/// ```
/// use warpsmith_audio::Spectrogram;
///
/// // A second of 440 Hz; `Spectrogram::of_file` reads WAV, FLAC, MP3, Ogg, M4A, WebM.
/// let tone: Vec<f32> = (0..16_000).map(|i| (i as f32 * 0.1728).sin()).collect();
/// let mut sound = Spectrogram::of_samples(&tone, 80)?;
/// assert!(sound.reach(1)?); // it has ended
/// assert_eq!((sound.frames(), sound.n_mels()), (100, 80)); // a frame is 10 ms
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Spectrogram {
    n_mels: usize,
    samples: u64,
    /// Frames that have a sample in them; the last few lie past the sound's end.
    computed: u64,
    loudest: f32,
    store: Store,
    missing: Vec<Missing>,
    /// Which frames there are, if not all.
    places: Option<Places>,
    /// Whether the end of the sound was seen.
    ended: bool,
    wanted: Wanted,
    /// Values of a window, frame after frame.
    scratch: Vec<f32>,
}

/// Where frames come from at the second reading.
enum Store {
    /// The file, decoded again.
    File(Box<Replay>, PathBuf),
    /// A scratch file of all frames.
    Spool(SpooledTempFile),
    /// A stream, as it comes.
    Live(Box<Replay>),
}

/// A sound read forward; the frames since `first` are kept.
struct Replay {
    frames: Kept,
    first: u64,
    kept: Vec<f32>,
}

/// What is made of a sound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// Mel bins of a frame.
    pub n_mels: usize,
    /// How speech is told from the rest, if the rest is left out.
    pub speech: Option<Speech>,
}

impl From<usize> for Wanted {
    /// All of a sound, in so many mel bins.
    fn from(n_mels: usize) -> Wanted {
        Wanted {
            n_mels,
            speech: None,
        }
    }
}

impl Wanted {
    fn frames(self, samples: Samples) -> Result<Kept, Error> {
        let Wanted { n_mels, speech } = self;
        if n_mels == 0 || n_mels > MOST_MELS {
            return Err(Error::Length {
                what: "list of mel bins",
                want: MOST_MELS,
                found: n_mels,
            });
        }
        let detector = speech.map(Detector::new);
        Ok(Kept::new(Frames::new(samples, n_mels, detector)))
    }
}

/// Which frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first frame.
    pub first: u64,
    /// How many.
    pub frames: usize,
    /// Frames from here on are padding, wherever the sound ends.
    pub end: u64,
    /// What stands after the last frame.
    pub padding: Padding,
}

/// What stands in a window after the end of the sound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Zeros, as in the windows that openai-whisper transcribes.
    Zero,
    /// The spectrum of silence, as if the sound were longer: for language detection, and where a
    /// single window is decoded.
    Silence,
}

impl Spectrogram {
    /// Reads the file at `path` once. A window decodes it again, forward from the one before.
    ///
    /// # Errors
    /// What the system says, files that are no sound, codecs not decoded here by name, and samples
    /// that are no numbers; each with the path.
    pub fn of_file(path: &Path, wanted: impl Into<Wanted>) -> Result<Spectrogram, Error> {
        let wanted = wanted.into();
        let open = || Replay::open(path, wanted);
        let mut first = open()?;
        let n_mels = wanted.n_mels;
        let mut spectrogram = Spectrogram::measured(&mut first.frames, n_mels, |_| Ok(()))
            .map_err(|e| e.in_file(path))?;
        spectrogram.store = Store::File(Box::new(open()?), path.to_path_buf());
        spectrogram.wanted = wanted;
        Ok(spectrogram)
    }

    /// Reads a stream as windows are asked for, each later than the one before: a sound file of a kind that its first
    /// bytes tell, else raw samples of 16 bits at 16 kHz in one channel. An MP4 file is read to its end first.
    ///
    /// # Errors
    /// As [`Spectrogram::of_file`].
    pub fn of_stream(
        reader: impl Read + Send + 'static,
        wanted: impl Into<Wanted>,
    ) -> Result<Spectrogram, Error> {
        let wanted = wanted.into();
        let replay = Replay {
            frames: wanted.frames(Samples::of_stream(reader)?)?,
            first: 0,
            kept: Vec::new(),
        };
        Ok(Spectrogram {
            n_mels: wanted.n_mels,
            samples: 0,
            computed: 0,
            loudest: SILENCE,
            places: replay.frames.places(),
            store: Store::Live(Box::new(replay)),
            missing: Vec::new(),
            ended: false,
            wanted,
            scratch: Vec::new(),
        })
    }

    /// Reads a whole sound file that is in memory.
    ///
    /// # Errors
    /// As [`Spectrogram::of_file`].
    pub fn of_bytes(bytes: Vec<u8>, n_mels: usize) -> Result<Spectrogram, Error> {
        Spectrogram::spooled(Samples::of_bytes(bytes)?, n_mels)
    }

    /// Reads raw samples to their end; their frames go to a scratch file.
    ///
    /// # Errors
    /// What the system says, rates and channels out of range, and samples that are no numbers.
    pub fn of_pcm(
        reader: impl Read + Send + 'static,
        pcm: Pcm,
        n_mels: usize,
    ) -> Result<Spectrogram, Error> {
        Spectrogram::spooled(Samples::of_pcm(reader, pcm)?, n_mels)
    }

    /// The spectrogram of samples at 16 kHz, one channel.
    ///
    /// # Errors
    /// Samples that are no numbers.
    pub fn of_samples(samples: &[f32], n_mels: usize) -> Result<Spectrogram, Error> {
        let bytes: Vec<u8> = samples.iter().flat_map(|x| x.to_le_bytes()).collect();
        let pcm = Pcm {
            sample: SampleType::F32,
            rate: SAMPLE_RATE,
            channels: 1,
        };
        Spectrogram::of_pcm(std::io::Cursor::new(bytes), pcm, n_mels)
    }

    fn spooled(samples: Samples, n_mels: usize) -> Result<Spectrogram, Error> {
        let mut spool = SpooledTempFile::new(IN_MEMORY);
        let mut bytes = Vec::new();
        let mut frames = Wanted::from(n_mels).frames(samples)?;
        let mut spectrogram = Spectrogram::measured(&mut frames, n_mels, |frame| {
            bytes.clear();
            bytes.extend(frame.iter().flat_map(|x| x.to_le_bytes()));
            spool.write_all(&bytes).map_err(scratch)
        })?;
        spectrogram.store = Store::Spool(spool);
        Ok(spectrogram)
    }

    /// Reads all frames, each seen by `each`.
    fn measured(
        frames: &mut Kept,
        n_mels: usize,
        mut each: impl FnMut(&[f32]) -> Result<(), Error>,
    ) -> Result<Spectrogram, Error> {
        let mut frame = vec![0.0; n_mels];
        let (mut computed, mut loudest) = (0, SILENCE);
        while frames.next(&mut frame)? {
            computed += 1;
            loudest = frame.iter().fold(loudest, |a, &b| a.max(b));
            each(&frame)?;
        }
        Ok(Spectrogram {
            n_mels,
            samples: frames.frames.received(),
            computed,
            loudest,
            store: Store::Spool(SpooledTempFile::new(IN_MEMORY)),
            missing: frames.frames.missing(),
            places: frames.places(),
            ended: true,
            wanted: n_mels.into(),
            scratch: Vec::new(),
        })
    }

    /// The number of mel bins.
    pub fn n_mels(&self) -> usize {
        self.n_mels
    }

    /// The length in whole frames of 10 ms, of those that are not left out; of a stream, so far.
    pub fn frames(&self) -> u64 {
        let all = match self.ended {
            true => self.samples / HOP as u64,
            false => self.computed,
        };
        self.places
            .as_ref()
            .map_or(all, |places| places.count(all.max(self.unended())))
    }

    /// No frame is past the end of a stream that has not ended.
    fn unended(&self) -> u64 {
        if self.ended { 0 } else { u64::MAX }
    }

    /// Reads a stream until it has `frames` frames, or its end: whether that was seen. Of a file it always was.
    ///
    /// # Errors
    /// What reading says.
    pub fn reach(&mut self, frames: u64) -> Result<bool, Error> {
        let Store::Live(replay) = &mut self.store else {
            return Ok(true);
        };
        let mut frame = vec![0.0; self.n_mels];
        while !self.ended && self.computed < frames {
            if replay.frames.next(&mut frame)? {
                self.computed += 1;
                self.loudest = frame.iter().fold(self.loudest, |a, &b| a.max(b));
                replay.kept.extend(&frame);
            } else {
                self.ended = true;
            }
        }
        self.samples = replay.frames.frames.received();
        self.missing = replay.frames.frames.missing();
        self.places = replay.frames.places();
        Ok(self.ended)
    }

    /// Pieces that could not be read; of a stream, so far. They are silence, and times after them are right.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// A time among the frames that there are as one of the sound, in seconds.
    pub fn time(&self, seconds: f64, edge: Edge) -> f64 {
        match &self.places {
            Some(places) => places.time(seconds, edge),
            None => seconds,
        }
    }

    /// The length in seconds; of a stream, so far.
    pub fn seconds(&self) -> f64 {
        self.samples as f64 / f64::from(SAMPLE_RATE)
    }

    /// The value of silence, which is that of the floor if anything is loud.
    pub fn silence(&self) -> f32 {
        self.value(SILENCE)
    }

    fn value(&self, x: f32) -> f32 {
        (x.max(self.loudest - RANGE) + 4.0) / 4.0
    }

    /// Puts a window into `out`, which is `[n_mels, frames]`.
    ///
    /// Windows of a file are best asked for in order: a later one decodes what lies between, an
    /// earlier one decodes the file from its start.
    ///
    /// # Errors
    /// [`Error::Length`] for a buffer of another size, and what reading says.
    pub fn window(&mut self, window: Window, out: &mut [f32]) -> Result<(), Error> {
        let want = self.n_mels * window.frames;
        if out.len() != want {
            return Err(Error::Length {
                what: "window",
                want,
                found: out.len(),
            });
        }
        let last = window.first.saturating_add(window.frames as u64);
        self.reach(last)?;
        let (sound, padding) = match window.padding {
            Padding::Zero => (self.frames(), 0.0),
            Padding::Silence => (self.computed, self.silence()),
        };
        let end = window.first.saturating_add(window.frames as u64);
        let end = end.min(window.end).min(sound).max(window.first);
        let mut frames = std::mem::take(&mut self.scratch);
        self.read(window.first, end, &mut frames)?;
        out.fill(padding);
        for (t, frame) in frames.chunks_exact(self.n_mels).enumerate() {
            for (row, &x) in out.chunks_exact_mut(window.frames).zip(frame) {
                row[t] = self.value(x);
            }
        }
        self.scratch = frames;
        Ok(())
    }

    /// Puts the logarithms of frames `first..end`, all computed ones, into `frames`.
    fn read(&mut self, first: u64, end: u64, frames: &mut Vec<f32>) -> Result<(), Error> {
        let count = (end - first) as usize * self.n_mels;
        frames.clear();
        if count == 0 {
            return Ok(());
        }
        match &mut self.store {
            Store::File(replay, path) => {
                if first < replay.first {
                    **replay = Replay::open(path, self.wanted)?;
                }
                let enough = replay.read(first, end, self.n_mels, frames);
                if enough.map_err(|e| e.in_file(path))? {
                    return Ok(());
                }
                let changed = Error::Changed {
                    want: self.computed * HOP as u64,
                    found: replay.frames.frames.received(),
                };
                Err(changed.in_file(path))
            }
            Store::Live(replay) => {
                if first < replay.first {
                    return Err(Error::Passed {
                        asked: first,
                        first: replay.first,
                    });
                }
                replay.read(first, end, self.n_mels, frames).map(drop)
            }
            Store::Spool(spool) => {
                let at = first * self.n_mels as u64 * 4;
                spool.seek(SeekFrom::Start(at)).map_err(scratch)?;
                let mut bytes = vec![0; count * 4];
                spool.read_exact(&mut bytes).map_err(scratch)?;
                let (values, _) = bytes.as_chunks::<4>();
                frames.extend(values.iter().map(|&v| f32::from_le_bytes(v)));
                Ok(())
            }
        }
    }
}

impl Replay {
    fn open(path: &Path, wanted: Wanted) -> Result<Replay, Error> {
        let frames = Samples::of_file(path).and_then(|samples| wanted.frames(samples));
        Ok(Replay {
            frames: frames.map_err(|e| e.in_file(path))?,
            first: 0,
            kept: Vec::new(),
        })
    }

    /// Appends frames `first..end` to `out`; false if there are not so many.
    fn read(
        &mut self,
        first: u64,
        end: u64,
        n_mels: usize,
        out: &mut Vec<f32>,
    ) -> Result<bool, Error> {
        let mut frame = vec![0.0; n_mels];
        loop {
            let there = self.first + (self.kept.len() / n_mels) as u64;
            // What lies before the window is not needed again.
            let passed = first.min(there) - self.first;
            self.kept.drain(..passed as usize * n_mels);
            self.first += passed;
            if there >= end {
                break;
            }
            // Frames are read by the hundred, so that what is passed is dropped in pieces.
            for _ in 0..(end - there).min(100) {
                if !self.frames.next(&mut frame)? {
                    return Ok(false);
                }
                self.kept.extend(&frame);
            }
        }
        out.extend(&self.kept[..(end - first) as usize * n_mels]);
        Ok(true)
    }
}

fn scratch(source: std::io::Error) -> Error {
    Error::Io {
        what: "scratch file",
        source,
    }
}
