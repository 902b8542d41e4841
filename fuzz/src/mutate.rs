//! The mutations: each turns one input into a neighbour that parsers tend to mishandle.

use crate::rng::Rng;

/// Inputs longer than this are cut, so that a run of duplications cannot grow without end.
const MAX_LEN: usize = 1 << 20;

/// What a mutation may draw from besides the input itself.
pub(crate) struct Material<'a> {
    /// Other inputs, to splice with.
    pub(crate) seeds: &'a [Vec<u8>],
    /// Tokens of the format.
    pub(crate) tokens: &'a [Vec<u8>],
}

/// The kinds of mutation; [`Kind::ALL`] lists them for the draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    FlipBit,
    SetByte,
    LengthField,
    NudgeField,
    DecimalField,
    InsertToken,
    OverwriteToken,
    Delete,
    Duplicate,
    Nest,
    Truncate,
    Extend,
    Splice,
    Swap,
}

impl Kind {
    /// Every kind; length fields stand twice because most findings come from them.
    pub(crate) const ALL: [Kind; 15] = [
        Kind::FlipBit,
        Kind::SetByte,
        Kind::LengthField,
        Kind::LengthField,
        Kind::NudgeField,
        Kind::DecimalField,
        Kind::InsertToken,
        Kind::OverwriteToken,
        Kind::Delete,
        Kind::Duplicate,
        Kind::Nest,
        Kind::Truncate,
        Kind::Extend,
        Kind::Splice,
        Kind::Swap,
    ];
}

/// Values that a length, count, offset or index field is set to: the edges of every width.
const EDGES: [u64; 16] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x1fff_ffff_ffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// Numbers written in decimal that overflow what they are parsed into.
const DECIMALS: [&str; 10] = [
    "0",
    "-1",
    "255",
    "65536",
    "2147483648",
    "4294967296",
    "9223372036854775808",
    "18446744073709551616",
    "1e999",
    "0x",
];

/// Applies one to eight mutations to `input`.
pub(crate) fn mutate(input: &mut Vec<u8>, rng: &mut Rng, material: &Material<'_>) {
    for _ in 0..=rng.below(8) {
        let kind = *rng.pick(&Kind::ALL);
        apply(kind, input, rng, material);
        input.truncate(MAX_LEN);
    }
}

/// Applies one mutation; where `input` has no room for it, nothing happens.
pub(crate) fn apply(kind: Kind, input: &mut Vec<u8>, rng: &mut Rng, material: &Material<'_>) {
    let len = input.len();
    match kind {
        Kind::FlipBit => {
            if len > 0 {
                input[rng.below(len)] ^= 1 << rng.below(8);
            }
        }
        Kind::SetByte => {
            if len > 0 {
                input[rng.below(len)] =
                    *rng.pick(&[0, 1, 0x20, 0x7f, 0x80, 0xff, b'"', b'{', b'\n', b'\\']);
            }
        }
        Kind::LengthField => {
            let value = match rng.below(4) {
                0 => len as u64,
                1 => len as u64 + 1,
                _ => *rng.pick(&EDGES),
            };
            write_field(input, rng, |_| value);
        }
        Kind::NudgeField => {
            let by = *rng.pick(&[1, 2, 7, 8, 31, 32, 256]);
            let down = rng.below(2) == 0;
            write_field(input, rng, |old| {
                if down {
                    old.wrapping_sub(by)
                } else {
                    old.wrapping_add(by)
                }
            });
        }
        Kind::DecimalField => replace_decimal(input, rng),
        Kind::InsertToken => {
            if !material.tokens.is_empty() {
                let at = rng.below(len + 1);
                input.splice(at..at, rng.pick(material.tokens).iter().copied());
            }
        }
        Kind::OverwriteToken => {
            if !material.tokens.is_empty() {
                let at = rng.below(len + 1);
                let token = rng.pick(material.tokens);
                let end = (at + token.len()).min(len);
                input.splice(at..end, token.iter().copied());
            }
        }
        Kind::Delete => {
            let range = range(len, rng);
            input.drain(range);
        }
        Kind::Duplicate => {
            let copy = input[range(len, rng)].to_vec();
            let at = rng.below(len + 1);
            input.splice(at..at, copy);
        }
        Kind::Nest => {
            let piece = *rng.pick(&[
                b"(".as_slice(),
                b"[",
                b"{",
                b"{{",
                b"-",
                b"!",
                b"[\"a\",",
                b"{\"a\":",
            ]);
            let count = 1 << rng.below(14);
            let at = rng.below(len + 1);
            input.splice(at..at, piece.repeat(count));
        }
        Kind::Truncate => input.truncate(rng.below(len + 1)),
        Kind::Extend => {
            for _ in 0..=rng.below(64) {
                input.push(rng.next() as u8);
            }
        }
        Kind::Splice => {
            if !material.seeds.is_empty() {
                let other = rng.pick(material.seeds);
                let from = rng.below(other.len() + 1);
                input.truncate(rng.below(len + 1));
                input.extend_from_slice(&other[from..]);
            }
        }
        Kind::Swap => {
            if len > 1 {
                let (a, b) = (rng.below(len), rng.below(len));
                input.swap(a, b);
            }
        }
    }
}

