//! `mma.sync` on f16, bf16 and tf32: runs of products that share widened fragments.

use super::{
    super::{Ctx, Handler, MicroOp, half::F16, lane::lanes},
    Frags,
    tile::{Engine, Lanes, Pairs, Spread, Sums, TileA, TileB},
};
use crate::lower::Lowerer;
use std::marker::PhantomData;

/// Different fragments of A in one run.
const TILES_A: usize = 8;
/// Different fragments of B.
const TILES_B: usize = 24;
/// The most products of one sum that are done together.
const CHAIN: usize = 4;
/// Words of a product in the extra table: the tiles of A and B, then the slots of a, b, c and d.
const RECORD: usize = 16;
/// Marks a tile that this product is the first to use.
const FRESH: u32 = 1 << 31;
/// Marks, with the tile of A, a product that goes on with the sum of the one before: nobody else reads that.
const GOES_ON: u32 = 1 << 30;

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
    /// Reads C, multiplies, and writes D.
    fn product<E: Engine>(ctx: &mut Ctx, frags: &Frags, depth: usize, pairs: Pairs<'_, E::A>);
}

/// Accumulators of f32.
pub(super) struct Full;
/// Accumulators of f16, two to a register: widened, summed as f32 and rounded once.
pub(super) struct Half;

impl Sum for Full {
    const CHAINS: bool = true;

    #[inline(always)]
    fn product<E: Engine>(ctx: &mut Ctx, frags: &Frags, depth: usize, pairs: Pairs<'_, E::A>) {
        let [c0, c1, c2, c3] = frags.c;
        let c = [ctx.cells(c0), ctx.cells(c1), ctx.cells(c2), ctx.cells(c3)];
        let mut d: Sums = [[0; 32]; 4];
        E::multiply(depth, pairs, c, &mut d);
        for (slot, d) in frags.d.into_iter().zip(d) {
            ctx.put_cells(slot, d);
        }
    }
}

impl Sum for Half {
    const CHAINS: bool = false;

    #[inline(always)]
    fn product<E: Engine>(ctx: &mut Ctx, frags: &Frags, depth: usize, pairs: Pairs<'_, E::A>) {
        let mut c = [[0; 32]; 4];
        for i in 0..2 {
            let packed = ctx.cells::<u32>(frags.c[i]);
            c[2 * i] = lanes(|l| F16(packed[l] as u16).to_f32().to_bits());
            c[2 * i + 1] = lanes(|l| F16((packed[l] >> 16) as u16).to_f32().to_bits());
        }
        let mut d: Sums = [[0; 32]; 4];
        E::multiply(depth, pairs, [&c[0], &c[1], &c[2], &c[3]], &mut d);
        for i in 0..2 {
            let packed: Lanes = lanes(|l| {
                let low = F16::from_f32(f32::from_bits(d[2 * i][l])).0;
                let high = F16::from_f32(f32::from_bits(d[2 * i + 1][l])).0;
                u32::from(low) | u32::from(high) << 16
            });
            ctx.put_cells(frags.d[i], packed);
        }
    }
}

/// `imm` products in order, with their records at `aux`.
struct Run<E, S, const BLOCKS: usize>(PhantomData<(E, S)>);

impl<E: Engine, S: Sum, const BLOCKS: usize> Handler for Run<E, S, BLOCKS> {
    #[inline(always)]
    fn run(ctx: &mut Ctx, op: &MicroOp) {
        let mut tiles = ctx.tiles.take().unwrap_or_default();
        let (all_a, all_b) = E::tiles(&mut tiles);
        let (mut numbers, mut waiting) = ([(0u8, 0u8); CHAIN], 0);
        // C of the first and D of the last product of those that wait.
        let mut sum = [[0; 4]; 2];
        for i in 0..op.imm as u32 {
            let mut record = [0; RECORD];
            record.copy_from_slice(ctx.extra(op.aux + i * RECORD as u32, RECORD));
            let frags = Frags {
                a: [record[2], record[3], record[4], record[5]],
                b: [record[6], record[7]],
                c: [record[8], record[9], record[10], record[11]],
                d: [record[12], record[13], record[14], record[15]],
                owns_c: false,
            };
            let number = |word: u32| (word & !(FRESH | GOES_ON)) as usize;
            let (at_a, at_b) = (number(record[0]) % TILES_A, number(record[1]) % TILES_B);
            if record[0] & FRESH != 0 {
                let [a0, a1, a2, a3] = frags.a;
                let regs = [ctx.cells(a0), ctx.cells(a1), ctx.cells(a2), ctx.cells(a3)];
                E::widen_a::<BLOCKS>(regs, &mut all_a[at_a]);
            }
            if record[1] & FRESH != 0 {
                let regs = [ctx.cells(frags.b[0]), ctx.cells(frags.b[1])];
                E::widen_b::<BLOCKS>(regs, &mut all_b[at_b]);
            }
            if waiting == 0 {
                sum[0] = frags.c;
            }
            sum[1] = frags.d;
            numbers[waiting] = (at_a as u8, at_b as u8);
            waiting += 1;
            let next = op.aux + (i + 1) * RECORD as u32;
            let goes_on = S::CHAINS
                && waiting < CHAIN
                && i + 1 < op.imm as u32
                && ctx.extra(next, 1)[0] & GOES_ON != 0;
            if !goes_on {
                let pairs = Pairs {
                    a: all_a,
                    b: all_b,
                    numbers: &numbers[..waiting],
                };
                let [c, d] = sum;
                S::product::<E>(ctx, &Frags { c, d, ..frags }, BLOCKS * E::PER_BLOCK, pairs);
                waiting = 0;
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
    let after = |at: u32| l.extra_from(at).last_chunk::<4>() == Some(&frags.c);
    let goes_on = join.is_some() && frags.owns_c && l.ops.last().is_some_and(|op| after(op.aux));
    let mut record = [0; RECORD];
    record[0] = a | if goes_on { GOES_ON } else { 0 };
    record[1] = b;
    record[2..6].copy_from_slice(&frags.a);
    record[6..8].copy_from_slice(&frags.b);
    record[8..12].copy_from_slice(&frags.c);
    record[12..16].copy_from_slice(&frags.d);
    let at = l.extra(&record);
    match (join, l.ops.last_mut()) {
        (Some(_), Some(last)) => last.imm += 1,
        (None, _) | (_, None) => {
            l.emit(MicroOp {
                aux: at,
                imm: 1,
                ..op
            });
        }
    }
}

/// The tiles of a product that joins the products of `records`; `None` if it cannot.
fn place(records: &[u32], frags: &Frags) -> Option<(u32, u32)> {
    let records = records.as_chunks::<RECORD>().0;
    let writes = |slot: &u32| records.iter().any(|r| r[12..16].contains(slot));
    if frags.a.iter().chain(&frags.b).any(writes) {
        return None;
    }
    let find = |tile: usize, most: usize, slots: std::ops::Range<usize>, wanted: &[u32]| {
        let mut next = 0;
        for record in records {
            let number = record[tile] & !(FRESH | GOES_ON);
            if record[slots.clone()] == *wanted {
                return Some(number);
            }
            next = next.max(number + 1);
        }
        ((next as usize) < most).then_some(next | FRESH)
    };
    Some((
        find(0, TILES_A, 2..6, &frags.a)?,
        find(1, TILES_B, 6..8, &frags.b)?,
    ))
}
