//! `mma.sync` on f16, bf16 and tf32: runs of products that share widened fragments.

use super::{
    super::{Ctx, Handler, MicroOp, half::F16, lane::lanes},
    Frags,
    tile::{Engine, Lanes, Spread, Sums, TileA, TileB},
};
use crate::lower::Lowerer;
use std::marker::PhantomData;

/// Different fragments of A, and of B, in one run.
pub(super) const TILES: usize = 8;
/// Words of a product in the extra table: the tiles of A and B, then the slots of a, b, c and d.
const RECORD: usize = 16;
/// Marks a tile that this product is the first to use.
const FRESH: u32 = 1 << 31;

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
            a: vec![TileA([[0.0; 16]; 16]); TILES],
            spread: vec![Spread([[[0.0; 16]; 4]; 16]); TILES],
            b: vec![TileB([[0.0; 8]; 16]); TILES],
        }
    }
}

/// What the accumulators are.
pub(super) trait Sum: 'static {
    /// Reads C, multiplies, and writes D.
    fn product<E: Engine>(ctx: &mut Ctx, frags: &Frags, depth: usize, a: &E::A, b: &TileB);
}

/// Accumulators of f32.
pub(super) struct Full;
/// Accumulators of f16, two to a register: widened, summed as f32 and rounded once.
pub(super) struct Half;

impl Sum for Full {
    #[inline(always)]
    fn product<E: Engine>(ctx: &mut Ctx, frags: &Frags, depth: usize, a: &E::A, b: &TileB) {
        let [c0, c1, c2, c3] = frags.c;
        let c = [ctx.cells(c0), ctx.cells(c1), ctx.cells(c2), ctx.cells(c3)];
        let mut d: Sums = [[0; 32]; 4];
        E::multiply(depth, a, b, c, &mut d);
        for (slot, d) in frags.d.into_iter().zip(d) {
            ctx.put_cells(slot, d);
        }
    }
}

impl Sum for Half {
    #[inline(always)]
    fn product<E: Engine>(ctx: &mut Ctx, frags: &Frags, depth: usize, a: &E::A, b: &TileB) {
        let mut c = [[0; 32]; 4];
        for i in 0..2 {
            let packed = ctx.cells::<u32>(frags.c[i]);
            c[2 * i] = lanes(|l| F16(packed[l] as u16).to_f32().to_bits());
            c[2 * i + 1] = lanes(|l| F16((packed[l] >> 16) as u16).to_f32().to_bits());
        }
        let mut d: Sums = [[0; 32]; 4];
        E::multiply(depth, a, b, [&c[0], &c[1], &c[2], &c[3]], &mut d);
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
        for i in 0..op.imm as u32 {
            let mut record = [0; RECORD];
            record.copy_from_slice(ctx.extra(op.aux + i * RECORD as u32, RECORD));
            let frags = Frags {
                a: [record[2], record[3], record[4], record[5]],
                b: [record[6], record[7]],
                c: [record[8], record[9], record[10], record[11]],
                d: [record[12], record[13], record[14], record[15]],
            };
            let a = &mut all_a[record[0] as usize % TILES];
            if record[0] & FRESH != 0 {
                let [a0, a1, a2, a3] = frags.a;
                let regs = [ctx.cells(a0), ctx.cells(a1), ctx.cells(a2), ctx.cells(a3)];
                E::widen_a::<BLOCKS>(regs, a);
            }
            let b = &mut all_b[record[1] as usize % TILES];
            if record[1] & FRESH != 0 {
                E::widen_b::<BLOCKS>([ctx.cells(frags.b[0]), ctx.cells(frags.b[1])], b);
            }
            S::product::<E>(ctx, &frags, BLOCKS * E::PER_BLOCK, a, b);
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
    join::<E, S, BLOCKS>(l, frags, l.wide::<Run<E, S, BLOCKS>>());
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
    let mut record = [0; RECORD];
    record[0] = a;
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
    let find = |tile: usize, slots: std::ops::Range<usize>, wanted: &[u32]| {
        let mut next = 0;
        for record in records {
            if record[slots.clone()] == *wanted {
                return Some(record[tile] & !FRESH);
            }
            next = next.max((record[tile] & !FRESH) + 1);
        }
        ((next as usize) < TILES).then_some(next | FRESH)
    };
    Some((find(0, 2..6, &frags.a)?, find(1, 6..8, &frags.b)?))
}
