//! Code for rows of 16 bytes: `ldmatrix`, and `cp.async`, which is done when it is issued.
//!
//! Lanes say where rows are. Their places are checked as those of any access are, then stand on the stack, from where
//! the copies take them one after another.

use super::{
    accesses::{Access, items},
    apart::Apart,
    kinds::{is_pred, reads, writes},
    memory::words,
    nodes::{Arg, Code, MemoryAt, Nodes, Vector, early},
    values::{Coder, Skip},
};
use crate::{
    lower::{Lowerer, immediate, roles},
    memory::Window,
};
use regalloc2::{Operand as Slot, RegClass, VReg};
use warpsmith_ptx::{
    ir::{Address, Base, Inst, Operand},
    op::Op,
    qual::Qual,
    types::{Space, Type},
};
use warpsmith_x86::{Alu, Cond, MaskAlu, vector};

/// Matrices of eight rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Matrices {
    count: u32,
    /// Whether rows become columns.
    turned: bool,
}

/// What is said of how much of a copy comes from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyExtent {
    /// All.
    All,
    /// Nothing for the lanes of a predicate.
    Unless,
    /// So many bytes.
    Bytes,
}

/// What lanes copy. All places are on the stack.
#[derive(Clone, Copy, Debug)]
pub(super) enum Copies {
    /// Rows of 16 bytes: from, to, a free register. Offsets have 32 bits to where, 64 bits from where.
    Rows { to: u32, from: u32 },
    /// Eight bytes of each lane, which stand at `lanes`, to memory or from there: the host's pointer, two free registers.
    /// Offsets have 64 bits.
    Pairs {
        offsets: u32,
        lanes: u32,
        store: bool,
    },
}

/// A row in shared memory: 32-bit addresses are compiled.
const SHARED: Access = Access {
    shared: true,
    bytes: 4,
    signed: false,
    count: 4,
};
/// Bytes of the room for eight bytes of each lane, and for where they go.
pub(super) const PAIRS: u32 = 2 * 256;
const GLOBAL: Access = Access {
    shared: false,
    ..SHARED
};

/// Whether an operand is an address in a register of that many bits, or a variable's.
fn is_at(l: &Lowerer<'_>, operand: Option<&Operand>, bits: u32) -> bool {
    match operand {
        Some(Operand::Addr(Address {
            base: Base::Reg(reg),
            ..
        })) => l.type_of(*reg) != Type::Pred && l.type_of(*reg).bits() == bits,
        _ => false,
    }
}

/// What `ldmatrix` is, if it is compiled.
pub(super) fn matrices(l: &Lowerer<'_>, inst: &Inst) -> Option<Matrices> {
    let has = |qual| inst.quals.has(qual);
    let regs = items(inst.operands.first()?);
    let count = match (has(Qual::X4), has(Qual::X2)) {
        (true, _) => 4,
        (_, true) => 2,
        _ => 1,
    };
    let fits = inst.operands.len() == 2
        && roles::space(inst) == Space::Shared
        && has(Qual::M8n8)
        && regs.len() == count as usize
        && regs.iter().all(|reg| writes(l, Some(reg), 32))
        && is_at(l, inst.operands.get(1), 32);
    fits.then_some(Matrices {
        count,
        turned: has(Qual::Trans),
    })
}

/// What `cp.async` is, if it is compiled; copies of nothing else and the ends of groups do nothing.
pub(super) fn copies(l: &Lowerer<'_>, inst: &Inst) -> Option<Option<CopyExtent>> {
    let has = |qual| inst.quals.has(qual);
    if inst.op != Op::Cp || !has(Qual::Async) || has(Qual::Bulk) || has(Qual::Mbarrier) {
        return None;
    }
    if has(Qual::CommitGroup) || has(Qual::WaitGroup) || has(Qual::WaitAll) {
        return Some(None);
    }
    let policy = usize::from(has(Qual::L2CacheHint));
    let part = inst
        .operands
        .get(3)
        .filter(|_| inst.operands.len() > 3 + policy);
    let whole =
        matches!(inst.operands.get(2), Some(Operand::Imm(imm)) if immediate(*imm, 64) == 16);
    let fits = whole && is_at(l, inst.operands.first(), 32) && is_at(l, inst.operands.get(1), 64);
    let part = match part {
        None => CopyExtent::All,
        Some(operand) if is_pred(l, Some(operand)) => CopyExtent::Unless,
        Some(operand) if reads(l, Some(operand), 32) => CopyExtent::Bytes,
        Some(_) => return None,
    };
    fits.then_some(Some(part))
}

