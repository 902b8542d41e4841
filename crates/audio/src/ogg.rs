//! Pages of Ogg whose sums are right; what lay between them is told of.
//!
//! A page has the sample that it ends with, so that what is missing before one is known, up to how long it is itself: as
//! long as the page before it, packet for packet, or else by its bytes.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use crate::pending::Pending;

/// Bytes of a page's head, before its table.
const HEAD: usize = 27;

/// Where pages are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The stream's number.
    pub(crate) serial: u32,
    /// The sample, by the stream's count, after which they are missing.
    pub(crate) at: u64,
    /// How many samples they had; nothing where the file ends.
    pub(crate) samples: Option<u64>,
}

/// Gaps as they are found.
pub(crate) type Gaps = Arc<Mutex<VecDeque<Gap>>>;

/// A reader of the pages that are whole.
pub(crate) struct Pages<R> {
    pending: Pending<R>,
    gaps: Gaps,
    streams: BTreeMap<u32, Stream>,
    /// Whether a page began after the last whole one.
    torn: bool,
    /// Bytes after the last whole page that are none.
    skipped: u64,
    /// Bytes of whole pages, and how many of them were given.
    whole: Vec<u8>,
    given: usize,
}

/// What is known of a stream.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    sequence: u32,
    /// Whether pages are missing since the last one that had a time.
    missing: bool,
    granule: u64,
    /// Samples of a packet, by the page before.
    pace: u64,
}

impl<R: Read> Pages<R> {
    pub(crate) fn new(from: R) -> (Pages<R>, Gaps) {
        let gaps = Gaps::default();
        let pages = Pages {
            pending: Pending::new(from),
            gaps: Arc::clone(&gaps),
            streams: BTreeMap::new(),
            torn: false,
            skipped: 0,
            whole: Vec::new(),
            given: 0,
        };
        (pages, gaps)
    }

    /// Puts the next whole page into `whole`; false at the end.
    fn next(&mut self) -> io::Result<bool> {
        loop {
            let capture = self
                .pending
                .there()
                .windows(4)
                .position(|four| four == b"OggS");
            match capture {
                Some(at) => self.skip(at),
                None => {
                    self.skip(self.pending.there().len().saturating_sub(3));
                    let before = self.pending.there().len();
                    self.pending.fill(before + 1)?;
                    if self.pending.there().len() == before {
                        if std::mem::take(&mut self.torn) {
                            self.cut();
                        }
                        return Ok(false);
                    }
                    continue;
                }
            }
            let Some(length) = self.length()? else {
                self.torn = true;
                self.skip(1);
                continue;
            };
            let page = &self.pending.there()[..length];
            let stated = u32::from_le_bytes([page[22], page[23], page[24], page[25]]);
            if sum(page) != stated {
                self.skip(1);
                continue;
            }
            self.count(length);
            (self.torn, self.skipped) = (false, 0);
            self.whole.clear();
            self.whole.extend(self.pending.take(length));
            self.given = 0;
            return Ok(true);
        }
    }

    fn skip(&mut self, bytes: usize) {
        self.pending.take(bytes);
        self.skipped += bytes as u64;
    }

    /// The length of the page that begins here, if all of it is there.
    fn length(&mut self) -> io::Result<Option<usize>> {
        if !self.pending.fill(HEAD)? {
            return Ok(None);
        }
        let table = usize::from(self.pending.there()[26]);
        if !self.pending.fill(HEAD + table)? {
            return Ok(None);
        }
        let body: usize = self.pending.there()[HEAD..][..table]
            .iter()
            .map(|&len| usize::from(len))
            .sum();
        let length = HEAD + table + body;
        Ok(self.pending.fill(length)?.then_some(length))
    }

