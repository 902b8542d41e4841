//! Frames of MPEG audio: where some are missing from a file, and where another file begins.
//!
//! Such frames carry no times: a reader that finds the next one behind damage would take it for the one that followed.

use std::collections::VecDeque;
use std::io::{self, Read};

use crate::flac;
use crate::pending::Pending;
use crate::sniff::{Header, header};
use crate::step::{Gap, Step};

/// Bytes that are no frame, at a time: before the first one, and after it.
const MOST_JUNK: [usize; 2] = [1 << 10, 1 << 20];
/// Frames in a row beyond those that a file's header counts, or of another kind, that are another file's.
const ENOUGH: u32 = 8;

/// Goes over the frames of a file.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// The first frame.
    first: Option<Header>,
    /// Frames that the file's header counts.
    promised: Option<u64>,
    /// Frames of sound, their samples and bytes, with those that are missing.
    frames: u64,
    samples: u64,
    bytes: u64,
    /// Bytes that are no frame, since the last one.
    junk: u64,
    pub(crate) gaps: VecDeque<Gap>,
}

/// What is at a place.
enum Found {
    Frame(Header),
    Another,
    Nothing,
}

impl Walk {
    pub(crate) fn step<R: Read>(&mut self, pending: &mut Pending<R>) -> io::Result<Step> {
        if self.first.is_some()
            && self.junk == 0
            && let Some(tag) = tag(pending)?
        {
            return Ok(match tag {
                Tag::Front(bytes) => Step::Tag(bytes),
                Tag::Back(bytes) => Step::Drop(bytes),
            });
        }
        if self.frames > 0 && flac::begins(pending)? {
            return Ok(Step::Another);
        }
        let most = MOST_JUNK[usize::from(self.first.is_some())];
        let mut at = 0;
        loop {
            if !pending.fill(at + 4)? {
                return Ok(match pending.there().len() {
                    0 => Step::End,
                    left => Step::Pass(left as u64),
                });
            }
            match self.look(pending, at)? {
                Found::Frame(found) => {
                    let frame = &pending.there()[at..];
                    self.count(found, frame, at as u64);
                    return Ok(Step::Pass((at + found.bytes) as u64));
                }
                Found::Another if at == 0 => return Ok(Step::Another),
                Found::Another => return Ok(Step::Drop(at as u64)),
                Found::Nothing if at == most => {
                    self.junk += at as u64;
                    return Ok(Step::Pass(at as u64));
                }
                Found::Nothing => at += 1,
            }
        }
    }

    /// What is at a place of the pending bytes: a frame has another one like it behind it, or the end of the file.
    fn look<R: Read>(&self, pending: &mut Pending<R>, at: usize) -> io::Result<Found> {
        let Some(found) = header(&pending.there()[at..]) else {
            return Ok(Found::Nothing);
        };
        let end = at + found.bytes;
        pending.fill(end + 4)?;
        let next = pending.there().get(end..).unwrap_or(&[]);
        let follows = match header(next) {
            Some(next) => next.same == found.same || goes_on(pending, end, next)?,
            None => next.is_empty() || ends_frames(next),
        };
        if !follows {
            return Ok(Found::Nothing);
        }
        let known = self.first.is_none_or(|first| first.same == found.same);
        let over = self.promised.is_some_and(|all| self.frames >= all);
        let described = describes(&pending.there()[at..], found).is_some();
        if self.frames > 0 && (described || (over || !known) && goes_on(pending, at, found)?) {
            return Ok(Found::Another);
        }
        Ok(match known {
            true => Found::Frame(found),
            false => Found::Nothing,
        })
    }

    /// Counts a frame that stands behind `junk` bytes.
    fn count(&mut self, found: Header, frame: &[u8], junk: u64) {
        let junk = std::mem::take(&mut self.junk) + junk;
        // What stands before the first frame is no sound.
        if junk > 0 && self.bytes > 0 {
            let lost = u128::from(junk) * u128::from(self.samples) / u128::from(self.bytes);
            self.gaps.push_back(Gap {
                at: self.samples,
                samples: lost as u64,
            });
            self.samples += lost as u64;
            self.bytes += junk;
        }
        // A frame that describes the file holds no sound, and readers pass it over.
        match describes(frame, found) {
            Some(counted) if self.first.is_none() => self.promised = counted,
            Some(_) => {}
            None => {
                self.frames += 1;
                self.samples += u64::from(found.samples);
                self.bytes += found.bytes as u64;
            }
        }
        self.first.get_or_insert(found);
    }
}

