//! Arithmetic in the rounding directions, formats and variants that are seldom used.

use super::{
    rule::{Rule, apply},
    soft::{self, BF16, F16, F32, F64, Format, Mode},
};
use crate::{build::Lowerer, error::Error};
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual, types::Type};

/// What is asked of a floating-point instruction, packed into a constant of the op.
#[derive(Clone, Copy)]
struct Ask {
    op: Do,
    format: Format,
    mode: Mode,
    flags: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Do {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Rcp,
    Sqrt,
    Min,
    Max,
    Neg,
    Abs,
}

const OPS: [Do; 11] = [
    Do::Add,
    Do::Sub,
    Do::Mul,
    Do::Fma,
    Do::Div,
    Do::Rcp,
    Do::Sqrt,
    Do::Min,
    Do::Max,
    Do::Neg,
    Do::Abs,
];
const FORMATS: [Format; 4] = [F16, BF16, F32, F64];
pub(super) const MODES: [Mode; 4] = [Mode::Nearest, Mode::Zero, Mode::Down, Mode::Up];

/// Two numbers in one register.
const PAIR: u64 = 1;
const FTZ: u64 = 2;
const SAT: u64 = 4;
const RELU: u64 = 8;
/// A NaN wins a minimum or maximum.
const NAN: u64 = 16;
const XORSIGN: u64 = 32;
/// The least or greatest of three.
const THREE: u64 = 64;
/// Of magnitudes.
const ABS: u64 = 128;
/// All but the last source are `f16`, or `bf16`.
const FROM_F16: u64 = 256;
const FROM_BF16: u64 = 512;

impl Ask {
    fn pack(self) -> u64 {
        let find = |found: Option<usize>| found.unwrap_or(0) as u64;
        find(OPS.iter().position(|op| *op == self.op))
            | find(FORMATS.iter().position(|format| *format == self.format)) << 4
            | find(MODES.iter().position(|mode| *mode == self.mode)) << 8
            | self.flags << 12
    }

    fn unpack(imm: u64) -> Ask {
        Ask {
            op: OPS[(imm & 15) as usize % OPS.len()],
            format: FORMATS[(imm >> 4 & 3) as usize],
            mode: MODES[(imm >> 8 & 3) as usize],
            flags: imm >> 12,
        }
    }

