//! Code for f32.

use super::{
    encode::splat_bytes,
    kinds::{Float1, Float2},
    nodes::{Arg, Vector},
    values::{Coder, Skip, ValueId},
};
use regalloc2::{RegClass, VReg};
use warpsmith_x86::vector;

impl Coder<'_, '_> {
    pub(super) fn fma(&mut self, a: VReg, b: VReg, c: VReg) -> VReg {
        self.vector(
            &vector::FMA_F32,
            Vector {
                tied: Some(c),
                ..Vector::two(a, Arg::Reg(b))
            },
        )
    }

    pub(super) fn fma_constant(&mut self, p: VReg, f: VReg, c: f32) -> VReg {
        let place = self
            .nodes
            .constant(splat_bytes(u64::from(c.to_bits()), false));
        self.vector(
            &vector::FMA213_F32,
            Vector {
                tied: Some(p),
                ..Vector::two(f, Arg::Mem(place))
            },
        )
    }

    pub(super) fn float2(&mut self, op: Float2, a: ValueId, b: ValueId) -> Result<ValueId, Skip> {
        let vop = match op {
            Float2::Add => &vector::ADD_F32,
            Float2::Sub => &vector::SUB_F32,
            Float2::Mul => &vector::MUL_F32,
            Float2::Div => &vector::DIV_F32,
            Float2::Min | Float2::Max => {
                return self.map([a, b], false, true, |coder, [a, b]| {
                    coder.extreme(op == Float2::Max, a, b)
                });
            }
        };
        let swaps = matches!(op, Float2::Add | Float2::Mul);
        let (a, b) = match self.constant_of(a) {
            Some(_) if swaps => (b, a),
            _ => (a, b),
        };
        if let Some(value) = self.constant_of(b) {
            return self.map([a], false, true, |coder, [a]| {
                coder.with_constant(vop, a, value)
            });
        }
        self.map([a, b], false, true, |coder, [a, b]| coder.plain(vop, a, b))
    }

    /// The smaller or larger of two numbers: a NaN loses, -0 is below +0.
    pub(super) fn extreme(&mut self, max: bool, a: VReg, b: VReg) -> VReg {
        let (op, zeros) = if max {
            (&vector::MAX_F32, &vector::AND)
        } else {
            (&vector::MIN_F32, &vector::OR)
        };
        // It is b where one of them is NaN.
        let found = self.plain(op, a, b);
        let same = self.nodes.vector(
            &vector::CMP_F32,
            RegClass::Vector,
            Vector::two(a, Arg::Reg(b)),
        );
        let found = self.vector(
            zeros,
            Vector {
                tied: Some(found),
                mask: Some(same),
                ..Vector::two(a, Arg::Reg(b))
            },
        );
        let missing = Vector {
            imm: 3,
            ..Vector::two(b, Arg::Reg(b))
        };
        let missing = self
            .nodes
            .vector(&vector::CMP_F32, RegClass::Vector, missing);
        self.vector(
            &vector::LOAD_I32,
            Vector {
                tied: Some(found),
                mask: Some(missing),
                ..Vector::one(Arg::Reg(a))
            },
        )
    }

    pub(super) fn float1(&mut self, op: Float1, a: ValueId) -> Result<ValueId, Skip> {
        let one = u64::from(1f32.to_bits());
        match op {
            Float1::Neg => self.map([a], true, false, |coder, [a]| {
                coder.with_constant(&vector::XOR, a, 0x8000_0000)
            }),
            Float1::Abs => self.map([a], true, false, |coder, [a]| {
                coder.with_constant(&vector::AND, a, 0x7FFF_FFFF)
            }),
            Float1::Sqrt => self.map([a], false, true, |coder, [a]| {
                coder.vector(&vector::SQRT_F32, Vector::one(Arg::Reg(a)))
            }),
            Float1::Rcp => self.map([a], false, true, |coder, [a]| {
                let one = coder.whole(one);
                coder.plain(&vector::DIV_F32, one, a)
            }),
            Float1::Rsqrt => self.map([a], false, true, |coder, [a]| {
                let root = coder.vector(&vector::SQRT_F32, Vector::one(Arg::Reg(a)));
                let one = coder.whole(one);
                coder.plain(&vector::DIV_F32, one, root)
            }),
            Float1::Exp2 => self.map([a], false, true, Coder::exp2),
        }
    }

    /// As `exp2` of the interpreter, step by step.
    pub(super) fn exp2(&mut self, [x]: [VReg; 1]) -> VReg {
        const ROUND: f32 = 12_582_912.0;
        let bits = |x: f32| u64::from(x.to_bits());
        // The first of two that compare, the second where one is NaN.
        let low = self.whole(bits(-152.0));
        let low = self.plain(&vector::MAX_F32, low, x);
        let high = self.whole(bits(130.0));
        let clamped = self.plain(&vector::MIN_F32, high, low);
        let shifted = self.with_constant(&vector::ADD_F32, clamped, bits(ROUND));
        let back = self.with_constant(&vector::SUB_F32, shifted, bits(ROUND));
        let f = self.plain(&vector::SUB_F32, clamped, back);
        let mut p = self.whole(bits(1.525_273_4e-5));
        for c in [
            1.540_353e-4,
            1.333_355_8e-3,
            9.618_129e-3,
            5.550_411e-2,
            2.402_265_1e-1,
            6.931_472e-1,
            1.0,
        ] {
            p = self.fma_constant(p, f, c);
        }
        // It rounds once, as the last of the interpreter's two products with powers of two does.
        self.plain(&vector::SCALE_F32, p, back)
    }
}