/// Whether so many frames follow each other that they are no odd end.
fn goes_on<R: Read>(pending: &mut Pending<R>, mut at: usize, first: Header) -> io::Result<bool> {
    for _ in 0..ENOUGH {
        if !pending.fill(at + 4)? {
            return Ok(false);
        }
        let found = header(&pending.there()[at..]).filter(|found| found.same == first.same);
        let Some(found) = found else {
            return Ok(false);
        };
        if !pending.fill(at + found.bytes)? || describes(&pending.there()[at..], found).is_some() {
            return Ok(false);
        }
        at += found.bytes;
    }
    Ok(true)
}

/// Whether a frame is one of Xing's, LAME's or Fraunhofer's, that tell of the whole file; the frames that it counts.
fn describes(bytes: &[u8], header: Header) -> Option<Option<u64>> {
    let frame = &bytes[..bytes.len().min(header.bytes)];
    let &[_, b, _, d, ..] = frame else {
        return None;
    };
    let (first, mono, layer_3) = (b >> 3 & 3 == 3, d >> 6 == 3, b >> 1 & 3 == 1);
    let side = match (first, mono) {
        (true, false) => 32,
        (true, true) | (false, false) => 17,
        (false, true) => 9,
    };
    // What else is before the mark is zero, but for a sum.
    let head = if b & 1 == 0 { 6 } else { 4 };
    let marked = |at: usize, marks: &[[u8; 4]]| {
        let found = frame
            .get(at..at + 4)
            .filter(|found| marks.contains(&[found[0], found[1], found[2], found[3]]));
        layer_3 && found.is_some() && frame[head..at].iter().all(|byte| *byte == 0)
    };
    let long = |at: usize| {
        let four = frame.get(at..at + 4)?;
        let count = u32::from_be_bytes([four[0], four[1], four[2], four[3]]);
        Some(u64::from(count)).filter(|count| *count > 0)
    };
    let xing = 4 + side;
    if marked(xing, &[*b"Xing", *b"Info"]) {
        let flags = long(xing + 4).unwrap_or(0);
        return Some(long(xing + 8).filter(|_| flags & 1 != 0));
    }
    let vbri = 4 + 32;
    (marked(vbri, &[*b"VBRI"]) && frame.get(vbri + 4..vbri + 6) == Some(&[0, 1]))
        .then(|| long(vbri + 14))
}

/// A tag, with all its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// One that stands before the sound it is about.
    Front(u64),
    /// One that stands behind it.
    Back(u64),
}

impl Tag {
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Tag::Front(bytes) | Tag::Back(bytes) => bytes,
        }
    }
}

/// Whether what begins with these bytes may follow a last frame: a tag, or another file.
fn ends_frames(bytes: &[u8]) -> bool {
    [&b"ID3"[..], b"TAG", b"APE", b"fLaC"]
        .iter()
        .any(|mark| bytes.starts_with(mark))
}

/// The tag that begins here: of ID3v2, ID3v1 or APE.
pub(crate) fn tag<R: Read>(pending: &mut Pending<R>) -> io::Result<Option<Tag>> {
    pending.fill(32)?;
    Ok(match *pending.there() {
        [b'I', b'D', b'3', version, _, flags, a, b, c, d, ..]
            if version < 0xFF && (a | b | c | d) < 0x80 =>
        {
            let digits = [a, b, c, d].into_iter();
            let size = digits.fold(0, |size, digit| size << 7 | u64::from(digit));
            let foot = if flags & 0x10 != 0 { 10 } else { 0 };
            Some(Tag::Front(10 + size + foot))
        }
        [b'T', b'A', b'G', ..] => Some(Tag::Back(128)),
        [
            b'A',
            b'P',
            b'E',
            b'T',
            b'A',
            b'G',
            b'E',
            b'X',
            _,
            _,
            _,
            _,
            a,
            b,
            c,
            d,
            ..,
        ] => Some(Tag::Back(32 + u64::from(u32::from_le_bytes([a, b, c, d])))),
        _ => None,
    })
}
