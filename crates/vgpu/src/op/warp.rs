//! A warp between its turns: where its lanes are, and what for.

use super::{Slot, SpanId, Trace};
use crate::order::Order;

/// What an access that may be part of a spin costs.
pub(crate) const SPIN_COST: i32 = 32;

/// Why a warp's turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// All lanes have exited.
    Done,
    /// It could go on.
    Fuel,
    /// All its lanes are parked, or wait for parked ones.
    Blocked,
}

/// The number by which lanes at the barrier of the cluster are known: behind those of the CTA.
pub(crate) const CLUSTER: u32 = 16;

/// Lanes at a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parked {
    pub(crate) barrier: u32,
    pub(crate) lanes: u32,
    /// The block after the barrier.
    pub(crate) resume: u32,
    /// Where `bar.red` puts its result, how, and whether the barrier has counted it.
    pub(crate) reduce: Reduce,
    /// Threads it expects; `None` is the whole CTA.
    pub(crate) count: Option<u32>,
    /// Lanes whose predicate was true.
    pub(crate) votes: u32,
    /// `bar.arrive`: counted, never waits.
    pub(crate) arrive_only: bool,
    /// All lanes of a warp must come together.
    pub(crate) aligned: bool,
    pub(crate) span: SpanId,
}

/// What `bar.red` computes, and the slot of its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduce {
    None,
    Popc(Slot),
    And(Slot),
    Or(Slot),
}

/// A warp between its turns.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    pub(crate) index: u32,
    /// Lanes that exist and have not exited.
    pub(crate) live: u32,
    /// Lanes that exist.
    pub(crate) all: u32,
    /// Those that go straight from block to block: all live ones where they go in step, none elsewhere.
    pub(crate) whole: u32,
    /// Lanes of the running block.
    pub(crate) active: u32,
    pub(crate) pending: Vec<u64>,
    pub(crate) held: Vec<u64>,
    pub(crate) gated: Vec<u64>,
    pub(crate) wait: Vec<u32>,
    pub(crate) gate: Vec<u32>,
    pub(crate) cursor: u32,
    pub(crate) rotate: bool,
    /// Whether a register may be undefined, where that is checked.
    pub(crate) tainted: bool,
    /// Whether a value may be one that a shuffle did not bring, where that is checked.
    pub(crate) lost: bool,
    /// What is undefined of what `cp.async` has read for each lane.
    pub(crate) copied: Option<Box<[u32; 32]>>,
    /// Whether it has begun.
    pub(crate) entered: bool,
    /// The barrier that all its lanes have come to at once, and go on from if all other warps come to it in the same round
    /// of turns: none is counted then.
    pub(crate) came: Option<Parked>,
    /// Lanes at barriers.
    pub(crate) parked: Vec<Parked>,
    /// Entries of `parked` and arrivals that the barriers have not counted.
    pub(crate) arrivals: Vec<Parked>,
    /// Lanes that have come to the barrier of the cluster in its phase, and those that have not waited since they came.
    pub(crate) met: u32,
    pub(crate) owes: u32,
    /// The calls that each lane is in.
    pub(crate) calls: Vec<Stack>,
    /// What it does, while that is watched.
    pub(crate) trace: Option<Box<Trace>>,
}

impl Warp {
    /// Where [`Warp::whole`] is, for compiled code.
    #[cfg(target_arch = "x86_64")]
    pub(crate) const WHOLE_AT: usize = std::mem::offset_of!(Warp, whole);

    /// Puts `live` lanes at the first block.
    pub(crate) fn start(&mut self, index: u32, live: u32, blocks: usize) {
        self.index = index;
        self.live = live;
        self.all = live;
        self.trace = None;
        self.tainted = false;
        self.lost = false;
        self.entered = false;
        self.copied = None;
        self.active = 0;
        if self.wait.len() != blocks {
            for bits in [&mut self.pending, &mut self.held, &mut self.gated] {
                bits.resize(blocks.div_ceil(64), 0);
            }
            for lanes in [&mut self.wait, &mut self.gate] {
                lanes.resize(blocks, 0);
            }
        }
        for bits in [&mut self.pending, &mut self.held, &mut self.gated] {
            bits.fill(0);
        }
        for lanes in [&mut self.wait, &mut self.gate] {
            lanes.fill(0);
        }
        self.cursor = 0;
        self.rotate = false;
        self.came = None;
        self.met = 0;
        self.owes = 0;
        self.parked.clear();
        self.arrivals.clear();
        self.calls.clear();
        self.held[0] = 1;
        self.wait[0] = live;
    }

    /// Makes lanes wait for their turn at `block`.
    pub(crate) fn hold(&mut self, block: u32, lanes: u32, convergent: bool) {
        let set = if convergent {
            &mut self.held
        } else {
            &mut self.pending
        };
        set[block as usize / 64] |= 1 << (block % 64);
        self.wait[block as usize] |= lanes;
    }

    pub(crate) fn take(&mut self, block: u32) -> u32 {
        self.pending[block as usize / 64] &= !(1 << (block % 64));
        self.held[block as usize / 64] &= !(1 << (block % 64));
        std::mem::take(&mut self.wait[block as usize])
    }
}

/// Saved words and call sites of one lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stack {
    pub(crate) words: Vec<u64>,
    /// The chain of call sites, as one number.
    pub(crate) context: u64,
}

/// What decides the order of a warp's lanes in a turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneOrder {
    order: Order,
    /// Whether lanes that are together part. Half of the warps of an order keep them together, since parting takes time.
    pub(crate) parts: bool,
}

impl LaneOrder {
    /// For a warp of a CTA, and a turn of it.
    pub(crate) fn new(seed: u64, cta: u64, warp: u64, turn: u64) -> LaneOrder {
        let mut own = Order::new(seed, cta.wrapping_mul(0x1_0001) + warp);
        let parts = own.below(2) == 0;
        LaneOrder {
            order: Order::new(own.next(), turn),
            parts,
        }
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.order.below(end)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.order.next()
    }
}
