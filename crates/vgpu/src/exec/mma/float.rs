//! `mma.sync` on f16, bf16 and tf32: runs of products that share widened fragments.

use super::{
    super::{Ctx, Handler, Micro, Slot, Words, args, half::F16, lane::lanes},
    Frags,
    tile::{Engine, Lanes, Numbers, Pairs, Sums, TileB},
};
use crate::{
    build::Lowerer,
    op::{TILES_A, TILES_B},
};
use std::marker::PhantomData;

/// The most products of one sum that are done together.
const CHAIN: usize = 4;
/// Words of a product in the extra table: the tiles of A and B, then the slots of a, b, c and d.
const RECORD: usize = 16;
/// Marks a tile that this product is the first to use.
const FRESH: u32 = 1 << 31;
/// Marks, with the tile of A, a product that goes on with the sum of the one before: nobody else reads that.
const GOES_ON: u32 = 1 << 30;
/// Marks, with the tile of B, the first product of a sum that has the same fragments of A as the next sum.
const TWIN: u32 = 1 << 30;
/// What is left of the words of tiles.
const NUMBER: u32 = TWIN - 1;

/// What the accumulators are.
pub(super) trait Sum: 'static {
    /// Whether D as the next product's C is what it was before it was written.
    const CHAINS: bool;
    /// Reads C, multiplies, and writes D, for `N` sums of which none has the D of one before as its C.
    fn products<E: Engine, const N: usize>(
        ctx: &mut Ctx,
        chains: [Chain; N],
        depth: usize,
        pairs: [Pairs<'_, E::A>; N],
    );
}

/// Accumulators of f32.
pub(super) struct Full;
/// Accumulators of f16, two to a register: widened, summed as f32 and rounded once.
pub(super) struct Half;

impl Sum for Full {
    const CHAINS: bool = true;

    #[inline(always)]
    fn products<E: Engine, const N: usize>(
        ctx: &mut Ctx,
        chains: [Chain; N],
        depth: usize,
        pairs: [Pairs<'_, E::A>; N],
    ) {
        let mut acc: [E::Acc; N] = std::array::from_fn(|n| {
            let [c0, c1, c2, c3] = chains[n].c(ctx);
            E::load([ctx.cells(c0), ctx.cells(c1), ctx.cells(c2), ctx.cells(c3)])
        });
        E::multiply(depth, pairs, &mut acc);
        for n in 0..N {
            let slots = chains[n].d(ctx);
            if let Some(d) = ctx.cells_apart(slots) {
                E::store(&acc[n], d);
                continue;
            }
            let mut d: Sums = [[0; 32]; 4];
            E::store(&acc[n], d.each_mut());
            for (slot, d) in slots.into_iter().zip(d) {
                ctx.put_cells(slot, d);
            }
        }
    }
}

impl Sum for Half {
    const CHAINS: bool = false;

