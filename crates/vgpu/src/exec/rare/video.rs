//! Video instructions: integers of 32 bits, or two halves or four bytes of them, with something done to the result
//! (PTX ISA 9.7.19).
//!
//! Between the operation and what is done next nothing is lost: only `.sat` limits the result to what its type, or a half or a
//! byte of that sign, has. Sums of halves and bytes (`.add`) take up the results as they are.

use super::rule::{Rule, apply};
use crate::{build::Lowerer, error::Error};
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual, types::Type};

/// What is asked of an instruction, packed into a constant of the op.
#[derive(Clone, Copy)]
struct Ask {
    what: u64,
    /// Which of the result and the sources have signs.
    signs: [bool; 3],
    saturates: bool,
    wraps: bool,
    second: u64,
    /// How many parts a register has.
    parts: u32,
    compares: u64,
}

const ADD: u64 = 0;
const SUB: u64 = 1;
const DIFFERENCE: u64 = 2;
const MIN: u64 = 3;
const MAX: u64 = 4;
const SHL: u64 = 5;
const SHR: u64 = 6;
const MAD: u64 = 7;
const SET: u64 = 8;
const AVERAGE: u64 = 9;

const SECOND: [Qual; 3] = [Qual::Add, Qual::Min, Qual::Max];
const COMPARISONS: [Qual; 6] = [Qual::Eq, Qual::Ne, Qual::Lt, Qual::Le, Qual::Gt, Qual::Ge];

impl Ask {
    fn of(inst: &Inst) -> Option<Ask> {
        let (what, parts) = match inst.op {
            Op::Vadd => (ADD, 1),
            Op::Vsub => (SUB, 1),
            Op::Vabsdiff => (DIFFERENCE, 1),
            Op::Vmin => (MIN, 1),
            Op::Vmax => (MAX, 1),
            Op::Vshl => (SHL, 1),
            Op::Vshr => (SHR, 1),
            Op::Vmad => (MAD, 1),
            Op::Vset => (SET, 1),
            Op::Vadd2 => (ADD, 2),
            Op::Vsub2 => (SUB, 2),
            Op::Vavrg2 => (AVERAGE, 2),
            Op::Vabsdiff2 => (DIFFERENCE, 2),
            Op::Vmin2 => (MIN, 2),
            Op::Vmax2 => (MAX, 2),
            Op::Vset2 => (SET, 2),
            Op::Vadd4 => (ADD, 4),
            Op::Vsub4 => (SUB, 4),
            Op::Vavrg4 => (AVERAGE, 4),
            Op::Vabsdiff4 => (DIFFERENCE, 4),
            Op::Vmin4 => (MIN, 4),
            Op::Vmax4 => (MAX, 4),
            Op::Vset4 => (SET, 4),
            _ => return None,
        };
        let types = inst.quals.types().map(Type::is_signed);
        // The result of a comparison has no type of its own, and no sign.
        let own = (what == SET).then_some(false);
        let signs: Vec<bool> = own.into_iter().chain(types).collect();
        let has = |word: &Qual| inst.quals.has(*word);
        Some(Ask {
            what,
            signs: signs.try_into().ok()?,
            saturates: inst.quals.has(Qual::Sat),
            wraps: inst.quals.has(Qual::Wrap),
            second: SECOND.iter().position(has).map_or(0, |at| at as u64 + 1),
            parts,
            compares: COMPARISONS.iter().position(has).unwrap_or(0) as u64,
        })
    }

    fn pack(self) -> u64 {
        let [result, a, b] = self.signs.map(u64::from);
        let flags = result | a << 1 | b << 2 | u64::from(self.saturates) << 3;
        let more = u64::from(self.wraps) << 4 | self.second << 5 | u64::from(self.parts) << 7;
        flags | more | self.compares << 10 | self.what << 13
    }

    fn unpack(imm: u64) -> Ask {
        let bit = |at: u32| imm >> at & 1 != 0;
        Ask {
            what: imm >> 13,
            signs: [bit(0), bit(1), bit(2)],
            saturates: bit(3),
            wraps: bit(4),
            second: imm >> 5 & 3,
            parts: (imm >> 7 & 7) as u32,
            compares: imm >> 10 & 7,
        }
    }

