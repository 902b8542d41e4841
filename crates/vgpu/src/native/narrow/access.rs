//! Memory of single lanes, rows, and fragments of matrices.

use super::{
    super::nodes::{Arg, Code, Template, Vector},
    Lanewise, Narrow, Refused, Step, behind,
    vectors::{From, Node},
};
use regalloc2::{Operand, RegClass, VReg};
use warpsmith_x86::{Len, Vop, vector};

impl Narrow {
    /// A gather: each half by itself; of words at offsets of 64 bits each quarter.
    pub(super) fn gather(&mut self, op: &'static Vop, operands: &[Operand]) -> Result<(), Refused> {
        let reg = |at: usize| operands[at].vreg();
        let (dst, old, index) = (reg(0), reg(1).vreg(), reg(2).vreg());
        let (base, mask) = (self.general_of(reg(3))?, reg(5).vreg());
        let quarters = op == &vector::GATHER_I32_64;
        let mut found = Vec::with_capacity(2);
        for half in 0..2 {
            let lane = 4 * half as u8;
            let lanes = match (op == &vector::GATHER_I64_64, quarters) {
                (true, _) => self.lanes(mask, lane, true)?,
                (_, true) => self.lanes(mask, 0, false)?,
                _ => self.lanes(mask, 2 * lane, false)?,
            };
            let mut lanes = self.straight(lanes);
            let mut before = self.half(old, if quarters { 0 } else { half })?;
            if quarters && half == 1 {
                lanes = self.upper(lanes);
                before = self.upper(before);
            }
            let index = self.half(index, half)?;
            found.push(self.gathered(op, before, index, base, lanes));
        }
        match quarters {
            true => {
                let low = self.joined(found[0], found[1]);
                self.set_low(dst, low);
            }
            false => self.set(dst, [found[0], found[1]]),
        }
        Ok(())
    }

    fn gathered(
        &mut self,
        op: &'static Vop,
        old: VReg,
        index: VReg,
        base: VReg,
        lanes: VReg,
    ) -> VReg {
        // The instruction wants three registers.
        let mut apart = |own: VReg, others: [VReg; 2]| match others.contains(&own) {
            true => self.one(&vector::LOAD, Arg::Reg(own)),
            false => own,
        };
        let old = apart(old, [index, lanes]);
        let lanes = apart(lanes, [index, old]);
        let dst = self.to.register(RegClass::Float);
        let rest = self.to.register(RegClass::Float);
        let operands = [
            Operand::reg_reuse_def(dst, 1),
            Operand::reg_use(old),
            Operand::reg_use(index),
            Operand::reg_use(base),
            Operand::reg_reuse_def(rest, 5),
            Operand::reg_use(lanes),
        ];
        self.to.push(Code::Gather(op), &operands);
        dst
    }

    pub(super) fn scatter(
        &mut self,
        op: &'static Vop,
        operands: &[Operand],
    ) -> Result<(), Refused> {
        let reg = |at: usize| operands[at].vreg();
        let (src, index) = (reg(0).vreg(), reg(1).vreg());
        let (base, mask) = (self.general_of(reg(2))?, reg(4).vreg());
        let (bytes, wide, lanes) = if op == &vector::SCATTER_I64_64 {
            (8, true, 8)
        } else {
            let wide = op == &vector::SCATTER_I32_64;
            (4, wide, if wide { 8 } else { 16 })
        };
        let at = self.room(128);
        for half in 0..2 {
            let to = at + 32 * half as u32;
            // Eight words are in one half.
            if half == 0 || lanes == 16 || bytes == 8 {
                let value = self.half(src, half)?;
                self.lay(to, value);
            }
            let offsets = self.half(index, half)?;
            self.lay(to + 64, offsets);
        }
        let bits = self.first_lanes(mask, lanes)?;
        let lanewise = Lanewise {
            bytes,
            values: at,
            offsets: Some((at + 64, wide)),
            from: 0,
        };
        self.lanewise(lanewise, base, bits);
        Ok(())
    }