/// Rewrites an integer of 1, 2, 4 or 8 bytes, little- or big-endian, at a random place.
fn write_field(input: &mut [u8], rng: &mut Rng, change: impl Fn(u64) -> u64) {
    let width = 1 << rng.below(4);
    if input.len() < width {
        return;
    }
    // Headers hold most of the fields, so half of the writes go to the first 64 bytes.
    let room = input.len() - width + 1;
    let room = if rng.below(2) == 0 {
        room.min(64)
    } else {
        room
    };
    let at = rng.below(room);
    let field = &mut input[at..at + width];
    let mut word = [0; 8];
    if rng.below(4) == 0 {
        word[8 - width..].copy_from_slice(field);
        let new = change(u64::from_be_bytes(word)).to_be_bytes();
        field.copy_from_slice(&new[8 - width..]);
    } else {
        word[..width].copy_from_slice(field);
        let new = change(u64::from_le_bytes(word)).to_le_bytes();
        field.copy_from_slice(&new[..width]);
    }
}

/// Replaces one run of decimal digits by a number at the edge of some type.
fn replace_decimal(input: &mut Vec<u8>, rng: &mut Rng) {
    let starts: Vec<usize> = (0..input.len())
        .filter(|&i| input[i].is_ascii_digit() && (i == 0 || !input[i - 1].is_ascii_digit()))
        .collect();
    if starts.is_empty() {
        return;
    }
    let start = *rng.pick(&starts);
    let digits = input[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    input.splice(start..start + digits, rng.pick(&DECIMALS).bytes());
}

/// A random range of at most 64 bytes, now and then of any length.
fn range(len: usize, rng: &mut Rng) -> std::ops::Range<usize> {
    let start = rng.below(len + 1);
    let most = len - start;
    let most = if rng.below(8) == 0 {
        most
    } else {
        most.min(64)
    };
    start..start + rng.below(most + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_changes_some_input_and_survives_empty_and_tiny_ones() {
        let seeds = vec![b"count = 12; name".to_vec()];
        let tokens = vec![b"token".to_vec()];
        let material = Material {
            seeds: &seeds,
            tokens: &tokens,
        };
        for kind in Kind::ALL {
            let mut changed = 0;
            for index in 0..200 {
                let mut rng = Rng::of_input(3, index);
                for start in [&b""[..], b"7", b"ab", b"width 640 height 480"] {
                    let mut input = start.to_vec();
                    apply(kind, &mut input, &mut rng, &material);
                    changed += usize::from(input != start);
                }
            }
            assert!(
                changed > 50,
                "{kind:?} changed only {changed} of 800 inputs"
            );
        }
    }

    #[test]
    fn length_fields_reach_the_edges_of_every_width_in_both_orders() {
        let material = Material {
            seeds: &[],
            tokens: &[],
        };
        let (mut wide, mut big_endian) = (false, false);
        for index in 0..4000 {
            let mut input = vec![0u8; 16];
            apply(
                Kind::LengthField,
                &mut input,
                &mut Rng::of_input(5, index),
                &material,
            );
            wide |= input
                .windows(8)
                .any(|w| w == 0x7fff_ffff_ffff_ffff_u64.to_le_bytes());
            big_endian |= input.windows(4).any(|w| w == 0x7fff_ffff_u32.to_be_bytes());
        }
        assert!(wide && big_endian);
    }
}
