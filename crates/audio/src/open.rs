//! Opens the sound of a file: its container's reader and its codec, with symphonia's panics fenced off.

use std::panic::{AssertUnwindSafe, catch_unwind};

use symphonia::core::codecs::CodecParameters;
use symphonia::core::codecs::audio::well_known as codec;
use symphonia::core::codecs::audio::{
    AudioCodecId, AudioCodecParameters, AudioDecoder, AudioDecoderOptions,
};
use symphonia::core::errors::Error as Fault;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, Track, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream};
use symphonia::core::meta::MetadataOptions;
use symphonia::core::units::TimeBase;

use crate::Error;
use crate::opus::{self, Opus};

/// Every AAC stream begins with at least a frame of priming, which the container's edit list, not read
/// here, would cut off.
const AAC_PRIMING: usize = 1024;

/// The first sound track of a file.
pub(crate) struct Opened {
    pub(crate) format: Box<dyn FormatReader>,
    pub(crate) codec: Codec,
    pub(crate) track: u32,
    pub(crate) scale: Option<TimeBase>,
    /// Samples a second; 0 where only packets tell.
    pub(crate) rate: u32,
    /// Samples in each channel before the sound begins.
    pub(crate) skip: usize,
    /// Samples that the header promises.
    pub(crate) expected: Option<u64>,
}

impl Opened {
    /// Opens a file, whose name may end in `extension`.
    pub(crate) fn new(
        media: Box<dyn MediaSource>,
        extension: Option<&str>,
    ) -> Result<Opened, Error> {
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
        let (params, track) = sound_of(&*format)?;
        let codec = Codec::new(&params)?;
        let skip = codec.skip(&params);
        let (id, scale) = (track.id, track.time_base);
        let rate = codec.rate().or(params.sample_rate).unwrap_or(0);
        let expected = track.num_frames.or_else(|| whole_length(&*format, rate));
        Ok(Opened {
            format,
            codec,
            track: id,
            scale,
            rate,
            skip,
            expected: expected.filter(|frames| *frames > 0),
        })
    }
}

/// What decodes packets.
pub(crate) enum Codec {
    Known(Box<dyn AudioDecoder>),
    Opus(Opus),
}

impl Codec {
    pub(crate) fn new(params: &AudioCodecParameters) -> Result<Codec, Error> {
        if params.codec == codec::CODEC_ID_OPUS {
            let channels = params
                .channels
                .as_ref()
                .map_or(2, |channels| channels.count());
            return Opus::new(params.extra_data.as_deref(), channels).map(Codec::Opus);
        }
        let registry = symphonia::default::get_codecs();
        let options = AudioDecoderOptions::default();
        let made = guard(|| registry.make_audio_decoder(params, &options));
        made.map(Codec::Known).map_err(|fault| match fault {
            Trouble::Fault(Fault::Unsupported(reason)) => Error::Codec {
                name: format!("{} ({reason})", name(params.codec)),
            },
            other => Error::Decode {
                reason: other.to_string(),
            },
        })
    }

    /// The rate, where it is not the container's to say.
    pub(crate) fn rate(&self) -> Option<u32> {
        match self {
            Codec::Known(_) => None,
            Codec::Opus(_) => Some(opus::RATE),
        }
    }

    /// Samples before the sound begins that the container leaves in.
    pub(crate) fn skip(&self, params: &AudioCodecParameters) -> usize {
        match self {
            Codec::Known(_) if params.codec == codec::CODEC_ID_AAC => AAC_PRIMING,
            Codec::Known(_) => 0,
            Codec::Opus(decoder) => decoder.skip(),
        }
    }
}

/// The track that is heard.
pub(crate) fn sound_of(format: &dyn FormatReader) -> Result<(AudioCodecParameters, &Track), Error> {
    let track = format.default_track(TrackType::Audio);
    let track = track.ok_or(Error::NoTrack)?;
    match &track.codec_params {
        Some(CodecParameters::Audio(params)) => Ok((params.clone(), track)),
        Some(_) | None => Err(Error::Codec {
            name: "unknown".to_owned(),
        }),
    }
}

/// The length that a file with nothing but sound says it has, in samples.
fn whole_length(format: &dyn FormatReader, rate: u32) -> Option<u64> {
    let is_sound = |track: &Track| matches!(track.codec_params, Some(CodecParameters::Audio(_)));
    let info = format.media_info();
    let (scale, all) = info.time_base.zip(info.duration)?;
    let only = format.tracks().iter().all(is_sound);
    let parts = u128::from(all.get()) * u128::from(scale.numer.get()) * u128::from(rate);
    let samples = u64::try_from(parts / u128::from(scale.denom.get())).ok()?;
    Some(samples).filter(|_| only)
}

/// What a call into a reader or decoder ends with, other than well.
pub(crate) enum Trouble {
    Fault(Fault),
    Panic(String),
    Other(String),
}

impl Trouble {
    /// Whether the next packet may be read.
    pub(crate) fn is_passed(&self) -> bool {
        match self {
            Trouble::Fault(Fault::DecodeError(_) | Fault::Unsupported(_)) => true,
            Trouble::Fault(_) | Trouble::Panic(_) | Trouble::Other(_) => false,
        }
    }

    /// Whether the next packet may be decoded.
    pub(crate) fn is_of_packet(&self) -> bool {
        match self {
            Trouble::Fault(_) | Trouble::Other(_) => true,
            Trouble::Panic(_) => false,
        }
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Fault(fault) => fault.fmt(f),
            Trouble::Panic(reason) => write!(f, "the decoder panicked: {reason}"),
            Trouble::Other(reason) => f.write_str(reason),
        }
    }
}

/// Runs a call into a reader or decoder; a panic becomes a value.
pub(crate) fn guard<T>(call: impl FnOnce() -> Result<T, Fault>) -> Result<T, Trouble> {
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
        (codec::CODEC_ID_SPEEX, "Speex"),
        (codec::CODEC_ID_AAC, "AAC"),
        (codec::CODEC_ID_AC3, "AC-3"),
        (codec::CODEC_ID_EAC3, "E-AC-3"),
        (codec::CODEC_ID_AC4, "AC-4"),
        (codec::CODEC_ID_DCA, "DTS"),
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
