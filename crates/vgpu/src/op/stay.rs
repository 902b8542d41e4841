//! Where the lanes of a warp are between its turns.

use super::{Stack, Warp};

/// Why lanes are where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// They can go on.
    Runs,
    /// They wait for all others of the warp.
    Held,
    /// They wait for some lanes of the warp.
    Gated,
    /// They wait at this barrier.
    Barrier(u32),
}

/// Lanes of a warp that are at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stay {
    /// The block with which they go on.
    pub(crate) block: u32,
    pub(crate) lanes: u32,
    pub(crate) how: How,
}

/// The calls that lanes are in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Calls(Vec<Stack>);

impl Warp {
    /// Where its lanes are.
    pub(crate) fn stays(&self) -> Vec<Stay> {
        let mut all = Vec::new();
        for block in 0..self.wait.len() as u32 {
            let (waits, gated) = (self.wait[block as usize], self.gate[block as usize]);
            if waits != 0 {
                let convergent = self.held[block as usize / 64] >> (block % 64) & 1 != 0;
                let held = convergent && waits != self.live;
                all.push(Stay {
                    block,
                    lanes: waits,
                    how: if held { How::Held } else { How::Runs },
                });
            }
            if gated != 0 {
                all.push(Stay {
                    block,
                    lanes: gated,
                    how: How::Gated,
                });
            }
        }
        all.extend(self.came.iter().map(|came| Stay {
            block: came.resume,
            lanes: self.live,
            how: How::Runs,
        }));
        all.extend(self.parked.iter().map(|parked| Stay {
            block: parked.resume,
            lanes: parked.lanes,
            how: How::Barrier(parked.barrier),
        }));
        all
    }

    /// The calls that its lanes are in.
    pub(crate) fn calls(&self) -> Calls {
        Calls(self.calls.clone())
    }
}
