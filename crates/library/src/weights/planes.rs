//! The planes of a matrix, as a launch passes them.

use super::{
    decode::PlaneRow,
    layout::{BLOCK, GROUP, Layout},
};
use warpsmith_kernel::{
    InKernel, LaunchError, Val, args,
    args::Mode,
    require,
    uni::{self, Join, Uni},
};

args! {
    /// A matrix as an argument of a kernel: blocks of 32 rows, in the planes of its layout, and the elements of a block in
    /// each plane. Without its arrays, as a grid is computed from it, it is those sizes.
    pub struct Planes {
        codes: In<u32>[blocks, code_block], high: Maybe<u32>[blocks, high_block],
        sub: Maybe<u8>[blocks, sub_block], scales: Maybe<u16>[blocks, scale_block],
        blocks: Scalar<u32>, code_block: Scalar<u32>, high_block: Scalar<u32>, sub_block: Scalar<u32>,
        scale_block: Scalar<u32>,
    }
}

impl Planes {
    /// The sizes of `rows` rows of `columns` weights.
    pub fn of(layout: Layout, rows: u32, columns: u32) -> Planes {
        let block = layout.block(columns.next_multiple_of(GROUP));
        Planes {
            codes: (),
            high: (),
            sub: (),
            scales: (),
            blocks: rows.div_ceil(BLOCK),
            code_block: block.codes,
            high_block: block.high,
            sub_block: block.sub,
            scale_block: block.scales,
        }
    }

    /// These sizes with their arrays; `high`, `sub` and `scales` where the layout has them.
    pub fn with<M: Mode<Scalar<u32> = u32>>(
        self,
        codes: M::In<u32>,
        high: M::Maybe<u32>,
        sub: M::Maybe<u8>,
        scales: M::Maybe<u16>,
    ) -> Planes<M> {
        Planes {
            codes,
            high,
            sub,
            scales,
            blocks: self.blocks,
            code_block: self.code_block,
            high_block: self.high_block,
            sub_block: self.sub_block,
            scale_block: self.scale_block,
        }
    }

    /// Refuses sizes that are not those of `rows` rows of `columns` weights.
    ///
    /// # Errors
    /// [`LaunchError::Value`] naming the first that is wrong.
    pub fn check(&self, layout: Layout, rows: u32, columns: u32) -> Result<(), LaunchError> {
        let limit = 1 << 24;
        let (found, within) = (u64::from(columns), columns < limit);
        require(within, "columns", found, "below 2^24")?;
        let want = Planes::of(layout, rows, columns);
        let same = |what, found: u32, want: u32| {
            require(
                found == want,
                what,
                found.into(),
                "what the layout has for this shape",
            )
        };
        same("blocks", self.blocks, want.blocks)?;
        same("code_block", self.code_block, want.code_block)?;
        same("high_block", self.high_block, want.high_block)?;
        same("sub_block", self.sub_block, want.sub_block)?;
        same("scale_block", self.scale_block, want.scale_block)
    }
}

impl<'k> Planes<InKernel<'k>> {
    /// Row `row` of block `block`.
    #[track_caller]
    pub fn row<U: Uni>(self, block: Val<'k, u32, U>, row: Val<'k, u32>) -> PlaneRow<'k, U>
    where
        uni::Cta: Join<U, Out = U>,
    {
        PlaneRow {
            codes: self.codes.row(block),
            high: self.high.row(block),
            sub: self.sub.row(block),
            scales: self.scales.row(block),
            row,
        }
    }
}
