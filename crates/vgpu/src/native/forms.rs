//! The forms that values are asked for in: each is made once, and kept.

use super::{
    encode::{NAN, splat_bytes},
    nodes::{Arg, Code, MemoryAt, Vector},
    values::{Coder, Skip, Source, ValueId},
};
use regalloc2::{RegClass, VReg};
use warpsmith_x86::{Alu, Len, Vop, vector};

impl Coder<'_, '_> {
    pub(super) fn is_uniform(&self, id: ValueId) -> bool {
        let f = self.forms_of(id);
        f.constant.is_some()
            || f.scalar.is_some()
            || f.splat.is_some()
            || matches!(f.source, Some(Source::Scalar(_)))
    }

    pub(super) fn constant_of(&self, id: ValueId) -> Option<u64> {
        self.forms_of(id).constant
    }

    pub(super) fn affine(&self, id: ValueId) -> Option<(VReg, i64)> {
        self.forms_of(id).affine
    }

    /// One value for the warp, in a general register.
    pub(super) fn scalar(&mut self, id: ValueId) -> Result<VReg, Skip> {
        let f = self.forms(id).clone();
        if let Some(reg) = f.scalar {
            return Ok(reg);
        }
        let reg = if let Some(value) = f.constant {
            self.nodes.scalar(Code::MovImm(value), &[])
        } else if let Some(Source::Scalar(slot) | Source::Mask(slot)) = f.source {
            self.nodes.load(8, MemoryAt::Frame(slot))
        } else if f.splat.is_some() {
            let splat = self.splat_exact(id)?;
            self.nodes
                .reversed(&vector::FIRST_I32, RegClass::Int, Len::L128, 0, splat)
        } else if let Some(mask) = f.mask {
            self.nodes.scalar(Code::MaskTo, &[mask])
        } else {
            return Err(Skip);
        };
        self.forms(id).scalar = Some(reg);
        Ok(reg)
    }

    /// One value for the warp, in all lanes of a vector register.
    pub(super) fn splat(&mut self, id: ValueId) -> Result<VReg, Skip> {
        let f = self.forms(id).clone();
        if let Some(reg) = f.splat {
            return Ok(reg);
        }
        let v = if let Some(value) = f.constant {
            let place = self.nodes.constant(splat_bytes(value, f.wide));
            self.vector(&vector::LOAD, Vector::one(Arg::Mem(place)))
        } else if let Some(scalar) = f.scalar {
            let op = if f.wide {
                &vector::SPLAT_GPR64
            } else {
                &vector::SPLAT_GPR32
            };
            self.vector(op, Vector::one(Arg::Reg(scalar)))
        } else if f.wide {
            // Of 64 bits there is always the scalar, too.
            let scalar = self.scalar(id)?;
            self.vector(&vector::SPLAT_GPR64, Vector::one(Arg::Reg(scalar)))
        } else if let Some(Source::Scalar(slot)) = f.source {
            let from = Arg::Mem(MemoryAt::Frame(slot));
            self.vector(&vector::SPLAT_I32, Vector::one(from))
        } else {
            return Err(Skip);
        };
        self.forms(id).splat = Some(v);
        Ok(v)
    }

    /// The same with the bits that a NaN has.
    pub(super) fn splat_exact(&mut self, id: ValueId) -> Result<VReg, Skip> {
        let v = self.splat(id)?;
        if !self.forms(id).raw {
            return Ok(v);
        }
        let v = self.canonical(v);
        let f = self.forms(id);
        f.splat = Some(v);
        f.raw = false;
        Ok(v)
    }

    /// 32 lanes of 32 bits; a NaN may have any bits.
    pub(super) fn lanes(&mut self, id: ValueId) -> Result<[VReg; 2], Skip> {
        let f = self.forms(id).clone();
        if f.wide {
            return Err(Skip);
        }
        if let Some(lanes) = f.lanes {
            return Ok(lanes);
        }
        if self.is_uniform(id) {
            let v = self.splat(id)?;
            return Ok([v, v]);
        }
        let lanes = if let Some((base, step)) = f.affine {
            [0, 1].map(|j| self.affine_part(base, step, false, j))
        } else if let Some(Source::Narrow(slot)) = f.source {
            [0, 64].map(|at| {
                let from = Arg::Mem(MemoryAt::Frame(slot + at));
                self.vector(&vector::LOAD, Vector::one(from))
            })
        } else {
            return Err(Skip);
        };
        self.forms(id).lanes = Some(lanes);
        Ok(lanes)
    }

