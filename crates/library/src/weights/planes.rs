//! The sizes of a matrix's planes, as a launch passes them.

use super::layout::{BLOCK, GROUP, Layout};
use warpsmith_kernel::{LaunchError, require};

/// The scalars that every kernel with weights takes: blocks of 32 rows, and the elements of a block in each plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlaneSizes {
    /// Blocks of 32 rows.
    pub blocks: u32,
    /// Words of a block in `codes`.
    pub code_block: u32,
    /// Words of a block in `high`.
    pub high_block: u32,
    /// Bytes of a block in `sub`.
    pub sub_block: u32,
    /// Halves of a block in `scales`.
    pub scale_block: u32,
}

impl PlaneSizes {
    /// Of `rows` rows of `columns` weights.
    pub fn of(layout: Layout, rows: u32, columns: u32) -> PlaneSizes {
        let block = layout.block(columns.next_multiple_of(GROUP));
        PlaneSizes {
            blocks: rows.div_ceil(BLOCK),
            code_block: block.codes,
            high_block: block.high,
            sub_block: block.sub,
            scale_block: block.scales,
        }
    }

    /// Refuses sizes that are not those of `rows` rows of `columns` weights.
    ///
    /// # Errors
    /// [`LaunchError::Value`] naming the first that is wrong.
    pub fn check(self, layout: Layout, rows: u32, columns: u32) -> Result<(), LaunchError> {
        let limit = 1 << 24;
        let (found, within) = (u64::from(columns), columns < limit);
        require(within, "columns", found, "below 2^24")?;
        let want = PlaneSizes::of(layout, rows, columns);
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

/// The [`PlaneSizes`] and planes of an argument struct that has them under their usual names.
macro_rules! plane_sizes {
    ($args:expr) => {
        $crate::weights::PlaneSizes {
            blocks: $args.blocks,
            code_block: $args.code_block,
            high_block: $args.high_block,
            sub_block: $args.sub_block,
            scale_block: $args.scale_block,
        }
    };
}

/// The [`PlaneRow`](crate::weights::PlaneRow) of row `$row` of block `$block` of an argument struct.
macro_rules! plane_row {
    ($args:expr, $block:expr, $row:expr) => {
        $crate::weights::PlaneRow {
            codes: $args.codes.row($block),
            high: $args.high.row($block),
            sub: $args.sub.row($block),
            scales: $args.scales.row($block),
            row: $row,
        }
    };
}

pub(crate) use {plane_row, plane_sizes};
