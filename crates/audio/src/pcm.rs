//! Raw samples, as other programs pipe them.

use std::io::{ErrorKind, Read};

use crate::Error;

/// How many bytes are asked for at a time.
const BLOCK: usize = 1 << 16;

/// How a sample is written; little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleType {
    /// Unsigned 8-bit; silence is 128.
    U8,
    /// Signed 16-bit.
    S16,
    /// Signed 24-bit.
    S24,
    /// Signed 32-bit.
    S32,
    /// IEEE single precision; full scale is one.
    F32,
    /// IEEE double precision; full scale is one.
    F64,
    /// Logarithmic, by the A-law of ITU-T G.711.
    ALaw,
    /// Logarithmic, by the mu-law of ITU-T G.711.
    MuLaw,
}

impl SampleType {
    pub(crate) fn bytes(self) -> usize {
        match self {
            SampleType::U8 | SampleType::ALaw | SampleType::MuLaw => 1,
            SampleType::S16 => 2,
            SampleType::S24 => 3,
            SampleType::S32 | SampleType::F32 => 4,
            SampleType::F64 => 8,
        }
    }

    /// A sample of [`SampleType::bytes`] bytes.
    fn value(self, bytes: &[u8]) -> f32 {
        match (self, bytes) {
            (SampleType::U8, &[a]) => (f32::from(a) - 128.0) / 128.0,
            (SampleType::ALaw, &[a]) => f32::from(a_law(a)) / 32768.0,
            (SampleType::MuLaw, &[a]) => f32::from(mu_law(a)) / 32768.0,
            (SampleType::S16, &[a, b]) => f32::from(i16::from_le_bytes([a, b])) / 32768.0,
            (SampleType::S24, &[a, b, c]) => i32::from_le_bytes([0, a, b, c]) as f32 / FULL,
            (SampleType::S32, &[a, b, c, d]) => i32::from_le_bytes([a, b, c, d]) as f32 / FULL,
            (SampleType::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            (SampleType::F64, &[a, b, c, d, e, f, g, h]) => {
                f64::from_le_bytes([a, b, c, d, e, f, g, h]) as f32
            }
            _ => unreachable!("a sample has its type's bytes"),
        }
    }
}

/// Full scale of 32 bits.
const FULL: f32 = 2_147_483_648.0;

/// G.711, table 1: sign, three bits of a segment, four of the place in it; even bits are inverted.
fn a_law(code: u8) -> i16 {
    let code = code ^ 0x55;
    let (segment, place) = (code >> 4 & 7, i16::from(code & 0xF) << 4);
    let size = match segment {
        0 => place + 8,
        _ => (place + 0x108) << (segment - 1),
    };
    if code & 0x80 == 0 { -size } else { size }
}

/// G.711, table 2: as [`a_law`], all bits inverted.
fn mu_law(code: u8) -> i16 {
    let code = !code;
    let (segment, place) = (code >> 4 & 7, i16::from(code & 0xF));
    let size = (((place << 3) + 0x84) << segment) - 0x84;
    if code & 0x80 == 0 { size } else { -size }
}

/// What raw samples are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pcm {
    /// The type of each.
    pub sample: SampleType,
    /// Samples a second, in each channel.
    pub rate: u32,
    /// Channels, interleaved.
    pub channels: u32,
}

/// Reads raw samples and mixes their channels.
pub(crate) struct PcmReader {
    reader: Box<dyn Read + Send>,
    pcm: Pcm,
    bytes: Vec<u8>,
    /// Bytes at the front of `bytes` that are not yet a sample of all channels.
    kept: usize,
    end: End,
}

/// What the end of a sample in its middle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// An error.
    Whole,
    /// The end of the sound.
    Anywhere,
}

impl PcmReader {
    pub(crate) fn new(reader: Box<dyn Read + Send>, pcm: Pcm, end: End) -> PcmReader {
        PcmReader {
            reader,
            pcm,
            bytes: vec![0; BLOCK],
            kept: 0,
            end,
        }
    }

    /// Appends the next samples, mixed, to `out`; false once there are no more.
    pub(crate) fn next(&mut self, out: &mut Vec<f32>) -> Result<bool, Error> {
        let want = self.pcm.sample.bytes() * self.pcm.channels as usize;
        let read = loop {
            match self.reader.read(&mut self.bytes[self.kept..]) {
                Ok(read) => break read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    let what = "raw samples";
                    return Err(Error::Io { what, source });
                }
            }
        };
        if read == 0 {
            return match (self.kept, self.end) {
                (0, _) | (_, End::Anywhere) => Ok(false),
                (left, End::Whole) => Err(Error::Partial { left, want }),
            };
        }
        let there = self.kept + read;
        let whole = there - there % want;
        let scale = 1.0 / self.pcm.channels as f32;
        for sample in self.bytes[..whole].chunks_exact(want) {
            let each = sample.chunks_exact(self.pcm.sample.bytes());
            let sum: f32 = each.map(|bytes| self.pcm.sample.value(bytes)).sum();
            out.push(sum * scale);
        }
        self.bytes.copy_within(whole..there, 0);
        self.kept = there - whole;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithmic_samples_are_those_of_the_tables() {
        // Ends, middles and both zeros of ITU-T G.711.
        for (code, want) in [
            (0x80, 32_124),
            (0x00, -32_124),
            (0xFF, 0),
            (0x7F, 0),
            (0xF0, 120),
            (0x8F, 16_764),
        ] {
            assert_eq!(mu_law(code), want, "{code:#x}");
        }
        for (code, want) in [
            (0xD5, 8),
            (0x55, -8),
            (0xAA, 32_256),
            (0x2A, -32_256),
            (0x80, 5504),
        ] {
            assert_eq!(a_law(code), want, "{code:#x}");
        }
    }
}
