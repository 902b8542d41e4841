//! Where in a file of FLAC another one begins (RFC 9639, sections 6 and 8).

use std::io::{self, Read};

use crate::pending::Pending;
use crate::step::Step;

/// Bytes that a file begins with: a mark, the head of its first block, and that block.
const BEGIN: usize = 8 + 34;
const MARK: [u8; 4] = *b"fLaC";

/// Goes over a file.
#[derive(Debug, Default)]
pub(crate) enum Walk {
    /// At the file's mark.
    #[default]
    Mark,
    /// At a block of metadata, which may hold any bytes.
    Block,
    /// Among frames.
    Frames,
}

impl Walk {
    pub(crate) fn step<R: Read>(&mut self, pending: &mut Pending<R>) -> io::Result<Step> {
        match self {
            Walk::Mark => {
                *self = Walk::Block;
                Ok(Step::Pass(MARK.len() as u64))
            }
            Walk::Block => {
                pending.fill(4)?;
                let &[kind, a, b, c, ..] = pending.there() else {
                    return Ok(rest(pending));
                };
                if kind & 0x80 != 0 {
                    *self = Walk::Frames;
                }
                Ok(Step::Pass(4 + u64::from(u32::from_be_bytes([0, a, b, c]))))
            }
            Walk::Frames => {
                if begins(pending)? {
                    return Ok(Step::Another);
                }
                let there = pending.there();
                let mut places = there.windows(MARK.len()).skip(1);
                Ok(match places.position(|four| four == MARK) {
                    Some(before) => Step::Pass(before as u64 + 1),
                    None if there.len() < BEGIN => rest(pending),
                    // The mark may begin at the end.
                    None => Step::Pass((there.len() - (MARK.len() - 1)) as u64),
                })
            }
        }
    }
}

/// All that is pending.
fn rest<R: Read>(pending: &Pending<R>) -> Step {
    match pending.there().len() {
        0 => Step::End,
        left => Step::Pass(left as u64),
    }
}

/// Whether a file of FLAC begins here: its mark, and a first block that can be one.
pub(crate) fn begins<R: Read>(pending: &mut Pending<R>) -> io::Result<bool> {
    pending.fill(BEGIN)?;
    let Some(begin) = pending.there().first_chunk::<BEGIN>() else {
        return Ok(false);
    };
    let is_info = begin.starts_with(&MARK) && begin[4] & 0x7F == 0 && begin[5..8] == [0, 0, 34];
    let short = |at: usize| u16::from_be_bytes([begin[at], begin[at + 1]]);
    let (least, most) = (short(8), short(10));
    let rate = u32::from_be_bytes([0, begin[18], begin[19], begin[20]]) >> 4;
    Ok(is_info && least >= 16 && most >= least && rate > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::Parts;

    #[test]
    fn a_mark_is_a_file_only_where_one_can_begin() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../suite/reference/audio/goforward.flac"
        );
        let file = std::fs::read(path).expect("reference data");
        let parts = |bytes: &[u8]| {
            let mut parts = Parts::new(std::io::Cursor::new(bytes.to_vec()));
            let (mut all, mut begins) = (Vec::new(), Vec::new());
            loop {
                let mut part = Vec::new();
                parts.read_to_end(&mut part).expect("read");
                all.push(part);
                match parts.follow().expect("read") {
                    Some(at) => begins.push(at),
                    None => return (all, begins),
                }
            }
        };
        let len = file.len() as u64;
        assert_eq!(parts(&file), (vec![file.clone()], vec![]));
        let three = [&file[..], &file, &file].concat();
        assert_eq!(parts(&three), (vec![file.clone(); 3], vec![len, 2 * len]));
        // A mark among frames, and a whole file in a block of metadata, are none.
        let mut marked = file.clone();
        marked[9_000..9_008].copy_from_slice(b"fLaC\0\0\0\x22");
        marked[9_008..9_012].fill(0);
        assert_eq!(parts(&marked), (vec![marked.clone()], vec![]));
        let mut holding = file[..BEGIN].to_vec();
        holding[4] &= 0x7F;
        holding.push(2);
        holding.extend(&(file.len() as u32).to_be_bytes()[1..]);
        holding.extend(&file);
        holding.extend(&file[BEGIN..]);
        let (all, begins) = parts(&holding);
        assert_eq!((all.concat(), begins), (holding, vec![]));
        assert_eq!(parts(b"fLaC"), (vec![b"fLaC".to_vec()], vec![]));
    }
}
