//! Lanes of a warp in an order that a seed decides: until something orders them, any of them may be ahead.

use super::super::{Ctx, MicroOp};

/// Of how many turns of a warp that parts its lanes one does so at once, and of how many ways to a block that they take
/// together.
const TURNS: u64 = 2;
const WAYS: u64 = 8;

/// The most places at which lanes of a warp are, for them to be parted further.
const PLACES: u32 = 3;

impl Ctx {
    /// Any pending block, for all of its lanes or some; `None` if no block is pending.
    #[inline(never)]
    pub(super) fn pick_apart(&mut self) -> Option<*const MicroOp> {
        let order = self.lanes.as_mut()?;
        let warp = &mut self.warp;
        let count: u32 = warp.pending.iter().map(|word| word.count_ones()).sum();
        let mut nth = order.below(u64::from(count)) as u32;
        let mut found = None;
        for (at, word) in warp.pending.iter().enumerate() {
            let own = word.count_ones();
            if nth < own {
                let mut rest = *word;
                for _ in 0..nth {
                    rest &= rest - 1;
                }
                found = Some(at as u32 * 64 + rest.trailing_zeros());
                break;
            }
            nth -= own;
        }
        let block = found?;
        let mut lanes = warp.take(block);
        if order.parts && count < PLACES && order.below(TURNS) == 0 {
            let ahead = lanes & some(order.next());
            if ahead != 0 && ahead != lanes {
                warp.hold(block, lanes & !ahead, false);
                lanes = ahead;
            }
        }
        warp.cursor = block;
        self.activate(lanes);
        Some(self.block(block))
    }

    /// The active lanes go to `block`, with those that wait there.
    #[inline(never)]
    pub(super) fn goto_apart(&mut self, block: u32) -> *const MicroOp {
        let mut lanes = self.warp.active;
        if self.warp.wait[block as usize] != 0 {
            lanes |= self.warp.take(block);
        }
        if let Some(order) = &mut self.lanes
            && order.parts
            && lanes == self.warp.live
            && order.below(WAYS) == 0
        {
            let ahead = lanes & some(order.next());
            if ahead != 0 && ahead != lanes {
                self.warp.hold(block, lanes & !ahead, false);
                lanes = ahead;
            }
        }
        self.warp.cursor = block;
        self.activate(lanes);
        self.block(block)
    }
}

/// Some lanes: a half, every other one, one alone, or any.
fn some(word: u64) -> u32 {
    let lanes = match word & 7 {
        0 | 1 => 0xFFFF << (word >> 8 & 16),
        2 => 0x5555_5555 << (word >> 8 & 1),
        3 => 1 << (word >> 8 & 31),
        4 => 0xFF << (word >> 8 & 31),
        _ => (word >> 16) as u32,
    };
    if word & 8 == 0 { lanes } else { !lanes }
}