    #[inline(always)]
    fn products<E: Engine, const N: usize>(
        ctx: &mut Ctx,
        chains: [Chain; N],
        depth: usize,
        pairs: [Pairs<'_, E::A>; N],
    ) {
        for (chain, pairs) in chains.into_iter().zip(pairs) {
            let (from, to) = (chain.c(ctx), chain.d(ctx));
            let mut c = [[0; 32]; 4];
            for i in 0..2 {
                let packed = ctx.cells::<u32>(from[i]);
                c[2 * i] = lanes(|l| F16(packed[l] as u16).to_f32().to_bits());
                c[2 * i + 1] = lanes(|l| F16((packed[l] >> 16) as u16).to_f32().to_bits());
            }
            let mut acc = [E::load(c.each_ref())];
            E::multiply(depth, [pairs], &mut acc);
            let mut d: Sums = [[0; 32]; 4];
            E::store(&acc[0], d.each_mut());
            for i in 0..2 {
                let packed: Lanes = lanes(|l| {
                    let low = F16::from_f32(f32::from_bits(d[2 * i][l])).0;
                    let high = F16::from_f32(f32::from_bits(d[2 * i + 1][l])).0;
                    u32::from(low) | u32::from(high) << 16
                });
                ctx.put_cells(to[i], packed);
            }
        }
    }
}

/// The products of one sum.
#[derive(Clone, Copy)]
pub(super) struct Chain {
    /// Where their records begin.
    at: Words,
    len: u32,
    /// Their tiles.
    numbers: Numbers,
    /// Whether the next chain may be multiplied together with this one.
    twin: bool,
}

impl Chain {
    /// The chain whose records begin at `at`, before `end`. Fragments that are used for the first time are widened.
    #[inline(always)]
    fn read<E: Engine, const BLOCKS: usize>(
        ctx: &Ctx,
        [at, end]: [Words; 2],
        tiles_a: &mut [E::A],
        tiles_b: &mut [TileB],
    ) -> Chain {
        let mut chain = Chain {
            at,
            len: 0,
            numbers: Numbers::default(),
            twin: ctx.extra(at, RECORD)[1] & TWIN != 0,
        };
        let mut next = at;
        while next.0 < end.0 && chain.len < CHAIN as u32 {
            let record = ctx.extra(next, RECORD);
            if chain.len > 0 && record[0] & GOES_ON == 0 {
                break;
            }
            let [a, b] = [record[0], record[1]].map(|word| (word & NUMBER) as usize);
            let (a, b) = (a % TILES_A, b % TILES_B);
            if record[0] & FRESH != 0 {
                let regs = [2, 3, 4, 5].map(|i| ctx.cells(Slot(record[i])));
                E::widen_a::<BLOCKS>(regs, &mut tiles_a[a]);
            }
            if record[1] & FRESH != 0 {
                let regs = [6, 7].map(|i| ctx.cells(Slot(record[i])));
                E::widen_b::<BLOCKS>(regs, &mut tiles_b[b]);
            }
            chain.numbers.push(a, b);
            chain.len += 1;
            next = next.behind(RECORD as u32);
        }
        chain
    }

    /// Where the next chain begins.
    fn end(self) -> Words {
        self.at.behind(self.len * RECORD as u32)
    }

    /// The slots of C before the first product.
    #[inline(always)]
    fn c(self, ctx: &Ctx) -> [Slot; 4] {
        let slots = ctx.extra(self.at.behind(8), 4);
        [0, 1, 2, 3].map(|i| Slot(slots[i]))
    }

