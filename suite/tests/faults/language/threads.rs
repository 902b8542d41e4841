//! Kernels of our language with faults in how threads go together, each followed by its clean twin.
//!
//! The types refuse most of these: what they cannot see is the raw layer, slots kept from a filling, and who owns what.

use super::{Bodies, Given, InKernel, bodies};
use warpsmith_kernel::{
    Cta, Scope, Slots, Val,
    raw::{define, emit},
    uni,
};
use warpsmith_ptx::{
    ir::{Address, Base, Imm, Operand},
    op::Op,
    qual::Qual,
    types::Type,
};

type Word<'k> = Val<'k, u32, uni::Lane>;

/// This thread's index in the launch.
fn index<'k>(cta: &Cta<'k>) -> Word<'k> {
    cta.id() * cta.threads() + cta.thread()
}

fn number(value: i64) -> Operand {
    Operand::Imm(Imm::Int(value))
}

/// `bar.sync id, count`.
#[track_caller]
fn wait(id: i64, count: Operand) {
    emit(Op::Bar, &[Qual::Sync], [number(id), count]);
}

/// `bar.sync 0`.
#[track_caller]
fn wait_for_all() {
    emit(Op::Bar, &[Qual::Sync], [number(0)]);
}

/// `barrier.sync 0`, which lanes may come to one by one.
fn wait_apart() {
    emit(Op::Barrier, &[Qual::Sync], [number(0)]);
}

fn fence() {
    emit(Op::Fence, &[Qual::AcqRel, Qual::Gpu], []);
}

fn copies_done() {
    emit(Op::Cp, &[Qual::Async, Qual::WaitAll], []);
}

/// `cp.async` of 16 bytes into a tile, whose barrier does not wait for it: the language has that in stages alone.
#[track_caller]
fn copy_ahead<'k>(to: Slots<'_, 'k, u32>, from: Val<'k, u64, uni::Lane>) {
    let quals = [Qual::Async, Qual::Cg, Qual::Shared, Qual::Global];
    let places = [to.shared_address().operand(), from.operand()].map(|place| {
        let Operand::Reg(register) = place else {
            panic!("an address is computed")
        };
        Operand::Addr(Address {
            base: Base::Reg(register),
            offset: 0,
        })
    });
    let [to, from] = places;
    emit(Op::Cp, &quals, [to, from, number(16)]);
}

/// A mask of the first `n` lanes.
fn first<'k>(n: Val<'k, u32, uni::Cta>) -> Val<'k, u32, uni::Cta> {
    let one = Val::<u32, uni::Cta>::constant(1);
    let quals = [Qual::T(Type::B32)];
    let bit: Val<u32, uni::Cta> = define(Op::Shl, &quals, [one.operand(), n.operand()]);
    bit - 1
}

/// All warps fill the part of a tile that one of them may have.
fn one_part<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(32);
    let i = cta.thread();
    cta.each_warp(|warp| {
        let (lane, id) = (warp.lane(), warp.id());
        let view = tile.fill_warp(warp, |_, slots| {
            slots.set(lane, lane + id); // fault: race_shared
        });
        g.b.set(i, view.at(Word::constant(31) - lane)); // fault: race_shared
    });
}
fn one_part_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(32 * cta.warps());
    let i = cta.thread();
    cta.each_warp(|warp| {
        let (lane, id) = (warp.lane(), warp.id());
        let view = tile.fill_warp(warp, |_, slots| {
            slots.set(id * 32 + lane, lane + id);
        });
        g.b.set(i, view.at(id * 32 + 31 - lane));
    });
}

/// Slots that are kept from the filling, and stored through while others read.
fn kept_slots<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(64);
    let mut kept = None;
    let view = tile.fill(cta, |cta, slots| {
        slots.set(cta.thread(), cta.thread());
        kept = Some(slots);
    });
    let (i, kept) = (cta.thread(), kept.expect("filled"));
    g.b.set(i, view.at(Word::constant(63) - i)); // fault: race_shared
    kept.set(i, i + g.n); // fault: race_shared
}
fn kept_slots_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(64);
    let mut kept = None;
    let view = tile.fill(cta, |cta, slots| {
        slots.set(cta.thread(), cta.thread());
        kept = Some(slots);
    });
    let (i, kept) = (cta.thread(), kept.expect("filled"));
    g.b.set(i, view.at(Word::constant(63) - i));
    cta.barrier();
    kept.set(i, i + g.n);
}

