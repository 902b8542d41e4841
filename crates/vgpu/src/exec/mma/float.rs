//! `mma.sync` on f16, bf16 and tf32: runs of products that share widened fragments.

use super::{
    super::{Ctx, Handler, MicroOp, half::F16, lane::lanes},
    Frags,
    tile::{Engine, Lanes, Numbers, Pairs, Spread, Sums, TileA, TileB},
};
use crate::lower::Lowerer;
use std::marker::PhantomData;

/// Fragments of A that are kept in one run.
const TILES_A: usize = 8;
/// Different fragments of B in one run.
const TILES_B: usize = 32;
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

/// Widened fragments: kept by the context so that no op has to clear them.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    pub(super) a: Vec<TileA>,
    pub(super) spread: Vec<Spread>,
    pub(super) b: Vec<TileB>,
}

impl Default for Tiles {
    fn default() -> Tiles {
        Tiles {
            a: vec![TileA([[0.0; 16]; 16]); TILES_A],
            spread: vec![Spread([[[0.0; 16]; 4]; 16]); TILES_A],
            b: vec![TileB([[0.0; 8]; 16]); TILES_B],
        }
    }
}

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
    at: u32,
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
        [at, end]: [u32; 2],
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
        while next < end && chain.len < CHAIN as u32 {
            let record = ctx.extra(next, RECORD);
            if chain.len > 0 && record[0] & GOES_ON == 0 {
                break;
            }
            let [a, b] = [record[0], record[1]].map(|word| (word & NUMBER) as usize);
            let (a, b) = (a % TILES_A, b % TILES_B);
            if record[0] & FRESH != 0 {
                let regs = [2, 3, 4, 5].map(|i| ctx.cells(record[i]));
                E::widen_a::<BLOCKS>(regs, &mut tiles_a[a]);
            }
            if record[1] & FRESH != 0 {
                let regs = [6, 7].map(|i| ctx.cells(record[i]));
                E::widen_b::<BLOCKS>(regs, &mut tiles_b[b]);
            }
            chain.numbers.push(a, b);
            chain.len += 1;
            next += RECORD as u32;
        }
        chain
    }

    /// Where the next chain begins.
    fn end(self) -> u32 {
        self.at + self.len * RECORD as u32
    }

    /// The slots of C before the first product.
    #[inline(always)]
    fn c(self, ctx: &Ctx) -> [u32; 4] {
        let slots = ctx.extra(self.at + 8, 4);
        [slots[0], slots[1], slots[2], slots[3]]
    }

    /// The slots of D after the last.
    #[inline(always)]
    fn d(self, ctx: &Ctx) -> [u32; 4] {
        let slots = ctx.extra(self.end() - 4, 4);
        [slots[0], slots[1], slots[2], slots[3]]
    }
}

/// `imm` products in order, with their records at `aux`.
struct Run<E, S, const BLOCKS: usize>(PhantomData<(E, S)>);

impl<E: Engine, S: Sum, const BLOCKS: usize> Handler for Run<E, S, BLOCKS> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let mut tiles = ctx.tiles.take().unwrap_or_default();
        let (all_a, all_b) = E::tiles(&mut tiles);
        let depth = BLOCKS * E::PER_BLOCK;
        let (mut at, end) = (op.aux, op.aux + op.imm as u32 * RECORD as u32);
        while at < end {
            let one = Chain::read::<E, BLOCKS>(ctx, [at, end], all_a, all_b);
            at = one.end();
            if one.twin && at < end {
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
    join::<E, S, BLOCKS>(l, frags, l.op::<Run<E, S, BLOCKS>>());
}

/// [`emit`] with an engine of the widest tier.
pub(super) fn emit_wide<E: Engine, S: Sum, const BLOCKS: usize>(l: &mut Lowerer, frags: &Frags) {
    join::<E, S, BLOCKS>(l, frags, l.op::<Run<E, S, BLOCKS>>());
}

fn join<E: Engine, S: Sum, const BLOCKS: usize>(l: &mut Lowerer, frags: &Frags, op: MicroOp) {
    let mut join = None;
    if let Some(last) = l.ops.last()
        && std::ptr::fn_addr_eq(last.run, op.run)
    {
        let before = l.extra_from(last.aux);
        // A later block may not have used the extra table in between.
        if before.len() == last.imm as usize * RECORD {
            join = place(before, frags);
        }
    }
    let (a, b) = join.unwrap_or((FRESH, FRESH));
    let goes_on = |records: &[u32]| {
        let records = records.as_chunks::<RECORD>().0;
        let after = records.last().is_some_and(|last| last[12..] == frags.c);
        after && records.len() - last_chain(records) < CHAIN
    };
    let goes_on = S::CHAINS
        && join.is_some()
        && frags.owns_c
        && l.ops.last().is_some_and(|op| goes_on(l.extra_from(op.aux)));
    let mut record = [0; RECORD];
    record[0] = a | if goes_on { GOES_ON } else { 0 };
    record[1] = b;
    record[2..6].copy_from_slice(&frags.a);
    record[6..8].copy_from_slice(&frags.b);
    record[8..12].copy_from_slice(&frags.c);
    record[12..16].copy_from_slice(&frags.d);
    let at = l.extra(&record);
    match (join, l.ops.last_mut()) {
        (Some(_), Some(last)) => {
            last.imm += 1;
            let from = last.aux;
            if S::CHAINS {
                mark_twins(l.extra_from_mut(from).as_chunks_mut::<RECORD>().0);
            }
        }
        (None, _) | (_, None) => {
            l.emit(MicroOp {
                aux: at,
                imm: 1,
                ..op
            });
        }
    }
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
    if frags.a.iter().chain(&frags.b).any(writes) {
        return None;
    }
    let find_b = || {
        let same = records.iter().find(|r| r[6..8] == frags.b);
        let next = 1 + records.iter().map(|r| r[1] & NUMBER).max()?;
        let fresh = ((next as usize) < TILES_B).then_some(next | FRESH);
        same.map(|r| r[1] & NUMBER).or(fresh)
    };
    Some((find_a(records, frags)?, find_b()?))
}

/// The tile of A of a product behind `records`. The oldest tile makes room, but not while a sum of its product may
/// still be waiting for the rest of its chain.
fn find_a(records: &[[u32; RECORD]], frags: &Frags) -> Option<u32> {
    let is_fresh = |r: &&[u32; RECORD]| r[0] & FRESH != 0;
    let mut lost = 0u32;
    for record in records.iter().rev() {
        let number = record[0] & NUMBER;
        if record[2..6] == frags.a && lost >> number & 1 == 0 {
            return Some(number);
        }
        lost |= u32::from(is_fresh(&record)) << number;
    }
    let next = (records.iter().filter(is_fresh).count() % TILES_A) as u32;
    let mut recent = records.iter().rev().take(CHAIN - 1);
    let used = recent.any(|r| r[0] & NUMBER == next);
    (!used).then_some(next | FRESH)
}
