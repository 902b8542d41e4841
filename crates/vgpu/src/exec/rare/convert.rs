//! Conversions with a direction, saturation or format that is seldom used.

use super::{
    arith::{MODES, mode},
    rule::{Rule, apply},
    soft::{BF16, E4M3, E5M2, F16, F32, F64, Format, Mode, Num, TF32, add},
};
use crate::{build::Lowerer, error::Error};
use warpsmith_ptx::{
    ir::Inst,
    qual::Qual,
    types::{Type, TypeKind},
};

const FORMATS: [Format; 7] = [F16, BF16, F32, F64, TF32, E4M3, E5M2];
const SAT: u64 = 1;
const FTZ: u64 = 2;
const RELU: u64 = 4;
/// Overflow goes to the largest number.
const FINITE: u64 = 8;
/// To an integer value of a floating-point type.
const INTEGRAL: u64 = 16;
/// Two sources to the halves of the destination, the first above; or the halves of one.
const TWO: u64 = 32;
/// Halfway cases go away from zero.
const AWAY: u64 = 64;
/// The halves of one source to the halves of the destination.
const SPLIT: u64 = 128;

fn format_of(ty: Type) -> Option<u64> {
    Some(match ty {
        Type::F16 | Type::F16x2 => 0,
        Type::BF16 | Type::BF16x2 => 1,
        Type::F32 => 2,
        Type::F64 => 3,
        Type::TF32 => 4,
        Type::E4M3x2 => 5,
        Type::E5M2x2 => 6,
        _ => return None,
    })
}

/// A type in 16 bits: a format below 8, else an integer's width and sign.
fn code(ty: Type) -> Option<u64> {
    match ty.kind() {
        TypeKind::Signed => Some(8 | u64::from(ty.bits()) << 4),
        TypeKind::Unsigned => Some(9 | u64::from(ty.bits()) << 4),
        _ => format_of(ty),
    }
}

struct Convert;
impl Rule for Convert {
    fn f([a, b, _]: [u64; 3], imm: u64) -> u64 {
        let flags = imm >> 48;
        let from = FORMATS[(imm >> 16 & 7) as usize % 7];
        let to = FORMATS[(imm & 7) as usize % 7];
        if flags & TWO != 0 {
            return one(a, imm) << to.width | one(b, imm);
        }
        if flags & SPLIT != 0 {
            return one(a >> from.width, imm) << to.width | one(a, imm);
        }
        one(a, imm)
    }
}

fn one(x: u64, imm: u64) -> u64 {
    let (to, from) = (imm & 0xFFFF, imm >> 16 & 0xFFFF);
    let mode = MODES[(imm >> 32 & 3) as usize];
    let has = |flag: u64| imm >> 48 & flag != 0;
    let number = if from >= 8 {
        let width = (from >> 4) as u32;
        let up = x << (64 - width);
        Num::integer(if from & 1 != 0 {
            i128::from(up >> (64 - width))
        } else {
            i128::from(up as i64 >> (64 - width))
        })
    } else {
        let format = FORMATS[from as usize % 7];
        let flush = has(FTZ) && format == F32;
        format.decode(if flush { format.flush(x) } else { x })
    };
    let number = if has(INTEGRAL) {
        number.integral(mode)
    } else {
        number
    };
    if to >= 8 {
        return integer(number.integral(mode), to);
    }
    let format = FORMATS[to as usize % 7];
    let number = if has(RELU) && number.is_negative() {
        Num::integer(0)
    } else {
        number
    };
    let mut bits = if has(AWAY) {
        away(format, number)
    } else {
        format.encode(number, mode)
    };
    let sign = 1u64 << (format.width - 1);
    if has(FINITE) && bits & !sign == format.infinity {
        bits = bits & sign | format.max;
    }
    if has(FTZ) && format == F32 {
        bits = format.flush(bits);
    }
    if has(SAT) {
        let one = format.encode(Num::integer(1), Mode::Nearest);
        bits = if bits & sign != 0 || format.is_nan(bits) {
            0
        } else {
            bits.min(one)
        };
    }
    if format == TF32 {
        // The canonical NaN has all of its bits.
        return if bits == TF32.nan {
            F32.nan
        } else {
            bits << 13
        };
    }
    bits
}

