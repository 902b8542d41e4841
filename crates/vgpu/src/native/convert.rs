//! Code for conversions, packing and unpacking.

use super::{
    accesses::items,
    encode::splat_bytes,
    kinds::Convert,
    nodes::{Arg, Code, Vector},
    values::{Coder, Skip, ValueId},
};
use regalloc2::{RegClass, VReg};
use warpsmith_ptx::ir::Inst;
use warpsmith_x86::{Alu, Len, Shift, vector};

impl Coder<'_, '_> {
    pub(super) fn unpack(&mut self, inst: &Inst, bits: u32) -> Result<(), Skip> {
        let parts = items(inst.operands.first().ok_or(Skip)?);
        let a = self.read(inst.operands.get(1).ok_or(Skip)?, 2 * bits)?;
        let wide = bits == 32;
        let uniform = self.is_uniform(a);
        let mut values = Vec::new();
        for k in 0..2u32 {
            let value = if uniform {
                let reg = self.scalar(a)?;
                let reg = match (k, wide) {
                    (0, false) => self.nodes.scalar(Code::Extend(16, false), &[reg]),
                    (0, true) => self.nodes.scalar(Code::Mov(false), &[reg]),
                    _ => {
                        let code = Code::Shift(Shift::Right, wide, bits as u8);
                        self.nodes.change(code, reg, &[])
                    }
                };
                self.of_scalar(reg, false)
            } else if wide {
                let quads = self.quads(a)?;
                let mut halves = Vec::new();
                for quad in quads {
                    let quad = if k == 0 {
                        quad
                    } else {
                        let v = Vector {
                            imm: 32,
                            ..Vector::one(Arg::Reg(quad))
                        };
                        self.vector(&vector::SHR_U64, v)
                    };
                    halves.push(self.narrow_quad(quad));
                }
                let lanes = self.joined(&halves)?;
                self.of_lanes(lanes, false)
            } else if k == 0 {
                // Whoever reads 16 bits passes over the others.
                a
            } else {
                self.map([a], true, false, |coder, [a]| {
                    let v = Vector {
                        imm: 16,
                        ..Vector::one(Arg::Reg(a))
                    };
                    coder.vector(&vector::SHR_U32, v)
                })?
            };
            values.push(value);
        }
        for (part, value) in parts.iter().zip(values) {
            self.put(part, value)?;
        }
        Ok(())
    }

    /// The low words of 8 lanes of 64 bits, in the lower half of a register.
    pub(super) fn narrow_quad(&mut self, quad: VReg) -> VReg {
        self.nodes
            .reversed(&vector::NARROW_I64_I32, RegClass::Float, Len::L512, 0, quad)
    }

    /// Two registers from four lower halves.
    pub(super) fn joined(&mut self, halves: &[VReg]) -> Result<[VReg; 2], Skip> {
        let &[a, b, c, d] = halves else {
            return Err(Skip);
        };
        Ok([(a, b), (c, d)].map(|(low, high)| {
            let v = Vector {
                imm: 1,
                ..Vector::two(low, Arg::Reg(high))
            };
            self.vector(&vector::INSERT_256, v)
        }))
    }

    pub(super) fn pack(&mut self, inst: &Inst, bits: u32) -> Result<ValueId, Skip> {
        let parts = items(inst.operands.get(1).ok_or(Skip)?);
        let [low, high] = parts else { return Err(Skip) };
        let (low, high) = (self.read(low, bits)?, self.read(high, bits)?);
        let wide = bits == 32;
        if self.is_uniform(low) && self.is_uniform(high) {
            let (low, high) = (self.scalar(low)?, self.scalar(high)?);
            let low = if wide {
                self.nodes.scalar(Code::Mov(false), &[low])
            } else {
                self.nodes.scalar(Code::Extend(16, false), &[low])
            };
            let code = Code::Shift(Shift::Left, wide, bits as u8);
            let high = self.nodes.change(code, high, &[]);
            let reg = self.nodes.change(Code::Alu(Alu::Or, wide), high, &[low]);
            return Ok(self.of_scalar(reg, wide));
        }
        if wide {
            let (low, high) = (self.widen_lanes(low)?, self.widen_lanes(high)?);
            let regs = [0, 1, 2, 3].map(|j| {
                let v = Vector {
                    imm: 32,
                    ..Vector::one(Arg::Reg(high[j]))
                };
                let high = self.vector(&vector::SHL_I64, v);
                self.plain(&vector::OR, high, low[j])
            });
            return Ok(self.of_quads(regs));
        }
        self.map([low, high], true, false, |coder, [low, high]| {
            let low = coder.with_constant(&vector::AND, low, 0xFFFF);
            let v = Vector {
                imm: 16,
                ..Vector::one(Arg::Reg(high))
            };
            let high = coder.vector(&vector::SHL_I32, v);
            coder.plain(&vector::OR, high, low)
        })
    }

