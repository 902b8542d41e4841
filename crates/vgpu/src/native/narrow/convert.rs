//! Conversions that AVX2 has no instruction for. Each is exact, or rounded once, as the one of AVX-512 is.

use super::{
    super::nodes::Arg,
    Narrow, Refused,
    masks::Lanes,
    vectors::{From, Half, Node},
};
use regalloc2::{RegClass, VReg};
use warpsmith_x86::{Len, Vop, vector};

/// 2^52 as f64: what is added to it stands in its lower bits.
const TWO_52: u64 = 0x4330_0000_0000_0000;
/// 2^84.
const TWO_84: u64 = 0x4530_0000_0000_0000;

impl Narrow {
    fn in_reg(&mut self, half: Half) -> Result<VReg, Refused> {
        Ok(match half.last()? {
            Arg::Reg(reg) => reg,
            arg @ Arg::Mem(_) => self.one(&vector::LOAD, arg),
        })
    }

    /// Times a power of two whose exponent is a whole number, at most twice that of a float: by two powers, so that only the
    /// second product is rounded.
    pub(super) fn scaled(&mut self, half: Half) -> Result<VReg, Refused> {
        let mut product = half.a.ok_or(Refused)?;
        let by = self.in_reg(half)?;
        let by = self.one(&vector::I32_OF_F32, Arg::Reg(by));
        let first = self.by(&vector::SHR_I32, by, 1);
        let rest = self.both(&vector::SUB_I32, by, first);
        for exponent in [first, rest] {
            let bias = self.words(127);
            let exponent = self.two(&vector::ADD_I32, exponent, bias);
            let power = self.by(&vector::SHL_I32, exponent, 23);
            product = self.both(&vector::MUL_F32, product, power);
        }
        Ok(product)
    }

    /// Both halves of 16 bits are exact, and their sum is rounded once.
    pub(super) fn float_of_word(&mut self, half: Half) -> Result<VReg, Refused> {
        let a = self.in_reg(half)?;
        let high = self.by(&vector::SHR_U32, a, 16);
        let high = self.one(&vector::F32_OF_I32, Arg::Reg(high));
        let low = self.words(0xFFFF);
        let low = self.two(&vector::AND_BITS, a, low);
        let low = self.one(&vector::F32_OF_I32, Arg::Reg(low));
        let factor = self.words(65_536f32.to_bits());
        let high = self.two(&vector::MUL_F32, high, factor);
        Ok(self.both(&vector::ADD_F32, high, low))
    }

    pub(super) fn word_of_float(&mut self, half: Half) -> Result<VReg, Refused> {
        self.unsigned(half, &vector::I32_OF_F32)
    }

    pub(super) fn word_of_float_toward_zero(&mut self, half: Half) -> Result<VReg, Refused> {
        self.unsigned(half, &vector::I32_OF_F32_ZERO)
    }

    /// From 2^31 on 2^31 is taken off before and put back as a bit. What is no number of 32 bits then has its highest bit
    /// set, and becomes all ones.
    fn unsigned(&mut self, half: Half, op: &'static Vop) -> Result<VReg, Refused> {
        let a = self.in_reg(half)?;
        let limit = self.words(2_147_483_648f32.to_bits());
        let far = self.both_by(&vector::CMP_F32, a, limit, 0x1D);
        let off = self.two(&vector::AND_BITS, far, limit);
        let near = self.both(&vector::SUB_F32, a, off);
        let found = self.one(op, Arg::Reg(near));
        let none = self.by(&vector::SHR_I32, found, 31);
        let top = self.by(&vector::SHL_I32, far, 31);
        let found = self.both(&vector::XOR_BITS, found, top);
        Ok(self.both(&vector::OR_BITS, found, none))
    }

    pub(super) fn double_of_signed(&mut self, half: Half) -> Result<VReg, Refused> {
        // 2^63 more, so that the upper word has no sign.
        self.double_of(
            half,
            TWO_84 | 1 << 31,
            (1u128 << 84) + (1 << 63) + (1 << 52),
        )
    }

    pub(super) fn double_of_unsigned(&mut self, half: Half) -> Result<VReg, Refused> {
        self.double_of(half, TWO_84, (1u128 << 84) + (1 << 52))
    }

