//! Comparisons of halves, tests of floats, and other single instructions that are seldom run.

use super::{
    super::{
        approx, generic,
        half::{Bf16, F16, Small},
        operand,
    },
    rule::{Cells, CellsAt, Rule, apply, emit},
    soft::{self, F32, F64, Format},
};
use crate::{analysis::roles, build::Lowerer, error::Error, memory::GLOBAL_BASE};
use warpsmith_ptx::{
    ir::{Imm, Inst, Operand},
    op::Op,
    qual::Qual,
    types::{Space, Type},
};

/// `testp`: `imm` is the index of the test, plus 8 for `f64`.
struct Testp;
impl Rule for Testp {
    fn f([a, _, _]: [u64; 3], imm: u64) -> u64 {
        let format = if imm & 8 != 0 { F64 } else { F32 };
        let a = a & (u64::MAX >> (64 - format.width));
        let magnitude = a & !(1 << (format.width - 1));
        let subnormal = format.is_subnormal(a);
        u64::from(match imm & 7 {
            0 => magnitude < format.infinity,
            1 => magnitude == format.infinity,
            2 => magnitude <= format.infinity,
            3 => magnitude > format.infinity,
            // Zeros count as normal numbers.
            4 => magnitude < format.infinity && !subnormal,
            _ => subnormal,
        })
    }
}

const TESTS: [Qual; 6] = [
    Qual::Finite,
    Qual::Infinite,
    Qual::Number,
    Qual::Notanumber,
    Qual::Normal,
    Qual::Subnormal,
];

/// The place of the n-th set bit from a base, up or down.
struct Fns;
impl Rule for Fns {
    fn f([mask, base, offset]: [u64; 3], _: u64) -> u64 {
        let (mask, base, offset) = (mask as u32, base as u32, offset as i32);
        let set = |at: i64| (0..32).contains(&at) && mask >> at & 1 != 0;
        let mut at = i64::from(base);
        if offset == 0 {
            return if set(at) { at as u64 } else { 0xFFFF_FFFF };
        }
        let mut left = offset.unsigned_abs();
        while (0..32).contains(&at) {
            if set(at) {
                left -= 1;
                if left == 0 {
                    return at as u64;
                }
            }
            at += i64::from(offset.signum());
        }
        0xFFFF_FFFF
    }
}

/// A constant.
struct Constant;
impl Rule for Constant {
    fn f(_: [u64; 3], imm: u64) -> u64 {
        imm
    }
}

/// `lop3` with its table in the low byte of `imm`; the result's truth with a predicate if bit 8 is set:
/// or, and with bit 9.
struct Lop3;
impl Rule for Lop3 {
    fn f([a, b, c]: [u64; 3], imm: u64) -> u64 {
        (0..8).fold(0, |out, k| {
            let term = |x: u64, bit: u64| if k & bit != 0 { x } else { !x };
            if imm >> k & 1 != 0 {
                out | term(a, 4) & term(b, 2) & term(c, 1) & 0xFFFF_FFFF
            } else {
                out
            }
        })
    }
}

/// Whether a 32-bit number is not zero, combined with a predicate: or, and if `imm` is 1.
struct Truth;
impl Rule for Truth {
    fn f([a, p, _]: [u64; 3], imm: u64) -> u64 {
        let a = u64::from(a as u32 != 0);
        if imm == 1 { a & p } else { a | p }
    }
}

fn lop3(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let Operand::Imm(Imm::Int(table)) = operand(l, inst, 4)? else {
        return Err(l.unsupported(inst));
    };
    let Operand::Pair(pair) = operand(l, inst, 0)? else {
        return Err(l.unsupported(inst));
    };
    let mut sources = Vec::new();
    for at in 1..4 {
        sources.push(CellsAt::source(l, operand(l, inst, at)?, 32)?);
    }
    let q = CellsAt::source(l, operand(l, inst, 5)?, 32)?;
    // Through a temporary: the destination may be a source of the second step.
    let value = CellsAt {
        slot: l.temp(),
        cells: Cells::Narrow,
    };
    emit::<Lop3>(l, value, &sources, *table as u64 & 0xFF);
    let and = u64::from(inst.quals.has(Qual::And));
    if pair.1 != Operand::Sink {
        let p = CellsAt::target(l, &pair.1)?;
        emit::<Truth>(l, p, &[value, q], and);
    }
    if pair.0 != Operand::Sink {
        let d = CellsAt::target(l, &pair.0)?;
        emit::<Lop3>(l, d, &sources, *table as u64 & 0xFF);
    }
    Ok(())
}

/// Whether an address is in the window of `b` bytes at `a`... of `imm` bytes at `b`.
struct Inside;
impl Rule for Inside {
    fn f([a, start, before]: [u64; 3], imm: u64) -> u64 {
        before | u64::from(a.wrapping_sub(start) < imm)
    }
}