    fn has(self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    /// One number.
    fn number(self, x: [u64; 3]) -> u64 {
        let Ask {
            op, format, mode, ..
        } = self;
        let mask = u64::MAX >> (64 - format.width);
        let x = x.map(|x| {
            if self.has(FTZ) {
                format.flush(x & mask)
            } else {
                x & mask
            }
        });
        let [a, b, c] = x.map(|x| format.decode(x));
        let sign = 1 << (format.width - 1);
        let bits = match op {
            Do::Add => format.encode(soft::add(a, b, mode), mode),
            Do::Sub => format.encode(soft::sub(a, b, mode), mode),
            Do::Mul => format.encode(soft::mul(a, b), mode),
            Do::Fma => format.encode(soft::add(soft::mul(a, b), c, mode), mode),
            Do::Div => format.encode(soft::div(a, b), mode),
            Do::Rcp => format.encode(soft::div(soft::Num::integer(1), a), mode),
            Do::Sqrt => format.encode(soft::sqrt(a), mode),
            Do::Min | Do::Max => {
                let [a, b, c] = x.map(|x| if self.has(ABS) { x & !sign } else { x });
                let two = self.extreme(a, b);
                if self.has(THREE) {
                    self.extreme(two, c)
                } else {
                    two
                }
            }
            Do::Neg => x[0] ^ sign,
            Do::Abs => x[0] & !sign,
        };
        let bits = if self.has(FTZ) {
            format.flush(bits)
        } else {
            bits
        };
        let negative = bits & sign != 0;
        let nan = format.is_nan(bits);
        if self.has(RELU) && negative && !nan {
            return 0;
        }
        if !self.has(SAT) {
            return bits;
        }
        let one = format.encode(soft::Num::integer(1), Mode::Nearest);
        if nan || negative { 0 } else { bits.min(one) }
    }

    /// Sources of one format, the instruction's.
    fn widened(self, [a, b, c]: [u64; 3]) -> [u64; 3] {
        let from = match () {
            () if self.has(FROM_F16) => F16,
            () if self.has(FROM_BF16) => BF16,
            () => return [a, b, c],
        };
        let wide = |x: u64| {
            let x = from.decode(x & (u64::MAX >> (64 - from.width)));
            self.format.encode(x, Mode::Nearest)
        };
        match self.op {
            Do::Fma => [wide(a), wide(b), c],
            _ => [wide(a), b, c],
        }
    }

    fn extreme(self, a: u64, b: u64) -> u64 {
        let sign = 1u64 << (self.format.width - 1);
        let flip = if self.has(XORSIGN) { (a ^ b) & sign } else { 0 };
        let magnitude = |x: u64| if self.has(XORSIGN) { x & !sign } else { x };
        let (a, b) = (magnitude(a), magnitude(b));
        let key = |x: u64| {
            let magnitude = (x & (sign - 1)) as i64;
            if x & sign != 0 { !magnitude } else { magnitude }
        };
        let (na, nb) = (self.format.is_nan(a), self.format.is_nan(b));
        if na && nb || self.has(NAN) && (na || nb) {
            return self.format.nan;
        }
        let first = if na || nb {
            nb
        } else {
            (key(a) < key(b)) == (self.op == Do::Min)
        };
        (if first { a } else { b }) | flip
    }
}

/// The lesser or the greater of two `f32`, which loses to or wins from a NaN.
pub(super) fn extreme(a: u32, b: u32, greatest: bool, nan: bool) -> u32 {
    let ask = Ask {
        op: if greatest { Do::Max } else { Do::Min },
        format: F32,
        mode: Mode::Nearest,
        flags: if nan { NAN } else { 0 },
    };
    ask.extreme(u64::from(a), u64::from(b)) as u32
}

struct Number;
impl Rule for Number {
    fn f(x: [u64; 3], imm: u64) -> u64 {
        let ask = Ask::unpack(imm);
        if !ask.has(PAIR) {
            return ask.number(ask.widened(x));
        }
        let width = ask.format.width;
        ask.number(x) | ask.number(x.map(|x| x >> width)) << width
    }
}

/// The direction that an instruction names.
pub(super) fn mode(inst: &Inst) -> Mode {
    let has = |word| inst.quals.has(word);
    if has(Qual::Rz) || has(Qual::Rzi) {
        Mode::Zero
    } else if has(Qual::Rm) || has(Qual::Rmi) {
        Mode::Down
    } else if has(Qual::Rp) || has(Qual::Rpi) {
        Mode::Up
    } else {
        Mode::Nearest
    }
}

/// Floating-point arithmetic; `None` for other instructions.
pub(super) fn float(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    let mut types = inst.quals.types();
    let (ty, small) = (types.next()?, types.next());
    let has = |word| inst.quals.has(word);
    let (format, pair) = match ty {
        Type::F16 => (F16, false),
        Type::BF16 => (BF16, false),
        Type::F32 => (F32, false),
        Type::F64 => (F64, false),
        Type::F16x2 => (F16, true),
        Type::BF16x2 => (BF16, true),
        Type::F32x2 => (F32, true),
        _ => return None,
    };
    if has(Qual::Approx) || has(Qual::Full) {
        return None;
    }
    let op = match inst.op {
        Op::Add => Do::Add,
        Op::Sub => Do::Sub,
        Op::Mul => Do::Mul,
        Op::Fma | Op::Mad => Do::Fma,
        Op::Div => Do::Div,
        Op::Rcp => Do::Rcp,
        Op::Sqrt => Do::Sqrt,
        Op::Min => Do::Min,
        Op::Max => Do::Max,
        Op::Neg => Do::Neg,
        Op::Abs => Do::Abs,
        _ => return None,
    };
    let flags = [
        (pair, PAIR),
        (has(Qual::Ftz), FTZ),
        (has(Qual::Sat), SAT),
        (has(Qual::Relu), RELU),
        (has(Qual::NaN), NAN),
        (has(Qual::Xorsign), XORSIGN),
        (has(Qual::Abs) && !has(Qual::Xorsign), ABS),
        (
            matches!(op, Do::Min | Do::Max) && inst.operands.len() == 4,
            THREE,
        ),
        (small == Some(Type::F16), FROM_F16),
        (small == Some(Type::BF16), FROM_BF16),
    ];
    let ask = Ask {
        op,
        format,
        mode: mode(inst),
        flags: flags
            .iter()
            .filter(|(set, _)| *set)
            .fold(0, |all, (_, flag)| all | flag),
    };
    let mut widths = vec![ty.bits(); inst.operands.len() - 1];
    if let (Some(small), [first @ .., _]) = (small, &mut widths[..]) {
        first.fill(small.bits());
    }
    (widths.len() <= 3).then(|| apply::<Number>(l, inst, &widths, ask.pack()))
}

/// Integer sums, minima and maxima of two halves, or of one number with `.relu`.
struct Halves;
impl Rule for Halves {
    fn f([a, b, _]: [u64; 3], imm: u64) -> u64 {
        let (op, width) = (imm & 3, (imm >> 8) as u32);
        let (signed, relu) = (imm & 4 != 0, imm & 8 != 0);
        let one = |a: u64, b: u64| {
            let wide = |x: u64| {
                let x = (x << (64 - width)) as i64;
                if signed {
                    x >> (64 - width)
                } else {
                    (x as u64 >> (64 - width)) as i64
                }
            };
            let (a, b) = (wide(a), wide(b));
            let x = match op {
                0 => a.wrapping_add(b),
                1 => a.min(b),
                _ => a.max(b),
            };
            (if relu { x.max(0) } else { x }) as u64 & (u64::MAX >> (64 - width))
        };
        if width == 32 {
            one(a, b)
        } else {
            one(a, b) | one(a >> 16, b >> 16) << 16
        }
    }
}

/// Integer arithmetic; `None` for other instructions.
pub(super) fn integer(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    let ty = inst.quals.types().next()?;
    let op = match inst.op {
        Op::Add => 0,
        Op::Min => 1,
        Op::Max => 2,
        Op::Mad24 => return Some(apply::<Mad24HiSat>(l, inst, &[32, 32, 32], 0)),
        _ => return None,
    };
    let (signed, width) = match ty {
        Type::U16x2 => (0, 16),
        Type::S16x2 => (4, 16),
        Type::S32 if inst.quals.has(Qual::Relu) => (4, 32),
        _ => return None,
    };
    let relu = if inst.quals.has(Qual::Relu) { 8 } else { 0 };
    let imm = op | signed | relu | width << 8;
    Some(apply::<Halves>(l, inst, &[32, 32], imm))
}

struct Mad24HiSat;
impl Rule for Mad24HiSat {
    fn f([a, b, c]: [u64; 3], _: u64) -> u64 {
        let low = |x: u64| i64::from((x as i32) << 8 >> 8);
        let high = (low(a) * low(b)) >> 16;
        u64::from((high as i32).saturating_add(c as i32) as u32)
    }
}
