//! Accesses of lanes that are no neighbours: gathers and scatters, and one element that all lanes write.

use super::{
    accesses::Access,
    nodes::{Arg, Code, MemoryAt, Vector},
    values::{Coder, Skip, ValueId},
};
use crate::memory::Window;
use regalloc2::{RegClass, VReg};
use warpsmith_x86::{Alu, Cond, Len, MaskAlu, vector};

/// Where lanes go: bytes behind a host pointer, eight lanes of 64 bits or sixteen of 32 to a register. All are inside.
pub(super) struct Apart {
    host: VReg,
    offsets: Vec<VReg>,
    wide: bool,
}

impl Apart {
    /// Whether offsets have 64 bits.
    pub(super) fn is_wide(&self) -> bool {
        self.wide
    }

    /// The host's pointer, and the bytes of each lane behind it.
    pub(super) fn into_parts(self) -> (VReg, Vec<VReg>) {
        (self.host, self.offsets)
    }
}

impl Coder<'_, '_> {
    /// Checks the addresses of lanes; where one that counts is not inside or not aligned, the run is left.
    pub(super) fn apart(
        &mut self,
        access: Access,
        value: ValueId,
        offset: i64,
        wide: bool,
    ) -> Result<Apart, Skip> {
        if access.bytes < 4 || !wide && !access.shared {
            return Err(Skip);
        }
        let each = access.bytes * access.count;
        // From the window's first byte on.
        let more = if access.shared {
            self.nodes.scalar(Code::MovImm(offset as u64), &[])
        } else {
            let first = self.field(access, Window::BASE_AT);
            let offset = self.nodes.scalar(Code::MovImm(offset as u64), &[]);
            self.nodes
                .change(Code::Alu(Alu::Sub, true), offset, &[first])
        };
        let limit = self.limit(access, each);
        let host = self.field(access, Window::HOST_AT);
        if !wide {
            // Offsets of 32 bits have a sign where they are added.
            self.nodes
                .effect(Code::CompareImm(true, i32::MAX), &[limit]);
            self.exit_if(Cond::Above);
        }
        let (splat, add, above, test, step, lanes) = if wide {
            (
                &vector::SPLAT_GPR64,
                &vector::ADD_I64,
                &vector::CMP_U64,
                &vector::TEST_I64,
                8,
                self.quads(value)?.to_vec(),
            )
        } else {
            (
                &vector::SPLAT_GPR32,
                &vector::ADD_I32,
                &vector::CMP_U32,
                &vector::TEST_I32,
                16,
                self.lanes_exact(value)?.to_vec(),
            )
        };
        let more = self.vector(splat, Vector::one(Arg::Reg(more)));
        let most = self.vector(splat, Vector::one(Arg::Reg(limit)));
        let low = self.nodes.scalar(Code::MovImm(u64::from(each) - 1), &[]);
        let low = self.vector(splat, Vector::one(Arg::Reg(low)));
        let now = self.lanes_of_now();
        let mut bad: Option<VReg> = None;
        let mut offsets = Vec::with_capacity(lanes.len());
        for (j, lanes) in lanes.into_iter().enumerate() {
            let offset = self.vector(add, Vector::two(lanes, Arg::Reg(more)));
            let mask = now.map(|now| self.part(now, (step * j) as u8));
            let far = Vector {
                imm: 6,
                mask,
                ..Vector::two(offset, Arg::Reg(most))
            };
            let odd = Vector {
                mask,
                ..Vector::two(offset, Arg::Reg(low))
            };
            for (op, v) in [(above, far), (test, odd)] {
                let own = self.nodes.vector(op, RegClass::Vector, v);
                bad = Some(match bad {
                    None => own,
                    Some(bad) => self.nodes.mask(Code::MaskAlu(MaskAlu::Or), &[bad, own]),
                });
            }
            offsets.push(offset);
        }
        if let Some(bad) = bad {
            self.nodes.effect(Code::MaskTest16, &[bad]);
            self.exit_if(Cond::NotEqual);
        }
        Ok(Apart {
            host,
            offsets,
            wide,
        })
    }

    /// The lanes of a register of offsets that take part. It is used up.
    pub(super) fn taking_part(&mut self, wide: bool, j: usize) -> VReg {
        match self.lanes_of_now() {
            Some(now) => {
                let first = (if wide { 8 } else { 16 }) * j as u8;
                self.nodes.mask(Code::MaskShift(first), &[now])
            }
            None => {
                let all = if wide { 0xFF } else { 0xFFFF };
                let all = self.nodes.scalar(Code::MovImm(all), &[]);
                self.nodes.mask(Code::MaskFrom, &[all])
            }
        }
    }

    /// Element `k` of each lane.
    pub(super) fn gather(&mut self, access: Access, apart: &Apart, k: u32) -> ValueId {
        let base = self.add_imm(apart.host, i64::from(k * access.bytes));
        let op = match (access.bytes, apart.wide) {
            (8, _) => &vector::GATHER_I64_64,
            (_, true) => &vector::GATHER_I32_64,
            (_, false) => &vector::GATHER_I32_32,
        };
        let mut found = Vec::with_capacity(4);
        let offsets = self.eights(access, apart);
        for (j, offset) in offsets.into_iter().enumerate() {
            let wide = apart.wide || access.bytes == 8;
            let mask = self.taking_part(wide, j);
            let old = self.whole(0);
            found.push(self.nodes.gather(op, old, offset, base, mask));
        }
        match found[..] {
            [a, b, c, d] if access.bytes == 8 => self.of_quads([a, b, c, d]),
            [a, b, c, d] => {
                let lanes = [(a, b), (c, d)].map(|(low, high)| {
                    let v = Vector {
                        imm: 1,
                        ..Vector::two(low, Arg::Reg(high))
                    };
                    self.vector(&vector::INSERT_256, v)
                });
                self.of_lanes(lanes, false)
            }
            [a, b] => self.of_lanes([a, b], false),
            _ => unreachable!("there are two or four registers of offsets"),
        }
    }

