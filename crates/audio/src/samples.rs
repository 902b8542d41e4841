//! A stream of mono samples at 16 kHz, from a decoder or from raw samples.

use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Mutex;

use symphonia::core::io::{MediaSource, ReadOnlySource};

use crate::decode::{Decoder, Known};
use crate::matroska::Clusters;
use crate::ogg::Pages;
use crate::parts::Parts;
use crate::pcm::{End, Pcm, PcmReader, SampleType};
use crate::resample::Resampler;
use crate::sniff::{FIRST, Kind};
use crate::{Error, SAMPLE_RATE, aiff, wave};

/// The rates that are resampled.
const RATES: std::ops::RangeInclusive<u32> = 1_000..=768_000;
/// The most channels that are mixed.
const MOST_CHANNELS: u32 = 64;

/// The loudest sample, far above full scale: transforms of louder ones overflow.
const LOUDEST: f32 = 1_048_576.0;

/// What a stream is that begins like no file.
const RAW: Pcm = Pcm {
    sample: SampleType::S16,
    rate: SAMPLE_RATE,
    channels: 1,
};

/// A piece of a sound that could not be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// Where it begins, in seconds.
    pub start: f64,
    /// Where it ends, in seconds, if that is known.
    pub end: Option<f64>,
    /// What is wrong there.
    pub why: String,
}

/// Blocks of samples at 16 kHz, one after the other.
pub(crate) struct Samples {
    source: Source,
    rate: u32,
    resampler: Option<Resampler>,
    /// Samples given by the source.
    taken: u64,
    /// Where another file begins, behind the one that is read.
    behind: Option<u64>,
    mono: Vec<f32>,
    done: bool,
}