/// Whether `prefetch` is compiled; others do nothing.
pub(super) fn prefetches(l: &Lowerer<'_>, inst: &Inst) -> bool {
    inst.quals.has(Qual::Global) && is_at(l, inst.operands.first(), 64)
}

impl Nodes {
    /// Two registers that are written while others are still read.
    pub(super) fn rows(&mut self, at: u32, wide: bool, host: VReg) -> [VReg; 2] {
        let dst = [(); 2].map(|()| self.register(RegClass::Float));
        let operands = [early(dst[0]), early(dst[1]), Slot::reg_use(host)];
        self.push(Code::Rows(at, wide), &operands);
        dst
    }
}

impl Coder<'_, '_> {
    /// Asks for the lines that lanes name. Nothing comes of it where there is no memory.
    pub(super) fn prefetch(&mut self, inst: &Inst) -> Result<(), Skip> {
        let (value, offset, _) = self.address(inst.operands.first().ok_or(Skip)?)?;
        let first = self.field(GLOBAL, Window::BASE_AT);
        let host = self.field(GLOBAL, Window::HOST_AT);
        let away = self.add_imm(host, offset);
        let sub = Code::Alu(Alu::Sub, true);
        let away = self.nodes.change(sub, away, &[first]);
        let linear = self.linear(value)?;
        if let Some((base, step)) = linear
            && step.unsigned_abs() <= 1 << 20
        {
            let add = Code::Alu(Alu::Add, true);
            let at = self.nodes.change(add, away, &[base]);
            let lanes = if step == 0 { 1 } else { 32 };
            let mut last = None;
            for lane in 0..lanes {
                let from = lane * step;
                if last != Some(from / 64) {
                    self.nodes.prefetch(MemoryAt::At(at, from as i32));
                }
                last = Some(from / 64);
            }
            return Ok(());
        }
        let away = self.vector(&vector::SPLAT_GPR64, Vector::one(Arg::Reg(away)));
        let lanes = self.quads(value)?;
        let lanes = lanes.map(|quad| self.plain(&vector::ADD_I64, quad, away));
        let at = self.laid(lanes.to_vec());
        self.nodes.effect(Code::PrefetchRows(at), &[]);
        Ok(())
    }

    /// A mask of lanes that are known.
    fn known_mask(&mut self, lanes: u32) -> VReg {
        let bits = Code::MovImm(u64::from(lanes));
        let bits = self.nodes.scalar(bits, &[]);
        self.nodes.mask(Code::MaskFrom, &[bits])
    }

    /// Where rows are, checked for some lanes: the host's pointer, and lanes' offsets.
    fn rows_at(
        &mut self,
        access: Access,
        operand: &Operand,
        lanes: Option<VReg>,
    ) -> Result<(VReg, Vec<VReg>), Skip> {
        let (value, offset, wide) = self.address(operand)?;
        // The others are not looked at.
        self.guard = lanes;
        let apart = self.apart(access, value, offset, wide);
        self.guard = None;
        Ok(apart?.into_parts())
    }

    /// Puts registers on the stack, one behind the other.
    fn laid(&mut self, regs: Vec<VReg>) -> u32 {
        let at = self.room(64 * regs.len() as u32);
        for (j, reg) in (0..).zip(regs) {
            self.lay(at + 64 * j, reg);
        }
        at
    }