/// The nearest number, halfway cases away from zero.
fn away(format: Format, x: Num) -> u64 {
    let (low, high) = (format.encode(x, Mode::Zero), {
        let up = if x.is_negative() {
            Mode::Down
        } else {
            Mode::Up
        };
        format.encode(x, up)
    });
    let near = format.encode(x, Mode::Nearest);
    if low == high || near == high {
        return near;
    }
    // Nearest chose the smaller one: it is nearer, or the two are equally near.
    let sum = add(format.decode(low), format.decode(high), Mode::Nearest);
    let twice = add(x, x, Mode::Nearest);
    let halfway = F64.encode(sum, Mode::Nearest) == F64.encode(twice, Mode::Nearest);
    if halfway { high } else { low }
}

/// Clamped to the integer's range; NaN is 0, or the lowest number's pattern for 64 bits.
fn integer(x: Num, to: u64) -> u64 {
    let width = (to >> 4) as u32;
    let (low, high) = if to & 1 != 0 {
        (0, i128::from(u64::MAX >> (64 - width)))
    } else {
        let half = 1i128 << (width - 1);
        (-half, half - 1)
    };
    match x.to_integer() {
        Some(x) => x.clamp(low, high) as u64,
        None if width == 64 => 1 << 63,
        None => 0,
    }
}

/// `cvt`.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    let has = |word| inst.quals.has(word);
    let types: Vec<Type> = inst.quals.types().collect();
    if has(Qual::Pack) {
        return pack(l, inst, &types);
    }
    let [to, from] = types[..] else {
        return None;
    };
    let two = inst.operands.len() == 3;
    let paired = matches!(
        from,
        Type::F16x2 | Type::BF16x2 | Type::E4M3x2 | Type::E5M2x2
    );
    let integral = [Qual::Rni, Qual::Rzi, Qual::Rmi, Qual::Rpi];
    let flags = [
        (has(Qual::Sat), SAT),
        (has(Qual::Ftz), FTZ),
        (has(Qual::Relu), RELU),
        (has(Qual::Satfinite), FINITE),
        (integral.iter().any(|word| has(*word)), INTEGRAL),
        (two, TWO),
        (has(Qual::Rna), AWAY),
        (paired && !two, SPLIT),
    ];
    let flags = flags
        .iter()
        .filter(|(set, _)| *set)
        .fold(0, |all, (_, flag)| all | flag);
    let direction = MODES.iter().position(|m| *m == mode(inst)).unwrap_or(0) as u64;
    let imm = code(to)? | code(from)? << 16 | direction << 32 | flags << 48;
    let widths = if two {
        vec![from.bits(); 2]
    } else {
        vec![from.bits()]
    };
    Some(apply::<Convert>(l, inst, &widths, imm))
}

/// Two numbers clamped and packed, the second lowest; the third source, if any, is shifted in above.
struct Pack;
impl Rule for Pack {
    fn f([a, b, c]: [u64; 3], imm: u64) -> u64 {
        let width = imm >> 4;
        let clamp = |x: u64| {
            let number = Num::integer(i128::from(x as i32));
            integer(number, imm) & ((1 << width) - 1)
        };
        (clamp(b) | clamp(a) << width | c << (2 * width)) & 0xFFFF_FFFF
    }
}

fn pack(l: &mut Lowerer, inst: &Inst, types: &[Type]) -> Option<Result<(), Error>> {
    let to = *types.first()?;
    let imm = match to {
        Type::U4 => 9 | 4 << 4,
        Type::S4 => 8 | 4 << 4,
        _ => code(to)?,
    };
    let widths = vec![32; inst.operands.len() - 1];
    Some(apply::<Pack>(l, inst, &widths, imm))
}
