//! Kernels of our language with faults in what they access, each followed by its clean twin.

use super::{Bodies, Given, InKernel, bodies};
use warpsmith_kernel::{Cta, Scope, Val, uni};

type Word<'k> = Val<'k, u32, uni::Lane>;

/// This thread's index in the launch.
fn index<'k>(cta: &Cta<'k>) -> Word<'k> {
    cta.id() * cta.threads() + cta.thread()
}

/// Every thread stores, however many elements there are.
fn tail<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = index(cta);
    g.b.set(i, i); // fault: oob_global
}
fn tail_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = index(cta);
    cta.if_(i.lt(g.n), |_| g.b.set(i, i));
}

/// Four elements at once, also where fewer are left.
fn quads<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = index(cta);
    cta.if_((i * 4).lt(g.n), |_| {
        g.b.set_vector(i * 4, [i, i, i, i]); // fault: oob_global
    });
}
fn quads_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = index(cta);
    cta.if_((i * 4 + 3).lt(g.n), |_| {
        g.b.set_vector(i * 4, [i, i, i, i]);
    });
}

/// A row for each CTA, read in whole warps.
fn rows<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let row = g.a.from(cta.id() * g.n);
    let lane = cta.thread();
    let sum = cta.fold_lanes(
        warpsmith_kernel::upto(g.n.div_ceil(32).varying()),
        Word::constant(0),
        |_, chunk, sum: Word<'k>| {
            let x = row.at(chunk * 32 + lane); // fault: oob_global
            sum + x
        },
    );
    g.b.set(index(cta), sum);
}
fn rows_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let row = g.a.from(cta.id() * g.n);
    let lane = cta.thread();
    let sum = cta.fold_lanes(
        warpsmith_kernel::upto(g.n.div_ceil(32).varying()),
        Word::constant(0),
        |cta, chunk, sum: Word<'k>| {
            let at = chunk * 32 + lane;
            cta.either(at.lt(g.n), |_| sum + row.at(at), |_| sum)
        },
    );
    g.b.set(index(cta), sum);
}

/// One element more than there are.
fn one_more<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    cta.each((g.n + 1).varying(), |_, i| {
        g.b.set(i, i); // fault: oob_global
    });
}
fn one_more_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    cta.each(g.n.varying(), |_, i| {
        g.b.set(i, i);
    });
}

/// A share for each CTA, rounded up.
fn shares<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let share = g.n.div_ceil_by(cta.tiles());
    let start = cta.id() * share;
    cta.each(share.varying(), |_, i| {
        g.b.set(start + i, i); // fault: oob_global
    });
}
fn shares_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let share = g.n.div_ceil_by(cta.tiles());
    let start = cta.id() * share;
    cta.each(share.varying().min(g.n - start.min(g.n)), |_, i| {
        g.b.set(start + i, i);
    });
}

/// A ticket behind the last one.
fn ticket<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    cta.leader(|_| {
        let before = g.a.atomic(g.n).inc(7); // fault: oob_global
        g.b.set(0u32, before);
    });
}
fn ticket_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    cta.leader(|_| {
        let before = g.a.atomic(g.n - 1).inc(7);
        g.b.set(0u32, before);
    });
}

/// A tile of 96 elements, stored from n on.
fn late_slots<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(96);
    let view = tile.fill(cta, |cta, slots| {
        let i = cta.thread();
        slots.set(i + g.n, i); // fault: oob_shared
    });
    let i = cta.thread();
    g.b.set(i, view.at(g.n));
}
fn late_slots_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(96);
    let view = tile.fill(cta, |cta, slots| {
        let i = cta.thread();
        cta.if_((i + g.n).lt(96), |_| slots.set(i + g.n, i));
    });
    let i = cta.thread();
    g.b.set(i, view.at(g.n));
}

