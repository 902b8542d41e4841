//! Where frames of MPEG audio are missing from a file.
//!
//! Such frames carry no times: a reader that finds the next one behind damage would take it for the one that followed.

use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};

use crate::sniff::{Header, header};

/// A place where frames are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// Samples before it.
    pub(crate) at: u64,
    /// About how many samples the damaged bytes were.
    pub(crate) samples: u64,
}

/// Walks over all frames of a file, from its start.
pub(crate) fn gaps(file: &mut (impl Read + Seek)) -> io::Result<Vec<Gap>> {
    file.seek(SeekFrom::Start(0))?;
    let mut walk = Walk {
        file: BufReader::new(file),
        at: 0,
    };
    let mut at = walk.tag()?;
    let (mut gaps, mut samples, mut bytes, mut first) = (Vec::new(), 0, 0, None::<Header>);
    loop {
        let Some((next, found)) = walk.frame_from(at, first)? else {
            return Ok(gaps);
        };
        // What stands before the first frame is no sound.
        if next > at && bytes > 0 {
            let lost = (u128::from(next - at) * u128::from(samples) / u128::from(bytes)) as u64;
            gaps.push(Gap {
                at: samples,
                samples: lost,
            });
            samples += lost;
            bytes += next - at;
        }
        let length = found.bytes as u64;
        // A frame that describes the file holds no sound, and readers pass it over.
        if first.is_some() || !walk.describes(next, length)? {
            samples += u64::from(found.samples);
            bytes += length;
        }
        first.get_or_insert(found);
        at = next + length;
    }
}

struct Walk<R> {
    file: BufReader<R>,
    at: u64,
}

impl<R: Read + Seek> Walk<R> {
    /// Up to `N` bytes at a place.
    fn bytes<const N: usize>(&mut self, at: u64) -> io::Result<([u8; N], usize)> {
        self.file.seek_relative(at as i64 - self.at as i64)?;
        let (mut out, mut read) = ([0; N], 0);
        while read < N {
            match self.file.read(&mut out[read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.at = at + read as u64;
        Ok((out, read))
    }

    /// The end of an ID3v2 tag at the start.
    fn tag(&mut self) -> io::Result<u64> {
        let (head, _) = self.bytes::<10>(0)?;
        let [b'I', b'D', b'3', _, _, _, a, b, c, d] = head else {
            return Ok(0);
        };
        let size = [a, b, c, d]
            .iter()
            .fold(0, |size, byte| size << 7 | u64::from(byte & 0x7F));
        Ok(10 + size)
    }

    /// The next frame from a place on that another one like it follows, or the end of the file.
    fn frame_from(
        &mut self,
        mut at: u64,
        like: Option<Header>,
    ) -> io::Result<Option<(u64, Header)>> {
        loop {
            let (here, read) = self.bytes::<4>(at)?;
            if read < 4 {
                return Ok(None);
            }
            let known = |found: &Header| like.is_none_or(|like| like.same == found.same);
            if let Some(found) = header(&here).filter(known) {
                let (next, read) = self.bytes::<4>(at + found.bytes as u64)?;
                let follows = header(&next).is_some_and(|next| next.same == found.same);
                if follows || read == 0 || next.starts_with(b"TAG") {
                    return Ok(Some((at, found)));
                }
            }
            at += 1;
        }
    }

    /// Whether a frame is one of Xing's, LAME's or Fraunhofer's, that tell of the whole file.
    fn describes(&mut self, at: u64, length: u64) -> io::Result<bool> {
        let (body, read) = self.bytes::<64>(at)?;
        let body = &body[..read.min(length as usize)];
        Ok([&b"Xing"[..], b"Info", b"VBRI"]
            .iter()
            .any(|mark| body.windows(4).any(|part| part == *mark)))
    }
}