/// Two lanes store to one slot.
fn two_lanes<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(32);
    let view = tile.fill(cta, |cta, slots| {
        let i = cta.thread();
        slots.set(i / 2, i); // fault: race_shared
    });
    let i = cta.thread();
    g.b.set(i, view.at(i / 2));
}
fn two_lanes_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(32);
    let view = tile.fill(cta, |cta, slots| {
        let i = cta.thread();
        cta.if_((i % 2).equals(0), |_| slots.set(i / 2, i));
    });
    let i = cta.thread();
    g.b.set(i, view.at(i / 2));
}

/// Slots in a ring of n.
fn ring<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(64);
    let view = tile.fill(cta, |cta, slots| {
        let i = cta.thread();
        slots.set(i % g.n.varying(), i); // fault: race_shared
    });
    let i = cta.thread();
    g.b.set(i, view.at(i % g.n.varying()));
}
fn ring_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(64);
    let view = tile.fill(cta, |cta, slots| {
        let i = cta.thread();
        cta.if_(i.lt(g.n), |_| slots.set(i % g.n.varying(), i));
    });
    let i = cta.thread();
    g.b.set(i, view.at(i % g.n.varying()));
}

/// A total that each CTA stores.
fn total<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let id = cta.id();
    cta.leader(|_| {
        g.b.set(0u32, id); // fault: race_global
    });
}
fn total_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let id = cta.id();
    cta.leader(|_| {
        g.b.set(id, id);
    });
}

/// Each element takes its right neighbour's value, in place.
fn in_place<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = index(cta);
    let x = g.a.at((i + 1).min(g.n - 1)); // other: race_global
    cta.barrier();
    cta.if_(i.lt(g.n), |_| {
        g.a.set(i, x + 1000); // fault: race_global
    });
}
fn in_place_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = index(cta);
    let x = g.a.at((i + 1).min(g.n - 1));
    cta.barrier();
    cta.if_(i.lt(g.n), |_| {
        g.b.set(i, x + 1000);
    });
}

/// The last CTA adds up what each has stored.
fn last_cta<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let (id, tiles) = (cta.id(), cta.tiles());
    cta.leader(|lane| {
        g.b.set(id, id * 3); // fault: race_global
        let before = g.a.atomic(100u32).inc(7);
        lane.if_(before.equals(tiles - 1), |_| {
            let sum = g.b.at(0u32) + g.b.at(1u32); // fault: race_global
            g.a.set(101u32, sum);
        });
    });
}
fn last_cta_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let (id, tiles) = (cta.id(), cta.tiles());
    cta.leader(|_| g.b.set(id, id * 3));
    let last = cta.arrive_last(g.a.from(100u32), tiles);
    cta.if_all(last, |cta| {
        cta.leader(|_| {
            let sum = g.b.at(0u32) + g.b.at(1u32);
            g.a.set(101u32, sum);
        });
    });
}

/// Shares that overlap where n is no multiple of the CTAs.
fn overlap<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let (id, tiles) = (cta.id(), cta.tiles());
    let start = id * (g.n / tiles);
    cta.each(g.n.div_ceil_by(tiles).varying(), |_, i| {
        g.b.set(start + i, i + id * 100); // fault: race_global
    });
}
fn overlap_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let (id, tiles) = (cta.id(), cta.tiles());
    let start = id * g.n.div_ceil_by(tiles);
    cta.each(g.n.div_ceil_by(tiles).varying(), |_, i| {
        g.b.set(start + i, i + id * 100);
    });
}

/// An array read as one that nobody writes, and written.
fn read_only<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = index(cta);
    let x = g.fixed.at(i); // other: race_global
    g.a.set(i, x + g.n); // fault: race_global
}
fn read_only_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = index(cta);
    let x = g.fixed.at(i);
    g.b.set(i, x + g.n);
}

