//! Code for local memory: that of a CTA's threads lies thread after thread, so that lanes are a constant apart.
//!
//! An address that is not of the thread's own memory, or not aligned, leaves the run, and the interpreter says what is wrong
//! with it. Elements of 1 and 2 bytes are parts of words: nobody else writes there.

use super::{
    accesses::{Access, items, lands, plain},
    kinds::reads,
    nodes::{Arg, Code, MemoryAt, Vector},
    values::{Coder, Known, Skip, ValueId},
};
use crate::{
    exec::{Ctx, Warp},
    lower::Lowerer,
    memory::Window,
};
use regalloc2::{RegClass, VReg};
use warpsmith_ptx::{
    ir::{Inst, Operand},
    op::Op,
    types::Space,
};
use warpsmith_x86::{Alu, Cond, MaskAlu, vector};

/// The most bytes of a thread: what 32 of them have is counted in 32 bits.
const MOST: u32 = 1 << 20;

/// A load from local memory or a store to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Own {
    access: Access,
    store: bool,
}

/// What an instruction does, if it accesses local memory.
pub(super) fn kind(l: &Lowerer<'_>, inst: &Inst) -> Option<Own> {
    let store = match inst.op {
        Op::St => true,
        Op::Ld => false,
        _ => return None,
    };
    let (space, access) = plain(l, inst, inst.operands.get(usize::from(!store))?)?;
    let fits = space == Space::Local
        && access.bytes * access.count <= 16
        && (1..=MOST).contains(&l.layout().local_bytes);
    let items = items(inst.operands.get(usize::from(store))?);
    let right = items.len() == access.count as usize
        && items.iter().all(|item| match store {
            true => reads(l, Some(item), 8 * access.bytes),
            false => lands(l, item, access),
        });
    (fits && right).then_some(Own { access, store })
}

/// Where the elements of lanes are: bytes of each behind a host pointer, sixteen lanes to a register.
struct Places {
    host: VReg,
    offsets: [VReg; 2],
}

impl Coder<'_, '_> {
    pub(super) fn own(&mut self, own: Own, inst: &Inst) -> Result<(), Skip> {
        let Own { access, store } = own;
        let mut values = Vec::new();
        let items = items(inst.operands.get(usize::from(store)).ok_or(Skip)?);
        if store {
            for item in items {
                values.push(self.read(item, 8 * access.bytes)?);
            }
        }
        let places = self.places(access, inst.operands.get(usize::from(!store)).ok_or(Skip)?)?;
        for (k, item) in items.iter().enumerate() {
            let host = self.add_imm(places.host, (k as i64) * i64::from(access.bytes));
            let places = Places { host, ..places };
            if store {
                self.put_own(access, &places, values[k])?;
            } else if !matches!(item, Operand::Sink) {
                let value = self.own_element(access, &places);
                self.put(item, value)?;
            }
        }
        Ok(())
    }

    /// Checks the addresses of the lanes that count.
    fn places(&mut self, access: Access, operand: &Operand) -> Result<Places, Skip> {
        let bytes = self.l.layout().local_bytes;
        let each = access.bytes * access.count;
        let most = u64::from(bytes.checked_sub(each).ok_or(Skip)?);
        let host = self.own_memory(bytes);
        let (value, offset, wide) = self.address(operand)?;
        if let Some(address) = self.constant_of(value) {
            let address = address.wrapping_add(offset as u64);
            if address > most || !address.is_multiple_of(u64::from(each)) {
                return Err(Skip);
            }
            let host = self.add_imm(host, address as i64);
            let offsets = [0, 1].map(|j| self.thread_offsets(bytes, j));
            return Ok(Places { host, offsets });
        }
        if self.is_uniform(value) {
            let base = self.scalar(value)?;
            let address = if wide {
                self.add_imm(base, offset)
            } else {
                let code = Code::AluImm(Alu::Add, false, offset as i32);
                self.nodes.change(code, base, &[])
            };
            self.nodes
                .effect(Code::CompareImm(true, most as i32), &[address]);
            self.exit_if(Cond::Above);
            if each > 1 {
                let test = Code::TestImm(each as i32 - 1);
                self.nodes.effect(test, &[address]);
                self.exit_if(Cond::NotEqual);
            }
            let code = Code::Alu(Alu::Add, true);
            let host = self.nodes.change(code, address, &[host]);
            let offsets = [0, 1].map(|j| self.thread_offsets(bytes, j));
            return Ok(Places { host, offsets });
        }
        let lanes = self.own_lanes(value, offset, wide, [most, u64::from(each) - 1])?;
        let offsets = [0, 1].map(|j| {
            let first = self.thread_offsets(bytes, j);
            self.plain(&vector::ADD_I32, lanes[j], first)
        });
        Ok(Places { host, offsets })
    }

