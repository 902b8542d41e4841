//! Clusters of Matroska and WebM without what is no block of them: a reader would give up there.
//!
//! Blocks have times, so that what is left out is noticed behind it.

use std::io::{self, Read};

use crate::pending::Pending;

/// Identifiers of RFC 9559 that a file begins with and that stand in its segment.
const SEGMENT: u32 = 0x1853_8067;
const CLUSTER: u32 = 0x1F43_B675;
const OUTSIDE: [u32; 10] = [
    0x1A45_DFA3,
    0x114D_9B74,
    0x1549_A966,
    0x1654_AE6B,
    0x1C53_BB6B,
    0x1254_C367,
    0x1941_A469,
    0x1043_A770,
    0xEC,
    0xBF,
];
/// Identifiers that stand in a cluster: its time first, blocks last.
const INSIDE: [u32; 8] = [TIME, 0xA7, 0xAB, 0xEC, 0xBF, 0x5854, 0xA0, 0xA3];
const TIME: u32 = 0xE7;
const GROUP: u32 = 0xA0;
const BLOCK: u32 = 0xA3;
/// Bytes of a cluster at most; writers begin a new one at five millions.
const LONGEST: u64 = 64 << 20;
/// Elements that follow each other before they are believed.
const ENOUGH: usize = 3;

/// A reader of a file whose clusters are mended.
pub(crate) struct Clusters<R> {
    pending: Pending<R>,
    /// Bytes that pass as they are; all of them in a stream whose clusters have no size.
    passing: u64,
    whole: Vec<u8>,
    given: usize,
}

impl<R: Read> Clusters<R> {
    pub(crate) fn new(from: R) -> Clusters<R> {
        Clusters {
            pending: Pending::new(from),
            passing: 0,
            whole: Vec::new(),
            given: 0,
        }
    }

    /// Puts the next bytes into `whole`; false at the end.
    fn next(&mut self) -> io::Result<bool> {
        self.whole.clear();
        self.given = 0;
        loop {
            self.pending.fill(16)?;
            if self.pending.there().is_empty() {
                return Ok(false);
            }
            if self.passing > 0 {
                let now = self.passing.min(self.pending.there().len() as u64);
                self.passing -= now;
                self.whole.extend(self.pending.take(now as usize));
                return Ok(true);
            }
            match head(self.pending.there()) {
                Some((SEGMENT, _, length)) => {
                    self.whole.extend(self.pending.take(length));
                    return Ok(true);
                }
                Some((CLUSTER, None, _)) => self.passing = u64::MAX,
                Some((CLUSTER, Some(size), length)) if size <= LONGEST => {
                    let all = length + size as usize;
                    self.pending.fill(all)?;
                    let end = all.min(self.pending.there().len());
                    if children(&self.pending.there()[length..end]).len() as u64 == size {
                        self.whole.extend(self.pending.take(all));
                        return Ok(true);
                    }
                    // Where bytes are gone, the next one begins within.
                    let next = find(&self.pending.there()[..end], length).unwrap_or(end);
                    let left = children(&self.pending.there()[length..next]);
                    self.pending.take(next);
                    if left.is_empty() {
                        continue;
                    }
                    self.whole.extend(CLUSTER.to_be_bytes());
                    self.whole
                        .extend((left.len() as u64 | 1 << 56).to_be_bytes());
                    self.whole.extend(&left);
                    return Ok(true);
                }
                Some((id, Some(size), length)) if OUTSIDE.contains(&id) => {
                    self.passing = size.saturating_add(length as u64);
                }
                Some(_) | None => {
                    let next = find(self.pending.there(), 1);
                    let passed =
                        next.unwrap_or(self.pending.there().len().saturating_sub(15).max(1));
                    self.pending.take(passed);
                }
            }
        }
    }
}

impl<R: Read> Read for Clusters<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.given == self.whole.len() && !self.next()? {
            return Ok(0);
        }
        let read = (&self.whole[self.given..]).read(out)?;
        self.given += read;
        Ok(read)
    }
}

/// A number of variable length (RFC 8794, section 4): its bits with the mark of its length, and that length.
fn number(bytes: &[u8], most: usize) -> Option<(u64, usize)> {
    let length = bytes.first()?.leading_zeros() as usize + 1;
    let bytes = bytes.get(..length).filter(|_| length <= most)?;
    let value = bytes
        .iter()
        .fold(0, |value, byte| value << 8 | u64::from(*byte));
    Some((value, length))
}

/// An element's identifier, its size unless that is unknown, and the length of both.
fn head(bytes: &[u8]) -> Option<(u32, Option<u64>, usize)> {
    let (id, first) = number(bytes, 4)?;
    let (marked, second) = number(&bytes[first..], 8)?;
    let mark = 1u64 << (7 * second);
    let size = marked & (mark - 1);
    Some((
        id as u32,
        (size != mark - 1).then_some(size),
        first + second,
    ))
}

/// A cluster's element that is well formed.
struct Child {
    id: u32,
    length: usize,
    /// When a block is played, by the cluster's time.
    time: Option<i16>,
}