    fn lanewise(&mut self, lanewise: Lanewise, base: VReg, bits: VReg) {
        let rest = self.to.general();
        let mut operands = vec![
            Operand::reg_use(base),
            Operand::reg_reuse_def(rest, 2),
            Operand::reg_use(bits),
        ];
        for _ in 0..3 {
            operands.push(self.to.free(RegClass::Int));
        }
        self.to
            .push(Code::Narrow(Step::Lanewise(lanewise)), &operands);
    }

    /// The low 8 or 16 bits of words: in the lower half, or to memory.
    pub(super) fn low_parts(&mut self, node: &Node) -> Result<(), Refused> {
        let short = node.op == &vector::NARROW_I32_I16;
        let from = match (node.stores, node.last) {
            (true, _) => node.dst.vreg(),
            (false, Some(From::Reg(old))) => old,
            (false, _) => return Err(Refused),
        };
        let halves = [self.half(from, 0)?, self.half(from, 1)?];
        if let (true, Some(mask)) = (node.stores, node.mask) {
            let Some(From::Mem(Template::At(offset), Some(base))) = node.last else {
                return Err(Refused);
            };
            let base = self.general_of(base.vreg())?;
            let at = self.room(64);
            for (half, value) in (0..).zip(halves) {
                self.lay(at + 32 * half, value);
            }
            let bits = self.first_lanes(mask, 16)?;
            let lanewise = Lanewise {
                bytes: if short { 2 } else { 1 },
                values: at,
                offsets: None,
                from: offset,
            };
            self.lanewise(lanewise, base, bits);
            return Ok(());
        }
        if node.mask.is_some() {
            return Err(Refused);
        }
        if short {
            let control = std::array::from_fn(|i| match i % 16 {
                i if i < 8 => (i / 2 * 4 + i % 2) as u8,
                _ => 0x80,
            });
            let quarters = halves.map(|half| {
                let control = Arg::Mem(self.constant(control));
                let parts = self.two(&vector::SHUFFLE_I8, half, control);
                self.by(&vector::PERMUTE_I64, parts, 0b10_00)
            });
            if !node.stores {
                self.put_quarters(node.dst, quarters);
                return Ok(());
            }
            return self.store_quarters(node, &quarters);
        }
        if !node.stores {
            return Err(Refused);
        }
        // Four bytes of each piece, at places that are free in the other one.
        let eights = halves.map(|half| {
            let control = std::array::from_fn(|i| match (i / 16, i % 16) {
                (0, i) if i < 4 => 4 * i as u8,
                (1, i) if (4..8).contains(&i) => 4 * (i as u8 - 4),
                _ => 0x80,
            });
            let control = Arg::Mem(self.constant(control));
            let bytes = self.two(&vector::SHUFFLE_I8, half, control);
            let upper = self.upper(bytes);
            self.both(&vector::OR_BITS, bytes, upper)
        });
        let all = self.both(&vector::LOW_I64, eights[0], eights[1]);
        self.store_quarters(node, &[all])
    }

    /// Writes the lower sixteen bytes of registers, one behind the other.
    fn store_quarters(&mut self, node: &Node, quarters: &[VReg]) -> Result<(), Refused> {
        let Some(From::Mem(template, base)) = node.last else {
            return Err(Refused);
        };
        let place = self.place(template, base.as_ref())?;
        for (at, quarter) in (0..).zip(quarters) {
            let to = Vector {
                len: Len::L128,
                ..Vector::one(Arg::Mem(behind(place, 16 * at)))
            };
            self.to.store_vector(&vector::STORE, *quarter, to);
        }
        Ok(())
    }

    /// Of each group of four lanes one lane in all of them, for each of the four.
    pub(super) fn spread(&mut self, at: u32, old: VReg) -> Result<(), Refused> {
        for half in 0..2 {
            let own = self.half(old.vreg(), half as usize)?;
            for lane in 0..4 {
                let spread = self.by(&vector::SHUFFLE_I32, own, lane * 0b0101_0101);
                self.lay(at + 64 * u32::from(lane) + 32 * half, spread);
            }
        }
        Ok(())
    }

