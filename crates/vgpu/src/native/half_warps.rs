//! Code for accesses of blocks whose rows are halves of warps: each half goes to neighbouring words, or to one.
//!
//! Shared tiles of 16 x 16 are read so. As with whole warps this is a guess that the code checks before it rests on it.

use super::{
    accesses::Access,
    kinds::Kind,
    more::{More, source},
    nodes::{Arg, Code, MemoryAt, Vector},
    reach::Span,
    shapes::{self, Edge, Group, Lanes},
    values::{Coder, Skip, ValueId},
};
use crate::lower::Lowerer;
use regalloc2::{RegClass, VReg};
use warpsmith_ptx::ir::{Address, Base, Inst, Operand};
use warpsmith_x86::{Alu, Cond, Len, Shift, vector};

/// An access of words by halves of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Half {
    access: Access,
    store: bool,
    /// Bytes from lane to lane: 4, or 0.
    step: i64,
}

/// What the lanes of each half are guessed to hold; nothing for blocks of other rows.
pub(super) fn guess(l: &Lowerer<'_>, insts: &[&Inst], edge: Edge) -> Vec<Lanes> {
    if l.block()[0] != 16 {
        return Vec::new();
    }
    shapes::guess(l, insts, Group::Half, edge)
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
        let operand = source(inst, usize::from(!store))?;
        let (value, offset, wide) = self.address(operand)?;
        let known = self.affine(value).is_some() || self.is_uniform(value);
        if let Some(active) = self.active.filter(|_| !known && step == 4) {
            return self.half_warps_in_part(half, inst, active);
        }
        if self.active.is_some() || known {
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
        let lanes = if step == 0 { 1 } else { 16 };
        let own = Span {
            from: offset,
            to: offset + i64::from(4 * lanes),
            align: 4,
        };
        let key = (value, access.shared, step);
        let found = self.halves_reached.get(&key);
        let found = found.and_then(|all| all.iter().find(|(span, _)| span.has(own)).copied());
        let (span, at) = match found {
            Some(found) => found,
            None => {
                let span = self.span(access, operand, lanes, own);
                let firsts = self.firsts(value, step, wide)?;
                let at = firsts.map(|first| self.reach(access, first, wide, span));
                self.halves_reached.entry(key).or_default().push((span, at));
                (span, at)
            }
        };
        let places = at.map(|at| MemoryAt::At(at, (offset - span.from) as i32));
        if let Some(lanes) = stored {
            for (place, lanes) in places.into_iter().zip(lanes) {
                let v = Vector::one(Arg::Mem(place));
                self.nodes.store_vector(&vector::STORE_I32, lanes, v);
            }
            return Ok(());
        }
        let op = if step == 0 {
            &vector::SPLAT_I32
        } else {
            &vector::LOAD
        };
        let regs = places.map(|place| self.vector(op, Vector::one(Arg::Mem(place))));
        let value = self.of_lanes(regs, false);
        self.put(source(inst, 0)?, value)
    }

    /// An access of those lanes alone that are here: of each half, the first of them says where lane 0 would go.
    fn half_warps_in_part(&mut self, half: Half, inst: &Inst, here: VReg) -> Result<(), Skip> {
        let Half {
            access,
            store,
            step,
        } = half;
        let (value, offset, wide) = self.address(source(inst, usize::from(!store))?)?;
        let stored = match store {
            true => {
                let value = self.read(source(inst, 1)?, 32)?;
                Some(self.lanes_exact(value)?)
            }
            false => None,
        };
        let (host, offsets) = self.apart(access, value, offset, wide)?.into_parts();
        let all = self.nodes.scalar(Code::MaskTo, &[here]);
        let mut places = Vec::with_capacity(2);
        for (i, offsets) in (0..).zip(offsets.chunks(offsets.len() / 2)) {
            let own = match i {
                0 => all,
                _ => {
                    let code = Code::Shift(Shift::Right, false, 16);
                    self.nodes.change(code, all, &[])
                }
            };
            // Where no lane of the half is here, nothing comes of what is found.
            let lane = self.nodes.scalar(Code::TrailingZeros, &[own]);
            let found = self.lane_of(offsets, lane, wide);
            let from = self.lane_zero(found, lane, step)?;
            let offsets = offsets.iter().map(|offsets| Arg::Reg(*offsets));
            self.grows(offsets.collect(), from, (step, wide), (here, 16 * i));
            let code = Code::Alu(Alu::Add, true);
            places.push(self.nodes.change(code, from, &[host]));
        }
        let mut loaded = Vec::with_capacity(2);
        for (i, at) in (0..).zip(places) {
            let v = Vector {
                mask: Some(self.part(here, 16 * i)),
                ..Vector::one(Arg::Mem(MemoryAt::At(at, 0)))
            };
            match stored {
                Some(lanes) => {
                    let lanes = lanes[usize::from(i)];
                    self.nodes.store_vector(&vector::STORE_I32, lanes, v);
                }
                None => loaded.push(self.vector(&vector::LOAD_I32, Vector { zero: true, ..v })),
            }
        }
        match loaded[..] {
            [low, high] => {
                let value = self.of_lanes([low, high], false);
                self.put(source(inst, 0)?, value)
            }
            _ => Ok(()),
        }
    }

    /// The first lanes of both halves; leaves the run where a half does not grow by `step`.
    fn firsts(&mut self, value: ValueId, step: i64, wide: bool) -> Result<[VReg; 2], Skip> {
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
        Ok([firsts[0], firsts[1]])
    }
}
