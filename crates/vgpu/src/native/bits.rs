//! Code for what integers have beside sums and products: high halves, quotients, fields, counts, funnel shifts.

use super::{
    kinds::Int2,
    more::{fits, source},
    nodes::{Arg, Vector},
    quotients::Wide,
    values::{Coder, Skip, ValueId},
};
use crate::lower::Lowerer;
use regalloc2::VReg;
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    qual::Qual,
    types::Type,
};
use warpsmith_x86::vector;

/// What is done with integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bits {
    /// The upper half of a product, and a number more.
    High {
        signed: bool,
        add: bool,
    },
    /// The lower half of a product of 24 bits, and a number more.
    Mul24 {
        signed: bool,
        add: bool,
    },
    Quotient {
        signed: bool,
        rest: bool,
    },
    /// The same of 64 bits.
    Wide(Wide),
    Neg {
        wide: bool,
    },
    Abs {
        wide: bool,
    },
    /// The distance of two numbers, and a number more.
    Distance {
        signed: bool,
    },
    Funnel {
        left: bool,
        wrap: bool,
        rotate: bool,
    },
    Extract {
        signed: bool,
    },
    Insert,
    Ones {
        wrap: bool,
    },
    Count {
        wide: bool,
    },
    LeadingZeros {
        wide: bool,
    },
    Reverse,
    /// The place of the highest bit that is not the sign, or how far it is from the top.
    Find {
        signed: bool,
        distance: bool,
    },
    /// The size of the second f32, the sign of the first.
    Copysign,
    /// Bytes of two words, or their signs, by a selector that any lane may have.
    Permute,
}

/// What an instruction does, if it is one of these.
pub(super) fn kind(l: &Lowerer<'_>, inst: &Inst) -> Option<Bits> {
    let q = &inst.quals;
    let has = |word| q.has(word);
    let ty = q.types().next()?;
    let (bits, signed) = (ty.bits(), ty.is_signed());
    let wide = bits == 64;
    let word = bits == 32;
    if [Qual::Cc, Qual::Sat, Qual::Relu]
        .iter()
        .any(|word| has(*word))
    {
        return None;
    }
    let hi = has(Qual::Hi);
    let fits = |sources: &[u32]| fits(l, inst, 32, sources);
    let one = |to: u32| super::more::fits(l, inst, to, &[bits]);
    let is_int = ty.is_int();
    let (kind, right) = match inst.op {
        Op::Mul if word && is_int && hi => (Bits::High { signed, add: false }, fits(&[32, 32])),
        Op::Mad if word && is_int && hi => (Bits::High { signed, add: true }, fits(&[32, 32, 32])),
        Op::Mul24 if !hi => (Bits::Mul24 { signed, add: false }, fits(&[32, 32])),
        Op::Mad24 if !hi => (Bits::Mul24 { signed, add: true }, fits(&[32, 32, 32])),
        Op::Div | Op::Rem if word && is_int => {
            let rest = inst.op == Op::Rem;
            (Bits::Quotient { signed, rest }, fits(&[32, 32]))
        }
        Op::Mul | Op::Mad | Op::Div | Op::Rem if wide && is_int => {
            let found = super::quotients::kind(inst, hi, signed)?;
            let sources: &[u32] = if inst.op == Op::Mad {
                &[64, 64, 64]
            } else {
                &[64, 64]
            };
            let right = super::more::fits(l, inst, 64, sources);
            (Bits::Wide(found), right)
        }
        Op::Neg if is_int && (word || wide) => (Bits::Neg { wide }, one(bits)),
        Op::Abs if signed && is_int && (word || wide) => (Bits::Abs { wide }, one(bits)),
        Op::Sad if word => (Bits::Distance { signed }, fits(&[32, 32, 32])),
        Op::Shf => {
            let same = match (inst.operands.get(1), inst.operands.get(2)) {
                (Some(Operand::Reg(a)), Some(Operand::Reg(b))) => a == b,
                _ => false,
            };
            let wrap = has(Qual::Wrap);
            let kind = Bits::Funnel {
                left: has(Qual::L),
                wrap,
                rotate: same && wrap,
            };
            (kind, fits(&[32, 32, 32]))
        }
        Op::Bfe if word => (Bits::Extract { signed }, fits(&[32, 32, 32])),
        Op::Bfi if word => (Bits::Insert, fits(&[32, 32, 32, 32])),
        Op::Bmsk => {
            let wrap = has(Qual::Wrap);
            (Bits::Ones { wrap }, fits(&[32, 32]))
        }
        Op::Popc => (Bits::Count { wide }, one(32)),
        Op::Clz => (Bits::LeadingZeros { wide }, one(32)),
        Op::Brev if word => (Bits::Reverse, one(32)),
        Op::Bfind if word => {
            let distance = has(Qual::Shiftamt);
            (Bits::Find { signed, distance }, one(32))
        }
        Op::Prmt => {
            let modes = [
                Qual::F4e,
                Qual::B4e,
                Qual::Rc8,
                Qual::Ecl,
                Qual::Ecr,
                Qual::Rc16,
            ];
            let plain = !modes.iter().any(|mode| has(*mode));
            (Bits::Permute, plain && fits(&[32, 32, 32]))
        }
        Op::Copysign if ty == Type::F32 => (Bits::Copysign, fits(&[32, 32])),
        _ => return None,
    };
    right.then_some(kind)
}

