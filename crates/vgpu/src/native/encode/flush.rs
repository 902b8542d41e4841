//! Writes values to their places in the frame, from registers or from where they were spilled.

use super::{
    super::{
        exits::{Form, Home},
        registers::{FRAME, SCRATCH, SCRATCH_MASK, SCRATCH_VECTOR},
    },
    Encoder, NAN, lane_table, splat_bytes,
};
use regalloc2::Allocation;
use warpsmith_x86::{Gpr, Len, Masking, Mem, Rm, vector};

impl Encoder<'_> {
    /// Writes a value to its place in the frame.
    pub(super) fn flush(&mut self, home: Home, form: Form, allocs: &[Allocation]) {
        let frame = |slot: u32, register: usize| Mem::at(FRAME, slot as i32 + 64 * register as i32);
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
                self.put(frame(slot, 0), reg);
                self.put(frame(slot, 1), reg);
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
                self.code
                    .vector(&vector::LOAD, Len::L512, SCRATCH_VECTOR, 0, from);
                for j in 0..if wide { 4 } else { 2 } {
                    self.put(frame(slot, j), SCRATCH_VECTOR);
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
                for j in 0..if wide { 4 } else { 2 } {
                    self.code
                        .vector(splat, Len::L512, SCRATCH_VECTOR, 0, Rm::Reg(reg.0));
                    if let Form::Affine(step) = form {
                        let constant = self.code.constant(lane_table(step, j, wide));
                        let more = Rm::Mem(Mem::Constant(constant));
                        self.code
                            .vector(add, Len::L512, SCRATCH_VECTOR, SCRATCH_VECTOR, more);
                    }
                    self.put(frame(slot, j), SCRATCH_VECTOR);
                }
            }
            (home, form) => unreachable!("{form:?} for {home:?}"),
        }
    }

    pub(super) fn put(&mut self, to: Mem, reg: u8) {
        self.code
            .vector(&vector::STORE, Len::L512, reg, 0, Rm::Mem(to));
    }

    /// A vector register with the value; of a raw one, NaNs become the one NaN.
    fn exact(&mut self, alloc: Allocation, raw: bool) -> u8 {
        let from = match alloc.as_reg() {
            Some(reg) if !raw => return reg.hw_enc() as u8,
            Some(reg) => Rm::Reg(reg.hw_enc() as u8),
            None => Rm::Mem(self.spilled(alloc)),
        };
        let v = SCRATCH_VECTOR;
        self.code.vector(&vector::LOAD, Len::L512, v, 0, from);
        if raw {
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
        v
    }

    pub(super) fn spilled(&self, alloc: Allocation) -> Mem {
        let slot = alloc
            .as_stack()
            .expect("a value is in a register or spilled");
        Mem::at(Gpr::RSP, 8 * slot.index() as i32)
    }

    /// A general register with the value, `spare` if it was spilled.
    fn general(&mut self, alloc: Allocation, spare: Gpr) -> Gpr {
        match alloc.as_reg() {
            Some(reg) => Gpr(reg.hw_enc() as u8),
            None => {
                self.code.load(true, spare, self.spilled(alloc));
                spare
            }
        }
    }
}