    /// Counts the page that begins here, and what is missing before it.
    fn count(&mut self, length: usize) {
        let page = &self.pending.there()[..length];
        let four =
            |at: usize| u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]);
        let (serial, sequence) = (four(14), four(18));
        let granule = u64::from(four(6)) | u64::from(four(10)) << 32;
        let begins = page[5] & 2 != 0;
        let table = &page[HEAD..][..usize::from(page[26])];
        let packets = table.iter().filter(|&&len| len < 255).count() as u64;
        if begins {
            self.streams.insert(
                serial,
                Stream {
                    sequence,
                    ..Stream::default()
                },
            );
            return;
        }
        let Some(stream) = self.streams.get_mut(&serial) else {
            return;
        };
        stream.missing |= sequence.wrapping_sub(stream.sequence) > 1;
        stream.sequence = sequence;
        // Without a packet that ends in it a page has no time.
        if granule == u64::MAX || packets == 0 {
            return;
        }
        let passed = granule.saturating_sub(stream.granule);
        if std::mem::take(&mut stream.missing) && granule > 0 {
            // A packet that began on a page that is missing is missing too.
            let whole = packets - u64::from(page[5] & 1 != 0).min(packets);
            let own = match stream.pace {
                // Nothing came before it: by the bytes.
                0 => {
                    let bytes = length as u64 + self.skipped;
                    (u128::from(passed) * length as u128 / u128::from(bytes)) as u64
                }
                pace => whole * pace,
            };
            let lost = passed.saturating_sub(own);
            if lost > 0 {
                let gap = Gap {
                    serial,
                    at: stream.granule,
                    samples: Some(lost),
                };
                self.gaps
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push_back(gap);
            }
        } else if stream.granule > 0 || granule > 0 {
            stream.pace = passed / packets;
        }
        stream.granule = granule;
    }

    /// A page of each stream might have followed.
    fn cut(&mut self) {
        let mut gaps = self.gaps.lock().unwrap_or_else(PoisonError::into_inner);
        for (&serial, stream) in &self.streams {
            gaps.push_back(Gap {
                serial,
                at: stream.granule,
                samples: None,
            });
        }
    }
}

impl<R: Read> Read for Pages<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.given == self.whole.len() && !self.next()? {
            return Ok(0);
        }
        let read = (&self.whole[self.given..]).read(out)?;
        self.given += read;
        Ok(read)
    }
}

/// The sum of a page (RFC 3533, section 6): a CRC of polynomial 0x04C11DB7, its own field taken as zero.
fn sum(page: &[u8]) -> u32 {
    let mut sum = 0u32;
    for (at, &byte) in page.iter().enumerate() {
        let byte = if (22..26).contains(&at) { 0 } else { byte };
        sum = sum << 8 ^ TABLE[usize::from((sum >> 24) as u8 ^ byte)];
    }
    sum
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let (mut value, mut bit) = ((at as u32) << 24, 0);
        while bit < 8 {
            value = value << 1 ^ if value >> 31 == 1 { 0x04C1_1DB7 } else { 0 };
            bit += 1;
        }
        table[at] = value;
        at += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of ten packets of seven bytes that ends with `granule`.
    fn page(kind: u8, sequence: u32, granule: u64) -> Vec<u8> {
        let mut page = b"OggS\0".to_vec();
        page.push(kind);
        page.extend(granule.to_le_bytes());
        page.extend(9u32.to_le_bytes());
        page.extend(sequence.to_le_bytes());
        page.extend([0; 4]);
        page.push(10);
        page.extend([7; 10]);
        page.extend([sequence as u8; 70]);
        let sum = sum(&page);
        page[22..26].copy_from_slice(&sum.to_le_bytes());
        page
    }

    fn read(bytes: &[u8]) -> (Vec<u8>, Vec<(u64, Option<u64>)>) {
        let (mut pages, gaps) = Pages::new(bytes);
        let mut out = Vec::new();
        pages.read_to_end(&mut out).expect("read");
        let gaps = gaps.lock().expect("not poisoned");
        (out, gaps.iter().map(|gap| (gap.at, gap.samples)).collect())
    }

    #[test]
    fn whole_pages_pass_and_gaps_are_measured() {
        let all: Vec<Vec<u8>> = (0..8)
            .map(|n| page(if n == 0 { 2 } else { 0 }, n, 960 * u64::from(n)))
            .collect();
        assert_eq!(read(&all.concat()), (all.concat(), Vec::new()));
        // Two pages with damage, junk between others, the last one cut.
        let mut damaged = all.clone();
        damaged[3][40] ^= 1;
        damaged[4][0] = b'o';
        damaged[6].splice(0..0, b"OggS and other junk OggS".to_vec());
        damaged[7].truncate(60);
        let left = [&all[..3], &all[5..7]].concat().concat();
        let gaps = vec![(960 * 2, Some(960 * 2)), (960 * 6, None)];
        assert_eq!(read(&damaged.concat()), (left, gaps));
        assert_eq!(read(b""), (Vec::new(), Vec::new()));
        assert_eq!(read(b"no Ogg at all, OggS"), (Vec::new(), Vec::new()));
    }

    #[test]
    fn the_sums_of_a_real_file_are_right() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../suite/reference/audio/goforward.opus"
        );
        let bytes = std::fs::read(path).expect("reference data");
        assert_eq!(read(&bytes), (bytes, Vec::new()));
    }
}
