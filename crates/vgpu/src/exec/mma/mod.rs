//! `mma.sync`: the product of two matrices held by a warp, added to a third (PTX ISA 9.7.14.5).
//!
//! # Fragments as memory
//! The 32 cells of a register of A are 8 rows of 16 bytes: lane `4 * row + t` holds the 4 bytes from `4 * t`
//! on. With two halves of rows (m16), register `2 * j + h` is block `j` of k in rows `8 * h` to `8 * h + 7`;
//! with one (m8), register `j` is block `j`. B is the same with columns for rows: register `j` is block `j` of
//! k. Of C and D, register `2 * h` holds the even columns and `2 * h + 1` the odd ones of half `h`, as 8 rows
//! of 4. f64 has the same layout with cells of 8 bytes.
//!
//! # Numbers
//! - f16, bf16, tf32: each element is a chain of fused multiply-adds in f32 that starts with C and takes k in
//!   ascending order, subnormals kept. Every tier gives these bits. f16 accumulators are widened, and the
//!   result is rounded once to nearest even. A NaN result is `0x7FFFFFFF`, or `0x7FFF` as f16.
//! - tf32 operands are cut to 19 bits, as a tensor core reads them.
//! - f64: fused multiply-adds in ascending k from C.
//! - 8-bit floats: the same chain, of products that are exact; so are products of scaled floats, whose chains are rounded to
//!   f32 at each step.
//! - 8-bit and 4-bit integers: exact; the sum with C wraps, or is clamped once with `.satfinite`.
//!
//! # Runs
//! Consecutive float products become one op that widens each fragment once: a warp tile of 4 x 4 products
//! has 4 fragments of A and 4 of B. Fragments of A take much room, and a run keeps the last few: products that go
//! through the columns of a row before the next row find theirs. Two sums beside each other with the same fragments of
//! A are multiplied together.

mod double;
mod eighth;
mod float;
mod int;
#[cfg_attr(target_arch = "x86_64", path = "native_x86.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "native_other.rs")]
mod native;
mod nibble;
mod scaled;
pub(super) mod small;
mod sparse;
pub(super) mod tile;
#[cfg_attr(target_arch = "x86_64", path = "wide_x86.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "wide_other.rs")]
mod wide;

use super::{Ctx, Slot, Words, args, ldst::items, operand};
use crate::{Tier, build::Lowerer, error::Error};
use float::{Full, Half, Sum};
use tile::{Apart, Double, Element, Fused, Portable};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    qual::Qual,
    types::Type,
};

/// The slots of a product's registers. Of operands with fewer registers the last is repeated.
#[derive(Clone, Copy)]
struct Frags {
    a: [Slot; 4],
    b: [Slot; 2],
    c: [Slot; 4],
    d: [Slot; 4],
    /// Whether nobody but this product reads the registers of c.
    owns_c: bool,
}

impl Frags {
    fn words(&self) -> [u32; 14] {
        let mut words = [0; 14];
        let all = self.a.iter().chain(&self.b).chain(&self.c).chain(&self.d);
        for (word, slot) in words.iter_mut().zip(all) {
            *word = slot.0;
        }
        words
    }

    #[inline(always)]
    fn read(ctx: &Ctx, at: Words) -> Frags {
        let words = ctx.extra(at, 14);
        let slot = |i: usize| Slot(words[i]);
        Frags {
            a: [0, 1, 2, 3].map(slot),
            b: [4, 5].map(slot),
            c: [6, 7, 8, 9].map(slot),
            d: [10, 11, 12, 13].map(slot),
            owns_c: false,
        }
    }

    fn new(l: &mut Lowerer, inst: &Inst) -> Result<Frags, Error> {
        let owns_c = items(operand(l, inst, 3)?)
            .iter()
            .all(|item| matches!(item, Operand::Reg(reg) if l.is_read_once(*reg)));
        Ok(Frags {
            owns_c,
            a: sources(l, inst, 1)?,
            b: sources(l, inst, 2)?,
            c: sources(l, inst, 3)?,
            d: fill(&slots(l, inst, 0)?).ok_or_else(|| l.unsupported(inst))?,
        })
    }
}

