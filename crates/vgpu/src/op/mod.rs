//! Ops as data, the programs they make, and what they work on: the frame of a warp and the state of its lanes.

#[cfg_attr(target_arch = "x86_64", path = "code_x86.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "code_other.rs")]
mod code;
mod ctx;
mod frame;
pub(crate) mod lane;
mod micro;
#[cfg(target_arch = "x86_64")]
mod parted;
mod preset;
mod program;
pub(crate) mod show;
mod stay;
mod tiles;
mod trace;
mod warp;

pub(crate) use crate::ids::{AccessId, BlockId, SpanId};
pub(crate) use code::{Run, pick_flow};
pub(crate) use ctx::Ctx;
pub(crate) use frame::Frame;
pub(crate) use lane::Cell;
pub(crate) use micro::{
    Args, Base, Micro, MicroOp, Offset, Ops, OptPred, OptSlot, Pred, Slot, Words, args,
};
#[cfg(target_arch = "x86_64")]
pub(crate) use parted::{Parted, WAYS};
pub(crate) use preset::{Preset, Value, is_clock, is_per_cta};
pub(crate) use program::{BlockInfo, Compiled, Program};
pub(crate) use show::{Show, choices};
pub(crate) use stay::{Calls, How, Stay};
pub(crate) use tiles::{Spread, TILES_A, TILES_B, TileA, TileB, Tiles};
pub(crate) use trace::{Memory, Note, Noted, Notes, Polled, Reaches, Trace};
pub(crate) use warp::{CLUSTER, LaneOrder, Parked, Reduce, SPIN_COST, Stack, Stop, Warp};

/// Straight code. `run` is `#[inline(always)]`.
pub(crate) trait Handler: 'static {
    /// What an op says apart from its code.
    type Args: Args;
    /// Runs the op for the lanes of `ctx.mask`.
    fn run(ctx: &mut Ctx, op: &Micro<Self::Args>);
}

/// Code that says what comes next.
pub(crate) trait Flow: 'static {
    /// What an op says apart from its code.
    type Args: Args;
    /// The next op, or null.
    fn run(ctx: &mut Ctx, op: &Micro<Self::Args>) -> *const MicroOp;
}