impl Coder<'_, '_> {
    pub(super) fn bits(&mut self, kind: Bits, inst: &Inst) -> Result<ValueId, Skip> {
        match kind {
            Bits::High { signed, add } => {
                let [a, b] = self.args(inst, 32)?;
                let high = self.map([a, b], true, false, |coder, [a, b]| {
                    coder.high(signed, a, b)
                })?;
                self.and_more(high, inst, add)
            }
            Bits::Mul24 { signed, add } => {
                let [a, b] = self.args(inst, 32)?;
                let product = self.map([a, b], true, false, |coder, args| {
                    let [a, b] = args.map(|x| {
                        if signed {
                            let up = coder.by(&vector::SHL_I32, x, 8);
                            coder.by(&vector::SHR_I32, up, 8)
                        } else {
                            coder.with_constant(&vector::AND, x, 0xFF_FFFF)
                        }
                    });
                    coder.plain(&vector::MUL_I32, a, b)
                })?;
                self.and_more(product, inst, add)
            }
            Bits::Quotient { signed, rest } => {
                let [a, b] = self.args(inst, 32)?;
                self.quotient(signed, rest, a, b)
            }
            Bits::Wide(found) => self.wide_bits(found, inst),
            Bits::Neg { wide } => {
                let a = self.read(source(inst, 1)?, if wide { 64 } else { 32 })?;
                let zero = self.constant(0, wide);
                self.int2(Int2::Sub, wide, true, zero, a)
            }
            Bits::Abs { wide: true } => {
                let a = self.read(source(inst, 1)?, 64)?;
                self.map_quads([a], |coder, [a]| coder.one(&vector::ABS_I64, a))
            }
            Bits::Abs { wide: false } => {
                let args = self.args(inst, 32)?;
                self.map(args, true, false, |coder, [a]| {
                    coder.one(&vector::ABS_I32, a)
                })
            }
            Bits::Distance { signed } => {
                let [a, b] = self.args(inst, 32)?;
                let far = self.map([a, b], true, false, |coder, [a, b]| {
                    let (max, min) = if signed {
                        (&vector::MAX_I32, &vector::MIN_I32)
                    } else {
                        (&vector::MAX_U32, &vector::MIN_U32)
                    };
                    let (high, low) = (coder.plain(max, a, b), coder.plain(min, a, b));
                    coder.plain(&vector::SUB_I32, high, low)
                })?;
                self.and_more(far, inst, true)
            }
            Bits::Funnel {
                left, rotate: true, ..
            } => {
                let [a, _, by] = self.args(inst, 32)?;
                let op = if left {
                    &vector::ROLV_I32
                } else {
                    &vector::RORV_I32
                };
                if let Some(by) = self.constant_of(by) {
                    return self.map([a], true, false, |coder, [a]| {
                        coder.with_constant(op, a, by)
                    });
                }
                self.map([a, by], true, false, |coder, [a, by]| {
                    coder.plain(op, a, by)
                })
            }
            Bits::Funnel { left, wrap, .. } => {
                let args = self.args(inst, 32)?;
                self.map(args, true, false, |coder, args| {
                    coder.funnel(left, wrap, args)
                })
            }
            Bits::Extract { signed } => {
                let args = self.args(inst, 32)?;
                self.map(args, true, false, |coder, args| coder.extract(signed, args))
            }
            Bits::Insert => {
                let args = self.args(inst, 32)?;
                self.map(args, true, false, |coder, [field, base, at, len]| {
                    let [at, len] = [at, len].map(|x| coder.with_constant(&vector::AND, x, 0xFF));
                    let ones = coder.ones(len);
                    let mask = coder.plain(&vector::SHLV_I32, ones, at);
                    let field = coder.plain(&vector::SHLV_I32, field, at);
                    coder.merge(mask, field, base)
                })
            }
            Bits::Ones { wrap } => {
                let args = self.args(inst, 32)?;
                self.map(args, true, false, |coder, args| {
                    // What is shifted by more than all bits is 0, so that 32 and more are the same.
                    let [at, len] = if wrap {
                        args.map(|x| coder.with_constant(&vector::AND, x, 31))
                    } else {
                        args
                    };
                    let ones = coder.ones(len);
                    coder.plain(&vector::SHLV_I32, ones, at)
                })
            }
            Bits::Count { wide: false } => {
                let args = self.args(inst, 32)?;
                self.map(args, true, false, |coder, [a]| {
                    let bytes = coder.counted_bytes(a);
                    coder.sum_of_bytes(bytes)
                })
            }
            Bits::Count { wide: true } => {
                let a = self.read(source(inst, 1)?, 64)?;
                self.map_down([a], false, |coder, [a]| {
                    let bytes = coder.counted_bytes(a);
                    let words = coder.sum_of_bytes(bytes);
                    let high = coder.by(&vector::SHR_U64, words, 32);
                    let all = coder.plain(&vector::ADD_I32, words, high);
                    coder.narrow_quad(all)
                })
            }
            Bits::LeadingZeros { wide } => {
                let top = self.top(wide, inst)?;
                let last = self.constant(if wide { 63 } else { 31 }, false);
                self.int2(Int2::Sub, false, true, last, top)
            }
            Bits::Reverse => {
                let args = self.args(inst, 32)?;
                self.map(args, true, false, |coder, [a]| coder.reversed(a))
            }
            Bits::Find { signed, distance } => {
                let [a] = self.args(inst, 32)?;
                let top = self.map([a], true, false, |coder, [a]| {
                    let a = if signed {
                        let sign = coder.by(&vector::SHR_I32, a, 31);
                        coder.plain(&vector::XOR, a, sign)
                    } else {
                        a
                    };
                    coder.top_of(a)
                })?;
                if !distance {
                    return Ok(top);
                }
                // Of 0 it is all ones, too.
                self.map([top], true, false, |coder, [top]| {
                    let last = coder.whole(31);
                    let far = coder.plain(&vector::SUB_I32, last, top);
                    let ones = coder.whole(0xFFFF_FFFF);
                    let none = coder.test(&vector::CMP_I32, 0, top, ones);
                    coder.put_number(far, none, 0xFFFF_FFFF, false)
                })
            }
            Bits::Permute => {
                let args = self.args(inst, 32)?;
                self.map(args, true, false, |coder, args| coder.selected(args))
            }
            Bits::Copysign => {
                let args = self.args(inst, 32)?;
                self.map(args, true, false, |coder, [a, b]| {
                    let sign = coder.whole(1 << 31);
                    coder.merge(sign, a, b)
                })
            }
        }
    }