    /// Lanes extended with zeros.
    pub(super) fn widen_lanes(&mut self, a: ValueId) -> Result<[VReg; 4], Skip> {
        let lanes = self.lanes_exact(a)?;
        let mut quads = Vec::with_capacity(4);
        for lane in lanes {
            quads.push(self.vector(&vector::ZERO_I32_I64, Vector::one(Arg::Reg(lane))));
            let high =
                self.nodes
                    .reversed(&vector::EXTRACT_256, RegClass::Float, Len::L512, 1, lane);
            quads.push(self.vector(&vector::ZERO_I32_I64, Vector::one(Arg::Reg(high))));
        }
        quads.try_into().map_err(|_| Skip)
    }

    pub(super) fn narrow_half(&mut self, a: VReg) -> VReg {
        // The machine keeps what it can of a NaN's bits.
        let a = self.canonical(a);
        let half = self
            .nodes
            .reversed(&vector::F16_OF_F32, RegClass::Float, Len::L512, 0, a);
        self.vector(&vector::ZERO_I16_I32, Vector::one(Arg::Reg(half)))
    }

    pub(super) fn convert(&mut self, convert: Convert, inst: &Inst) -> Result<ValueId, Skip> {
        let wide = convert == Convert::Narrow;
        let [a] = self.args(inst, if wide { 64 } else { 32 })?;
        match convert {
            Convert::Widen { signed } => self.widen(signed, a),
            Convert::Narrow => {
                if let Some((base, step)) = self.linear(a)? {
                    let base = self.nodes.scalar(Code::Mov(false), &[base]);
                    return Ok(self.of_linear(base, step, false));
                }
                let halves = self.quads(a)?.map(|quad| self.narrow_quad(quad));
                let lanes = self.joined(&halves)?;
                Ok(self.of_lanes(lanes, false))
            }
            Convert::Extend { bits, signed } => {
                if self.is_uniform(a) {
                    let reg = self.scalar(a)?;
                    let reg = self.nodes.scalar(Code::Extend(bits, signed), &[reg]);
                    return Ok(self.of_scalar(reg, false));
                }
                if !signed {
                    let keep = (1 << bits) - 1;
                    return self.map([a], true, false, |coder, [a]| {
                        coder.with_constant(&vector::AND, a, keep)
                    });
                }
                let imm = 32 - bits as u8;
                self.map([a], true, false, |coder, [a]| {
                    let up = Vector {
                        imm,
                        ..Vector::one(Arg::Reg(a))
                    };
                    let up = coder.vector(&vector::SHL_I32, up);
                    let down = Vector {
                        imm,
                        ..Vector::one(Arg::Reg(up))
                    };
                    coder.vector(&vector::SHR_I32, down)
                })
            }
            Convert::Float { signed } => {
                let op = if signed {
                    &vector::F32_OF_I32
                } else {
                    &vector::F32_OF_U32
                };
                self.map([a], true, false, |coder, [a]| {
                    coder.vector(op, Vector::one(Arg::Reg(a)))
                })
            }
            Convert::Int { signed, zero } => self.map([a], false, false, |coder, [a]| {
                coder.int_of_float(signed, zero, a)
            }),
            Convert::WidenHalf => self.map([a], true, true, |coder, [a]| {
                let half =
                    coder
                        .nodes
                        .reversed(&vector::NARROW_I32_I16, RegClass::Float, Len::L512, 0, a);
                coder.vector(&vector::F32_OF_F16, Vector::one(Arg::Reg(half)))
            }),
            Convert::WidenBrain => self.map([a], true, true, |coder, [a]| {
                let v = Vector {
                    imm: 16,
                    ..Vector::one(Arg::Reg(a))
                };
                coder.vector(&vector::SHL_I32, v)
            }),
            Convert::NarrowHalf => self.map([a], true, false, |coder, [a]| coder.narrow_half(a)),
        }
    }

    /// Out of range is the nearest end, NaN is 0.
    pub(super) fn int_of_float(&mut self, signed: bool, zero: bool, a: VReg) -> VReg {
        let none = self.whole(0);
        if !signed {
            // Below 0 and NaN become 0; the machine's answer for what is too large is all ones.
            let a = self.plain(&vector::MAX_F32, a, none);
            let op = if zero {
                &vector::U32_OF_F32_ZERO
            } else {
                &vector::U32_OF_F32
            };
            return self.vector(op, Vector::one(Arg::Reg(a)));
        }
        let op = if zero {
            &vector::I32_OF_F32_ZERO
        } else {
            &vector::I32_OF_F32
        };
        let found = self.vector(op, Vector::one(Arg::Reg(a)));
        let limit = self.whole(u64::from(2_147_483_648f32.to_bits()));
        let put = |coder: &mut Self, found: VReg, imm: u8, other: VReg, value: u64| {
            let test = Vector {
                imm,
                ..Vector::two(a, Arg::Reg(other))
            };
            let mask = coder.nodes.vector(&vector::CMP_F32, RegClass::Vector, test);
            let place = coder.nodes.constant(splat_bytes(value, false));
            coder.vector(
                &vector::LOAD_I32,
                Vector {
                    tied: Some(found),
                    mask: Some(mask),
                    ..Vector::one(Arg::Mem(place))
                },
            )
        };
        let found = put(self, found, 0x1D, limit, 0x7FFF_FFFF);
        put(self, found, 0x03, a, 0)
    }
}