/// Whether a predicate holds and another does not.
struct ButNot;
impl Rule for ButNot {
    fn f([a, b, _]: [u64; 3], _: u64) -> u64 {
        a & !b & 1
    }
}

/// `isspacep`: constants stand in device memory, in ranges of their own.
fn isspacep(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let space = roles::space(inst);
    if matches!(space, Space::Shared | Space::Local | Space::Param) {
        let (to, address) = (operand(l, inst, 0)?, operand(l, inst, 1)?);
        return generic::emit_is_in(l, to, address, (space, inst.quals.has(Qual::SharedCluster)));
    }
    let a = CellsAt::source(l, operand(l, inst, 1)?, 64)?;
    let dst = CellsAt::target(l, operand(l, inst, 0)?)?;
    let mask = |l: &mut Lowerer| CellsAt {
        slot: l.temp(),
        cells: Cells::Mask,
    };
    let window = |l: &mut Lowerer, to: CellsAt, before: CellsAt, start: u64, size: u64| {
        let start = CellsAt {
            slot: l.constant(start).slot,
            cells: Cells::Scalar,
        };
        emit::<Inside>(l, to, &[a, start, before], size);
    };
    let no = CellsAt {
        slot: l.constant(0).slot,
        cells: Cells::Scalar,
    };
    let constants = mask(l);
    emit::<Constant>(l, constants, &[], 0);
    for (start, size) in l.constants() {
        window(l, constants, constants, start, size);
    }
    match space {
        Space::Const => emit::<ButNot>(l, dst, &[constants, no], 0),
        Space::Global => {
            let global = mask(l);
            window(l, global, no, GLOBAL_BASE, 1 << 48);
            emit::<ButNot>(l, dst, &[global, constants], 0);
        }
        Space::Shared | Space::Local | Space::Param | Space::Generic => {
            return Err(l.unsupported(inst));
        }
    }
    Ok(())
}

/// `tanh` and `ex2` of 16-bit floats: `imm` 1 for `ex2`, 2 for bf16, 4 for two halves, 8 for `.ftz`.
struct Function;
impl Rule for Function {
    fn f([a, _, _]: [u64; 3], imm: u64) -> u64 {
        fn one<S: Small>(x: u16, imm: u64, format: Format) -> u64 {
            let flush = |x: u64| if imm & 8 != 0 { format.flush(x) } else { x };
            let x = S::of_bits(flush(u64::from(x)) as u16).as_f32();
            let y = if imm & 1 != 0 {
                approx::exp2(x)
            } else {
                approx::tanh(x)
            };
            flush(u64::from(S::of_f32(y).bits()))
        }
        let half = |x: u64| {
            if imm & 2 != 0 {
                one::<Bf16>(x as u16, imm, soft::BF16)
            } else {
                one::<F16>(x as u16, imm, soft::F16)
            }
        };
        if imm & 4 != 0 {
            half(a) | half(a >> 16) << 16
        } else {
            half(a)
        }
    }
}

const COMPARE: [Qual; 14] = [
    Qual::Eq,
    Qual::Ne,
    Qual::Lt,
    Qual::Le,
    Qual::Gt,
    Qual::Ge,
    Qual::Equ,
    Qual::Neu,
    Qual::Ltu,
    Qual::Leu,
    Qual::Gtu,
    Qual::Geu,
    Qual::Num,
    Qual::Nan,
];

/// A comparison of 16-bit floats combined with a predicate.
///
/// `imm`: the comparison in 4 bits; how to combine (0 not, 1 and, 2 or, 3 xor) from bit 4; 64 for bf16, 128
/// for `.ftz`; the shift of the half from bit 8; 1 << 16 for the negated comparison.
fn compare([a, b, p]: [u64; 3], imm: u64) -> bool {
    let number = |x: u64| {
        let bits = (x >> (imm >> 8 & 31)) as u16;
        if imm & 64 != 0 {
            Bf16::of_bits(bits).as_f32()
        } else if imm & 128 != 0 {
            F16::of_bits(soft::F16.flush(u64::from(bits)) as u16).as_f32()
        } else {
            F16::of_bits(bits).as_f32()
        }
    };
    let (x, y) = (number(a), number(b));
    let apart = x.is_nan() || y.is_nan();
    let holds = match imm & 15 {
        0 => x == y,
        1 => x < y || x > y,
        2 => x < y,
        3 => x <= y,
        4 => x > y,
        5 => x >= y,
        6 => apart || x == y,
        7 => x != y,
        8 => apart || x < y,
        9 => apart || x <= y,
        10 => apart || x > y,
        11 => apart || x >= y,
        12 => !apart,
        _ => apart,
    };
    let holds = holds != (imm >> 16 & 1 != 0);
    let p = p & 1 != 0;
    match imm >> 4 & 3 {
        0 => holds,
        1 => holds && p,
        2 => holds || p,
        _ => holds != p,
    }
}

