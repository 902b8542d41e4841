//! Sound files in their own rate, mixed to one channel, through symphonia with its panics fenced off.

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};

use symphonia::core::codecs::CodecParameters;
use symphonia::core::codecs::audio::well_known as codec;
use symphonia::core::codecs::audio::{AudioCodecId, AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error as Fault;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream};
use symphonia::core::meta::MetadataOptions;

use crate::Error;

/// Every AAC stream begins with at least a frame of priming, which the container's edit list, not read
/// here, would cut off.
const AAC_PRIMING: usize = 1024;

/// A sound being decoded.
pub(crate) struct Decoder {
    format: Box<dyn FormatReader>,
    decoder: Box<dyn AudioDecoder>,
    track: u32,
    rate: u32,
    interleaved: Vec<f32>,
    /// Samples in each channel still to be dropped.
    skip: usize,
    /// Whether anything was decoded yet.
    began: bool,
    /// The first fault of a packet, which counts if no packet is sound.
    fault: Option<String>,
}

impl Decoder {
    pub(crate) fn new(
        media: Box<dyn MediaSource>,
        extension: Option<&str>,
    ) -> Result<Decoder, Error> {
        let mut hint = Hint::new();
        if let Some(extension) = extension {
            hint.with_extension(extension);
        }
        let stream = MediaSourceStream::new(media, Default::default());
        let format = guard(|| {
            symphonia::default::get_probe().probe(
                &hint,
                stream,
                FormatOptions::default(),
                MetadataOptions::default(),
            )
        })
        .map_err(|fault| Error::Container {
            reason: fault.to_string(),
        })?;
        let track = format.default_track(TrackType::Audio);
        let Some(track) = track else {
            return Err(Error::NoTrack);
        };
        let Some(CodecParameters::Audio(params)) = &track.codec_params else {
            return Err(Error::Codec {
                name: "unknown".to_owned(),
            });
        };
        let registry = symphonia::default::get_codecs();
        let options = AudioDecoderOptions::default();
        let decoder = guard(|| registry.make_audio_decoder(params, &options));
        let (track, params) = (track.id, params.clone());
        let decoder = decoder.map_err(|fault| match fault {
            Trouble::Fault(Fault::Unsupported(reason)) => Error::Codec {
                name: format!("{} ({reason})", name(params.codec)),
            },
            other => Error::Decode {
                reason: other.to_string(),
            },
        })?;
        let mut decoder = Decoder {
            format,
            decoder,
            track,
            rate: params.sample_rate.unwrap_or(0),
            interleaved: Vec::new(),
            skip: if params.codec == codec::CODEC_ID_AAC {
                AAC_PRIMING
            } else {
                0
            },
            began: false,
            fault: None,
        };
        // Where the header does not tell, the first sound packet does.
        while decoder.rate == 0 && !decoder.began && decoder.packet()?.is_some() {}
        Ok(decoder)
    }

    /// Samples a second.
    pub(crate) fn rate(&self) -> u32 {
        self.rate
    }

    /// Appends the samples of a packet to `out`; false once there are no more.
    pub(crate) fn next(&mut self, out: &mut Vec<f32>) -> Result<bool, Error> {
        let channels = match self.packet()? {
            Some(channels) => channels,
            None => return Ok(false),
        };
        if channels > 0 {
            let scale = 1.0 / channels as f32;
            let frames = self.interleaved.chunks_exact(channels);
            let dropped = self.skip.min(frames.len());
            self.skip -= dropped;
            let mixed = frames.map(|frame| frame.iter().sum::<f32>() * scale);
            out.extend(mixed.skip(dropped));
        }
        self.interleaved.clear();
        Ok(true)
    }