/// A view read with a stride that is too wide.
fn wide_stride<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(128);
    let view = tile.fill(cta, |cta, slots| {
        cta.each(128, |_, i| slots.set(i, i));
    });
    let i = cta.thread();
    g.b.set(i, view.at(i * g.n)); // fault: oob_shared
}
fn wide_stride_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(128);
    let view = tile.fill(cta, |cta, slots| {
        cta.each(128, |_, i| slots.set(i, i));
    });
    let i = cta.thread();
    g.b.set(i, view.at(i * g.n % 128));
}

/// A slot for each of two warps.
fn warp_slots<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(2);
    let view = tile.fill(cta, |cta, slots| {
        cta.each_warp(|warp| {
            let (id, first) = (warp.id(), warp.lane().equals(0));
            warp.if_(first, |_| {
                slots.set(id, id); // fault: oob_shared
            });
        });
    });
    let i = cta.thread();
    g.b.set(i, view.at(1u32));
}
fn warp_slots_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(cta.warps());
    let view = tile.fill(cta, |cta, slots| {
        cta.each_warp(|warp| {
            let (id, first) = (warp.id(), warp.lane().equals(0));
            warp.if_(first, |_| {
                slots.set(id, id);
            });
        });
    });
    let i = cta.thread();
    g.b.set(i, view.at(1u32));
}

/// Vectors from element n on.
fn shifted<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    let [x, _, _, w] = g.a.from(g.n).vector::<4, _>(i * 4); // fault: misaligned
    g.b.set(i, x + w);
}
fn shifted_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    let a = g.a.from(g.n).varying();
    let [x, _, _, w] = [0, 1, 2, 3].map(|k| a.at(i * 4 + k));
    g.b.set(i, x + w);
}

/// The same memory as wider elements.
fn wider<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    let x = g.a.from(g.n).cast::<u64>().at(i); // fault: misaligned
    g.b.set(i, x.u32());
}
fn wider_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    let a = g.a.from(g.n);
    let x = cta.either(
        a.aligned(8),
        |_| a.cast::<u64>().varying().at(i),
        |_| a.varying().at(i * 2).u64(),
    );
    g.b.set(i, x.u32());
}

/// Pairs of a tile from element n on.
fn tile_pairs<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(128);
    let view = tile.fill(cta, |cta, slots| {
        cta.each(128, |_, i| slots.set(i, i));
    });
    let i = cta.thread();
    let [x, y] = view.words::<2, _>(i * 2 + g.n); // fault: misaligned
    g.b.set(i, x + y);
}
fn tile_pairs_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(128);
    let view = tile.fill(cta, |cta, slots| {
        cta.each(128, |_, i| slots.set(i, i));
    });
    let i = cta.thread();
    let (x, y) = (view.at(i * 2 + g.n), view.at(i * 2 + g.n + 1));
    g.b.set(i, x + y);
}

/// The first pass takes whole fours.
fn passes<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    cta.each((g.n / 4 * 4).varying(), |_, i| g.b.set(i, i));
    cta.barrier();
    cta.each(g.n.varying(), |_, i| {
        let x = g.b.at(g.n - 1 - i); // other: uninit_global
        g.a.set(i, x * 3); // fault: uninit_global
    });
}
fn passes_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    cta.each(g.n.varying(), |_, i| g.b.set(i, i));
    cta.barrier();
    cta.each(g.n.varying(), |_, i| {
        let x = g.b.at(g.n - 1 - i);
        g.a.set(i, x * 3);
    });
}

/// Two launches: the first takes whole warps only.
fn produce<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = index(cta);
    cta.if_(i.lt(g.n / 32 * 32), |_| g.b.set(i, i));
}
fn produce_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = index(cta);
    cta.if_(i.lt(g.n), |_| g.b.set(i, i));
}
fn consume<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = index(cta);
    cta.if_(i.lt(g.n), |_| {
        let x = g.b.at(i); // other: uninit_global
        g.a.set(i, x + 1); // fault: uninit_global
    });
}

