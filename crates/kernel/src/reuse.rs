//! Common subexpressions: what a block has already computed is not computed again.

use crate::flat::{Flat, Kind, alike};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;
use warpsmith_ptx::ir::{RegId, Stmt};

/// What is known of each register.
struct Regs {
    /// The first that computed its value.
    first: Vec<RegId>,
    /// One more than the place of its last definition so far, if it has several.
    redefined: Vec<u32>,
}

/// How often each register is read, and where it is written last.
pub(crate) struct Uses {
    pub(crate) count: Vec<u32>,
    pub(crate) last_write: Vec<u32>,
}

/// Replaces uses of recomputed values by the first computation in the same block, or in the entry block where its
/// sources never change. The recomputations have no uses left and are removed as dead code. Counts what is left.
pub(crate) fn run(body: &[Stmt], flat: &mut Flat) -> Uses {
    let count = flat.registers() as u32;
    let mut regs = Regs {
        first: (0..count).map(RegId).collect(),
        redefined: vec![0; count as usize],
    };
    let mut uses = Uses {
        count: vec![0; count as usize],
        last_write: vec![0; count as usize],
    };
    // The last instruction with each hash. Two that only share a hash cost a chance to reuse, no more.
    let mut known: FxHashMap<u64, u32> = FxHashMap::default();
    known.reserve(body.len() / 2);
    // Where the current block starts, and where the entry block ends.
    let (mut block, mut entry_end) = (0, u32::MAX);
    for at in 0..flat.len() {
        let facts = *flat.facts(at);
        let here = at as u32;
        if facts.kind == Kind::Label {
            block = here + 1;
            entry_end = entry_end.min(here);
            continue;
        }
        for reg in flat.reads_mut(at) {
            *reg = regs.first[reg.index()];
            uses.count[reg.index()] += 1;
        }
        let writes = flat.writes(at);
        let mut single = true;
        for reg in writes {
            single &= flat.definitions[reg.index()] == 1;
            uses.last_write[reg.index()] = here;
        }
        match facts.computes {
            Some(hash) if single => {
                let sources = flat.reads(at);
                let hash = with_registers(hash, sources);
                let earlier = known.get(&hash).copied().filter(|earlier| {
                    let read = flat.reads(*earlier as usize);
                    let unchanged = |reg: &RegId| regs.redefined[reg.index()] <= *earlier;
                    let constant = |reg: &RegId| flat.definitions[reg.index()] <= 1;
                    let kept = *earlier >= block && read.iter().all(unchanged)
                        || *earlier < entry_end && read.iter().all(constant);
                    kept && read == sources && same(body, *earlier as usize, at)
                });
                match earlier {
                    Some(earlier) => {
                        for (from, to) in writes.iter().zip(flat.writes(earlier as usize)) {
                            regs.first[from.index()] = *to;
                        }
                    }
                    None => {
                        known.insert(hash, here);
                    }
                }
            }
            Some(_) | None => {
                for reg in writes {
                    if flat.definitions[reg.index()] > 1 {
                        regs.redefined[reg.index()] = here + 1;
                    }
                }
            }
        }
        if facts.kind == Kind::Branch {
            block = here + 1;
            entry_end = entry_end.min(here + 1);
        }
    }
    uses
}

fn with_registers(hash: u64, sources: &[RegId]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(hash);
    for reg in sources {
        hasher.write_u32(reg.0);
    }
    hasher.finish()
}

fn same(body: &[Stmt], a: usize, b: usize) -> bool {
    matches!((body[a].inst(), body[b].inst()), (Some(a), Some(b)) if alike(a, b))
}
