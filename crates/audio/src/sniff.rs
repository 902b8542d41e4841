//! What a sound is by its first bytes.

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// RIFF, RF64 or BW64 of form WAVE.
    Wave,
    /// RIFX: a WAV whose numbers have their high bytes first.
    Rifx,
    /// Sony's Wave64.
    Wave64,
    /// MP4, M4A, MOV: its tables may stand at the end.
    Mp4,
    /// MPEG audio, or what stands behind an ID3v2 tag.
    Mpeg,
    /// FLAC.
    Flac,
    /// AIFF or AIFF-C.
    Aiff,
    /// Ogg.
    Ogg,
    /// Matroska and WebM.
    Matroska,
    /// AAC in ADTS.
    Adts,
    /// Another kind of file that readers know.
    Other,
    /// Nothing known: perhaps raw samples.
    Unknown,
}

/// How many bytes are looked at.
pub(crate) const FIRST: usize = 4096;

impl Kind {
    /// By the first bytes, [`FIRST`] of them if there are so many.
    pub(crate) fn of(first: &[u8]) -> Kind {
        let at = |from: usize, what: &[u8]| first[from.min(first.len())..].starts_with(what);
        if at(8, b"WAVE") && (at(0, b"RIFF") || at(0, b"RF64") || at(0, b"BW64")) {
            Kind::Wave
        } else if at(8, b"WAVE") && at(0, b"RIFX") {
            Kind::Rifx
        } else if at(0, b"riff\x2e\x91\xcf\x11") {
            Kind::Wave64
        } else if at(4, b"ftyp") || at(4, b"moov") || at(4, b"mdat") || at(4, b"wide") {
            Kind::Mp4
        } else if at(0, b"ID3") {
            Kind::Mpeg
        } else if at(0, b"OggS") {
            Kind::Ogg
        } else if at(0, b"\x1a\x45\xdf\xa3") {
            Kind::Matroska
        } else if at(0, b"fLaC") {
            Kind::Flac
        } else if at(0, b"FORM") && (at(8, b"AIFF") || at(8, b"AIFC")) {
            Kind::Aiff
        } else if at(0, b"FORM") || at(0, b"caff") {
            Kind::Other
        } else if mpeg(first) {
            Kind::Mpeg
        } else if adts(first) {
            Kind::Adts
        } else {
            Kind::Unknown
        }
    }
}

/// Whether two frames of MPEG audio follow each other.
fn mpeg(first: &[u8]) -> bool {
    let next = frame(first).and_then(|len| first.get(len..));
    next.is_some_and(|next| frame(next).is_some())
}

/// The length of the frame of MPEG audio that begins here (ISO 11172-3, section 2.4.2.3).
pub(crate) fn frame(bytes: &[u8]) -> Option<usize> {
    Some(header(bytes)?.bytes)
}

/// What a frame of MPEG audio says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) bytes: usize,
    pub(crate) samples: u32,
    pub(crate) rate: u32,
    /// Version, layer and rate, in which the frames of a file agree.
    pub(crate) same: [u8; 2],
}

pub(crate) fn header(bytes: &[u8]) -> Option<Header> {
    let &[0xFF, b, c, _, ..] = bytes else {
        return None;
    };
    if b & 0xE0 != 0xE0 {
        return None;
    }
    let (version, layer) = (b >> 3 & 3, 4 - (b >> 1 & 3));
    let (rate_at, kilobits_at, padded) = (c >> 2 & 3, usize::from(c >> 4), c >> 1 & 1);
    let first = version == 3;
    let kilobits: [usize; 14] = match (first, layer) {
        (true, 1) => [
            32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448,
        ],
        (true, 2) => [
            32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384,
        ],
        (true, 3) => [
            32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320,
        ],
        (false, 1) => [
            32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256,
        ],
        (false, 2 | 3) => [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
        _ => return None,
    };
    let bits = 1000 * kilobits.get(kilobits_at.checked_sub(1)?)?;
    let rate = [44_100, 48_000, 32_000].get(usize::from(rate_at))?
        >> match version {
            3 => 0,
            2 => 1,
            0 => 2,
            _ => return None,
        };
    let (samples, slot) = match layer {
        1 => (384, 4),
        3 if !first => (576, 1),
        _ => (1152, 1),
    };
    let slots = samples as usize / 8 / slot * bits / rate as usize;
    Some(Header {
        bytes: (slots + usize::from(padded)) * slot,
        samples,
        rate,
        same: [b & 0xFE, c & 0x0C],
    })
}

/// Whether two frames of AAC in ADTS follow each other.
fn adts(first: &[u8]) -> bool {
    let frame = |bytes: &[u8]| match *bytes {
        [0xFF, b, _, d, e, f, _, ..] if b & 0xF6 == 0xF0 => {
            let len = usize::from(d & 3) << 11 | usize::from(e) << 3 | usize::from(f >> 5);
            (len > 7).then_some(len)
        }
        _ => None,
    };
    let next = frame(first).and_then(|len| first.get(len..));
    next.is_some_and(|next| frame(next).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_their_first_bytes() {
        for (first, kind) in [
            (&b"RIFF\0\0\0\0WAVEfmt "[..], Kind::Wave),
            (b"RF64\xff\xff\xff\xffWAVEds64", Kind::Wave),
            (b"RIFX\0\0\0\0WAVEfmt ", Kind::Rifx),
            (b"\0\0\0\x20ftypM4A ", Kind::Mp4),
            (b"ID3\x04", Kind::Mpeg),
            (b"OggS\0", Kind::Ogg),
            (b"fLaC", Kind::Flac),
            (b"FORM\0\0\0\0AIFF", Kind::Aiff),
            (b"FORM\0\0\0\0AIFC", Kind::Aiff),
            (b"FORM\0\0\0\0ILBM", Kind::Other),
            (b"caff", Kind::Other),
            (b"\x1a\x45\xdf\xa3", Kind::Matroska),
            (b"", Kind::Unknown),
            (b"RIFF\0\0\0\0AVI ", Kind::Unknown),
            // A frame of MPEG audio alone may be two samples.
            (b"\xff\xfb\x90\x00", Kind::Unknown),
        ] {
            assert_eq!(Kind::of(first), kind, "{first:?}");
        }
        let mut two = b"\xff\xfb\x90\x00".to_vec();
        two.resize(417, 0);
        two.extend(b"\xff\xfb\x90\x00");
        assert_eq!(Kind::of(&two), Kind::Mpeg);
    }

    #[test]
    fn frames_of_mpeg_audio_have_the_published_lengths() {
        for (bytes, want) in [
            // Layer 3 of MPEG-1: 128 kbit/s at 44.1 kHz, without and with a padding byte.
            (*b"\xff\xfb\x90\x00", Some((417, 1152, 44_100))),
            (*b"\xff\xfb\x92\x00", Some((418, 1152, 44_100))),
            // Layer 3 of MPEG-2: 32 kbit/s at 16 kHz.
            (*b"\xff\xf3\x48\xc4", Some((144, 576, 16_000))),
            // Layer 2 of MPEG-1: 192 kbit/s at 48 kHz.
            (*b"\xff\xfd\xa4\x00", Some((576, 1152, 48_000))),
            (*b"\xff\xfb\x00\x00", None),
            (*b"\xff\xfb\xf0\x00", None),
            (*b"\xff\xfb\x9c\x00", None),
            (*b"\xff\x1b\x90\x00", None),
        ] {
            let found = header(&bytes).map(|h| (h.bytes, h.samples, h.rate));
            assert_eq!(found, want, "{bytes:?}");
        }
    }
}