    /// Upper and lower words stand behind powers of two, whose difference is exact, and their sum is rounded once.
    fn double_of(&mut self, half: Half, high: u64, off: u128) -> Result<VReg, Refused> {
        let a = self.in_reg(half)?;
        let upper = self.by(&vector::SHR_U64, a, 32);
        let high = self.quads(high);
        let upper = self.two(&vector::XOR_BITS, upper, high);
        let off = self.quads((off as f64).to_bits());
        let upper = self.two(&vector::SUB_F64, upper, off);
        let low = self.quads(0xFFFF_FFFF);
        let lower = self.two(&vector::AND_BITS, a, low);
        let behind = self.quads(TWO_52);
        let lower = self.two(&vector::OR_BITS, lower, behind);
        Ok(self.both(&vector::ADD_F64, upper, lower))
    }

    /// f32 of numbers of 64 bits, by way of f64. What has more than 53 bits is cut to those before, and all bits that are
    /// lost become one, so that it is still not exact and on the same side: f64 holds it, and f32 rounds it once.
    pub(super) fn floats_of_wide(&mut self, node: &Node) -> Result<(), Refused> {
        self.unmasked(node)?;
        let signed = node.op == &vector::F32_OF_I64;
        let mut quarter = |half: usize| {
            let a = self.in_register(node.last.ok_or(Refused)?, half)?;
            let (from_0, by) = match signed {
                true => {
                    let more = self.quads(1 << 53);
                    (self.two(&vector::ADD_I64, a, more), 54)
                }
                false => (a, 53),
            };
            let above = self.by(&vector::SHR_U64, from_0, by);
            let zero = self.quads(0);
            let exact = self.two(&vector::EQUAL_I64, above, zero);
            let low = self.quads(0xFFF);
            let lost = self.two(&vector::AND_BITS, a, low);
            let lost = self.two(&vector::ADD_I64, lost, low);
            let bit = self.quads(0x1000);
            let lost = self.two(&vector::AND_BITS, lost, bit);
            let lost = self.by(&vector::SHR_U64, lost, 1);
            let high = self.quads(!0xFFF);
            let cut = self.two(&vector::AND_BITS, a, high);
            let cut = self.both(&vector::OR_BITS, cut, lost);
            let lanes = Lanes {
                reg: exact,
                turned: false,
            };
            let number = self.chosen(lanes, Arg::Reg(a), cut);
            let own = Half {
                imm: 0,
                start: None,
                a: None,
                last: Some(Arg::Reg(number)),
            };
            let double = match signed {
                true => self.double_of_signed(own)?,
                false => self.double_of_unsigned(own)?,
            };
            Ok(self.one(&vector::F32_OF_F64, Arg::Reg(double)))
        };
        let (low, high) = (quarter(0)?, quarter(1)?);
        self.put_quarters(node.dst, [low, high]);
        Ok(())
    }

    pub(super) fn signed_of_double(&mut self, half: Half) -> Result<VReg, Refused> {
        // 2^51 more, so that a number below 0 takes nothing from the bits above the lower word.
        let upper = 1.5 * 4_503_599_627_370_496.0;
        let ends = [-9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0];
        self.integer_of_double(half, upper, ends, 1 << 63)
    }

    pub(super) fn unsigned_of_double(&mut self, half: Half) -> Result<VReg, Refused> {
        let ends = [0.0, 18_446_744_073_709_551_616.0];
        self.integer_of_double(half, f64::from_bits(TWO_52), ends, u64::MAX)
    }

    /// A number of 64 bits toward zero: its upper and its lower word, each behind a power of two. `other` is for what is
    /// not from the first end on and below the second.
    fn integer_of_double(
        &mut self,
        half: Half,
        upper: f64,
        ends: [f64; 2],
        other: u64,
    ) -> Result<VReg, Refused> {
        let a = self.in_reg(half)?;
        let whole = self.by(&vector::WHOLE_F64, a, 8 | 3);
        let down = self.quads((1.0 / 4_294_967_296f64).to_bits());
        let high = self.two(&vector::MUL_F64, whole, down);
        let high = self.by(&vector::WHOLE_F64, high, 8 | 1);
        let up = self.quads(4_294_967_296f64.to_bits());
        let taken = self.two(&vector::MUL_F64, high, up);
        let low = self.both(&vector::SUB_F64, whole, taken);
        let behind = self.quads(upper.to_bits());
        let high = self.two(&vector::ADD_F64, high, behind);
        let high = self.by(&vector::SHL_I64, high, 32);
        let behind = self.quads(TWO_52);
        let low = self.two(&vector::ADD_F64, low, behind);
        let word = self.quads(0xFFFF_FFFF);
        let low = self.two(&vector::AND_BITS, low, word);
        let found = self.both(&vector::OR_BITS, high, low);
        let [first, second] = ends.map(|end| self.quads(end.to_bits()));
        let below = self.both_by(&vector::CMP_F64, whole, first, 0x19);
        let above = self.both_by(&vector::CMP_F64, whole, second, 0x15);
        let reg = self.both(&vector::OR_BITS, below, above);
        let other = self.quads(other);
        let turned = false;
        Ok(self.chosen(Lanes { reg, turned }, other, found))
    }

