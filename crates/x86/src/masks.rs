//! Instructions on mask registers (AVX-512).

use crate::assembler::{Assembler, Gpr, Mem, Rm};

/// Arithmetic of masks, by its opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MaskAlu {
    /// Bits of both.
    And = 0x41,
    /// Bits of `b` alone.
    AndNot = 0x42,
    /// Bits of either.
    Or = 0x45,
    /// Where both are the same.
    Xnor = 0x46,
    /// Bits of one.
    Xor = 0x47,
}

/// The opcode of `kshiftrd`.
const SHIFT: u8 = 0x31;

impl Assembler {
    fn mask_op(&mut self, pp: u8, wide: bool, long: bool, opcode: u8, reg: u8, second: u8, rm: Rm) {
        self.needs_avx512();
        // The shift is the only one of another map.
        let map = if opcode == SHIFT { 3 } else { 1 };
        self.vex(map, pp, wide, long, opcode, reg, second, rm);
        match rm {
            Rm::Reg(rm) => self.modrm_reg(reg, rm),
            Rm::Mem(mem) | Rm::Broadcast(mem) => self.modrm_mem(reg, mem, 1),
        }
    }

    /// `dst = a op b` of masks of 32 bits.
    pub fn mask_alu(&mut self, op: MaskAlu, dst: u8, a: u8, b: u8) {
        self.mask_op(1, true, true, op as u8, dst, a, Rm::Reg(b));
    }

    /// `dst = !a` of 32 bits.
    pub fn mask_not(&mut self, dst: u8, a: u8) {
        self.mask_op(1, true, false, 0x44, dst, 0, Rm::Reg(a));
    }

    /// The low 16 bits of `high` above those of `low`.
    pub fn mask_join(&mut self, dst: u8, high: u8, low: u8) {
        self.mask_op(0, false, true, 0x4B, dst, high, Rm::Reg(low));
    }

    /// The low 8 bits of `high` above those of `low`.
    pub fn mask_join8(&mut self, dst: u8, high: u8, low: u8) {
        self.mask_op(1, false, true, 0x4B, dst, high, Rm::Reg(low));
    }

    /// `dst = a >> count` of 32 bits.
    pub fn mask_shift_right(&mut self, dst: u8, a: u8, count: u8) {
        self.mask_op(1, false, false, SHIFT, dst, 0, Rm::Reg(a));
        self.byte(count);
    }

    /// A mask of 32 bits of another.
    pub fn mask_mov(&mut self, dst: u8, src: u8) {
        self.mask_op(1, true, false, 0x90, dst, 0, Rm::Reg(src));
    }

    /// A mask of 32 bits from memory.
    pub fn mask_load(&mut self, dst: u8, src: Mem) {
        self.mask_op(1, true, false, 0x90, dst, 0, Rm::Mem(src));
        self.end();
    }

    /// A mask of 32 bits to memory.
    pub fn mask_store(&mut self, dst: Mem, src: u8) {
        self.mask_op(1, true, false, 0x91, src, 0, Rm::Mem(dst));
        self.end();
    }

    /// A mask of 32 bits from a general register.
    pub fn mask_from(&mut self, dst: u8, src: Gpr) {
        self.mask_op(3, false, false, 0x92, dst, 0, Rm::Reg(src.0));
    }

    /// A mask of 32 bits to a general register.
    pub fn mask_to(&mut self, dst: Gpr, src: u8) {
        self.mask_op(3, false, false, 0x93, dst.0, 0, Rm::Reg(src));
    }

    /// Flags of `a | b` of 16 bits: zero where all are 0, carry where all are 1.
    pub fn mask_test16(&mut self, a: u8, b: u8) {
        self.mask_op(0, false, false, 0x98, a, 0, Rm::Reg(b));
    }
}