/// A branch on what nobody wrote.
fn choice<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    let x = g.b.at(i); // other: uninit_global
    let many = x.gt(3); // fault: uninit_global
    cta.if_(many, |_| g.a.set(i, 1u32));
}
fn choice_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    g.b.set(i, i);
    let x = g.b.at(i);
    let many = x.gt(3);
    cta.if_(many, |_| g.a.set(i, 1u32));
}

/// A counter that starts with what is there.
fn no_zero<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    let before = g.b.atomic(0u32).inc(g.n); // fault: uninit_global
    g.a.set(i, before);
}
fn no_zero_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    cta.leader(|_| g.b.set(0u32, 0u32));
    cta.barrier();
    let before = g.b.atomic(0u32).inc(g.n);
    g.a.set(i, before);
}

/// A tile of which n elements are filled.
fn unfilled<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(64);
    let view = tile.fill(cta, |cta, slots| {
        cta.each(g.n.varying(), |_, i| slots.set(i, i));
    });
    let i = cta.thread();
    let x = view.at(Val::<u32, uni::Lane>::constant(63) - i); // other: uninit_shared
    g.b.set(i, x * 3); // fault: uninit_shared
}
fn unfilled_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(64);
    let view = tile.fill(cta, |cta, slots| {
        let i = cta.thread();
        slots.set(i, i.lt(g.n).select(i, 0));
    });
    let i = cta.thread();
    let x = view.at(Val::<u32, uni::Lane>::constant(63) - i);
    g.b.set(i, x * 3);
}

/// The first warp fills what all read.
fn first_warp<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(64);
    let view = tile.fill(cta, |cta, slots| {
        let i = cta.thread();
        cta.if_(i.lt(32), |_| slots.set(i, i));
    });
    let i = cta.thread();
    let x = view.at(i); // other: uninit_shared
    g.b.set(i, x * g.n); // fault: uninit_shared
}
fn first_warp_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(64);
    let view = tile.fill(cta, |cta, slots| {
        let i = cta.thread();
        cta.if_(i.lt(32), |_| {
            slots.set(i, i);
            slots.set(i + 32, i);
        });
    });
    let i = cta.thread();
    let x = view.at(i);
    g.b.set(i, x * g.n);
}

/// A value that left its branch.
fn escaped<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    let mut kept = None;
    cta.if_(i.lt(g.n), |_| kept = Some(g.a.at(i) + 1));
    let kept = kept.expect("the branch was recorded");
    g.b.set(i, kept * 3); // fault: uninit_register
}
fn escaped_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    let kept = cta.either(i.lt(g.n), |_| g.a.at(i) + 1, |_| Val::constant(0));
    g.b.set(i, kept * 3);
}

/// Whole fours are written.
fn fours<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    // host: unwritten_output
    cta.each((g.n / 4 * 4).varying(), |_, i| g.b.set(i, i));
}
fn fours_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    cta.each(g.n.varying(), |_, i| g.b.set(i, i));
}

/// Whole CTAs are written.
fn whole_tiles<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    // host: unwritten_output
    let i = index(cta);
    let threads = cta.threads();
    let full = cta.id().lt(g.n / threads);
    cta.if_all(full, |_| g.b.set(i, i));
}
fn whole_tiles_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = index(cta);
    let threads = cta.threads();
    let full = cta.id().lt(g.n.div_ceil(threads));
    cta.if_all(full, |cta| cta.if_(i.lt(g.n), |_| g.b.set(i, i)));
}

pub(super) const BODIES: Bodies = bodies! {
    tail tail_clean quads quads_clean rows rows_clean one_more one_more_clean shares shares_clean ticket
    ticket_clean late_slots late_slots_clean wide_stride wide_stride_clean warp_slots warp_slots_clean shifted
    shifted_clean wider wider_clean tile_pairs tile_pairs_clean passes passes_clean produce produce_clean consume
    choice choice_clean no_zero no_zero_clean unfilled unfilled_clean first_warp first_warp_clean escaped
    escaped_clean fours fours_clean whole_tiles whole_tiles_clean
};
