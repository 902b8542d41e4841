//! Registers that matter: whose values decide where threads go, and what they access and store, as long as they stay
//! within some blocks. A counter that nothing else reads is not among them.

use crate::analysis::{Code, End};

/// Registers that matter at the start of blocks.
pub(super) struct Live {
    /// By block: a bit for each register.
    at: Vec<Vec<u64>>,
    /// Whether a clock has a say in where threads go, or in what they access and store.
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
    match timed(code, &blocks, words) {
        None => live.timed = true,
        // They differ from time to time, and nothing comes of that.
        Some(of_clocks) => {
            for at in &mut live.at {
                for (word, clocks) in at.iter_mut().zip(&of_clocks) {
                    *word &= !clocks;
                }
            }
        }
    }
    live
}

/// Registers that clocks have a say in, within these blocks; nothing if a clock also has a say in where threads go
/// from there, or in what they access or store. A clock may choose between ways that meet again.
fn timed(code: &Code, blocks: &[u32], words: usize) -> Option<Vec<u64>> {
    let mut of_clocks = vec![0; words];
    let mut met = vec![false; code.parts.len()];
    let mut changed = true;
    while changed {
        let before = of_clocks.clone();
        changed = false;
        for block in blocks {
            for step in code.steps(*block) {
                let (defs, uses) = code.regs(step);
                let from = uses.iter().any(|reg| has(&of_clocks, *reg));
                if from && step.root {
                    return None;
                }
                if from || step.timed {
                    defs.iter().for_each(|reg| set(&mut of_clocks, *reg));
                }
            }
            let (_, uses) = code.end_regs(*block);
            if !met[*block as usize] && uses.iter().any(|reg| has(&of_clocks, *reg)) {
                met[*block as usize] = true;
                changed = true;
                for way in ways(code, blocks, *block)? {
                    for step in code.steps(way) {
                        let (defs, _) = code.regs(step);
                        defs.iter().for_each(|reg| set(&mut of_clocks, *reg));
                    }
                }
            }
        }
        changed |= of_clocks != before;
    }
    Some(of_clocks)
}

/// The blocks between the end of a block and the one of `blocks` where all ways from it meet, if they do nothing
/// but choose values for registers: the fewest such.
fn ways(code: &Code, blocks: &[u32], from: u32) -> Option<Vec<u32>> {
    if code.parts[from as usize].end != End::Plain {
        return None;
    }
    let between = |end: u32| between(code, code.targets(from), end);
    let all = blocks.iter().filter_map(|end| between(*end));
    all.min_by_key(Vec::len)
}

/// The blocks on all ways from some to one at which they end, if they do end there and do nothing but choose values.
fn between(code: &Code, starts: &[u32], end: u32) -> Option<Vec<u32>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; code.parts.len()];
    let mut found = Vec::new();
    let mut work: Vec<(u32, bool)> = starts.iter().map(|start| (*start, false)).collect();
    while let Some((block, left)) = work.pop() {
        let mark = &mut marks[block as usize];
        if left {
            *mark = Mark::Done;
            continue;
        }
        if block == end || *mark == Mark::Done {
            continue;
        }
        // Round and round: it may never get there.
        if *mark == Mark::Open {
            return None;
        }
        *mark = Mark::Open;
        let acts = code.steps(block).iter().any(|step| step.root);
        let targets = code.targets(block);
        if acts || code.parts[block as usize].end != End::Plain || targets.is_empty() {
            return None;
        }
        found.push(block);
        work.push((block, true));
        work.extend(targets.iter().map(|target| (*target, false)));
    }
    Some(found)
}
