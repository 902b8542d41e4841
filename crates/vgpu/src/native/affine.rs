//! Lanes that grow evenly: taken as such where they are guessed to be, and checked.

use super::{
    encode::lane_table,
    memory::words,
    nodes::{Arg, Code, MemoryAt, Vector},
    values::{Coder, Skip, ValueId},
};
use regalloc2::{RegClass, VReg};
use warpsmith_x86::{Alu, Cond, Len, MaskAlu, vector};

impl Coder<'_, '_> {
    /// Lanes at `slot` that are guessed to grow by `step`: leaves the run where they do not.
    pub(super) fn guess(&mut self, slot: u32, step: i64, wide: bool) -> ValueId {
        let (bytes, shift) = if wide { (8, 3) } else { (4, 2) };
        let base = match self.active {
            None => self.nodes.load(bytes, MemoryAt::Frame(slot)),
            Some(active) => {
                // Of those that are here, the first one tells what lane 0 would be.
                let lanes = self.nodes.scalar(Code::MaskTo, &[active]);
                let first = self.nodes.scalar(Code::TrailingZeros, &[lanes]);
                let own = self.nodes.load(bytes, MemoryAt::Lane(slot, first, shift));
                let more = i32::try_from(step).unwrap_or(0);
                let more = self.nodes.scalar(Code::ImulImm(wide, more), &[first]);
                self.nodes.change(Code::Alu(Alu::Sub, wide), own, &[more])
            }
        };
        let value = self.of_affine(base, step, wide);
        let count = if wide { 4 } else { 2 };
        let found = (0..count).map(|j| Arg::Mem(MemoryAt::Frame(slot + 64 * j)));
        self.compare_lanes(base, step, wide, found.collect());
        value
    }

    /// Lane 0 of a value whose lanes grow by `step`: leaves the run where they do not.
    pub(super) fn verify(&mut self, id: ValueId, step: i64, wide: bool) -> Result<VReg, Skip> {
        let regs = if wide {
            self.quads(id)?.to_vec()
        } else {
            self.lanes_exact(id)?.to_vec()
        };
        let op = if wide {
            &vector::FIRST_I64
        } else {
            &vector::FIRST_I32
        };
        let base = self
            .nodes
            .reversed(op, RegClass::Int, Len::L128, 0, regs[0]);
        self.compare_lanes(base, step, wide, regs.into_iter().map(Arg::Reg).collect());
        self.forms(id).affine = Some((base, step));
        Ok(base)
    }

    /// The same of those lanes alone that are here; the first of them says what lane 0 would hold.
    pub(super) fn verify_here(&mut self, id: ValueId, step: i64, wide: bool) -> Result<VReg, Skip> {
        let here = self.active.ok_or(Skip)?;
        let regs = if wide {
            self.quads(id)?.to_vec()
        } else {
            self.lanes_exact(id)?.to_vec()
        };
        let bits = self.nodes.scalar(Code::MaskTo, &[here]);
        let lane = self.nodes.scalar(Code::TrailingZeros, &[bits]);
        let (low, high) = regs.split_at(regs.len() / 2);
        let [low, high] = [low, high].map(|half| self.lane_of(half, lane, wide));
        self.nodes.effect(Code::CompareImm(false, 16), &[lane]);
        let cmov = Code::Cmov(Cond::AboveEqual, true);
        let found = self.nodes.change(cmov, low, &[high]);
        let base = self.lane_zero(found, lane, step)?;
        self.compare_lanes(base, step, wide, regs.into_iter().map(Arg::Reg).collect());
        Ok(base)
    }

    /// What lane 0 would hold, by what a lane does, where they grow by `step`.
    pub(super) fn lane_zero(&mut self, found: VReg, lane: VReg, step: i64) -> Result<VReg, Skip> {
        let before = Code::ImulImm(true, i32::try_from(step).map_err(|_| Skip)?);
        let before = self.nodes.scalar(before, &[lane]);
        let code = Code::Alu(Alu::Sub, true);
        Ok(self.nodes.change(code, found, &[before]))
    }