    /// 32 lanes with the bits that NaNs have.
    pub(super) fn lanes_exact(&mut self, id: ValueId) -> Result<[VReg; 2], Skip> {
        if !self.forms(id).raw {
            return self.lanes(id);
        }
        if self.forms(id).splat.is_some() {
            let v = self.splat_exact(id)?;
            return Ok([v, v]);
        }
        let lanes = self.lanes(id)?.map(|v| self.canonical(v));
        let f = self.forms(id);
        f.lanes = Some(lanes);
        f.raw = false;
        Ok(lanes)
    }

    /// 32 lanes of 64 bits.
    pub(super) fn quads(&mut self, id: ValueId) -> Result<[VReg; 4], Skip> {
        let f = self.forms(id).clone();
        if !f.wide {
            return Err(Skip);
        }
        if let Some(quads) = f.quads {
            return Ok(quads);
        }
        if self.is_uniform(id) {
            let v = self.splat(id)?;
            return Ok([v; 4]);
        }
        let quads = if let Some((base, step)) = f.affine {
            [0, 1, 2, 3].map(|j| self.affine_part(base, step, true, j))
        } else if let Some(Source::Wide(slot)) = f.source {
            [0, 64, 128, 192].map(|at| {
                let from = Arg::Mem(MemoryAt::Frame(slot + at));
                self.vector(&vector::LOAD, Vector::one(from))
            })
        } else {
            return Err(Skip);
        };
        self.forms(id).quads = Some(quads);
        Ok(quads)
    }

    /// The lanes of a predicate, xored with `negated`.
    pub(super) fn mask(&mut self, id: ValueId, negated: bool) -> Result<VReg, Skip> {
        let f = self.forms(id).clone();
        let mask = match (f.mask, f.source) {
            (Some(mask), _) => mask,
            (None, Some(Source::Mask(slot))) if f.scalar.is_none() => {
                self.nodes.load_mask(MemoryAt::Frame(slot))
            }
            _ => {
                let reg = self.scalar(id)?;
                self.nodes.mask(Code::MaskFrom, &[reg])
            }
        };
        self.forms(id).mask = Some(mask);
        Ok(if negated {
            self.nodes.mask(Code::MaskNot, &[mask])
        } else {
            mask
        })
    }

    /// Whether the lanes of a predicate are known to be the same, in a general register.
    pub(super) fn has_scalar(&self, id: ValueId) -> bool {
        let f = self.forms_of(id);
        f.scalar.is_some() || f.constant.is_some()
    }

    // Helpers.

    pub(super) fn vector(&mut self, op: &'static Vop, v: Vector) -> VReg {
        self.nodes.vector(op, RegClass::Float, v)
    }

    /// NaNs become the one NaN.
    pub(super) fn canonical(&mut self, v: VReg) -> VReg {
        let compare = Vector {
            imm: 3,
            ..Vector::two(v, Arg::Reg(v))
        };
        let nan = self
            .nodes
            .vector(&vector::CMP_F32, RegClass::Vector, compare);
        let place = self.nodes.constant(splat_bytes(NAN, false));
        self.vector(
            &vector::LOAD_I32,
            Vector {
                tied: Some(v),
                mask: Some(nan),
                ..Vector::one(Arg::Mem(place))
            },
        )
    }

    /// `a + value` in a general register.
    pub(super) fn add_imm(&mut self, a: VReg, value: i64) -> VReg {
        match i32::try_from(value) {
            Ok(0) => a,
            Ok(value) => self.nodes.scalar(Code::Lea(value), &[a]),
            Err(_) => {
                let big = self.nodes.scalar(Code::MovImm(value as u64), &[]);
                self.nodes.change(Code::Alu(Alu::Add, true), big, &[a])
            }
        }
    }
}