    /// The slots of D after the last.
    #[inline(always)]
    fn d(self, ctx: &Ctx) -> [Slot; 4] {
        let last = self.len * RECORD as u32 - 4;
        let slots = ctx.extra(self.at.behind(last), 4);
        [0, 1, 2, 3].map(|i| Slot(slots[i]))
    }
}

args! {
    struct Products {
        /// Their records, in order.
        records: Words,
        count: u32,
    }
}

/// Products in order.
struct Run<E, S, const BLOCKS: usize>(PhantomData<(E, S)>);

impl<E: Engine, S: Sum, const BLOCKS: usize> Handler for Run<E, S, BLOCKS> {
    type Args = Products;
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &Micro<Products>) {
        let mut tiles = ctx.tiles.take().unwrap_or_default();
        let (all_a, all_b) = E::tiles(&mut tiles);
        let depth = BLOCKS * E::PER_BLOCK;
        let mut at = op.records;
        let end = at.behind(op.count * RECORD as u32);
        while at.0 < end.0 {
            let one = Chain::read::<E, BLOCKS>(ctx, [at, end], all_a, all_b);
            at = one.end();
            if one.twin && at.0 < end.0 {
                let two = Chain::read::<E, BLOCKS>(ctx, [at, end], all_a, all_b);
                at = two.end();
                let pairs = [one, two].map(|chain| Pairs {
                    a: all_a,
                    b: all_b,
                    numbers: chain.numbers,
                });
                S::products::<E, 2>(ctx, [one, two], depth, pairs);
            } else {
                let pairs = Pairs {
                    a: all_a,
                    b: all_b,
                    numbers: one.numbers,
                };
                S::products::<E, 1>(ctx, [one], depth, [pairs]);
            }
        }
        ctx.tiles = Some(tiles);
    }
}

/// Emits a product, into the run before it where that holds the same kind of products.
pub(super) fn emit<E: Engine, S: Sum, const BLOCKS: usize>(l: &mut Lowerer, frags: &Frags) {
    let last = l.ops.last().and_then(|op| op.of::<Run<E, S, BLOCKS>>());
    let before = last.and_then(|run| {
        let before = l.extra_from(run.records);
        // A later block may not have used the extra table in between.
        (before.len() == run.count as usize * RECORD).then_some(before)
    });
    let join = before.and_then(|before| place(before, frags));
    let (a, b) = join.unwrap_or((FRESH, FRESH));
    let [frags_a, frags_b] = [&frags.a[..], &frags.b[..]].map(words);
    let [c, d] = [&frags.c[..], &frags.d[..]].map(words);
    let goes_on = |records: &[u32]| {
        let records = records.as_chunks::<RECORD>().0;
        let after = records.last().is_some_and(|last| last[12..] == c);
        after && records.len() - last_chain(records) < CHAIN
    };
    let goes_on = S::CHAINS && join.is_some() && frags.owns_c && before.is_some_and(goes_on);
    let mut record = [0; RECORD];
    record[0] = a | if goes_on { GOES_ON } else { 0 };
    record[1] = b;
    record[2..6].copy_from_slice(&frags_a);
    record[6..8].copy_from_slice(&frags_b);
    record[8..12].copy_from_slice(&c);
    record[12..16].copy_from_slice(&d);
    let records = l.extra(&record);
    let last = l.ops.last_mut().filter(|_| join.is_some());
    if let Some(run) = last.and_then(|op| op.of_mut::<Run<E, S, BLOCKS>>()) {
        run.count += 1;
        let from = run.records;
        if S::CHAINS {
            mark_twins(l.extra_from_mut(from).as_chunks_mut::<RECORD>().0);
        }
        return;
    }
    l.emit(l.op::<Run<E, S, BLOCKS>>(Products { records, count: 1 }));
}

/// Slots as records hold them.
fn words(slots: &[Slot]) -> Vec<u32> {
    slots.iter().map(|slot| slot.0).collect()
}

/// Where the last sum of some records begins.
fn last_chain(records: &[[u32; RECORD]]) -> usize {
    let first = records.iter().rposition(|r| r[0] & GOES_ON == 0);
    first.unwrap_or(0)
}

/// Says of the last sum but one whether it can be done together with the last.
fn mark_twins(records: &mut [[u32; RECORD]]) {
    let at = last_chain(records);
    let (before, last) = records.split_at_mut(at);
    let at = last_chain(before);
    let (earlier, before) = before.split_at_mut(at);
    let (Some(first), Some(end)) = (before.first(), before.last()) else {
        return;
    };
    let taken = earlier
        .get(last_chain(earlier))
        .is_some_and(|r| r[1] & TWIN != 0);
    let depends = last[0][8..12].iter().any(|c| end[12..].contains(c));
    let same = before.len() == last.len()
        && before
            .iter()
            .zip(last.iter())
            .all(|(x, y)| (x[0] ^ y[0]) & NUMBER == 0 && y[0] & FRESH == 0);
    let twin = same && !depends && !taken;
    let word = if twin {
        first[1] | TWIN
    } else {
        first[1] & !TWIN
    };
    before[0][1] = word;
}

/// The tiles of a product that joins the products of `records`; `None` if it cannot.
fn place(records: &[u32], frags: &Frags) -> Option<(u32, u32)> {
    let records = records.as_chunks::<RECORD>().0;
    let writes = |slot: &u32| records.iter().any(|r| r[12..16].contains(slot));
    let (a, b) = (words(&frags.a), words(&frags.b));
    if a.iter().chain(&b).any(writes) {
        return None;
    }
    let find_b = || {
        let same = records.iter().find(|r| r[6..8] == b);
        let next = 1 + records.iter().map(|r| r[1] & NUMBER).max()?;
        let fresh = ((next as usize) < TILES_B).then_some(next | FRESH);
        same.map(|r| r[1] & NUMBER).or(fresh)
    };
    Some((find_a(records, &a)?, find_b()?))
}

/// The tile of A of a product behind `records`. The oldest tile makes room, but not while a sum of its product may
/// still be waiting for the rest of its chain.
fn find_a(records: &[[u32; RECORD]], a: &[u32]) -> Option<u32> {
    let is_fresh = |r: &&[u32; RECORD]| r[0] & FRESH != 0;
    let mut lost = 0u32;
    for record in records.iter().rev() {
        let number = record[0] & NUMBER;
        if record[2..6] == *a && lost >> number & 1 == 0 {
            return Some(number);
        }
        lost |= u32::from(is_fresh(&record)) << number;
    }
    let next = (records.iter().filter(is_fresh).count() % TILES_A) as u32;
    let mut recent = records.iter().rev().take(CHAIN - 1);
    let used = recent.any(|r| r[0] & NUMBER == next);
    (!used).then_some(next | FRESH)
}