    /// The operation, and its limits.
    fn part(self, a: i128, b: i128, c: i128) -> i128 {
        let result = match self.what {
            ADD => a + b,
            SUB => a - b,
            DIFFERENCE => (a - b).abs(),
            MIN => a.min(b),
            MAX => a.max(b),
            SHL => a << self.distance(b),
            SHR => a >> self.distance(b),
            MAD => a * b + c,
            AVERAGE => (a + b + i128::from(a + b >= 0)) >> 1,
            _ => {
                let holds = match self.compares {
                    0 => a == b,
                    1 => a != b,
                    2 => a < b,
                    3 => a <= b,
                    4 => a > b,
                    _ => a >= b,
                };
                i128::from(holds)
            }
        };
        if !self.saturates {
            return result;
        }
        let bits = 32 / self.parts;
        let (low, high) = match self.is_signed() {
            true => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            false => (0, (1i128 << bits) - 1),
        };
        result.clamp(low, high)
    }

    /// Whether the result has a sign: of `vmad` that of the sources decides.
    fn is_signed(self) -> bool {
        let [result, a, b] = self.signs;
        if self.what == MAD { a || b } else { result }
    }

    fn distance(self, b: i128) -> u32 {
        let b = b as u32;
        if self.wraps { b & 31 } else { b.min(32) }
    }
}

/// A part of a register as a number.
fn part(x: u64, at: u32, parts: u32, signed: bool) -> i128 {
    let bits = 32 / parts;
    let raw = x as u32 >> (at * bits) << (32 - bits);
    if signed {
        i128::from(raw as i32 >> (32 - bits))
    } else {
        i128::from(raw >> (32 - bits))
    }
}

struct Video;
impl Rule for Video {
    fn f([a, b, c]: [u64; 3], imm: u64) -> u64 {
        let ask = Ask::unpack(imm);
        let third = part(c, 0, 1, ask.is_signed());
        let parts = (0..ask.parts).map(|at| {
            let [a, b] = [(a, ask.signs[1]), (b, ask.signs[2])]
                .map(|(x, signed)| part(x, at, ask.parts, signed));
            ask.part(a, b, third)
        });
        let result = match (ask.parts, ask.second) {
            (1, 0) => parts.sum::<i128>(),
            (_, 1) => parts.sum::<i128>() + third,
            (1, second) => {
                let first = parts.sum::<i128>();
                if second == 2 {
                    first.min(third)
                } else {
                    first.max(third)
                }
            }
            (count, _) => {
                let bits = 32 / count;
                let all = parts.zip(0..).map(|(part, at)| {
                    let inside = part as u32 & (u32::MAX >> (32 - bits));
                    i128::from(inside << (at * bits))
                });
                all.sum()
            }
        };
        u64::from(result as u32)
    }
}

/// A video instruction; `None` for others.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    let ask = Ask::of(inst)?;
    let widths = vec![32; inst.operands.len() - 1];
    Some(apply::<Video>(l, inst, &widths, ask.pack()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(what: u64, parts: u32, signs: [bool; 3]) -> Ask {
        Ask {
            what,
            signs,
            saturates: false,
            wraps: false,
            second: 0,
            parts,
            compares: 0,
        }
    }

    #[test]
    fn what_is_asked_survives_its_packing() {
        let mut asked = ask(AVERAGE, 4, [true, false, true]);
        (asked.saturates, asked.second, asked.compares) = (true, 3, 5);
        let again = Ask::unpack(asked.pack());
        assert_eq!(asked.pack(), again.pack());
        assert_eq!((again.what, again.parts, again.second), (AVERAGE, 4, 3));
    }

    #[test]
    fn nothing_is_lost_before_the_second_operation() {
        let run = |ask: Ask, x: [u32; 3]| Video::f(x.map(u64::from), ask.pack()) as u32;
        let mut max = ask(ADD, 1, [true; 3]);
        max.second = 3;
        // 2^31 is more than any number of 32 bits with a sign.
        assert_eq!(run(max, [0x7FFF_FFFF, 1, 5]), 0x8000_0000);
        max.saturates = true;
        assert_eq!(run(max, [0x7FFF_FFFF, 1, 5]), 0x7FFF_FFFF);
        let mut bytes = ask(ADD, 4, [false; 3]);
        assert_eq!(run(bytes, [0xFF01_0203, 0x0201_0101, 9]), 0x0102_0304);
        bytes.second = 1;
        assert_eq!(
            run(bytes, [0xFF01_0203, 0x0201_0101, 9]),
            0x101 + 2 + 3 + 4 + 9
        );
    }
}
