//! Short texts that are copied as blocks: words of instructions and names of registers.

use crate::{op::Op, qual::Qual, types::Type};
use std::sync::LazyLock;

/// A short text that is copied as a block of fixed size, which costs less than a call for its length.
#[derive(Clone, Copy)]
pub(super) struct Piece<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Piece<N> {
    /// `None` if it is too long.
    pub(super) fn new(text: &[u8]) -> Option<Piece<N>> {
        let mut bytes = [0; N];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        let len = text.len();
        Some(Piece { bytes, len })
    }

    #[inline]
    pub(super) fn append(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.len;
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }
}

/// A short name as a number, its first byte the lowest: building it byte by byte in memory, and then reading it as a
/// whole, would make each wait for the other.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    bytes: u128,
    len: u32,
}

impl Packed {
    /// `None` if it is too long.
    pub(super) fn new(text: &[u8]) -> Option<Packed> {
        let mut bytes = [0; 16];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(Packed {
            bytes: u128::from_le_bytes(bytes),
            len: text.len() as u32,
        })
    }

    /// With a number behind it.
    pub(super) fn numbered(self, number: u32) -> Option<Packed> {
        let (mut digits, mut count, mut rest) = (0u128, 0, number);
        loop {
            digits = digits << 8 | u128::from(b'0' as u32 + rest % 10);
            count += 1;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        (self.len + count <= 16).then(|| Packed {
            bytes: self.bytes | digits << (8 * self.len),
            len: self.len + count,
        })
    }

    /// With the last digit, which is not 9, one greater.
    pub(super) fn next(self) -> Packed {
        Packed {
            bytes: self.bytes + (1 << (8 * (self.len - 1))),
            ..self
        }
    }

    #[inline]
    pub(super) fn append(self, out: &mut Vec<u8>) {
        let end = out.len() + self.len as usize;
        out.extend_from_slice(&self.bytes.to_le_bytes());
        out.truncate(end);
    }

    /// Without its first bytes.
    #[inline]
    pub(super) fn behind(self, skip: usize) -> Packed {
        Packed {
            bytes: self.bytes >> (8 * skip),
            len: self.len - skip as u32,
        }
    }
}

/// Opcodes behind the indent of a statement, and qualifiers with their dots.
pub(super) struct Words {
    pub(super) ops: Vec<Piece<32>>,
    pub(super) quals: Vec<Piece<32>>,
}

pub(super) static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let piece = |text: String| {
        Piece::new(text.as_bytes()).unwrap_or(Piece {
            bytes: [b'?'; 32],
            len: 32,
        })
    };
    let types = Type::ALL.iter().map(|ty| Qual::T(*ty));
    let quals = types.chain(Qual::WORDS.iter().copied());
    Words {
        ops: Op::ALL
            .iter()
            .map(|op| piece(op.name().to_owned()))
            .collect(),
        quals: quals
            .map(|qual| piece(format!(".{}", qual.name())))
            .collect(),
    }
});

/// Whether two texts are equal: mostly they are one text.
pub(super) fn same(a: &str, b: &str) -> bool {
    std::ptr::eq(a, b) || a == b
}

/// Appends a number in decimal.
pub(super) fn decimal(out: &mut Vec<u8>, mut value: u64) {
    if value < 10 {
        out.push(b'0' + value as u8);
        return;
    }
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    while value > 0 {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    out.extend_from_slice(&digits[at..]);
}