fn child(bytes: &[u8]) -> Option<Child> {
    let (id, size, length) = head(bytes)?;
    let all = usize::try_from(size?).ok()?.checked_add(length)?;
    let body = bytes.get(length..all)?;
    // A track's number, a time, flags.
    let time = |body: &[u8]| match *body {
        [track, high, low, _, _, ..] if track & 0x80 != 0 => Some(i16::from_be_bytes([high, low])),
        _ => None,
    };
    let time = match id {
        BLOCK => Some(time(body)?),
        GROUP => {
            let (0xA1, _, length) = head(body)? else {
                return None;
            };
            Some(time(body.get(length..)?)?)
        }
        _ => None,
    };
    let known = INSIDE.contains(&id) && (time.is_some() || id == 0xEC || all <= 64);
    known.then_some(Child {
        id,
        length: all,
        time,
    })
}

/// The elements of a cluster that are well formed, without what is between them.
fn children(bytes: &[u8]) -> Vec<u8> {
    let (mut left, mut at, mut lost) = (Vec::new(), 0, false);
    let (mut timed, mut last) = (false, i16::MIN);
    while at < bytes.len() {
        let found = child(&bytes[at..]);
        let Some(Child { id, length, time }) = found.filter(|_| !lost || follow(&bytes[at..]))
        else {
            at += 1;
            lost = true;
            continue;
        };
        timed |= id == TIME;
        // Where the cluster's time is lost, or a time goes back, blocks are those of another one.
        if time.is_some_and(|time| !timed || (lost && time < last)) {
            break;
        }
        last = time.unwrap_or(last);
        left.extend(&bytes[at..at + length]);
        at += length;
        lost = false;
    }
    left
}

/// Whether so many blocks follow each other that it is no chance, or all that there are.
fn follow(bytes: &[u8]) -> bool {
    let mut at = 0;
    for _ in 0..ENOUGH {
        match child(&bytes[at..]) {
            Some(Child {
                length,
                time: Some(_),
                ..
            }) => at += length,
            Some(_) | None => return false,
        }
        if at == bytes.len() {
            return true;
        }
    }
    true
}

/// The next cluster from a place on.
fn find(bytes: &[u8], from: usize) -> Option<usize> {
    let mark = CLUSTER.to_be_bytes();
    let begins = |at: &usize| {
        let inside = head(&bytes[*at..]).map(|(_, _, length)| at + length);
        let first = inside.and_then(|inside| head(bytes.get(inside..)?));
        first.is_some_and(|(id, _, _)| INSIDE.contains(&id))
    };
    let all = bytes.get(from..)?.windows(4).enumerate();
    let marked = all.filter(|(_, four)| *four == mark);
    marked.map(|(at, _)| from + at).find(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(id: &[u8], body: &[u8]) -> Vec<u8> {
        let size = 0x4000 | body.len() as u16;
        [id, &size.to_be_bytes(), body].concat()
    }

    fn block(time: u8) -> Vec<u8> {
        let mut body = vec![0x81, 0, time, 0x80];
        body.extend((0..40u8).map(|i| time.wrapping_mul(37).wrapping_add(i.wrapping_mul(11))));
        element(&[0xA3], &body)
    }

    fn cluster(time: u8) -> Vec<u8> {
        let blocks: Vec<u8> = (0..8).flat_map(block).collect();
        let time = element(&[0xE7], &[time]);
        element(&CLUSTER.to_be_bytes(), &[time, blocks].concat())
    }

    fn file(clusters: &[Vec<u8>]) -> Vec<u8> {
        let head = element(&[0x1A, 0x45, 0xDF, 0xA3], b"webm");
        let segment = [&SEGMENT.to_be_bytes()[..], &[0x01, 0, 0, 0, 0, 0, 9, 9]].concat();
        let tracks = element(&[0x16, 0x54, 0xAE, 0x6B], &[7; 30]);
        [head, segment, tracks, clusters.concat()].concat()
    }

    fn read(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Clusters::new(bytes).read_to_end(&mut out).expect("read");
        out
    }

    #[test]
    fn whole_files_pass_and_damage_costs_the_blocks_that_it_hit() {
        let all: Vec<Vec<u8>> = (0..4).map(cluster).collect();
        let whole = file(&all);
        assert_eq!(read(&whole), whole);
        // Blocks of 47 bytes behind ten of heads: the third is hit in its head.
        let mut damaged = all.clone();
        damaged[1][10 + 2 * 47..][..9].fill(0);
        let got = read(&file(&damaged));
        let less = got.len() as i64 - whole.len() as i64;
        // A head of a cluster is written with eight bytes for its size.
        assert_eq!(less, 6 - 47);
        assert!(got.ends_with(&[&all[2][..], &all[3]].concat()));
        // A cluster's own head is hit: the next one is found.
        let mut damaged = all.clone();
        damaged[1][..12].fill(0xFF);
        assert_eq!(
            read(&file(&damaged)),
            file(&[&all[..1], &all[2..]].concat())
        );
        // The end is cut.
        let cut = read(&whole[..whole.len() - 30]);
        assert_eq!(cut.len(), whole.len() - 47 + 6);
        assert_eq!(read(b""), b"");
        assert_eq!(read(&[0x1F, 0x43, 0xB6]), b"");
    }
}
