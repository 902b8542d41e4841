//! Registers that a move only renames: both have one slot, so that the move leaves memory as it is.
//!
//! Two registers may share a slot if none is written while the other is still read: by the instruction that writes, or
//! behind it. What was joined is asked about as one (Chaitin et al. 1981). And where lanes part, those that are here may
//! have the one while those that wait have the other, so registers that are there in such a block stay alone.

use super::{Need, slots::Flow};
use crate::analysis::{Block, roles, uniform::insts};
use warpsmith_ptx::{
    ir::{Inst, Operand, RegId, Stmt},
    op::Op,
};

/// The most registers that are compared with each other: as many bits squared are needed.
const MOST: usize = 1 << 13;

/// For each register the one that stands for it, by moves that may be left out.
pub(super) fn joined(
    needs: &[Need],
    flow: Flow<'_>,
    [live_in, live_out]: [&[Vec<u64>]; 2],
    index: &[Option<usize>],
) -> Vec<u32> {
    let Flow {
        body,
        blocks,
        convergent,
    } = flow;
    let mut own: Vec<u32> = (0..needs.len() as u32).collect();
    let moves: Vec<[RegId; 2]> = blocks
        .iter()
        .flat_map(|block| insts(block, body))
        .filter_map(|(_, inst)| renames(inst))
        .filter(|[to, from]| {
            let need = needs[to.index()];
            need != Need::Nothing && need == needs[from.index()]
        })
        .collect();
    let count = index.iter().flatten().count();
    if moves.is_empty() || count > MOST {
        return own;
    }
    let mut groups = Groups::new(count);
    for (at, block) in blocks.iter().enumerate() {
        groups.look_at(block, body, &live_out[at], index);
        if !convergent[at] {
            let mut there = live_in[at].clone();
            for (word, more) in there.iter_mut().zip(&live_out[at]) {
                *word |= more;
            }
            let mut touch = |reg: RegId| set(&mut there, index[reg.index()]);
            block.term.each_def(&mut touch);
            block.term.each_use(&mut touch);
            for (_, inst) in insts(block, body) {
                roles::each_def(inst, &mut touch);
                roles::each_use(inst, &mut touch);
            }
            groups.keep_alone(&there);
        }
    }
    for [to, from] in moves {
        let (Some(to), Some(from)) = (index[to.index()], index[from.index()]) else {
            continue;
        };
        groups.join(to, from);
    }
    let mut regs = vec![0; count];
    for (reg, at) in index.iter().enumerate() {
        if let Some(at) = at {
            regs[*at] = reg as u32;
        }
    }
    for (reg, at) in index.iter().enumerate() {
        if let Some(at) = at {
            own[reg] = regs[groups.root(*at)];
        }
    }
    own
}

/// The registers of a move that does nothing else, and is done by all lanes that come to it.
fn renames(inst: &Inst) -> Option<[RegId; 2]> {
    match (inst.op, &inst.operands[..]) {
        (Op::Mov, [Operand::Reg(to), Operand::Reg(from)]) if inst.guard.is_none() => {
            Some([*to, *from])
        }
        _ => None,
    }
}

fn set(bits: &mut [u64], at: Option<usize>) {
    if let Some(at) = at {
        bits[at / 64] |= 1 << (at % 64);
    }
}

/// Registers that share a slot, as sets of bits.
struct Groups {
    words: usize,
    /// By register: whom it stands with, up to the one that stands for all.
    parents: Vec<usize>,
    /// Of who stands for a group: its registers, and those that it may not share with.
    members: Vec<Vec<u64>>,
    apart: Vec<Vec<u64>>,
    /// Registers that are joined with none.
    alone: Vec<u64>,
}

impl Groups {
    fn new(count: usize) -> Groups {
        let words = count.div_ceil(64);
        let members = (0..count).map(|at| {
            let mut own = vec![0; words];
            set(&mut own, Some(at));
            own
        });
        Groups {
            words,
            parents: (0..count).collect(),
            members: members.collect(),
            apart: vec![vec![0; words]; count],
            alone: vec![0; words],
        }
    }

    fn root(&self, mut at: usize) -> usize {
        while self.parents[at] != at {
            at = self.parents[at];
        }
        at
    }

    /// Notes who is written while others are wanted, from the end of a block to its beginning.
    fn look_at(&mut self, block: &Block, body: &[Stmt], live_out: &[u64], index: &[Option<usize>]) {
        let mut live = live_out.to_vec();
        let mut defs = Vec::new();
        block
            .term
            .each_def(&mut |reg| defs.extend(index[reg.index()]));
        block
            .term
            .each_use(&mut |reg| set(&mut live, index[reg.index()]));
        self.write(&defs, &live);
        for (_, inst) in insts(block, body).rev() {
            defs.clear();
            roles::each_def(inst, &mut |reg| defs.extend(index[reg.index()]));
            let mut uses = Vec::new();
            roles::each_use(inst, &mut |reg| uses.extend(index[reg.index()]));
            let mut wanted = live.clone();
            if renames(inst).is_none() {
                for at in uses.iter().chain(&defs) {
                    set(&mut wanted, Some(*at));
                }
            }
            self.write(&defs, &wanted);
            if inst.guard.is_none() {
                for at in &defs {
                    live[at / 64] &= !(1 << (at % 64));
                }
            }
            for at in &uses {
                set(&mut live, Some(*at));
            }
        }
    }