    /// The addresses of lanes, which are at most `most` and have no bit of `low`, as words.
    fn own_lanes(
        &mut self,
        value: ValueId,
        offset: i64,
        wide: bool,
        [most, low]: [u64; 2],
    ) -> Result<[VReg; 2], Skip> {
        let (add, above, test, regs, width) = if wide {
            (
                &vector::ADD_I64,
                &vector::CMP_U64,
                &vector::TEST_I64,
                self.quads(value)?.to_vec(),
                8,
            )
        } else {
            (
                &vector::ADD_I32,
                &vector::CMP_U32,
                &vector::TEST_I32,
                self.lanes_exact(value)?.to_vec(),
                16,
            )
        };
        let number = |coder: &mut Self, value: u64| {
            if wide {
                coder.whole_wide(value)
            } else {
                coder.whole(value & 0xFFFF_FFFF)
            }
        };
        let offset = number(self, offset as u64);
        let most = number(self, most);
        let low = number(self, low);
        let now = self.lanes_of_now();
        let mut bad: Option<VReg> = None;
        let mut found = Vec::with_capacity(4);
        for (j, reg) in regs.into_iter().enumerate() {
            let address = self.plain(add, reg, offset);
            let mask = now.map(|now| self.part(now, width * j as u8));
            let far = Vector {
                imm: 6,
                mask,
                ..Vector::two(address, Arg::Reg(most))
            };
            let odd = Vector {
                mask,
                ..Vector::two(address, Arg::Reg(low))
            };
            for (op, v) in [(above, far), (test, odd)] {
                let own = self.nodes.vector(op, RegClass::Vector, v);
                bad = Some(match bad {
                    None => own,
                    Some(bad) => self.nodes.mask(Code::MaskAlu(MaskAlu::Or), &[bad, own]),
                });
            }
            found.push(address);
        }
        if let Some(bad) = bad {
            self.nodes.effect(Code::MaskTest16, &[bad]);
            self.exit_if(Cond::NotEqual);
        }
        if wide {
            let halves: Vec<VReg> = found
                .into_iter()
                .map(|quad| self.narrow_quad(quad))
                .collect();
            return self.joined(&halves);
        }
        found.try_into().map_err(|_| Skip)
    }

    /// The host's pointer to the local memory of the warp's first thread.
    pub(super) fn own_memory(&mut self, bytes: u32) -> VReg {
        let key = Known::Own(bytes);
        if let Some(reg) = self.windows.get(&key) {
            return *reg;
        }
        let host = std::mem::offset_of!(Ctx, local) + Window::HOST_AT;
        let host = self.nodes.load(8, MemoryAt::Ctx(host as u32));
        let warp = std::mem::offset_of!(Ctx, warp) as u32;
        let warp = self.nodes.load(8, MemoryAt::Ctx(warp));
        let index = std::mem::offset_of!(Warp, index) as i32;
        let index = self.nodes.load(4, MemoryAt::At(warp, index));
        let code = Code::ImulImm(true, 32 * bytes as i32);
        let before = self.nodes.scalar(code, &[index]);
        let reg = self
            .nodes
            .change(Code::Alu(Alu::Add, true), before, &[host]);
        self.windows.insert(key, reg);
        reg
    }