    /// What a lane of half a warp holds: its number counts from the first of either half.
    pub(super) fn lane_of(&mut self, half: &[VReg], lane: VReg, wide: bool) -> VReg {
        let word = match wide {
            true => self.nodes.scalar(Code::ImulImm(true, 2), &[lane]),
            false => lane,
        };
        let index = self.vector(&vector::SPLAT_GPR32, Vector::one(Arg::Reg(word)));
        let index = match wide {
            true => {
                let more = self.nodes.constant(words(|i| i & 1));
                self.vector(&vector::ADD_I32, Vector::two(index, Arg::Mem(more)))
            }
            false => index,
        };
        let last = half[half.len() - 1];
        let v = Vector {
            tied: Some(index),
            ..Vector::two(half[0], Arg::Reg(last))
        };
        let found = self.vector(&vector::PERMUTE2_I32, v);
        let op = if wide {
            &vector::FIRST_I64
        } else {
            &vector::FIRST_I32
        };
        self.nodes.reversed(op, RegClass::Int, Len::L128, 0, found)
    }

    /// Leaves the run where lanes that are `here`, from lane `first` on, do not grow by `step` from what `first` would hold.
    pub(super) fn grows(
        &mut self,
        found: Vec<Arg>,
        base: VReg,
        (step, wide): (i64, bool),
        (here, first): (VReg, u8),
    ) {
        // What leaves a run leaves all products behind.
        self.make_products();
        let (op, lanes) = if wide {
            (&vector::CMP_I64, 8)
        } else {
            (&vector::CMP_I32, 16)
        };
        let mut off: Option<VReg> = None;
        for (j, found) in found.into_iter().enumerate() {
            let want = self.affine_part(base, step, wide, j);
            let v = Vector {
                imm: 4,
                mask: Some(self.part(here, first + lanes * j as u8)),
                ..Vector::two(want, found)
            };
            let own = self.nodes.vector(op, RegClass::Vector, v);
            off = Some(match off {
                None => own,
                Some(off) => self.nodes.mask(Code::MaskAlu(MaskAlu::Or), &[off, own]),
            });
        }
        if let Some(off) = off {
            self.nodes.effect(Code::MaskTest16, &[off]);
            self.exit_if(Cond::NotEqual);
        }
    }

    fn compare_lanes(&mut self, base: VReg, step: i64, wide: bool, found: Vec<Arg>) {
        if let Some(active) = self.active {
            return self.grows(found, base, (step, wide), (active, 0));
        }
        self.make_products();
        let mut off: Option<VReg> = None;
        for (j, found) in found.into_iter().enumerate() {
            let want = self.affine_part(base, step, wide, j);
            // The bits in which they differ, and those of before.
            off = Some(match off {
                None => self.vector(&vector::XOR, Vector::two(want, found)),
                Some(off) => self.vector(
                    &vector::TERNARY,
                    Vector {
                        tied: Some(off),
                        imm: 0xF6,
                        ..Vector::two(want, found)
                    },
                ),
            });
        }
        if let Some(off) = off {
            let all = Vector::two(off, Arg::Reg(off));
            let mask = self.nodes.vector(&vector::TEST_I32, RegClass::Vector, all);
            self.nodes.effect(Code::MaskTest16, &[mask]);
            self.exit_if(Cond::NotEqual);
        }
    }

    /// Register `j` of lanes that grow by `step` from `base`.
    pub(super) fn affine_part(&mut self, base: VReg, step: i64, wide: bool, j: usize) -> VReg {
        let (splat, add) = if wide {
            (&vector::SPLAT_GPR64, &vector::ADD_I64)
        } else {
            (&vector::SPLAT_GPR32, &vector::ADD_I32)
        };
        let first = self.vector(splat, Vector::one(Arg::Reg(base)));
        let more = self.nodes.constant(lane_table(step, j, wide));
        self.vector(add, Vector::two(first, Arg::Mem(more)))
    }
}