/// Everybody says that all is done.
fn done<'k>(_cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    g.b.set(0u32, 1u32); // fault: benign_race
}
fn done_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let id = cta.id();
    cta.leader(|_| g.b.set(id, 1u32));
}

/// A barrier for those that have work.
fn working<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    cta.if_(i.lt(g.n), |_| {
        wait_for_all(); // fault: barrier_divergence
    });
    g.b.set(i, i);
}
fn working_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    cta.either(i.lt(g.n), |_| wait_apart(), |_| wait_apart());
    g.b.set(i, i);
}

/// A barrier in a loop of each thread's own length.
fn rounds<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    cta.each(g.n.varying(), |_, _| {
        wait_for_all(); // fault: barrier_divergence
    });
    g.b.set(cta.thread(), g.n.varying());
}
fn rounds_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let threads = cta.threads();
    cta.for_(warpsmith_kernel::upto(g.n.div_ceil(threads)), |_, _| {
        wait_for_all();
    });
    g.b.set(cta.thread(), g.n.varying());
}

/// A barrier for n threads.
fn odd<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    wait(1, g.n.operand()); // fault: barrier_count
    g.b.set(cta.thread(), g.n.varying());
}
fn odd_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    wait(1, (g.n.div_ceil(32) * 32).operand());
    g.b.set(cta.thread(), g.n.varying());
}

/// A barrier for more than come.
fn too_many<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    cta.each_warp(|warp| {
        let second = warp.id().ge(1);
        warp.if_all(second, |_| {
            wait(1, number(64)); // fault: barrier_count
        });
    });
    g.b.set(i, i + g.n);
}
fn too_many_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    cta.each_warp(|warp| {
        let second = warp.id().ge(1);
        warp.if_all(second, |_| {
            wait(1, number(32));
        });
    });
    g.b.set(i, i + g.n);
}

/// Two warps, two barriers, in two orders.
fn crossed<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    cta.each_warp(|warp| {
        let id = warp.id();
        warp.if_all(id.equals(0), |_| {
            wait(1, number(64)); // fault: deadlock
            wait(2, number(64));
        });
        warp.if_all(id.equals(1), |_| {
            wait(2, number(64)); // fault: deadlock
            wait(1, number(64));
        });
    });
    g.b.set(i, i);
}
fn crossed_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    cta.each_warp(|warp| {
        let id = warp.id();
        warp.if_all(id.equals(0), |_| {
            wait(1, number(64));
            wait(2, number(64));
        });
        warp.if_all(id.equals(1), |_| {
            wait(1, number(64));
            wait(2, number(64));
        });
    });
    g.b.set(i, i);
}

/// The value of lane 31 for the first n.
fn far_lane<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let (i, members) = (cta.thread(), first(g.n));
    cta.if_(i.lt(g.n), |_| {
        let quals = [Qual::Sync, Qual::Idx, Qual::T(Type::B32)];
        let sources = [i.operand(), number(31), number(31), members.operand()];
        let x: Word = define(Op::Shfl, &quals, sources); // other: shfl_inactive
        g.b.set(i, x); // fault: shfl_inactive
    });
}
fn far_lane_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let (i, members) = (cta.thread(), first(g.n));
    cta.if_(i.lt(g.n), |_| {
        let quals = [Qual::Sync, Qual::Idx, Qual::T(Type::B32)];
        let last = (g.n - 1).operand();
        let sources = [i.operand(), last, number(31), members.operand()];
        let x: Word = define(Op::Shfl, &quals, sources);
        g.b.set(i, x);
    });
}

/// A vote of the first n lanes, to which all come.
fn vote<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let (i, members) = (cta.thread(), first(g.n));
    let quals = [Qual::Sync, Qual::Ballot, Qual::T(Type::B32)];
    let sources = [(i % 3).equals(0).operand(), members.operand()];
    let x: Word = define(Op::Vote, &quals, sources); // fault: mask
    g.b.set(i, x);
}
fn vote_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let (i, members) = (cta.thread(), first(g.n));
    cta.if_(i.lt(g.n), |_| {
        let quals = [Qual::Sync, Qual::Ballot, Qual::T(Type::B32)];
        let sources = [(i % 3).equals(0).operand(), members.operand()];
        let x: Word = define(Op::Vote, &quals, sources);
        g.b.set(i, x);
    });
}