    /// What lanes load of 16 bytes each, four lanes to a register.
    pub(super) fn rows_of(&mut self, apart: Apart) -> Result<[VReg; 8], Skip> {
        let (host, offsets) = apart.into_parts();
        // Offsets of 64 bits are in four registers, of 32 bits in two.
        let wide = offsets.len() == 4;
        let at = self.laid(offsets);
        let each = if wide { 64 } else { 32 };
        let mut rows = Vec::with_capacity(8);
        for eight in 0..4 {
            rows.extend(self.nodes.rows(at + each * eight, wide, host));
        }
        rows.try_into().map_err(|_| Skip)
    }

    pub(super) fn load_matrices(&mut self, matrices: Matrices, inst: &Inst) -> Result<(), Skip> {
        if self.lanes_of_now().is_some() {
            return Err(Skip);
        }
        let [to, place] = &inst.operands[..] else {
            return Err(Skip);
        };
        let lanes = match matrices.count {
            4 => None,
            count => Some(self.known_mask((1 << (8 * count)) - 1)),
        };
        let (host, offsets) = self.rows_at(SHARED, place, lanes)?;
        let at = self.laid(offsets);
        for (j, item) in items(to).iter().enumerate() {
            let mut rows = self.nodes.rows(at + 32 * j as u32, false, host);
            if matrices.turned {
                rows = [0, 1].map(|half| {
                    // Row r of the turned one is column r.
                    let index = std::array::from_fn(|i| {
                        let cell = 32 * half + i / 2;
                        let (row, column) = (cell / 8, cell % 8);
                        let from = (8 * column + row) as u16;
                        from.to_le_bytes()[i % 2]
                    });
                    let place = self.nodes.constant(index);
                    let index = self.vector(&vector::LOAD, Vector::one(Arg::Mem(place)));
                    let pick = Vector {
                        tied: Some(index),
                        ..Vector::two(rows[0], Arg::Reg(rows[1]))
                    };
                    self.vector(&vector::PERMUTE2_I16, pick)
                });
            }
            let value = self.of_lanes(rows, false);
            self.put(item, value)?;
        }
        Ok(())
    }

    pub(super) fn copy_rows(&mut self, part: CopyExtent, inst: &Inst) -> Result<(), Skip> {
        if self.lanes_of_now().is_some() {
            return Err(Skip);
        }
        let none = self.lanes_without(part, inst)?;
        let reading = none.map(|none| self.nodes.mask(Code::MaskNot, &[none]));
        let to = inst.operands.first().ok_or(Skip)?;
        let from = inst.operands.get(1).ok_or(Skip)?;
        let (target, targets) = self.rows_at(SHARED, to, None)?;
        let (source, mut sources) = self.rows_at(GLOBAL, from, reading)?;
        if let Some(none) = none {
            // Zeros stand behind the code.
            let zeros = self.nodes.constant([0; 64]);
            let zeros = self.nodes.address(zeros);
            let sub = Code::Alu(Alu::Sub, true);
            let zeros = self.nodes.change(sub, zeros, &[source]);
            let zeros = self.vector(&vector::SPLAT_GPR64, Vector::one(Arg::Reg(zeros)));
            for (j, source) in sources.iter_mut().enumerate() {
                let mask = self.part(none, 8 * j as u8);
                let choice = Vector {
                    mask: Some(mask),
                    ..Vector::two(*source, Arg::Reg(zeros))
                };
                *source = self.vector(&vector::BLEND_I64, choice);
            }
        }
        let apart = self.apart_in_fours(&[(&targets, false), (&sources, true)], 16);
        let at = self.laid(targets.into_iter().chain(sources).collect());
        self.nodes.effect(Code::MaskTest16, &[apart]);
        let code = Code::Copies(Copies::Rows {
            to: at,
            from: at + 128,
        });
        let mut operands = vec![Slot::reg_use(target), Slot::reg_use(source)];
        operands.push(self.nodes.free(RegClass::Int));
        self.nodes.push(code, &operands);
        Ok(())
    }

