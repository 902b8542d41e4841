//! Opus packets to samples at 48 kHz, by the header that containers keep.

use opus_decoder::{OpusDecoder, OpusError};

use crate::Error;

/// Samples a second of what is decoded.
pub(crate) const RATE: u32 = 48_000;
/// Samples of the longest packet, 120 ms, in each channel.
const LONGEST: usize = 5760;

/// A decoder of one stream of packets.
pub(crate) struct Opus {
    decoder: Box<OpusDecoder>,
    channels: usize,
    /// What samples are multiplied by.
    gain: f32,
    /// Samples before the sound begins.
    skip: usize,
    pcm: Vec<f32>,
}

impl Opus {
    /// By the identification header of RFC 7845, section 5.1; without one, of `channels` channels.
    pub(crate) fn new(header: Option<&[u8]>, channels: usize) -> Result<Opus, Error> {
        let Some(header) = header else {
            return Opus::of_one(channels.clamp(1, 2), 1.0, 0);
        };
        let [
            b'O',
            b'p',
            b'u',
            b's',
            b'H',
            b'e',
            b'a',
            b'd',
            version,
            channels,
            skip @ ..,
            family,
        ] = *header.first_chunk::<19>().ok_or_else(short)?
        else {
            return Err(short());
        };
        let [low, high, _, _, _, _, quiet, loud] = skip;
        // MP4 has the same fields the other way round, and another version.
        let (skip, gain) = match version {
            0 => (
                u16::from_be_bytes([low, high]),
                i16::from_be_bytes([quiet, loud]),
            ),
            _ => (
                u16::from_le_bytes([low, high]),
                i16::from_le_bytes([quiet, loud]),
            ),
        };
        let skip = usize::from(skip);
        let decibels = f32::from(gain) / 256.0;
        let gain = 10f32.powf(decibels / 20.0);
        let channels = usize::from(channels);
        // Streams of more channels lie in one packet, delimited in a way that is not read here.
        let streams = if family == 0 {
            1
        } else {
            header.get(19).copied().ok_or_else(short)?
        };
        match (streams, channels) {
            (1, 1 | 2) => Opus::of_one(channels, gain, skip),
            _ => Err(Error::Codec {
                name: format!("Opus of {channels} channels in {streams} streams"),
            }),
        }
    }

    fn of_one(channels: usize, gain: f32, skip: usize) -> Result<Opus, Error> {
        let made = OpusDecoder::new(RATE, channels).map_err(unfit)?;
        Ok(Opus {
            decoder: Box::new(made),
            channels,
            gain,
            skip,
            pcm: Vec::new(),
        })
    }

    /// Channels, interleaved.
    pub(crate) fn channels(&self) -> usize {
        self.channels
    }

    /// Samples before the sound begins.
    pub(crate) fn skip(&self) -> usize {
        self.skip
    }

    /// Appends the samples of a packet to `out`, without `start` at its beginning and `end` at its end.
    pub(crate) fn decode(
        &mut self,
        packet: &[u8],
        [start, end]: [usize; 2],
        out: &mut Vec<f32>,
    ) -> Result<(), OpusError> {
        if packet.is_empty() {
            return Err(OpusError::InvalidPacket);
        }
        self.pcm.resize(LONGEST * self.channels, 0.0);
        let made = self.decoder.decode_float(packet, &mut self.pcm, false)?;
        let end = made.saturating_sub(end);
        let kept = &self.pcm[start.min(end) * self.channels..end * self.channels];
        out.extend(kept.iter().map(|x| x * self.gain));
        Ok(())
    }
}

fn short() -> Error {
    Error::Decode {
        reason: "the Opus header is not one".to_owned(),
    }
}

fn unfit(error: OpusError) -> Error {
    Error::Decode {
        reason: format!("the Opus header: {error}"),
    }
}
