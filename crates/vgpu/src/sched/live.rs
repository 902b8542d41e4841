//! Registers that matter: whose values decide where threads go, and what they access and store, as long as they stay
//! within some blocks. A counter that nothing else reads is not among them.

use crate::lower::{Code, End};

/// Registers that matter at the start of blocks.
pub(super) struct Live {
    /// By block: a bit for each register.
    at: Vec<Vec<u64>>,
    /// Whether one of them is read from a clock.
    pub(super) timed: bool,
}

impl Live {
    /// Those at the start of a block.
    pub(super) fn at(&self, block: u32) -> impl Iterator<Item = usize> {
        let words = self.at.get(block as usize).map_or(&[][..], |words| words);
        words.iter().enumerate().flat_map(|(at, word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 != 0)
                .map(move |bit| at * 64 + bit)
        })
    }
}

fn has(words: &[u64], reg: u32) -> bool {
    words[reg as usize / 64] >> (reg % 64) & 1 != 0
}

fn set(words: &mut [u64], reg: u32) {
    words[reg as usize / 64] |= 1 << (reg % 64);
}

fn clear(words: &mut [u64], reg: u32) {
    words[reg as usize / 64] &= !(1 << (reg % 64));
}

/// What matters to threads that stay within the blocks that were `visited`.
pub(super) fn live(code: &Code, visited: &[bool]) -> Live {
    let regs = code.homes.len();
    let words = regs.div_ceil(64);
    let blocks: Vec<u32> = (0..visited.len() as u32)
        .filter(|block| visited[*block as usize])
        .collect();
    let mut live = Live {
        at: vec![Vec::new(); visited.len()],
        timed: false,
    };
    // What is saved over a call comes back from nowhere.
    if blocks
        .iter()
        .any(|block| code.parts[*block as usize].end == End::Call)
    {
        let mut all = vec![0; words];
        (0..regs as u32).for_each(|reg| set(&mut all, reg));
        live.at.fill(all);
        return live;
    }
    for block in &blocks {
        live.at[*block as usize] = vec![0; words];
    }
    let mut changed = true;
    while changed {
        changed = false;
        for block in blocks.iter().rev() {
            let mut now = vec![0; words];
            for target in code.targets(*block) {
                for (now, word) in now.iter_mut().zip(&live.at[*target as usize]) {
                    *now |= word;
                }
            }
            let (defs, uses) = code.end_regs(*block);
            defs.iter().for_each(|reg| clear(&mut now, *reg));
            uses.iter().for_each(|reg| set(&mut now, *reg));
            for step in code.steps(*block).iter().rev() {
                let (defs, uses) = code.regs(step);
                let wanted = defs.iter().any(|reg| has(&now, *reg));
                live.timed |= wanted && step.timed;
                if wanted && !step.guarded {
                    defs.iter().for_each(|reg| clear(&mut now, *reg));
                }
                if wanted || step.root {
                    uses.iter().for_each(|reg| set(&mut now, *reg));
                }
            }
            if live.at[*block as usize] != now {
                live.at[*block as usize] = now;
                changed = true;
            }
        }
    }
    live
}