    /// A number, and the third operand if one is added.
    fn and_more(&mut self, a: ValueId, inst: &Inst, add: bool) -> Result<ValueId, Skip> {
        if !add {
            return Ok(a);
        }
        let c = self.read(source(inst, 3)?, 32)?;
        self.int2(Int2::Add, false, false, a, c)
    }

    /// The upper halves of products: those of even lanes, then those of odd ones.
    pub(super) fn high(&mut self, signed: bool, a: VReg, b: VReg) -> VReg {
        let op = if signed {
            &vector::MUL_I32_I64
        } else {
            &vector::MUL_U32_U64
        };
        let even = self.plain(op, a, b);
        let even = self.by(&vector::SHR_U64, even, 32);
        let [a, b] = [a, b].map(|x| self.by(&vector::SHR_U64, x, 32));
        let odd = self.plain(op, a, b);
        let mask = self.whole_wide(0xFFFF_FFFF_0000_0000);
        self.merge(mask, odd, even)
    }

    /// Quotients by way of f64: both numbers are exact there, and the quotient is off by less than its distance from the next
    /// integer. What is divided by 0 gives all ones.
    pub(super) fn quotient(
        &mut self,
        signed: bool,
        rest: bool,
        a: ValueId,
        b: ValueId,
    ) -> Result<ValueId, Skip> {
        let (up, down) = if signed {
            (&vector::F64_OF_I32, &vector::I32_OF_F64_ZERO)
        } else {
            (&vector::F64_OF_U32, &vector::U32_OF_F64_ZERO)
        };
        self.map([a, b], true, false, |coder, [a, b]| {
            let half = |coder: &mut Self, a: VReg, b: VReg| {
                let [a, b] = [a, b].map(|x| coder.one(up, x));
                let quotient = coder.plain(&vector::DIV_F64, a, b);
                coder.one(down, quotient)
            };
            let low = half(coder, a, b);
            let [high_a, high_b] = [a, b].map(|x| coder.upper(x));
            let high = half(coder, high_a, high_b);
            let v = Vector {
                imm: 1,
                ..Vector::two(low, Arg::Reg(high))
            };
            let mut found = coder.vector(&vector::INSERT_256, v);
            if rest {
                let whole = coder.plain(&vector::MUL_I32, found, b);
                found = coder.plain(&vector::SUB_I32, a, whole);
            }
            let none = coder.test(&vector::TESTN_I32, 0, b, b);
            coder.put_number(found, none, 0xFFFF_FFFF, false)
        })
    }

