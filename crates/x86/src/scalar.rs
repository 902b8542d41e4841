//! Instructions on general registers.

use crate::assembler::{Assembler, Cond, Gpr, Label, Mem, high_bits};

/// Arithmetic of two operands, by its number in the opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Alu {
    /// Sum.
    Add = 0,
    /// Bits of either.
    Or = 1,
    /// Bits of both.
    And = 4,
    /// Difference.
    Sub = 5,
    /// Bits of one.
    Xor = 6,
    /// Flags of a difference.
    Cmp = 7,
}

/// Shifts, by their number in the opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Shift {
    /// To the left.
    Left = 4,
    /// To the right, zeros come in.
    Right = 5,
    /// To the right, the sign comes in.
    Arithmetic = 7,
}

impl Assembler {
    fn rex(&mut self, wide: bool, reg: u8, index: u8, base: u8, always: bool) {
        let rex = 0x40 | u8::from(wide) << 3 | (reg >> 3) << 2 | index << 1 | base;
        if rex != 0x40 || always {
            self.byte(rex);
        }
    }

    fn op_reg(&mut self, wide: bool, opcode: &[u8], reg: u8, rm: u8) {
        self.rex(wide, reg, 0, rm >> 3, false);
        self.bytes.extend_from_slice(opcode);
        self.modrm_reg(reg, rm);
    }

    fn op_mem(&mut self, wide: bool, opcode: &[u8], reg: u8, mem: Mem) {
        let (base, index) = high_bits(mem);
        self.rex(wide, reg, index, base, false);
        self.bytes.extend_from_slice(opcode);
        self.modrm_mem(reg, mem, 1);
    }

    /// `dst = dst op src`, of 64 bits where `wide`.
    pub fn alu(&mut self, op: Alu, wide: bool, dst: Gpr, src: Gpr) {
        self.op_reg(wide, &[(op as u8) << 3 | 1], src.0, dst.0);
    }

    /// The same with a constant, which is extended by its sign.
    pub fn alu_imm(&mut self, op: Alu, wide: bool, dst: Gpr, value: i32) {
        self.rex(wide, 0, 0, dst.0 >> 3, false);
        match i8::try_from(value) {
            Ok(small) => {
                self.byte(0x83);
                self.modrm_reg(op as u8, dst.0);
                self.byte(small as u8);
            }
            Err(_) => {
                self.byte(0x81);
                self.modrm_reg(op as u8, dst.0);
                self.word(value as u32);
            }
        }
    }

    /// `word at dst op= value`, of 32 bits.
    pub fn alu_mem_imm(&mut self, op: Alu, dst: Mem, value: i32) {
        self.op_mem(false, &[0x81], op as u8, dst);
        self.word(value as u32);
        self.end();
    }

    /// Flags of `a & value`.
    pub fn test_imm(&mut self, wide: bool, a: Gpr, value: i32) {
        self.op_reg(wide, &[0xF7], 0, a.0);
        self.word(value as u32);
    }

    /// `dst = src`; of 32 bits the upper half becomes 0.
    pub fn mov(&mut self, wide: bool, dst: Gpr, src: Gpr) {
        self.op_reg(wide, &[0x89], src.0, dst.0);
    }