    fn keep_alone(&mut self, there: &[u64]) {
        for (own, more) in self.alone.iter_mut().zip(there) {
            *own |= more;
        }
    }

    fn write(&mut self, defs: &[usize], wanted: &[u64]) {
        for def in defs {
            for (own, more) in self.apart[*def].iter_mut().zip(wanted) {
                *own |= more;
            }
        }
    }

    /// Joins two groups, if they may share a slot.
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        let meet = |x: &[u64], y: &[u64]| x.iter().zip(y).any(|(x, y)| x & y != 0);
        if a == b
            || meet(&self.alone, &self.members[a])
            || meet(&self.alone, &self.members[b])
            || meet(&self.apart[a], &self.members[b])
            || meet(&self.apart[b], &self.members[a])
        {
            return;
        }
        self.parents[b] = a;
        for word in 0..self.words {
            self.members[a][word] |= self.members[b][word];
            self.apart[a][word] |= self.apart[b][word];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::slots::{Flow, Need, allocate};
    use crate::analysis::blocks;
    use warpsmith_ptx::{parse::parse, types::Type};

    /// Whether registers of a kernel, by their numbers, have one slot.
    fn share(body: &str, divergent: bool, [a, b]: [u32; 2]) -> bool {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n.reg .b32 %r<8>;\n\
             .reg .pred %p<4>;\n{body}\nret;\n}}\n"
        );
        let module = parse(&text).unwrap_or_else(|errors| panic!("{}", errors[0]));
        let function = &module.functions[0];
        let body = function.body.as_deref().expect("a body");
        let blocks = blocks(function, body, false).expect("blocks");
        let needs: Vec<Need> = function
            .regs
            .iter()
            .map(|reg| match reg.ty {
                Type::Pred => Need::Nothing,
                _ => Need::Narrow,
            })
            .collect();
        let convergent = vec![!divergent; blocks.len()];
        let flow = Flow {
            body,
            blocks: &blocks,
            convergent: &convergent,
        };
        let (slots, _) = allocate(&needs, flow, 0);
        let slot = |number: u32| {
            let found = function
                .regs
                .iter()
                .position(|reg| reg.ty != Type::Pred && reg.number == Some(number))
                .unwrap_or_else(|| panic!("%r{number} is a register"));
            slots[found]
        };
        slot(a) == slot(b)
    }

    /// What goes round a loop, and through another that may have no turn.
    const LOOPS: &str = "
        mov.u32 %r0, %tid.x;
        mov.u32 %r5, 0;
    outer:
        mov.b32 %r1, %r0;
        setp.ge.u32 %p0, %r5, 5;
        @%p0 bra behind;
        add.u32 %r2, %r1, 1;
        mov.b32 %r1, %r2;
    behind:
        mul.lo.u32 %r3, %r1, 3;
        mov.b32 %r0, %r3;
        add.u32 %r5, %r5, 1;
        setp.lt.u32 %p1, %r5, 9;
        @%p1 bra outer;
        st.global.u32 [0], %r0;";

    #[test]
    fn what_loops_hand_on_stays_where_it_is() {
        assert!(share(LOOPS, false, [0, 1]));
        // It is read by the instruction that writes the other.
        assert!(!share(LOOPS, false, [1, 2]));
        assert!(!share(LOOPS, false, [1, 3]));
    }

    #[test]
    fn where_lanes_part_each_has_its_own() {
        assert!(!share(LOOPS, true, [0, 1]));
    }

    #[test]
    fn a_copy_that_is_read_beside_its_source_has_its_own() {
        let both = "
        mov.u32 %r0, %tid.x;
        mov.b32 %r1, %r0;
        add.u32 %r1, %r1, 1;
        add.u32 %r2, %r0, %r1;
        st.global.u32 [0], %r2;";
        assert!(!share(both, false, [0, 1]));
        let renamed = "
        mov.u32 %r0, %tid.x;
        mov.b32 %r1, %r0;
        add.u32 %r2, %r1, 1;
        st.global.u32 [0], %r2;";
        assert!(share(renamed, false, [0, 1]));
    }

    #[test]
    fn a_guarded_copy_has_its_own() {
        let guarded = "
        mov.u32 %r0, %tid.x;
        mov.u32 %r1, 7;
        setp.lt.u32 %p0, %r0, 5;
        @%p0 mov.b32 %r1, %r0;
        st.global.u32 [0], %r1;";
        assert!(!share(guarded, false, [0, 1]));
    }
}