    fn funnel(&mut self, left: bool, wrap: bool, [a, b, by]: [VReg; 3]) -> VReg {
        let by = if wrap {
            self.with_constant(&vector::AND, by, 31)
        } else {
            self.with_constant(&vector::MIN_U32, by, 32)
        };
        let all = self.whole(32);
        let other = self.plain(&vector::SUB_I32, all, by);
        let (up, down) = if left { (by, other) } else { (other, by) };
        let high = self.plain(&vector::SHLV_I32, b, up);
        let low = self.plain(&vector::SHRV_U32, a, down);
        self.plain(&vector::OR, high, low)
    }

    /// So many ones, all for 32 and more.
    fn ones(&mut self, count: VReg) -> VReg {
        let one = self.whole(1);
        let next = self.plain(&vector::SHLV_I32, one, count);
        self.with_constant(&vector::SUB_I32, next, 1)
    }

    fn extract(&mut self, signed: bool, [a, at, len]: [VReg; 3]) -> VReg {
        let [at, len] = [at, len].map(|x| self.with_constant(&vector::AND, x, 0xFF));
        let mask = self.ones(len);
        if !signed {
            let low = self.plain(&vector::SHRV_U32, a, at);
            return self.plain(&vector::AND, low, mask);
        }
        let low = self.plain(&vector::SHRV_I32, a, at);
        let end = self.plain(&vector::ADD_I32, at, len);
        let top = self.with_constant(&vector::SUB_I32, end, 1);
        let top = self.with_constant(&vector::MIN_U32, top, 31);
        let last = self.whole(31);
        let above = self.plain(&vector::SUB_I32, last, top);
        let sign = self.plain(&vector::SHLV_I32, a, above);
        let sign = self.by(&vector::SHR_I32, sign, 31);
        let found = self.merge(mask, low, sign);
        let none = self.test(&vector::TESTN_I32, 0, len, len);
        self.put_number(found, none, 0, false)
    }

    /// How many bits each byte has.
    fn counted_bytes(&mut self, a: VReg) -> VReg {
        let mut counts = [0; 64];
        for (i, count) in counts.iter_mut().enumerate() {
            *count = (i as u8 & 15).count_ones() as u8;
        }
        let [low, high] = self.nibbles(a, counts);
        self.plain(&vector::ADD_I8, low, high)
    }

    /// What a table says of the lower and the upper four bits of each byte.
    fn nibbles(&mut self, a: VReg, table: [u8; 64]) -> [VReg; 2] {
        let place = self.nodes.constant(table);
        let table = self.vector(&vector::LOAD, Vector::one(Arg::Mem(place)));
        let high = self.by(&vector::SHR_U32, a, 4);
        [a, high].map(|x| {
            let x = self.with_constant(&vector::AND, x, 0x0F0F_0F0F);
            self.plain(&vector::SHUFFLE_I8, table, x)
        })
    }

    fn sum_of_bytes(&mut self, bytes: VReg) -> VReg {
        let (zero, ones) = (self.whole(0), self.whole(0x0101_0101));
        let v = Vector {
            tied: Some(zero),
            ..Vector::two(bytes, Arg::Reg(ones))
        };
        self.vector(&vector::DOT_U8_I8, v)
    }