enum Source {
    Media(Box<Decoder>),
    Pcm {
        reader: PcmReader,
        /// Samples that the header promises.
        promised: Option<u64>,
    },
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
            return Err(open(io::Error::new(ErrorKind::InvalidInput, what)));
        }
        let file = File::open(path).map_err(open)?;
        let extension = path.extension().and_then(|e| e.to_str());
        Samples::of_media(Box::new(file), extension)
    }

    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Result<Samples, Error> {
        Samples::of_media(Box::new(Cursor::new(bytes)), None)
    }

    /// A file that can be read at any place.
    fn of_media(
        mut media: Box<dyn MediaSource>,
        extension: Option<&str>,
    ) -> Result<Samples, Error> {
        let first = first(&mut media)?;
        match Kind::of(&first) {
            Kind::Wave => {
                rewind(&mut media)?;
                let header = wave::header(&mut media)?;
                let left = match media.byte_len() {
                    Some(all) => all.saturating_sub(header.at),
                    None => u64::MAX,
                };
                let end = header.bytes.and_then(|bytes| header.at.checked_add(bytes));
                let behind = another(&mut media, end)?;
                media.seek(SeekFrom::Start(header.at)).map_err(failed)?;
                let mut samples = Samples::of_wave(&header, media, Some(left))?;
                samples.behind = behind;
                Ok(samples)
            }
            kind @ (Kind::Rifx | Kind::Wave64) => Err(refused(kind)),
            Kind::Mpeg | Kind::Flac => {
                rewind(&mut media)?;
                Samples::of_decoder(Decoder::of_parts(Parts::new(media), extension)?)
            }
            Kind::Ogg => {
                rewind(&mut media)?;
                Samples::of_ogg(media)
            }
            Kind::Matroska => {
                rewind(&mut media)?;
                Samples::of_matroska(media)
            }
            Kind::Adts => {
                rewind(&mut media)?;
                // A reader that can seek guesses lengths from sizes.
                let media = Box::new(ReadOnlySource::new(media));
                Samples::of_decoder(Decoder::new(media, extension, Known::Times)?)
            }
            Kind::Aiff => {
                let in_order = aiff::is_in_order(&mut media).map_err(failed)?;
                let size = u32::from_be_bytes([first[4], first[5], first[6], first[7]]);
                let behind = another(&mut media, Some(8 + u64::from(size)))?;
                rewind(&mut media)?;
                // A reader that can seek takes no file that is cut.
                let media = match in_order {
                    true => Box::new(ReadOnlySource::new(media)),
                    false => media,
                };
                let decoder = Decoder::new(media, extension, Known::Times)?;
                let mut samples = Samples::of_decoder(decoder)?;
                samples.behind = behind;
                Ok(samples)
            }
            Kind::Mp4 | Kind::Other | Kind::Unknown => {
                rewind(&mut media)?;
                Samples::of_decoder(Decoder::new(media, extension, Known::Times)?)
            }
        }
    }

    /// A stream that is read once: a file of a known kind, else raw samples of 16 bits at 16 kHz in one channel.
    pub(crate) fn of_stream(mut reader: impl Read + Send + 'static) -> Result<Samples, Error> {
        let first = first(&mut reader)?;
        let kind = Kind::of(&first);
        let mut all: Box<dyn Read + Send> = Box::new(Cursor::new(first).chain(reader));
        match kind {
            Kind::Unknown => Samples::of_raw(all, RAW, End::Anywhere),
            Kind::Wave => {
                let header = wave::header(&mut all)?;
                Samples::of_wave(&header, Once::new(all), None)
            }
            kind @ (Kind::Rifx | Kind::Wave64) => Err(refused(kind)),
            Kind::Mp4 => {
                // Its tables may stand at the end.
                let mut file = tempfile::tempfile().map_err(failed)?;
                io::copy(&mut all, &mut file).map_err(failed)?;
                Samples::of_media(Box::new(file), None)
            }
            Kind::Ogg => Samples::of_ogg(Once::new(all)),
            Kind::Matroska => Samples::of_matroska(Once::new(all)),
            Kind::Mpeg | Kind::Flac => {
                Samples::of_decoder(Decoder::of_parts(Parts::new(all), None)?)
            }
            Kind::Aiff | Kind::Adts | Kind::Other => {
                let media = Box::new(ReadOnlySource::new(Once::new(all)));
                Samples::of_decoder(Decoder::new(media, None, Known::Times)?)
            }
        }
    }

    pub(crate) fn of_pcm(reader: impl Read + Send + 'static, pcm: Pcm) -> Result<Samples, Error> {
        Samples::of_raw(Box::new(reader), pcm, End::Whole)
    }

    fn of_raw(reader: Box<dyn Read + Send>, pcm: Pcm, end: End) -> Result<Samples, Error> {
        let reader = PcmReader::new(reader, checked(pcm)?, end);
        let source = Source::Pcm {
            reader,
            promised: None,
        };
        Samples::new(source, pcm.rate)
    }

    /// What follows a WAV header; `left` bytes of it, if that is known.
    fn of_wave(
        header: &wave::Header,
        samples: impl Read + Send + Sync + 'static,
        left: Option<u64>,
    ) -> Result<Samples, Error> {
        let bytes = header
            .bytes
            .unwrap_or(u64::MAX)
            .min(left.unwrap_or(u64::MAX));
        let samples = samples.take(bytes);
        let Some(sample) = header.sample else {
            let media = header.plain(Box::new(samples));
            return Samples::of_decoder(Decoder::new(media, Some("wav"), Known::Times)?);
        };
        let pcm = checked(Pcm {
            sample,
            rate: header.rate,
            channels: header.channels,
        })?;
        let frame = sample.bytes() as u64 * u64::from(pcm.channels);
        let source = Source::Pcm {
            reader: PcmReader::new(Box::new(samples), pcm, End::Anywhere),
            promised: header.bytes.map(|bytes| bytes / frame),
        };
        Samples::new(source, header.rate)
    }

    fn of_ogg(file: impl Read + Send + Sync + 'static) -> Result<Samples, Error> {
        let (pages, gaps) = Pages::new(file);
        // A reader that can seek looks for the last page first, and takes none if that is damaged.
        let media = Box::new(ReadOnlySource::new(pages));
        Samples::of_decoder(Decoder::new(media, Some("ogg"), Known::Pages(gaps))?)
    }

    fn of_matroska(file: impl Read + Send + Sync + 'static) -> Result<Samples, Error> {
        // A reader that can seek takes no file that is cut.
        let media = Box::new(ReadOnlySource::new(Clusters::new(file)));
        Samples::of_decoder(Decoder::new(media, Some("mkv"), Known::Times)?)
    }

    fn of_decoder(decoder: Decoder) -> Result<Samples, Error> {
        let rate = decoder.rate();
        Samples::new(Source::Media(Box::new(decoder)), rate)
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
            rate,
            resampler,
            taken: 0,
            behind: None,
            mono: Vec::new(),
            done: false,
        })
    }

    /// What could not be read so far.
    pub(crate) fn missing(&self) -> Vec<Missing> {
        let seconds = |samples: u64| samples as f64 / f64::from(self.rate);
        let behind = self.behind.filter(|_| self.done).map(|at| Missing {
            start: seconds(self.taken),
            end: None,
            why: format!("another file begins at byte {at}, which is not heard"),
        });
        let mut missing: Vec<Missing> = match &self.source {
            Source::Media(decoder) => {
                let each = decoder.lost().iter().map(|lost| Missing {
                    start: seconds(lost.from),
                    end: lost.to.map(seconds),
                    why: lost.why.clone(),
                });
                each.collect()
            }
            Source::Pcm { promised, .. } => {
                let promised = promised.filter(|all| self.done && *all > self.taken);
                let missing = promised.map(|all| Missing {
                    start: seconds(self.taken),
                    end: Some(seconds(all)),
                    why: "the file ends before its sound".to_owned(),
                });
                missing.into_iter().collect()
            }
        };
        missing.extend(behind);
        missing
    }

    /// Appends the next samples to `out`; false once there are no more.
    pub(crate) fn next(&mut self, out: &mut Vec<f32>) -> Result<bool, Error> {
        if self.done {
            return Ok(false);
        }
        self.mono.clear();
        let more = match &mut self.source {
            Source::Media(decoder) => decoder.next(&mut self.mono)?,
            Source::Pcm { reader, .. } => reader.next(&mut self.mono)?,
        };
        let sane = |x: &f32| x.abs() <= LOUDEST;
        if let Some(at) = self.mono.iter().position(|x| !sane(x)) {
            return Err(Error::Sample {
                at: self.taken + at as u64,
                value: self.mono[at],
                most: LOUDEST,
            });
        }
        if let Source::Media(_) = &self.source {
            // As decoders to whole numbers do: damage makes single frames a thousand times too loud, and what is heard is
            // measured by the loudest.
            for x in &mut self.mono {
                *x = x.clamp(-1.0, 1.0);
            }
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

/// A stream that several threads may own, one after the other.
struct Once(Mutex<Box<dyn Read + Send>>);

impl Once {
    fn new(reader: Box<dyn Read + Send>) -> Once {
        Once(Mutex::new(reader))
    }
}

impl Read for Once {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let reader = self.0.get_mut();
        reader
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .read(out)
    }
}

fn checked(pcm: Pcm) -> Result<Pcm, Error> {
    match pcm.channels {
        1..=MOST_CHANNELS => Ok(pcm),
        found => Err(Error::Channels {
            found,
            most: MOST_CHANNELS,
        }),
    }
}

/// The first bytes of a sound, no more than what tells its kind.
fn first(reader: &mut impl Read) -> Result<Vec<u8>, Error> {
    let mut first = Vec::new();
    let mut part = reader.take(FIRST as u64);
    part.read_to_end(&mut first).map_err(failed)?;
    Ok(first)
}

/// Whether another WAV or AIFF file stands where one ends, or a byte behind that: where it begins.
fn another(media: &mut Box<dyn MediaSource>, end: Option<u64>) -> Result<Option<u64>, Error> {
    let Some(end) = end.filter(|end| media.byte_len().is_some_and(|all| *end < all)) else {
        return Ok(None);
    };
    for at in [end, end + 1] {
        media.seek(SeekFrom::Start(at)).map_err(failed)?;
        if let Kind::Wave | Kind::Rifx | Kind::Aiff = Kind::of(&first(media)?) {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn rewind(media: &mut Box<dyn MediaSource>) -> Result<(), Error> {
    media.seek(SeekFrom::Start(0)).map(drop).map_err(failed)
}

fn failed(source: io::Error) -> Error {
    Error::Io {
        what: "sound",
        source,
    }
}

fn refused(kind: Kind) -> Error {
    let name = match kind {
        Kind::Rifx => "RIFX, a WAV with its high bytes first,",
        _ => "Wave64",
    };
    Error::Codec {
        name: name.to_owned(),
    }
}