    /// Where the memory of each of sixteen threads begins.
    fn thread_offsets(&mut self, bytes: u32, j: usize) -> VReg {
        let table = super::encode::lane_table(i64::from(bytes), j, false);
        let place = self.nodes.constant(table);
        self.vector(&vector::LOAD, Vector::one(Arg::Mem(place)))
    }

    /// One element of each lane.
    fn own_element(&mut self, access: Access, places: &Places) -> ValueId {
        if access.bytes == 8 {
            let offsets = self.offsets_of_quads(places);
            let regs = [0, 1, 2, 3].map(|j| {
                let mask = self.taking_part(true, j);
                let old = self.whole(0);
                let op = &vector::GATHER_I64_64;
                self.nodes.gather(op, old, offsets[j], places.host, mask)
            });
            return self.of_quads(regs);
        }
        let regs = [0, 1].map(|j| {
            if access.bytes == 4 {
                return self.own_word(places.host, places.offsets[j], j);
            }
            let (host, offset, shift) = self.word_around(places, j);
            let word = self.own_word(host, offset, j);
            let part = self.plain(&vector::SHRV_U32, word, shift);
            let by = 32 - 8 * access.bytes as u8;
            if access.signed {
                let up = self.by(&vector::SHL_I32, part, by);
                self.by(&vector::SHR_I32, up, by)
            } else {
                self.with_constant(&vector::AND, part, (1 << (8 * access.bytes)) - 1)
            }
        });
        self.of_lanes(regs, false)
    }

    fn own_word(&mut self, host: VReg, offset: VReg, j: usize) -> VReg {
        let mask = self.taking_part(false, j);
        let old = self.whole(0);
        self.nodes
            .gather(&vector::GATHER_I32_32, old, offset, host, mask)
    }

    /// The words that elements are parts of, and how many bits are below those.
    fn word_around(&mut self, places: &Places, j: usize) -> (VReg, VReg, VReg) {
        // The host pointer may be inside of a word, too: what it has more goes to the lanes.
        let more = self
            .nodes
            .change(Code::AluImm(Alu::And, true, 3), places.host, &[]);
        let host = self
            .nodes
            .change(Code::AluImm(Alu::And, true, -4), places.host, &[]);
        let more = self.vector(&vector::SPLAT_GPR32, Vector::one(Arg::Reg(more)));
        let offset = self.plain(&vector::ADD_I32, places.offsets[j], more);
        let below = self.with_constant(&vector::AND, offset, 3);
        let shift = self.by(&vector::SHL_I32, below, 3);
        let offset = self.with_constant(&vector::AND, offset, 0xFFFF_FFFC);
        (host, offset, shift)
    }

    fn offsets_of_quads(&mut self, places: &Places) -> [VReg; 4] {
        let [low, high] = places.offsets;
        let [b, d] = [low, high].map(|v| self.upper(v));
        [low, b, high, d].map(|v| self.one(&vector::ZERO_I32_I64, v))
    }

    fn put_own(&mut self, access: Access, places: &Places, value: ValueId) -> Result<(), Skip> {
        if access.bytes == 8 {
            let regs = self.quads(value)?;
            let offsets = self.offsets_of_quads(places);
            for j in 0..4 {
                let mask = self.taking_part(true, j);
                let op = &vector::SCATTER_I64_64;
                self.nodes
                    .scatter(op, regs[j], offsets[j], places.host, mask);
            }
            return Ok(());
        }
        let regs = self.lanes_exact(value)?;
        for j in 0..2 {
            let (host, offset, word) = if access.bytes == 4 {
                (places.host, places.offsets[j], regs[j])
            } else {
                let (host, offset, shift) = self.word_around(places, j);
                let old = self.own_word(host, offset, j);
                let ones = self.whole((1 << (8 * access.bytes)) - 1);
                let ones = self.plain(&vector::SHLV_I32, ones, shift);
                let part = self.plain(&vector::SHLV_I32, regs[j], shift);
                (host, offset, self.merge(ones, part, old))
            };
            let mask = self.taking_part(false, j);
            let op = &vector::SCATTER_I32_32;
            self.nodes.scatter(op, word, offset, host, mask);
        }
        Ok(())
    }
}
