//! Raw samples, as other programs pipe them.

use std::io::{ErrorKind, Read};

use crate::Error;

/// How many bytes are asked for at a time.
const BLOCK: usize = 1 << 16;

/// How a sample is written; little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleType {
    /// Signed 16-bit.
    S16,
    /// IEEE single precision; full scale is one.
    F32,
}

impl SampleType {
    fn bytes(self) -> usize {
        match self {
            SampleType::S16 => 2,
            SampleType::F32 => 4,
        }
    }
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
}

impl PcmReader {
    pub(crate) fn new(reader: Box<dyn Read + Send>, pcm: Pcm) -> PcmReader {
        PcmReader {
            reader,
            pcm,
            bytes: vec![0; BLOCK],
            kept: 0,
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
            return match self.kept {
                0 => Ok(false),
                left => Err(Error::Partial { left, want }),
            };
        }
        let there = self.kept + read;
        let whole = there - there % want;
        let scale = 1.0 / self.pcm.channels as f32;
        for sample in self.bytes[..whole].chunks_exact(want) {
            let sum: f32 = match self.pcm.sample {
                SampleType::S16 => {
                    let (values, _) = sample.as_chunks::<2>();
                    let values = values.iter().map(|&v| i16::from_le_bytes(v));
                    values.map(|v| f32::from(v) / 32768.0).sum()
                }
                SampleType::F32 => {
                    let (values, _) = sample.as_chunks::<4>();
                    values.iter().map(|&v| f32::from_le_bytes(v)).sum()
                }
            };
            out.push(sum * scale);
        }
        self.bytes.copy_within(whole..there, 0);
        self.kept = there - whole;
        Ok(true)
    }
}
