//! Frame slots of varying registers: liveness, then linear scan, so that frames stay in the first cache.
//!
//! Writes are masked per lane, so the liveness of one thread is enough even where lanes run apart.

use super::copies;
use crate::{
    analysis::{Block, roles, uniform::insts},
    op::Slot,
};
use std::collections::BTreeSet;
use warpsmith_ptx::ir::{RegId, Stmt};

/// What the allocator must know of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// No slot here.
    Nothing,
    /// 128 bytes.
    Narrow,
    /// 256 bytes.
    Wide,
}

/// A kernel's blocks, and which of them all lanes come to together.
#[derive(Clone, Copy)]
pub(crate) struct Flow<'a> {
    pub(crate) body: &'a [Stmt],
    pub(crate) blocks: &'a [Block],
    pub(crate) convergent: &'a [bool],
}

/// The slot of each register and the end of the area, starting at `start`.
pub(crate) fn allocate(needs: &[Need], flow: Flow<'_>, start: u32) -> (Vec<Slot>, u32) {
    let (mut ranges, joined) = ranges(needs, flow);
    ranges.sort_unstable();
    let mut slots = vec![Slot::SCRATCH; needs.len()];
    let mut end = start;
    let mut active: BTreeSet<(u32, u32)> = BTreeSet::new();
    let mut free: [Vec<Slot>; 2] = [Vec::new(), Vec::new()];
    let class = |reg: u32| usize::from(needs[reg as usize] == Need::Wide);
    for (from, to, reg) in ranges {
        while let Some(&(until, old)) = active.first()
            && until < from
        {
            active.pop_first();
            free[class(old)].push(slots[old as usize]);
        }
        slots[reg as usize] = free[class(reg)].pop().unwrap_or_else(|| {
            let slot = Slot(end);
            end += 128 << class(reg);
            slot
        });
        active.insert((to, reg));
    }
    for (reg, own) in joined.iter().enumerate() {
        slots[reg] = slots[*own as usize];
    }
    (slots, end)
}

/// A first and a last position, and the register that needs a slot from one to the other.
type Range = (u32, u32, u32);

/// First and last position of each register that stands for those of a slot, and who stands for each register.
fn ranges(needs: &[Need], flow: Flow<'_>) -> (Vec<Range>, Vec<u32>) {
    let Flow { body, blocks, .. } = flow;
    let index: Vec<Option<usize>> = {
        let mut next = 0;
        needs
            .iter()
            .map(|need| {
                (*need != Need::Nothing).then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect()
    };
    let count = index.iter().flatten().count();
    let words = count.div_ceil(64);
    let at = |reg: RegId| index[reg.index()];
    let mut reads = vec![vec![0u64; words]; blocks.len()];
    let mut kills = vec![vec![0u64; words]; blocks.len()];
    for (b, block) in blocks.iter().enumerate() {
        let (reads, kills) = (&mut reads[b], &mut kills[b]);
        block.term.each_use(&mut |reg| set(reads, at(reg)));
        for (_, inst) in insts(block, body).rev() {
            if inst.guard.is_none() {
                roles::each_def(inst, &mut |reg| {
                    set(kills, at(reg));
                    clear(reads, at(reg));
                });
            }
            roles::each_use(inst, &mut |reg| set(reads, at(reg)));
        }
    }
    let mut live_in = reads.clone();
    let mut live_out = vec![vec![0u64; words]; blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for b in (0..blocks.len()).rev() {
            for to in blocks[b].term.targets() {
                for w in 0..words {
                    let new = live_out[b][w] | live_in[to as usize][w];
                    live_out[b][w] = new;
                    let need = reads[b][w] | (new & !kills[b][w]);
                    if live_in[b][w] | need != live_in[b][w] {
                        live_in[b][w] |= need;
                        changed = true;
                    }
                }
            }
        }
    }
    let joined = copies::joined(needs, flow, [&live_in, &live_out], &index);
    let at = |reg: RegId| index[joined[reg.index()] as usize];
    let stands: Vec<usize> = index
        .iter()
        .enumerate()
        .filter(|(_, own)| own.is_some())
        .filter_map(|(reg, _)| index[joined[reg] as usize])
        .collect();
    let mut first = vec![u32::MAX; count];
    let mut last = vec![0u32; count];
    let mut touch = |i: Option<usize>, position: u32| {
        if let Some(i) = i {
            first[i] = first[i].min(position);
            last[i] = last[i].max(position);
        }
    };
    let mut position = 0;
    for (b, block) in blocks.iter().enumerate() {
        each_bit(&live_in[b], |i| touch(Some(stands[i]), position));
        for (_, inst) in insts(block, body) {
            position += 1;
            roles::each_use(inst, &mut |reg| touch(at(reg), position));
            roles::each_def(inst, &mut |reg| touch(at(reg), position));
        }
        position += 1;
        block.term.each_use(&mut |reg| touch(at(reg), position));
        block.term.each_def(&mut |reg| touch(at(reg), position));
        each_bit(&live_out[b], |i| touch(Some(stands[i]), position));
    }
    let ranges = index
        .iter()
        .enumerate()
        .filter_map(|(reg, i)| i.map(|i| (first[i], last[i], reg as u32)))
        .filter(|(from, _, _)| *from != u32::MAX)
        .collect();
    (ranges, joined)
}

fn set(bits: &mut [u64], i: Option<usize>) {
    if let Some(i) = i {
        bits[i / 64] |= 1 << (i % 64);
    }
}

fn clear(bits: &mut [u64], i: Option<usize>) {
    if let Some(i) = i {
        bits[i / 64] &= !(1 << (i % 64));
    }
}

fn each_bit(bits: &[u64], mut f: impl FnMut(usize)) {
    for (w, word) in bits.iter().enumerate() {
        let mut left = *word;
        while left != 0 {
            f(w * 64 + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}