/// A barrier of half a warp, to which the whole comes.
fn half<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    emit(Op::Bar, &[Qual::Warp, Qual::Sync], [number(0xffff)]); // fault: mask
    g.b.set(i, i);
}
fn half_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let i = cta.thread();
    cta.if_(i.lt(16), |_| {
        emit(Op::Bar, &[Qual::Warp, Qual::Sync], [number(0xffff)]);
    });
    g.b.set(i, i);
}

/// A tile by asynchronous copies that nobody waits for.
fn no_wait<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(128);
    let view = tile.fill(cta, |cta, slots| {
        let i = cta.thread() * 4;
        copy_ahead(slots.from(i), g.a.from(i).address()); // other: async_early
    });
    let i = cta.thread();
    g.b.set(i, view.at(i * 4)); // fault: async_early
}
fn no_wait_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(128);
    let view = tile.fill(cta, |cta, slots| {
        let i = cta.thread() * 4;
        copy_ahead(slots.from(i), g.a.from(i).address());
        copies_done();
    });
    let i = cta.thread();
    g.b.set(i, view.at(i * 4));
}

/// What does not fill the tile is copied behind the wait.
fn rest<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(256);
    let rest = g.n % 32;
    let view = tile.fill(cta, |cta, slots| {
        let i = cta.thread() * 4;
        copy_ahead(slots.from(i), g.a.from(i).address());
        copies_done();
        cta.if_(cta.thread().lt(rest), |_| {
            copy_ahead(slots.from(i + 128), g.a.from(i + 128).address()); // other: async_early
        });
    });
    let i = cta.thread();
    cta.if_(i.lt(rest), |_| {
        g.b.set(i, view.at(i * 4 + 128)); // fault: async_early
    });
}
fn rest_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let mut tile = cta.tile::<u32>(256);
    let rest = g.n % 32;
    let view = tile.fill(cta, |cta, slots| {
        let i = cta.thread() * 4;
        copy_ahead(slots.from(i), g.a.from(i).address());
        cta.if_(cta.thread().lt(rest), |_| {
            copy_ahead(slots.from(i + 128), g.a.from(i + 128).address());
        });
        copies_done();
    });
    let i = cta.thread();
    cta.if_(i.lt(rest), |_| {
        g.b.set(i, view.at(i * 4 + 128));
    });
}

/// A message by a fence and a counter, without the reader's fence.
fn half_fenced<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let (id, tiles) = (cta.id(), cta.tiles());
    cta.leader(|lane| {
        g.b.set(id, id); // other: race_global
        fence();
        let before = g.a.atomic(100u32).inc(7);
        lane.if_(before.equals(tiles - 1), |_| {
            g.a.set(101u32, g.b.at(0u32)); // fault: race_global
        });
    });
}
fn half_fenced_clean<'k>(cta: &mut Cta<'k>, g: Given<InKernel<'k>>) {
    let (id, tiles) = (cta.id(), cta.tiles());
    cta.leader(|lane| {
        g.b.set(id, id);
        fence();
        let before = g.a.atomic(100u32).inc(7);
        lane.if_(before.equals(tiles - 1), |_| {
            fence();
            g.a.set(101u32, g.b.at(0u32));
        });
    });
}

pub(super) const BODIES: Bodies = bodies! {
    one_part one_part_clean kept_slots kept_slots_clean two_lanes two_lanes_clean ring ring_clean total total_clean
    in_place in_place_clean last_cta last_cta_clean overlap overlap_clean read_only read_only_clean done done_clean
    working working_clean rounds rounds_clean odd odd_clean too_many too_many_clean crossed crossed_clean far_lane
    far_lane_clean vote vote_clean half half_clean no_wait no_wait_clean rest rest_clean half_fenced
    half_fenced_clean
};