    /// `dst = value`, in the shortest way.
    pub fn mov_imm(&mut self, dst: Gpr, value: u64) {
        if let Ok(value) = u32::try_from(value) {
            self.rex(false, 0, 0, dst.0 >> 3, false);
            self.byte(0xB8 | dst.0 & 7);
            self.word(value);
        } else if let Ok(value) = i32::try_from(value as i64) {
            self.op_reg(true, &[0xC7], 0, dst.0);
            self.word(value as u32);
        } else {
            self.rex(true, 0, 0, dst.0 >> 3, false);
            self.byte(0xB8 | dst.0 & 7);
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
    }

    /// 4 bytes, or 8 where `wide`; of 4 the upper half becomes 0.
    pub fn load(&mut self, wide: bool, dst: Gpr, src: Mem) {
        self.op_mem(wide, &[0x8B], dst.0, src);
        self.end();
    }

    /// 1 or 2 bytes, zeros above.
    pub fn load_small(&mut self, bytes: u32, dst: Gpr, src: Mem) {
        let opcode = if bytes == 1 { 0xB6 } else { 0xB7 };
        self.op_mem(false, &[0x0F, opcode], dst.0, src);
        self.end();
    }

    /// 1, 2, 4 or 8 bytes.
    pub fn store(&mut self, bytes: u32, dst: Mem, src: Gpr) {
        if bytes == 2 {
            self.byte(0x66);
        }
        let (base, index) = high_bits(dst);
        // Without the prefix, registers 4 to 7 are the second bytes of others.
        self.rex(bytes == 8, src.0, index, base, bytes == 1);
        self.byte(if bytes == 1 { 0x88 } else { 0x89 });
        self.modrm_mem(src.0, dst, 1);
        self.end();
    }

    /// `dst` is the address of `src`.
    pub fn lea(&mut self, wide: bool, dst: Gpr, src: Mem) {
        self.op_mem(wide, &[0x8D], dst.0, src);
        self.end();
    }

    /// `dst *= src`.
    pub fn imul(&mut self, wide: bool, dst: Gpr, src: Gpr) {
        self.op_reg(wide, &[0x0F, 0xAF], dst.0, src.0);
    }

    /// `dst = src * value`.
    pub fn imul_imm(&mut self, wide: bool, dst: Gpr, src: Gpr, value: i32) {
        self.op_reg(wide, &[0x69], dst.0, src.0);
        self.word(value as u32);
    }

    /// `dst` shifted by `count`.
    pub fn shift(&mut self, op: Shift, wide: bool, dst: Gpr, count: u8) {
        self.op_reg(wide, &[0xC1], op as u8, dst.0);
        self.byte(count);
    }

    fn vex_gpr(&mut self, map: u8, pp: u8, wide: bool, opcode: u8, reg: u8, second: u8, rm: u8) {
        self.byte(0xC4);
        self.byte((!reg >> 3 & 1) << 7 | 1 << 6 | (!rm >> 3 & 1) << 5 | map);
        self.byte(u8::from(wide) << 7 | (!second & 15) << 3 | pp);
        self.byte(opcode);
        self.modrm_reg(reg, rm);
    }

    /// The low 32 bits with their sign above.
    pub fn extend_sign(&mut self, dst: Gpr, src: Gpr) {
        self.op_reg(true, &[0x63], dst.0, src.0);
    }

    /// The low 8 or 16 bits with zeros or their sign above, to 32 bits.
    pub fn extend(&mut self, bits: u32, signed: bool, dst: Gpr, src: Gpr) {
        let opcode = 0xB6 | u8::from(signed) << 3 | u8::from(bits == 16);
        self.rex(false, dst.0, 0, src.0 >> 3, true);
        self.bytes.extend_from_slice(&[0x0F, opcode]);
        self.modrm_reg(dst.0, src.0);
    }

    /// `dst = src` where the condition holds.
    pub fn cmov(&mut self, cond: Cond, wide: bool, dst: Gpr, src: Gpr) {
        self.op_reg(wide, &[0x0F, 0x40 | cond as u8], dst.0, src.0);
    }

    /// Jumps where the condition holds.
    pub fn jump_if(&mut self, cond: Cond, to: Label) {
        self.bytes.extend_from_slice(&[0x0F, 0x80 | cond as u8]);
        self.relative(to);
    }

    /// Jumps.
    pub fn jump(&mut self, to: Label) {
        self.byte(0xE9);
        self.relative(to);
    }

    /// Jumps to where a register points.
    pub fn jump_reg(&mut self, to: Gpr) {
        self.op_reg(false, &[0xFF], 4, to.0);
    }

    /// `dst` is how many zeros are below the lowest bit of the low 32 of `src` (BMI1).
    pub fn trailing_zeros(&mut self, dst: Gpr, src: Gpr) {
        self.byte(0xF3);
        self.op_reg(false, &[0x0F, 0xBC], dst.0, src.0);
    }

    /// `dst` is how many zeros are above the highest bit of the low 32 of `src` (LZCNT).
    pub fn leading_zeros(&mut self, dst: Gpr, src: Gpr) {
        self.byte(0xF3);
        self.op_reg(false, &[0x0F, 0xBD], dst.0, src.0);
    }

    /// `dst` has the low bits of `src` where `places` has bits (BMI2), of 32 bits.
    pub fn deposit(&mut self, dst: Gpr, src: Gpr, places: Gpr) {
        self.vex_gpr(2, 3, false, 0xF5, dst.0, src.0, places.0);
    }

    /// `dst` is `src` without its lowest bit, of 32 bits (BMI1). Flags are of the result.
    pub fn without_lowest(&mut self, dst: Gpr, src: Gpr) {
        self.vex_gpr(2, 0, false, 0xF3, 1, dst.0, src.0);
    }

    fn vex_control(&mut self, digit: u8, mem: Mem) {
        let (base, index) = high_bits(mem);
        self.byte(0xC4);
        self.byte(1 << 7 | (index ^ 1) << 6 | (base ^ 1) << 5 | 1);
        self.byte(15 << 3);
        self.byte(0xAE);
        self.modrm_mem(digit, mem, 1);
        self.end();
    }

    /// The control and status of vector arithmetic (MXCSR) from memory.
    pub fn load_control(&mut self, src: Mem) {
        self.vex_control(2, src);
    }

    /// The same to memory.
    pub fn store_control(&mut self, dst: Mem) {
        self.vex_control(3, dst);
    }

    /// Puts a register on the stack.
    pub fn push(&mut self, reg: Gpr) {
        self.rex(false, 0, 0, reg.0 >> 3, false);
        self.byte(0x50 | reg.0 & 7);
    }

    /// Takes a register from the stack.
    pub fn pop(&mut self, reg: Gpr) {
        self.rex(false, 0, 0, reg.0 >> 3, false);
        self.byte(0x58 | reg.0 & 7);
    }

    /// Asks for the line of `at` in all caches.
    pub fn prefetch(&mut self, at: Mem) {
        self.op_mem(false, &[0x0F, 0x18], 1, at);
        self.end();
    }

    /// Returns.
    pub fn ret(&mut self) {
        self.byte(0xC3);
    }
}
