//! Code for arithmetic with the carry flags: a mask of lanes, which stands in the frame between instructions.

use super::{
    more::{fits, source},
    nodes::{Arg, Code, MemoryAt, Vector},
    values::{Coder, Skip, ValueId},
};
use crate::{exec::Slot, lower::Lowerer};
use regalloc2::VReg;
use warpsmith_ptx::{ir::Inst, op::Op, qual::Qual};
use warpsmith_x86::{MaskAlu, vector};

/// A sum or difference with the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Carry {
    /// Where the flags are.
    slot: u32,
    sub: bool,
    product: Option<Product>,
    reads: bool,
    writes: bool,
    wide: bool,
}

/// Which half of the product of two words is the first number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Product {
    Low,
    High { signed: bool },
}

/// What an instruction does, if it reads or writes the flags.
pub(super) fn kind(l: &Lowerer<'_>, inst: &Inst) -> Option<Carry> {
    let has = |word| inst.quals.has(word);
    let ty = inst.quals.types().next()?;
    let reads = matches!(inst.op, Op::Addc | Op::Subc | Op::Madc);
    let writes = has(Qual::Cc);
    let product = match inst.op {
        Op::Add | Op::Addc | Op::Sub | Op::Subc => None,
        Op::Mad | Op::Madc if has(Qual::Hi) => Some(Product::High {
            signed: ty.is_signed(),
        }),
        Op::Mad | Op::Madc => Some(Product::Low),
        _ => return None,
    };
    let wide = ty.bits() == 64;
    let known = (reads || writes)
        && ty.is_int()
        && (wide && product.is_none() || ty.bits() == 32)
        && !has(Qual::Sat);
    let bits = ty.bits();
    let sources: &[u32] = if product.is_some() {
        &[bits, bits, bits]
    } else {
        &[bits, bits]
    };
    let Slot(slot) = l.carry_slot()?;
    (known && fits(l, inst, bits, sources)).then_some(Carry {
        slot,
        sub: matches!(inst.op, Op::Sub | Op::Subc),
        product,
        reads,
        writes,
        wide,
    })
}

impl Coder<'_, '_> {
    pub(super) fn carry(&mut self, carry: Carry, inst: &Inst) -> Result<ValueId, Skip> {
        let bits = if carry.wide { 64 } else { 32 };
        let [a, b] = self.args(inst, bits)?;
        let (x, y) = match carry.product {
            None => (a, b),
            Some(product) => {
                let first = self.map([a, b], true, false, |coder, [a, b]| match product {
                    Product::Low => coder.plain(&vector::MUL_I32, a, b),
                    Product::High { signed } => coder.high(signed, a, b),
                })?;
                (first, self.read(source(inst, 3)?, 32)?)
            }
        };
        let (x, y) = if carry.wide {
            (self.quads(x)?.to_vec(), self.quads(y)?.to_vec())
        } else {
            (self.lanes_exact(x)?.to_vec(), self.lanes_exact(y)?.to_vec())
        };
        let place = MemoryAt::Frame(carry.slot);
        let flags = carry.reads.then(|| self.nodes.load_mask(place));
        let (mut sums, mut carries) = (Vec::new(), Vec::new());
        let width = if carry.wide { 8 } else { 16 };
        for (j, (x, y)) in x.into_iter().zip(y).enumerate() {
            // A difference is a sum with all bits turned, and one more.
            let y = if carry.sub {
                self.with_constant(&vector::XOR, y, 0xFFFF_FFFF)
            } else {
                y
            };
            let own = flags.map(|flags| self.part(flags, width * j as u8));
            let (sum, out) = self.sum_with(carry, x, y, own);
            sums.push(sum);
            carries.push(out);
        }
        if carry.writes {
            let new = match carries[..] {
                [low, high] => self.nodes.mask(Code::MaskJoin, &[high, low]),
                [a, b, c, d] => {
                    let low = self.nodes.mask(Code::MaskJoin8, &[b, a]);
                    let high = self.nodes.mask(Code::MaskJoin8, &[d, c]);
                    self.nodes.mask(Code::MaskJoin, &[high, low])
                }
                _ => return Err(Skip),
            };
            let new = match self.lanes_of_now() {
                None => new,
                Some(now) => {
                    let old = self.nodes.load_mask(place);
                    let mut both = |op, a, b| self.nodes.mask(Code::MaskAlu(op), &[a, b]);
                    let new = both(MaskAlu::And, new, now);
                    let old = both(MaskAlu::AndNot, now, old);
                    both(MaskAlu::Or, old, new)
                }
            };
            let new = self.nodes.scalar(Code::MaskTo, &[new]);
            self.nodes.store(8, place, new);
        }
        Ok(match sums[..] {
            [a, b] => self.of_lanes([a, b], false),
            [a, b, c, d] => self.of_quads([a, b, c, d]),
            _ => return Err(Skip),
        })
    }

    /// The sum of two registers and a flag, and the flags that come of it.
    fn sum_with(&mut self, carry: Carry, x: VReg, y: VReg, own: Option<VReg>) -> (VReg, VReg) {
        let (add, sub, compare, none) = if carry.wide {
            (
                &vector::ADD_I64,
                &vector::SUB_I64,
                &vector::CMP_U64,
                &vector::TESTN_I64,
            )
        } else {
            (
                &vector::ADD_I32,
                &vector::SUB_I32,
                &vector::CMP_U32,
                &vector::TESTN_I32,
            )
        };
        let sum = self.plain(add, x, y);
        let first = self.test(compare, 1, sum, x);
        if own.is_none() && !carry.sub {
            return (sum, first);
        }
        // One more where the flag is, and everywhere for a difference that reads none.
        let ones = self.whole(0xFFFF_FFFF);
        let next = Vector {
            tied: own.map(|_| sum),
            mask: own,
            ..Vector::two(sum, Arg::Reg(ones))
        };
        let next = self.vector(sub, next);
        let wrapped = Vector {
            mask: own,
            ..Vector::two(next, Arg::Reg(next))
        };
        let class = regalloc2::RegClass::Vector;
        let wrapped = self.nodes.vector(none, class, wrapped);
        let or = Code::MaskAlu(MaskAlu::Or);
        (next, self.nodes.mask(or, &[first, wrapped]))
    }
}
