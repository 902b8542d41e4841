//! Code for accesses of blocks whose rows are halves of warps: each half goes to neighbouring words, or to one.
//!
//! Shared tiles of 16 x 16 are read so. As with whole warps this is a guess that the code checks before it rests on it.

use super::{
    accesses::Access,
    kinds::Kind,
    more::{More, source},
    nodes::{Arg, Code, Place, Vector},
    shapes::{self, Group, Lanes},
    values::{Coder, Skip, ValueId},
};
use crate::{lower::Lowerer, memory::Window};
use regalloc2::{RegClass, VReg};
use warpsmith_ptx::ir::{Address, Base, Inst, Operand};
use warpsmith_x86::{Alu, Cond, Len, vector};

/// An access of words by halves of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Half {
    access: Access,
    store: bool,
    /// Bytes from lane to lane: 4, or 0.
    step: i64,
}

/// What the lanes of each half are guessed to hold; nothing for blocks of other rows.
pub(super) fn guess(l: &Lowerer<'_>, insts: &[&Inst]) -> Vec<Lanes> {
    if l.block()[0] != 16 {
        return Vec::new();
    }
    shapes::guess(l, insts, Group::Half)
}

/// How an access is compiled, where halves of warps are in order and whole ones are not.
pub(super) fn kind(kind: Kind, inst: &Inst, shapes: &[Lanes], halves: &[Lanes]) -> Kind {
    let (access, store) = match kind {
        Kind::Load(access) => (access, false),
        Kind::Store(access) => (access, true),
        _ => return kind,
    };
    let Some(Operand::Addr(Address {
        base: Base::Reg(reg),
        ..
    })) = inst.operands.get(usize::from(!store))
    else {
        return kind;
    };
    let words = (access.bytes, access.count) == (4, 1);
    match (shapes[reg.index()], halves.get(reg.index())) {
        (Lanes::Varying, Some(Lanes::Affine(step @ (0 | 4))))
            if words && inst.guard.is_none() && (*step == 4 || !store) =>
        {
            let step = *step;
            Kind::More(More::Half(Half {
                access,
                store,
                step,
            }))
        }
        _ => kind,
    }
}

impl Coder<'_, '_> {
    pub(super) fn half_warps(&mut self, half: Half, inst: &Inst) -> Result<(), Skip> {
        let Half {
            access,
            store,
            step,
        } = half;
        let (value, offset, wide) = self.address(source(inst, usize::from(!store))?)?;
        if self.active.is_some() || self.affine(value).is_some() || self.is_uniform(value) {
            return match store {
                true => self.store(access, inst),
                false => self.load(access, inst),
            };
        }
        let stored = match store {
            true => {
                let value = self.read(source(inst, 1)?, 32)?;
                Some(self.lanes_exact(value)?)
            }
            false => None,
        };
        let firsts = self.firsts(value, step, wide)?;
        let len = if step == 0 { 4 } else { 64 };
        let mut at = Vec::with_capacity(2);
        for first in firsts {
            at.push(self.half_at(access, first, offset, wide, len));
        }
        if let Some(lanes) = stored {
            for (at, lanes) in at.iter().zip(lanes) {
                let v = Vector::one(Arg::Mem(Place::At(*at, 0)));
                self.nodes.store_vector(&vector::STORE_I32, lanes, v);
            }
            return Ok(());
        }
        let op = if step == 0 {
            &vector::SPLAT_I32
        } else {
            &vector::LOAD
        };
        let regs =
            [at[0], at[1]].map(|at| self.vector(op, Vector::one(Arg::Mem(Place::At(at, 0)))));
        let value = self.of_lanes(regs, false);
        self.put(source(inst, 0)?, value)
    }

    /// The first lanes of both halves; leaves the run where a half does not grow by `step`.
    fn firsts(&mut self, value: ValueId, step: i64, wide: bool) -> Result<[VReg; 2], Skip> {
        if let Some(firsts) = self.half_warps.get(&value) {
            return Ok(*firsts);
        }
        let regs = if wide {
            self.quads(value)?.to_vec()
        } else {
            self.lanes_exact(value)?.to_vec()
        };
        let op = if wide {
            &vector::FIRST_I64
        } else {
            &vector::FIRST_I32
        };
        let each = regs.len() / 2;
        let mut off: Option<VReg> = None;
        let mut firsts = Vec::with_capacity(2);
        for half in regs.chunks(each) {
            let first = self
                .nodes
                .reversed(op, RegClass::Int, Len::L128, 0, half[0]);
            firsts.push(first);
            for (j, found) in half.iter().enumerate() {
                let want = self.affine_part(first, step, wide, j);
                off = Some(match off {
                    None => self.plain(&vector::XOR, want, *found),
                    Some(off) => {
                        let v = Vector {
                            tied: Some(off),
                            imm: 0xF6,
                            ..Vector::two(want, Arg::Reg(*found))
                        };
                        self.vector(&vector::TERNARY, v)
                    }
                });
            }
        }
        let off = off.ok_or(Skip)?;
        let apart = self.test(&vector::TEST_I32, 0, off, off);
        self.nodes.effect(Code::MaskTest16, &[apart]);
        self.exit_if(Cond::NotEqual);
        let firsts = [firsts[0], firsts[1]];
        self.half_warps.insert(value, firsts);
        Ok(firsts)
    }

    /// Checks what a half accesses, from its first lane on; the host's pointer.
    fn half_at(&mut self, access: Access, first: VReg, offset: i64, wide: bool, len: u32) -> VReg {
        let address = if wide {
            self.add_imm(first, offset)
        } else {
            // Of 32 bits, it wraps around there.
            let code = Code::AluImm(Alu::Add, false, offset as i32);
            self.nodes.change(code, first, &[])
        };
        self.nodes.effect(Code::TestImm(3), &[address]);
        self.exit_if(Cond::NotEqual);
        let from = if access.shared {
            address
        } else {
            let base = self.field(access, Window::BASE_AT);
            let code = Code::Alu(Alu::Sub, true);
            self.nodes.change(code, address, &[base])
        };
        let limit = self.limit(access, len);
        self.nodes.effect(Code::Compare(true), &[from, limit]);
        self.exit_if(Cond::Above);
        let host = self.field(access, Window::HOST_AT);
        self.nodes.change(Code::Alu(Alu::Add, true), from, &[host])
    }
}