/// The registers of an operand, the last repeated.
fn sources<const N: usize>(l: &mut Lowerer, inst: &Inst, index: usize) -> Result<[Slot; N], Error> {
    fill(&slots(l, inst, index)?).ok_or_else(|| l.unsupported(inst))
}

fn fill<const N: usize>(slots: &[Slot]) -> Option<[Slot; N]> {
    let last = *slots.last()?;
    (slots.len() <= N).then(|| std::array::from_fn(|i| slots.get(i).copied().unwrap_or(last)))
}

/// The slots of operand `index`: destinations for 0.
fn slots(l: &mut Lowerer, inst: &Inst, index: usize) -> Result<Vec<Slot>, Error> {
    items(operand(l, inst, index)?)
        .iter()
        .map(|item| match (index, wide(inst)) {
            (0, _) => lanes_of(l, item),
            (_, false) => l.src32(item),
            (_, true) => l.src64(item),
        })
        .collect()
}

/// The slot of a destination, which is never a scalar: `roles::outcome` says that lanes differ.
fn lanes_of(l: &mut Lowerer, item: &Operand) -> Result<Slot, Error> {
    let dst = l.dst(item)?;
    if dst.uniform {
        return Err(l.refuse("a uniform fragment".to_owned()));
    }
    Ok(dst.slot)
}

fn wide(inst: &Inst) -> bool {
    inst.quals.has(Qual::T(Type::F64))
}

/// Lowers `mma.sync`.
pub(super) fn lower(l: &mut Lowerer, inst: &Inst) -> Result<(), Error> {
    let has = |qual| inst.quals.has(qual);
    if has(Qual::Sp) || has(Qual::SpOrderedMetadata) {
        return sparse::lower(l, inst);
    }
    let eighths = [Type::E4M3, Type::E5M2].map(Qual::T);
    let shallow = has(Qual::M16n8k16) && eighths.into_iter().any(has);
    if has(Qual::BlockScale) || has(Qual::KindF8f6f4) || shallow {
        return scaled::lower(l, inst);
    }
    let types: Vec<Type> = inst.quals.types().collect();
    let &[d, a, b, c] = types.as_slice() else {
        return Err(l.unsupported(inst));
    };
    // Rows in eights, and k.
    let (halves, depth) = if has(Qual::M16n8k4) {
        (2, 4)
    } else if has(Qual::M16n8k8) {
        (2, 8)
    } else if has(Qual::M16n8k16) {
        (2, 16)
    } else if has(Qual::M16n8k32) {
        (2, 32)
    } else if has(Qual::M16n8k64) {
        (2, 64)
    } else if has(Qual::M8n8k4) {
        (1, 4)
    } else if has(Qual::M8n8k16) {
        (1, 16)
    } else if has(Qual::M8n8k32) {
        (1, 32)
    } else {
        return Err(l.unsupported(inst));
    };
    let done = match (d, a, b, c) {
        (Type::F32, Type::F16, Type::F16, Type::F32) => {
            half::<tile::F16, native::F16, wide::WideF16, Apart, Full>(l, inst, halves, depth)?
        }
        (Type::F16, Type::F16, Type::F16, Type::F16) => {
            half::<tile::F16, native::F16, wide::WideF16, Apart, Half>(l, inst, halves, depth)?
        }
        (Type::F32, Type::BF16, Type::BF16, Type::F32) => {
            half::<tile::Bf16, native::Bf16, wide::WideBf16, Double, Full>(l, inst, halves, depth)?
        }
        (Type::F32, Type::TF32, Type::TF32, Type::F32) => tf32(l, inst, halves, depth)?,
        (Type::F64, Type::F64, Type::F64, Type::F64) => {
            let mut all = slots(l, inst, 1)?;
            all.extend(slots(l, inst, 2)?);
            all.extend(slots(l, inst, 3)?);
            all.extend(slots(l, inst, 0)?);
            all.len() == halves * depth / 4 + depth / 4 + 4 * halves
                && double::emit(l, halves, depth / 4, &all)
        }
        (Type::S32, Type::S8 | Type::U8, Type::S8 | Type::U8, Type::S32) => {
            let signs = signs(inst, Type::S8, a, b);
            let known = matches!((halves, depth), (1, 16) | (2, 16) | (2, 32));
            if known {
                let frags = Frags::new(l, inst)?;
                match l.tier() {
                    Tier::Baseline => int::emit::<int::Loops>(l, halves, depth / 16, signs, &frags),
                    Tier::Avx2 | Tier::Avx512 => {
                        int::emit::<native::Words>(l, halves, depth / 16, signs, &frags)
                    }
                }
            }
            known
        }
        (Type::S32, Type::S4 | Type::U4, Type::S4 | Type::U4, Type::S32) => {
            let signs = signs(inst, Type::S4, a, b);
            let known = matches!((halves, depth), (1, 32) | (2, 32) | (2, 64));
            if known {
                let frags = Frags::new(l, inst)?;
                nibble::emit(l, halves, depth / 32, signs, &frags);
            }
            known
        }
        (Type::F32, Type::E4M3 | Type::E5M2, Type::E4M3 | Type::E5M2, Type::F32) => {
            let known = (halves, depth) == (2, 32);
            if known {
                let frags = Frags::new(l, inst)?;
                eighth::emit(l, [a, b].map(|ty| ty == Type::E5M2), &frags);
            }
            known
        }
        _ => false,
    };
    if done {
        Ok(())
    } else {
        Err(l.unsupported(inst))
    }
}