    fn reversed(&mut self, a: VReg) -> VReg {
        let mut turned = [0; 64];
        for (i, turned) in turned.iter_mut().enumerate() {
            *turned = (i as u8 & 15).reverse_bits() >> 4;
        }
        let [low, high] = self.nibbles(a, turned);
        let low = self.by(&vector::SHL_I32, low, 4);
        let bytes = self.plain(&vector::OR, low, high);
        let order = std::array::from_fn(|i| i as u8 & 15 ^ 3);
        let place = self.nodes.constant(order);
        self.vector(&vector::SHUFFLE_I8, Vector::two(bytes, Arg::Mem(place)))
    }

    /// Bytes of `b:a` by the four numbers of `by`, or their signs spread out.
    fn selected(&mut self, [a, b, by]: [VReg; 3]) -> VReg {
        // Each number to the byte that it is for.
        let both = self.with_constant(&vector::AND, by, 0xFFFF);
        let up = self.by(&vector::SHL_I32, both, 8);
        let both = self.plain(&vector::OR, both, up);
        let both = self.with_constant(&vector::AND, both, 0x00FF_00FF);
        let up = self.by(&vector::SHL_I32, both, 4);
        let numbers = self.plain(&vector::OR, both, up);
        let numbers = self.with_constant(&vector::AND, numbers, 0x0F0F_0F0F);
        let own = std::array::from_fn(|i| i as u8 & 12);
        let own = self.nodes.constant(own);
        let place = self.with_constant(&vector::AND, numbers, 0x0303_0303);
        let place = self.vector(&vector::OR, Vector::two(place, Arg::Mem(own)));
        // What is of the other word becomes 0.
        let other = self.with_constant(&vector::AND, numbers, 0x0404_0404);
        let other = self.by(&vector::SHL_I32, other, 5);
        let of_a = self.plain(&vector::OR, place, other);
        let of_b = self.with_constant(&vector::XOR, of_a, 0x8080_8080);
        let of_a = self.plain(&vector::SHUFFLE_I8, a, of_a);
        let of_b = self.plain(&vector::SHUFFLE_I8, b, of_b);
        let bytes = self.plain(&vector::OR, of_a, of_b);
        let spread = |coder: &mut Self, x: VReg, bit: u8| {
            let low = coder.by(&vector::SHR_U32, x, bit);
            let low = coder.with_constant(&vector::AND, low, 0x0101_0101);
            let next = coder.by(&vector::SHL_I32, low, 8);
            coder.plain(&vector::SUB_I32, next, low)
        };
        let signs = spread(self, bytes, 7);
        let wanted = spread(self, numbers, 3);
        self.merge(wanted, signs, bytes)
    }

    /// The place of the highest bit; all ones where there is none.
    fn top(&mut self, wide: bool, inst: &Inst) -> Result<ValueId, Skip> {
        if !wide {
            let args = self.args(inst, 32)?;
            return self.map(args, true, false, |coder, [a]| coder.top_of(a));
        }
        let a = self.read(source(inst, 1)?, 64)?;
        self.map_down([a], false, |coder, [a]| {
            let next = coder.by(&vector::SHR_U64, a, 1);
            let a = coder.without(a, next);
            let float = coder.one(&vector::F64_OF_U64, a);
            let exponent = coder.by(&vector::SHR_U64, float, 52);
            let place = coder.with_wide(&vector::SUB_I64, exponent, 1023);
            let place = coder.with_wide(&vector::MAX_I64, place, u64::MAX);
            coder.narrow_quad(place)
        })
    }

    /// Bits of `a` that `b` has not.
    fn without(&mut self, a: VReg, b: VReg) -> VReg {
        let v = Vector {
            tied: Some(a),
            imm: 0x30,
            ..Vector::two(b, Arg::Reg(b))
        };
        self.vector(&vector::TERNARY, v)
    }

    /// The exponent of a number as a float is the place of its highest bit. Without the bit below that it is not rounded up
    /// to the next power.
    fn top_of(&mut self, a: VReg) -> VReg {
        let next = self.by(&vector::SHR_U32, a, 1);
        let a = self.without(a, next);
        let float = self.one(&vector::F32_OF_U32, a);
        let exponent = self.by(&vector::SHR_U32, float, 23);
        let place = self.with_constant(&vector::SUB_I32, exponent, 127);
        self.with_constant(&vector::MAX_I32, place, 0xFFFF_FFFF)
    }
}
