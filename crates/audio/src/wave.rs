//! WAV headers as they come: sizes that are wrong or unknown, odd lists, sizes of 64 bits.

use std::io::{ErrorKind, Read};

use symphonia::core::io::MediaSource;

use crate::{Error, SampleType};

/// The longest format chunk, far above any that is used.
const LONGEST: u32 = 4096;

/// What stands before the samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// How samples are written, if they are plain ones.
    pub(crate) sample: Option<SampleType>,
    pub(crate) rate: u32,
    pub(crate) channels: u32,
    /// Bytes of the samples, if the header knows.
    pub(crate) bytes: Option<u64>,
    /// The format chunk.
    pub(crate) format: Vec<u8>,
    /// Where the samples begin.
    pub(crate) at: u64,
}

/// Reads up to the first sample.
pub(crate) fn header(from: &mut impl Read) -> Result<Header, Error> {
    let mut reader = Counted { from, at: 0 };
    let wide = reader.array::<12>()?[..4] != *b"RIFF";
    let (mut format, mut long) = (None, None);
    loop {
        let [a, b, c, d, size @ ..] = reader.array::<8>()?;
        let size = u32::from_le_bytes(size);
        match &[a, b, c, d] {
            b"fmt " if size >= 16 => {
                let mut bytes = vec![0; size.min(LONGEST) as usize];
                reader.fill(&mut bytes)?;
                reader.skip(size - size.min(LONGEST))?;
                reader.pad(size)?;
                format = Some(bytes);
            }
            b"ds64" if wide && size >= 16 => {
                let [_, _, _, _, _, _, _, _, data @ ..] = reader.array::<16>()?;
                long = Some(u64::from_le_bytes(data));
                reader.skip(size - 16)?;
                reader.pad(size)?;
            }
            b"data" => {
                let Some(format) = format else {
                    return Err(broken("samples come before their format"));
                };
                let bytes = match (size, long) {
                    (u32::MAX, Some(long)) => Some(long).filter(|bytes| *bytes > 0),
                    (size, _) => known(size),
                };
                return Ok(Header::new(format, bytes, reader.at));
            }
            _ => {
                reader.skip(size)?;
                reader.pad(size)?;
            }
        }
    }
}

/// The size of a data chunk, unless it is what writers put there that cannot go back: none, or about the greatest.
fn known(size: u32) -> Option<u64> {
    let unknown = size == 0 || (0x7FFF_0000..=0x8000_0000).contains(&size) || size >= 0xFFFF_0000;
    (!unknown).then(|| size.into())
}

impl Header {
    fn new(format: Vec<u8>, bytes: Option<u64>, at: u64) -> Header {
        let short = |at: usize| u16::from_le_bytes([format[at], format[at + 1]]);
        let (channels, bits) = (short(2), short(14));
        let rate = u32::from_le_bytes([format[4], format[5], format[6], format[7]]);
        // In the extended form the first bytes of an identifier say what the tag else says.
        let tag = match short(0) {
            0xFFFE if format.len() >= 26 => short(24),
            tag => tag,
        };
        let sample = match (tag, bits) {
            (1, 8) => Some(SampleType::U8),
            (1, 16) => Some(SampleType::S16),
            (1, 24) => Some(SampleType::S24),
            (1, 32) => Some(SampleType::S32),
            (3, 32) => Some(SampleType::F32),
            (3, 64) => Some(SampleType::F64),
            (6, 8 | 0) => Some(SampleType::ALaw),
            (7, 8 | 0) => Some(SampleType::MuLaw),
            _ => None,
        };
        Header {
            sample,
            rate,
            channels: channels.into(),
            bytes,
            format,
            at,
        }
    }

    /// The samples behind a header that every reader takes, for those that are not plain.
    pub(crate) fn plain(&self, samples: Box<dyn Read + Send + Sync>) -> Box<dyn MediaSource> {
        let mut head = b"RIFF\xff\xff\xff\xffWAVEfmt ".to_vec();
        head.extend((self.format.len() as u32).to_le_bytes());
        head.extend(&self.format);
        head.resize(head.len().next_multiple_of(2), 0);
        head.extend(b"data\xff\xff\xff\xff");
        let all = std::io::Cursor::new(head).chain(samples);
        Box::new(symphonia::core::io::ReadOnlySource::new(all))
    }
}

/// A reader that knows where it is, and goes forward only.
struct Counted<'a, R> {
    from: &'a mut R,
    at: u64,
}

impl<R: Read> Counted<'_, R> {
    fn fill(&mut self, out: &mut [u8]) -> Result<(), Error> {
        self.from.read_exact(out).map_err(ends)?;
        self.at += out.len() as u64;
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut out = [0; N];
        self.fill(&mut out)?;
        Ok(out)
    }

    fn skip(&mut self, bytes: u32) -> Result<(), Error> {
        let mut part = (&mut *self.from).take(bytes.into());
        let skipped = std::io::copy(&mut part, &mut std::io::sink()).map_err(ends)?;
        self.at += skipped;
        match skipped == u64::from(bytes) {
            true => Ok(()),
            false => Err(ends(ErrorKind::UnexpectedEof.into())),
        }
    }

    /// The byte behind a chunk of odd size.
    fn pad(&mut self, size: u32) -> Result<(), Error> {
        match size % 2 {
            0 => Ok(()),
            _ => self.array::<1>().map(drop),
        }
    }
}

fn ends(error: std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => broken("there are no samples in it"),
        _ => Error::Io {
            what: "sound",
            source: error,
        },
    }
}

fn broken(why: &str) -> Error {
    Error::Container {
        reason: format!("a WAV file, but {why}"),
    }
}