args! {
    /// A product of integers.
    struct Integers {
        /// As [`Frags`] has them.
        frags: Words,
        /// Which have signs.
        signed_a: bool,
        signed_b: bool,
        /// `.satfinite`: the sum is clamped once.
        saturates: bool,
    }
}

/// What a product of integers does with its signs.
#[derive(Clone, Copy)]
struct Signs {
    a: bool,
    b: bool,
    saturates: bool,
}

impl Signs {
    fn args(self, frags: Words) -> Integers {
        Integers {
            frags,
            signed_a: self.a,
            signed_b: self.b,
            saturates: self.saturates,
        }
    }
}

/// The signs of a product of integers, of which those of type `signed` have some.
fn signs(inst: &Inst, signed: Type, a: Type, b: Type) -> Signs {
    Signs {
        a: a == signed,
        b: b == signed,
        saturates: inst.quals.has(Qual::Satfinite),
    }
}

/// 16-bit floats; `false` for shapes that are not here.
fn half<E, N, W, S, C>(
    l: &mut Lowerer,
    inst: &Inst,
    halves: usize,
    depth: usize,
) -> Result<bool, Error>
where
    E: Element,
    N: tile::Engine,
    W: tile::Engine,
    S: tile::Step,
    C: Sum,
{
    if halves != 2 || !matches!(depth, 8 | 16) {
        return Ok(false);
    }
    let frags = Frags::new(l, inst)?;
    match (l.tier(), depth) {
        (Tier::Baseline, 8) => float::emit::<Portable<E, S>, C, 1>(l, &frags),
        (Tier::Baseline, _) => float::emit::<Portable<E, S>, C, 2>(l, &frags),
        (Tier::Avx2, 8) => float::emit::<N, C, 1>(l, &frags),
        (Tier::Avx2, _) => float::emit::<N, C, 2>(l, &frags),
        (Tier::Avx512, 8) => float::emit::<W, C, 1>(l, &frags),
        (Tier::Avx512, _) => float::emit::<W, C, 2>(l, &frags),
    }
    Ok(true)
}

fn tf32(l: &mut Lowerer, inst: &Inst, halves: usize, depth: usize) -> Result<bool, Error> {
    if halves != 2 || !matches!(depth, 4 | 8) {
        return Ok(false);
    }
    let frags = Frags::new(l, inst)?;
    match (l.tier(), depth) {
        (Tier::Baseline, 4) => float::emit::<Portable<tile::Tf32, Double>, Full, 1>(l, &frags),
        (Tier::Baseline, _) => float::emit::<Portable<tile::Tf32, Double>, Full, 2>(l, &frags),
        (Tier::Avx2 | Tier::Avx512, 4) => {
            float::emit::<Portable<tile::Tf32, Fused>, Full, 1>(l, &frags)
        }
        (Tier::Avx2 | Tier::Avx512, _) => {
            float::emit::<Portable<tile::Tf32, Fused>, Full, 2>(l, &frags)
        }
    }
    Ok(true)
}
