//! What can be wrong with a sound, as values.

use std::path::PathBuf;

/// Why a sound could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Reading or writing failed midway.
    #[error("{what}: {source}")]
    Io {
        /// What was read or written.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another error, with the file it is about.
    #[error("{}: {error}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        error: Box<Error>,
    },
    /// Bytes that are no sound file of a known kind.
    #[error("expected WAV, FLAC, MP3, AAC, Ogg, MP4, Matroska, WebM, AIFF or CAF: {reason}")]
    Container {
        /// What the reader said.
        reason: String,
    },
    /// A file without a sound track.
    #[error("the file has no sound track")]
    NoTrack,
    /// A codec that is not decoded here.
    #[error("codec {name} is not supported")]
    Codec {
        /// Its name.
        name: String,
    },
    /// A sound that cannot be decoded.
    #[error("cannot decode: {reason}")]
    Decode {
        /// What the decoder said.
        reason: String,
    },
    /// A sample rate out of range.
    #[error("{found} samples a second: expected {least} to {most}")]
    Rate {
        /// The rate.
        found: u32,
        /// The least accepted.
        least: u32,
        /// The most accepted.
        most: u32,
    },
    /// A number of channels out of range.
    #[error("{found} channels: expected 1 to {most}")]
    Channels {
        /// The number.
        found: u32,
        /// The most accepted.
        most: u32,
    },
    /// A sample that is no number, or beyond all measure.
    #[error("sample {at} is {value}: expected a number of at most {most} in magnitude")]
    Sample {
        /// Which one, counted at the sound's own rate.
        at: u64,
        /// Its value.
        value: f32,
        /// The greatest accepted.
        most: f32,
    },
    /// Raw samples that end in the middle of one.
    #[error("the samples end after {left} bytes of one of {want}")]
    Partial {
        /// The bytes that are there.
        left: usize,
        /// The bytes of one sample in all channels.
        want: usize,
    },
    /// A buffer of the wrong length.
    #[error("{what} has length {found}: expected {want}")]
    Length {
        /// Which buffer.
        what: &'static str,
        /// The length it should have.
        want: usize,
        /// The length it has.
        found: usize,
    },
    /// A window of a stream that was passed already.
    #[error("the stream is past frame {asked}: it begins at {first}")]
    Passed {
        /// The frame asked for.
        asked: u64,
        /// The first one that is kept.
        first: u64,
    },
    /// A file that is another one on the second reading.
    #[error("the file changed while it was read: {want} samples became {found}")]
    Changed {
        /// Samples at the first reading.
        want: u64,
        /// Samples at the second.
        found: u64,
    },
}

impl Error {
    /// The same error, with the file it is about.
    pub(crate) fn in_file(self, path: &std::path::Path) -> Error {
        match self {
            Error::Open { .. } | Error::InFile { .. } => self,
            error => Error::InFile {
                path: path.to_path_buf(),
                error: Box::new(error),
            },
        }
    }
}
