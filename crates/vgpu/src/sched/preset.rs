//! Values that a warp finds in its frame: special registers and parameters.

use crate::op::{Ctx, Preset, Value};
use warpsmith_ptx::special::Special;

/// Sets a slot that the program reads and does not write, for the warp whose first thread is `first`.
pub(super) fn set(ctx: &mut Ctx, preset: &Preset, first: u32) {
    match preset.value {
        Value::Scalar(special) => {
            let value = special_of(ctx, special, first);
            ctx.set_scalar(preset.slot, value);
        }
        Value::Lanes(special) => {
            let mut lanes = [0u32; 32];
            for (lane, value) in lanes.iter_mut().enumerate() {
                *value = special_of(ctx, special, first + lane as u32) as u32;
            }
            ctx.mask = !0;
            ctx.full = true;
            ctx.put_cells(preset.slot, lanes);
        }
        Value::Param {
            offset,
            bytes,
            signed,
        } => {
            let mut raw = [0u8; 8];
            let (at, len) = (offset as usize, usize::from(bytes));
            if let Some(from) = ctx.view.params.get(at..at + len) {
                raw[..len].copy_from_slice(from);
            }
            let bits = if signed { 8 * u32::from(bytes) } else { 0 };
            ctx.set_scalar(
                preset.slot,
                crate::exec::extend(u64::from_le_bytes(raw), bits),
            );
        }
    }
}

/// A special register of thread `thread` of the CTA.
fn special_of(ctx: &Ctx, special: Special, thread: u32) -> u64 {
    let view = &ctx.view;
    let lane = thread % 32;
    u64::from(match special {
        Special::TidX => ctx.thread(thread)[0],
        Special::TidY => ctx.thread(thread)[1],
        Special::TidZ => ctx.thread(thread)[2],
        Special::NtidX => view.block[0],
        Special::NtidY => view.block[1],
        Special::NtidZ => view.block[2],
        Special::CtaidX => view.cta[0],
        Special::CtaidY => view.cta[1],
        Special::CtaidZ => view.cta[2],
        Special::NctaidX => view.grid[0],
        Special::NctaidY => view.grid[1],
        Special::NctaidZ => view.grid[2],
        Special::ClusteridX => view.cta[0] / view.cluster[0],
        Special::ClusteridY => view.cta[1] / view.cluster[1],
        Special::ClusteridZ => view.cta[2] / view.cluster[2],
        Special::NclusteridX => view.grid[0] / view.cluster[0],
        Special::NclusteridY => view.grid[1] / view.cluster[1],
        Special::NclusteridZ => view.grid[2] / view.cluster[2],
        Special::ClusterCtaidX => view.in_cluster()[0],
        Special::ClusterCtaidY => view.in_cluster()[1],
        Special::ClusterCtaidZ => view.in_cluster()[2],
        Special::ClusterNctaidX => view.cluster[0],
        Special::ClusterNctaidY => view.cluster[1],
        Special::ClusterNctaidZ => view.cluster[2],
        Special::ClusterCtarank => view.rank(),
        Special::ClusterNctarank => view.cluster_size(),
        // A predicate: one bit for each lane.
        Special::IsExplicitCluster if view.clustered => !0,
        Special::ReservedSmemOffsetBegin
        | Special::ReservedSmemOffsetEnd
        | Special::ReservedSmemOffsetCap => 0,
        Special::Laneid => lane,
        Special::Warpid => thread / 32,
        Special::Nwarpid => view.block.iter().product::<u32>().div_ceil(32),
        Special::Smid => {
            let [x, y, z] = view.cta;
            (x + view.grid[0] * (y + view.grid[1] * z)) % view.sms.max(1)
        }
        Special::Nsmid => view.sms,
        Special::Gridid => return view.grid_id,
        Special::LanemaskEq => 1 << lane,
        Special::LanemaskLe => (2u32 << lane).wrapping_sub(1),
        Special::LanemaskLt => (1 << lane) - 1,
        Special::LanemaskGe => !0 << lane,
        Special::LanemaskGt => (!0u32 << lane) & !(1 << lane),
        Special::DynamicSmemSize => view.dynamic_shared,
        // Nothing is reserved here: what would be there is outside.
        Special::TotalSmemSize
        | Special::AggrSmemSize
        | Special::ReservedSmemOffset0
        | Special::ReservedSmemOffset1 => view.shared,
        Special::WarpSz => 32,
        Special::Envreg1 => (view.workspace >> 32) as u32,
        Special::Envreg2 => view.workspace as u32,
        Special::Clock
        | Special::ClockHi
        | Special::Clock64
        | Special::Globaltimer
        | Special::GlobaltimerLo
        | Special::GlobaltimerHi
        | Special::CurrentGraphExec => 0,
        // Counters, and what else a driver may say of the environment.
        _ => 0,
    })
}
