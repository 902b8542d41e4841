//! Short texts that are copied as blocks: words of instructions and names of registers.

use crate::{ir::Imm, op::Op, qual::Qual, types::Type};
use std::sync::LazyLock;

/// Text that grows: blocks are written whole at its end, and of each only the first bytes stay.
pub(super) struct Text {
    bytes: Vec<u8>,
    /// Bytes of text; those behind are room.
    len: usize,
}

impl Text {
    pub(super) fn with_room(bytes: usize) -> Text {
        Text {
            bytes: vec![0; bytes],
            len: 0,
        }
    }

    /// The first `len` bytes of a block.
    #[inline]
    pub(super) fn block<const N: usize>(&mut self, block: &[u8; N], len: usize) {
        let end = self.len + N;
        if end > self.bytes.len() {
            self.grow(end);
        }
        self.bytes[self.len..end].copy_from_slice(block);
        self.len += len;
    }

    /// Room for what is surely shorter: its end is kept in a register.
    #[inline]
    pub(super) fn line(&mut self) -> Line<'_> {
        let end = self.len + ROOM;
        if end > self.bytes.len() {
            self.grow(end);
        }
        let room = self.bytes[self.len..end].first_chunk_mut();
        Line {
            room: room.expect("as long as it was cut"),
            len: 0,
        }
    }

    /// What was written to a line stays.
    #[inline]
    pub(super) fn keep(&mut self, len: usize) {
        self.len += len;
    }

    #[inline]
    pub(super) fn put(&mut self, text: &[u8]) {
        let end = self.len + text.len();
        if end > self.bytes.len() {
            self.grow(end);
        }
        self.bytes[self.len..end].copy_from_slice(text);
        self.len = end;
    }

    #[cold]
    fn grow(&mut self, least: usize) {
        self.bytes.resize(least.max(2 * self.bytes.len()), 0);
    }

    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.truncate(self.len);
        self.bytes
    }
}

/// Bytes of a [`Line`]: enough for an opcode, all qualifiers and the block of a name.
const ROOM: usize = 1024;

/// The start of a line.
pub(super) struct Line<'t> {
    room: &'t mut [u8; ROOM],
    pub(super) len: usize,
}

impl Line<'_> {
    #[inline]
    pub(super) fn piece(&mut self, piece: &Piece<32>) {
        self.room[self.len..self.len + 32].copy_from_slice(&piece.bytes);
        self.len += piece.len;
    }

    #[inline]
    pub(super) fn name(&mut self, name: Packed) {
        self.room[self.len..self.len + 16].copy_from_slice(&name.0.to_le_bytes());
        self.len += name.len() as usize;
    }

    /// Whether another operand fits.
    #[inline]
    pub(super) fn fits(&self) -> bool {
        self.len + 96 <= ROOM
    }

    #[inline]
    pub(super) fn block<const N: usize>(&mut self, block: [u8; N]) {
        self.room[self.len..self.len + N].copy_from_slice(&block);
        self.len += N;
    }

    /// A number in decimal.
    #[inline]
    pub(super) fn number(&mut self, value: u64) {
        let digit = |value: u64| b'0' + (value % 10) as u8;
        match value {
            0..10 => self.block([digit(value)]),
            10..100 => self.block([digit(value / 10), digit(value)]),
            100..1000 => self.block([digit(value / 100), digit(value / 10), digit(value)]),
            _ => {
                self.number(value / 10);
                self.block([digit(value)]);
            }
        }
    }

    #[inline]
    pub(super) fn signed(&mut self, value: i64) {
        if value < 0 {
            self.block([b'-']);
        }
        self.number(value.unsigned_abs());
    }

    /// A constant: floating-point numbers by their bits.
    #[inline]
    pub(super) fn imm(&mut self, imm: Imm) {
        match imm {
            Imm::Int(value) => self.signed(value),
            Imm::Uint(value) => self.number(value),
            Imm::F32(bits) => {
                self.block(*b"0f");
                self.hex::<8>(bits.into());
            }
            Imm::F64(bits) => {
                self.block(*b"0d");
                self.hex::<16>(bits);
            }
        }
    }

    #[inline]
    fn hex<const N: usize>(&mut self, bits: u64) {
        let digit = |at: usize| b"0123456789ABCDEF"[(bits >> (4 * (N - 1 - at)) & 15) as usize];
        self.block::<N>(std::array::from_fn(digit));
    }
}

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
}

/// A short name as a number, its first byte the lowest and its length the highest: building it byte by byte in memory, and
/// then reading it as a whole, would make each wait for the other. 0 is no name.
#[derive(Clone, Copy)]
pub(super) struct Packed(u128);

impl Packed {
    pub(super) const NONE: Packed = Packed(0);

    /// Where the length is.
    const LEN: u32 = 120;

    /// `None` if it is too long.
    pub(super) fn new(text: &[u8]) -> Option<Packed> {
        let mut bytes = [0; 16];
        bytes[..15].get_mut(..text.len())?.copy_from_slice(text);
        bytes[15] = text.len() as u8;
        Some(Packed(u128::from_le_bytes(bytes)))
    }

    #[inline]
    fn len(self) -> u32 {
        (self.0 >> Packed::LEN) as u32
    }

    #[inline]
    pub(super) fn is_none(self) -> bool {
        self.0 == 0
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
        let len = self.len();
        (len + count <= 15).then(|| {
            let longer = self.0 + (u128::from(count) << Packed::LEN);
            Packed(longer | digits << (8 * len))
        })
    }

    /// What makes the last digit one greater, where it is not 9.
    pub(super) fn step(self) -> u128 {
        1 << (8 * (self.len() - 1))
    }

    /// With the last digit one greater by a [`Packed::step`] of the same length.
    #[inline]
    pub(super) fn plus(self, step: u128) -> Packed {
        Packed(self.0 + step)
    }

    /// Without its first `SKIP` bytes.
    #[inline]
    pub(super) fn behind<const SKIP: u32>(self) -> Packed {
        let bytes = self.0 & ((1 << Packed::LEN) - 1);
        let len = (self.0 >> Packed::LEN) - u128::from(SKIP);
        Packed(bytes >> (8 * SKIP) | len << Packed::LEN)
    }

    #[inline]
    pub(super) fn append(self, out: &mut Text) {
        out.block(&self.0.to_le_bytes(), self.len() as usize);
    }
}

/// Opcodes alone and behind the indent of a statement, and qualifiers with their dots.
pub(super) struct Words {
    pub(super) ops: Vec<Piece<32>>,
    pub(super) indented: Vec<Piece<32>>,
    pub(super) quals: Vec<Piece<32>>,
}

/// What stands before a statement.
pub(super) const INDENT: &str = "    ";

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
        indented: Op::ALL
            .iter()
            .map(|op| piece(format!("{INDENT}{}", op.name())))
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
