//! Reductions of bulk copies: what comes is combined with what is there, element by element.

use super::super::half::{Bf16, F16, Small};
use crate::{
    memory::{Bad, Window},
    op::choices,
    tensor_map::Element,
};
use std::sync::atomic::Ordering::Relaxed;
use warpsmith_ptx::{ir::Inst, qual::Qual, types::Type};

choices! {
    /// An operation, and what it is of.
    pub(crate) enum Combine {
        Nothing,
        /// Of a tensor, whose map says what its elements are.
        Add,
        Min,
        Max,
        Inc,
        Dec,
        And,
        Or,
        Xor,
        AddU32,
        AddU64,
        AddF16,
        AddBf16,
        AddF32,
        AddF64,
        MinU32,
        MinS32,
        MinU64,
        MinS64,
        MinF16,
        MinBf16,
        MaxU32,
        MaxS32,
        MaxU64,
        MaxS64,
        MaxF16,
        MaxBf16,
        IncU32,
        DecU32,
        And32,
        Or32,
        Xor32,
    }
}

impl Combine {
    /// What the words of an instruction say, which may leave the type to a tensor map.
    pub(in crate::exec) fn said(inst: &Inst) -> Option<Combine> {
        let has = |word| inst.quals.has(word);
        let of = [
            (Qual::Add, Combine::Add),
            (Qual::Min, Combine::Min),
            (Qual::Max, Combine::Max),
            (Qual::Inc, Combine::Inc),
            (Qual::Dec, Combine::Dec),
            (Qual::And, Combine::And),
            (Qual::Or, Combine::Or),
            (Qual::Xor, Combine::Xor),
        ];
        let (_, op) = of.into_iter().find(|(word, _)| has(*word))?;
        match inst.quals.types().last() {
            None => Some(op),
            Some(ty) => op.of(match ty {
                Type::U32 | Type::B32 => Element::U32,
                Type::S32 => Element::S32,
                Type::U64 | Type::B64 => Element::U64,
                Type::S64 => Element::S64,
                Type::F16 => Element::F16,
                Type::BF16 => Element::Bf16,
                Type::F32 => Element::F32,
                Type::F64 => Element::F64,
                _ => return None,
            }),
        }
    }

    /// It for elements of a type; `None` if there is no such reduction.
    pub(in crate::exec) fn of(self, element: Element) -> Option<Combine> {
        use Element::{Bf16, F16, F32, F32Ftz, F64, S32, S64, U32, U64};
        Some(match (self, element) {
            (Combine::Add, U32 | S32) => Combine::AddU32,
            (Combine::Add, U64 | S64) => Combine::AddU64,
            (Combine::Add, F16) => Combine::AddF16,
            (Combine::Add, Bf16) => Combine::AddBf16,
            (Combine::Add, F32 | F32Ftz) => Combine::AddF32,
            (Combine::Add, F64) => Combine::AddF64,
            (Combine::Min, U32) => Combine::MinU32,
            (Combine::Min, S32) => Combine::MinS32,
            (Combine::Min, U64) => Combine::MinU64,
            (Combine::Min, S64) => Combine::MinS64,
            (Combine::Min, F16) => Combine::MinF16,
            (Combine::Min, Bf16) => Combine::MinBf16,
            (Combine::Max, U32) => Combine::MaxU32,
            (Combine::Max, S32) => Combine::MaxS32,
            (Combine::Max, U64) => Combine::MaxU64,
            (Combine::Max, S64) => Combine::MaxS64,
            (Combine::Max, F16) => Combine::MaxF16,
            (Combine::Max, Bf16) => Combine::MaxBf16,
            (Combine::Inc, U32) => Combine::IncU32,
            (Combine::Dec, U32) => Combine::DecU32,
            // Bits are bits, whatever their width.
            (Combine::And, U32 | S32 | U64 | S64) => Combine::And32,
            (Combine::Or, U32 | S32 | U64 | S64) => Combine::Or32,
            (Combine::Xor, U32 | S32 | U64 | S64) => Combine::Xor32,
            (Combine::Nothing, _) => Combine::Nothing,
            _ => return None,
        })
    }

    fn is_wide(self) -> bool {
        matches!(
            self,
            Combine::AddU64
                | Combine::AddF64
                | Combine::MinU64
                | Combine::MinS64
                | Combine::MaxU64
                | Combine::MaxS64
        )
    }
}