    /// Decodes a packet into `interleaved` and gives the number of channels, none of a packet that is
    /// damaged; or nothing at the end.
    fn packet(&mut self) -> Result<Option<usize>, Error> {
        if !self.interleaved.is_empty() {
            // Decoded when the rate was asked for.
            let channels = self.decoder.last_decoded().spec().channels().count();
            return Ok(Some(channels));
        }
        let packet = match guard(|| self.format.next_packet()) {
            Ok(Some(packet)) => packet,
            Ok(None) => return self.end(),
            // A file cut short is taken as far as it goes.
            Err(Trouble::Fault(Fault::IoError(error)))
                if error.kind() == ErrorKind::UnexpectedEof =>
            {
                return self.end();
            }
            Err(Trouble::Fault(Fault::ResetRequired)) => {
                return Err(Error::Decode {
                    reason: "the list of tracks changes midway".to_owned(),
                });
            }
            Err(other) => {
                return Err(Error::Decode {
                    reason: other.to_string(),
                });
            }
        };
        if packet.track_id != self.track {
            return Ok(Some(0));
        }
        let (decoder, interleaved) = (&mut self.decoder, &mut self.interleaved);
        let decoded = guard(|| {
            let buffer = decoder.decode(&packet)?;
            buffer.copy_to_vec_interleaved(interleaved);
            Ok((buffer.spec().rate(), buffer.spec().channels().count()))
        });
        let (rate, channels) = match decoded {
            Ok(spec) => spec,
            Err(Trouble::Fault(fault @ (Fault::DecodeError(_) | Fault::IoError(_)))) => {
                self.interleaved.clear();
                self.fault.get_or_insert_with(|| fault.to_string());
                return Ok(Some(0));
            }
            Err(other) => {
                return Err(Error::Decode {
                    reason: other.to_string(),
                });
            }
        };
        if self.rate == 0 {
            self.rate = rate;
        }
        if rate != self.rate && !self.interleaved.is_empty() {
            return Err(Error::Decode {
                reason: format!("the sample rate changes from {} to {rate}", self.rate),
            });
        }
        self.began |= !self.interleaved.is_empty();
        Ok(Some(channels))
    }

    /// The end, unless all that there was is damaged.
    fn end(&mut self) -> Result<Option<usize>, Error> {
        match self.fault.take() {
            Some(reason) if !self.began => Err(Error::Decode { reason }),
            Some(_) | None => Ok(None),
        }
    }
}

/// What a call into symphonia ends with, other than well.
enum Trouble {
    Fault(Fault),
    Panic(String),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Fault(fault) => fault.fmt(f),
            Trouble::Panic(reason) => write!(f, "the decoder panicked: {reason}"),
        }
    }
}

/// Runs a call into symphonia; a panic becomes a value.
fn guard<T>(call: impl FnOnce() -> Result<T, Fault>) -> Result<T, Trouble> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(Trouble::Fault),
        Err(panic) => {
            let reason = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no reason given");
            Err(Trouble::Panic(reason.to_owned()))
        }
    }
}

/// The name of a codec, for those that files have and that are not decoded here.
fn name(id: AudioCodecId) -> String {
    for (known, name) in [
        (codec::CODEC_ID_OPUS, "Opus"),
        (codec::CODEC_ID_SPEEX, "Speex"),
        (codec::CODEC_ID_AAC, "AAC"),
        (codec::CODEC_ID_AC3, "AC-3"),
        (codec::CODEC_ID_EAC3, "E-AC-3"),
        (codec::CODEC_ID_AC4, "AC-4"),
        (codec::CODEC_ID_DCA, "DTS"),
        (codec::CODEC_ID_MP1, "MPEG layer 1"),
        (codec::CODEC_ID_MP2, "MPEG layer 2"),
        (codec::CODEC_ID_WMA, "WMA"),
        (codec::CODEC_ID_WAVPACK, "WavPack"),
        (codec::CODEC_ID_MONKEYS_AUDIO, "Monkey's Audio"),
        (codec::CODEC_ID_ADPCM_G722, "G.722"),
        (codec::CODEC_ID_ADPCM_G726, "G.726"),
    ] {
        if id == known {
            return name.to_owned();
        }
    }
    format!("{id}")
}
