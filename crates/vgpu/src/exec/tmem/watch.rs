//! What the checker is told of tensor memory.

use super::{Place, units};
use crate::{
    check::{Columns, Reader},
    exec::{Ctx, Handler, Micro, Slot, SpanId, args, checked::ask},
};

args! {
    pub(super) struct Commit {
        /// Addresses of 64 bits, and what is added to them.
        pub(super) at: Slot,
        pub(super) wide: bool,
        pub(super) generic: bool,
        pub(super) offset: u32,
    }
}

/// What the threads have begun arrives at objects when it is done.
pub(super) struct Commits;
impl Handler for Commits {
    type Args = Commit;
    fn run(ctx: &mut Ctx, op: &Micro<Commit>) {
        let mask = ctx.mask;
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            let i = lane as usize;
            let address = match op.wide {
                true => ctx.cells::<u64>(op.at)[i],
                false => ctx.cells::<u32>(op.at)[i].into(),
            };
            let address = address.wrapping_add_signed((op.offset as i32).into());
            let own = if op.generic { ctx.view.own.shared } else { 0 };
            let object = address.wrapping_sub(own);
            ask(ctx, op.span(), 1 << lane, |checker, at, _| {
                checker.commits_flights(at, lane, object);
            });
        }
    }
}

/// Columns are given out, or back.
pub(super) fn given(ctx: &mut Ctx, span: SpanId, lane: u32, columns: Columns) {
    ask(ctx, span, 1 << lane, |checker, at, _| {
        checker.gives_columns(at, lane, columns);
    });
}

pub(super) fn taken(ctx: &mut Ctx, span: SpanId, lane: u32, columns: Columns) {
    ask(ctx, span, 1 << lane, |checker, _, _| {
        checker.takes_columns(columns);
    });
}

/// A warp loads or stores cells within some columns.
pub(super) fn moved(
    ctx: &mut Ctx,
    span: SpanId,
    stores: bool,
    (columns, cells): (Columns, &[[u32; 2]]),
) {
    let mask = ctx.mask;
    ask(ctx, span, mask, |checker, at, _| match stores {
        true => checker.stores_cells(at, columns, cells),
        false => checker.loads_cells(at, columns, cells),
    });
}

/// What a product or copy has of memory.
#[derive(Default)]
pub(super) struct Touched {
    /// Shared memory: the first byte of each matrix, and where it ends.
    pub(super) shared: Vec<(u64, u64)>,
    /// Columns of operands, and the cells that are read.
    pub(super) reads: Vec<Columns>,
    pub(super) cells: Vec<[u32; 2]>,
    pub(super) writes: Columns,
    pub(super) written: Vec<[u32; 2]>,
}

impl Touched {
    /// `rows` lanes of `count` columns are read.
    pub(super) fn reads(&mut self, place: Place, lanes: &[u32], count: u32) {
        let columns = (place.column, place.column + count);
        self.reads.push(columns);
        for column in columns.0..columns.1 {
            self.cells.extend(lanes.iter().map(|lane| [*lane, column]));
        }
    }

    /// Tells of it; what was read must be there before what is written is.
    pub(super) fn tell(self, ctx: &mut Ctx, span: SpanId, lane: u32) {
        debug_assert!(
            units(self.writes.0, 1).is_some(),
            "columns that are given out"
        );
        ask(ctx, span, 1 << lane, |checker, at, _| {
            for (from, to) in self.shared {
                checker.lend(at, (Reader::Tensor, lane), (from, to.saturating_sub(from)));
            }
            let has = (self.writes, self.reads);
            checker.flies(at, lane, has, self.cells.into_iter());
            checker.written_cells(self.written.into_iter());
        });
    }
}