    /// f64 of the words in the lower half of a register.
    pub(super) fn doubles_of_words(&mut self, node: &Node) -> Result<(), Refused> {
        let Some(From::Reg(old)) = node.last else {
            return Err(Refused);
        };
        let low = self.half(old, 0)?;
        let upper = self.upper(low);
        let found = [low, upper].map(|words| {
            let wide = self.one(&vector::ZERO_I32_I64, Arg::Reg(words));
            let behind = self.quads(TWO_52);
            let wide = self.two(&vector::OR_BITS, wide, behind);
            self.two(&vector::SUB_F64, wide, behind)
        });
        self.finish(node, found)
    }

    /// Words of f64 toward zero; what is no number of 32 bits becomes all ones.
    pub(super) fn words_of_doubles(&mut self, node: &Node) -> Result<(), Refused> {
        let mut found = Vec::with_capacity(2);
        for half in 0..2 {
            let a = self.arg(node.last.ok_or(Refused)?, half, 32)?;
            let toward_zero = super::Vector {
                imm: 8 | 3,
                ..super::Vector::one(a)
            };
            let whole = self.made(&vector::WHOLE_F64, toward_zero);
            let behind = self.quads(TWO_52);
            let number = self.two(&vector::ADD_F64, whole, behind);
            // Not at or above 0, and not below 2^32.
            let zero = self.quads(0);
            let below = self.both_by(&vector::CMP_F64, whole, zero, 0x19);
            let limit = self.quads(4_294_967_296f64.to_bits());
            let above = self.both_by(&vector::CMP_F64, whole, limit, 0x15);
            let none = self.both(&vector::OR_BITS, below, above);
            found.push(self.both(&vector::OR_BITS, number, none));
        }
        let low = self.evens(found[0], found[1]);
        self.unmasked(node)?;
        self.set_low(node.dst, low);
        Ok(())
    }

    /// The even words of two registers.
    pub(super) fn evens(&mut self, low: VReg, high: VReg) -> VReg {
        let words = self.both_by(&vector::SHUFFLE_F32, low, Arg::Reg(high), 0x88);
        self.by(&vector::PERMUTE_I64, words, 0xD8)
    }

    /// The low words of lanes of 64 bits, in the lower half.
    pub(super) fn low_words(&mut self, node: &Node) -> Result<(), Refused> {
        self.unmasked(node)?;
        let Some(From::Reg(old)) = node.last else {
            return Err(Refused);
        };
        let (low, high) = (self.half(old, 0)?, self.half(old, 1)?);
        let words = self.evens(low, high);
        self.set_low(node.dst, words);
        Ok(())
    }

    /// Lanes of 64 bits that become ones of 32, in the lower half.
    pub(super) fn halved(&mut self, node: &Node) -> Result<(), Refused> {
        self.unmasked(node)?;
        let from = node.last.ok_or(Refused)?;
        let low = self.arg(from, 0, 32)?;
        let low = self.one(node.op, low);
        let high = match self.is_one(node.last) {
            true => low,
            false => {
                let high = self.arg(from, 1, 32)?;
                self.one(node.op, high)
            }
        };
        self.put_quarters(node.dst, [low, high]);
        Ok(())
    }

    /// f16 of f32, in the lower half.
    pub(super) fn half_floats(&mut self, node: &Node) -> Result<(), Refused> {
        self.unmasked(node)?;
        let Some(From::Reg(old)) = node.last else {
            return Err(Refused);
        };
        let mut quarter = |half: usize| {
            let own = self.half(old, half)?;
            Ok(self
                .to
                .reversed(node.op, RegClass::Float, Len::L256, node.imm, own))
        };
        let low = quarter(0)?;
        let high = quarter(1)?;
        self.put_quarters(node.dst, [low, high]);
        Ok(())
    }

    /// A lower half of two quarters.
    pub(super) fn put_quarters(&mut self, dst: VReg, quarters: [VReg; 2]) {
        let low = self.joined(quarters[0], quarters[1]);
        self.set_low(dst, low);
        self.quarters.insert(dst.vreg(), quarters);
    }

    /// Some nodes have no mask.
    pub(super) fn unmasked(&self, node: &Node) -> Result<(), Refused> {
        match node.mask {
            None if !node.stores => Ok(()),
            _ => Err(Refused),
        }
    }
}
