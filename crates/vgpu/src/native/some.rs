//! Neighbouring elements of those lanes that are here: what others would access may be outside of memory.

use super::{
    accesses::Access,
    nodes::{Arg, Code, MemoryAt, Vector},
    values::{Coder, Skip, ValueId},
};
use crate::memory::Window;
use regalloc2::VReg;
use warpsmith_x86::{Alu, Cond, vector};

impl Coder<'_, '_> {
    /// An address from the first byte of its window on.
    fn in_window(
        &mut self,
        access: Access,
        base: VReg,
        offset: i64,
        wide: bool,
    ) -> Result<VReg, Skip> {
        if wide {
            let from = self.add_imm(base, offset);
            if access.shared {
                return Ok(from);
            }
            let first = self.field(access, Window::BASE_AT);
            return Ok(self.nodes.change(Code::Alu(Alu::Sub, true), from, &[first]));
        }
        if !access.shared {
            return Err(Skip);
        }
        // Of 32 bits each lane wraps around by itself: nearly no kernel means that.
        let code = Code::AluImm(Alu::Add, false, i32::try_from(offset).map_err(|_| Skip)?);
        let address = self.nodes.change(code, base, &[]);
        Ok(self.nodes.scalar(Code::ExtendSign, &[address]))
    }

    /// Checks the first and the last lane that are here, if any is; where the host has the element of lane 0, which may
    /// be outside.
    pub(super) fn some_neighbours(
        &mut self,
        access: Access,
        base: VReg,
        offset: i64,
        wide: bool,
    ) -> Result<VReg, Skip> {
        let lanes = self.lanes_of_now().ok_or(Skip)?;
        let each = access.bytes;
        let from = self.in_window(access, base, offset, wide)?;
        if each > 1 {
            self.nodes.effect(Code::TestImm(each as i32 - 1), &[from]);
            self.exit_if(Cond::NotEqual);
        }
        let limit = self.limit(access, each);
        let host = self.field(access, Window::HOST_AT);
        let bits = self.nodes.scalar(Code::MaskTo, &[lanes]);
        let first = self.nodes.scalar(Code::TrailingZeros, &[bits]);
        let above = self.nodes.scalar(Code::LeadingZeros, &[bits]);
        let last = self.nodes.scalar(Code::MovImm(31), &[]);
        let code = Code::Alu(Alu::Sub, false);
        let last = self.nodes.change(code, last, &[above]);
        let zero = self.nodes.scalar(Code::MovImm(0), &[]);
        let places = [first, last].map(|lane| {
            let more = Code::ImulImm(true, each as i32);
            let more = self.nodes.scalar(more, &[lane]);
            let code = Code::Alu(Alu::Add, true);
            self.nodes.change(code, more, &[from])
        });
        for place in places {
            // Where there is no lane, there is nothing to check.
            self.nodes.effect(Code::CompareImm(false, 0), &[bits]);
            let cmov = Code::Cmov(Cond::Equal, true);
            let place = self.nodes.change(cmov, place, &[zero]);
            self.nodes.effect(Code::Compare(true), &[place, limit]);
            self.exit_if(Cond::Above);
        }
        Ok(self.nodes.change(Code::Alu(Alu::Add, true), from, &[host]))
    }

    /// Checks the one element that all lanes that are here read; where the host has it.
    pub(super) fn some_one(
        &mut self,
        access: Access,
        base: VReg,
        offset: i64,
        wide: bool,
    ) -> Result<VReg, Skip> {
        let lanes = self.lanes_of_now().ok_or(Skip)?;
        let from = self.in_window(access, base, offset, wide)?;
        // Where there is no lane, any place will do.
        let bits = self.nodes.scalar(Code::MaskTo, &[lanes]);
        let zero = self.nodes.scalar(Code::MovImm(0), &[]);
        self.nodes.effect(Code::CompareImm(false, 0), &[bits]);
        let cmov = Code::Cmov(Cond::Equal, true);
        let from = self.nodes.change(cmov, from, &[zero]);
        let each = access.bytes * access.count;
        if each > 1 {
            self.nodes.effect(Code::TestImm(each as i32 - 1), &[from]);
            self.exit_if(Cond::NotEqual);
        }
        let limit = self.limit(access, each);
        let host = self.field(access, Window::HOST_AT);
        self.nodes.effect(Code::Compare(true), &[from, limit]);
        self.exit_if(Cond::Above);
        Ok(self.nodes.change(Code::Alu(Alu::Add, true), from, &[host]))
    }

    /// Elements of the lanes that are here, zeros for the others.
    pub(super) fn load_some(&mut self, access: Access, at: VReg) -> Result<ValueId, Skip> {
        let lanes = self.lanes_of_now().ok_or(Skip)?;
        let (op, count) = match (access.bytes, access.signed) {
            (8, _) => (&vector::LOAD_I64, 8),
            (4, _) => (&vector::LOAD_I32, 16),
            (2, false) => (&vector::ZERO_I16_I32, 16),
            (2, true) => (&vector::SIGN_I16_I32, 16),
            (_, false) => (&vector::ZERO_I8_I32, 16),
            (_, true) => (&vector::SIGN_I8_I32, 16),
        };
        let mut regs = Vec::with_capacity(4);
        for first in (0..32).step_by(count) {
            let v = Vector {
                mask: Some(self.part(lanes, first as u8)),
                zero: true,
                ..Vector::one(Arg::Mem(MemoryAt::At(
                    at,
                    (first as u32 * access.bytes) as i32,
                )))
            };
            regs.push(self.vector(op, v));
        }
        match regs[..] {
            [a, b, c, d] => Ok(self.of_quads([a, b, c, d])),
            [a, b] => Ok(self.of_lanes([a, b], false)),
            _ => Err(Skip),
        }
    }
}
