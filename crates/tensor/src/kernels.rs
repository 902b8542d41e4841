//! The kernel that lays f32 matrices out for products, so that no weight passes through the host.

use warpsmith_kernel::{Cta, InKernel, Kernel, LaunchError, args, require};
use warpsmith_library::weights::{
    BLOCK, Codes, FloatType, GROUP, High, Layout, Planes, Scale, Value,
};

/// The layout of f32 weights.
pub(crate) const F32: Layout = Layout {
    codes: Codes::Float(FloatType::F32),
    high: High::None,
    value: Value::Signed,
    scale: Scale::None,
};

/// Elements of a piece: what a lane reads at once.
const PIECE: u32 = 4;

args! {
    /// `codes` becomes the plane of the `[rows, columns]` weights that `x` holds, padded with zeros.
    pub(crate) struct PackArgs {
        x: In<f32>[x_rows, x_columns], codes: Out<f32>[blocks, code_block],
        x_rows: Scalar<u32>, x_columns: Scalar<u32>, blocks: Scalar<u32>, code_block: Scalar<u32>,
    }
}

/// How the weights lie in the matrix given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Order {
    /// Row r of the weights is row r.
    Rows,
    /// Row r of the weights is column r.
    Columns,
}

/// A CTA lays out one group of the columns of one block of rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pack {
    pub(crate) order: Order,
}

impl Pack {
    /// Rows and columns of the weights.
    fn extent<T>(&self, x_rows: T, x_columns: T) -> (T, T) {
        match self.order {
            Order::Rows => (x_rows, x_columns),
            Order::Columns => (x_columns, x_rows),
        }
    }
}

impl Kernel for Pack {
    type Args = PackArgs;

    fn name(&self) -> String {
        match self.order {
            Order::Rows => "pack_f32_rows".into(),
            Order::Columns => "pack_f32_columns".into(),
        }
    }

    fn grid(&self, a: &PackArgs) -> Result<u64, LaunchError> {
        let (rows, columns) = self.extent(a.x_rows, a.x_columns);
        let sizes = Planes {
            blocks: a.blocks,
            code_block: a.code_block,
            ..Planes::of(F32, rows, columns)
        };
        sizes.check(F32, rows, columns)?;
        let ctas = u64::from(a.blocks) * u64::from(columns.div_ceil(GROUP));
        require(ctas < 1 << 31, "weights", ctas, "below 2^31 groups of rows")?;
        Ok(ctas)
    }

    fn body<'k>(&self, cta: &mut Cta<'k>, a: PackArgs<InKernel<'k>>) {
        let (rows, columns) = self.extent(a.x_rows, a.x_columns);
        let groups = columns.div_ceil(GROUP);
        let (block, group) = (cta.id() / groups, cta.id() % groups);
        let to = a.codes.row(block).from(group * (GROUP * BLOCK));
        cta.each(GROUP * BLOCK, |_, i| {
            let row = block * BLOCK + (i / PIECE) % BLOCK;
            let column = group * GROUP + (i / (PIECE * BLOCK)) * PIECE + i % PIECE;
            let valid = row.lt(rows) & column.lt(columns);
            // An address whose value is not used stays inside all the same.
            let (row, column) = (row.min(rows - 1), column.min(columns - 1));
            let value = match self.order {
                Order::Rows => a.x.row(row).at(column),
                Order::Columns => a.x.row(column).at(row),
            };
            to.set(i, valid.select(value, 0.0));
        });
    }
}