    /// Rows of 16 bytes: four registers of two.
    pub(super) fn rows(
        &mut self,
        at: u32,
        wide: bool,
        operands: &[Operand],
    ) -> Result<(), Refused> {
        let host = self.general_of(operands[2].vreg())?;
        let mut own = Vec::with_capacity(5);
        for dst in operands.iter().take(2) {
            let free = [(); 2].map(|()| self.to.free(RegClass::Float));
            own.extend(free);
            self.set(dst.vreg(), free.map(|free| free.vreg()));
        }
        own.push(Operand::reg_use(host));
        self.to.push(Code::Narrow(Step::Rows(at, wide)), &own);
        Ok(())
    }

    /// Half of the rows after the other: all sums at once would not leave a register free.
    pub(super) fn floats(&mut self, at: u32, operands: &[Operand]) -> Result<(), Refused> {
        let starts = &self.to.tiles[at as usize].starts;
        let is_operand: Vec<bool> = starts.iter().map(Option::is_none).collect();
        let (sums, mut from) = operands.split_at(is_operand.len());
        for (quarter, sums) in (0..).zip(sums.chunks(4)) {
            let mut own = Vec::with_capacity(19);
            for sum in sums {
                let free = [(); 2].map(|()| self.to.free(RegClass::Float));
                own.extend(free);
                self.set(sum.vreg(), free.map(|free| free.vreg()));
            }
            let taken = is_operand[4 * quarter..].iter().take(sums.len());
            let (now, rest) = from.split_at(taken.filter(|taken| **taken).count());
            from = rest;
            for start in now {
                for half in 0..2 {
                    let half = self.half(start.vreg().vreg(), half)?;
                    own.push(Operand::any_use(half));
                }
            }
            for _ in 0..3 {
                own.push(self.to.free(RegClass::Float));
            }
            let quarter = quarter as u32;
            let step = Step::Floats { tiles: at, quarter };
            self.to.push(Code::Narrow(step), &own);
        }
        Ok(())
    }

    /// The operands of sums, each of which was two.
    fn sums(&mut self, operands: &[Operand]) -> Result<Vec<Operand>, Refused> {
        let mut own = Vec::with_capacity(2 * operands.len() + 5);
        for pair in operands.chunks(2) {
            let [dst, old] = [pair[0].vreg(), pair[1].vreg()];
            let mut halves = [dst; 2];
            for (half, sum) in halves.iter_mut().enumerate() {
                let before = self.half(old.vreg(), half)?;
                *sum = self.to.register(RegClass::Float);
                own.push(Operand::reg_reuse_def(*sum, own.len() + 1));
                own.push(Operand::reg_use(before));
            }
            self.set(dst, halves);
        }
        Ok(own)
    }

    /// The same of bytes. The registers of A stand on the stack, even bytes and odd ones as words of 16 bits.
    pub(super) fn bytes(
        &mut self,
        b: u32,
        blocks: u32,
        swapped: bool,
        operands: &[Operand],
    ) -> Result<(), Refused> {
        let count = operands.len() - 4;
        let halves = count / (8 + 2 * blocks as usize);
        let (sums, a) = operands[..count].split_at(8 * halves);
        let at = self.room(128 * a.len() as u32);
        let mut to = at;
        for old in a {
            let old = old.vreg().vreg();
            for half in 0..2 {
                let v = self.half(old, half)?;
                // Which side has no sign.
                let [even, odd] = self.words_of_bytes(v, swapped);
                self.lay(to, even);
                self.lay(to + 32, odd);
                to += 64;
            }
        }
        for half in 0..halves {
            let mut own = self.sums(&sums[8 * half..8 * half + 8])?;
            for _ in 0..5 {
                own.push(self.to.free(RegClass::Float));
            }
            let step = Step::Bytes {
                a: at + 256 * half as u32,
                b,
                blocks,
                swapped,
                each: 256 * halves as u32,
            };
            self.to.push(Code::Narrow(step), &own);
        }
        Ok(())
    }

    /// Even and odd bytes as numbers of 16 bits.
    fn words_of_bytes(&mut self, v: VReg, signed: bool) -> [VReg; 2] {
        if signed {
            let up = self.by(&vector::SHL_I16, v, 8);
            return [up, v].map(|v| self.by(&vector::SHR_I16, v, 8));
        }
        let low = self.words(0x00FF_00FF);
        let even = self.two(&vector::AND_BITS, v, low);
        [even, self.by(&vector::SHR_U16, v, 8)]
    }
}
