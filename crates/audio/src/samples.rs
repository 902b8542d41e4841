//! A stream of mono samples at 16 kHz, from a decoder or from raw samples.

use std::fs::File;
use std::io::{Cursor, ErrorKind};
use std::path::Path;

use symphonia::core::io::MediaSource;

use crate::decode::Decoder;
use crate::pcm::{Pcm, PcmReader};
use crate::resample::Resampler;
use crate::{Error, SAMPLE_RATE};

/// The rates that are resampled.
const RATES: std::ops::RangeInclusive<u32> = 1_000..=768_000;
/// The most channels that are mixed.
const MOST_CHANNELS: u32 = 64;

/// The loudest sample, far above full scale: transforms of louder ones overflow.
const LOUDEST: f32 = 1_048_576.0;

/// Blocks of samples at 16 kHz, one after the other.
pub(crate) struct Samples {
    source: Source,
    resampler: Option<Resampler>,
    /// Samples given by the source.
    taken: u64,
    mono: Vec<f32>,
    done: bool,
}

enum Source {
    Media(Box<Decoder>),
    Pcm(PcmReader),
}

impl Samples {
    pub(crate) fn of_file(path: &Path) -> Result<Samples, Error> {
        let open = |source| Error::Open {
            path: path.to_path_buf(),
            source,
        };
        // Before it is opened: a pipe would wait there for somebody who writes.
        let kind = std::fs::metadata(path).map_err(open)?;
        if kind.is_dir() {
            return Err(open(ErrorKind::IsADirectory.into()));
        }
        if !kind.is_file() {
            let what = "not a regular file, which can be read twice";
            return Err(open(std::io::Error::new(ErrorKind::InvalidInput, what)));
        }
        let file = File::open(path).map_err(open)?;
        let extension = path.extension().and_then(|e| e.to_str());
        Samples::of_media(Box::new(file), extension)
    }

    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Result<Samples, Error> {
        Samples::of_media(Box::new(Cursor::new(bytes)), None)
    }

    fn of_media(media: Box<dyn MediaSource>, extension: Option<&str>) -> Result<Samples, Error> {
        let decoder = Decoder::new(media, extension)?;
        let rate = decoder.rate();
        Samples::new(Source::Media(Box::new(decoder)), rate)
    }

    pub(crate) fn of_pcm(
        reader: impl std::io::Read + Send + 'static,
        pcm: Pcm,
    ) -> Result<Samples, Error> {
        if pcm.channels == 0 || pcm.channels > MOST_CHANNELS {
            return Err(Error::Channels {
                found: pcm.channels,
                most: MOST_CHANNELS,
            });
        }
        let reader = PcmReader::new(Box::new(reader), pcm);
        Samples::new(Source::Pcm(reader), pcm.rate)
    }

    fn new(source: Source, rate: u32) -> Result<Samples, Error> {
        if !RATES.contains(&rate) {
            return Err(Error::Rate {
                found: rate,
                least: *RATES.start(),
                most: *RATES.end(),
            });
        }
        let resampler = match rate {
            SAMPLE_RATE => None,
            other => Some(Resampler::new(other)?),
        };
        Ok(Samples {
            source,
            resampler,
            taken: 0,
            mono: Vec::new(),
            done: false,
        })
    }

    /// Appends the next samples to `out`; false once there are no more.
    pub(crate) fn next(&mut self, out: &mut Vec<f32>) -> Result<bool, Error> {
        if self.done {
            return Ok(false);
        }
        self.mono.clear();
        let more = match &mut self.source {
            Source::Media(decoder) => decoder.next(&mut self.mono)?,
            Source::Pcm(reader) => reader.next(&mut self.mono)?,
        };
        let sane = |x: &f32| x.abs() <= LOUDEST;
        if let Some(at) = self.mono.iter().position(|x| !sane(x)) {
            return Err(Error::Sample {
                at: self.taken + at as u64,
                value: self.mono[at],
                most: LOUDEST,
            });
        }
        self.taken += self.mono.len() as u64;
        self.done = !more;
        match &mut self.resampler {
            None => out.extend(&self.mono),
            Some(resampler) => {
                resampler.push(&self.mono, out)?;
                if self.done {
                    resampler.finish(out)?;
                }
            }
        }
        Ok(true)
    }
}
