//! Writes values to their places in the frame, from registers or from where they were spilled.

use super::{
    super::{
        exits::{Form, Home},
        registers::{FRAME, SCRATCH, SCRATCH_MASK},
        target::Target,
    },
    Encoder, NAN, splat_bytes, table,
};
use regalloc2::Allocation;
use warpsmith_x86::{Alu, Cond, Gpr, Len, MaskAlu, Masking, Mem, Rm, vector};

/// The mask register that no value is in, since it masks nothing.
const FOUND: u8 = 0;

impl Encoder<'_> {
    /// Writes a value to its place in the frame.
    pub(super) fn flush(&mut self, home: Home, form: Form, allocs: &[Allocation]) {
        let target = self.shared.target;
        let bytes = target.bytes() as usize;
        let v = target.scratch();
        let frame =
            |slot: u32, register: usize| Mem::at(FRAME, slot as i32 + (bytes * register) as i32);
        // Registers of all lanes.
        let count = |wide: bool| 32 * if wide { 8 } else { 4 } / bytes;
        match (home, form) {
            (Home::Scalar(slot), Form::Constant(value)) => {
                self.code.mov_imm(SCRATCH, value);
                self.code.store(8, frame(slot, 0), SCRATCH);
            }
            (Home::Scalar(slot), Form::Scalar) => {
                let reg = self.general(allocs[0], SCRATCH);
                self.code.store(8, frame(slot, 0), reg);
            }
            (Home::Scalar(slot), Form::Splat { raw }) => {
                let reg = self.exact(allocs[0], raw);
                self.code
                    .vector(&vector::FIRST_I32, Len::L128, reg, 0, Rm::Reg(SCRATCH.0));
                self.code.store(8, frame(slot, 0), SCRATCH);
            }
            (Home::Scalar(slot), Form::Mask) if target == Target::Avx2 => {
                let reg = self.general(allocs[0], SCRATCH);
                self.code.store(8, frame(slot, 0), reg);
            }
            (Home::Scalar(slot), Form::Mask) => {
                match allocs[0].as_reg() {
                    Some(reg) => self.code.mask_to(SCRATCH, reg.hw_enc() as u8),
                    None => self.code.load(false, SCRATCH, self.spilled(allocs[0])),
                }
                self.code.store(8, frame(slot, 0), SCRATCH);
            }
            (Home::Narrow(slot), Form::Lanes { raw }) => {
                for (j, alloc) in allocs.iter().enumerate() {
                    let reg = self.exact(*alloc, raw);
                    self.put(frame(slot, j), reg);
                }
            }
            (Home::Narrow(slot), Form::Splat { raw }) => {
                let reg = self.exact(allocs[0], raw);
                for j in 0..count(false) {
                    self.put(frame(slot, j), reg);
                }
            }
            (Home::Wide(slot), Form::Wide) => {
                for (j, alloc) in allocs.iter().enumerate() {
                    let reg = self.exact(*alloc, false);
                    self.put(frame(slot, j), reg);
                }
            }
            (Home::Narrow(slot) | Home::Wide(slot), Form::Constant(value)) => {
                let wide = matches!(home, Home::Wide(_));
                let constant = self.code.constant(splat_bytes(value, wide));
                let from = Rm::Mem(Mem::Constant(constant));
                self.code.vector(&vector::LOAD, target.len(), v, 0, from);
                for j in 0..count(wide) {
                    self.put(frame(slot, j), v);
                }
            }
            (Home::Narrow(slot) | Home::Wide(slot), Form::Scalar | Form::Affine(_)) => {
                let wide = matches!(home, Home::Wide(_));
                let (splat, add) = if wide {
                    (&vector::SPLAT_GPR64, &vector::ADD_I64)
                } else {
                    (&vector::SPLAT_GPR32, &vector::ADD_I32)
                };
                let reg = self.general(allocs[0], SCRATCH);
                for j in 0..count(wide) {
                    match target {
                        Target::Avx512 => {
                            self.code.vector(splat, Len::L512, v, 0, Rm::Reg(reg.0));
                        }
                        Target::Avx2 => self.splat_general(wide, v, reg),
                    }
                    if let Form::Affine(step) = form {
                        let first = j * bytes / if wide { 8 } else { 4 };
                        let constant = self.code.constant(table(step, first, wide));
                        let more = Rm::Mem(Mem::Constant(constant));
                        self.code.vector(add, target.len(), v, v, more);
                    }
                    self.put(frame(slot, j), v);
                }
            }
            (home, form) => unreachable!("{form:?} for {home:?}"),
        }
    }

    /// Writes registers whose NaNs may have any bits. Most have none, so all are looked through, two by two, before one is
    /// changed.
    pub(super) fn flush_sums(&mut self, sums: &[(u32, Allocation)]) {
        if sums.is_empty() {
            return;
        }
        let v = self.shared.target.scratch();
        for (at, pair) in sums.chunks(2).enumerate() {
            let first = pair[0].1;
            for (j, (to, alloc)) in pair.iter().enumerate() {
                let reg = match alloc.as_reg() {
                    Some(reg) => reg.hw_enc() as u8,
                    None => {
                        let from = self.anywhere(*alloc);
                        self.code.vector(&vector::LOAD, Len::L512, v, 0, from);
                        v
                    }
                };
                self.put(Mem::at(FRAME, *to as i32), reg);
                if j > 0 || pair.len() == 1 {
                    let found = if at == 0 { FOUND } else { SCRATCH_MASK };
                    let other = self.anywhere(first);
                    self.code
                        .vector_full(&vector::CMP_F32, Len::L512, found, reg, other, None, 3);
                    if at > 0 {
                        self.code.mask_alu(MaskAlu::Or, FOUND, FOUND, SCRATCH_MASK);
                    }
                }
            }
        }
        let done = self.code.label();
        self.code.mask_test16(FOUND, FOUND);
        self.code.jump_if(Cond::Equal, done);
        // Places that lie one behind the other are gone through by a loop.
        let mut places: Vec<u32> = sums.iter().map(|(to, _)| *to).collect();
        places.sort_unstable();
        for row in places.chunk_by(|a, b| a + 64 == *b) {
            let again = self.code.label();
            self.code.mov_imm(SCRATCH, u64::from(row[0]));
            self.code.bind(again);
            let place = Mem::Base {
                base: FRAME,
                index: Some((SCRATCH, 0)),
                offset: 0,
            };
            self.code
                .vector(&vector::LOAD, Len::L512, v, 0, Rm::Mem(place));
            self.with_the_one_nan(v);
            self.put(place, v);
            self.code.alu_imm(Alu::Add, true, SCRATCH, 64);
            let end = row[0] + 64 * row.len() as u32;
            self.code.alu_imm(Alu::Cmp, true, SCRATCH, end as i32);
            self.code.jump_if(Cond::Below, again);
        }
        self.code.bind(done);
    }

    /// Writes registers to their places, NaNs as the one NaN. Most have none, so all are looked through, two by two, before
    /// one is changed.
    pub(super) fn put_sums(&mut self, sums: &[(u32, u8)]) {
        if sums.is_empty() {
            return;
        }
        for (at, pair) in sums.chunks(2).enumerate() {
            let found = if at == 0 { FOUND } else { SCRATCH_MASK };
            let other = Rm::Reg(pair[pair.len() - 1].1);
            self.code.vector_full(
                &vector::CMP_F32,
                Len::L512,
                found,
                pair[0].1,
                other,
                None,
                3,
            );
            if at > 0 {
                self.code.mask_alu(MaskAlu::Or, FOUND, FOUND, SCRATCH_MASK);
            }
        }
        let none = self.code.label();
        self.code.mask_test16(FOUND, FOUND);
        self.code.jump_if(Cond::Equal, none);
        for (_, sum) in sums {
            self.with_the_one_nan(*sum);
        }
        self.code.bind(none);
        for (to, sum) in sums {
            self.put(Mem::at(FRAME, *to as i32), *sum);
        }
    }

    /// NaNs become the one NaN.
    fn with_the_one_nan(&mut self, v: u8) {
        let same = Rm::Reg(v);
        self.code
            .vector_full(&vector::CMP_F32, Len::L512, SCRATCH_MASK, v, same, None, 3);
        let constant = self.code.constant(splat_bytes(NAN, false));
        let masking = Masking {
            mask: SCRATCH_MASK,
            zero: false,
        };
        let nan = Rm::Mem(Mem::Constant(constant));
        self.code
            .vector_full(&vector::LOAD_I32, Len::L512, v, 0, nan, Some(masking), 0);
    }

    pub(super) fn put(&mut self, to: Mem, reg: u8) {
        let len = self.shared.target.len();
        self.code.vector(&vector::STORE, len, reg, 0, Rm::Mem(to));
    }

    /// A vector register with the value; of a raw one, NaNs become the one NaN.
    fn exact(&mut self, alloc: Allocation, raw: bool) -> u8 {
        let from = match alloc.as_reg() {
            Some(reg) if !raw => return reg.hw_enc() as u8,
            Some(reg) => Rm::Reg(reg.hw_enc() as u8),
            None => Rm::Mem(self.spilled(alloc)),
        };
        let target = self.shared.target;
        let v = target.scratch();
        if target == Target::Avx2 {
            return self.exact_narrow(v, from, raw);
        }
        self.code.vector(&vector::LOAD, Len::L512, v, 0, from);
        if raw {
            self.with_the_one_nan(v);
        }
        v
    }

    /// The same where vectors are narrow.
    fn exact_narrow(&mut self, v: u8, from: Rm, raw: bool) -> u8 {
        if raw {
            let constant = self.code.constant(splat_bytes(NAN, false));
            self.with_one_nan(v, from, Rm::Mem(Mem::Constant(constant)));
        } else {
            self.code.vector(&vector::LOAD, Len::L256, v, 0, from);
        }
        v
    }

    /// A vector register, or where it was spilled.
    pub(super) fn anywhere(&self, alloc: Allocation) -> Rm {
        match alloc.as_reg() {
            Some(reg) => Rm::Reg(reg.hw_enc() as u8),
            None => Rm::Mem(self.spilled(alloc)),
        }
    }

    pub(super) fn spilled(&self, alloc: Allocation) -> Mem {
        let slot = alloc
            .as_stack()
            .expect("a value is in a register or spilled");
        Mem::at(Gpr::RSP, 8 * slot.index() as i32)
    }

    /// A general register with the value, `spare` if it was spilled.
    pub(super) fn general(&mut self, alloc: Allocation, spare: Gpr) -> Gpr {
        match alloc.as_reg() {
            Some(reg) => Gpr(reg.hw_enc() as u8),
            None => {
                self.code.load(true, spare, self.spilled(alloc));
                spare
            }
        }
    }
}