/// Combines data with what is in memory, each element as one.
pub(in crate::exec) fn apply(
    memory: &Window,
    address: u64,
    data: &[u8],
    combine: Combine,
) -> Result<(), Bad> {
    if !memory.holds(address, data.len() as u64) {
        return Err(Bad::Bounds);
    }
    if combine.is_wide() {
        for (at, bytes) in (address..).step_by(8).zip(data.as_chunks::<8>().0) {
            let new = u64::from_le_bytes(*bytes);
            let place = memory.atomic64(at)?;
            // It never fails: there is a new value for each old one.
            let _old = place.fetch_update(Relaxed, Relaxed, |old| Some(wide(combine, old, new)));
        }
        return Ok(());
    }
    for (at, bytes) in (address..).step_by(4).zip(data.as_chunks::<4>().0) {
        let new = u32::from_le_bytes(*bytes);
        let place = memory.atomic32(at)?;
        let _old = place.fetch_update(Relaxed, Relaxed, |old| Some(word(combine, old, new)));
    }
    Ok(())
}

fn wide(combine: Combine, old: u64, new: u64) -> u64 {
    let signed = |f: fn(i64, i64) -> i64| f(old as i64, new as i64) as u64;
    match combine {
        Combine::AddF64 => {
            let sum = f64::from_bits(old) + f64::from_bits(new);
            crate::op::lane::one_nan(sum)
        }
        Combine::MinU64 => old.min(new),
        Combine::MaxU64 => old.max(new),
        Combine::MinS64 => signed(i64::min),
        Combine::MaxS64 => signed(i64::max),
        _ => old.wrapping_add(new),
    }
}

fn word(combine: Combine, old: u32, new: u32) -> u32 {
    let signed = |f: fn(i32, i32) -> i32| f(old as i32, new as i32) as u32;
    match combine {
        Combine::AddU32 => old.wrapping_add(new),
        Combine::AddF32 => {
            let sum = f32::from_bits(old) + f32::from_bits(new);
            if sum.is_nan() {
                0x7FFF_FFFF
            } else {
                sum.to_bits()
            }
        }
        Combine::MinU32 => old.min(new),
        Combine::MaxU32 => old.max(new),
        Combine::MinS32 => signed(i32::min),
        Combine::MaxS32 => signed(i32::max),
        Combine::IncU32 => {
            if old >= new {
                0
            } else {
                old + 1
            }
        }
        Combine::DecU32 => {
            if old == 0 || old > new {
                new
            } else {
                old - 1
            }
        }
        Combine::And32 => old & new,
        Combine::Or32 => old | new,
        Combine::Xor32 => old ^ new,
        Combine::AddF16 => halves::<F16>(old, new, |a, b| a + b),
        Combine::AddBf16 => halves::<Bf16>(old, new, |a, b| a + b),
        Combine::MinF16 => halves::<F16>(old, new, least),
        Combine::MinBf16 => halves::<Bf16>(old, new, least),
        Combine::MaxF16 => halves::<F16>(old, new, |a, b| -least(-a, -b)),
        Combine::MaxBf16 => halves::<Bf16>(old, new, |a, b| -least(-a, -b)),
        Combine::Nothing
        | Combine::Add
        | Combine::Min
        | Combine::Max
        | Combine::Inc
        | Combine::Dec
        | Combine::And
        | Combine::Or
        | Combine::Xor
        | Combine::AddU64
        | Combine::AddF64
        | Combine::MinU64
        | Combine::MinS64
        | Combine::MaxU64
        | Combine::MaxS64 => new,
    }
}

/// The least of two, where a NaN is none, and -0 is less than 0.
fn least(a: f32, b: f32) -> f32 {
    match () {
        () if a.is_nan() => b,
        () if b.is_nan() => a,
        () if a == b && a.is_sign_negative() => a,
        () if a == b => b,
        () => a.min(b),
    }
}

fn halves<S: Small>(old: u32, new: u32, f: impl Fn(f32, f32) -> f32) -> u32 {
    let one = |shift: u32| {
        let [a, b] = [old, new].map(|bits| S::of_bits((bits >> shift) as u16).as_f32());
        u32::from(S::of_f32(f(a, b)).bits()) << shift
    };
    one(0) | one(16)
}