struct Compare;
impl Rule for Compare {
    fn f(x: [u64; 3], imm: u64) -> u64 {
        u64::from(compare(x, imm))
    }
}

/// `set`: what a half becomes stands from bit 32 on; two halves with bit 17.
struct Set;
impl Rule for Set {
    fn f(x: [u64; 3], imm: u64) -> u64 {
        let yes = imm >> 32;
        let one = |shift: u64| {
            if compare(x, imm & 0xFFFF_FFFF | shift << 8) {
                yes
            } else {
                0
            }
        };
        if imm >> 17 & 1 != 0 {
            one(0) | one(16) << 16
        } else {
            one(0)
        }
    }
}

fn compares(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    let words = inst.quals.as_slice();
    let how = COMPARE
        .iter()
        .position(|word| words.first() == Some(word))?;
    let combine = words[1..].iter().find_map(|word| match word {
        Qual::And => Some(1),
        Qual::Or => Some(2),
        Qual::Xor => Some(3),
        _ => None,
    });
    let types: Vec<Type> = inst.quals.types().collect();
    let (result, ty) = (*types.first()?, *types.last()?);
    let bf16 = matches!(ty, Type::BF16 | Type::BF16x2);
    let pair = matches!(ty, Type::F16x2 | Type::BF16x2);
    if !(pair || matches!(ty, Type::F16 | Type::BF16)) {
        return None;
    }
    let mut imm = how as u64 | combine.unwrap_or(0) << 4;
    imm |= if bf16 { 64 } else { 0 };
    imm |= if inst.quals.has(Qual::Ftz) { 128 } else { 0 };
    let mut widths = vec![ty.bits(); 2];
    if combine.is_some() {
        widths.push(1);
    }
    if inst.op == Op::Set {
        let yes = match result {
            Type::F16 | Type::F16x2 => 0x3C00,
            Type::BF16 | Type::BF16x2 => 0x3F80,
            _ if pair => 0xFFFF,
            _ => u64::from(u32::MAX),
        };
        imm |= yes << 32 | if pair { 1 << 17 } else { 0 };
        return Some(apply::<Set>(l, inst, &widths, imm));
    }
    Some(setp(l, inst, &widths, imm, pair))
}

/// Of two halves the first predicate is of the low and the second of the high one; of one number the
/// second is of the opposite comparison.
fn setp(l: &mut Lowerer, inst: &Inst, widths: &[u32], imm: u64, pair: bool) -> Result<(), Error> {
    let mut sources = Vec::new();
    for (at, bits) in widths.iter().enumerate() {
        sources.push(CellsAt::source(l, operand(l, inst, at + 1)?, *bits)?);
    }
    let targets = match operand(l, inst, 0)? {
        Operand::Pair(both) => vec![&both.0, &both.1],
        one => vec![one],
    };
    let second = if pair { 16 << 8 } else { 1 << 16 };
    // A destination may be the combining predicate: results first, moves after.
    let mut moves = Vec::new();
    for (at, target) in targets.into_iter().enumerate() {
        if *target == Operand::Sink {
            continue;
        }
        let to = CellsAt {
            slot: l.temp(),
            cells: Cells::Mask,
        };
        let imm = imm | if at == 1 { second } else { 0 };
        emit::<Compare>(l, to, &sources, imm);
        moves.push((CellsAt::target(l, target)?, to));
    }
    let no = CellsAt {
        slot: l.constant(0).slot,
        cells: Cells::Scalar,
    };
    for (to, from) in moves {
        emit::<ButNot>(l, to, &[from, no], 0);
    }
    Ok(())
}

/// These instructions; `None` for others.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Option<Result<(), Error>> {
    let ty = inst.quals.types().next();
    match inst.op {
        Op::Testp => {
            let test = TESTS.iter().position(|word| inst.quals.has(*word))? as u64;
            let wide = if ty? == Type::F64 { 8 } else { 0 };
            Some(apply::<Testp>(l, inst, &[ty?.bits()], test | wide))
        }
        Op::Fns => Some(apply::<Fns>(l, inst, &[32; 3], 0)),
        Op::Lop3 => Some(lop3(l, inst)),
        Op::Createpolicy => Some(apply::<Constant>(l, inst, &[], 0)),
        Op::Isspacep => Some(isspacep(l, inst)),
        Op::Ex2 | Op::Tanh => {
            let ty = ty?;
            let bits = [
                (inst.op == Op::Ex2, 1),
                (matches!(ty, Type::BF16 | Type::BF16x2), 2),
                (matches!(ty, Type::F16x2 | Type::BF16x2), 4),
                (inst.quals.has(Qual::Ftz), 8),
            ];
            let imm = bits
                .iter()
                .filter(|(set, _)| *set)
                .fold(0, |all, (_, bit)| all | bit);
            Some(apply::<Function>(l, inst, &[ty.bits()], imm))
        }
        Op::Set | Op::Setp => compares(l, inst),
        _ => None,
    }
}
