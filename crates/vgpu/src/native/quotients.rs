//! Code for upper halves of products, quotients and remainders of 64 bits.
//!
//! A quotient by way of f64 is off by at most 1 and 2^-51 of itself. What it leaves is divided once more, so that at most
//! one divisor is left to be taken off or put back. For divisors of 2^62 and more, of which what is left would not fit a
//! signed number, the quotient is below 4: as many divisors are taken off as there is room for.

use super::{
    kinds::Int2,
    more::source,
    nodes::{Arg, Vector},
    values::{Coder, Skip, ValueId},
};
use regalloc2::VReg;
use warpsmith_ptx::{ir::Inst, op::Op};
use warpsmith_x86::{Vop, vector};

/// What is done with numbers of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wide {
    /// The upper half of a product, and a number more.
    High {
        signed: bool,
        add: bool,
    },
    Quotient {
        signed: bool,
        rest: bool,
    },
}

/// What an instruction of integers of 64 bits does.
pub(super) fn kind(inst: &Inst, high: bool, signed: bool) -> Option<Wide> {
    match inst.op {
        Op::Mul | Op::Mad if high => {
            let add = inst.op == Op::Mad;
            Some(Wide::High { signed, add })
        }
        Op::Div | Op::Rem => {
            let rest = inst.op == Op::Rem;
            Some(Wide::Quotient { signed, rest })
        }
        _ => None,
    }
}

/// A quotient and what is left.
struct Divided {
    quotient: VReg,
    rest: VReg,
}

impl Coder<'_, '_> {
    pub(super) fn wide_bits(&mut self, kind: Wide, inst: &Inst) -> Result<ValueId, Skip> {
        let args = self.args(inst, 64)?;
        match kind {
            Wide::High { signed, add } => {
                let high = self.map_quads(args, |coder, [a, b]| coder.high_wide(signed, a, b))?;
                if !add {
                    return Ok(high);
                }
                let c = self.read(source(inst, 3)?, 64)?;
                self.int2(Int2::Add, true, false, high, c)
            }
            Wide::Quotient { signed, rest } => self.map_quads(args, |coder, [a, b]| {
                coder.quotient_wide(signed, rest, a, b)
            }),
        }
    }

    fn high_wide(&mut self, signed: bool, a: VReg, b: VReg) -> VReg {
        let [a_high, b_high] = [a, b].map(|x| self.by(&vector::SHR_U64, x, 32));
        let low = self.plain(&vector::MUL_U32_U64, a, b);
        let one = self.plain(&vector::MUL_U32_U64, a, b_high);
        let other = self.plain(&vector::MUL_U32_U64, a_high, b);
        let high = self.plain(&vector::MUL_U32_U64, a_high, b_high);
        let carry = self.by(&vector::SHR_U64, low, 32);
        let middle = self.with_wide(&vector::AND_I64, one, 0xFFFF_FFFF);
        let carry = self.plain(&vector::ADD_I64, carry, middle);
        let middle = self.with_wide(&vector::AND_I64, other, 0xFFFF_FFFF);
        let carry = self.plain(&vector::ADD_I64, carry, middle);
        let mut all = high;
        for part in [one, other, carry] {
            let part = self.by(&vector::SHR_U64, part, 32);
            all = self.plain(&vector::ADD_I64, all, part);
        }
        if signed {
            // A negative number is 2^64 more as an unsigned one.
            for (sign, number) in [(a, b), (b, a)] {
                let sign = self.by(&vector::SHR_I64, sign, 63);
                let more = self.plain(&vector::AND_I64, sign, number);
                all = self.plain(&vector::SUB_I64, all, more);
            }
        }
        all
    }

    /// What is divided by 0 gives all ones.
    fn quotient_wide(&mut self, signed: bool, rest: bool, a: VReg, b: VReg) -> VReg {
        let (x, y) = if signed {
            (self.one(&vector::ABS_I64, a), self.one(&vector::ABS_I64, b))
        } else {
            (a, b)
        };
        let far = self.divided_by_floats(x, y);
        let near = self.divided_by_steps(x, y);
        let limit = self.whole_wide(1 << 62);
        let large = self.test(&vector::CMP_U64, 5, y, limit);
        let (far, near) = if rest {
            (far.rest, near.rest)
        } else {
            (far.quotient, near.quotient)
        };
        let mut found = self.step(&vector::LOAD_I64, far, large, None, near);
        if signed {
            let sign = if rest {
                a
            } else {
                self.plain(&vector::XOR_I64, a, b)
            };
            let zero = self.whole_wide(0);
            let negative = self.test(&vector::CMP_I64, 1, sign, zero);
            let turned = self.plain(&vector::SUB_I64, zero, found);
            found = self.step(&vector::LOAD_I64, found, negative, None, turned);
        }
        let none = self.test(&vector::TESTN_I64, 0, b, b);
        self.put_number(found, none, u64::MAX, true)
    }

    /// `start`, but where `mask` says so an operation on `a`, if there is one, and `b`.
    fn step(
        &mut self,
        op: &'static Vop,
        start: VReg,
        mask: VReg,
        a: Option<VReg>,
        b: VReg,
    ) -> VReg {
        let v = Vector {
            tied: Some(start),
            mask: Some(mask),
            second: a,
            ..Vector::one(Arg::Reg(b))
        };
        self.vector(op, v)
    }

    /// For divisors below 2^62.
    fn divided_by_floats(&mut self, x: VReg, y: VReg) -> Divided {
        let divisor = self.one(&vector::F64_OF_U64, y);
        let float = self.one(&vector::F64_OF_U64, x);
        let first = self.plain(&vector::DIV_F64, float, divisor);
        let first = self.one(&vector::U64_OF_F64_ZERO, first);
        let whole = self.plain(&vector::MUL_I64, first, y);
        let left = self.plain(&vector::SUB_I64, x, whole);
        let float = self.one(&vector::F64_OF_I64, left);
        let more = self.plain(&vector::DIV_F64, float, divisor);
        let more = self.one(&vector::I64_OF_F64_ZERO, more);
        let quotient = self.plain(&vector::ADD_I64, first, more);
        let whole = self.plain(&vector::MUL_I64, more, y);
        let left = self.plain(&vector::SUB_I64, left, whole);
        let (zero, one) = (self.whole_wide(0), self.whole_wide(1));
        let below = self.test(&vector::CMP_I64, 1, left, zero);
        let rest = self.step(&vector::ADD_I64, left, below, Some(left), y);
        let quotient = self.step(&vector::SUB_I64, quotient, below, Some(quotient), one);
        let above = self.test(&vector::CMP_I64, 5, rest, y);
        let quotient = self.step(&vector::ADD_I64, quotient, above, Some(quotient), one);
        let rest = self.step(&vector::SUB_I64, rest, above, Some(rest), y);
        Divided { quotient, rest }
    }

    /// For divisors from 2^62 on.
    fn divided_by_steps(&mut self, x: VReg, y: VReg) -> Divided {
        let one = self.whole_wide(1);
        let (mut quotient, mut rest) = (self.whole_wide(0), x);
        for _ in 0..3 {
            let fits = self.test(&vector::CMP_U64, 5, rest, y);
            rest = self.step(&vector::SUB_I64, rest, fits, Some(rest), y);
            quotient = self.step(&vector::ADD_I64, quotient, fits, Some(quotient), one);
        }
        Divided { quotient, rest }
    }
}
