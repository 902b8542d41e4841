//! Which bytes of a result the bytes of a source reach, for instructions that hand undefined bytes on.

use crate::exec::Reach;
use warpsmith_ptx::{
    ir::{Imm, Inst, Operand},
    op::Op,
    qual::Qual,
    types::Type,
};

/// Each byte, moved up by `by` bytes.
pub(super) fn moved(by: i32) -> Reach {
    gather(|byte| bits(8 * (byte + by), 8))
}

/// The `width` bits from bit `at` on, as the bytes they are in.
fn bits(at: i32, width: i32) -> u8 {
    if width <= 0 {
        return 0;
    }
    (0..8)
        .filter(|byte| at < 8 * (byte + 1) && at + width > 8 * byte)
        .fold(0, |all, byte| all | 1 << byte)
}

fn gather(to: impl Fn(i32) -> u8) -> Reach {
    (0..8).fold(0, |all, byte| all | Reach::from(to(byte)) << (8 * byte))
}

fn constant(operand: Option<&Operand>) -> Option<u64> {
    match operand {
        Some(Operand::Imm(Imm::Int(value))) => Some(*value as u64),
        Some(Operand::Imm(Imm::Uint(value))) => Some(*value),
        _ => None,
    }
}

/// All that may reach the first bytes.
pub(super) fn within(bytes: u32) -> Reach {
    ((1u64 << bytes.min(8)) - 1) * 0x0101_0101_0101_0101
}

/// Whom the bytes of source `at` (from 0 on) of a copy or a bit operation reach, in a result of `bytes`.
pub(super) fn of(inst: &Inst, at: usize, bytes: u32) -> Reach {
    let every = within(bytes);
    let sources = inst.operands.get(1..).unwrap_or_default();
    let source = |at: usize| constant(sources.get(at));
    let size = inst.quals.types().last().map_or(32, Type::bits) as i32;
    let signed = inst.quals.types().last().is_some_and(Type::is_signed);
    let reach = match (inst.op, sources.len()) {
        (Op::Mov | Op::Cvta | Op::Or | Op::Xor | Op::Not | Op::Lop3, _) => moved(0),
        // A mask of constants makes bytes defined.
        (Op::And, _) => match source(1) {
            Some(mask) => gather(|byte| {
                let kept = mask >> (8 * byte) & 0xFF != 0;
                if kept { 1 << byte } else { 0 }
            }),
            None => moved(0),
        },
        (Op::Cvt, _) if inst.quals.has(Qual::Sat) => every,
        (Op::Cvt, _) => match inst.quals.types().next() {
            Some(to) if (to.bits() as i32) < size => slice(0, to.bits() as i32, to.is_signed()),
            _ => slice(0, size, signed),
        },
        (Op::Shl, _) if at == 0 => match source(1) {
            Some(by) => gather(|byte| bits(8 * byte + by.min(64) as i32, 8)),
            None => every,
        },
        (Op::Shr, _) if at == 0 => match source(1) {
            Some(by) => {
                let by = (by.min(size as u64)) as i32;
                slice(by, (size - by).max(1), signed)
            }
            None => every,
        },
        (Op::Bfe, _) if at == 0 => match (source(1), source(2)) {
            (Some(from), Some(len)) if len > 0 && from < size as u64 => {
                let (from, len) = (from as i32, len.min(64) as i32);
                slice(from, len.min(size - from), signed)
            }
            _ => every,
        },
        (Op::Bfi, 4) => match (source(2), source(3)) {
            (Some(to), Some(len)) if to <= 64 && len <= 64 => {
                let (to, len) = (to as i32, len as i32);
                gather(|byte| match at {
                    0 => bits(8 * byte + to, 8.min(len - 8 * byte)),
                    _ if 8 * byte >= to && 8 * byte + 8 <= to + len => 0,
                    _ => 1 << byte,
                })
            }
            _ => every,
        },
        (Op::Prmt, 3) if at < 2 && inst.quals.as_slice().len() == 1 => match source(2) {
            Some(picks) => gather(|byte| {
                let picked = |to: &u32| (picks >> (4 * to) & 7) as i32 == byte + 4 * at as i32;
                if byte < 4 {
                    (0..4).filter(picked).fold(0, |all, to| all | 1 << to)
                } else {
                    0
                }
            }),
            None => every,
        },
        _ => every,
    };
    reach & every
}

/// Bits `from..from + len` come to the bottom; the last is repeated upwards if it is `signed`.
fn slice(from: i32, len: i32, signed: bool) -> Reach {
    gather(|byte| {
        let first = (8 * byte).max(from);
        let last = (8 * byte + 8).min(from + len);
        if first >= last {
            return 0;
        }
        let up = if signed && last == from + len {
            64
        } else {
            last - first
        };
        bits(first - from, up)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_where_their_bits_go() {
        assert_eq!(moved(0), 0x8040_2010_0804_0201);
        assert_eq!(moved(1), 0x0080_4020_1008_0402);
        assert_eq!(moved(-4), 0x0804_0201_0000_0000);
        assert_eq!(slice(16, 16, false), 0x0201_0000);
        assert_eq!(slice(12, 20, false), 0x0603_0100);
        assert_eq!(slice(0, 8, true), 0xFF);
        assert_eq!(slice(0, 8, false), 1);
    }
}