    /// Writes element `k` of each lane; of lanes with one address the last stays.
    pub(super) fn scatter(
        &mut self,
        access: Access,
        apart: &Apart,
        k: u32,
        value: ValueId,
    ) -> Result<(), Skip> {
        let base = self.add_imm(apart.host, i64::from(k * access.bytes));
        let (op, regs) = if access.bytes == 8 {
            (&vector::SCATTER_I64_64, self.quads(value)?.to_vec())
        } else {
            let lanes = self.lanes_exact(value)?;
            if apart.wide {
                let mut halves = Vec::with_capacity(4);
                for lane in lanes {
                    halves.push(lane);
                    let op = &vector::EXTRACT_256;
                    halves.push(self.nodes.reversed(op, RegClass::Float, Len::L512, 1, lane));
                }
                (&vector::SCATTER_I32_64, halves)
            } else {
                (&vector::SCATTER_I32_32, lanes.to_vec())
            }
        };
        let offsets = self.eights(access, apart);
        for (j, (src, offset)) in regs.into_iter().zip(offsets).enumerate() {
            let wide = apart.wide || access.bytes == 8;
            let mask = self.taking_part(wide, j);
            self.nodes.scatter(op, src, offset, base, mask);
        }
        Ok(())
    }

    /// The offsets as an access of this width takes them: of eight bytes eight to a register.
    fn eights(&mut self, access: Access, apart: &Apart) -> Vec<VReg> {
        if access.bytes < 8 || apart.wide {
            return apart.offsets.clone();
        }
        let mut wide = Vec::with_capacity(4);
        for offset in &apart.offsets {
            let low = Vector::one(Arg::Reg(*offset));
            wide.push(self.vector(&vector::ZERO_I32_I64, low));
            let op = &vector::EXTRACT_256;
            let high = self
                .nodes
                .reversed(op, RegClass::Float, Len::L512, 1, *offset);
            wide.push(self.vector(&vector::ZERO_I32_I64, Vector::one(Arg::Reg(high))));
        }
        wide
    }

    /// One element that all lanes write: that of the last stays.
    pub(super) fn store_one(
        &mut self,
        access: Access,
        at: MemoryAt,
        values: &[ValueId],
    ) -> Result<(), Skip> {
        let &[value] = values else { return Err(Skip) };
        // Under a guard there may be no lane at all.
        if self.guard.is_some() {
            return Err(Skip);
        }
        if self.waits.is_some() {
            return self.store_one_if_any(access, at, value);
        }
        let reg = if self.is_uniform(value) {
            self.scalar(value)?
        } else if access.bytes == 8 {
            return Err(Skip);
        } else {
            let own = self.last_lane(value)?;
            let op = &vector::FIRST_I32;
            self.nodes.reversed(op, RegClass::Int, Len::L128, 0, own)
        };
        self.nodes.store(access.bytes, at, reg);
        Ok(())
    }

    /// A register with what the last lane that is here has.
    fn last_lane(&mut self, value: ValueId) -> Result<VReg, Skip> {
        let lanes = self.lanes_exact(value)?;
        let last = match self.active {
            None => self.whole(31),
            Some(active) => {
                let bits = self.nodes.scalar(Code::MaskTo, &[active]);
                let above = self.nodes.scalar(Code::LeadingZeros, &[bits]);
                let last = self.nodes.scalar(Code::MovImm(31), &[]);
                let last = self
                    .nodes
                    .change(Code::Alu(Alu::Sub, false), last, &[above]);
                self.vector(&vector::SPLAT_GPR32, Vector::one(Arg::Reg(last)))
            }
        };
        Ok(self.vector(
            &vector::PERMUTE2_I32,
            Vector {
                tied: Some(last),
                ..Vector::two(lanes[0], Arg::Reg(lanes[1]))
            },
        ))
    }

    /// The same where there may be no lane at all.
    fn store_one_if_any(
        &mut self,
        access: Access,
        at: MemoryAt,
        value: ValueId,
    ) -> Result<(), Skip> {
        let active = self.active.ok_or(Skip)?;
        let uniform = self.is_uniform(value);
        let (op, own) = match access.bytes {
            8 if uniform => (&vector::STORE_I64, self.splat(value)?),
            8 => return Err(Skip),
            bytes => {
                let op = match bytes {
                    1 => &vector::NARROW_I32_I8,
                    2 => &vector::NARROW_I32_I16,
                    _ => &vector::STORE_I32,
                };
                let own = match uniform {
                    true => self.splat_exact(value)?,
                    false => self.last_lane(value)?,
                };
                (op, own)
            }
        };
        let mask = Some(self.one_if_any(active));
        let v = Vector {
            mask,
            ..Vector::one(Arg::Mem(at))
        };
        self.nodes.store_vector(op, own, v);
        Ok(())
    }
}