    /// Eight bytes of each lane, which stand on the stack from `lanes` on, to memory or from there. Behind them there is room
    /// for where they go.
    pub(super) fn pairs(&mut self, apart: Apart, lanes: u32, store: bool) {
        let (host, places) = apart.into_parts();
        let apart = self.apart_in_fours(&[(&places, true)], 8);
        let offsets = lanes + PAIRS / 2;
        for (at, place) in (offsets..).step_by(64).zip(places) {
            self.lay(at, place);
        }
        self.nodes.effect(Code::MaskTest16, &[apart]);
        let code = Code::Copies(Copies::Pairs {
            offsets,
            lanes,
            store,
        });
        let free = [(); 2].map(|()| self.nodes.free(RegClass::Int));
        self.nodes
            .push(code, &[Slot::reg_use(host), free[0], free[1]]);
    }

    /// Lanes whose bytes do not lie behind those of the lane before, of those that are not the first of four: none where
    /// four lanes' are one piece. Places are of 32 bits or of 64; a lane has `each` bytes.
    fn apart_in_fours(&mut self, all: &[(&[VReg], bool)], each: u32) -> VReg {
        let by = |imm: u8, v: VReg| Vector {
            imm,
            ..Vector::two(v, Arg::Reg(v))
        };
        let mut bad: Option<VReg> = None;
        for &(regs, wide) in all {
            let places = match wide {
                true => words(|i| (1 - i % 2) * each * (i / 2 % 4)),
                false => words(|i| each * (i % 4)),
            };
            for reg in regs {
                // What the first of each four has, for all of them.
                let first = if wide {
                    let twos = self.by(&vector::SHUFFLE_I32, *reg, 0b01_00_01_00);
                    self.vector(&vector::SHUFFLE_I64X2, by(0b10_10_00_00, twos))
                } else {
                    self.by(&vector::SHUFFLE_I32, *reg, 0)
                };
                let (add, test) = match wide {
                    true => (&vector::ADD_I64, &vector::CMP_I64),
                    false => (&vector::ADD_I32, &vector::CMP_I32),
                };
                let place = self.nodes.constant(places);
                let want = self.vector(add, Vector::two(first, Arg::Mem(place)));
                let own = self.test(test, 4, want, *reg);
                bad = Some(match bad {
                    None => own,
                    Some(bad) => self.nodes.mask(Code::MaskAlu(MaskAlu::Or), &[bad, own]),
                });
            }
        }
        bad.expect("lanes have targets")
    }

    /// The lanes that read nothing, if there may be any. Where a lane reads a part of a row the run is left.
    fn lanes_without(&mut self, part: CopyExtent, inst: &Inst) -> Result<Option<VReg>, Skip> {
        match part {
            CopyExtent::All => Ok(None),
            CopyExtent::Unless => {
                let (pred, negated) = self.predicate(inst.operands.get(3))?;
                Ok(Some(self.mask(pred, negated)?))
            }
            CopyExtent::Bytes => {
                let bytes = self.read(inst.operands.get(3).ok_or(Skip)?, 32)?;
                if self.constant_of(bytes).is_some_and(|bytes| bytes >= 16) {
                    return Ok(None);
                }
                let bytes = self.lanes_exact(bytes)?;
                let (nothing, whole) = (self.whole(0), self.whole(16));
                let mut compare = |imm: u8, with: VReg| {
                    let parts = [0, 1].map(|j| self.test(&vector::CMP_U32, imm, bytes[j], with));
                    self.nodes.mask(Code::MaskJoin, &[parts[1], parts[0]])
                };
                let none = compare(0, nothing);
                let all = compare(5, whole);
                let known = self.nodes.mask(Code::MaskAlu(MaskAlu::Or), &[none, all]);
                let known = self.nodes.scalar(Code::MaskTo, &[known]);
                self.nodes.effect(Code::CompareImm(false, -1), &[known]);
                self.exit_if(Cond::NotEqual);
                Ok(Some(none))
            }
        }
    }
}
