//! Code for accesses of lanes that are no neighbours, and whose elements are no words: of 1 or 2 bytes the words that they are
//! parts of are gathered.

use super::{
    accesses::{Access, items},
    kinds::Kind,
    more::{More, source},
    nodes::{Arg, Code, Vector},
    values::{Coder, Skip, ValueId},
};
use regalloc2::{RegClass, VReg};
use warpsmith_ptx::ir::Inst;
use warpsmith_x86::{Cond, vector};

/// A load of less than a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NarrowLoad(Access);

/// How an access of lanes that are no neighbours is compiled, where that is not by whole elements.
pub(super) fn kind(kind: Kind) -> Option<Kind> {
    match kind {
        Kind::Load(access) if access.bytes < 4 && access.count == 1 => {
            Some(Kind::More(More::Narrow(NarrowLoad(access))))
        }
        Kind::Load(access) if (access.bytes, access.count) == (8, 2) => {
            let store = false;
            Some(Kind::More(More::Pair(Pair { access, store })))
        }
        Kind::Store(access) if (access.bytes, access.count) == (8, 2) => {
            let store = true;
            Some(Kind::More(More::Pair(Pair { access, store })))
        }
        _ => None,
    }
}

/// Two elements of 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    access: Access,
    store: bool,
}

impl Coder<'_, '_> {
    pub(super) fn gather_parts(&mut self, part: NarrowLoad, inst: &Inst) -> Result<ValueId, Skip> {
        let NarrowLoad(access) = part;
        let (value, offset, wide) = self.address(source(inst, 1)?)?;
        if !wide && !access.shared {
            return Err(Skip);
        }
        let number = self.constant(
            if wide {
                offset as u64
            } else {
                u64::from(offset as u32)
            },
            wide,
        );
        let add = super::kinds::Int2::Add;
        let address = self.int2(add, wide, false, value, number)?;
        let regs = if wide {
            self.quads(address)?.to_vec()
        } else {
            self.lanes_exact(address)?.to_vec()
        };
        if access.bytes == 2 {
            self.leave_where_odd(wide, &regs);
        }
        let (words, below) = self.around(wide, &regs)?;
        let words = match words[..] {
            [a, b, c, d] => self.of_quads([a, b, c, d]),
            [a, b] => self.of_lanes([a, b], false),
            _ => return Err(Skip),
        };
        let whole = Access { bytes: 4, ..access };
        let apart = self.apart(whole, words, 0, wide)?;
        let found = self.gather(whole, &apart, 0);
        let found = self.lanes(found)?;
        let by = 32 - 8 * access.bytes as u8;
        let regs = [0, 1].map(|j| {
            let shift = self.by(&vector::SHL_I32, below[j], 3);
            let part = self.plain(&vector::SHRV_U32, found[j], shift);
            if access.signed {
                let up = self.by(&vector::SHL_I32, part, by);
                self.by(&vector::SHR_I32, up, by)
            } else {
                self.with_constant(&vector::AND, part, (1 << (8 * access.bytes)) - 1)
            }
        });
        Ok(self.of_lanes(regs, false))
    }

    pub(super) fn pair(&mut self, pair: Pair, inst: &Inst) -> Result<(), Skip> {
        let Pair { access, store } = pair;
        let items = items(source(inst, usize::from(store))?);
        let mut values = Vec::new();
        if store {
            for item in items {
                values.push(self.read(item, 64)?);
            }
        }
        let (value, offset, wide) = self.address(source(inst, usize::from(!store))?)?;
        let apart = self.apart(access, value, offset, wide)?;
        for (k, item) in (0..).zip(items) {
            if store {
                self.scatter(access, &apart, k, values[k as usize])?;
            } else {
                let value = self.gather(access, &apart, k);
                self.put(item, value)?;
            }
        }
        Ok(())
    }

    /// The addresses of words, and how many bytes of those are below the lanes' own.
    fn around(&mut self, wide: bool, regs: &[VReg]) -> Result<(Vec<VReg>, [VReg; 2]), Skip> {
        if !wide {
            let [a, b] = regs else { return Err(Skip) };
            let below = [*a, *b].map(|a| self.with_constant(&vector::AND, a, 3));
            let words = [*a, *b].map(|a| self.with_constant(&vector::AND, a, 0xFFFF_FFFC));
            return Ok((words.to_vec(), below));
        }
        let mut words = Vec::with_capacity(4);
        let mut halves = Vec::with_capacity(4);
        for reg in regs {
            words.push(self.with_wide(&vector::AND_I64, *reg, !3));
            let below = self.with_wide(&vector::AND_I64, *reg, 3);
            halves.push(self.narrow_quad(below));
        }
        Ok((words, self.joined(&halves)?))
    }

    /// Leaves the run where the address of a lane that counts is odd.
    fn leave_where_odd(&mut self, wide: bool, regs: &[VReg]) {
        let (op, width) = if wide {
            (&vector::TEST_I64, 8)
        } else {
            (&vector::TEST_I32, 16)
        };
        let one = if wide {
            self.whole_wide(1)
        } else {
            self.whole(1)
        };
        let now = self.lanes_of_now();
        for (j, reg) in regs.iter().enumerate() {
            let mask = now.map(|now| self.part(now, width * j as u8));
            let v = Vector {
                mask,
                ..Vector::two(*reg, Arg::Reg(one))
            };
            let odd = self.nodes.vector(op, RegClass::Vector, v);
            self.nodes.effect(Code::MaskTest16, &[odd]);
            self.exit_if(Cond::NotEqual);
        }
    }
}
